//! Checks of files that are required or recommended because other files are present or missing.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, ReadStatus, simple::MISSING_REQUIRED_FILE},
    notice::{NoticeKind, Severity},
};

pub(super) static CALENDARS: GtfsRule = GtfsRule {
    kinds: &[&NO_CALENDARS],
    files: &[GtfsFile::Calendar, GtfsFile::CalendarDates],
    check: check_calendars,
};

pub(super) static STOPS: GtfsRule =
    GtfsRule { kinds: &[], files: &[GtfsFile::Stops], check: check_stops };

pub(super) static FEED_INFO: GtfsRule = GtfsRule {
    kinds: &[&RECOMMENDED],
    files: &[GtfsFile::FeedInfo, GtfsFile::Translations],
    check: check_feed_info,
};

pub(super) static SHAPES: GtfsRule =
    GtfsRule { kinds: &[], files: &GtfsFile::ALL, check: check_shapes };

static NO_CALENDARS: NoticeKind = NoticeKind {
    code: "missing_calendar_and_calendar_date_files",
    severity: Severity::Error,
    fields: &[],
    page: include_str!("missing_calendar_and_calendar_date_files.md"),
};

static RECOMMENDED: NoticeKind = NoticeKind {
    code: "missing_recommended_file",
    severity: Severity::Warning,
    fields: &[("filename", "The file that is missing.")],
    page: include_str!("missing_recommended_file.md"),
};

fn check_calendars(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    if !feed.table(GtfsFile::Calendar).is_there() && !feed.table(GtfsFile::CalendarDates).is_there()
    {
        out.add_notice(&NO_CALENDARS, |_| {});
    }
}

/// Checks for `stops.txt`. A feed without it serves GeoJSON zones.
fn check_stops(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    if !feed.table(GtfsFile::Stops).is_there() && feed.flex_zones().status == ReadStatus::Missing {
        out.add_notice(&MISSING_REQUIRED_FILE, |sample| {
            sample.set_field("filename", GtfsFile::Stops.file_name());
        });
    }
}

/// Checks for `feed_info.txt`. Translations need its language as their source.
fn check_feed_info(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    if !feed.table(GtfsFile::FeedInfo).is_there() {
        let is_needed = feed.table(GtfsFile::Translations).is_there();
        out.add_notice(if is_needed { &MISSING_REQUIRED_FILE } else { &RECOMMENDED }, |sample| {
            sample.set_field("filename", GtfsFile::FeedInfo.file_name());
        });
    }
}

/// Checks for shapes, unless the feed serves only zones or groups of stops.
fn check_shapes(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let has_groups = !feed.table(GtfsFile::LocationGroups).is_empty();
    let serves_zones = serves_only_by_field(feed, "location_id");
    let serves_groups = has_groups && serves_only_by_field(feed, "location_group_id");
    if feed.table(GtfsFile::Shapes).is_empty() && !serves_zones && !serves_groups {
        out.add_notice(&RECOMMENDED, |sample| {
            sample.set_field("filename", GtfsFile::Shapes.file_name());
        });
    }
}

/// Returns true if some stop time has this field instead of a stop.
fn serves_only_by_field(feed: &GtfsFeed, field: &'static str) -> bool {
    let table = feed.table(GtfsFile::StopTimes);
    let (places, stops) = (table.text_column(field), table.text_column("stop_id"));
    table.has_column(field)
        && table
            .rows()
            .any(|row| places.code_of_row(row).is_some() && stops.code_of_row(row).is_none())
}
