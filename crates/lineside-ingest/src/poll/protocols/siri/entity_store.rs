//! The current entities of a SIRI producer: reported and not cancelled.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lineside_formats::gtfs_rt::EncodedEntity;
use smol_str::SmolStr;

use crate::{
    limits::RECORDS_MAX,
    normalize::{
        CancelledEntity, DescribedTripPart, JourneyQualifierKind, JourneyQualifiers, SiriEntity,
        TripRef,
    },
};

/// Entities by id.
#[derive(Debug, Default)]
pub(super) struct EntityStore {
    entities: BTreeMap<SmolStr, StoredEntity>,
    /// The entity of each visit, by the name for cancelling it.
    visits: HashMap<SmolStr, SmolStr>,
    /// The entities of vehicles, by the names for cancelling them.
    vehicles: HashMap<SmolStr, BTreeSet<SmolStr>>,
    /// The entities of each trip by trip id, with part and date. One id may have very many.
    trips: HashMap<SmolStr, BTreeSet<(DescribedTripPart, Option<SmolStr>, SmolStr)>>,
    /// True if a journey may have a prefixed name.
    has_own_names: bool,
    /// The number of the current answer.
    answer: u64,
    /// The first answer of a full refresh. Older entities stay until it is complete, and are then removed unless they
    /// were repeated.
    since: u64,
}

#[derive(Debug)]
struct StoredEntity {
    raw: EncodedEntity,
    until: Option<i64>,
    /// The last answer with this entity.
    seen: u64,
    /// The trip and part that the entity describes.
    trip: Option<(TripRef, DescribedTripPart)>,
    /// The names by which a vehicle is found.
    names: Vec<SmolStr>,
    /// Marks that distinguish its journey from others with the same name.
    marks: JourneyQualifiers,
    /// The entity to which later visits of the same journey are added.
    visits_entity: Option<Box<SiriEntity>>,
}

/// The outcome of storing an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreEntityOutcome {
    /// The current answer did not contain the entity before.
    New,
    /// The current answer contained the entity before.
    Repeated,
    /// The store is full.
    Full,
}

impl EntityStore {
    /// Removes everything: the next content is of another source, or uses other ids.
    pub(super) fn clear(&mut self) {
        *self = EntityStore { answer: self.answer, since: self.since, ..EntityStore::default() };
    }

    /// Begins a full refresh: the next answers repeat all data, until [`remove_not_repeated`](Self::remove_unseen).
    pub(super) fn begin_full_refresh(&mut self) {
        self.since = self.answer + 1;
    }

    pub(super) fn start_next_answer(&mut self) {
        self.answer += 1;
    }

    /// Stores an entity until a time, replacing the one with its id.
    pub(super) fn store_entity(
        &mut self,
        entity: SiriEntity,
        raw: EncodedEntity,
        until: Option<i64>,
    ) -> StoreEntityOutcome {
        let (mut entity, mut raw) = (entity, raw);
        if self.rename_if_ambiguous(&mut entity) {
            raw = EncodedEntity::from_decoded_entity(&entity.entity, 0);
        }
        let id = SmolStr::new(&entity.entity.id);
        let mut before = self.remove(&id);
        if before.is_none() && self.entities.len() >= RECORDS_MAX {
            return StoreEntityOutcome::Full;
        }
        let is_again = before.as_ref().is_some_and(|it| it.seen == self.answer);
        let known = before.take_if(|it| it.seen >= self.since && entity.visits.is_some());
        let mut until = until;
        if let Some(known) = known
            && let Some(mut merged) = known.visits_entity
        {
            until = until.max(known.until);
            merged.merge_later_visit(entity);
            raw = EncodedEntity::from_decoded_entity(&merged.entity, 0);
            entity = *merged;
        }
        for item in entity.names_of_visits() {
            self.visits.insert(item.clone(), id.clone());
        }
        let trip = entity.trip_and_part();
        if let Some((trip, part)) = &trip {
            let key = (*part, trip.start_date.clone(), id.clone());
            self.trips.entry(trip.trip_id.clone()).or_default().insert(key);
        }
        let names = std::mem::take(&mut entity.names);
        for name in &names {
            self.vehicles.entry(name.clone()).or_default().insert(id.clone());
        }
        let marks = std::mem::take(&mut entity.marks);
        self.has_own_names |= marks.has_prefixed_name();
        let visits_entity = entity.visits.is_some().then(|| Box::new(entity));
        let seen = self.answer;
        self.entities
            .insert(id, StoredEntity { raw, until, seen, trip, names, marks, visits_entity });
        if is_again { StoreEntityOutcome::Repeated } else { StoreEntityOutcome::New }
    }

    /// Renames a journey, or a vehicle's journey, to its name in this store, which stays stable while it is stored.
    /// Returns true if the name has changed.
    fn rename_if_ambiguous(&self, entity: &mut SiriEntity) -> bool {
        let mut is_renamed = false;
        while self.is_stored_under_previous_name(entity) {
            entity.remove_last_prefix();
            is_renamed = true;
        }
        for mark in JourneyQualifierKind::ALL {
            if self.is_name_taken_by_other(entity, mark) {
                entity.prefix_with_qualifier(mark);
                is_renamed = true;
            }
        }
        is_renamed
    }

    /// Returns true if the journey's name before its last prefix is its name in this store.
    fn is_stored_under_previous_name(&self, entity: &SiriEntity) -> bool {
        let Some((id, mark, value)) = entity.id_before_last_prefix() else { return false };
        self.entities.get(&id).is_some_and(|holder| holder.marks.has_qualifier(mark, value))
    }

