//! A realtime feed in the network's writer: entities by their hash, records by their key.
//!
//! An unchanged entity costs one map lookup. Other entities are decoded, normalized and compared with the record under
//! the same key, so that a record that only moved to another entity changes nothing.

mod entity_slot;
mod handoff;
mod system_records;

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use lineside_formats::{
    Problem, Problems,
    gtfs_rt::{EncodedEntity, EntityPayloadKinds, SplitFeedMessage},
};
use smol_str::SmolStr;

use self::{
    entity_slot::{EntitySlot, RecordNumbers},
    system_records::GbfsSystemRecords,
};
use crate::{
    change::RecordChange,
    feed_id::FeedId,
    hashing::{SeededHashBuilder, TextHashMap},
    limits::{RECORD_BYTES_MAX, RECORDS_MAX},
    network_state::table::{FeedRecordTables, RecordTable},
    normalize::{
        GbfsFileRecords, NormalizeContext, RecordDraft, alert_timetable_join, can_replace_record,
        entity_to_record_drafts, trip_update_timetable_join, vehicle_timetable_join,
    },
    record::{Record, RecordBody, RecordKind, RemovalReason},
    trip_links::TripRecordIndex,
};

/// Entities are grouped by content; an id may occur once per group, because combined feeds reuse their ids.
const GROUPS: usize = 4;
const VEHICLES: usize = 1;

/// A record and its state in the current poll.
#[derive(Debug)]
struct TableRecord {
    record: Arc<Record>,
    seen_poll: u32,
    /// The index of its change in the poll `changed_in`.
    change: usize,
    changed_in: u32,
}

/// The entities and records of one feed.
#[derive(Debug)]
pub(crate) struct EntityTable {
    feed: FeedId,
    number: u16,
    poll: u32,
    entities: [TextHashMap<SmolStr, EntitySlot>; GROUPS],
    by_key: [TextHashMap<SmolStr, u32>; 3],
    items: Vec<Option<TableRecord>>,
    free: Vec<u32>,
    others: BTreeMap<SmolStr, (u64, Bytes)>,
    dirty: [bool; 3],
    has_dirty_others: bool,
    system: GbfsSystemRecords,
    pub(crate) message_time: i64,
}

pub(crate) struct MessageApplyContext<'a> {
    pub(crate) context: NormalizeContext<'a>,
    /// The present of the data, in Unix seconds.
    pub(crate) now: i64,
    pub(crate) links: &'a mut TripRecordIndex,
    pub(crate) changes: &'a mut Vec<RecordChange>,
    pub(crate) problems: &'a mut Problems,
    /// The number of decoded entities.
    pub(crate) decoded: usize,
    /// True if every entity of the message was rejected, so that the earlier records stay.
    pub(crate) is_refused: bool,
}

impl EntityTable {
    pub(crate) fn new(feed: FeedId, number: u16, seed: SeededHashBuilder) -> EntityTable {
        EntityTable {
            feed,
            number,
            poll: 0,
            entities: std::array::from_fn(|_| TextHashMap::with_hasher(seed)),
            by_key: std::array::from_fn(|_| TextHashMap::with_hasher(seed)),
            items: Vec::new(),
            free: Vec::new(),
            others: BTreeMap::new(),
            dirty: [false; 3],
            has_dirty_others: false,
            system: GbfsSystemRecords::default(),
            message_time: 0,
        }
    }

