//! All routes of the server: the API, the streams, the map's files, the pages, and the demo's faults.

use std::sync::Arc;

use ::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Router, middleware};
use lineside_http::app::App;
use lineside_http::openapi::ApiDescription;
use lineside_http::{KnownParameters, Refusal, refuse_unknown_parameters};
use lineside_siri::SiriService;

use crate::demo::{self, DemoCity};

/// Builds the router of everything that the server answers: the API, the streams, the map's files and the pages.
pub(crate) fn build_router(app: &App, siri: SiriService, demo: Option<&Arc<DemoCity>>) -> Router {
    let (api, document) =
        lineside_http::documented_routes(app).merge(lineside_siri::routes(siri)).split_for_parts();
    let description = Arc::new(ApiDescription::new(&document));
    let known = Arc::new(KnownParameters::new(
        description.document(),
        lineside_pages::list_parameter_values(),
        lineside_pages::reply_to_rejected_parameters,
    ));
    let router = api
        .merge(lineside_http::openapi::router(Arc::clone(&description)))
        .merge(lineside_http::map_files::router())
        .with_state(app.clone())
        .merge(lineside_pages::pages_router(app.clone(), description))
        .merge(demo::faults_router(app, demo))
        .layer(middleware::from_fn_with_state(known, refuse_unknown_parameters))
        .method_not_allowed_fallback(async || Refusal::MethodNotAllowed)
        .fallback(reply_to_unknown_path);
    lineside_http::wrap_router(router, app)
}

async fn reply_to_unknown_path(headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok());
    if !accepted.is_some_and(|kinds| kinds.contains("text/html")) {
        return Refusal::UnknownPath.into_response();
    }
    lineside_pages::reply_with_not_found_page("No page has this address.")
}
