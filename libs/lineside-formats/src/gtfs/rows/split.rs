//! Splits bytes into CSV records, in bounded memory.
//!
//! `csv-core` implements the grammar; this module adds the line of each record, a length limit and handling of text
//! that is not UTF-8. It holds at most `limit` bytes of a record; the csv crate's own reader would buffer a 2 GB line.

use std::{
    io::{self, Read},
    ops::Range,
};

use csv_core::ReadRecordResult;

use super::plain;

/// Size of one read, in bytes.
const CHUNK_BYTES: usize = 64 << 10;
/// Number of overlong records after which parsing resumes on the very next line, so that an unclosed quote costs only
/// one row. Beyond this number all scanned bytes are skipped, so that time stays linear.
const RESUMES_MAX: u32 = 16;

/// One record: its fields in order, each of them UTF-8 text.
#[derive(Clone, Copy, Debug)]
pub struct CsvRecord<'a> {
    bytes: &'a [u8],
    /// The end of each field.
    ends: &'a [usize],
    /// Number of bytes between two fields: 1 for a comma, or 0 if quotes were removed.
    gap: usize,
}

/// One record whose text was validated as a whole.
#[derive(Clone, Copy, Debug)]
pub struct RecordText<'a> {
    text: &'a str,
    ends: &'a [usize],
    gap: usize,
}

impl<'a> RecordText<'a> {
    /// Returns the field at a position, as written; empty beyond the last.
    #[inline]
    pub fn field_text(&self, position: usize) -> &'a str {
        let field = field_range(self.ends, self.gap, position);
        field.and_then(|field| self.text.get(field)).unwrap_or_default()
    }
}

/// Returns the range of a field within the bytes of its record.
#[inline]
fn field_range(ends: &[usize], gap: usize, position: usize) -> Option<Range<usize>> {
    let end = *ends.get(position)?;
    Some(if position == 0 { 0..end } else { ends[position - 1] + gap..end })
}

impl<'a> CsvRecord<'a> {
    /// Returns the number of fields; a record has at least one.
    #[expect(clippy::len_without_is_empty, reason = "a record has at least one field")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the length of all fields, including the separators between them.
    #[inline]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the field at a position, as written; empty beyond the last.
    #[inline]
    pub fn field_bytes(&self, position: usize) -> &'a [u8] {
        field_range(self.ends, self.gap, position).map_or(b"", |field| &self.bytes[field])
    }

    /// Returns the record with its fields as text. This is cheaper than a conversion of each field if most are used.
    #[inline]
    pub fn to_record_text(&self) -> RecordText<'a> {
        let text = std::str::from_utf8(self.bytes).unwrap_or_default();
        RecordText { text, ends: self.ends, gap: self.gap }
    }
}

/// The result of a search for the next record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordSearchResult {
    /// A record, available from [`CsvSplitter::current_record`].
    Record,
    /// A record on this line exceeds the limit and was skipped.
    TooLong(u64),
    /// The end of the file.
    End,
}

/// Reads a file record by record.
pub struct CsvSplitter<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The unused bytes of `buffer`.
    filled: Range<usize>,
    finished: bool,
    limit: usize,
    /// The line that begins at `filled.start`.
    line: u64,
    /// True if a line feed at `filled.start` belongs to the preceding carriage return.
    skip_line_feed: bool,
    resumes: u32,
    /// The first byte of lines that are skipped as comments.
    comment: Option<u8>,
    grammar: csv_core::Reader,
    record_line: u64,
    /// The fields of the current record, unquoted and concatenated.
    text: Vec<u8>,
    text_len: usize,
    /// The end of each field.
    ends: Vec<usize>,
    n_fields: usize,
    /// True if the file has had a NUL so far, which valid text does not have.
    has_nul: bool,
    /// True if the current record was converted; then `converted` is its text, and `odd` lists the converted fields.
    latin1: bool,
    converted: String,
    odd: Vec<usize>,
    /// Length in bytes of the current record in the file; it ends at `filled.start`.
    raw_len: usize,
    /// True if the grammar has read a record: only it handles the first bytes of a file.
    has_begun: bool,
    /// The length of a plain record, which is used in place in the buffer.
    plain_len: Option<usize>,
}

impl<R> std::fmt::Debug for CsvSplitter<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CsvSplitter").field("line", &self.line).finish_non_exhaustive()
    }
}

impl<R: Read> CsvSplitter<R> {
    /// Creates a splitter for records of at most `limit` bytes, which is clamped to one chunk and 1 GiB.
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
            comment: None,
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

    /// Creates a splitter for the first `n` bytes of a buffer, which are used in place. The limit is that of
    /// [`new`](CsvSplitter::new).
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

    /// Returns the buffer for reuse.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// Sets the line of the first byte, for a part of a file that begins there. A byte order mark is only special at
    /// the beginning of a file, so here it is part of a value.
    #[must_use]
    pub fn starting_at_line(mut self, line: u64) -> CsvSplitter<R> {
        self.line = line;
        // An empty line is not a record, and the bytes after it are no longer the beginning of a file.
        self.grammar.read_record(b"\n", &mut [], &mut []);
        self
    }

    /// Skips lines that begin with `sign`.
    #[must_use]
    pub fn with_comment_prefix(mut self, sign: u8) -> CsvSplitter<R> {
        self.comment = Some(sign);
        self
    }

