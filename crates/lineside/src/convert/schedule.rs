//! A schedule as places for a map.

use std::fs::File;
use std::io::{self, BufReader, Write as _};

use lineside_formats::{Format, Losses};
use lineside_ingest::{Dataset, geojson};
use lineside_sync::UnixMillis;

use super::{Converted, Refusal, realtime::NAME};

/// The tables of which a map shows something.
const SHOWN: [&str; 3] = ["stops.txt", "routes.txt", "shapes.txt"];

/// Why all else is lost.
pub(super) const NO_PLACE: &str = "GeoJSON has stops and lines alone";

/// Writes a GTFS zip as places. What is lost of its tables is told by their rows.
pub(super) fn of_gtfs(zip: File, out: &File) -> Result<Converted, Refusal> {
    let (converted, dataset) = convert(zip, out)?;
    let mut losses = unplaced(&dataset);
    for (table, rows) in dataset.timetable.row_counts() {
        if !SHOWN.contains(&&**table) {
            losses.push_many(format!("{table} row"), NO_PLACE, *rows);
        }
    }
    Ok(Converted { losses, ..converted })
}

/// The stops that are nowhere.
pub(super) fn unplaced(dataset: &Dataset) -> Losses {
    let mut losses = Losses::new();
    losses.push_many("stop", "it has no position", n_nowhere(dataset));
    losses
}

fn n_nowhere(dataset: &Dataset) -> u64 {
    let stops = dataset.timetable.stops();
    stops.filter(|stop| stop.lat.is_none() || stop.lon.is_none()).count() as u64
}

/// Writes a GTFS zip as places, and gives back the schedule. What is lost is told by whoever knows what it came as.
pub(super) fn convert(zip: File, out: &File) -> Result<(Converted, Dataset), Refusal> {
    let dataset = Dataset::read(NAME.clone(), BufReader::new(zip), UnixMillis(0))?;
    let timetable = &dataset.timetable;
    let written = write_merged(out, &geojson::stops(&dataset), &geojson::routes(&dataset));
    written.map_err(|error| super::unwritten(&error))?;
    let converted = Converted {
        from: Format::Gtfs,
        files: Vec::new(),
        counts: vec![
            ("stops", timetable.stops().len() as u64 - n_nowhere(&dataset)),
            ("routes", timetable.routes().len() as u64),
        ],
        problems: (*dataset.problems).clone(),
        losses: Losses::new(),
        matched: None,
    };
    Ok((converted, dataset))
}

/// Two collections as one: what stands in the brackets of both.
fn write_merged(mut out: &File, first: &[u8], second: &[u8]) -> io::Result<()> {
    let (first, second) = (inside(first), inside(second));
    let comma: &[u8] = if first.is_empty() || second.is_empty() { b"" } else { b"," };
    let parts = [br#"{"type":"FeatureCollection","features":["#, first, comma, second, b"]}"];
    parts.into_iter().try_for_each(|part| out.write_all(part))
}

fn inside(collection: &[u8]) -> &[u8] {
    let start = collection.iter().position(|&byte| byte == b'[').map_or(0, |at| at + 1);
    let end = collection.iter().rposition(|&byte| byte == b']').unwrap_or(start);
    collection.get(start..end).unwrap_or_default()
}
