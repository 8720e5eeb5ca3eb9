//! The keys of an override: validated like those of the file, and shown without secrets.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use lineside_model::{FeedConfig, FeedId, FormatConverter};
use serde_json::{Map, Value};

use super::FeedKeys;
use super::secrets::{HIDDEN, iter_secrets};
use super::server_files::{find_non_web_url_error, split_off_id_table};
use crate::{Config, find_siri_conflict};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverrideKeyError {
    /// The key, such as `headers.X-Key`.
    pub key: String,
    /// The fault and the expected value.
    pub reason: String,
}

impl fmt::Display for OverrideKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.key {
            "" => f.write_str(&self.reason),
            key => write!(f, "{key}: {}", self.reason),
        }
    }
}

impl OverrideKeyError {
    /// Returns the top-level key of the configuration.
    fn top_level_key(&self) -> &str {
        self.key.split('.').next().unwrap_or_default()
    }
}

pub(super) fn new_key_error(key: &str, reason: impl Into<String>) -> OverrideKeyError {
    OverrideKeyError { key: key.to_owned(), reason: reason.into() }
}

/// Applies the keys to a feed's configuration.
///
/// # Errors
/// Returns all errors in the keys; then no key is applied.
pub(super) fn apply_override_keys(
    feed: &mut FeedConfig,
    keys: &FeedKeys,
    converters: &[Arc<FormatConverter>],
) -> Result<(), Vec<OverrideKeyError>> {
    let mut errors: Vec<OverrideKeyError> = find_non_web_url_error(keys).into_iter().collect();
    errors.extend(check_secrets_are_plain(keys));
    if keys.contains_key("id") {
        errors.push(new_key_error("id", "the id of a feed cannot be changed: add a new feed"));
    }
    let static_feed = schedule_id_from_keys(keys).unwrap_or_else(|fault| {
        errors.push(fault);
        None
    });
    let (id_table, mut readable) = split_off_id_table(feed, keys).unwrap_or_else(|fault| {
        errors.push(fault);
        (None, keys.clone())
    });
    // Faulty keys are left out, so that the other keys are checked too.
    readable.retain(|key, _| !errors.iter().any(|error| error.top_level_key() == key));
    let read = match (parse_feed_keys(&feed.id, &readable, converters), errors.is_empty()) {
        (Ok(read), true) => read,
        (Ok(_), false) => return Err(errors),
        (Err(more), _) => return Err(errors.into_iter().chain(more).collect()),
    };
    let mut next = feed.clone();
    copy_named_keys(&mut next, keys, read);
    if let (Some(ids), Some(siri)) = (id_table, &mut next.siri) {
        Arc::make_mut(siri).ids = ids;
    }
    next.static_feed = static_feed.or(next.static_feed);
    // Each key may be valid alone and conflict with the file's other keys.
    let is_authorization = |(name, _): &(String, _)| name.eq_ignore_ascii_case("authorization");
    let credentials =
        [next.basic.is_some(), next.oauth2.is_some(), next.headers.iter().any(is_authorization)];
    if credentials.into_iter().filter(|it| *it).count() > 1 {
        let reason = "a feed can have only one of basic, oauth2 and an Authorization header";
        return Err(vec![new_key_error("", reason)]);
    }
    let (siri, converter) = (next.siri.as_deref(), next.converter.as_deref());
    if let Some((key, reason)) = find_siri_conflict(siri, Some(&next.url), next.format, converter) {
        return Err(vec![new_key_error(key, reason)]);
    }
    *feed = next;
    Ok(())
}

/// Returns the schedule that the keys name.
///
/// # Errors
/// Returns an error if the value is not a feed id.
pub(super) fn schedule_id_from_keys(keys: &FeedKeys) -> Result<Option<FeedId>, OverrideKeyError> {
    match keys.get("static") {
        None => Ok(None),
        Some(Value::String(id)) => {
            FeedId::new(id).map(Some).map_err(|error| new_key_error("static", error.to_string()))
        }
        Some(_) => Err(new_key_error("static", "expected the id of a schedule feed")),
    }
}

