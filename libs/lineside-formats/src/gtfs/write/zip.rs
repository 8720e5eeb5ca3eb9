//! Tables as a zip.

use std::{
    fmt,
    io::{self, Seek, Write},
};

use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

use super::{Tables, append_row};
use crate::{Error, ErrorKind};

/// How many bytes of rows are collected before they are compressed.
const CHUNK_BYTES: usize = 64 << 10;

/// A dataset as a zip that is being written. The same rows give the same bytes: entries carry no time.
///
/// Memory: one chunk of rows and the compressor, besides what the writer underneath holds.
pub struct ZipTables<W: Write + Seek> {
    zip: ZipWriter<W>,
    rows: Vec<u8>,
}

impl<W: Write + Seek> fmt::Debug for ZipTables<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZipTables").finish_non_exhaustive()
    }
}

impl<W: Write + Seek> ZipTables<W> {
    /// An archive without tables so far.
    pub fn new(writer: W) -> ZipTables<W> {
        ZipTables { zip: ZipWriter::new(writer), rows: Vec::new() }
    }

    /// Writes what is left and the list of the tables, which ends the archive.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<W, Error> {
        self.flush()?;
        self.zip.finish().map_err(|error| unwritten(error.into()))
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.zip.write_all(&self.rows).map_err(unwritten)?;
        self.rows.clear();
        Ok(())
    }
}

impl<W: Write + Seek> Tables for ZipTables<W> {
    fn begin(&mut self, table: &'static str, columns: &[&str]) -> Result<(), Error> {
        self.flush()?;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default());
        self.zip.start_file(table, options).map_err(|error| unwritten(error.into()))?;
        self.row(columns)
    }

    fn row(&mut self, cells: &[&str]) -> Result<(), Error> {
        append_row(&mut self.rows, cells);
        if self.rows.len() < CHUNK_BYTES { Ok(()) } else { self.flush() }
    }

    /// A zip is for software that refuses incomplete rows.
    fn incomplete_row(&mut self, _: &[&str], completed: &[&str]) -> Result<(), Error> {
        self.row(completed)
    }
}

fn unwritten(error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the zip cannot be written: {error}"))
}
