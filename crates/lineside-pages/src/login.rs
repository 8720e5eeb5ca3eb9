//! `/login` and `/logout`: a session for the holder of the admin token.
//!
//! The forms work without scripts. A page of another origin cannot submit them: the browser states the origin of a form
//! (see `http::check_admin_table`). The redirect after a login always leads to this server.

use std::net::IpAddr;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use lineside_config::ADMIN_TOKEN_VARIABLE;
use lineside_http::admin_auth::{AdminCredential, AdminSecretRejection};
use lineside_http::app::App;
use lineside_http::page_paths::LOGIN;
use lineside_http::{QueryParameters, Refusal, admin, limits};
use maud::{Markup, html};
use url::Url;

use super::forms::read_form;
use super::layout::{self, NavSection, PageLayout};

pub(super) const LOGOUT: &str = "/logout";
/// The default redirect after a login.
const NEXT_DEFAULT: &str = lineside_http::page_paths::OPS;
/// The most bytes of a redirect's address; longer ones are ignored.
const NEXT_BYTES_MAX: usize = 2_048;

/// Returns the routes. The responses are neither cached nor compressed: they depend on a secret.
pub(super) fn router() -> Router<App> {
    Router::new().route(LOGIN, get(get_login).post(log_in)).route(LOGOUT, post(log_out))
}

/// The reason for a failed login.
#[derive(Debug, Clone, Copy)]
enum LoginFailure {
    TokenRejected(AdminSecretRejection),
    OtherOrigin,
}

/// The notice above the form.
#[derive(Debug, Clone, Copy)]
enum FormNotice {
    Failure(LoginFailure),
    /// The address has a token, and the server does not accept its token from addresses.
    LinkNotAccepted,
}

impl FormNotice {
    fn notice_code(self) -> &'static str {
        match self {
            Self::Failure(LoginFailure::TokenRejected(AdminSecretRejection::Wrong)) => {
                "wrong_token"
            }
            Self::Failure(LoginFailure::TokenRejected(AdminSecretRejection::TooOften(_))) => {
                "too_many_attempts"
            }
            Self::Failure(LoginFailure::OtherOrigin) => "other_origin",
            Self::LinkNotAccepted => "link_not_accepted",
        }
    }
}

async fn get_login(
    State(app): State<App>,
    credential: Option<AdminCredential>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let parameters = QueryParameters::parse_query(parts.uri.query().unwrap_or_default());
    let next = sanitize_redirect_target(parameters.find_value("next"));
    // The link that is printed at the start. A token set by the operator never appears in an address.
    let linked = parameters.find_value("token");
    if let Some(token) = linked.filter(|_| app.admin_auth().generated_admin_token().is_some()) {
        return start_session(&app, &parts, token, &next);
    }
    let main = match credential {
        Some(_) => render_already_logged_in(),
        None => render_form(&app, &next, linked.map(|_| FormNotice::LinkNotAccepted)),
    };
    reply_with_login_page(StatusCode::OK, &next, &main)
}

async fn log_in(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    let (parts, form) = read_form(request, limits::REQUEST_BODY_BYTES_MAX).await?;
    let next = sanitize_redirect_target(form.find_value("next"));
    if admin::is_request_from_own_page(&app, &parts.headers) == Some(false) {
        return Ok(refuse_login(&app, &next, LoginFailure::OtherOrigin));
    }
    Ok(start_session(&app, &parts, form.find_value("token").unwrap_or_default(), &next))
}

async fn log_out(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    let (parts, _) = request.into_parts();
    if admin::is_request_from_own_page(&app, &parts.headers) == Some(false) {
        return Err(Refusal::OtherOrigin);
    }
    if let Some(id) = admin::session_id_from_cookie(&parts.headers) {
        app.admin_auth().end_session(id);
    }
    Ok(redirect_with_session(&app, &parts, None, LOGIN))
}

/// Begins a session for the holder of the token, replacing the browser's previous one.
fn start_session(app: &App, parts: &Parts, token: &str, next: &str) -> Response {
    let address: IpAddr = admin::client_address(app, &parts.headers, &parts.extensions);
    if let Err(why) = app.admin_auth().check_admin_token(token, address) {
        return refuse_login(app, next, LoginFailure::TokenRejected(why));
    }
    if let Some(id) = admin::session_id_from_cookie(&parts.headers) {
        app.admin_auth().end_session(id);
    }
    let id = app.admin_auth().begin_session(address);
    redirect_with_session(app, parts, Some(&id), next)
}

/// Returns a redirect that sets or removes the session cookie.
fn redirect_with_session(app: &App, parts: &Parts, session: Option<&str>, next: &str) -> Response {
    let cookie = admin::build_session_cookie(app, &parts.headers, &parts.extensions, session);
    let no_store = HeaderValue::from_static("no-store");
    let headers = [(header::SET_COOKIE, cookie), (header::CACHE_CONTROL, no_store)];
    (headers, Redirect::to(next)).into_response()
}

fn refuse_login(app: &App, next: &str, why: LoginFailure) -> Response {
    // Status, headers and code are those of the error for API clients.
    let refusal = match why {
        LoginFailure::TokenRejected(why) => Refusal::from(why),
        LoginFailure::OtherOrigin => Refusal::OtherOrigin,
    };
    let (refusal_head, _) = refusal.into_response().into_parts();
    let mut response = reply_with_login_page(
        refusal_head.status,
        next,
        &render_form(app, next, Some(FormNotice::Failure(why))),
    );
    for name in [header::RETRY_AFTER, header::WWW_AUTHENTICATE] {
        let value = refusal_head.headers.get(&name).cloned();
        response.headers_mut().extend(value.map(|value| (name, value)));
    }
    response
}

