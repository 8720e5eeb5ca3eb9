//! Check of headsigns with the name of a stop before the last one.

use std::collections::HashMap;

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, TextColumn},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Trips, GtfsFile::StopTimes, GtfsFile::Stops],
    check: check_headsign_not_intermediate_stop,
};

static KIND: NoticeKind = NoticeKind {
    code: "trip_headsign_matches_intermediate_stop",
    severity: Severity::Info,
    fields: &[
        ("csvRowNumber", "The line of the trip."),
        ("tripId", "The trip."),
        ("tripHeadsign", "Its headsign."),
        ("stopId1", "The stop with that name."),
        ("stopSequence", "The position of that stop in the trip."),
        ("stopId2", "The stop at which the trip ends."),
    ],
    page: include_str!("trip_headsign_matches_intermediate_stop.md"),
};

/// The number of names that no stop has.
const NO_NAME: u32 = u32::MAX;

/// O(stop times): names are compared by number.
fn check_headsign_not_intermediate_stop(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let (trips, table) = (feed.table(GtfsFile::Trips), feed.table(GtfsFile::StopTimes));
    let (ids, headsigns) = (trips.text_column("trip_id"), trips.text_column("trip_headsign"));
    let (stop_time_ids, stops) = (table.text_column("trip_id"), table.text_column("stop_id"));
    let stop_times = feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id");
    let to_stop_times =
        feed.rows_referenced_by_field(GtfsFile::Trips, "trip_id", GtfsFile::StopTimes, "trip_id");
    let names = CaseInsensitiveNameNumbers::number_stop_names_and_headsigns(feed, headsigns);
    for trip in trips.row_numbers() {
        let (Some(headsign), Some(id)) =
            (headsigns.text_code_of_row(trip), ids.text_code_of_row(trip))
        else {
            continue;
        };
        let code = to_stop_times
            .row_referenced_by_code(id)
            .and_then(|row| stop_time_ids.text_code_of_row(row));
        let rows = code.map_or(&[][..], |code| stop_times.rows_with_text_code(code));
        let [first, .., last] = *rows else { continue };
        // A loop has the name of a place on the way as its headsign. As the reference validator
        // does, this ends the check of all further trips.
        if stops.text_code_of_row(first) == stops.text_code_of_row(last) {
            return;
        }
        let name = names.of_headsigns[headsign as usize];
        if name == NO_NAME {
            continue;
        }
        for &row in &rows[..rows.len() - 1] {
            let stop = stops.text_code_of_row(row);
            if stop.is_none_or(|stop| names.of_stops[stop as usize] != name) {
                continue;
            }
            out.count_notice_with_sample(&KIND, |sample| {
                sample
                    .set_field("csvRowNumber", trips.line_number(trip))
                    .set_field("tripId", ids.text_of_code(id));
                sample.set_field("tripHeadsign", headsigns.text_of_code(headsign));
                sample.set_field("stopId1", stops.get(row));
                sample.set_field("stopSequence", table.number_column("stop_sequence").get(row));
                sample.set_field("stopId2", stops.get(last));
            });
        }
    }
}

/// Numbers for names; names that differ only in case have the same number.
struct CaseInsensitiveNameNumbers {
    /// By the code of `stop_id` in `stop_times.txt`.
    of_stops: Vec<u32>,
    /// By the code of `trip_headsign`.
    of_headsigns: Vec<u32>,
}

impl CaseInsensitiveNameNumbers {
    fn number_stop_names_and_headsigns(
        feed: &GtfsFeed,
        headsigns: TextColumn<'_>,
    ) -> CaseInsensitiveNameNumbers {
        let names = feed.table(GtfsFile::Stops).text_column("stop_name");
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let of_names: Vec<u32> = (0..names.text_code_count() as u32)
            .map(|code| {
                let next = numbers.len() as u32;
                *numbers.entry(fold_case(names.text_of_code(code))).or_insert(next)
            })
            .collect();
        let to_stops = feed.rows_referenced_by_field(
            GtfsFile::StopTimes,
            "stop_id",
            GtfsFile::Stops,
            "stop_id",
        );
        let name_of = |code| {
            let name =
                to_stops.row_referenced_by_code(code).and_then(|row| names.text_code_of_row(row));
            name.map_or(NO_NAME, |name| of_names[name as usize])
        };
        let n_stops =
            feed.table(GtfsFile::StopTimes).text_column("stop_id").text_code_count() as u32;
        let number_of = |code| numbers.get(&fold_case(headsigns.text_of_code(code))).copied();
        CaseInsensitiveNameNumbers {
            of_stops: (0..n_stops).map(name_of).collect(),
            of_headsigns: (0..headsigns.text_code_count() as u32)
                .map(|code| number_of(code).unwrap_or(NO_NAME))
                .collect(),
        }
    }
}

/// Folds case character by character.
fn fold_case(name: &str) -> String {
    let upper = |sign: char| mapped_char_if_single(sign, sign.to_uppercase());
    let lower = |sign: char| mapped_char_if_single(sign, sign.to_lowercase());
    name.chars().map(|sign| lower(upper(sign))).collect()
}

/// Returns the mapped character, or the original if it maps to several.
fn mapped_char_if_single(sign: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => sign,
    }
}
