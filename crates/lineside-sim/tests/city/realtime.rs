//! Tests of the real-time feeds: plausible, and consistent with each other and with the schedule.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{
    CITY, SCHEDULE, TWIN, after, instance, is, metres, trip_of, updates, vehicle_id, vehicles,
};
use lineside_formats::gtfs_rt::proto;
use lineside_sync::UnixMillis;
use proto::trip_descriptor::ScheduleRelationship::{Added, Canceled, Scheduled, Unscheduled};
use proto::trip_update::stop_time_update::ScheduleRelationship as AtStop;
use proto::vehicle_position::VehicleStopStatus;

/// Returns instants over a day and a night, and some days later.
fn samples() -> Vec<UnixMillis> {
    [0, 7, 33, 61, 180, 395, 600, 733, 890, 1_011, 1_100, 1_380, 3 * 1_440 + 250, 6 * 1_440 + 700]
        .map(after)
        .into()
}

fn place(vehicle: &proto::VehiclePosition) -> (f64, f64) {
    let position = vehicle.position.as_ref().unwrap();
    (f64::from(position.latitude), f64::from(position.longitude))
}

#[test]
fn about_300_vehicles_run_in_the_rush_hour_and_few_at_night() {
    for minutes in [10, 30, 45, 60] {
        let n = CITY.vehicle_positions_feed(after(minutes)).entity.len();
        assert!((270..=330).contains(&n), "{n} vehicles {minutes} minutes after the start");
    }
    let night = CITY.vehicle_positions_feed(after(20 * 60)).entity.len();
    assert!((3..60).contains(&night), "{night} vehicles at half past three");
}

#[test]
fn feeds_depend_only_on_the_seed_and_the_time() {
    for now in [after(0), after(700)] {
        let first = CITY.realtime_feeds(now);
        CITY.realtime_feeds(after(5_000));
        assert!(first == CITY.realtime_feeds(now), "requests for other times have no effect");
        assert!(
            first == TWIN.realtime_feeds(now),
            "another city with the same seed gives the same feed"
        );
    }
}

#[test]
fn every_id_exists_in_the_schedule() {
    for now in samples() {
        let realtime = CITY.realtime_feeds(now);
        for vehicle in vehicles(&realtime.vehicle_positions) {
            check_trip(trip_of(vehicle));
            assert!(SCHEDULE.find_stop(vehicle.stop_id.as_deref().unwrap()).is_some());
        }
        for update in updates(&realtime.trip_updates) {
            check_trip(&update.trip);
            check_stops(update);
        }
        for alert in realtime.alerts.entity.iter().map(|e| e.alert.as_ref().unwrap()) {
            assert!(!alert.informed_entity.is_empty());
            for concern in &alert.informed_entity {
                concern.trip.iter().for_each(check_trip);
                assert!(
                    concern.stop_id.as_deref().is_none_or(|id| SCHEDULE.find_stop(id).is_some())
                );
                assert!(
                    concern.route_id.as_deref().is_none_or(|id| SCHEDULE.find_route(id).is_some())
                );
                let known = |id: &str| SCHEDULE.agencies().any(|agency| agency.id == id);
                assert!(concern.agency_id.as_deref().is_none_or(known));
            }
        }
    }
}

fn check_trip(trip: &proto::TripDescriptor) {
    let id = trip.trip_id.as_deref().unwrap();
    let found = SCHEDULE.find_trip(id);
    assert!(SCHEDULE.find_route(trip.route_id.as_deref().unwrap()).is_some());
    if is(trip, Added) {
        assert!(found.is_none(), "{id} is an added trip, but is in the schedule");
        return;
    }
    let scheduled = SCHEDULE.trip(found.unwrap_or_else(|| panic!("{id} is not in the schedule")));
    assert_eq!(SCHEDULE.route(scheduled.route).id, trip.route_id.as_deref().unwrap());
    assert_eq!(scheduled.direction.map(u32::from), trip.direction_id);
    let date: jiff::civil::Date =
        jiff::civil::Date::strptime("%Y%m%d", trip.start_date.as_deref().unwrap()).unwrap();
    assert!(SCHEDULE.is_service_active(scheduled.service, date), "{id} does not run on {date}");
    assert_eq!(scheduled.has_frequencies, trip.start_time.is_some(), "{id}");
    if let (Some(start), false) = (&trip.start_time, is(trip, Unscheduled)) {
        assert!(on_a_step(scheduled.idx, start), "{id} at {start}");
    }
}

