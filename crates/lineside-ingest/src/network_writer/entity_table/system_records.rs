//! The stations and vehicles of a GBFS system in the network's writer: by id, with each file's part separately.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use bytes::Bytes;
use smol_str::SmolStr;

use crate::{
    change::RecordChange,
    feed_id::FeedId,
    network_state::table::RecordTable,
    normalize::{GbfsFileRecords, GbfsRecordFileKind, GbfsRecordFragment},
    record::{Record, RecordBody, RemovalReason, RentalVehicle, Station, TimetableJoin},
};

type RecordsById = BTreeMap<SmolStr, Arc<Record>>;

/// The records of a GBFS system. Bounded by the records of its files.
#[derive(Clone, Debug, Default)]
pub(crate) struct GbfsSystemRecords {
    stations: GbfsRecordSet,
    vehicles: GbfsRecordSet,
}

#[derive(Clone, Debug, Default)]
struct GbfsRecordSet {
    by_id: RecordsById,
    is_dirty: bool,
}

impl GbfsSystemRecords {
    /// Applies a file to the current state. A station's data may come from several files.
    pub(super) fn apply_gbfs_file(
        &mut self,
        feed: &FeedId,
        file: GbfsFileRecords,
        changes: &mut Vec<RecordChange>,
    ) {
        let GbfsFileRecords { kind, pieces } = file;
        let record_set = match kind {
            GbfsRecordFileKind::Information | GbfsRecordFileKind::Status => &mut self.stations,
            GbfsRecordFileKind::Vehicles => &mut self.vehicles,
        };
        let named: HashSet<SmolStr> = pieces.iter().map(|piece| piece.id.clone()).collect();
        for piece in pieces {
            let id = piece.id.clone();
            let known = record_set.by_id.get(&id);
            let body = merge_file_fragment(kind, known, Some(piece));
            record_set.set_record_body(feed, id, body, changes);
        }
        let unnamed: Vec<SmolStr> =
            record_set.by_id.keys().filter(|id| !named.contains(*id)).cloned().collect();
        for id in unnamed {
            let body = merge_file_fragment(kind, record_set.by_id.get(&id), None);
            record_set.set_record_body(feed, id, body, changes);
        }
    }

    /// Removes all records for the reason `why`.
    pub(super) fn clear(&mut self, why: RemovalReason, changes: &mut Vec<RecordChange>) {
        for record_set in [&mut self.stations, &mut self.vehicles] {
            record_set.is_dirty |= !record_set.by_id.is_empty();
            let removed = std::mem::take(&mut record_set.by_id);
            changes
                .extend(removed.into_values().map(|record| RecordChange::new_removal(record, why)));
        }
    }

    pub(super) fn insert_restored_record(&mut self, record: Record) {
        let record_set =
            if record.station().is_some() { &mut self.stations } else { &mut self.vehicles };
        record_set.is_dirty = true;
        record_set.by_id.insert(record.id.clone(), Arc::new(record));
    }

    /// Returns the records for another writer, which has not built tables of them.
    pub(super) fn to_copy_for_other_writer(&self) -> GbfsSystemRecords {
        let mark_dirty =
            |record_set: &GbfsRecordSet| GbfsRecordSet { is_dirty: true, ..record_set.clone() };
        GbfsSystemRecords {
            stations: mark_dirty(&self.stations),
            vehicles: mark_dirty(&self.vehicles),
        }
    }

    pub(super) fn has_unbuilt_changes(&self) -> bool {
        self.stations.is_dirty || self.vehicles.is_dirty
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.stations.by_id.values().chain(self.vehicles.by_id.values())
    }

    /// Builds the tables of stations and vehicles; unchanged ones are shared with `known`.
    pub(super) fn build_changed_tables(
        &mut self,
        known: [&Arc<RecordTable>; 2],
    ) -> [Arc<RecordTable>; 2] {
        let [stations, vehicles] = known;
        [
            self.stations.build_table_if_changed(stations),
            self.vehicles.build_table_if_changed(vehicles),
        ]
    }
}

impl GbfsRecordSet {
    fn set_record_body(
        &mut self,
        feed: &FeedId,
        id: SmolStr,
        body: Option<RecordBody>,
        changes: &mut Vec<RecordChange>,
    ) {
        let known = self.by_id.get(&id);
        if known.map(|known| &known.body) == body.as_ref() {
            return;
        }
        self.is_dirty = true;
        let Some(body) = body else {
            changes.extend(
                self.by_id
                    .remove(&id)
                    .map(|removed| RecordChange::new_removal(removed, RemovalReason::Gone)),
            );
            return;
        };
        let record = Arc::new(Record::new(
            feed.clone(),
            id.clone(),
            Bytes::new(),
            body,
            TimetableJoin::default(),
        ));
        let old = self.by_id.insert(id, Arc::clone(&record));
        changes.push(RecordChange::new_upsert(old, record));
    }

