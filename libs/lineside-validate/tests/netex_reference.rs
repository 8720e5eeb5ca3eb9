//! Compares the notices about real publications and examples of profiles with counts that were checked by hand.
//!
//! The files are in a folder next to the repository; without it, nothing is compared. `LINESIDE_SHOW=code` prints the
//! notices with that code.

mod looked_at;

use std::fs;

use jiff::civil::date;
use lineside_formats::netex::{PublicationLimits, PublicationSource};
use lineside_validate::{Notices, ValidationContext, rules::netex::validate_publication};

use looked_at::Tally;

const CONTEXT: ValidationContext =
    ValidationContext { today: date(2026, 1, 1), country: None, threads: 1 };

/// Folder or file, code, count.
const EXPECTED: &[(&str, &str, u64)] = &[
    ("avinor-nordic.zip", "publication_is_over", 1),
    ("bods-fares", "missing_recommended_element", 4),
    ("bods-fares", "publication_is_over", 3),
    ("cen-examples", "duplicate_id", 1),
    ("cen-examples", "missing_recommended_element", 101),
    ("cen-examples", "publication_is_over", 1),
    ("cen-examples", "stop_point_without_assignment", 12),
    ("entur-flt.zip", "publication_is_over", 1),
    ("entur-gjb.zip", "publication_is_over", 1),
    ("france-transit_model", "missing_recommended_element", 6),
    ("france-transit_model", "publication_is_over", 1),
    ("nigiri", "duplicate_id", 3),
    ("nigiri", "missing_recommended_element", 3),
    ("nigiri", "publication_is_over", 3),
    ("nigiri", "unresolved_reference", 13),
    ("rb_bra-flexible-lines-valid-passing-times.zip", "publication_is_over", 1),
    ("rb_flb-aggregated-netex.zip", "publication_is_over", 1),
    ("swiss", "duplicate_id", 2),
    ("swiss", "missing_recommended_element", 15),
    ("swiss", "stop_point_without_assignment", 2),
    ("test-colour-valid-coding.zip", "publication_is_over", 1),
    ("test-multiple-references-to-same-dsj.zip", "publication_is_over", 1),
    ("transport-site-fr.zip", "publication_is_over", 1),
];

#[test]
fn real_publications_have_the_reviewed_counts() {
    let Some(data) = looked_at::data("netex") else { return };
    let mut tally = Tally::default();
    for (name, path) in looked_at::files(&data) {
        let body = fs::read(&path).expect("a file");
        let limits = PublicationLimits::default();
        let Ok(mut source) = PublicationSource::new(&body, &limits.files) else { continue };
        let mut notices = Notices::new(3);
        let Ok(errors) = validate_publication(&mut source, &limits, &CONTEXT, &mut notices) else {
            continue;
        };
        assert!(errors.is_empty(), "{name}: {errors:?}");
        let set = name.split('/').next().unwrap_or_default();
        tally.add(set, &name, &notices);
    }
    tally.hold(EXPECTED);
}
