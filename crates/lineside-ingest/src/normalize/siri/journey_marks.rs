//! Distinct journeys with the same name and day. One of them keeps the name, since the schedule may know it; the others
//! get a distinguishing prefix, also in the trips of their vehicles.

use std::collections::{BTreeSet, HashMap, HashSet};

use lineside_formats::{gtfs_rt::proto::TripDescriptor, siri::VehicleJourney};
use smol_str::{SmolStr, format_smolstr};

use super::{
    SiriEntity, SiriIdMapping, TripRef,
    journeys::{PREFIX, date_of_framed_ref, journey_entity_id},
    vehicles::{VehiclePrefixOrigin, find_vehicle_prefix, netex_codespace},
};
use crate::trip_identity::text_if_nonempty;

/// The kinds of marks that distinguish journeys with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JourneyQualifierKind {
    /// The source of the data, or the issuer of the ids.
    Source,
    /// The producer that delivers.
    Producer,
    Operator,
    Line,
    /// The frame in which names are unique, if it is not a date.
    Frame,
}

impl JourneyQualifierKind {
    /// All marks, the most specific first.
    pub(crate) const ALL: [JourneyQualifierKind; 5] = [
        JourneyQualifierKind::Source,
        JourneyQualifierKind::Producer,
        JourneyQualifierKind::Operator,
        JourneyQualifierKind::Line,
        JourneyQualifierKind::Frame,
    ];
}

/// The marks of a journey besides its name and day.
#[derive(Clone, Debug, Default)]
pub(crate) struct JourneyQualifiers {
    values: [Option<SmolStr>; JourneyQualifierKind::ALL.len()],
    /// The marks that prefix the name; the last one comes first in it.
    prefixes: Vec<(JourneyQualifierKind, SmolStr)>,
    /// True if the form of the name shows that it is unique, whoever operates the journey.
    is_unique: bool,
}

