//! The answer as text, lists and tables.

use std::time::Duration;

use lineside_http::delays::{DelayReport, DelaySource, DelayVerdict};
use lineside_model::{DelayCounts, TripDelay, TripDelayStatus};
use maud::{Markup, html};

use super::{REFRESH_S, charts, lines, unknown};
use crate::links;
use crate::network_names;
use crate::{badge, icons, network_page, states, words};

/// Trips that a list shows; the counts include all.
pub(super) const TRIPS_SHOWN_MAX: usize = 200;
/// The longest time that an open page shows an answer after it last heard from the server.
const FRESH_FOR_MAX: Duration = Duration::from_secs(5 * 60);
/// The most lines to choose from; a longer list would be longer than the page.
const LINES_CHOSEN_MAX: usize = 500;

/// Returns the page's title.
pub(super) fn page_title(answer: &DelayReport) -> String {
    match describe_line_and_stop(answer) {
        Some(scope) => format!("{} {scope}", delay_question_text(answer)),
        None => format!("{} {}", delay_question_text(answer), network_or_feed_name(answer)),
    }
}

/// Returns the name of the network; without a timetable or if the question is about one feed, that of the feed.
pub(super) fn network_or_feed_name(answer: &DelayReport) -> String {
    let question = &answer.question;
    let has_network = question.timetable.is_some() && !question.is_only_feed;
    let shared = network_names::shared_feed_name_prefix(&question.network).filter(|_| has_network);
    shared.unwrap_or_else(|| question.feed_name.clone())
}

/// Returns the question as text: a line has a late trip or none, a network and a station have shares.
fn delay_question_text(answer: &DelayReport) -> String {
    if has_single_verdict(answer) {
        format!("Is my {} late?", answer.noun.one)
    } else {
        format!("Are {} on time?", answer.noun.many)
    }
}

/// Returns true if a single verdict answers the question, as for a line; a network or a stop has shares.
pub(super) fn has_single_verdict(answer: &DelayReport) -> bool {
    answer.question.route.is_some()
}

/// Describes the line and the stop of the question.
fn describe_line_and_stop(answer: &DelayReport) -> Option<String> {
    match (answer.question.route_name(), answer.question.stop_name()) {
        (Some(route), Some(stop)) => Some(format!("{} at {stop}", words::line_title(&route))),
        (Some(route), None) => Some(words::line_title(&route)),
        (None, Some(stop)) => Some(format!("At {stop}")),
        (None, None) => None,
    }
}

/// Returns the address of this question's JSON.
pub(super) fn delays_api_url(answer: &DelayReport) -> String {
    format!("/api/v1/feeds/{}/delays{}", answer.question.feed, line_and_stop_query(answer, &[]))
}

/// Returns the address of this question's page.
pub(super) fn delays_page_url(answer: &DelayReport) -> String {
    format!("/delays/{}{}", answer.question.feed, line_and_stop_query(answer, &[]))
}

/// Returns the question's line and stop as a query string, with `more` parameters.
fn line_and_stop_query(answer: &DelayReport, more: &[(&str, &str)]) -> String {
    let own = [("route", &answer.question.route), ("stop", &answer.question.stop)];
    let own = own.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    join_query(own.chain(more.iter().copied()))
}

fn join_query<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs);
    match query.finish() {
        none if none.is_empty() => none,
        query => format!("?{query}"),
    }
}

/// Returns the address of this question for another line.
pub(super) fn delays_url_for_line(answer: &DelayReport, route: &str) -> String {
    let stop = answer.question.stop.as_deref().map(|stop| ("stop", stop));
    let query = join_query([("route", route)].into_iter().chain(stop));
    format!("/delays/{}{query}", answer.question.feed)
}

/// Renders the complete answer.
pub(super) fn render_delay_report(answer: &DelayReport, is_embedded: bool) -> Markup {
    let has_source = !answer.question.sources.is_empty();
    html! {
        (render_report_heading(answer, is_embedded))
        // Without a source of times, the answer's sentence has the end of the timetable.
        @if has_source || network_page::ended_timetable_last_day(&answer.question.network).is_none() { (network_page::render_timetable_validity_notice(&answer.question.network)) }
        (render_verdict(answer, is_embedded))
        // Without a feed that has times, every line is unknown.
        @if !is_embedded && has_source { (render_line_choice(answer)) }
        (render_trip_list("late", "Late", &answer.late, answer, is_embedded))
        (render_trip_list("cancelled", "Cancelled", &answer.cancelled, answer, is_embedded))
        @if answer.question.route.is_none() { (lines::render_lines(answer)) }
        @if answer.has_known_trip() { (charts::render_delay_distribution_chart(answer)) }
        @if has_source && (answer.question.stop.is_none() || answer.question.route.is_none()) { (charts::render_late_share_chart(answer)) }
        (render_related_links(answer, is_embedded))
    }
}

