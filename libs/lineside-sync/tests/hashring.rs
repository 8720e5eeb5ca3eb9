//! Tests of the specified placement, and of the keys that may move.
#![cfg(not(any(loom, shuttle)))]

use std::collections::BTreeMap;

use lineside_sync::hashring::{HashRing, HashRingMember, POINTS_MAX, POINTS_PER_WEIGHT, SEED};
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The keys looked up before and after a change.
const KEYS: usize = if cfg!(miri) { 8 } else { 1_000 };
/// The bound on the members of a random ring, exclusive.
const MEMBERS_END: usize = if cfg!(miri) { 4 } else { 8 };

fn ring(members: &[(&str, u16)]) -> HashRing {
    let members = members.iter().map(|(name, weight)| HashRingMember::new(name, *weight));
    HashRing::new(members).expect("names differ")
}

fn keys(n: usize) -> impl Iterator<Item = String> {
    (0..n).map(|n| format!("network-{n}"))
}

/// The wire contract: a change here splits the ownership of a running cluster.
#[test]
fn owners_of_keys_match_the_wire_contract() {
    let ring = ring(&[("node-a", 1), ("node-b", 1), ("node-c", 2), ("node-d", 1)]);
    let long = "lineside ".repeat(40);
    let expected = [
        ("", "node-a node-c node-d node-b"),
        ("a", "node-c node-b node-d node-a"),
        ("city", "node-d node-c node-a node-b"),
        ("ruter", "node-c node-a node-b node-d"),
        ("entur-national", "node-c node-b node-a node-d"),
        ("北京地铁", "node-a node-c node-d node-b"),
        ("network-0", "node-c node-b node-d node-a"),
        ("network-1", "node-b node-a node-c node-d"),
        ("network-2", "node-c node-a node-b node-d"),
        (long.as_str(), "node-c node-d node-a node-b"),
    ];
    for (key, owners) in expected {
        let found: Vec<_> = ring.owners_in_order(key.as_bytes()).collect();
        assert_eq!(found.join(" "), owners, "{key:?}");
        assert_eq!(ring.find_owner(key.as_bytes()), Some(found[0]), "{key:?}");
    }
}

/// Finds the owner by the rule of the module's documentation, step by step.
fn owner_by_the_rule(members: &BTreeMap<String, u16>, key: &[u8]) -> Option<String> {
    let key = xxh3_64_with_seed(key, SEED);
    let mut best: Option<(u64, &String)> = None;
    for (name, weight) in members {
        for point in 0..u32::from(*weight) * POINTS_PER_WEIGHT {
            let bytes = [name.as_bytes(), &point.to_le_bytes()].concat();
            let distance = xxh3_64_with_seed(&bytes, SEED).wrapping_sub(key);
            if best.is_none_or(|(nearest, _)| distance < nearest) {
                best = Some((distance, name));
            }
        }
    }
    best.map(|(_, name)| name.clone())
}

fn build(members: &BTreeMap<String, u16>) -> HashRing {
    let members = members.iter().map(|(name, weight)| HashRingMember::new(name, *weight));
    HashRing::new(members).expect("names differ")
}

fn members() -> impl Strategy<Value = BTreeMap<String, u16>> {
    prop::collection::btree_map("[a-z]{1,6}", 0u16..4, 1..MEMBERS_END)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]

    #[test]
    fn the_owner_follows_the_documented_rule(members in members(), keys in prop::collection::vec(".{0,12}", 1..8)) {
        let ring = build(&members);
        for key in keys {
            let expected = owner_by_the_rule(&members, key.as_bytes());
            prop_assert_eq!(ring.find_owner(key.as_bytes()), expected.as_deref());
            prop_assert_eq!(ring.owners_in_order(key.as_bytes()).next(), expected.as_deref());
        }
    }

    #[test]
    fn a_new_member_takes_keys_only_for_itself(members in members(), name in "[A-Z]{1,4}", weight in 1u16..4) {
        let before = build(&members);
        let mut more = members;
        more.insert(name.clone(), weight);
        let after = build(&more);
        for key in keys(KEYS) {
            let (was, is) = (before.find_owner(key.as_bytes()), after.find_owner(key.as_bytes()));
            prop_assert!(was == is || is == Some(name.as_str()), "{} moved from {:?} to {:?}", key, was, is);
        }
    }

    #[test]
    fn keys_of_a_removed_member_move_to_the_next_owner(members in members(), pick in any::<prop::sample::Index>()) {
        let before = build(&members);
        let mut fewer = members;
        let gone = fewer.keys().nth(pick.index(fewer.len())).unwrap().clone();
        fewer.remove(&gone);
        let after = build(&fewer);
        for key in keys(KEYS) {
            let expected = before.owners_in_order(key.as_bytes()).find(|owner| *owner != gone);
            prop_assert_eq!(after.find_owner(key.as_bytes()), expected);
        }
    }

    #[test]
    fn a_change_of_weight_moves_keys_to_or_from_that_member(members in members(), pick in any::<prop::sample::Index>(), weight in 0u16..5) {
        let before = build(&members);
        let mut changed = members;
        let name = changed.keys().nth(pick.index(changed.len())).unwrap().clone();
        let was = changed.insert(name.clone(), weight).unwrap();
        let after = build(&changed);
        for key in keys(KEYS) {
            let (old, new) = (before.find_owner(key.as_bytes()), after.find_owner(key.as_bytes()));
            let gains = if weight >= was { new } else { old };
            prop_assert!(old == new || gains == Some(name.as_str()));
        }
    }

    #[test]
    fn owners_are_all_members_with_weight_once_each(members in members(), key in ".{0,12}") {
        let ring = build(&members);
        let mut owners: Vec<_> = ring.owners_in_order(key.as_bytes()).collect();
        owners.sort_unstable();
        let with_weight = members.iter().filter(|(_, weight)| **weight > 0);
        let expected: Vec<_> = with_weight.map(|(name, _)| name.as_str()).collect();
        prop_assert_eq!(owners, expected);
    }
}

