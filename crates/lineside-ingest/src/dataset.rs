//! A schedule in use: its timetable, and what is derived from it once.

use std::{
    io::{Cursor, Read, Seek},
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use lineside_formats::{
    Error, Format, Losses, Problems,
    gtfs::{self, LoadedTables, RouteIdx, Timetable, TripInstance, ZipFiles, ZipTables},
    netex,
};
use lineside_sync::{UnixMillis, table};
use parking_lot::Mutex;
use smol_str::{SmolStr, format_smolstr};

use crate::{
    bounds::Extent,
    config::FeedId,
    feed::Held,
    limits::LOAD_MEMORY_DEFAULT,
    record::{Body, DatasetRecord, Record},
    search::StopIndex,
    service_calendar::ServiceCalendar,
    snapshot::{Snapshot, default_file_name, media_type},
    ways::Ways,
};

/// Ways of lines that are kept of one version of a schedule. A line's take some kilobytes, and it is asked for again and again.
const WAYS_KEPT: table::Limits = table::Limits { entries: 1_000, weight: 16 << 20, age: None };

/// How much of a schedule is read before it is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadLimits {
    gtfs: gtfs::Limits,
    netex: netex::Limits,
    /// Bytes that all loads at the same time may take together, about.
    pub(crate) memory: u64,
}

impl Default for LoadLimits {
    fn default() -> LoadLimits {
        LoadLimits {
            gtfs: gtfs::Limits::default(),
            netex: netex::Limits::default(),
            memory: LOAD_MEMORY_DEFAULT,
        }
    }
}

impl LoadLimits {
    /// Those of a load that may take about this much memory. From 4 GiB on they are those of the formats.
    pub fn for_memory(bytes: u64) -> LoadLimits {
        let LoadLimits { gtfs, netex, .. } = LoadLimits::default();
        let total_bytes = gtfs.total_bytes.min(bytes.saturating_mul(3));
        let gtfs = gtfs::Limits {
            entry_bytes: gtfs.entry_bytes.min(total_bytes),
            total_bytes,
            // Some take 32 bytes, and some about 200 with what is derived from them.
            rows: gtfs.rows.min(bytes / 20),
            things: gtfs.things.min(bytes / 200),
            ..gtfs
        };
        let files = gtfs::Limits {
            entry_bytes: netex.files.entry_bytes.min(bytes / 2),
            total_bytes: netex.files.total_bytes.min(total_bytes),
            ..netex.files
        };
        let record_bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(netex.record_bytes);
        LoadLimits { gtfs, netex: netex::Limits { files, record_bytes, ..netex }, memory: bytes }
    }
}

/// One version of a schedule, decoded. It never changes; a new version is another dataset, built beside it.
#[derive(Debug)]
pub struct Dataset {
    /// The feed that it came from.
    pub feed: FeedId,
    /// The schedule.
    pub timetable: Arc<Timetable>,
    /// Hash of its bytes, in hexadecimal.
    pub version: SmolStr,
    /// When its bytes came.
    pub fetched_at: UnixMillis,
    /// What was wrong with it.
    pub problems: Arc<Problems>,
    /// What it says that GTFS cannot and the timetable does not hold; none where it came as GTFS.
    pub losses: Option<Losses>,
    /// The schedule as a GTFS zip, where it came as something else.
    converted: Option<Converted>,
    pub(crate) search: StopIndex,
    pub(crate) stops_geojson: OnceLock<Bytes>,
    pub(crate) routes_geojson: OnceLock<Bytes>,
    stop_extent: OnceLock<Option<Extent>>,
    service_calendar: OnceLock<Option<ServiceCalendar>>,
    /// The minute for which it was looked last which trips are under way, and these, by trip: 16 bytes for each.
    under_way: Mutex<Option<(i64, Arc<[TripInstance]>)>>,
    /// The ways of the lines that were asked for.
    ways: table::Table<RouteIdx, Arc<Ways>>,
}

/// A schedule as a GTFS zip that was made of it.
#[derive(Debug)]
struct Converted {
    snapshot: Snapshot,
    /// The same, by the configuration by which it was served last.
    held: Mutex<Option<Arc<Held>>>,
}

