//! Real publications and examples of profiles, and what is said about them: counts that were looked at by eye.
//!
//! The files lie beside the repository or not at all. `LINESIDE_SHOW=code` shows what is said of that code.

use std::{collections::BTreeMap, fs, path::Path};

use jiff::civil::date;
use lineside_formats::netex::{Limits, Source};
use lineside_validate::{Context, Notices, rules::netex::validate};

const CONTEXT: Context = Context { today: date(2026, 1, 1), country: None, threads: 1 };

/// Folder or file, code, how often.
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

fn files(path: &Path, found: &mut Vec<std::path::PathBuf>) {
    let entries = fs::read_dir(path).into_iter().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn real_publications_get_the_counts_that_were_looked_at() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/netex");
    if !data.is_dir() {
        eprintln!("no publications beside the repository: nothing was compared");
        return;
    }
    let shown = std::env::var("LINESIDE_SHOW").ok();
    let (mut paths, mut counts, mut n_read) = (Vec::new(), BTreeMap::new(), 0);
    files(&data, &mut paths);
    for path in paths {
        let body = fs::read(&path).expect("a file");
        let limits = Limits::default();
        let Ok(mut source) = Source::new(&body, &limits.files) else { continue };
        let mut notices = Notices::new(3);
        let Ok(errors) = validate(&mut source, &limits, &CONTEXT, &mut notices) else { continue };
        n_read += 1;
        let name = path.strip_prefix(&data).expect("it lies there").to_string_lossy().into_owned();
        assert!(errors.is_empty(), "{name}: {errors:?}");
        let set = name.split('/').next().unwrap_or_default().to_owned();
        for all in notices.iter() {
            *counts.entry((set.clone(), all.kind.code)).or_insert(0) += all.total;
            if shown.as_deref().is_some_and(|shown| shown == all.kind.code || shown == "all") {
                let samples = serde_json::to_string(&all.samples).expect("JSON");
                eprintln!("{name} {} {} {samples}", all.kind.code, all.total);
            }
        }
    }
    assert!(n_read > 0, "none of them can be read");
    let found: Vec<_> =
        counts.iter().map(|((set, code), total)| (set.as_str(), *code, *total)).collect();
    assert_eq!(found, EXPECTED);
}
