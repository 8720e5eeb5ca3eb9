//! What is converted: opened where it lies, or brought to the disk first.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use bytes::Bytes;
use lineside_formats::{Losses, begins_as_schedule, gtfs};
use lineside_ingest::{Location, fetch_into, pack_folder};

use super::{Failure, blocking};
use crate::cli::{
    input::{Reach, clock, config_of, fetch, shown},
    print, system,
};
use crate::convert::{DISCOVERY, Input, REALTIME_BYTES_MAX, too_large};

/// The bytes at a body's start by which it is told whether it may be a schedule.
const START_BYTES: usize = 8 << 10;

/// A file with the bytes of a file, a folder, an address or standard input. What is no file of its own is brought into
/// one without a name among the temporary files, which is gone when it is closed.
pub(super) async fn open(input: &str) -> Result<File, Failure> {
    let unfinished = |reason: String| Failure::Unfinished(format!("{}: {reason}", shown(input)));
    if input == "-" {
        let spooled = blocking(|| Spool::fill(&mut io::stdin().lock())).await?;
        return spooled.map_err(|error| unfinished(error.to_string()));
    }
    let location = Location::parse(input).map_err(|error| Failure::Usage(error.to_string()))?;
    let opened = match location {
        Location::Http(_) => return download(location).await.map_err(unfinished),
        Location::Replay { .. } => {
            let body =
                fetch(location, REALTIME_BYTES_MAX, Reach::Anywhere).await.map_err(unfinished)?;
            blocking(move || Spool::fill(&mut &*body)).await?
        }
        Location::Path(path) => blocking(move || open_path(&path)).await?,
    };
    opened.map_err(|error| unfinished(error.to_string()))
}

fn open_path(path: &Path) -> io::Result<File> {
    if path.is_dir() { open_folder(path) } else { open_file(path) }
}

fn open_file(file: &Path) -> io::Result<File> {
    let mut opened = File::open(file)?;
    // A pipe is read once, from its beginning to its end.
    if opened.metadata()?.is_file() { Ok(opened) } else { Spool::fill(&mut opened) }
}

fn open_folder(folder: &Path) -> io::Result<File> {
    // A system's folder is named by its discovery file.
    let discovery = folder.join("gbfs.json");
    if discovery.is_file() {
        return File::open(discovery);
    }
    let mut file = tempfile::tempfile()?;
    pack_folder(folder, schedule_bytes_max(), &mut file)?;
    Ok(file)
}

async fn download(location: Location) -> Result<File, String> {
    let file = tempfile::tempfile().map_err(|error| error.to_string())?;
    let spool = Spool::into(file.try_clone().map_err(|error| error.to_string())?);
    let config = config_of(location, schedule_bytes_max())?;
    let fetched = fetch_into(&config, clock(), Box::new(spool)).await;
    fetched.map(|()| file).map_err(|failure| failure.detail)
}

/// No schedule is read that inflates to more, so none that is larger need be kept.
fn schedule_bytes_max() -> u64 {
    gtfs::Limits::default().total_bytes
}

/// A body on its way to the disk. It may be large only if it begins as a schedule does.
struct Spool {
    file: File,
    start: Vec<u8>,
    length: u64,
}

impl Spool {
    fn into(file: File) -> Spool {
        Spool { file, start: Vec::new(), length: 0 }
    }

    fn fill(reader: &mut impl io::Read) -> io::Result<File> {
        let mut spool = Spool::into(tempfile::tempfile()?);
        io::copy(reader, &mut spool)?;
        Ok(spool.file)
    }
}

impl Write for Spool {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let room = START_BYTES.saturating_sub(self.start.len()).min(piece.len());
        self.start.extend_from_slice(&piece[..room]);
        self.length += piece.len() as u64;
        if self.length > schedule_bytes_max() {
            let most = schedule_bytes_max() >> 30;
            return Err(io::Error::other(format!("larger than {most} GiB")));
        }
        if self.length > REALTIME_BYTES_MAX && !begins_as_schedule(&self.start) {
            return Err(io::Error::other(too_large()));
        }
        self.file.write_all(piece)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The files of a GBFS system in its languages, if the body is a discovery file.
pub(super) async fn system_of(input: &str, body: &Bytes) -> Result<Option<Input>, Failure> {
    let read = system::read(input, body, Reach::Anywhere).await?;
    let Some(system) = read else { return Ok(None) };
    let mut files = vec![(DISCOVERY.to_owned(), body.clone())];
    files.extend(system.files);
    let mut missing = Losses::new();
    for unread in system.unread {
        if let Some(reason) = unread.reason {
            print::note(&format!("{}: {reason}", unread.name));
        }
        missing.push("file", unread.why, Some(&*unread.name));
    }
    let others = system.others.into_iter().map(|other| (other.language, other.files)).collect();
    Ok(Some(Input::System { files, language: system.language, others, missing }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_begins_as_a_schedule_may_be_large() {
        let piece = vec![b' '; 1 << 20];
        let fill = |start: &[u8]| {
            let mut spool = Spool::into(tempfile::tempfile().unwrap());
            spool.write_all(start).unwrap();
            // Of a large body the beginning is on the disk already.
            spool.length = REALTIME_BYTES_MAX - 1;
            spool.write_all(&piece).map_err(|error| error.to_string())
        };
        assert_eq!(fill(b"PK\x03\x04"), Ok(()));
        assert_eq!(fill(b"<?xml version=\"1.0\"?><PublicationDelivery>"), Ok(()));
        assert_eq!(fill(b"<Siri>"), Err(too_large()));
        assert!(fill(b"{").unwrap_err().contains("256 MiB"));
    }

    /// A message that goes on and on: its beginning, then one byte over and over. Counts what is taken of it.
    struct Endless {
        start: &'static [u8],
        taken: u64,
    }

    impl io::Read for Endless {
        fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
            let n = self.start.len().min(piece.len());
            let (now, later) = self.start.split_at(n);
            piece[..n].copy_from_slice(now);
            self.start = later;
            piece[n..].fill(b'x');
            self.taken += piece.len() as u64;
            Ok(piece.len())
        }
    }

    #[test]
    fn a_text_of_a_gigabyte_is_refused_while_it_comes() {
        for start in [
            &b"<Siri xmlns=\"http://www.siri.org.uk/siri\"><ServiceDelivery><ProducerRef>"[..],
            br#"{"header":{"gtfs_realtime_version":""#,
        ] {
            let stream = Endless { start, taken: 0 };
            let mut gigabyte = io::Read::take(stream, 1_000_000_000);
            let error = Spool::fill(&mut gigabyte).unwrap_err();
            assert_eq!(error.to_string(), too_large());
            let taken = gigabyte.into_inner().taken;
            assert!(taken <= REALTIME_BYTES_MAX + (1 << 20), "{taken}");
        }
    }
}
