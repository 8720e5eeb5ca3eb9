//! The input of a conversion: opened in place, or first written to disk.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use bytes::Bytes;
use lineside_fetch::{fetch_once_into_writer, zip_schedule_folder};
use lineside_formats::{ConversionReport, gtfs, may_be_schedule};
use lineside_model::SourceLocation;
use lineside_quality::convert::{
    ConversionInput, DISCOVERY, REALTIME_BYTES_MAX, input_too_large_message,
};

use super::{CommandFailure, run_blocking};
use crate::cli::{
    gbfs_files,
    input::{AllowedAddresses, config_for_single_fetch, fetch_input, real_clock, redacted_name},
    print,
};

/// Number of bytes at the start of a body from which a schedule is recognized.
const START_BYTES: usize = 8 << 10;

/// Opens the bytes of a file, a folder, an address or standard input. Bytes that are not in a file yet are written to
/// an unnamed temporary file, which disappears when it is closed.
pub(super) async fn open_conversion_input(input: &str) -> Result<File, CommandFailure> {
    let unfinished =
        |reason: String| CommandFailure::Unfinished(format!("{}: {reason}", redacted_name(input)));
    if input == "-" {
        let spooled =
            run_blocking(|| InputSpoolWriter::spool_reader_to_file(&mut io::stdin().lock()))
                .await?;
        return spooled.map_err(|error| unfinished(error.to_string()));
    }
    let location =
        SourceLocation::parse(input).map_err(|error| CommandFailure::Usage(error.to_string()))?;
    let opened = match location {
        SourceLocation::Http(_) => {
            return download_to_temporary_file(location).await.map_err(unfinished);
        }
        SourceLocation::Replay { .. } => {
            let body = fetch_input(location, REALTIME_BYTES_MAX, AllowedAddresses::Anywhere)
                .await
                .map_err(unfinished)?;
            run_blocking(move || InputSpoolWriter::spool_reader_to_file(&mut &*body)).await?
        }
        SourceLocation::Path(path) => run_blocking(move || open_file_or_folder(&path)).await?,
    };
    opened.map_err(|error| unfinished(error.to_string()))
}

fn open_file_or_folder(path: &Path) -> io::Result<File> {
    if path.is_dir() { open_discovery_or_zip(path) } else { open_regular_or_spooled(path) }
}

fn open_regular_or_spooled(file: &Path) -> io::Result<File> {
    let mut opened = File::open(file)?;
    // A pipe can be read only once, from beginning to end.
    if opened.metadata()?.is_file() {
        Ok(opened)
    } else {
        InputSpoolWriter::spool_reader_to_file(&mut opened)
    }
}

fn open_discovery_or_zip(folder: &Path) -> io::Result<File> {
    // A GBFS folder is read by its discovery file.
    let discovery = folder.join("gbfs.json");
    if discovery.is_file() {
        return File::open(discovery);
    }
    let mut file = tempfile::tempfile()?;
    zip_schedule_folder(folder, max_schedule_bytes(), &mut file)?;
    Ok(file)
}

async fn download_to_temporary_file(location: SourceLocation) -> Result<File, String> {
    let file = tempfile::tempfile().map_err(|error| error.to_string())?;
    let spool = InputSpoolWriter::for_file(file.try_clone().map_err(|error| error.to_string())?);
    let config = config_for_single_fetch(location, max_schedule_bytes())?;
    let fetched = fetch_once_into_writer(&config, real_clock(), Box::new(spool)).await;
    fetched.map(|()| file).map_err(|failure| failure.detail)
}

/// Returns the size limit of a schedule. No schedule that inflates to more is read, so a larger file is refused too.
fn max_schedule_bytes() -> u64 {
    gtfs::DatasetLimits::default().total_bytes
}

/// A body being written to disk. It may exceed [`REALTIME_BYTES_MAX`] only if it begins like a schedule.
struct InputSpoolWriter {
    file: File,
    start: Vec<u8>,
    length: u64,
}

