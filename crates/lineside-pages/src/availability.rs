//! The availability section of a feed's page: two timelines, one for its source and one for what this server served,
//! over a day and over 30 days, with failed polls and incidents. They show whose fault an outage was.
//!
//! The height of a bar shows the state, and a text names it: colour only repeats it.

use std::time::Duration;

use jiff::tz::TimeZone;
use lineside_model::{
    ArchiveError, ArchiveSpan, FailureCode, FeedAvailabilityTimelines, FeedId, FeedStatePeriod,
    FeedStatus, PollArchive, PollFailure, PollQuery, PollRecord, ServedContentState,
    SourceAvailability, StatePeriod,
};
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use super::{states, words};
use crate::layout::render_foldable_section;

/// Failed polls that the page lists; the API returns all of them.
const FAILED_SHOWN_MAX: usize = 10;
/// Incidents that the page lists.
const INCIDENTS_SHOWN_MAX: usize = 10;
/// Shorter periods of a state are not listed.
const SHOWN_PERIOD_MIN: Duration = Duration::from_secs(5);
/// The height of a timeline, in its own units.
const HEIGHT: u32 = 12;
/// The length of a timeline, in the same units. Milliseconds would be too many: beyond 33,554,431 Chromium draws all
/// bars at one place.
const LENGTH: i64 = 100_000;
/// The least width of an outage is the timeline's length divided by this, so that it is visible.
const VISIBLE_PARTS: i64 = 300;

/// The past of a feed as shown on its page.
#[derive(Debug)]
pub(super) struct AvailabilityHistory {
    spans: Vec<FeedAvailabilityTimelines>,
    failed: Vec<PollRecord>,
    incidents: Vec<FeedStatePeriod>,
}

impl AvailabilityHistory {
    /// Reads the history; may block.
    pub(super) fn from_archive(
        archive: &dyn PollArchive,
        feed: &FeedId,
        now: UnixMillis,
    ) -> Result<Self, ArchiveError> {
        let from = ArchiveSpan::Month.first_bin_start(now);
        let failed = PollQuery { from, only_failed: true, offset: 0, limit: FAILED_SHOWN_MAX };
        let spans = ArchiveSpan::ALL
            .map(|span| FeedAvailabilityTimelines::read_from_archive(archive, feed, span, now));
        Ok(Self {
            spans: spans.into_iter().collect::<Result<_, _>>()?,
            failed: archive.list_polls(feed, failed)?,
            incidents: archive.list_feed_state_periods(feed, from, INCIDENTS_SHOWN_MAX)?,
        })
    }

    /// Sets the beginning of the current period to that of the state on the same page, and removes periods that a
    /// reader would take for a contradiction: those within the current one, and those of a moment, such as "OK" between
    /// the first poll and the end of loading.
    pub(super) fn align_with_status(&mut self, status: &FeedStatus) {
        for incident in &mut self.incidents {
            align_current_incident(incident, status);
        }
        let is_current = |period: &&FeedStatePeriod| period.ended.is_none();
        let current_start = self.incidents.iter().find(is_current).map(|period| period.began);
        self.incidents.retain(|period| {
            period.ended.is_none_or(|ended| {
                ended.duration_since(period.began) >= SHOWN_PERIOD_MIN
                    && current_start.is_none_or(|start| period.began < start)
            })
        });
    }

    /// Describes the source's answers in the last 24 hours.
    pub(super) fn describe_last_day_requests(&self) -> String {
        self.spans.first().map_or_else(|| "unknown".to_owned(), describe_answered_requests)
    }
}

/// Gives the current incident the beginning and the reason of the feed's state. The archive has those of the moment
/// when the server noticed it: an expired timetable expired after its last day, and a reason may change.
pub(super) fn align_current_incident(incident: &mut FeedStatePeriod, status: &FeedStatus) {
    if incident.ended.is_none() && incident.state == status.state {
        incident.began = status.since;
        incident.reason.clone_from(&status.reason);
    }
}

