//! Stations and vehicles of a system as GeoJSON: one feature each, with the fields of version 3; a station's status is
//! merged with its information.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use lineside_formats::{ConversionReport, Format};
use lineside_gbfs::{
    FileContent, FileKind, encode_station_information, encode_station_status, encode_vehicle,
    records::StationStatus,
};

use super::GbfsSystem;
use crate::convert::{ConversionError, ConversionOutput};

/// Writes a feature collection, feature by feature.
pub(super) fn write_gbfs_geojson(
    system: GbfsSystem,
    out: &File,
) -> Result<ConversionOutput, ConversionError> {
    let GbfsSystem { files, problems, mut conversion_report, .. } = system;
    let content = |kind| files.get(&kind).map(|file| &file.content);
    let mut status: HashMap<&str, &StationStatus> = match content(FileKind::StationStatus) {
        Some(FileContent::StationStatus(all)) => {
            all.iter().map(|status| (status.station_id.as_str(), status)).collect()
        }
        _ => HashMap::new(),
    };
    let mut map =
        GeoJsonPointWriter::start_collection(BufWriter::new(out)).map_err(output_write_error)?;
    let mut counts = [("stations", 0), ("vehicles", 0)];
    if let Some(FileContent::StationInformation(stations)) = content(FileKind::StationInformation) {
        for station in stations {
            let now = status.remove(station.station_id.as_str());
            let (Some(lat), Some(lon)) = (station.lat, station.lon) else {
                conversion_report.record_dropped_object(
                    "station",
                    NO_POSITION,
                    Some(&station.station_id),
                );
                continue;
            };
            let now = now.map(encode_station_status);
            let parts = [encode_station_information(station), now.unwrap_or_default()];
            map.write_point_feature(lat, lon, &parts).map_err(output_write_error)?;
            counts[0].1 += 1;
        }
    }
    let mut unknown: Vec<&str> = status.into_keys().collect();
    unknown.sort_unstable();
    for id in unknown {
        conversion_report.record_dropped_object(
            "station_status",
            "the station has no position",
            Some(id),
        );
    }
    if let Some(FileContent::VehicleStatus(vehicles)) = content(FileKind::VehicleStatus) {
        for vehicle in vehicles {
            let (Some(lat), Some(lon)) = (vehicle.lat, vehicle.lon) else {
                conversion_report.record_dropped_object(
                    "vehicle",
                    NO_POSITION,
                    Some(&vehicle.vehicle_id),
                );
                continue;
            };
            map.write_point_feature(lat, lon, &[encode_vehicle(vehicle)])
                .map_err(output_write_error)?;
            counts[1].1 += 1;
        }
    }
    map.finish_collection().map_err(output_write_error)?;
    for (kind, file) in &files {
        if !MAP_FILES.contains(kind) {
            report_dropped_gbfs_file(*kind, &file.content, &mut conversion_report);
        }
    }
    Ok(ConversionOutput {
        from: Format::Gbfs,
        files: Vec::new(),
        counts: counts.into(),
        problems,
        conversion_report,
        matched: None,
    })
}

const NO_POSITION: &str = "it has no position";

/// The files that are shown on the map.
const MAP_FILES: [FileKind; 3] =
    [FileKind::StationInformation, FileKind::StationStatus, FileKind::VehicleStatus];

fn report_dropped_gbfs_file(kind: FileKind, content: &FileContent, losses: &mut ConversionReport) {
    let name = kind.file_name(3).or(kind.file_name(2)).unwrap_or("file");
    let why = "GeoJSON only has stations and vehicles";
    losses.record_dropped_objects(name, why, content.record_count() as u64);
}

fn output_write_error(error: io::Error) -> ConversionError {
    crate::convert::output_write_error(&error)
}

/// Writes a feature collection.
struct GeoJsonPointWriter<W> {
    out: W,
    is_first: bool,
}

impl<W: Write> GeoJsonPointWriter<W> {
    fn start_collection(mut out: W) -> io::Result<GeoJsonPointWriter<W>> {
        out.write_all(br#"{"type":"FeatureCollection","features":["#)?;
        Ok(GeoJsonPointWriter { out, is_first: true })
    }

    /// Writes a point whose properties are the fields of the objects.
    fn write_point_feature(&mut self, lat: f64, lon: f64, objects: &[Vec<u8>]) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            self.out.write_all(b",")?;
        }
        let feature_start = r#"{"type":"Feature","geometry":{"type":"Point","coordinates":["#;
        write!(self.out, r#"{feature_start}{lon},{lat}]}},"properties":{{"#)?;
        let inside = |object: &Vec<u8>| -> Option<Vec<u8>> {
            let inside = object.strip_prefix(b"{")?.strip_suffix(b"}")?;
            (!inside.is_empty()).then(|| inside.to_vec())
        };
        let fields: Vec<Vec<u8>> = objects.iter().filter_map(inside).collect();
        self.out.write_all(&fields.join(&b","[..]))?;
        self.out.write_all(b"}}")
    }

    fn finish_collection(mut self) -> io::Result<()> {
        self.out.write_all(b"]}")?;
        self.out.flush()
    }
}
