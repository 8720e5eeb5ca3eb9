//! The data of a network at one revision: one immutable value, swapped as a whole.

mod closed_alerts;
pub mod table;

use std::sync::Arc;

use bytes::Bytes;
use lineside_formats::gtfs_rt::proto::FeedHeader;
use lineside_sync::UnixMillis;

use crate::{
    bounds::BoundingBox,
    dataset::Dataset,
    feed_id::FeedId,
    geohash::GeohashCell,
    network_state::{closed_alerts::ClosedAlerts, table::FeedRecordTables},
    record::{Record, RecordKind, build_unpolled_feed_record},
    view_cache::DerivedValueCache,
};

/// A network at one revision. Immutable and cheap to hold; indexes and exports are built on first use.
#[derive(Debug)]
pub struct NetworkState {
    /// The number of publications of `feed/<network id>` so far.
    pub revision: u64,
    /// The time at which Lineside received the bytes behind this state.
    pub at: UnixMillis,
    /// The time that stop boards show, in Unix seconds on the data's clock.
    pub board_at: i64,
    pub dataset: Option<Arc<Dataset>>,
    pub dataset_record: Option<Arc<Record>>,
    /// Slices in the order of the configuration.
    pub feeds: Vec<Arc<FeedStateInNetwork>>,
    /// The timestamp of exports of the whole network, in Unix seconds: never decreases.
    pub timestamp: u64,
    pub cache: DerivedValueCache,
}

/// A feed's part of a network's state.
#[derive(Debug)]
pub struct FeedStateInNetwork {
    pub id: FeedId,
    /// The feed's status as a record.
    pub record: Arc<Record>,
    pub header: Option<FeedHeader>,
    /// The timestamp of the slice's exports, in Unix seconds: never decreases, and increases when the content changes.
    pub timestamp: u64,
    pub tables: FeedRecordTables,
    /// Entities without records: shapes, stops, detours.
    pub others: Arc<[Bytes]>,
    /// Recently removed alerts.
    pub closed: Arc<ClosedAlerts>,
    pub cache: DerivedValueCache,
}

impl FeedStateInNetwork {
    pub fn new(id: FeedId, record: Arc<Record>) -> FeedStateInNetwork {
        FeedStateInNetwork {
            id,
            record,
            header: None,
            timestamp: 0,
            tables: FeedRecordTables::default(),
            others: Arc::new([]),
            closed: Arc::default(),
            cache: DerivedValueCache::default(),
        }
    }

    /// Returns the vehicles and stations within a cell.
    pub fn records_in_cell(&self, cell: GeohashCell) -> impl Iterator<Item = &Arc<Record>> {
        self.tables
            .tables_with_positions()
            .into_iter()
            .flat_map(move |table| table.records_in_cell(cell))
    }

    /// Returns the number of records.
    pub fn record_count(&self) -> usize {
        self.tables.all_tables().iter().map(|table| table.records().len()).sum()
    }
}

impl NetworkState {
    /// Returns the state of a network before the first message of its feeds.
    pub fn new(feeds: &[FeedId], now: UnixMillis) -> NetworkState {
        let slices = feeds.iter().map(|id| {
            Arc::new(FeedStateInNetwork::new(
                id.clone(),
                Arc::new(build_unpolled_feed_record(id, now)),
            ))
        });
        NetworkState {
            revision: 0,
            at: now,
            board_at: now.unix_seconds(),
            dataset: None,
            dataset_record: None,
            feeds: slices.collect(),
            timestamp: 0,
            cache: DerivedValueCache::default(),
        }
    }

    /// Returns all vehicles, feed by feed.
    pub fn vehicles(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.feeds.iter().flat_map(|feed| feed.tables.vehicles.records())
    }

    /// Returns all trip updates, feed by feed.
    pub fn trip_updates(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.feeds.iter().flat_map(|feed| feed.tables.trip_updates.records())
    }

    /// Returns all alerts, feed by feed.
    pub fn alerts(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.feeds.iter().flat_map(|feed| feed.tables.alerts.records())
    }

    /// Returns all stations of GBFS systems, feed by feed.
    pub fn stations(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.feeds.iter().flat_map(|feed| feed.tables.stations.records())
    }

    /// Returns all vehicles of GBFS systems, feed by feed: [`vehicles`](Self::vehicles) does not include them.
    pub fn rental_vehicles(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.feeds.iter().flat_map(|feed| feed.tables.rental_vehicles.records())
    }

    /// Returns the status records of the feeds.
    pub fn feed_status_records(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.feeds.iter().map(|feed| &feed.record)
    }

    /// Returns the record with a kind and id, from the first feed that has it. One lookup per feed; the first call at a
    /// revision builds the index.
    pub fn find_record(&self, kind: RecordKind, id: &str) -> Option<&Arc<Record>> {
        self.feeds.iter().find_map(|feed| feed.tables.for_kind(kind)?.find_record(id))
    }

    /// Returns the vehicles, trip updates and alerts of a route.
    pub fn realtime_records_by_route<'a>(
        &'a self,
        route_id: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Record>> {
        self.all_record_tables().flat_map(|table| table.records_by_route(route_id))
    }

    /// Returns the vehicles, trip updates and alerts of a trip, on any date.
    pub fn realtime_records_by_trip<'a>(
        &'a self,
        trip_id: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Record>> {
        self.all_record_tables().flat_map(|table| table.records_by_trip(trip_id))
    }

    /// Returns the alerts that name a stop, one of its parents or one of its platforms. Visits every alert.
    pub fn alerts_affecting_stop<'a>(
        &'a self,
        stop_id: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Record>> {
        let related = self.related_stop_ids(stop_id);
        self.alerts().filter(move |record| alert_names_stop(record, stop_id, &related))
    }

    /// Returns true if an alert names a stop, one of its parents or one of its platforms.
    pub fn is_alert_for_stop(&self, record: &Record, stop_id: &str) -> bool {
        alert_names_stop(record, stop_id, &self.related_stop_ids(stop_id))
    }

    /// Returns the vehicles within a box in degrees, edges included. Visits every vehicle.
    pub fn vehicles_in_bbox(&self, bbox: BoundingBox) -> impl Iterator<Item = &Arc<Record>> {
        self.vehicles().filter(move |record| {
            record.position().is_some_and(|(lat, lon)| bbox.contains(lat, lon))
        })
    }

    /// Returns the vehicles and stations within a geohash cell of at most six characters.
    pub fn records_in_cell(&self, cell: GeohashCell) -> impl Iterator<Item = &Arc<Record>> {
        self.feeds.iter().flat_map(move |feed| feed.records_in_cell(cell))
    }

    fn all_record_tables(&self) -> impl Iterator<Item = &crate::network_state::table::RecordTable> {
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

    /// Returns true if a feed belongs to this network.
    pub fn has_feed(&self, id: &str) -> bool {
        self.find_feed_slice(id).is_some()
    }

    pub fn find_feed_slice(&self, id: &str) -> Option<&Arc<FeedStateInNetwork>> {
        self.feeds.iter().find(|feed| feed.id.as_str() == id)
    }
}

fn alert_names_stop(record: &Record, stop_id: &str, related: &[String]) -> bool {
    let informed = record.alert().into_iter().flat_map(|alert| &alert.informed_entity);
    let mut stops = informed.filter_map(|entity| entity.stop_id.as_deref());
    stops.any(|stop| stop == stop_id || related.iter().any(|other| other == stop))
}

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
