//! Random schedules: small, with all kinds of files, and without faults.

use std::collections::BTreeMap;

use fastrand::Rng;
use lineside_validate::gtfs::InMemoryFiles;

use super::fares::{fares, fares_v2};

/// A file as columns and rows, which are joined only at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Text after the rows.
    tail: String,
}

/// A generated schedule.
#[derive(Clone, Debug, Default)]
pub(crate) struct GeneratedFeed {
    files: BTreeMap<String, Rows>,
}

/// The optional files of a schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    /// A random choice of them.
    Some,
    All,
}

impl GeneratedFeed {
    /// Adds a row. New columns are empty in earlier rows.
    pub(crate) fn push(&mut self, file: &str, cells: &[(&str, &str)]) {
        let rows = self.files.entry(file.to_owned()).or_default();
        let mut row = vec![String::new(); rows.columns.len()];
        for (column, cell) in cells {
            let at = rows.column(column);
            row.resize(rows.columns.len().max(row.len()), String::new());
            row[at] = (*cell).to_owned();
        }
        rows.rows.push(row);
    }

    /// Sets a cell; the column may be new.
    pub(crate) fn set(&mut self, file: &str, row: usize, column: &str, cell: &str) {
        let rows = self.files.entry(file.to_owned()).or_default();
        let at = rows.column(column);
        assert!(row < rows.rows.len(), "{file} has no row {row}");
        rows.rows[row][at] = cell.to_owned();
    }

    /// Sets a cell in the row that has a text in a column.
    pub(crate) fn set_where(&mut self, file: &str, key: (&str, &str), column: &str, cell: &str) {
        let row = self.find(file, key);
        self.set(file, row, column, cell);
    }

    fn find(&mut self, file: &str, (column, text): (&str, &str)) -> usize {
        let rows = self.files.entry(file.to_owned()).or_default();
        let at = rows.column(column);
        let row = rows.rows.iter().position(|row| row[at] == text);
        assert!(row.is_some(), "{file} has no {column} {text}");
        row.unwrap_or_default()
    }

    pub(crate) fn rename(&mut self, file: &str, column: &str, name: &str) {
        let rows = self.files.entry(file.to_owned()).or_default();
        let at = rows.column(column);
        rows.columns[at] = name.to_owned();
    }

    pub(crate) fn drop_file(&mut self, file: &str) {
        self.files.remove(file);
    }

    pub(crate) fn append(&mut self, file: &str, tail: &str) {
        self.files.entry(file.to_owned()).or_default().tail.push_str(tail);
    }

    /// Returns the schedule as a source of files.
    pub(crate) fn source(&self) -> InMemoryFiles {
        self.files.iter().fold(InMemoryFiles::default(), |source, (name, rows)| {
            let lines = std::iter::once(&rows.columns).chain(&rows.rows);
            let lines: String = lines.map(|cells| cells.join(",") + "\n").collect();
            let text = if rows.columns.is_empty() { String::new() } else { lines };
            source.with_file(name, text + &rows.tail)
        })
    }
}

impl Rows {
    fn column(&mut self, name: &str) -> usize {
        if let Some(at) = self.columns.iter().position(|column| column == name) {
            return at;
        }
        self.columns.push(name.to_owned());
        for row in &mut self.rows {
            row.push(String::new());
        }
        self.columns.len() - 1
    }
}

/// Returns the position of a line's stop: all lines begin at one point and diverge from it.
fn place(line: usize, stop: usize) -> (f64, f64) {
    let (line, stop) = (line as f64, stop as f64);
    (59.9 + 0.01 * stop, 10.7 + 0.001 * line + 0.02 * line * stop)
}

/// Returns the id of a line's stop. The first stops of the first two lines are platforms of one
/// station.
pub(crate) fn stop_id(line: usize, stop: usize) -> String {
    if stop == 0 && line < 2 { format!("P{line}") } else { format!("S{line}_{stop}") }
}

