//! The alerts about the content of a page.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::tz::TimeZone;
use lineside_formats::gtfs::{Route, RouteIdx, StopIdx, Timetable};
use lineside_formats::gtfs_rt::proto;
use lineside_ingest::Network;
use lineside_model::{NetworkState, Record};
use maud::{Markup, html};

use super::alert_text::{LocalizedText, localized_alert_text};
use super::languages::PreferredLanguages;
use super::{alert_periods, icons};

/// The alerts that a page shows open; the others are behind a line with their number.
const OPEN_MAX: usize = 6;
/// The alerts in a list of headers.
const LISTED_MAX: usize = 10;
/// The most alerts on one page.
const ALERTS_MAX: usize = 60;

/// An alert's header and description.
#[derive(Debug, Clone)]
pub(super) struct AlertSummary {
    header: LocalizedText,
    description: LocalizedText,
    /// Its [`severity_rank`].
    severity: u8,
    /// Its active periods and its link, rendered.
    about: Markup,
}

/// The reader of a page's alerts: the languages, the present in Unix seconds, and the time zone.
#[derive(Clone, Copy)]
struct AlertDisplayContext<'a> {
    languages: &'a PreferredLanguages,
    now: i64,
    zone: &'a TimeZone,
}

/// The precision with which an alert names the affected stop or line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AlertSpecificity {
    /// The stop or line of the page itself.
    Itself,
    /// A line that calls at the stop.
    ByLine,
    /// All lines of an agency or a kind.
    AllLines,
}

/// Returns the active alerts that name this stop, its station, one of its platforms, a line that calls there, or all
/// lines of an agency or a kind that calls there.
pub(super) fn find_for_stop(
    network: &Network,
    timetable: &Timetable,
    stop: StopIdx,
    now: i64,
    languages: &PreferredLanguages,
) -> Vec<AlertSummary> {
    let state = network.state();
    let members = timetable.stop_and_descendants(stop);
    let routes: BTreeSet<RouteIdx> =
        members.iter().flat_map(|stop| timetable.routes_at_stop(*stop)).collect();
    let routes: Vec<Route<'_>> = routes.into_iter().map(|route| timetable.route(route)).collect();
    let stop_alerts = state.alerts_affecting_stop(timetable.stop(stop).id);
    let routes_alerts = routes.iter().flat_map(|route| {
        let route_alerts = state.realtime_records_by_route(route.id);
        route_alerts
            .filter(|it| it.alert().is_some_and(|alert| affects_whole_route(alert, route.id)))
    });
    let network_alerts = find_agency_or_mode_alerts(&state, timetable, &routes);
    let alerts = with_specificity(AlertSpecificity::Itself, stop_alerts)
        .chain(with_specificity(AlertSpecificity::ByLine, routes_alerts))
        .chain(with_specificity(AlertSpecificity::AllLines, network_alerts));
    let zone = timetable.timezone();
    select_in_force(alerts, now, AlertDisplayContext { languages, now, zone })
}

/// Returns the active alerts about a line, including its trips and its stops.
pub(super) fn find_for_route(
    state: &NetworkState,
    timetable: &Timetable,
    route: RouteIdx,
    now: i64,
    languages: &PreferredLanguages,
) -> Vec<AlertSummary> {
    filter_alerts_for_route(state, timetable, route, now, languages, |alert| {
        is_in_force(alert, now)
    })
}

/// Returns the alerts about a line that `applies` accepts, in the order of [`select_in_force`].
pub(super) fn filter_alerts_for_route(
    state: &NetworkState,
    timetable: &Timetable,
    route: RouteIdx,
    now: i64,
    languages: &PreferredLanguages,
    applies: impl Fn(&proto::Alert) -> bool,
) -> Vec<AlertSummary> {
    let route = timetable.route(route);
    let routes = [route];
    let route_alerts =
        with_specificity(AlertSpecificity::Itself, state.realtime_records_by_route(route.id));
    let network_alerts = with_specificity(
        AlertSpecificity::AllLines,
        find_agency_or_mode_alerts(state, timetable, &routes),
    );
    let alerts = route_alerts.chain(network_alerts).filter(|(_, alert)| applies(alert));
    let reader = AlertDisplayContext { languages, now, zone: timetable.timezone() };
    sort_and_summarize_alerts(alerts.collect(), now, reader)
}

/// Returns the active alerts of one feed.
pub(super) fn find_for_feed(
    state: &NetworkState,
    feed: &str,
    now: i64,
    languages: &PreferredLanguages,
) -> Vec<AlertSummary> {
    let own = state.alerts().filter(|record| record.feed.as_str() == feed);
    let reader = AlertDisplayContext { languages, now, zone: &TimeZone::UTC };
    select_in_force(with_specificity(AlertSpecificity::Itself, own), now, reader)
}

