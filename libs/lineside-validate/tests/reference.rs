//! Compares the counts of codes in real feeds with those of the reference validator.
//!
//! The feeds are in a folder next to the repository; without it, nothing is compared. `LINESIDE_RULE=a,b` compares only
//! these codes, `LINESIDE_FEED=name` only feeds whose name contains that text.

use std::{collections::BTreeMap, fs, path::Path};

use jiff::civil::Date;
use lineside_formats::gtfs::DatasetLimits;
use lineside_validate::{
    Notices, ValidationContext,
    gtfs::ZipFileSource,
    rules::gtfs::{schedule_notice_kinds, validate_schedule},
};
use serde_json::Value;

/// Intended differences, each with its reason in docs/rules/differences.md: feed, code, our count, the reference's
/// count.
const KNOWN: &[(&str, &str, u64, u64)] = &[];

type Counts = BTreeMap<String, u64>;

/// Returns the counts by code, and a text of all samples, mainly to compare their locations.
fn ours(path: &Path, today: Date, threads: usize) -> Result<(Counts, String), String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let limits = DatasetLimits::default();
    let source = ZipFileSource::new(&bytes, &limits).map_err(|error| error.to_string())?;
    let context = ValidationContext { today, country: None, threads };
    let mut notices = Notices::new(3);
    let (_, errors) =
        validate_schedule(&source, &context, &mut notices).map_err(|error| error.to_string())?;
    if let Some(error) = errors.first() {
        return Err(format!("{error:?}"));
    }
    let samples: Vec<_> = notices.iter().map(|found| (found.kind.code, &found.samples)).collect();
    let counts = notices.iter().map(|found| (found.kind.code.to_owned(), found.total)).collect();
    Ok((counts, format!("{samples:?}")))
}

fn theirs(feed: &Value) -> Option<Counts> {
    let notices = feed["notices"].as_object()?;
    notices.iter().map(|(code, n)| Some((code.clone(), n["total"].as_u64()?))).collect()
}

#[test]
fn real_feeds_have_the_counts_of_the_reference() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let Ok(text) = fs::read_to_string(shared.join("rules/expected/gtfs.json")) else {
        eprintln!("skipped: there are no feeds next to the repository");
        return;
    };
    let expected: Value = serde_json::from_str(&text).unwrap();
    let today: Date = expected["validation_date"].as_str().unwrap().parse().unwrap();
    let (rules, part) = (std::env::var("LINESIDE_RULE").ok(), std::env::var("LINESIDE_FEED").ok());
    let counts_code =
        |code: &str| rules.as_deref().is_none_or(|rules| rules.split(',').any(|rule| rule == code));
    let (mut compared, mut wrong) = (0, Vec::new());
    for (name, feed) in expected["feeds"].as_object().unwrap() {
        let path = shared.join("data/gtfs").join(name);
        let Some(theirs) = theirs(feed) else { continue };
        if !path.is_file() || part.as_deref().is_some_and(|part| !name.contains(part)) {
            continue;
        }
        compared += 1;
        let by_one = ours(&path, today, 1);
        if by_one != ours(&path, today, 2) {
            wrong.push(format!("{name}: two threads have other findings than one"));
        }
        let ours = match by_one {
            Ok((ours, _)) => ours,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let codes = ours.keys().chain(theirs.keys());
        let codes: std::collections::BTreeSet<&String> = codes.collect();
        for code in codes.into_iter().filter(|code| counts_code(code)) {
            let count = |counts: &Counts| counts.get(code).copied().unwrap_or_default();
            let pair = (count(&ours), count(&theirs));
            let is_known = KNOWN.contains(&(name.as_str(), code.as_str(), pair.0, pair.1));
            if pair.0 != pair.1 && !is_known {
                wrong.push(format!("{name}: {code}: Lineside {}, reference {}", pair.0, pair.1));
            }
        }
    }
    let n_kinds = schedule_notice_kinds().count();
    eprintln!("{compared} feeds compared, {n_kinds} kinds, {} differences", wrong.len());
    assert!(compared > 0, "the expected counts belong to feeds that are missing");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
