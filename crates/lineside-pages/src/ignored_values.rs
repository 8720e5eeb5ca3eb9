//! The values in the address of `/map` that the map cannot use: unknown modes, views, lines and feeds, and texts that
//! are not a place or not an id. The page names them, so that a wrong link does not look like a right one.

use lineside_http::QueryParameters;
use lineside_http::app::App;
use maud::{Markup, html};

use super::network_names;

/// The modes of `mode`, as in `MODES` of web/map/view.js.
const MODES: [&str; 8] = ["rail", "metro", "tram", "bus", "ferry", "gondola", "bike", "other"];
/// The parameters with the id of one thing: `<feed>:<id>`.
const SELECTIONS: [&str; 3] = ["stop", "vehicle", "station"];
/// The greatest latitude of the map.
const LATITUDE_MAX: f64 = 85.06;
/// The most values that a page names.
const VALUES_MAX: usize = 8;
/// The most characters shown of a value.
const SHOWN_MAX: usize = 60;

/// A value that the map ignores.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IgnoredMapParameter {
    /// The name of the parameter.
    parameter: &'static str,
    value: String,
    /// A sentence on the value and on what the map does or accepts instead.
    message: String,
}

/// Returns the values that the map ignores. Ids of unknown stops, vehicles and stations of a known feed are not among
/// them: the map opens a card about them.
pub(super) fn list_ignored_values(
    app: &App,
    parameters: &QueryParameters,
) -> Vec<IgnoredMapParameter> {
    let mut ignored = list_malformed_values(parameters);
    let mut ignore = |parameter, value: &str, message: String| {
        ignored.push(IgnoredMapParameter { parameter, value: value.to_owned(), message });
    };
    for value in parameters.values_of("route") {
        let Some((feed, route)) = split_feed_and_id(value) else { continue };
        let Some(network) = app.ingest().find_network_of_feed(feed) else {
            ignore("route", value, format!("There is no feed “{}”.", shorten_shown_value(feed)));
            continue;
        };
        // Without a timetable nobody knows the lines.
        if network.timetable().is_some_and(|timetable| timetable.find_route(route).is_none()) {
            let name = network_names::network_name(app, &network);
            ignore("route", value, format!("{name} has no line “{}”.", shorten_shown_value(route)));
        }
    }
    for parameter in ["vehicle", "station"] {
        let named =
            parameters.find_value(parameter).and_then(|it| Some((it, split_feed_and_id(it)?.0)));
        let Some((value, feed)) = named else { continue };
        if app.ingest().find_feed(feed).is_none() {
            ignore(parameter, value, format!("There is no feed “{}”.", shorten_shown_value(feed)));
        }
    }
    ignored.truncate(VALUES_MAX);
    ignored
}

fn list_malformed_values(parameters: &QueryParameters) -> Vec<IgnoredMapParameter> {
    let mut ignored = Vec::new();
    let mut ignore = |parameter, value: &str, message: String| {
        ignored.push(IgnoredMapParameter { parameter, value: value.to_owned(), message });
    };
    if let Some(modes) = parameters.find_value("mode") {
        let modes = modes.split(',').filter(|mode| !mode.is_empty());
        let (known, unknown): (Vec<&str>, Vec<&str>) = modes.partition(|it| MODES.contains(it));
        let shown = if known.is_empty() { "all modes".to_owned() } else { known.join(", ") };
        for mode in unknown {
            let message =
                format!("Unknown mode “{}”: the map shows {shown}.", shorten_shown_value(mode));
            ignore("mode", mode, message);
        }
    }
    if let Some(at) = parameters.find_value("at").filter(|at| !is_map_view(at)) {
        let message =
            format!("“{}” is not a place: use latitude,longitude,zoom.", shorten_shown_value(at));
        ignore("at", at, message);
    }
    if let Some(show) = parameters.find_value("show").filter(|show| !["", "list"].contains(show)) {
        ignore("show", show, format!("Unknown view “{}”: use list.", shorten_shown_value(show)));
    }
    let selections = SELECTIONS.map(|name| parameters.find_value(name).map(|value| (name, value)));
    let routes = parameters.values_of("route").map(|value| ("route", value));
    for (name, value) in selections.into_iter().flatten().chain(routes) {
        if !value.is_empty() && split_feed_and_id(value).is_none() {
            let message = format!("“{}” is not a {name}: use feed:id.", shorten_shown_value(value));
            ignore(name, value, message);
        }
    }
    ignored
}