    /// Returns the next bytes of the file without consuming them: at least `n` if available.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn peek_bytes(&mut self, n: usize) -> io::Result<&[u8]> {
        while self.filled.len() < n && self.fill_buffer()? {}
        Ok(&self.buffer[self.filled.clone()])
    }

    /// Consumes bytes that [`peek_bytes`](CsvSplitter::peek_bytes) returned.
    pub fn skip_bytes(&mut self, bytes: usize) {
        self.filled.start = (self.filled.start + bytes).min(self.filled.end);
    }

    /// Finds the next record; empty lines are skipped.
    ///
    /// # Errors
    ///
    /// Returns an error if reading fails.
    pub fn find_next_record(&mut self) -> io::Result<RecordSearchResult> {
        self.skip_blank_lines_and_comments()?;
        self.record_line = self.line;
        if self.has_begun && self.find_unquoted_record() {
            return Ok(RecordSearchResult::Record);
        }
        self.plain_len = None;
        let line_feeds_before = self.grammar.line();
        let (mut read, mut text_len, mut n_fields) = (0, 0, 0);
        loop {
            // The bytes of the record stay in the buffer until it is complete.
            let input = &self.buffer[self.filled.start + read..self.filled.end];
            if input.is_empty() && !self.finished {
                if read >= self.limit {
                    self.skip_too_long_record(read)?;
                    return Ok(RecordSearchResult::TooLong(self.record_line));
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
                ReadRecordResult::End => return Ok(RecordSearchResult::End),
            }
        }
        let last = self.buffer[self.filled.start..self.filled.start + read].last();
        // The grammar counts line feeds; a carriage return that ends the record is a line end as well.
        self.skip_line_feed = last == Some(&b'\r');
        self.line += self.grammar.line() - line_feeds_before + u64::from(self.skip_line_feed);
        self.filled.start += read;
        self.raw_len = read;
        (self.text_len, self.n_fields) = (text_len, n_fields);
        self.latin1 = !self.are_fields_utf8();
        if self.latin1 {
            self.convert_latin1_fields();
        }
        self.has_begun = true;
        Ok(if read > self.limit {
            RecordSearchResult::TooLong(self.record_line)
        } else {
            RecordSearchResult::Record
        })
    }

    /// Finds the next record without the grammar, if it is plain. Returns true if it is.
    #[inline]
    fn find_unquoted_record(&mut self) -> bool {
        let input = &self.buffer[self.filled.clone()];
        let Some(plain) = plain::find_unquoted_record(input, &mut self.ends) else { return false };
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

    /// Returns the record that [`find_next_record`](CsvSplitter::find_next_record) found last.
    #[inline]
    pub fn current_record(&self) -> CsvRecord<'_> {
        let (bytes, gap) = match self.plain_len {
            Some(len) => (&self.raw_record_bytes()[..len], 1),
            None if self.latin1 => (self.converted.as_bytes(), 0),
            None => (&self.text[..self.text_len], 0),
        };
        CsvRecord { bytes, ends: &self.ends[..self.n_fields], gap }
    }

    /// Returns true if the record is known to have no quotes and to be UTF-8; false does not rule this out.
    #[inline]
    pub fn is_known_unquoted(&self) -> bool {
        self.plain_len.is_some()
    }

    /// Returns the line on which the record begins, counted from 1.
    #[inline]
    pub fn record_line(&self) -> u64 {
        self.record_line
    }

    /// Returns true if the record was not UTF-8 and was read as Latin-1.
    #[inline]
    pub fn is_latin1(&self) -> bool {
        self.latin1
    }

    /// Returns the positions of the fields that were not UTF-8 and were read as Latin-1.
    pub fn latin1_fields(&self) -> &[usize] {
        if self.latin1 { &self.odd } else { &[] }
    }

    /// Returns the record as it is in the file, with its quotes and its line end.
    #[inline]
    pub fn raw_record_bytes(&self) -> &[u8] {
        &self.buffer[self.filled.start.saturating_sub(self.raw_len)..self.filled.start]
    }

    /// Returns true if the record has a NUL.
    #[inline]
    pub fn has_nul_byte(&self) -> bool {
        self.has_nul && memchr::memchr(0, self.current_record().bytes).is_some()
    }

    /// Returns true if each field is UTF-8. The fields are concatenated, so validity of the whole is not enough.
    fn are_fields_utf8(&self) -> bool {
        let (bytes, ends) = (&self.text[..self.text_len], &self.ends[..self.n_fields]);
        bytes.is_ascii()
            || std::str::from_utf8(bytes)
                .is_ok_and(|text| ends.iter().all(|&end| text.is_char_boundary(end)))
    }

    /// Reads the fields that are not UTF-8 as Latin-1, which maps each byte to a letter: ids remain distinct, and most
    /// names of old feeds are right.
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

    /// Consumes the line ends and comments before a record, and counts their lines.
    fn skip_blank_lines_and_comments(&mut self) -> io::Result<()> {
        loop {
            while let Some(&byte) = self.buffer[self.filled.clone()].first() {
                match byte {
                    b'\n' => self.line += u64::from(!self.skip_line_feed),
                    b'\r' => self.line += 1,
                    _ if Some(byte) == self.comment => {
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

    /// Skips a record that is too long: a line without end, an unclosed quote, or an attack.
    fn skip_too_long_record(&mut self, read: usize) -> io::Result<()> {
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

    /// Skips to the end of the line, at any distance.
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

    /// Reads more bytes after the unused ones. Returns false at the end of the file.
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
