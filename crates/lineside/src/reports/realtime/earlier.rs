//! Versions of a schedule before the one in use: of each only its trips, by which messages tell which version they are about.
//!
//! Those that this process saw replaced are at hand. The others are read from what the store keeps.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use jiff::civil::Date;
use lineside_formats::gtfs::{Limits, Tables};
use lineside_formats::{Error, ErrorKind, Format, Problems, netex, sniff_schedule};
use lineside_ingest::FeedId;
use lineside_store::Store;
use lineside_validate::gtfs::{File, ZipSource};
use lineside_validate::rules::gtfs_rt::TripIds;
use lineside_validate::{Context, Stop};

use crate::check::{memory_until, netex_limits};

/// Versions before the one in use whose trips are remembered, of each network: some 30 bytes for each trip.
pub(super) const EARLIER_MAX: usize = 2;

/// The SHA-256 of a version's bytes, and its trips.
pub(super) type Earlier = (Arc<str>, Arc<TripIds>);

/// A version that the store keeps.
#[derive(Debug)]
pub(super) struct Kept {
    name: Arc<str>,
    file: PathBuf,
    /// The bytes of it.
    size: u64,
}

/// The versions that the store keeps besides these, those seen last first, as many as there is room for beside them.
pub(super) fn kept(store: &Store, feed: &FeedId, (current, held): (&str, &[&str])) -> Vec<Kept> {
    let room = EARLIER_MAX.saturating_sub(held.len());
    // Among them are the one in use and the held ones, and maybe one that came just now.
    let versions = match store.list_versions(feed, 0, EARLIER_MAX + 2) {
        Ok(versions) => versions,
        Err(error) => {
            tracing::warn!(%feed, %error, "earlier versions of its schedule cannot be read");
            return Vec::new();
        }
    };
    let others = versions.into_iter().filter(|version| !version.is_current).map(|version| Kept {
        name: version.hash.to_string().into(),
        file: store.blob_path(&version.hash),
        size: version.size,
    });
    let is_new = |kept: &Kept| *kept.name != *current && !held.contains(&&*kept.name);
    others.filter(is_new).take(room).collect()
}

/// Reads the trips of versions, one after the other, each within `memory` in bytes, until it is stopped. Those that cannot be
/// read are left out.
pub(super) fn read(kept: &[Kept], network: &FeedId, memory: u64, stop: &Stop) -> Vec<Earlier> {
    let read = kept.iter().filter_map(|version| match version.read(memory, stop) {
        Ok(read) => Some(read),
        Err(words) => {
            let Kept { name, .. } = version;
            tracing::warn!(%network, version = %name, "an earlier version of its schedule cannot be asked: {words}");
            None
        }
    });
    read.collect()
}

impl Kept {
    /// Reads its trips, if that takes no more than `memory` in bytes; else says why not.
    pub(super) fn read(&self, memory: u64, stop: &Stop) -> Result<Earlier, String> {
        let is_too_much = || "that would take more memory than validation.memory allows".to_owned();
        if self.size > memory {
            return Err(is_too_much());
        }
        let bytes = std::fs::read(&self.file).map_err(|error| error.to_string())?;
        let needed = match memory_until(&bytes, memory, stop) {
            Err(_) if stop.is_stopped() => return Err(stopped()),
            needed => needed.map_err(|error| error.to_string())?,
        };
        if needed > memory {
            return Err(is_too_much());
        }
        let trips = catch_unwind(AssertUnwindSafe(|| trips_of(bytes, memory, stop)));
        let trips = trips.map_err(|_| "our validator broke off over it".to_owned())?;
        let trips = match trips {
            Ok(Some(trips)) => trips,
            // None is no version without trips.
            Ok(None) => return Err(stopped()),
            Err(_) if stop.is_stopped() => return Err(stopped()),
            Err(error) => return Err(error.to_string()),
        };
        Ok((Arc::clone(&self.name), Arc::new(trips)))
    }
}

/// That reading was stopped.
fn stopped() -> String {
    "it took too long, or nobody waits".to_owned()
}