fn time(seconds: usize) -> String {
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Generates a schedule from a seed.
pub(crate) fn made(seed: u64, extent: Extent) -> GeneratedFeed {
    let mut random = Rng::with_seed(seed);
    let mut feed = GeneratedFeed::default();
    let n_lines = random.usize(2..4);
    let n_stops: Vec<usize> = (0..n_lines).map(|_| random.usize(4..8)).collect();
    agencies(&mut feed);
    station(&mut feed);
    for (line, &n_stops) in n_stops.iter().enumerate() {
        stops(&mut feed, line, n_stops);
        for direction in 0..2 {
            shape(&mut feed, line, direction, n_stops);
            for trip in 0..random.usize(1..4) {
                trips(&mut feed, (line, direction, trip), n_stops, &mut random);
            }
        }
    }
    let parts: [fn(&mut GeneratedFeed); 9] = [
        calendar_dates,
        fares,
        fares_v2,
        pathways,
        frequencies,
        flexible,
        transfers,
        translations,
        attributions,
    ];
    for part in parts {
        if matches!(extent, Extent::All) || random.bool() {
            part(&mut feed);
        }
    }
    feed
}

fn agencies(feed: &mut GeneratedFeed) {
    feed.push(
        "agency.txt",
        &[
            ("agency_id", "A1"),
            ("agency_name", "North Lines"),
            ("agency_url", "https://north.example"),
            ("agency_timezone", "Europe/Oslo"),
            ("agency_lang", "en"),
            ("agency_email", "riders@north.example"),
        ],
    );
    feed.push(
        "feed_info.txt",
        &[
            ("feed_publisher_name", "North Lines"),
            ("feed_publisher_url", "https://north.example"),
            ("feed_lang", "en"),
            ("feed_start_date", "20260101"),
            ("feed_end_date", "20261231"),
            ("feed_version", "7"),
            ("feed_contact_email", "data@north.example"),
        ],
    );
    for (service, weekend) in [("W1", "1"), ("W2", "0")] {
        let days = ["monday", "tuesday", "wednesday", "thursday", "friday"].map(|day| (day, "1"));
        let mut cells = vec![("service_id", service)];
        cells.extend(days);
        cells.extend([("saturday", weekend), ("sunday", weekend)]);
        cells.extend([("start_date", "20260101"), ("end_date", "20261231")]);
        feed.push("calendar.txt", &cells);
    }
}

fn station(feed: &mut GeneratedFeed) {
    for (id, name, kind, parent) in
        [("ST", "Harbour Station", "1", ""), ("E1", "Harbour Gate", "2", "ST")]
    {
        feed.push(
            "stops.txt",
            &[
                ("stop_id", id),
                ("stop_name", name),
                ("stop_lat", "59.9"),
                ("stop_lon", "10.7005"),
                ("zone_id", ""),
                ("location_type", kind),
                ("parent_station", parent),
                ("stop_desc", ""),
                ("stop_url", ""),
            ],
        );
    }
}

fn stops(feed: &mut GeneratedFeed, line: usize, n_stops: usize) {
    let long_name = format!("Harbour and Hill {}", ["East", "West", "South"][line % 3]);
    feed.push(
        "routes.txt",
        &[
            ("route_id", &format!("R{line}")),
            ("agency_id", "A1"),
            ("route_short_name", &format!("{}", line + 1)),
            ("route_long_name", &long_name),
            ("route_type", "3"),
            ("route_color", "003366"),
            ("route_text_color", "FFFFFF"),
        ],
    );
    for stop in 0..n_stops {
        let (lat, lon) = place(line, stop);
        let parent = if stop == 0 && line < 2 { "ST" } else { "" };
        feed.push(
            "stops.txt",
            &[
                ("stop_id", &stop_id(line, stop)),
                ("stop_name", &format!("Mill Road {line}{stop}")),
                ("stop_lat", &format!("{lat:.5}")),
                ("stop_lon", &format!("{lon:.5}")),
                ("zone_id", "Z1"),
                ("location_type", "0"),
                ("parent_station", parent),
            ],
        );
    }
}

/// Returns the stops of a line in the order of a direction.
fn along(direction: usize, n_stops: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n_stops).map(move |at| (at, if direction == 0 { at } else { n_stops - 1 - at }))
}

fn shape(feed: &mut GeneratedFeed, line: usize, direction: usize, n_stops: usize) {
    for (at, stop) in along(direction, n_stops) {
        let (lat, lon) = place(line, stop);
        feed.push(
            "shapes.txt",
            &[
                ("shape_id", &format!("H{line}_{direction}")),
                ("shape_pt_lat", &format!("{lat:.5}")),
                ("shape_pt_lon", &format!("{lon:.5}")),
                ("shape_pt_sequence", &format!("{}", at * 10)),
                ("shape_dist_traveled", &format!("{}", at * 3)),
            ],
        );
    }
}

fn trips(
    feed: &mut GeneratedFeed,
    (line, direction, trip): (usize, usize, usize),
    n_stops: usize,
    random: &mut Rng,
) {
    let id = format!("T{line}_{direction}_{trip}");
    feed.push(
        "trips.txt",
        &[
            ("route_id", &format!("R{line}")),
            ("service_id", if random.bool() { "W1" } else { "W2" }),
            ("trip_id", &id),
            ("trip_headsign", "Harbour and Hill"),
            ("direction_id", &format!("{direction}")),
            ("block_id", ""),
            ("shape_id", &format!("H{line}_{direction}")),
        ],
    );
    let mut seconds = 6 * 3_600 + trip * 3_600 + random.usize(0..30) * 60;
    for (at, stop) in along(direction, n_stops) {
        let departure = time(seconds + random.usize(0..60));
        feed.push(
            "stop_times.txt",
            &[
                ("trip_id", &id),
                ("arrival_time", &time(seconds)),
                ("departure_time", &departure),
                ("stop_id", &stop_id(line, stop)),
                ("stop_sequence", &format!("{}", at + 1)),
                ("shape_dist_traveled", &format!("{}", at * 3)),
                ("timepoint", "1"),
            ],
        );
        seconds += random.usize(240..480);
    }
}

