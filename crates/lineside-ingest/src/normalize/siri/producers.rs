//! Journeys of several producers with one name. The first keeps the name, as the schedule may know it; that of another stands
//! behind whose it is, and what its vehicles say of their trip does too.

use std::collections::HashMap;

use lineside_formats::{gtfs_rt::proto::TripDescriptor, siri::VehicleJourney};
use smol_str::{SmolStr, format_smolstr};

use super::{
    SiriEntity, SiriIds,
    journeys::{PREFIX, journey_entity_id},
    vehicles::{Scope, scope_of},
};
use crate::normalize::given;

/// Whose a journey's name is, where that does not say so itself. Who runs it is not asked: one journey may be told of two
/// operators, and who answers neither, because one producer may have several servers.
pub(super) fn producer_of(journey: &VehicleJourney) -> Option<SmolStr> {
    let name = journey.journey_ref()?;
    let scope = scope_of(name, journey, &SiriIds::Same);
    scope.filter(|(from, _)| *from != Scope::Operator).map(|(_, scope)| scope)
}

/// Tells journeys of one message apart that have one name: of several producers the first by the alphabet keeps it.
pub(super) fn tell_apart(entities: &mut [SiriEntity]) {
    let mut owners: HashMap<SmolStr, SmolStr> = HashMap::new();
    let mut is_any_shared = false;
    for it in entities.iter().filter(|it| it.is_journey()) {
        let Some(producer) = &it.producer else { continue };
        match owners.get_mut(it.entity.id.as_str()) {
            None => drop(owners.insert(SmolStr::new(&it.entity.id), producer.clone())),
            Some(owner) if owner == producer => {}
            Some(owner) => {
                is_any_shared = true;
                if producer < owner {
                    owner.clone_from(producer);
                }
            }
        }
    }
    if !is_any_shared {
        return;
    }
    for it in entities {
        let Some(journey_id) = it.journey_id() else { continue };
        let owner = owners.get(&journey_id);
        if it.producer.is_some() && owner.is_some_and(|owner| it.producer.as_ref() != Some(owner)) {
            it.take_own_name();
        }
    }
}

impl SiriEntity {
    fn is_journey(&self) -> bool {
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
        let trip = self.trip_of_it()?;
        Some(journey_entity_id(PREFIX, given(&trip.trip_id)?, trip.start_date.as_deref()))
    }

    /// The id of a journey's entity, and the one that it has where another producer's has the name.
    pub(crate) fn ids_by_producer(&self) -> Option<(SmolStr, SmolStr)> {
        let producer = self.producer.as_ref().filter(|_| self.is_journey())?;
        let id = SmolStr::new(&self.entity.id);
        let rest = id.strip_prefix(PREFIX)?;
        let own = format_smolstr!("{PREFIX}:{producer}{rest}");
        Some((id, own))
    }

    /// Has whose it is stand before the name of its journey.
    pub(crate) fn take_own_name(&mut self) {
        if let Some((_, own)) = self.ids_by_producer() {
            self.entity.id = own.into();
        }
        let Some(producer) = self.producer.take() else { return };
        let update = self.entity.trip_update.as_mut().map(|update| &mut update.trip);
        let vehicle = self.entity.vehicle.as_mut().and_then(|vehicle| vehicle.trip.as_mut());
        for trip in update.into_iter().chain(vehicle) {
            trip.trip_id = given(&trip.trip_id).map(|id| format!("{producer}:{id}"));
        }
    }
}
