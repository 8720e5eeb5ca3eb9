//! What rules look at: a message, and what stands beside it.

use std::cell::OnceCell;

use lineside_formats::gtfs_rt::proto::{
    FeedEntity, FeedMessage, TripDescriptor, TripUpdate, VehicleDescriptor, VehiclePosition,
    trip_descriptor::ScheduleRelationship,
};

use super::{
    MessageHistory, RuleScope, TripIds,
    active_trips::ServiceDay,
    detours::DetourIndex,
    schedule_index::{ScheduleIndex, TripEntry},
    time,
};

/// Seconds after a message that named trips for which its feed is one of trips: also over the days on which nothing runs.
pub const TRIPS_EXPECTED_FOR_S: i64 = 7 * 86_400;

/// Another version of the schedule that is held.
#[derive(Clone, Copy, Debug)]
pub struct AlternateSchedule<'a> {
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
    pub fn matched_percent(self) -> f64 {
        match self.named {
            0 => 100.0,
            named => 100.0 * self.matched as f64 / named as f64,
        }
    }
}

/// A message to be judged, with the schedule that it is about and what was heard before and
/// elsewhere.
#[derive(Debug)]
pub struct MessageSubject<'a> {
    pub(super) message: &'a FeedMessage,
    pub(super) previous: Option<&'a FeedMessage>,
    pub(super) others: &'a [&'a FeedMessage],
    pub(super) versions: &'a [AlternateSchedule<'a>],
    pub(super) history: Option<&'a MessageHistory>,
    pub(super) timetable: &'a ScheduleIndex,
    pub(super) now: i64,
    pub(super) scope: RuleScope,
    pub(super) updates: Vec<TripUpdateRef<'a>>,
    pub(super) vehicles: Vec<VehicleRef<'a>>,
    days: OnceCell<Vec<ServiceDay>>,
    detours: OnceCell<DetourIndex<'a>>,
}

/// A trip update of the message, and its trip in the schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct TripUpdateRef<'a> {
    pub(super) entity: &'a FeedEntity,
    pub(super) update: &'a TripUpdate,
    pub(super) trip: Option<&'a TripEntry>,
}

/// A vehicle of the message, and its trip in the schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct VehicleRef<'a> {
    pub(super) entity: &'a FeedEntity,
    pub(super) position: &'a VehiclePosition,
    pub(super) trip: Option<&'a TripEntry>,
}

/// A trip as an update or a vehicle names it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TripRef<'a> {
    pub(super) entity: &'a FeedEntity,
    pub(super) descriptor: &'a TripDescriptor,
    pub(super) vehicle: Option<&'a VehicleDescriptor>,
    pub(super) trip: Option<&'a TripEntry>,
}