/// Parses the keys like a feed in a file, with the same code.
fn parse_feed_keys(
    id: &FeedId,
    keys: &FeedKeys,
    converters: &[Arc<FormatConverter>],
) -> Result<FeedConfig, Vec<OverrideKeyError>> {
    // Only the whole catalog can tell whether the schedule exists.
    let mut keys = keys.clone();
    keys.remove("static");
    keys.entry("url").or_insert_with(|| Value::from("https://feed.invalid/"));
    let text = format_feed_toml(id, &keys).map_err(|reason| vec![new_key_error("", reason)])?;
    let config =
        Config::parse_with_converters(Path::new("feed"), &text, converters).map_err(|errors| {
            let key = |key: &str| {
                key.strip_prefix("feed[0]").unwrap_or(key).trim_start_matches('.').to_owned()
            };
            errors
                .iter()
                .map(|error| {
                    new_key_error(&key(error.key()), simplify_serde_reason(error.reason()))
                })
                .collect::<Vec<_>>()
        })?;
    config
        .feeds
        .into_iter()
        .next()
        .ok_or_else(|| vec![new_key_error("", "expected the keys of a feed")])
}

/// Rewrites serde's `invalid value: string "banana", expected a duration` as a sentence that begins with the fix.
fn simplify_serde_reason(reason: &str) -> String {
    let complaint =
        reason.strip_prefix("invalid value: ").or_else(|| reason.strip_prefix("invalid type: "));
    match complaint.and_then(|complaint| complaint.split_once(", expected ")) {
        Some((found, expected)) => {
            format!("expected {expected}, not {}", found.strip_prefix("string ").unwrap_or(found))
        }
        None => reason.to_owned(),
    }
}

/// Formats a feed as in the configuration file.
///
/// # Errors
/// Returns an error message if TOML cannot represent a value.
pub fn format_feed_toml(id: &FeedId, keys: &FeedKeys) -> Result<String, String> {
    let mut feed = Map::new();
    feed.insert("id".to_owned(), Value::from(id.as_str()));
    feed.extend(keys.clone());
    let file = Map::from_iter([("feed".to_owned(), Value::from(vec![Value::Object(feed)]))]);
    toml::to_string(&file).map_err(|error| error.to_string())
}

/// Checks that secrets are plain texts: a remote admin must not read the server's environment and files.
fn check_secrets_are_plain(keys: &FeedKeys) -> Vec<OverrideKeyError> {
    let mut faults = Vec::new();
    let mut check = |key: String, value: &Value| match value {
        Value::String(text) if text == HIDDEN => {
            faults.push(OverrideKeyError {
                key,
                reason: "the feed has no secret to keep: enter it again".to_owned(),
            });
        }
        Value::Null => faults.push(OverrideKeyError { key, reason: "expected text".to_owned() }),
        Value::Object(_) => {
            let reason =
                "expected text: { env } and { file } are only allowed in the configuration file";
            faults.push(OverrideKeyError { key, reason: reason.to_owned() });
        }
        _ => {}
    };
    for (key, name, value) in iter_secrets(keys) {
        check(format!("{key}.{name}"), value);
    }
    faults
}

