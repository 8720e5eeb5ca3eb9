//! What is wrong with a feed: the card of its page, a page for each report that stays, and a badge.

mod ahead;
mod around;
mod beside;
mod body;
mod brief;
mod changes;
mod messages;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::get;
use lineside_formats::Format;
use lineside_ingest::{Feed, FeedState};
use lineside_validate::Severity;
use maud::html;

use super::delays::badge;
use super::layout::{self, Page, Section};
use super::words;
use crate::app::App;
use crate::http::{Refusal, Representation, Wants, find_report, producer_policy};
use crate::reports::{Outcome, Report};
use crate::validators;

pub(super) use self::ahead::card as card_ahead;
pub(super) use self::around::around;
pub(super) use self::body::{card, of_visitor};
pub(super) use self::brief::{in_brief, in_figures};

/// The style sheet of these parts.
pub(super) const STYLE: &str = "report.css";

/// The page of a report.
pub(super) fn pages() -> Router<App> {
    Router::new().route("/feeds/{feed}/versions/{file}/report", get(page))
}

/// The badge, which stands on pages of others.
pub(super) fn badges() -> Router<App> {
    Router::new().route("/feeds/{feed}/report.svg", get(picture))
}

async fn page(State(app): State<App>, Path((id, version)): Path<(String, String)>) -> Response {
    let Some(feed) = app.ingest().feed(&id) else {
        return layout::not_found("No feed has this name.");
    };
    let report = match find_report(&app, &feed, Some(&version)).await {
        Ok(report) => report,
        Err(Refusal::UnknownReport | Refusal::BadParameter { .. }) => {
            return layout::not_found("There is no report on this version.");
        }
        Err(refusal) => return layout::refused(&refusal, false),
    };
    let others = validators::beside(&app, &feed, &report, false).await;
    let name = feed.config().display_name().to_owned();
    let title = format!("Report on {name}");
    let mut page = Page::new(&title, Section::Catalog);
    page.styles = &[STYLE];
    page.description =
        Some(format!("Validation report on a version of {name}: findings by severity, with rows."));
    let json = format!("/api/v1/feeds/{id}/report?version={version}");
    page.alternates.push(("application/json", json));
    let zone = words::zone_of(&feed.network());
    let main = html! {
        div.page {
            div.page-head {
                p.crumbs {
                    a href="/" { "Feeds" } " / "
                    a href=(format!("/feeds/{id}")) { (name) } " / "
                    a href=(format!("/feeds/{id}/versions")) { "Versions" }
                }
                h1 { (title) }
            }
            (body::whole(&report, &others, &zone))
        }
    };
    layout::reply(StatusCode::OK, page.render(&main))
}

async fn picture(
    State(app): State<App>,
    Path(id): Path<String>,
    wants: Wants,
) -> Result<Response, Refusal> {
    let feed = app.ingest().feed(&id).ok_or_else(|| Refusal::UnknownFeed(id.clone()))?;
    let report = app.reports().of(&id).and_then(|reports| reports.main().cloned());
    let svg = drawn(&feed, report.as_ref());
    let kind = HeaderValue::from_static("image/svg+xml");
    let at = report.map(|report| report.at.max(feed.status().since));
    let reply = Representation::new(kind, svg).modified(at, app.now());
    let mut reply = reply.reply(&wants, &app).await;
    let (policy, nothing) = producer_policy();
    reply.headers_mut().insert(policy, nothing);
    Ok(reply)
}

fn drawn(feed: &Feed, report: Option<&Arc<Report>>) -> String {
    let label = feed.format().map_or("data", |format| format.as_str());
    let report = report.map(|report| &**report);
    let is_real_time = feed.format().is_some_and(Format::is_real_time);
    let doubt = report.filter(|_| is_real_time).and_then(|it| doubt(feed.status().state, it));
    let (said, ground) = said(report, doubt);
    let title = format!("{}: {said}", feed.config().display_name());
    badge::drawn(label, &said, &title, ground).into_string()
}