/// Renders the section on a feed's past, which may be unreadable at the moment.
pub(super) fn render_availability_card(
    id: &str,
    past: Option<&AvailabilityHistory>,
    zone: &TimeZone,
) -> Markup {
    let body = html! {
        @match past {
            None => p.card-body.soft { "The history cannot be read at the moment. The feed is polled and served all the same." },
            Some(past) => {
                div.card-body.stack {
                    @for span in past.spans.iter().filter(|span| !records_span_under_day(span)) { (render_timelines_for_span(span, zone)) }
                    @if let Some(since) = past.spans.last().and_then(first_record_time) {
                        p.soft.small { "Recorded since " (words::render_time_with_zone(since, zone)) "." }
                    }
                    (render_legend())
                }
                (render_incidents(&past.incidents, zone))
                (render_failed_polls(&past.failed, zone))
            }
        }
        p.card-body.small {
            a href=(format!("/api/v1/feeds/{id}/availability")) { "JSON" } " · "
            a href=(format!("/feeds/{id}/availability.csv")) { "CSV" } " · "
            a href=(format!("/feeds/{id}/incidents.atom")) { "Atom" }
        }
    };
    let note = past.map(AvailabilityHistory::describe_last_day_requests).unwrap_or_default();
    render_foldable_section("availability", "Availability", &html! { (note) }, false, &body)
}

/// Returns the beginning of the records, if it is within the span: before it the source was off.
fn first_record_time(shown: &FeedAvailabilityTimelines) -> Option<UnixMillis> {
    let first = shown.source.first().filter(|first| first.state == SourceAvailability::Off)?;
    (shown.source.len() > 1).then_some(first.until)
}

/// Returns true if the records of a month are shorter than a day, so that the shorter span shows all of them.
fn records_span_under_day(shown: &FeedAvailabilityTimelines) -> bool {
    let day = i64::try_from(ArchiveSpan::Day.total_duration().as_millis()).unwrap_or(i64::MAX);
    shown.span == ArchiveSpan::Month
        && first_record_time(shown).is_some_and(|strip_start| shown.until.0 - strip_start.0 < day)
}

/// Returns the start of a span's axis: a first day is drawn from its first record.
fn axis_start(shown: &FeedAvailabilityTimelines) -> UnixMillis {
    match shown.span {
        ArchiveSpan::Day => first_record_time(shown).unwrap_or(shown.from),
        ArchiveSpan::Month => shown.from,
    }
}

fn render_timelines_for_span(shown: &FeedAvailabilityTimelines, zone: &TimeZone) -> Markup {
    let title = match shown.span {
        ArchiveSpan::Day if first_record_time(shown).is_some() => "Since the first record",
        ArchiveSpan::Day => "The last 24 hours",
        ArchiveSpan::Month => "The last 30 days",
    };
    html! {
        div.strips {
            h3 { (title) }
            (render_state_timeline("Source", shown, &shown.source, source_bar_style, &describe_source_availability(shown)))
            (render_state_timeline("Served", shown, &shown.serving, serving_bar_style, &describe_served_data(shown)))
            p.strip-ends.soft.small { (words::render_time_with_zone(axis_start(shown), zone)) span { "now" } }
        }
    }
}

