//! A GTFS schedule for rules: each file as a table of typed columns, read once, and the joins and
//! orders that several rules need, computed when first used.
//!
//! Which rows count, and which rules are skipped because a file is unreadable, follows the
//! reference validator, so that both report the same totals. Real-time rules see [more
//! rows](load_schedule_for_realtime_rules), because they check other publishers' work.

pub(crate) mod area;
mod cells;
mod column;
mod currencies;
mod cutter;
mod decimals;
mod dict;
mod earth;
mod feed;
mod files;
mod table_builder;
mod header;
mod json;
mod languages;
pub(crate) mod leniency;
pub(crate) mod letters;
mod links;
mod load;
mod memory;
mod phones;
mod pieces;
mod reader;
mod services;
pub(crate) mod simple;
mod source;
mod table;
mod timezones;
pub(crate) mod zones;

use jiff::civil::Date;

pub(crate) use self::load::{load_for_realtime_cancellable, load_schedule_cancellable};
pub(crate) use self::services::WEEK;
pub use self::{
    area::PolygonArea,
    column::{FloatColumn, NumberColumn, TextColumn, UNRECOGNIZED},
    currencies::currency_decimals,
    decimals::decimal_place_count,
    dict::DistinctTexts,
    earth::{EARTH_RADIUS_M, SpherePoint, haversine_distance_m},
    feed::GtfsFeed,
    files::GtfsFile,
    languages::normalize_language_tag,
    links::{ReferencedRows, RowsByTextCode},
    load::{load_schedule, load_schedule_for_realtime_rules},
    memory::{MEMORY_PER_BYTE_MAX, estimate_max_memory},
    phones::has_numbering_plan,
    services::{ServiceCalendar, ServiceDays},
    source::{CancellableFileSource, InMemoryFiles, ScheduleFileSource, ZipFileSource},
    table::{FileReadStatus, GtfsTable},
    timezones::normalize_timezone_id,
    zones::{FlexZone, FlexZones},
};

const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// Returns the date of a day number: days since 1970-01-01.
pub fn date_from_day_number(day: i32) -> Date {
    EPOCH.saturating_add(jiff::Span::new().days(day.clamp(-700_000, 2_900_000)))
}

/// Returns the number of a date: days since 1970-01-01.
pub fn day_number_from_date(date: Date) -> i32 {
    // Both dates are within ±9999 years, so the distance fits.
    date.since(EPOCH).map_or(0, |span| span.get_days())
}

/// Formats a time for reports: `HH:MM:SS`, with hours beyond 24 after midnight.
pub fn format_gtfs_time(seconds: i32) -> String {
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Formats a day for reports: `YYYYMMDD`.
pub fn format_gtfs_date(day: i32) -> String {
    let date = date_from_day_number(day);
    format!("{:04}{:02}{:02}", date.year(), date.month(), date.day())
}
