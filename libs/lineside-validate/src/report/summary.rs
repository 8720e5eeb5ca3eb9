//! The summary of a report: the input, the run, and counts of the feed's contents.

use jiff::civil::Date;
use serde::Serialize;

use super::detect_features;
use crate::gtfs::{self, GtfsFeed, GtfsFile};

/// The facts of one validation run.
#[derive(Clone, Debug)]
pub struct ValidationRunFacts {
    /// The version of the program.
    pub version: String,
    /// The time of the run, as RFC 3339.
    pub at: String,
    /// The file or address of the input.
    pub input: String,
    /// The number of worker threads.
    pub threads: usize,
    /// The folder of the written report; `None` if none was written.
    pub output: Option<String>,
    /// The assumed country (ISO 3166), if any.
    pub country: Option<[u8; 2]>,
    /// The assumed day.
    pub today: Date,
    /// The duration of the run, in seconds.
    pub seconds: f64,
}

/// The summary of a report: the input, the run, and counts of the feed's contents.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedSummary {
    validator_version: String,
    validated_at: String,
    gtfs_input: String,
    threads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_directory: Option<String>,
    country_code: String,
    date_for_validation: String,
    feed_info: FeedInfo,
    agencies: Vec<AgencySummary>,
    files: Vec<String>,
    validation_time_seconds: f64,
    counts: EntityCounts,
    gtfs_features: Vec<&'static str>,
}

/// The feed's own description, from `feed_info.txt`.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedInfo {
    publisher_name: String,
    #[serde(rename = "publisherUrl")]
    publisher_url: String,
    feed_language: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    feed_start_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    feed_end_date: Option<String>,
    feed_email: String,
}

/// An agency.
#[derive(Debug, Serialize)]
pub struct AgencySummary {
    name: String,
    url: String,
    phone: String,
    email: String,
    timezone: String,
}

/// The numbers of distinct entities.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct EntityCounts {
    /// Shapes.
    pub shapes: u64,
    /// Stops of all location types.
    pub stops: u64,
    /// Routes.
    pub routes: u64,
    /// Trips.
    pub trips: u64,
    /// Agencies.
    pub agencies: u64,
    /// Distinct blocks of trips.
    pub blocks: u64,
}

impl FeedSummary {
    /// Summarizes a feed and a run.
    pub fn new(feed: &GtfsFeed, run: &ValidationRunFacts) -> FeedSummary {
        let country = run.country.map_or_else(
            || "ZZ".to_owned(),
            |letters| letters.iter().copied().map(char::from).collect(),
        );
        FeedSummary {
            validator_version: run.version.clone(),
            validated_at: run.at.clone(),
            gtfs_input: run.input.clone(),
            threads: run.threads,
            output_directory: run.output.clone(),
            country_code: country,
            date_for_validation: run.today.to_string(),
            feed_info: feed_info_for_report(feed),
            agencies: agencies_for_report(feed),
            files: feed.dataset_file_names().to_vec(),
            validation_time_seconds: run.seconds,
            counts: EntityCounts::count_feed_entities(feed),
            gtfs_features: detect_features(feed),
        }
    }
}

impl EntityCounts {
    /// Counts the entities of a feed.
    pub fn count_feed_entities(feed: &GtfsFeed) -> EntityCounts {
        let count = |file, field: &str| {
            let table = feed.table(file);
            let texts = table.text_column(field);
            let mut seen = vec![false; texts.text_code_count()];
            for code in table.row_numbers().filter_map(|row| texts.text_code_of_row(row)) {
                seen[code as usize] = true;
            }
            seen.into_iter().filter(|&seen| seen).count() as u64
        };
        EntityCounts {
            shapes: count(GtfsFile::Shapes, "shape_id"),
            stops: count(GtfsFile::Stops, "stop_id"),
            routes: count(GtfsFile::Routes, "route_id"),
            trips: count(GtfsFile::Trips, "trip_id"),
            agencies: count(GtfsFile::Agency, "agency_id"),
            blocks: count(GtfsFile::Trips, "block_id"),
        }
    }
}

fn feed_info_for_report(feed: &GtfsFeed) -> FeedInfo {
    let table = feed.table(GtfsFile::FeedInfo);
    if table.is_empty() {
        return FeedInfo::default();
    }
    let text = |field: &str| table.text_column(field).get(0).unwrap_or_default().to_owned();
    let date = |field: &str| {
        let day = table.number_column(field).get(0);
        day.map(|day| gtfs::date_from_day_number(day).to_string())
    };
    FeedInfo {
        publisher_name: text("feed_publisher_name"),
        publisher_url: text("feed_publisher_url"),
        feed_language: text("feed_lang"),
        feed_start_date: date("feed_start_date"),
        feed_end_date: date("feed_end_date"),
        feed_email: text("feed_contact_email"),
    }
}

/// The largest number of agencies listed in a report; further agencies are only counted.
const AGENCIES_MAX: u32 = 1_000;

fn agencies_for_report(feed: &GtfsFeed) -> Vec<AgencySummary> {
    let table = feed.table(GtfsFile::Agency);
    let text = |field: &str, row| table.text_column(field).get(row).unwrap_or_default().to_owned();
    (0..table.len().min(AGENCIES_MAX))
        .map(|row| AgencySummary {
            name: text("agency_name", row),
            url: text("agency_url", row),
            phone: text("agency_phone", row),
            email: text("agency_email", row),
            timezone: text("agency_timezone", row),
        })
        .collect()
}
