//! The proxy configuration of transport.data.gouv.fr: a YAML file with a list of `feeds`, read like the `[[feed]]`
//! tables of a configuration, so that its owners can try it here unchanged.
//!
//! `identifier` is the feed's id, `target_url` its address, `ttl` (seconds) its poll interval. The default of `ttl` is
//! 0, which makes that proxy request the producer for each of its own requests. This server never does that, so 0 means
//! the default interval here. The address of type `gbfs` is called `base_url`. Unknown keys are ignored, as by that
//! proxy; so are feeds of unsupported types, each with a warning.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use http::header::CONTENT_DISPOSITION;
use saphyr::{LoadableYamlNode as _, MarkedYaml, Scalar, YamlData};
use toml::Spanned;

use super::config_file::{ConfigFileTables, FeedTable, ParsedConfig};
use super::error::{ConfigError, ConfigErrors};
use super::value::{DurationText, SecretText};

/// Maximum number of errors that are reported.
const ERRORS_MAX: usize = 100;
/// Maximum size of the file, in bytes.
const TEXT_BYTES_MAX: usize = 8 << 20;

/// The keys of a feed here and in that file.
const NAMES: [(&str, &str); 5] = [
    ("id", "identifier"),
    ("url", "target_url"),
    ("poll", "ttl"),
    ("headers", "request_headers"),
    ("reply_headers", "response_headers"),
];

/// The types of that proxy that are supported here.
const TYPES: [&str; 3] = ["gtfs-rt", "generic-http", "gbfs"];
/// Its other known types, and the reason why each is not supported.
const UNSUPPORTED_TYPES: [(&str, &str); 2] = [
    ("s3", "files in S3 are not supported: publish them at an http(s) URL"),
    ("dynamic-irve-aggregate", "merged charging points are not supported"),
];

/// Returns true if a file of this name is such a configuration.
pub(super) fn is_proxy_yaml(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|it| it.eq_ignore_ascii_case("yml") || it.eq_ignore_ascii_case("yaml"))
}

/// Parses the text into the shape of a configuration. Invalid parts are left out and reported.
///
/// # Errors
/// Returns the errors of a text that is not such a configuration at all.
pub(super) fn parse_proxy_yaml(path: &Path, text: &str) -> Result<ParsedConfig, Vec<ConfigError>> {
    let mut reader = YamlReader { path, text, errors: Vec::new(), warnings: Vec::new() };
    if text.len() > TEXT_BYTES_MAX {
        let reason = format!("larger than {} MiB", TEXT_BYTES_MAX >> 20);
        return Err(vec![ConfigError::at_span(path, text, None, "", reason)]);
    }
    let documents = MarkedYaml::load_from_str(text).map_err(|error| {
        let span = line_start_span(text, error.marker().line());
        vec![ConfigError::at_span(path, text, Some(span), "", error.info())]
    })?;
    let feeds = documents.first().and_then(|root| root.data.as_mapping_get("feeds"));
    let Some(YamlData::Sequence(entries)) = feeds.map(|feeds| &feeds.data) else {
        let reason = "expected a list `feeds`, as in transport.data.gouv.fr's proxy configuration";
        return Err(vec![ConfigError::at_span(path, text, None, "feeds", reason)]);
    };
    let (mut feed, mut feed_numbers) = (Vec::new(), Vec::new());
    let mut has_all_feeds = true;
    for (number, entry) in entries.iter().enumerate() {
        if reader.errors.len() >= ERRORS_MAX {
            has_all_feeds = false;
            break;
        }
        if reader.warn_if_unsupported_type(entry, number) {
            continue;
        }
        if let Some(table) = reader.read_feed(entry, &format!("feed[{number}]")) {
            feed.push(table);
            feed_numbers.push(number);
        } else {
            has_all_feeds = false;
        }
    }
    let file = ConfigFileTables { feed, ..ConfigFileTables::default() };
    let YamlReader { errors, warnings, .. } = reader;
    Ok(ParsedConfig {
        file,
        errors,
        warnings,
        feed_numbers,
        has_all_feeds,
        has_all_converters: true,
        ..ParsedConfig::default()
    })
}

