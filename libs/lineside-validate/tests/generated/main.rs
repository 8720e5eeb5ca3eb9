//! Random schedules without faults get no notices. After a single change, the rule about it
//! reports, and no other rule except those listed with the change.

mod fares;
mod made;
mod mutations;

use std::collections::BTreeMap;

use jiff::civil::date;
use lineside_validate::{Notices, ValidationContext, rules::gtfs::validate_schedule};

use self::{
    made::{Extent, GeneratedFeed, made},
    mutations::MUTATIONS,
};

/// The seeds of the schedules without faults, and of those that each change is applied to.
const QUIET_SEEDS: std::ops::Range<u64> = 0..120;
const LOUD_SEEDS: std::ops::Range<u64> = 200..204;

/// Returns the codes of all notices about a schedule, with the first notice of each.
fn found(feed: &GeneratedFeed) -> Result<BTreeMap<&'static str, String>, String> {
    let context = ValidationContext { today: date(2026, 6, 15), country: None, threads: 1 };
    let mut notices = Notices::new(1);
    let (_, errors) = validate_schedule(&feed.source(), &context, &mut notices)
        .map_err(|error| format!("cannot be read: {error}"))?;
    if let Some(error) = errors.first() {
        return Err(format!("{error:?}"));
    }
    Ok(notices.iter().map(|found| (found.kind.code, format!("{:?}", found.samples))).collect())
}

#[test]
fn valid_generated_schedules_have_no_findings() {
    for seed in QUIET_SEEDS {
        let found = found(&made(seed, Extent::Some));
        assert_eq!(found, Ok(BTreeMap::new()), "seed {seed}");
    }
}

#[test]
fn each_mutation_triggers_its_rule() {
    let mut wrong = Vec::new();
    for &(code, others, change) in MUTATIONS {
        for seed in LOUD_SEEDS {
            let mut feed = made(seed, Extent::All);
            change(&mut feed);
            let found = match found(&feed) {
                Ok(found) => found,
                Err(error) => {
                    wrong.push(format!("{code}, seed {seed}: {error}"));
                    break;
                }
            };
            let unexpected: Vec<_> = found
                .iter()
                .filter(|(other, _)| **other != code && !others.contains(*other))
                .collect();
            if !found.contains_key(code) || !unexpected.is_empty() {
                let outcome = if found.contains_key(code) { "loud" } else { "QUIET" };
                wrong.push(format!("{code}, seed {seed}: {outcome}, and {unexpected:?}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_allowed_side_finding_occurs() {
    for &(code, others, change) in MUTATIONS {
        for other in others {
            let is_reported = LOUD_SEEDS.into_iter().any(|seed| {
                let mut feed = made(seed, Extent::All);
                change(&mut feed);
                found(&feed).is_ok_and(|found| found.contains_key(other))
            });
            assert!(is_reported, "{code} never appears together with {other}");
        }
    }
}
