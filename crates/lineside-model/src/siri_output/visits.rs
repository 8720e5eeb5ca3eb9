//! Encoding of departures from a stop as monitored stop visits, including scheduled-only ones.

use std::{collections::HashMap, time::Duration};

use lineside_formats::{
    gtfs_rt::proto::TripDescriptor,
    siri::{MonitoredStopVisit, VehicleJourney},
};
use lineside_sync::UnixMillis;
use smol_str::{SmolStr, format_smolstr};

use super::{
    RecordEncodingContext, RecordFilter,
    calls::{CallEncoder, CallToEncode},
    journeys::{ResolvedTrip, is_cancelled_trip, route_agency_id},
    monitored::set_monitored_call,
    to_siri_time,
};
use crate::{
    departures::{find_best_run_update, list_departures_from},
    feed_id::FeedId,
    network_state::NetworkState,
    record::{Departure, DepartureStatus},
    trip_identity::{TripKey, text_if_nonempty},
};

/// A query for the visits of a stop.
#[derive(Clone, Debug)]
pub struct VisitQuery<'a> {
    /// The stop or station.
    pub stop_id: &'a str,
    /// The reference that the answer repeats.
    pub monitoring_ref: &'a str,
    /// The start of the requested period.
    pub from: UnixMillis,
    /// The length of the requested period.
    pub preview: Duration,
    /// The filter of lines, directions and operators.
    pub filter: &'a RecordFilter,
    /// The id of the requested last stop.
    pub destination: Option<&'a str>,
    /// The requested maximum number of visits.
    pub visits_max: usize,
    /// The minimum number of visits per line, if there are as many, even beyond the query's limit.
    pub visits_per_line_min: usize,
    /// The absolute maximum number of visits.
    pub limit: usize,
}

/// Returns the next visits of a stop or of all stops of a station, in time order; `None` if there is no such stop.
pub fn find_stop_visits(
    state: &NetworkState,
    visits: &VisitQuery<'_>,
    now: UnixMillis,
) -> Option<Vec<MonitoredStopVisit>> {
    let (from, preview) = (visits.from, visits.preview);
    let all = list_departures_from(state, visits.stop_id, now, from, usize::MAX, preview)?;
    let dataset = state.dataset.as_ref()?;
    let context = RecordEncodingContext {
        state,
        timetable: Some(&dataset.timetable),
        message_time: now.unix_seconds(),
    };
    let mut visits_by_line: HashMap<SmolStr, usize> = HashMap::new();
    let mut found = Vec::new();
    for departure in &all {
        if found.len() >= visits.limit {
            break;
        }
        let n = visits_by_line.entry(departure.route_id.clone()).or_default();
        if found.len() >= visits.visits_max && *n >= visits.visits_per_line_min {
            continue;
        }
        if !is_visit_wanted(context, departure, visits) {
            continue;
        }
        let visit = encode_visit(context, departure, visits.monitoring_ref);
        let journey = visit.monitored_vehicle_journey.as_ref();
        let ends = journey.and_then(|journey| journey.destination_ref.as_deref());
        if visits.destination.is_none_or(|destination| ends == Some(destination)) {
            *n += 1;
            found.push(visit);
        }
    }
    Some(found)
}

fn is_visit_wanted(
    context: RecordEncodingContext<'_>,
    departure: &Departure,
    visits: &VisitQuery<'_>,
) -> bool {
    let found = context.timetable.and_then(|timetable| {
        Some((timetable, timetable.route(timetable.find_route(&departure.route_id)?)))
    });
    let operator = found.and_then(|(timetable, route)| route_agency_id(timetable, route));
    let trip = context
        .timetable
        .and_then(|timetable| Some(timetable.trip(timetable.find_trip(&departure.trip_id)?)));
    let direction = trip.and_then(|trip| trip.direction).map(u32::from);
    let filter = visits.filter;
    filter.matches_line(context.state, [departure.route_id.as_str()])
        && filter.matches_operator(context.state, operator)
        && filter.matches_direction(direction)
}

