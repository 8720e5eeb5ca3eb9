//! Checks of zones: duplicate ids, missing zones, and overlapping zones with ambiguous stop times.

use std::collections::{BTreeMap, HashMap};

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{
        self, FileReadStatus, FlexZone, GtfsFeed, GtfsFile, NumberColumn,
        area::{EdgeWalkAborted, EdgeWalkBudget, determine_area_relation},
    },
    notice::{NoticeKind, Severity},
    rules::gtfs::basics::FOREIGN_KEY_VIOLATION,
};

pub(super) static IDS: GtfsRule = GtfsRule {
    kinds: &[&SHARED_ID],
    files: &[GtfsFile::Stops, GtfsFile::LocationGroups],
    check: check_duplicate_zone_ids,
};

pub(super) static REFERENCES: GtfsRule =
    GtfsRule { kinds: &[], files: &[GtfsFile::StopTimes], check: check_zone_references };

pub(super) static OVERLAPS: GtfsRule =
    GtfsRule { kinds: &[&OVERLAP], files: &[GtfsFile::StopTimes], check: check_zone_overlaps };

static SHARED_ID: NoticeKind = NoticeKind {
    code: "duplicate_geography_id",
    severity: Severity::Error,
    fields: &[
        ("geographyId", "The id."),
        ("csvRowNumberA", "The line of the stop with this id, if any."),
        ("csvRowNumberB", "The line of the group of stops with this id, if any."),
        ("featureIndex", "The position of the zone with this id in its file, from 0, if any."),
    ],
    page: include_str!("duplicate_geography_id.md"),
};

static OVERLAP: NoticeKind = NoticeKind {
    code: "overlapping_zone_and_pickup_drop_off_window",
    severity: Severity::Error,
    fields: &[
        ("tripId", "The trip."),
        ("stopSequence1", "The `stop_sequence` of the first stop time."),
        ("locationId1", "Its zone."),
        ("startPickupDropOffWindow1", "The start of its window."),
        ("endPickupDropOffWindow1", "The end of the window."),
        ("stopSequence2", "The `stop_sequence` of the second stop time."),
        ("locationId2", "Its zone."),
        ("startPickupDropOffWindow2", "The start of its window."),
        ("endPickupDropOffWindow2", "The end of the window."),
    ],
    page: include_str!("overlapping_zone_and_pickup_drop_off_window.md"),
};

/// The largest number of pairs of stop times that are compared in a trip; demand-responsive trips have a few.
const PAIRS_MAX: usize = 10_000;
/// The largest number of steps to compare the zones of a schedule: some seconds.
const STEPS_MAX: u64 = 500_000_000;
/// The largest number of pairs of zones whose comparison is cached: some tens of megabytes.
const CACHED_PAIRS_MAX: usize = 1_000_000;

/// The number of codes whose rules depend on the zones: ids, references and overlaps.
pub(crate) const CODES_OF_ZONES: u64 = 3;

/// Returns true if rules may rely on the zones: all are readable, or there are none.
fn are_zones_usable(feed: &GtfsFeed) -> bool {
    matches!(feed.geojson_flex_zones().status, FileReadStatus::Parsed | FileReadStatus::Missing)
}

/// O(n log n) in the zones and groups; stops are looked up.
fn check_duplicate_zone_ids(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    if !are_zones_usable(feed) {
        return;
    }
    let (stops, groups) = (feed.table(GtfsFile::Stops), feed.table(GtfsFile::LocationGroups));
    let (stop_ids, group_ids) =
        (stops.text_column("stop_id"), groups.text_column("location_group_id"));
    // The first group and the first zone with each id.
    let mut places: BTreeMap<&str, (Option<u32>, Option<u32>)> = BTreeMap::new();
    for row in groups.row_numbers() {
        if let Some(id) = group_ids.get(row) {
            places.entry(id).or_default().0.get_or_insert(row);
        }
    }
    for zone in &feed.geojson_flex_zones().zones {
        places.entry(&zone.id).or_default().1.get_or_insert(zone.index);
    }
    let rows = feed.rows_grouped_by_field(GtfsFile::Stops, "stop_id");
    for (id, (group, zone)) in places {
        let stop = stop_ids
            .find_text_code(id)
            .and_then(|code| rows.rows_with_text_code(code).first().copied());
        let n_files = [stop, group, zone].iter().flatten().count();
        if n_files > 1 {
            out.count_notice_with_sample(&SHARED_ID, |sample| {
                sample.set_field("geographyId", id);
                sample.set_field("csvRowNumberA", stop.map(|row| stops.line_number(row)));
                sample.set_field("csvRowNumberB", group.map(|row| groups.line_number(row)));
                sample.set_field("featureIndex", zone);
            });
        }
    }
}

/// O(n); returns at once if no stop time has a zone.
fn check_zone_references(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::StopTimes);
    if !are_zones_usable(feed) || !table.has_column("location_id") {
        return;
    }
    let zones = table.text_column("location_id");
    let by_id = feed.geojson_flex_zones().zones_by_id();
    let is_missing: Vec<bool> = (0..zones.text_code_count() as u32)
        .map(|code| !by_id.contains_key(zones.text_of_code(code)))
        .collect();
    for row in table.row_numbers() {
        let Some(code) = zones.text_code_of_row(row).filter(|&code| is_missing[code as usize])
        else {
            continue;
        };
        out.count_notice_with_sample(&FOREIGN_KEY_VIOLATION, |sample| {
            sample
                .set_field("childFilename", table.file_name())
                .set_field("childFieldName", "location_id");
            sample
                .set_field("parentFilename", "locations.geojson")
                .set_field("parentFieldName", "id");
            sample
                .set_field("fieldValue", zones.text_of_code(code))
                .set_field("csvRowNumber", table.line_number(row));
        });
    }
}