/// Copies the named keys from the parsed feed.
fn copy_named_keys(feed: &mut FeedConfig, keys: &FeedKeys, read: FeedConfig) {
    // All fields are listed, so that a new one needs a key, or a reason why it has none.
    let FeedConfig {
        // A feed keeps its id.
        id: _,
        url,
        format,
        converter,
        name,
        publisher,
        licence,
        theme,
        description,
        // The caller sets the schedule: only the whole catalog can tell whether it exists.
        static_feed: _,
        headers,
        query,
        basic,
        oauth2,
        siri,
        poll,
        ttl,
        rate,
        max_concurrent_requests,
        timeout,
        max_bytes,
        max_age,
        late_after,
        trip_late_after,
        // Only the YAML configuration has this key.
        reply_headers: _,
        // Pausing is a separate edit.
        paused: _,
        // Set only for the files of a GBFS system, which are not configured.
        public_only: _,
    } = read;
    set_if_present(keys, "url", &mut feed.url, url);
    set_if_present(keys, "format", &mut feed.format, format);
    set_if_present(keys, "format", &mut feed.converter, converter);
    set_if_present(keys, "name", &mut feed.name, name);
    set_if_present(keys, "publisher", &mut feed.publisher, publisher);
    set_if_present(keys, "licence", &mut feed.licence, licence);
    set_if_present(keys, "theme", &mut feed.theme, theme);
    set_if_present(keys, "description", &mut feed.description, description);
    set_if_present(keys, "headers", &mut feed.headers, headers);
    set_if_present(keys, "query", &mut feed.query, query);
    set_if_present(keys, "basic", &mut feed.basic, basic);
    set_if_present(keys, "oauth2", &mut feed.oauth2, oauth2);
    set_if_present(keys, "siri", &mut feed.siri, siri);
    set_if_present(keys, "poll", &mut feed.poll, poll);
    set_if_present(keys, "ttl", &mut feed.ttl, ttl);
    set_if_present(keys, "rate", &mut feed.rate, rate);
    let requests = max_concurrent_requests;
    set_if_present(keys, "max_concurrent_requests", &mut feed.max_concurrent_requests, requests);
    set_if_present(keys, "timeout", &mut feed.timeout, timeout);
    set_if_present(keys, "max_bytes", &mut feed.max_bytes, max_bytes);
    set_if_present(keys, "max_age", &mut feed.max_age, max_age);
    set_if_present(keys, "late_after", &mut feed.late_after, late_after);
    set_if_present(keys, "trip_late_after", &mut feed.trip_late_after, trip_late_after);
}

