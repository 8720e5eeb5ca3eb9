//! Conversion of a schedule to GeoJSON.

use std::fs::File;
use std::io::{self, BufReader, Write as _};

use lineside_formats::{ConversionReport, Format};
use lineside_model::{Dataset, geojson};
use lineside_sync::UnixMillis;

use super::{ConversionError, ConversionOutput, realtime::NAME};

/// The tables that are shown on the map.
const MAP_TABLES: [&str; 3] = ["stops.txt", "routes.txt", "shapes.txt"];

/// Reason for dropping all other tables.
pub(super) const NO_PLACE: &str = "GeoJSON only has stops and lines";

/// Writes a GTFS zip as GeoJSON. Losses are counted in rows of the dropped tables.
pub(super) fn convert_gtfs_to_geojson(
    zip: File,
    out: &File,
) -> Result<ConversionOutput, ConversionError> {
    let (converted, dataset) = write_geojson_and_load_dataset(zip, out)?;
    let mut losses = report_stops_without_position(&dataset);
    for (table, rows) in dataset.timetable.row_counts() {
        if !MAP_TABLES.contains(&&**table) {
            losses.record_dropped_objects(format!("{table} row"), NO_PLACE, *rows);
        }
    }
    Ok(ConversionOutput { conversion_report: losses, ..converted })
}

/// Counts the stops without a position as losses.
pub(super) fn report_stops_without_position(dataset: &Dataset) -> ConversionReport {
    let mut losses = ConversionReport::new();
    losses.record_dropped_objects(
        "stop",
        "it has no position",
        count_stops_without_position(dataset),
    );
    losses
}

fn count_stops_without_position(dataset: &Dataset) -> u64 {
    let stops = dataset.timetable.stops();
    stops.filter(|stop| stop.lat.is_none() || stop.lon.is_none()).count() as u64
}

/// Writes a GTFS zip as GeoJSON, and returns the schedule. The caller counts the losses, in terms of the original
/// format.
pub(super) fn write_geojson_and_load_dataset(
    zip: File,
    out: &File,
) -> Result<(ConversionOutput, Dataset), ConversionError> {
    let dataset =
        Dataset::decode_gtfs_from_reader(NAME.clone(), BufReader::new(zip), UnixMillis(0))?;
    let timetable = &dataset.timetable;
    let written = write_merged_feature_collections(
        out,
        &geojson::stops_geojson(&dataset),
        &geojson::routes_geojson(&dataset),
    );
    written.map_err(|error| super::output_write_error(&error))?;
    let converted = ConversionOutput {
        from: Format::Gtfs,
        files: Vec::new(),
        counts: vec![
            ("stops", timetable.stops().len() as u64 - count_stops_without_position(&dataset)),
            ("routes", timetable.routes().len() as u64),
        ],
        problems: (*dataset.problems).clone(),
        conversion_report: ConversionReport::new(),
        matched: None,
    };
    Ok((converted, dataset))
}

/// Writes the features of two collections as one collection.
fn write_merged_feature_collections(mut out: &File, first: &[u8], second: &[u8]) -> io::Result<()> {
    let (first, second) = (features_json_of_collection(first), features_json_of_collection(second));
    let comma: &[u8] = if first.is_empty() || second.is_empty() { b"" } else { b"," };
    let parts = [br#"{"type":"FeatureCollection","features":["#, first, comma, second, b"]}"];
    parts.into_iter().try_for_each(|part| out.write_all(part))
}

fn features_json_of_collection(collection: &[u8]) -> &[u8] {
    let start = collection.iter().position(|&byte| byte == b'[').map_or(0, |at| at + 1);
    let end = collection.iter().rposition(|&byte| byte == b']').unwrap_or(start);
    collection.get(start..end).unwrap_or_default()
}