/// A stop time in a zone within a window.
struct ZoneStopTime<'a> {
    row: u32,
    zone: &'a FlexZone,
    start: i32,
    end: i32,
    pickup: i32,
    drop_off: i32,
}

/// O(n), and for each trip the square of its stop times in zones, limited; each pair of zones is compared once.
fn check_zone_overlaps(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::StopTimes);
    let zones = feed.geojson_flex_zones();
    if zones.status != FileReadStatus::Parsed || !table.has_values("location_id") {
        return;
    }
    let (ids, by_id) = (table.text_column("location_id"), zones.zones_by_id());
    let starts = table.number_column("start_pickup_drop_off_window");
    let ends = table.number_column("end_pickup_drop_off_window");
    let (pickups, drop_offs) =
        (table.number_column("pickup_type"), table.number_column("drop_off_type"));
    let should_continue = || {
        feed.unwind_if_cancelled();
        true
    };
    let mut overlaps = ZoneOverlapCache {
        cached: HashMap::new(),
        steps: EdgeWalkBudget::new(STEPS_MAX, &should_continue),
    };
    for (_, rows) in feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id").iter() {
        let ride = |&row: &u32| {
            let types = [pickups.cell_value_or(row, 0), drop_offs.cell_value_or(row, 0)];
            let is_known = !types.contains(&gtfs::UNRECOGNIZED);
            let zone = ids.get(row).filter(|_| is_known).and_then(|id| by_id.get(id))?;
            let (start, end) = (starts.get(row)?, ends.get(row)?);
            Some(ZoneStopTime { row, zone, start, end, pickup: types[0], drop_off: types[1] })
        };
        let rides: Vec<ZoneStopTime<'_>> = rows.iter().filter_map(ride).collect();
        let pairs = rides
            .iter()
            .enumerate()
            .flat_map(|(at, one)| rides[at + 1..].iter().map(move |other| (one, other)));
        for (at, (one, other)) in pairs.enumerate() {
            if at == PAIRS_MAX {
                out.mark_total_as_lower_bound(&OVERLAP);
                break;
            }
            if !one.is_ambiguous_with(other) {
                continue;
            }
            match overlaps.do_zones_overlap(one.zone, other.zone) {
                Ok(true) => report_zone_overlap(feed, one, other, out),
                Ok(false) => {}
                Err(EdgeWalkAborted) => out.mark_total_as_lower_bound(&OVERLAP),
            }
        }
    }
}

struct ZoneOverlapCache<'a> {
    /// By the positions of both zones, the lower one first; an error if the comparison took too many steps.
    cached: HashMap<(u32, u32), Result<bool, EdgeWalkAborted>>,
    /// The remaining steps.
    steps: EdgeWalkBudget<'a>,
}

impl ZoneOverlapCache<'_> {
    /// Returns true if two zones overlap, or an error if the comparison takes too many steps.
    fn do_zones_overlap(
        &mut self,
        one: &FlexZone,
        other: &FlexZone,
    ) -> Result<bool, EdgeWalkAborted> {
        if !one.area.bounding_box().intersects_box(&other.area.bounding_box()) {
            return Ok(false);
        }
        let pair = (one.index.min(other.index), one.index.max(other.index));
        if let Some(cached) = self.cached.get(&pair) {
            return *cached;
        }
        let relation = determine_area_relation(&one.area, &other.area, &mut self.steps);
        let overlap = relation.map(|relation| relation.is_partial_overlap());
        if self.cached.len() < CACHED_PAIRS_MAX {
            self.cached.insert(pair, overlap);
        }
        overlap
    }
}

impl ZoneStopTime<'_> {
    /// Returns true if a rider within both zones, if they overlap, could not tell which stop time applies.
    fn is_ambiguous_with(&self, other: &ZoneStopTime<'_>) -> bool {
        let is_alike = self.pickup == other.pickup || self.drop_off == other.drop_off;
        let meets = self.start < other.end && other.start < self.end;
        is_alike && meets && self.zone.index != other.zone.index
    }
}

fn report_zone_overlap(
    feed: &GtfsFeed,
    one: &ZoneStopTime<'_>,
    other: &ZoneStopTime<'_>,
    out: &mut Notices,
) {
    let table = feed.table(GtfsFile::StopTimes);
    let sequence: NumberColumn<'_> = table.number_column("stop_sequence");
    out.count_notice_with_sample(&OVERLAP, |sample| {
        sample.set_field("tripId", table.text_column("trip_id").get(one.row));
        sample.set_field("stopSequence1", sequence.get(one.row));
        sample.set_field("locationId1", one.zone.id.as_str());
        sample.set_field("startPickupDropOffWindow1", gtfs::format_gtfs_time(one.start));
        sample.set_field("endPickupDropOffWindow1", gtfs::format_gtfs_time(one.end));
        sample.set_field("stopSequence2", sequence.get(other.row));
        sample.set_field("locationId2", other.zone.id.as_str());
        sample.set_field("startPickupDropOffWindow2", gtfs::format_gtfs_time(other.start));
        sample.set_field("endPickupDropOffWindow2", gtfs::format_gtfs_time(other.end));
    });
}
