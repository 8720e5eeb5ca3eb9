//! Checks that the agencies of a feed have ids, and agree in their time zone and language.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, GtfsTable, normalize_language_tag, normalize_timezone_id, simple},
    notice::{NoticeKind, Severity},
};

pub(super) static AGENCIES: GtfsRule = GtfsRule {
    kinds: &[&MISSING_ID, &TIMEZONE, &LANGUAGE],
    files: &[GtfsFile::Agency],
    check: check_agency_ids_zones_languages,
};

pub(super) static ROUTES: GtfsRule = GtfsRule {
    kinds: &[],
    files: &[GtfsFile::Agency, GtfsFile::Routes],
    check: check_route_agency_ids,
};

pub(super) static FARES: GtfsRule = GtfsRule {
    kinds: &[],
    files: &[GtfsFile::Agency, GtfsFile::FareAttributes],
    check: check_fare_agency_ids,
};

static MISSING_ID: NoticeKind = NoticeKind {
    code: "missing_required_agency_id",
    severity: Severity::Error,
    fields: &[
        ("filename", "The file."),
        ("csvRowNumber", "The line of the row."),
        ("agencyName", "The name of the agency, if the row is in agency.txt."),
    ],
    page: include_str!("missing_required_agency_id.md"),
};

static TIMEZONE: NoticeKind = NoticeKind {
    code: "inconsistent_agency_timezone",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("expected", "The time zone of the first agency."),
        ("actual", "The time zone of this agency."),
    ],
    page: include_str!("inconsistent_agency_timezone.md"),
};

static LANGUAGE: NoticeKind = NoticeKind {
    code: "inconsistent_agency_lang",
    severity: Severity::Warning,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("expected", "The first language of an agency."),
        ("actual", "The language of this agency."),
    ],
    page: include_str!("inconsistent_agency_lang.md"),
};

/// O(n).
fn check_agency_ids_zones_languages(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::Agency);
    report_missing_agency_ids(table, table.len(), out);
    let (zones, languages) =
        (table.text_column("agency_timezone"), table.text_column("agency_lang"));
    // A single agency is always consistent. Each distinct text is parsed once.
    let zone_ids: Vec<String> = (0..zones.text_code_count() as u32)
        .filter_map(|code| normalize_timezone_id(zones.text_of_code(code)))
        .collect();
    let zone_of = |row| zones.text_code_of_row(row).and_then(|code| zone_ids.get(code as usize));
    let tags: Vec<String> = (0..languages.text_code_count() as u32)
        .filter_map(|code| normalize_language_tag(languages.text_of_code(code)))
        .collect();
    let tag_of = |row| languages.text_code_of_row(row).and_then(|code| tags.get(code as usize));
    let common_zone = zone_of(0);
    let common_tag = table.row_numbers().find_map(tag_of);
    for row in table.row_numbers() {
        if zone_of(row) != common_zone {
            out.count_notice_with_sample(&TIMEZONE, |sample| {
                sample.set_field("csvRowNumber", table.line_number(row));
                sample.set_field("expected", common_zone.map(String::as_str));
                sample.set_field("actual", zone_of(row).map(String::as_str));
            });
        }
        if let (Some(common), Some(tag)) = (common_tag, tag_of(row))
            && common != tag
        {
            out.count_notice_with_sample(&LANGUAGE, |sample| {
                sample.set_field("csvRowNumber", table.line_number(row));
                sample
                    .set_field("expected", primary_language(common))
                    .set_field("actual", primary_language(tag));
            });
        }
    }
}

/// Returns the language of a tag, without script, region and variants.
fn primary_language(tag: &str) -> &str {
    match tag.split('-').next() {
        Some("x" | "und") | None => "",
        Some(language) => language,
    }
}

/// O(n).
fn check_route_agency_ids(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    report_missing_agency_ids(
        feed.table(GtfsFile::Routes),
        feed.table(GtfsFile::Agency).len(),
        out,
    );
}

/// O(n).
fn check_fare_agency_ids(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    report_missing_agency_ids(
        feed.table(GtfsFile::FareAttributes),
        feed.table(GtfsFile::Agency).len(),
        out,
    );
}

/// Checks for agency ids. With several agencies they are required; with one they are recommended, so that references
/// stay valid when another is added.
fn report_missing_agency_ids(table: &GtfsTable, n_agencies: u32, out: &mut Notices) {
    let ids = table.text_column("agency_id");
    for row in table.row_numbers().filter(|&row| ids.text_code_of_row(row).is_none()) {
        match n_agencies {
            0 => {}
            1 => simple::report_field_notice(
                &simple::MISSING_RECOMMENDED_FIELD,
                table,
                row,
                "agency_id",
                out,
            ),
            _ => out.count_notice_with_sample(&MISSING_ID, |sample| {
                sample
                    .set_field("filename", table.file_name())
                    .set_field("csvRowNumber", table.line_number(row));
                if table.file_spec().find_field_spec("agency_name").is_some() {
                    sample.set_field("agencyName", table.text_column("agency_name").get(row));
                }
            }),
        }
    }
}
