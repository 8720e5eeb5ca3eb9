//! `locations.geojson`: the zones of services on demand, and what is wrong with them.

use std::{collections::HashMap, io::Read};

use geo::{Coord, LineString};
use lineside_formats::{Error, gtfs::fields::LOCATIONS};

use super::{
    area::{Area, Exhausted, Steps, fault_of},
    json::{Fault, Json},
    table::Status,
};
use crate::{
    notice::{Kind, Notices, Sample, Severity},
    stop::Stop,
};

/// Bytes of the file that are read; zones of a whole country take a few of these millions.
pub(super) const BYTES_MAX: u64 = 256 << 20;
/// Steps within which all zones are looked at: some seconds. What is left then is taken as it is; rings as the ground has them, of millions
/// of corners, need fewer.
const STEPS_MAX: u64 = 500_000_000;

/// A zone.
#[derive(Debug)]
pub struct Zone {
    /// Its id, which stop times name.
    pub id: String,
    /// Its position in the file, from 0.
    pub index: u32,
    /// Its area, in degrees.
    pub area: Area,
}

/// The zones of a feed.
#[derive(Debug)]
pub struct Zones {
    /// How far the file could be read.
    pub status: Status,
    /// The zones that could be read; the first of each id counts.
    pub zones: Vec<Zone>,
}

impl Zones {
    pub(super) const NONE: Zones = Zones { status: Status::Missing, zones: Vec::new() };

    /// The zones by their ids.
    pub fn by_id(&self) -> HashMap<&str, &Zone> {
        // The first of each comes last, and stays.
        self.zones.iter().rev().map(|zone| (zone.id.as_str(), zone)).collect()
    }
}

macro_rules! kinds {
    ($($name:ident $code:literal $severity:ident $fields:expr;)*) => {
        $(static $name: Kind = Kind {
            code: $code,
            severity: Severity::$severity,
            fields: $fields,
            page: include_str!(concat!("../rules/gtfs/flex/", $code, ".md")),
        };)*

        /// All that is said while zones are read.
        pub(crate) static KINDS: &[&Kind] = &[$(&$name),*];
    };
}

const FILE: (&str, &str) = ("filename", "The file.");
const ID: (&str, &str) = ("featureId", "The feature's id.");
const INDEX: (&str, &str) = ("featureIndex", "The feature's position in the file, from 0.");
const GEOMETRY: (&str, &str) = ("geometryType", "The type of its geometry.");
const MESSAGE: (&str, &str) = ("message", "What went wrong, in words.");

kinds! {
    MALFORMED "malformed_json" Error &[FILE, MESSAGE];
    TWICE "geo_json_duplicated_element" Error
        &[FILE, ("duplicatedElement", "The name that stands in an object twice.")];
    UNKNOWN "geo_json_unknown_element" Info
        &[FILE, ("unknownElement", "The name that GTFS does not know.")];
    NO_COLLECTION "unsupported_geo_json_type" Error
        &[("geoJsonType", "The type that stands there."), MESSAGE];
    MISSING "missing_required_element" Error
        &[INDEX, ID, ("missingElement", "What is missing, by its path in the file.")];
    NO_FEATURE "unsupported_feature_type" Error
        &[INDEX, ID, ("featureType", "The type that stands there.")];
    NO_AREA "unsupported_geometry_type" Error &[INDEX, ID, GEOMETRY];
    INVALID "invalid_geometry" Error &[ID, INDEX, GEOMETRY, MESSAGE];
    AGAIN "duplicate_geo_json_key" Error &[
        ID,
        ("firstIndex", "The position of the first feature with this id, from 0."),
        ("secondIndex", "The position of the other one."),
    ];
}

/// Reads the file, and looks at its zones until it is stopped.
///
/// # Errors
///
/// If it cannot be read or is too large.
pub(super) fn read(reader: &mut dyn Read, stop: &Stop, out: &mut Notices) -> Result<Zones, Error> {
    let mut bytes = Vec::new();
    reader.take(BYTES_MAX).read_to_end(&mut bytes).map_err(Error::io)?;
    let nothing = |status| Zones { status, zones: Vec::new() };
    let json = match Json::read(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes)) {
        Ok(json) => json,
        Err(Fault::Twice(name)) => {
            out.add(&TWICE, |sample| {
                sample.put("filename", LOCATIONS).put("duplicatedElement", name);
            });
            return Ok(nothing(Status::Parsed));
        }
        Err(Fault::Malformed(message)) => {
            malformed(&message, out);
            return Ok(nothing(Status::BadRows));
        }
    };
    let Some(features) = collection(&json, out) else { return Ok(nothing(Status::BadRows)) };
    let mut zones: Vec<Zone> = Vec::new();
    let mut status = Status::Parsed;
    let goes_on = || !stop.is_stopped();
    let mut steps = Steps::new(STEPS_MAX, &goes_on);
    for (index, feature) in (0..).zip(features) {
        match (Feature { json: feature, index, id: None }).read(&mut steps, out) {
            Some(zone) => zones.push(zone),
            None => status = Status::BadRows,
        }
    }
    if status == Status::Parsed {
        say_duplicates(&zones, out);
    }
    Ok(Zones { status, zones })
}

fn malformed(message: &str, out: &mut Notices) {
    out.add(&MALFORMED, |sample| {
        sample.put("filename", LOCATIONS).put("message", message);
    });
}

