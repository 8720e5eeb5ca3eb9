//! Coordinates that nobody means: around 0, 0 and at the poles.

use lineside_formats::gtfs::fields::LOCATIONS;

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, Table, Zone},
    notice::{Kind, Sample, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&NEAR_ORIGIN, &NEAR_POLE], files: &[], check };

const FIELDS: &[(&str, &str)] = &[
    ("filename", "The file."),
    ("csvRowNumber", "The line of the row."),
    ("entityId", "The stop, if the file has an id for each row."),
    ("featureIndex", "The position of the feature in the file, if it is GeoJSON."),
    ("latFieldName", "The field of the latitude."),
    ("latFieldValue", "The latitude."),
    ("lonFieldName", "The field of the longitude."),
    ("lonFieldValue", "The longitude."),
];

static NEAR_ORIGIN: Kind = Kind {
    code: "point_near_origin",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("point_near_origin.md"),
};

static NEAR_POLE: Kind = Kind {
    code: "point_near_pole",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("point_near_pole.md"),
};

/// Degrees around 0, 0 in which no transit runs: the sea off Ghana.
const ORIGIN_DEGREES: f64 = 1.0;
/// From which latitude on no transit runs.
const POLE_DEGREES: f64 = 89.0;

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    check_table(feed.table(File::Stops), Some("stop_id"), ["stop_lat", "stop_lon"], out);
    check_table(feed.table(File::Shapes), None, ["shape_pt_lat", "shape_pt_lon"], out);
    for zone in &feed.zones().zones {
        check_zone(zone, out);
    }
}

fn check_zone(zone: &Zone, out: &mut Notices) {
    for point in zone.area.corners() {
        let fill = |sample: &mut Sample| {
            sample.put("filename", LOCATIONS).put("entityId", zone.id.as_str());
            sample.put("featureIndex", zone.index);
            sample.put("latFieldValue", point.y).put("lonFieldValue", point.x);
        };
        if point.y.abs() <= ORIGIN_DEGREES && point.x.abs() <= ORIGIN_DEGREES {
            out.add(&NEAR_ORIGIN, fill);
        } else if point.y.abs() >= POLE_DEGREES {
            out.add(&NEAR_POLE, fill);
        }
    }
}

fn check_table(table: &Table, id: Option<&str>, fields: [&'static str; 2], out: &mut Notices) {
    let (lat, lon) = (table.floats(fields[0]), table.floats(fields[1]));
    for row in table.rows() {
        let (Some(lat), Some(lon)) = (lat.get(row), lon.get(row)) else { continue };
        let fill = |sample: &mut Sample| {
            sample.put("filename", table.name()).put("csvRowNumber", table.line(row));
            sample.put("entityId", id.and_then(|id| table.texts(id).get(row)));
            sample.put("latFieldName", fields[0]).put("latFieldValue", lat);
            sample.put("lonFieldName", fields[1]).put("lonFieldValue", lon);
        };
        if lat.abs() <= ORIGIN_DEGREES && lon.abs() <= ORIGIN_DEGREES {
            out.add(&NEAR_ORIGIN, fill);
        }
        if lat.abs() >= POLE_DEGREES {
            out.add(&NEAR_POLE, fill);
        }
    }
}
