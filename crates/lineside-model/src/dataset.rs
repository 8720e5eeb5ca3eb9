//! A decoded schedule: its timetable and the data derived from it.

use std::{
    io::{Cursor, Read, Seek},
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use lineside_formats::{
    ConversionReport, Error, ErrorKind, Format, Problems,
    gtfs::{self, RouteIdx, Timetable, TimetableBuilder, TripInstance, ZipFiles, ZipTableWriter},
    gtfs_rt::FeedMessageLimits,
    netex,
    siri::MessageLimits,
};
use lineside_sync::{UnixMillis, loading_cache};
use parking_lot::Mutex;
use smol_str::{SmolStr, format_smolstr};

use crate::{
    bounds::MapExtent,
    feed_id::FeedId,
    limits::LOAD_MEMORY_DEFAULT,
    record::{DatasetRecord, Record, RecordBody},
    route_variants::RouteVariants,
    search::StopAndRouteSearchIndex,
    search::StopSearchPage,
    served_snapshot::ServedSnapshot,
    service_calendar::DailyTripCounts,
    snapshot::{FeedBodySnapshot, default_download_file_name},
};

/// Route variants cached per version of a schedule. Those of one route take some kilobytes and are requested
/// repeatedly.
const ROUTE_VARIANT_CACHE_LIMITS: loading_cache::CacheLimits =
    loading_cache::CacheLimits { entries: 1_000, weight: 16 << 20, age: None };

/// Limits above which a schedule or a real-time message is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodingLimits {
    gtfs: gtfs::DatasetLimits,
    netex: netex::PublicationLimits,
    /// Most memory of the decoded records of one real-time message, in bytes.
    record_bytes: usize,
    /// Approximate bytes that all concurrent loads may take together.
    pub memory: u64,
}

impl Default for DecodingLimits {
    fn default() -> DecodingLimits {
        DecodingLimits {
            gtfs: gtfs::DatasetLimits::default(),
            netex: netex::PublicationLimits::default(),
            record_bytes: FeedMessageLimits::default().record_bytes,
            memory: LOAD_MEMORY_DEFAULT,
        }
    }
}

impl DecodingLimits {
    /// Returns the limits for a load that may take about `bytes` of memory. From 4 GiB on they are those of the
    /// formats.
    pub fn for_memory(bytes: u64) -> DecodingLimits {
        let DecodingLimits { gtfs, netex, .. } = DecodingLimits::default();
        let total_bytes = gtfs.total_bytes.min(bytes.saturating_mul(3));
        let gtfs = gtfs::DatasetLimits {
            entry_bytes: gtfs.entry_bytes.min(total_bytes),
            total_bytes,
            // Some rows take 32 bytes, others about 200 with the data derived from them.
            rows: gtfs.rows.min(bytes / 20),
            entities: gtfs.entities.min(bytes / 200),
            ..gtfs
        };
        let files = gtfs::DatasetLimits {
            entry_bytes: netex.files.entry_bytes.min(bytes / 2),
            total_bytes: netex.files.total_bytes.min(total_bytes),
            ..netex.files
        };
        let record_bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(netex.record_bytes);
        DecodingLimits {
            gtfs,
            netex: netex::PublicationLimits { files, record_bytes, ..netex },
            record_bytes: usize::try_from(bytes / 8)
                .unwrap_or(usize::MAX)
                .min(FeedMessageLimits::default().record_bytes),
            memory: bytes,
        }
    }

    /// Returns the limits of a GTFS-Realtime message of a feed whose bodies have at most `max_bytes`.
    pub fn gtfs_rt_limits(&self, max_bytes: u64) -> FeedMessageLimits {
        let defaults = FeedMessageLimits::default();
        FeedMessageLimits {
            body_bytes: min_limit(defaults.body_bytes, max_bytes),
            record_bytes: self.record_bytes,
            ..defaults
        }
    }

    /// Returns the limits of a SIRI message of a feed whose bodies have at most `max_bytes`.
    pub fn siri_limits(&self, max_bytes: u64) -> MessageLimits {
        let defaults = MessageLimits::default();
        MessageLimits {
            body_bytes: min_limit(defaults.body_bytes, max_bytes),
            record_bytes: self.record_bytes,
            ..defaults
        }
    }
}

