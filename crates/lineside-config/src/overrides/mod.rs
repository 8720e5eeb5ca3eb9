//! Overrides of feeds that an admin sets while the server runs: added, removed and paused feeds, and changed keys.
//!
//! The configuration file is never written. An override replaces the keys that it names; the others come from the file.
//! A feed that is removed from the file is gone, even if it has an override.

mod differences;
mod keys;
mod secrets;
mod server_files;
mod effective_keys;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use lineside_model::{FeedConfig, FeedId, FormatConverter, SourceLocation};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::differences::{KeyDifference, diff_feeds, diff_keys};
pub use self::effective_keys::{default_feed_keys, effective_feed_keys};
pub use self::keys::{OverrideKeyError, format_feed_toml};
pub use self::secrets::{HIDDEN, redact_secrets, restore_redacted_secrets};
pub use self::server_files::NOT_WEB;

/// The keys of a feed, named as in the configuration, with their values in JSON.
pub type FeedKeys = Map<String, Value>;

pub type FeedOverrides = BTreeMap<FeedId, FeedOverride>;

/// The override of a feed.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FeedOverride {
    /// The feed is not in the file: the override defines it.
    pub added: bool,
    /// The file's feed is removed.
    pub removed: bool,
    /// Polling is paused.
    pub paused: bool,
    /// The keys that replace those of the file.
    pub keys: FeedKeys,
}

/// Omits the values, which may be secrets.
impl fmt::Debug for FeedOverride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { added, removed, paused, keys } = self;
        let keys: Vec<_> = keys.keys().collect();
        write!(
            f,
            "FeedOverride {{ added: {added}, removed: {removed}, paused: {paused}, keys: {keys:?} }}"
        )
    }
}

impl FeedOverride {
    /// Encodes the override for the store.
    pub fn to_json_text(&self) -> String {
        serde_json::to_string(self).expect("text and booleans always serialize")
    }

    /// Decodes a stored override.
    pub fn parse(text: &str) -> Option<Self> {
        let mut over: Self = serde_json::from_str(text).ok()?;
        // Edits of earlier versions have the boolean key `serial`.
        if over.keys.remove("serial") == Some(Value::Bool(true)) {
            over.keys.entry("max_concurrent_requests").or_insert(Value::from(1));
        }
        Some(over)
    }

