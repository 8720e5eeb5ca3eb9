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
pub(crate) struct RecordFragment {
    pub(crate) id: SmolStr,
    /// A JSON object with the field names of GBFS 3.
    pub(crate) json: Bytes,
    pub(crate) coordinates: Option<Coordinates>,
    /// The number of vehicles that can be rented.
    pub(crate) available: u32,
}

/// A file with records.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SystemFile {
    pub(crate) kind: SystemKind,
    pub(crate) pieces: Vec<RecordFragment>,
}

/// The kind of a file with records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemKind {
    /// Stations: data that seldom change.
    Information,
    /// Stations: current data.
    Status,
    Vehicles,
}

impl SystemKind {
    pub(crate) const ALL: [SystemKind; 3] =
        [SystemKind::Information, SystemKind::Status, SystemKind::Vehicles];

    pub(crate) fn from_file_name(name: &str) -> Option<SystemKind> {
        match FileKind::kind_from_file_name(name)? {
            FileKind::StationInformation => Some(SystemKind::Information),
            FileKind::StationStatus => Some(SystemKind::Status),
            FileKind::VehicleStatus => Some(SystemKind::Vehicles),
            _ => None,
        }
    }
}

/// A decoded file.
#[derive(Debug, Default)]
pub(crate) struct ParsedSystemFile {
    pub(crate) problems: Problems,
    /// The records, if the file has any.
    pub(crate) file: Option<SystemFile>,
    /// The time of station or vehicle status data, if the file contains them.
    pub(crate) data_time: Option<UnixMillis>,
}

/// Decodes a file of a GBFS system.
///
/// # Errors
/// Returns an error if the file is unusable as a whole.
pub(crate) fn read_system_file(
    kind: FileKind,
    body: &[u8],
    language: &str,
) -> Result<ParsedSystemFile, Error> {
    let body_bytes = usize::try_from(GBFS_FILE_BYTES_MAX).unwrap_or(usize::MAX);
    let limits = FileLimits { body_bytes, ..FileLimits::default() };
    let (file, mut problems) = decode_gbfs_file(kind, body, language, &limits)?;
    let data_time = match &file.content {
        FileContent::StationStatus(_) | FileContent::VehicleStatus(_) => file.head.last_updated,
        // Data that seldom change may be old without being stale.
        _ => None,
    };
    let file = collect_fragments(&file.content, &mut problems);
    Ok(ParsedSystemFile { problems, file, data_time: data_time.map(UnixMillis::from_seconds) })
}

fn collect_fragments(content: &FileContent, problems: &mut Problems) -> Option<SystemFile> {
    let (kind, pieces): (SystemKind, Vec<RecordFragment>) = match content {
        FileContent::StationInformation(all) => (
            SystemKind::Information,
            all.iter().map(|it| station_information(it, problems)).collect(),
        ),
        FileContent::StationStatus(all) => {
            (SystemKind::Status, all.iter().map(station_status).collect())
        }
        FileContent::VehicleStatus(all) => {
            (SystemKind::Vehicles, all.iter().map(vehicle_status).collect())
        }
        _ => return None,
    };
    let (mut file, mut n) = (SystemFile { kind, pieces }, 0);
    file.pieces.retain(|piece| {
        let fits = piece.json.len() + piece.id.len() <= SYSTEM_PIECE_BYTES_MAX;
        n += usize::from(!fits);
        fits
    });
    for _ in 0..n {
        let detail = format!("is too large: more than {SYSTEM_PIECE_BYTES_MAX} bytes in a message");
        problems.push(Problem::new(kind_name(kind), "record_too_large", detail));
    }
    Some(file)
}

fn kind_name(kind: SystemKind) -> &'static str {
    let kind = match kind {
        SystemKind::Information => FileKind::StationInformation,
        SystemKind::Status => FileKind::StationStatus,
        SystemKind::Vehicles => FileKind::VehicleStatus,
    };
    kind.file_name(3).unwrap_or_default()
}

fn station_information(
    station: &records::StationInformation,
    problems: &mut Problems,
) -> RecordFragment {
    let mut json = encode_station_information(station);
    if json.len() > SYSTEM_PIECE_BYTES_MAX && station.station_area.is_some() {
        let detail = "the station area is too large for a message and was dropped";
        let problem = Problem::new(kind_name(SystemKind::Information), "record_too_large", detail);
        problems.push(problem.with_field("station_area").with_value(&station.station_id));
        let plain = records::StationInformation { station_area: None, ..station.clone() };
        json = encode_station_information(&plain);
    }
    RecordFragment {
        id: station.station_id.clone(),
        json: json.into(),
        coordinates: station.lat.zip(station.lon),
        available: 0,
    }
}

fn station_status(station: &records::StationStatus) -> RecordFragment {
    let is_closed = station.is_renting == Some(false) || station.is_installed == Some(false);
    let available = station.num_vehicles_available.filter(|_| !is_closed);
    RecordFragment {
        id: station.station_id.clone(),
        json: encode_station_status(station).into(),
        coordinates: None,
        available: available.unwrap_or_default(),
    }
}

fn vehicle_status(vehicle: &records::VehicleStatus) -> RecordFragment {
    let is_unavailable = vehicle.is_reserved == Some(true) || vehicle.is_disabled == Some(true);
    RecordFragment {
        id: vehicle.vehicle_id.clone(),
        json: encode_vehicle(vehicle).into(),
        coordinates: vehicle.lat.zip(vehicle.lon),
        available: u32::from(!is_unavailable && vehicle.station_id.is_none()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: FileKind, list: &str, records: &str) -> ParsedSystemFile {
        let body = format!("{{\"version\":\"2.3\",\"data\":{{\"{list}\":[{records}]}}}}");
        read_system_file(kind, body.as_bytes(), "en").unwrap()
    }

    fn codes(read: &ParsedSystemFile) -> Vec<&'static str> {
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
                read_system_file(FileKind::StationStatus, body.as_bytes(), "en").is_err(),
                "{data}"
            );
        }
        let none = br#"{"version":"2.3","data":{"stations":null}}"#;
        let read = read_system_file(FileKind::StationStatus, none, "en").unwrap();
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
