//! The effective configuration of a feed, as keys of the configuration file. The values include secrets.

use std::time::Duration;

use lineside_formats::Format;
use lineside_model::{FeedConfig, Secret, SiriIdMapping, SiriSourceSettings, SourceLocation};
use serde_json::{Map, Value};

use super::FeedKeys;
use crate::{format_duration, format_size};

/// Returns all keys of a feed except its id, including default sizes and times.
pub fn effective_feed_keys(feed: &FeedConfig) -> FeedKeys {
    let mut keys = FeedKeys::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            keys.insert(key.to_owned(), value);
        }
    };
    let text = |text: &Option<String>| text.as_deref().map(Value::from);
    let time = |time: Duration| Value::from(format_duration(time));
    let url = match &feed.url {
        SourceLocation::Http(url) => url.to_string(),
        other => other.to_string(),
    };
    put("url", Some(Value::from(url)));
    // The format of a converted feed is the one that its producer sends.
    let from = feed.converter.as_ref().map(|converter| converter.from.as_str());
    put("format", from.or(feed.format.map(Format::as_str)).map(Value::from));
    put("name", text(&feed.name));
    put("publisher", text(&feed.publisher));
    put("licence", text(&feed.licence));
    put("theme", text(&feed.theme));
    put("description", text(&feed.description));
    put("static", feed.static_feed.as_ref().map(|id| Value::from(id.as_str())));
    put("headers", secret_pairs_as_object(&feed.headers));
    put("query", secret_pairs_as_object(&feed.query));
    put(
        "basic",
        feed.basic.as_ref().map(|basic| {
            json_object_of_present([
                ("user", Some(basic.user.as_str())),
                ("password", Some(basic.password.reveal())),
            ])
        }),
    );
    put(
        "oauth2",
        feed.oauth2.as_ref().map(|client| {
            json_object_of_present([
                ("token_url", Some(client.token_url.as_str())),
                ("client_id", Some(client.client_id.as_str())),
                ("client_secret", Some(client.client_secret.reveal())),
                ("scope", client.scope.as_deref()),
                ("audience", client.audience.as_deref()),
            ])
        }),
    );
    put("siri", feed.siri.as_deref().map(siri_table_value));
    put("poll", feed.poll.map(time));
    put("ttl", feed.ttl.map(time));
    put("rate", feed.rate.map(|rate| Value::from(rate.to_string())));
    put("max_concurrent_requests", feed.max_concurrent_requests.map(Value::from));
    put("timeout", Some(time(feed.timeout)));
    put("max_bytes", Some(Value::from(format_size(feed.max_bytes))));
    put("max_age", feed.max_age.map(time));
    put("late_after", Some(time(feed.late_after)));
    put("trip_late_after", feed.trip_late_after.map(time));
    keys
}

/// Returns the default keys of a feed with this address.
pub fn default_feed_keys(feed: &FeedConfig) -> FeedKeys {
    let mut keys = effective_feed_keys(&FeedConfig::new(feed.id.clone(), feed.url.clone()));
    keys.remove("url");
    keys
}

/// Returns the `siri` table of a feed.
fn siri_table_value(siri: &SiriSourceSettings) -> Value {
    let mut keys = Map::new();
    let services: Vec<&str> = siri.services.iter().map(|it| it.as_str()).collect();
    keys.insert("services".to_owned(), Value::from(services));
    keys.insert("mode".to_owned(), Value::from(siri.mode.as_str()));
    keys.insert("envelope".to_owned(), Value::from(siri.envelope.as_str()));
    let ids = match (&siri.ids, siri.ids.config_name()) {
        (_, Some(ids_name)) => Value::from(ids_name.as_str()),
        (SiriIdMapping::Table(path, _), None) => json_object_of_present([("file", Some(&**path))]),
        (_, None) => Value::Null,
    };
    keys.insert("ids".to_owned(), ids);
    if !siri.stops.is_empty() {
        keys.insert("stops".to_owned(), Value::from(siri.stops.clone()));
    }
    if let Some(requestor) = &siri.requestor_ref {
        keys.insert("requestor_ref".to_owned(), Value::from(requestor.reveal()));
    }
    Value::Object(keys)
}

