//! What producers tell passengers, where it concerns what a page shows.

use std::collections::BTreeSet;
use std::sync::Arc;

use lineside_formats::gtfs::{Route, RouteIdx, StopIdx, Timetable};
use lineside_formats::gtfs_rt::proto;
use lineside_ingest::{Network, NetworkState, Record};
use maud::{Markup, html};

use super::icons;
use super::languages::Languages;

/// The most alerts on one page.
const ALERTS_MAX: usize = 6;

/// A text, and the language that it is in as far as that is said.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Text {
    text: String,
    language: Option<String>,
}

/// One alert in words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Told {
    header: Text,
    description: Text,
}

/// The alerts in force that name this stop, its station, one of its platforms, or a line that calls there; then those that
/// are about all lines of an agency or a kind, one of which does.
pub(super) fn at_stop(
    network: &Network,
    timetable: &Timetable,
    stop: StopIdx,
    now: i64,
    languages: &Languages,
) -> Vec<Told> {
    let state = network.state();
    let members = timetable.stop_and_descendants(stop);
    let routes: BTreeSet<RouteIdx> =
        members.iter().flat_map(|stop| timetable.routes_of_stop(*stop)).collect();
    let routes: Vec<Route<'_>> = routes.into_iter().map(|route| timetable.route(route)).collect();
    let of_stop = state.by_stop(timetable.stop(stop).id);
    let of_routes = routes
        .iter()
        .flat_map(|route| state.by_route(route.id))
        .filter(|record| names_whole_route(record));
    let named = in_force(of_stop.chain(of_routes), now, languages);
    with(named, of_all_lines(&state, timetable, &routes, now, languages))
}

/// The alerts in force that are about a line, its trips and its stops among them.
pub(super) fn of_route(
    state: &NetworkState,
    timetable: &Timetable,
    route: RouteIdx,
    now: i64,
    languages: &Languages,
) -> Vec<Told> {
    let route = timetable.route(route);
    let named = in_force(state.by_route(route.id), now, languages);
    let about_all = of_all_lines(state, timetable, &[route], now, languages);
    with(named, about_all)
}

/// The alerts in force that name no line or stop, but agencies or kinds of lines that one of the lines is of.
fn of_all_lines(
    state: &NetworkState,
    timetable: &Timetable,
    routes: &[Route<'_>],
    now: i64,
    languages: &Languages,
) -> Vec<Told> {
    let of_all = state.alerts().filter(|record| {
        let mut informed = record.alert().into_iter().flat_map(|alert| &alert.informed_entity);
        informed.any(|entity| {
            names_all_lines(entity)
                && routes.iter().any(|route| is_of_all(entity, timetable, route))
        })
    });
    in_force(of_all, now, languages)
}

/// Puts alerts behind those that tell more exactly whom they concern: there is not room for everything.
fn with(told: Vec<Told>, about_all: Vec<Told>) -> Vec<Told> {
    let mut told = told;
    for one in about_all {
        if told.len() < ALERTS_MAX && !told.contains(&one) {
            told.push(one);
        }
    }
    told
}

fn names_all_lines(entity: &proto::EntitySelector) -> bool {
    let is_named = |id: &Option<String>| id.as_deref().is_some_and(|id| !id.is_empty());
    let is_exact = is_named(&entity.route_id) || is_named(&entity.stop_id);
    !is_exact
        && entity.trip.is_none()
        && (is_named(&entity.agency_id) || entity.route_type.is_some())
}

/// Whether a line is of the agency and the kind that are named.
fn is_of_all(entity: &proto::EntitySelector, timetable: &Timetable, route: &Route<'_>) -> bool {
    let named = entity.agency_id.as_deref().filter(|id| !id.is_empty());
    let agency = || Some(timetable.agency(route.agency?).id);
    let is_of_kind = |kind: i32| {
        let own = i32::from(route.kind);
        own == kind || basic(own) == Some(kind)
    };
    named.is_none_or(|id| agency() == Some(id)) && entity.route_type.is_none_or(is_of_kind)
}

/// The `route_type` of GTFS itself that an extended one is a kind of.
fn basic(kind: i32) -> Option<i32> {
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

fn in_force<'a>(
    records: impl Iterator<Item = &'a Arc<Record>>,
    now: i64,
    languages: &Languages,
) -> Vec<Told> {
    let alerts = records.filter_map(|record| record.alert());
    let in_force = alerts.filter(|alert| is_in_force(alert, now));
    let told: BTreeSet<Told> = in_force.filter_map(|alert| told(alert, languages)).collect();
    told.into_iter().take(ALERTS_MAX).collect()
}

/// Whether an alert is about a line as a whole, not only about one of its trips or of its stops.
fn names_whole_route(record: &Record) -> bool {
    let mut informed = record.alert().into_iter().flat_map(|alert| &alert.informed_entity);
    informed.any(|entity| {
        entity.route_id.is_some() && entity.trip.is_none() && entity.stop_id.is_none()
    })
}

fn is_in_force(alert: &proto::Alert, now: i64) -> bool {
    let now = u64::try_from(now).unwrap_or(0);
    alert.active_period.is_empty()
        || alert.active_period.iter().any(|period| {
            period.start.is_none_or(|start| start <= now) && period.end.is_none_or(|end| now < end)
        })
}

fn told(alert: &proto::Alert, languages: &Languages) -> Option<Told> {
    let text = |of: &Option<proto::TranslatedString>| {
        of.as_ref().and_then(|text| in_language(text, languages)).unwrap_or_default()
    };
    let told =
        Told { header: text(&alert.header_text), description: text(&alert.description_text) };
    (!told.header.text.is_empty() || !told.description.text.is_empty()).then_some(told)
}

fn in_language(text: &proto::TranslatedString, languages: &Languages) -> Option<Text> {
    let best = languages.best(&text.translation, |it| it.language.as_deref())?;
    let language = best.language.clone().filter(|language| !language.is_empty());
    Some(Text { text: best.text.clone(), language })
}

pub(super) fn markup(alerts: &[Told]) -> Markup {
    html! {
        @if !alerts.is_empty() {
            section.alerts aria-label="Service information" {
                @for Told { header, description } in alerts {
                    div.alert {
                        (icons::warning())
                        @if !header.text.is_empty() { h2 lang=[&header.language] { (header.text) } }
                        @if !description.text.is_empty() { p lang=[&description.language] { (description.text) } }
                    }
                }
            }
        }
    }
}