/// Renders a timeline, its description, and the description again for screen readers.
fn render_state_timeline<S: Copy>(
    name: &str,
    shown: &FeedAvailabilityTimelines,
    stretches: &[StatePeriod<S>],
    sign: fn(S) -> (&'static str, u32),
    label: &str,
) -> Markup {
    let start = axis_start(shown).0;
    let length = (shown.until.0 - start).max(1);
    let bar_position = |at: UnixMillis| (at.0 - start).clamp(0, length) * LENGTH / length;
    let width_min = LENGTH / VISIBLE_PARTS;
    let is_trouble = |height: u32| height > 1 && height < HEIGHT;
    // Bars of trouble are drawn last and the worst at the end, because they may be widened over their neighbours.
    let mut drawn: Vec<_> = stretches.iter().collect();
    drawn.sort_by_key(|stretch| {
        let (_, height) = sign(stretch.state);
        (is_trouble(height), std::cmp::Reverse(height))
    });
    html! {
        div.strip-row {
            span.strip-name { (name) }
            svg.strip viewBox=(format!("0 0 {LENGTH} {HEIGHT}")) preserveAspectRatio="none" role="img"
                aria-label=(format!("{name}: {label}")) {
                @for stretch in drawn {
                    @let (class, height) = sign(stretch.state);
                    @let (from, until) = (bar_position(stretch.from), bar_position(stretch.until));
                    @let width = (until - from).max(if is_trouble(height) { width_min } else { 0 });
                    @let x = from.min(LENGTH - width).max(0);
                    // Nothing good is visible behind trouble.
                    @if height < HEIGHT { rect.strip-ground x=(x) y="0" width=(width) height=(HEIGHT) {} }
                    rect class=(format!("strip-{class}")) x=(x) y=(HEIGHT - height) width=(width) height=(height) {}
                }
            }
            span.strip-said.small { (label) }
        }
    }
}

/// Returns the class and the height of a bar.
fn source_bar_style(state: SourceAvailability) -> (&'static str, u32) {
    match state {
        SourceAvailability::Answered => ("good", HEIGHT),
        SourceAvailability::Mixed => ("warn", 8),
        SourceAvailability::Failed => ("bad", 4),
        SourceAvailability::Paused | SourceAvailability::Off => ("off", 1),
        SourceAvailability::Unknown => ("unknown", 1),
    }
}

fn serving_bar_style(state: ServedContentState) -> (&'static str, u32) {
    match state {
        ServedContentState::Fresh => ("good", HEIGHT),
        ServedContentState::Stale => ("warn", 8),
        ServedContentState::Mixed => ("bad", 5),
        ServedContentState::Nothing => ("bad", 3),
        ServedContentState::Off => ("off", 1),
        ServedContentState::Unknown => ("unknown", 1),
    }
}

/// Describes how many requests were answered.
fn describe_answered_requests(shown: &FeedAvailabilityTimelines) -> String {
    let polls: u64 = shown.source.iter().map(|stretch| stretch.polls).sum();
    let failed: u64 = shown.source.iter().map(|stretch| stretch.failed).sum();
    match (polls, failed) {
        (0, _) => "no requests".to_owned(),
        (1, 0) => "answered 1 request".to_owned(),
        (_, 0) => format!("answered all {} requests", words::format_number(polls)),
        _ => format!(
            "{} of {} requests failed",
            words::format_number(failed),
            words::format_number(polls)
        ),
    }
}

fn describe_source_availability(shown: &FeedAvailabilityTimelines) -> String {
    let mut source_text = describe_answered_requests(shown);
    let paused = seconds_in(&shown.source, |state| state == SourceAvailability::Paused);
    if paused > 0 {
        source_text = format!("{source_text}; paused for {}", words::describe_duration(paused));
    }
    // Before the first record there was no server that could be off.
    let before = first_record_time(shown)
        .map_or(0, |strip_start| strip_start.duration_since(shown.from).as_secs());
    let off =
        seconds_in(&shown.source, |state| state == SourceAvailability::Off).saturating_sub(before);
    if off > 0 && shown.source.len() > 1 {
        source_text = format!("{source_text}; server off for {}", words::describe_duration(off));
    }
    source_text
}

fn describe_served_data(shown: &FeedAvailabilityTimelines) -> String {
    let kinds = [
        ("newest reply", ServedContentState::Fresh),
        ("last good data", ServedContentState::Stale),
        ("partly no data", ServedContentState::Mixed),
        ("no data", ServedContentState::Nothing),
    ];
    let parts = kinds.into_iter().filter_map(|(word, kind)| {
        let seconds = seconds_in(&shown.serving, |state| state == kind);
        (seconds > 0).then(|| format!("{word} for {}", words::describe_duration(seconds)))
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "nothing yet".to_owned() } else { parts.join(", ") }
}

/// Returns the seconds of the stretches in matching states.
fn seconds_in<S: Copy>(stretches: &[StatePeriod<S>], is_met: impl Fn(S) -> bool) -> u64 {
    let lengths = stretches.iter().filter(|stretch| is_met(stretch.state));
    lengths.map(|stretch| stretch.until.duration_since(stretch.from).as_secs()).sum()
}

fn render_legend() -> Markup {
    let source = [
        ("good", HEIGHT, "answered"),
        ("warn", 8, "answered partly"),
        ("bad", 4, "failed"),
        ("off", 1, "paused, or server off"),
    ];
    let served = [
        ("good", HEIGHT, "newest reply"),
        ("warn", 8, "last good data"),
        ("bad", 4, "no data"),
        ("off", 1, "server off"),
    ];
    html! {
        @for (name, signs) in [("Source", source), ("Served", served)] {
            ul.strip-legend.small {
                li { (name) ":" }
                @for (class, height, means) in signs {
                    li {
                        svg viewBox=(format!("0 0 {HEIGHT} {HEIGHT}")) aria-hidden="true" {
                            rect class=(format!("strip-{class}")) x="0" y=(HEIGHT - height) width=(HEIGHT) height=(height) {}
                        }
                        (means)
                    }
                }
            }
        }
    }
}

fn render_incidents(incidents: &[FeedStatePeriod], zone: &TimeZone) -> Markup {
    html! {
        @if !incidents.is_empty() {
            details.past {
                summary { "History" }
                ul {
                    @for incident in incidents {
                        li {
                            (states::render_static_state(incident.state)) " "
                            (words::render_time_with_zone(incident.began, zone)) " to "
                            @match incident.ended {
                                Some(ended) => (words::render_time_with_zone(ended, zone)),
                                None => "now",
                            }
                            ": " (incident.reason)
                        }
                    }
                }
            }
        }
    }
}

fn render_failed_polls(polls: &[PollRecord], zone: &TimeZone) -> Markup {
    html! {
        @if !polls.is_empty() {
            details.past {
                summary { "Recent failures" }
                ul {
                    @for poll in polls {
                        li {
                            (words::render_time_with_zone(poll.at, zone)) ": "
                            @if let Some(failure) = &poll.failure {
                                (failure.message)
                                " " span.mono.small { "(" (poll.outcome) ")" }
                                span.soft { " (" (describe_poll_failure(poll, failure)) ")" }
                                @if let Some(head) = &failure.head {
                                    details { summary { (words::failed_poll_text_heading(failed_in_converter(poll))) } pre.mono.small { (head) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns true if the stored text of a failed poll is the output of a converter.
fn failed_in_converter(poll: &PollRecord) -> bool {
    poll.outcome == FailureCode::Convert.to_string().as_str()
}

/// Describes the phase in which a poll failed, its duration, and the bytes received.
fn describe_poll_failure(poll: &PollRecord, failure: &PollFailure) -> String {
    let mut text = failure
        .phase
        .map(|phase| format!("{}, ", words::describe_fetch_phase(phase)))
        .unwrap_or_default();
    text += &format!("after {:.1} s", poll.took.as_secs_f64());
    if poll.bytes > 0 {
        text += &format!(", {} received", words::format_bytes(poll.bytes));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lineside_model::{FeedState, FetchPhase, MemoryArchive, ServedContentFreshness};
    use lineside_sync::{Clock as _, SimulatedClock};

    use super::*;

    #[test]
    fn periods_of_a_moment_or_within_the_current_one_are_not_listed() {
        let period = |state, began, ended: Option<i64>| FeedStatePeriod {
            state,
            reason: String::new(),
            began: UnixMillis(began),
            ended: ended.map(UnixMillis),
        };
        let mut history = AvailabilityHistory {
            spans: Vec::new(),
            failed: Vec::new(),
            incidents: vec![
                period(FeedState::Expired, 900_000, None),
                period(FeedState::Ok, 600_000, Some(900_000)),
                period(FeedState::Failing, 500_000, Some(500_004)),
                period(FeedState::Stale, 100_000, Some(300_000)),
            ],
        };
        let status = FeedStatus {
            state: FeedState::Expired,
            reason: "ended".to_owned(),
            since: UnixMillis(400_000),
            ..FeedStatus::default()
        };
        history.align_with_status(&status);
        let listed: Vec<_> = history.incidents.iter().map(|it| (it.state, it.began.0)).collect();
        assert_eq!(listed, [(FeedState::Expired, 400_000), (FeedState::Stale, 100_000)]);
        assert_eq!(history.incidents[0].reason, "ended");
    }

    #[test]
    fn an_outage_is_described_in_words_and_drawn() {
        let clock = Arc::new(SimulatedClock::new(UnixMillis(1_772_607_600_000)));
        let archive = MemoryArchive::new(Arc::<SimulatedClock>::clone(&clock));
        let feed = FeedId::new("city").unwrap();
        for minute in 0..10 {
            let failed = minute == 4;
            let poll = PollRecord {
                at: clock.wall_time(),
                took: Duration::from_millis(1_500),
                bytes: 9,
                outcome: if failed { "http_502".into() } else { "new".into() },
                failure: failed.then(|| PollFailure {
                    message: "the server returned <502>".to_owned(),
                    phase: Some(FetchPhase::Wait),
                    status: Some(502),
                    head: Some("<h1>Bad</h1>".to_owned()),
                }),
                serving: if failed {
                    ServedContentFreshness::Stale
                } else {
                    ServedContentFreshness::Fresh
                },
            };
            archive.record_poll(&feed, poll);
            clock.advance_time(Duration::from_secs(60));
        }
        archive.record_feed_state_change(&feed, FeedState::Stale, "http_502", clock.wall_time());
        let past = AvailabilityHistory::from_archive(&archive, &feed, clock.wall_time()).unwrap();
        let text = render_availability_card("city", Some(&past), &TimeZone::UTC).into_string();
        assert!(text.contains("aria-label=\"Source: 1 of 10 requests failed\""));
        assert!(text.contains("last good data for 60 seconds"), "{text}");
        // One of each per line of the legend, and the failed minute in a timeline of the day: the month shows nothing
        // more.
        let n_drawn = |class: &str| text.matches(&format!("class=\"strip-{class}\"")).count();
        assert_eq!((n_drawn("bad"), n_drawn("warn")), (3, 3), "{text}");
        assert_eq!(
            text.matches("newest reply for 9 minutes, last good data for 60 seconds").count(),
            2
        );
        assert!(
            text.contains("the server returned &lt;502&gt; <span class=\"mono small\">(http_502)"),
            "{text}"
        );
        assert!(
            text.contains("(waiting for a reply, after 1.5 s, 9 bytes received)")
                && text.contains("&lt;h1&gt;Bad")
                && text.contains("data-state=\"stale\"")
        );
        // Nothing is drawn over trouble.
        let (_, drawn) = text.split_once("<svg class=\"strip\"").unwrap();
        let (drawn, _) = drawn.split_once("</svg>").unwrap();
        assert!(drawn.rfind("strip-off") < drawn.find("strip-bad"), "{drawn}");
        assert!(drawn.rfind("strip-good") < drawn.find("strip-bad"), "{drawn}");
        // The ten minutes fill the axis of the first day.
        assert_eq!(text.matches("class=\"strip-good\" x=\"0\"").count(), 4, "{text}");
        let ends = |class: &str| -> Vec<i64> {
            let rect = format!("<rect class=\"strip-{class}\" x=\"");
            let number = |text: &str| text.split('"').next()?.parse::<i64>().ok();
            let after = text.split(&rect).skip(1);
            after
                .filter_map(|it| Some(number(it)? + number(it.split("width=\"").nth(1)?)?))
                .collect()
        };
        assert!(ends("good").iter().all(|end| *end <= LENGTH), "{text}");
        assert_eq!(ends("good").iter().filter(|end| **end == LENGTH).count(), 2, "{text}");
        assert_eq!(text.matches("viewBox=\"0 0 100000 12\"").count(), 2, "{text}");
        assert!(
            render_availability_card("city", None, &TimeZone::UTC)
                .into_string()
                .contains("cannot be read")
        );
    }
}