fn render_report_heading(answer: &DelayReport, is_embedded: bool) -> Markup {
    let question = &answer.question;
    html! {
        div.page-head.tight {
            @if !is_embedded {
                p.crumbs {
                    @match &question.timetable {
                        Some(_) => a.target href=(format!("/networks/{}", question.network.id())) { (network_or_feed_name(answer)) },
                        None => a.target href=(format!("/feeds/{}", question.feed)) { (network_or_feed_name(answer)) },
                    }
                    @if describe_line_and_stop(answer).is_some() { " › " a href=(format!("/delays/{}", question.feed)) { "All lines" } }
                }
            }
            h1 { (delay_question_text(answer)) @if let Some(scope) = describe_line_and_stop(answer) { " " span.scope { (scope) } } }
            (states::render_recording_line(&question.network))
        }
    }
}

/// Returns the time that an answer stays valid without contact to the server, for data that are late after
/// `data_late_after`. It covers at least two refreshes, so one of them may fail.
fn answer_validity_duration(data_late_after: Option<Duration>) -> Duration {
    let between = Duration::from_secs(u64::from(REFRESH_S));
    data_late_after.unwrap_or(FRESH_FOR_MAX).min(FRESH_FOR_MAX).max(2 * between)
}

/// Renders the verdict or the share, and the counts behind it.
fn render_verdict(answer: &DelayReport, is_embedded: bool) -> Markup {
    let (icon, word) = match answer.verdict {
        DelayVerdict::Yes => {
            (icons::late(), answer.counts.map_or_else(|| "Yes".to_owned(), line_verdict_word))
        }
        DelayVerdict::No => (icons::ok(), "No".to_owned()),
        DelayVerdict::Unknown => (icons::unknown(), "Unknown".to_owned()),
    };
    let is_known = answer.verdict != DelayVerdict::Unknown && !has_single_verdict(answer);
    let share = answer.on_time_share().filter(|_| is_known);
    let question = &answer.question;
    // While the server is unreachable, an answer is valid no longer than its data.
    let good_for = answer_validity_duration(question.data_stale_after());
    html! {
        section.answer.is-share[share.is_some()] data-answer=(answer.verdict.as_str()) data-late-after=(good_for.as_secs()) aria-label="The answer" {
            @match share {
                Some(share) => p.answer-word { strong { (words::format_percent(share)) } " " span.answer-unit { "on time" } },
                None => p.answer-word { (icon) strong { (word) } },
            }
            @if share.is_some() { (render_late_and_cancelled_counts(answer)) }
            p.answer-words { (describe_counts_or_reason(answer, share.is_some())) }
            @if !is_embedded { (unknown::render_next_step_link(answer)) }
            // An unknown answer has nothing that the rule explains.
            @if answer.verdict != DelayVerdict::Unknown {
                p.answer-rule.soft {
                    "Late means " (words::describe_duration(question.late_after.as_secs())) " or more behind schedule. "
                    @if has_single_verdict(answer) { "Cancelled trips count, too, and are listed separately." }
                }
            }
            (render_answer_and_data_time(answer))
            (render_feeds_without_data(answer))
        }
        template #unknown-answer { (icons::unknown()) strong { "Unknown" } }
    }
}

/// Returns the word for a line with late or cancelled trips. "Yes" would say too much if it is less than half of them.
fn line_verdict_word(counts: DelayCounts) -> String {
    let are_few = (counts.late + counts.cancelled) * 2 < counts.trips;
    match (counts.late, counts.cancelled) {
        (0, cancelled) if are_few => format!("{} cancelled", format_number(cancelled)),
        (1, _) if are_few => "One is".to_owned(),
        _ if are_few => "Some are".to_owned(),
        _ => "Yes".to_owned(),
    }
}

