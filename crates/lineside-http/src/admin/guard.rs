//! Authentication of admins: the token in `Authorization: Bearer`, or a browser's session.
//!
//! A browser sends its cookie with every request, also with those that a foreign page makes. So a session may change
//! things only from pages of this server, according to the browser's `Sec-Fetch-Site`, or `Origin` if it does not send
//! that.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::extract::{FromRef, FromRequestParts, OptionalFromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, header};

use crate::admin_auth::{AdminCredential, AdminSecretRejection, LIFETIME};
use crate::app::App;
use crate::errors::Refusal;
use crate::proxies::PeerAddress;

/// Name of the session cookie.
const COOKIE: &str = "lineside-session";
/// Longest token or session id that is looked at, in bytes.
const CREDENTIAL_BYTES_MAX: usize = 4_096;
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

impl From<AdminSecretRejection> for Refusal {
    fn from(why: AdminSecretRejection) -> Self {
        match why {
            AdminSecretRejection::Wrong => Self::NotAdmin,
            AdminSecretRejection::TooOften(wait) => Self::TooManyAttempts(wait),
        }
    }
}

/// Middleware that admits only admins; handlers find the [`AdminCredential`] in the request's extensions.
pub(super) async fn require_admin(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let peer = PeerAddress::from_extensions(request.extensions());
    let credential = authenticate_admin(&app, request.method(), request.headers(), peer)?;
    request.extensions_mut().insert(credential);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Extracts the admin's credential, for handlers of addresses that are not only for admins, such as pages.
///
/// As an argument it refuses everyone else; `Option<AdminCredential>` is `None` for them.
impl<S> FromRequestParts<S> for AdminCredential
where
    App: FromRef<S>,
    S: Sync,
{
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        if let Some(credential) = parts.extensions.get::<Self>() {
            return Ok(*credential);
        }
        authenticate_admin(
            &App::from_ref(state),
            &parts.method,
            &parts.headers,
            PeerAddress::from_extensions(&parts.extensions),
        )
    }
}

impl<S> OptionalFromRequestParts<S> for AdminCredential
where
    App: FromRef<S>,
    S: Sync,
{
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &S,
    ) -> Result<Option<Self>, Self::Rejection> {
        Ok(<Self as FromRequestParts<S>>::from_request_parts(parts, state).await.ok())
    }
}

/// Authenticates an admin for a request that only reads.
pub(crate) fn authenticate_admin_for_reading(
    app: &App,
    headers: &HeaderMap,
    peer: PeerAddress,
) -> Result<AdminCredential, Refusal> {
    authenticate_admin(app, &Method::GET, headers, peer)
}

fn authenticate_admin(
    app: &App,
    method: &Method,
    headers: &HeaderMap,
    peer: PeerAddress,
) -> Result<AdminCredential, Refusal> {
    if let Some(token) = bearer_token(headers) {
        app.admin_auth()
            .check_admin_token(token, app.trusted_proxies().client_address(peer, headers))?;
        return Ok(AdminCredential::Token);
    }
    let id = session_id_from_cookie(headers).ok_or(Refusal::NotAdmin)?;
    let credential = app.admin_auth().find_session(id).ok_or(Refusal::NotAdmin)?;
    if !method.is_safe() && !is_request_from_own_page(app, headers).unwrap_or(false) {
        return Err(Refusal::OtherOrigin);
    }
    Ok(credential)
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let line = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = line.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && token.len() <= CREDENTIAL_BYTES_MAX).then_some(token)
}

/// Returns the session id that a browser sent, valid or not.
pub fn session_id_from_cookie(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut cookies = lines.flat_map(|line| line.split(';'));
    let id = cookies.find_map(|cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == COOKIE).then_some(value)
    });
    id.filter(|id| id.len() <= CREDENTIAL_BYTES_MAX)
}

/// Builds the `Set-Cookie` value that stores a session's id, or deletes it if `id` is `None`.
pub fn build_session_cookie(
    app: &App,
    headers: &HeaderMap,
    extensions: &Extensions,
    id: Option<&str>,
) -> HeaderValue {
    let secure =
        if is_client_connection_encrypted(app, headers, extensions) { "; Secure" } else { "" };
    let seconds = id.map_or(0, |_| LIFETIME.as_secs());
    let id = id.unwrap_or_default();
    let text = format!("{COOKIE}={id}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    HeaderValue::try_from(text).expect("a base64 id is a valid header value")
}

/// Returns true if the client's end of the connection is known to be encrypted.
fn is_client_connection_encrypted(app: &App, headers: &HeaderMap, extensions: &Extensions) -> bool {
    let server = &app.config().server;
    let is_public = server.public_url.as_ref().is_some_and(|url| url.scheme() == "https");
    let is_forwarded = || {
        app.trusted_proxies().is_forwarded_https(PeerAddress::from_extensions(extensions), headers)
    };
    server.tls.is_some() || is_public || is_forwarded()
}

/// Returns true if the browser says that a page of this server made the request; `None` if no browser sent it.
pub fn is_request_from_own_page(app: &App, headers: &HeaderMap) -> Option<bool> {
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

/// Returns true if the browser says that the address was typed or bookmarked: no page requested it.
pub(super) fn is_url_typed_or_bookmarked(headers: &HeaderMap) -> bool {
    headers.get(FETCH_SITE).is_some_and(|site| site.as_bytes() == b"none")
}

/// Returns the address of the client, behind trusted proxies if any.
pub fn client_address(app: &App, headers: &HeaderMap, extensions: &Extensions) -> IpAddr {
    app.trusted_proxies().client_address(PeerAddress::from_extensions(extensions), headers)
}
