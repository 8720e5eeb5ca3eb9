//! The validation results of a feed: the card of its page, a page for each permanent report, and a badge.

mod queue;
mod background_points;
mod external_report;
mod body;
mod changes;
mod messages;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::get;
use lineside_formats::Format;
use lineside_http::app::App;
use lineside_http::reply::producer_bytes_csp;
use lineside_http::{Refusal, ReplyPreferences, Representation};
use lineside_ingest::Feed;
use lineside_model::FeedState;
use lineside_quality::reports::{FeedValidationReport, ReportOutcome};
use lineside_quality::validation_tasks::{
    FindReportError, collect_external_comparisons, find_report_on_version,
};
use lineside_validate::Severity;
use maud::html;

use super::layout::{self, NavSection, PageLayout};
use super::{versions, words};
use crate::badge_picture;
use crate::not_found;
use crate::report_style;

pub(super) use self::background_points::list_background_points;
pub(super) use self::body::{render_card, render_main_error, render_upload_findings};
pub(super) use self::queue::render_pending_report_card as card_ahead;

/// The most characters of a feed's name on a badge.
const LABEL_CHARS_MAX: usize = 32;

/// Returns the address of a feed's badge.
pub(super) fn report_badge_url(id: &str) -> String {
    format!("/feeds/{id}/report.svg")
}

/// Returns the route of a report's page.
pub(super) fn page_routes() -> Router<App> {
    Router::new().route("/feeds/{feed}/versions/{file}/report", get(get_report))
}

/// Returns the route of the badge, which other sites embed.
pub(super) fn badge_routes() -> Router<App> {
    Router::new().route("/feeds/{feed}/report.svg", get(get_badge))
}

async fn get_report(
    State(app): State<App>,
    Path((id, version)): Path<(String, String)>,
) -> Response {
    let Some(feed) = app.ingest().find_feed(&id) else {
        return not_found::reply_with_not_found_page("No feed has this id.");
    };
    let report = match find_report_on_version(app.server_context(), &feed, Some(&version)).await {
        Ok(report) => report,
        Err(FindReportError::Unknown | FindReportError::BadVersion) => {
            return not_found::reply_with_not_found_page("There is no report on this version.");
        }
        Err(error) => return not_found::reply_with_refusal_page(&error.into(), false),
    };
    let others = collect_external_comparisons(app.server_context(), &feed, &report, false).await;
    let name = feed.config().display_name().to_owned();
    let title = format!("Report on {name}");
    let mut page = PageLayout::new(&title, NavSection::Catalog);
    page.styles = &[report_style::STYLE];
    page.description =
        Some(format!("Validation report on a version of {name}: findings by severity, with rows."));
    let json = format!("/api/v1/feeds/{id}/report?version={version}");
    page.alternates.push(("application/json", json));
    let zone = words::network_zone(&feed.network());
    let validity = versions::render_version_validity(&app, &feed, &version).await;
    let main = html! {
        div.page {
            div.page-head {
                p.crumbs {
                    a href="/" { "Feeds" } " / "
                    a href=(format!("/feeds/{id}")) { (name) } " / "
                    a href=(format!("/feeds/{id}/versions")) { "Versions" }
                }
                h1 { (title) }
                (validity)
            }
            (body::render_complete_report(&report, &others, &zone))
        }
    };
    layout::reply_with_page(StatusCode::OK, page.render_document(&main))
}

async fn get_badge(
    State(app): State<App>,
    Path(id): Path<String>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = app.ingest().find_feed(&id).ok_or_else(|| Refusal::UnknownFeed(id.clone()))?;
    let report = app
        .latest_reports()
        .latest_reports_of_feed(&id)
        .and_then(|reports| reports.dataset_or_realtime_report().cloned());
    let svg = draw_badge(&feed, report.as_ref());
    let kind = HeaderValue::from_static("image/svg+xml");
    let at = report.map(|report| report.at.max(feed.status().since));
    let reply = Representation::new(kind, svg).with_modified_time(at, app.now());
    let mut reply = reply.into_reply(&preferences, &app).await;
    let (policy, nothing) = producer_bytes_csp();
    reply.headers_mut().insert(policy, nothing);
    Ok(reply)
}

fn draw_badge(feed: &Feed, report: Option<&Arc<FeedValidationReport>>) -> String {
    let report = report.map(|report| &**report);
    let is_real_time = feed.format().is_some_and(Format::is_realtime);
    let is_expired = || {
        let window = feed.service_date_range();
        window.is_some_and(|it| it.end_if_passed(feed.network().data_time_now()).is_some())
    };
    let doubt = match report {
        Some(report) if is_real_time => unreliable_data_reason(feed.status().state, report),
        Some(_) if is_expired() => Some("expired"),
        _ => None,
    };
    let (badge_label, ground) = match (report, feed.status().state) {
        (None, FeedState::Failing) => ("failing".to_owned(), badge_picture::BAD),
        _ => badge_text(report, doubt),
    };
    let title = format!("{}: {badge_label}", feed.config().display_name());
    let label = shorten_label(feed.config().display_name());
    badge_picture::draw_badge(&label, &badge_label, &title, ground).into_string()
}

