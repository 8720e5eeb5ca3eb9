//! The documentation, embedded in the binary, and the API reference.
//!
//! `book` lists the chapters, `markdown` renders them, `search` finds them by their words, `api` and `schema` render
//! the OpenAPI document, whose examples exist on this server.

mod api;
mod book;
mod markdown;
mod search;
mod schema;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use axum::{Extension, Router};
use lineside_http::QueryParameters;
use lineside_http::app::App;
use lineside_http::openapi::ApiDescription;
use maud::{Markup, PreEscaped, html};

use self::book::{BOOK, BookChapter};
use super::layout::{self, NavSection, PageLayout};
use crate::not_found;

/// The address of the documentation.
const ADDRESS: &str = "/docs";
/// The address of the API reference.
const API: &str = "/docs/api";
const STYLE: &str = "docs.css";

/// Returns the routes of the documentation; `description` is the OpenAPI document.
pub(super) fn router(description: Arc<ApiDescription>) -> Router<App> {
    let to_api = || get(async || Redirect::temporary(API));
    Router::new()
        .route(ADDRESS, get(get_index))
        .route(API, get(api::get_reference))
        .route("/docs/{*path}", get(get_chapter))
        .route("/api", to_api())
        .route("/api/v1", to_api())
        .layer(Extension(description))
}

async fn get_index(parameters: QueryParameters) -> Response {
    let mut page = PageLayout::new("Documentation", NavSection::Documentation);
    page.styles = &[STYLE];
    page.description =
        Some("How to use, call and run this server: guide, protocol, operation, API.".to_owned());
    let main = html! {
        div.page {
            div.page-head {
                h1 { "Documentation" }
                p { "It describes this version, " (env!("CARGO_PKG_VERSION")) ", and is part of the server: it needs no internet." }
            }
            (search::render_search(parameters.find_value("q").unwrap_or_default()))
            div.docs-sections {
                @for section in BOOK.sections() {
                    section.card.card-body {
                        h2 { a href=(section.readme().address) { (section.readme().title) } }
                        p.soft { (section.purpose()) }
                        ul { @for chapter in section.chapters() { li { a href=(chapter.address) { (chapter.title) } } } }
                    }
                }
                section.card.card-body {
                    h2 { a href=(API) { "API reference" } }
                    p.soft { "Every address with its parameters, its replies, and an example that runs on this server." }
                    ul {
                        li { a href="/api/v1/openapi.json" { "openapi.json" } }
                        li { a href="/rules" { "Validation rules by format" } }
                        li { a href="/docs/dictionary" { "Dictionary" } }
                    }
                }
            }
        }
    };
    layout::reply_with_page(StatusCode::OK, page.render_document(&main))
}

async fn get_chapter(
    State(app): State<App>,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Response {
    // Links in files and in editors end in `.md`.
    if let Some(plain) = path.strip_suffix(".md") {
        let plain = plain.strip_suffix("/README").unwrap_or(plain);
        return Redirect::temporary(&format!("{ADDRESS}/{plain}")).into_response();
    }
    let address = format!("{ADDRESS}/{}", path.trim_end_matches('/'));
    let base = app.base_url(&headers);
    match BOOK.find_chapter(&address) {
        Some(chapter) => reply_with_chapter(chapter, &base),
        None => match book::find_rule_chapter(&address) {
            Some(rule) => reply_with_chapter(&rule, &base),
            None => {
                not_found::reply_with_not_found_page("There is no such page in the documentation.")
            }
        },
    }
}

fn reply_with_chapter(chapter: &BookChapter, base: &str) -> Response {
    let rendered = markdown::render_chapter(&chapter.file, &chapter.text, base);
    let mut page = PageLayout::new(&chapter.title, NavSection::Documentation);
    page.styles = &[STYLE];
    page.canonical = Some(chapter.address.clone());
    page.description = rendered.summary.clone();
    let (before, after) = BOOK.previous_and_next_chapter(&chapter.address);
    // The list of headings comes after the title.
    let title_end = rendered.html.find("</h1>").map_or(0, |at| at + "</h1>".len());
    let (title, rest) = rendered.html.split_at(title_end);
    let main = html! {
        div.page.docs {
            (render_navigation(&chapter.address))
            article.prose {
                (render_breadcrumbs())
                (PreEscaped(title))
                @if rendered.headings.len() > 1 {
                    nav.docs-contents aria-label="On this page" {
                        h2 { "On this page" }
                        ul {
                            @for heading in &rendered.headings {
                                li.sub[heading.level > 2].code[heading.text.starts_with('[')] { a href=(format!("#{}", heading.anchor)) { (heading.text) } }
                            }
                        }
                    }
                }
                (PreEscaped(rest))
                nav.docs-neighbors aria-label="Neighboring pages" {
                    @if let Some(before) = before { a rel="prev" href=(before.address) { "‹ " (before.title) } }
                    @if let Some(after) = after { a rel="next" href=(after.address) { (after.title) " ›" } }
                }
            }
        }
    };
    layout::reply_with_page(StatusCode::OK, page.render_document(&main))
}

/// Renders the list of all chapters; on a phone it is below the text.
fn render_navigation(present: &str) -> Markup {
    let current = |address: &str| (address == present).then_some("page");
    html! {
        nav.docs-navigation #pages aria-labelledby="pages-title" {
            h2 #pages-title { "All pages" }
            ul {
                li { a href=(API) aria-current=[current(API)] { "API reference" } }
                @for section in BOOK.sections() {
                    li {
                        a.docs-section href=(section.readme().address) aria-current=[current(&section.readme().address)] {
                            (section.readme().title)
                        }
                        ul {
                            @for chapter in section.chapters() {
                                li { a href=(chapter.address) aria-current=[current(&chapter.address)] { (chapter.title) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders a link back, and one to the list of pages if that is below the text.
fn render_breadcrumbs() -> Markup {
    html! {
        p.crumbs { a href=(ADDRESS) { "Documentation" } span.docs-to-pages { " · " a href="#pages" { "All pages" } } }
    }
}