fn secret_pairs_as_object(pairs: &[(String, Secret)]) -> Option<Value> {
    let table = pairs.iter().map(|(name, secret)| (name.clone(), Value::from(secret.reveal())));
    (!pairs.is_empty()).then(|| Value::Object(table.collect()))
}

fn json_object_of_present<const N: usize>(members: [(&str, Option<&str>); N]) -> Value {
    let known_members = members.into_iter().filter_map(|(name, value)| Some((name, value?)));
    Value::Object(
        known_members
            .map(|(name, value)| (name.to_owned(), Value::from(value)))
            .collect::<Map<_, _>>(),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lineside_model::{ExternalProgram, FeedId, FormatConverter};
    use serde_json::json;

    use super::*;
    use crate::overrides::{FeedOverride, apply_feed_override};

    #[test]
    fn the_effective_keys_of_a_feed_recreate_the_feed() {
        let expected_keys = json!({
            "url": "https://me:pw@b.example/y?key=hunter2", "format": "siri", "name": "B",
            "publisher": "P", "licence": "L", "theme": "bus", "description": "D", "static": "city",
            "headers": {"X-Key": "hunter2"}, "query": {"q": "hunter2"},
            "oauth2": {"token_url": "https://t.example/", "client_id": "me", "client_secret": "s", "scope": "all"},
            "siri": {"services": ["et"], "mode": "request", "envelope": "xml", "ids": "prefix:a",
                "requestor_ref": "hunter2"},
            "poll": "1h30m", "ttl": "20s", "rate": "4/min", "max_concurrent_requests": 1, "timeout": "250ms",
            "max_bytes": "1025", "max_age": "1h", "late_after": "2m", "trip_late_after": "3m"
        });
        let override_with = |keys: &FeedKeys| FeedOverride {
            added: true,
            keys: keys.clone(),
            ..FeedOverride::default()
        };
        let id = FeedId::new("a").unwrap();
        let feed =
            apply_feed_override(&id, None, &[], &override_with(expected_keys.as_object().unwrap()))
                .unwrap()
                .unwrap();
        let shown = effective_feed_keys(&feed);
        assert_eq!(Value::Object(shown.clone()), expected_keys);
        assert_eq!(
            apply_feed_override(&id, None, &[], &override_with(&shown)).unwrap().unwrap(),
            feed
        );
        let basic = json!({"url": "https://b.example/y", "basic": {"user": "me", "password": "s"}});
        let feed = apply_feed_override(&id, None, &[], &override_with(basic.as_object().unwrap()))
            .unwrap()
            .unwrap();
        let shown = effective_feed_keys(&feed);
        assert_eq!((&shown["basic"], &shown["max_bytes"]), (&basic["basic"], &json!("512MiB")));
        assert!(
            !shown.contains_key("poll") && !shown.contains_key("headers"),
            "{:?}",
            shown.keys()
        );
    }

    #[test]
    fn a_converted_feed_has_the_format_of_its_producer() {
        let program = ExternalProgram {
            command: vec!["cat".to_owned()],
            timeout: Duration::from_secs(1),
            memory: 1 << 30,
        };
        let converter = FormatConverter { from: "hafas".into(), to: Format::GtfsRt, program };
        let converters = [Arc::new(converter)];
        let override_for_format = |format: &str| {
            let keys = json!({"url": "https://b.example/y", "format": format});
            let keys = keys.as_object().unwrap().clone();
            FeedOverride { added: true, keys, ..FeedOverride::default() }
        };
        let id = FeedId::new("a").unwrap();
        let feed = apply_feed_override(&id, None, &converters, &override_for_format("hafas"))
            .unwrap()
            .unwrap();
        assert_eq!(feed.converter.as_ref(), Some(&converters[0]));
        assert_eq!(
            (feed.configured_format(), &effective_feed_keys(&feed)["format"]),
            (converters[0].to.into(), &json!("hafas"))
        );
        // GTFS-Realtime needs no converter.
        let feed_override = FeedOverride { added: false, ..override_for_format("gtfs-rt") };
        let feed =
            apply_feed_override(&id, Some(&feed), &converters, &feed_override).unwrap().unwrap();
        assert_eq!((feed.converter, feed.format), (None, Some(Format::GtfsRt)));
        let unknown =
            apply_feed_override(&id, None, &[], &override_for_format("hafas")).unwrap_err();
        assert_eq!(unknown[0].key, "format");
    }
}
