//! Decodes a file with its header and records. One record of a list at a time is a JSON tree; all else is streamed.

use std::{collections::HashSet, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};
use smol_str::SmolStr;

use super::{
    envelope::{self, FileEnvelope, JsonObjectPairs},
    limits::FileLimits,
    record::FieldValue,
    record::reader::RecordReader,
    records::{
        Alert, Calendar, Dataset, PricingPlan, Region, RentalHours, StationInformation,
        StationStatus, SystemInformation, VehicleAvailability, VehicleStatus, VehicleType,
        VersionEntry,
    },
    values::GbfsTime,
    zones::{GeofencingRule, GeofencingZone, GeofencingZones},
};
use lineside_formats::{Error, ErrorKind, Problems};

/// The content of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum FileContent {
    /// The operator and other facts of the system.
    SystemInformation(Box<SystemInformation>),
    /// Kinds of vehicles.
    VehicleTypes(Vec<VehicleType>),
    /// Static information about stations.
    StationInformation(Vec<StationInformation>),
    /// Current status of stations.
    StationStatus(Vec<StationStatus>),
    /// Vehicles for rent: `vehicle_status`, before version 3 `free_bike_status`.
    VehicleStatus(Vec<VehicleStatus>),
    /// Future availability of vehicles, from version 3.1 on.
    VehicleAvailability(Vec<VehicleAvailability>),
    /// Regions of the service area.
    Regions(Vec<Region>),
    /// Prices of rentals.
    PricingPlans(Vec<PricingPlan>),
    /// Notices for customers.
    Alerts(Vec<Alert>),
    /// Geofencing zones and their rules.
    GeofencingZones(GeofencingZones),
    /// Rental hours, before version 3.
    Hours(Vec<RentalHours>),
    /// Operating days of the year, before version 3.
    Calendar(Vec<Calendar>),
    /// Available versions of the system: `gbfs_versions`.
    Versions(Vec<VersionEntry>),
    /// Systems of a publisher: `manifest`.
    Manifest(Vec<Dataset>),
}

/// The kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the variant name is the documentation")]
pub enum FileKind {
    SystemInformation,
    VehicleTypes,
    StationInformation,
    StationStatus,
    VehicleStatus,
    VehicleAvailability,
    Regions,
    PricingPlans,
    Alerts,
    GeofencingZones,
    Hours,
    Calendar,
    Versions,
    Manifest,
}

/// The file names of a kind from version 3 on and before, and the keys of its list.
#[derive(Debug)]
struct FileKindNames {
    kind: FileKind,
    v3_name: Option<&'static str>,
    v2_name: Option<&'static str>,
    list: &'static str,
    v2_list: &'static str,
}

const fn same_names_in_v2_and_v3(
    kind: FileKind,
    name: &'static str,
    list: &'static str,
) -> FileKindNames {
    FileKindNames { kind, v3_name: Some(name), v2_name: Some(name), list, v2_list: list }
}

const NAMED: [FileKindNames; 14] = [
    same_names_in_v2_and_v3(FileKind::SystemInformation, "system_information", ""),
    same_names_in_v2_and_v3(FileKind::VehicleTypes, "vehicle_types", "vehicle_types"),
    same_names_in_v2_and_v3(FileKind::StationInformation, "station_information", "stations"),
    same_names_in_v2_and_v3(FileKind::StationStatus, "station_status", "stations"),
    FileKindNames {
        kind: FileKind::VehicleStatus,
        v3_name: Some("vehicle_status"),
        v2_name: Some("free_bike_status"),
        list: "vehicles",
        v2_list: "bikes",
    },
    FileKindNames {
        v2_name: None,
        ..same_names_in_v2_and_v3(FileKind::VehicleAvailability, "vehicle_availability", "vehicles")
    },
    same_names_in_v2_and_v3(FileKind::Regions, "system_regions", "regions"),
    same_names_in_v2_and_v3(FileKind::PricingPlans, "system_pricing_plans", "plans"),
    same_names_in_v2_and_v3(FileKind::Alerts, "system_alerts", "alerts"),
    same_names_in_v2_and_v3(FileKind::GeofencingZones, "geofencing_zones", "geofencing_zones"),
    FileKindNames {
        v3_name: None,
        ..same_names_in_v2_and_v3(FileKind::Hours, "system_hours", "rental_hours")
    },
    FileKindNames {
        v3_name: None,
        ..same_names_in_v2_and_v3(FileKind::Calendar, "system_calendar", "calendars")
    },
    same_names_in_v2_and_v3(FileKind::Versions, "gbfs_versions", "versions"),
    FileKindNames {
        v2_name: None,
        ..same_names_in_v2_and_v3(FileKind::Manifest, "manifest", "datasets")
    },
];

