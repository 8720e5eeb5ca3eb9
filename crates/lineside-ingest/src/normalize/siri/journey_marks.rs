//! Distinct journeys with the same name and day. One of them keeps the name, since the schedule may know it; the others
//! get a distinguishing prefix, also in the trips of their vehicles.

use std::collections::{BTreeSet, HashMap, HashSet};

use lineside_formats::{gtfs_rt::proto::TripDescriptor, siri::VehicleJourney};
use smol_str::{SmolStr, format_smolstr};

use super::{
    SiriEntity, SiriIds, TripRef,
    journeys::{PREFIX, framed_date, journey_entity_id},
    vehicles::{VehicleScope, find_vehicle_scope, netex_codespace},
};
use crate::trip_identity::nonempty_text;

/// The kinds of marks that distinguish journeys with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JourneyMark {
    /// The source of the data, or the issuer of the ids.
    Source,
    /// The producer that delivers.
    Producer,
    Operator,
    Line,
    /// The frame in which names are unique, if it is not a date.
    Frame,
}

impl JourneyMark {
    /// All marks, the most specific first.
    pub(crate) const ALL: [JourneyMark; 5] = [
        JourneyMark::Source,
        JourneyMark::Producer,
        JourneyMark::Operator,
        JourneyMark::Line,
        JourneyMark::Frame,
    ];
}

/// The marks of a journey besides its name and day.
#[derive(Clone, Debug, Default)]
pub(crate) struct JourneyMarks {
    values: [Option<SmolStr>; JourneyMark::ALL.len()],
    /// The marks that prefix the name; the last one comes first in it.
    prefixes: Vec<(JourneyMark, SmolStr)>,
    /// True if the form of the name shows that it is unique, whoever operates the journey.
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
            values: [
                find_journey_source(name, journey, ids),
                None,
                text(&journey.operator_ref),
                text(&journey.line_ref),
                frame.and_then(|framed| text(&framed.data_frame_ref)),
            ],
            prefixes: Vec::new(),
        }
    }

    /// Sets the producer of the message.
    pub(super) fn set_producer(&mut self, producer: Option<&SmolStr>) {
        self.values[JourneyMark::Producer as usize] = producer.cloned().filter(|it| !it.is_empty());
    }

    fn get(&self, mark: JourneyMark) -> Option<&SmolStr> {
        self.values[mark as usize].as_ref()
    }

    /// Returns true if the mark has this value.
    pub(crate) fn has_mark(&self, mark: JourneyMark, value: &SmolStr) -> bool {
        self.get(mark) == Some(value)
    }

    /// Returns true if both journeys have the mark, with different values.
    pub(crate) fn differs_in(&self, other: &JourneyMarks, mark: JourneyMark) -> bool {
        self.get(mark).zip(other.get(mark)).is_some_and(|(own, others)| own != others)
    }

    /// Returns true if a mark stays the same from one reply to the next. A producer may have several servers, frames
    /// get new names, and the operator or line of a journey with a unique name may be corrected.
    pub(crate) fn is_stable_mark(&self, mark: JourneyMark) -> bool {
        match mark {
            JourneyMark::Source => true,
            JourneyMark::Operator | JourneyMark::Line => !self.is_unique,
            JourneyMark::Producer | JourneyMark::Frame => false,
        }
    }

    /// Returns true if a mark prefixes the name.
    pub(crate) fn is_any_applied(&self) -> bool {
        !self.prefixes.is_empty()
    }
}

/// Returns the issuer of a journey's name, if the name itself does not state it, or no longer does after its mapping to
/// the schedule's id.
fn find_journey_source(name: &str, journey: &VehicleJourney, ids: &SiriIds) -> Option<SmolStr> {
    match (netex_codespace(name), ids) {
        (Some(space), SiriIds::Netex) => Some(space),
        _ => {
            let scope = find_vehicle_scope(name, journey, &SiriIds::Same);
            scope.filter(|(from, _)| *from != VehicleScope::Operator).map(|(_, scope)| scope)
        }
    }
}