    /// Returns `None` if the override changes nothing.
    pub fn none_if_empty(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

/// Returns the feed with its override applied; `None` if the override removes it.
///
/// # Errors
/// Returns the errors in the keys.
pub fn apply_feed_override(
    id: &FeedId,
    base: Option<&FeedConfig>,
    converters: &[Arc<FormatConverter>],
    feed_override: &FeedOverride,
) -> Result<Option<FeedConfig>, Vec<OverrideKeyError>> {
    let mut feed = match base {
        _ if feed_override.removed => return Ok(None),
        Some(base) => base.clone(),
        None if feed_override.added => {
            FeedConfig::new(id.clone(), SourceLocation::Path("/".into()))
        }
        None => return Ok(None),
    };
    keys::apply_override_keys(&mut feed, &feed_override.keys, converters)?;
    feed.paused = feed_override.paused;
    Ok(Some(feed))
}

/// Returns all errors in an override, including those of its schedule; `feeds` are all feeds as they are now.
pub fn find_override_errors(
    id: &FeedId,
    base: Option<&FeedConfig>,
    converters: &[Arc<FormatConverter>],
    feed_override: &FeedOverride,
    feeds: &[FeedConfig],
) -> Vec<OverrideKeyError> {
    let mut faults =
        apply_feed_override(id, base, converters, feed_override).err().unwrap_or_default();
    if let Ok(Some(schedule)) = keys::schedule_id_from_keys(&feed_override.keys) {
        let url = SourceLocation::Path("/".into());
        let one = FeedConfig { static_feed: Some(schedule), ..FeedConfig::new(id.clone(), url) };
        let others = feeds.iter().filter(|feed| feed.id != *id).cloned();
        let with_it: Vec<FeedConfig> = others.chain([one]).collect();
        faults.extend(check_schedule_references(&with_it, id).err());
    }
    faults
}

/// Returns the file's feeds with their overrides applied, then the added feeds. Overrides that are no longer valid are
/// logged and ignored: the file's feeds are still served, and paused ones stay paused.
pub fn apply_overrides(
    base: &[FeedConfig],
    converters: &[Arc<FormatConverter>],
    overrides: &FeedOverrides,
) -> Vec<FeedConfig> {
    let in_file: HashMap<&FeedId, &FeedConfig> = base.iter().map(|feed| (&feed.id, feed)).collect();
    let apply_one = |id: &FeedId, known: Option<&FeedConfig>, feed_override: &FeedOverride| {
        apply_feed_override(id, known, converters, feed_override).unwrap_or_else(|errors| {
            for error in errors {
                tracing::warn!(feed = %id, "the overrides of the feed are no longer valid: {error}");
            }
            // A paused feed must not be polled because another of its keys became invalid.
            known.map(|known| FeedConfig { paused: feed_override.paused, ..known.clone() })
        })
    };
    let mut feeds: Vec<FeedConfig> = base
        .iter()
        .filter_map(|feed| match overrides.get(&feed.id) {
            Some(feed_override) => apply_one(&feed.id, Some(feed), feed_override),
            None => Some(feed.clone()),
        })
        .collect();
    let added = overrides.iter().filter(|(id, _)| !in_file.contains_key(id));
    feeds.extend(added.filter_map(|(id, feed_override)| apply_one(id, None, feed_override)));
    feeds
}

/// Checks the schedules that feeds name, as far as they concern `id`.
///
/// # Errors
/// Returns the error as a key and a reason.
pub fn check_schedule_references(
    feeds: &[FeedConfig],
    id: &FeedId,
) -> Result<(), OverrideKeyError> {
    let bad = |reason: String| Err(OverrideKeyError { key: "static".to_owned(), reason });
    let own = feeds.iter().find(|feed| feed.id == *id);
    let named_by = feeds.iter().find(|feed| feed.static_feed.as_ref() == Some(id));
    let named = own.and_then(|feed| feed.static_feed.as_ref());
    match (own, named, named_by) {
        (None, _, Some(other)) => bad(format!("feed {} uses it as its schedule", other.id)),
        (_, Some(named), _) if named == id => bad("a feed cannot be its own schedule".to_owned()),
        (_, Some(_), Some(other)) => bad(format!(
            "feed {} uses this feed as its schedule, so this feed cannot have one",
            other.id
        )),
        (_, Some(named), None) => match feeds.iter().find(|feed| feed.id == *named) {
            None => bad(format!("feed {named} does not exist")),
            Some(target) if target.static_feed.is_some() => {
                bad(format!("feed {named} is not a schedule, because it has one"))
            }
            Some(_) => Ok(()),
        },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(id: &str, static_feed: Option<&str>) -> FeedConfig {
        let feed_id = |id: &str| FeedId::new(id).unwrap();
        let url = SourceLocation::parse("https://a.example/x").unwrap();
        let static_feed = static_feed.map(feed_id);
        FeedConfig {
            static_feed,
            name: Some("File".to_owned()),
            ..FeedConfig::new(feed_id(id), url)
        }
    }

    fn override_from(value: Value) -> FeedOverride {
        serde_json::from_value(value).unwrap()
    }

    fn overrides(all: &[(&str, Value)]) -> FeedOverrides {
        let one =
            |(id, value): &(&str, Value)| (FeedId::new(id).unwrap(), override_from(value.clone()));
        all.iter().map(one).collect()
    }

    #[test]
    fn an_override_replaces_only_its_own_keys() {
        let file = [named("a", None), named("b", None), named("c", None)];
        let test_overrides = overrides(&[
            ("a", json!({"keys": {"poll": "30s", "headers": {"x-key": "hunter2"}}})),
            ("b", json!({"removed": true})),
            ("c", json!({"paused": true})),
            ("d", json!({"added": true, "keys": {"url": "https://d.example/", "name": "D"}})),
            ("gone", json!({"keys": {"poll": "30s"}})),
            ("broken", json!({"added": true, "keys": {"url": "https://d.example/", "poll": 3}})),
        ]);
        let feeds = apply_overrides(&file, &[], &test_overrides);
        let ids: Vec<&str> = feeds.iter().map(|feed| feed.id.as_str()).collect();
        assert_eq!(ids, ["a", "c", "d"]);
        assert_eq!(feeds[0].poll, Some(std::time::Duration::from_secs(30)));
        assert_eq!(feeds[0].name.as_deref(), Some("File"));
        assert_eq!(feeds[0].headers[0].1.reveal(), "hunter2");
        assert!(feeds[1].paused && !feeds[0].paused);
        assert_eq!(feeds[2].name.as_deref(), Some("D"));
        assert!(!format!("{test_overrides:?}").contains("hunter2"));
    }

    #[test]
    fn a_feed_stays_paused_if_its_other_overrides_are_invalid() {
        let test_overrides =
            overrides(&[("a", json!({"paused": true, "keys": {"poll": 3, "name": "B"}}))]);
        let feeds = apply_overrides(&[named("a", None)], &[], &test_overrides);
        assert!(feeds[0].paused);
        assert_eq!(feeds[0].name.as_deref(), Some("File"));
    }

    #[test]
    fn a_stored_override_is_read_unchanged() {
        let one = override_from(json!({"paused": true, "keys": {"poll": "30s"}}));
        assert_eq!(FeedOverride::parse(&one.to_json_text()), Some(one));
        assert_eq!(FeedOverride::parse("nothing"), None);
        let renamed = FeedOverride::parse(r#"{"keys": {"serial": true, "poll": "30s"}}"#).unwrap();
        let keys = json!({"max_concurrent_requests": 1, "poll": "30s"});
        assert_eq!(renamed, override_from(json!({"keys": keys})));
        assert_eq!(FeedOverride::default().none_if_empty(), None);
    }

    #[track_caller]
    fn check(feeds: &[FeedConfig], id: &str, expected_message: Option<&str>) {
        let found = check_schedule_references(feeds, &FeedId::new(id).unwrap());
        let reason = found.err().map(|bad| bad.reason);
        assert_eq!(reason.is_some(), expected_message.is_some(), "{reason:?}");
        assert!(reason.unwrap_or_default().contains(expected_message.unwrap_or_default()));
    }

    #[test]
    fn the_static_feed_must_exist_and_be_a_schedule() {
        let city = named("city", None);
        check(&[city.clone(), named("v", Some("city"))], "v", None);
        check(&[city.clone(), named("v", Some("city"))], "city", None);
        check(&[named("v", Some("city"))], "v", Some("feed city does not exist"));
        check(&[named("v", Some("city"))], "city", Some("feed v uses it"));
        check(&[named("v", Some("v"))], "v", Some("its own schedule"));
        check(&[named("w", Some("v")), named("v", Some("city")), city], "v", Some("feed w uses"));
        let two = [named("a", Some("b")), named("b", Some("c")), named("c", None)];
        check(&two, "a", Some("is not a schedule"));
    }
}