fn calendar_dates(feed: &mut GeneratedFeed) {
    for date in ["20261224", "20261225"] {
        let cells = [("service_id", "W1"), ("date", date), ("exception_type", "2")];
        feed.push("calendar_dates.txt", &cells);
    }
}

fn pathways(feed: &mut GeneratedFeed) {
    for (level, index, name) in [("L0", "0", "Street"), ("L1", "-1", "Tracks")] {
        let cells = [("level_id", level), ("level_index", index), ("level_name", name)];
        feed.push("levels.txt", &cells);
    }
    for (stop, level) in [("E1", "L0"), ("P0", "L1"), ("P1", "L1")] {
        feed.set_where("stops.txt", ("stop_id", stop), "level_id", level);
    }
    for (id, to) in [("W1", "P0"), ("W2", "P1")] {
        feed.push(
            "pathways.txt",
            &[
                ("pathway_id", id),
                ("from_stop_id", "E1"),
                ("to_stop_id", to),
                ("pathway_mode", "2"),
                ("is_bidirectional", "1"),
                ("length", "40"),
                ("traversal_time", "60"),
                ("stair_count", "20"),
            ],
        );
    }
}

fn frequencies(feed: &mut GeneratedFeed) {
    for (from, to) in [("06:00:00", "08:00:00"), ("08:00:00", "10:00:00")] {
        feed.push(
            "frequencies.txt",
            &[
                ("trip_id", "T0_0_0"),
                ("start_time", from),
                ("end_time", to),
                ("headway_secs", "600"),
            ],
        );
    }
}

/// Adds a demand-responsive trip between two groups of stops.
fn flexible(feed: &mut GeneratedFeed) {
    feed.push(
        "booking_rules.txt",
        &[
            ("booking_rule_id", "B1"),
            ("booking_type", "1"),
            ("prior_notice_duration_min", "60"),
            ("prior_notice_last_day", ""),
            ("prior_notice_last_time", ""),
            ("prior_notice_start_day", ""),
            ("prior_notice_start_time", ""),
        ],
    );
    feed.push(
        "routes.txt",
        &[
            ("route_id", "RF"),
            ("agency_id", "A1"),
            ("route_short_name", "F"),
            ("route_long_name", "On Demand"),
            ("route_type", "3"),
        ],
    );
    feed.push("trips.txt", &[("route_id", "RF"), ("service_id", "W1"), ("trip_id", "TF")]);
    for (at, group, stop) in [(1, "LG1", "S0_1"), (2, "LG2", "S1_1")] {
        let name = if at == 1 { "Hill Stops" } else { "Mill Stops" };
        let cells = [("location_group_id", group), ("location_group_name", name)];
        feed.push("location_groups.txt", &cells);
        let cells = [("location_group_id", group), ("stop_id", stop)];
        feed.push("location_group_stops.txt", &cells);
        feed.push(
            "stop_times.txt",
            &[
                ("trip_id", "TF"),
                ("stop_sequence", &format!("{at}")),
                ("location_group_id", group),
                ("start_pickup_drop_off_window", "08:00:00"),
                ("end_pickup_drop_off_window", "18:00:00"),
                ("pickup_type", if at == 1 { "2" } else { "1" }),
                ("drop_off_type", if at == 1 { "1" } else { "2" }),
                ("pickup_booking_rule_id", "B1"),
                ("drop_off_booking_rule_id", "B1"),
            ],
        );
    }
}

fn transfers(feed: &mut GeneratedFeed) {
    feed.push(
        "transfers.txt",
        &[
            ("from_stop_id", "P0"),
            ("to_stop_id", "P1"),
            ("transfer_type", "2"),
            ("min_transfer_time", "120"),
        ],
    );
}

fn translations(feed: &mut GeneratedFeed) {
    feed.push(
        "translations.txt",
        &[
            ("table_name", "stops"),
            ("field_name", "stop_name"),
            ("language", "nb"),
            ("translation", "Havneporten"),
            ("record_id", "E1"),
            ("record_sub_id", ""),
            ("field_value", ""),
        ],
    );
}

fn attributions(feed: &mut GeneratedFeed) {
    feed.push(
        "attributions.txt",
        &[
            ("attribution_id", "AT1"),
            ("organization_name", "North Lines"),
            ("is_producer", "1"),
            ("attribution_url", "https://north.example/data"),
            ("attribution_email", "data@north.example"),
        ],
    );
}
