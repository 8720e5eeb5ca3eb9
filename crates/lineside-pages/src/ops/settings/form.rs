//! The values of a feed's form, and the keys that it changes.
//!
//! Each field is submitted with its original value, so only changed fields count: two admins who edit one feed do not
//! undo each other's changes. A secret is never shown; an empty field leaves it unchanged.

use std::collections::{BTreeMap, BTreeSet};

use lineside_config::overrides::{FeedKeys, FeedOverride, HIDDEN, OverrideKeyError};
use lineside_http::QueryParameters;
use lineside_http::admin_auth::FormSecrets;
use lineside_model::Secret;
use serde_json::{Map, Value};

use super::fields::{self, InputKind, PAIRS, TABLES};

/// The most rows of a list that are read: more than a feed may have, so that too many rows are an error and not
/// ignored.
const ROWS_MAX: usize = 70;

/// One row of a list: a name, and its secret.
#[derive(Debug, Default)]
pub(super) struct SecretPair {
    pub(super) name: String,
    pub(super) original_name: String,
    pub(super) secret: Option<Secret>,
}

/// The submitted values of a form.
#[derive(Debug, Default)]
pub(super) struct SettingsForm {
    /// The id of a new feed.
    pub(super) id: String,
    /// Values by the names of the fields; empty values are absent.
    values: BTreeMap<&'static str, String>,
    /// Original values of the fields.
    original_values: BTreeMap<&'static str, String>,
    /// Submitted secrets, except those of lists.
    secrets: BTreeMap<&'static str, Secret>,
    /// Rows by the keys of their lists.
    pairs: BTreeMap<&'static str, Vec<SecretPair>>,
    /// Keys to reset to the configuration file.
    pub(super) reverted_keys: BTreeSet<String>,
}

fn form_error(key: impl Into<String>, reason: &str) -> OverrideKeyError {
    OverrideKeyError { key: key.into(), reason: reason.to_owned() }
}

impl SettingsForm {
    /// Builds the form of a feed with these keys; secrets stay hidden.
    pub(super) fn from_keys(keys: &FeedKeys) -> Self {
        let mut form = Self::default();
        for field in fields::all_fields() {
            let mut value = keys.get(field.config_key());
            if let Some((_, member)) = field.name.split_once('.') {
                value = value.and_then(|table| table.get(member));
            }
            let text = match value {
                Some(Value::String(text)) if field.kind != InputKind::Secret => text.clone(),
                Some(Value::Number(number)) => number.to_string(),
                _ => continue,
            };
            form.original_values.insert(field.name, text.clone());
            form.values.insert(field.name, text);
        }
        for (key, _) in PAIRS {
            let names = keys.get(key).and_then(Value::as_object).into_iter().flat_map(Map::keys);
            let row = |name: &String| SecretPair {
                name: name.clone(),
                original_name: name.clone(),
                secret: None,
            };
            form.pairs.insert(key, names.map(row).collect());
        }
        form
    }

    /// Reads a submitted form; `draft` has the secrets submitted before.
    pub(super) fn from_parameters(sent: &QueryParameters, draft: &FormSecrets) -> Self {
        let text = |name: &str| sent.find_value(name).map(str::to_owned);
        let secret = |name: &str| {
            let given = sent.values_of(name).next().filter(|text| !text.is_empty());
            given.map(Secret::new).or_else(|| draft.get(name).cloned())
        };
        let mut form = Self { id: text("id").unwrap_or_default(), ..Self::default() };
        for field in fields::all_fields() {
            if field.kind == InputKind::Secret {
                form.secrets.extend(secret(field.name).map(|secret| (field.name, secret)));
                continue;
            }
            form.values.extend(text(field.name).map(|text| (field.name, text)));
            form.original_values
                .extend(text(&original_field_name(field.name)).map(|text| (field.name, text)));
        }
        for (key, _) in PAIRS {
            let row = |n| SecretPair {
                name: text(&pair_name_field(key, n)).unwrap_or_default(),
                original_name: text(&original_field_name(&pair_name_field(key, n)))
                    .unwrap_or_default(),
                secret: secret(&pair_secret_field(key, n)),
            };
            let is_given = |row: &SecretPair| {
                !row.name.is_empty() || !row.original_name.is_empty() || row.secret.is_some()
            };
            form.pairs.insert(key, (0..ROWS_MAX).map(row).filter(is_given).collect());
        }
        form.reverted_keys = sent.values_of("back").map(str::to_owned).collect();
        form
    }

    pub(super) fn field_value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub(super) fn original_value(&self, name: &str) -> Option<&str> {
        self.original_values.get(name).map(String::as_str)
    }

    /// Returns true if a secret of this field, which is not in a list, was submitted.
    pub(super) fn has_secret(&self, name: &str) -> bool {
        self.secrets.contains_key(name)
    }

    pub(super) fn secret_pairs(&self, key: &str) -> &[SecretPair] {
        self.pairs.get(key).map_or(&[], Vec::as_slice)
    }

