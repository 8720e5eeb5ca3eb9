//! The boards of stops that somebody listens to: told anew, and compared with what was told before.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use bytes::Bytes;
use lineside_hub::Room;

use super::message::Changes;
use crate::{
    change::Why,
    departures::board,
    network::NetworkState,
    record::{Record, encode_removal},
};

/// What each living room of a stop was last told. Bound: the living rooms of stops.
#[derive(Debug, Default)]
pub(super) struct Boards {
    told: HashMap<u64, Told>,
}

#[derive(Debug)]
struct Told {
    room: Weak<Room>,
    departures: Vec<Arc<Record>>,
}

impl Boards {
    /// The next board of each room is compared with the state before it, not with what is kept here.
    pub(super) fn forget(&mut self) {
        self.told.clear();
    }

    pub(super) fn publish(
        &mut self,
        rooms: Vec<Arc<Room>>,
        before: &NetworkState,
        next: &NetworkState,
        mut append: impl FnMut(&Arc<Room>, Bytes),
    ) {
        let mut known = std::mem::take(&mut self.told);
        for room in rooms {
            let channel = room.channel();
            let stop = channel.segments().nth(2).unwrap_or_default();
            let id = room.key().id;
            // A room that lived before under the same key may have been told something else.
            let told = known.remove(&id).filter(|told| told.room.ptr_eq(&Arc::downgrade(&room)));
            let old = told.map_or_else(|| board(before, &stop), |told| told.departures);
            let new = keep_same(&old, board(next, &stop));
            let mut changes = difference(&old, &new);
            if !changes.is_empty() {
                append(&room, changes.take_message(next.at));
            }
            let told = Told { room: Arc::downgrade(&room), departures: new };
            self.told.insert(id, told);
        }
    }
}

/// Departures that say what they said keep their record, and with it their JSON.
fn keep_same(old: &[Arc<Record>], new: Vec<Arc<Record>>) -> Vec<Arc<Record>> {
    let by_id: HashMap<&str, &Arc<Record>> =
        old.iter().map(|record| (record.id.as_str(), record)).collect();
    let kept = new.into_iter().map(|record| match by_id.get(record.id.as_str()) {
        Some(known) if known.says_the_same(&record) => Arc::clone(known),
        _ => record,
    });
    kept.collect()
}

/// A board holds 40 departures at most, so all its changes fit one message.
fn difference(old: &[Arc<Record>], new: &[Arc<Record>]) -> Changes {
    let mut changes = Changes::default();
    for record in old {
        if !new.iter().any(|other| other.id == record.id) {
            changes.push_with(|out| encode_removal(out, record, Why::Gone));
        }
    }
    for record in new {
        if !old.iter().any(|other| Arc::ptr_eq(other, record)) {
            changes.push(record.upsert());
        }
    }
    changes
}