/// Returns the target of `next` if it is an address of this server and not of the login itself.
///
/// It is parsed as a browser parses it: with dots, backslashes and control characters resolved.
pub(super) fn sanitize_redirect_target(next: Option<&str>) -> String {
    let base = Url::parse("http://lineside.invalid/").expect("a constant that is a URL");
    let next = next.filter(|next| next.len() <= NEXT_BYTES_MAX && next.starts_with('/'));
    let url = next.and_then(|next| base.join(next).ok());
    let url = url.filter(|url| url.origin() == base.origin() && !url.path().starts_with("//"));
    match url.filter(|url| ![LOGIN, LOGOUT].contains(&url.path())) {
        Some(url) => url[url::Position::BeforePath..].to_owned(),
        None => NEXT_DEFAULT.to_owned(),
    }
}

/// Redirects to the login, and from there back to `from`.
pub(super) fn redirect_to_login(from: &http::Uri) -> Response {
    let from = from.path_and_query().map_or(NEXT_DEFAULT, http::uri::PathAndQuery::as_str);
    let next: String = url::form_urlencoded::byte_serialize(from.as_bytes()).collect();
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (no_store, Redirect::to(&format!("{LOGIN}?next={next}"))).into_response()
}

/// Returns true if a login leads to the operations pages.
fn is_operations_page(next: &str) -> bool {
    next.starts_with(lineside_http::page_paths::OPS)
}

fn reply_with_login_page(status: StatusCode, next: &str, main: &Markup) -> Response {
    let section = if is_operations_page(next) { NavSection::Operation } else { NavSection::Other };
    let mut page = PageLayout::new("Log in", section);
    page.is_indexed = false;
    page.styles = &["ops.css"];
    let page = page.render_document(&html! { div.page { (main) } });
    let mut response = layout::reply_with_page(status, page);
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, no_store);
    response
}

fn render_form(app: &App, next: &str, notice: Option<FormNotice>) -> Markup {
    let is_invalid = matches!(notice, Some(FormNotice::Failure(LoginFailure::TokenRejected(_))));
    html! {
        div.page-head {
            h1 { "Log in" }
            @if is_operations_page(next) { p data-login-for="ops" { "The operations pages of this server need the admin token." } }
            @if app.admin_auth().generated_admin_token().is_some() {
                p data-token="generated" { "Enter the token that the server printed at startup." }
            } @else {
                p data-token="configured" {
                    "Enter the value of " code { "token" } " under " code { "[admin]" } " in the server’s configuration file, or of the "
                    "environment variable " code { (ADMIN_TOKEN_VARIABLE) } "."
                }
            }
        }
        form.card.card-body.stack.login method="post" action=(LOGIN) {
            @match notice {
                Some(FormNotice::Failure(why)) => p.note.bad #why role="alert" data-notice=(FormNotice::Failure(why).notice_code()) { (failure_message(why)) },
                Some(why @ FormNotice::LinkNotAccepted) => p.note #why role="alert" data-notice=(why.notice_code()) {
                    "This server does not accept a token from a link, because its operator has set the token. Enter the token here."
                },
                None => {}
            }
            input type="hidden" name="next" value=(next);
            // Password managers store a token under a name.
            input type="text" name="username" value="admin" autocomplete="username" hidden;
            div.field {
                label for="token" { "Token" }
                input.input #token type="password" name="token" autocomplete="current-password" required
                    autofocus aria-invalid=[is_invalid.then_some("true")] aria-describedby=[notice.map(|_| "why")];
            }
            div { button.button type="submit" { "Log in" } }
        }
    }
}

fn failure_message(why: LoginFailure) -> String {
    match why {
        LoginFailure::TokenRejected(AdminSecretRejection::Wrong) => "Wrong token.".to_owned(),
        LoginFailure::TokenRejected(AdminSecretRejection::TooOften(wait)) => {
            let seconds = wait.as_secs() + 1;
            format!("Too many wrong tokens from your address. Try again in {seconds} s.")
        }
        LoginFailure::OtherOrigin => {
            "The form was sent from another site. Send this one instead.".to_owned()
        }
    }
}

fn render_already_logged_in() -> Markup {
    html! {
        div.page-head {
            h1 { "You are logged in" }
            p { "The session ends by itself after some hours, and when the server restarts." }
        }
        p { a href=(lineside_http::page_paths::OPS) { "How the server is doing" } }
        form method="post" action=(LOGOUT) { button.button type="submit" { "Log out" } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_redirects_to_addresses_of_this_server() {
        for (next, expect) in [
            ("/ops", "/ops"),
            ("/ops?state=late&sort=lag#top", "/ops?state=late&sort=lag#top"),
            ("/feeds/a%2Fb", "/feeds/a%2Fb"),
            ("/a/../b", "/b"),
            ("/x?next=//example.org", "/x?next=//example.org"),
        ] {
            assert_eq!(sanitize_redirect_target(Some(next)), expect, "{next}");
        }
    }

    #[test]
    fn a_login_redirects_nowhere_else() {
        for next in [
            "",
            "ops",
            "https://example.org/",
            "//example.org",
            "///example.org",
            "/\\example.org",
            "\\\\example.org",
            "/\t/example.org",
            "/\n/example.org",
            "/.//example.org",
            "/%2e//example.org",
            "/a/..//example.org",
            "javascript:alert(1)",
            "/login",
            "/login?next=/login",
            "/logout",
        ] {
            assert_eq!(sanitize_redirect_target(Some(next)), NEXT_DEFAULT, "{next:?}");
        }
        assert_eq!(
            sanitize_redirect_target(Some(&format!("/{}", "x".repeat(NEXT_BYTES_MAX)))),
            NEXT_DEFAULT
        );
        assert_eq!(sanitize_redirect_target(None), NEXT_DEFAULT);
    }
}
