//! Real messages and examples of profiles, and what is said about them: counts that were looked at by eye.
//!
//! The files lie beside the repository or not at all. `LINESIDE_SHOW=code` shows what is said of that code.

use std::{collections::BTreeMap, fs, path::Path};

use jiff::tz::TimeZone;
use lineside_formats::siri::{Limits, decode};
use lineside_validate::{Notices, rules::siri::validate};

/// Folder or file, code, how often.
const EXPECTED: &[(&str, &str, u64)] = &[
    ("ara-fr", "no_delivery", 25),
    ("ara-fr", "refused_by_producer", 1),
    ("cen-examples", "aimed_times_run_backwards", 3),
    ("cen-examples", "expected_times_run_backwards", 3),
    ("cen-examples", "no_delivery", 62),
    ("cen-examples", "time_in_future", 3),
    ("entur-profile", "aimed_times_run_backwards", 7),
    ("entur-profile", "call_order_not_rising", 1),
    ("entur-profile", "expected_times_run_backwards", 8),
    ("entur-profile", "no_delivery", 3),
    ("entur-profile", "situation_without_text", 9),
    ("entur-profile", "time_in_future", 6),
    ("et-banenor-raw.xml", "departure_before_arrival", 2),
    ("et-banenor-raw.xml", "expected_times_run_backwards", 2),
    ("israel-sm", "delivery_failed", 4),
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
fn real_messages_get_the_counts_that_were_looked_at() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/siri");
    if !data.is_dir() {
        eprintln!("no messages beside the repository: nothing was compared");
        return;
    }
    let shown = std::env::var("LINESIDE_SHOW").ok();
    let (mut paths, mut counts, mut n_read) = (Vec::new(), BTreeMap::new(), 0);
    files(&data, &mut paths);
    for path in paths {
        let body = fs::read(&path).expect("a file");
        let Ok((message, _)) = decode(&body, &TimeZone::UTC, &Limits::default()) else { continue };
        n_read += 1;
        let name = path.strip_prefix(&data).expect("it lies there").to_string_lossy().into_owned();
        let set = name.split('/').next().unwrap_or_default().to_owned();
        let mut notices = Notices::new(2);
        let errors = validate(&message, &mut notices);
        assert!(errors.is_empty(), "{name}: {errors:?}");
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
