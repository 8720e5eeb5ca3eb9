//! A file with its frame and its records. Of a list one record at a time is a tree of values; all else streams by.

use std::{collections::HashSet, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};
use smol_str::SmolStr;

use super::{
    document::{self, Document, Pairs},
    limits::FileLimits,
    reading::Reading,
    record::Leaf,
    records::{
        Alert, Calendar, Dataset, PricingPlan, Region, RentalHours, StationInformation,
        StationStatus, SystemInformation, VehicleAvailability, VehicleStatus, VehicleType,
        VersionEntry,
    },
    values::Time,
    zones::{GeofencingZones, Rule, Zone},
};
use crate::{Error, ErrorKind, Problems};

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Who runs the system.
    SystemInformation(Box<SystemInformation>),
    /// Kinds of vehicles.
    VehicleTypes(Vec<VehicleType>),
    /// Stations, as they seldom change.
    StationInformation(Vec<StationInformation>),
    /// Stations, as they are now.
    StationStatus(Vec<StationStatus>),
    /// Vehicles that can be rented: `vehicle_status`, before version 3 `free_bike_status`.
    VehicleStatus(Vec<VehicleStatus>),
    /// When vehicles can be rented in the time to come, from version 3.1 on.
    VehicleAvailability(Vec<VehicleAvailability>),
    /// Parts of the area.
    Regions(Vec<Region>),
    /// What renting costs.
    PricingPlans(Vec<PricingPlan>),
    /// What customers are told.
    Alerts(Vec<Alert>),
    /// Areas with rules.
    GeofencingZones(GeofencingZones),
    /// When one may rent, before version 3.
    Hours(Vec<RentalHours>),
    /// The days of the year on which the system runs, before version 3.
    Calendar(Vec<Calendar>),
    /// The versions that the system is in: `gbfs_versions`.
    Versions(Vec<VersionEntry>),
    /// Systems: `manifest`.
    Manifest(Vec<Dataset>),
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the words of `Content`")]
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

/// How a kind of file is called from version 3 on and before, and the list that it is.
#[derive(Debug)]
struct Named {
    kind: FileKind,
    now: Option<&'static str>,
    before: Option<&'static str>,
    list: &'static str,
    list_before: &'static str,
}

const fn same(kind: FileKind, name: &'static str, list: &'static str) -> Named {
    Named { kind, now: Some(name), before: Some(name), list, list_before: list }
}

const NAMED: [Named; 14] = [
    same(FileKind::SystemInformation, "system_information", ""),
    same(FileKind::VehicleTypes, "vehicle_types", "vehicle_types"),
    same(FileKind::StationInformation, "station_information", "stations"),
    same(FileKind::StationStatus, "station_status", "stations"),
    Named {
        kind: FileKind::VehicleStatus,
        now: Some("vehicle_status"),
        before: Some("free_bike_status"),
        list: "vehicles",
        list_before: "bikes",
    },
    Named {
        before: None,
        ..same(FileKind::VehicleAvailability, "vehicle_availability", "vehicles")
    },
    same(FileKind::Regions, "system_regions", "regions"),
    same(FileKind::PricingPlans, "system_pricing_plans", "plans"),
    same(FileKind::Alerts, "system_alerts", "alerts"),
    same(FileKind::GeofencingZones, "geofencing_zones", "geofencing_zones"),
    Named { now: None, ..same(FileKind::Hours, "system_hours", "rental_hours") },
    Named { now: None, ..same(FileKind::Calendar, "system_calendar", "calendars") },
    same(FileKind::Versions, "gbfs_versions", "versions"),
    Named { before: None, ..same(FileKind::Manifest, "manifest", "datasets") },
];

impl FileKind {
    /// Every kind.
    pub const ALL: [FileKind; 14] = {
        let mut all = [FileKind::SystemInformation; NAMED.len()];
        let mut n = 0;
        while n < NAMED.len() {
            all[n] = NAMED[n].kind;
            n += 1;
        }
        all
    };

