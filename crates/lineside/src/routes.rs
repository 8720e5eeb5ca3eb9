//! All routes of the server: the API, the streams, the map's files, the pages, and the demo's faults.

use std::sync::Arc;

use ::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Router, middleware};

use crate::app::App;
use crate::demo::{self, Demo};
use crate::http::{self, KnownParameters, Refusal, refuse_unknown_parameters};
use crate::pages;

/// Builds the router of everything that the server answers: the API, the streams, the map's files and the pages.
pub(crate) fn build_router(app: &App, demo: Option<&Arc<Demo>>) -> Router {
    let (api, document) = http::documented_routes(app).split_for_parts();
    let document = Arc::new(http::openapi::finish_document(&document));
    let known = Arc::new(KnownParameters::new(&document, pages::refuse_parameters));
    let router = api
        .merge(http::openapi::router(&document))
        .merge(http::map_files::router())
        .with_state(app.clone())
        .merge(pages::router(app.clone(), document))
        .merge(demo::faults_router(app, demo))
        .layer(middleware::from_fn_with_state(known, refuse_unknown_parameters))
        .method_not_allowed_fallback(async || Refusal::MethodNotAllowed)
        .fallback(reply_to_unknown_path);
    http::wrap_router(router, app)
}

async fn reply_to_unknown_path(headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok());
    if !accepted.is_some_and(|kinds| kinds.contains("text/html")) {
        return Refusal::UnknownPath.into_response();
    }
    pages::not_found_page("No page has this address.")
}
