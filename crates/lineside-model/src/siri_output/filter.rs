//! The filter of a consumer's request, and resolution of its references: `<feed>:<id>`, or the id alone if only one
//! network has it.

use std::time::Duration;

use lineside_formats::gtfs::Timetable;
use smol_str::SmolStr;

use super::{
    RecordEncodingContext, SiriOutput,
    journeys::{ResolvedTrip, route_agency_id},
};
use crate::{
    departures::has_better_update_elsewhere,
    feed_id::FeedId,
    network_state::NetworkState,
    record::{Record, RecordKind},
    trip_identity::text_if_nonempty,
};

/// A resolved reference to an item of a network.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResolvedRef {
    /// A feed of the network; any feed if absent.
    pub feed: Option<SmolStr>,
    /// The id within the feed.
    pub id: SmolStr,
}

/// The kind of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefKind {
    /// A line, a route in GTFS.
    Line,
    Stop,
    /// An operator, an agency in GTFS.
    Operator,
    Vehicle,
}

/// The reason why a reference cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolveRefError {
    /// No network has the item.
    Unknown,
    /// Several networks have the item.
    Ambiguous(Vec<SmolStr>),
}

/// Resolves a reference among networks. A vehicle's id, or an id of a network without a timetable, may become known
/// later, so these are never unknown.
///
/// # Errors
/// Returns an error if no network or several networks have the item.
pub fn resolve_ref<'a>(
    states: impl Iterator<Item = &'a NetworkState> + Clone,
    kind: RefKind,
    text: &str,
) -> Result<ResolvedRef, ResolveRefError> {
    if let Some((feed, id)) = text.split_once(':')
        && let Some(state) = states.clone().find(|state| state.find_feed_slice(feed).is_some())
        && (has_id(state, kind, id) || !states.clone().any(|state| has_id(state, kind, text)))
    {
        if !has_id(state, kind, id) && has_all_ids_of_kind(state, kind) {
            return Err(ResolveRefError::Unknown);
        }
        return Ok(ResolvedRef { feed: Some(SmolStr::new(feed)), id: SmolStr::new(id) });
    }
    let name = |state: &NetworkState| {
        state.feeds.first().map(|feed| SmolStr::new(feed.id.as_str())).unwrap_or_default()
    };
    let knowing: Vec<SmolStr> =
        states.clone().filter(|state| has_id(state, kind, text)).map(name).collect();
    match &knowing[..] {
        [] if states.clone().all(|state| has_all_ids_of_kind(state, kind)) => {
            Err(ResolveRefError::Unknown)
        }
        [] => Ok(ResolvedRef { feed: None, id: SmolStr::new(text) }),
        [network] => Ok(ResolvedRef { feed: Some(network.clone()), id: SmolStr::new(text) }),
        _ => Err(ResolveRefError::Ambiguous(knowing)),
    }
}

/// Returns true if any of these networks currently has the referenced item.
pub fn is_ref_known<'a>(
    mut states: impl Iterator<Item = &'a NetworkState>,
    kind: RefKind,
    reference: &ResolvedRef,
) -> bool {
    states.any(|state| is_ref_in_network(reference, state) && has_id(state, kind, &reference.id))
}

/// Returns true if a network knows all its items of a kind: it has a timetable, or is a GBFS system, which never has
/// lines, stops of journeys or operators.
fn has_all_ids_of_kind(state: &NetworkState, kind: RefKind) -> bool {
    let is_system = state.feeds.iter().any(|feed| {
        let tables = &feed.tables;
        !tables.stations.records().is_empty() || !tables.rental_vehicles.records().is_empty()
    });
    kind != RefKind::Vehicle && (state.dataset.is_some() || is_system)
}

fn has_id(state: &NetworkState, kind: RefKind, id: &str) -> bool {
    let timetable = state.dataset.as_ref().map(|dataset| &*dataset.timetable);
    let holds = |find: fn(&Timetable, &str) -> bool| timetable.is_some_and(|it| find(it, id));
    match kind {
        RefKind::Line => {
            holds(|it, id| it.find_route(id).is_some())
                || state.realtime_records_by_route(id).next().is_some()
        }
        RefKind::Stop => holds(|it, id| it.find_stop(id).is_some()),
        RefKind::Operator => holds(|it, id| it.agencies().any(|agency| agency.id == id)),
        RefKind::Vehicle => state.find_record(RecordKind::Vehicle, id).is_some(),
    }
}

/// A filter of records; an empty field matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RecordFilter {
    /// Matches records of these feeds, or of the networks that they name.
    pub datasets: Vec<SmolStr>,
    /// Excludes records of these feeds or networks.
    pub excluded: Vec<SmolStr>,
    /// Matches records of these lines.
    pub lines: Vec<ResolvedRef>,
    /// Matches records in this direction.
    pub direction: Option<SmolStr>,
    /// Matches records of these operators.
    pub operators: Vec<ResolvedRef>,
    /// Matches these vehicles.
    pub vehicles: Vec<ResolvedRef>,
    /// Matches records about these stops.
    pub stops: Vec<ResolvedRef>,
    /// Matches journeys that begin within this time.
    pub preview: Option<Duration>,
}

impl RecordFilter {
    /// Returns true if the filter may match records of a network.
    pub fn matches_network(&self, state: &NetworkState) -> bool {
        let is_named =
            |names: &[SmolStr]| names.iter().any(|name| state.find_feed_slice(name).is_some());
        let is_excluded = |name: Option<&str>| {
            name.is_some_and(|name| self.excluded.iter().any(|excluded| excluded == name))
        };
        let network = state.feeds.first().map(|feed| feed.id.as_str());
        (self.datasets.is_empty() || is_named(&self.datasets)) && !is_excluded(network)
    }

