//! Compares two configurations of a feed. Secrets are compared by value and shown redacted.

use std::collections::{BTreeMap, BTreeSet};

use lineside_model::FeedConfig;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{FeedKeys, default_feed_keys, effective_feed_keys, redact_secrets};

/// A key whose value changed.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct KeyDifference {
    /// The key, such as `poll` or `headers.X-Key`.
    pub key: String,
    /// The old value, a secret as `***`; null if the key was not set.
    pub old: Value,
    /// The new value, in the same form.
    pub new: Value,
}

/// Returns the keys whose values differ, sorted.
pub fn diff_keys(old: &FeedKeys, new: &FeedKeys) -> Vec<KeyDifference> {
    let (old_shown, new_shown) = (redact_secrets(old), redact_secrets(new));
    let (old_shown, new_shown) = (flatten_keys(&old_shown), flatten_keys(&new_shown));
    let (old, new) = (flatten_keys(old), flatten_keys(new));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let shown = |from: &BTreeMap<String, &Value>, name: &String| {
        from.get(name).map(|value| (*value).clone()).unwrap_or_default()
    };
    let differ = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    differ
        .map(|name| KeyDifference {
            key: name.clone(),
            old: shown(&old_shown, name),
            new: shown(&new_shown, name),
        })
        .collect()
}

/// Returns the differences between a feed now and after an edit: none for a removed feed, and no defaults for a new
/// one.
pub fn diff_feeds(old: Option<&FeedConfig>, new: Option<&FeedConfig>) -> Vec<KeyDifference> {
    let Some(new) = new else { return Vec::new() };
    let with_pause = |feed: &FeedConfig| {
        let mut keys = effective_feed_keys(feed);
        keys.insert("paused".to_owned(), Value::Bool(feed.paused));
        keys
    };
    match old {
        Some(old) => diff_keys(&with_pause(old), &with_pause(new)),
        None => {
            let (mut keys, defaults) = (effective_feed_keys(new), default_feed_keys(new));
            keys.retain(|key, value| defaults.get(key) != Some(value));
            diff_keys(&FeedKeys::new(), &keys)
        }
    }
}

/// Returns each value under the name of its key in messages; values in a table under `table.name`.
fn flatten_keys(keys: &FeedKeys) -> BTreeMap<String, &Value> {
    let mut all = BTreeMap::new();
    for (key, value) in keys {
        match value {
            Value::Object(table) => {
                all.extend(table.iter().map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            value => drop(all.insert(key.clone(), value)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(old: &Value, new: &Value, expected: &Value) {
        let found = diff_keys(old.as_object().unwrap(), new.as_object().unwrap());
        assert_eq!(serde_json::to_value(found).unwrap(), *expected);
    }

    #[test]
    fn differences_are_listed_by_key() {
        let same = json!({"poll": "15s", "headers": {"a": "hunter2"}});
        check(&same, &same, &json!([]));
        check(
            &json!({"poll": "15s", "name": "A"}),
            &json!({"poll": "30s", "rate": "4/min"}),
            &json!([
                {"key": "name", "old": "A", "new": null},
                {"key": "poll", "old": "15s", "new": "30s"},
                {"key": "rate", "old": null, "new": "4/min"}
            ]),
        );
    }

    #[test]
    fn changed_secrets_are_listed_without_their_values() {
        check(
            &json!({"headers": {"a": "hunter2", "b": "hunter3"}, "url": "https://a.example/?key=hunter4"}),
            &json!({"headers": {"a": "hunter5", "c": "hunter6"}, "url": "https://a.example/?key=hunter7"}),
            &json!([
                {"key": "headers.a", "old": "***", "new": "***"},
                {"key": "headers.b", "old": "***", "new": null},
                {"key": "headers.c", "old": null, "new": "***"},
                {"key": "url", "old": "https://a.example/?key=***", "new": "https://a.example/?key=***"}
            ]),
        );
    }
}
