//! Finding stops: by name, in a box, near a place.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use lineside_formats::gtfs::{StopIdx, Timetable};
use lineside_ingest::{StopHit, StopQuery};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::list::{List, Listing, Page};
use crate::app::App;
use crate::http::aside::aside;
use crate::http::errors::{Problem, Refusal};
use crate::http::reply::{Representation, Wants};

/// Last stops that a stop is listed with.
const TOWARDS_MAX: usize = 4;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(find))
}

/// A stop or station.
#[derive(Debug, Serialize, ToSchema)]
struct StopItem {
    /// Its schedule feed.
    feed: String,
    /// `stop_id`.
    id: String,
    /// `stop_code`, which passengers see.
    code: Option<String>,
    /// Its name.
    name: String,
    /// Latitude in degrees.
    lat: Option<f64>,
    /// Longitude in degrees.
    lon: Option<f64>,
    /// GTFS `location_type`: 0 is a stop, 1 a station.
    location_type: u8,
    /// The platform, bay or stand, such as `B`.
    platform_code: Option<String>,
    /// The short names of the routes that call here.
    routes: Vec<String>,
    /// Last stops of the trips that depart here, those of most patterns first; at most four.
    towards: Vec<String>,
    /// Meters from `near`.
    distance: Option<f64>,
    /// Its departures.
    departures: String,
}

/// Stops and stations of all schedules
///
/// Without `near` the best matching names come first, with it the nearest.
#[utoipa::path(
    get, path = "/api/v1/stops", tag = "catalog",
    params(
        ("q" = Option<String>, Query, description = "Words of the name, or the code"),
        ("bbox" = Option<String>, Query, description = "`min_lon,min_lat,max_lon,max_lat` in degrees"),
        ("near" = Option<String>, Query, description = "`lat,lon` in degrees"),
        ("limit" = Option<usize>, Query, description = "Stops per page, at most 500; default 50. A page ends after 4 MiB"),
        ("offset" = Option<usize>, Query, description = "Stops to leave out; `next` has it. The first \
            1000 can be had")
    ),
    responses(
        (status = 200, description = "The stops", body = List<StopItem>),
        (status = 400, description = "`bad_parameter`", body = Problem)
    )
)]
async fn find(
    State(app): State<App>,
    Listing { parameters, link, base }: Listing,
    wants: Wants,
) -> Result<Response, Refusal> {
    let page = Page::of(&parameters)?;
    let query = StopQuery {
        text: parameters.search("q")?.map(str::to_owned),
        bbox: parameters.bounding_box()?,
        near: parameters.near()?.map(|place| (place.lat, place.lon)),
        limit: page.needs(),
    };
    let searching = app.clone();
    // A short word in a whole country's names takes some milliseconds.
    let found = aside(move || {
        let hits = searching.ingest().stops_search(&query);
        page.cut_to_bytes(hits.iter().map(|hit| item(hit, &base)), &link, StopItem::n_bytes)
    });
    let list = found.await?;
    let networks = app.ingest().networks();
    let loaded = networks.iter().filter_map(|network| network.dataset());
    let modified = loaded.map(|dataset| dataset.fetched_at).max().or(Some(app.started()));
    let reply = Representation::json(&list).modified(modified, app.now());
    Ok(reply.reply(&wants, &app).await)
}

impl StopItem {
    /// The bytes of its texts, about.
    fn n_bytes(&self) -> usize {
        let texts = [&self.feed, &self.id, &self.name, &self.departures];
        let texts = texts.into_iter().chain(&self.code).chain(&self.routes);
        texts.map(String::len).sum()
    }
}

fn item(hit: &StopHit, base: &str) -> StopItem {
    let timetable = &hit.dataset.timetable;
    let stop = timetable.stop(hit.stop);
    let feed = &hit.dataset.feed;
    let mut routes: Vec<String> = timetable
        .routes_of_stop(hit.stop)
        .map(|route| timetable.route(route).name().to_owned())
        .collect();
    routes.sort();
    routes.dedup();
    StopItem {
        feed: feed.to_string(),
        id: stop.id.to_owned(),
        code: stop.code.map(str::to_owned),
        name: stop.name.to_owned(),
        lat: stop.lat,
        lon: stop.lon,
        location_type: stop.location_type,
        platform_code: stop.platform_code.map(str::to_owned),
        routes,
        towards: last_stops(timetable, hit.stop),
        distance: hit.distance,
        departures: format!("{base}/api/v1/stops/{feed}/{}/departures", path_segment(stop.id)),
    }
}

/// The names of the last stops of the patterns that leave from a stop or station, those of most patterns first.
fn last_stops(timetable: &Timetable, stop: StopIdx) -> Vec<String> {
    let own = timetable.stop_and_descendants(stop);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for &pattern in own.iter().flat_map(|&stop| timetable.patterns_of_stop(stop)) {
        let last = timetable.stops_of_pattern(pattern).last();
        if let Some(last) = last.filter(|last| !own.contains(last)) {
            *counts.entry(timetable.stop(last).name).or_default() += 1;
        }
    }
    let mut names: Vec<(&str, usize)> = counts.into_iter().collect();
    names.sort_by_key(|&(_, count)| Reverse(count));
    names.into_iter().take(TOWARDS_MAX).map(|(name, _)| name.to_owned()).collect()
}

/// A stop's id as a segment of an address.
fn path_segment(id: &str) -> String {
    percent_encoding::utf8_percent_encode(id, percent_encoding::NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use lineside_formats::gtfs::{self, Limits, TextFiles};

    use super::*;

    const FEED: &str = "\
# agency.txt
agency_id,agency_name,agency_url,agency_timezone
a,A,https://a.example,Europe/Oslo
# routes.txt
route_id,agency_id,route_short_name,route_type
r,a,7,3
# stops.txt
stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station
s,Central,59.9,10.7,1,
p1,Central,59.9,10.7,0,s
p2,Central,59.9,10.7,0,s
n,North,59.95,10.7,0,
e,East,59.9,10.8,0,
# calendar.txt
service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
d,1,1,1,1,1,1,1,20260101,20261231
# trips.txt
route_id,service_id,trip_id
r,d,north
r,d,north-short
r,d,east
r,d,back
# stop_times.txt
trip_id,arrival_time,departure_time,stop_id,stop_sequence
north,08:00:00,08:00:00,e,1
north,08:10:00,08:10:00,p1,2
north,08:20:00,08:20:00,n,3
north-short,08:10:00,08:10:00,p1,1
north-short,08:20:00,08:20:00,n,2
east,08:00:00,08:00:00,p2,1
east,08:10:00,08:10:00,e,2
back,08:00:00,08:00:00,n,1
back,08:10:00,08:10:00,p2,2
";

    #[test]
    fn a_station_names_where_its_trips_go_and_not_itself() {
        let mut files = TextFiles::parse(FEED);
        let (timetable, _) = gtfs::load(&mut files, &Limits::default()).expect("the feed is sound");
        let towards = |id| last_stops(&timetable, timetable.find_stop(id).expect("a stop"));
        assert_eq!(towards("s"), ["North", "East"], "two patterns go north, one goes east");
        assert_eq!(towards("p2"), ["East"], "a trip that ends here goes nowhere");
        assert_eq!(towards("n"), ["Central"]);
    }
}
