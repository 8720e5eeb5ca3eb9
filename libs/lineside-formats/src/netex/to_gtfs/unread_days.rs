//! Finds journeys whose days are unreadable: it is unknown if they run, and the unreadable value is already reported.

use std::collections::HashSet;

use super::{find_record_by_id, index_by_id};
use crate::{
    gtfs::TextId,
    netex::record::{AvailabilityCondition, DayTypeAssignment, Publication, ServiceJourney},
};

/// Objects whose days are unreadable. Exclusions are ignored: without them there would not be fewer days.
#[derive(Debug, Default)]
pub(super) struct UnreadableDays {
    types: HashSet<TextId>,
    conditions: HashSet<TextId>,
    /// Conditions whose days are unknown only for journeys without day types, because they then apply during the
    /// validity of the frames.
    alone: HashSet<TextId>,
    /// Journeys with a dated journey whose day is unreadable.
    journeys: HashSet<TextId>,
    /// True if the validity of a frame is unreadable.
    has_frames: bool,
}

impl UnreadableDays {
    pub(super) fn find_unreadable_days(publication: &Publication) -> UnreadableDays {
        let has_frames = !publication.unread_validity.is_empty();
        if publication.unread.is_empty() && !has_frames {
            return UnreadableDays::default();
        }
        let mut unread = UnreadableDays { has_frames, ..UnreadableDays::default() };
        let is_unread = |id: TextId| publication.unread.contains(&id);
        let dated = publication.dated_journeys.iter();
        let dated = dated.filter(|it| !it.is_cancelled && is_unread(it.day));
        unread.journeys = dated.map(|it| it.journey).collect();
        unread.add_unreadable_day_types(publication);
        unread.add_unreadable_conditions(publication);
        unread
    }

    fn add_unreadable_day_types(&mut self, publication: &Publication) {
        let is_unread = |id: TextId| publication.unread.contains(&id);
        let periods = index_by_id(&publication.periods, |it| it.id);
        let has_unread_day = |it: &DayTypeAssignment| {
            let period = find_record_by_id(&publication.periods, &periods, it.period);
            is_unread(it.period)
                || is_unread(it.operating_day)
                || period.is_some_and(|it| {
                    is_unread(it.from_day)
                        || is_unread(it.to_day)
                        || it.has_missing_end() && self.has_frames
                })
        };
        let running = || publication.day_assignments.iter().filter(|it| !it.excludes);
        let of_assignments = running().filter(|it| has_unread_day(it)).map(|it| it.day_type);
        let assigned: HashSet<TextId> = running().map(|it| it.day_type).collect();
        let types = publication.day_types.iter().filter(|it| {
            // A day type without assigned days runs on its weekdays during the validity of its frames.
            let is_of_frames = !assigned.contains(&it.id) && it.weekdays != 0;
            is_unread(it.id) || is_of_frames && has_unreadable_frame_validity(publication, it.file)
        });
        self.types = of_assignments.chain(types.map(|it| it.id)).collect();
    }

    fn add_unreadable_conditions(&mut self, publication: &Publication) {
        let is_unread = |id: &TextId| publication.unread.contains(id);
        let assigned: HashSet<TextId> =
            publication.day_assignments.iter().map(|it| it.day_type).collect();
        // A day type without assignments applies here for the duration of the condition.
        let is_unread_type = |id: &TextId| {
            if assigned.contains(id) { self.types.contains(id) } else { is_unread(id) }
        };
        let (mut conditions, mut alone) = (HashSet::new(), HashSet::new());
        for condition in publication.conditions.iter().filter(|it| !it.excludes) {
            let days = publication.references_in(&condition.operating_days);
            let types = publication.references_in(&condition.day_types);
            // Operating days take precedence over day types, and both over digits.
            let is_open_type = |id: &TextId| !assigned.contains(id);
            let needs = match (days, types) {
                ([], []) => condition_frame_dependence(condition),
                ([], types) if types.iter().any(is_open_type) => {
                    day_type_frame_dependence(condition)
                }
                _ => FrameValidityDependence::Not,
            };
            let has_unread = match days {
                [] => types.iter().any(is_unread_type),
                days => days.iter().any(is_unread),
            };
            let is_always = needs == FrameValidityDependence::Always && self.has_frames;
            if is_unread(&condition.id) || has_unread || is_always {
                conditions.insert(condition.id);
            }
            if needs == FrameValidityDependence::Alone && self.has_frames {
                alone.insert(condition.id);
            }
        }
        (self.conditions, self.alone) = (conditions, alone);
    }

    /// Returns true if data about the days of a journey are unreadable. `has_types` is true if its day types have days,
    /// which conditions restrict.
    pub(super) fn are_journey_days_unreadable(
        &self,
        publication: &Publication,
        journey: &ServiceJourney,
        has_types: bool,
    ) -> bool {
        let is_alone = journey.day_types.is_empty();
        let is_unread =
            |id: &TextId| self.conditions.contains(id) || is_alone && self.alone.contains(id);
        let mut conditions = publication.references_in(&journey.conditions).iter();
        self.journeys.contains(&journey.id)
            || publication
                .references_in(&journey.day_types)
                .iter()
                .any(|id| self.types.contains(id))
            || (is_alone || has_types) && conditions.any(is_unread)
    }
}

/// The dependence of a condition's days on the validity of the frames.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FrameValidityDependence {
    Not,
    /// Only if the journey has no day types.
    Alone,
    Always,
}

/// Returns the dependence of a condition without days and types. Digits determine the end, but not the start.
fn condition_frame_dependence(condition: &AvailabilityCondition) -> FrameValidityDependence {
    match (condition.from, condition.to) {
        (None, _) if condition.bits != TextId::EMPTY => FrameValidityDependence::Always,
        _ if condition.bits != TextId::EMPTY => FrameValidityDependence::Not,
        (None, Some(_)) | (Some(_), None) => FrameValidityDependence::Alone,
        // The condition has both ends or states nothing.
        _ => FrameValidityDependence::Not,
    }
}

/// Returns the dependence of a condition whose day types apply on their weekdays for its duration.
fn day_type_frame_dependence(condition: &AvailabilityCondition) -> FrameValidityDependence {
    if condition.from.is_some() && condition.to.is_some() {
        FrameValidityDependence::Not
    } else {
        FrameValidityDependence::Alone
    }
}

/// Returns true if the validity of a file's frames is unreadable; without a stated one, that of any frame counts.
fn has_unreadable_frame_validity(publication: &Publication, file: u32) -> bool {
    let has_validity = publication.validity_of_file.contains_key(&file);
    let has_any = !publication.unread_validity.is_empty();
    publication.unread_validity.contains(&file) || !has_validity && has_any
}