    /// Applies a message to the current state.
    pub(crate) fn apply_message(
        &mut self,
        message: &SplitFeedMessage,
        poll: &mut MessageApplyContext<'_>,
    ) {
        self.poll = self.poll.wrapping_add(1);
        self.message_time = poll.context.message_time;
        let differential = message.is_differential();
        let mut seen = [0; GROUPS];
        // Vehicles are joined with trip updates, so the trip updates of the message come first.
        let mut vehicles = Vec::new();
        let mut others = BTreeMap::new();
        for raw in &message.entities {
            if raw.is_deleted {
                if differential {
                    self.delete_entity(raw.entity_id(), poll);
                }
                continue;
            }
            let Some(group) = payload_group(raw.payload) else {
                others.insert(SmolStr::new(raw.entity_id()), raw);
                continue;
            };
            seen[group] += 1;
            if self.mark_seen_if_unchanged(group, raw, poll.problems) {
                continue;
            }
            if group == VEHICLES {
                vehicles.push(raw);
            } else {
                self.decode_and_apply_entity(group, raw, differential, poll);
            }
        }
        for raw in vehicles {
            self.decode_and_apply_entity(VEHICLES, raw, differential, poll);
        }
        // A message without any readable entity removes nothing.
        let is_fault = |(file, _, _): (&str, _, _)| file == "entity";
        let is_nothing_new =
            others.is_empty() && self.record_count() > 0 && !self.has_record_in_poll();
        poll.is_refused =
            !differential && is_nothing_new && poll.problems.problem_counts().any(is_fault);
        if poll.is_refused {
            return;
        }
        self.apply_recordless_entities(others, differential);
        if !differential {
            self.remove_unseen_entities(seen, poll);
        }
    }

    /// Removes all records for the reason `why`.
    pub(crate) fn clear(
        &mut self,
        why: RemovalReason,
        links: &mut TripRecordIndex,
        changes: &mut Vec<RecordChange>,
    ) {
        for item in 0..self.items.len() as u32 {
            self.remove_record(item, why, links, changes);
        }
        self.entities.iter_mut().for_each(TextHashMap::clear);
        self.has_dirty_others |= !self.others.is_empty();
        self.others.clear();
        self.system.clear(why, changes);
    }

    /// Applies a file of a GBFS system.
    pub(crate) fn apply_gbfs_file(
        &mut self,
        file: GbfsFileRecords,
        changes: &mut Vec<RecordChange>,
    ) {
        self.system.apply_gbfs_file(&self.feed, file, changes);
    }

    /// Takes over the stations and vehicles of another writer.
    pub(crate) fn inherit_gbfs_records(&mut self, other: &EntityTable) {
        self.system = other.system.to_copy_for_other_writer();
    }

    /// Joins a vehicle again after the trip update of its run has changed.
    pub(crate) fn rejoin_vehicle(
        &mut self,
        item: u32,
        context: NormalizeContext<'_>,
        links: &TripRecordIndex,
        changes: &mut Vec<RecordChange>,
    ) {
        let Some(item) = self.items.get_mut(item as usize).and_then(Option::as_mut) else { return };
        let Some(vehicle) = item.record.vehicle() else { return };
        let join = vehicle_timetable_join(vehicle, links.find_update_of_vehicle(vehicle), context);
        if join == item.record.join {
            return;
        }
        let old = &item.record;
        let new =
            Record::new(old.feed.clone(), old.id.clone(), old.raw.clone(), old.body.clone(), join);
        let old = std::mem::replace(&mut item.record, Arc::new(new));
        changes.push(RecordChange::new_upsert(Some(old), Arc::clone(&item.record)));
        self.dirty[RecordKind::Vehicle as usize] = true;
    }

    /// Joins all vehicles again; the caller compares the tables.
    pub(crate) fn rejoin_vehicles(
        &mut self,
        context: NormalizeContext<'_>,
        links: &TripRecordIndex,
    ) {
        let mut changes = Vec::new();
        for item in 0..self.items.len() as u32 {
            self.rejoin_vehicle(item, context, links, &mut changes);
        }
    }

    /// Returns true if the tables or the other entities changed since they were last built.
    pub(crate) fn has_unbuilt_changes(&self) -> bool {
        self.has_dirty_others || self.dirty.contains(&true) || self.system.has_unbuilt_changes()
    }

    /// Iterates over each known entity once, to decode all of them again.
    pub(crate) fn distinct_raw_entities(&self) -> impl Iterator<Item = &Bytes> {
        let mut last: Option<*const u8> = None;
        let records = self.items.iter().flatten().map(|item| &item.record.raw);
        let once = records.filter(move |raw| {
            let start = Some(raw.as_ptr());
            std::mem::replace(&mut last, start) != start
        });
        once.chain(self.others.values().map(|(_, raw)| raw))
    }

