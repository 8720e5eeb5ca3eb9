//! What a producer of SIRI has said and nobody has taken back.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lineside_formats::gtfs_rt::RawEntity;
use smol_str::SmolStr;

use crate::{
    limits::RECORDS_MAX,
    normalize::{CancelledEntity, JourneyMark, JourneyMarks, SiriEntity, TripPart, TripRef},
};

/// Entities by their ids.
#[derive(Debug, Default)]
pub(super) struct EntityStore {
    entities: BTreeMap<SmolStr, StoredEntity>,
    /// In which entity a visit is, by the name that its producer takes it back by.
    visits: HashMap<SmolStr, SmolStr>,
    /// The entities of vehicles, by the names that their producers take them back by.
    vehicles: HashMap<SmolStr, BTreeSet<SmolStr>>,
    /// The entities that tell of a trip, by its id: of which of its days they tell what. One id may have very many.
    trips: HashMap<SmolStr, BTreeSet<(TripPart, Option<SmolStr>, SmolStr)>>,
    /// Whether there may be a journey that does not go by its plain name.
    has_own_names: bool,
    /// The number of the answer that is being taken.
    answer: u64,
    /// The first answer of those that together say all that there is. What came before them is still known, and let go of
    /// when they are complete and have not said it again.
    since: u64,
}

#[derive(Debug)]
struct StoredEntity {
    raw: RawEntity,
    until: Option<i64>,
    /// The answer that it was last in.
    seen: u64,
    /// Of which trip it tells, and what.
    trip: Option<(TripRef, TripPart)>,
    /// Under which names a vehicle is to be found.
    names: Vec<SmolStr>,
    /// What tells its journey apart from another of the same name.
    marks: JourneyMarks,
    /// What later visits of the same journey are put to.
    of_visits: Option<Box<SiriEntity>>,
}

/// What became of an entity that was to be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PutOutcome {
    /// The answer had not said it before.
    New,
    /// The answer says it again.
    Again,
    /// There is no room for it.
    NoRoom,
}

impl EntityStore {
    /// Knows nothing any more: what comes next is of another source, or goes by other ids.
    pub(super) fn clear(&mut self) {
        *self = EntityStore { answer: self.answer, since: self.since, ..EntityStore::default() };
    }

    /// From the next answer on all that there is comes again, until the [sweep](Held::remove_unseen).
    pub(super) fn begin_full_refresh(&mut self) {
        self.since = self.answer + 1;
    }

    pub(super) fn begin_answer(&mut self) {
        self.answer += 1;
    }

    /// Holds an entity until a moment, in the place of the one of its id.
    pub(super) fn put_entity(
        &mut self,
        entity: SiriEntity,
        raw: RawEntity,
        until: Option<i64>,
    ) -> PutOutcome {
        let (mut entity, mut raw) = (entity, raw);
        if self.disambiguate_journey(&mut entity) {
            raw = RawEntity::from_entity(&entity.entity, 0);
        }
        let id = SmolStr::new(&entity.entity.id);
        let mut before = self.remove(&id);
        if before.is_none() && self.entities.len() >= RECORDS_MAX {
            return PutOutcome::NoRoom;
        }
        let is_again = before.as_ref().is_some_and(|it| it.seen == self.answer);
        let known = before.take_if(|it| it.seen >= self.since && entity.visits.is_some());
        let mut until = until;
        if let Some(known) = known
            && let Some(mut merged) = known.of_visits
        {
            until = until.max(known.until);
            merged.merge_later_visit(entity);
            raw = RawEntity::from_entity(&merged.entity, 0);
            entity = *merged;
        }
        for item in entity.visit_names() {
            self.visits.insert(item.clone(), id.clone());
        }
        let trip = entity.trip_ref();
        if let Some((trip, part)) = &trip {
            let key = (*part, trip.start_date.clone(), id.clone());
            self.trips.entry(trip.trip_id.clone()).or_default().insert(key);
        }
        let names = std::mem::take(&mut entity.names);
        for name in &names {
            self.vehicles.entry(name.clone()).or_default().insert(id.clone());
        }
        let marks = std::mem::take(&mut entity.marks);
        self.has_own_names |= marks.is_any_applied();
        let of_visits = entity.visits.is_some().then(|| Box::new(entity));
        let seen = self.answer;
        self.entities.insert(id, StoredEntity { raw, until, seen, trip, names, marks, of_visits });
        if is_again { PutOutcome::Again } else { PutOutcome::New }
    }

