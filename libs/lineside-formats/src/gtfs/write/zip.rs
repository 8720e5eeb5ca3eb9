//! Tables as a zip.

use std::{
    fmt,
    io::{self, Seek, Write},
};

use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

use super::{TableWriter, append_row};
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
    pub fn finish_archive(mut self) -> Result<W, Error> {
        self.flush_rows()?;
        self.zip.finish().map_err(|error| error_from_write(error.into()))
    }

    fn flush_rows(&mut self) -> Result<(), Error> {
        self.zip.write_all(&self.rows).map_err(error_from_write)?;
        self.rows.clear();
        Ok(())
    }
}

impl<W: Write + Seek> TableWriter for ZipTables<W> {
    fn begin_table(&mut self, table: &'static str, columns: &[&str]) -> Result<(), Error> {
        self.flush_rows()?;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default());
        self.zip.start_file(table, options).map_err(|error| error_from_write(error.into()))?;
        self.write_row(columns)
    }

    fn write_row(&mut self, cells: &[&str]) -> Result<(), Error> {
        append_row(&mut self.rows, cells);
        if self.rows.len() < CHUNK_BYTES { Ok(()) } else { self.flush_rows() }
    }

    /// A zip is for software that refuses incomplete rows.
    fn write_incomplete_row(&mut self, _: &[&str], completed: &[&str]) -> Result<(), Error> {
        self.write_row(completed)
    }
}

fn error_from_write(error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the zip cannot be written: {error}"))
}
