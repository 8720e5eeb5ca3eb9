//! Checks of pathways that end at a location that cannot be an endpoint.

use super::{
    GtfsRule,
    locations::{LINE, LocationHierarchy, STATION, STOP, STOP_ID},
};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&TO_PLATFORM, &TO_STATION],
    files: &[GtfsFile::Pathways, GtfsFile::Stops],
    check: check_pathway_endpoints,
};

const FIELDS: &[(&str, &str)] =
    &[LINE, ("pathwayId", "The pathway."), ("fieldName", "The field of the location."), STOP_ID];

static TO_PLATFORM: NoticeKind = NoticeKind {
    code: "pathway_to_platform_with_boarding_areas",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("pathway_to_platform_with_boarding_areas.md"),
};

static TO_STATION: NoticeKind = NoticeKind {
    code: "pathway_to_wrong_location_type",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("pathway_to_wrong_location_type.md"),
};

/// O(pathways + stops): each end is checked once, regardless of the number of its pathways.
fn check_pathway_endpoints(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let pathways = feed.table(GtfsFile::Pathways);
    if pathways.is_empty() {
        return;
    }
    let stops = LocationHierarchy::location_hierarchy_of_feed(feed);
    let ids = pathways.text_column("pathway_id");
    let ends = ["from_stop_id", "to_stop_id"].map(|field| {
        let texts = pathways.text_column(field);
        let stop_rows =
            feed.rows_referenced_by_field(GtfsFile::Pathways, field, GtfsFile::Stops, "stop_id");
        let judge = |code| match stop_rows
            .row_referenced_by_code(code)
            .map(|stop| (stop, stops.location_type(stop)))
        {
            Some((stop, STOP)) if stops.has_children(stop) => Some(&TO_PLATFORM),
            Some((_, STATION)) => Some(&TO_STATION),
            _ => None,
        };
        let kinds: Vec<Option<&'static NoticeKind>> =
            (0..texts.text_code_count() as u32).map(judge).collect();
        (field, texts, kinds)
    });
    for row in pathways.row_numbers() {
        for (field, texts, kinds) in &ends {
            let Some(code) = texts.text_code_of_row(row) else { continue };
            let Some(kind) = kinds[code as usize] else { continue };
            out.count_notice_with_sample(kind, |sample| {
                sample
                    .set_field("csvRowNumber", pathways.line_number(row))
                    .set_field("pathwayId", ids.get(row));
                sample.set_field("fieldName", *field).set_field("stopId", texts.text_of_code(code));
            });
        }
    }
}
