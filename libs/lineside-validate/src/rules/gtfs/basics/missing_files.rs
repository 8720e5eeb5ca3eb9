//! Checks of files that are required or recommended because other files are present or missing.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{FileReadStatus, GtfsFeed, GtfsFile, simple::MISSING_REQUIRED_FILE},
    notice::{NoticeKind, Severity},
};

pub(super) static CALENDARS: GtfsRule = GtfsRule {
    kinds: &[&NO_CALENDARS],
    files: &[GtfsFile::Calendar, GtfsFile::CalendarDates],
    check: check_calendar_files_present,
};

pub(super) static STOPS: GtfsRule =
    GtfsRule { kinds: &[], files: &[GtfsFile::Stops], check: check_stops_file_present };

pub(super) static FEED_INFO: GtfsRule = GtfsRule {
    kinds: &[&RECOMMENDED],
    files: &[GtfsFile::FeedInfo, GtfsFile::Translations],
    check: check_feed_info_present,
};

pub(super) static SHAPES: GtfsRule =
    GtfsRule { kinds: &[], files: &GtfsFile::ALL, check: check_shapes_file_present };

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

fn check_calendar_files_present(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    if !feed.table(GtfsFile::Calendar).is_file_present()
        && !feed.table(GtfsFile::CalendarDates).is_file_present()
    {
        out.count_notice_with_sample(&NO_CALENDARS, |_| {});
    }
}

/// Checks for `stops.txt`. A feed without it serves GeoJSON zones.
fn check_stops_file_present(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    if !feed.table(GtfsFile::Stops).is_file_present()
        && feed.geojson_flex_zones().status == FileReadStatus::Missing
    {
        out.count_notice_with_sample(&MISSING_REQUIRED_FILE, |sample| {
            sample.set_field("filename", GtfsFile::Stops.file_name());
        });
    }
}

/// Checks for `feed_info.txt`. Translations need its language as their source.
fn check_feed_info_present(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    if !feed.table(GtfsFile::FeedInfo).is_file_present() {
        let is_needed = feed.table(GtfsFile::Translations).is_file_present();
        out.count_notice_with_sample(
            if is_needed { &MISSING_REQUIRED_FILE } else { &RECOMMENDED },
            |sample| {
                sample.set_field("filename", GtfsFile::FeedInfo.file_name());
            },
        );
    }
}

/// Checks for shapes, unless the feed serves only zones or groups of stops.
fn check_shapes_file_present(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let has_groups = !feed.table(GtfsFile::LocationGroups).is_empty();
    let serves_zones = has_stop_time_without_stop(feed, "location_id");
    let serves_groups = has_groups && has_stop_time_without_stop(feed, "location_group_id");
    if feed.table(GtfsFile::Shapes).is_empty() && !serves_zones && !serves_groups {
        out.count_notice_with_sample(&RECOMMENDED, |sample| {
            sample.set_field("filename", GtfsFile::Shapes.file_name());
        });
    }
}

/// Returns true if some stop time has this field instead of a stop.
fn has_stop_time_without_stop(feed: &GtfsFeed, field: &'static str) -> bool {
    let table = feed.table(GtfsFile::StopTimes);
    let (places, stops) = (table.text_column(field), table.text_column("stop_id"));
    table.has_column(field)
        && table.row_numbers().any(|row| {
            places.text_code_of_row(row).is_some() && stops.text_code_of_row(row).is_none()
        })
}
