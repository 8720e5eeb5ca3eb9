//! The HTML pages: rendered by the server, readable without scripts, and live with them.
//!
//! `layout` frames every page, `assets` serves the styles and the scripts, and each page is a file: `catalog`, `feed`,
//! `versions`, `report`, `rules`, `network_index`, `networks`, `board`, `line`, `trips`, `network_alerts`, `delays`,
//! `map`, `ops`, `docs`, `login`. They read the current state and never wait for a feed.

mod addresses;
mod alert_periods;
mod alert_source;
mod alert_text;
mod alerts;
mod assets;
mod availability;
mod badge;
mod board;
mod board_options;
mod board_rows;
mod board_window;
mod catalog;
mod channels;
mod delays;
mod docs;
mod favourites;
mod feed;
mod files;
mod forms;
mod name_search;
mod icons;
mod ignored_values;
mod languages;
mod badge_picture;
mod links;
mod network_names;
mod report_style;
mod report_brief;
mod stop_lines;
mod last_position;
mod layout;
mod line_directions;
mod line_estimates;
mod line_times;
mod line_vehicles;
mod login;
mod conversion_report;
mod map;
mod trip_matching;
mod not_found;
mod nearby_stops;
mod network_alerts;
mod network_index;
mod networks;
mod network_page;
mod ops;
mod parameters;
mod parameter_values;
mod problems;
mod catalog_query;
mod recipes;
mod regions;
mod report;
mod line;
mod rules;
mod site_files;
mod states;
mod system;
mod trip_alerts;
mod trip_days;
mod trip_sheet;
mod trips;
mod validate;
mod vehicle_list;
mod vehicle_selection;
mod versions;
mod words;

use std::sync::Arc;

use axum::routing::get;
use axum::{Router, middleware};
use lineside_http::add_page_etag_and_compression;
use lineside_http::app::App;
use lineside_http::openapi::ApiDescription;

pub use not_found::reply_with_not_found_page;
pub use parameter_values::list_parameter_values;
pub use parameters::reply_to_rejected_parameters;

/// Returns the routes of the pages and their assets; `description` is the OpenAPI document.
pub fn pages_router(app: App, description: Arc<ApiDescription>) -> Router {
    Router::new()
        .route("/", get(catalog::get_catalog))
        .route("/search", get(catalog::redirect_search))
        .route("/feeds/{feed}", get(feed::get_feed))
        .merge(feed::section_redirect_routes())
        .route("/feeds/{feed}/versions", get(versions::get_versions))
        .merge(report::page_routes())
        .merge(rules::router())
        .route("/stops/{feed}/{stop_id}", get(board::get_board))
        .route("/routes/{feed}/{route_id}", get(line::get_line))
        .route("/networks", get(network_index::get_networks))
        .route("/networks/{feed}", get(networks::get_network))
        .route("/trips/{feed}/{trip_id}", get(trips::get_trip))
        .route("/alerts/{feed}", get(network_alerts::get_alerts))
        .route("/map", get(map::get_map))
        .route("/map/counts", get(regions::get_network_counts))
        .route("/map/stop", get(map::get_stop_card))
        .route("/map/trip", get(trip_sheet::get_trip_card_timetable))
        .route("/map/unplaced", get(map::get_unplaced_vehicles))
        .merge(ops::router())
        .merge(docs::router(description))
        .layer(middleware::from_fn_with_state(app.clone(), add_page_etag_and_compression))
        .merge(delays::router())
        .merge(report::badge_routes())
        .merge(login::router())
        .merge(validate::router())
        .merge(assets::router())
        .merge(site_files::router())
        .with_state(app)
}

/// Renders the layout around content from elsewhere in the program.
pub fn render_in_page_layout(title: &str, main: &maud::Markup) -> maud::Markup {
    let main = maud::html! { div.page { (main) } };
    layout::PageLayout::new(title, layout::NavSection::Other).render_document(&main)
}