    /// The kind of a file with that name, as discovery files have it; `None` for the discovery file itself.
    pub fn of_name(name: &str) -> Option<FileKind> {
        let name = name.strip_suffix(".json").unwrap_or(name);
        let is_it = |it: &&Named| it.now == Some(name) || it.before == Some(name);
        NAMED.iter().find(is_it).map(|it| it.kind)
    }

    /// Its name in a major version; `None` if that has no such file.
    pub fn name(self, major: u8) -> Option<&'static str> {
        let named = self.named();
        if major >= 3 { named.now } else { named.before }
    }

    /// The list that it is in a major version; empty where it is none.
    pub(super) fn list(self, major: u8) -> &'static str {
        let named = self.named();
        if major >= 3 { named.list } else { named.list_before }
    }

    fn named(self) -> &'static Named {
        NAMED.iter().find(|it| it.kind == self).unwrap_or(&NAMED[0])
    }
}

impl Content {
    /// What the file is.
    pub fn kind(&self) -> FileKind {
        match self {
            Content::SystemInformation(_) => FileKind::SystemInformation,
            Content::VehicleTypes(_) => FileKind::VehicleTypes,
            Content::StationInformation(_) => FileKind::StationInformation,
            Content::StationStatus(_) => FileKind::StationStatus,
            Content::VehicleStatus(_) => FileKind::VehicleStatus,
            Content::VehicleAvailability(_) => FileKind::VehicleAvailability,
            Content::Regions(_) => FileKind::Regions,
            Content::PricingPlans(_) => FileKind::PricingPlans,
            Content::Alerts(_) => FileKind::Alerts,
            Content::GeofencingZones(_) => FileKind::GeofencingZones,
            Content::Hours(_) => FileKind::Hours,
            Content::Calendar(_) => FileKind::Calendar,
            Content::Versions(_) => FileKind::Versions,
            Content::Manifest(_) => FileKind::Manifest,
        }
    }

    /// How many records it has.
    pub fn n_records(&self) -> usize {
        match self {
            Content::SystemInformation(_) => 1,
            Content::VehicleTypes(all) => all.len(),
            Content::StationInformation(all) => all.len(),
            Content::StationStatus(all) => all.len(),
            Content::VehicleStatus(all) => all.len(),
            Content::VehicleAvailability(all) => all.len(),
            Content::Regions(all) => all.len(),
            Content::PricingPlans(all) => all.len(),
            Content::Alerts(all) => all.len(),
            Content::GeofencingZones(all) => all.zones.len(),
            Content::Hours(all) => all.len(),
            Content::Calendar(all) => all.len(),
            Content::Versions(all) => all.len(),
            Content::Manifest(all) => all.len(),
        }
    }
}

/// What every file says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// `last_updated`, seconds since 1970.
    pub last_updated: Option<i64>,
    /// `ttl`, seconds.
    pub ttl: Option<u32>,
    /// `version`, as written; version 1.0 has none.
    pub version: Option<SmolStr>,
}

/// A file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// What it says of itself.
    pub head: Head,
    /// Its records.
    pub content: Content,
}

/// Reads a file of which the name says what it is. Texts that do not say their language are taken to be in `language`.
///
/// Whatever is wrong with a record or a field is a problem that names it, and the others stay.
///
/// # Errors
/// If it is too large, or no JSON object with `data`.
pub fn decode_file(
    kind: FileKind,
    body: &[u8],
    language: &str,
    limits: &FileLimits,
) -> Result<(File, Problems), Error> {
    if body.len() > limits.body_bytes {
        let detail = format!("a file of more than {} bytes", limits.body_bytes);
        return Err(Error::new(ErrorKind::TooLarge, detail));
    }
    let document = document::read(body)?;
    let major = major_of(&document);
    let file = kind.name(major).or(kind.name(3)).or(kind.name(2)).unwrap_or_default();
    let mut reading = Reading::new(file, (major, language), limits);
    let head = head(&document, &mut reading);
    let content = content(kind, document.data, &mut reading)?;
    Ok((File { head, content }, reading.problems))
}

/// Version 1.0 does not say which it is, and neither do some others; only from 3 on times are texts.
fn major_of(document: &Document<'_>) -> u8 {
    let is_text = |raw: &&RawValue| raw.get().starts_with('"');
    let said = document.version.and_then(|raw| raw.get().trim_matches('"').chars().next());
    match said.and_then(|first| first.to_digit(10)) {
        Some(major) => u8::try_from(major).unwrap_or(0),
        None if document.last_updated.as_ref().is_some_and(is_text) => 3,
        None => 1,
    }
}

