//! Which journeys have days that cannot be read: nobody knows whether they run on any, and that is told already.

use std::collections::{HashMap, HashSet};

use super::{by_id, find};
use crate::{
    gtfs::Text,
    netex::record::{DayAssignment, Journey, Publication},
};

/// What of that which says days cannot be read. What only takes days away is not asked: without it there would be no fewer.
#[derive(Debug, Default)]
pub(super) struct Unread {
    types: HashSet<Text>,
    conditions: HashSet<Text>,
    /// Journeys with a dated one whose day cannot be read.
    journeys: HashSet<Text>,
    /// Whether it cannot be read how long a frame holds.
    has_frames: bool,
}

impl Unread {
    pub(super) fn of(publication: &Publication) -> Unread {
        let has_frames = !publication.unread_validity.is_empty();
        if publication.unread.is_empty() && !has_frames {
            return Unread::default();
        }
        let mut unread = Unread { has_frames, ..Unread::default() };
        let is_unread = |id: Text| publication.unread.contains(&id);
        let dated = publication.dated_journeys.iter();
        let dated = dated.filter(|it| !it.is_cancelled && is_unread(it.day));
        unread.journeys = dated.map(|it| it.journey).collect();
        unread.add_types(publication);
        unread.add_conditions(publication);
        unread
    }

    fn add_types(&mut self, publication: &Publication) {
        let is_unread = |id: Text| publication.unread.contains(&id);
        let periods = by_id(&publication.periods, |it| it.id);
        let has_unread_day = |it: &DayAssignment| {
            let period = find(&publication.periods, &periods, it.period);
            is_unread(it.period)
                || is_unread(it.operating_day)
                || period.is_some_and(|it| {
                    is_unread(it.from_day)
                        || is_unread(it.to_day)
                        || it.lacks_an_end() && self.has_frames
                })
        };
        let running = || publication.day_assignments.iter().filter(|it| !it.excludes);
        let of_assignments = running().filter(|it| has_unread_day(it)).map(|it| it.day_type);
        let assigned: HashSet<Text> = running().map(|it| it.day_type).collect();
        let types = publication.day_types.iter().filter(|it| {
            // One that runs on no day that is said runs on its weekdays for as long as its frames hold.
            let is_of_frames = !assigned.contains(&it.id) && it.weekdays != 0;
            is_unread(it.id) || is_of_frames && has_unread_frames(publication, it.file)
        });
        self.types = of_assignments.chain(types.map(|it| it.id)).collect();
    }

    fn add_conditions(&mut self, publication: &Publication) {
        let is_unread = |id: &Text| publication.unread.contains(id);
        let assigned: HashSet<Text> =
            publication.day_assignments.iter().map(|it| it.day_type).collect();
        // One that is assigned to nothing holds here as long as the condition.
        let is_unread_type = |id: &Text| {
            if assigned.contains(id) { self.types.contains(id) } else { is_unread(id) }
        };
        let conditions = publication.conditions.iter().filter(|it| {
            let mut days = publication.list(&it.operating_days).iter();
            let mut types = publication.list(&it.day_types).iter();
            !it.excludes && (is_unread(&it.id) || days.any(is_unread) || types.any(is_unread_type))
        });
        self.conditions = conditions.map(|it| it.id).collect();
    }

    /// Whether anything cannot be read of what says on which days a journey runs. `conditions` are those of the publication by
    /// their ids.
    pub(super) fn has_days_of(
        &self,
        publication: &Publication,
        conditions: &HashMap<Text, u32>,
        journey: &Journey,
    ) -> bool {
        let is_alone = journey.day_types.is_empty();
        let needs_frames = |id: Text| {
            let condition = find(&publication.conditions, conditions, id);
            condition.is_some_and(|condition| condition.needs_frames(is_alone))
        };
        let is_unread =
            |id: &Text| self.conditions.contains(id) || self.has_frames && needs_frames(*id);
        self.journeys.contains(&journey.id)
            || publication.list(&journey.day_types).iter().any(|id| self.types.contains(id))
            || publication.list(&journey.conditions).iter().any(is_unread)
    }
}

/// Whether it cannot be read how long the frames hold of a file, or all frames where those of the file say nothing.
fn has_unread_frames(publication: &Publication, file: u32) -> bool {
    let is_said = publication.validity_of_file.contains_key(&file);
    let has_any = !publication.unread_validity.is_empty();
    publication.unread_validity.contains(&file) || !is_said && has_any
}
