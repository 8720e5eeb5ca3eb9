//! Lookup of an entity's references by the rules of the join: one outcome each, the first problem found.

use std::collections::HashSet;

use lineside_formats::{
    gtfs::Timetable,
    gtfs_rt::proto::{
        EntitySelector, FeedEntity, TripDescriptor, trip_descriptor::ScheduleRelationship,
    },
};

use super::count::{MatchCount, MatchResult, UnmatchedReason, UnmatchedReference};
use crate::trip_forecast::parse_gtfs_date;
use crate::trip_identity::{is_extra_trip, text_if_nonempty};

/// Counts the trips of entities: of their trip updates, else of vehicles on a trip.
pub fn count_matched_trips<'e>(
    entities: impl IntoIterator<Item = &'e FeedEntity>,
    timetable: &Timetable,
) -> MatchCount {
    let matcher = TripMatcher::new(timetable);
    let mut counts = MatchCount::default();
    for entity in entities {
        if let Some(update) = &entity.trip_update {
            counts.count_trip_result(
                matcher.match_trip_update(&update.trip, &entity.id),
                Some(&update.trip),
            );
        } else if let Some(trip) = entity.vehicle.as_ref().and_then(|it| it.trip.as_ref())
            && text_if_nonempty(&trip.trip_id).is_some()
        {
            counts.count_trip_result(matcher.match_trip_update(trip, &entity.id), Some(trip));
        }
    }
    counts.set_timetable_sample_ids(timetable);
    counts
}

/// Looks up the references of trip updates and vehicles.
#[derive(Clone, Copy, Debug)]
pub(super) struct TripMatcher<'a> {
    timetable: &'a Timetable,
}

impl<'a> TripMatcher<'a> {
    pub(super) fn new(timetable: &'a Timetable) -> TripMatcher<'a> {
        TripMatcher { timetable }
    }

    /// Looks up a trip update. Without a trip it is unmatched even if its route is known: it cannot be applied to the
    /// timetable.
    pub(super) fn match_trip_update<'t>(
        self,
        trip: &'t TripDescriptor,
        record: &'t str,
    ) -> MatchResult<'t> {
        if is_added_trip(trip) {
            let id = text_if_nonempty(&trip.trip_id).unwrap_or(record);
            return Err(UnmatchedReference::new(UnmatchedReason::Added, id));
        }
        match text_if_nonempty(&trip.trip_id) {
            Some(id) => self.match_trip(id, trip),
            None => {
                text_if_nonempty(&trip.route_id).map_or(Ok(()), |route| self.match_route(route))?;
                Err(UnmatchedReference::new(UnmatchedReason::NoTrip, record))
            }
        }
    }

    /// Looks up a vehicle, which may be on a route without a trip, or out of service.
    pub(super) fn match_vehicle<'t>(
        self,
        trip: Option<&'t TripDescriptor>,
        record: &'t str,
    ) -> MatchResult<'t> {
        let nothing = Err(UnmatchedReference::new(UnmatchedReason::NoReference, record));
        let Some(trip) = trip else { return nothing };
        match (text_if_nonempty(&trip.trip_id), text_if_nonempty(&trip.route_id)) {
            (None, None) => nothing,
            (None, Some(route)) if !is_added_trip(trip) => self.match_route(route),
            _ => self.match_trip_update(trip, record),
        }
    }

    /// Looks up a trip by its id and its service date, if the timetable decides when it runs.
    fn match_trip<'t>(self, id: &'t str, trip: &'t TripDescriptor) -> MatchResult<'t> {
        let Some(known) = self.timetable.find_trip(id) else {
            return Err(UnmatchedReference::new(UnmatchedReason::UnknownTrip, id));
        };
        // A duplicated, replaced or unscheduled trip runs when its entity says so.
        let Some(date) = text_if_nonempty(&trip.start_date).filter(|_| !is_extra_trip(trip)) else {
            return Ok(());
        };
        let service = self.timetable.trip(known).service;
        match parse_gtfs_date(date).filter(|&date| self.timetable.is_service_active(service, date))
        {
            Some(_) => Ok(()),
            None => Err(UnmatchedReference {
                start_date: Some(date),
                ..UnmatchedReference::new(UnmatchedReason::NotRunning, id)
            }),
        }
    }

    pub(super) fn match_route(self, id: &str) -> MatchResult<'_> {
        let known = self.timetable.find_route(id);
        known.map(drop).ok_or(UnmatchedReference::new(UnmatchedReason::UnknownRoute, id))
    }
}

