//! Earlier versions of a schedule: only their trip ids, by which the rules find the version that messages refer to.
//!
//! Versions that this process saw replaced are in memory. The others are read from the store.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use jiff::civil::Date;
use lineside_formats::gtfs::{DatasetLimits, TableWriter};
use lineside_formats::{Error, ErrorKind, Format, Problems, netex, sniff_schedule_format};
use lineside_model::FeedId;
use lineside_store::Store;
use lineside_validate::gtfs::{GtfsFile, ZipFileSource};
use lineside_validate::rules::gtfs_rt::ScheduleTripIds;
use lineside_validate::{CancelToken, ValidationContext};

use crate::check::{estimate_until_cancelled, netex_limits_for_memory};

/// Maximum number of earlier versions of each network; each trip takes about 30 bytes.
pub(crate) const EARLIER_VERSIONS_MAX: usize = 2;

/// The SHA-256 of a version's bytes, and its trip ids.
pub(crate) type EarlierVersionTripIds = (Arc<str>, Arc<ScheduleTripIds>);

#[derive(Debug)]
pub(crate) struct StoredVersion {
    name: Arc<str>,
    file: PathBuf,
    /// Size of the file, in bytes.
    size: u64,
}

/// Lists the stored versions besides these, the most recent first, up to [`EARLIER_MAX`] in total.
pub(crate) fn list_stored_earlier_versions(
    store: &Store,
    feed: &FeedId,
    (current, known_versions): (&str, &[&str]),
) -> Vec<StoredVersion> {
    let n_left = EARLIER_VERSIONS_MAX.saturating_sub(known_versions.len());
    // The result includes the current version, and may include held and just added ones.
    let versions = match store.list_schedule_versions(feed, 0, EARLIER_VERSIONS_MAX + 2) {
        Ok(versions) => versions,
        Err(error) => {
            tracing::warn!(%feed, %error, "earlier versions of the schedule cannot be read");
            return Vec::new();
        }
    };
    let others =
        versions.into_iter().filter(|version| !version.is_current).map(|version| StoredVersion {
            name: version.hash.to_string().into(),
            file: store.blob_path(&version.hash),
            size: version.size,
        });
    let is_new = |stored_version: &StoredVersion| {
        *stored_version.name != *current && !known_versions.contains(&&*stored_version.name)
    };
    others.filter(is_new).take(n_left).collect()
}

/// Reads the trip ids of versions, one after the other, each within `memory` bytes, until it is cancelled. Unreadable
/// versions are logged and left out.
pub(crate) fn read_trip_ids_of_versions(
    versions: &[StoredVersion],
    network: &FeedId,
    memory: u64,
    stop: &CancelToken,
) -> Vec<EarlierVersionTripIds> {
    let read = versions.iter().filter_map(|version| match version.read_trip_ids(memory, stop) {
        Ok(read) => Some(read),
        Err(failure) => {
            let StoredVersion { name, .. } = version;
            tracing::warn!(%network, version = %name, "the trip ids of an earlier version of the schedule cannot be read: {failure}");
            None
        }
    });
    read.collect()
}

impl StoredVersion {
    /// Reads the trip ids, if that takes at most `memory` bytes; else returns the reason.
    pub(crate) fn read_trip_ids(
        &self,
        memory: u64,
        stop: &CancelToken,
    ) -> Result<EarlierVersionTripIds, String> {
        let is_too_much = || "it would take more memory than validation.memory allows".to_owned();
        if self.size > memory {
            return Err(is_too_much());
        }
        let bytes = std::fs::read(&self.file).map_err(|error| error.to_string())?;
        let needed = match estimate_until_cancelled(&bytes, memory, stop) {
            Err(_) if stop.is_cancelled() => return Err(read_cancelled_message()),
            needed => needed.map_err(|error| error.to_string())?,
        };
        if needed > memory {
            return Err(is_too_much());
        }
        let trips = catch_unwind(AssertUnwindSafe(|| decode_trip_ids(bytes, memory, stop)));
        let trips = trips.map_err(|_| "the validator crashed".to_owned())?;
        let trips = match trips {
            Ok(Some(trips)) => trips,
            // Cancelled, which differs from a version without trips.
            Ok(None) => return Err(read_cancelled_message()),
            Err(_) if stop.is_cancelled() => return Err(read_cancelled_message()),
            Err(error) => return Err(error.to_string()),
        };
        Ok((Arc::clone(&self.name), Arc::new(trips)))
    }
}

/// Returns the message of a cancelled read.
fn read_cancelled_message() -> String {
    "it took too long, or its network was removed".to_owned()
}