/// Renders `11 late · 8 cancelled`.
fn render_late_and_cancelled_counts(answer: &DelayReport) -> Markup {
    let Some(counts) = answer.counts else { return html! {} };
    html! {
        p.answer-figures {
            span data-figure="late" { (format_number(counts.late)) " late" } " · "
            span data-figure="cancelled" { (format_number(counts.cancelled)) " cancelled" }
        }
    }
}

/// Renders the time of the answer, and the time of its data.
fn render_answer_and_data_time(answer: &DelayReport) -> Markup {
    let (zone, note) = (answer.question.time_zone(), answer.question.utc_suffix());
    let now = answer.now.unix_seconds();
    html! {
        p.answer-at {
            span.live #live data-status="off" { "As of " (words::format_clock_seconds(now, &zone)) (note) }
            @if let Some(at) = answer.at {
                span.soft.small { "Data from " time datetime=(words::format_rfc3339(at.unix_seconds(), &zone)) { (words::format_clock_or_day(at.unix_seconds(), now, &zone)) (note) } }
            }
            span.live #connection data-status="live" hidden { "Connection lost, trying again" }
        }
    }
}

pub(super) fn format_number(count: usize) -> String {
    words::format_number(u64::try_from(count).unwrap_or(u64::MAX))
}

/// Describes the counts in sentences; if nothing is known, the reason. `has_figures`: the counts of late and cancelled
/// trips are shown above.
fn describe_counts_or_reason(answer: &DelayReport, has_figures: bool) -> String {
    let Some(counts) = answer.counts else { return unknown::explain_unknown(answer) };
    if answer.verdict == DelayVerdict::Unknown && !counts.has_enough_known_trips() {
        return unknown::explain_unknown(answer);
    }
    let mut text = if has_figures {
        let all = words::format_count(counts.trips as u64, "trip", "trips");
        format!("Of {all}.{}", describe_trips_without_times(&counts))
    } else {
        describe_delay_counts(&counts)
    };
    if let Some(worst) = counts.worst.filter(|_| counts.late > 0) {
        text += &format!(
            " The longest delay: {}.",
            words::format_delay("realtime", Some(i64::from(worst))).text
        );
    }
    if answer.is_stale {
        text += " Some live data is out of date, so there may be more.";
    }
    text
}

/// Renders `3 of 41 trips are late and 2 are cancelled. No live times for 4 of them; timetable only for 1.`
pub(super) fn describe_delay_counts(counts: &DelayCounts) -> String {
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    let without_times = counts.unknown.saturating_sub(counts.scheduled_only);
    if counts.late == 0 {
        let running = counts.trips.saturating_sub(counts.cancelled);
        let mut text = match counts.cancelled {
            0 => "No late trips".to_owned(),
            cancelled => format!("No late trips; {} cancelled", format_number(cancelled)),
        };
        let mut gaps = Vec::new();
        if without_times > 0 {
            gaps.push(format!("{} without times", format_number(without_times)));
        }
        if counts.scheduled_only > 0 {
            gaps.push(format!("{} timetable only", format_number(counts.scheduled_only)));
        }
        text += &format!(" ({} running", format_number(running));
        if !gaps.is_empty() {
            text += &format!("; {}", gaps.join(", "));
        }
        return text + ").";
    }
    let trips = if counts.trips == 1 { "trip" } else { "trips" };
    let (late, total) = (format_number(counts.late), format_number(counts.trips));
    let mut text = format!("{late} of {total} {trips} {} late", are(counts.late));
    if counts.cancelled > 0 {
        text += &format!(
            " and {} {} cancelled",
            format_number(counts.cancelled),
            are(counts.cancelled)
        );
    }
    text + "." + &describe_trips_without_times(counts)
}

/// Describes the trips without live times, with a space before it; empty if there are none.
fn describe_trips_without_times(counts: &DelayCounts) -> String {
    let without_times = counts.unknown.saturating_sub(counts.scheduled_only);
    match (without_times, counts.scheduled_only) {
        (0, 0) => String::new(),
        (0, scheduled_only) => format!(" Timetable only for {}.", format_number(scheduled_only)),
        (unknown, 0) => format!(" No live times for {} of them.", format_number(unknown)),
        (unknown, scheduled_only) => {
            let (unknown, scheduled_only) = (format_number(unknown), format_number(scheduled_only));
            format!(" No live times for {unknown} of them; timetable only for {scheduled_only}.")
        }
    }
}