impl Dataset {
    /// Decodes a schedule of this format: a GTFS zip, or a NeTEx publication, of which such a zip is made. Takes seconds for
    /// a large one: to be called where that blocks nobody.
    ///
    /// # Errors
    /// The decoder's refusal.
    pub fn load_as(
        feed: FeedId,
        bytes: Bytes,
        format: Format,
        fetched_at: UnixMillis,
        limits: &LoadLimits,
    ) -> Result<Dataset, Error> {
        if format == Format::Netex {
            Dataset::load_netex(feed, &bytes, fetched_at, limits)
        } else {
            let hash = Snapshot::hash_of(&bytes);
            Dataset::decode(feed, Cursor::new(bytes), hash, fetched_at, &limits.gtfs)
        }
    }

    fn load_netex(
        feed: FeedId,
        body: &Bytes,
        fetched_at: UnixMillis,
        limits: &LoadLimits,
    ) -> Result<Dataset, Error> {
        let LoadLimits { gtfs: table_limits, netex: limits, .. } = limits;
        let mut files = netex::Source::new(body, &limits.files)?;
        let (publication, mut problems) = netex::decode(&mut files, limits)?;
        // The zip for whoever asks for it, and the timetable as the rows come.
        let zip = ZipTables::new(Cursor::new(Vec::new()));
        let mut tables = (zip, LoadedTables::new(table_limits.clone()));
        let losses = netex::write_gtfs(&publication, &mut tables, &mut problems)?;
        drop(publication);
        let (zip, loaded) = tables;
        let zip = Bytes::from(zip.finish()?.into_inner());
        let (timetable, more) = loaded.finish()?;
        problems.merge(netex::problems_of_tables(more, &timetable));
        let hash = Snapshot::hash_of(body);
        let made = Dataset::of(feed, timetable, problems, hash, fetched_at);
        let snapshot = Snapshot {
            hash: Snapshot::hash_of(&zip),
            bytes: zip,
            format: Format::Gtfs,
            content_type: media_type(Format::Gtfs, &[]).to_owned(),
            file_name: default_file_name(made.feed.as_str(), Format::Gtfs, &[]),
            fetched_at,
            last_modified: None,
        };
        Ok(Dataset {
            losses: Some(losses),
            converted: Some(Converted { snapshot, held: Mutex::default() }),
            ..made
        })
    }

    /// The schedule as a GTFS zip, ready to be served as `original` is; `None` where it came as one. The first call of a
    /// configuration copies it: to be called where that blocks nobody.
    pub fn converted(&self, original: &Held) -> Option<Arc<Held>> {
        let converted = self.converted.as_ref()?;
        let config = original.shared_config();
        let mut held = converted.held.lock();
        match &*held {
            Some(held) if Arc::ptr_eq(held.shared_config(), config) => Some(Arc::clone(held)),
            _ => {
                let made = Arc::new(Held::new(converted.snapshot.clone(), Arc::clone(config)));
                *held = Some(Arc::clone(&made));
                Some(made)
            }
        }
    }

    /// Decodes a GTFS zip, likewise.
    ///
    /// # Errors
    /// The decoder's refusal.
    pub fn load(feed: FeedId, zip: Bytes, fetched_at: UnixMillis) -> Result<Dataset, Error> {
        let hash = Snapshot::hash_of(&zip);
        Dataset::decode(feed, Cursor::new(zip), hash, fetched_at, &gtfs::Limits::default())
    }

    /// Decodes a GTFS zip where it lies, such as in a file: it is never whole in memory.
    ///
    /// # Errors
    /// The decoder's refusal, also if the zip cannot be read.
    pub fn read(
        feed: FeedId,
        mut zip: impl Read + Seek,
        fetched_at: UnixMillis,
    ) -> Result<Dataset, Error> {
        let hash = Snapshot::hash_of_reader(&mut zip).map_err(Error::io)?;
        Dataset::decode(feed, zip, hash, fetched_at, &gtfs::Limits::default())
    }

    fn decode(
        feed: FeedId,
        zip: impl Read + Seek,
        hash: u128,
        fetched_at: UnixMillis,
        limits: &gtfs::Limits,
    ) -> Result<Dataset, Error> {
        let mut files = ZipFiles::new(zip, limits)?;
        let (timetable, problems) = gtfs::load(&mut files, limits)?;
        Ok(Dataset::of(feed, timetable, problems, hash, fetched_at))
    }

