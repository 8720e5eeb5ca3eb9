//! Check of agencies whose language differs from the feed's.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, normalize_language_tag},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Agency, GtfsFile::FeedInfo],
    check: check_feed_language,
};

static KIND: NoticeKind = NoticeKind {
    code: "feed_info_lang_and_agency_lang_mismatch",
    severity: Severity::Warning,
    fields: &[
        ("csvRowNumber", "The line of the row in agency.txt."),
        ("agencyId", "The agency's id."),
        ("agencyName", "Its name."),
        ("agencyLang", "Its language."),
        ("feedLang", "The feed's language."),
    ],
    page: include_str!("feed_info_lang_and_agency_lang_mismatch.md"),
};

/// The tag of a multilingual feed, which no language contradicts.
const MANY: &str = "mul";

/// O(n).
fn check_feed_language(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let languages = feed.table(GtfsFile::FeedInfo).text_column("feed_lang");
    let Some(feed_tag) = languages.get(0).and_then(normalize_language_tag) else { return };
    if feed_tag == MANY {
        return;
    }
    let table = feed.table(GtfsFile::Agency);
    let languages = table.text_column("agency_lang");
    let tags: Vec<Option<String>> = (0..languages.text_code_count() as u32)
        .map(|code| normalize_language_tag(languages.text_of_code(code)))
        .collect();
    for row in table.row_numbers() {
        let Some(tag) =
            languages.text_code_of_row(row).and_then(|code| tags[code as usize].as_deref())
        else {
            continue;
        };
        if tag != feed_tag {
            out.count_notice_with_sample(&KIND, |sample| {
                sample.set_field("csvRowNumber", table.line_number(row));
                sample.set_field("agencyId", table.text_column("agency_id").get(row));
                sample.set_field("agencyName", table.text_column("agency_name").get(row));
                sample.set_field("agencyLang", tag).set_field("feedLang", feed_tag.as_str());
            });
        }
    }
}