impl FileKind {
    /// All kinds.
    pub const ALL: [FileKind; 14] = {
        let mut all = [FileKind::SystemInformation; NAMED.len()];
        let mut n = 0;
        while n < NAMED.len() {
            all[n] = NAMED[n].kind;
            n += 1;
        }
        all
    };

    /// Returns the kind of the file with that name in discovery files; `None` for the discovery file itself.
    pub fn kind_from_file_name(name: &str) -> Option<FileKind> {
        let name = name.strip_suffix(".json").unwrap_or(name);
        let is_it = |it: &&FileKindNames| it.v3_name == Some(name) || it.v2_name == Some(name);
        NAMED.iter().find(is_it).map(|it| it.kind)
    }

    /// Returns the name of the file in a major version; `None` if the version has no such file.
    pub fn file_name(self, major: u8) -> Option<&'static str> {
        let named = self.file_and_list_names();
        if major >= 3 { named.v3_name } else { named.v2_name }
    }

    /// Returns the key of the list in a major version; empty if the file is no list.
    pub(crate) fn record_list_key(self, major: u8) -> &'static str {
        let named = self.file_and_list_names();
        if major >= 3 { named.list } else { named.v2_list }
    }

    fn file_and_list_names(self) -> &'static FileKindNames {
        NAMED.iter().find(|it| it.kind == self).unwrap_or(&NAMED[0])
    }
}

impl FileContent {
    /// Returns the kind of the file.
    pub fn file_kind(&self) -> FileKind {
        match self {
            FileContent::SystemInformation(_) => FileKind::SystemInformation,
            FileContent::VehicleTypes(_) => FileKind::VehicleTypes,
            FileContent::StationInformation(_) => FileKind::StationInformation,
            FileContent::StationStatus(_) => FileKind::StationStatus,
            FileContent::VehicleStatus(_) => FileKind::VehicleStatus,
            FileContent::VehicleAvailability(_) => FileKind::VehicleAvailability,
            FileContent::Regions(_) => FileKind::Regions,
            FileContent::PricingPlans(_) => FileKind::PricingPlans,
            FileContent::Alerts(_) => FileKind::Alerts,
            FileContent::GeofencingZones(_) => FileKind::GeofencingZones,
            FileContent::Hours(_) => FileKind::Hours,
            FileContent::Calendar(_) => FileKind::Calendar,
            FileContent::Versions(_) => FileKind::Versions,
            FileContent::Manifest(_) => FileKind::Manifest,
        }
    }

    /// Returns the number of records.
    pub fn record_count(&self) -> usize {
        match self {
            FileContent::SystemInformation(_) => 1,
            FileContent::VehicleTypes(all) => all.len(),
            FileContent::StationInformation(all) => all.len(),
            FileContent::StationStatus(all) => all.len(),
            FileContent::VehicleStatus(all) => all.len(),
            FileContent::VehicleAvailability(all) => all.len(),
            FileContent::Regions(all) => all.len(),
            FileContent::PricingPlans(all) => all.len(),
            FileContent::Alerts(all) => all.len(),
            FileContent::GeofencingZones(all) => all.zones.len(),
            FileContent::Hours(all) => all.len(),
            FileContent::Calendar(all) => all.len(),
            FileContent::Versions(all) => all.len(),
            FileContent::Manifest(all) => all.len(),
        }
    }
}

