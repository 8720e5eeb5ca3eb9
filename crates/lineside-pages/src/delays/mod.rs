//! `/delays/<feed>`: "Is my train late?", answered with a verdict and the details. `lineside_http::delays` computes the
//! answer once per state of the network; this module renders it as a page, as an embedded page, and as a badge.

pub(super) mod badge;
mod body;
mod charts;
mod lines;
mod unknown;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use lineside_http::app::App;
use lineside_http::delay_replies;
use lineside_http::delays::{DelayReport, DelayReportView, RenderedDelayReport};
use lineside_http::reply::producer_bytes_csp;
use lineside_http::{EmbeddableReplyMarker, QueryParameters, Refusal, ReplyPreferences};
use maud::html;

use super::layout::{NavSection, PageLayout};
use crate::not_found;

/// The interval at which a page reloads without scripts, and its script requests updates, in seconds.
const REFRESH_S: u32 = 15;

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/delays/{feed}", get(get_page))
        .route("/delays/{feed}/badge.svg", get(get_badge))
}

async fn get_page(
    State(app): State<App>,
    Path(feed): Path<String>,
    parameters: QueryParameters,
    preferences: ReplyPreferences,
) -> Response {
    let is_embedded = parameters.asks_for_embedded_page();
    let reply = match delay_replies::parse_delay_request(&app, &feed, &parameters) {
        Ok(question) if is_embedded => {
            delay_replies::reply_with_delay_report(
                &app,
                question,
                DelayReportView::Embedded,
                &preferences,
                render_embedded,
            )
            .await
        }
        Ok(question) => {
            delay_replies::reply_with_delay_report(
                &app,
                question,
                DelayReportView::Page,
                &preferences,
                render_page,
            )
            .await
        }
        Err(refusal) => Err(refusal),
    };
    match reply {
        Ok(mut reply) => {
            if is_embedded {
                reply.extensions_mut().insert(EmbeddableReplyMarker);
            }
            reply
        }
        Err(refusal) => not_found::reply_with_refusal_page(&refusal, is_embedded),
    }
}

async fn get_badge(
    State(app): State<App>,
    Path(feed): Path<String>,
    parameters: QueryParameters,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let question = delay_replies::parse_delay_request(&app, &feed, &parameters)?;
    let mut reply = delay_replies::reply_with_delay_report(
        &app,
        question,
        DelayReportView::Badge,
        &preferences,
        badge::render_badge,
    )
    .await?;
    let (policy, nothing) = producer_bytes_csp();
    reply.headers_mut().insert(policy, nothing);
    Ok(reply)
}

fn render_page(answer: &DelayReport) -> RenderedDelayReport {
    render_document(answer, false)
}

fn render_embedded(answer: &DelayReport) -> RenderedDelayReport {
    render_document(answer, true)
}

fn render_document(answer: &DelayReport, is_embedded: bool) -> RenderedDelayReport {
    let title = body::page_title(answer);
    let mut page = PageLayout::new(&title, NavSection::Networks);
    page.is_shared = true;
    page.canonical = Some(body::delays_page_url(answer));
    page.styles = &["delays.css"];
    page.scripts = &["delays.js"];
    page.refresh = Some(REFRESH_S);
    page.description = Some(format!(
        "{title}: trips that are late now, and the share on time by line and by day."
    ));
    page.is_embedded = is_embedded;
    page.alternates.push(("application/json", body::delays_api_url(answer)));
    let main = html! {
        div.page.delays #delays data-refresh=(REFRESH_S) { (body::render_delay_report(answer, is_embedded)) }
    };
    RenderedDelayReport::new(
        "text/html; charset=utf-8",
        page.render_document(&main).into_string(),
        answer.made_at,
    )
}
