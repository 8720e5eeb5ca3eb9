//! The service day of a trip that a page offers if the trip does not run on the requested day.

use axum::response::Response;
use jiff::civil::Date;
use lineside_formats::gtfs::{Timetable, TripIdx};
use lineside_http::Refusal;
use lineside_http::app::App;
use maud::html;

use super::{links, network_names, network_page, not_found, words};

/// The most days that are searched in each direction.
const DAYS_MAX: usize = 1000;

/// Returns the service day of a trip that is nearest to a day: the first one from that day on, else the last one
/// before.
pub(super) fn find_nearest_service_day(
    timetable: &Timetable,
    trip: TripIdx,
    day: Date,
) -> Option<Date> {
    let (first, last) = timetable.service_date_range()?;
    let service = timetable.trip(trip).service;
    let is_active = |date: &Date| timetable.is_service_active(service, *date);
    let later = std::iter::successors(Some(day.max(first)), |date| date.tomorrow().ok());
    let earlier = std::iter::successors(Some(day.min(last)), |date| date.yesterday().ok());
    let next = later.take(DAYS_MAX).take_while(|date| *date <= last).find(is_active);
    next.or_else(|| earlier.take(DAYS_MAX).take_while(|date| *date >= first).find(is_active))
}

/// Returns the page for a trip that does not run on the requested day, with a link to the nearest day on which it runs.
/// `date` is `None` if the requested text is not a date.
pub(super) fn reply_trip_not_on_date(
    app: &App,
    feed: &str,
    trip_id: &str,
    date: Option<Date>,
    refusal: &Refusal,
) -> Response {
    let Ok((network, dataset)) = network_page::find_network_and_schedule(app, feed) else {
        return not_found::reply_with_refusal_page(refusal, false);
    };
    let timetable = &*dataset.timetable;
    let today = timetable.local_date_at(network.data_time_now().unix_seconds());
    let day = timetable
        .find_trip(trip_id)
        .and_then(|trip| find_nearest_service_day(timetable, trip, date.unwrap_or(today)));
    let Some(day) = day else { return not_found::reply_with_refusal_page(refusal, false) };
    let name = network_names::network_name(app, &network);
    let what = match date {
        Some(date) => {
            format!(
                "Trip {trip_id} of {name} does not run on {}.",
                words::format_date_with_weekday(date)
            )
        }
        None => refusal.message(),
    };
    let address = links::trip_page_url(
        network.id().as_str(),
        trip_id,
        &day.strftime("%Y%m%d").to_string(),
        "",
    );
    let offer = html! {
        p data-service-day=(day) {
            @if date.is_none() { "The nearest day with this trip: " }
            @else if date.is_some_and(|date| date < day) { "The next day with this trip: " }
            @else { "The last day with this trip: " }
            a.target href=(address) { (words::format_date_with_weekday(day)) }
        }
    };
    not_found::reply_not_found_with_link(&what, &offer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lineside_testkit::TestSchedule;

    #[test]
    fn the_nearest_service_day_is_the_next_one_else_the_last_one() {
        let timetable = TestSchedule::new("Europe/Oslo")
            .stop("s1", "First", 59.9, 10.7)
            .stop("s2", "Last", 59.91, 10.71)
            .service("later", "0000001", ["20240101", "20250105"])
            .service("w", "1111100", ["20240101", "20240630"])
            .trip("t", "s1 08:00, s2 08:10")
            .service("never", "0000000", ["20240101", "20240630"])
            .trip("n", "s1 08:00, s2 08:10")
            .timetable();
        let find = |trip: &str, day: Date| {
            find_nearest_service_day(&timetable, timetable.find_trip(trip).unwrap(), day)
        };
        let date = jiff::civil::date;
        assert_eq!(find("t", date(2024, 3, 9)), Some(date(2024, 3, 11)), "a Saturday");
        assert_eq!(find("t", date(2023, 5, 1)), Some(date(2024, 1, 1)), "before the timetable");
        assert_eq!(find("t", date(2024, 12, 1)), Some(date(2024, 6, 28)), "after its last day");
        assert_eq!(find("t", date(2026, 11, 28)), Some(date(2024, 6, 28)), "after the timetable");
        assert_eq!(find("n", date(2024, 3, 9)), None);
    }
}
