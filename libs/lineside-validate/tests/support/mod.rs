//! Common code for the tests of rule pages: parsing of cases, and checks of pages.

#![expect(clippy::unwrap_used, reason = "a failed expectation fails the test")]

use std::{collections::BTreeSet, fs, path::Path};

use lineside_validate::{Notices, notice::NoticeKind};
use serde_json::{Map, Value};

/// Parses the cases of a page. A case begins with a `##` heading; `block` gets each fenced block below it with the text
/// after its fence, and `line` each other line.
pub(crate) fn cases<C>(
    page: &str,
    begin: impl Fn(&str) -> C,
    block: impl Fn(&mut C, &str, &str),
    line: impl Fn(&mut C, &str),
) -> Vec<C> {
    let mut cases: Vec<C> = Vec::new();
    let mut open: Option<(&str, String)> = None;
    for text in page.lines() {
        if let Some((info, inside)) = &mut open {
            if text.trim_end() != "```" {
                inside.push_str(text);
                inside.push('\n');
                continue;
            }
            let case = cases.last_mut().expect("a block must follow the heading of a case");
            block(case, info, inside);
            open = None;
        } else if let Some(heading) = text.strip_prefix("## ") {
            cases.push(begin(heading));
        } else if let Some(info) = text.strip_prefix("```") {
            open = Some((info.trim(), String::new()));
        } else if let Some(case) = cases.last_mut() {
            line(case, text);
        }
    }
    assert!(open.is_none(), "a block is not closed");
    cases
}

/// Checks that a page has the required cases: one with notices, and one without, unless it `may_lack` that.
pub(crate) fn has_both(expected: &[&[Value]], may_lack: bool) -> Result<(), String> {
    let loud = expected.iter().filter(|expected| !expected.is_empty()).count();
    match loud == expected.len() || (loud == 0 && !may_lack) {
        true => Err("a page needs a case with findings and one without".to_owned()),
        false => Ok(()),
    }
}

/// Compares the notices of a kind with those that a case expects: the same number, in the same order, with the relevant
/// fields.
pub(crate) fn hold(
    kind: &NoticeKind,
    heading: &str,
    expected: &[Value],
    notices: &Notices,
) -> Result<(), String> {
    let found: Vec<Map<String, Value>> =
        notices.get(kind.code).map(|found| found.samples.clone()).unwrap_or_default();
    let names: BTreeSet<&str> = kind.fields.iter().map(|(name, _)| *name).collect();
    for name in found.iter().flat_map(|sample| sample.keys()) {
        if !names.contains(name.as_str()) {
            return Err(format!("{heading}: the field {name} is not described"));
        }
    }
    let fits = found.len() == expected.len()
        && found.iter().zip(expected).all(|(sample, expected)| {
            let expected = expected.as_object().expect("a notice is an object");
            expected.iter().all(|(name, value)| sample.get(name) == Some(value))
        });
    if fits {
        return Ok(());
    }
    let found = serde_json::to_string_pretty(&found).unwrap();
    Err(format!("{heading}: expected {expected:?}, found {found}"))
}

/// Checks the page of each kind, or only of the kind in `LINESIDE_RULE`.
pub(crate) fn check_all(
    kinds: impl Iterator<Item = &'static NoticeKind>,
    check: impl Fn(&NoticeKind) -> Result<(), String>,
) {
    let only = std::env::var("LINESIDE_RULE").ok();
    let mut wrong = Vec::new();
    for kind in kinds.filter(|kind| only.as_deref().is_none_or(|only| kind.code == only)) {
        if let Err(error) = check(kind) {
            wrong.push(format!("{}: {error}", kind.code));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Checks that each kind has exactly one page in a folder or its subfolders, with a summary and a description of each
/// field.
pub(crate) fn describe_all(kinds: impl Iterator<Item = &'static NoticeKind>, folder: &str) {
    let mut codes = BTreeSet::new();
    for kind in kinds {
        assert!(codes.insert(kind.code.to_owned()), "{} twice", kind.code);
        assert!(kind.page.starts_with(&format!("# `{}`\n", kind.code)), "{}", kind.code);
        let summary = kind.page_summary();
        assert!(summary.ends_with('.') && !summary.starts_with('#'), "{}: {summary:?}", kind.code);
        for (name, meaning) in kind.fields {
            assert!(meaning.ends_with('.'), "{}: {name}", kind.code);
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let here = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let folders = here.filter(|path| path.is_dir()).chain([folder]);
    let pages: BTreeSet<String> = folders
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
        .collect();
    assert_eq!(pages, codes, "each kind has its page, and each page its kind");
}
