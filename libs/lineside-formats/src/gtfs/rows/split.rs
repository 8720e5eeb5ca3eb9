//! Bytes to CSV records, in bounded memory.
//!
//! Lines without a quote, which is nearly all of them, are cut where they lie: found with `memchr`, checked as UTF-8
//! once, nothing copied. From a line with a quote on, `csv-core` reads the record. At most `limit` bytes of a record
//! are ever held: the csv crate's own reader would buffer a 2 GB line.

use std::{
    io::{self, Read},
    ops::Range,
};

use csv_core::ReadRecordResult;

/// Bytes asked of the reader at a time.
const CHUNK_BYTES: usize = 64 << 10;
/// How often after an overlong quoted record reading goes on with the very next line. A quote that is never closed
/// then costs one row; beyond this count everything that was scanned is skipped, so that time stays linear.
const RESUMES_MAX: u32 = 16;

/// One record: its text, and where its fields are in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// The line on which it begins, counted from 1.
    pub(crate) line: u64,
    pub(crate) text: &'a str,
    pub(crate) fields: &'a [(u32, u32)],
    /// Whether the bytes were not UTF-8 and were read as Latin-1.
    pub(crate) latin1: bool,
}

impl<'a> Record<'a> {
    /// The field at a position, as written; empty beyond the last.
    pub(crate) fn field(&self, position: usize) -> &'a str {
        match self.fields.get(position) {
            Some(&(start, end)) => &self.text[start as usize..end as usize],
            None => "",
        }
    }
}

/// What comes next in a file, and on which line it begins.
pub(crate) enum Found {
    /// A record, which [`Splitter::cut`] makes of this.
    Record(u64, Place),
    /// A record that is longer than the limit; it was skipped.
    TooLong(u64),
    End,
}

/// Where the text of a record is.
pub(crate) enum Place {
    /// In the buffer, fields and commas.
    Line(Range<usize>),
    /// In `unquoted`, the fields end to end.
    Quoted,
}

pub(crate) struct Splitter<R> {
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
    quoting: csv_core::Reader,
    resumes: u32,
    unquoted: Vec<u8>,
    ends: Vec<usize>,
    fields: Vec<(u32, u32)>,
    /// The record's text where it had to be converted.
    converted: String,
}

impl<R: Read> Splitter<R> {
    /// Records of at most `limit` bytes (at least one chunk, at most 1 GiB).
    pub(crate) fn new(reader: R, limit: usize) -> Splitter<R> {
        Splitter {
            reader,
            buffer: Vec::new(),
            filled: 0..0,
            finished: false,
            limit: limit.clamp(CHUNK_BYTES, 1 << 30),
            line: 1,
            skip_line_feed: false,
            quoting: csv_core::Reader::new(),
            resumes: 0,
            unquoted: Vec::new(),
            ends: Vec::new(),
            fields: Vec::new(),
            converted: String::new(),
        }
    }

    /// The next bytes of the file, without using them up: at least `n` if there are as many.
    pub(crate) fn peek(&mut self, n: usize) -> io::Result<&[u8]> {
        while self.filled.len() < n && self.fill()? {}
        Ok(&self.buffer[self.filled.clone()])
    }

