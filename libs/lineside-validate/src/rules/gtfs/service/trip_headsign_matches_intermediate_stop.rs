//! Headsigns that name a stop at which the trip does not end.

use std::collections::HashMap;

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, Texts},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::Trips, File::StopTimes, File::Stops], check };

static KIND: Kind = Kind {
    code: "trip_headsign_matches_intermediate_stop",
    severity: Severity::Info,
    fields: &[
        ("csvRowNumber", "The line of the trip."),
        ("tripId", "The trip."),
        ("tripHeadsign", "Its headsign."),
        ("stopId1", "The stop with that name."),
        ("stopSequence", "Its position in the trip."),
        ("stopId2", "The stop at which the trip ends."),
    ],
    page: include_str!("trip_headsign_matches_intermediate_stop.md"),
};

/// No stop has this name.
const NO_NAME: u32 = u32::MAX;

/// O(stop times): names are compared by number.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let (trips, table) = (feed.table(File::Trips), feed.table(File::StopTimes));
    let (ids, headsigns) = (trips.texts("trip_id"), trips.texts("trip_headsign"));
    let (stop_time_ids, stops) = (table.texts("trip_id"), table.texts("stop_id"));
    let stop_times = feed.groups(File::StopTimes, "trip_id");
    let to_stop_times = feed.link(File::Trips, "trip_id", File::StopTimes, "trip_id");
    let names = Names::of(feed, headsigns);
    for trip in trips.rows() {
        let (Some(headsign), Some(id)) = (headsigns.code(trip), ids.code(trip)) else { continue };
        let code = to_stop_times.row(id).and_then(|row| stop_time_ids.code(row));
        let rows = code.map_or(&[][..], |code| stop_times.rows(code));
        let [first, .., last] = *rows else { continue };
        // A trip that ends where it begins is named after the place that it passes. The reference
        // validator looks at no further trip then.
        if stops.code(first) == stops.code(last) {
            return;
        }
        let name = names.of_headsigns[headsign as usize];
        if name == NO_NAME {
            continue;
        }
        for &row in &rows[..rows.len() - 1] {
            let stop = stops.code(row);
            if stop.is_none_or(|stop| names.of_stops[stop as usize] != name) {
                continue;
            }
            out.add(&KIND, |sample| {
                sample.put("csvRowNumber", trips.line(trip)).put("tripId", ids.text(id));
                sample.put("tripHeadsign", headsigns.text(headsign));
                sample.put("stopId1", stops.get(row));
                sample.put("stopSequence", table.numbers("stop_sequence").get(row));
                sample.put("stopId2", stops.get(last));
            });
        }
    }
}

/// Numbers for names: equal ones, whatever their case, have the same.
struct Names {
    /// By the code of `stop_id` in `stop_times.txt`.
    of_stops: Vec<u32>,
    /// By the code of `trip_headsign`.
    of_headsigns: Vec<u32>,
}

impl Names {
    fn of(feed: &Feed, headsigns: Texts<'_>) -> Names {
        let names = feed.table(File::Stops).texts("stop_name");
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let of_names: Vec<u32> = (0..names.n_codes() as u32)
            .map(|code| {
                let next = numbers.len() as u32;
                *numbers.entry(folded(names.text(code))).or_insert(next)
            })
            .collect();
        let to_stops = feed.link(File::StopTimes, "stop_id", File::Stops, "stop_id");
        let name_of = |code| {
            let name = to_stops.row(code).and_then(|row| names.code(row));
            name.map_or(NO_NAME, |name| of_names[name as usize])
        };
        let n_stops = feed.table(File::StopTimes).texts("stop_id").n_codes() as u32;
        let number_of = |code| numbers.get(&folded(headsigns.text(code))).copied();
        Names {
            of_stops: (0..n_stops).map(name_of).collect(),
            of_headsigns: (0..headsigns.n_codes() as u32)
                .map(|code| number_of(code).unwrap_or(NO_NAME))
                .collect(),
        }
    }
}

/// Without case, sign by sign.
fn folded(name: &str) -> String {
    let upper = |sign: char| single(sign, sign.to_uppercase());
    let lower = |sign: char| single(sign, sign.to_lowercase());
    name.chars().map(|sign| lower(upper(sign))).collect()
}

/// A sign that becomes several ones stays as it is.
fn single(sign: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => sign,
    }
}