/// Decodes the trip ids of a schedule in GTFS or NeTEx, within `memory` bytes; `None` if it is cancelled.
fn decode_trip_ids(
    bytes: Vec<u8>,
    memory: u64,
    stop: &CancelToken,
) -> Result<Option<ScheduleTripIds>, Error> {
    if sniff_schedule_format(Cursor::new(&bytes)).map_err(Error::from_io)? == Some(Format::Netex) {
        return decode_netex_trip_ids(&Bytes::from(bytes), memory, stop).map(Some);
    }
    let context = ValidationContext { today: Date::ZERO, country: None, threads: 1 };
    ScheduleTripIds::read_trip_ids_cancellable(
        &ZipFileSource::open_with_any_folder(&bytes, &DatasetLimits::default())?,
        &context,
        stop,
    )
}

fn decode_netex_trip_ids(
    bytes: &Bytes,
    memory: u64,
    stop: &CancelToken,
) -> Result<ScheduleTripIds, Error> {
    let limits = netex_limits_for_memory(memory);
    let mut files = netex::PublicationSource::new(bytes, &limits.files)?;
    let may_continue = || !stop.is_cancelled();
    let mut read = netex::decode_readable_files(&mut files, &limits, &may_continue)?;
    if let Some(refusal) = read.refused.pop() {
        return Err(refusal);
    }
    let mut trips = TripIdCollector { stop: stop.clone(), ..TripIdCollector::default() };
    netex::write_gtfs(&read.publication, &mut trips, &mut Problems::new())?;
    Ok(trips.ids)
}

/// A writer that keeps only the trip ids.
#[derive(Debug, Default)]
struct TripIdCollector {
    ids: ScheduleTripIds,
    /// The column of the trip ids, if the current table is `trips.txt`.
    column: Option<usize>,
    stop: CancelToken,
}

impl TableWriter for TripIdCollector {
    fn begin_table(&mut self, table: &'static str, columns: &[&str]) -> Result<(), Error> {
        let column = columns.iter().position(|column| *column == "trip_id");
        self.column = column.filter(|_| table == GtfsFile::Trips.file_name());
        Ok(())
    }

    fn check_cancelled(&mut self) -> Result<(), Error> {
        match self.stop.is_cancelled() {
            true => Err(Error::new(ErrorKind::Io, "reading was cancelled")),
            false => Ok(()),
        }
    }

    fn write_row(&mut self, cells: &[&str]) -> Result<(), Error> {
        self.check_cancelled()?;
        if let Some(id) = self.column.and_then(|column| cells.get(column)) {
            self.ids.add_trip_id(id);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use lineside_testkit::zip_files;

    use super::*;

    fn store_version(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> StoredVersion {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        StoredVersion { name: name.into(), file, size: bytes.len() as u64 }
    }

    #[test]
    fn trip_ids_are_read_within_limits_and_failures_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let trips = "route_id,service_id,trip_id\nR,D,T1\nR,D,T2\n";
        let zip = zip_files([("trips.txt", trips), ("stops.txt", "stop_id\nS\n")]);
        let version = store_version(&folder, "a", &zip);
        let (name, trips) = version.read_trip_ids(1 << 20, &CancelToken::default()).unwrap();
        assert_eq!((&*name, trips.len(), trips.has_trip_id("T2")), ("a", 2, true));
        for memory in [zip.len() as u64 - 1, zip.len() as u64] {
            let read = version.read_trip_ids(memory, &CancelToken::default());
            assert!(read.unwrap_err().contains("memory"), "{memory}");
        }
        assert!(
            store_version(&folder, "b", b"PK, not a zip")
                .read_trip_ids(1 << 20, &CancelToken::default())
                .is_err()
        );
        let stopped = CancelToken::default();
        stopped.cancel();
        assert!(version.read_trip_ids(1 << 20, &stopped).unwrap_err().contains("too long"));
        std::fs::remove_file(&version.file).unwrap();
        assert!(version.read_trip_ids(1 << 20, &CancelToken::default()).is_err());
    }

    #[test]
    fn only_trip_ids_of_the_tables_are_retained() {
        let mut trips = TripIdCollector::default();
        trips.begin_table("stop_times.txt", &["trip_id", "stop_id"]).unwrap();
        trips.write_row(&["T9", "S"]).unwrap();
        trips.begin_table("trips.txt", &["route_id", "trip_id"]).unwrap();
        trips.write_row(&["R", "T1"]).unwrap();
        trips.write_row(&["R", "T2"]).unwrap();
        assert_eq!((trips.ids.len(), trips.ids.has_trip_id("T1")), (2, true));
    }
}
