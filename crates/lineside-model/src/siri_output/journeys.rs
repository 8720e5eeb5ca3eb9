//! Encoding of trip updates as estimated journeys, and the common parts of all journeys.

use lineside_formats::{
    gtfs::{Route, Timetable, TripIdx},
    gtfs_rt::proto::{TripDescriptor, TripUpdate, trip_descriptor::ScheduleRelationship},
    siri::{FramedVehicleJourneyRef, VehicleJourney},
};
use smol_str::{SmolStr, format_smolstr};

use super::{
    RecordEncodingContext,
    calls::{self, CallEncoder, CallToEncode},
    data_frame_ref, terms, text_without_language, to_siri_time,
};
use crate::{
    record::Record,
    trip_forecast::{ScheduledRun, parse_gtfs_date, parse_gtfs_time},
    trip_identity::{TripKey, is_cancelled_extra_trip, is_extra_trip, text_if_nonempty},
};

/// Encodes a trip update as a journey.
pub(super) fn encode_trip_update_journey(
    context: RecordEncodingContext<'_>,
    record: &Record,
    update: &TripUpdate,
) -> VehicleJourney {
    let at = context.recorded_at(update.timestamp);
    let subject = ResolvedTrip::from_update(context, &update.trip, update);
    let mut planned = match subject.replaced_run() {
        Some(run) => {
            calls::merge_with_scheduled_calls(run, subject.list_calls_to_encode(Some(update)), at)
        }
        None => subject.list_calls_to_encode(Some(update)),
    };
    let is_cancelled = is_cancelled_trip(&update.trip);
    let n_past = if is_cancelled { 0 } else { calls::count_past_calls(&planned, at) };
    if update.stop_time_update.is_empty() {
        calls::clear_past_predictions(&mut planned[..n_past]);
    }
    calls::adjust_decreasing_times(&mut planned);
    let has_all = subject.has_all_calls(&planned);
    let encoder = CallEncoder {
        timetable: context.timetable,
        at,
        is_cancelled,
        headsign: subject.headsign.or(record.join.headsign.as_deref()),
        is_truncated: has_all == Some(false),
        is_numbered: subject.has_valid_call_order(&planned),
    };
    let encode_calls = |is_past: bool, range: std::ops::Range<usize>| {
        // A call whose stop is unknown cannot be encoded.
        let named = range.filter(|&index| planned[index].stop_id.is_some());
        named.map(|index| encoder.encode_call(&planned, index, is_past)).collect()
    };
    let mut journey = VehicleJourney {
        recorded_at_time: to_siri_time(at),
        data_source: Some(SmolStr::new(record.feed.as_str())),
        vehicle_ref: update
            .vehicle
            .as_ref()
            .and_then(|it| text_if_nonempty(&it.id))
            .map(SmolStr::new),
        recorded_calls: encode_calls(true, 0..n_past),
        estimated_calls: encode_calls(false, n_past..planned.len()),
        is_complete_stop_sequence: Some(has_all == Some(true)),
        ..subject.encode_journey_identity(&planned)
    };
    set_journey_ref(context, record, update, &mut journey);
    if is_cancelled {
        journey.cancellation = Some(true);
    } else if planned.iter().any(|call| call.expected.arrival.or(call.expected.departure).is_some())
    {
        journey.monitored = Some(true);
    }
    if journey.line_ref.is_none() {
        journey.line_ref.clone_from(&record.join.route_id);
    }
    if journey.destination_names.is_empty() {
        journey.destination_names = text_without_language(record.join.headsign.as_deref());
    }
    // The schema requires a direction.
    journey.direction_ref.get_or_insert(SmolStr::new_static(NO_DIRECTION));
    journey
}

