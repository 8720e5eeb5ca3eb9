//! Zones: ids that mean two places, zones that are not there, and zones among which a rider could be
//! anywhere.

use std::collections::{BTreeMap, HashMap};

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{
        self, Feed, File, Numbers, Status, Zone,
        area::{Exhausted, Steps, relation},
    },
    notice::{Kind, Severity},
    rules::gtfs::basics::FOREIGN_KEY_VIOLATION,
};

pub(super) static IDS: GtfsRule = GtfsRule {
    kinds: &[&SHARED_ID],
    files: &[File::Stops, File::LocationGroups],
    check: check_ids,
};

pub(super) static REFERENCES: GtfsRule =
    GtfsRule { kinds: &[], files: &[File::StopTimes], check: check_references };

pub(super) static OVERLAPS: GtfsRule =
    GtfsRule { kinds: &[&OVERLAP], files: &[File::StopTimes], check: check_overlaps };

static SHARED_ID: Kind = Kind {
    code: "duplicate_geography_id",
    severity: Severity::Error,
    fields: &[
        ("geographyId", "The id."),
        ("csvRowNumberA", "The line of the stop, if one has it."),
        ("csvRowNumberB", "The line of the group of stops, if one has it."),
        ("featureIndex", "The position of the zone in its file, from 0, if one has it."),
    ],
    page: include_str!("duplicate_geography_id.md"),
};

static OVERLAP: Kind = Kind {
    code: "overlapping_zone_and_pickup_drop_off_window",
    severity: Severity::Error,
    fields: &[
        ("tripId", "The trip."),
        ("stopSequence1", "The first stop time's place in it."),
        ("locationId1", "Its zone."),
        ("startPickupDropOffWindow1", "When its window opens."),
        ("endPickupDropOffWindow1", "When it closes."),
        ("stopSequence2", "The second stop time's place in it."),
        ("locationId2", "Its zone."),
        ("startPickupDropOffWindow2", "When its window opens."),
        ("endPickupDropOffWindow2", "When it closes."),
    ],
    page: include_str!("overlapping_zone_and_pickup_drop_off_window.md"),
};

/// Pairs of stop times that are compared in one trip; trips on demand have a few.
const PAIRS_MAX: usize = 10_000;
/// Steps within which the zones of a schedule are held against each other: some seconds.
const STEPS_MAX: u64 = 500_000_000;
/// Pairs of zones of which it is remembered whether they overlap: some tens of megabytes.
const KNOWN_MAX: usize = 1_000_000;

/// Codes whose rules rely on the zones: ids, references and overlaps.
pub(crate) const CODES_OF_ZONES: u64 = 3;

/// Whether rules may rely on the zones: all could be read, or there are none.
fn are_usable(feed: &Feed) -> bool {
    matches!(feed.zones().status, Status::Parsed | Status::Missing)
}

/// O(n log n) in the zones and groups; stops are looked up.
fn check_ids(feed: &Feed, _: &Context, out: &mut Notices) {
    if !are_usable(feed) {
        return;
    }
    let (stops, groups) = (feed.table(File::Stops), feed.table(File::LocationGroups));
    let (stop_ids, group_ids) = (stops.texts("stop_id"), groups.texts("location_group_id"));
    // Of each id that a group or a zone has: the first of each.
    let mut places: BTreeMap<&str, (Option<u32>, Option<u32>)> = BTreeMap::new();
    for row in groups.rows() {
        if let Some(id) = group_ids.get(row) {
            places.entry(id).or_default().0.get_or_insert(row);
        }
    }
    for zone in &feed.zones().zones {
        places.entry(&zone.id).or_default().1.get_or_insert(zone.index);
    }
    let rows = feed.groups(File::Stops, "stop_id");
    for (id, (group, zone)) in places {
        let stop = stop_ids.find(id).and_then(|code| rows.rows(code).first().copied());
        let n_files = [stop, group, zone].iter().flatten().count();
        if n_files > 1 {
            out.add(&SHARED_ID, |sample| {
                sample.put("geographyId", id);
                sample.put("csvRowNumberA", stop.map(|row| stops.line(row)));
                sample.put("csvRowNumberB", group.map(|row| groups.line(row)));
                sample.put("featureIndex", zone);
            });
        }
    }
}

/// O(n), and nothing where no stop time names a zone.
fn check_references(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::StopTimes);
    if !are_usable(feed) || !table.has("location_id") {
        return;
    }
    let zones = table.texts("location_id");
    let by_id = feed.zones().by_id();
    let is_missing: Vec<bool> =
        (0..zones.n_codes() as u32).map(|code| !by_id.contains_key(zones.text(code))).collect();
    for row in table.rows() {
        let Some(code) = zones.code(row).filter(|&code| is_missing[code as usize]) else {
            continue;
        };
        out.add(&FOREIGN_KEY_VIOLATION, |sample| {
            sample.put("childFilename", table.name()).put("childFieldName", "location_id");
            sample.put("parentFilename", "locations.geojson").put("parentFieldName", "id");
            sample.put("fieldValue", zones.text(code)).put("csvRowNumber", table.line(row));
        });
    }
}