fn head(document: &Document<'_>, reading: &mut Reading<'_>) -> Head {
    let value = |raw: Option<&RawValue>| {
        let value: Option<Value> = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
        value.filter(|value| !value.is_null())
    };
    let last_updated = value(document.last_updated);
    let last_updated = last_updated.and_then(|json| {
        reading.at_key("last_updated", |reading| Time::read(&json, reading)).map(|at| at.0)
    });
    let ttl = value(document.ttl)
        .and_then(|json| reading.at_key("ttl", |reading| u32::read(&json, reading)));
    let version = value(document.version).and_then(|json| {
        reading.at_key("version", |reading| <SmolStr as Leaf>::read(&json, reading))
    });
    Head { last_updated, ttl, version }
}

fn content(kind: FileKind, data: &RawValue, reading: &mut Reading<'_>) -> Result<Content, Error> {
    Ok(match kind {
        FileKind::SystemInformation => {
            let json = tree(data, reading);
            let read = json.and_then(|json| reading.record(&json));
            let refused = || Error::new(ErrorKind::Decode, "the file says nothing of a system");
            Content::SystemInformation(Box::new(read.ok_or_else(refused)?))
        }
        FileKind::GeofencingZones => Content::GeofencingZones(zones(data, reading)?),
        FileKind::VehicleTypes => Content::VehicleTypes(records(kind, data, reading)?),
        FileKind::StationInformation => Content::StationInformation(records(kind, data, reading)?),
        FileKind::StationStatus => Content::StationStatus(records(kind, data, reading)?),
        FileKind::VehicleStatus => Content::VehicleStatus(records(kind, data, reading)?),
        FileKind::VehicleAvailability => {
            Content::VehicleAvailability(records(kind, data, reading)?)
        }
        FileKind::Regions => Content::Regions(records(kind, data, reading)?),
        FileKind::PricingPlans => Content::PricingPlans(records(kind, data, reading)?),
        FileKind::Alerts => Content::Alerts(records(kind, data, reading)?),
        FileKind::Hours => Content::Hours(records(kind, data, reading)?),
        FileKind::Calendar => Content::Calendar(records(kind, data, reading)?),
        FileKind::Versions => Content::Versions(records(kind, data, reading)?),
        FileKind::Manifest => Content::Manifest(records(kind, data, reading)?),
    })
}

/// A record of a list.
pub(super) trait Listed: Leaf {
    /// What no other record of the list may have; a record without it is dropped.
    fn id(&self) -> Option<&str> {
        None
    }

    /// Where it is.
    fn place(&mut self) -> Option<[&mut Option<f64>; 2]> {
        None
    }
}

