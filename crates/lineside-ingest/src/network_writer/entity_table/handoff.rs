//! Writing a feed's entities and records to the handoff file, and restoring them.

use std::io::{self, Write};

use bytes::Bytes;
use lineside_formats::gtfs_rt::proto;
use prost::Message as _;
use smol_str::SmolStr;

use crate::{
    handoff::{FeedChunkBuilder, HandoffWriter, schema},
    limits::RECORDS_MAX,
    network_writer::entity_table::{
        EntityTable, GROUPS, TableRecord, TripRecordIndex,
        entity_slot::{EntitySlot, RecordNumbers},
    },
    record::{Record, RecordBody, TimetableJoin},
};

/// A record of the file that cannot be restored.
#[derive(Debug)]
pub(crate) struct InvalidHandoffRecord;

impl EntityTable {
    /// Writes the feed's content.
    pub(crate) fn write_table_to_handoff<W: Write>(
        &self,
        into: &mut HandoffWriter<W>,
    ) -> io::Result<()> {
        let mut chunk = FeedChunkBuilder::default();
        let mut numbers = vec![None; self.items.len()];
        let mut last: Option<&Bytes> = None;
        let items = self.items.iter().enumerate();
        let items = items.filter_map(|(number, item)| Some((number, item.as_ref()?)));
        for ((number, item), item_number) in items.zip(0_u32..) {
            let record = &item.record;
            // Records of one entity share its bytes.
            let is_same = last.is_some_and(|last| last.as_ptr() == record.raw.as_ptr());
            let raw = (!is_same).then(|| record.raw.clone());
            last = Some(&record.raw);
            numbers[number] = Some(item_number);
            into.add_to_chunk(&mut chunk, encode_record(record, raw), |chunk| &mut chunk.items)?;
        }
        for record in self.system.records() {
            into.add_to_chunk(&mut chunk, encode_record(record, None), |chunk| &mut chunk.items)?;
        }
        for (group, (id, slot)) in (0..).zip(&self.entities).flat_map(|(group, entities)| {
            let mut entities: Vec<_> = entities.iter().collect();
            entities.sort_by_key(|(id, _)| *id);
            entities.into_iter().map(move |entity| (group, entity))
        }) {
            let slot_items = slot.items.record_numbers().iter();
            let items = slot_items.filter_map(|&item| *numbers.get(item as usize)?).collect();
            // The problem of a faulty entity must be found again when it arrives again, so its hash must differ then.
            let hash = if slot.fault.is_some() { !slot.hash } else { slot.hash };
            let slot = schema::EntitySlotProto { group, id: id.to_string(), hash, items };
            into.add_to_chunk(&mut chunk, slot, |chunk| &mut chunk.slots)?;
        }
        for (id, (hash, raw)) in &self.others {
            let other =
                schema::OtherEntityProto { id: id.to_string(), hash: *hash, raw: raw.clone() };
            into.add_to_chunk(&mut chunk, other, |chunk| &mut chunk.others)?;
        }
        into.write_chunk_if_any(&mut chunk)
    }

    /// Restores written content into an empty feed.
    pub(crate) fn restore_table_from_handoff(
        &mut self,
        message_time: i64,
        chunks: Vec<schema::FeedChunkProto>,
        links: &mut TripRecordIndex,
    ) -> Result<(), InvalidHandoffRecord> {
        self.message_time = message_time;
        self.dirty = [true; 3];
        self.has_dirty_others = true;
        let mut last = Bytes::new();
        for chunk in chunks {
            for item in chunk.items {
                if let Some(raw) = &item.raw {
                    last = Bytes::copy_from_slice(raw);
                }
                self.restore_record(item, last.clone(), links)?;
            }
            for slot in chunk.slots {
                self.restore_entity_slot(slot)?;
            }
            for other in chunk.others {
                let raw = Bytes::copy_from_slice(&other.raw);
                self.others.insert(SmolStr::new(other.id), (other.hash, raw));
            }
        }
        Ok(())
    }

    fn restore_record(
        &mut self,
        item: schema::RecordProto,
        raw: Bytes,
        links: &mut TripRecordIndex,
    ) -> Result<(), InvalidHandoffRecord> {
        let body = decode_record_body(item.kind, item.body).ok_or(InvalidHandoffRecord)?;
        let join = decode_join(item.join.unwrap_or_default());
        if matches!(body, RecordBody::Station(_) | RecordBody::RentalVehicle(_)) {
            let (feed, id) = (self.feed.clone(), SmolStr::new(item.id));
            self.system.insert_restored_record(Record::new(feed, id, Bytes::new(), body, join));
            return Ok(());
        }
        let record = Record::new(self.feed.clone(), SmolStr::new(item.id), raw, body, join);
        let record = std::sync::Arc::new(record);
        let number = u32::try_from(self.items.len()).map_err(|_| InvalidHandoffRecord)?;
        let known = self.by_key[record.kind as usize].insert(record.id.clone(), number);
        if known.is_some() || self.items.len() >= RECORDS_MAX {
            return Err(InvalidHandoffRecord);
        }
        links.insert(&record, (self.number, number));
        let item = TableRecord { record, seen_poll: self.poll, change: 0, changed_in: self.poll };
        self.items.push(Some(item));
        Ok(())
    }