fn is_added_trip(trip: &TripDescriptor) -> bool {
    use ScheduleRelationship::{Added, New};
    matches!(trip.schedule_relationship(), Added | New)
}

/// Looks up all references of entities.
#[derive(Debug)]
pub(super) struct EntityMatcher<'a> {
    pub(super) trips: TripMatcher<'a>,
    agencies: HashSet<&'a str>,
}

impl<'a> EntityMatcher<'a> {
    pub(super) fn new(timetable: &'a Timetable) -> EntityMatcher<'a> {
        let agencies = timetable.agencies().map(|agency| agency.id);
        EntityMatcher {
            trips: TripMatcher::new(timetable),
            agencies: agencies.filter(|id| !id.is_empty()).collect(),
        }
    }

    /// Looks up a selector of an alert, all of whose parts must be known.
    pub(super) fn match_selector<'t>(
        &self,
        selector: &'t EntitySelector,
        record: &'t str,
    ) -> MatchResult<'t> {
        let trip = selector.trip.as_ref();
        let trip_route = trip.and_then(|trip| text_if_nonempty(&trip.route_id));
        let trip = trip.filter(|trip| text_if_nonempty(&trip.trip_id).is_some());
        let route = text_if_nonempty(&selector.route_id).or(trip_route.filter(|_| trip.is_none()));
        let (stop, agency) =
            (text_if_nonempty(&selector.stop_id), text_if_nonempty(&selector.agency_id));
        if let Some(trip) = trip {
            self.trips.match_trip_update(trip, record)?;
        }
        route.map_or(Ok(()), |route| self.trips.match_route(route))?;
        stop.map_or(Ok(()), |stop| self.match_stop(stop))?;
        agency.map_or(Ok(()), |agency| self.match_agency(agency))?;
        let has_no_entity = trip.is_none() && route.is_none() && stop.is_none() && agency.is_none();
        // A route type alone selects all routes of the type.
        if has_no_entity && selector.route_type.is_none() {
            return Err(UnmatchedReference::new(UnmatchedReason::NoReference, record));
        }
        Ok(())
    }

    pub(super) fn match_stop<'t>(&self, id: &'t str) -> MatchResult<'t> {
        let known = self.trips.timetable.find_stop(id);
        known.map(drop).ok_or(UnmatchedReference::new(UnmatchedReason::UnknownStop, id))
    }

    /// The only agency of a timetable may have no id: then every id matches.
    fn match_agency<'t>(&self, id: &'t str) -> MatchResult<'t> {
        let is_known = self.agencies.is_empty() || self.agencies.contains(id);
        is_known.then_some(()).ok_or(UnmatchedReference::new(UnmatchedReason::UnknownAgency, id))
    }
}

#[cfg(test)]
mod tests {
    use lineside_formats::gtfs_rt::proto::{TripUpdate, VehiclePosition};
    use lineside_testkit::TestSchedule;

    use super::*;

    /// Returns a timetable where the trip `weekday` runs from Monday to Friday, `always` every day.
    fn timetable(agency: &str) -> Timetable {
        TestSchedule::new("Europe/Paris")
            .stop("S", "Here", 48.86, 2.34)
            .stop("T", "There", 48.87, 2.34)
            .route("R", "1", 3)
            .service("W", "1111100", ["20260101", "20261231"])
            .trip("weekday", "S 08:00, T 08:10")
            .service("D", "1111111", ["20260101", "20261231"])
            .trip("always", "S 08:00, T 08:10")
            .table(
                "agency.txt",
                format!("agency_id,agency_name,agency_url,agency_timezone\n{agency},Agency,https://a.example,Europe/Paris\n"),
            )
            .table(
                "routes.txt",
                format!("route_id,agency_id,route_short_name,route_type\nR,{agency},1,3\n"),
            )
            .timetable()
    }

