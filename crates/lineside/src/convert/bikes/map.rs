//! The stations and vehicles of a system as places for a map: a feature each, with its fields as version 3 has them; what
//! is known of a station now stands with what seldom changes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use lineside_formats::{
    Format, Losses,
    gbfs::{
        Content, FileKind, records::StationStatus, station_object, status_object, vehicle_object,
    },
};

use super::System;
use crate::convert::{Converted, Refusal};

/// Writes a collection, feature by feature.
pub(super) fn write(system: System, out: &File) -> Result<Converted, Refusal> {
    let System { files, problems, mut losses, .. } = system;
    let content = |kind| files.get(&kind).map(|file| &file.content);
    let mut status: HashMap<&str, &StationStatus> = match content(FileKind::StationStatus) {
        Some(Content::StationStatus(all)) => {
            all.iter().map(|status| (status.station_id.as_str(), status)).collect()
        }
        _ => HashMap::new(),
    };
    let mut map = Features::begin(BufWriter::new(out)).map_err(unwritten)?;
    let mut counts = [("stations", 0), ("vehicles", 0)];
    if let Some(Content::StationInformation(stations)) = content(FileKind::StationInformation) {
        for station in stations {
            let now = status.remove(station.station_id.as_str());
            let (Some(lat), Some(lon)) = (station.lat, station.lon) else {
                losses.push("station", NOWHERE, Some(&station.station_id));
                continue;
            };
            let now = now.map(status_object);
            let parts = [station_object(station), now.unwrap_or_default()];
            map.point(lat, lon, &parts).map_err(unwritten)?;
            counts[0].1 += 1;
        }
    }
    let mut unknown: Vec<&str> = status.into_keys().collect();
    unknown.sort_unstable();
    for id in unknown {
        losses.push("station_status", "nothing says where the station is", Some(id));
    }
    if let Some(Content::VehicleStatus(vehicles)) = content(FileKind::VehicleStatus) {
        for vehicle in vehicles {
            let (Some(lat), Some(lon)) = (vehicle.lat, vehicle.lon) else {
                losses.push("vehicle", NOWHERE, Some(&vehicle.vehicle_id));
                continue;
            };
            map.point(lat, lon, &[vehicle_object(vehicle)]).map_err(unwritten)?;
            counts[1].1 += 1;
        }
    }
    map.end().map_err(unwritten)?;
    for (kind, file) in &files {
        if !SHOWN.contains(kind) {
            count_unshown(*kind, &file.content, &mut losses);
        }
    }
    Ok(Converted {
        from: Format::Gbfs,
        files: Vec::new(),
        counts: counts.into(),
        problems,
        losses,
        matched: None,
    })
}

const NOWHERE: &str = "it has no position";

/// The files of which a map shows something.
const SHOWN: [FileKind; 3] =
    [FileKind::StationInformation, FileKind::StationStatus, FileKind::VehicleStatus];

fn count_unshown(kind: FileKind, content: &Content, losses: &mut Losses) {
    let name = kind.name(3).or(kind.name(2)).unwrap_or("file");
    let why = "GeoJSON has stations and vehicles alone";
    losses.push_many(name, why, content.n_records() as u64);
}

fn unwritten(error: io::Error) -> Refusal {
    crate::convert::unwritten(&error)
}

/// A collection that is being written.
struct Features<W> {
    out: W,
    is_first: bool,
}

impl<W: Write> Features<W> {
    fn begin(mut out: W) -> io::Result<Features<W>> {
        out.write_all(br#"{"type":"FeatureCollection","features":["#)?;
        Ok(Features { out, is_first: true })
    }

    /// A place, whose properties are the fields of objects.
    fn point(&mut self, lat: f64, lon: f64, objects: &[Vec<u8>]) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            self.out.write_all(b",")?;
        }
        let place = r#"{"type":"Feature","geometry":{"type":"Point","coordinates":["#;
        write!(self.out, r#"{place}{lon},{lat}]}},"properties":{{"#)?;
        let inside = |object: &Vec<u8>| -> Option<Vec<u8>> {
            let inside = object.strip_prefix(b"{")?.strip_suffix(b"}")?;
            (!inside.is_empty()).then(|| inside.to_vec())
        };
        let fields: Vec<Vec<u8>> = objects.iter().filter_map(inside).collect();
        self.out.write_all(&fields.join(&b","[..]))?;
        self.out.write_all(b"}}")
    }

    fn end(mut self) -> io::Result<()> {
        self.out.write_all(b"]}")?;
        self.out.flush()
    }
}
