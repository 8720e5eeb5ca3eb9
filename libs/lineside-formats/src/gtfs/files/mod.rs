//! Sources of a dataset's files: a zip, texts in memory, or any other [`FileSet`].

mod text;
mod zip;

use std::io::{self, Read};

use crate::{Error, ErrorKind, Problems};

pub use self::{text::TextFiles, zip::ZipFiles};

/// The files of one dataset. A file may be opened again after it has been read.
pub trait FileSet {
    /// Returns the names of all files, without directories.
    fn file_names(&mut self) -> Vec<String>;

    /// Opens the file with that name; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the file exists and cannot be read.
    fn open_file<'a>(&'a mut self, name: &str) -> Result<Option<Box<dyn Read + 'a>>, Error>;

    /// Returns the size of a file in bytes as its container states it, which may be wrong; `None` if it states none.
    fn file_size_hint(&mut self, _name: &str) -> Option<u64> {
        None
    }

    /// Returns the problems of the dataset as a whole, such as files in a sub-directory, and removes them.
    fn take_problems(&mut self) -> Problems {
        Problems::new()
    }
}

/// A reader that fails once a limit is exceeded.
pub(crate) struct SizeLimitedReader<R> {
    reader: R,
    left: u64,
    refusal: fn() -> Error,
}

impl<R> SizeLimitedReader<R> {
    pub(crate) fn new(reader: R, bytes: u64, refusal: fn() -> Error) -> SizeLimitedReader<R> {
        SizeLimitedReader { reader, left: bytes, refusal }
    }

    /// Returns the number of bytes that may still be read.
    pub(crate) fn bytes_left(&self) -> u64 {
        self.left
    }
}

impl<R: Read> Read for SizeLimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        match self.left.checked_sub(n as u64) {
            Some(left) => {
                self.left = left;
                Ok(n)
            }
            None => Err(io::Error::other((self.refusal)())),
        }
    }
}

/// Returns the error for a file larger than the limits.
pub(crate) fn too_large_error() -> Error {
    Error::new(ErrorKind::TooLarge, "is larger than the limit when decompressed")
}