    /// A dataset of a timetable that is there already, for tests and benchmarks.
    pub fn of(
        feed: FeedId,
        timetable: Timetable,
        problems: Problems,
        hash: u128,
        fetched_at: UnixMillis,
    ) -> Dataset {
        Dataset {
            feed,
            search: StopIndex::new(&timetable),
            timetable: Arc::new(timetable),
            version: format_smolstr!("{hash:032x}"),
            fetched_at,
            problems: Arc::new(problems),
            losses: None,
            converted: None,
            stops_geojson: OnceLock::new(),
            routes_geojson: OnceLock::new(),
            stop_extent: OnceLock::new(),
            service_calendar: OnceLock::new(),
            under_way: Mutex::default(),
            ways: table::Table::new(WAYS_KEPT, |_, ways| ways.bytes()),
        }
    }

    /// Where its stops lie. The first call reads all of them.
    pub fn stop_extent(&self) -> Option<Extent> {
        *self.stop_extent.get_or_init(|| {
            let places = self.timetable.stops().filter_map(|stop| Some((stop.lat?, stop.lon?)));
            // A stop at 0, 0 has no place.
            Extent::from_places(places.filter(|place| *place != (0.0, 0.0)).collect())
        })
    }

    /// The trips of each of its service days, around the day on which it came. The first call looks at all trips and services:
    /// to be called where that blocks nobody.
    pub fn service_calendar(&self) -> Option<&ServiceCalendar> {
        let calendar = self.service_calendar.get_or_init(|| {
            let around = self.timetable.local_date(self.fetched_at.seconds());
            ServiceCalendar::from_timetable(&self.timetable, around)
        });
        calendar.as_ref()
    }

    /// The ways of a line of its timetable, which are put together once. That takes a moment where a line has hundreds of
    /// patterns, and who asks for the same meanwhile waits: to be called where that blocks nobody.
    pub fn ways(&self, route: RouteIdx) -> Arc<Ways> {
        let make = || Ok(Arc::new(Ways::of(&self.timetable, route)));
        let Ok(ways) = self.ways.load_blocking(route, make);
        ways
    }

    /// How many trips are under way in the minute of a moment, if that was counted.
    pub(crate) fn known_under_way(&self, at: UnixMillis) -> Option<u32> {
        let minute = at.seconds().div_euclid(60);
        let known = self.under_way.lock();
        let known = known.as_ref().filter(|(known, _)| *known == minute);
        known.map(|(_, trips)| count(trips))
    }

    /// The same, counted: it takes up to some tens of milliseconds for a large timetable.
    pub(crate) fn count_under_way(&self, at: UnixMillis) -> u32 {
        count(&self.under_way(at))
    }

    /// Which trips are under way in the minute of a moment, by trip. The first look in a minute takes as long as counting.
    pub(crate) fn under_way(&self, at: UnixMillis) -> Arc<[TripInstance]> {
        let minute = at.seconds().div_euclid(60);
        let known = self.under_way.lock().clone();
        if let Some((_, trips)) = known.filter(|(known, _)| *known == minute) {
            return trips;
        }
        // Not under the lock: tasks look there too, and must not wait.
        let trips: Arc<[TripInstance]> = self.timetable.trip_instances_at(minute * 60).into();
        *self.under_way.lock() = Some((minute, Arc::clone(&trips)));
        trips
    }

    /// Whether it was decoded from the bytes with this hash.
    pub(crate) fn is_of(&self, hash: u128) -> bool {
        self.version == format_smolstr!("{hash:032x}")
    }

    /// The dataset as a record of its network.
    pub(crate) fn record(&self) -> Record {
        let body = DatasetRecord {
            version: self.version.clone(),
            feed_version: self
                .timetable
                .feed_info()
                .and_then(|info| info.version.as_deref().map(str::to_owned)),
            service: self.timetable.service_range(),
            stops: self.timetable.stops().len(),
            routes: self.timetable.routes().len(),
            trips: self.timetable.trips().len(),
        };
        let id = SmolStr::new(self.feed.as_str());
        Record::made_here(self.feed.clone(), id, Body::Dataset(Box::new(body)))
    }
}

fn count(trips: &[TripInstance]) -> u32 {
    u32::try_from(trips.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_memory_leaves_the_limits_of_the_formats_as_they_are() {
        assert_eq!(LoadLimits::for_memory(4 << 30), LoadLimits::default());
        let small = LoadLimits::for_memory(64 << 20);
        assert_eq!(small.netex.record_bytes, 64 << 20);
        assert!(small.gtfs.total_bytes < LoadLimits::default().gtfs.total_bytes);
    }
}
