//! What a producer of SIRI has said and nobody has taken back.

use std::collections::{BTreeMap, HashMap};

use lineside_formats::gtfs_rt::RawEntity;
use smol_str::SmolStr;

use crate::{
    limits::RECORDS_MAX,
    normalize::{Cancelled, SiriEntity},
};

/// Entities by their ids.
#[derive(Debug, Default)]
pub(super) struct Held {
    entities: BTreeMap<SmolStr, Entry>,
    /// In which entity a visit is, by the name that its producer takes it back by.
    visits: HashMap<SmolStr, SmolStr>,
    /// The number of the answer that is being taken.
    answer: u64,
}

#[derive(Debug)]
struct Entry {
    raw: RawEntity,
    until: Option<i64>,
    /// The answer that it was last in.
    seen: u64,
    /// What later visits of the same journey are put to.
    of_visits: Option<Box<SiriEntity>>,
}

impl Held {
    pub(super) fn begin_anew(&mut self) {
        *self = Held { answer: self.answer, ..Held::default() };
    }

    pub(super) fn begin_answer(&mut self) {
        self.answer += 1;
    }

    /// Holds an entity, in the place of the one of its id. False if there is no room for another one.
    pub(super) fn put(&mut self, entity: SiriEntity, raw: RawEntity) -> bool {
        let id = SmolStr::new(&entity.entity.id);
        let is_full = self.entities.len() >= RECORDS_MAX;
        let known = self.entities.get_mut(&id);
        if known.is_none() && is_full {
            return false;
        }
        for visit in &entity.visits {
            self.visits.insert(visit.item.clone(), id.clone());
        }
        let (mut entity, mut raw) = (entity, raw);
        if let Some(before) = known.and_then(|it| it.of_visits.take())
            && !entity.visits.is_empty()
        {
            let mut merged = *before;
            merged.merge(entity);
            raw = RawEntity::of_entity(&merged.entity, 0);
            entity = merged;
        }
        let until = entity.until;
        let of_visits = (!entity.visits.is_empty()).then(|| Box::new(entity));
        self.entities.insert(id, Entry { raw, until, seen: self.answer, of_visits });
        true
    }

    /// Lets go of what a producer takes back.
    pub(super) fn take_back(&mut self, cancelled: &Cancelled) {
        let item = cancelled.item.as_ref();
        if let Some((item, id)) = item.and_then(|item| Some((item, self.visits.remove(item)?))) {
            let Some(entry) = self.entities.get_mut(&id) else { return };
            let Some(entity) = &mut entry.of_visits else { return };
            if entity.take_back(item) {
                self.entities.remove(&id);
            } else {
                entry.raw = RawEntity::of_entity(&entity.entity, 0);
            }
            return;
        }
        let named = item.map(|item| SmolStr::from(format!("vehicle:{item}")));
        let by_trip = || {
            let trip_id = cancelled.trip_id.as_deref()?;
            let is_of = |raw: &RawEntity| {
                let entity = raw.decode().ok();
                let trip = entity.and_then(|it| it.vehicle).and_then(|it| it.trip);
                trip.and_then(|trip| trip.trip_id).as_deref() == Some(trip_id)
            };
            self.entities.iter().find(|(_, it)| is_of(&it.raw)).map(|(id, _)| id.clone())
        };
        let known = [cancelled.entity_id.clone(), named].into_iter().flatten();
        let known = known.into_iter().find(|id| self.entities.contains_key(id)).or_else(by_trip);
        if let Some(id) = known {
            self.entities.remove(&id);
        }
    }

    /// Lets go of what the answer, now whole, does not hold.
    pub(super) fn end_answer(&mut self) {
        let answer = self.answer;
        self.entities.retain(|_, entry| entry.seen == answer);
        self.forget_visits();
    }

    /// Lets go of what is over at a moment, Unix seconds. Tells whether there was any.
    pub(super) fn forget_over(&mut self, now: i64) -> bool {
        let before = self.entities.len();
        self.entities.retain(|_, entry| entry.until.is_none_or(|until| until >= now));
        self.forget_visits();
        self.entities.len() < before
    }

    fn forget_visits(&mut self) {
        let entities = &self.entities;
        self.visits.retain(|_, id| entities.contains_key(id));
    }

    /// All that is held, in the order of the ids.
    pub(super) fn all(&self) -> Vec<RawEntity> {
        let numbered = self.entities.values().zip(1..);
        let of = |(entry, number): (&Entry, u32)| {
            let mut raw = entry.raw.clone();
            raw.number = number;
            raw
        };
        numbered.map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use lineside_formats::gtfs_rt::proto::{FeedEntity, TripUpdate};

    use super::*;
    use crate::normalize::Visit;

    fn entity(id: &str, until: Option<i64>, items: &[&str]) -> (SiriEntity, RawEntity) {
        let update = TripUpdate::default();
        let entity =
            FeedEntity { id: id.to_owned(), trip_update: Some(update), ..FeedEntity::default() };
        let raw = RawEntity::of_entity(&entity, 0);
        let visits = items.iter().map(|item| Visit { item: (*item).into(), stop_id: "S".into() });
        (SiriEntity { entity, until, visits: visits.collect() }, raw)
    }

    fn put(held: &mut Held, id: &str, until: Option<i64>, items: &[&str]) {
        let (entity, raw) = entity(id, until, items);
        assert!(held.put(entity, raw));
    }

    fn ids(held: &Held) -> Vec<String> {
        held.all().iter().map(|raw| raw.id().to_owned()).collect()
    }

    #[test]
    fn a_whole_answer_replaces_the_one_before_when_its_last_page_is_there() {
        let mut held = Held::default();
        held.begin_answer();
        put(&mut held, "a", None, &[]);
        put(&mut held, "b", None, &[]);
        held.end_answer();
        held.begin_answer();
        put(&mut held, "b", None, &[]);
        assert_eq!(ids(&held), ["a", "b"], "the second page may still hold it");
        put(&mut held, "c", None, &[]);
        held.end_answer();
        assert_eq!(ids(&held), ["b", "c"]);
    }

    #[test]
    fn changes_are_put_to_what_is_held_until_that_is_over() {
        let mut held = Held::default();
        held.begin_answer();
        put(&mut held, "a", Some(100), &[]);
        held.begin_answer();
        put(&mut held, "b", None, &[]);
        held.forget_over(100);
        assert_eq!(ids(&held), ["a", "b"]);
        held.forget_over(101);
        assert_eq!(ids(&held), ["b"]);
    }

    #[test]
    fn what_is_taken_back_is_gone() {
        let mut held = Held::default();
        put(&mut held, "vehicle:v", None, &[]);
        put(&mut held, "journey:j", None, &["1"]);
        put(&mut held, "journey:j", None, &["2"]);
        let item = |item: &str| Cancelled { item: Some(item.into()), ..Cancelled::default() };
        held.take_back(&item("unknown"));
        held.take_back(&item("1"));
        assert_eq!(ids(&held), ["journey:j", "vehicle:v"], "another stop still expects it");
        held.take_back(&item("2"));
        held.take_back(&item("v"));
        assert!(held.all().is_empty() && held.visits.is_empty());
    }
}