/// Names a journey as a scheduled or as an extra one.
fn set_journey_ref(
    context: RecordEncodingContext<'_>,
    record: &Record,
    update: &TripUpdate,
    journey: &mut VehicleJourney,
) {
    if is_added_trip(&update.trip) || is_unknown_cancelled_extra(context, update) {
        let own = journey.framed_vehicle_journey_ref.take();
        let own = own.and_then(|framed| framed.dated_vehicle_journey_ref);
        let own = own.or(journey.vehicle_journey_ref.take());
        journey.estimated_vehicle_journey_code = Some(own.unwrap_or_else(|| record.id.clone()));
        journey.extra_journey = Some(true);
    } else if journey.framed_vehicle_journey_ref.is_none() {
        let own = journey.vehicle_journey_ref.take();
        journey.dated_vehicle_journey_ref = Some(own.unwrap_or_else(|| record.id.clone()));
    }
}

/// The name of an unknown direction, where the schema requires one.
pub const NO_DIRECTION: &str = "unknown";

/// Returns true if the journey does not run.
pub(super) fn is_cancelled_trip(trip: &TripDescriptor) -> bool {
    use ScheduleRelationship::{Canceled, Deleted};
    matches!(trip.schedule_relationship(), Canceled | Deleted)
}

/// Returns true if the journey runs in addition to the timetable.
fn is_added_trip(trip: &TripDescriptor) -> bool {
    use ScheduleRelationship::{Added, Duplicated, New};
    matches!(trip.schedule_relationship(), Added | New | Duplicated)
}

/// Returns true if the journey was announced in addition to the timetable and does not run. It keeps the name under
/// which it was announced.
fn is_unknown_cancelled_extra(context: RecordEncodingContext<'_>, update: &TripUpdate) -> bool {
    let find = |timetable: &Timetable| timetable.find_trip(text_if_nonempty(&update.trip.trip_id)?);
    is_cancelled_extra_trip(update) && context.timetable.and_then(find).is_none()
}

/// A trip, as far as known.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResolvedTrip<'a> {
    timetable: Option<&'a Timetable>,
    descriptor: &'a TripDescriptor,
    trip: Option<TripIdx>,
    route: Option<Route<'a>>,
    /// The scheduled run, if the timetable contains the trip as it runs.
    run: Option<ScheduledRun<'a>>,
    own_id: Option<&'a str>,
    own_date: Option<&'a str>,
    own_time: Option<&'a str>,
    own_name: Option<&'a str>,
    pub(super) headsign: Option<&'a str>,
}

