//! The first sections of a feed's page: its health, contents, validity and area.

use std::collections::BTreeMap;

use jiff::civil::Date;
use lineside_formats::Format;
use lineside_formats::gtfs::Timetable;
use lineside_quality::reports::ReportFindingCounts;
use maud::{Markup, html};

use super::super::problems::ProblemTotals;
use super::super::{badge, layout, report, states, system, trip_matching, words};
use super::FeedView;
use crate::links;
use crate::report_brief;
use crate::vehicle_selection;

/// Lines whose badges the page shows.
const LINES_SHOWN_MAX: usize = 24;
/// The name of the count of vehicles.
const VEHICLES: &str = "Vehicles";
/// Kilometers per degree of latitude.
const KM_PER_DEGREE: f64 = 111.2;

impl FeedView {
    /// Renders the card on the feed's health.
    pub(super) fn render_health(&self) -> Markup {
        let problems = ProblemTotals::from_problems(&self.feed.problems_including_files());
        html! {
            section.card #health aria-labelledby="health-title" {
                h2 #health-title { "Health" }
                dl.facts.card-body {
                    dt { "Updated" } dd { (states::render_data_age(&self.feed, &self.feed.status_including_files(), self.now)) @if self.is_replaying_recording() && self.status.data_time.is_some() { " by the clock of the recording" } }
                    @if let Some(found) = self.reports.dataset_or_realtime_report() {
                        dt { "Report" } dd { a href={ "#report-" (found.subject.subject_kind_name()) } { (report_brief::describe_report_summary(&ReportFindingCounts::from_report(found))) } (report::render_main_error(found)) }
                    } @else if self.report_prerequisite.is_some() {
                        dt { "Report" } dd { a href="#report-ahead" { "not checked yet" } }
                    }
                    @if self.snapshot.is_some() {
                        dt { "Unreadable data" }
                        dd { @if problems.n_unreadable == 0 { "none" } @else { a href="#problems" { (words::format_number(problems.n_unreadable)) } } (problems.render_unknowns_and_duplicates()) }
                    }
                    @if let Some(past) = &self.polling_history {
                        dt { "Source, 24 hours" } dd { a href="#availability" { (past.describe_last_day_requests()) } }
                    }
                    @if let Some(said) = self.matched.as_ref().and_then(trip_matching::summarize_matches) {
                        dt { "Matching" } dd { a href="#matches" { (said) } }
                    }
                    @if let Some(failure) = &self.status.last_error {
                        dt { "Last failure" } dd { a href="#polling" { (self.render_time_in_network_zone(failure.at)) } " " span.mono.small { "(" (failure.code) ")" } }
                    }
                }
            }
        }
    }

    /// Renders the card on the feed's contents.
    pub(super) fn render_contents(&self) -> Markup {
        let config = self.feed.config();
        html! {
            section.card #contents aria-labelledby="contents-title" {
                h2 #contents-title { "Contents" }
                dl.facts.card-body {
                    dt { "Format" } dd {
                        (states::format_display_name(self.format()))
                        @if let Some(converter) = &config.converter {
                            span.soft { ", converted from " (converter.from) " by " }
                            span.mono { (converter.program.program_name()) }
                        }
                    }
                    @if let Some(theme) = &config.theme { dt { "Mode" } dd { (theme) } }
                    @if let Some(timetable) = &self.timetable { (render_schedule_contents_facts(timetable)) }
                    @else {
                        @for (what, count) in self.count_records() { dt { (what) } dd.numeric { (words::format_number(count)) @if what == VEHICLES { (self.render_vehicles_under_way_count(count)) } } }
                    }
                    @if let Some(said) = system::describe_gbfs_system(&self.feed, &self.network) { dt { (self.current_title()) } dd { (said) } }
                    (self.render_related_feeds())
                }
                @if let Some(timetable) = &self.timetable { (self.render_line_badges(timetable)) (render_table_row_counts(timetable, self.is_converted_from_netex())) }
            }
        }
    }

    /// Renders badges of the first lines, each with a link to its page.
    fn render_line_badges(&self, timetable: &Timetable) -> Markup {
        let mut routes: Vec<_> = timetable.routes().collect();
        routes.sort_by_key(|route| {
            (route.sort_order, route.display_name().len(), route.display_name(), route.id)
        });
        let more = routes.len().saturating_sub(LINES_SHOWN_MAX);
        html! {
            @if !routes.is_empty() {
                p.card-body.feed-lines {
                    @for line in routes.iter().take(LINES_SHOWN_MAX) {
                        a.line-link href=(links::line_page_url(self.feed_id(), line.id)) { (badge::render_route_badge(line.display_name(), line.color)) } " "
                    }
                    @if more > 0 { span.soft.small { "and " (words::format_number(count_to_u64(more))) " more" } }
                }
            }
        }
    }

    fn count_records(&self) -> Vec<(&'static str, u64)> {
        if !self.format().is_some_and(Format::is_realtime) {
            return Vec::new();
        }
        let (state, id) = (self.network.state(), self.feed_id());
        let counts = [
            (VEHICLES, state.vehicles().filter(|record| record.feed.as_str() == id).count()),
            ("Trips", state.trip_updates().filter(|record| record.feed.as_str() == id).count()),
            ("Alerts", state.alerts().filter(|record| record.feed.as_str() == id).count()),
        ];
        counts
            .into_iter()
            .filter(|(_, n)| *n > 0)
            .map(|(what, n)| (what, count_to_u64(n)))
            .collect()
    }

    /// Renders the number of vehicles on trips that have begun, if others are announced: pages for riders show only the
    /// former.
    fn render_vehicles_under_way_count(&self, count: u64) -> Markup {
        let (state, now, id) = (self.network.state(), self.network.data_time_now(), self.feed_id());
        let own = state.vehicles().filter(|record| record.feed.as_str() == id);
        let n_started =
            count_to_u64(own.filter(|it| vehicle_selection::is_under_way(&state, it, now)).count());
        html! {
            @if n_started < count { span.soft data-started=(n_started) { ", " (words::format_number(n_started)) " of them on a trip that has begun" } }
        }
    }

    fn render_related_feeds(&self) -> Markup {
        let feeds = self.network.feeds();
        let mut others =
            feeds.iter().filter(|feed| feed.config().id != self.feed.config().id).peekable();
        html! {
            @if others.peek().is_some() {
                dt { "Related feeds" }
                dd {
                    ul {
                        @for feed in others {
                            li { a href=(format!("/feeds/{}", feed.config().id)) { (feed.config().display_name()) } }
                        }
                    }
                }
            }
        }
    }

    pub(super) fn validity_title(&self) -> &'static str {
        if self.format().is_some_and(Format::is_schedule) { "Validity" } else { "Freshness" }
    }

    /// Renders the card on the feed's validity.
    pub(super) fn render_validity(&self) -> Markup {
        html! {
            section.card #validity aria-labelledby="validity-title" {
                h2 #validity-title { (self.validity_title()) }
                dl.facts.card-body {
                    @match &self.timetable {
                        Some(timetable) => (self.render_schedule_validity_facts(timetable)),
                        None => (self.render_freshness_facts()),
                    }
                }
            }
        }
    }

    fn render_schedule_validity_facts(&self, timetable: &Timetable) -> Markup {
        let today = timetable.local_date_at(self.network.data_time_now().unix_seconds());
        let info = timetable.feed_info();
        html! {
            dt { "Service" }
            @match timetable.service_date_range() {
                Some((first, last)) => dd.numeric { (words::format_day(first)) " to " (words::format_day(last)) " " strong { "(" (describe_remaining(self.validity_reference_day(today), first, last)) ")" } },
                None => dd { "no day of service" },
            }
            @if let Some(version) = info.and_then(|info| info.version.as_deref()) { dt { "Publisher's version" } dd { (version) } }
            @if let Some(snapshot) = &self.snapshot { dt { "Received" } dd { (self.render_time_in_network_zone(snapshot.fetched_at)) } }
            dt { "Time zone" } dd { (timetable.timezone_name()) }
            dt { "Versions" } dd { a href=(format!("/feeds/{}/versions", self.feed_id())) { "All published versions" } }
        }
    }

    fn validity_reference_day(&self, date: Date) -> ValidityReferenceDay {
        ValidityReferenceDay { date, is_recorded: self.is_replaying_recording() }
    }

    fn render_freshness_facts(&self) -> Markup {
        let first = self.network.feeds().into_iter().next();
        let schedule = first.filter(|feed| feed.id() != self.feed.id());
        let dates = self.network.timetable().and_then(|timetable| {
            let (first, last) = timetable.service_date_range()?;
            Some(describe_remaining(
                self.validity_reference_day(
                    timetable.local_date_at(self.network.data_time_now().unix_seconds()),
                ),
                first,
                last,
            ))
        });
        html! {
            dt { "Interval" } dd { (self.render_interval()) }
            @if let Some(at) = self.status.data_time { dt { "Data of" } dd { (self.render_time_in_network_zone(at)) } }
            // Nothing of a recording changed on the day of this server.
            @if let Some(snapshot) = self.snapshot.as_ref().filter(|_| !self.is_replaying_recording()) { dt { "Last change seen" } dd { (self.render_time_in_network_zone(snapshot.fetched_at)) } }
            @if let Some(schedule) = schedule {
                dt { "Timetable" } dd {
                    a href=(format!("/feeds/{}", schedule.id())) { (schedule.config().display_name()) }
                    @if let Some(dates) = dates { ", " (dates) }
                }
            }
        }
    }

    fn describe_missing_area(&self) -> String {
        let own = self.network.timetable().filter(|_| self.network.id().as_str() == self.feed_id());
        match own.map(|timetable| timetable.stops().count() as u64) {
            Some(n) if n > 0 => {
                format!("None of its {} has coordinates.", words::format_count(n, "stop", "stops"))
            }
            _ => "This feed has no place on the map yet.".to_owned(),
        }
    }

    /// Renders the card with the feed's area.
    pub(super) fn render_area(&self, data: Option<&serde_json::Value>, has_bundle: bool) -> Markup {
        let bounds = data.and_then(parse_bounds);
        html! {
            section.card #area aria-labelledby="area-title" {
                div.card-head {
                    h2 #area-title { "Area" }
                    @if let Some(bounds) = &bounds { a.small href=(bounds.map_url()) { "Open the map" } }
                }
                @if let Some(bounds) = &bounds { p.card-body.area-words.numeric { (bounds.describe_bounds()) } }
                @match data {
                    None => p.card-body.soft { (self.describe_missing_area()) },
                    Some(_) if !has_bundle => p.card-body.soft { "This server was built without the map; " code { "cargo xtask build" } " builds it in." },
                    Some(data) => {
                        div.mini-map.map #map {}
                        (layout::render_script_data("map-data", data))
                        noscript { p.card-body.soft { "The map needs scripts." } }
                    }
                }
            }
        }
    }
}

