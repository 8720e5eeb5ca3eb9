//! Journeys with one name and day that something else tells apart. One of them keeps the name, as the schedule may know
//! it; that of another stands behind what differs, and what its vehicles say of their trip does too.

use std::collections::{BTreeSet, HashMap, HashSet};

use lineside_formats::{gtfs_rt::proto::TripDescriptor, siri::VehicleJourney};
use smol_str::{SmolStr, format_smolstr};

use super::{
    SiriEntity, SiriIds, TripRef,
    journeys::{PREFIX, date_of, journey_entity_id},
    vehicles::{Scope, codespace, scope_of},
};
use crate::normalize::given;

/// What may tell journeys of one name apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Where the data come from, or who gives out the ids.
    Source,
    /// Who delivers.
    Producer,
    Operator,
    Line,
    /// In which frame names are given once, where that is no date.
    Frame,
}

impl Mark {
    /// All, the one that says most of a journey first.
    pub(crate) const ALL: [Mark; 5] =
        [Mark::Source, Mark::Producer, Mark::Operator, Mark::Line, Mark::Frame];
}

/// What is said of a journey besides its name and its day.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    said: [Option<SmolStr>; Mark::ALL.len()],
    /// Which of them stand before the name, the last one first in it.
    taken: Vec<(Mark, SmolStr)>,
    /// Whether the form of the name says that it is given once, whoever runs the journey.
    is_unique: bool,
}

impl Marks {
    pub(super) fn of(journey: &VehicleJourney, ids: &SiriIds) -> Marks {
        let name = journey.journey_ref().map_or("", SmolStr::as_str);
        let text = |text: &Option<SmolStr>| text.clone().filter(|it| !it.is_empty());
        let framed = journey.framed_vehicle_journey_ref.as_ref();
        let frame = framed.filter(|framed| date_of(framed).is_none());
        let space = codespace(name);
        Marks {
            is_unique: space.is_some(),
            said: [
                source_of(name, journey, ids),
                None,
                text(&journey.operator_ref),
                text(&journey.line_ref),
                frame.and_then(|framed| text(&framed.data_frame_ref)),
            ],
            taken: Vec::new(),
        }
    }

    /// Says who has delivered the message.
    pub(super) fn put_producer(&mut self, producer: Option<&SmolStr>) {
        self.said[Mark::Producer as usize] = producer.cloned().filter(|it| !it.is_empty());
    }

    fn get(&self, mark: Mark) -> Option<&SmolStr> {
        self.said[mark as usize].as_ref()
    }

    /// Whether it says this of itself.
    pub(crate) fn says(&self, mark: Mark, said: &SmolStr) -> bool {
        self.get(mark) == Some(said)
    }

    /// Whether both say it, and not the same.
    pub(crate) fn differ(&self, other: &Marks, mark: Mark) -> bool {
        self.get(mark).zip(other.get(mark)).is_some_and(|(own, others)| own != others)
    }

    /// Whether a journey says the same of itself from one answer to the next. One producer may have several servers, frames
    /// are given new names, and who runs a journey of a unique name, or on which line, may be corrected.
    pub(crate) fn is_lasting(&self, mark: Mark) -> bool {
        match mark {
            Mark::Source => true,
            Mark::Operator | Mark::Line => !self.is_unique,
            Mark::Producer | Mark::Frame => false,
        }
    }

    /// Whether something stands before the name.
    pub(crate) fn is_any_taken(&self) -> bool {
        !self.taken.is_empty()
    }
}

/// Whose a journey's name is, where that does not say so itself, or does not any more when it has become the schedule's.
fn source_of(name: &str, journey: &VehicleJourney, ids: &SiriIds) -> Option<SmolStr> {
    match (codespace(name), ids) {
        (Some(space), SiriIds::Netex) => Some(space),
        _ => {
            let scope = scope_of(name, journey, &SiriIds::Same);
            scope.filter(|(from, _)| *from != Scope::Operator).map(|(_, scope)| scope)
        }
    }
}

/// Tells journeys of one message apart that have one name: the first by the alphabet keeps it.
pub(super) fn tell_apart(entities: &mut [SiriEntity]) {
    for mark in Mark::ALL {
        if !is_any_twice(entities) {
            return;
        }
        let shared = shared_by(entities, mark);
        for it in entities.iter_mut().filter(|_| !shared.is_empty()) {
            let (Some(id), Some(said)) = (it.journey_id(), it.marks.get(mark)) else { continue };
            let is_anothers = |all: &BTreeSet<SmolStr>| {
                all.contains(said) && all.first().is_some_and(|first| first != said)
            };
            if shared.get(&id).is_some_and(is_anothers) {
                it.take_own_name(mark);
            }
        }
    }
}

fn is_any_twice(entities: &[SiriEntity]) -> bool {
    let mut known = HashSet::new();
    let mut journeys = entities.iter().filter(|it| it.is_journey());
    !journeys.all(|it| known.insert(it.entity.id.as_str()))
}

/// The ids that journeys have of which this differs, with all that they say.
fn shared_by(entities: &[SiriEntity], mark: Mark) -> HashMap<SmolStr, BTreeSet<SmolStr>> {
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

    fn trip_of_it(&self) -> Option<&TripDescriptor> {
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
        let trip = TripRef::of(self.trip_of_it()?)?;
        Some(journey_entity_id(PREFIX, &trip.trip_id, trip.start_date.as_deref()))
    }

    /// The id of the entity of its journey, and the one that it has where another one has the name.
    pub(crate) fn ids_by(&self, mark: Mark) -> Option<(SmolStr, SmolStr)> {
        let said = self.marks.get(mark)?;
        let id = self.journey_id()?;
        let own = format_smolstr!("{PREFIX}:{said}{}", id.strip_prefix(PREFIX)?);
        Some((id, own))
    }

    /// Has what it says of itself stand before the name of its journey.
    pub(crate) fn take_own_name(&mut self, mark: Mark) {
        if self.is_journey()
            && let Some((_, own)) = self.ids_by(mark)
        {
            self.entity.id = own.into();
        }
        let Some(said) = self.marks.said[mark as usize].take() else { return };
        self.rename_trips(|id| Some(format!("{said}:{id}")));
        self.marks.taken.push((mark, said));
    }

    /// The id that the entity of its journey had before it took its own name, what it says there, and for which mark.
    pub(crate) fn id_before(&self) -> Option<(SmolStr, Mark, &SmolStr)> {
        let (mark, said) = self.marks.taken.last()?;
        let id = self.journey_id()?;
        let rest = id.strip_prefix(PREFIX)?.strip_prefix(':')?.strip_prefix(said.as_str())?;
        Some((format_smolstr!("{PREFIX}{rest}"), *mark, said))
    }

    /// Has its journey go by the name that it had before it took its own.
    pub(crate) fn give_back_name(&mut self) {
        let Some((id, ..)) = self.id_before() else { return };
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
            trip.trip_id = given(&trip.trip_id).and_then(&named);
        }
    }
}