impl<'a> ResolvedTrip<'a> {
    /// Creates the subject from the descriptor of a vehicle or a departure.
    pub(super) fn from_descriptor(
        context: RecordEncodingContext<'a>,
        descriptor: &'a TripDescriptor,
    ) -> ResolvedTrip<'a> {
        let timetable = context.timetable;
        let found = timetable.and_then(|timetable| {
            Some((timetable, timetable.find_trip(text_if_nonempty(&descriptor.trip_id)?)?))
        });
        let route = match found {
            Some((timetable, trip)) => Some(timetable.route(timetable.trip(trip).route)),
            None => timetable.and_then(|timetable| {
                let route = timetable.find_route(text_if_nonempty(&descriptor.route_id)?)?;
                Some(timetable.route(route))
            }),
        };
        let key = TripKey::from_descriptor(descriptor).filter(|_| !is_extra_trip(descriptor));
        let run = found.zip(key).and_then(|((timetable, trip), key)| {
            ScheduledRun::from_descriptor(timetable, trip, key.start_date, key.start_time)
        });
        let trip = found.map(|(_, trip)| trip);
        let headsign = found.and_then(|(timetable, trip)| timetable.trip(trip).headsign);
        ResolvedTrip {
            timetable,
            descriptor,
            trip,
            route,
            run,
            own_id: text_if_nonempty(&descriptor.trip_id),
            own_date: text_if_nonempty(&descriptor.start_date),
            own_time: text_if_nonempty(&descriptor.start_time),
            own_name: found.and_then(|(timetable, trip)| timetable.trip(trip).short_name),
            headsign: headsign.filter(|headsign| !headsign.is_empty()),
        }
    }

    /// Creates the subject from an update, which may have its own names.
    pub(super) fn from_update(
        context: RecordEncodingContext<'a>,
        descriptor: &'a TripDescriptor,
        update: &'a TripUpdate,
    ) -> ResolvedTrip<'a> {
        let mut subject = ResolvedTrip::from_descriptor(context, descriptor);
        if let Some(own) = &update.trip_properties {
            subject.own_id = text_if_nonempty(&own.trip_id).or(subject.own_id);
            subject.own_date = text_if_nonempty(&own.start_date).or(subject.own_date);
            subject.own_time = text_if_nonempty(&own.start_time).or(subject.own_time);
            subject.own_name = text_if_nonempty(&own.trip_short_name).or(subject.own_name);
            subject.headsign = text_if_nonempty(&own.trip_headsign).or(subject.headsign);
        }
        subject
    }

    /// Returns the calls: from the timetable if it contains the trip as it runs, else from the update.
    pub(super) fn list_calls_to_encode(
        &self,
        update: Option<&'a TripUpdate>,
    ) -> Vec<CallToEncode<'a>> {
        match (self.run, update) {
            (Some(run), update) => calls::calls_of_scheduled_run(run, update),
            (None, Some(update)) => {
                calls::calls_of_unscheduled_update(update, is_added_trip(&update.trip))
            }
            (None, None) => Vec::new(),
        }
    }

    /// Returns the scheduled run that the trip replaces, if the timetable contains it.
    fn replaced_run(&self) -> Option<ScheduledRun<'a>> {
        let relationship = self.descriptor.schedule_relationship();
        let is_replaced = relationship == ScheduleRelationship::Replacement;
        let key = TripKey::from_descriptor(self.descriptor).filter(|_| is_replaced)?;
        ScheduledRun::from_descriptor(self.timetable?, self.trip?, key.start_date, key.start_time)
    }

    /// Returns true if the calls come from the timetable.
    fn has_timetable_calls(&self) -> bool {
        self.run.is_some() || self.replaced_run().is_some()
    }

    /// Returns true if the `Order` of the calls is the feed's `stop_sequence`: calls outside of the timetable may not
    /// begin with the first one.
    pub(super) fn has_valid_call_order(&self, planned: &[CallToEncode<'_>]) -> bool {
        !self.has_timetable_calls()
            && calls::are_sequences_increasing(planned.iter().map(|call| call.sequence))
    }

    /// Returns true if no call is missing; `None` if unknown. Producers drop past calls of an extra journey, so the
    /// first remaining one shows if there were others before it.
    fn has_all_calls(&self, planned: &[CallToEncode<'_>]) -> Option<bool> {
        if self.has_timetable_calls() {
            return Some(true);
        }
        let first = planned.first().filter(|_| is_extra_trip(self.descriptor))?;
        let begins = first.aimed.departure.or(first.expected.departure);
        let is_start =
            begins.zip(self.extra_journey_start()).map(|(begins, start)| begins <= start);
        let second = planned.get(1).and_then(|call| call.sequence);
        let is_first_numbered = first.sequence.map(|first| is_first_stop_sequence(first, second));
        match (is_start, is_first_numbered) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (None, None) => None,
            _ => Some(false),
        }
    }

    /// Returns true if calls before the first one are missing.
    pub(super) fn lacks_first_calls(&self, planned: &[CallToEncode<'_>]) -> bool {
        self.has_all_calls(planned) == Some(false)
    }

    /// Returns the planned start of an extra journey in Unix seconds, if date and time are known.
    fn extra_journey_start(&self) -> Option<i64> {
        let timetable = self.timetable.filter(|_| is_extra_trip(self.descriptor))?;
        let date = parse_gtfs_date(self.own_date?)?;
        Some(timetable.service_time_to_unix(date, parse_gtfs_time(self.own_time?)?))
    }

    /// Encodes the journey's identity and description.
    pub(super) fn encode_journey_identity(&self, planned: &[CallToEncode<'_>]) -> VehicleJourney {
        let trip = self.timetable.zip(self.trip).map(|(timetable, trip)| timetable.trip(trip));
        let is_cut = self.lacks_first_calls(planned);
        let (first, last) = (planned.first().filter(|_| !is_cut), planned.last());
        let stop_id_of = |call: Option<&CallToEncode<'_>>| call?.stop_id.map(SmolStr::new);
        let stop_name_of = |call: Option<&CallToEncode<'_>>| {
            let stop = call.and_then(|call| call.stop_id).and_then(|id| {
                let timetable = self.timetable?;
                Some(timetable.stop(timetable.find_stop(id)?).name)
            });
            text_without_language(stop)
        };
        let framed = self.framed_journey_ref();
        // A journey without a date still has a name.
        let dayless = self.own_id.filter(|_| framed.is_none()).map(SmolStr::new);
        VehicleJourney {
            line_ref: self
                .route
                .map(|route| route.id)
                .or(text_if_nonempty(&self.descriptor.route_id))
                .map(SmolStr::new),
            direction_ref: self.direction_id().map(|direction| format_smolstr!("{direction}")),
            framed_vehicle_journey_ref: framed,
            vehicle_modes: self
                .route
                .and_then(|route| terms::map_vehicle_mode(route.kind))
                .into_iter()
                .collect(),
            published_line_names: text_without_language(
                self.route.map(|route| route.display_name()),
            ),
            origin_ref: stop_id_of(first),
            origin_names: stop_name_of(first),
            destination_ref: stop_id_of(last),
            destination_names: stop_name_of(last),
            operator_ref: self.operator_ref().map(SmolStr::new),
            vehicle_journey_names: text_without_language(self.own_name),
            headway_service: self.runs_by_headway().then_some(true),
            origin_aimed_departure_time: self
                .extra_journey_start()
                .or_else(|| first.and_then(CallToEncode::independent_aimed_departure))
                .and_then(to_siri_time),
            destination_aimed_arrival_time: last
                .and_then(|call| call.aimed.arrival)
                .and_then(to_siri_time),
            vehicle_journey_ref: dayless,
            block_ref: trip.and_then(|trip| trip.block_id).map(SmolStr::new),
            ..VehicleJourney::default()
        }
    }

    /// Returns true if the trip runs at a headway instead of exact times (`exact_times` 0 of `frequencies.txt`).
    fn runs_by_headway(&self) -> bool {
        self.timetable.zip(self.trip).is_some_and(|(timetable, trip)| {
            timetable.frequencies_of_trip(trip).iter().any(|repeated| !repeated.exact)
        })
    }

    fn framed_journey_ref(&self) -> Option<FramedVehicleJourneyRef> {
        Some(FramedVehicleJourneyRef {
            data_frame_ref: Some(self.own_date.and_then(data_frame_ref)?),
            dated_vehicle_journey_ref: Some(SmolStr::new(self.own_id?)),
        })
    }

    pub(super) fn operator_ref(&self) -> Option<&'a str> {
        route_agency_id(self.timetable?, self.route?)
    }

    pub(super) fn direction_id(&self) -> Option<u32> {
        let known = self.timetable.zip(self.trip);
        let direction = known.and_then(|(timetable, trip)| timetable.trip(trip).direction);
        direction.map(u32::from).or(self.descriptor.direction_id)
    }
}

/// Returns true if a `stop_sequence` is that of the first call of a journey. If numbers increase by 5 or 10, the first
/// one equals the step.
pub(super) fn is_first_stop_sequence(first: u32, second: Option<u32>) -> bool {
    let step = second.and_then(|second| second.checked_sub(first)).unwrap_or(1);
    first <= step.max(1)
}

/// Returns the agency of a route; the only agency of the timetable if the route has none.
pub(super) fn route_agency_id<'a>(timetable: &'a Timetable, route: Route<'a>) -> Option<&'a str> {
    let only = || timetable.agencies().next().filter(|_| timetable.agencies().len() == 1);
    let agency = route.agency.map(|agency| timetable.agency(agency)).or_else(only)?;
    Some(agency.id).filter(|id| !id.is_empty())
}