/// The features of the collection; `None` if the file is no collection.
fn collection<'a>(json: &'a Json, out: &mut Notices) -> Option<&'a [Json]> {
    let Some(members) = json.object() else {
        malformed("an object was expected", out);
        return None;
    };
    say_unknown(members, &["type", "features"], out);
    let missing = |element: &str, out: &mut Notices| {
        out.add(&MISSING, |sample| {
            sample.put("missingElement", element);
        });
    };
    let Some(type_) = json.get("type").and_then(Json::text) else {
        missing("type", out);
        return None;
    };
    if type_ != "FeatureCollection" {
        out.add(&NO_COLLECTION, |sample| {
            sample.put("message", "the file has to be a FeatureCollection");
            sample.put("geoJsonType", type_);
        });
        return None;
    }
    let features = json.get("features").and_then(Json::list);
    if features.is_none() {
        missing("features", out);
    }
    features
}

fn say_unknown(members: &[(String, Json)], known: &[&str], out: &mut Notices) {
    for (name, _) in members.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
        out.add(&UNKNOWN, |sample| {
            sample.put("filename", LOCATIONS).put("unknownElement", name.as_str());
        });
    }
}

fn say_duplicates(zones: &[Zone], out: &mut Notices) {
    let mut first: std::collections::BTreeMap<&str, u32> = std::collections::BTreeMap::new();
    for zone in zones {
        let index = *first.entry(&zone.id).or_insert(zone.index);
        if index != zone.index {
            out.add(&AGAIN, |sample| {
                sample.put("featureId", zone.id.as_str());
                sample.put("firstIndex", index).put("secondIndex", zone.index);
            });
        }
    }
}

/// A feature that is being read.
struct Feature<'a> {
    json: &'a Json,
    index: u32,
    id: Option<String>,
}

impl Feature<'_> {
    fn read(mut self, steps: &mut Steps<'_>, out: &mut Notices) -> Option<Zone> {
        let members = self.json.object()?;
        say_unknown(members, &["id", "type", "properties", "geometry"], out);
        let mut missing: Vec<&str> = Vec::new();
        self.id = self.json.get("id").and_then(Json::text).filter(|id| !id.is_empty());
        if self.id.is_none() {
            missing.push("features.id");
        }
        match self.json.get("type").and_then(Json::text) {
            None => missing.push("features.type"),
            Some(type_) if type_ != "Feature" => {
                self.say(&NO_FEATURE, out, |sample| {
                    sample.put("featureType", type_);
                });
            }
            Some(_) => {}
        }
        if self.json.get("properties").is_none() {
            missing.push("features.properties");
        }
        let geometry = self.geometry(&mut missing, out);
        for element in &missing {
            self.say(&MISSING, out, |sample| {
                sample.put("missingElement", *element);
            });
        }
        let (type_, coordinates) = geometry.filter(|_| missing.is_empty())?;
        let area = self.area(&type_, coordinates, steps, out)?;
        Some(Zone { id: self.id?, index: self.index, area })
    }

    fn say(&self, kind: &'static Kind, out: &mut Notices, more: impl FnOnce(&mut Sample)) {
        out.add(kind, |sample| {
            sample.put("featureId", self.id.as_deref()).put("featureIndex", self.index);
            more(sample);
        });
    }

    fn geometry(&self, missing: &mut Vec<&str>, out: &mut Notices) -> Option<(String, &Json)> {
        let Some(geometry) = self.json.get("geometry").filter(|it| it.object().is_some()) else {
            missing.push("features.geometry");
            return None;
        };
        say_unknown(geometry.object().unwrap_or_default(), &["type", "coordinates"], out);
        let type_ = geometry.get("type").and_then(Json::text);
        let coordinates = geometry.get("coordinates");
        match (&type_, coordinates) {
            (None, _) => missing.push("features.geometry.type"),
            (_, None) => missing.push("features.geometry.coordinates"),
            _ => {}
        }
        Some((type_?, coordinates?))
    }

    /// The area of the geometry; empty if its type is none that GTFS takes.
    fn area(
        &self,
        type_: &str,
        coordinates: &Json,
        steps: &mut Steps<'_>,
        out: &mut Notices,
    ) -> Option<Area> {
        let polygons: Option<Vec<Vec<LineString<f64>>>> = match type_ {
            "Polygon" => polygon(coordinates).map(|polygon| vec![polygon]),
            "MultiPolygon" => {
                coordinates.list().and_then(|list| list.iter().map(polygon).collect())
            }
            _ => {
                self.say(&NO_AREA, out, |sample| {
                    sample.put("geometryType", type_);
                });
                return Some(Area::new(std::iter::empty()));
            }
        };
        let wrong = match polygons {
            None => {
                "a ring is no list of at least four points of which the last is the first".into()
            }
            Some(polygons) => match fault_of(&polygons, steps) {
                Ok(Some(fault)) => fault,
                known => {
                    if known == Err(Exhausted) {
                        out.leave_off(&INVALID);
                    }
                    return Some(Area::new(polygons.iter().map(Vec::as_slice)));
                }
            },
        };
        self.say(&INVALID, out, |sample| {
            sample.put("geometryType", type_).put("message", wrong);
        });
        None
    }
}

/// A polygon of rings, the outer one first.
fn polygon(rings: &Json) -> Option<Vec<LineString<f64>>> {
    let rings = rings.list()?.iter().map(ring).collect::<Option<Vec<_>>>()?;
    (!rings.is_empty()).then_some(rings)
}

/// A closed line: at least four points, of which the last is the first.
fn ring(points: &Json) -> Option<LineString<f64>> {
    let point = |json: &Json| {
        let [x, y, ..] = json.list()? else { return None };
        Some(Coord { x: x.number()?, y: y.number()? })
    };
    let points = points.list()?.iter().map(point).collect::<Option<Vec<_>>>()?;
    (points.len() >= 4 && points.first() == points.last()).then(|| LineString::new(points))
}