/// The header fields of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileHeader {
    /// `last_updated`, seconds since 1970.
    pub last_updated: Option<i64>,
    /// `ttl`, seconds.
    pub ttl: Option<u32>,
    /// `version`, as written; version 1.0 has none.
    pub version: Option<SmolStr>,
}

/// A decoded file.
#[derive(Clone, Debug, PartialEq)]
pub struct GbfsFile {
    /// The header.
    pub head: FileHeader,
    /// The records.
    pub content: FileContent,
}

/// Decodes a file of a known kind. `language` is the language of texts that do not state one.
///
/// A faulty record or field becomes a problem that names it; the others are retained.
///
/// # Errors
/// Returns an error if the file is too large, or if it is not a JSON object with `data`.
pub fn decode_gbfs_file(
    kind: FileKind,
    body: &[u8],
    language: &str,
    limits: &FileLimits,
) -> Result<(GbfsFile, Problems), Error> {
    if body.len() > limits.body_bytes {
        let detail = format!("the file is larger than {} bytes", limits.body_bytes);
        return Err(Error::new(ErrorKind::TooLarge, detail));
    }
    let document = envelope::parse_file_envelope(body)?;
    let major = detect_major_version(&document);
    let file =
        kind.file_name(major).or(kind.file_name(3)).or(kind.file_name(2)).unwrap_or_default();
    let mut reading = RecordReader::new(file, (major, language), limits);
    let head = read_file_header(&document, &mut reading);
    let content = read_file_content(kind, document.data, &mut reading)?;
    Ok((GbfsFile { head, content }, reading.problems))
}

/// Returns the major version. Version 1.0 and some other files state none; times are strings only from version 3 on.
fn detect_major_version(document: &FileEnvelope<'_>) -> u8 {
    let is_text = |raw: &&RawValue| raw.get().starts_with('"');
    let first_char = document.version.and_then(|raw| raw.get().trim_matches('"').chars().next());
    match first_char.and_then(|first| first.to_digit(10)) {
        Some(major) => u8::try_from(major).unwrap_or(0),
        None if document.last_updated.as_ref().is_some_and(is_text) => 3,
        None => 1,
    }
}

fn read_file_header(document: &FileEnvelope<'_>, reading: &mut RecordReader<'_>) -> FileHeader {
    let value = |raw: Option<&RawValue>| {
        let value: Option<Value> = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
        value.filter(|value| !value.is_null())
    };
    let last_updated = value(document.last_updated);
    let last_updated = last_updated.and_then(|json| {
        reading
            .read_with_path_key("last_updated", |reading| GbfsTime::read_value(&json, reading))
            .map(|at| at.0)
    });
    let ttl = value(document.ttl).and_then(|json| {
        reading.read_with_path_key("ttl", |reading| u32::read_value(&json, reading))
    });
    let version = value(document.version).and_then(|json| {
        reading.read_with_path_key("version", |reading| {
            <SmolStr as FieldValue>::read_value(&json, reading)
        })
    });
    FileHeader { last_updated, ttl, version }
}

fn read_file_content(
    kind: FileKind,
    data: &RawValue,
    reading: &mut RecordReader<'_>,
) -> Result<FileContent, Error> {
    Ok(match kind {
        FileKind::SystemInformation => {
            let json = parse_record_tree(data, reading);
            let read = json.and_then(|json| reading.read_record(&json));
            let refused = || Error::new(ErrorKind::Decode, "the file has no system information");
            FileContent::SystemInformation(Box::new(read.ok_or_else(refused)?))
        }
        FileKind::GeofencingZones => {
            FileContent::GeofencingZones(read_geofencing_zones(data, reading)?)
        }
        FileKind::VehicleTypes => {
            FileContent::VehicleTypes(read_list_records(kind, data, reading)?)
        }
        FileKind::StationInformation => {
            FileContent::StationInformation(read_list_records(kind, data, reading)?)
        }
        FileKind::StationStatus => {
            FileContent::StationStatus(read_list_records(kind, data, reading)?)
        }
        FileKind::VehicleStatus => {
            FileContent::VehicleStatus(read_list_records(kind, data, reading)?)
        }
        FileKind::VehicleAvailability => {
            FileContent::VehicleAvailability(read_list_records(kind, data, reading)?)
        }
        FileKind::Regions => FileContent::Regions(read_list_records(kind, data, reading)?),
        FileKind::PricingPlans => {
            FileContent::PricingPlans(read_list_records(kind, data, reading)?)
        }
        FileKind::Alerts => FileContent::Alerts(read_list_records(kind, data, reading)?),
        FileKind::Hours => FileContent::Hours(read_list_records(kind, data, reading)?),
        FileKind::Calendar => FileContent::Calendar(read_list_records(kind, data, reading)?),
        FileKind::Versions => FileContent::Versions(read_list_records(kind, data, reading)?),
        FileKind::Manifest => FileContent::Manifest(read_list_records(kind, data, reading)?),
    })
}