/// A decoded version of a schedule. It is immutable; a new version is a new dataset.
#[derive(Debug)]
pub struct Dataset {
    /// The feed that the schedule came from.
    pub feed: FeedId,
    /// The schedule.
    pub timetable: Arc<Timetable>,
    /// Hash of the bytes, in hexadecimal.
    pub version: SmolStr,
    /// The time at which the bytes were fetched.
    pub fetched_at: UnixMillis,
    /// The problems found while decoding.
    pub problems: Arc<Problems>,
    /// The report of data that GTFS cannot express and the timetable does not contain; `None` if the schedule came as
    /// GTFS.
    pub conversion_report: Option<ConversionReport>,
    /// The schedule as a GTFS zip, if it came in another format.
    converted: Option<ConvertedSchedule>,
    pub search: StopAndRouteSearchIndex,
    pub stops_geojson: OnceLock<Bytes>,
    pub routes_geojson: OnceLock<Bytes>,
    stop_extent: OnceLock<Option<MapExtent>>,
    service_calendar: OnceLock<Option<DailyTripCounts>>,
    /// The last minute for which running trips were listed, with these trips in trip order: 16 bytes each.
    active_trips: Mutex<Option<(i64, Arc<[TripInstance]>)>>,
    /// The variants of the routes requested so far.
    route_variants: loading_cache::LoadingCache<RouteIdx, Arc<RouteVariants>>,
}

/// A GTFS zip made from a schedule in another format.
#[derive(Debug)]
struct ConvertedSchedule {
    snapshot: FeedBodySnapshot,
    /// The zip with the configuration by which it was last served.
    served_snapshot: Mutex<Option<Arc<ServedSnapshot>>>,
}

impl Dataset {
    /// Returns the searchable stops of the timetable, without entrances and the platforms of stations: from index
    /// `skip` on, at most `limit`. Without words all stops in the order of their names, else the best matches first.
    pub fn search_stops_page(&self, text: &str, skip: usize, limit: usize) -> StopSearchPage {
        self.search.search_stops_page(&self.timetable, text, skip, limit)
    }

    /// Returns the first characters of the stops' names, each with the index of its first stop among those of
    /// [`Dataset::search_stops_page`] without words; all digits as `0`.
    pub fn stop_name_initials(&self) -> Vec<(char, usize)> {
        self.search.stop_name_initials(&self.timetable)
    }

    /// Returns the routes that a text names, the best matches first: by names, and as in "line 1", "tram 1" and "T1".
    pub fn search_routes(&self, text: &str) -> Vec<RouteIdx> {
        self.search.search_routes(&self.timetable, text)
    }

    /// Decodes a schedule of `format`: a GTFS zip, or a NeTEx publication, which is also converted to a GTFS zip. Takes
    /// seconds for a large one, so call it where blocking is allowed.
    ///
    /// # Errors
    /// Returns the decoder's error, and an error if a table has more rows than the limits allow: a part of a schedule
    /// must not replace a whole one.
    pub fn decode_schedule(
        feed: FeedId,
        bytes: Bytes,
        format: Format,
        fetched_at: UnixMillis,
        limits: &DecodingLimits,
    ) -> Result<Dataset, Error> {
        if format == Format::Netex {
            Dataset::decode_and_convert_netex(feed, &bytes, fetched_at, limits)
        } else {
            let hash = FeedBodySnapshot::hash_body(&bytes);
            let dataset = Dataset::decode_gtfs_with_hash(
                feed,
                Cursor::new(bytes),
                hash,
                fetched_at,
                &limits.gtfs,
            )?;
            check_not_truncated(&dataset.problems)?;
            Ok(dataset)
        }
    }

