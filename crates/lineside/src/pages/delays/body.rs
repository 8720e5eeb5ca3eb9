//! The answer in words, lists and tables.

use std::time::Duration;

use lineside_ingest::{DelayCounts, Standing, TripStanding};
use maud::{Markup, html};

use super::{REFRESH_S, pictures};
use crate::delays::{Answer, LineCount, Source, Word};
use crate::pages::{badge, board, icons, route, states, words};

/// Trips that a list shows; the counts have all.
pub(super) const TRIPS_SHOWN_MAX: usize = 200;
/// How long an open page goes on answering at most after it last heard from the server.
const GOOD_FOR_MAX: Duration = Duration::from_secs(5 * 60);
/// Lines that the table shows.
const LINES_SHOWN_MAX: usize = 200;
/// Lines to choose from; beyond it the choice would be longer than the page.
const LINES_CHOSEN_MAX: usize = 500;

/// What the page is called.
pub(super) fn title(answer: &Answer) -> String {
    match scope(answer) {
        Some(scope) => format!("{} {scope}", question(answer)),
        None => format!("{} {}", question(answer), answer.question.feed_name),
    }
}

fn question(answer: &Answer) -> String {
    format!("Is my {} late?", answer.noun.one)
}

/// The line and the stop that are asked for.
fn scope(answer: &Answer) -> Option<String> {
    match (answer.question.route_name(), answer.question.stop_name()) {
        (Some(route), Some(stop)) => Some(format!("Line {route} at {stop}")),
        (Some(route), None) => Some(format!("Line {route}")),
        (None, Some(stop)) => Some(format!("At {stop}")),
        (None, None) => None,
    }
}

/// The same question as JSON.
pub(super) fn api_address(answer: &Answer) -> String {
    format!("/api/v1/feeds/{}/delays{}", answer.question.feed, query(answer, &[]))
}

/// The question's line and stop as a query, with more of them.
fn query(answer: &Answer, more: &[(&str, &str)]) -> String {
    let own = [("route", &answer.question.route), ("stop", &answer.question.stop)];
    let own = own.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    query_of(own.chain(more.iter().copied()))
}

fn query_of<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs);
    match query.finish() {
        none if none.is_empty() => none,
        query => format!("?{query}"),
    }
}

/// The address of the same question for another line.
fn line_address(answer: &Answer, route: &str) -> String {
    let stop = answer.question.stop.as_deref().map(|stop| ("stop", stop));
    let query = query_of([("route", route)].into_iter().chain(stop));
    format!("/delays/{}{query}", answer.question.feed)
}

/// All of it.
pub(super) fn markup(answer: &Answer, is_embedded: bool) -> Markup {
    html! {
        (head(answer, is_embedded))
        (word(answer))
        @if !is_embedded { (choice(answer)) }
        (trips("late", "Late", &answer.late, answer, is_embedded))
        (trips("cancelled", "Cancelled", &answer.cancelled, answer, is_embedded))
        @if answer.question.route.is_none() { (lines(answer)) }
        @if answer.counts.is_some_and(|counts| counts.trips > 0) { (pictures::now(answer)) }
        @if answer.question.stop.is_none() || answer.question.route.is_none() { (pictures::over_the_day(answer)) }
        (about(answer, is_embedded))
    }
}

fn head(answer: &Answer, is_embedded: bool) -> Markup {
    let asked = &answer.question;
    html! {
        div.page-head.tight {
            @if !is_embedded {
                p.crumbs {
                    a href=(format!("/feeds/{}", asked.feed)) { (asked.feed_name) }
                    @if scope(answer).is_some() { " › " a href=(format!("/delays/{}", asked.feed)) { "All lines" } }
                }
            }
            h1 { (question(answer)) @if let Some(scope) = scope(answer) { " " span.scope { (scope) } } }
        }
    }
}

/// For how long an answer stands where the server is not heard from, and data are late after so long. Between two looks
/// nobody is heard from, so one of them may fail.
fn good_for(data_late_after: Option<Duration>) -> Duration {
    let between = Duration::from_secs(u64::from(REFRESH_S));
    data_late_after.unwrap_or(GOOD_FOR_MAX).min(GOOD_FOR_MAX).max(2 * between)
}