/// A record in the list of a file.
pub(crate) trait ListRecord: FieldValue {
    /// Returns the id, which is unique within the list; a record without it is dropped.
    fn record_id(&self) -> Option<&str> {
        None
    }

    fn coordinates_mut(&mut self) -> Option<[&mut Option<f64>; 2]> {
        None
    }
}

macro_rules! listed {
    ($($name:ident $(by $id:ident)? $(at $lat:ident $lon:ident)?,)*) => {
        $(impl ListRecord for $name {
            $(fn record_id(&self) -> Option<&str> {
                Some(&self.$id)
            })?
            $(fn coordinates_mut(&mut self) -> Option<[&mut Option<f64>; 2]> {
                Some([&mut self.$lat, &mut self.$lon])
            })?
        })*
    };
}

listed! {
    VehicleType by vehicle_type_id,
    StationInformation by station_id at lat lon,
    StationStatus by station_id,
    VehicleStatus by vehicle_id at lat lon,
    VehicleAvailability by vehicle_id,
    Region by region_id,
    PricingPlan by plan_id,
    Alert by alert_id,
    RentalHours,
    Calendar,
    VersionEntry,
    Dataset by system_id,
    GeofencingZone,
    GeofencingRule,
}

fn read_list_records<T: ListRecord>(
    kind: FileKind,
    data: &RawValue,
    reading: &mut RecordReader<'_>,
) -> Result<Vec<T>, Error> {
    let names =
        [kind.record_list_key(reading.major), kind.record_list_key(3), kind.record_list_key(2)];
    let JsonObjectPairs(pairs) =
        serde_json::from_str(data.get()).map_err(|error| envelope::error_from_json(&error))?;
    let found = names.into_iter().find_map(|name| {
        let (_, raw) = pairs.iter().find(|(key, _)| key == name)?;
        Some((name, *raw))
    });
    let Some((name, raw)) = found else {
        let detail = format!("the file has no list `{}`", names[0]);
        return Err(Error::new(ErrorKind::Decode, detail));
    };
    reading.read_with_path_key(name, |reading| read_records_one_by_one(raw, reading))
}

/// Reads the records of a list one by one. `null` is an empty list, as some programs write it; any other value that is
/// not a list is an error.
fn read_records_one_by_one<T: ListRecord>(
    raw: &RawValue,
    reading: &mut RecordReader<'_>,
) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    let mut seen: HashSet<SmolStr> = HashSet::new();
    let mut n = 0;
    let max = reading.limits().records;
    let take = |raw: &RawValue| {
        if list.len() < max {
            list.extend(
                reading
                    .read_with_path_index(n, |reading| read_unique_record(raw, &mut seen, reading)),
            );
        } else if n == max {
            reading.report_field_problem(
                "too_many",
                &format!("more than {max} items; the rest is ignored"),
                None,
            );
        }
        n += 1;
    };
    let mut deserializer = serde_json::Deserializer::from_str(raw.get());
    if raw.get().trim() != "null"
        && let Err(error) = ListItemCallback(take).deserialize(&mut deserializer)
    {
        let detail = format!("expected a list: {error}");
        return Err(Error::new(ErrorKind::Decode, detail));
    }
    Ok(list)
}

