//! Layers around all handlers: CORS, security headers, limits on requests, and recovery from panics.

use std::any::Any;

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use lineside_sync::real_time::RealTimeStopwatch;
use tower_http::catch_panic::CatchPanicLayer;

use super::admin;
use super::errors::{Refusal, ServerFaultMarker};
use super::limits;
use super::reply::{ReplyPreferences, Representation};
use super::{page_context, page_paths};
use crate::app::App;
use crate::http_metrics::EndpointFamily;
use crate::request_count::UncountedRequest;

/// Response headers that a page of another origin may read.
const EXPOSED: &str = "Accept-Ranges, Age, Content-Disposition, Content-Encoding, Content-Length, Content-Range, \
                       ETag, Last-Modified, Link, Retry-After, Lineside-Position, Lineside-Status";

/// HSTS for 30 days, without subdomains.
const ENCRYPTED_ONLY: &str = "max-age=2592000";

/// Marks a reply that pages of other sites may show in a frame; no other reply may be framed.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddableReplyMarker;

/// Marks a request that names no host, or several.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AmbiguousHostMarker;

/// Wraps the router in the layers that all replies share.
pub fn wrap_router(router: Router, app: &App) -> Router {
    router
        .layer(middleware::from_fn_with_state(app.clone(), page_context::run_with_page_context))
        .layer(DefaultBodyLimit::max(limits::REQUEST_BODY_BYTES_MAX))
        .layer(CatchPanicLayer::custom(reply_to_panic))
        .layer(middleware::from_fn_with_state(app.clone(), add_cors_and_security_headers))
        .layer(middleware::from_fn_with_state(app.clone(), count_requests))
}

#[expect(clippy::needless_pass_by_value, reason = "the layer passes the panic by value")]
fn reply_to_panic(panic: Box<dyn Any + Send>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = text.unwrap_or("no message"), "a request handler panicked");
    Refusal::Internal.into_response()
}

async fn count_requests(State(app): State<App>, request: Request, next: Next) -> Response {
    let stopwatch = RealTimeStopwatch::start_stopwatch();
    let template = request.extensions().get::<MatchedPath>();
    let family = EndpointFamily::for_template(template.map(MatchedPath::as_str));
    let path = template.map(|path| path.as_str().to_owned());
    let response = next.run(request).await;
    if response.extensions().get::<ServerFaultMarker>().is_some() {
        let address = path.as_deref().unwrap_or_default();
        tracing::error!(address, "a request failed with status 500");
    }
    let mut response = response;
    let count = UncountedRequest { family, duration: stopwatch.elapsed(), app };
    response.extensions_mut().insert(count);
    response
}

fn check_host_and_uri(request: &Request) -> Result<(), Refusal> {
    if request.extensions().get::<AmbiguousHostMarker>().is_some() {
        return Err(Refusal::BadHost);
    }
    let uri = request.uri();
    let length = uri.path_and_query().map_or(0, |path| path.as_str().len());
    if length > limits::URI_BYTES_MAX {
        return Err(Refusal::UriTooLong);
    }
    let text = percent_encoding::percent_decode_str(uri.path()).decode_utf8();
    text.map(|_| ()).map_err(|_| Refusal::InvalidUtf8)
}

async fn add_cors_and_security_headers(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Response {
    let host = request.headers().get(header::HOST).cloned();
    let is_public = app.config().server.cross_origin && allows_cross_origin(request.uri().path());
    let preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match check_host_and_uri(&request) {
        Ok(()) if preflight => StatusCode::NO_CONTENT.into_response(),
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let is_page = is_html_page(response.headers());
    let ancestors = match response.extensions().get::<EmbeddableReplyMarker>() {
        Some(EmbeddableReplyMarker) => "*",
        None => "'none'",
    };
    let headers = response.headers_mut();
    if is_public {
        if preflight {
            set_header(headers, header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, OPTIONS");
            set_header(headers, header::ACCESS_CONTROL_ALLOW_HEADERS, "*");
            set_header(headers, header::ACCESS_CONTROL_MAX_AGE, "86400");
        }
        set_header(headers, header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        set_header(headers, header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    if app.config().server.tls.is_some() {
        set_header(headers, header::STRICT_TRANSPORT_SECURITY, ENCRYPTED_ONLY);
    }
    set_header(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set_header(headers, header::REFERRER_POLICY, "strict-origin-when-cross-origin");
    if is_page {
        let host = host.map(|host| (header::HOST, host)).into_iter().collect();
        let policy = || page_content_security_policy(&app, &host, ancestors);
        headers.entry(header::CONTENT_SECURITY_POLICY).or_insert_with(policy);
        set_header(headers, HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
        let permissions = "geolocation=(self), camera=(), microphone=(), payment=(), usb=()";
        set_header(headers, HeaderName::from_static("permissions-policy"), permissions);
    }
    response
}

/// Returns true if pages of other sites may read the address. Uploads belong to their uploader alone, and their reports
/// reveal which hosts this server can reach.
fn allows_cross_origin(path: &str) -> bool {
    !admin::is_admin_path(path) && !page_paths::is_upload_path(path)
}

fn set_header(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}

fn is_html_page(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| kind.starts_with(b"text/html"))
}

/// Gives a page the features of every representation: an entity tag, conditional requests, a content coding.
pub async fn add_page_etag_and_compression(
    State(app): State<App>,
    preferences: ReplyPreferences,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    if response.status() != StatusCode::OK || !is_html_page(response.headers()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let embeddable = parts.extensions.remove::<EmbeddableReplyMarker>();
    let Ok(body) = axum::body::to_bytes(body, limits::PAGE_BYTES_MAX).await else {
        tracing::error!("a page is larger than {} bytes", limits::PAGE_BYTES_MAX);
        return Refusal::Internal.into_response();
    };
    let Some(kind) = parts.headers.remove(header::CONTENT_TYPE) else {
        return Refusal::Internal.into_response();
    };
    let mut reply =
        Representation::new(kind, body).mark_single_use().into_reply(&preferences, &app).await;
    // The length was that of the plain body. The page's other headers, `Cache-Control` above all, take precedence.
    parts.headers.remove(header::CONTENT_LENGTH);
    reply.headers_mut().extend(parts.headers);
    if let Some(embeddable) = embeddable {
        reply.extensions_mut().insert(embeddable);
    }
    reply
}

/// Returns the policy of this server's own pages: they may load themselves, the map's worker, and the sources of the
/// operator's map. Style attributes are allowed for the colors of routes. The WebSocket is listed explicitly, because
/// not every browser counts it as part of `'self'`; a proxy may terminate TLS, so both schemes are listed.
fn page_content_security_policy(
    app: &App,
    request_headers: &HeaderMap,
    ancestors: &str,
) -> HeaderValue {
    let base = app.base_url(request_headers);
    let host = base.split("://").nth(1).and_then(|rest| rest.split('/').next());
    // The grammar of policies has no addresses in brackets.
    let host = host.filter(|host| !host.starts_with('['));
    let own = host.map(|host| format!(" ws://{host} wss://{host}")).unwrap_or_default();
    let origins: String = app.map_origins().iter().map(|origin| format!(" {origin}")).collect();
    let policy = format!(
        "default-src 'self'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; \
         img-src 'self' data: blob:{origins}; font-src 'self'{origins}; \
         connect-src 'self'{own}{origins}; worker-src 'self' blob:; object-src 'none'; \
         base-uri 'none'; form-action 'self'; frame-ancestors {ancestors}"
    );
    HeaderValue::try_from(policy).expect("an origin and a host have only visible ASCII")
}
