//! The list of a format's kinds in the documentation.

use std::{fs, path::Path};

use lineside_validate::notice::NoticeKind;

/// Compares the documentation of a format with its kinds, or rewrites it if `LINESIDE_BLESS` is
/// set.
pub(crate) fn hold(
    format: &str,
    what: &str,
    words: &str,
    kinds: impl Iterator<Item = &'static NoticeKind>,
) {
    let text = list(format, what, words, kinds);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/rules/{format}.md"));
    if std::env::var_os("LINESIDE_BLESS").is_some() {
        fs::write(&path, &text).expect("the page is writable");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "docs/rules/{format}.md is outdated; run `cargo xtask bless`");
}

fn list(
    format: &str,
    what: &str,
    words: &str,
    kinds: impl Iterator<Item = &'static NoticeKind>,
) -> String {
    let mut list = format!(
        "# Rules for {what}\n\n{words}\n\
         The page of a code says what it means and how to fix it, and its examples are tests.\n\n\
         | code | severity | what is wrong |\n|---|---|---|\n"
    );
    let mut kinds: Vec<&NoticeKind> = kinds.collect();
    kinds.sort_by_key(|kind| kind.code);
    for kind in kinds {
        let summary = kind.page_summary().replace('\n', " ").replace('|', "\\|");
        list.push_str(&format!(
            "| [`{0}`](../../libs/lineside-validate/src/rules/{format}/pages/{0}.md) | {1} | {summary} |\n",
            kind.code,
            kind.severity.severity_report_name().to_lowercase(),
        ));
    }
    list
}
