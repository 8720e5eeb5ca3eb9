//! `/map/trip`: a trip's timetable with names and times, and its shape, for the card of a vehicle. Changes arrive on
//! the trip's own channel; this is requested once per trip.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::civil::Date;
use lineside_formats::gtfs::{Timetable, TripIdx};
use lineside_http::QueryParameters;
use lineside_http::app::App;
use serde::Serialize;

use crate::links::parse_gtfs_time;

/// A trip on one date.
#[derive(Debug, Serialize)]
struct TripCardTimetable {
    trip_id: String,
    route_short_name: String,
    headsign: Option<String>,
    calls: Vec<TripCardCall>,
    /// Longitude and latitude.
    shape: Vec<[f64; 2]>,
}

/// One stop of a trip; times in Unix seconds.
#[derive(Debug, Serialize)]
struct TripCardCall {
    stop_id: String,
    name: String,
    platform: Option<String>,
    latitude: Option<f64>,
    longitude: Option<f64>,
    sequence: u32,
    arrival: Option<i64>,
    departure: Option<i64>,
}

/// Handles `?feed=&trip_id=&start_date=YYYYMMDD&start_time=HH:MM:SS`, the last two as in a trip descriptor.
pub(super) async fn get_trip_card_timetable(
    State(app): State<App>,
    parameters: QueryParameters,
) -> Response {
    let (Some(feed), Some(trip_id)) =
        (parameters.find_value("feed"), parameters.find_value("trip_id"))
    else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let network = app.ingest().find_network_of_feed(feed);
    let timetable = network.as_ref().and_then(|network| network.timetable());
    let (Some(network), Some(timetable)) = (network, timetable) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let Some(trip) = timetable.find_trip(trip_id) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let today = timetable.local_date_at(network.data_time_now().0.div_euclid(1000));
    let date = parameters.find_value("start_date").and_then(parse_gtfs_date).unwrap_or(today);
    let start = parameters.find_value("start_time").and_then(parse_gtfs_time);
    Json(build_trip_card_timetable(&timetable, trip, date, start)).into_response()
}

fn build_trip_card_timetable(
    timetable: &Timetable,
    idx: TripIdx,
    date: Date,
    start: Option<i32>,
) -> TripCardTimetable {
    let trip = timetable.trip(idx);
    // A trip of frequencies.txt repeats its times, shifted to each start.
    let moved = match (trip.has_frequencies, start, timetable.trip_start_time(idx)) {
        (true, Some(start), Some(first)) => start - first,
        _ => 0,
    };
    let at = |seconds: Option<i32>| {
        seconds.map(|seconds| timetable.service_time_to_unix(date, seconds + moved))
    };
    let calls: Vec<TripCardCall> = timetable
        .trip_stop_times(idx)
        .map(|time| {
            let stop = timetable.stop(time.stop);
            TripCardCall {
                stop_id: stop.id.to_owned(),
                name: stop.name.to_owned(),
                platform: stop.platform_code.map(str::to_owned),
                latitude: stop.lat,
                longitude: stop.lon,
                sequence: time.stop_sequence,
                arrival: at(time.arrival),
                departure: at(time.departure),
            }
        })
        .collect();
    let headsign =
        trip.headsign.map(str::to_owned).or_else(|| calls.last().map(|call| call.name.clone()));
    let shape = match trip.shape {
        Some(shape) => timetable.shape_points(shape).map(|(lat, lon)| [lon, lat]).collect(),
        None => timetable
            .trip_stop_times(idx)
            .filter_map(|time| {
                Some([timetable.stop(time.stop).lon?, timetable.stop(time.stop).lat?])
            })
            .collect(),
    };
    TripCardTimetable {
        trip_id: trip.id.to_owned(),
        route_short_name: timetable.route(trip.route).display_name().to_owned(),
        headsign,
        calls,
        shape,
    }
}

/// Parses `YYYYMMDD`, as in GTFS.
fn parse_gtfs_date(text: &str) -> Option<Date> {
    Date::strptime("%Y%m%d", text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lineside_testkit::TestSchedule;

    fn sheet(trip: &str, start: Option<&str>) -> TripCardTimetable {
        let timetable = TestSchedule::new("Europe/Oslo")
            .table(
                "stops.txt",
                "stop_id,stop_name,stop_lat,stop_lon,platform_code\n\
                 s1,First,59.9,10.7,\ns2,Last,59.91,10.71,B\n",
            )
            .table(
                "frequencies.txt",
                "trip_id,start_time,end_time,headway_secs\noften,08:00:00,10:00:00,600\n",
            )
            .trip("late", "s1 25:10, s2 25:20 #5")
            .trip("often", "s1 00:00, s2 00:10")
            .timetable();
        let trip = timetable.find_trip(trip).expect("the trip is there");
        let date = parse_gtfs_date("20260115").expect("a date");
        build_trip_card_timetable(&timetable, trip, date, start.and_then(parse_gtfs_time))
    }

    #[test]
    fn calls_have_names_and_times_also_past_midnight() {
        let sheet = sheet("late", None);
        // 2026-01-16 01:10 in Oslo.
        assert_eq!(sheet.calls[0].departure, Some(1_768_522_200));
        assert_eq!(sheet.calls[1].name, "Last");
        assert_eq!((sheet.calls[1].sequence, sheet.calls[1].platform.as_deref()), (5, Some("B")));
        assert_eq!(
            sheet.headsign.as_deref(),
            Some("Last"),
            "the last stop stands in for a headsign"
        );
        assert_eq!(sheet.shape, [[10.7, 59.9], [10.71, 59.91]]);
    }

    #[test]
    fn a_frequency_run_starts_at_its_start_time() {
        let sheet = sheet("often", Some("08:30:00"));
        // 2026-01-15 08:40 in Oslo.
        assert_eq!(sheet.calls[1].arrival, Some(1_768_462_800));
    }

    #[test]
    fn invalid_dates_and_times_are_refused() {
        for wrong in ["", "2026-01-15", "20261301", "x"] {
            assert_eq!(parse_gtfs_date(wrong), None, "{wrong}");
        }
        for wrong in ["", "8:30", "aa:bb:cc", "-1:00:00", "99999:00:00"] {
            assert_eq!(parse_gtfs_time(wrong), None, "{wrong}");
        }
        assert_eq!(parse_gtfs_time("25:10:05"), Some(90_605));
    }
}