/// The trips of a schedule, in GTFS or as GTFS would have them, in `memory` bytes; nothing if it was stopped.
fn trips_of(bytes: Vec<u8>, memory: u64, stop: &Stop) -> Result<Option<TripIds>, Error> {
    if sniff_schedule(Cursor::new(&bytes)).map_err(Error::io)? == Some(Format::Netex) {
        return trips_of_netex(&Bytes::from(bytes), memory, stop).map(Some);
    }
    let context = Context { today: Date::ZERO, country: None, threads: 1 };
    TripIds::read_until(&ZipSource::in_any_folder(&bytes, &Limits::default())?, &context, stop)
}

fn trips_of_netex(bytes: &Bytes, memory: u64, stop: &Stop) -> Result<TripIds, Error> {
    let limits = netex_limits(memory);
    let mut files = netex::Source::new(bytes, &limits.files)?;
    let goes_on = || !stop.is_stopped();
    let mut read = netex::decode_readable(&mut files, &limits, &goes_on)?;
    if let Some(refusal) = read.refused.pop() {
        return Err(refusal);
    }
    let mut trips = Trips { stop: stop.clone(), ..Trips::default() };
    netex::write_gtfs(&read.publication, &mut trips, &mut Problems::new())?;
    Ok(trips.ids)
}

/// Tables of which only the trips' ids are kept.
#[derive(Debug, Default)]
struct Trips {
    ids: TripIds,
    /// Where a row of the table has them, if it is that of the trips.
    column: Option<usize>,
    stop: Stop,
}

impl Tables for Trips {
    fn begin(&mut self, table: &'static str, columns: &[&str]) -> Result<(), Error> {
        let column = columns.iter().position(|column| *column == "trip_id");
        self.column = column.filter(|_| table == File::Trips.name());
        Ok(())
    }

    fn go_on(&mut self) -> Result<(), Error> {
        match self.stop.is_stopped() {
            true => Err(Error::new(ErrorKind::Io, "reading was stopped")),
            false => Ok(()),
        }
    }

    fn row(&mut self, cells: &[&str]) -> Result<(), Error> {
        self.go_on()?;
        if let Some(id) = self.column.and_then(|column| cells.get(column)) {
            self.ids.add(id);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::*;

    fn kept(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> Kept {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        Kept { name: name.into(), file, size: bytes.len() as u64 }
    }

    #[test]
    fn trips_are_read_within_bounds_and_what_cannot_be_read_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let trips = "route_id,service_id,trip_id\nR,D,T1\nR,D,T2\n";
        for (name, text) in [("trips.txt", trips), ("stops.txt", "stop_id\nS\n")] {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        let zip = zip.finish().unwrap().into_inner();
        let version = kept(&folder, "a", &zip);
        let (name, trips) = version.read(1 << 20, &Stop::default()).unwrap();
        assert_eq!((&*name, trips.len(), trips.has("T2")), ("a", 2, true));
        for memory in [zip.len() as u64 - 1, zip.len() as u64] {
            let read = version.read(memory, &Stop::default());
            assert!(read.unwrap_err().contains("memory"), "{memory}");
        }
        assert!(kept(&folder, "b", b"PK, but no zip").read(1 << 20, &Stop::default()).is_err());
        let stopped = Stop::default();
        stopped.stop();
        assert!(version.read(1 << 20, &stopped).unwrap_err().contains("too long"));
        std::fs::remove_file(&version.file).unwrap();
        assert!(version.read(1 << 20, &Stop::default()).is_err());
    }

    #[test]
    fn of_tables_only_the_ids_of_trips_are_kept() {
        let mut trips = Trips::default();
        trips.begin("stop_times.txt", &["trip_id", "stop_id"]).unwrap();
        trips.row(&["T9", "S"]).unwrap();
        trips.begin("trips.txt", &["route_id", "trip_id"]).unwrap();
        trips.row(&["R", "T1"]).unwrap();
        trips.row(&["R", "T2"]).unwrap();
        assert_eq!((trips.ids.len(), trips.ids.has("T1")), (2, true));
    }
}