/// Distinguishes journeys of one message with the same name: the alphabetically first mark keeps it.
pub(super) fn disambiguate_journeys(entities: &mut [SiriEntity]) {
    for mark in JourneyMark::ALL {
        if !has_duplicate_names(entities) {
            return;
        }
        let shared = find_ids_with_several_marks(entities, mark);
        for it in entities.iter_mut().filter(|_| !shared.is_empty()) {
            let (Some(id), Some(value)) = (it.journey_id(), it.marks.get(mark)) else { continue };
            let is_anothers = |all: &BTreeSet<SmolStr>| {
                all.contains(value) && all.first().is_some_and(|first| first != value)
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

/// Returns all values of a mark by journey id, for ids with several values.
fn find_ids_with_several_marks(
    entities: &[SiriEntity],
    mark: JourneyMark,
) -> HashMap<SmolStr, BTreeSet<SmolStr>> {
    let mut values: HashMap<SmolStr, BTreeSet<SmolStr>> = HashMap::new();
    for it in entities.iter().filter(|it| it.is_journey()) {
        if let Some(mark) = it.marks.get(mark) {
            values.entry(SmolStr::new(&it.entity.id)).or_default().insert(mark.clone());
        }
    }
    values.retain(|_, all| all.len() > 1);
    values
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

    /// Returns the id of its journey's entity.
    fn journey_id(&self) -> Option<SmolStr> {
        if self.is_journey() {
            return Some(SmolStr::new(&self.entity.id));
        }
        let trip = TripRef::from_descriptor(self.journey_trip()?)?;
        Some(journey_entity_id(PREFIX, &trip.trip_id, trip.start_date.as_deref()))
    }

    /// Returns the id of its journey's entity, and the prefixed id for when another journey has the name.
    pub(crate) fn ids_with_mark(&self, mark: JourneyMark) -> Option<(SmolStr, SmolStr)> {
        let value = self.marks.get(mark)?;
        let id = self.journey_id()?;
        let own = format_smolstr!("{PREFIX}:{value}{}", id.strip_prefix(PREFIX)?);
        Some((id, own))
    }

    /// Prefixes the name of its journey with a mark.
    pub(crate) fn apply_mark(&mut self, mark: JourneyMark) {
        if self.is_journey()
            && let Some((_, own)) = self.ids_with_mark(mark)
        {
            self.entity.id = own.into();
        }
        let Some(value) = self.marks.values[mark as usize].take() else { return };
        self.rename_trips(|id| Some(format!("{value}:{id}")));
        self.marks.prefixes.push((mark, value));
    }

    /// Returns the id of its journey's entity before the last prefix, with that mark and its value.
    pub(crate) fn previous_id(&self) -> Option<(SmolStr, JourneyMark, &SmolStr)> {
        let (mark, value) = self.marks.prefixes.last()?;
        let id = self.journey_id()?;
        let rest = id.strip_prefix(PREFIX)?.strip_prefix(':')?.strip_prefix(value.as_str())?;
        Some((format_smolstr!("{PREFIX}{rest}"), *mark, value))
    }

    /// Removes the last prefix from the name of its journey.
    pub(crate) fn restore_name(&mut self) {
        let Some((id, ..)) = self.previous_id() else { return };
        if self.is_journey() {
            self.entity.id = id.into();
        }
        let Some((mark, value)) = self.marks.prefixes.pop() else { return };
        self.rename_trips(|id| {
            Some(id.strip_prefix(value.as_str())?.strip_prefix(':')?.to_owned())
        });
        self.marks.values[mark as usize] = Some(value);
    }

    fn rename_trips(&mut self, named: impl Fn(&str) -> Option<String>) {
        let update = self.entity.trip_update.as_mut().map(|update| &mut update.trip);
        let vehicle = self.entity.vehicle.as_mut().and_then(|vehicle| vehicle.trip.as_mut());
        for trip in update.into_iter().chain(vehicle) {
            trip.trip_id = nonempty_text(&trip.trip_id).and_then(&named);
        }
    }
}
