//! Normalization of GBFS files to stations and vehicles. Ids are the system's own.

use bytes::Bytes;
use lineside_formats::{Error, Problem, Problems};
use lineside_gbfs::{
    FileContent, FileKind, FileLimits, decode_gbfs_file, encode_station_information,
    encode_station_status, encode_vehicle, records,
};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use crate::{
    limits::{GBFS_FILE_BYTES_MAX, SYSTEM_PIECE_BYTES_MAX},
    record::Coordinates,
};

/// A file's data about one station or vehicle.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GbfsRecordFragment {
    pub(crate) id: SmolStr,
    /// A JSON object with the field names of GBFS 3.
    pub(crate) json: Bytes,
    pub(crate) coordinates: Option<Coordinates>,
    /// The number of vehicles that can be rented.
    pub(crate) available: u32,
}

/// A file with records.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GbfsFileRecords {
    pub(crate) kind: GbfsRecordFileKind,
    pub(crate) pieces: Vec<GbfsRecordFragment>,
}

/// The kind of a file with records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GbfsRecordFileKind {
    /// Stations: data that seldom change.
    Information,
    /// Stations: current data.
    Status,
    Vehicles,
}

impl GbfsRecordFileKind {
    pub(crate) const ALL: [GbfsRecordFileKind; 3] =
        [GbfsRecordFileKind::Information, GbfsRecordFileKind::Status, GbfsRecordFileKind::Vehicles];

    pub(crate) fn from_file_name(name: &str) -> Option<GbfsRecordFileKind> {
        match FileKind::kind_from_file_name(name)? {
            FileKind::StationInformation => Some(GbfsRecordFileKind::Information),
            FileKind::StationStatus => Some(GbfsRecordFileKind::Status),
            FileKind::VehicleStatus => Some(GbfsRecordFileKind::Vehicles),
            _ => None,
        }
    }
}

/// A decoded file.
#[derive(Debug, Default)]
pub(crate) struct DecodedGbfsFile {
    pub(crate) problems: Problems,
    /// The records, if the file has any.
    pub(crate) file: Option<GbfsFileRecords>,
    /// The time of station or vehicle status data, if the file contains them.
    pub(crate) data_time: Option<UnixMillis>,
}

/// Decodes a file of a GBFS system.
///
/// # Errors
/// Returns an error if the file is unusable as a whole.
pub(crate) fn decode_file_records(
    kind: FileKind,
    body: &[u8],
    language: &str,
) -> Result<DecodedGbfsFile, Error> {
    let body_bytes = usize::try_from(GBFS_FILE_BYTES_MAX).unwrap_or(usize::MAX);
    let limits = FileLimits { body_bytes, ..FileLimits::default() };
    let (file, mut problems) = decode_gbfs_file(kind, body, language, &limits)?;
    let data_time = match &file.content {
        FileContent::StationStatus(_) | FileContent::VehicleStatus(_) => file.head.last_updated,
        // Data that seldom change may be old without being stale.
        _ => None,
    };
    let file = collect_record_fragments(&file.content, &mut problems);
    Ok(DecodedGbfsFile { problems, file, data_time: data_time.map(UnixMillis::from_seconds) })
}

fn collect_record_fragments(
    content: &FileContent,
    problems: &mut Problems,
) -> Option<GbfsFileRecords> {
    let (kind, pieces): (GbfsRecordFileKind, Vec<GbfsRecordFragment>) = match content {
        FileContent::StationInformation(all) => (
            GbfsRecordFileKind::Information,
            all.iter().map(|it| station_information_fragment(it, problems)).collect(),
        ),
        FileContent::StationStatus(all) => {
            (GbfsRecordFileKind::Status, all.iter().map(station_status_fragment).collect())
        }
        FileContent::VehicleStatus(all) => {
            (GbfsRecordFileKind::Vehicles, all.iter().map(vehicle_status_fragment).collect())
        }
        _ => return None,
    };
    let (mut file, mut n) = (GbfsFileRecords { kind, pieces }, 0);
    file.pieces.retain(|piece| {
        let fits = piece.json.len() + piece.id.len() <= SYSTEM_PIECE_BYTES_MAX;
        n += usize::from(!fits);
        fits
    });
    for _ in 0..n {
        let detail = format!("is too large: more than {SYSTEM_PIECE_BYTES_MAX} bytes in a message");
        problems.push(Problem::new(gbfs_file_kind_name(kind), "record_too_large", detail));
    }
    Some(file)
}

fn gbfs_file_kind_name(kind: GbfsRecordFileKind) -> &'static str {
    let kind = match kind {
        GbfsRecordFileKind::Information => FileKind::StationInformation,
        GbfsRecordFileKind::Status => FileKind::StationStatus,
        GbfsRecordFileKind::Vehicles => FileKind::VehicleStatus,
    };
    kind.file_name(3).unwrap_or_default()
}

