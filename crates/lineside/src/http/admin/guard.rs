//! Who asks for what only admins may: the token in `Authorization: Bearer`, or the session of a browser.
//!
//! A browser sends its cookie along with whatever a page has it ask for. So who comes with a session may change things
//! only from our own pages, by the browser's own word: `Sec-Fetch-Site`, or `Origin` where it does not send that.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::extract::{FromRequestParts, OptionalFromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, header};

use crate::admin::{AdminCredential, LIFETIME, TokenRejection};
use crate::app::App;
use crate::http::errors::Refusal;
use crate::http::proxies::PeerAddress;

/// What a browser keeps.
const COOKIE: &str = "lineside-session";
/// The longest that is looked at of what a browser or a program shows.
const SHOWN_BYTES_MAX: usize = 4_096;
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

impl From<TokenRejection> for Refusal {
    fn from(why: TokenRejection) -> Self {
        match why {
            TokenRejection::Wrong => Self::NotAdmin,
            TokenRejection::TooOften(wait) => Self::TooManyAttempts(wait),
        }
    }
}

/// Lets only admins through; what is behind finds a [`By`] in the request's extensions.
pub(super) async fn require_admin(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let peer = PeerAddress::from_extensions(request.extensions());
    let by = identify_admin(&app, request.method(), request.headers(), peer)?;
    request.extensions_mut().insert(by);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    Ok(response)
}

/// The admin who asks, for handlers of addresses that others reach too, such as pages.
///
/// As an argument it refuses everybody else; as `Option<By>` it tells who is none.
impl FromRequestParts<App> for AdminCredential {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        if let Some(by) = parts.extensions.get::<Self>() {
            return Ok(*by);
        }
        identify_admin(
            app,
            &parts.method,
            &parts.headers,
            PeerAddress::from_extensions(&parts.extensions),
        )
    }
}

impl OptionalFromRequestParts<App> for AdminCredential {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        app: &App,
    ) -> Result<Option<Self>, Self::Rejection> {
        Ok(<Self as FromRequestParts<App>>::from_request_parts(parts, app).await.ok())
    }
}

/// The admin who would only read.
pub(crate) fn identify_reader(
    app: &App,
    headers: &HeaderMap,
    peer: PeerAddress,
) -> Result<AdminCredential, Refusal> {
    identify_admin(app, &Method::GET, headers, peer)
}

fn identify_admin(
    app: &App,
    method: &Method,
    headers: &HeaderMap,
    peer: PeerAddress,
) -> Result<AdminCredential, Refusal> {
    if let Some(token) = bearer_token(headers) {
        app.admin().check_token(token, app.trusted_proxies().client_address(peer, headers))?;
        return Ok(AdminCredential::Token);
    }
    let id = session_id(headers).ok_or(Refusal::NotAdmin)?;
    let by = app.admin().find_session(id).ok_or(Refusal::NotAdmin)?;
    if !method.is_safe() && !is_own_page(app, headers).unwrap_or(false) {
        return Err(Refusal::OtherOrigin);
    }
    Ok(by)
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let line = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = line.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && token.len() <= SHOWN_BYTES_MAX).then_some(token)
}

/// The id of the session that a browser shows, good or not.
pub(crate) fn session_id(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut cookies = lines.flat_map(|line| line.split(';'));
    let id = cookies.find_map(|cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == COOKIE).then_some(value)
    });
    id.filter(|id| id.len() <= SHOWN_BYTES_MAX)
}

/// What has a browser keep a session's id, or forget it.
pub(crate) fn session_cookie(
    app: &App,
    headers: &HeaderMap,
    extensions: &Extensions,
    id: Option<&str>,
) -> HeaderValue {
    let secure = if is_encrypted(app, headers, extensions) { "; Secure" } else { "" };
    let seconds = id.map_or(0, |_| LIFETIME.as_secs());
    let id = id.unwrap_or_default();
    let text = format!("{COOKIE}={id}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    HeaderValue::try_from(text).expect("ids are of base 64")
}

/// Whether the browser's own end of the connection is encrypted, as far as we are told.
fn is_encrypted(app: &App, headers: &HeaderMap, extensions: &Extensions) -> bool {
    let server = &app.config().server;
    let is_public = server.public_url.as_ref().is_some_and(|url| url.scheme() == "https");
    let is_forwarded =
        || app.trusted_proxies().is_https(PeerAddress::from_extensions(extensions), headers);
    server.tls.is_some() || is_public || is_forwarded()
}

/// Whether a request comes from a page of ours, by the browser's word; `None` where it is no browser's.
pub(crate) fn is_own_page(app: &App, headers: &HeaderMap) -> Option<bool> {
    if let Some(site) = headers.get(FETCH_SITE) {
        return Some(site.as_bytes() == b"same-origin");
    }
    let origin = headers.get(header::ORIGIN)?.to_str().ok()?;
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let is_host = origin.split_once("://").is_some_and(|(_, origin)| Some(origin) == host);
    let public = &app.config().server.public_url;
    let is_public = public.as_ref().is_some_and(|url| url.origin().ascii_serialization() == origin);
    Some(is_host || is_public)
}

/// Whether an address was typed, or was a bookmark, by the browser's word: no page asked for it.
pub(super) fn is_typed_address(headers: &HeaderMap) -> bool {
    headers.get(FETCH_SITE).is_some_and(|site| site.as_bytes() == b"none")
}

/// Where a request comes from.
pub(crate) fn client_address(app: &App, headers: &HeaderMap, extensions: &Extensions) -> IpAddr {
    app.trusted_proxies().client_address(PeerAddress::from_extensions(extensions), headers)
}