    fn has_record_in_poll(&self) -> bool {
        self.items.iter().flatten().any(|item| item.seen_poll == self.poll)
    }

    pub(crate) fn record_count(&self) -> usize {
        self.by_key.iter().map(TextHashMap::len).sum()
    }

    /// Builds the tables after a poll; unchanged ones are shared with `known`.
    pub(crate) fn build_changed_tables(&mut self, known: &FeedRecordTables) -> FeedRecordTables {
        let [stations, rental_vehicles] =
            self.system.build_changed_tables([&known.stations, &known.rental_vehicles]);
        let mut table = |kind: RecordKind, known: &Arc<RecordTable>| {
            if std::mem::take(&mut self.dirty[kind as usize]) {
                let records = self.items.iter().flatten().map(|item| &item.record);
                Arc::new(RecordTable::new(records.filter(|it| it.kind == kind).cloned().collect()))
            } else {
                Arc::clone(known)
            }
        };
        FeedRecordTables {
            vehicles: table(RecordKind::Vehicle, &known.vehicles),
            trip_updates: table(RecordKind::TripUpdate, &known.trip_updates),
            alerts: table(RecordKind::Alert, &known.alerts),
            stations,
            rental_vehicles,
        }
    }

    /// Returns the entities without records (shapes, stops, detours) if they changed.
    pub(crate) fn take_changed_recordless_entities(&mut self) -> Option<Arc<[Bytes]>> {
        std::mem::take(&mut self.has_dirty_others)
            .then(|| self.others.values().map(|(_, raw)| raw.clone()).collect())
    }

    /// Returns true if the entity is unchanged; then its items are marked as seen.
    fn mark_seen_if_unchanged(
        &mut self,
        group: usize,
        raw: &EncodedEntity,
        problems: &mut Problems,
    ) -> bool {
        let Some(slot) = self.entities[group].get_mut(raw.entity_id()) else { return false };
        // If another entity of the message has the same record, both must be decoded.
        let is_twice = slot.seen == self.poll
            || slot.items.record_numbers().iter().any(|&item| {
                match self.items.get(item as usize) {
                    Some(Some(item)) => item.seen_poll == self.poll,
                    _ => false,
                }
            });
        if slot.hash != raw.hash || is_twice {
            return false;
        }
        slot.seen = self.poll;
        for &item in slot.items.record_numbers() {
            if let Some(Some(item)) = self.items.get_mut(item as usize) {
                item.seen_poll = self.poll;
            }
        }
        if let Some(fault) = &slot.fault {
            problems.push(Problem::clone(fault));
        }
        true
    }

    fn decode_and_apply_entity(
        &mut self,
        group: usize,
        raw: &EncodedEntity,
        differential: bool,
        poll: &mut MessageApplyContext<'_>,
    ) {
        poll.decoded += 1;
        let mut items = RecordNumbers::Nothing;
        let mut fault = None;
        match raw.decode_entity() {
            Err(problem) => fault = Some(problem),
            Ok(entity) => {
                // A slice would keep the whole body alive for one entity.
                let bytes = Bytes::copy_from_slice(&raw.bytes);
                for mut draft in entity_to_record_drafts(entity, poll.context) {
                    let lost = draft.fault.take();
                    let (item, problem) = self.apply_record_draft(draft, &bytes, raw.number, poll);
                    if let Some(item) = item {
                        items.push(item);
                    }
                    let problem = problem
                        .or(lost)
                        .map(|it| it.with_line(raw.number.into()).with_value(raw.entity_id()));
                    fault = fault.or(problem);
                }
            }
        }
        if let Some(fault) = &fault {
            poll.problems.push(fault.clone());
        }
        let slot =
            EntitySlot { hash: raw.hash, seen: self.poll, items, fault: fault.map(Box::new) };
        let entities = &mut self.entities[group];
        let before = match entities.get_mut(raw.entity_id()) {
            Some(known) => Some(std::mem::replace(known, slot)),
            None => entities.insert(SmolStr::new(raw.entity_id()), slot),
        };
        // A full message removes unseen records at its end; a partial one must remove those missing in the entity.
        if let Some(before) = before.filter(|_| differential) {
            for &item in before.items.record_numbers() {
                self.remove_record_unless_seen(item, poll);
            }
        }
    }