/// Whether the last message is an old one: however well it is made, it says nothing of now.
fn is_old(report: &Report) -> bool {
    report.findings.iter().any(|finding| finding.code == "W008")
}

/// Why what a feed of real time gives says nothing of now, if it does not, however well it is made.
fn doubt(state: FeedState, report: &Report) -> Option<&'static str> {
    match state {
        FeedState::Empty => Some("empty"),
        state if state.is_trouble() || is_old(report) => Some("out of date"),
        _ => None,
    }
}

/// What the badge says, and on which ground. What says nothing of now is called so unless it is worse.
fn said(report: Option<&Report>, doubt: Option<&str>) -> (String, &'static str) {
    let Some(report) = report.filter(|report| report.is_word()) else {
        return ("unknown".to_owned(), badge::UNKNOWN);
    };
    if matches!(report.outcome, Outcome::Unreadable { .. }) {
        return ("unreadable".to_owned(), badge::BAD);
    }
    // Rules that did not look to the end may have more to say, and nothing good is known.
    let is_all = report.is_whole() && report.faults.is_empty();
    if let Some(doubt) = doubt.filter(|_| report.count(Severity::Error) == 0) {
        return (doubt.to_owned(), badge::UNKNOWN);
    }
    match (report.count(Severity::Error), report.count(Severity::Warning)) {
        (0, _) if !is_all => ("unknown".to_owned(), badge::UNKNOWN),
        (errors, _) if !is_all => {
            (format!("{} or more", words::count(errors, "error", "errors")), badge::BAD)
        }
        (0, 0) => ("valid".to_owned(), badge::GOOD),
        (0, warnings) => {
            (format!("valid, {}", words::count(warnings, "warning", "warnings")), badge::GOOD)
        }
        (errors, _) => (words::count(errors, "error", "errors"), badge::BAD),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::{Fault, test_report};

    #[test]
    fn a_badge_says_how_many_errors_there_are_and_never_more_than_is_known() {
        let text = |report: Option<&Report>| said(report, None).0;
        let report = |found: &[_]| test_report("a", found);
        assert_eq!(text(None), "unknown");
        assert_eq!(text(Some(&report(&[]))), "valid");
        assert_eq!(text(Some(&report(&[("a", Severity::Warning, 2)]))), "valid, 2 warnings");
        let errors = report(&[("a", Severity::Warning, 2), ("b", Severity::Error, 1)]);
        assert_eq!(text(Some(&errors)), "1 error");
        let cut = |report: Report| Report { outcome: Outcome::CutShort {}, ..report };
        let broken = |mut report: Report| {
            report.faults.push(Fault { rule: "a".to_owned(), message: String::new() });
            report
        };
        for (found, said) in [
            (&[][..], "unknown"),
            (&[("a", Severity::Warning, 2)], "unknown"),
            (&[("a", Severity::Warning, 2), ("b", Severity::Error, 1)], "1 error or more"),
        ] {
            assert_eq!(text(Some(&cut(report(found)))), said, "cut short {found:?}");
            assert_eq!(text(Some(&broken(report(found)))), said, "with a fault of ours {found:?}");
        }
        let frozen = report(&[("W008", Severity::Warning, 1)]);
        let doubted = |state, report: &Report| said(Some(report), doubt(state, report)).0;
        assert_eq!(doubted(FeedState::Ok, &frozen), "out of date");
        assert_eq!(doubted(FeedState::Late, &report(&[])), "out of date");
        assert_eq!(doubted(FeedState::Empty, &report(&[])), "empty");
        assert_eq!(doubted(FeedState::Empty, &errors), "1 error");
        assert_eq!(doubted(FeedState::Ok, &errors), "1 error");
        let ours = Report { outcome: Outcome::Unfinished { words: String::new() }, ..errors };
        assert_eq!(text(Some(&ours)), "unknown", "what we gave up says nothing of the data");
    }
}
