//! One feed's records of one kind, with indexes that are made when first asked for.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use smol_str::SmolStr;

use crate::{
    change::{Change, Why},
    geohash::Cell,
    normalize::{is_extra, is_extra_off},
    record::{Kind, Record},
};

/// Characters of the cells by which records are sorted: the finest that can be subscribed to.
const CELL_CHARS: u32 = 6;

/// Records that never change. A later state of the feed is another table, or the same one where nothing changed, so
/// that its indexes are made once.
#[derive(Debug, Default)]
pub(crate) struct Table {
    records: Vec<Arc<Record>>,
    by_id: OnceLock<HashMap<SmolStr, u32>>,
    by_route: OnceLock<HashMap<SmolStr, Vec<u32>>>,
    by_trip: OnceLock<HashMap<SmolStr, Vec<u32>>>,
    by_cell: OnceLock<Vec<(u64, u32)>>,
    extra_trips: OnceLock<Vec<u32>>,
}

impl Table {
    pub(crate) fn new(records: Vec<Arc<Record>>) -> Table {
        Table { records, ..Table::default() }
    }

    pub(crate) fn records(&self) -> &[Arc<Record>] {
        &self.records
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Arc<Record>> {
        let by_id = self.by_id.get_or_init(|| {
            self.numbered().map(|(number, record)| (record.id.clone(), number)).collect()
        });
        by_id.get(id).map(|&number| self.at(number))
    }

    /// The records that concern a route.
    pub(crate) fn of_route(&self, route: &str) -> impl Iterator<Item = &Arc<Record>> {
        let by_route = self
            .by_route
            .get_or_init(|| self.group(|record, put| record.route_ids().for_each(put)));
        by_route.get(route).into_iter().flatten().map(|&number| self.at(number))
    }

    /// The records that concern a trip, on whatever date.
    pub(crate) fn of_trip(&self, trip: &str) -> impl Iterator<Item = &Arc<Record>> {
        let by_trip =
            self.by_trip.get_or_init(|| self.group(|record, put| record.trip_ids().for_each(put)));
        by_trip.get(trip).into_iter().flatten().map(|&number| self.at(number))
    }

    /// The vehicles or stations within a cell.
    pub(crate) fn in_cell(&self, cell: Cell) -> impl Iterator<Item = &Arc<Record>> {
        let by_cell = self.by_cell.get_or_init(|| {
            let mut cells: Vec<(u64, u32)> = self
                .numbered()
                .filter_map(|(number, record)| {
                    let (lat, lon) = record.position()?;
                    Some((Cell::of(lat, lon, CELL_CHARS).bits(), number))
                })
                .collect();
            cells.sort_unstable();
            cells
        });
        let range = cell.range(CELL_CHARS);
        let first = by_cell.partition_point(|&(bits, _)| bits < range.start);
        by_cell[first..]
            .iter()
            .take_while(move |&&(bits, _)| bits < range.end)
            .map(|&(_, number)| self.at(number))
    }

    /// The trip updates of trips that the schedule does not hold: added, new, duplicated, replaced, unscheduled, and those that
    /// were to be and are not.
    pub(crate) fn extra_trips(&self) -> impl Iterator<Item = &Arc<Record>> {
        let extra = self.extra_trips.get_or_init(|| {
            self.numbered()
                .filter(|(_, record)| {
                    record.trip().is_some_and(is_extra)
                        || record.trip_update().is_some_and(is_extra_off)
                })
                .map(|(number, _)| number)
                .collect()
        });
        extra.iter().map(|&number| self.at(number))
    }

    fn at(&self, number: u32) -> &Arc<Record> {
        &self.records[number as usize]
    }

    fn numbered(&self) -> impl Iterator<Item = (u32, &Arc<Record>)> {
        (0..).zip(&self.records)
    }

    fn group(&self, keys: impl Fn(&Record, &mut dyn FnMut(&str))) -> HashMap<SmolStr, Vec<u32>> {
        let mut groups: HashMap<SmolStr, Vec<u32>> = HashMap::new();
        for (number, record) in self.numbered() {
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

/// The tables of one feed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) vehicles: Arc<Table>,
    pub(crate) trip_updates: Arc<Table>,
    pub(crate) alerts: Arc<Table>,
    /// Of a GBFS system.
    pub(crate) stations: Arc<Table>,
    /// Of a GBFS system: apart, because what is told of them is not what is told of others.
    pub(crate) rental_vehicles: Arc<Table>,
}

impl Tables {
    pub(crate) fn of(&self, kind: Kind) -> Option<&Arc<Table>> {
        match kind {
            Kind::Vehicle => Some(&self.vehicles),
            Kind::TripUpdate => Some(&self.trip_updates),
            Kind::Alert => Some(&self.alerts),
            Kind::Station => Some(&self.stations),
            Kind::Departure | Kind::Dataset | Kind::Feed => None,
        }
    }

    pub(crate) fn all(&self) -> [&Arc<Table>; 5] {
        let [vehicles, stations, rental_vehicles] = self.placed();
        [vehicles, &self.trip_updates, &self.alerts, stations, rental_vehicles]
    }

    /// Those of what has a place on the map.
    pub(crate) fn placed(&self) -> [&Arc<Table>; 3] {
        [&self.vehicles, &self.stations, &self.rental_vehicles]
    }
}

/// The changes that lead from one table to another.
pub(crate) fn difference(old: &Table, new: &Table, changes: &mut Vec<Change>) {
    for record in new.records() {
        match old.find(&record.id) {
            Some(known) if known.says_the_same(record) => {}
            known => changes.push(Change::upsert(known.cloned(), Arc::clone(record))),
        }
    }
    for record in old.records() {
        if new.find(&record.id).is_none() {
            changes.push(Change::removal(Arc::clone(record), Why::Gone));
        }
    }
}
