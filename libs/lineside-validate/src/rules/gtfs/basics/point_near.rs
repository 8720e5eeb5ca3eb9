//! Check of coordinates that are surely wrong: near 0, 0 and at the poles.

use lineside_formats::gtfs::fields::LOCATIONS;

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{FlexZone, GtfsFeed, GtfsFile, GtfsTable},
    notice::{NoticeKind, NoticeSample, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&NEAR_ORIGIN, &NEAR_POLE],
    files: &[],
    check: check_implausible_coordinates,
};

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

static NEAR_ORIGIN: NoticeKind = NoticeKind {
    code: "point_near_origin",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("point_near_origin.md"),
};

static NEAR_POLE: NoticeKind = NoticeKind {
    code: "point_near_pole",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("point_near_pole.md"),
};

/// The distance from 0, 0 in degrees within which no transit runs: the sea off Ghana.
const ORIGIN_DEGREES: f64 = 1.0;
/// The latitude from which no transit runs.
const POLE_DEGREES: f64 = 89.0;

/// O(n).
fn check_implausible_coordinates(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    check_table_coordinates(
        feed.table(GtfsFile::Stops),
        Some("stop_id"),
        ["stop_lat", "stop_lon"],
        out,
    );
    check_table_coordinates(
        feed.table(GtfsFile::Shapes),
        None,
        ["shape_pt_lat", "shape_pt_lon"],
        out,
    );
    for zone in &feed.geojson_flex_zones().zones {
        check_zone_coordinates(zone, out);
    }
}

fn check_zone_coordinates(zone: &FlexZone, out: &mut Notices) {
    for point in zone.area.ring_corners() {
        let fill = |sample: &mut NoticeSample| {
            sample.set_field("filename", LOCATIONS).set_field("entityId", zone.id.as_str());
            sample.set_field("featureIndex", zone.index);
            sample.set_field("latFieldValue", point.y).set_field("lonFieldValue", point.x);
        };
        if point.y.abs() <= ORIGIN_DEGREES && point.x.abs() <= ORIGIN_DEGREES {
            out.count_notice_with_sample(&NEAR_ORIGIN, fill);
        } else if point.y.abs() >= POLE_DEGREES {
            out.count_notice_with_sample(&NEAR_POLE, fill);
        }
    }
}

fn check_table_coordinates(
    table: &GtfsTable,
    id: Option<&str>,
    fields: [&'static str; 2],
    out: &mut Notices,
) {
    let (lat, lon) = (table.float_column(fields[0]), table.float_column(fields[1]));
    for row in table.row_numbers() {
        let (Some(lat), Some(lon)) = (lat.get(row), lon.get(row)) else { continue };
        let fill = |sample: &mut NoticeSample| {
            sample
                .set_field("filename", table.file_name())
                .set_field("csvRowNumber", table.line_number(row));
            sample.set_field("entityId", id.and_then(|id| table.text_column(id).get(row)));
            sample.set_field("latFieldName", fields[0]).set_field("latFieldValue", lat);
            sample.set_field("lonFieldName", fields[1]).set_field("lonFieldValue", lon);
        };
        if lat.abs() <= ORIGIN_DEGREES && lon.abs() <= ORIGIN_DEGREES {
            out.count_notice_with_sample(&NEAR_ORIGIN, fill);
        }
        if lat.abs() >= POLE_DEGREES {
            out.count_notice_with_sample(&NEAR_POLE, fill);
        }
    }
}
