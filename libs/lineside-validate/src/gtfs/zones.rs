//! `locations.geojson`: the zones of demand-responsive services, and their faults.

use std::{collections::HashMap, io::Read};

use geo::{Coord, LineString};
use lineside_formats::{Error, gtfs::fields::LOCATIONS};

use super::{
    area::{EdgeWalkAborted, EdgeWalkBudget, PolygonArea, find_area_fault},
    json::{JsonParseFault, JsonValue},
    table::FileReadStatus,
};
use crate::{
    cancel::CancelToken,
    notice::{NoticeKind, NoticeSample, Notices, Severity},
};

/// The largest part of the file that is read, in bytes; zones of a whole country need a few of these megabytes.
pub(super) const BYTES_MAX: u64 = 256 << 20;
/// The largest number of steps to check all zones: some seconds. Further zones are accepted unchecked; realistic rings
/// with millions of corners need fewer steps.
const STEPS_MAX: u64 = 500_000_000;

/// A zone.
#[derive(Debug)]
pub struct FlexZone {
    /// The id that stop times refer to.
    pub id: String,
    /// The position in the file, from 0.
    pub index: u32,
    /// The area, in degrees.
    pub area: PolygonArea,
}

/// The zones of a feed.
#[derive(Debug)]
pub struct FlexZones {
    /// The extent to which the file could be read.
    pub status: FileReadStatus,
    /// The readable zones. If ids repeat, the first zone counts.
    pub zones: Vec<FlexZone>,
}

impl FlexZones {
    pub(super) const NONE: FlexZones =
        FlexZones { status: FileReadStatus::Missing, zones: Vec::new() };

    /// Returns the zones by id.
    pub fn zones_by_id(&self) -> HashMap<&str, &FlexZone> {
        // In reverse, so that the first zone of each id is inserted last.
        self.zones.iter().rev().map(|zone| (zone.id.as_str(), zone)).collect()
    }
}

macro_rules! kinds {
    ($($name:ident $code:literal $severity:ident $fields:expr;)*) => {
        $(static $name: NoticeKind = NoticeKind {
            code: $code,
            severity: Severity::$severity,
            fields: $fields,
            page: include_str!(concat!("../rules/gtfs/flex/", $code, ".md")),
        };)*

        /// All kinds of notices that the zone reader reports.
        pub(crate) static KINDS: &[&NoticeKind] = &[$(&$name),*];
    };
}

const FILE: (&str, &str) = ("filename", "The file.");
const ID: (&str, &str) = ("featureId", "The feature's id.");
const INDEX: (&str, &str) = ("featureIndex", "The feature's position in the file, from 0.");
const GEOMETRY: (&str, &str) = ("geometryType", "The type of the geometry.");
const MESSAGE: (&str, &str) = ("message", "A description of the fault.");

kinds! {
    MALFORMED "malformed_json" Error &[FILE, MESSAGE];
    TWICE "geo_json_duplicated_element" Error
        &[FILE, ("duplicatedElement", "The name that appears twice in an object.")];
    UNKNOWN "geo_json_unknown_element" Info
        &[FILE, ("unknownElement", "The name that GTFS does not define.")];
    NO_COLLECTION "unsupported_geo_json_type" Error
        &[("geoJsonType", "The type in the file."), MESSAGE];
    MISSING "missing_required_element" Error
        &[INDEX, ID, ("missingElement", "The path of the missing element.")];
    NO_FEATURE "unsupported_feature_type" Error
        &[INDEX, ID, ("featureType", "The type in the file.")];
    NO_AREA "unsupported_geometry_type" Error &[INDEX, ID, GEOMETRY];
    INVALID "invalid_geometry" Error &[ID, INDEX, GEOMETRY, MESSAGE];
    AGAIN "duplicate_geo_json_key" Error &[
        ID,
        ("firstIndex", "The position of the first feature with this id, from 0."),
        ("secondIndex", "The position of the second feature with this id, from 0."),
    ];
}

