//! The polling of a feed, and its last failure.

use lineside_formats::Format;
use lineside_ingest::{FailureCode, FetchFailure};
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use super::super::words;
use super::{FeedView, render_fold};

impl FeedView {
    pub(super) fn poll_interval(&self) -> String {
        let config = self.feed.config();
        match (self.format(), config.poll) {
            (Some(Format::Gbfs), None) => "as often as the ttl of each file says".to_owned(),
            _ => format!(
                "every {}",
                words::format_span(config.poll_interval(self.format()).as_secs())
            ),
        }
    }

    pub(super) fn render_polling(&self) -> Markup {
        let (status, counted) = (&self.status, self.feed.status_with_files());
        let note = describe_requests(counted.fetches, counted.failures);
        let body = html! {
            dl.facts.card-body {
                dt { "Requests" } dd.numeric { (note) }
                dt { "Configured interval" } dd { (self.poll_interval()) }
                dt { "Last success" } dd { (self.render_optional_moment(status.last_success)) }
                dt { "Last attempt" } dd { (self.render_optional_moment(status.last_attempt)) }
                dt { "Next attempt" } dd { (self.render_optional_moment(status.next_poll)) }
                (self.render_rate_limit())
                @if let Some(failure) = &status.last_error {
                    dt { "Last failure" } dd { strong { (failure.code) } ": " (failure.detail) }
                    (render_progress(failure))
                }
                @if let Some(snapshot) = &self.snapshot {
                    dt { "Last good data" } dd { a href=(format!("/proxy/{}", self.feed_id())) { (words::format_bytes(u64::try_from(snapshot.bytes.len()).unwrap_or(u64::MAX))) } ", " (snapshot.content_type) }
                }
            }
        };
        render_fold("polling", "Polling", &html! { (note) }, false, &body)
    }

    fn render_optional_moment(&self, at: Option<UnixMillis>) -> Markup {
        html! {
            @match at {
                Some(at) => (self.render_moment(at)),
                None => span.soft { "not yet" },
            }
        }
    }

    /// Renders the limits on requests to the producer.
    fn render_rate_limit(&self) -> Markup {
        let config = self.feed.config();
        html! {
            @if let Some(rate) = config.rate { dt { "Rate limit" } dd.numeric { (rate) span.soft { ", shared by all feeds of its host and credential" } } }
            @if let Some(max) = config.max_concurrent_requests { dt { "Concurrent requests" } dd.numeric { (max) span.soft { ", shared by all feeds of its host" } } }
        }
    }
}

fn describe_requests(all: u64, failed: u64) -> String {
    let all_words = words::format_count(all, "request", "requests");
    match (all, failed) {
        (0, _) => "no request yet".to_owned(),
        (_, 0) => format!("{all_words}, none failed"),
        _ => format!("{all_words}, {} failed", words::format_number(failed)),
    }
}

/// Renders the phase in which the poll failed, and the reply without data.
fn render_progress(failure: &FetchFailure) -> Markup {
    html! {
        @if let Some(phase) = failure.phase {
            dt { "Failed while" }
            dd {
                (words::describe_phase(phase))
                @if let Some(status) = failure.status { ", status " (status) }
                @if failure.bytes > 0 { ", " (words::format_bytes(failure.bytes)) " received" }
            }
        }
        @if let Some(head) = &failure.head {
            dt { (words::response_heading(failure.code == FailureCode::Convert)) } dd { pre.mono.small { (head) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_failures_are_counted() {
        assert_eq!(describe_requests(0, 0), "no request yet");
        assert_eq!(describe_requests(1, 0), "1 request, none failed");
        assert_eq!(describe_requests(416, 2), "416 requests, 2 failed");
    }
}