fn with_specificity<'a>(
    named: AlertSpecificity,
    records: impl Iterator<Item = &'a Arc<Record>>,
) -> impl Iterator<Item = (AlertSpecificity, &'a proto::Alert)> {
    records.filter_map(move |record| Some((named, record.alert()?)))
}

/// Returns the alerts that name no line or stop, but the agency or the kind of one of the lines.
fn find_agency_or_mode_alerts<'a>(
    state: &'a NetworkState,
    timetable: &'a Timetable,
    routes: &'a [Route<'a>],
) -> impl Iterator<Item = &'a Arc<Record>> {
    state.alerts().filter(move |record| {
        let mut informed = record.alert().into_iter().flat_map(|alert| &alert.informed_entity);
        informed.any(|entity| {
            selects_whole_agency_or_mode(entity)
                && routes.iter().any(|route| matches_agency_and_mode(entity, timetable, route))
        })
    })
}

fn selects_whole_agency_or_mode(entity: &proto::EntitySelector) -> bool {
    let is_named = |id: &Option<String>| id.as_deref().is_some_and(|id| !id.is_empty());
    let is_exact = is_named(&entity.route_id) || is_named(&entity.stop_id);
    !is_exact
        && entity.trip.is_none()
        && (is_named(&entity.agency_id) || entity.route_type.is_some())
}

/// Returns true if a line belongs to the named agency and kind.
fn matches_agency_and_mode(
    entity: &proto::EntitySelector,
    timetable: &Timetable,
    route: &Route<'_>,
) -> bool {
    let named = entity.agency_id.as_deref().filter(|id| !id.is_empty());
    let agency = || Some(timetable.agency(route.agency?).id);
    let is_about_kind = |kind: i32| {
        let own = i32::from(route.kind);
        own == kind || basic_route_type(own) == Some(kind)
    };
    named.is_none_or(|id| agency() == Some(id)) && entity.route_type.is_none_or(is_about_kind)
}

/// Returns the basic GTFS `route_type` of an extended one.
fn basic_route_type(kind: i32) -> Option<i32> {
    Some(match kind {
        100..=199 => 2,
        400..=499 => 1,
        800..=899 => 11,
        200..=299 | 700..=799 => 3,
        900..=999 => 0,
        1000..=1099 | 1200..=1299 => 4,
        1300..=1399 => 6,
        1400..=1499 => 7,
        _ => return None,
    })
}

/// Returns the alerts that are active at a time, in Unix seconds: the most severe first, then the most specific, then
/// the most recent, then in the feed's order. Pages have limited space, and few readers scroll to the end.
fn select_in_force<'a>(
    alerts: impl Iterator<Item = (AlertSpecificity, &'a proto::Alert)>,
    at: i64,
    reader: AlertDisplayContext<'_>,
) -> Vec<AlertSummary> {
    let alerts = alerts.filter(|(_, alert)| is_in_force(alert, at));
    sort_and_summarize_alerts(alerts.collect(), at, reader)
}

fn sort_and_summarize_alerts(
    mut alerts: Vec<(AlertSpecificity, &proto::Alert)>,
    at: i64,
    reader: AlertDisplayContext<'_>,
) -> Vec<AlertSummary> {
    alerts.sort_by_key(|&(named, alert)| {
        (Reverse(severity_rank(alert)), named, Reverse(period_start(alert, at)))
    });
    let mut all: Vec<AlertSummary> = Vec::new();
    for summary in alerts.into_iter().filter_map(|(_, alert)| summarize_alert(alert, reader)) {
        if all.len() >= ALERTS_MAX {
            break;
        }
        // The more severe of two alerts with the same text comes first.
        let has_same_text = |it: &AlertSummary| {
            (&it.header, &it.description) == (&summary.header, &summary.description)
        };
        if !all.iter().any(has_same_text) {
            all.push(summary);
        }
    }
    all
}

/// Returns the severity of an alert, from 0: the producer's, or one derived from the effect.
pub(super) fn severity_rank(alert: &proto::Alert) -> u8 {
    use proto::alert::{Effect, SeverityLevel};
    match (alert.severity_level(), alert.effect()) {
        (SeverityLevel::Severe, _) | (SeverityLevel::UnknownSeverity, Effect::NoService) => 3,
        (SeverityLevel::Warning, _)
        | (
            SeverityLevel::UnknownSeverity,
            Effect::ReducedService
            | Effect::SignificantDelays
            | Effect::Detour
            | Effect::ModifiedService
            | Effect::StopMoved,
        ) => 2,
        (SeverityLevel::UnknownSeverity, _) => 1,
        (SeverityLevel::Info, _) => 0,
    }
}