    /// Returns true if the filter matches a record. `now` is the present of its network's data, in Unix seconds.
    pub(super) fn matches_record(
        &self,
        state: &NetworkState,
        service: SiriOutput,
        record: &Record,
        now: i64,
    ) -> bool {
        self.matches_feed(state, record.feed.as_str())
            && self.matches_line(state, record.route_ids())
            && match service {
                SiriOutput::SituationExchange => {
                    self.matches_alert_stops(state, record)
                        && self.matches_alert_operators(state, record)
                }
                SiriOutput::EstimatedTimetable => {
                    // Each journey is published once, by the requested feed with the best update.
                    let takes = |feed: &FeedId| self.matches_feed(state, feed.as_str());
                    self.matches_journey(state, record, now)
                        && !has_better_update_elsewhere(state, record, now, takes)
                }
                SiriOutput::VehicleMonitoring => self.matches_journey(state, record, now),
            }
    }

    fn matches_feed(&self, state: &NetworkState, feed: &str) -> bool {
        let network = state.feeds.first().map(|feed| feed.id.as_str()).unwrap_or_default();
        let names = |list: &[SmolStr]| list.iter().any(|name| name == feed || name == network);
        (self.datasets.is_empty() || names(&self.datasets)) && !names(&self.excluded)
    }

    pub(super) fn matches_line<'r>(
        &self,
        state: &NetworkState,
        routes: impl IntoIterator<Item = &'r str>,
    ) -> bool {
        self.lines.is_empty()
            || routes.into_iter().any(|route| is_id_among(&self.lines, state, Some(route)))
    }

    pub(super) fn matches_operator(&self, state: &NetworkState, operator: Option<&str>) -> bool {
        self.operators.is_empty() || is_id_among(&self.operators, state, operator)
    }

    pub(super) fn matches_direction(&self, direction: Option<u32>) -> bool {
        let requested_direction = self.direction.as_deref();
        requested_direction.is_none_or(|requested_direction| {
            direction.is_some_and(|it| requested_direction == it.to_string())
        })
    }

    fn matches_journey(&self, state: &NetworkState, record: &Record, now: i64) -> bool {
        let vehicle = match (record.vehicle(), record.trip_update()) {
            (Some(_), _) => Some(record.id.as_str()),
            (_, Some(update)) => update.vehicle.as_ref().and_then(|it| text_if_nonempty(&it.id)),
            _ => None,
        };
        if !self.vehicles.is_empty() && !is_id_among(&self.vehicles, state, vehicle) {
            return false;
        }
        if self.operators.is_empty() && self.direction.is_none() && self.preview.is_none() {
            return true;
        }
        let none = Default::default();
        let context = RecordEncodingContext::for_record(state, record);
        let subject =
            ResolvedTrip::from_descriptor(context, record.trip_descriptor().unwrap_or(&none));
        let begins_in_time =
            |until: i64| Self::journey_start(state, record).is_none_or(|begins| begins <= until);
        self.matches_operator(state, subject.operator_ref())
            && self.matches_direction(subject.direction_id())
            && self.latest_journey_start(now).is_none_or(begins_in_time)
    }

    /// Returns the latest start of matching journeys in Unix seconds, if there is a limit.
    pub(super) fn latest_journey_start(&self, now: i64) -> Option<i64> {
        let preview = i64::try_from(self.preview?.as_secs()).unwrap_or(i64::MAX);
        Some(now.saturating_add(preview))
    }

    /// Returns the start of a record's journey, in Unix seconds.
    pub(super) fn journey_start(state: &NetworkState, record: &Record) -> Option<i64> {
        let none = Default::default();
        let subject = ResolvedTrip::from_descriptor(
            RecordEncodingContext::for_record(state, record),
            record.trip_descriptor().unwrap_or(&none),
        );
        let planned = subject.list_calls_to_encode(record.trip_update());
        planned.iter().find_map(|call| call.expected.departure.or(call.aimed.departure))
    }

    /// Returns true if an alert names one of the stops, its parents or its platforms.
    fn matches_alert_stops(&self, state: &NetworkState, record: &Record) -> bool {
        if self.stops.is_empty() {
            return true;
        }
        let mut stops_in_network = self.stops.iter().filter(|stop| is_ref_in_network(stop, state));
        stops_in_network.any(|stop| state.is_alert_for_stop(record, &stop.id))
    }

    fn matches_alert_operators(&self, state: &NetworkState, record: &Record) -> bool {
        if self.operators.is_empty() {
            return true;
        }
        let timetable = state.dataset.as_ref().map(|dataset| &*dataset.timetable);
        let informed = record.alert().into_iter().flat_map(|alert| &alert.informed_entity);
        let mut named = informed.filter_map(|entity| text_if_nonempty(&entity.agency_id));
        let by_route = |route: &str| {
            let timetable = timetable?;
            route_agency_id(timetable, timetable.route(timetable.find_route(route)?))
        };
        named.any(|agency| is_id_among(&self.operators, state, Some(agency)))
            || record.route_ids().any(|route| is_id_among(&self.operators, state, by_route(route)))
    }
}

fn is_ref_in_network(reference: &ResolvedRef, state: &NetworkState) -> bool {
    reference.feed.as_deref().is_none_or(|feed| state.find_feed_slice(feed).is_some())
}

fn is_id_among(references: &[ResolvedRef], state: &NetworkState, id: Option<&str>) -> bool {
    references
        .iter()
        .any(|reference| Some(reference.id.as_str()) == id && is_ref_in_network(reference, state))
}
