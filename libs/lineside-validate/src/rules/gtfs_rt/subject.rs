//! What rules look at: a message, and what stands beside it.

use lineside_formats::gtfs_rt::proto::{
    FeedEntity, FeedMessage, TripDescriptor, TripUpdate, VehicleDescriptor, VehiclePosition,
    trip_descriptor::ScheduleRelationship,
};

use super::{
    time,
    timetable::{Timetable, Trip},
};

/// A message to be judged, with the schedule that it is about and what was heard before and
/// elsewhere.
#[derive(Debug)]
pub struct Subject<'a> {
    pub(super) message: &'a FeedMessage,
    pub(super) previous: Option<&'a FeedMessage>,
    pub(super) others: &'a [&'a FeedMessage],
    pub(super) timetable: &'a Timetable,
    pub(super) now: i64,
    pub(super) updates: Vec<Update<'a>>,
    pub(super) vehicles: Vec<Vehicle<'a>>,
}

/// A trip update of the message, and its trip in the schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Update<'a> {
    pub(super) entity: &'a FeedEntity,
    pub(super) update: &'a TripUpdate,
    pub(super) trip: Option<&'a Trip>,
}

/// A vehicle of the message, and its trip in the schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vehicle<'a> {
    pub(super) entity: &'a FeedEntity,
    pub(super) position: &'a VehiclePosition,
    pub(super) trip: Option<&'a Trip>,
}

/// A trip as an update or a vehicle names it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a> {
    pub(super) entity: &'a FeedEntity,
    pub(super) descriptor: &'a TripDescriptor,
    pub(super) vehicle: Option<&'a VehicleDescriptor>,
    pub(super) trip: Option<&'a Trip>,
}

impl<'a> Subject<'a> {
    /// A message by itself. `now` is the time at which it was received, in seconds since 1970.
    /// Looks each trip up once: O(entities).
    pub fn new(message: &'a FeedMessage, timetable: &'a Timetable, now: i64) -> Subject<'a> {
        let find = |descriptor: Option<&TripDescriptor>| {
            timetable.trip(descriptor.and_then(|trip| trip.trip_id.as_deref())?)
        };
        let (mut updates, mut vehicles) = (Vec::new(), Vec::new());
        for entity in &message.entity {
            if let Some(update) = &entity.trip_update {
                updates.push(Update { entity, update, trip: find(Some(&update.trip)) });
            }
            if let Some(position) = &entity.vehicle {
                vehicles.push(Vehicle { entity, position, trip: find(position.trip.as_ref()) });
            }
        }
        Subject { message, previous: None, others: &[], timetable, now, updates, vehicles }
    }

    /// The same with the message before it, of the same feed.
    #[must_use]
    pub fn after(mut self, previous: Option<&'a FeedMessage>) -> Subject<'a> {
        self.previous = previous;
        self
    }

    /// The same with the last messages of the network's other feeds.
    #[must_use]
    pub fn beside(mut self, others: &'a [&'a FeedMessage]) -> Subject<'a> {
        self.others = others;
        self
    }

    /// The trips that updates and vehicles name.
    pub(super) fn runs(&self) -> impl Iterator<Item = Run<'a>> {
        let updates = self.updates.iter().map(Update::run);
        updates.chain(self.vehicles.iter().filter_map(Vehicle::run))
    }

    /// The timestamp of the header, if it has one.
    pub(super) fn timestamp(&self) -> Option<i64> {
        time::timestamp(self.message.header.timestamp)
    }
}

impl<'a> Update<'a> {
    pub(super) fn run(&self) -> Run<'a> {
        let (entity, descriptor) = (self.entity, &self.update.trip);
        Run { entity, descriptor, vehicle: self.update.vehicle.as_ref(), trip: self.trip }
    }
}

impl<'a> Vehicle<'a> {
    /// The trip that it runs, if it says one.
    pub(super) fn run(&self) -> Option<Run<'a>> {
        let descriptor = self.position.trip.as_ref()?;
        let vehicle = self.position.vehicle.as_ref();
        Some(Run { entity: self.entity, descriptor, vehicle, trip: self.trip })
    }

    /// The vehicle's id.
    pub(super) fn id(&self) -> Option<&'a str> {
        self.position.vehicle.as_ref()?.id.as_deref()
    }
}

impl<'a> Run<'a> {
    /// The vehicle's id.
    pub(super) fn vehicle_id(&self) -> Option<&'a str> {
        self.vehicle?.id.as_deref()
    }

    /// Whether the trip runs besides the schedule: newer messages say NEW where older ones say
    /// ADDED.
    pub(super) fn is_added(&self) -> bool {
        use ScheduleRelationship::{Added, New};
        let relationship = self.descriptor.schedule_relationship;
        relationship.is_some_and(|number| number == Added as i32 || number == New as i32)
    }
}