    fn restore_entity_slot(
        &mut self,
        slot: schema::EntitySlotProto,
    ) -> Result<(), InvalidHandoffRecord> {
        let group = usize::try_from(slot.group).ok().filter(|group| *group < GROUPS);
        let known = |item: &u32| (*item as usize) < self.items.len();
        let (Some(group), true) = (group, slot.items.iter().all(known)) else {
            return Err(InvalidHandoffRecord);
        };
        let slot_items = match &*slot.items {
            [] => RecordNumbers::Nothing,
            [item] => RecordNumbers::One(*item),
            items => RecordNumbers::Many(items.into()),
        };
        let id = SmolStr::new(slot.id);
        let slot = EntitySlot { hash: slot.hash, seen: self.poll, items: slot_items, fault: None };
        self.entities[group].insert(id, slot);
        Ok(())
    }
}

fn encode_record(record: &Record, raw: Option<Bytes>) -> schema::RecordProto {
    let body = match &record.body {
        RecordBody::Vehicle(vehicle) => vehicle.encode_to_vec(),
        RecordBody::TripUpdate(update) => update.encode_to_vec(),
        RecordBody::Alert(alert) => alert.encode_to_vec(),
        RecordBody::Station(station) => {
            schema::GbfsRecordProto::from_station(station).encode_to_vec()
        }
        RecordBody::RentalVehicle(vehicle) => {
            schema::GbfsRecordProto::from_rental_vehicle(vehicle).encode_to_vec()
        }
        // Feed messages contain none of these.
        RecordBody::Departure(_) | RecordBody::Dataset(_) | RecordBody::Feed(_) => Vec::new(),
    };
    let join = Some(encode_join(&record.join))
        .filter(|join| *join != schema::TimetableJoinProto::default());
    let kind = match &record.body {
        RecordBody::Station(_) => STATION,
        RecordBody::RentalVehicle(_) => RENTAL_VEHICLE,
        _ => record.kind as u32,
    };
    let id = record.id.to_string();
    schema::RecordProto { kind, id, raw, body: body.into(), join }
}

fn decode_record_body(kind: u32, body: Bytes) -> Option<RecordBody> {
    Some(match kind {
        0 => RecordBody::Vehicle(proto::VehiclePosition::decode(body).ok()?),
        1 => RecordBody::TripUpdate(Box::new(proto::TripUpdate::decode(body).ok()?)),
        2 => RecordBody::Alert(Box::new(proto::Alert::decode(body).ok()?)),
        STATION => RecordBody::Station(Box::new(
            schema::GbfsRecordProto::decode(body).ok()?.into_station(),
        )),
        RENTAL_VEHICLE => RecordBody::RentalVehicle(Box::new(
            schema::GbfsRecordProto::decode(body).ok()?.into_rental_vehicle()?,
        )),
        _ => return None,
    })
}

/// Kinds in the file without an equivalent in GTFS-Realtime.
const STATION: u32 = 3;
const RENTAL_VEHICLE: u32 = 4;

fn encode_join(join: &TimetableJoin) -> schema::TimetableJoinProto {
    let text = |text: &Option<SmolStr>| text.as_ref().map(SmolStr::to_string);
    let color = |color: Option<[u8; 3]>| color.map(|[r, g, b]| u32::from_be_bytes([0, r, g, b]));
    schema::TimetableJoinProto {
        route_id: text(&join.route_id),
        route_short_name: text(&join.route_short_name),
        route_color: color(join.route_color),
        route_text_color: color(join.route_text_color),
        route_type: join.route_type.map(u32::from),
        headsign: text(&join.headsign),
        direction_id: join.direction_id.map(u32::from),
        delay: join.delay,
        next_stop_id: text(&join.next_stop_id),
        next_stop_name: text(&join.next_stop_name),
    }
}

fn decode_join(join: schema::TimetableJoinProto) -> TimetableJoin {
    let text = |text: Option<String>| text.map(SmolStr::new);
    let color = |color: Option<u32>| {
        color.map(|color| {
            let [_, red, green, blue] = color.to_be_bytes();
            [red, green, blue]
        })
    };
    TimetableJoin {
        route_id: text(join.route_id),
        route_short_name: text(join.route_short_name),
        route_color: color(join.route_color),
        route_text_color: color(join.route_text_color),
        route_type: join.route_type.and_then(|kind| u16::try_from(kind).ok()),
        headsign: text(join.headsign),
        direction_id: join.direction_id.and_then(|id| u8::try_from(id).ok()),
        delay: join.delay,
        next_stop_id: text(join.next_stop_id),
        next_stop_name: text(join.next_stop_name),
    }
}
