//! What rules look at: a message, and what stands beside it.

use std::cell::OnceCell;

use lineside_formats::gtfs_rt::proto::{
    FeedEntity, FeedMessage, TripDescriptor, TripUpdate, VehicleDescriptor, VehiclePosition,
    trip_descriptor::ScheduleRelationship,
};

use super::{
    History, Scope, TripIds,
    detours::Detours,
    running::Day,
    time,
    timetable::{Timetable, Trip},
};

/// Seconds after a message that named trips for which its feed is one of trips: also over the days on which nothing runs.
pub const TRIPS_EXPECTED_FOR_S: i64 = 7 * 86_400;

/// Another version of the schedule that is held.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its trips.
    pub trips: &'a TripIds,
}

/// How many ids of one kind a message names, and how many of them the schedule has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchRate {
    /// How many are named.
    pub named: u64,
    /// How many of these the schedule has.
    pub matched: u64,
}

impl MatchRate {
    /// The part that the schedule has, in percent; 100 if none is named.
    pub fn percent(self) -> f64 {
        match self.named {
            0 => 100.0,
            named => 100.0 * self.matched as f64 / named as f64,
        }
    }
}

/// A message to be judged, with the schedule that it is about and what was heard before and
/// elsewhere.
#[derive(Debug)]
pub struct Subject<'a> {
    pub(super) message: &'a FeedMessage,
    pub(super) previous: Option<&'a FeedMessage>,
    pub(super) others: &'a [&'a FeedMessage],
    pub(super) versions: &'a [Version<'a>],
    pub(super) history: Option<&'a History>,
    pub(super) timetable: &'a Timetable,
    pub(super) now: i64,
    pub(super) scope: Scope,
    pub(super) updates: Vec<Update<'a>>,
    pub(super) vehicles: Vec<Vehicle<'a>>,
    days: OnceCell<Vec<Day>>,
    detours: OnceCell<Detours<'a>>,
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
        Subject {
            message,
            previous: None,
            others: &[],
            versions: &[],
            history: None,
            timetable,
            now,
            scope: Scope::default(),
            updates,
            vehicles,
            days: OnceCell::new(),
            detours: OnceCell::new(),
        }
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

    /// The same with other versions of the schedule, the likeliest first.
    #[must_use]
    pub fn among(mut self, versions: &'a [Version<'a>]) -> Subject<'a> {
        self.versions = versions;
        self
    }

    /// The same with what is known of the feed's earlier messages.
    #[must_use]
    pub fn since(mut self, history: Option<&'a History>) -> Subject<'a> {
        self.history = history;
        self
    }

    /// The same, judged only by the rules that are to the point.
    #[must_use]
    pub fn within(mut self, scope: Scope) -> Subject<'a> {
        self.scope = scope;
        self
    }

    /// Of the trips that updates and vehicles name and do not call added, those that the schedule
    /// has. O(entities).
    pub fn trips_matched(&self) -> MatchRate {
        let mut rate = MatchRate::default();
        for run in self.scheduled_runs() {
            rate.named += 1;
            rate.matched += u64::from(run.trip.is_some());
        }
        rate
    }

    /// Whether it names trips: by an update, or by a vehicle on one that the schedule has. O(vehicles).
    pub fn names_trips(&self) -> bool {
        !self.updates.is_empty() || self.vehicles.iter().any(|it| it.trip.is_some())
    }

    /// Whether its feed is one that names trips: the message before did, or one of the last week. O(entities of that).
    pub(super) fn is_of_trips(&self) -> bool {
        let is_named = |entity: &FeedEntity| {
            let trip = entity.vehicle.as_ref().and_then(|vehicle| vehicle.trip.as_ref());
            entity.trip_update.is_some()
                || trip.is_some_and(|trip| self.timetable.trip_of(trip).is_some())
        };
        let is_recent = |at: i64| (0..=TRIPS_EXPECTED_FOR_S).contains(&self.now.saturating_sub(at));
        self.names_trips()
            || self.previous.is_some_and(|before| before.entity.iter().any(is_named))
            || self.history.and_then(History::trips_named_at).is_some_and(is_recent)
    }

    /// The trips that updates and vehicles name as the schedule's.
    pub(super) fn scheduled_runs(&self) -> impl Iterator<Item = Run<'a>> {
        let names =
            |run: &Run<'_>| run.descriptor.trip_id.as_deref().is_some_and(|id| !id.is_empty());
        self.runs().filter(move |run| names(run) && !run.is_added())
    }

    /// The service days around the moment at which the message was received, the earliest first;
    /// none if the schedule's zone is not known.
    pub(super) fn days(&self) -> &[Day] {
        self.days.get_or_init(|| self.timetable.running().days_around(self.now))
    }

    /// Whether an alert, of this feed or another one of the network, tells that the vehicle goes another way than its shape.
    pub(super) fn is_on_detour(&self, vehicle: &Vehicle<'_>) -> bool {
        let messages = || std::iter::once(self.message).chain(self.others.iter().copied());
        self.detours.get_or_init(|| Detours::of(messages())).has(vehicle, self.timetable)
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