fn count_to_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

fn render_schedule_contents_facts(timetable: &Timetable) -> Markup {
    let mut modes: BTreeMap<&'static str, u64> = BTreeMap::new();
    for route in timetable.routes() {
        *modes.entry(route_type_name(route.kind)).or_default() += 1;
    }
    let mut modes: Vec<_> = modes.into_iter().collect();
    modes.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
    let modes: Vec<String> =
        modes.iter().map(|(name, n)| format!("{} {name}", words::format_number(*n))).collect();
    html! {
        dt { "Lines" } dd.numeric { (words::format_number(count_to_u64(timetable.routes().len()))) @if !modes.is_empty() { span.soft { " (" (modes.join(", ")) ")" } } }
        dt { "Stops" } dd.numeric { (words::format_number(count_to_u64(timetable.stops().len()))) }
        dt { "Trips" } dd.numeric { (words::format_number(count_to_u64(timetable.trips().len()))) }
    }
}

/// Returns the common name of a GTFS `route_type`, also of extended ones.
fn route_type_name(route_type: u16) -> &'static str {
    match route_type {
        0 | 5 | 900..=999 => "tram",
        1 | 400..=699 => "metro",
        2 | 12 | 100..=199 => "rail",
        3 | 11 | 200..=299 | 700..=899 => "bus",
        4 | 1000..=1099 | 1200..=1299 => "ferry",
        6 | 7 | 1300..=1499 => "cable car",
        _ => "other",
    }
}

