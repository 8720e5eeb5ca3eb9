//! Splits a file into pieces at row ends, in one pass over the inflated bytes.

use std::io::{self, Read};

use super::reader::{BYTE_ORDER_MARK, COMMENT_START, ROW_BYTES_MAX};

/// The largest piece in bytes: a row in it is never too long.
pub(super) const PIECE_BYTES_MAX: usize = ROW_BYTES_MAX;

/// Whole rows of a file: the first `n` bytes of a buffer.
pub(super) struct FilePiece {
    pub(super) buffer: Vec<u8>,
    pub(super) n: usize,
    /// The line of the file at which the piece begins, counted from 1.
    pub(super) line: u64,
}

impl FilePiece {
    pub(super) fn row_bytes(&self) -> &[u8] {
        &self.buffer[..self.n]
    }
}

/// The next part of a file.
pub(super) enum NextFilePiece {
    Piece(FilePiece),
    /// Bytes that cannot be split without parsing them, and their first line: one reader must read them and everything
    /// after them.
    Rest(Vec<u8>, u64),
    End,
}

/// A file that is being split.
pub(super) struct FilePieceCutter<'r> {
    file: &'r mut dyn Read,
    piece_bytes: usize,
    /// A buffer with room for a piece. Bytes beyond `n` are garbage, and not cleared for each piece.
    buffer: Vec<u8>,
    /// The number of inflated bytes that were not returned yet; they begin with a row.
    n: usize,
    has_ended: bool,
    line: u64,
}

impl<'r> FilePieceCutter<'r> {
    /// Splits a file into pieces of at most this number of bytes.
    pub(super) fn new(file: &'r mut dyn Read, piece_bytes: usize) -> FilePieceCutter<'r> {
        let piece_bytes = piece_bytes.min(PIECE_BYTES_MAX);
        let buffer = vec![0; piece_bytes];
        FilePieceCutter { file, piece_bytes, buffer, n: 0, has_ended: false, line: 1 }
    }

    /// Returns the next rows. Inflates the following bytes into the `spare` buffer, if given.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be inflated.
    pub(super) fn cut_next_piece(&mut self, spare: Option<Vec<u8>>) -> io::Result<NextFilePiece> {
        self.fill_buffer()?;
        if self.n == 0 {
            return Ok(NextFilePiece::End);
        }
        let bytes = &self.buffer[..self.n];
        let Some(end) = find_last_whole_row_end(bytes, self.line == 1, self.has_ended) else {
            return Ok(NextFilePiece::Rest(self.take_buffered_bytes(), self.line));
        };
        let n_lines = memchr::memchr_iter(b'\n', &bytes[..end]).count() as u64;
        let mut next = spare.unwrap_or_else(|| vec![0; self.piece_bytes]);
        let rest = &bytes[end..];
        next[..rest.len()].copy_from_slice(rest);
        self.n = rest.len();
        let buffer = std::mem::replace(&mut self.buffer, next);
        let piece = FilePiece { buffer, n: end, line: self.line };
        self.line += n_lines;
        Ok(NextFilePiece::Piece(piece))
    }

    /// Inflates up to a piece in steps as large as possible: each step has a fixed cost.
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

    fn take_buffered_bytes(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.buffer);
        rest.truncate(std::mem::take(&mut self.n));
        rest
    }

    /// Returns a reader of everything that was not returned yet.
    pub(super) fn into_remaining_reader(mut self) -> impl Read + use<'r> {
        io::Cursor::new(self.take_buffered_bytes()).chain(self.file)
    }
}

/// Returns the end of the last whole row, if the bytes begin with a row. `None` if only parsing row by row can tell:
/// line ends other than line feeds, rows longer than a piece, quotes in bytes with possible comments or the mark of
/// UTF-8, and that mark within the file.
fn find_last_whole_row_end(bytes: &[u8], is_first: bool, is_last: bool) -> Option<usize> {
    let has_odd_ends =
        memchr::memchr(b'\r', bytes).is_some() && has_lone_carriage_return(bytes, is_last);
    if has_odd_ends || (bytes.starts_with(BYTE_ORDER_MARK) && !is_first) {
        return None;
    }
    if is_last {
        return Some(bytes.len());
    }
    match memchr::memchr(b'"', bytes) {
        None => memchr::memrchr(b'\n', bytes).map(|at| at + 1),
        Some(_) if bytes.starts_with(BYTE_ORDER_MARK) || may_have_comments(bytes) => None,
        Some(quote) => find_line_end_outside_quotes(bytes, quote),
    }
}

/// Returns true if a line begins like a comment.
fn may_have_comments(bytes: &[u8]) -> bool {
    bytes.first() == Some(&COMMENT_START)
        || memchr::memmem::find(bytes, &[b'\n', COMMENT_START]).is_some()
}

/// Returns true if a carriage return is not followed by a line feed.
fn has_lone_carriage_return(bytes: &[u8], is_last: bool) -> bool {
    memchr::memchr_iter(b'\r', bytes).any(|at| match bytes.get(at + 1) {
        Some(next) => *next != b'\n',
        None => is_last,
    })
}

/// Returns the end of the last line outside quotes. A quote opens only at the start of a cell, and two quotes within
/// quotes are an escaped one.
fn find_line_end_outside_quotes(bytes: &[u8], first_quote: usize) -> Option<usize> {
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
        // The quotes are never closed, or closed in the next piece.
        let Some(close) = close else { return end };
        from = close + 1;
        next = next_quote(from);
    }
    last_end(from, bytes.len()).or(end)
}
