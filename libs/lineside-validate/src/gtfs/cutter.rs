//! Cuts a file at the ends of rows, in one pass over what was just inflated.

use std::io::{self, Read};

use super::reader::{MARK, REMARK, ROW_BYTES_MAX};

/// The most bytes of a piece: no row in it is too long.
pub(super) const PIECE_BYTES_MAX: usize = ROW_BYTES_MAX;

/// Whole rows of a file.
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    /// The line of the file that it begins with, counted from 1.
    pub(super) line: u64,
}

/// What comes next in a file.
pub(super) enum Next {
    Piece(Piece),
    /// Bytes that cannot be cut without a closer look, and the line that they begin with: they and
    /// all that follows are for one reader.
    Rest(Vec<u8>, u64),
    End,
}

/// A file that is being cut.
pub(super) struct Cutter<'r> {
    file: &'r mut dyn Read,
    piece_bytes: usize,
    /// What was inflated and not yet handed out; it begins with a row.
    buffer: Vec<u8>,
    has_ended: bool,
    line: u64,
}

impl<'r> Cutter<'r> {
    /// Pieces of at most so many bytes.
    pub(super) fn new(file: &'r mut dyn Read, piece_bytes: usize) -> Cutter<'r> {
        let piece_bytes = piece_bytes.min(PIECE_BYTES_MAX);
        Cutter { file, piece_bytes, buffer: Vec::new(), has_ended: false, line: 1 }
    }

    /// The next rows. What follows them is inflated into a buffer that was done with, if one is given.
    ///
    /// # Errors
    ///
    /// If the file cannot be inflated.
    pub(super) fn next(&mut self, spare: Option<Vec<u8>>) -> io::Result<Next> {
        if !self.has_ended {
            let missing = self.piece_bytes.saturating_sub(self.buffer.len());
            let n = self.file.take(missing as u64).read_to_end(&mut self.buffer)?;
            self.has_ended = n < missing;
        }
        if self.buffer.is_empty() {
            return Ok(Next::End);
        }
        let is_first = self.line == 1;
        let Some(end) = end_of_rows(&self.buffer, is_first, self.has_ended) else {
            return Ok(Next::Rest(std::mem::take(&mut self.buffer), self.line));
        };
        let mut rest = spare.unwrap_or_default();
        rest.clear();
        rest.reserve_exact(if self.has_ended { 0 } else { self.piece_bytes });
        rest.extend_from_slice(&self.buffer[end..]);
        self.buffer.truncate(end);
        let piece = Piece { bytes: std::mem::replace(&mut self.buffer, rest), line: self.line };
        self.line += memchr::memchr_iter(b'\n', &piece.bytes).count() as u64;
        Ok(Next::Piece(piece))
    }

    /// What was not handed out.
    pub(super) fn into_rest(self) -> impl Read + use<'r> {
        io::Cursor::new(self.buffer).chain(self.file)
    }
}

/// Where the last whole row of some bytes ends that begin with a row. `None` if only who reads them
/// row by row can tell: lines that end otherwise than with a line feed, rows longer than a piece,
/// quotes where there may be remarks or the mark of UTF-8, and that mark within the file.
fn end_of_rows(bytes: &[u8], is_first: bool, is_last: bool) -> Option<usize> {
    let has_odd_ends = memchr::memchr(b'\r', bytes).is_some() && has_lone_return(bytes, is_last);
    if has_odd_ends || (bytes.starts_with(MARK) && !is_first) {
        return None;
    }
    if is_last {
        return Some(bytes.len());
    }
    match memchr::memchr(b'"', bytes) {
        None => memchr::memrchr(b'\n', bytes).map(|at| at + 1),
        Some(_) if bytes.starts_with(MARK) || may_have_remarks(bytes) => None,
        Some(quote) => end_outside_quotes(bytes, quote),
    }
}

/// Whether a line begins as remarks do.
fn may_have_remarks(bytes: &[u8]) -> bool {
    bytes.first() == Some(&REMARK) || memchr::memmem::find(bytes, &[b'\n', REMARK]).is_some()
}

/// Whether a carriage return stands somewhere without a line feed behind it.
fn has_lone_return(bytes: &[u8], is_last: bool) -> bool {
    memchr::memchr_iter(b'\r', bytes).any(|at| match bytes.get(at + 1) {
        Some(next) => *next != b'\n',
        None => is_last,
    })
}

/// Where the last line ends that does so outside of quotes. A quote opens only at the beginning of a
/// cell, and two of them within quotes are one that is meant.
fn end_outside_quotes(bytes: &[u8], first_quote: usize) -> Option<usize> {
    let last_end =
        |from: usize, to: usize| memchr::memrchr(b'\n', &bytes[from..to]).map(|at| from + at + 1);
    let next_quote = |from: usize| memchr::memchr(b'"', &bytes[from..]).map(|at| from + at);
    let (mut from, mut end, mut next) = (0, None, Some(first_quote));
    while let Some(quote) = next {
        let opens = quote == 0 || matches!(bytes[quote - 1], b',' | b'\n');
        if !opens {
            next = next_quote(quote + 1);
            continue;
        }
        end = last_end(from, quote).or(end);
        let mut close = next_quote(quote + 1);
        while let Some(at) = close
            && bytes.get(at + 1) == Some(&b'"')
        {
            close = next_quote(at + 2);
        }
        // Never closed, or that remains to be seen in the next piece.
        let Some(close) = close else { return end };
        from = close + 1;
        next = next_quote(from);
    }
    last_end(from, bytes.len()).or(end)
}
