//! A schedule in use: its timetable, and what is derived from it once.

use std::{
    io::{Cursor, Read, Seek},
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use lineside_formats::{
    ConversionReport, Error, Format, Problems,
    gtfs::{self, RouteIdx, Timetable, TimetableBuilder, TripInstance, ZipFiles, ZipTables},
    netex,
};
use lineside_sync::{UnixMillis, loading_cache};
use parking_lot::Mutex;
use smol_str::{SmolStr, format_smolstr};

use crate::{
    bounds::Extent,
    config::FeedId,
    feed::ServedSnapshot,
    limits::LOAD_MEMORY_DEFAULT,
    record::{DatasetRecord, Record, RecordBody},
    route_variants::RouteVariants,
    search::StopIndex,
    service_calendar::ServiceCalendar,
    snapshot::{Snapshot, default_file_name, media_type},
};

/// Ways of lines that are kept of one version of a schedule. A line's take some kilobytes, and it is asked for again and again.
const WAYS_KEPT: loading_cache::CacheLimits =
    loading_cache::CacheLimits { entries: 1_000, weight: 16 << 20, age: None };

/// How much of a schedule is read before it is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadLimits {
    gtfs: gtfs::DatasetLimits,
    netex: netex::PublicationLimits,
    /// Bytes that all loads at the same time may take together, about.
    pub(crate) memory: u64,
}

impl Default for LoadLimits {
    fn default() -> LoadLimits {
        LoadLimits {
            gtfs: gtfs::DatasetLimits::default(),
            netex: netex::PublicationLimits::default(),
            memory: LOAD_MEMORY_DEFAULT,
        }
    }
}

impl LoadLimits {
    /// Those of a load that may take about this much memory. From 4 GiB on they are those of the formats.
    pub fn for_memory(bytes: u64) -> LoadLimits {
        let LoadLimits { gtfs, netex, .. } = LoadLimits::default();
        let total_bytes = gtfs.total_bytes.min(bytes.saturating_mul(3));
        let gtfs = gtfs::DatasetLimits {
            entry_bytes: gtfs.entry_bytes.min(total_bytes),
            total_bytes,
            // Some take 32 bytes, and some about 200 with what is derived from them.
            rows: gtfs.rows.min(bytes / 20),
            things: gtfs.things.min(bytes / 200),
            ..gtfs
        };
        let files = gtfs::DatasetLimits {
            entry_bytes: netex.files.entry_bytes.min(bytes / 2),
            total_bytes: netex.files.total_bytes.min(total_bytes),
            ..netex.files
        };
        let record_bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(netex.record_bytes);
        LoadLimits {
            gtfs,
            netex: netex::PublicationLimits { files, record_bytes, ..netex },
            memory: bytes,
        }
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
    pub losses: Option<ConversionReport>,
    /// The schedule as a GTFS zip, where it came as something else.
    converted: Option<ConvertedSchedule>,
    pub(crate) search: StopIndex,
    pub(crate) stops_geojson: OnceLock<Bytes>,
    pub(crate) routes_geojson: OnceLock<Bytes>,
    stop_extent: OnceLock<Option<Extent>>,
    service_calendar: OnceLock<Option<ServiceCalendar>>,
    /// The minute for which it was looked last which trips are under way, and these, by trip: 16 bytes for each.
    under_way: Mutex<Option<(i64, Arc<[TripInstance]>)>>,
    /// The ways of the lines that were asked for.
    ways: loading_cache::LoadingCache<RouteIdx, Arc<RouteVariants>>,
}

/// A schedule as a GTFS zip that was made of it.
#[derive(Debug)]
struct ConvertedSchedule {
    snapshot: Snapshot,
    /// The same, by the configuration by which it was served last.
    held: Mutex<Option<Arc<ServedSnapshot>>>,
}

impl Dataset {
    /// Decodes a schedule of this format: a GTFS zip, or a NeTEx publication, of which such a zip is made. Takes seconds for
    /// a large one: to be called where that blocks nobody.
    ///
    /// # Errors
    /// The decoder's refusal.
    pub fn load_format(
        feed: FeedId,
        bytes: Bytes,
        format: Format,
        fetched_at: UnixMillis,
        limits: &LoadLimits,
    ) -> Result<Dataset, Error> {
        if format == Format::Netex {
            Dataset::load_netex(feed, &bytes, fetched_at, limits)
        } else {
            let hash = Snapshot::hash_bytes(&bytes);
            Dataset::decode_gtfs(feed, Cursor::new(bytes), hash, fetched_at, &limits.gtfs)
        }
    }