    fn decode_and_convert_netex(
        feed: FeedId,
        body: &Bytes,
        fetched_at: UnixMillis,
        limits: &DecodingLimits,
    ) -> Result<Dataset, Error> {
        let DecodingLimits { gtfs: table_limits, netex: limits, .. } = limits;
        let mut files = netex::PublicationSource::new(body, &limits.files)?;
        let (publication, mut problems) = netex::decode_publication(&mut files, limits)?;
        // Each row goes both into the zip for downloads and into the timetable.
        let zip = ZipTableWriter::new(Cursor::new(Vec::new()));
        let mut tables = (zip, TimetableBuilder::new(table_limits.clone()));
        let losses = netex::write_gtfs(&publication, &mut tables, &mut problems)?;
        drop(publication);
        let (zip, loaded) = tables;
        let zip = Bytes::from(zip.finish_archive()?.into_inner());
        let (timetable, more) = loaded.build_timetable()?;
        check_not_truncated(&more)?;
        problems.merge(netex::drop_already_reported_problems(more, &timetable));
        let hash = FeedBodySnapshot::hash_body(body);
        let dataset = Dataset::from_timetable(feed, timetable, problems, hash, fetched_at);
        let snapshot = FeedBodySnapshot {
            hash: FeedBodySnapshot::hash_body(&zip),
            bytes: zip,
            format: Format::Gtfs,
            content_type: Format::Gtfs.media_type(&[]).to_owned(),
            file_name: default_download_file_name(dataset.feed.as_str(), Format::Gtfs, &[]),
            fetched_at,
            last_modified: None,
        };
        Ok(Dataset {
            conversion_report: Some(losses),
            converted: Some(ConvertedSchedule { snapshot, served_snapshot: Mutex::default() }),
            ..dataset
        })
    }

    /// Returns the converted GTFS zip, ready to be served like `original`; `None` if the schedule came as GTFS. The
    /// first call for a configuration copies the zip, so call it where blocking is allowed.
    pub fn converted_gtfs_snapshot(
        &self,
        original: &ServedSnapshot,
    ) -> Option<Arc<ServedSnapshot>> {
        let converted = self.converted.as_ref()?;
        let config = original.shared_config();
        let mut served = converted.served_snapshot.lock();
        match &*served {
            Some(served) if Arc::ptr_eq(served.shared_config(), config) => Some(Arc::clone(served)),
            _ => {
                let made =
                    Arc::new(ServedSnapshot::new(converted.snapshot.clone(), Arc::clone(config)));
                *served = Some(Arc::clone(&made));
                Some(made)
            }
        }
    }

    /// Decodes a GTFS zip. Takes seconds for a large one, so call it where blocking is allowed.
    ///
    /// # Errors
    /// Returns the decoder's error.
    pub fn decode_gtfs_zip(
        feed: FeedId,
        zip: Bytes,
        fetched_at: UnixMillis,
    ) -> Result<Dataset, Error> {
        let hash = FeedBodySnapshot::hash_body(&zip);
        Dataset::decode_gtfs_with_hash(
            feed,
            Cursor::new(zip),
            hash,
            fetched_at,
            &gtfs::DatasetLimits::default(),
        )
    }

    /// Decodes a GTFS zip from a reader, such as a file, without loading all of it into memory.
    ///
    /// # Errors
    /// Returns the decoder's error, also if the zip cannot be read.
    pub fn decode_gtfs_from_reader(
        feed: FeedId,
        mut zip: impl Read + Seek,
        fetched_at: UnixMillis,
    ) -> Result<Dataset, Error> {
        let hash = FeedBodySnapshot::hash_body_from_reader(&mut zip).map_err(Error::from_io)?;
        Dataset::decode_gtfs_with_hash(feed, zip, hash, fetched_at, &gtfs::DatasetLimits::default())
    }