impl<'a> MessageSubject<'a> {
    /// A message by itself. `now` is the time at which it was received, in seconds since 1970.
    /// Looks each trip up once: O(entities).
    pub fn new(
        message: &'a FeedMessage,
        timetable: &'a ScheduleIndex,
        now: i64,
    ) -> MessageSubject<'a> {
        let find = |descriptor: Option<&TripDescriptor>| {
            timetable.find_trip(descriptor.and_then(|trip| trip.trip_id.as_deref())?)
        };
        let (mut updates, mut vehicles) = (Vec::new(), Vec::new());
        for entity in &message.entity {
            if let Some(update) = &entity.trip_update {
                updates.push(TripUpdateRef { entity, update, trip: find(Some(&update.trip)) });
            }
            if let Some(position) = &entity.vehicle {
                vehicles.push(VehicleRef { entity, position, trip: find(position.trip.as_ref()) });
            }
        }
        MessageSubject {
            message,
            previous: None,
            others: &[],
            versions: &[],
            history: None,
            timetable,
            now,
            scope: RuleScope::default(),
            updates,
            vehicles,
            days: OnceCell::new(),
            detours: OnceCell::new(),
        }
    }

    /// The same with the message before it, of the same feed.
    #[must_use]
    pub fn with_previous(mut self, previous: Option<&'a FeedMessage>) -> MessageSubject<'a> {
        self.previous = previous;
        self
    }

    /// The same with the last messages of the network's other feeds.
    #[must_use]
    pub fn with_other_feeds(mut self, others: &'a [&'a FeedMessage]) -> MessageSubject<'a> {
        self.others = others;
        self
    }

    /// The same with other versions of the schedule, the likeliest first.
    #[must_use]
    pub fn with_versions(mut self, versions: &'a [AlternateSchedule<'a>]) -> MessageSubject<'a> {
        self.versions = versions;
        self
    }

    /// The same with what is known of the feed's earlier messages.
    #[must_use]
    pub fn with_history(mut self, history: Option<&'a MessageHistory>) -> MessageSubject<'a> {
        self.history = history;
        self
    }

    /// The same, judged only by the rules that are to the point.
    #[must_use]
    pub fn with_scope(mut self, scope: RuleScope) -> MessageSubject<'a> {
        self.scope = scope;
        self
    }

    /// Of the trips that updates and vehicles name and do not call added, those that the schedule
    /// has. O(entities).
    pub fn trip_match_rate(&self) -> MatchRate {
        let mut rate = MatchRate::default();
        for run in self.scheduled_trip_refs() {
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
    pub(super) fn is_from_trip_feed(&self) -> bool {
        let is_named = |entity: &FeedEntity| {
            let trip = entity.vehicle.as_ref().and_then(|vehicle| vehicle.trip.as_ref());
            entity.trip_update.is_some()
                || trip.is_some_and(|trip| self.timetable.trip_of_descriptor(trip).is_some())
        };
        let is_recent = |at: i64| (0..=TRIPS_EXPECTED_FOR_S).contains(&self.now.saturating_sub(at));
        self.names_trips()
            || self.previous.is_some_and(|before| before.entity.iter().any(is_named))
            || self.history.and_then(MessageHistory::last_trips_named).is_some_and(is_recent)
    }

    /// The trips that updates and vehicles name as the schedule's.
    pub(super) fn scheduled_trip_refs(&self) -> impl Iterator<Item = TripRef<'a>> {
        let names =
            |run: &TripRef<'_>| run.descriptor.trip_id.as_deref().is_some_and(|id| !id.is_empty());
        self.referenced_trips().filter(move |run| names(run) && !run.is_added())
    }

    /// The service days around the moment at which the message was received, the earliest first;
    /// none if the schedule's zone is not known.
    pub(super) fn service_days(&self) -> &[ServiceDay] {
        self.days.get_or_init(|| self.timetable.active_trips().days_around(self.now))
    }

    /// Whether an alert, of this feed or another one of the network, tells that the vehicle goes another way than its shape.
    pub(super) fn is_on_detour(&self, vehicle: &VehicleRef<'_>) -> bool {
        let messages = || std::iter::once(self.message).chain(self.others.iter().copied());
        self.detours
            .get_or_init(|| DetourIndex::from_messages(messages()))
            .has_detour_for(vehicle, self.timetable)
    }

    /// The trips that updates and vehicles name.
    pub(super) fn referenced_trips(&self) -> impl Iterator<Item = TripRef<'a>> {
        let updates = self.updates.iter().map(TripUpdateRef::trip_ref);
        updates.chain(self.vehicles.iter().filter_map(VehicleRef::trip_ref))
    }

    /// The timestamp of the header, if it has one.
    pub(super) fn header_timestamp(&self) -> Option<i64> {
        time::parse_timestamp(self.message.header.timestamp)
    }
}

impl<'a> TripUpdateRef<'a> {
    pub(super) fn trip_ref(&self) -> TripRef<'a> {
        let (entity, descriptor) = (self.entity, &self.update.trip);
        TripRef { entity, descriptor, vehicle: self.update.vehicle.as_ref(), trip: self.trip }
    }
}

impl<'a> VehicleRef<'a> {
    /// The trip that it runs, if it says one.
    pub(super) fn trip_ref(&self) -> Option<TripRef<'a>> {
        let descriptor = self.position.trip.as_ref()?;
        let vehicle = self.position.vehicle.as_ref();
        Some(TripRef { entity: self.entity, descriptor, vehicle, trip: self.trip })
    }

    /// The vehicle's id.
    pub(super) fn vehicle_id(&self) -> Option<&'a str> {
        self.position.vehicle.as_ref()?.id.as_deref()
    }
}

impl<'a> TripRef<'a> {
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