    /// Returns the submitted secrets by the names that their fields have when the form is shown again.
    pub(super) fn draft_secrets(&self) -> FormSecrets {
        let single = self.secrets.iter().map(|(name, secret)| ((*name).to_owned(), secret.clone()));
        let in_lists = self.pairs.iter().flat_map(|(key, rows)| {
            let given = |(n, row): (usize, &SecretPair)| {
                Some((pair_secret_field(key, n), row.secret.clone()?))
            };
            rows.iter().enumerate().filter_map(given)
        });
        single.chain(in_lists).collect()
    }

    /// Returns the changed keys, given the feed's override `feed_override`, and the errors of the form itself. `null`
    /// resets a key to the configuration file. The values are validated elsewhere.
    pub(super) fn changed_keys(
        &self,
        feed_override: Option<&FeedOverride>,
    ) -> (FeedKeys, Vec<OverrideKeyError>) {
        let is_overridden = |key: &str| {
            feed_override.is_some_and(|feed_override| feed_override.keys.contains_key(key))
        };
        let (mut keys, mut errors) = (FeedKeys::new(), Vec::new());
        let mut put = |key: &str, value: Result<Option<Value>, Vec<OverrideKeyError>>| match value {
            Ok(Some(value)) => drop(keys.insert(key.to_owned(), value)),
            Ok(None) => {}
            Err(faults) => errors.extend(faults),
        };
        for field in fields::all_fields().filter(|field| !field.name.contains('.')) {
            put(field.name, self.changed_field_value(field, is_overridden(field.name)));
        }
        for table in TABLES {
            put(table, self.changed_table_value(table, is_overridden(table)));
        }
        for (key, _) in PAIRS {
            put(key, self.changed_list_value(key));
        }
        for key in self.reverted_keys.iter().filter(|key| is_overridden(key)) {
            put(key, Ok(Some(Value::Null)));
        }
        (keys, errors)
    }

    fn changed_field_value(
        &self,
        field: &fields::SettingsField,
        is_overridden: bool,
    ) -> Result<Option<Value>, Vec<OverrideKeyError>> {
        let (now, was) = (self.field_value(field.name), self.original_value(field.name));
        match (now, field.kind) {
            (now, _) if now == was => Ok(None),
            (Some(now), InputKind::Number) => {
                Ok(Some(now.parse::<u64>().map_or_else(|_| Value::from(now), Value::from)))
            }
            (Some(now), _) => Ok(Some(Value::from(now))),
            (None, _) => cleared_key_value(field.name, is_overridden),
        }
    }

    /// Returns the new value of a table with a few members, one of which is a secret: it is replaced as a whole.
    fn changed_table_value(
        &self,
        key: &str,
        is_overridden: bool,
    ) -> Result<Option<Value>, Vec<OverrideKeyError>> {
        let members = || fields::all_fields().filter(|field| field.config_key() == key);
        let is_touched = |field: &fields::SettingsField| {
            self.field_value(field.name) != self.original_value(field.name)
                || self.has_secret(field.name)
        };
        if !members().any(is_touched) {
            return Ok(None);
        }
        if members()
            .all(|field| self.field_value(field.name).is_none() && !self.has_secret(field.name))
        {
            return cleared_key_value(key, is_overridden);
        }
        let had_secret = members().any(|field| self.original_value(field.name).is_some());
        let mut table = Map::new();
        for field in members() {
            let name = field.name.split_once('.').map_or(field.name, |(_, member)| member);
            let value = match (field.kind, self.secrets.get(field.name)) {
                (InputKind::Secret, Some(secret)) => Some(Value::from(secret.reveal())),
                (InputKind::Secret, None) if had_secret => Some(Value::from(HIDDEN)),
                (InputKind::Secret, None) => return Err(vec![form_error(field.name, "required")]),
                _ => self.field_value(field.name).map(Value::from),
            };
            table.extend(value.map(|value| (name.to_owned(), value)));
        }
        Ok(Some(Value::Object(table)))
    }

    /// Returns the new value of a list of names with secrets: it is replaced as a whole.
    fn changed_list_value(&self, key: &str) -> Result<Option<Value>, Vec<OverrideKeyError>> {
        let rows = self.secret_pairs(key);
        if !rows.iter().any(|row| row.name != row.original_name || row.secret.is_some()) {
            return Ok(None);
        }
        let (mut table, mut errors) = (Map::new(), Vec::new());
        for row in rows {
            let value = match &row.secret {
                _ if row.name.is_empty() && row.secret.is_none() => continue,
                Some(_) if row.name.is_empty() => {
                    errors.push(form_error(key, "a value has no name"));
                    continue;
                }
                Some(secret) => secret.reveal(),
                None if row.original_name.is_empty() => {
                    errors.push(form_error(format!("{key}.{}", row.name), "the value is missing"));
                    continue;
                }
                None => HIDDEN,
            };
            if table.insert(row.name.clone(), Value::from(value)).is_some() {
                errors.push(form_error(format!("{key}.{}", row.name), "this name is used twice"));
            }
        }
        if errors.is_empty() { Ok(Some(Value::Object(table))) } else { Err(errors) }
    }
}