/// Returns true if a trip with exact headway starts at a time.
fn on_a_step(trip: lineside_formats::gtfs::TripIdx, start: &str) -> bool {
    let parts: Vec<i64> = start.split(':').map(|part| part.parse().unwrap()).collect();
    let start = parts[0] * 3_600 + parts[1] * 60 + parts[2];
    SCHEDULE.frequencies_of_trip(trip).iter().any(|f| {
        let (from, until, headway) = (i64::from(f.start), i64::from(f.end), i64::from(f.headway));
        (from..until).contains(&start) && (start - from) % headway == 0
    })
}

fn check_stops(update: &proto::TripUpdate) {
    let Some(trip) = SCHEDULE.find_trip(update.trip.trip_id.as_deref().unwrap()) else { return };
    let times: Vec<_> = SCHEDULE.trip_stop_times(trip).collect();
    for stop in &update.stop_time_update {
        let scheduled = times.iter().find(|t| Some(t.stop_sequence) == stop.stop_sequence).unwrap();
        assert_eq!(SCHEDULE.stop(scheduled.stop).id, stop.stop_id.as_deref().unwrap());
    }
}

#[test]
fn delays_are_consistent_with_predicted_times() {
    for update in updates(&CITY.trip_updates_feed(after(40))).filter(|u| is(&u.trip, Scheduled)) {
        let Some(trip) = SCHEDULE.find_trip(update.trip.trip_id.as_deref().unwrap()) else {
            continue;
        };
        if SCHEDULE.trip(trip).has_frequencies {
            continue;
        }
        let date =
            jiff::civil::Date::strptime("%Y%m%d", update.trip.start_date.as_deref().unwrap())
                .unwrap();
        let times: Vec<_> = SCHEDULE.trip_stop_times(trip).collect();
        for stop in &update.stop_time_update {
            let scheduled = &times[stop.stop_sequence.unwrap() as usize - 1];
            for (event, time) in
                [(&stop.arrival, scheduled.arrival), (&stop.departure, scheduled.departure)]
            {
                let Some(event) = event else { continue };
                let expected = SCHEDULE.service_time_to_unix(date, time.unwrap())
                    + i64::from(event.delay.unwrap());
                assert_eq!(event.time, Some(expected));
            }
        }
    }
}

#[test]
fn vehicles_stay_on_their_lines_and_never_jump() {
    let mut previous: BTreeMap<String, proto::VehiclePosition> = BTreeMap::new();
    let mut moved = 0;
    for step in 0..90 {
        let now = UnixMillis(after(25).0 + step * 2_000);
        let message = CITY.vehicle_positions_feed(now);
        for vehicle in vehicles(&message) {
            let here = place(vehicle);
            if step % 30 == 0 {
                assert!(
                    off_line(vehicle) < 12.0,
                    "{} is {:.0} m off",
                    vehicle_id(vehicle),
                    off_line(vehicle)
                );
            }
            if let Some(last) = previous.get(vehicle_id(vehicle)) {
                let seconds = vehicle.timestamp.unwrap() - last.timestamp.unwrap();
                let way = metres(here, place(last));
                assert!(
                    way <= seconds as f64 * 45.0 + 45.0,
                    "{} moved {way:.0} m in {seconds} s",
                    vehicle_id(vehicle)
                );
                moved += usize::from(way > 5.0);
                if instance(trip_of(vehicle)) == instance(trip_of(last)) {
                    assert!(vehicle.current_stop_sequence >= last.current_stop_sequence);
                }
            }
            previous.insert(vehicle_id(vehicle).to_owned(), vehicle.clone());
        }
    }
    assert!(moved > 5_000, "{moved} moves");
}

