//! What people see: pages made on the server, readable without scripts, and alive with them.
//!
//! `layout` frames every page, `assets` serves the style and the scripts, and each page is a file:
//! `catalog`, `feed`, `versions`, `report`, `rules`, `network_index`, `networks`, `board`, `route`, `trips`, `network_alerts`, `delays`, `map`, `ops`, `docs`,
//! `login`. They ask the state of the moment and wait for nobody.

mod addresses;
mod alerts;
mod assets;
mod availability;
mod badge;
mod board;
mod board_window;
mod catalog;
mod channels;
mod context;
mod delays;
mod docs;
mod favourites;
mod feed;
mod files;
mod forms;
mod found_names;
mod icons;
mod languages;
mod layout;
mod line_times;
mod login;
mod losses;
mod map;
mod matches;
mod missing;
mod network_alerts;
mod network_index;
mod networks;
mod of_network;
mod ops;
mod parameters;
mod problems;
mod query;
mod recipes;
mod regions;
mod report;
mod route;
mod rules;
mod site_files;
mod states;
mod system;
mod trip;
mod trips;
mod validate;
mod versions;
mod words;

use std::sync::Arc;

use axum::routing::get;
use axum::{Router, middleware};
use serde_json::Value;

use crate::app::App;
use crate::http::represent_pages;

pub(crate) use context::{keep_context, provide_context};
pub(crate) use layout::not_found;
pub(crate) use login::LOGIN;
pub(crate) use parameters::{FILES, LISTS, PAGES, is_for_tracking, refuse_parameters};
pub(crate) use validate::is_for_visitors;

/// How the addresses of the dashboard begin.
pub(crate) const OPS: &str = "/ops";

/// The pages and what they load; `description` is the finished OpenAPI document.
pub(crate) fn router(app: App, description: Arc<Value>) -> Router {
    Router::new()
        .route("/", get(catalog::page))
        .route("/feeds/{feed}", get(feed::page))
        .route("/feeds/{feed}/versions", get(versions::page))
        .merge(report::pages())
        .merge(rules::router())
        .route("/stops/{feed}/{stop_id}", get(board::page))
        .route("/routes/{feed}/{route_id}", get(route::page))
        .route("/networks", get(network_index::page))
        .route("/networks/{feed}", get(networks::page))
        .route("/trips/{feed}/{trip_id}", get(trips::page))
        .route("/alerts/{feed}", get(network_alerts::page))
        .route("/map", get(map::page))
        .route("/map/counts", get(regions::counts))
        .route("/map/stop", get(map::stop))
        .route("/map/trip", get(trip::sheet))
        .merge(ops::router())
        .merge(docs::router(description))
        .layer(middleware::from_fn_with_state(app.clone(), represent_pages))
        .merge(delays::router())
        .merge(report::badges())
        .merge(login::router())
        .merge(validate::router())
        .merge(assets::router())
        .merge(site_files::router())
        .with_state(app)
}

/// The frame of every page around content from elsewhere in the program.
pub(crate) fn frame(title: &str, main: &maud::Markup) -> maud::Markup {
    let main = maud::html! { div.page { (main) } };
    layout::Page::new(title, layout::Section::Other).render(&main)
}