/// The word, and the counts behind it.
fn word(answer: &Answer) -> Markup {
    let (icon, text) = match answer.word {
        Word::Yes => (icons::late(), "Yes"),
        Word::No => (icons::ok(), "No"),
        Word::Unknown => (icons::unknown(), "Unknown"),
    };
    let (zone, note) = (answer.question.zone(), answer.question.zone_note());
    let asked = &answer.question;
    // While the server is away nothing is answered for longer than data may be late.
    let good_for = good_for(asked.data_late_after());
    html! {
        section.answer data-answer=(answer.word.as_str()) data-late-after=(good_for.as_secs()) aria-label="The answer" {
            p.answer-word { (icon) strong { (text) } }
            p.answer-words { (in_words(answer)) }
            p.answer-rule.soft {
                "A trip is late from " (words::span(answer.question.late_after.as_secs())) " behind the timetable on. "
                "Early is not late. A cancelled trip makes the answer yes, and is counted by itself."
            }
            p.answer-at {
                span.live #live data-status="off" { "As of " (words::clock_seconds(answer.now.seconds(), &zone)) (note) }
                @if let Some(at) = answer.at {
                    span.soft.small { "Data of " time datetime=(words::rfc3339(at.seconds(), &zone)) { (words::clock_seconds(at.seconds(), &zone)) (note) } }
                }
                span.live #connection data-status="live" hidden { "Connection lost, trying again" }
            }
            (sources(answer))
        }
        template #unknown-answer { (icons::unknown()) strong { "Unknown" } }
    }
}

/// The counts as sentences; where nothing is known, why.
fn in_words(answer: &Answer) -> String {
    let Some(counts) = answer.counts else { return why_unknown(answer) };
    if answer.word == Word::Unknown && !counts.tell() {
        return why_unknown(answer);
    }
    let mut told = of_counts(&counts);
    if let Some(worst) = counts.worst.filter(|_| counts.late > 0) {
        told +=
            &format!(" The worst is {}.", words::delay("realtime", Some(i64::from(worst))).words);
    }
    if answer.stale {
        told += " Not all is known: data of a feed are not up to date.";
    }
    told
}

/// `3 of 41 trips are late, 2 are cancelled.`
pub(super) fn of_counts(counts: &DelayCounts) -> String {
    let number = |count: usize| words::number(u64::try_from(count).unwrap_or(u64::MAX));
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    let trips = if counts.trips == 1 { "trip" } else { "trips" };
    let mut told = match counts.late {
        0 if counts.trips == 1 && counts.cancelled == 0 => "The one trip is not late".to_owned(),
        0 => format!("None of {} {trips} is late", number(counts.trips)),
        late => format!("{} of {} {trips} {} late", number(late), number(counts.trips), are(late)),
    };
    if counts.cancelled > 0 {
        told += &format!(", {} {} cancelled", number(counts.cancelled), are(counts.cancelled));
    }
    let announced = counts.unknown.saturating_sub(counts.untold);
    if announced > 0 {
        told += &format!(", of {} no times are known", number(announced));
    }
    if counts.untold > 0 {
        told += &format!(", of {} there is only the timetable", number(counts.untold));
    }
    told + "."
}

fn why_unknown(answer: &Answer) -> String {
    if answer.question.sources.is_empty() {
        return "No feed tells how trips run: there is only the timetable, or nothing yet."
            .to_owned();
    }
    if answer.stale {
        return "The live data are not up to date, so nobody can tell.".to_owned();
    }
    match answer.counts {
        Some(counts) if counts.trips > counts.unknown => {
            format!("{} That is too little to tell.", of_counts(&counts))
        }
        Some(counts) if counts.untold > 0 && counts.untold == counts.trips => {
            "There is only the timetable: nothing is said of how trips run.".to_owned()
        }
        Some(counts) if counts.trips > 0 => {
            "Trips are announced, but nothing is said of their times.".to_owned()
        }
        _ => "No trip is spoken of at the moment.".to_owned(),
    }
}