/// Splits `<feed>:<id>`.
fn split_feed_and_id(value: &str) -> Option<(&str, &str)> {
    value.split_once(':').filter(|(feed, id)| !feed.is_empty() && !id.is_empty())
}

/// Returns true if a text is the latitude, the longitude and the zoom of a view.
fn is_map_view(text: &str) -> bool {
    let mut numbers = text.split(',').map(|part| part.trim().parse::<f64>().ok());
    let mut is_next_within = |least: f64, greatest: f64| {
        numbers.next().flatten().is_some_and(|number| (least..=greatest).contains(&number))
    };
    is_next_within(-LATITUDE_MAX, LATITUDE_MAX)
        && is_next_within(-180.0, 180.0)
        && is_next_within(0.0, 24.0)
}

fn shorten_shown_value(value: &str) -> String {
    let mut shown: String = value.chars().take(SHOWN_MAX).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    shown
}

/// Returns the lines that the map must not filter by.
pub(super) fn ignored_routes(ignored: &[IgnoredMapParameter]) -> Vec<&str> {
    let routes = ignored.iter().filter(|it| it.parameter == "route");
    routes.map(|it| it.value.as_str()).collect()
}

/// Renders the ignored values. The page's script removes them once the reader changes the map.
pub(super) fn render_ignored_values(ignored: &[IgnoredMapParameter]) -> Markup {
    html! {
        @if !ignored.is_empty() {
            ul.note.small.ignored-values role="status" {
                @for IgnoredMapParameter { parameter, message, .. } in ignored {
                    li data-ignored=(parameter) { (message) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignored(query: &str) -> Vec<(&'static str, String)> {
        let values = list_malformed_values(&QueryParameters::parse_query(query));
        values.into_iter().map(|it| (it.parameter, it.value)).collect()
    }

    #[test]
    fn malformed_values_are_ignored() {
        for (query, parameter, value) in [
            ("mode=nonsense", "mode", "nonsense"),
            ("mode=bus,nonsense", "mode", "nonsense"),
            ("at=here", "at", "here"),
            ("at=91,10,5", "at", "91,10,5"),
            ("at=59,10", "at", "59,10"),
            ("at=59,x,10,5", "at", "59,x,10,5"),
            ("show=table", "show", "table"),
            ("stop=central", "stop", "central"),
            ("vehicle=:1", "vehicle", ":1"),
            ("station=city:", "station", "city:"),
            ("route=city:1&route=2", "route", "2"),
        ] {
            assert_eq!(ignored(query), [(parameter, value.to_owned())], "{query}");
        }
    }

    #[test]
    fn well_formed_values_are_used() {
        for query in [
            "",
            "mode=tram,bus",
            "mode=",
            "at=59.91,10.75,12.5",
            "at=-33.9,%2018.4,3",
            "show=list",
            "stop=city:a:b&vehicle=v:1&station=s:1&route=city:1",
        ] {
            assert_eq!(ignored(query), [], "{query}");
        }
    }

    #[test]
    fn only_without_a_known_mode_all_are_shown() {
        let message = |query: &str| {
            let values = list_malformed_values(&QueryParameters::parse_query(query));
            values[0].message.clone()
        };
        assert_ne!(message("mode=nonsense"), message("mode=bus,nonsense"));
    }
}
