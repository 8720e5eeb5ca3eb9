//! What is known of a network at one revision: one immutable value, swapped as a whole.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use lineside_formats::gtfs_rt::proto::FeedHeader;
use lineside_sync::UnixMillis;

use super::{closed_alerts::ClosedAlerts, table::FeedTables};
use crate::{
    config::FeedId,
    dataset::Dataset,
    delays::FeedDelays,
    exports::{ExportCache, ExportPart},
    geohash::GeohashCell,
    record::{Record, RecordKind},
    trip_matching::FeedMatches,
};

/// A network at one revision. Cheap to hold, never changes; indexes and exports are made when first asked for.
#[derive(Debug)]
pub struct NetworkState {
    /// Count of publications of `feed/<network id>` so far.
    pub revision: u64,
    /// When Lineside had the bytes that this state came from.
    pub at: UnixMillis,
    /// The moment that the boards of stops show, Unix seconds on the data's clock.
    pub(crate) board_at: i64,
    pub(crate) dataset: Option<Arc<Dataset>>,
    /// The dataset as a record, once there is one.
    pub(crate) dataset_record: Option<Arc<Record>>,
    /// In the order of the configuration.
    pub(crate) feeds: Vec<Arc<FeedSlice>>,
    /// The time that exports of the whole network give, Unix seconds: never goes back.
    pub(crate) timestamp: u64,
    pub(crate) cache: DerivedViews,
}

/// What is made of a state when first asked for, and then shared.
#[derive(Debug, Default)]
pub(crate) struct DerivedViews {
    pub(crate) exports: ExportCache,
    pub(crate) vehicles_geojson: OnceLock<Bytes>,
    /// Of one feed only.
    pub(crate) delays: OnceLock<FeedDelays>,
    /// Likewise.
    pub(crate) matches: OnceLock<Arc<FeedMatches>>,
    pub(crate) stations_geojson: OnceLock<Bytes>,
}

/// One feed's share of a network's state.
#[derive(Debug)]
pub(crate) struct FeedSlice {
    pub(crate) id: FeedId,
    /// How the feed is doing.
    pub(crate) record: Arc<Record>,
    pub(crate) header: Option<FeedHeader>,
    /// The time that exports give this slice, Unix seconds: never goes back, rises when the content changes.
    pub(crate) timestamp: u64,
    pub(crate) tables: FeedTables,
    /// Entities that make no record: shapes, stops, detours.
    pub(crate) others: Arc<[Bytes]>,
    /// Alerts that were gone lately.
    pub(crate) closed: Arc<ClosedAlerts>,
    pub(crate) cache: DerivedViews,
}

impl FeedSlice {
    pub(crate) fn new(id: FeedId, record: Arc<Record>) -> FeedSlice {
        FeedSlice {
            id,
            record,
            header: None,
            timestamp: 0,
            tables: FeedTables::default(),
            others: Arc::new([]),
            closed: Arc::default(),
            cache: DerivedViews::default(),
        }
    }

    /// Its vehicles and stations within a cell.
    pub(crate) fn records_in_cell(&self, cell: GeohashCell) -> impl Iterator<Item = &Arc<Record>> {
        self.tables.located_tables().into_iter().flat_map(move |table| table.records_in_cell(cell))
    }

    /// How many records the feed has.
    pub(crate) fn record_count(&self) -> usize {
        self.tables.all_tables().iter().map(|table| table.records().len()).sum()
    }
}

impl NetworkState {
    /// All vehicles, feed by feed.
    pub fn vehicles(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.feeds.iter().flat_map(|feed| feed.tables.vehicles.records())
    }

    /// All trip updates, feed by feed.
    pub fn trip_updates(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.feeds.iter().flat_map(|feed| feed.tables.trip_updates.records())
    }

    /// All alerts, feed by feed.
    pub fn alerts(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.feeds.iter().flat_map(|feed| feed.tables.alerts.records())
    }

    /// All stations of GBFS systems, feed by feed.
    pub fn stations(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.feeds.iter().flat_map(|feed| feed.tables.stations.records())
    }

    /// All vehicles of GBFS systems, feed by feed: they are not among the other vehicles.
    pub fn rental_vehicles(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.feeds.iter().flat_map(|feed| feed.tables.rental_vehicles.records())
    }

    /// The states of the feeds.
    pub fn feed_records(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.feeds.iter().map(|feed| &feed.record)
    }

    /// The record of that kind and id, of the first feed that has it. One probe per feed; the first one at a revision
    /// builds the index.
    pub fn find_record(&self, kind: RecordKind, id: &str) -> Option<&Arc<Record>> {
        self.feeds.iter().find_map(|feed| feed.tables.for_kind(kind)?.find_record(id))
    }

    /// The vehicles, trip updates and alerts that concern a route.
    pub fn records_by_route<'a>(
        &'a self,
        route_id: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Record>> {
        self.tables().flat_map(|table| table.records_by_route(route_id))
    }

    /// The vehicles, trip updates and alerts that concern a trip, on whatever date.
    pub fn records_by_trip<'a>(
        &'a self,
        trip_id: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Record>> {
        self.tables().flat_map(|table| table.records_by_trip(trip_id))
    }

