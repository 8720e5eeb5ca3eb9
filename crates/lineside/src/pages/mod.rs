//! What people see: pages made on the server, readable without scripts, and alive with them.
//!
//! `layout` frames every page, `assets` serves the style and the scripts, and each page is a file:
//! `catalog`, `feed`, `versions`, `report`, `board`, `route`, `delays`, `map`, `ops`, `login`. They ask the state of the moment and wait for nobody.

mod addresses;
mod alerts;
mod assets;
mod availability;
mod badge;
mod board;
mod catalog;
mod channels;
mod delays;
mod feed;
mod files;
mod forms;
mod found_names;
mod icons;
mod languages;
mod layout;
mod login;
mod losses;
mod map;
mod matches;
mod of_network;
mod ops;
mod problems;
mod query;
mod recipes;
mod report;
mod route;
mod states;
mod system;
mod trip;
mod validate;
mod versions;
mod words;

use axum::routing::get;
use axum::{Router, middleware};

use crate::app::App;
use crate::http::represent_pages;

pub(crate) use login::LOGIN;
pub(crate) use validate::is_for_visitors;

/// How the addresses of the dashboard begin.
pub(crate) const OPS: &str = "/ops";

/// The pages and what they load.
pub(crate) fn router(app: App) -> Router {
    Router::new()
        .route("/", get(catalog::page))
        .route("/feeds/{feed}", get(feed::page))
        .route("/feeds/{feed}/versions", get(versions::page))
        .merge(report::pages())
        .route("/stops/{feed}/{stop_id}", get(board::page))
        .route("/routes/{feed}/{route_id}", get(route::page))
        .route("/map", get(map::page))
        .route("/map/stop", get(map::stop))
        .route("/map/trip", get(trip::sheet))
        .merge(ops::router())
        .layer(middleware::from_fn_with_state(app.clone(), represent_pages))
        .merge(delays::router())
        .merge(report::badges())
        .merge(login::router())
        .merge(validate::router())
        .merge(assets::router())
        .with_state(app)
}

/// The frame of every page around content from elsewhere in the program.
pub(crate) fn frame(title: &str, main: &maud::Markup) -> maud::Markup {
    let main = maud::html! { div.page { (main) } };
    layout::Page::new(title, layout::Section::Other).render(&main)
}