    /// Has a journey, or a vehicle on it, go by the name that is the journey's here: once it goes by its own it keeps that
    /// while it is held, and so does the one that has the plain one. Tells whether that is not the name it came with.
    fn disambiguate_journey(&self, entity: &mut SiriEntity) -> bool {
        let mut is_renamed = false;
        while self.has_previous_name(entity) {
            entity.restore_name();
            is_renamed = true;
        }
        for mark in JourneyMark::ALL {
            if self.is_name_of_other(entity, mark) {
                entity.apply_mark(mark);
                is_renamed = true;
            }
        }
        is_renamed
    }

    /// Whether the name that the journey had before it took its own is its name here.
    fn has_previous_name(&self, entity: &SiriEntity) -> bool {
        let Some((id, mark, said)) = entity.previous_id() else { return false };
        self.entities.get(&id).is_some_and(|holder| holder.marks.has_mark(mark, said))
    }

    /// Whether the name of the journey is that of another one here, of which this differs.
    fn is_name_of_other(&self, entity: &SiriEntity, mark: JourneyMark) -> bool {
        let Some((id, own)) = entity.ids_with_mark(mark) else { return false };
        if self.has_own_names && self.entities.contains_key(&own) {
            return true;
        }
        let holder = self.entities.get(&id).filter(|_| entity.is_journey());
        holder.is_some_and(|holder| {
            let is_beside = holder.seen == self.answer;
            entity.marks.differs_in(&holder.marks, mark)
                && (is_beside || entity.marks.is_stable_mark(mark))
        })
    }

    /// Lets go of what a producer takes back.
    pub(super) fn apply_cancellation(&mut self, cancelled: &CancelledEntity) {
        match cancelled {
            CancelledEntity::Vehicle { names, trip } => {
                if let Some(id) = self.find_vehicle(names, trip.as_ref()) {
                    self.remove(&id);
                }
            }
            CancelledEntity::Visit { item, trip, at } => {
                let known = item.as_ref().and_then(|item| Some((item, self.visits.get(item)?)));
                if let Some((item, id)) = known {
                    let id = id.clone();
                    self.remove_visits(&id, |entity| entity.remove_visit(item));
                } else if let Some(trip) = trip
                    && let Some(id) = self.find_by_trip(trip, TripPart::Visits)
                {
                    self.remove_visits(&id, |entity| entity.remove_visits_at(at));
                }
            }
        }
    }

    /// Has visits taken back from an entity, and lets go of it if none is left in it.
    fn remove_visits(&mut self, id: &str, take: impl FnOnce(&mut SiriEntity) -> bool) {
        let Some(entry) = self.entities.get_mut(id) else { return };
        let Some(entity) = &mut entry.of_visits else { return };
        for item in entity.visit_names() {
            self.visits.remove(item);
        }
        if take(entity) {
            self.remove(id);
            return;
        }
        for item in entity.visit_names() {
            self.visits.insert(item.clone(), id.into());
        }
        entry.raw = RawEntity::from_entity(&entity.entity, 0);
    }