/// Returns the metres between a vehicle and the shape of its trip.
fn off_line(vehicle: &proto::VehiclePosition) -> f64 {
    let Some(trip) = SCHEDULE.find_trip(trip_of(vehicle).trip_id.as_deref().unwrap()) else {
        return 0.0;
    };
    let shape: Vec<_> = SCHEDULE.shape_points(SCHEDULE.trip(trip).shape.unwrap()).collect();
    let here = place(vehicle);
    let mut nearest = f64::MAX;
    for pair in shape.windows(2) {
        let steps = (metres(pair[0], pair[1]) / 4.0).ceil().max(1.0);
        for i in 0..=steps as u32 {
            let share = f64::from(i) / steps;
            let on = (
                pair[0].0 + (pair[1].0 - pair[0].0) * share,
                pair[0].1 + (pair[1].1 - pair[0].1) * share,
            );
            nearest = nearest.min(metres(here, on));
        }
    }
    nearest
}

#[test]
fn each_vehicle_is_listed_once_with_speed_status_and_occupancy() {
    for now in samples() {
        let message = CITY.vehicle_positions_feed(now);
        let ids: BTreeSet<&str> = vehicles(&message).map(vehicle_id).collect();
        assert_eq!(ids.len(), message.entity.len(), "no vehicle is listed twice");
        for vehicle in vehicles(&message) {
            let position = vehicle.position.as_ref().unwrap();
            let (bearing, speed) = (position.bearing.unwrap(), position.speed.unwrap());
            assert!(
                (0.0..360.0).contains(&bearing) && (0.0..45.0).contains(&speed),
                "{bearing}° {speed} m/s"
            );
            if vehicle.current_status == Some(VehicleStopStatus::StoppedAt as i32) {
                assert_eq!(speed, 0.0);
            }
            let age = now.unix_seconds() - vehicle.timestamp.unwrap() as i64;
            assert!((0..5).contains(&age), "{age} s old");
            assert!(vehicle.occupancy_status.is_some() && vehicle.occupancy_percentage.is_some());
        }
    }
}

#[test]
fn positions_and_predictions_agree() {
    for now in samples() {
        let realtime = CITY.realtime_feeds(now);
        let by_trip: BTreeMap<_, _> =
            updates(&realtime.trip_updates).map(|u| (instance(&u.trip), u)).collect();
        assert_eq!(
            by_trip.len(),
            realtime.trip_updates.entity.len(),
            "one update per trip instance"
        );
        for vehicle in vehicles(&realtime.vehicle_positions) {
            let update = by_trip[&instance(trip_of(vehicle))];
            assert_eq!(update.vehicle, vehicle.vehicle);
            assert_eq!(&update.trip, trip_of(vehicle));
            // An added trip includes the calls that it has passed; others do from one that the vehicle left early.
            let is_behind = |s: &proto::trip_update::StopTimeUpdate| {
                s.stop_sequence < vehicle.current_stop_sequence
            };
            let first_passed = update.stop_time_update.first().filter(|s| is_behind(s));
            if let Some(passed) = first_passed.filter(|_| is(&update.trip, Scheduled)) {
                let delay = passed.departure.as_ref().and_then(|departure| departure.delay);
                assert!(delay.is_none_or(|delay| delay <= 0), "{:?}", update.trip);
            }
            let served = |s: &&proto::trip_update::StopTimeUpdate| {
                s.schedule_relationship != Some(AtStop::Skipped as i32) && !is_behind(s)
            };
            let next = update.stop_time_update.iter().find(served).unwrap();
            assert_eq!(next.stop_sequence, vehicle.current_stop_sequence, "{:?}", update.trip);
            if vehicle.current_status != Some(VehicleStopStatus::StoppedAt as i32) {
                let arrival = next.arrival.as_ref().and_then(|a| a.time).unwrap();
                assert!(
                    arrival >= vehicle.timestamp.unwrap() as i64 - 1,
                    "the vehicle has passed the time of its next stop"
                );
            }
        }
        let moving: BTreeSet<_> =
            vehicles(&realtime.vehicle_positions).map(|v| instance(trip_of(v))).collect();
        for update in updates(&realtime.trip_updates) {
            assert_eq!(update.vehicle.is_some(), moving.contains(&instance(&update.trip)));
        }
    }
}

