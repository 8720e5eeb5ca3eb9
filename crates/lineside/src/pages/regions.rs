//! The networks that the map can jump to: their names, their places, and how many vehicles and stations each has.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use lineside_ingest::{Bounds, Network};
use maud::{Markup, html};
use serde::Serialize;

use super::{map, of_network, words};
use crate::app::App;
use crate::delays::is_of_alerts;

/// A network with a place on the map.
#[derive(Debug, Serialize)]
pub(super) struct Region {
    /// The network's id.
    pub(super) id: String,
    pub(super) name: String,
    feeds: Vec<String>,
    /// Its real-time feeds that move vehicles or predict times, and its rental systems. Alerts and the timetable are not live.
    live: Vec<String>,
    bounds: Bounds,
    /// Transit vehicles, and rental vehicles that stand free.
    vehicles: usize,
    /// Rental stations.
    stations: usize,
}

/// All networks whose place is known, those with most vehicles first.
pub(super) fn list_regions(app: &App) -> Vec<Region> {
    let networks = app.ingest().networks();
    let mut regions: Vec<Region> =
        networks.iter().filter_map(|network| region_of_network(app, network)).collect();
    regions.sort_by(|a, b| {
        let by_size = (b.vehicles, b.stations).cmp(&(a.vehicles, a.stations));
        by_size.then_with(|| a.name.cmp(&b.name)).then_with(|| a.id.cmp(&b.id))
    });
    regions
}

fn region_of_network(app: &App, network: &Network) -> Option<Region> {
    let bounds = map::bounds_of_network(network)?;
    let counts = count_network(network);
    let real_time = network.realtime_feeds().into_iter().filter(|feed| !is_of_alerts(app, feed));
    Some(Region {
        id: network.id().as_str().to_owned(),
        name: of_network::name(app, network),
        feeds: network.feeds().iter().map(|feed| feed.id().as_str().to_owned()).collect(),
        live: real_time.map(|feed| feed.id().as_str().to_owned()).collect(),
        bounds,
        vehicles: counts.vehicles,
        stations: counts.stations,
    })
}

/// The numbers of a network, for the panel and the bubbles.
#[derive(Debug, Serialize)]
struct NetworkCounts {
    id: String,
    vehicles: usize,
    stations: usize,
}

fn count_network(network: &Network) -> NetworkCounts {
    let state = network.state();
    NetworkCounts {
        id: network.id().as_str().to_owned(),
        vehicles: state.vehicles().count() + state.rental_vehicles().count(),
        stations: state.stations().count(),
    }
}

/// `/map/counts`: how many vehicles and stations each network has.
pub(super) async fn counts(State(app): State<App>) -> Response {
    let networks = app.ingest().networks();
    let counts: Vec<NetworkCounts> = networks.iter().map(|it| count_network(it)).collect();
    Json(counts).into_response()
}

/// Links to every network on the map, with counts; nothing where there is only one.
pub(super) fn links_to_regions(regions: &[Region], chosen: Option<&str>) -> Markup {
    html! {
        @if regions.len() > 1 {
            nav.regions aria-label="Networks" {
                ul {
                    @for region in regions {
                        li {
                            a href=(format!("/map?network={}", map::query_value(&region.id))) data-region=(region.id)
                                aria-current=[(chosen == Some(region.id.as_str())).then_some("true")] {
                                (region.name) " " span.region-count { (region.count_words()) }
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Region {
    /// The number of vehicles, else of stations; empty where there is neither.
    fn count_words(&self) -> String {
        let count = if self.vehicles > 0 { self.vehicles } else { self.stations };
        if count > 0 { words::number(count as u64) } else { String::new() }
    }
}
