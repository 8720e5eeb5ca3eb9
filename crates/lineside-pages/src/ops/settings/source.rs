//! The result of one request to a feed's source, shown before the feed is applied.

use lineside_http::admin::{source_test_timeout_message, test_source_with_timeout};
use lineside_http::app::App;
use lineside_http::settings::EditOutcome;
use lineside_ingest::{SourceTestFailure, SourceTestResult};
use lineside_model::FeedConfig;
use maud::{Markup, html};

use super::{PressedButton, PreviewOutcome};
use crate::words;

/// The result of a test; `None` on timeout.
pub(super) type SourceTestOutcome = Option<Result<SourceTestResult, SourceTestFailure>>;

/// Requests the source of a feed once.
pub(super) async fn run_source_test(app: &App, config: FeedConfig) -> SourceTestOutcome {
    test_source_with_timeout(app, config).await
}

/// Returns the outcome of a valid form that is not applied yet. A preview also tests the source if the feed would
/// request it differently than before (`is_requested_otherwise`).
pub(super) async fn preview_or_test(
    app: &App,
    mut outcome: EditOutcome,
    button: PressedButton,
    is_requested_otherwise: bool,
) -> PreviewOutcome {
    let is_tested = button == PressedButton::Test || is_requested_otherwise;
    match outcome.new_config.take().filter(|_| is_tested) {
        Some(config) => PreviewOutcome::Tested(Some(outcome), run_source_test(app, *config).await),
        None => PreviewOutcome::Tried(outcome),
    }
}

/// Renders the result of a test.
pub(super) fn render_result(result: &SourceTestOutcome) -> Markup {
    html! {
        section.card.preview #source-test aria-labelledby="source-test-title" {
            h2 #source-test-title tabindex="-1" autofocus {
                @match result {
                    Some(Ok(_)) => "The source works",
                    Some(Err(SourceTestFailure::Failed(_))) | None => "The source does not work",
                    Some(Err(_)) => "The source was not tested",
                }
            }
            div.card-body {
                @match result {
                    Some(Ok(test)) => dl.facts { (render_test_facts(test)) },
                    Some(Err(SourceTestFailure::Failed(failure))) => dl.facts {
                        dt { "Failure" } dd { (failure.detail) " (" code { (failure.code) } ")" }
                        @if let Some(phase) = failure.phase { dt { "While" } dd { (words::describe_fetch_phase(phase)) } }
                        @if let Some(status) = failure.status { dt { "Status" } dd { (status) } }
                        @if failure.bytes > 0 { dt { "Size" } dd { (words::format_bytes(failure.bytes)) } }
                    },
                    Some(Err(why)) => p { (why) },
                    None => p { (source_test_timeout_message()) },
                }
            }
        }
    }
}

fn render_test_facts(test: &SourceTestResult) -> Markup {
    let contents: Vec<String> = test
        .contents
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(kind, n)| format!("{} {kind}", words::format_number(*n)))
        .collect();
    html! {
        @if let Some(status) = test.status { dt { "Status" } dd { (status) } }
        dt { "Format" } dd {
            @match test.format { Some(format) => (format.as_str()), None => "not recognised" }
            @if let Some(kind) = &test.content_type { " (" code { (kind) } ")" }
            @if test.format.is_none_or(lineside_formats::Format::is_raw) {
                p.soft.small data-hint="raw" {
                    "Lineside serves these bytes unchanged, and neither reads nor validates them. If this is a GBFS system, choose that format."
                }
            }
        }
        dt { "Size" } dd { (words::format_bytes(test.bytes)) " in " (words::format_short_duration(test.took.as_secs_f64())) }
        @if !test.contents.is_empty() {
            dt { "Contents" } dd { @if contents.is_empty() { "nothing" } @else { (contents.join(", ")) } }
        }
        @if test.problems > 0 { dt { "Unreadable data" } dd { (words::format_count(test.problems, "record or value", "records or values")) } }
        @if let Some(at) = test.data_time { dt { "Updated" } dd { (super::super::render_utc(at)) " UTC" } }
    }
}
