//! One feed's records of one kind, with indexes built on first use.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use smol_str::SmolStr;

use crate::{
    change::RecordChange,
    geohash::GeohashCell,
    record::{Record, RecordKind, RemovalReason},
    trip_identity::{is_cancelled_extra_trip, is_extra_trip},
};

/// Length of the cells by which records are sorted: the finest that can be subscribed to.
const CELL_CHARS: u32 = 6;

/// An immutable table of records. A later state of the feed has a new table, or shares this one if nothing changed, so
/// that its indexes are built once.
#[derive(Debug, Default)]
pub struct RecordTable {
    records: Vec<Arc<Record>>,
    by_id: OnceLock<HashMap<SmolStr, u32>>,
    by_route: OnceLock<HashMap<SmolStr, Vec<u32>>>,
    by_trip: OnceLock<HashMap<SmolStr, Vec<u32>>>,
    by_cell: OnceLock<Vec<(u64, u32)>>,
    extra_trips: OnceLock<Vec<u32>>,
}

impl RecordTable {
    pub fn new(records: Vec<Arc<Record>>) -> RecordTable {
        RecordTable { records, ..RecordTable::default() }
    }

    pub fn records(&self) -> &[Arc<Record>] {
        &self.records
    }

    pub fn find_record(&self, id: &str) -> Option<&Arc<Record>> {
        let by_id = self.by_id.get_or_init(|| {
            self.numbered_records().map(|(number, record)| (record.id.clone(), number)).collect()
        });
        by_id.get(id).map(|&number| self.record_at(number))
    }

    pub fn records_by_route(&self, route: &str) -> impl Iterator<Item = &Arc<Record>> {
        let by_route = self.by_route.get_or_init(|| {
            self.index_records_by_keys(|record, put| record.route_ids().for_each(put))
        });
        by_route.get(route).into_iter().flatten().map(|&number| self.record_at(number))
    }

    /// Returns the records of a trip, on any date.
    pub fn records_by_trip(&self, trip: &str) -> impl Iterator<Item = &Arc<Record>> {
        let by_trip = self.by_trip.get_or_init(|| {
            self.index_records_by_keys(|record, put| record.trip_ids().for_each(put))
        });
        by_trip.get(trip).into_iter().flatten().map(|&number| self.record_at(number))
    }

    /// Returns the vehicles or stations within a cell.
    pub fn records_in_cell(&self, cell: GeohashCell) -> impl Iterator<Item = &Arc<Record>> {
        let by_cell = self.by_cell.get_or_init(|| {
            let mut cells: Vec<(u64, u32)> = self
                .numbered_records()
                .filter_map(|(number, record)| {
                    let (lat, lon) = record.position()?;
                    Some((GeohashCell::from_point(lat, lon, CELL_CHARS).cell_number(), number))
                })
                .collect();
            cells.sort_unstable();
            cells
        });
        let range = cell.descendant_numbers(CELL_CHARS);
        let first = by_cell.partition_point(|&(bits, _)| bits < range.start);
        by_cell[first..]
            .iter()
            .take_while(move |&&(bits, _)| bits < range.end)
            .map(|&(_, number)| self.record_at(number))
    }

    /// Returns the trip updates of trips that are not in the schedule: added, new, duplicated, replaced or unscheduled
    /// ones, also if cancelled.
    pub fn extra_trip_records(&self) -> impl Iterator<Item = &Arc<Record>> {
        let extra = self.extra_trips.get_or_init(|| {
            self.numbered_records()
                .filter(|(_, record)| {
                    record.trip_descriptor().is_some_and(is_extra_trip)
                        || record.trip_update().is_some_and(is_cancelled_extra_trip)
                })
                .map(|(number, _)| number)
                .collect()
        });
        extra.iter().map(|&number| self.record_at(number))
    }

    fn record_at(&self, number: u32) -> &Arc<Record> {
        &self.records[number as usize]
    }

    fn numbered_records(&self) -> impl Iterator<Item = (u32, &Arc<Record>)> {
        (0..).zip(&self.records)
    }

    fn index_records_by_keys(
        &self,
        keys: impl Fn(&Record, &mut dyn FnMut(&str)),
    ) -> HashMap<SmolStr, Vec<u32>> {
        let mut groups: HashMap<SmolStr, Vec<u32>> = HashMap::new();
        for (number, record) in self.numbered_records() {
            keys(record, &mut |key| {
                let group = match groups.get_mut(key) {
                    Some(group) => group,
                    None => groups.entry(SmolStr::new(key)).or_default(),
                };
                if group.last() != Some(&number) {
                    group.push(number);
                }
            });
        }
        groups
    }
}

#[derive(Clone, Debug, Default)]
pub struct FeedRecordTables {
    pub vehicles: Arc<RecordTable>,
    pub trip_updates: Arc<RecordTable>,
    pub alerts: Arc<RecordTable>,
    /// Stations of a GBFS system.
    pub stations: Arc<RecordTable>,
    /// Vehicles of a GBFS system: separate, because their data differ from those of other vehicles.
    pub rental_vehicles: Arc<RecordTable>,
}

impl FeedRecordTables {
    pub fn for_kind(&self, kind: RecordKind) -> Option<&Arc<RecordTable>> {
        match kind {
            RecordKind::Vehicle => Some(&self.vehicles),
            RecordKind::TripUpdate => Some(&self.trip_updates),
            RecordKind::Alert => Some(&self.alerts),
            RecordKind::Station => Some(&self.stations),
            RecordKind::Departure | RecordKind::Dataset | RecordKind::Feed => None,
        }
    }

    pub fn all_tables(&self) -> [&Arc<RecordTable>; 5] {
        let [vehicles, stations, rental_vehicles] = self.tables_with_positions();
        [vehicles, &self.trip_updates, &self.alerts, stations, rental_vehicles]
    }

    /// Returns the tables of records with a position.
    pub fn tables_with_positions(&self) -> [&Arc<RecordTable>; 3] {
        [&self.vehicles, &self.stations, &self.rental_vehicles]
    }
}

/// Adds the changes that turn one table into another.
pub fn collect_table_changes(
    old: &RecordTable,
    new: &RecordTable,
    changes: &mut Vec<RecordChange>,
) {
    for record in new.records() {
        match old.find_record(&record.id) {
            Some(known) if known.has_same_content(record) => {}
            known => changes.push(RecordChange::new_upsert(known.cloned(), Arc::clone(record))),
        }
    }
    for record in old.records() {
        if new.find_record(&record.id).is_none() {
            changes.push(RecordChange::new_removal(Arc::clone(record), RemovalReason::Gone));
        }
    }
}