/// Reads the file, and checks its zones until cancelled.
///
/// # Errors
///
/// Returns an error if the file cannot be read or is too large.
pub(super) fn read_geojson_zones(
    reader: &mut dyn Read,
    cancel: &CancelToken,
    out: &mut Notices,
) -> Result<FlexZones, Error> {
    let mut bytes = Vec::new();
    reader.take(BYTES_MAX).read_to_end(&mut bytes).map_err(Error::from_io)?;
    let nothing = |status| FlexZones { status, zones: Vec::new() };
    let json = match JsonValue::parse_json(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes)) {
        Ok(json) => json,
        Err(JsonParseFault::Twice(name)) => {
            out.count_notice_with_sample(&TWICE, |sample| {
                sample.set_field("filename", LOCATIONS).set_field("duplicatedElement", name);
            });
            return Ok(nothing(FileReadStatus::Parsed));
        }
        Err(JsonParseFault::Malformed(message)) => {
            report_malformed_geojson(&message, out);
            return Ok(nothing(FileReadStatus::BadRows));
        }
    };
    let Some(features) = collection_features(&json, out) else {
        return Ok(nothing(FileReadStatus::BadRows));
    };
    let mut zones: Vec<FlexZone> = Vec::new();
    let mut status = FileReadStatus::Parsed;
    let should_continue = || !cancel.is_cancelled();
    let mut steps = EdgeWalkBudget::new(STEPS_MAX, &should_continue);
    for (index, feature) in (0..).zip(features) {
        match (GeoJsonZoneFeature { json: feature, index, id: None })
            .read_flex_zone(&mut steps, out)
        {
            Some(zone) => zones.push(zone),
            None => status = FileReadStatus::BadRows,
        }
    }
    if status == FileReadStatus::Parsed {
        report_duplicate_zone_ids(&zones, out);
    }
    Ok(FlexZones { status, zones })
}

fn report_malformed_geojson(message: &str, out: &mut Notices) {
    out.count_notice_with_sample(&MALFORMED, |sample| {
        sample.set_field("filename", LOCATIONS).set_field("message", message);
    });
}

/// Returns the features of the collection; `None` if the file is not a collection.
fn collection_features<'a>(json: &'a JsonValue, out: &mut Notices) -> Option<&'a [JsonValue]> {
    let Some(members) = json.as_object() else {
        report_malformed_geojson("expected an object", out);
        return None;
    };
    report_unknown_members(members, &["type", "features"], out);
    let missing = |element: &str, out: &mut Notices| {
        out.count_notice_with_sample(&MISSING, |sample| {
            sample.set_field("missingElement", element);
        });
    };
    let Some(type_) = json.member_by_name("type").and_then(JsonValue::text_or_number_as_text)
    else {
        missing("type", out);
        return None;
    };
    if type_ != "FeatureCollection" {
        out.count_notice_with_sample(&NO_COLLECTION, |sample| {
            sample.set_field("message", "the file must be a FeatureCollection");
            sample.set_field("geoJsonType", type_);
        });
        return None;
    }
    let features = json.member_by_name("features").and_then(JsonValue::as_list);
    if features.is_none() {
        missing("features", out);
    }
    features
}

fn report_unknown_members(members: &[(String, JsonValue)], known: &[&str], out: &mut Notices) {
    for (name, _) in members.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
        out.count_notice_with_sample(&UNKNOWN, |sample| {
            sample.set_field("filename", LOCATIONS).set_field("unknownElement", name.as_str());
        });
    }
}

fn report_duplicate_zone_ids(zones: &[FlexZone], out: &mut Notices) {
    let mut first: std::collections::BTreeMap<&str, u32> = std::collections::BTreeMap::new();
    for zone in zones {
        let index = *first.entry(&zone.id).or_insert(zone.index);
        if index != zone.index {
            out.count_notice_with_sample(&AGAIN, |sample| {
                sample.set_field("featureId", zone.id.as_str());
                sample.set_field("firstIndex", index).set_field("secondIndex", zone.index);
            });
        }
    }
}

/// A feature that is being read.
struct GeoJsonZoneFeature<'a> {
    json: &'a JsonValue,
    index: u32,
    id: Option<String>,
}