    /// Applies a draft. Returns the entity's item and any problem.
    fn apply_record_draft(
        &mut self,
        draft: RecordDraft,
        raw: &Bytes,
        number: u32,
        poll: &mut MessageApplyContext<'_>,
    ) -> (Option<u32>, Option<Problem>) {
        let kind = draft.record_kind();
        let known = self.by_key[kind as usize].get(&draft.id).copied();
        let now = self.poll;
        if let Some(item) = known.and_then(|item| self.find_table_record_mut(item)) {
            if item.seen_poll == now {
                poll.problems.push(duplicate_problem(kind, &draft.id).with_line(number.into()));
            }
            if !can_replace_record(&item.record, &draft.body, poll.now) {
                let detail = "is older than the known position of the vehicle";
                let older = Problem::new("entity", "vehicle_timestamp_decreased", detail);
                let is_twice = std::mem::replace(&mut item.seen_poll, now) == now;
                return (known, Some(older).filter(|_| !is_twice));
            }
        }
        let join = match &draft.body {
            RecordBody::Vehicle(vehicle) => vehicle_timetable_join(
                vehicle,
                poll.links.find_update_of_vehicle(vehicle),
                poll.context,
            ),
            RecordBody::TripUpdate(update) => trip_update_timetable_join(update, poll.context),
            _ => alert_timetable_join(),
        };
        let record = Record::new(self.feed.clone(), draft.id, raw.clone(), draft.body, join);
        if record.upsert_json_bytes_max() > RECORD_BYTES_MAX {
            let detail = format!("is too large: up to {} bytes", record.upsert_json_bytes_max());
            return (None, Some(Problem::new("entity", "record_too_large", detail)));
        }
        if known.is_none() && self.record_count() >= RECORDS_MAX {
            let detail = format!("the feed already has {RECORDS_MAX} records");
            return (None, Some(Problem::new("entity", "too_many_records", detail)));
        }
        (Some(self.insert_or_replace_record(known, Arc::new(record), poll)), None)
    }

    fn insert_or_replace_record(
        &mut self,
        known: Option<u32>,
        record: Arc<Record>,
        poll: &mut MessageApplyContext<'_>,
    ) -> u32 {
        let now = self.poll;
        let kind = record.kind as usize;
        let Some(number) = known else {
            return self.insert_record(record, poll);
        };
        let Some(item) = self.items.get_mut(number as usize).and_then(Option::as_mut) else {
            return number;
        };
        item.seen_poll = now;
        let same = item.record.has_same_content(&record);
        if same && item.record.raw == record.raw {
            return number;
        }
        self.dirty[kind] = true;
        let old = std::mem::replace(&mut item.record, Arc::clone(&record));
        poll.links.replace_record(&old, &record, (self.number, number));
        // The same content in other bytes is stored for exports, but is no change.
        if same {
            return number;
        }
        if item.changed_in == now {
            if let Some(change) = poll.changes.get_mut(item.change) {
                change.new = Some(record);
            }
        } else {
            item.changed_in = now;
            item.change = poll.changes.len();
            poll.changes.push(RecordChange::new_upsert(Some(old), record));
        }
        number
    }

    fn insert_record(&mut self, record: Arc<Record>, poll: &mut MessageApplyContext<'_>) -> u32 {
        let kind = record.kind as usize;
        self.dirty[kind] = true;
        let item = TableRecord {
            record: Arc::clone(&record),
            seen_poll: self.poll,
            change: poll.changes.len(),
            changed_in: self.poll,
        };
        let number = match self.free.pop() {
            Some(number) => {
                self.items[number as usize] = Some(item);
                number
            }
            None => {
                self.items.push(Some(item));
                (self.items.len() - 1) as u32
            }
        };
        self.by_key[kind].insert(record.id.clone(), number);
        poll.links.insert(&record, (self.number, number));
        poll.changes.push(RecordChange::new_upsert(None, record));
        number
    }