/// Renders the rows per table. `is_converted`: the tables were converted from NeTEx.
fn render_table_row_counts(timetable: &Timetable, is_converted: bool) -> Markup {
    let counts = timetable.row_counts();
    html! {
        @if !counts.is_empty() {
            details.past {
                summary { (if is_converted { "Rows per table of the converted timetable" } else { "Rows per file" }) }
                dl.counts { @for (file, rows) in counts { div { dt { (file) } dd { (words::format_number(*rows)) } } } }
            }
        }
    }
}

/// The day from which the validity of a schedule is counted.
#[derive(Clone, Copy)]
struct ValidityReferenceDay {
    date: Date,
    /// True if the network plays a recording of this day.
    is_recorded: bool,
}

/// Describes the remaining validity of a schedule, from the day of its network.
fn describe_remaining(today: ValidityReferenceDay, first: Date, last: Date) -> String {
    let ValidityReferenceDay { date: today, is_recorded } = today;
    let days = |from: Date, to: Date| from.until(to).map_or(0, |span| i64::from(span.get_days()));
    let count = |n: i64| words::format_count(n.unsigned_abs(), "day", "days");
    match (days(today, first), days(today, last)) {
        (_, left) if left < 0 && is_recorded => {
            format!("ended {} before the recording", count(left))
        }
        (_, left) if left < 0 => format!("ended {} ago", count(left)),
        (_, left) if is_recorded => format!("{} left on the day of the recording", count(left)),
        (ahead, _) if ahead > 0 => format!("starts in {}", count(ahead)),
        (_, 0) => "ends today".to_owned(),
        (_, left) => format!("{} left", count(left)),
    }
}

