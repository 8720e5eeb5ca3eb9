//! The channels of a feed, on its page.

use lineside_formats::gtfs::Timetable;
use lineside_formats::{Format, FormatKind};
use lineside_hub::encode_segment;
use maud::{Markup, html};

use super::words;
use crate::layout::render_foldable_section;

/// A channel: its description, its name, and true if the name contains a placeholder.
type ListedChannel = (&'static str, String, bool);

/// Renders the section with the channels to subscribe to.
pub(super) fn render_card(
    id: &str,
    format: Option<Format>,
    timetable: Option<&Timetable>,
) -> Markup {
    let names = list_channels(id, format, timetable);
    let note = words::format_count(names.len() as u64, "channel", "channels");
    let body = html! {
        ul.links.card-body {
            @for (what, channel, is_example) in names {
                li {
                    span.soft.small { (what) }
                    @if is_example { span.mono { (channel) } }
                    @else { a.mono href=(format!("/api/v1/state?channel={channel}")) { (channel) } }
                }
            }
        }
    };
    render_foldable_section("channels", "Channels", &html! { (note) }, false, &body)
}

fn list_channels(
    id: &str,
    format: Option<Format>,
    timetable: Option<&Timetable>,
) -> Vec<ListedChannel> {
    let mut names = vec![("Every change", format!("feed/{id}"), false)];
    if format.is_some_and(|it| !it.is_raw()) {
        names.push(("Findings of validation", format!("report/{id}"), false));
    }
    match format.map(Format::kind) {
        Some(FormatKind::Schedule) => names.extend([
            (
                "One line with its vehicles",
                format!("route/{id}/{}", example_route_id(timetable)),
                true,
            ),
            ("The departures of a stop", format!("stop/{id}/{}", example_stop_id(timetable)), true),
        ]),
        Some(FormatKind::Realtime) => names.extend([
            ("One vehicle", format!("vehicle/{id}/<vehicle id>"), true),
            ("One trip", format!("trip/{id}/<trip id>"), true),
            ("Alerts", format!("alerts/{id}"), false),
            ("Vehicles on a piece of the map", AREA.to_owned(), true),
        ]),
        Some(FormatKind::System) => names.extend([
            ("One station", format!("station/{id}/<station id>"), true),
            ("Stations and vehicles on a piece of the map", AREA.to_owned(), true),
        ]),
        Some(FormatKind::Raw) | None => {}
    }
    names
}

const AREA: &str = "area/<geohash of 4 to 6 characters>";

fn example_route_id(timetable: Option<&Timetable>) -> String {
    let route = timetable.and_then(|timetable| timetable.routes().next());
    route.map_or_else(|| "<route id>".to_owned(), |it| encode_segment(it.id).into_owned())
}

fn example_stop_id(timetable: Option<&Timetable>) -> String {
    let stop = timetable.and_then(|timetable| timetable.stops().next());
    stop.map_or_else(|| "<stop id>".to_owned(), |it| encode_segment(it.id).into_owned())
}