#[test]
fn predicted_times_only_rise_along_a_trip() {
    for now in samples() {
        let message = CITY.trip_updates_feed(now);
        for update in updates(&message) {
            let events =
                update.stop_time_update.iter().flat_map(|s| [&s.arrival, &s.departure]).flatten();
            let times: Vec<i64> = events.map(|e| e.time.unwrap()).collect();
            assert!(times.is_sorted(), "{:?}: {times:?}", update.trip);
            assert_eq!(update.stop_time_update.is_empty(), is(&update.trip, Canceled));
            for stop in &update.stop_time_update {
                let skipped = stop.schedule_relationship == Some(AtStop::Skipped as i32);
                assert_eq!(stop.arrival.is_none() && stop.departure.is_none(), skipped);
            }
            assert!(
                update.timestamp.unwrap() as i64 <= now.unix_seconds(),
                "the timestamp is in the future"
            );
        }
    }
}

#[test]
fn a_day_has_cancellations_skipped_stops_added_trips_and_headway_trips() {
    let (mut cancelled, mut skipped, mut added, mut unscheduled) = (0, 0, 0, 0);
    for minutes in (0..240).step_by(20) {
        for update in updates(&CITY.trip_updates_feed(after(minutes))) {
            cancelled += usize::from(is(&update.trip, Canceled));
            added += usize::from(is(&update.trip, Added));
            unscheduled += usize::from(is(&update.trip, Unscheduled));
            let at_stops = update.stop_time_update.iter();
            skipped += at_stops
                .filter(|s| s.schedule_relationship == Some(AtStop::Skipped as i32))
                .count();
        }
    }
    assert!(
        cancelled > 5 && skipped > 20 && added > 2 && unscheduled > 20,
        "{cancelled} {skipped} {added} {unscheduled}"
    );
}

#[test]
fn added_trips_list_all_calls_with_equal_times_at_the_last() {
    let mut under_way = 0;
    for minutes in (0..240).step_by(20) {
        let realtime = CITY.realtime_feeds(after(minutes));
        for update in updates(&realtime.trip_updates).filter(|u| is(&u.trip, Added)) {
            let calls = &update.stop_time_update;
            let sequences: Vec<_> = calls.iter().map(|call| call.stop_sequence).collect();
            let all: Vec<_> = (1..=calls.len() as u32).map(Some).collect();
            assert_eq!(sequences, all, "{:?}", update.trip);
            let last = calls.last().unwrap();
            assert_eq!(last.departure, last.arrival, "{:?}", update.trip);
            let mut positions = vehicles(&realtime.vehicle_positions);
            let vehicle = positions.find(|v| instance(trip_of(v)) == instance(&update.trip));
            under_way += usize::from(vehicle.is_some_and(|v| v.current_stop_sequence > Some(1)));
        }
    }
    assert!(under_way > 0);
}

#[test]
fn delays_build_and_recover() {
    let mut delays: BTreeMap<_, Vec<i32>> = BTreeMap::new();
    for minute in 0..150 {
        for update in updates(&CITY.trip_updates_feed(after(minute))) {
            if let (Some(delay), Some(_)) = (update.delay, &update.vehicle) {
                delays.entry(instance(&update.trip)).or_default().push(delay);
            }
        }
    }
    let built = delays.values().filter(|d| d[0] < 60 && d.iter().max() > Some(&180)).count();
    let recovered = delays.values().filter(|d| {
        let worst = d.iter().copied().max().unwrap_or(0);
        worst > 150 && d[d.len() - 1] < worst - 60
    });
    let recovered = recovered.count();
    assert!(built > 20 && recovered > 5, "{built} built, {recovered} recovered");
    let all: Vec<i32> = delays.into_values().flatten().collect();
    let share = |test: fn(&&i32) -> bool| all.iter().filter(test).count() as f64 / all.len() as f64;
    assert!(share(|d| **d < 120) > 0.6, "most vehicles are about on time");
    assert!((0.01..0.3).contains(&share(|d| **d > 300)), "some vehicles are late");
    assert!(share(|d| **d < -180) == 0.0, "no vehicle is minutes early");
}

#[test]
fn some_buses_bunch() {
    let mut bunched = BTreeSet::new();
    for minutes in (20..110).step_by(5) {
        let message = CITY.vehicle_positions_feed(after(minutes));
        let moving: Vec<_> =
            vehicles(&message).filter(|v| v.position.as_ref().unwrap().speed > Some(1.0)).collect();
        for a in &moving {
            for b in &moving {
                let (ta, tb) = (trip_of(a), trip_of(b));
                let same = ta.route_id == tb.route_id && ta.direction_id == tb.direction_id;
                if same && vehicle_id(a) < vehicle_id(b) && metres(place(a), place(b)) < 400.0 {
                    bunched.insert((vehicle_id(a).to_owned(), vehicle_id(b).to_owned()));
                }
            }
        }
    }
    assert!((3..120).contains(&bunched.len()), "{bunched:?}");
}