/// Renders the feeds without fresh data, and the reasons.
fn render_feeds_without_data(answer: &DelayReport) -> Markup {
    let silent: Vec<&DelaySource> =
        answer.question.sources.iter().filter(|source| !source.is_fresh).collect();
    html! {
        @if !silent.is_empty() {
            ul.silent {
                @for source in silent {
                    li {
                        a href=(format!("/feeds/{}", source.id)) { (source.name) } " "
                        (states::render_static_state(source.state))
                        @if source.state == lineside_model::FeedState::Ok { " " span.soft { "Its data is now out of date." } }
                        @else { details { summary { "Details" } p.soft { (source.reason) } } }
                    }
                }
            }
        }
    }
}

/// Renders a form to choose a line.
fn render_line_choice(answer: &DelayReport) -> Markup {
    let question = &answer.question;
    let Some(timetable) = &question.timetable else { return html! {} };
    let mut routes: Vec<_> = timetable.routes().collect();
    routes.sort_by_key(|route| {
        (route.sort_order, route.display_name().len(), route.display_name(), route.id)
    });
    html! {
        @if (2..=LINES_CHOSEN_MAX).contains(&routes.len()) {
            form.choice method="get" action=(format!("/delays/{}", question.feed)) {
                div.field {
                    label for="route" { "Line" }
                    select.select #route name="route" {
                        option value="" selected[question.route.is_none()] { "All lines" }
                        @for route in &routes {
                            option value=(route.id) selected[question.route.as_deref() == Some(route.id)] {
                                (route.display_name()) @if !route.long_name.is_empty() && route.long_name != route.display_name() { " · " (route.long_name) }
                            }
                        }
                    }
                }
                @if let Some(stop) = &question.stop { input type="hidden" name="stop" value=(stop); }
                button.button.plain type="submit" { "Show" }
            }
        }
    }
}

fn render_trip_list(
    id: &str,
    heading: &str,
    trips: &[std::sync::Arc<TripDelay>],
    answer: &DelayReport,
    is_embedded: bool,
) -> Markup {
    let left_out = trips.len().saturating_sub(TRIPS_SHOWN_MAX);
    html! {
        @if !trips.is_empty() {
            section.card aria-labelledby=(format!("{id}-title")) {
                h2 id=(format!("{id}-title")) { (heading) " " span.soft { (words::format_number(u64::try_from(trips.len()).unwrap_or(u64::MAX))) } }
                ul.trips {
                    @for trip in trips.iter().take(TRIPS_SHOWN_MAX) { (render_trip(trip, answer, is_embedded)) }
                }
                @if left_out > 0 { p.more.soft { "and " (words::format_number(u64::try_from(left_out).unwrap_or(u64::MAX))) " more" } }
            }
        }
    }
}

fn render_trip(trip: &TripDelay, answer: &DelayReport, is_embedded: bool) -> Markup {
    let delay_text = match trip.status {
        TripDelayStatus::Delayed(delay) => words::format_delay("realtime", Some(i64::from(delay))),
        TripDelayStatus::Cancelled => words::format_delay("cancelled", None),
        TripDelayStatus::Unknown | TripDelayStatus::ScheduledOnly => {
            words::format_delay("scheduled", None)
        }
    };
    html! {
        li {
            span.line { @if let Some(name) = &trip.route_short_name { (badge::render_route_badge(name, trip.route_color)) } }
            span.to { (render_destination(trip, answer, is_embedded)) }
            span.where.soft { (render_trip_time_or_start(trip, answer, is_embedded)) }
            span class=(format!("delay tone-{}", delay_text.tone)) { (delay_text.text) }
        }
    }
}

/// Renders the destination of a trip, as a link to its page.
fn render_destination(trip: &TripDelay, answer: &DelayReport, is_embedded: bool) -> Markup {
    let to = trip.headsign.as_deref().unwrap_or(&trip.trip_id);
    let has_page = !is_embedded && !trip.trip_id.is_empty() && answer.question.timetable.is_some();
    let network = answer.question.network.id().as_str();
    html! {
        @if has_page { a.target href=(links::trip_page_url(network, &trip.trip_id, &trip.start_date, &trip.start_time)) { (to) } }
        @else { (to) }
    }
}

