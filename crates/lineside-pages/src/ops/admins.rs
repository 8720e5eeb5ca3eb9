//! The authorization of admins on pages, and the error pages for other users.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Uri, header};
use axum::response::{IntoResponse as _, Response};
use lineside_http::Refusal;
use lineside_http::admin_auth::AdminCredential;
use lineside_http::app::App;
use lineside_http::page_paths::OPS;
use maud::html;

use crate::layout::{self, NavSection, PageLayout};
use crate::login;

/// An extractor for requests of admins. Other users are redirected to the login and back; forms from another origin are
/// rejected.
#[derive(Debug)]
pub(super) struct RequireAdmin;

impl FromRequestParts<App> for RequireAdmin {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        match <AdminCredential as FromRequestParts<App>>::from_request_parts(parts, app).await {
            Ok(_) => Ok(Self),
            Err(Refusal::NotAdmin) => {
                Err(login::redirect_to_login(&url_after_login(&parts.method, &parts.uri)))
            }
            Err(refusal) => Err(reply_with_refusal_page(refusal, OPS)),
        }
    }
}

/// Returns the address after the login: the requested page, or the page of the submitted form.
fn url_after_login(method: &Method, uri: &Uri) -> Uri {
    if method.is_safe() {
        return uri.clone();
    }
    let page: Vec<&str> = uri.path().split('/').take(PAGE_SEGMENTS).collect();
    page.join("/").parse().unwrap_or_else(|_| Uri::from_static(OPS))
}

/// Segments of `/ops/feeds/{feed}`, including the empty one before the first slash.
const PAGE_SEGMENTS: usize = 4;

/// Renders an error as a page, with the status and headers that API clients get.
pub(super) fn reply_with_refusal_page(refusal: Refusal, back: &str) -> Response {
    let message = refusal.message();
    let (refusal_head, _) = refusal.into_response().into_parts();
    let mut page = PageLayout::new("Not changed", NavSection::Operation);
    page.class = "ops-page";
    let main = html! {
        div.page {
            div.page-head {
                h1 { "Not changed" }
                p role="alert" { (message) }
            }
            p { a href=(back) { "Back" } }
        }
    };
    let mut response = layout::reply_with_page(refusal_head.status, page.render_document(&main));
    for name in [header::RETRY_AFTER, header::WWW_AUTHENTICATE] {
        let value = refusal_head.headers.get(&name).cloned();
        response.headers_mut().extend(value.map(|value| (name, value)));
    }
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &Method, from: &'static str, to: &str) {
        assert_eq!(url_after_login(method, &Uri::from_static(from)).to_string(), to);
    }

    #[test]
    fn a_login_returns_to_the_previous_page() {
        check(&Method::GET, "/ops/history?before=3", "/ops/history?before=3");
        check(&Method::POST, "/ops/feeds/a", "/ops/feeds/a");
        check(&Method::POST, "/ops/feeds/a/history/3/undo", "/ops/feeds/a");
        check(&Method::POST, "/ops/add", "/ops/add");
    }
}