    /// The alerts that name a stop, one of its parents or one of its platforms. Looks at every alert.
    pub fn alerts_by_stop<'a>(&'a self, stop_id: &'a str) -> impl Iterator<Item = &'a Arc<Record>> {
        let related = self.related_stop_ids(stop_id);
        self.alerts().filter(move |record| alert_names_stop(record, stop_id, &related))
    }

    /// Whether an alert names a stop, one of its parents or one of its platforms.
    pub(crate) fn concerns_stop(&self, record: &Record, stop_id: &str) -> bool {
        alert_names_stop(record, stop_id, &self.related_stop_ids(stop_id))
    }

    /// The vehicles within a box of degrees, edges included. Looks at every vehicle.
    pub fn vehicles_in_bbox(&self, bbox: BoundingBox) -> impl Iterator<Item = &Arc<Record>> {
        self.vehicles().filter(move |record| {
            record.position().is_some_and(|(lat, lon)| bbox.contains(lat, lon))
        })
    }

    /// The vehicles and stations within a geohash cell of at most six characters.
    pub fn records_in_cell(&self, cell: GeohashCell) -> impl Iterator<Item = &Arc<Record>> {
        self.feeds.iter().flat_map(move |feed| feed.records_in_cell(cell))
    }

    fn tables(&self) -> impl Iterator<Item = &super::table::RecordTable> {
        self.feeds.iter().flat_map(|feed| feed.tables.all_tables()).map(|table| &**table)
    }

    fn related_stop_ids(&self, stop_id: &str) -> Vec<String> {
        let Some(timetable) = self.dataset.as_ref().map(|dataset| &dataset.timetable) else {
            return Vec::new();
        };
        let Some(stop) = timetable.find_stop(stop_id) else { return Vec::new() };
        let mut related: Vec<String> = timetable
            .stop_and_descendants(stop)
            .into_iter()
            .map(|stop| timetable.stop(stop).id.to_owned())
            .collect();
        let mut parent = timetable.stop(stop).parent;
        while let Some(stop) = parent {
            related.push(timetable.stop(stop).id.to_owned());
            parent = timetable.stop(stop).parent;
        }
        related
    }

    /// Whether a feed is of this network.
    pub fn has_feed(&self, id: &str) -> bool {
        self.find_feed_slice(id).is_some()
    }

    pub(crate) fn find_feed_slice(&self, id: &str) -> Option<&Arc<FeedSlice>> {
        self.feeds.iter().find(|feed| feed.id.as_str() == id)
    }
}

fn alert_names_stop(record: &Record, stop_id: &str, related: &[String]) -> bool {
    let informed = record.alert().into_iter().flat_map(|alert| &alert.informed_entity);
    let mut stops = informed.filter_map(|entity| entity.stop_id.as_deref());
    stops.any(|stop| stop == stop_id || related.iter().any(|other| other == stop))
}

/// A box on the map, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundingBox {
    /// Western edge; greater than `max_lon` where the box crosses the date line.
    pub min_lon: f64,
    /// Southern edge.
    pub min_lat: f64,
    /// Eastern edge.
    pub max_lon: f64,
    /// Northern edge.
    pub max_lat: f64,
}

impl BoundingBox {
    /// Reads `min_lon,min_lat,max_lon,max_lat`.
    pub fn parse(text: &str) -> Option<BoundingBox> {
        let mut numbers = text.split(',').map(|number| number.trim().parse::<f64>().ok());
        let mut next = || numbers.next()?.filter(|number| number.is_finite());
        let bbox =
            BoundingBox { min_lon: next()?, min_lat: next()?, max_lon: next()?, max_lat: next()? };
        let on_earth = [bbox.min_lat, bbox.max_lat].iter().all(|lat| lat.abs() <= 90.0)
            && [bbox.min_lon, bbox.max_lon].iter().all(|lon| lon.abs() <= 180.0);
        (numbers.next().is_none() && on_earth && bbox.min_lat <= bbox.max_lat).then_some(bbox)
    }

    /// Whether a point lies inside or on an edge.
    pub fn contains(&self, lat: f64, lon: f64) -> bool {
        let between = if self.min_lon <= self.max_lon {
            (self.min_lon..=self.max_lon).contains(&lon)
        } else {
            lon >= self.min_lon || lon <= self.max_lon
        };
        between && (self.min_lat..=self.max_lat).contains(&lat)
    }
}

/// A value for each part of an export, made once.
pub(crate) type PerPart<T> = [OnceLock<T>; ExportPart::COUNT];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_four_numbers_on_earth() {
        let bbox = BoundingBox::parse("2.2,48.8, 2.4,48.9").unwrap();
        assert!(bbox.contains(48.85, 2.3) && !bbox.contains(48.85, 2.5));
        for bad in ["", "1,2,3", "1,2,3,4,5", "a,b,c,d", "1,95,2,96", "1,5,2,4", "nan,1,2,3"] {
            assert_eq!(BoundingBox::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_box_may_cross_the_date_line() {
        let fiji = BoundingBox::parse("177,-20,-178,-15").unwrap();
        assert!(fiji.contains(-18.0, 179.0) && fiji.contains(-18.0, -179.0));
        assert!(!fiji.contains(-18.0, 0.0));
    }
}