#[test]
fn trips_of_the_previous_day_continue_after_midnight() {
    let day =
        |now: UnixMillis| SCHEDULE.local_date_at(now.unix_seconds()).strftime("%Y%m%d").to_string();
    let (first, now) = (day(after(0)), after(18 * 60 + 30));
    assert_ne!(first, day(now), "the time is on the next day");
    let message = CITY.vehicle_positions_feed(now);
    assert!(message.entity.len() >= 5);
    assert!(vehicles(&message).all(|v| trip_of(v).start_date.as_deref() == Some(&first)));
}

#[test]
fn most_predictions_are_unchanged_two_seconds_later() {
    let (previous, after) = (
        CITY.trip_updates_feed(after(30)),
        CITY.trip_updates_feed(UnixMillis(after(30).0 + 2_000)),
    );
    let known: BTreeSet<Vec<u8>> =
        previous.entity.iter().map(prost::Message::encode_to_vec).collect();
    let same =
        after.entity.iter().filter(|e| known.contains(&prost::Message::encode_to_vec(*e))).count();
    let share = same as f64 / after.entity.len() as f64;
    assert!((0.7..1.0).contains(&share), "{share}");
}

#[test]
fn alerts_have_three_languages_and_current_or_upcoming_periods() {
    let mut effects = BTreeSet::new();
    for now in samples() {
        let message = CITY.alerts_feed(now);
        assert!(message.entity.len() >= 4);
        for entity in &message.entity {
            let alert = entity.alert.as_ref().unwrap();
            for text in [&alert.header_text, &alert.description_text] {
                let translations = &text.as_ref().unwrap().translation;
                let languages: Vec<_> =
                    translations.iter().map(|t| t.language.as_deref().unwrap()).collect();
                assert_eq!(languages, ["en", "de", "fr"]);
                assert!(
                    translations.iter().all(|t| !t.text.contains(['{', '}'])),
                    "{translations:?}"
                );
            }
            let period = &alert.active_period[0];
            assert!(
                period.start < period.end && period.end.unwrap() as i64 >= now.unix_seconds(),
                "{}",
                entity.id
            );
            assert!(alert.cause.is_some() && alert.severity_level.is_some());
            effects.insert(alert.effect.unwrap());
        }
        let ids: BTreeSet<_> = message.entity.iter().map(|e| &e.id).collect();
        assert_eq!(ids.len(), message.entity.len());
    }
    assert!(effects.len() >= 5, "{effects:?}");
}

#[test]
fn the_text_of_a_single_cancelled_trip_is_singular() {
    let (mut single, mut several) = (0, 0);
    for minutes in (0..24 * 60).step_by(20) {
        let message = CITY.alerts_feed(after(minutes));
        let cancelled = message.entity.iter().filter(|it| it.id.starts_with("cancelled-"));
        for alert in cancelled.map(|it| it.alert.as_ref().unwrap()) {
            let trips = alert.informed_entity.len();
            let text = &alert.description_text.as_ref().unwrap().translation[0].text;
            assert_eq!(text.contains(" one trip "), trips == 1, "{trips}: {text}");
            if trips == 1 { single += 1 } else { several += 1 }
        }
    }
    assert!(single > 0 && several > 0, "{single} and {several}");
}

#[test]
fn the_service_of_the_day_runs_days_later() {
    for (days, service) in [(1, "wd"), (5, "sa"), (6, "su"), (8, "wd")] {
        let now = after(days * 1_440 + 4 * 60);
        let message = CITY.vehicle_positions_feed(now);
        assert!(message.entity.len() > 80, "{} vehicles on day {days}", message.entity.len());
        let of_day = |v: &&proto::VehiclePosition| {
            trip_of(v).trip_id.as_deref().unwrap().contains(&format!(".{service}."))
        };
        let share = vehicles(&message).filter(of_day).count() as f64 / message.entity.len() as f64;
        assert!(share > 0.95, "{share} on day {days}");
    }
}
