//! The subject of the rules: a message and its context.

use std::cell::OnceCell;

use lineside_formats::gtfs_rt::proto::{
    FeedEntity, FeedMessage, TripDescriptor, TripUpdate, VehicleDescriptor, VehiclePosition,
    trip_descriptor::ScheduleRelationship,
};

use super::{
    MessageHistory, RealtimeRuleScope, ScheduleTripIds,
    active_trips::ServiceDay,
    detours::DetourIndex,
    schedule_index::{IndexedTrip, ScheduleIndex},
    time,
};

/// The seconds after a message with trips during which its feed is expected to name trips. A week spans days without
/// service.
pub const TRIPS_EXPECTED_FOR_S: i64 = 7 * 86_400;

/// Another stored version of the schedule.
#[derive(Clone, Copy, Debug)]
pub struct OtherScheduleVersion<'a> {
    /// The name of the version.
    pub name: &'a str,
    /// The trips of the version.
    pub trips: &'a ScheduleTripIds,
}

/// The number of ids of one kind in a message, and the number that the schedule has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleMatchRate {
    /// The number of ids in the message.
    pub named: u64,
    /// The number of these ids that the schedule has.
    pub matched: u64,
}

impl ScheduleMatchRate {
    /// Returns the share that the schedule has, in percent; 100 if there are no ids.
    pub fn matched_percent(self) -> f64 {
        match self.named {
            0 => 100.0,
            named => 100.0 * self.matched as f64 / named as f64,
        }
    }
}

/// A message to be checked, with its schedule, the feed's earlier messages, and other feeds' messages.
#[derive(Debug)]
pub struct MessageWithContext<'a> {
    pub(super) message: &'a FeedMessage,
    pub(super) previous: Option<&'a FeedMessage>,
    pub(super) others: &'a [&'a FeedMessage],
    pub(super) versions: &'a [OtherScheduleVersion<'a>],
    pub(super) history: Option<&'a MessageHistory>,
    pub(super) timetable: &'a ScheduleIndex,
    pub(super) now: i64,
    pub(super) scope: RealtimeRuleScope,
    pub(super) updates: Vec<TripUpdateWithSchedule<'a>>,
    pub(super) vehicles: Vec<VehicleWithSchedule<'a>>,
    days: OnceCell<Vec<ServiceDay>>,
    detours: OnceCell<DetourIndex<'a>>,
}

/// A trip update of the message, with its trip in the schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct TripUpdateWithSchedule<'a> {
    pub(super) entity: &'a FeedEntity,
    pub(super) update: &'a TripUpdate,
    pub(super) trip: Option<&'a IndexedTrip>,
}

/// A vehicle of the message, with its trip in the schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct VehicleWithSchedule<'a> {
    pub(super) entity: &'a FeedEntity,
    pub(super) position: &'a VehiclePosition,
    pub(super) trip: Option<&'a IndexedTrip>,
}

/// A reference to a trip in an update or a vehicle.
#[derive(Clone, Copy, Debug)]
pub(super) struct TripReferenceWithSchedule<'a> {
    pub(super) entity: &'a FeedEntity,
    pub(super) descriptor: &'a TripDescriptor,
    pub(super) vehicle: Option<&'a VehicleDescriptor>,
    pub(super) trip: Option<&'a IndexedTrip>,
}