    fn load_netex(
        feed: FeedId,
        body: &Bytes,
        fetched_at: UnixMillis,
        limits: &LoadLimits,
    ) -> Result<Dataset, Error> {
        let LoadLimits { gtfs: table_limits, netex: limits, .. } = limits;
        let mut files = netex::PublicationSource::new(body, &limits.files)?;
        let (publication, mut problems) = netex::decode_publication(&mut files, limits)?;
        // The zip for whoever asks for it, and the timetable as the rows come.
        let zip = ZipTables::new(Cursor::new(Vec::new()));
        let mut tables = (zip, TimetableBuilder::new(table_limits.clone()));
        let losses = netex::write_gtfs(&publication, &mut tables, &mut problems)?;
        drop(publication);
        let (zip, loaded) = tables;
        let zip = Bytes::from(zip.finish_archive()?.into_inner());
        let (timetable, more) = loaded.build_timetable()?;
        problems.merge(netex::drop_known_table_problems(more, &timetable));
        let hash = Snapshot::hash_bytes(body);
        let made = Dataset::from_timetable(feed, timetable, problems, hash, fetched_at);
        let snapshot = Snapshot {
            hash: Snapshot::hash_bytes(&zip),
            bytes: zip,
            format: Format::Gtfs,
            content_type: media_type(Format::Gtfs, &[]).to_owned(),
            file_name: default_file_name(made.feed.as_str(), Format::Gtfs, &[]),
            fetched_at,
            last_modified: None,
        };
        Ok(Dataset {
            losses: Some(losses),
            converted: Some(ConvertedSchedule { snapshot, held: Mutex::default() }),
            ..made
        })
    }

    /// The schedule as a GTFS zip, ready to be served as `original` is; `None` where it came as one. The first call of a
    /// configuration copies it: to be called where that blocks nobody.
    pub fn converted_gtfs(&self, original: &ServedSnapshot) -> Option<Arc<ServedSnapshot>> {
        let converted = self.converted.as_ref()?;
        let config = original.shared_config();
        let mut held = converted.held.lock();
        match &*held {
            Some(held) if Arc::ptr_eq(held.shared_config(), config) => Some(Arc::clone(held)),
            _ => {
                let made =
                    Arc::new(ServedSnapshot::new(converted.snapshot.clone(), Arc::clone(config)));
                *held = Some(Arc::clone(&made));
                Some(made)
            }
        }
    }

    /// Decodes a GTFS zip, likewise.
    ///
    /// # Errors
    /// The decoder's refusal.
    pub fn load_gtfs(feed: FeedId, zip: Bytes, fetched_at: UnixMillis) -> Result<Dataset, Error> {
        let hash = Snapshot::hash_bytes(&zip);
        Dataset::decode_gtfs(
            feed,
            Cursor::new(zip),
            hash,
            fetched_at,
            &gtfs::DatasetLimits::default(),
        )
    }

    /// Decodes a GTFS zip where it lies, such as in a file: it is never whole in memory.
    ///
    /// # Errors
    /// The decoder's refusal, also if the zip cannot be read.
    pub fn read_gtfs(
        feed: FeedId,
        mut zip: impl Read + Seek,
        fetched_at: UnixMillis,
    ) -> Result<Dataset, Error> {
        let hash = Snapshot::hash_reader(&mut zip).map_err(Error::from_io)?;
        Dataset::decode_gtfs(feed, zip, hash, fetched_at, &gtfs::DatasetLimits::default())
    }

    fn decode_gtfs(
        feed: FeedId,
        zip: impl Read + Seek,
        hash: u128,
        fetched_at: UnixMillis,
        limits: &gtfs::DatasetLimits,
    ) -> Result<Dataset, Error> {
        let mut files = ZipFiles::new(zip, limits)?;
        let (timetable, problems) = gtfs::load_timetable(&mut files, limits)?;
        Ok(Dataset::from_timetable(feed, timetable, problems, hash, fetched_at))
    }

    /// A dataset of a timetable that is there already, for tests and benchmarks.
    pub fn from_timetable(
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
            ways: loading_cache::LoadingCache::new(WAYS_KEPT, |_, ways| ways.memory_bytes()),
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
            let around = self.timetable.local_date(self.fetched_at.unix_seconds());
            ServiceCalendar::from_timetable(&self.timetable, around)
        });
        calendar.as_ref()
    }

    /// The ways of a line of its timetable, which are put together once. That takes a moment where a line has hundreds of
    /// patterns, and who asks for the same meanwhile waits: to be called where that blocks nobody.
    pub fn route_variants(&self, route: RouteIdx) -> Arc<RouteVariants> {
        let make = || Ok(Arc::new(RouteVariants::for_route(&self.timetable, route)));
        let Ok(ways) = self.ways.load_blocking(route, make);
        ways
    }

    /// How many trips are under way in the minute of a moment, if that was counted.
    pub(crate) fn cached_active_count(&self, at: UnixMillis) -> Option<u32> {
        let minute = at.unix_seconds().div_euclid(60);
        let known = self.under_way.lock();
        let known = known.as_ref().filter(|(known, _)| *known == minute);
        known.map(|(_, trips)| count_trips(trips))
    }

    /// The same, counted: it takes up to some tens of milliseconds for a large timetable.
    pub(crate) fn count_active_trips(&self, at: UnixMillis) -> u32 {
        count_trips(&self.active_trips(at))
    }

    /// Which trips are under way in the minute of a moment, by trip. The first look in a minute takes as long as counting.
    pub(crate) fn active_trips(&self, at: UnixMillis) -> Arc<[TripInstance]> {
        let minute = at.unix_seconds().div_euclid(60);
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
    pub(crate) fn matches_hash(&self, hash: u128) -> bool {
        self.version == format_smolstr!("{hash:032x}")
    }

    /// The dataset as a record of its network.
    pub(crate) fn to_record(&self) -> Record {
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
        Record::new_local(self.feed.clone(), id, RecordBody::Dataset(Box::new(body)))
    }
}

fn count_trips(trips: &[TripInstance]) -> u32 {
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