    /// Leaves out bytes that [`peek`](Splitter::peek) showed.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.filled.start = (self.filled.start + bytes).min(self.filled.end);
    }

    /// Cuts a record that [`find`](Splitter::find) has just found into its fields.
    pub(crate) fn cut(&mut self, line: u64, place: Place) -> Record<'_> {
        match place {
            Place::Line(range) => self.cut_line(line, range),
            Place::Quoted => self.cut_quoted(line),
        }
    }

    /// Finds the next record; empty lines are none.
    pub(crate) fn find(&mut self) -> io::Result<Found> {
        loop {
            let line = self.line;
            // How many bytes of the line were searched already.
            let mut searched = 0;
            let length = loop {
                let unread = &self.buffer[self.filled.clone()];
                if self.skip_line_feed && !unread.is_empty() {
                    self.skip_line_feed = false;
                    if unread[0] == b'\n' {
                        self.filled.start += 1;
                        continue;
                    }
                }
                match memchr::memchr2(b'\n', b'\r', &unread[searched..]) {
                    Some(at) => break searched + at,
                    None => searched = unread.len(),
                }
                if memchr::memchr(b'"', unread).is_some() {
                    // The line's end may be within quotes, where only the quoting reader can tell.
                    break searched;
                }
                if searched >= self.limit {
                    self.skip_line()?;
                    return Ok(Found::TooLong(line));
                }
                if !self.fill()? {
                    break searched;
                }
            };
            let range = self.filled.start..self.filled.start + length;
            if memchr::memchr(b'"', &self.buffer[range.clone()]).is_some() {
                return self.find_quoted(line);
            }
            if length == 0 && self.filled.is_empty() {
                return Ok(Found::End);
            }
            self.end_line(length);
            if length > self.limit {
                return Ok(Found::TooLong(line));
            }
            if length > 0 {
                return Ok(Found::Record(line, Place::Line(range)));
            }
        }
    }

    /// Uses up `length` bytes and the line's end after them.
    fn end_line(&mut self, length: usize) {
        self.filled.start += length;
        if let Some(&end) = self.buffer[self.filled.clone()].first() {
            self.filled.start += 1;
            self.skip_line_feed = end == b'\r';
            self.line += 1;
        }
    }

    /// Skips to the end of the line, however far that is.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let unread = &self.buffer[self.filled.clone()];
            match memchr::memchr2(b'\n', b'\r', unread) {
                Some(at) => {
                    self.end_line(at);
                    return Ok(());
                }
                None => self.filled.start = self.filled.end,
            }
            if !self.fill()? {
                return Ok(());
            }
        }
    }

    /// Reads a record that has quotes, from the start of its line. Its bytes stay in the buffer until it is whole.
    fn find_quoted(&mut self, line: u64) -> io::Result<Found> {
        let (mut read, mut written, mut n_fields) = (0, 0, 0);
        loop {
            let input = &self.buffer[self.filled.start + read..self.filled.end];
            if input.is_empty() && !self.finished {
                if read >= self.limit {
                    return self.give_up(read).map(|()| Found::TooLong(line));
                }
                self.fill()?;
                continue;
            }
            let (result, n_read, n_written, n_ends) = self.quoting.read_record(
                input,
                &mut self.unquoted[written..],
                &mut self.ends[n_fields..],
            );
            (read, written, n_fields) = (read + n_read, written + n_written, n_fields + n_ends);
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => {
                    self.unquoted.resize((self.unquoted.len() * 2).max(4_096), 0)
                }
                ReadRecordResult::OutputEndsFull => {
                    self.ends.resize((self.ends.len() * 2).max(64), 0)
                }
                ReadRecordResult::Record | ReadRecordResult::End => {
                    self.end_quoted(read);
                    if read > self.limit {
                        return Ok(Found::TooLong(line));
                    }
                    self.ends.truncate(n_fields);
                    return Ok(Found::Record(line, Place::Quoted));
                }
            }
        }
    }

    /// Uses up a record of `read` bytes, its line's end included.
    fn end_quoted(&mut self, read: usize) {
        let record = &self.buffer[self.filled.start..self.filled.start + read];
        let ended_by = record.last().copied();
        let line_feeds = memchr::memchr_iter(b'\n', record).count() as u64;
        // A carriage return that ends the record counts as its line's end; one within quotes is half of one.
        self.line += line_feeds + u64::from(ended_by == Some(b'\r'));
        self.skip_line_feed = ended_by == Some(b'\r');
        self.filled.start += read;
    }

    /// Leaves a quoted record that is too long: a quote was opened by mistake, or someone means harm.
    fn give_up(&mut self, read: usize) -> io::Result<()> {
        self.quoting.reset();
        if self.resumes < RESUMES_MAX {
            self.resumes += 1;
        } else {
            self.end_quoted(read);
            self.skip_line_feed = false;
        }
        self.skip_line()
    }

    /// Reads more bytes behind those that are not used yet. Tells whether there were any.
    fn fill(&mut self) -> io::Result<bool> {
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
                    self.filled.end += n;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn cut_line(&mut self, line: u64, range: Range<usize>) -> Record<'_> {
        let bytes = &self.buffer[range];
        self.fields.clear();
        let mut start = 0;
        for comma in memchr::memchr_iter(b',', bytes) {
            self.fields.push((start, comma as u32));
            start = comma as u32 + 1;
        }
        self.fields.push((start, bytes.len() as u32));
        to_text(line, bytes, &mut self.fields, &mut self.converted)
    }

    fn cut_quoted(&mut self, line: u64) -> Record<'_> {
        self.fields.clear();
        let mut start = 0;
        for &end in &self.ends {
            self.fields.push((start, end as u32));
            start = end as u32;
        }
        // `ends` is the scratch of the next record too.
        self.ends.resize(self.ends.capacity(), 0);
        to_text(line, &self.unquoted[..start as usize], &mut self.fields, &mut self.converted)
    }
}