/// Renames the keys in errors to those of that file.
pub(super) fn rename_error_keys(errors: ConfigErrors) -> ConfigErrors {
    errors.with_renamed_keys(|key| {
        let Some((number, rest)) = key.strip_prefix("feed[").and_then(|it| it.split_once(']'))
        else {
            return key.to_owned();
        };
        let mut steps = rest.split('.').map(str::to_owned).collect::<Vec<_>>();
        if let Some(step) = steps.get_mut(1)
            && let Some((_, foreign_key)) =
                NAMES.iter().find(|(canonical_key, _)| canonical_key == step)
        {
            *step = (*foreign_key).to_owned();
        }
        format!("feeds[{number}]{}", steps.join("."))
    })
}

struct YamlReader<'a> {
    path: &'a Path,
    text: &'a str,
    errors: Vec<ConfigError>,
    warnings: Vec<ConfigError>,
}

impl YamlReader<'_> {
    /// Returns true, with a warning, if a feed is of an unsupported type. That proxy gains and renames types, so an
    /// unknown one does not refuse the other feeds.
    fn warn_if_unsupported_type(&mut self, entry: &MarkedYaml<'_>, number: usize) -> bool {
        let kind = entry.data.as_mapping_get("type");
        let Some(name) = kind.and_then(scalar_text).filter(|name| !TYPES.contains(&name.as_str()))
        else {
            return false;
        };
        let why = match UNSUPPORTED_TYPES.iter().find(|(known, _)| *known == name) {
            Some((_, why)) => (*why).to_owned(),
            None => format!("the supported types are {}", TYPES.join(", ")),
        };
        let span = self.line_span(entry);
        let (key, reason) = (format!("feeds[{number}]"), format!("type {name} is ignored: {why}"));
        self.warnings.push(ConfigError::at_span(self.path, self.text, Some(span), key, reason));
        true
    }

    fn add_error(&mut self, at: &MarkedYaml<'_>, key: &str, reason: impl Into<String>) {
        let span = self.line_span(at);
        self.errors.push(ConfigError::at_span(self.path, self.text, Some(span), key, reason));
    }

    /// Returns the line of a node as a span.
    fn line_span(&self, at: &MarkedYaml<'_>) -> Range<usize> {
        line_start_span(self.text, at.span.start.line())
    }

    fn with_line_span<T>(&self, at: &MarkedYaml<'_>, value: T) -> Spanned<T> {
        Spanned::new(self.line_span(at), value)
    }

    fn read_feed(&mut self, entry: &MarkedYaml<'_>, key: &str) -> Option<FeedTable> {
        let YamlData::Mapping(pairs) = &entry.data else {
            self.add_error(entry, key, "expected the keys of a feed");
            return None;
        };
        let before = self.errors.len();
        let (mut id, mut url, mut poll, mut format) = (None, None, None, None);
        let (mut headers, mut reply_headers) = (BTreeMap::new(), Vec::new());
        for (name, value) in pairs {
            let name = scalar_text(name).unwrap_or_default();
            match name.as_str() {
                "identifier" => id = self.read_text(value, &format!("{key}.id")),
                "target_url" | "base_url" => url = self.read_text(value, &format!("{key}.url")),
                "ttl" => poll = self.read_ttl(value, &format!("{key}.poll")),
                "type" => format = self.read_format(value, &format!("{key}.type")),
                "request_headers" => {
                    let pairs = self.read_pairs(value, &format!("{key}.headers"));
                    let secret = |(name, value)| (name, SecretText::Plain(value));
                    headers = pairs.into_iter().map(secret).collect();
                }
                "response_headers" => {
                    reply_headers = self.read_pairs(value, &format!("{key}.reply_headers"));
                }
                // Unknown keys such as `slug` are ignored, as by that proxy.
                _ => {}
            }
        }
        if self.errors.len() == before {
            for (name, is_missing) in [("identifier", id.is_none()), ("target_url", url.is_none())]
            {
                if is_missing {
                    self.add_error(entry, key, format!("missing key `{name}`"));
                }
            }
        }
        let (id, url) = (id?, url?);
        let is_disposition = |name: &str| name.eq_ignore_ascii_case(CONTENT_DISPOSITION.as_str());
        let is_system = format.as_ref().is_some_and(|format| format.get_ref() == "gbfs");
        if !is_system && !reply_headers.iter().any(|(name, _)| is_disposition(name.get_ref())) {
            let name = self.with_line_span(entry, CONTENT_DISPOSITION.as_str().to_owned());
            reply_headers.push((name, default_content_disposition(id.get_ref(), url.get_ref())));
        }
        let table =
            FeedTable { poll, format, headers, reply_headers, ..FeedTable::for_url(id, url) };
        (self.errors.len() == before).then_some(table)
    }

    fn read_text(&mut self, value: &MarkedYaml<'_>, key: &str) -> Option<Spanned<String>> {
        match scalar_text(value) {
            Some(text) => Some(self.with_line_span(value, text)),
            None => {
                self.add_error(value, key, "expected text");
                None
            }
        }
    }

    fn read_ttl(&mut self, value: &MarkedYaml<'_>, key: &str) -> Option<Spanned<DurationText>> {
        match &value.data {
            YamlData::Value(Scalar::Integer(0) | Scalar::Null) => None,
            YamlData::Value(Scalar::Integer(seconds)) if *seconds > 0 => {
                let ttl = Duration::from_secs(seconds.unsigned_abs());
                Some(self.with_line_span(value, DurationText(ttl)))
            }
            _ => {
                self.add_error(value, key, "expected a whole number of seconds");
                None
            }
        }
    }

    /// Reads the format of a type. The generic types are detected from the content.
    fn read_format(&mut self, value: &MarkedYaml<'_>, key: &str) -> Option<Spanned<String>> {
        self.check_type(value, key);
        let text = scalar_text(value).filter(|text| text == "gbfs")?;
        Some(self.with_line_span(value, text))
    }

    fn check_type(&mut self, value: &MarkedYaml<'_>, key: &str) {
        let text = scalar_text(value).unwrap_or_default();
        if !TYPES.contains(&text.as_str()) {
            let reason = format!("expected `gtfs-rt`, `generic-http` or `gbfs`, not {text:?}");
            self.add_error(value, key, reason);
        }
    }

    /// Reads a list of pairs, or the pairs of a table. Error messages omit the values, because they may be secrets.
    fn read_pairs(&mut self, value: &MarkedYaml<'_>, key: &str) -> Vec<(Spanned<String>, String)> {
        let pairs: Option<Vec<_>> = match &value.data {
            YamlData::Sequence(list) => list
                .iter()
                .map(|pair| match &pair.data {
                    YamlData::Sequence(pair) if pair.len() == 2 => Some((&pair[0], &pair[1])),
                    _ => None,
                })
                .collect(),
            YamlData::Mapping(pairs) => Some(pairs.iter().collect()),
            YamlData::Value(Scalar::Null) => Some(Vec::new()),
            _ => None,
        };
        let texts: Option<Vec<_>> = pairs.and_then(|pairs| {
            let pair = |(name, value): (&MarkedYaml<'_>, &MarkedYaml<'_>)| {
                Some((self.with_line_span(name, scalar_text(name)?), scalar_text(value)?))
            };
            pairs.into_iter().map(pair).collect()
        });
        if texts.is_none() {
            self.add_error(value, key, "expected pairs of text, such as [[\"X-Key\", \"value\"]]");
        }
        texts.unwrap_or_default()
    }
}

