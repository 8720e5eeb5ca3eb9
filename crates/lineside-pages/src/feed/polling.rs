//! The polling of a feed, and its last failure.

use std::time::Duration;

use lineside_formats::Format;
use lineside_model::{FailureCode, FeedConfig, FeedStatus, FetchFailure, SourceLocation};
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use super::super::words;
use super::FeedView;
use crate::layout::render_foldable_section;

/// The reason why the wait for the next poll is not the configured interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitReason {
    /// Polls failed.
    Failures(u32),
    /// The feed's `ttl` setting.
    MinimumTtl,
    /// The source calls its reply fresh until then.
    FreshReply,
    Unknown,
}

impl WaitReason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Failures(_) => "failures",
            Self::MinimumTtl => "ttl",
            Self::FreshReply => "fresh",
            Self::Unknown => "unknown",
        }
    }

    fn describe_wait(self, wait: Duration) -> String {
        let span = words::describe_duration((wait.as_millis() as u64 + 500) / 1_000);
        match self {
            Self::Failures(n) => {
                let failures = words::format_count(u64::from(n), "failure", "failures");
                format!("now after {span}, because of {failures}")
            }
            Self::MinimumTtl => format!("now after {span}, because of the feed’s ttl"),
            Self::FreshReply => {
                format!("now after {span}, because the source says that its reply is fresh so long")
            }
            Self::Unknown => format!("now after {span}"),
        }
    }
}

/// Returns the wait between the last poll and the next one, if it is known and differs from the configured interval.
fn find_unusual_wait(status: &FeedStatus, interval: Duration) -> Option<Duration> {
    let (last, next) = (status.last_attempt?, status.next_poll?);
    let wait = next.duration_since(last);
    // A usual wait has jitter, and the poll takes time too.
    let is_usual = interval.mul_f64(0.75)..=interval.mul_f64(1.25) + Duration::from_secs(1);
    (next > last && !is_usual.contains(&wait)).then_some(wait)
}

fn find_wait_reason(config: &FeedConfig, status: &FeedStatus, wait: Duration) -> WaitReason {
    let is_covered = |time: Option<Duration>| time.is_some_and(|time| time >= wait.mul_f64(0.9));
    match status.failures_in_a_row {
        1.. => WaitReason::Failures(status.failures_in_a_row),
        0 if is_covered(config.ttl) => WaitReason::MinimumTtl,
        0 if is_covered(status.fresh_for) => WaitReason::FreshReply,
        0 => WaitReason::Unknown,
    }
}

impl FeedView {
    /// Renders the configured poll interval, and the present wait with its reason if it differs.
    pub(super) fn render_interval(&self) -> Markup {
        let (config, status) = (self.feed.config(), &self.status);
        let interval = config.poll_interval(self.format());
        if self.format().is_some_and(Format::is_shared_mobility) && config.poll.is_none() {
            return html! { "as often as the ttl of each file says" };
        }
        if let SourceLocation::Replay { speed, .. } = config.url {
            return html! { span data-replay-speed=(speed) { "as recorded, " @if speed != 1.0 { (speed) " × as fast" } @else { "at the recorded speed" } } };
        }
        let wait = find_unusual_wait(status, interval)
            .filter(|_| !config.paused && !self.format().is_some_and(Format::is_shared_mobility));
        html! {
            "every " (words::describe_duration(interval.as_secs()))
            @if let Some(wait) = wait {
                @let reason = find_wait_reason(config, status, wait);
                span data-wait-reason=(reason.as_str()) { "; " (reason.describe_wait(wait)) }
            }
        }
    }

