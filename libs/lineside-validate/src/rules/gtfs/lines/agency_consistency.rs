//! Agencies of one feed, side by side: their ids, their zone and their language.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, Table, language_tag, simple, zone_id},
    notice::{Kind, Severity},
};

pub(super) static AGENCIES: GtfsRule = GtfsRule {
    kinds: &[&MISSING_ID, &TIMEZONE, &LANGUAGE],
    files: &[File::Agency],
    check: check_agencies,
};

pub(super) static ROUTES: GtfsRule =
    GtfsRule { kinds: &[], files: &[File::Agency, File::Routes], check: check_routes };

pub(super) static FARES: GtfsRule =
    GtfsRule { kinds: &[], files: &[File::Agency, File::FareAttributes], check: check_fares };

static MISSING_ID: Kind = Kind {
    code: "missing_required_agency_id",
    severity: Severity::Error,
    fields: &[
        ("filename", "The file."),
        ("csvRowNumber", "The line of the row."),
        ("agencyName", "The agency's name, if the row is one of an agency."),
    ],
    page: include_str!("missing_required_agency_id.md"),
};

static TIMEZONE: Kind = Kind {
    code: "inconsistent_agency_timezone",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("expected", "The zone of the first agency."),
        ("actual", "The zone of this one."),
    ],
    page: include_str!("inconsistent_agency_timezone.md"),
};

static LANGUAGE: Kind = Kind {
    code: "inconsistent_agency_lang",
    severity: Severity::Warning,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("expected", "The language of the first agency that names one."),
        ("actual", "The language of this one."),
    ],
    page: include_str!("inconsistent_agency_lang.md"),
};

/// O(n).
fn check_agencies(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::Agency);
    check_ids(table, table.len(), out);
    let (zones, languages) = (table.texts("agency_timezone"), table.texts("agency_lang"));
    // One agency agrees with itself. Each distinct text is read once.
    let zone_ids: Vec<String> =
        (0..zones.n_codes() as u32).filter_map(|code| zone_id(zones.text(code))).collect();
    let zone_of = |row| zones.code(row).and_then(|code| zone_ids.get(code as usize));
    let tags: Vec<String> = (0..languages.n_codes() as u32)
        .filter_map(|code| language_tag(languages.text(code)))
        .collect();
    let tag_of = |row| languages.code(row).and_then(|code| tags.get(code as usize));
    let common_zone = zone_of(0);
    let common_tag = table.rows().find_map(tag_of);
    for row in table.rows() {
        if zone_of(row) != common_zone {
            out.add(&TIMEZONE, |sample| {
                sample.put("csvRowNumber", table.line(row));
                sample.put("expected", common_zone.map(String::as_str));
                sample.put("actual", zone_of(row).map(String::as_str));
            });
        }
        if let (Some(common), Some(tag)) = (common_tag, tag_of(row))
            && common != tag
        {
            out.add(&LANGUAGE, |sample| {
                sample.put("csvRowNumber", table.line(row));
                sample.put("expected", language_of(common)).put("actual", language_of(tag));
            });
        }
    }
}

/// The language of a tag, without script, region and the rest.
fn language_of(tag: &str) -> &str {
    match tag.split('-').next() {
        Some("x" | "und") | None => "",
        Some(language) => language,
    }
}

/// O(n).
fn check_routes(feed: &Feed, _: &Context, out: &mut Notices) {
    check_ids(feed.table(File::Routes), feed.table(File::Agency).len(), out);
}

/// O(n).
fn check_fares(feed: &Feed, _: &Context, out: &mut Notices) {
    check_ids(feed.table(File::FareAttributes), feed.table(File::Agency).len(), out);
}

/// Where there are several agencies, an id tells which one is meant; where there is one, an id keeps
/// its meaning when another comes.
fn check_ids(table: &Table, n_agencies: u32, out: &mut Notices) {
    let ids = table.texts("agency_id");
    for row in table.rows().filter(|&row| ids.code(row).is_none()) {
        match n_agencies {
            0 => {}
            1 => {
                simple::say_field(&simple::MISSING_RECOMMENDED_FIELD, table, row, "agency_id", out)
            }
            _ => out.add(&MISSING_ID, |sample| {
                sample.put("filename", table.name()).put("csvRowNumber", table.line(row));
                if table.spec().find_field("agency_name").is_some() {
                    sample.put("agencyName", table.texts("agency_name").get(row));
                }
            }),
        }
    }
}