/// Returns the beginning of the alert's active period; 0 if it is not stated.
fn period_start(alert: &proto::Alert, now: i64) -> u64 {
    let periods = alert
        .active_period
        .iter()
        .filter(|period| alert_periods::period_contains_time(period, now));
    periods.filter_map(|period| period.start).max().unwrap_or(0)
}

/// Returns true if an alert is about this line as a whole, and not only about one of its trips or stops or another
/// line.
fn affects_whole_route(alert: &proto::Alert, route_id: &str) -> bool {
    let is_whole = |entity: &proto::EntitySelector| {
        entity.trip.is_none() && entity.stop_id.as_deref().is_none_or(str::is_empty)
    };
    let mut informed = alert.informed_entity.iter();
    informed.any(|entity| entity.route_id.as_deref() == Some(route_id) && is_whole(entity))
}

/// Returns true if an alert is active at `now`, Unix seconds.
pub(super) fn is_in_force(alert: &proto::Alert, now: i64) -> bool {
    alert.active_period.is_empty()
        || alert.active_period.iter().any(|period| alert_periods::period_contains_time(period, now))
}

fn summarize_alert(alert: &proto::Alert, reader: AlertDisplayContext<'_>) -> Option<AlertSummary> {
    let AlertDisplayContext { languages, now, zone } = reader;
    let text = |translated: &Option<proto::TranslatedString>| {
        localized_alert_text(translated, languages).unwrap_or_default()
    };
    let summary = AlertSummary {
        header: text(&alert.header_text),
        description: text(&alert.description_text),
        severity: severity_rank(alert),
        about: alert_periods::render_periods_and_link(alert, languages, now, zone),
    };
    (!summary.header.text.is_empty() || !summary.description.text.is_empty()).then_some(summary)
}

pub(super) fn render_alerts(alerts: &[AlertSummary]) -> Markup {
    let (open, more) = alerts.split_at(alerts.len().min(OPEN_MAX));
    html! {
        @if !alerts.is_empty() {
            section.alerts aria-label="Service information" {
                @for alert in open { (render_alert(alert)) }
                @if !more.is_empty() {
                    details.alerts-more {
                        summary { "and " (more.len()) " more" }
                        div.alerts { @for alert in more { (render_alert(alert)) } }
                    }
                }
            }
        }
    }
}

/// Renders the alerts as a list of expandable headers; `all` is the address of the full list.
pub(super) fn render_expandable_alerts(alerts: &[AlertSummary], all: &str) -> Markup {
    html! {
        @if !alerts.is_empty() {
            ul.problem-list.alert-list {
                @for AlertSummary { header, description, .. } in alerts.iter().take(LISTED_MAX) {
                    @let (title, rest) = if header.text.is_empty() { (description, None) } else { (header, Some(description)) };
                    @let rest = rest.filter(|rest| !rest.text.is_empty());
                    li {
                        @match rest {
                            Some(rest) => details { summary lang=[&title.language] { (title.text) } p.finding lang=[&rest.language] { (rest.text) } },
                            None => p.alert-line lang=[&title.language] { (title.text) },
                        }
                    }
                }
            }
            @if alerts.len() > LISTED_MAX { p.card-body.small { a.target href=(all) { "and " (alerts.len() - LISTED_MAX) " more" } } }
        }
    }
}