    fn remove_record(
        &mut self,
        number: u32,
        why: RemovalReason,
        links: &mut TripRecordIndex,
        changes: &mut Vec<RecordChange>,
    ) {
        let Some(item) = self.items.get_mut(number as usize).and_then(Option::take) else { return };
        self.free.push(number);
        let kind = item.record.kind as usize;
        self.dirty[kind] = true;
        self.by_key[kind].remove(&item.record.id);
        links.remove(&item.record, (self.number, number));
        changes.push(RecordChange::new_removal(item.record, why));
    }

    fn remove_record_unless_seen(&mut self, number: u32, poll: &mut MessageApplyContext<'_>) {
        if self.find_table_record(number).is_some_and(|item| item.seen_poll != self.poll) {
            self.remove_record(number, RemovalReason::Gone, poll.links, poll.changes);
        }
    }

    /// Removes entities and records that a full message does not contain.
    fn remove_unseen_entities(
        &mut self,
        seen: [usize; GROUPS],
        poll: &mut MessageApplyContext<'_>,
    ) {
        let now = self.poll;
        for (entities, seen) in self.entities.iter_mut().zip(seen) {
            if entities.len() != seen {
                entities.retain(|_, slot| slot.seen == now);
            }
        }
        for number in 0..self.items.len() as u32 {
            self.remove_record_unless_seen(number, poll);
        }
    }

    fn delete_entity(&mut self, id: &str, poll: &mut MessageApplyContext<'_>) {
        for group in 0..GROUPS {
            let Some(slot) = self.entities[group].remove(id) else { continue };
            for &item in slot.items.record_numbers() {
                self.remove_record(item, RemovalReason::Gone, poll.links, poll.changes);
            }
        }
        self.has_dirty_others |= self.others.remove(id).is_some();
    }

    fn apply_recordless_entities(
        &mut self,
        others: BTreeMap<SmolStr, &EncodedEntity>,
        differential: bool,
    ) {
        let same = |known: &BTreeMap<SmolStr, (u64, Bytes)>| {
            others.iter().all(|(id, raw)| known.get(id).is_some_and(|(hash, _)| *hash == raw.hash))
        };
        let complete = differential || self.others.len() == others.len();
        if complete && same(&self.others) {
            return;
        }
        self.has_dirty_others = true;
        if !differential {
            self.others.clear();
        }
        let copied = others.into_iter().take(RECORDS_MAX);
        self.others
            .extend(copied.map(|(id, raw)| (id, (raw.hash, Bytes::copy_from_slice(&raw.bytes)))));
    }

    fn find_table_record(&self, number: u32) -> Option<&TableRecord> {
        self.items.get(number as usize)?.as_ref()
    }

    fn find_table_record_mut(&mut self, number: u32) -> Option<&mut TableRecord> {
        self.items.get_mut(number as usize)?.as_mut()
    }
}

/// Returns the group of an entity with records.
fn payload_group(payload: EntityPayloadKinds) -> Option<usize> {
    let present_payloads =
        [EntityPayloadKinds::TRIP_UPDATE, EntityPayloadKinds::VEHICLE, EntityPayloadKinds::ALERT]
            .map(|it| payload.contains(it));
    match present_payloads {
        [false, false, false] => None,
        [true, false, false] => Some(0),
        [false, true, false] => Some(VEHICLES),
        [false, false, true] => Some(2),
        _ => Some(3),
    }
}

fn duplicate_problem(kind: RecordKind, id: &str) -> Problem {
    let detail = format!("a second {} {id:?} in one message", kind.as_str().replace('_', " "));
    Problem::new("entity", "duplicate_record", detail)
}