impl<'a> MessageWithContext<'a> {
    /// Returns a message without context. `now` is the receive time, in seconds since 1970. Looks each trip up once:
    /// O(entities).
    pub fn new(
        message: &'a FeedMessage,
        timetable: &'a ScheduleIndex,
        now: i64,
    ) -> MessageWithContext<'a> {
        let find = |descriptor: Option<&TripDescriptor>| {
            timetable.find_trip_by_id(descriptor.and_then(|trip| trip.trip_id.as_deref())?)
        };
        let (mut updates, mut vehicles) = (Vec::new(), Vec::new());
        for entity in &message.entity {
            if let Some(update) = &entity.trip_update {
                updates.push(TripUpdateWithSchedule {
                    entity,
                    update,
                    trip: find(Some(&update.trip)),
                });
            }
            if let Some(position) = &entity.vehicle {
                vehicles.push(VehicleWithSchedule {
                    entity,
                    position,
                    trip: find(position.trip.as_ref()),
                });
            }
        }
        MessageWithContext {
            message,
            previous: None,
            others: &[],
            versions: &[],
            history: None,
            timetable,
            now,
            scope: RealtimeRuleScope::default(),
            updates,
            vehicles,
            days: OnceCell::new(),
            detours: OnceCell::new(),
        }
    }

    /// Sets the previous message of the same feed.
    #[must_use]
    pub fn with_previous_message(
        mut self,
        previous: Option<&'a FeedMessage>,
    ) -> MessageWithContext<'a> {
        self.previous = previous;
        self
    }

    /// Sets the last messages of the network's other feeds.
    #[must_use]
    pub fn with_other_feed_messages(
        mut self,
        others: &'a [&'a FeedMessage],
    ) -> MessageWithContext<'a> {
        self.others = others;
        self
    }

    /// Sets other versions of the schedule, the likeliest first.
    #[must_use]
    pub fn with_other_schedule_versions(
        mut self,
        versions: &'a [OtherScheduleVersion<'a>],
    ) -> MessageWithContext<'a> {
        self.versions = versions;
        self
    }

    /// Sets the history of the feed's earlier messages.
    #[must_use]
    pub fn with_message_history(
        mut self,
        history: Option<&'a MessageHistory>,
    ) -> MessageWithContext<'a> {
        self.history = history;
        self
    }

    /// Sets the scope, which decides which rules apply.
    #[must_use]
    pub fn with_rule_scope(mut self, scope: RealtimeRuleScope) -> MessageWithContext<'a> {
        self.scope = scope;
        self
    }

    /// Returns the match rate of the trips in updates and vehicles, except those marked as added. O(entities).
    pub fn trip_match_rate(&self) -> ScheduleMatchRate {
        let mut rate = ScheduleMatchRate::default();
        for run in self.non_added_trip_references() {
            rate.named += 1;
            rate.matched += u64::from(run.trip.is_some());
        }
        rate
    }

    /// Returns true if the message names trips: in an update, or in a vehicle if the schedule has the trip.
    /// O(vehicles).
    pub fn references_trips(&self) -> bool {
        !self.updates.is_empty() || self.vehicles.iter().any(|it| it.trip.is_some())
    }

    /// Returns true if the feed names trips: in this message, in the one before, or in one of the last week. O(entities
    /// of the message before).
    pub(super) fn does_feed_reference_trips(&self) -> bool {
        let is_named = |entity: &FeedEntity| {
            let trip = entity.vehicle.as_ref().and_then(|vehicle| vehicle.trip.as_ref());
            entity.trip_update.is_some()
                || trip.is_some_and(|trip| self.timetable.trip_of_descriptor(trip).is_some())
        };
        let is_recent = |at: i64| (0..=TRIPS_EXPECTED_FOR_S).contains(&self.now.saturating_sub(at));
        self.references_trips()
            || self.previous.is_some_and(|before| before.entity.iter().any(is_named))
            || self.history.and_then(MessageHistory::last_time_with_trips).is_some_and(is_recent)
    }

    /// Returns the trip references with an id that are not marked as added.
    pub(super) fn non_added_trip_references(
        &self,
    ) -> impl Iterator<Item = TripReferenceWithSchedule<'a>> {
        let names = |run: &TripReferenceWithSchedule<'_>| {
            run.descriptor.trip_id.as_deref().is_some_and(|id| !id.is_empty())
        };
        self.all_trip_references().filter(move |run| names(run) && !run.is_added_or_new())
    }

    /// Returns the service days around the receive time, the earliest first; empty if the schedule's zone is unknown.
    pub(super) fn service_days_around_now(&self) -> &[ServiceDay] {
        self.days.get_or_init(|| self.timetable.active_trip_index().service_days_around(self.now))
    }

    /// Returns true if an alert, of this feed or another one of the network, announces a detour for the vehicle.
    pub(super) fn is_on_detour(&self, vehicle: &VehicleWithSchedule<'_>) -> bool {
        let messages = || std::iter::once(self.message).chain(self.others.iter().copied());
        self.detours
            .get_or_init(|| DetourIndex::collect_detour_alerts(messages()))
            .has_detour_for(vehicle, self.timetable)
    }

    /// Returns the trip references of all updates and vehicles.
    pub(super) fn all_trip_references(
        &self,
    ) -> impl Iterator<Item = TripReferenceWithSchedule<'a>> {
        let updates = self.updates.iter().map(TripUpdateWithSchedule::trip_reference);
        updates.chain(self.vehicles.iter().filter_map(VehicleWithSchedule::trip_ref))
    }

    pub(super) fn header_timestamp(&self) -> Option<i64> {
        time::timestamp_unless_zero(self.message.header.timestamp)
    }
}

impl<'a> TripUpdateWithSchedule<'a> {
    pub(super) fn trip_reference(&self) -> TripReferenceWithSchedule<'a> {
        let (entity, descriptor) = (self.entity, &self.update.trip);
        TripReferenceWithSchedule {
            entity,
            descriptor,
            vehicle: self.update.vehicle.as_ref(),
            trip: self.trip,
        }
    }
}

impl<'a> VehicleWithSchedule<'a> {
    /// Returns the reference to the vehicle's trip, if it has one.
    pub(super) fn trip_ref(&self) -> Option<TripReferenceWithSchedule<'a>> {
        let descriptor = self.position.trip.as_ref()?;
        let vehicle = self.position.vehicle.as_ref();
        Some(TripReferenceWithSchedule {
            entity: self.entity,
            descriptor,
            vehicle,
            trip: self.trip,
        })
    }

    /// Returns the vehicle's id.
    pub(super) fn vehicle_id(&self) -> Option<&'a str> {
        self.position.vehicle.as_ref()?.id.as_deref()
    }
}

impl<'a> TripReferenceWithSchedule<'a> {
    /// Returns the vehicle's id.
    pub(super) fn vehicle_id(&self) -> Option<&'a str> {
        self.vehicle?.id.as_deref()
    }

    /// Returns true if the trip runs in addition to the schedule: newer messages use NEW where older ones use ADDED.
    pub(super) fn is_added_or_new(&self) -> bool {
        use ScheduleRelationship::{Added, New};
        let relationship = self.descriptor.schedule_relationship;
        relationship.is_some_and(|number| number == Added as i32 || number == New as i32)
    }
}
