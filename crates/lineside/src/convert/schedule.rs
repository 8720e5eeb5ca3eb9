//! A schedule as places for a map.

use bytes::Bytes;
use lineside_formats::{Format, Losses};
use lineside_ingest::{Dataset, geojson};
use lineside_sync::UnixMillis;

use super::{Converted, Refusal, realtime::NAME};

/// The tables of which a map shows something.
const SHOWN: [&str; 3] = ["stops.txt", "routes.txt", "shapes.txt"];

pub(super) fn convert(zip: Bytes) -> Result<Converted, Refusal> {
    let dataset = Dataset::load(NAME.clone(), zip, UnixMillis(0))?;
    let timetable = &dataset.timetable;
    let mut losses = Losses::new();
    for (table, rows) in timetable.row_counts() {
        if !SHOWN.contains(&&**table) {
            losses.push_many("row", "GeoJSON has stops and lines alone", *rows);
        }
    }
    let nowhere = timetable.stops().filter(|stop| stop.lat.is_none() || stop.lon.is_none());
    losses.push_many("stop", "it has no position", nowhere.count() as u64);
    let both = merged(&geojson::stops(&dataset), &geojson::routes(&dataset));
    Ok(Converted {
        from: Format::Gtfs,
        files: vec![(String::new(), both)],
        counts: vec![
            ("stops", timetable.stops().len() as u64),
            ("routes", timetable.routes().len() as u64),
        ],
        problems: (*dataset.problems).clone(),
        losses,
        matched: None,
    })
}

/// Two collections as one: what stands in the brackets of both.
fn merged(first: &[u8], second: &[u8]) -> Bytes {
    let inside = |collection: &[u8]| {
        let start = collection.iter().position(|&byte| byte == b'[').map_or(0, |at| at + 1);
        let end = collection.iter().rposition(|&byte| byte == b']').unwrap_or(start);
        collection.get(start..end).unwrap_or_default().to_vec()
    };
    let (first, second) = (inside(first), inside(second));
    let comma: &[u8] = if first.is_empty() || second.is_empty() { b"" } else { b"," };
    let parts = [br#"{"type":"FeatureCollection","features":["#, &first[..], comma, &second, b"]}"];
    parts.concat().into()
}