#[test]
fn the_order_of_the_members_does_not_matter() {
    let one = ring(&[("a", 1), ("b", 2), ("c", 1)]);
    let other = ring(&[("c", 1), ("a", 1), ("b", 2)]);
    assert!(
        keys(KEYS).all(|key| one.find_owner(key.as_bytes()) == other.find_owner(key.as_bytes()))
    );
}

#[test]
fn a_new_member_takes_about_its_share_of_keys() {
    let names: Vec<_> = (0..10).map(|n| format!("node-{n}")).collect();
    let members = |n: usize| names.iter().take(n).map(|name| HashRingMember::new(name, 1));
    let (nine, ten) = (HashRing::new(members(9)).unwrap(), HashRing::new(members(10)).unwrap());
    let n_keys = if cfg!(miri) { 10 } else { 20_000 };
    let moved = keys(n_keys)
        .filter(|key| nine.find_owner(key.as_bytes()) != ten.find_owner(key.as_bytes()));
    let moved_share = moved.count() as f64 / n_keys as f64;
    if cfg!(miri) {
        // Too few keys to count.
        return;
    }
    assert!(
        (moved_share - ten.owned_key_share("node-9")).abs() < 0.01,
        "a share of {moved_share} moved instead of {}",
        ten.owned_key_share("node-9")
    );
    assert!(
        (0.07..0.13).contains(&moved_share),
        "{moved_share} of all keys moved; the even share is 0.1"
    );
}

#[test]
fn shares_are_proportional_to_the_weights() {
    let unit = if cfg!(miri) { 1 } else { 4 };
    let ring = ring(&[("one", unit), ("two", 2 * unit), ("none", 0), ("four", 4 * unit)]);
    for (name, fair) in [("one", 1.0 / 7.0), ("two", 2.0 / 7.0), ("none", 0.0), ("four", 4.0 / 7.0)]
    {
        let share = ring.owned_key_share(name);
        // With few points the shares are less even.
        let tolerance = fair * if cfg!(miri) { 0.4 } else { 0.15 };
        assert!((share - fair).abs() <= tolerance, "{name} owns {share} instead of {fair}");
    }
    let whole: f64 = ring.members().iter().map(|member| ring.owned_key_share(&member.name)).sum();
    assert!((whole - 1.0).abs() < 1e-9, "{whole}");
    assert_eq!(ring.owned_key_share("stranger"), 0.0);
}

#[test]
fn members_without_weight_own_nothing() {
    assert_eq!(ring(&[]).find_owner(b"key"), None);
    assert_eq!(ring(&[("a", 0)]).find_owner(b"key"), None);
    assert_eq!(ring(&[("a", 0)]).owners_in_order(b"key").count(), 0);
}

#[test]
fn a_single_member_owns_everything() {
    let ring = ring(&[("a", 1)]);
    assert!(keys(100).all(|key| ring.find_owner(key.as_bytes()) == Some("a")));
    assert!((ring.owned_key_share("a") - 1.0).abs() < 1e-9);
}

#[test]
fn invalid_members_are_refused() {
    let twice =
        HashRing::new([HashRingMember::new("a", 1), HashRingMember::new("a", 2)]).unwrap_err();
    assert_eq!(twice.to_string(), "two members have the name \"a\"");
    let n_members = POINTS_MAX / (u16::MAX as usize * POINTS_PER_WEIGHT as usize) + 1;
    let heavy = (0..n_members).map(|n| HashRingMember::new(&n.to_string(), u16::MAX));
    assert!(HashRing::new(heavy).unwrap_err().to_string().contains("points"));
}
