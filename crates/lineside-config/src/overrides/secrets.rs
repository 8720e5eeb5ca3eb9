//! Secrets in the keys of a feed: redacted in output, and restored when the redacted keys are sent back.

use lineside_model::{FeedConfig, Secret, SourceLocation};
use serde_json::Value;

use super::FeedKeys;

/// The replacement of secrets in output. When it is sent back, the secret stays unchanged.
pub const HIDDEN: &str = "***";
/// The keys with tables whose values are all secret.
const SECRET_TABLES: [&str; 2] = ["headers", "query"];
/// The keys with tables that contain one secret.
const SECRETS_IN: [(&str, &str); 3] =
    [("basic", "password"), ("oauth2", "client_secret"), ("siri", "requestor_ref")];

/// Returns each secret: the key of its table, its name there, and the value.
pub(super) fn iter_secrets(keys: &FeedKeys) -> impl Iterator<Item = (&str, &str, &Value)> {
    let tables = SECRET_TABLES.into_iter().flat_map(move |key| {
        let table = keys.get(key).and_then(Value::as_object).into_iter().flatten();
        table.map(move |(name, value)| (key, name.as_str(), value))
    });
    let single = SECRETS_IN.into_iter().filter_map(move |(key, name)| {
        let value = keys.get(key)?.get(name)?;
        Some((key, name, value))
    });
    tables.chain(single)
}

/// Returns the keys without their secrets.
pub fn redact_secrets(keys: &FeedKeys) -> FeedKeys {
    let mut shown = keys.clone();
    for key in SECRET_TABLES {
        if let Some(Value::Object(table)) = shown.get_mut(key) {
            table.values_mut().for_each(|value| *value = Value::from(HIDDEN));
        }
    }
    for (key, name) in SECRETS_IN {
        if let Some(value) = shown.get_mut(key).and_then(|table| table.get_mut(name)) {
            *value = Value::from(HIDDEN);
        }
    }
    for (table, key) in [(None, "url"), (Some("oauth2"), "token_url")] {
        let value_mut = match table {
            None => shown.get_mut(key),
            Some(table) => shown.get_mut(table).and_then(|table| table.get_mut(key)),
        };
        if let Some(value_mut) = value_mut {
            let text = value_mut.as_str().and_then(|text| SourceLocation::parse(text).ok());
            *value_mut = text.map_or(Value::from(HIDDEN), |text| Value::from(text.to_string()));
        }
    }
    shown
}

/// Replaces redacted values by the feed's secrets, so that output can be sent back.
pub fn restore_redacted_secrets(keys: &mut FeedKeys, known: &FeedConfig) {
    let is_hidden = |value: &Value| value.as_str() == Some(HIDDEN);
    for (key, pairs) in [("headers", &known.headers), ("query", &known.query)] {
        let Some(Value::Object(table)) = keys.get_mut(key) else { continue };
        for (name, value) in table.iter_mut().filter(|(_, value)| is_hidden(value)) {
            let secret = pairs.iter().find(|(known, _)| known == name);
            if let Some((_, secret)) = secret {
                *value = Value::from(secret.reveal());
            }
        }
    }
    let requestor = known.siri.as_ref().and_then(|it| it.requestor_ref.as_ref());
    let single = [
        ("basic", "password", known.basic.as_ref().map(|it| it.password.reveal())),
        ("oauth2", "client_secret", known.oauth2.as_ref().map(|it| it.client_secret.reveal())),
        ("siri", "requestor_ref", requestor.map(Secret::reveal)),
    ];
    for (key, name, secret) in single {
        if let Some(value) = keys.get_mut(key).and_then(|table| table.get_mut(name))
            && let Some(secret) = secret.filter(|_| is_hidden(value))
        {
            *value = Value::from(secret);
        }
    }
    if let (Some(value), SourceLocation::Http(url)) = (keys.get_mut("url"), &known.url)
        && value.as_str() == Some(known.url.to_string().as_str())
    {
        *value = Value::from(url.as_str());
    }
    if let Some(value) = keys.get_mut("oauth2").and_then(|table| table.get_mut("token_url"))
        && let Some(url) = known.oauth2.as_ref().map(|it| &it.token_url)
        && value.as_str() == Some(SourceLocation::Http(url.clone()).to_string().as_str())
    {
        *value = Value::from(url.as_str());
    }
}
