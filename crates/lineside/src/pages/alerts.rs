//! What producers tell passengers, where it concerns what a page shows.

use std::collections::BTreeSet;

use lineside_formats::gtfs::{StopIdx, Timetable};
use lineside_formats::gtfs_rt::proto;
use lineside_ingest::{Network, Record};
use maud::{Markup, html};

use super::icons;

/// The most alerts on one page.
const ALERTS_MAX: usize = 6;
/// The language that is taken where a text comes in several.
const LANGUAGE: &str = "en";

/// One alert in words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Told {
    pub(super) header: String,
    pub(super) description: String,
}

/// The alerts in force that name this stop, its station, one of its platforms, or a line that calls there.
pub(super) fn at_stop(
    network: &Network,
    timetable: &Timetable,
    stop: StopIdx,
    now: i64,
) -> Vec<Told> {
    let state = network.state();
    let members = timetable.stop_and_descendants(stop);
    let routes: BTreeSet<&str> = members
        .iter()
        .flat_map(|stop| timetable.routes_of_stop(*stop))
        .map(|route| timetable.route(route).id)
        .collect();
    let of_stop = state.by_stop(timetable.stop(stop).id);
    let of_routes = routes
        .iter()
        .flat_map(|route| state.by_route(route))
        .filter(|record| names_whole_route(record));
    let told: BTreeSet<Told> = of_stop
        .chain(of_routes)
        .filter_map(|record| record.alert())
        .filter(|alert| is_in_force(alert, now))
        .filter_map(told)
        .collect();
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

fn told(alert: &proto::Alert) -> Option<Told> {
    let text = |of: &Option<proto::TranslatedString>| {
        of.as_ref().and_then(in_language).unwrap_or_default()
    };
    let told =
        Told { header: text(&alert.header_text), description: text(&alert.description_text) };
    (!told.header.is_empty() || !told.description.is_empty()).then_some(told)
}

fn in_language(text: &proto::TranslatedString) -> Option<String> {
    let is_ours = |language: &Option<String>| {
        language.as_deref().is_some_and(|language| language.starts_with(LANGUAGE))
    };
    let ours = text.translation.iter().find(|translation| is_ours(&translation.language));
    ours.or(text.translation.first()).map(|translation| translation.text.clone())
}

pub(super) fn markup(alerts: &[Told]) -> Markup {
    html! {
        @if !alerts.is_empty() {
            section.alerts aria-label="Service information" {
                @for Told { header, description } in alerts {
                    div.alert {
                        (icons::warning())
                        @if !header.is_empty() { h2 { (header) } }
                        @if !description.is_empty() { p { (description) } }
                    }
                }
            }
        }
    }
}