/// Returns a scalar as text; numbers need no quotes.
fn scalar_text(value: &MarkedYaml<'_>) -> Option<String> {
    match &value.data {
        YamlData::Value(Scalar::String(text)) => Some(text.clone().into_owned()),
        YamlData::Value(Scalar::Integer(number)) => Some(number.to_string()),
        YamlData::Value(Scalar::Boolean(truth)) => Some(truth.to_string()),
        YamlData::Representation(text, ..) => Some(text.clone().into_owned()),
        _ => None,
    }
}

/// Returns the start of a line, counted from 1, as an empty span.
fn line_start_span(text: &str, line: usize) -> Range<usize> {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1));
    let start = before.map(str::len).sum::<usize>();
    start..start
}

/// Returns that proxy's default header for a file: browsers save it under the name in its address.
fn default_content_disposition(id: &str, url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    let behind_scheme = plain.split_once("://").map_or(plain, |(_, rest)| rest);
    let last = behind_scheme.rsplit_once('/').map_or("", |(_, last)| last);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_name = last.contains('.') && !last.starts_with('.') && last.chars().all(is_plain);
    format!("attachment; filename=\"{}\"", if is_name { last } else { id })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn read(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("proxy-config.yml"), text).map_err(|errors| errors.to_string())
    }

    #[test]
    fn feeds_are_read_with_the_meaning_of_the_proxy() {
        let text = "---\n# état du proxy\nfeeds:\n  - identifier: divia-dijon-gtfs-rt-trip-update\n    \
                    target_url: \"https://example.com/tu?x=1\"\n    ttl: 10\n    type: gtfs-rt\n  - \
                    identifier: plain\n    target_url: https://example.com/p.json\n    \
                    request_headers:\n      - [X-Key, hunter2]\n      - [\"X-Number\", 17]\n    \
                    response_headers: [[\"Content-Disposition\", \"attachment; filename=p.json\"]]\n    \
                    caching: disk\n";
        let config = read(text).unwrap();
        let [first, second] = &config.feeds[..] else { panic!("{:?}", config.feeds) };
        assert_eq!(first.id.as_str(), "divia-dijon-gtfs-rt-trip-update");
        assert_eq!(first.url.to_string(), "https://example.com/tu?x=1");
        assert_eq!(first.poll, Some(Duration::from_secs(10)));
        assert_eq!(second.poll, None);
        let with_url = |url: &str| {
            let text = format!("feeds:\n- identifier: a\n  target_url: {url}\n  type: gtfs-rt\n");
            let feed = read(&text).unwrap().feeds.remove(0);
            let [(name, value)] = &feed.reply_headers[..] else { panic!("{feed:?}") };
            assert_eq!(name, "content-disposition");
            value.to_str().unwrap().to_owned()
        };
        assert_eq!(with_url("https://x.org/a/tu.pb?key=b.c"), "attachment; filename=\"tu.pb\"");
        assert_eq!(with_url("https://x.org"), "attachment; filename=\"a\"");
        assert_eq!(with_url("https://x.org/a%22b.pb"), "attachment; filename=\"a\"");
        let headers: Vec<_> =
            second.headers.iter().map(|(name, value)| (&**name, value.reveal())).collect();
        assert_eq!(headers, [("X-Key", "hunter2"), ("X-Number", "17")]);
        let (name, value) = &second.reply_headers[0];
        assert_eq!(name, "content-disposition");
        assert_eq!(value, "attachment; filename=p.json");
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn a_gbfs_feed_has_a_base_url() {
        let text = "feeds:\n  - identifier: bikes\n    type: gbfs\n    base_url: \
                    https://example.com/bikes/gbfs.json\n    ttl: 30\n";
        let config = read(text).unwrap();
        let bikes = &config.feeds[0];
        assert_eq!(bikes.url.to_string(), "https://example.com/bikes/gbfs.json");
        assert_eq!(bikes.format, Some(lineside_formats::Format::Gbfs));
        assert_eq!(bikes.poll, Some(Duration::from_secs(30)));
    }

    #[test]
    fn unknown_keys_and_other_types_are_skipped() {
        let text = "feeds:\n- identifier: a\n  slug: a-b\n  type: generic-http\n  target_url: http://x/\n\
                    - identifier: b\n  type: s3\n  bucket: c\n  path: d\n\
                    - type: dynamic-irve-aggregate\n  identifier: e\n  feeds: [{slug: f}]\n\
                    - type: later\n  identifier: g\n";
        let config = read(text).unwrap();
        let ids: Vec<&str> = config.feeds.iter().map(|feed| feed.id.as_str()).collect();
        assert_eq!(ids, ["a"]);
        let warnings: Vec<&str> = config.source.warnings.iter().map(String::as_str).collect();
        let [s3, merged, unknown] = warnings[..] else { panic!("{warnings:?}") };
        assert!(s3.starts_with("proxy-config.yml line 6, feeds[1]: type s3"), "{s3}");
        assert!(merged.starts_with("proxy-config.yml line 10, feeds[2]: type dynamic"), "{merged}");
        assert!(unknown.starts_with("proxy-config.yml line 13, feeds[3]: type later"), "{unknown}");
    }

    #[track_caller]
    fn check_refused(text: &str, expect: &[&str]) {
        assert_eq!(read(text).unwrap_err().lines().collect::<Vec<_>>(), expect);
    }

    #[test]
    fn unsupported_entries_are_refused_with_line_and_key() {
        check_refused(
            "feeds:\n  - identifier: é\n    target_url: ftp://x/y\n  - identifier: b\n    \
             target_url: http://x/\n    type: s3\n  - identifier: b\n    target_url: http://x/\n    \
             ttl: soon\n  - identifier: c\n    bucket: x\n  - identifier: d\n  - 3\n",
            &[
                "proxy-config.yml line 2, feeds[0].identifier: the feed id \"é\" may only contain \
                 letters, digits, '.', '_' and '-'",
                "proxy-config.yml line 3, feeds[0].target_url: the scheme of the URL must be http, https, \
                 file or replay, not \"ftp\"",
                "proxy-config.yml line 9, feeds[2].ttl: expected a whole number of seconds",
                "proxy-config.yml line 10, feeds[3]: missing key `target_url`",
                "proxy-config.yml line 12, feeds[4]: missing key `target_url`",
                "proxy-config.yml line 13, feeds[5]: expected the keys of a feed",
            ],
        );
        check_refused(
            "feeds:\n- identifier: a\n  target_url: http://x/\n  response_headers: [[ETag, x]]\n- \
             identifier: a\n  target_url: http://x/\n",
            &[
                "proxy-config.yml line 4, feeds[0].response_headers.ETag: the server sets this header",
                "proxy-config.yml line 5, feeds[1].identifier: another feed already has the id \"a\"",
            ],
        );
    }

    #[test]
    fn a_file_without_a_list_of_feeds_is_refused() {
        let expect = "proxy-config.yml, feeds: expected a list `feeds`, as in \
                      transport.data.gouv.fr's proxy configuration";
        check_refused("", &[expect]);
        check_refused("feeds: 3\n", &[expect]);
        let error = read("feeds:\n  - [\n").unwrap_err();
        assert!(error.starts_with("proxy-config.yml line "), "{error}");
    }

    #[test]
    fn random_input_never_panics() {
        const LETTERS: &[u8] = b"-:[]{}&*!|>'\"#%@, \n \nab01";
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            let length = rng.usize(..40);
            let letters = std::iter::repeat_with(|| LETTERS[rng.usize(..LETTERS.len())]);
            let text: String = letters.take(length).map(char::from).collect();
            _ = read(&format!("feeds:\n  - {text}"));
            _ = read(&text);
        }
    }
}
