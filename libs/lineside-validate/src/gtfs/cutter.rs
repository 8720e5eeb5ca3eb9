//! Cuts a file at the ends of rows, in one pass over what was just inflated.

use std::io::{self, Read};

use super::reader::{MARK, REMARK, ROW_BYTES_MAX};

/// The most bytes of a piece: no row in it is too long.
pub(super) const PIECE_BYTES_MAX: usize = ROW_BYTES_MAX;

/// Whole rows of a file: the first `n` bytes of a buffer.
pub(super) struct FilePiece {
    pub(super) buffer: Vec<u8>,
    pub(super) n: usize,
    /// The line of the file that it begins with, counted from 1.
    pub(super) line: u64,
}

impl FilePiece {
    pub(super) fn row_bytes(&self) -> &[u8] {
        &self.buffer[..self.n]
    }
}

/// What comes next in a file.
pub(super) enum NextPiece {
    Piece(FilePiece),
    /// Bytes that cannot be cut without a closer look, and the line that they begin with: they and
    /// all that follows are for one reader.
    Rest(Vec<u8>, u64),
    End,
}

/// A file that is being cut.
pub(super) struct PieceCutter<'r> {
    file: &'r mut dyn Read,
    piece_bytes: usize,
    /// Has room for a piece. What stands in it beyond `n` is of no use, and not written anew for each piece.
    buffer: Vec<u8>,
    /// Bytes that were inflated and not yet handed out; they begin with a row.
    n: usize,
    has_ended: bool,
    line: u64,
}

impl<'r> PieceCutter<'r> {
    /// Pieces of at most so many bytes.
    pub(super) fn new(file: &'r mut dyn Read, piece_bytes: usize) -> PieceCutter<'r> {
        let piece_bytes = piece_bytes.min(PIECE_BYTES_MAX);
        let buffer = vec![0; piece_bytes];
        PieceCutter { file, piece_bytes, buffer, n: 0, has_ended: false, line: 1 }
    }

    /// The next rows. What follows them is inflated into a buffer that was done with, if one is given.
    ///
    /// # Errors
    ///
    /// If the file cannot be inflated.
    pub(super) fn next_piece(&mut self, spare: Option<Vec<u8>>) -> io::Result<NextPiece> {
        self.fill_buffer()?;
        if self.n == 0 {
            return Ok(NextPiece::End);
        }
        let bytes = &self.buffer[..self.n];
        let Some(end) = find_end_of_rows(bytes, self.line == 1, self.has_ended) else {
            return Ok(NextPiece::Rest(self.take_rest(), self.line));
        };
        let n_lines = memchr::memchr_iter(b'\n', &bytes[..end]).count() as u64;
        let mut next = spare.unwrap_or_else(|| vec![0; self.piece_bytes]);
        let rest = &bytes[end..];
        next[..rest.len()].copy_from_slice(rest);
        self.n = rest.len();
        let buffer = std::mem::replace(&mut self.buffer, next);
        let piece = FilePiece { buffer, n: end, line: self.line };
        self.line += n_lines;
        Ok(NextPiece::Piece(piece))
    }

    /// Inflates as much as a piece may have, in steps as large as can be: each costs its own.
    fn fill_buffer(&mut self) -> io::Result<()> {
        while self.n < self.piece_bytes && !self.has_ended {
            match self.file.read(&mut self.buffer[self.n..]) {
                Ok(0) => self.has_ended = true,
                Ok(n) => self.n += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take_rest(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.buffer);
        rest.truncate(std::mem::take(&mut self.n));
        rest
    }

    /// What was not handed out.
    pub(super) fn into_rest(mut self) -> impl Read + use<'r> {
        io::Cursor::new(self.take_rest()).chain(self.file)
    }
}

/// Where the last whole row of some bytes ends that begin with a row. `None` if only who reads them
/// row by row can tell: lines that end otherwise than with a line feed, rows longer than a piece,
/// quotes where there may be remarks or the mark of UTF-8, and that mark within the file.
fn find_end_of_rows(bytes: &[u8], is_first: bool, is_last: bool) -> Option<usize> {
    let has_odd_ends = memchr::memchr(b'\r', bytes).is_some() && has_lone_return(bytes, is_last);
    if has_odd_ends || (bytes.starts_with(MARK) && !is_first) {
        return None;
    }
    if is_last {
        return Some(bytes.len());
    }
    match memchr::memchr(b'"', bytes) {
        None => memchr::memrchr(b'\n', bytes).map(|at| at + 1),
        Some(_) if bytes.starts_with(MARK) || may_have_comments(bytes) => None,
        Some(quote) => find_end_outside_quotes(bytes, quote),
    }
}

/// Whether a line begins as remarks do.
fn may_have_comments(bytes: &[u8]) -> bool {
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
fn find_end_outside_quotes(bytes: &[u8], first_quote: usize) -> Option<usize> {
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