    pub(super) fn render_polling(&self) -> Markup {
        let (status, counted) = (&self.status, self.feed.status_including_files());
        let note = describe_request_counts(counted.fetches, counted.failures);
        let body = html! {
            dl.facts.card-body {
                dt { "Requests" } dd.numeric { (note) }
                dt { "Interval" } dd { (self.render_interval()) }
                dt { "Last success" } dd { (self.render_time_or_not_yet(status.last_success)) }
                dt { "Last attempt" } dd { (self.render_time_or_not_yet(status.last_attempt)) }
                dt { "Next attempt" } dd { (self.render_time_or_not_yet(status.next_poll)) }
                (self.render_rate_limit())
                @if let Some(failure) = &status.last_error {
                    dt { "Last failure" } dd { (failure.detail) " " span.mono.small { "(" (failure.code) ")" } }
                    (render_failure_details(failure))
                }
                @if let Some(snapshot) = &self.snapshot {
                    dt { "Last good data" } dd { a href=(format!("/proxy/{}", self.feed_id())) { (words::format_bytes(u64::try_from(snapshot.bytes.len()).unwrap_or(u64::MAX))) } ", " (snapshot.content_type) }
                }
            }
        };
        render_foldable_section("polling", "Polling", &html! { (note) }, false, &body)
    }

    fn render_time_or_not_yet(&self, at: Option<UnixMillis>) -> Markup {
        html! {
            @match at {
                Some(at) => (self.render_time_in_network_zone(at)),
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

fn describe_request_counts(all: u64, failed: u64) -> String {
    let all_words = words::format_count(all, "request", "requests");
    match (all, failed) {
        (0, _) => "no request yet".to_owned(),
        (_, 0) => format!("{all_words}, none failed"),
        _ => format!("{all_words}, {} failed", words::format_number(failed)),
    }
}

/// Renders the phase in which the poll failed, and the reply without data.
fn render_failure_details(failure: &FetchFailure) -> Markup {
    html! {
        @if let Some(phase) = failure.phase {
            dt { "Failed while" }
            dd {
                (words::describe_fetch_phase(phase))
                @if let Some(status) = failure.status { ", status " (status) }
                @if failure.bytes > 0 { ", " (words::format_bytes(failure.bytes)) " received" }
            }
        }
        @if let Some(head) = &failure.head {
            dt { (words::failed_poll_text_heading(failure.code == FailureCode::Convert)) } dd { pre.mono.small { (head) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use lineside_model::FeedId;

    use super::*;

    #[test]
    fn an_unusual_wait_has_its_reason() {
        let at = UnixMillis::from_seconds;
        let location = SourceLocation::parse("https://example.org/feed").unwrap();
        let mut config = FeedConfig::new(FeedId::new("a").unwrap(), location);
        let interval = Duration::from_secs(10);
        let status = |next| FeedStatus {
            last_attempt: Some(at(100)),
            next_poll: Some(at(next)),
            ..FeedStatus::default()
        };
        let wait_of = |status: &FeedStatus| find_unusual_wait(status, interval);
        assert_eq!(wait_of(&FeedStatus::default()), None);
        assert_eq!(wait_of(&status(110)), None);
        assert_eq!(wait_of(&status(99)), None, "the next poll is in progress");
        let slow = status(160);
        let wait = wait_of(&slow).unwrap();
        assert_eq!(wait.as_secs(), 60);
        assert_eq!(find_wait_reason(&config, &slow, wait), WaitReason::Unknown);
        let fresh = FeedStatus { fresh_for: Some(wait), ..slow.clone() };
        assert_eq!(find_wait_reason(&config, &fresh, wait), WaitReason::FreshReply);
        config.ttl = Some(wait);
        assert_eq!(find_wait_reason(&config, &fresh, wait), WaitReason::MinimumTtl);
        let failing = FeedStatus { failures_in_a_row: 3, ..slow };
        assert_eq!(find_wait_reason(&config, &failing, wait), WaitReason::Failures(3));
    }

    #[test]
    fn requests_and_failures_are_counted() {
        assert_eq!(describe_request_counts(0, 0), "no request yet");
        assert_eq!(describe_request_counts(1, 0), "1 request, none failed");
        assert_eq!(describe_request_counts(416, 2), "416 requests, 2 failed");
    }
}