fn station_information_fragment(
    station: &records::StationInformation,
    problems: &mut Problems,
) -> GbfsRecordFragment {
    let mut json = encode_station_information(station);
    if json.len() > SYSTEM_PIECE_BYTES_MAX && station.station_area.is_some() {
        let detail = "the station area is too large for a message and was dropped";
        let problem = Problem::new(
            gbfs_file_kind_name(GbfsRecordFileKind::Information),
            "record_too_large",
            detail,
        );
        problems.push(problem.with_field("station_area").with_value(&station.station_id));
        let plain = records::StationInformation { station_area: None, ..station.clone() };
        json = encode_station_information(&plain);
    }
    GbfsRecordFragment {
        id: station.station_id.clone(),
        json: json.into(),
        coordinates: station.lat.zip(station.lon),
        available: 0,
    }
}

fn station_status_fragment(station: &records::StationStatus) -> GbfsRecordFragment {
    let is_closed = station.is_renting == Some(false) || station.is_installed == Some(false);
    let available = station.num_vehicles_available.filter(|_| !is_closed);
    GbfsRecordFragment {
        id: station.station_id.clone(),
        json: encode_station_status(station).into(),
        coordinates: None,
        available: available.unwrap_or_default(),
    }
}

fn vehicle_status_fragment(vehicle: &records::VehicleStatus) -> GbfsRecordFragment {
    let is_unavailable = vehicle.is_reserved == Some(true) || vehicle.is_disabled == Some(true);
    GbfsRecordFragment {
        id: vehicle.vehicle_id.clone(),
        json: encode_vehicle(vehicle).into(),
        coordinates: vehicle.lat.zip(vehicle.lon),
        available: u32::from(!is_unavailable && vehicle.station_id.is_none()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: FileKind, list: &str, records: &str) -> DecodedGbfsFile {
        let body = format!("{{\"version\":\"2.3\",\"data\":{{\"{list}\":[{records}]}}}}");
        decode_file_records(kind, body.as_bytes(), "en").unwrap()
    }

    fn codes(read: &DecodedGbfsFile) -> Vec<&'static str> {
        read.problems.retained_problems().iter().map(|it| it.code).collect()
    }

    #[test]
    fn available_vehicles_are_counted_once() {
        let status = r#"{"station_id":"a","num_bikes_available":3,"is_renting":true},
            {"station_id":"b","num_bikes_available":3,"is_renting":false},{"station_id":"c"}"#;
        let bikes = r#"{"bike_id":"a","lat":1.5,"lon":2.5},{"bike_id":"b","is_reserved":true},
            {"bike_id":"c","is_disabled":true},{"bike_id":"d","station_id":"a"}"#;
        let available = |kind, list, records| {
            let file = read(kind, list, records).file.unwrap();
            file.pieces.iter().map(|it| it.available).collect::<Vec<_>>()
        };
        assert_eq!(available(FileKind::StationStatus, "stations", status), [3, 0, 0]);
        assert_eq!(available(FileKind::VehicleStatus, "bikes", bikes), [1, 0, 0, 0]);
    }

    #[test]
    fn a_file_without_its_list_is_rejected() {
        for data in
            [r#"{"error":"maintenance"}"#, r#"{"stations":"unavailable"}"#, r#"{"stations":{}}"#]
        {
            let body = format!("{{\"version\":\"2.3\",\"data\":{data}}}");
            assert!(
                decode_file_records(FileKind::StationStatus, body.as_bytes(), "en").is_err(),
                "{data}"
            );
        }
        let none = br#"{"version":"2.3","data":{"stations":null}}"#;
        let read = decode_file_records(FileKind::StationStatus, none, "en").unwrap();
        assert_eq!(read.file.unwrap().pieces, []);
    }

    #[test]
    fn an_area_too_large_for_a_message_is_dropped() {
        let ring = vec!["[10.123456,59.123456]"; SYSTEM_PIECE_BYTES_MAX / 16].join(",");
        let area = format!("{{\"type\":\"MultiPolygon\",\"coordinates\":[[[{ring}]]]}}");
        let station = format!("{{\"station_id\":\"a\",\"station_area\":{area},\"capacity\":3}}");
        let read = read(FileKind::StationInformation, "stations", &station);
        assert_eq!(codes(&read), ["record_too_large"]);
        assert_eq!(read.problems.retained_problems()[0].field.as_deref(), Some("station_area"));
        let json = &read.file.unwrap().pieces[0].json;
        assert_eq!(&json[..], br#"{"station_id":"a","capacity":3}"#);
    }
}