impl GeoJsonZoneFeature<'_> {
    fn read_flex_zone(
        mut self,
        steps: &mut EdgeWalkBudget<'_>,
        out: &mut Notices,
    ) -> Option<FlexZone> {
        let members = self.json.as_object()?;
        report_unknown_members(members, &["id", "type", "properties", "geometry"], out);
        let mut missing: Vec<&str> = Vec::new();
        self.id = self
            .json
            .member_by_name("id")
            .and_then(JsonValue::text_or_number_as_text)
            .filter(|id| !id.is_empty());
        if self.id.is_none() {
            missing.push("features.id");
        }
        match self.json.member_by_name("type").and_then(JsonValue::text_or_number_as_text) {
            None => missing.push("features.type"),
            Some(type_) if type_ != "Feature" => {
                self.report_for_feature(&NO_FEATURE, out, |sample| {
                    sample.set_field("featureType", type_);
                });
            }
            Some(_) => {}
        }
        if self.json.member_by_name("properties").is_none() {
            missing.push("features.properties");
        }
        let geometry = self.read_geometry_type_and_coordinates(&mut missing, out);
        for element in &missing {
            self.report_for_feature(&MISSING, out, |sample| {
                sample.set_field("missingElement", *element);
            });
        }
        let (type_, coordinates) = geometry.filter(|_| missing.is_empty())?;
        let area = self.read_geometry_area(&type_, coordinates, steps, out)?;
        Some(FlexZone { id: self.id?, index: self.index, area })
    }

    fn report_for_feature(
        &self,
        kind: &'static NoticeKind,
        out: &mut Notices,
        more: impl FnOnce(&mut NoticeSample),
    ) {
        out.count_notice_with_sample(kind, |sample| {
            sample.set_field("featureId", self.id.as_deref()).set_field("featureIndex", self.index);
            more(sample);
        });
    }

    fn read_geometry_type_and_coordinates(
        &self,
        missing: &mut Vec<&str>,
        out: &mut Notices,
    ) -> Option<(String, &JsonValue)> {
        let Some(geometry) =
            self.json.member_by_name("geometry").filter(|it| it.as_object().is_some())
        else {
            missing.push("features.geometry");
            return None;
        };
        report_unknown_members(
            geometry.as_object().unwrap_or_default(),
            &["type", "coordinates"],
            out,
        );
        let type_ = geometry.member_by_name("type").and_then(JsonValue::text_or_number_as_text);
        let coordinates = geometry.member_by_name("coordinates");
        match (&type_, coordinates) {
            (None, _) => missing.push("features.geometry.type"),
            (_, None) => missing.push("features.geometry.coordinates"),
            _ => {}
        }
        Some((type_?, coordinates?))
    }

    /// Returns the area of the geometry; empty if GTFS does not allow its type.
    fn read_geometry_area(
        &self,
        type_: &str,
        coordinates: &JsonValue,
        steps: &mut EdgeWalkBudget<'_>,
        out: &mut Notices,
    ) -> Option<PolygonArea> {
        let polygons: Option<Vec<Vec<LineString<f64>>>> = match type_ {
            "Polygon" => parse_polygon(coordinates).map(|polygon| vec![polygon]),
            "MultiPolygon" => {
                coordinates.as_list().and_then(|list| list.iter().map(parse_polygon).collect())
            }
            _ => {
                self.report_for_feature(&NO_AREA, out, |sample| {
                    sample.set_field("geometryType", type_);
                });
                return Some(PolygonArea::new(std::iter::empty()));
            }
        };
        let wrong = match polygons {
            None => {
                "every ring must be a list of at least four points and end with its first point"
                    .into()
            }
            Some(polygons) => match find_area_fault(&polygons, steps) {
                Ok(Some(fault)) => fault,
                other_type => {
                    if other_type == Err(EdgeWalkAborted) {
                        out.mark_total_as_lower_bound(&INVALID);
                    }
                    return Some(PolygonArea::new(polygons.iter().map(Vec::as_slice)));
                }
            },
        };
        self.report_for_feature(&INVALID, out, |sample| {
            sample.set_field("geometryType", type_).set_field("message", wrong);
        });
        None
    }
}

/// Parses a polygon of rings, the outer one first.
fn parse_polygon(rings: &JsonValue) -> Option<Vec<LineString<f64>>> {
    let rings = rings.as_list()?.iter().map(parse_ring).collect::<Option<Vec<_>>>()?;
    (!rings.is_empty()).then_some(rings)
}

/// Parses a closed line: at least four points, of which the last equals the first.
fn parse_ring(points: &JsonValue) -> Option<LineString<f64>> {
    let point = |json: &JsonValue| {
        let [x, y, ..] = json.as_list()? else { return None };
        Some(Coord { x: x.as_number()?, y: y.as_number()? })
    };
    let points = points.as_list()?.iter().map(point).collect::<Option<Vec<_>>>()?;
    (points.len() >= 4 && points.first() == points.last()).then(|| LineString::new(points))
}