/// The feeds that are not to be believed, and why.
fn sources(answer: &Answer) -> Markup {
    let silent: Vec<&Source> =
        answer.question.sources.iter().filter(|source| !source.is_fresh).collect();
    html! {
        @if !silent.is_empty() {
            ul.silent {
                @for source in silent {
                    li {
                        a href=(format!("/feeds/{}", source.id)) { (source.name) } " "
                        (states::mark(source.state)) " "
                        span.soft { (source.reason) }
                        @if source.state == lineside_ingest::FeedState::Ok { span.soft { ", its data have grown old since" } }
                    }
                }
            }
        }
    }
}

/// A form to choose a line by.
fn choice(answer: &Answer) -> Markup {
    let asked = &answer.question;
    let Some(timetable) = &asked.timetable else { return html! {} };
    let mut routes: Vec<_> = timetable.routes().collect();
    routes.sort_by_key(|route| (route.sort_order, route.name().len(), route.name(), route.id));
    html! {
        @if (2..=LINES_CHOSEN_MAX).contains(&routes.len()) {
            form.choice method="get" action=(format!("/delays/{}", asked.feed)) {
                div.field {
                    label for="route" { "Line" }
                    select.select #route name="route" {
                        option value="" selected[asked.route.is_none()] { "All lines" }
                        @for route in &routes {
                            option value=(route.id) selected[asked.route.as_deref() == Some(route.id)] {
                                (route.name()) @if !route.long_name.is_empty() && route.long_name != route.name() { " · " (route.long_name) }
                            }
                        }
                    }
                }
                @if let Some(stop) = &asked.stop { input type="hidden" name="stop" value=(stop); }
                button.button.plain type="submit" { "Show" }
            }
        }
    }
}

/// A list of trips.
fn trips(
    id: &str,
    heading: &str,
    trips: &[std::sync::Arc<TripStanding>],
    answer: &Answer,
    is_embedded: bool,
) -> Markup {
    let left_out = trips.len().saturating_sub(TRIPS_SHOWN_MAX);
    html! {
        @if !trips.is_empty() {
            section.card aria-labelledby=(format!("{id}-title")) {
                h2 id=(format!("{id}-title")) { (heading) " " span.soft { (words::number(u64::try_from(trips.len()).unwrap_or(u64::MAX))) } }
                ul.trips {
                    @for trip in trips.iter().take(TRIPS_SHOWN_MAX) { (of_trip(trip, answer, is_embedded)) }
                }
                @if left_out > 0 { p.more.soft { "and " (words::number(u64::try_from(left_out).unwrap_or(u64::MAX))) " more" } }
            }
        }
    }
}

fn of_trip(trip: &TripStanding, answer: &Answer, is_embedded: bool) -> Markup {
    let said = match trip.standing {
        Standing::Behind(delay) => words::delay("realtime", Some(i64::from(delay))),
        Standing::Cancelled => words::delay("cancelled", None),
        Standing::Unknown | Standing::Untold => words::delay("scheduled", None),
    };
    html! {
        li {
            span.line { @if let Some(name) = &trip.route_short_name { (badge::badge(name, trip.route_color)) } }
            span.to { (trip.headsign.as_deref().unwrap_or(&trip.trip_id)) }
            span.where.soft { (place(trip, answer, is_embedded)) }
            span class=(format!("delay tone-{}", said.tone)) { (said.words) }
        }
    }
}

/// Where and when people know a trip from.
fn place(trip: &TripStanding, answer: &Answer, is_embedded: bool) -> Markup {
    let zone = answer.question.zone();
    let moment =
        |at: i64| html! { time datetime=(words::rfc3339(at, &zone)) { (words::clock(at, &zone)) } };
    html! {
        @if let Some(at) = trip.scheduled {
            "scheduled " (moment(at))
        } @else {
            @if let Some(at) = trip.begins {
                (moment(at)) @if let Some(first) = &trip.first_stop_name { " from " (first) }
            }
            @if let Some(stop) = &trip.stop_name {
                @if trip.begins.is_some() { ", " }
                "next: " @match trip.stop_id.as_deref().filter(|_| !is_embedded) {
                    Some(id) => a href=(board::address(answer.question.network.id().as_str(), id)) { (stop) },
                    None => (stop),
                }
            }
        }
    }
}