fn render_alert(alert: &AlertSummary) -> Markup {
    let AlertSummary { header, description, severity, about } = alert;
    html! {
        div.alert data-severity=(severity) {
            (icons::warning())
            @if !header.text.is_empty() { h2 lang=[&header.language] { (header.text) } }
            @if !description.text.is_empty() { p lang=[&description.language] { (description.text) } }
            (about)
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use lineside_formats::gtfs_rt::proto::alert::{Effect, SeverityLevel};
    use lineside_formats::gtfs_rt::proto::translated_string::Translation;

    use super::*;
    use lineside_http::QueryParameters;

    const NOW: i64 = 1_795_262_400;
    static ZONE: TimeZone = TimeZone::UTC;

    fn alert(text: &str) -> proto::Alert {
        let translation = Translation { text: text.to_owned(), language: None };
        proto::Alert {
            header_text: Some(proto::TranslatedString { translation: vec![translation] }),
            ..proto::Alert::default()
        }
    }

    fn grave(text: &str, severity: SeverityLevel, effect: Effect) -> proto::Alert {
        let mut alert = alert(text);
        alert.set_severity_level(severity);
        alert.set_effect(effect);
        alert
    }

    fn since(text: &str, start: i64) -> proto::Alert {
        let start = u64::try_from(start).ok();
        let period = proto::TimeRange { start, end: None };
        proto::Alert { active_period: vec![period], ..alert(text) }
    }

    fn order(alerts: &[(AlertSpecificity, proto::Alert)]) -> Vec<String> {
        let languages = languages();
        let alerts = alerts.iter().map(|(named, alert)| (*named, alert));
        select_in_force(alerts, NOW, reader(&languages))
            .into_iter()
            .map(|summary| summary.header.text)
            .collect()
    }

    #[test]
    fn alerts_are_ordered_by_severity_and_none_is_dropped() {
        use Effect::{AccessibilityIssue, NoService, UnknownEffect};
        use SeverityLevel::{Info, Severe, UnknownSeverity};
        let lift = |n: u8| grave(&format!("Aufzug {n}"), Info, AccessibilityIssue);
        let mut alerts: Vec<_> = (0..7).map(|n| (AlertSpecificity::Itself, lift(n))).collect();
        alerts
            .push((AlertSpecificity::AllLines, grave("Zugverkehr eingestellt", Severe, NoService)));
        alerts.push((AlertSpecificity::ByLine, grave("Weiche", UnknownSeverity, UnknownEffect)));
        alerts.push((AlertSpecificity::Itself, grave("kein Halt", UnknownSeverity, NoService)));
        let headers = order(&alerts);
        assert_eq!(headers[..4], ["kein Halt", "Zugverkehr eingestellt", "Weiche", "Aufzug 0"]);
        assert_eq!(headers.len(), 10, "none is lost");
        let alerts = alerts.iter().map(|(named, alert)| (*named, alert));
        let page = render_alerts(&select_in_force(alerts, NOW, reader(&languages()))).into_string();
        let severities: Vec<&str> =
            page.split("data-severity=\"").skip(1).filter_map(|it| it.split('"').next()).collect();
        assert_eq!(severities[..4], ["3", "3", "1", "0"], "the color of an alert");
    }

    #[test]
    fn equally_severe_alerts_are_ordered_by_scope_and_start() {
        let alerts = [
            (AlertSpecificity::AllLines, since("everywhere", NOW - 1)),
            (AlertSpecificity::Itself, since("old", NOW - 9_000)),
            (AlertSpecificity::Itself, since("z", NOW - 60)),
            (AlertSpecificity::Itself, since("a", NOW - 60)),
            (AlertSpecificity::Itself, since("z", NOW - 60)),
            (AlertSpecificity::Itself, since("later", NOW + 60)),
        ];
        assert_eq!(order(&alerts), ["z", "a", "old", "everywhere"]);
    }

    #[test]
    fn a_selector_of_a_whole_line_is_distinguished_from_one_of_its_stops() {
        let selector = |route: &str, stop: Option<&str>| proto::EntitySelector {
            route_id: Some(route.to_owned()),
            stop_id: stop.map(str::to_owned),
            ..proto::EntitySelector::default()
        };
        let mut closed_alert = alert("X is closed, B runs no further");
        closed_alert.informed_entity =
            vec![selector("A", Some("X")), selector("B", None), selector("C", Some(""))];
        let trip = Some(proto::TripDescriptor::default());
        closed_alert.informed_entity.push(proto::EntitySelector { trip, ..selector("D", None) });
        for (route, is_whole) in [("A", false), ("B", true), ("C", true), ("D", false)] {
            assert_eq!(affects_whole_route(&closed_alert, route), is_whole, "{route}");
        }
    }

    #[test]
    fn further_alerts_are_folded_behind_their_number() {
        let summaries: Vec<AlertSummary> = (0..8)
            .filter_map(|n| summarize_alert(&alert(&format!("Number {n}")), reader(&languages())))
            .collect();
        let all = render_alerts(&summaries).into_string();
        let (open, more) = all.split_once("<details").unwrap();
        assert_eq!(open.matches("Number").count(), OPEN_MAX);
        assert!(more.contains("and 2 more</summary>") && more.contains("Number 7"), "{more}");
        assert!(!render_alerts(&summaries[..OPEN_MAX]).into_string().contains("<details"));
    }

    fn reader(languages: &PreferredLanguages) -> AlertDisplayContext<'_> {
        AlertDisplayContext { languages, now: NOW, zone: &ZONE }
    }

    fn languages() -> PreferredLanguages {
        PreferredLanguages::from_request(&QueryParameters::default(), &HeaderMap::new())
    }
}