    fn trip(trip_id: &str, start_date: &str, route_id: &str) -> TripDescriptor {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        TripDescriptor {
            trip_id: text(trip_id),
            start_date: text(start_date),
            route_id: text(route_id),
            ..TripDescriptor::default()
        }
    }

    fn describe_verdict(verdict: MatchResult<'_>) -> String {
        match verdict {
            Ok(()) => "matched".to_owned(),
            Err(found) => {
                let date = found.start_date.map(|date| format!(":{date}")).unwrap_or_default();
                format!("{} {}{date}", found.reason.as_str(), found.id)
            }
        }
    }

    /// 4 March 2026 is a Wednesday, the 7th a Saturday.
    #[test]
    fn trips_are_matched_by_id_and_service_day() {
        let timetable = timetable("a");
        let matcher = TripMatcher::new(&timetable);
        for (trip, update_verdict, vehicle_verdict) in [
            (trip("weekday", "20260304", ""), "matched", "matched"),
            (trip("weekday", "", "elsewhere"), "matched", "matched"),
            (trip("X", "20260304", "R"), "unknown_trip X", "unknown_trip X"),
            (
                trip("weekday", "20260307", ""),
                "not_running weekday:20260307",
                "not_running weekday:20260307",
            ),
            (
                trip("always", "20270101", ""),
                "not_running always:20270101",
                "not_running always:20270101",
            ),
            (trip("always", "today", ""), "not_running always:today", "not_running always:today"),
            (trip("", "", "R"), "no_trip it", "matched"),
            (trip("", "", "Q"), "unknown_route Q", "unknown_route Q"),
            (trip("", "", ""), "no_trip it", "no_reference it"),
        ] {
            assert_eq!(
                describe_verdict(matcher.match_trip_update(&trip, "it")),
                update_verdict,
                "{trip:?}"
            );
            assert_eq!(
                describe_verdict(matcher.match_vehicle(Some(&trip), "it")),
                vehicle_verdict,
                "{trip:?}"
            );
        }
        assert_eq!(describe_verdict(matcher.match_vehicle(None, "it")), "no_reference it");
    }

    #[test]
    fn added_trips_are_not_unmatched_and_replacements_need_a_known_trip() {
        use ScheduleRelationship::{
            Added, Canceled, Deleted, Duplicated, New, Replacement, Scheduled, Unscheduled,
        };
        let timetable = timetable("a");
        let matcher = TripMatcher::new(&timetable);
        let match_trip = |relationship: ScheduleRelationship, id: &str| {
            let mut trip = trip(id, "20260307", "");
            trip.set_schedule_relationship(relationship);
            let verdicts =
                [matcher.match_trip_update(&trip, "it"), matcher.match_vehicle(Some(&trip), "it")];
            let [update, vehicle] = verdicts.map(describe_verdict);
            assert_eq!(update, vehicle, "{relationship:?}");
            update
        };
        for added in [Added, New] {
            assert_eq!(match_trip(added, "extra-1"), "added extra-1");
            assert_eq!(match_trip(added, "weekday"), "added weekday");
        }
        for extra in [Duplicated, Replacement, Unscheduled] {
            assert_eq!(match_trip(extra, "weekday"), "matched", "the service day does not matter");
            assert_eq!(match_trip(extra, "X"), "unknown_trip X");
        }
        for planned in [Scheduled, Canceled, Deleted] {
            assert_eq!(match_trip(planned, "weekday"), "not_running weekday:20260307");
            assert_eq!(match_trip(planned, "always"), "matched");
        }
        let mut nameless = trip("", "", "");
        nameless.set_schedule_relationship(New);
        assert_eq!(describe_verdict(matcher.match_trip_update(&nameless, "it")), "added it");
    }

