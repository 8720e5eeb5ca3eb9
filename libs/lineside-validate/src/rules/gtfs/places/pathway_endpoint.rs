//! Pathways to what is too large to be the end of one.

use super::{
    GtfsRule,
    locations::{LINE, Locations, STATION, STOP, STOP_ID},
};
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&TO_PLATFORM, &TO_STATION], files: &[File::Pathways, File::Stops], check };

const FIELDS: &[(&str, &str)] =
    &[LINE, ("pathwayId", "The pathway."), ("fieldName", "Which of its ends it is."), STOP_ID];

static TO_PLATFORM: Kind = Kind {
    code: "pathway_to_platform_with_boarding_areas",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("pathway_to_platform_with_boarding_areas.md"),
};

static TO_STATION: Kind = Kind {
    code: "pathway_to_wrong_location_type",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("pathway_to_wrong_location_type.md"),
};

/// O(pathways + stops): each end is judged once, however many pathways it has.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let pathways = feed.table(File::Pathways);
    if pathways.is_empty() {
        return;
    }
    let stops = Locations::of(feed);
    let ids = pathways.texts("pathway_id");
    let ends = ["from_stop_id", "to_stop_id"].map(|field| {
        let texts = pathways.texts(field);
        let stop_rows = feed.link(File::Pathways, field, File::Stops, "stop_id");
        let judge = |code| match stop_rows.row(code).map(|stop| (stop, stops.type_of(stop))) {
            Some((stop, STOP)) if stops.has_parts(stop) => Some(&TO_PLATFORM),
            Some((_, STATION)) => Some(&TO_STATION),
            _ => None,
        };
        let kinds: Vec<Option<&'static Kind>> = (0..texts.n_codes() as u32).map(judge).collect();
        (field, texts, kinds)
    });
    for row in pathways.rows() {
        for (field, texts, kinds) in &ends {
            let Some(code) = texts.code(row) else { continue };
            let Some(kind) = kinds[code as usize] else { continue };
            out.add(kind, |sample| {
                sample.put("csvRowNumber", pathways.line(row)).put("pathwayId", ids.get(row));
                sample.put("fieldName", *field).put("stopId", texts.text(code));
            });
        }
    }
}