    fn decode_gtfs_with_hash(
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

    /// Creates a dataset from an existing timetable, for tests and benchmarks.
    pub fn from_timetable(
        feed: FeedId,
        timetable: Timetable,
        problems: Problems,
        hash: u128,
        fetched_at: UnixMillis,
    ) -> Dataset {
        Dataset {
            feed,
            search: StopAndRouteSearchIndex::new(&timetable),
            timetable: Arc::new(timetable),
            version: format_smolstr!("{hash:032x}"),
            fetched_at,
            problems: Arc::new(problems),
            conversion_report: None,
            converted: None,
            stops_geojson: OnceLock::new(),
            routes_geojson: OnceLock::new(),
            stop_extent: OnceLock::new(),
            service_calendar: OnceLock::new(),
            active_trips: Mutex::default(),
            route_variants: loading_cache::LoadingCache::new(
                ROUTE_VARIANT_CACHE_LIMITS,
                |_, variants| variants.approximate_memory_bytes(),
            ),
        }
    }

    /// Returns the extent of the stops. The first call reads all of them.
    pub fn stop_extent(&self) -> Option<MapExtent> {
        *self.stop_extent.get_or_init(|| {
            let positions = self.timetable.stops().filter_map(|stop| Some((stop.lat?, stop.lon?)));
            // A stop at 0, 0 has no position.
            MapExtent::from_coordinates(
                positions.filter(|coordinates| *coordinates != (0.0, 0.0)).collect(),
            )
        })
    }

    /// Returns the trips of each service day around the day on which the schedule was fetched. The first call visits
    /// all trips and services, so call it where blocking is allowed.
    pub fn service_calendar(&self) -> Option<&DailyTripCounts> {
        let calendar = self.service_calendar.get_or_init(|| {
            let around = self.timetable.local_date_at(self.fetched_at.unix_seconds());
            DailyTripCounts::from_timetable(&self.timetable, around)
        });
        calendar.as_ref()
    }

    /// Returns the variants of a route, which are computed once. This takes a moment for a route with hundreds of
    /// patterns, and concurrent callers wait, so call it where blocking is allowed.
    pub fn route_variants(&self, route: RouteIdx) -> Arc<RouteVariants> {
        let make = || Ok(Arc::new(RouteVariants::for_route(&self.timetable, route)));
        let Ok(variants) = self.route_variants.get_or_load_blocking(route, make);
        variants
    }

    /// Returns the number of trips that run in the minute of `at`, if it is cached.
    pub fn cached_active_trip_count(&self, at: UnixMillis) -> Option<u32> {
        let minute = at.unix_seconds().div_euclid(60);
        let known = self.active_trips.lock();
        let known = known.as_ref().filter(|(known, _)| *known == minute);
        known.map(|(_, trips)| count_trips(trips))
    }

    /// Counts the trips that run in the minute of `at`: takes up to some tens of milliseconds for a large timetable.
    pub fn count_active_trips(&self, at: UnixMillis) -> u32 {
        count_trips(&self.active_trips_at(at))
    }

    /// Returns the trips that run in the minute of `at`, in trip order. The first call in a minute takes as long as
    /// counting.
    pub fn active_trips_at(&self, at: UnixMillis) -> Arc<[TripInstance]> {
        let minute = at.unix_seconds().div_euclid(60);
        let known = self.active_trips.lock().clone();
        if let Some((_, trips)) = known.filter(|(known, _)| *known == minute) {
            return trips;
        }
        // Computed outside of the lock: tasks take the lock too and must not wait.
        let trips: Arc<[TripInstance]> = self.timetable.active_trips_at(minute * 60).into();
        *self.active_trips.lock() = Some((minute, Arc::clone(&trips)));
        trips
    }

    /// Returns true if the dataset was decoded from the bytes with this hash.
    pub fn matches_hash(&self, hash: u128) -> bool {
        self.version == format_smolstr!("{hash:032x}")
    }

    /// Returns the dataset as a record of its network.
    pub fn to_dataset_record(&self) -> Record {
        let body = DatasetRecord {
            version: self.version.clone(),
            feed_version: self
                .timetable
                .feed_info()
                .and_then(|info| info.version.as_deref().map(str::to_owned)),
            service: self.timetable.service_date_range(),
            stops: self.timetable.stops().len(),
            routes: self.timetable.routes().len(),
            trips: self.timetable.trips().len(),
        };
        let id = SmolStr::new(self.feed.as_str());
        Record::new_without_source(self.feed.clone(), id, RecordBody::Dataset(Box::new(body)))
    }
}

/// Returns an error if the rest of a table was ignored.
fn check_not_truncated(problems: &Problems) -> Result<(), Error> {
    let Some((file, ..)) = problems.problem_counts().find(|(_, code, _)| *code == "too_many_rows")
    else {
        return Ok(());
    };
    let detail = "has more rows than [limits] load_memory allows";
    Err(Error::new(ErrorKind::TooLarge, detail).with_file(file))
}

fn min_limit(default: usize, max: u64) -> usize {
    default.min(usize::try_from(max).unwrap_or(usize::MAX))
}

fn count_trips(trips: &[TripInstance]) -> u32 {
    u32::try_from(trips.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_memory_keeps_the_default_format_limits() {
        assert_eq!(DecodingLimits::for_memory(4 << 30), DecodingLimits::default());
        let small = DecodingLimits::for_memory(64 << 20);
        assert_eq!(small.netex.record_bytes, 64 << 20);
        assert!(small.gtfs.total_bytes < DecodingLimits::default().gtfs.total_bytes);
        assert_eq!(small.gtfs_rt_limits(u64::MAX).record_bytes, 8 << 20);
        assert_eq!(small.siri_limits(u64::MAX).record_bytes, 8 << 20);
    }
}