    #[test]
    fn an_informed_entity_matches_only_with_all_its_parts() {
        let timetable = timetable("a");
        let matcher = EntityMatcher::new(&timetable);
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let selector = |agency: &str, route: &str, stop: &str| EntitySelector {
            agency_id: text(agency),
            route_id: text(route),
            stop_id: text(stop),
            ..EntitySelector::default()
        };
        let trip_selector =
            |trip: TripDescriptor| EntitySelector { trip: Some(trip), ..selector("", "", "") };
        for (selector, expected) in [
            (selector("a", "", ""), "matched"),
            (selector("a", "R", "S"), "matched"),
            (selector("b", "R", "S"), "unknown_agency b"),
            (selector("b", "Q", "X"), "unknown_route Q"),
            (selector("b", "R", "X"), "unknown_stop X"),
            (selector("", "", ""), "no_reference it"),
            (trip_selector(trip("always", "", "")), "matched"),
            (trip_selector(trip("X", "", "")), "unknown_trip X"),
            (trip_selector(trip("weekday", "20260307", "")), "not_running weekday:20260307"),
            (trip_selector(trip("", "", "Q")), "unknown_route Q"),
            (trip_selector(trip("", "", "R")), "matched"),
            (trip_selector(trip("", "", "")), "no_reference it"),
        ] {
            assert_eq!(
                describe_verdict(matcher.match_selector(&selector, "it")),
                expected,
                "{selector:?}"
            );
        }
    }

    #[test]
    fn a_trip_found_on_the_previous_day_is_matched_and_reported() {
        let timetable = timetable("a");
        let update = |trip_id: &str| {
            let trip = TripDescriptor {
                named_start_date: Some("20260307".to_owned()),
                ..trip(trip_id, "20260306", "")
            };
            let update = TripUpdate { trip, ..TripUpdate::default() };
            FeedEntity { trip_update: Some(update), ..FeedEntity::default() }
        };
        let counts = count_matched_trips(&[update("weekday"), update("X")], &timetable);
        assert_eq!((counts.matched, counts.unmatched_count()), (1, 1));
        let reasons: Vec<_> =
            counts.reasons().map(|(reason, found)| (reason, found.count)).collect();
        assert_eq!(reasons, [(UnmatchedReason::UnknownTrip, 1), (UnmatchedReason::DayBefore, 1)]);
        let (_, found) = counts.reasons().last().unwrap();
        assert!(found.sample_ids().eq(["weekday:20260307"]));
    }

    #[test]
    fn an_agency_without_an_id_matches_any_id() {
        let timetable = timetable("");
        let matcher = EntityMatcher::new(&timetable);
        assert_eq!(describe_verdict(matcher.match_agency("whoever")), "matched");
    }

    #[test]
    fn unknown_ids_are_reported_with_known_ones() {
        let timetable = timetable("a");
        let update = |trip: TripDescriptor| TripUpdate { trip, ..TripUpdate::default() };
        let vehicle = |trip| VehiclePosition { trip: Some(trip), ..VehiclePosition::default() };
        let entities = [
            FeedEntity {
                trip_update: Some(update(trip("X:weekday", "", ""))),
                vehicle: Some(vehicle(trip("weekday", "", ""))),
                ..FeedEntity::default()
            },
            FeedEntity { vehicle: Some(vehicle(trip("always", "", ""))), ..FeedEntity::default() },
            FeedEntity { vehicle: Some(vehicle(trip("", "", "R"))), ..FeedEntity::default() },
        ];
        let counts = count_matched_trips(&entities, &timetable);
        assert_eq!((counts.matched, counts.unmatched_count()), (1, 1), "an entity is counted once");
        let (reason, found) = counts.reasons().next().unwrap();
        assert_eq!((reason, found.count), (UnmatchedReason::UnknownTrip, 1));
        assert!(found.sample_ids().eq(["X:weekday"]));
        let mut known: Vec<&str> = found.timetable_sample_ids().collect();
        known.sort_unstable();
        assert_eq!(known, ["always", "weekday"]);
    }
}
