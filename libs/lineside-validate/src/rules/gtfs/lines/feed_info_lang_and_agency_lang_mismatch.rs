//! A feed in one language whose agency says another.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, language_tag},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::Agency, File::FeedInfo], check };

static KIND: Kind = Kind {
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

/// The tag of a feed in several languages, to which none is contrary.
const MANY: &str = "mul";

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let languages = feed.table(File::FeedInfo).texts("feed_lang");
    let Some(feed_tag) = languages.get(0).and_then(language_tag) else { return };
    if feed_tag == MANY {
        return;
    }
    let table = feed.table(File::Agency);
    let languages = table.texts("agency_lang");
    let tags: Vec<Option<String>> =
        (0..languages.n_codes() as u32).map(|code| language_tag(languages.text(code))).collect();
    for row in table.rows() {
        let Some(tag) = languages.code(row).and_then(|code| tags[code as usize].as_deref()) else {
            continue;
        };
        if tag != feed_tag {
            out.add(&KIND, |sample| {
                sample.put("csvRowNumber", table.line(row));
                sample.put("agencyId", table.texts("agency_id").get(row));
                sample.put("agencyName", table.texts("agency_name").get(row));
                sample.put("agencyLang", tag).put("feedLang", feed_tag.as_str());
            });
        }
    }
}