/// A stop time in a zone within a window.
struct Ride<'a> {
    row: u32,
    zone: &'a Zone,
    start: i32,
    end: i32,
    pickup: i32,
    drop_off: i32,
}

/// O(n) and, for each trip, the square of its stop times in zones, bounded; each pair of zones is compared once.
fn check_overlaps(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::StopTimes);
    let zones = feed.zones();
    if zones.status != Status::Parsed || !table.gives("location_id") {
        return;
    }
    let (ids, by_id) = (table.texts("location_id"), zones.by_id());
    let starts = table.numbers("start_pickup_drop_off_window");
    let ends = table.numbers("end_pickup_drop_off_window");
    let (pickups, drop_offs) = (table.numbers("pickup_type"), table.numbers("drop_off_type"));
    let goes_on = || {
        feed.look();
        true
    };
    let mut overlaps = Overlaps { known: HashMap::new(), steps: Steps::new(STEPS_MAX, &goes_on) };
    for (_, rows) in feed.groups(File::StopTimes, "trip_id").iter() {
        let ride = |&row: &u32| {
            let types = [pickups.get_or(row, 0), drop_offs.get_or(row, 0)];
            let is_known = !types.contains(&gtfs::UNRECOGNIZED);
            let zone = ids.get(row).filter(|_| is_known).and_then(|id| by_id.get(id))?;
            let (start, end) = (starts.get(row)?, ends.get(row)?);
            Some(Ride { row, zone, start, end, pickup: types[0], drop_off: types[1] })
        };
        let rides: Vec<Ride<'_>> = rows.iter().filter_map(ride).collect();
        let pairs = rides
            .iter()
            .enumerate()
            .flat_map(|(at, one)| rides[at + 1..].iter().map(move |other| (one, other)));
        for (at, (one, other)) in pairs.enumerate() {
            if at == PAIRS_MAX {
                out.leave_off(&OVERLAP);
                break;
            }
            if !one.may_confuse(other) {
                continue;
            }
            match overlaps.ask(one.zone, other.zone) {
                Ok(true) => say_overlap(feed, one, other, out),
                Ok(false) => {}
                Err(Exhausted) => out.leave_off(&OVERLAP),
            }
        }
    }
}

/// Which zones overlap, as far as it is known.
struct Overlaps<'a> {
    /// By the positions of both zones, the lower one first; also where it took too much to find out.
    known: HashMap<(u32, u32), Result<bool, Exhausted>>,
    /// What may still be done to find out.
    steps: Steps<'a>,
}

impl Overlaps<'_> {
    /// Whether two zones overlap, if finding out does not take too much.
    fn ask(&mut self, one: &Zone, other: &Zone) -> Result<bool, Exhausted> {
        if !one.area.bounds().meets(&other.area.bounds()) {
            return Ok(false);
        }
        let pair = (one.index.min(other.index), one.index.max(other.index));
        if let Some(known) = self.known.get(&pair) {
            return *known;
        }
        let relation = relation(&one.area, &other.area, &mut self.steps);
        let overlap = relation.map(|relation| relation.overlaps());
        if self.known.len() < KNOWN_MAX {
            self.known.insert(pair, overlap);
        }
        overlap
    }
}

impl Ride<'_> {
    /// Whether a rider within both zones, if they overlap, could not tell which of the two stop times is meant.
    fn may_confuse(&self, other: &Ride<'_>) -> bool {
        let is_alike = self.pickup == other.pickup || self.drop_off == other.drop_off;
        let meets = self.start < other.end && other.start < self.end;
        is_alike && meets && self.zone.index != other.zone.index
    }
}

fn say_overlap(feed: &Feed, one: &Ride<'_>, other: &Ride<'_>, out: &mut Notices) {
    let table = feed.table(File::StopTimes);
    let sequence: Numbers<'_> = table.numbers("stop_sequence");
    out.add(&OVERLAP, |sample| {
        sample.put("tripId", table.texts("trip_id").get(one.row));
        sample.put("stopSequence1", sequence.get(one.row));
        sample.put("locationId1", one.zone.id.as_str());
        sample.put("startPickupDropOffWindow1", gtfs::time_text(one.start));
        sample.put("endPickupDropOffWindow1", gtfs::time_text(one.end));
        sample.put("stopSequence2", sequence.get(other.row));
        sample.put("locationId2", other.zone.id.as_str());
        sample.put("startPickupDropOffWindow2", gtfs::time_text(other.start));
        sample.put("endPickupDropOffWindow2", gtfs::time_text(other.end));
    });
}