    fn build_table_if_changed(&mut self, known: &Arc<RecordTable>) -> Arc<RecordTable> {
        if std::mem::take(&mut self.is_dirty) {
            Arc::new(RecordTable::new(self.by_id.values().cloned().collect()))
        } else {
            Arc::clone(known)
        }
    }
}

/// Returns a record's body after a file has updated or dropped its part; `None` if no file mentions it.
fn merge_file_fragment(
    kind: GbfsRecordFileKind,
    known: Option<&Arc<Record>>,
    piece: Option<GbfsRecordFragment>,
) -> Option<RecordBody> {
    if kind == GbfsRecordFileKind::Vehicles {
        let GbfsRecordFragment { json, coordinates, available, .. } = piece?;
        let vehicle = RentalVehicle { json, coordinates, is_available: available > 0 };
        return Some(RecordBody::RentalVehicle(Box::new(vehicle)));
    }
    let known = known.and_then(|record| record.station()).cloned().unwrap_or_default();
    let (json, coordinates, available) =
        piece.map_or((None, None, 0), |it| (Some(it.json), it.coordinates, it.available));
    let station = match kind {
        GbfsRecordFileKind::Information => Station { information: json, coordinates, ..known },
        _ => Station { status: json, available, ..known },
    };
    let is_named = station.information.is_some() || station.status.is_some();
    is_named.then(|| RecordBody::Station(Box::new(station)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(id: &str, json: &'static str) -> GbfsRecordFragment {
        GbfsRecordFragment { id: id.into(), json: json.into(), coordinates: None, available: 0 }
    }

    /// Applies a file and returns the changed records with their kind of change.
    fn take(
        records: &mut GbfsSystemRecords,
        kind: GbfsRecordFileKind,
        pieces: &[GbfsRecordFragment],
    ) -> Vec<(&'static str, String)> {
        let feed = FeedId::new("bikes").unwrap();
        let (mut changes, file) = (Vec::new(), GbfsFileRecords { kind, pieces: pieces.to_vec() });
        records.apply_gbfs_file(&feed, file, &mut changes);
        let describe = |change: &RecordChange| match (&change.new, &change.old) {
            (Some(new), _) => ("upsert", String::from_utf8(new.json().to_vec()).unwrap()),
            (None, old) => ("remove", old.as_ref().unwrap().id.to_string()),
        };
        changes.iter().map(describe).collect()
    }

    const A: &str = r#"{"station_id":"a","capacity":3}"#;
    const B: &str = r#"{"station_id":"b"}"#;

    #[test]
    fn a_station_is_joined_from_two_files_in_any_order() {
        let mut records = GbfsSystemRecords::default();
        let free = [piece("a", r#"{"num_docks_available":1}"#), piece("c", "{}")];
        let changes = take(&mut records, GbfsRecordFileKind::Status, &free);
        let a = r#"{"station_id":"a","num_docks_available":1}"#;
        assert_eq!(changes, [("upsert", a.into()), ("upsert", r#"{"station_id":"c"}"#.into())]);
        let changes =
            take(&mut records, GbfsRecordFileKind::Information, &[piece("a", A), piece("b", B)]);
        let a = r#"{"station_id":"a","capacity":3,"num_docks_available":1}"#;
        assert_eq!(changes, [("upsert", a.into()), ("upsert", B.into())]);
        // An identical file changes nothing.
        let same =
            take(&mut records, GbfsRecordFileKind::Information, &[piece("b", B), piece("a", A)]);
        assert!(same.is_empty(), "{same:?}");
    }

    #[test]
    fn a_station_is_removed_once_no_file_has_it() {
        let mut records = GbfsSystemRecords::default();
        take(&mut records, GbfsRecordFileKind::Information, &[piece("a", A), piece("b", B)]);
        take(&mut records, GbfsRecordFileKind::Status, &[piece("a", "{}")]);
        let changes = take(&mut records, GbfsRecordFileKind::Information, &[]);
        assert_eq!(changes, [("upsert", r#"{"station_id":"a"}"#.into()), ("remove", "b".into())]);
        assert_eq!(take(&mut records, GbfsRecordFileKind::Status, &[]), [("remove", "a".into())]);
        assert_eq!(records.records().count(), 0);
    }

    #[test]
    fn each_vehicle_file_replaces_the_previous_one() {
        let mut records = GbfsSystemRecords::default();
        let (one, two) = (piece("1", r#"{"vehicle_id":"1"}"#), piece("2", r#"{"vehicle_id":"2"}"#));
        take(&mut records, GbfsRecordFileKind::Vehicles, std::slice::from_ref(&one));
        let changes = take(&mut records, GbfsRecordFileKind::Vehicles, &[two]);
        assert_eq!(changes, [("upsert", r#"{"vehicle_id":"2"}"#.into()), ("remove", "1".into())]);
    }
}