/// Shortens a name to the width of a badge.
fn shorten_label(name: &str) -> String {
    match name.char_indices().nth(LABEL_CHARS_MAX) {
        Some((end, _)) => format!("{}…", name[..end].trim_end()),
        None => name.to_owned(),
    }
}

/// Returns true if the last message is an old one: then its quality says nothing about the present.
fn is_last_message_stale(report: &FeedValidationReport) -> bool {
    report.findings.iter().any(|finding| finding.code == "W008")
}

/// Returns the reason why the data of a real-time feed say nothing about the present, if there is one.
fn unreliable_data_reason(state: FeedState, report: &FeedValidationReport) -> Option<&'static str> {
    match state {
        FeedState::Empty => Some("empty"),
        state if state.is_problem_state() || is_last_message_stale(report) => Some("out of date"),
        _ => None,
    }
}

/// Returns the badge's text and background. Without errors, data that say nothing about the present are called so.
fn badge_text(
    report: Option<&FeedValidationReport>,
    doubt: Option<&str>,
) -> (String, &'static str) {
    let Some(report) = report.filter(|report| report.is_validation_finished()) else {
        return ("unknown".to_owned(), badge_picture::UNKNOWN);
    };
    if matches!(report.outcome, ReportOutcome::Unreadable { .. }) {
        return ("unreadable".to_owned(), badge_picture::BAD);
    }
    // Unfinished rules may have more findings, so without any the result is unknown.
    let is_all = report.is_all_data_validated() && report.faults.is_empty();
    if let Some(doubt) = doubt.filter(|_| report.count_findings(Severity::Error) == 0) {
        return (doubt.to_owned(), badge_picture::UNKNOWN);
    }
    match (report.count_findings(Severity::Error), report.count_findings(Severity::Warning)) {
        (0, _) if !is_all => ("unknown".to_owned(), badge_picture::UNKNOWN),
        (errors, _) if !is_all => (
            format!("{} or more", words::format_count(errors, "error", "errors")),
            badge_picture::BAD,
        ),
        (0, 0) => ("valid".to_owned(), badge_picture::GOOD),
        (0, warnings) => (
            format!("valid, {}", words::format_count(warnings, "warning", "warnings")),
            badge_picture::GOOD,
        ),
        (errors, _) => (words::format_count(errors, "error", "errors"), badge_picture::BAD),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lineside_quality::reports::{FailedRule, test_report};

    #[test]
    fn a_badge_counts_errors_and_never_more_than_known() {
        let text = |report: Option<&FeedValidationReport>| badge_text(report, None).0;
        let report = |found: &[_]| test_report("a", found);
        assert_eq!(text(None), "unknown");
        assert_eq!(text(Some(&report(&[]))), "valid");
        assert_eq!(text(Some(&report(&[("a", Severity::Warning, 2)]))), "valid, 2 warnings");
        let errors = report(&[("a", Severity::Warning, 2), ("b", Severity::Error, 1)]);
        assert_eq!(text(Some(&errors)), "1 error");
        let cut = |report: FeedValidationReport| FeedValidationReport {
            outcome: ReportOutcome::CutShort {},
            ..report
        };
        let broken = |mut report: FeedValidationReport| {
            report.faults.push(FailedRule { rule: "a".to_owned(), message: String::new() });
            report
        };
        for (found, expected_text) in [
            (&[][..], "unknown"),
            (&[("a", Severity::Warning, 2)], "unknown"),
            (&[("a", Severity::Warning, 2), ("b", Severity::Error, 1)], "1 error or more"),
        ] {
            assert_eq!(text(Some(&cut(report(found)))), expected_text, "cut short {found:?}");
            assert_eq!(
                text(Some(&broken(report(found)))),
                expected_text,
                "with a fault of ours {found:?}"
            );
        }
        let frozen = report(&[("W008", Severity::Warning, 1)]);
        let doubted = |state, report: &FeedValidationReport| {
            badge_text(Some(report), unreliable_data_reason(state, report)).0
        };
        assert_eq!(doubted(FeedState::Ok, &frozen), "out of date");
        assert_eq!(doubted(FeedState::Late, &report(&[])), "out of date");
        assert_eq!(doubted(FeedState::Empty, &report(&[])), "empty");
        assert_eq!(doubted(FeedState::Empty, &errors), "1 error");
        assert_eq!(doubted(FeedState::Ok, &errors), "1 error");
        let badge_report = FeedValidationReport {
            outcome: ReportOutcome::Unfinished { words: String::new() },
            ..errors
        };
        assert_eq!(
            text(Some(&badge_report)),
            "unknown",
            "what we gave up says nothing of the data"
        );
    }
}