/// The record as text. Fields that are not UTF-8 are read as Latin-1, which gives each byte a letter: ids stay
/// distinct, and most names of old feeds come out right.
fn to_text<'a>(
    line: u64,
    bytes: &'a [u8],
    fields: &'a mut [(u32, u32)],
    converted: &'a mut String,
) -> Record<'a> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        // A comma is one byte in UTF-8, but quoted fields stand without one between them: each must be whole itself.
        if fields.iter().all(|&(start, _)| text.is_char_boundary(start as usize)) {
            return Record { line, text, fields, latin1: false };
        }
    }
    converted.clear();
    for (start, end) in fields.iter_mut() {
        let field = &bytes[*start as usize..*end as usize];
        *start = converted.len() as u32;
        match std::str::from_utf8(field) {
            Ok(text) => converted.push_str(text),
            Err(_) => converted.extend(field.iter().copied().map(char::from)),
        }
        *end = converted.len() as u32;
    }
    Record { line, text: converted, fields, latin1: true }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A reader that hands out a few bytes at a time.
    struct Slowly<'a>(&'a [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(buffer.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn split(text: &[u8], step: usize) -> Vec<(u64, Vec<String>)> {
        let mut splitter = Splitter::new(Slowly(text, step), 0);
        let mut records = Vec::new();
        loop {
            match splitter.find().unwrap() {
                Found::Record(line, place) => {
                    let record = splitter.cut(line, place);
                    let fields =
                        (0..record.fields.len()).map(|at| record.field(at).to_owned()).collect();
                    records.push((record.line, fields));
                }
                Found::TooLong(line) => records.push((line, vec!["(too long)".to_owned()])),
                Found::End => return records,
            }
        }
    }

    fn check(text: &str, expected: &[(u64, &[&str])]) {
        for step in [1, 3, 1_000] {
            let found = split(text.as_bytes(), step);
            let found: Vec<(u64, Vec<&str>)> = found
                .iter()
                .map(|(line, fields)| (*line, fields.iter().map(String::as_str).collect()))
                .collect();
            let expected: Vec<(u64, Vec<&str>)> =
                expected.iter().map(|(line, f)| (*line, f.to_vec())).collect();
            assert_eq!(found, expected, "{text:?} by {step}");
        }
    }

    #[test]
    fn lines_end_as_they_like() {
        let rows: &[(u64, &[&str])] = &[(1, &["a", "b"]), (2, &["c", ""])];
        check("a,b\nc,\n", rows);
        check("a,b\r\nc,", rows);
        check("a,b\rc,\r", rows);
        check("a,b\r\n\n\nc,\r\n", &[(1, &["a", "b"]), (4, &["c", ""])]);
        check("", &[]);
        check("\n\r\n", &[]);
    }

    #[test]
    fn quotes_hold_commas_quotes_and_lines() {
        check("\"a,b\",c\n", &[(1, &["a,b", "c"])]);
        check("\"say \"\"hi\"\"\"\r\nx", &[(1, &["say \"hi\""]), (2, &["x"])]);
        check("a,\"b\nc\"\nd,e\n", &[(1, &["a", "b\nc"]), (3, &["d", "e"])]);
        check("\"a\"\r\"b\"\rc", &[(1, &["a"]), (2, &["b"]), (3, &["c"])]);
        check("a\n\"\"\nb", &[(1, &["a"]), (2, &[""]), (3, &["b"])]);
        check("a,\"never closed\nb", &[(1, &["a", "never closed\nb"])]);
    }

    #[test]
    fn latin1_is_read_field_by_field() {
        let mut splitter = Splitter::new(&b"caf\xE9,na\xC3\xAFve\n"[..], 0);
        let Found::Record(line, place) = splitter.find().unwrap() else { panic!("no record") };
        let record = splitter.cut(line, place);
        assert!(record.latin1);
        assert_eq!((record.field(0), record.field(1), record.field(2)), ("café", "naïve", ""));
    }

    #[test]
    fn an_overlong_line_is_skipped_in_bounded_memory() {
        let mut text = b"a,b\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', 10 * CHUNK_BYTES));
        text.extend(b"\nc,d\n");
        let mut splitter = Splitter::new(text.as_slice(), 0);
        assert!(matches!(splitter.find().unwrap(), Found::Record(1, _)));
        assert!(matches!(splitter.find().unwrap(), Found::TooLong(2)));
        assert!(matches!(splitter.find().unwrap(), Found::Record(3, _)));
        assert!(matches!(splitter.find().unwrap(), Found::End));
        assert!(splitter.buffer.len() <= 3 * CHUNK_BYTES, "{}", splitter.buffer.len());
    }

    #[test]
    fn an_open_quote_costs_one_row() {
        let mut text = b"a,\"b\n".to_vec();
        let n_rows = 20_000_u64;
        for row in 0..n_rows {
            text.extend(format!("row {row},x\n").bytes());
        }
        let records = split(&text, 10_000);
        assert_eq!(records.len() as u64, n_rows + 1);
        assert_eq!(records[0], (1, vec!["(too long)".to_owned()]));
        assert_eq!(records[1], (2, vec!["row 0".to_owned(), "x".to_owned()]));
        assert_eq!(records.last().unwrap().0, n_rows + 1);
    }

    #[test]
    fn quotes_that_stay_open_cost_linear_time() {
        // Each of these lines, read by itself, opens a quote that the next line's first quote closes and reopens.
        let text = "a\",\"\n".repeat(400_000);
        let records = split(text.as_bytes(), 10_000);
        assert!(records.len() < 100, "{}", records.len());
    }

    fn oracle(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
        reader
            .byte_records()
            .map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect())
            .collect()
    }

    proptest! {
        #[test]
        fn records_are_those_of_the_csv_crate(text in "[ab,\"\r\n]{0,60}", step in 1_usize..9) {
            let found: Vec<Vec<Vec<u8>>> = split(text.as_bytes(), step)
                .into_iter()
                .map(|(_, fields)| fields.into_iter().map(String::into_bytes).collect())
                .collect();
            prop_assert_eq!(found, oracle(text.as_bytes()));
        }

        #[test]
        fn any_bytes_are_split(bytes: Vec<u8>, step in 1_usize..40) {
            split(&bytes, step);
        }
    }
}
