//! Runs the examples on the page of each NeTEx kind as tests.
//!
//! A case is a `##` heading. Each `xml` block is the content of a file, the first of which is `a.xml`. A `json` block
//! lists the expected notices of the page's code, with the relevant fields; without such a block, none are expected.

mod list;
mod support;

use jiff::civil::date;
use lineside_formats::{gtfs::TextFiles, netex::PublicationLimits};
use lineside_validate::{
    Notices, ValidationContext,
    notice::NoticeKind,
    rules::netex::{publication_notice_kinds, validate_publication},
};
use serde_json::Value;

const CONTEXT: ValidationContext =
    ValidationContext { today: date(2026, 6, 15), country: None, threads: 1 };

#[derive(Default)]
struct Case {
    heading: String,
    files: Vec<String>,
    expected: Vec<Value>,
}

/// Parses the cases of a page.
fn cases(page: &str) -> Vec<Case> {
    let begin = |heading: &str| Case { heading: heading.to_owned(), ..Case::default() };
    let block = |case: &mut Case, info: &str, text: &str| match info {
        "xml" => case.files.push(text.to_owned()),
        "json" => case.expected = serde_json::from_str(text).expect("the JSON is a list"),
        _ => panic!("unknown block {info:?}"),
    };
    support::cases(page, begin, block, |_, _| {})
}

fn file(content: &str) -> String {
    format!(
        "<PublicationDelivery xmlns=\"http://www.netex.org.uk/netex\" version=\"1.1\">\
         <dataObjects>{content}</dataObjects></PublicationDelivery>"
    )
}

fn found(files: &[String]) -> Notices {
    let mut source = TextFiles::new();
    for (content, name) in files.iter().zip(["a.xml", "b.xml", "c.xml"]) {
        source = source.with_file(name, file(content));
    }
    let mut notices = Notices::new(100);
    let errors =
        validate_publication(&mut source, &PublicationLimits::default(), &CONTEXT, &mut notices);
    let errors = errors.expect("a publication");
    assert!(errors.is_empty(), "{errors:?}");
    notices
}

fn check(kind: &NoticeKind) -> Result<(), String> {
    let cases = cases(kind.page);
    let expected: Vec<&[Value]> = cases.iter().map(|case| case.expected.as_slice()).collect();
    support::has_both(&expected, false)?;
    cases.iter().try_for_each(|case| {
        support::hold(kind, &case.heading, &case.expected, &found(&case.files))
    })
}

#[test]
fn every_page_matches_its_rule() {
    support::check_all(publication_notice_kinds(), check);
}

#[test]
fn each_kind_has_one_page_and_each_field_is_described() {
    support::describe_all(publication_notice_kinds(), "src/rules/netex");
}

#[test]
fn validating_a_damaged_publication_does_not_panic() {
    let mut random = fastrand::Rng::with_seed(7);
    let pages: Vec<Case> = publication_notice_kinds().flat_map(|kind| cases(kind.page)).collect();
    let mut n_read = 0;
    for _ in 0..3_000 {
        let Some(content) = pages[random.usize(..pages.len())].files.first() else { continue };
        let mut body = file(content).into_bytes();
        for _ in 0..random.usize(1..3) {
            let at = random.usize(..body.len());
            body[at] = b"0123456789-+.TZ e\"<>/"[random.usize(..21)];
        }
        let mut source = TextFiles::new().with_file("a.xml", body);
        let result = validate_publication(
            &mut source,
            &PublicationLimits::default(),
            &CONTEXT,
            &mut Notices::new(10),
        );
        let Ok(errors) = result else { continue };
        n_read += 1;
        assert!(errors.is_empty(), "{errors:?}");
    }
    assert!(n_read > 300, "{n_read}");
}

#[test]
fn the_documentation_lists_each_kind() {
    list::hold(
        "netex",
        "NeTEx publications",
        "Rules for every profile: elements that all profiles require, and values that are impossible. Data that cannot be read are reported under the codes\n\
         of the decoder, and not as missing.",
        publication_notice_kinds(),
    );
}