    /// The vehicle that has one of the names, or runs the trip. Where several go by a name, it is the one on the trip.
    fn find_vehicle(&self, names: &[SmolStr], trip: Option<&TripRef>) -> Option<SmolStr> {
        let on_trip = trip.and_then(|trip| self.find_by_trip(trip, TripPart::Vehicle));
        let mut known = names.iter().filter_map(|name| self.vehicles.get(name));
        let only = known.find_map(|ids| match on_trip.as_ref().filter(|id| ids.contains(*id)) {
            Some(id) => Some(id),
            None => ids.first().filter(|_| ids.len() == 1),
        });
        only.cloned().or(on_trip)
    }

    /// The entity that tells this of a trip; of one on a day rather the one of that day than one that says none.
    fn find_by_trip(&self, trip: &TripRef, part: TripPart) -> Option<SmolStr> {
        let known = self.trips.get(&trip.trip_id)?;
        let from = |date: Option<SmolStr>| {
            let first = known.range((part, date, SmolStr::default())..).next();
            first.filter(|(of, _, _)| *of == part)
        };
        let found = match &trip.start_date {
            None => from(None),
            Some(date) => {
                let of_day =
                    from(Some(date.clone())).filter(|(_, of, _)| of.as_ref() == Some(date));
                of_day.or_else(|| from(None).filter(|(_, of, _)| of.is_none()))
            }
        };
        found.map(|(_, _, id)| id.clone())
    }

    fn remove(&mut self, id: &str) -> Option<StoredEntity> {
        let entry = self.entities.remove(id)?;
        if let Some((trip, part)) = &entry.trip
            && let Some(ids) = self.trips.get_mut(&trip.trip_id)
        {
            ids.remove(&(*part, trip.start_date.clone(), SmolStr::new(id)));
            if ids.is_empty() {
                self.trips.remove(&trip.trip_id);
            }
        }
        for name in &entry.names {
            if let Some(ids) = self.vehicles.get_mut(name) {
                ids.remove(id);
                if ids.is_empty() {
                    self.vehicles.remove(name);
                }
            }
        }
        for item in entry.of_visits.iter().flat_map(|it| it.visit_names()) {
            self.visits.remove(item);
        }
        Some(entry)
    }

    /// How much of what is held the answers have said that say all there is, from 0 to 1.
    pub(super) fn share_seen(&self) -> f64 {
        let seen = self.entities.values().filter(|entry| entry.seen >= self.since).count();
        seen as f64 / self.entities.len().max(1) as f64
    }

    /// Lets go of what the answers have not said that say all there is. Tells whether there was any.
    pub(super) fn remove_unseen(&mut self) -> bool {
        let since = self.since;
        self.remove_entries_if(|entry| entry.seen < since)
    }

    /// Lets go of what is over at a moment, Unix seconds. Tells whether there was any.
    pub(super) fn remove_expired(&mut self, now: i64) -> bool {
        self.remove_entries_if(|entry| entry.until.is_some_and(|until| until < now))
    }

    fn remove_entries_if(&mut self, is_over: impl Fn(&StoredEntity) -> bool) -> bool {
        let over = self.entities.iter().filter(|(_, entry)| is_over(entry));
        let over: Vec<SmolStr> = over.map(|(id, _)| id.clone()).collect();
        for id in &over {
            self.remove(id);
        }
        !over.is_empty()
    }

    /// All that is held, in the order of the ids. Visits of a journey are left out where its estimated timetable is held,
    /// which tells of all its calls.
    pub(super) fn list_raw_entities(&self) -> Vec<RawEntity> {
        let is_told_better = |entry: &&StoredEntity| match &entry.trip {
            Some((trip, TripPart::Visits)) => self.find_by_trip(trip, TripPart::Journey).is_some(),
            _ => false,
        };
        let numbered = self.entities.values().filter(|entry| !is_told_better(entry)).zip(1..);
        let of = |(entry, number): (&StoredEntity, u32)| {
            let mut raw = entry.raw.clone();
            raw.number = number;
            raw
        };
        numbered.map(of).collect()
    }
}

#[cfg(test)]
mod tests;