impl JourneyQualifiers {
    pub(super) fn from_journey(journey: &VehicleJourney, ids: &SiriIdMapping) -> JourneyQualifiers {
        let name = journey.journey_ref().map_or("", SmolStr::as_str);
        let text = |text: &Option<SmolStr>| text.clone().filter(|it| !it.is_empty());
        let framed = journey.framed_vehicle_journey_ref.as_ref();
        let frame = framed.filter(|framed| date_of_framed_ref(framed).is_none());
        let space = netex_codespace(name);
        JourneyQualifiers {
            is_unique: space.is_some(),
            values: [
                find_journey_issuer(name, journey, ids),
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
        self.values[JourneyQualifierKind::Producer as usize] =
            producer.cloned().filter(|it| !it.is_empty());
    }

    fn get(&self, mark: JourneyQualifierKind) -> Option<&SmolStr> {
        self.values[mark as usize].as_ref()
    }

    /// Returns true if the mark has this value.
    pub(crate) fn has_qualifier(&self, mark: JourneyQualifierKind, value: &SmolStr) -> bool {
        self.get(mark) == Some(value)
    }

    /// Returns true if both journeys have the mark, with different values.
    pub(crate) fn has_different_value(
        &self,
        other: &JourneyQualifiers,
        mark: JourneyQualifierKind,
    ) -> bool {
        self.get(mark).zip(other.get(mark)).is_some_and(|(own, others)| own != others)
    }

    /// Returns true if a mark stays the same from one reply to the next. A producer may have several servers, frames
    /// get new names, and the operator or line of a journey with a unique name may be corrected.
    pub(crate) fn is_stable_qualifier(&self, mark: JourneyQualifierKind) -> bool {
        match mark {
            JourneyQualifierKind::Source => true,
            JourneyQualifierKind::Operator | JourneyQualifierKind::Line => !self.is_unique,
            JourneyQualifierKind::Producer | JourneyQualifierKind::Frame => false,
        }
    }

    /// Returns true if a mark prefixes the name.
    pub(crate) fn has_prefixed_name(&self) -> bool {
        !self.prefixes.is_empty()
    }
}

/// Returns the issuer of a journey's name, if the name itself does not state it, or no longer does after its mapping to
/// the schedule's id.
fn find_journey_issuer(
    name: &str,
    journey: &VehicleJourney,
    ids: &SiriIdMapping,
) -> Option<SmolStr> {
    match (netex_codespace(name), ids) {
        (Some(space), SiriIdMapping::Netex) => Some(space),
        _ => {
            let scope = find_vehicle_prefix(name, journey, &SiriIdMapping::Same);
            scope.filter(|(from, _)| *from != VehiclePrefixOrigin::Operator).map(|(_, scope)| scope)
        }
    }
}

/// Distinguishes journeys of one message with the same name: the alphabetically first mark keeps it.
pub(super) fn disambiguate_journeys(entities: &mut [SiriEntity]) {
    for mark in JourneyQualifierKind::ALL {
        if !has_duplicate_names(entities) {
            return;
        }
        let shared = qualifier_values_of_duplicates(entities, mark);
        for it in entities.iter_mut().filter(|_| !shared.is_empty()) {
            let (Some(id), Some(value)) = (it.entity_id_of_journey(), it.marks.get(mark)) else {
                continue;
            };
            let is_anothers = |all: &BTreeSet<SmolStr>| {
                all.contains(value) && all.first().is_some_and(|first| first != value)
            };
            if shared.get(&id).is_some_and(is_anothers) {
                it.prefix_with_qualifier(mark);
            }
        }
    }
}

fn has_duplicate_names(entities: &[SiriEntity]) -> bool {
    let mut known = HashSet::new();
    let mut journeys = entities.iter().filter(|it| it.is_estimated_journey());
    !journeys.all(|it| known.insert(it.entity.id.as_str()))
}

/// Returns all values of a mark by journey id, for ids with several values.
fn qualifier_values_of_duplicates(
    entities: &[SiriEntity],
    mark: JourneyQualifierKind,
) -> HashMap<SmolStr, BTreeSet<SmolStr>> {
    let mut values: HashMap<SmolStr, BTreeSet<SmolStr>> = HashMap::new();
    for it in entities.iter().filter(|it| it.is_estimated_journey()) {
        if let Some(mark) = it.marks.get(mark) {
            values.entry(SmolStr::new(&it.entity.id)).or_default().insert(mark.clone());
        }
    }
    values.retain(|_, all| all.len() > 1);
    values
}

impl SiriEntity {
    pub(crate) fn is_estimated_journey(&self) -> bool {
        self.entity.vehicle.is_none() && self.visits.is_none() && self.entity.trip_update.is_some()
    }

    fn journey_trip_descriptor(&self) -> Option<&TripDescriptor> {
        match &self.entity.vehicle {
            Some(vehicle) => vehicle.trip.as_ref(),
            None => self.entity.trip_update.as_ref().map(|update| &update.trip),
        }
    }

    /// Returns the id of its journey's entity.
    fn entity_id_of_journey(&self) -> Option<SmolStr> {
        if self.is_estimated_journey() {
            return Some(SmolStr::new(&self.entity.id));
        }
        let trip = TripRef::from_descriptor(self.journey_trip_descriptor()?)?;
        Some(journey_entity_id(PREFIX, &trip.trip_id, trip.start_date.as_deref()))
    }

    /// Returns the id of its journey's entity, and the prefixed id for when another journey has the name.
    pub(crate) fn plain_and_prefixed_id(
        &self,
        mark: JourneyQualifierKind,
    ) -> Option<(SmolStr, SmolStr)> {
        let value = self.marks.get(mark)?;
        let id = self.entity_id_of_journey()?;
        let own = format_smolstr!("{PREFIX}:{value}{}", id.strip_prefix(PREFIX)?);
        Some((id, own))
    }

    /// Prefixes the name of its journey with a mark.
    pub(crate) fn prefix_with_qualifier(&mut self, mark: JourneyQualifierKind) {
        if self.is_estimated_journey()
            && let Some((_, own)) = self.plain_and_prefixed_id(mark)
        {
            self.entity.id = own.into();
        }
        let Some(value) = self.marks.values[mark as usize].take() else { return };
        self.rename_trip_ids(|id| Some(format!("{value}:{id}")));
        self.marks.prefixes.push((mark, value));
    }

    /// Returns the id of its journey's entity before the last prefix, with that mark and its value.
    pub(crate) fn id_before_last_prefix(
        &self,
    ) -> Option<(SmolStr, JourneyQualifierKind, &SmolStr)> {
        let (mark, value) = self.marks.prefixes.last()?;
        let id = self.entity_id_of_journey()?;
        let rest = id.strip_prefix(PREFIX)?.strip_prefix(':')?.strip_prefix(value.as_str())?;
        Some((format_smolstr!("{PREFIX}{rest}"), *mark, value))
    }

    /// Removes the last prefix from the name of its journey.
    pub(crate) fn remove_last_prefix(&mut self) {
        let Some((id, ..)) = self.id_before_last_prefix() else { return };
        if self.is_estimated_journey() {
            self.entity.id = id.into();
        }
        let Some((mark, value)) = self.marks.prefixes.pop() else { return };
        self.rename_trip_ids(|id| {
            Some(id.strip_prefix(value.as_str())?.strip_prefix(':')?.to_owned())
        });
        self.marks.values[mark as usize] = Some(value);
    }

    fn rename_trip_ids(&mut self, named: impl Fn(&str) -> Option<String>) {
        let update = self.entity.trip_update.as_mut().map(|update| &mut update.trip);
        let vehicle = self.entity.vehicle.as_mut().and_then(|vehicle| vehicle.trip.as_mut());
        for trip in update.into_iter().chain(vehicle) {
            trip.trip_id = text_if_nonempty(&trip.trip_id).and_then(&named);
        }
    }
}