macro_rules! listed {
    ($($name:ident $(by $id:ident)? $(at $lat:ident $lon:ident)?,)*) => {
        $(impl Listed for $name {
            $(fn id(&self) -> Option<&str> {
                Some(&self.$id)
            })?
            $(fn place(&mut self) -> Option<[&mut Option<f64>; 2]> {
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
    Zone,
    Rule,
}

fn records<T: Listed>(
    kind: FileKind,
    data: &RawValue,
    reading: &mut Reading<'_>,
) -> Result<Vec<T>, Error> {
    let names = [kind.list(reading.major), kind.list(3), kind.list(2)];
    let Pairs(pairs) =
        serde_json::from_str(data.get()).map_err(|error| document::refused(&error))?;
    let found = names.into_iter().find_map(|name| {
        let (_, raw) = pairs.iter().find(|(key, _)| key == name)?;
        Some((name, *raw))
    });
    let Some((name, raw)) = found else {
        let detail = format!("the file has no list `{}`", names[0]);
        return Err(Error::new(ErrorKind::Decode, detail));
    };
    reading.at_key(name, |reading| each(raw, reading))
}

/// Each record of a list, one after the other. `null` is a list of none, as some programs write it; anything else that is
/// no list says nothing, and is refused.
fn each<T: Listed>(raw: &RawValue, reading: &mut Reading<'_>) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    let mut seen: HashSet<SmolStr> = HashSet::new();
    let mut n = 0;
    let most = reading.limits().records;
    let take = |raw: &RawValue| {
        if list.len() < most {
            list.extend(reading.at(n, |reading| one(raw, &mut seen, reading)));
        } else if n == most {
            reading.tell("too_many", &format!("more than {most}: the others are left out"), None);
        }
        n += 1;
    };
    let mut deserializer = serde_json::Deserializer::from_str(raw.get());
    if raw.get().trim() != "null"
        && let Err(error) = Each(take).deserialize(&mut deserializer)
    {
        let detail = format!("a list is expected: {error}");
        return Err(Error::new(ErrorKind::Decode, detail));
    }
    Ok(list)
}

fn one<T: Listed>(
    raw: &RawValue,
    seen: &mut HashSet<SmolStr>,
    reading: &mut Reading<'_>,
) -> Option<T> {
    let json = tree(raw, reading)?;
    let mut record = T::read(&json, reading)?;
    match record.id() {
        Some("") => {
            reading.tell("missing_id", "a record without an id is left out", Some(&json));
            return None;
        }
        Some(id) if !seen.insert(SmolStr::new(id)) => {
            let id = Value::String(id.to_owned());
            reading.tell("duplicate_id", "a record with this id is there already", Some(&id));
            return None;
        }
        _ => {}
    }
    if let Some([lat, lon]) = record.place() {
        check_place(lat, lon, reading);
    }
    Some(record)
}

/// A place that cannot be right is none.
fn check_place(lat: &mut Option<f64>, lon: &mut Option<f64>, reading: &mut Reading<'_>) {
    let is_right = match (&lat, &lon) {
        (Some(lat), Some(lon)) => {
            lat.abs() <= 90.0 && lon.abs() <= 180.0 && (*lat, *lon) != (0.0, 0.0)
        }
        (None, None) => true,
        _ => false,
    };
    if !is_right {
        let said = Value::from(vec![Value::from(*lat), Value::from(*lon)]).to_string();
        let detail = "latitude and longitude are no place of this system: left out";
        reading.tell("bad_position", detail, Some(&Value::String(said)));
        (*lat, *lon) = (None, None);
    }
}

/// One record as a tree, if it is not too large or too deep.
fn tree(raw: &RawValue, reading: &mut Reading<'_>) -> Option<Value> {
    let most = reading.limits().record_bytes;
    if raw.get().len() > most {
        reading.tell("too_large", &format!("a record of more than {most} bytes is left out"), None);
        return None;
    }
    let read = serde_json::from_str(raw.get());
    if let Err(error) = &read {
        reading.tell("bad_value", &format!("the record cannot be read: {error}"), None);
    }
    read.ok()
}

fn zones(data: &RawValue, reading: &mut Reading<'_>) -> Result<GeofencingZones, Error> {
    let refused = |error: serde_json::Error| document::refused(&error);
    let Pairs(pairs) = serde_json::from_str(data.get()).map_err(refused)?;
    let find =
        |pairs: &[(String, &RawValue)], name: &str| pairs.iter().position(|(key, _)| key == name);
    let Some(at) = find(&pairs, "geofencing_zones") else {
        return Err(Error::new(ErrorKind::Decode, "the file has no `geofencing_zones`"));
    };
    let Pairs(collection) = serde_json::from_str(pairs[at].1.get()).map_err(refused)?;
    let mut zones = GeofencingZones::default();
    if let Some(at) = find(&collection, "features") {
        let raw = collection[at].1;
        zones.zones = reading.at_key("features", |reading| each(raw, reading))?;
    }
    if let Some(at) = find(&pairs, "global_rules") {
        zones.global_rules =
            reading.at_key("global_rules", |reading| each(pairs[at].1, reading))?;
    }
    Ok(zones)
}

/// Gives each item of a list away as it comes.
struct Each<F>(F);

impl<'de, F: FnMut(&'de RawValue)> DeserializeSeed<'de> for Each<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(&'de RawValue)> Visitor<'de> for Each<F> {
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