fn encode_visit(
    context: RecordEncodingContext<'_>,
    departure: &Departure,
    monitoring_ref: &str,
) -> MonitoredStopVisit {
    let age = departure.age.and_then(|age| i64::try_from(age).ok()).unwrap_or(0);
    let recorded_at = context.message_time.saturating_sub(age);
    let descriptor = trip_descriptor_of_departure(departure);
    let now = context.message_time;
    let run_update = TripKey::from_descriptor(&descriptor)
        .and_then(|key| find_best_run_update(context.state, key, now));
    // A departure that shows the scheduled times because its update is outdated must be encoded without that update.
    let is_plain = departure.status == DepartureStatus::Scheduled;
    let run_update = run_update.filter(|run_update| !is_plain || !run_update.is_out_of_date(now));
    let update = run_update.as_ref().map(|run_update| run_update.update);
    let trip = update.map_or(&descriptor, |update| &update.trip);
    let subject = match update {
        Some(update) => ResolvedTrip::from_update(context, trip, update),
        None => ResolvedTrip::from_descriptor(context, trip),
    };
    let planned = subject.list_calls_to_encode(update);
    let encoder = CallEncoder {
        timetable: context.timetable,
        at: recorded_at,
        is_cancelled: is_cancelled_trip(trip),
        headsign: departure.headsign.as_deref().or(subject.headsign),
        is_truncated: subject.lacks_first_calls(&planned),
        is_numbered: subject.has_valid_call_order(&planned),
    };
    let index = find_call_of_departure(&planned, departure);
    let mut journey = subject.encode_journey_identity(&planned);
    if let Some(index) = index {
        set_monitored_call(&mut journey, encoder.encode_call(&planned, index, false));
    }
    MonitoredStopVisit {
        recorded_at_time: to_siri_time(recorded_at),
        item_identifier: Some(format_smolstr!(
            "{}:{}",
            schedule_feed_or_source(context, departure),
            departure.id
        )),
        monitoring_ref: Some(SmolStr::new(monitoring_ref)),
        monitored_vehicle_journey: Some(Box::new(complete_visit_journey(journey, departure))),
        ..MonitoredStopVisit::default()
    }
}

/// Returns the feed for a visit's id: the schedule's. The feed that reports a departure may change at any time, but the
/// visit stays the same.
fn schedule_feed_or_source<'a>(
    context: RecordEncodingContext<'a>,
    departure: &'a Departure,
) -> &'a FeedId {
    context.state.dataset.as_ref().map_or(&departure.source, |dataset| &dataset.feed)
}

fn complete_visit_journey(mut journey: VehicleJourney, departure: &Departure) -> VehicleJourney {
    journey.line_ref = journey.line_ref.or_else(|| Some(departure.route_id.clone()));
    journey.monitored = Some(departure.status != DepartureStatus::Scheduled);
    journey.data_source = Some(SmolStr::new(departure.source.as_str()));
    journey
}

/// Returns the index of a departure's call. A call without a sequence number is found by its times.
fn find_call_of_departure(planned: &[CallToEncode<'_>], departure: &Departure) -> Option<usize> {
    if let Some(sequence) = departure.stop_sequence {
        return planned.iter().position(|call| call.sequence == Some(sequence));
    }
    planned.iter().position(|call| {
        let times = [call.expected, call.aimed].map(|times| times.departure.or(times.arrival));
        times.contains(&Some(departure.expected_or_scheduled_time()))
    })
}

/// Returns the trip of a departure as a descriptor: the departure's id contains date and time after the trip id.
fn trip_descriptor_of_departure(departure: &Departure) -> TripDescriptor {
    let rest = departure.id.strip_prefix(departure.trip_id.as_str());
    let mut parts = rest.and_then(|rest| rest.strip_prefix(':')).unwrap_or_default().split(':');
    let date = parts.next().filter(|date| date.len() == 8).map(str::to_owned);
    let time: Vec<&str> = parts.take(3).collect();
    let time = Some(time.join(":")).filter(|_| time.len() == 3);
    TripDescriptor {
        trip_id: Some(departure.trip_id.to_string()),
        start_date: date,
        start_time: time.filter(|time| text_if_nonempty(&Some(time.clone())).is_some()),
        route_id: Some(departure.route_id.to_string()),
        ..TripDescriptor::default()
    }
}
