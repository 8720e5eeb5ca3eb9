//! Bytes to CSV records, in bounded memory.
//!
//! `csv-core` knows the grammar; this adds what its callers must: where a record begins, records
//! that are too long, and text that is not UTF-8. At most `limit` bytes of a record are ever held:
//! the csv crate's own reader would buffer a 2 GB line.

use std::{
    io::{self, Read},
    ops::Range,
};

use csv_core::ReadRecordResult;

use super::plain;

/// Bytes asked of the reader at a time.
const CHUNK_BYTES: usize = 64 << 10;
/// How often after an overlong record reading goes on with the very next line. A quote that is
/// never closed then costs one row; beyond this count everything that was scanned is skipped, so
/// that time stays linear.
const RESUMES_MAX: u32 = 16;

/// One record: its fields one after the other, each UTF-8 text by itself.
#[derive(Clone, Copy, Debug)]
pub struct CsvRecord<'a> {
    bytes: &'a [u8],
    /// Where each field ends.
    ends: &'a [usize],
    /// How many bytes stand between two fields: a comma, or nothing where quotes were taken off.
    gap: usize,
}

/// One record whose text was looked at as a whole.
#[derive(Clone, Copy, Debug)]
pub struct RecordText<'a> {
    text: &'a str,
    ends: &'a [usize],
    gap: usize,
}

impl<'a> RecordText<'a> {
    /// The field at a position, as written; empty beyond the last.
    #[inline]
    pub fn field_text(&self, position: usize) -> &'a str {
        let field = field_range(self.ends, self.gap, position);
        field.and_then(|field| self.text.get(field)).unwrap_or_default()
    }
}

/// Where a field stands among the bytes of its record.
#[inline]
fn field_range(ends: &[usize], gap: usize, position: usize) -> Option<Range<usize>> {
    let end = *ends.get(position)?;
    Some(if position == 0 { 0..end } else { ends[position - 1] + gap..end })
}

impl<'a> CsvRecord<'a> {
    /// How many fields there are; a record always has one.
    #[expect(clippy::len_without_is_empty, reason = "no record is empty")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many bytes its fields have together, and what stands between them.
    #[inline]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// The field at a position, as written; empty beyond the last.
    #[inline]
    pub fn field_bytes(&self, position: usize) -> &'a [u8] {
        field_range(self.ends, self.gap, position).map_or(b"", |field| &self.bytes[field])
    }

    /// The record with its fields as texts, for whoever asks for most of them: it is cheaper than
    /// looking at each by itself.
    #[inline]
    pub fn to_record_text(&self) -> RecordText<'a> {
        let text = std::str::from_utf8(self.bytes).unwrap_or_default();
        RecordText { text, ends: self.ends, gap: self.gap }
    }
}

/// What comes next in a file, and on which line it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextRecord {
    /// A record, to be had from [`CsvSplitter::current_record`].
    Record,
    /// A record on this line that is longer than the limit; it was skipped.
    TooLong(u64),
    /// The end of the file.
    End,
}

/// Reads a file record by record.
pub struct CsvSplitter<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The bytes of `buffer` that were read and not yet used.
    filled: Range<usize>,
    finished: bool,
    limit: usize,
    /// The line that begins at `filled.start`.
    line: u64,
    /// Whether a line feed right at `filled.start` belongs to the carriage return before it.
    skip_line_feed: bool,
    resumes: u32,
    /// The sign at the beginning of lines that are passed over.
    remark: Option<u8>,
    grammar: csv_core::Reader,
    /// The line of the record that was found.
    record_line: u64,
    /// Its fields, unquoted, end to end.
    text: Vec<u8>,
    text_len: usize,
    /// Where each ends.
    ends: Vec<usize>,
    n_fields: usize,
    /// Whether the file has a NUL so far, which no text has.
    has_nul: bool,
    /// Whether the text had to be converted, and then it, and which fields were converted.
    latin1: bool,
    converted: String,
    odd: Vec<usize>,
    /// How many bytes before `filled.start` the record takes, as it stands in the file.
    raw_len: usize,
    /// Whether the grammar has read a record: it looks at the file's first bytes by itself.
    has_begun: bool,
    /// How long the record is if it is plain: used where it stands in the buffer.
    plain_len: Option<usize>,
}

impl<R> std::fmt::Debug for CsvSplitter<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Splitter").field("line", &self.line).finish_non_exhaustive()
    }
}

impl<R: Read> CsvSplitter<R> {
    /// Records of at most `limit` bytes (at least one chunk, at most 1 GiB).
    pub fn new(reader: R, limit: usize) -> CsvSplitter<R> {
        CsvSplitter {
            reader,
            buffer: Vec::new(),
            filled: 0..0,
            finished: false,
            limit: limit.clamp(CHUNK_BYTES, 1 << 30),
            line: 1,
            skip_line_feed: false,
            resumes: 0,
            remark: None,
            grammar: csv_core::Reader::new(),
            record_line: 1,
            text: vec![0; 4_096],
            text_len: 0,
            ends: vec![0; 64],
            n_fields: 0,
            has_nul: false,
            latin1: false,
            converted: String::new(),
            odd: Vec::new(),
            raw_len: 0,
            has_begun: false,
            plain_len: None,
        }
    }

