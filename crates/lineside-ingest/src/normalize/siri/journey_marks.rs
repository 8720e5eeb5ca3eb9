//! Journeys with one name and day that something else tells apart. One of them keeps the name, as the schedule may know
//! it; that of another stands behind what differs, and what its vehicles say of their trip does too.

use std::collections::{BTreeSet, HashMap, HashSet};

use lineside_formats::{gtfs_rt::proto::TripDescriptor, siri::VehicleJourney};
use smol_str::{SmolStr, format_smolstr};

use super::{
    SiriEntity, SiriIds, TripRef,
    journeys::{PREFIX, framed_date, journey_entity_id},
    vehicles::{VehicleScope, find_vehicle_scope, netex_codespace},
};
use crate::normalize::nonempty_text;

/// What may tell journeys of one name apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JourneyMark {
    /// Where the data come from, or who gives out the ids.
    Source,
    /// Who delivers.
    Producer,
    Operator,
    Line,
    /// In which frame names are given once, where that is no date.
    Frame,
}

impl JourneyMark {
    /// All, the one that says most of a journey first.
    pub(crate) const ALL: [JourneyMark; 5] = [
        JourneyMark::Source,
        JourneyMark::Producer,
        JourneyMark::Operator,
        JourneyMark::Line,
        JourneyMark::Frame,
    ];
}

/// What is said of a journey besides its name and its day.
#[derive(Clone, Debug, Default)]
pub(crate) struct JourneyMarks {
    said: [Option<SmolStr>; JourneyMark::ALL.len()],
    /// Which of them stand before the name, the last one first in it.
    taken: Vec<(JourneyMark, SmolStr)>,
    /// Whether the form of the name says that it is given once, whoever runs the journey.
    is_unique: bool,
}

impl JourneyMarks {
    pub(super) fn from_journey(journey: &VehicleJourney, ids: &SiriIds) -> JourneyMarks {
        let name = journey.journey_ref().map_or("", SmolStr::as_str);
        let text = |text: &Option<SmolStr>| text.clone().filter(|it| !it.is_empty());
        let framed = journey.framed_vehicle_journey_ref.as_ref();
        let frame = framed.filter(|framed| framed_date(framed).is_none());
        let space = netex_codespace(name);
        JourneyMarks {
            is_unique: space.is_some(),
            said: [
                find_journey_source(name, journey, ids),
                None,
                text(&journey.operator_ref),
                text(&journey.line_ref),
                frame.and_then(|framed| text(&framed.data_frame_ref)),
            ],
            taken: Vec::new(),
        }
    }

    /// Says who has delivered the message.
    pub(super) fn set_producer(&mut self, producer: Option<&SmolStr>) {
        self.said[JourneyMark::Producer as usize] = producer.cloned().filter(|it| !it.is_empty());
    }

    fn get(&self, mark: JourneyMark) -> Option<&SmolStr> {
        self.said[mark as usize].as_ref()
    }

    /// Whether it says this of itself.
    pub(crate) fn has_mark(&self, mark: JourneyMark, said: &SmolStr) -> bool {
        self.get(mark) == Some(said)
    }

    /// Whether both say it, and not the same.
    pub(crate) fn differs_in(&self, other: &JourneyMarks, mark: JourneyMark) -> bool {
        self.get(mark).zip(other.get(mark)).is_some_and(|(own, others)| own != others)
    }

    /// Whether a journey says the same of itself from one answer to the next. One producer may have several servers, frames
    /// are given new names, and who runs a journey of a unique name, or on which line, may be corrected.
    pub(crate) fn is_stable_mark(&self, mark: JourneyMark) -> bool {
        match mark {
            JourneyMark::Source => true,
            JourneyMark::Operator | JourneyMark::Line => !self.is_unique,
            JourneyMark::Producer | JourneyMark::Frame => false,
        }
    }

    /// Whether something stands before the name.
    pub(crate) fn is_any_applied(&self) -> bool {
        !self.taken.is_empty()
    }
}

/// Whose a journey's name is, where that does not say so itself, or does not any more when it has become the schedule's.
fn find_journey_source(name: &str, journey: &VehicleJourney, ids: &SiriIds) -> Option<SmolStr> {
    match (netex_codespace(name), ids) {
        (Some(space), SiriIds::Netex) => Some(space),
        _ => {
            let scope = find_vehicle_scope(name, journey, &SiriIds::Same);
            scope.filter(|(from, _)| *from != VehicleScope::Operator).map(|(_, scope)| scope)
        }
    }
}