/// Renders the scheduled time of a trip, or its start and first stop.
fn render_trip_time_or_start(trip: &TripDelay, answer: &DelayReport, is_embedded: bool) -> Markup {
    let zone = answer.question.time_zone();
    let moment = |at: i64| html! { time datetime=(words::format_rfc3339(at, &zone)) { (words::format_clock(at, &zone)) } };
    html! {
        @if let Some(at) = trip.scheduled {
            "scheduled " (moment(at))
        } @else {
            @if let Some(at) = trip.begins_at {
                (moment(at)) @if let Some(first) = &trip.first_stop_name { " from " (first) }
            }
            @if let Some(stop) = &trip.stop_name {
                @if trip.begins_at.is_some() { ", " }
                "next: " @match trip.stop_id.as_deref().filter(|_| !is_embedded) {
                    Some(id) => a href=(links::departure_board_url(answer.question.network.id().as_str(), id)) { (stop) },
                    None => (stop),
                }
            }
        }
    }
}

/// Renders links to other views of the answer.
fn render_related_links(answer: &DelayReport, is_embedded: bool) -> Markup {
    let question = &answer.question;
    let page = |more: &[(&str, &str)]| {
        format!("/delays/{}{}", question.feed, line_and_stop_query(answer, more))
    };
    html! {
        p.also.small.soft {
            @if is_embedded {
                a href=(page(&[])) target="_blank" rel="noopener" { "All details, with Lineside" }
            } @else {
                "The same " a href=(delays_api_url(answer)) { "as JSON" } ", "
                a href=(format!("/delays/{}/badge.svg{}", question.feed, line_and_stop_query(answer, &[]))) { "as a badge" } ", "
                a href=(page(&[("embed", "1")])) { "for a frame" } "."
                @if let Some(line) = question.route.as_deref().filter(|_| question.timetable.is_some()) {
                    " " a href=(links::line_page_url(question.network.id().as_str(), line)) { "The line with its vehicles" } "."
                }
                @if let Some(stop) = &question.stop {
                    " " a href=(links::departure_board_url(question.network.id().as_str(), stop)) { "The departures of this stop" } "."
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_described_in_sentences() {
        let check = |trips, late, cancelled, unknown, scheduled_only, expect: &str| {
            let counts = DelayCounts {
                trips,
                late,
                cancelled,
                unknown,
                scheduled_only,
                ..Default::default()
            };
            assert_eq!(describe_delay_counts(&counts), expect);
        };
        check(41, 3, 0, 0, 0, "3 of 41 trips are late.");
        check(41, 1, 1, 0, 0, "1 of 41 trips is late and 1 is cancelled.");
        let all = "11 of 456 trips are late and 8 are cancelled. No live times for 2 of them; timetable only for 1.";
        check(456, 11, 8, 3, 1, all);
        check(41, 0, 2, 0, 0, "No late trips; 2 cancelled (39 running).");
        check(1, 0, 0, 0, 0, "No late trips (1 running).");
        check(9, 0, 0, 4, 3, "No late trips (9 running; 1 without times, 3 timetable only).");
    }

    #[test]
    fn yes_is_the_answer_only_for_at_least_half_of_the_trips() {
        let word = |late, cancelled| {
            line_verdict_word(DelayCounts { trips: 14, late, cancelled, ..DelayCounts::default() })
        };
        assert_eq!([word(3, 4), word(14, 0), word(0, 9)], ["Yes"; 3]);
        assert_eq!([word(3, 3), word(1, 0), word(0, 1)], ["Some are", "One is", "1 cancelled"]);
    }

    #[test]
    fn an_answer_is_valid_for_30_seconds_to_5_minutes() {
        let seconds = |late_after: Option<u64>| {
            answer_validity_duration(late_after.map(Duration::from_secs)).as_secs()
        };
        assert_eq!([None, Some(900), Some(60)].map(seconds), [300, 300, 60]);
        assert_eq!([Some(1), Some(15), Some(30)].map(seconds), [30, 30, 30]);
    }

    #[test]
    fn ids_are_encoded_in_the_query() {
        let query = join_query([("route", "a&b=c#d"), ("stop", "x y")].into_iter());
        assert_eq!(query, "?route=a%26b%3Dc%23d&stop=x+y");
        assert_eq!(join_query(std::iter::empty()), "");
    }
}
