//! Where the tables come from: a zip, texts in memory, or whatever else implements [`FileSet`].

mod text;
mod zip;

use std::io::{self, Read};

use crate::{Error, ErrorKind, Problems};

pub use self::{text::TextFiles, zip::ZipFiles};

/// The files of one dataset. A file may be opened again after it was read.
pub trait FileSet {
    /// The names of all files, without directories.
    fn file_names(&mut self) -> Vec<String>;

    /// Opens a file by its name, or says that there is none.
    ///
    /// # Errors
    ///
    /// If the file is there and cannot be read.
    fn open_file<'a>(&'a mut self, name: &str) -> Result<Option<Box<dyn Read + 'a>>, Error>;

    /// How many bytes a file has, as its container says, which may be wrong; none where nothing says so.
    fn file_size_hint(&mut self, _name: &str) -> Option<u64> {
        None
    }

    /// What was found wrong about the dataset as a whole, such as files in a sub-directory; each
    /// problem once.
    fn take_problems(&mut self) -> Problems {
        Problems::new()
    }
}

/// A reader that stops with a refusal where a limit is passed.
pub(crate) struct LimitedReader<R> {
    reader: R,
    left: u64,
    refusal: fn() -> Error,
}

impl<R> LimitedReader<R> {
    pub(crate) fn new(reader: R, bytes: u64, refusal: fn() -> Error) -> LimitedReader<R> {
        LimitedReader { reader, left: bytes, refusal }
    }

    /// How many more bytes may be read.
    pub(crate) fn bytes_left(&self) -> u64 {
        self.left
    }
}

impl<R: Read> Read for LimitedReader<R> {
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

/// The refusal of a file that is larger than the limits.
pub(crate) fn too_large_error() -> Error {
    Error::new(ErrorKind::TooLarge, "is larger than the limit when inflated")
}