fn set_if_present<T>(keys: &FeedKeys, key: &str, field: &mut T, value: T) {
    if keys.contains_key(key) {
        *field = value;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{redact_secrets, restore_redacted_secrets};
    use lineside_model::SourceLocation;

    use super::*;

    fn feed() -> FeedConfig {
        let url = SourceLocation::parse("https://me:pw@a.example/x?key=hunter2").unwrap();
        FeedConfig::new(FeedId::new("a").unwrap(), url)
    }

    fn keys(value: Value) -> FeedKeys {
        value.as_object().unwrap().clone()
    }

    #[track_caller]
    fn check_refused(value: Value, expected_message: &[&str]) {
        let mut feed = feed();
        let errors = apply_override_keys(&mut feed, &keys(value), &[]).unwrap_err();
        let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), expected_message.len(), "{messages:?}");
        for (error_message, expected_message) in messages.iter().zip(expected_message) {
            assert!(error_message.starts_with(expected_message), "{error_message}");
        }
        assert_eq!(feed, self::feed());
    }

    /// Returns each key of a feed in the file, except its id and keys that exclude others.
    fn all_keys() -> Value {
        json!({
            "url": "https://b.example/y", "format": "siri", "name": "B", "publisher": "P",
            "licence": "L", "theme": "bus", "description": "D", "static": "city", "headers": {"X-Key": "hunter2"},
            "query": {"q": "hunter2"}, "basic": {"user": "me", "password": "hunter2"},
            "siri": {"services": ["sm"], "mode": "request", "envelope": "soap", "ids": "netex",
                "stops": ["S"], "requestor_ref": "hunter2"},
            "poll": "30s", "ttl": "20s", "rate": "4/min", "max_concurrent_requests": 1, "timeout": "5s",
            "max_bytes": "1MiB", "max_age": "1h", "late_after": "2m", "trip_late_after": "3m"
        })
    }

    #[test]
    fn an_invalid_value_is_explained_by_its_fix_first() {
        let reason = "invalid value: string \"banana\", expected a duration";
        assert_eq!(simplify_serde_reason(reason), "expected a duration, not \"banana\"");
        assert_eq!(simplify_serde_reason("no such key"), "no such key");
    }

    #[test]
    fn every_key_of_the_file_can_be_overridden() {
        let mut applied = feed();
        apply_override_keys(&mut applied, &keys(all_keys()), &[]).unwrap();
        let text = format_feed_toml(&applied.id, &keys(all_keys())).unwrap();
        let mut file = Config::parse(
            Path::new("lineside.toml"),
            &format!("{text}[[feed]]\nid = \"city\"\nurl = \"https://c.example/\"\n"),
        )
        .unwrap();
        assert_eq!(file.feeds.remove(0), applied);
        let mut other = feed();
        apply_override_keys(&mut other, &keys(client()), &[]).unwrap();
        assert!(other.oauth2.is_some());
    }

    /// Returns keys that replace `basic`.
    fn client() -> Value {
        json!({"oauth2": {
            "token_url": "https://me:hunter2@t.example/?key=hunter2", "client_id": "me",
            "client_secret": "hunter2", "scope": "s", "audience": "a"
        }})
    }

    #[test]
    fn the_tests_cover_every_key_of_the_file() {
        let mut feed = feed();
        let unknown =
            apply_override_keys(&mut feed, &keys(json!({"no such key": 1})), &[]).unwrap_err();
        let (_, known) = unknown[0].reason.split_once("expected one of ").unwrap();
        let mut known: Vec<&str> = known.split(", ").map(|key| key.trim_matches('`')).collect();
        let (one, other) = (keys(all_keys()), keys(client()));
        let mut here: Vec<&str> = one.keys().chain(other.keys()).map(String::as_str).collect();
        here.push("id");
        known.sort_unstable();
        here.sort_unstable();
        assert_eq!(here, known);
    }

    /// Returns the places of all values in the keys: the table, if the value is in one, and the name.
    fn list_key_places(keys: &FeedKeys) -> Vec<(Option<String>, String)> {
        let mut places = Vec::new();
        for (key, value) in keys {
            match value {
                Value::Object(table) => {
                    places.extend(table.keys().map(|name| (Some(key.clone()), name.clone())));
                }
                _ => places.push((None, key.clone())),
            }
        }
        places
    }

    #[test]
    fn every_secret_of_the_file_is_redacted() {
        let mut seen = 0;
        for all in [keys(all_keys()), keys(client())] {
            for (table, name) in list_key_places(&all) {
                let at = |keys: &mut FeedKeys, value: Value| match &table {
                    Some(table) => keys[table][&name] = value,
                    None => keys[&name] = value,
                };
                // Only secrets may be read from a file.
                let mut invalid = all.clone();
                at(&mut invalid, json!({"file": "/dev/null/no such file"}));
                let Err(errors) = parse_feed_keys(&feed().id, &invalid, &[]) else { continue };
                if !errors[0].reason.starts_with("cannot read /dev/null/") {
                    continue;
                }
                seen += 1;
                let mut known = all.clone();
                at(&mut known, Value::from("hunter9"));
                let shown = serde_json::to_string(&redact_secrets(&known)).unwrap();
                assert!(!shown.contains("hunter9"), "{table:?} {name}: {shown}");
                assert_eq!(check_secrets_are_plain(&invalid).len(), 1, "{table:?} {name}");
            }
        }
        assert_eq!(seen, 5, "a header, a parameter, a password, a client's secret, a requestor");
    }

    #[test]
    fn errors_name_their_key() {
        check_refused(json!({"poll": "soon"}), &["poll: expected a duration"]);
        check_refused(json!({"poll": "1ms", "rate": "x"}), &["poll: 1ms is out", "rate: expected"]);
        check_refused(json!({"pol": "1s"}), &["pol: unknown field `pol`"]);
        check_refused(json!({"id": "b"}), &["id: "]);
        check_refused(json!({"url": "/etc/passwd"}), &["url: expected an address"]);
        let hidden = "https://b.example/x?key=***";
        check_refused(json!({"url": hidden}), &["url: expected the complete URL"]);
        check_refused(json!({"url": "replay://x"}), &["url: expected an address"]);
        check_refused(json!({"static": "a b"}), &["static: the feed id"]);
        check_refused(json!({"headers": {"a": {"env": "HOME"}}}), &["headers.a: expected text"]);
        check_refused(json!({"headers": {"a": "***"}}), &["headers.a: the feed has no secret"]);
        check_refused(
            json!({"basic": {"user": "a", "password": {"file": "/etc/passwd"}}}),
            &["basic.password: expected text"],
        );
        check_refused(json!({"headers": {"a": null}}), &["headers.a: expected text"]);
    }

    #[test]
    fn a_second_credential_beside_one_of_the_file_is_refused() {
        let mut known = feed();
        apply_override_keys(
            &mut known,
            &keys(json!({"headers": {"Authorization": "hunter2"}})),
            &[],
        )
        .unwrap();
        let basic = keys(json!({"basic": {"user": "me", "password": "hunter2"}}));
        let errors = apply_override_keys(&mut known, &basic, &[]).unwrap_err();
        assert!(errors[0].reason.contains("one of basic"), "{errors:?}");
        assert!(known.basic.is_none());
    }

    #[test]
    fn an_override_must_fit_the_keys_of_the_file() {
        let toml = "[[converter]]\nfrom = \"siri\"\nto = \"gtfs-rt\"\ncommand = [\"cat\"]\n\
                    [[feed]]\nid = \"a\"\nurl = \"https://a.example/\"\nformat = \"siri\"\n";
        let file = Config::parse(Path::new("lineside.toml"), toml).unwrap();
        for (given_keys, expected_message) in [
            (json!({"siri": {"mode": "subscribe"}}), Some("siri.mode: a converter needs")),
            (
                json!({"siri": {"mode": "lite", "requestor_ref": "hunter2"}}),
                Some("siri.requestor_ref: with a requestor"),
            ),
            (json!({"siri": {"mode": "request"}, "format": "gbfs"}), Some("siri: only for SIRI")),
            (json!({"siri": {"mode": "request"}}), None),
        ] {
            let mut known = file.feeds[0].clone();
            let apply_result = apply_override_keys(&mut known, &keys(given_keys), &file.converters)
                .map_err(|errors| errors.iter().map(ToString::to_string).collect::<String>());
            match expected_message {
                Some(expected_message) => {
                    assert!(apply_result.unwrap_err().starts_with(expected_message))
                }
                None => apply_result.unwrap(),
            }
            assert_eq!(known == file.feeds[0], expected_message.is_some());
        }
        // Conversely: the file subscribes, and the override sets a format.
        let mut known = feed();
        apply_override_keys(&mut known, &keys(json!({"siri": {"mode": "subscribe"}})), &[])
            .unwrap();
        let errors =
            apply_override_keys(&mut known, &keys(json!({"format": "siri"})), &file.converters);
        assert_eq!(errors.unwrap_err()[0].key, "siri.mode");
    }

    #[test]
    fn redacted_secrets_can_be_sent_back_unchanged() {
        let mut known = feed();
        let given = keys(json!({
            "url": "https://me:pw@a.example/x?key=hunter2", "headers": {"X-Key": "hunter2"},
            "query": {"q": "hunter2"}, "basic": {"user": "me", "password": "hunter2"}, "poll": "30s"
        }));
        apply_override_keys(&mut known, &given, &[]).unwrap();
        let shown = redact_secrets(&given);
        let text = serde_json::to_string(&shown).unwrap();
        assert!(!text.contains("hunter2") && !text.contains("pw"), "{text}");
        let mut back = shown;
        restore_redacted_secrets(&mut back, &known);
        assert_eq!(back, given);

        let (mut known, given) = (feed(), keys(client()));
        apply_override_keys(&mut known, &given, &[]).unwrap();
        let mut back = redact_secrets(&given);
        assert!(!serde_json::to_string(&back).unwrap().contains("hunter"), "{back:?}");
        restore_redacted_secrets(&mut back, &known);
        assert_eq!(back, given);
    }
}