/// Tells journeys of one message apart that have one name: the first by the alphabet keeps it.
pub(super) fn disambiguate_journeys(entities: &mut [SiriEntity]) {
    for mark in JourneyMark::ALL {
        if !has_duplicate_names(entities) {
            return;
        }
        let shared = group_shared_ids(entities, mark);
        for it in entities.iter_mut().filter(|_| !shared.is_empty()) {
            let (Some(id), Some(said)) = (it.journey_id(), it.marks.get(mark)) else { continue };
            let is_anothers = |all: &BTreeSet<SmolStr>| {
                all.contains(said) && all.first().is_some_and(|first| first != said)
            };
            if shared.get(&id).is_some_and(is_anothers) {
                it.apply_mark(mark);
            }
        }
    }
}

fn has_duplicate_names(entities: &[SiriEntity]) -> bool {
    let mut known = HashSet::new();
    let mut journeys = entities.iter().filter(|it| it.is_journey());
    !journeys.all(|it| known.insert(it.entity.id.as_str()))
}

/// The ids that journeys have of which this differs, with all that they say.
fn group_shared_ids(
    entities: &[SiriEntity],
    mark: JourneyMark,
) -> HashMap<SmolStr, BTreeSet<SmolStr>> {
    let mut said: HashMap<SmolStr, BTreeSet<SmolStr>> = HashMap::new();
    for it in entities.iter().filter(|it| it.is_journey()) {
        if let Some(mark) = it.marks.get(mark) {
            said.entry(SmolStr::new(&it.entity.id)).or_default().insert(mark.clone());
        }
    }
    said.retain(|_, all| all.len() > 1);
    said
}

impl SiriEntity {
    pub(crate) fn is_journey(&self) -> bool {
        self.entity.vehicle.is_none() && self.visits.is_none() && self.entity.trip_update.is_some()
    }

    fn journey_trip(&self) -> Option<&TripDescriptor> {
        match &self.entity.vehicle {
            Some(vehicle) => vehicle.trip.as_ref(),
            None => self.entity.trip_update.as_ref().map(|update| &update.trip),
        }
    }

    /// The id of the entity of its journey.
    fn journey_id(&self) -> Option<SmolStr> {
        if self.is_journey() {
            return Some(SmolStr::new(&self.entity.id));
        }
        let trip = TripRef::from_descriptor(self.journey_trip()?)?;
        Some(journey_entity_id(PREFIX, &trip.trip_id, trip.start_date.as_deref()))
    }

    /// The id of the entity of its journey, and the one that it has where another one has the name.
    pub(crate) fn ids_with_mark(&self, mark: JourneyMark) -> Option<(SmolStr, SmolStr)> {
        let said = self.marks.get(mark)?;
        let id = self.journey_id()?;
        let own = format_smolstr!("{PREFIX}:{said}{}", id.strip_prefix(PREFIX)?);
        Some((id, own))
    }

    /// Has what it says of itself stand before the name of its journey.
    pub(crate) fn apply_mark(&mut self, mark: JourneyMark) {
        if self.is_journey()
            && let Some((_, own)) = self.ids_with_mark(mark)
        {
            self.entity.id = own.into();
        }
        let Some(said) = self.marks.said[mark as usize].take() else { return };
        self.rename_trips(|id| Some(format!("{said}:{id}")));
        self.marks.taken.push((mark, said));
    }

    /// The id that the entity of its journey had before it took its own name, what it says there, and for which mark.
    pub(crate) fn previous_id(&self) -> Option<(SmolStr, JourneyMark, &SmolStr)> {
        let (mark, said) = self.marks.taken.last()?;
        let id = self.journey_id()?;
        let rest = id.strip_prefix(PREFIX)?.strip_prefix(':')?.strip_prefix(said.as_str())?;
        Some((format_smolstr!("{PREFIX}{rest}"), *mark, said))
    }

    /// Has its journey go by the name that it had before it took its own.
    pub(crate) fn restore_name(&mut self) {
        let Some((id, ..)) = self.previous_id() else { return };
        if self.is_journey() {
            self.entity.id = id.into();
        }
        let Some((mark, said)) = self.marks.taken.pop() else { return };
        self.rename_trips(|id| Some(id.strip_prefix(said.as_str())?.strip_prefix(':')?.to_owned()));
        self.marks.said[mark as usize] = Some(said);
    }

    fn rename_trips(&mut self, named: impl Fn(&str) -> Option<String>) {
        let update = self.entity.trip_update.as_mut().map(|update| &mut update.trip);
        let vehicle = self.entity.vehicle.as_mut().and_then(|vehicle| vehicle.trip.as_mut());
        for trip in update.into_iter().chain(vehicle) {
            trip.trip_id = nonempty_text(&trip.trip_id).and_then(&named);
        }
    }
}