    /// Returns true if the journey's name belongs to another stored journey that this mark distinguishes.
    fn is_name_taken_by_other(&self, entity: &SiriEntity, mark: JourneyQualifierKind) -> bool {
        let Some((id, own)) = entity.plain_and_prefixed_id(mark) else { return false };
        if self.has_own_names && self.entities.contains_key(&own) {
            return true;
        }
        let holder = self.entities.get(&id).filter(|_| entity.is_estimated_journey());
        holder.is_some_and(|holder| {
            let is_in_answer = holder.seen == self.answer;
            entity.marks.has_different_value(&holder.marks, mark)
                && (is_in_answer || entity.marks.is_stable_qualifier(mark))
        })
    }

    /// Removes the cancelled entity.
    pub(super) fn remove_cancelled_entity(&mut self, cancelled: &CancelledEntity) {
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
                    self.remove_visits_from_entity(&id, |entity| entity.remove_visit_by_name(item));
                } else if let Some(trip) = trip
                    && let Some(id) = self.find_entity_of_trip(trip, DescribedTripPart::Visits)
                {
                    self.remove_visits_from_entity(&id, |entity| entity.remove_visits_at(at));
                }
            }
        }
    }

    /// Removes visits from an entity, and the entity if none is left.
    fn remove_visits_from_entity(&mut self, id: &str, take: impl FnOnce(&mut SiriEntity) -> bool) {
        let Some(entry) = self.entities.get_mut(id) else { return };
        let Some(entity) = &mut entry.visits_entity else { return };
        for item in entity.names_of_visits() {
            self.visits.remove(item);
        }
        if take(entity) {
            self.remove(id);
            return;
        }
        for item in entity.names_of_visits() {
            self.visits.insert(item.clone(), id.into());
        }
        entry.raw = EncodedEntity::from_decoded_entity(&entity.entity, 0);
    }

    /// Returns the vehicle with one of the names, or on the trip. If several have the name, the one on the trip.
    fn find_vehicle(&self, names: &[SmolStr], trip: Option<&TripRef>) -> Option<SmolStr> {
        let on_trip =
            trip.and_then(|trip| self.find_entity_of_trip(trip, DescribedTripPart::Vehicle));
        let mut known = names.iter().filter_map(|name| self.vehicles.get(name));
        let only = known.find_map(|ids| match on_trip.as_ref().filter(|id| ids.contains(*id)) {
            Some(id) => Some(id),
            None => ids.first().filter(|_| ids.len() == 1),
        });
        only.cloned().or(on_trip)
    }

    /// Returns the entity for a part of a trip; one with the trip's date takes precedence over one without a date.
    fn find_entity_of_trip(&self, trip: &TripRef, part: DescribedTripPart) -> Option<SmolStr> {
        let known = self.trips.get(&trip.trip_id)?;
        let from = |date: Option<SmolStr>| {
            let first = known.range((part, date, SmolStr::default())..).next();
            first.filter(|(entity_part, _, _)| *entity_part == part)
        };
        let found = match &trip.start_date {
            None => from(None),
            Some(date) => {
                let dated_part = from(Some(date.clone()))
                    .filter(|(_, entity_date, _)| entity_date.as_ref() == Some(date));
                dated_part
                    .or_else(|| from(None).filter(|(_, entity_date, _)| entity_date.is_none()))
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
        for item in entry.visits_entity.iter().flat_map(|it| it.names_of_visits()) {
            self.visits.remove(item);
        }
        Some(entry)
    }

    /// Returns the share of entities that the full refresh has repeated, from 0 to 1.
    pub(super) fn share_repeated_in_refresh(&self) -> f64 {
        let seen = self.entities.values().filter(|entry| entry.seen >= self.since).count();
        seen as f64 / self.entities.len().max(1) as f64
    }

    /// Removes the entities that the full refresh has not repeated; returns true if there were any.
    pub(super) fn remove_not_repeated(&mut self) -> bool {
        let since = self.since;
        self.remove_entries_if(|entry| entry.seen < since)
    }

    /// Removes the entities that expired before `now`, in Unix seconds; returns true if there were any.
    pub(super) fn remove_expired(&mut self, now: i64) -> bool {
        self.remove_entries_if(|entry| entry.until.is_some_and(|until| until < now))
    }

    fn remove_entries_if(&mut self, is_expired: impl Fn(&StoredEntity) -> bool) -> bool {
        let expired = self.entities.iter().filter(|(_, entry)| is_expired(entry));
        let expired: Vec<SmolStr> = expired.map(|(id, _)| id.clone()).collect();
        for id in &expired {
            self.remove(id);
        }
        !expired.is_empty()
    }

    /// Returns all entities in the order of their ids, without visits of journeys whose estimated timetable is stored.
    pub(super) fn list_raw_entities(&self) -> Vec<EncodedEntity> {
        let has_better_entity = |entry: &&StoredEntity| match &entry.trip {
            Some((trip, DescribedTripPart::Visits)) => {
                self.find_entity_of_trip(trip, DescribedTripPart::Journey).is_some()
            }
            _ => false,
        };
        let numbered = self.entities.values().filter(|entry| !has_better_entity(entry)).zip(1..);
        let to_raw_entity = |(entry, number): (&StoredEntity, u32)| {
            let mut raw = entry.raw.clone();
            raw.number = number;
            raw
        };
        numbered.map(to_raw_entity).collect()
    }
}

#[cfg(test)]
mod tests;