    /// Records of what is in memory already, used where it stands: the first `n` bytes of a buffer. They may be at most as
    /// long as with [`new`](CsvSplitter::new).
    pub fn from_buffer(buffer: Vec<u8>, n: usize, limit: usize) -> CsvSplitter<R>
    where
        R: Default,
    {
        let mut splitter = CsvSplitter::new(R::default(), limit);
        splitter.filled = 0..n.min(buffer.len());
        splitter.has_nul = memchr::memchr(0, &buffer[splitter.filled.clone()]).is_some();
        (splitter.buffer, splitter.finished) = (buffer, true);
        splitter
    }

    /// The buffer that it has read from, to be used again.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// The same, of a part of a file that begins with this line. The mark of UTF-8 is only one at the beginning of a file;
    /// within it is part of a value.
    #[must_use]
    pub fn starting_at_line(mut self, line: u64) -> CsvSplitter<R> {
        self.line = line;
        // An empty line is no record, and what follows it is within the file.
        self.grammar.read_record(b"\n", &mut [], &mut []);
        self
    }

    /// The same, passing over lines that begin with a sign.
    #[must_use]
    pub fn with_comment_prefix(mut self, sign: u8) -> CsvSplitter<R> {
        self.remark = Some(sign);
        self
    }

    /// The next bytes of the file, without using them up: at least `n` if there are as many.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn peek_bytes(&mut self, n: usize) -> io::Result<&[u8]> {
        while self.filled.len() < n && self.fill_buffer()? {}
        Ok(&self.buffer[self.filled.clone()])
    }

    /// Leaves out bytes that [`peek`](CsvSplitter::peek_bytes) showed.
    pub fn skip_bytes(&mut self, bytes: usize) {
        self.filled.start = (self.filled.start + bytes).min(self.filled.end);
    }

    /// Finds the next record; empty lines are none.
    ///
    /// # Errors
    ///
    /// If the file cannot be read on.
    pub fn find_record(&mut self) -> io::Result<NextRecord> {
        self.skip_line_ends()?;
        self.record_line = self.line;
        if self.has_begun && self.find_plain_record() {
            return Ok(NextRecord::Record);
        }
        self.plain_len = None;
        let line_feeds_before = self.grammar.line();
        let (mut read, mut text_len, mut n_fields) = (0, 0, 0);
        loop {
            // The record's bytes stay in the buffer until it is whole.
            let input = &self.buffer[self.filled.start + read..self.filled.end];
            if input.is_empty() && !self.finished {
                if read >= self.limit {
                    self.abandon_record(read)?;
                    return Ok(NextRecord::TooLong(self.record_line));
                }
                self.fill_buffer()?;
                continue;
            }
            let (result, n_read, n_written, n_ends) = self.grammar.read_record(
                input,
                &mut self.text[text_len..],
                &mut self.ends[n_fields..],
            );
            (read, text_len, n_fields) = (read + n_read, text_len + n_written, n_fields + n_ends);
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(NextRecord::End),
            }
        }
        let last = self.buffer[self.filled.start..self.filled.start + read].last();
        // The grammar counts line feeds; a carriage return that ends the record is a line's end as
        // well.
        self.skip_line_feed = last == Some(&b'\r');
        self.line += self.grammar.line() - line_feeds_before + u64::from(self.skip_line_feed);
        self.filled.start += read;
        self.raw_len = read;
        (self.text_len, self.n_fields) = (text_len, n_fields);
        self.latin1 = !self.is_utf8();
        if self.latin1 {
            self.convert_latin1_fields();
        }
        self.has_begun = true;
        Ok(if read > self.limit {
            NextRecord::TooLong(self.record_line)
        } else {
            NextRecord::Record
        })
    }

    /// Finds the next record without the grammar, if it is a plain one. Tells whether it did.
    #[inline]
    fn find_plain_record(&mut self) -> bool {
        let input = &self.buffer[self.filled.clone()];
        let Some(plain) = plain::find_plain_record(input, &mut self.ends) else { return false };
        if plain.len >= self.limit {
            return false;
        }
        self.line += 1;
        self.skip_line_feed = plain.has_carriage_return;
        self.raw_len = plain.len + 1;
        self.filled.start += self.raw_len;
        self.n_fields = plain.n_fields;
        self.latin1 = false;
        self.plain_len = Some(plain.len);
        true
    }

    /// The record that [`find`](CsvSplitter::find_record) has just found.
    #[inline]
    pub fn current_record(&self) -> CsvRecord<'_> {
        let (bytes, gap) = match self.plain_len {
            Some(len) => (&self.raw_bytes()[..len], 1),
            None if self.latin1 => (self.converted.as_bytes(), 0),
            None => (&self.text[..self.text_len], 0),
        };
        CsvRecord { bytes, ends: &self.ends[..self.n_fields], gap }
    }

    /// Whether the record is known to have no quotes and to be UTF-8; others may be so, too.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.plain_len.is_some()
    }

    /// The line on which the record begins, counted from 1.
    #[inline]
    pub fn record_line(&self) -> u64 {
        self.record_line
    }

    /// Whether the record's bytes were not UTF-8 and were read as Latin-1.
    #[inline]
    pub fn is_latin1(&self) -> bool {
        self.latin1
    }

    /// The positions of the fields that were not UTF-8 and were read as Latin-1.
    pub fn latin1_fields(&self) -> &[usize] {
        if self.latin1 { &self.odd } else { &[] }
    }

    /// The record as it stands in the file, with its quotes and its line end.
    #[inline]
    pub fn raw_bytes(&self) -> &[u8] {
        &self.buffer[self.filled.start.saturating_sub(self.raw_len)..self.filled.start]
    }

    /// Whether the record has a NUL.
    #[inline]
    pub fn has_nul_byte(&self) -> bool {
        self.has_nul && memchr::memchr(0, self.current_record().bytes).is_some()
    }

    /// Whether each field is UTF-8 text: they stand end to end, so the whole being so is not
    /// enough.
    fn is_utf8(&self) -> bool {
        let (bytes, ends) = (&self.text[..self.text_len], &self.ends[..self.n_fields]);
        bytes.is_ascii()
            || std::str::from_utf8(bytes)
                .is_ok_and(|text| ends.iter().all(|&end| text.is_char_boundary(end)))
    }

    /// Reads the fields that are not UTF-8 as Latin-1, which gives each byte a letter: ids stay
    /// distinct, and most names of old feeds come out right.
    fn convert_latin1_fields(&mut self) {
        self.converted.clear();
        self.odd.clear();
        let mut start = 0;
        for (at, end) in self.ends[..self.n_fields].iter_mut().enumerate() {
            let field = &self.text[start..*end];
            start = *end;
            match std::str::from_utf8(field) {
                Ok(text) => self.converted.push_str(text),
                Err(_) => {
                    self.odd.push(at);
                    self.converted.extend(field.iter().copied().map(char::from));
                }
            }
            *end = self.converted.len();
        }
    }

    /// Uses up the line ends and remarks before a record, and counts their lines.
    fn skip_line_ends(&mut self) -> io::Result<()> {
        loop {
            while let Some(&byte) = self.buffer[self.filled.clone()].first() {
                match byte {
                    b'\n' => self.line += u64::from(!self.skip_line_feed),
                    b'\r' => self.line += 1,
                    _ if Some(byte) == self.remark => {
                        self.skip_line_feed = false;
                        self.skip_line()?;
                        continue;
                    }
                    _ => {
                        self.skip_line_feed = false;
                        return Ok(());
                    }
                }
                self.skip_line_feed = byte == b'\r';
                self.filled.start += 1;
            }
            if !self.fill_buffer()? {
                return Ok(());
            }
        }
    }

    /// Leaves a record that is too long: a line without an end, a quote that was opened by mistake,
    /// or harm.
    fn abandon_record(&mut self, read: usize) -> io::Result<()> {
        self.grammar.reset();
        if self.resumes < RESUMES_MAX {
            self.resumes += 1;
        } else {
            let scanned = &self.buffer[self.filled.start..self.filled.start + read];
            self.line += memchr::memchr_iter(b'\n', scanned).count() as u64;
            self.filled.start += read;
        }
        self.skip_line()
    }

    /// Skips to the end of the line, however far that is.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            match memchr::memchr2(b'\n', b'\r', &self.buffer[self.filled.clone()]) {
                Some(at) => {
                    self.filled.start += at;
                    return Ok(());
                }
                None => self.filled.start = self.filled.end,
            }
            if !self.fill_buffer()? {
                return Ok(());
            }
        }
    }

    /// Reads more bytes behind those that are not used yet. Tells whether there were any.
    fn fill_buffer(&mut self) -> io::Result<bool> {
        if self.finished {
            return Ok(false);
        }
        if self.filled.start > 0 {
            self.buffer.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
        }
        if self.buffer.len() - self.filled.end < CHUNK_BYTES {
            self.buffer.resize(self.filled.end + CHUNK_BYTES, 0);
        }
        loop {
            match self.reader.read(&mut self.buffer[self.filled.end..]) {
                Ok(0) => {
                    self.finished = true;
                    return Ok(false);
                }
                Ok(n) => {
                    let read = &self.buffer[self.filled.end..self.filled.end + n];
                    self.has_nul |= memchr::memchr(0, read).is_some();
                    self.filled.end += n;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests;