/// Returns the value for a key that was cleared in the form.
fn cleared_key_value(
    key: &str,
    is_overridden: bool,
) -> Result<Option<Value>, Vec<OverrideKeyError>> {
    if is_overridden {
        return Ok(Some(Value::Null));
    }
    Err(vec![form_error(
        key,
        "the configuration file sets this: it can be replaced here, not removed",
    )])
}

/// Returns the name of the field with another field's original value.
pub(super) fn original_field_name(name: &str) -> String {
    format!("was.{name}")
}

/// Returns the name of a list row's name field.
pub(super) fn pair_name_field(key: &str, row: usize) -> String {
    format!("{key}.name.{row}")
}

/// Returns the name of a list row's secret field.
pub(super) fn pair_secret_field(key: &str, row: usize) -> String {
    format!("{key}.value.{row}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn override_from(keys: Value) -> FeedOverride {
        FeedOverride { keys: keys.as_object().unwrap().clone(), ..FeedOverride::default() }
    }

    fn read(sent: &str) -> SettingsForm {
        SettingsForm::from_parameters(&QueryParameters::parse_query(sent), &FormSecrets::new())
    }

    #[track_caller]
    fn check(sent: &str, current_keys: Value, expected: Value) {
        let (keys, errors) = read(sent).changed_keys(Some(&override_from(current_keys)));
        assert_eq!((Value::Object(keys), errors), (expected, Vec::new()), "{sent}");
    }

    #[track_caller]
    fn check_refused(sent: &str, key: &str) {
        let (_, errors) = read(sent).changed_keys(None);
        assert_eq!(errors.iter().map(|it| it.key.as_str()).collect::<Vec<_>>(), [key], "{sent}");
    }

    #[test]
    fn an_untouched_form_changes_nothing() {
        let keys = json!({
            "url": "https://a.example/?key=***", "poll": "15s", "max_concurrent_requests": 1,
            "headers": {"X-Key": "***"}, "basic": {"user": "me", "password": "***"}
        });
        let form = SettingsForm::from_keys(keys.as_object().unwrap());
        assert_eq!(form.changed_keys(None), (FeedKeys::new(), Vec::new()));
        assert_eq!(
            (form.field_value("poll"), form.field_value("max_concurrent_requests")),
            (Some("15s"), Some("1"))
        );
        assert_eq!(
            (form.secret_pairs("headers").len(), form.field_value("basic.password")),
            (1, None)
        );
    }

    #[test]
    fn only_edited_fields_are_changed() {
        check("poll=15s&was.poll=15s&ttl=20s&was.ttl=", json!({}), json!({"ttl": "20s"}));
        let requests = "max_concurrent_requests";
        check(&format!("{requests}=2&was.{requests}=1"), json!({}), json!({requests: 2}));
        check(&format!("{requests}=two"), json!({}), json!({requests: "two"}));
        check("poll=&was.poll=15s", json!({"poll": "15s"}), json!({"poll": null}));
        check("back=poll&back=ttl", json!({"poll": "15s"}), json!({"poll": null}));
        check_refused("poll=&was.poll=15s", "poll");
    }

    #[test]
    fn an_empty_secret_field_preserves_the_secret() {
        let row = "headers.name.0=X-Key&was.headers.name.0=X-Key&headers.value.0=";
        check(row, json!({}), json!({}));
        let more = format!("{row}&headers.name.1=X-More&headers.value.1=hunter2");
        check(&more, json!({}), json!({"headers": {"X-Key": "***", "X-More": "hunter2"}}));
        check("headers.name.0=&was.headers.name.0=X-Key", json!({}), json!({"headers": {}}));
        let user = "basic.user=you&was.basic.user=me&basic.password=";
        check(user, json!({}), json!({"basic": {"user": "you", "password": "***"}}));
        let given = "basic.user=me&was.basic.user=me&basic.password=hunter2";
        check(given, json!({}), json!({"basic": {"user": "me", "password": "hunter2"}}));
        check("was.basic.user=me", json!({"basic": {}}), json!({"basic": null}));
        check_refused("basic.user=me", "basic.password");
        check_refused("headers.name.0=X-Key", "headers.X-Key");
        check_refused("headers.value.0=hunter2", "headers");
        let twice = "headers.name.0=a&headers.value.0=b&headers.name.1=a&headers.value.1=c";
        check_refused(twice, "headers.a");
    }

    #[test]
    fn a_secret_of_the_draft_need_not_be_entered_again() {
        let sent = "basic.user=me&basic.password=hunter2&query.name.1=key&query.value.1=hunter3";
        let draft = read(sent).draft_secrets();
        let secret_free_form = "basic.user=me&query.name.0=key";
        let form =
            SettingsForm::from_parameters(&QueryParameters::parse_query(secret_free_form), &draft);
        let (keys, errors) = form.changed_keys(None);
        let basic = json!({"user": "me", "password": "hunter2"});
        let expected = json!({"basic": basic, "query": {"key": "hunter3"}});
        assert_eq!((Value::Object(keys), errors), (expected, Vec::new()));
        assert!(!format!("{form:?}").contains("hunter"));
    }
}