/// The box around everything on the small map, in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
struct MapBounds {
    west: f64,
    south: f64,
    east: f64,
    north: f64,
}

fn parse_bounds(data: &serde_json::Value) -> Option<MapBounds> {
    let numbers: [f64; 4] = serde_json::from_value(data.get("bounds")?.clone()).ok()?;
    let [west, south, east, north] = numbers;
    Some(MapBounds { west, south, east, north })
}

impl MapBounds {
    /// Returns width and height in kilometers.
    fn size_km(self) -> (f64, f64) {
        let middle = f64::midpoint(self.south, self.north).to_radians();
        (
            (self.east - self.west) * KM_PER_DEGREE * middle.cos(),
            (self.north - self.south) * KM_PER_DEGREE,
        )
    }

    /// Returns the latitude and longitude of the middle. A box across the date line has its east beyond 180, its middle
    /// never.
    fn center_point(self) -> (f64, f64) {
        let lon = f64::midpoint(self.west, self.east);
        (f64::midpoint(self.south, self.north), if lon > 180.0 { lon - 360.0 } else { lon })
    }

    fn describe_bounds(self) -> String {
        let (width, height) = self.size_km();
        let km = |length: f64| {
            if length < 10.0 { format!("{length:.1}") } else { format!("{length:.0}") }
        };
        let (lat, lon) = self.center_point();
        let label_of_side = |degrees: f64, names: [&str; 2]| {
            format!("{:.2}° {}", degrees.abs(), names[usize::from(degrees < 0.0)])
        };
        format!(
            "{} × {} km around {}, {}",
            km(width),
            km(height),
            label_of_side(lat, ["N", "S"]),
            label_of_side(lon, ["E", "W"])
        )
    }

    /// Returns the address of the map at these bounds.
    fn map_url(self) -> String {
        let (width, height) = self.size_km();
        // A tile of zoom 0 has the equator, 40,075 km; the map is about two tiles wide.
        let zoom = (40_075.0 / width.max(height).max(0.5)).log2().clamp(2.0, 15.0);
        let (lat, lon) = self.center_point();
        format!("/map?at={lat:.5},{lon:.5},{zoom:.1}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedules_remaining_days_follow_from_its_dates() {
        let day = |text: &str| text.parse::<Date>().unwrap();
        let remaining = |today, is_recorded, first, last| {
            let today = ValidityReferenceDay { date: day(today), is_recorded };
            describe_remaining(today, day(first), day(last))
        };
        let format_remaining = |today, first, last| remaining(today, false, first, last);
        assert_ne!(
            remaining("2026-06-15", true, "2026-01-01", "2026-06-14"),
            format_remaining("2026-06-15", "2026-01-01", "2026-06-14"),
            "days before a recording are not days ago"
        );
        assert_eq!(format_remaining("2026-06-15", "2026-01-01", "2026-06-14"), "ended 1 day ago");
        assert_eq!(format_remaining("2026-06-15", "2026-01-01", "2026-06-15"), "ends today");
        assert_eq!(format_remaining("2026-06-15", "2026-01-01", "2027-06-15"), "365 days left");
        assert_eq!(format_remaining("2026-06-15", "2026-06-17", "2027-06-15"), "starts in 2 days");
    }

    #[test]
    fn an_area_has_a_size_a_center_and_a_map_link() {
        let data = serde_json::json!({"bounds": [10.70, 59.90, 10.80, 59.95]});
        let bounds = parse_bounds(&data).unwrap();
        assert_eq!(bounds.describe_bounds(), "5.6 × 5.6 km around 59.92° N, 10.75° E");
        assert!(bounds.map_url().starts_with("/map?at=59.92500,10.75000,12."));
        assert_eq!(parse_bounds(&serde_json::json!({"bounds": null})), None);
        let across = MapBounds { west: 179.0, south: 60.0, east: 182.0, north: 61.0 };
        assert!(
            across.describe_bounds().ends_with("60.50° N, 179.50° W"),
            "{}",
            across.describe_bounds()
        );
        let south = MapBounds { west: -70.0, south: -34.0, east: -70.0, north: -34.0 };
        assert!(
            south.describe_bounds().ends_with("34.00° S, 70.00° W")
                && south.map_url().ends_with(",15.0")
        );
    }

    #[test]
    fn route_types_are_mapped_to_modes() {
        let mode_names = [0, 1, 2, 3, 4, 109, 702, 1501].map(route_type_name);
        assert_eq!(mode_names, ["tram", "metro", "rail", "bus", "ferry", "rail", "bus", "other"]);
    }
}