impl InputSpoolWriter {
    fn for_file(file: File) -> InputSpoolWriter {
        InputSpoolWriter { file, start: Vec::new(), length: 0 }
    }

    fn spool_reader_to_file(reader: &mut impl io::Read) -> io::Result<File> {
        let mut spool = InputSpoolWriter::for_file(tempfile::tempfile()?);
        io::copy(reader, &mut spool)?;
        Ok(spool.file)
    }
}

impl Write for InputSpoolWriter {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let n_left = START_BYTES.saturating_sub(self.start.len()).min(piece.len());
        self.start.extend_from_slice(&piece[..n_left]);
        self.length += piece.len() as u64;
        if self.length > max_schedule_bytes() {
            let size_gib = max_schedule_bytes() >> 30;
            return Err(io::Error::other(format!("larger than {size_gib} GiB")));
        }
        if self.length > REALTIME_BYTES_MAX && !may_be_schedule(&self.start) {
            return Err(io::Error::other(input_too_large_message()));
        }
        self.file.write_all(piece)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Reads the files of a GBFS system in all its languages if the body is a discovery file.
pub(super) async fn read_gbfs_system_input(
    input: &str,
    body: &Bytes,
) -> Result<Option<ConversionInput>, CommandFailure> {
    let read = gbfs_files::read_listed_gbfs_files(input, body, AllowedAddresses::Anywhere).await?;
    let Some(system) = read else { return Ok(None) };
    let mut files = vec![(DISCOVERY.to_owned(), body.clone())];
    files.extend(system.files);
    let mut missing = ConversionReport::new();
    for unread in system.unread {
        if let Some(reason) = unread.error {
            print::print_to_stderr(&format!("{}: {reason}", unread.name));
        }
        missing.record_dropped_object("file", unread.reason, Some(&*unread.name));
    }
    let others = system.others.into_iter().map(|other| (other.language, other.files)).collect();
    Ok(Some(ConversionInput::System {
        files,
        language: system.language,
        others,
        missing_files: missing,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_schedules_may_exceed_the_realtime_limit() {
        let piece = vec![b' '; 1 << 20];
        let fill = |start: &[u8]| {
            let mut spool = InputSpoolWriter::for_file(tempfile::tempfile().unwrap());
            spool.write_all(start).unwrap();
            // Pretend that most of a large body is on disk already.
            spool.length = REALTIME_BYTES_MAX - 1;
            spool.write_all(&piece).map_err(|error| error.to_string())
        };
        assert_eq!(fill(b"PK\x03\x04"), Ok(()));
        assert_eq!(fill(b"<?xml version=\"1.0\"?><PublicationDelivery>"), Ok(()));
        assert_eq!(fill(b"<Siri>"), Err(input_too_large_message()));
        assert!(fill(b"{").unwrap_err().contains("256 MiB"));
    }

    /// An endless message: its beginning, then one repeated byte. Counts the bytes that were read.
    struct Endless {
        start: &'static [u8],
        read: u64,
    }

    impl io::Read for Endless {
        fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
            let n = self.start.len().min(piece.len());
            let (now, later) = self.start.split_at(n);
            piece[..n].copy_from_slice(now);
            self.start = later;
            piece[n..].fill(b'x');
            self.read += piece.len() as u64;
            Ok(piece.len())
        }
    }

    #[test]
    fn oversized_realtime_input_is_refused_while_it_is_read() {
        for start in [
            &b"<Siri xmlns=\"http://www.siri.org.uk/siri\"><ServiceDelivery><ProducerRef>"[..],
            br#"{"header":{"gtfs_realtime_version":""#,
        ] {
            let stream = Endless { start, read: 0 };
            let mut gigabyte = io::Read::take(stream, 1_000_000_000);
            let error = InputSpoolWriter::spool_reader_to_file(&mut gigabyte).unwrap_err();
            assert_eq!(error.to_string(), input_too_large_message());
            let bytes_read = gigabyte.into_inner().read;
            assert!(bytes_read <= REALTIME_BYTES_MAX + (1 << 20), "{bytes_read}");
        }
    }
}
