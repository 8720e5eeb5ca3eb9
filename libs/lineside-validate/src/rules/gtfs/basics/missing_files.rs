//! Files that must or should be there because of what else is, or is not.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, Status, simple::MISSING_REQUIRED_FILE},
    notice::{Kind, Severity},
};

pub(super) static CALENDARS: GtfsRule = GtfsRule {
    kinds: &[&NO_CALENDARS],
    files: &[File::Calendar, File::CalendarDates],
    check: check_calendars,
};

pub(super) static STOPS: GtfsRule =
    GtfsRule { kinds: &[], files: &[File::Stops], check: check_stops };

pub(super) static FEED_INFO: GtfsRule = GtfsRule {
    kinds: &[&RECOMMENDED],
    files: &[File::FeedInfo, File::Translations],
    check: check_feed_info,
};

pub(super) static SHAPES: GtfsRule =
    GtfsRule { kinds: &[], files: &File::ALL, check: check_shapes };

static NO_CALENDARS: Kind = Kind {
    code: "missing_calendar_and_calendar_date_files",
    severity: Severity::Error,
    fields: &[],
    page: include_str!("missing_calendar_and_calendar_date_files.md"),
};

static RECOMMENDED: Kind = Kind {
    code: "missing_recommended_file",
    severity: Severity::Warning,
    fields: &[("filename", "The file that is missing.")],
    page: include_str!("missing_recommended_file.md"),
};

fn check_calendars(feed: &Feed, _: &Context, out: &mut Notices) {
    if !feed.table(File::Calendar).is_there() && !feed.table(File::CalendarDates).is_there() {
        out.add(&NO_CALENDARS, |_| {});
    }
}

/// A feed without stops serves zones, which are GeoJSON.
fn check_stops(feed: &Feed, _: &Context, out: &mut Notices) {
    if !feed.table(File::Stops).is_there() && feed.zones().status == Status::Missing {
        out.add(&MISSING_REQUIRED_FILE, |sample| {
            sample.put("filename", File::Stops.name());
        });
    }
}

/// Who translates has to say from which language.
fn check_feed_info(feed: &Feed, _: &Context, out: &mut Notices) {
    if !feed.table(File::FeedInfo).is_there() {
        let is_needed = feed.table(File::Translations).is_there();
        out.add(if is_needed { &MISSING_REQUIRED_FILE } else { &RECOMMENDED }, |sample| {
            sample.put("filename", File::FeedInfo.name());
        });
    }
}

/// Lines on a map need shapes, unless a feed serves nothing but zones or groups of stops.
fn check_shapes(feed: &Feed, _: &Context, out: &mut Notices) {
    let has_groups = !feed.table(File::LocationGroups).is_empty();
    let serves_zones = serves_only(feed, "location_id");
    let serves_groups = has_groups && serves_only(feed, "location_group_id");
    if feed.table(File::Shapes).is_empty() && !serves_zones && !serves_groups {
        out.add(&RECOMMENDED, |sample| {
            sample.put("filename", File::Shapes.name());
        });
    }
}

/// Whether there is a stop time that names its place by this field instead of a stop.
fn serves_only(feed: &Feed, field: &'static str) -> bool {
    let table = feed.table(File::StopTimes);
    let (places, stops) = (table.texts(field), table.texts("stop_id"));
    table.has(field)
        && table.rows().any(|row| places.code(row).is_some() && stops.code(row).is_none())
}