/// Each line with its counts.
fn lines(answer: &Answer) -> Markup {
    let number = |count: usize| words::number(u64::try_from(count).unwrap_or(u64::MAX));
    let none = |count: usize| (count == 0).then_some("none");
    html! {
        @if answer.lines.len() > 1 {
            section.card aria-labelledby="lines-title" {
                h2 #lines-title { "Lines" }
                div.scroll tabindex="0" role="region" aria-label="Lines with their counts" {
                    table.list-table.lines {
                        thead { tr {
                            th scope="col" { "Line" }
                            th.end scope="col" { "Late" }
                            th.end scope="col" { "Cancelled" }
                            th.end scope="col" { "On time" }
                            th.end scope="col" { "Trips" }
                            th scope="col" { "Worst" }
                        } }
                        tbody {
                            @for LineCount { route_id, name, color, counts } in answer.lines.iter().take(LINES_SHOWN_MAX) {
                                tr {
                                    th scope="row" { a.line-link href=(line_address(answer, route_id)) { (badge::badge(name, *color)) } }
                                    td.end.numeric data-count=[none(counts.late)] { (number(counts.late)) }
                                    td.end.numeric data-count=[none(counts.cancelled)] { (number(counts.cancelled)) }
                                    td.end.numeric { (number(counts.on_time + counts.early)) }
                                    td.end.numeric { (number(counts.trips)) }
                                    td { (worst(counts)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn worst(counts: &DelayCounts) -> Markup {
    let said = words::delay("realtime", counts.worst.map(i64::from));
    html! {
        @if counts.worst.is_some() { span class=(format!("delay tone-{}", said.tone)) { (said.words) } }
        @else { span.soft { "–" } }
    }
}

/// Where else the same is to be had.
fn about(answer: &Answer, is_embedded: bool) -> Markup {
    let asked = &answer.question;
    let page = |more: &[(&str, &str)]| format!("/delays/{}{}", asked.feed, query(answer, more));
    html! {
        p.also.small.soft {
            @if is_embedded {
                a href=(page(&[])) target="_blank" rel="noopener" { "All of it, with Lineside" }
            } @else {
                "The same " a href=(api_address(answer)) { "as JSON" } ", "
                a href=(format!("/delays/{}/badge.svg{}", asked.feed, query(answer, &[]))) { "as a badge" } ", "
                a href=(page(&[("embed", "1")])) { "for a frame" } "."
                @if let Some(line) = asked.route.as_deref().filter(|_| asked.timetable.is_some()) {
                    " " a href=(route::address(asked.network.id().as_str(), line)) { "The line with its vehicles" } "."
                }
                @if let Some(stop) = &asked.stop {
                    " " a href=(board::address(asked.network.id().as_str(), stop)) { "The departures of this stop" } "."
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_said_as_one_would() {
        let check = |trips, late, cancelled, unknown, untold, expect: &str| {
            let counts =
                DelayCounts { trips, late, cancelled, unknown, untold, ..Default::default() };
            assert_eq!(of_counts(&counts), expect);
        };
        check(41, 3, 0, 0, 0, "3 of 41 trips are late.");
        check(41, 1, 1, 0, 0, "1 of 41 trips is late, 1 is cancelled.");
        check(41, 0, 2, 0, 0, "None of 41 trips is late, 2 are cancelled.");
        check(1, 0, 0, 0, 0, "The one trip is not late.");
        check(9, 0, 0, 4, 0, "None of 9 trips is late, of 4 no times are known.");
        check(9, 0, 0, 4, 4, "None of 9 trips is late, of 4 there is only the timetable.");
        let both =
            "None of 9 trips is late, of 1 no times are known, of 3 there is only the timetable.";
        check(9, 0, 0, 4, 3, both);
    }

    #[test]
    fn an_answer_stands_for_longer_than_from_one_look_to_the_next() {
        let seconds =
            |late_after: Option<u64>| good_for(late_after.map(Duration::from_secs)).as_secs();
        assert_eq!([None, Some(900), Some(60)].map(seconds), [300, 300, 60]);
        assert_eq!([Some(1), Some(15), Some(30)].map(seconds), [30, 30, 30]);
    }

    #[test]
    fn ids_stay_within_their_query() {
        let said = query_of([("route", "a&b=c#d"), ("stop", "x y")].into_iter());
        assert_eq!(said, "?route=a%26b%3Dc%23d&stop=x+y");
        assert_eq!(query_of(std::iter::empty()), "");
    }
}