fn read_unique_record<T: ListRecord>(
    raw: &RawValue,
    seen: &mut HashSet<SmolStr>,
    reading: &mut RecordReader<'_>,
) -> Option<T> {
    let json = parse_record_tree(raw, reading)?;
    let mut record = T::read_value(&json, reading)?;
    match record.record_id() {
        Some("") => {
            reading.report_field_problem(
                "missing_id",
                "a record without an id is ignored",
                Some(&json),
            );
            return None;
        }
        Some(id) if !seen.insert(SmolStr::new(id)) => {
            let id = Value::String(id.to_owned());
            reading.report_field_problem(
                "duplicate_id",
                "another record has the same id; the first is used",
                Some(&id),
            );
            return None;
        }
        _ => {}
    }
    if let Some([lat, lon]) = record.coordinates_mut() {
        remove_invalid_coordinates(lat, lon, reading);
    }
    Some(record)
}

/// Removes coordinates that cannot be right.
fn remove_invalid_coordinates(
    lat: &mut Option<f64>,
    lon: &mut Option<f64>,
    reading: &mut RecordReader<'_>,
) {
    let is_right = match (&lat, &lon) {
        (Some(lat), Some(lon)) => {
            lat.abs() <= 90.0 && lon.abs() <= 180.0 && (*lat, *lon) != (0.0, 0.0)
        }
        (None, None) => true,
        _ => false,
    };
    if !is_right {
        let quoted = Value::from(vec![Value::from(*lat), Value::from(*lon)]).to_string();
        let detail = "the latitude and longitude are not a plausible position and are ignored";
        reading.report_field_problem("bad_position", detail, Some(&Value::String(quoted)));
        (*lat, *lon) = (None, None);
    }
}

/// Parses one record to a tree, unless it is too large or too deep.
fn parse_record_tree(raw: &RawValue, reading: &mut RecordReader<'_>) -> Option<Value> {
    let max = reading.limits().record_bytes;
    if raw.get().len() > max {
        reading.report_field_problem(
            "too_large",
            &format!("the record is larger than {max} bytes and is ignored"),
            None,
        );
        return None;
    }
    let read = serde_json::from_str(raw.get());
    if let Err(error) = &read {
        reading.report_field_problem(
            "bad_value",
            &format!("the record cannot be read: {error}"),
            None,
        );
    }
    read.ok()
}

fn read_geofencing_zones(
    data: &RawValue,
    reading: &mut RecordReader<'_>,
) -> Result<GeofencingZones, Error> {
    let refused = |error: serde_json::Error| envelope::error_from_json(&error);
    let JsonObjectPairs(pairs) = serde_json::from_str(data.get()).map_err(refused)?;
    let find =
        |pairs: &[(String, &RawValue)], name: &str| pairs.iter().position(|(key, _)| key == name);
    let Some(at) = find(&pairs, "geofencing_zones") else {
        return Err(Error::new(ErrorKind::Decode, "the file has no `geofencing_zones`"));
    };
    let JsonObjectPairs(collection) = serde_json::from_str(pairs[at].1.get()).map_err(refused)?;
    let mut zones = GeofencingZones::default();
    if let Some(at) = find(&collection, "features") {
        let raw = collection[at].1;
        zones.zones = reading
            .read_with_path_key("features", |reading| read_records_one_by_one(raw, reading))?;
    }
    if let Some(at) = find(&pairs, "global_rules") {
        zones.global_rules = reading.read_with_path_key("global_rules", |reading| {
            read_records_one_by_one(pairs[at].1, reading)
        })?;
    }
    Ok(zones)
}

/// Passes each item of a list to a callback.
struct ListItemCallback<F>(F);

impl<'de, F: FnMut(&'de RawValue)> DeserializeSeed<'de> for ListItemCallback<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(&'de RawValue)> Visitor<'de> for ListItemCallback<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<S: SeqAccess<'de>>(mut self, mut seq: S) -> Result<(), S::Error> {
        while let Some(raw) = seq.next_element::<&'de RawValue>()? {
            (self.0)(raw);
        }
        Ok(())
    }
}
