//! Turns the parsed file into the configuration: checks ranges and references, reads secrets and resolves paths.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use lineside_formats::Format;
use lineside_model::{FeedConfig, FeedId, Secret, SourceLocation};
use toml::Spanned;

use super::config_checker::{ConfigChecker, PAIRS_MAX, expected_message};
use super::config_file::{FeedTable, MapTable, ParsedConfig, ServerTable};
use super::error::ConfigErrors;
use super::siri::{find_missing_public_url, find_siri_conflict};
use super::value::{ADDRESS, SecretText};
use super::{
    Config, ConfigSource, ExternalDefinitions, MapConfig, MapSource, ServerConfig, TlsConfig,
};

/// Maximum number of feeds.
const FEEDS_MAX: usize = 10_000;
/// Maximum number of map origins: each is part of a header of every page.
const ORIGINS_MAX: usize = 32;
/// Maximum number of trusted proxies: the address of each request is compared with them.
const PROXIES_MAX: usize = 256;

const DRAIN: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(4);
const CONCURRENT_REQUESTS: RangeInclusive<u64> = 1..=64;
const POLL: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(7 * 86_400);
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(600);
const AGE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(366 * 86_400);
/// Timetables have minutes; a trip that is a day late is the next day's trip.
const TRIP_LATE: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(86_400);
const BODY_BYTES: RangeInclusive<u64> = 1024..=(4 << 30);

/// Checks everything beyond the file's syntax.
///
/// Feeds that are defined elsewhere keep their ids.
///
/// # Errors
/// Returns all errors, in the order of the file.
pub(super) fn resolve_config(
    path: &Path,
    text: &str,
    parsed: ParsedConfig,
    others: ExternalDefinitions<'_>,
) -> Result<Config, ConfigErrors> {
    let ParsedConfig { file, errors, feed_numbers, namespace_numbers, alert_numbers, .. } = parsed;
    let mut checker =
        ConfigChecker { external_feeds: others.feeds, ..ConfigChecker::new(path, text) };
    checker.has_all_converters = parsed.has_all_converters;
    checker.is_public = others.is_part || file.server.public_url.is_some();
    checker.converters = checker.check_converters(file.converter, &parsed.converter_numbers);
    checker.converters.extend(others.converters.iter().map(Arc::clone));
    let defaults = Config::default();
    let (imported, mut source) = checker.import_feeds(file.import.feeds)?;
    source.warnings.extend(parsed.warnings.iter().map(ToString::to_string));
    let mut config = Config {
        server: checker.check_server(file.server, defaults.server),
        limits: checker.check_limits(file.limits, defaults.limits),
        token: file.token.and_then(|token| checker.check_token_table(token)),
        api: checker.check_api_table(file.api),
        admin: checker.check_admin_table(file.admin),
        namespaces: checker.check_namespaces(file.namespace, &namespace_numbers),
        retention: checker.check_retention(file.retention, defaults.retention),
        uploads: checker.check_uploads(file.uploads),
        validation: checker.check_validation(file.validation),
        site: checker.check_site(file.site),
        map: checker.check_map(file.map),
        converters: checker.converters.clone(),
        external_validators: checker
            .check_external_validators(file.external_validator, &parsed.validator_numbers),
        feeds: checker.check_feeds(file.feed, &feed_numbers, parsed.has_all_feeds, &imported),
        source,
        smtp: None,
        alerts: Vec::new(),
    };
    config.feeds.extend(imported);
    config.alerts = checker.check_alerts(file.alert, &alert_numbers, file.smtp.is_some());
    config.smtp = file.smtp.and_then(|table| checker.check_smtp(table));
    checker.errors.extend(errors);
    ConfigErrors::ok_if_empty(checker.errors)?;
    Ok(config)
}

/// The feeds of another file, and their source.
type ImportedFeeds = (Vec<FeedConfig>, ConfigSource);

impl ConfigChecker<'_> {
    /// Several credentials would leave open which one counts.
    fn check_one_credential(&mut self, key: &str, table: &FeedTable) {
        let is_authorization =
            |name: &&Spanned<String>| name.get_ref().eq_ignore_ascii_case("authorization");
        let header = table.headers.keys().find(is_authorization);
        let reason = "a feed can have only one of basic, oauth2 and an Authorization header";
        match (&table.basic, &table.oauth2, header) {
            (Some(_), Some(oauth2), _) => self.add_error(oauth2, &format!("{key}.oauth2"), reason),
            (None, None, _) | (_, _, None) => {}
            (_, _, Some(header)) => self.add_error(header, &format!("{key}.headers"), reason),
        }
    }

    fn check_server(&mut self, table: ServerTable, defaults: ServerConfig) -> ServerConfig {
        let listen = table.listen.and_then(|listen| {
            let text = &listen.get_ref().0;
            let parsed = text.parse();
            if parsed.is_err() {
                let reason = expected_message(ADDRESS, text);
                self.add_error(&listen, "server.listen", reason);
            }
            parsed.ok()
        });
        ServerConfig {
            listen: listen.unwrap_or(defaults.listen),
            public_url: table
                .public_url
                .and_then(|url| self.check_web_url("server.public_url", &url)),
            trusted_proxies: self.check_trusted_proxies(&table.trusted_proxies),
            data_dir: table.data_dir.map(|folder| self.base.join(folder)),
            drain: self
                .check_duration("server.drain", table.drain, DRAIN)
                .unwrap_or(defaults.drain),
            user_agent: self.check_user_agent(table.user_agent).unwrap_or(defaults.user_agent),
            allow_private_subscribers: table.allow_private_subscribers,
            cross_origin: table.cross_origin.unwrap_or(true),
            tls: table.tls.map(|tls| TlsConfig {
                cert: self.base.join(tls.cert),
                key: self.base.join(tls.key),
            }),
        }
    }

    fn check_trusted_proxies(&mut self, texts: &[Spanned<String>]) -> Vec<IpNet> {
        if let Some(extra) = texts.get(PROXIES_MAX) {
            let reason = format!("more than {PROXIES_MAX} proxies");
            self.add_error(extra, "server.trusted_proxies", reason);
        }
        let parse = |text: &Spanned<String>| {
            let text = text.get_ref();
            text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).ok()
        };
        let mut proxies = Vec::new();
        for text in texts {
            match parse(text) {
                Some(proxy) => proxies.push(proxy),
                None => {
                    let reason = expected_message(
                        "an address or a network such as \"10.0.0.0/8\"",
                        text.get_ref(),
                    );
                    self.add_error(text, "server.trusted_proxies", reason);
                }
            }
        }
        proxies
    }

    fn check_map(&mut self, table: MapTable) -> MapConfig {
        if let (Some(_), Some(pmtiles)) = (&table.style, &table.pmtiles) {
            let reason = "a map can have a style or a PMTiles archive, not both";
            self.add_error(pmtiles, "map.pmtiles", reason);
        }
        MapConfig {
            style: table.style.and_then(|source| self.check_map_source("map.style", &source)),
            pmtiles: table.pmtiles.and_then(|source| self.check_map_source("map.pmtiles", &source)),
            origins: self.check_map_origins(&table.origins),
        }
    }

    fn check_map_origins(&mut self, texts: &[Spanned<String>]) -> Vec<String> {
        if let Some(beyond) = texts.get(ORIGINS_MAX) {
            self.add_error(beyond, "map.origins", format!("more than {ORIGINS_MAX} origins"));
        }
        texts.iter().take(ORIGINS_MAX).filter_map(|text| self.check_map_origin(text)).collect()
    }

    fn check_map_origin(&mut self, text: &Spanned<String>) -> Option<String> {
        let url = self.check_web_url("map.origins", text)?;
        let origin = url.origin().ascii_serialization();
        // The URL of an origin is the origin and a slash. Anything more would be ignored.
        if url.as_str().strip_suffix('/') != Some(&origin) {
            let expected = "an origin, such as \"https://tiles.example.org\"";
            self.add_error(text, "map.origins", expected_message(expected, text.get_ref()));
        }
        Some(origin)
    }

    fn check_map_source(&mut self, key: &str, source: &Spanned<String>) -> Option<MapSource> {
        if source.get_ref().contains("://") {
            return self.check_web_url(key, source).map(MapSource::Url);
        }
        let file = self.base.join(source.get_ref());
        if !file.is_file() {
            let reason =
                expected_message("an http(s) URL or an existing file", &file.to_string_lossy());
            self.add_error(source, key, reason);
        }
        Some(MapSource::File(file))
    }

    fn check_feeds(
        &mut self,
        tables: Vec<FeedTable>,
        numbers: &[usize],
        are_all: bool,
        imported: &[FeedConfig],
    ) -> Vec<FeedConfig> {
        let imported: HashSet<&str> = imported.iter().map(|feed| feed.id.as_str()).collect();
        if let Some(extra) = tables.get(FEEDS_MAX) {
            self.add_error(&extra.id, "feed", format!("more than {FEEDS_MAX} feeds"));
        }
        self.check_unique_feed_ids(&tables, numbers, &imported);
        if are_all {
            self.check_schedule_references(&tables, &imported);
        }
        let feeds = numbers.iter().zip(tables);
        feeds
            .filter_map(|(number, table)| self.check_feed(&format!("feed[{number}]"), table))
            .collect()
    }

    /// Reads the feeds of another file, whose errors name that file, and its stamp.
    fn import_feeds(
        &mut self,
        file: Option<Spanned<String>>,
    ) -> Result<ImportedFeeds, ConfigErrors> {
        let Some(file) = file else { return Ok(ImportedFeeds::default()) };
        let path = self.base.join(file.get_ref());
        if !super::proxy_yaml::is_proxy_yaml(&path) {
            self.add_error(
                &file,
                "import.feeds",
                expected_message("a .yml or .yaml file", file.get_ref()),
            );
            return Ok(ImportedFeeds::default());
        }
        let config = Config::load_with_feeds(&path, self.external_feeds)?;
        Ok((config.feeds, ConfigSource { file: None, ..config.source }))
    }

    fn check_unique_feed_ids(
        &mut self,
        tables: &[FeedTable],
        numbers: &[usize],
        imported: &HashSet<&str>,
    ) {
        let mut seen = imported.clone();
        for (number, table) in numbers.iter().zip(tables) {
            let id = table.id.get_ref().as_str();
            let is_named = self.external_feeds.iter().any(|other| other.id.as_str() == id);
            let reason = match seen.insert(id) {
                _ if is_named => format!("a --feed has the id {id:?}"),
                false => format!("another feed already has the id {id:?}"),
                true => continue,
            };
            self.add_error(&table.id, &format!("feed[{number}].id"), reason);
        }
    }

    fn check_schedule_references(&mut self, tables: &[FeedTable], imported: &HashSet<&str>) {
        let by_id: BTreeMap<&str, &FeedTable> =
            tables.iter().map(|table| (table.id.get_ref().as_str(), table)).collect();
        for (index, table) in tables.iter().enumerate() {
            let Some(schedule) = &table.static_feed else { continue };
            let reason = match by_id.get(schedule.get_ref().as_str()) {
                None if imported.contains(schedule.get_ref().as_str()) => continue,
                None => {
                    expected_message("the id of a schedule feed in this file", schedule.get_ref())
                }
                Some(target) if target.id.get_ref() == table.id.get_ref() => {
                    "a feed cannot be its own schedule".to_owned()
                }
                Some(target) if target.static_feed.is_some() => {
                    format!("{:?} is not a schedule, because it has one", schedule.get_ref())
                }
                Some(_) => continue,
            };
            self.add_error(schedule, &format!("feed[{index}].static"), reason);
        }
    }

    /// Reports a local file as the source of a GBFS system.
    fn refuse_local_gbfs_source(
        &mut self,
        key: &str,
        format: Option<Format>,
        url: Option<&SourceLocation>,
        at: &Spanned<String>,
    ) {
        if format.is_some_and(Format::is_shared_mobility)
            && url.is_some_and(SourceLocation::is_local_path)
        {
            let reason =
                "expected the http(s) URL of a gbfs.json: GBFS cannot be read from a local file";
            self.add_error(at, &format!("{key}.url"), reason);
        }
    }

    fn check_feed(&mut self, key: &str, table: FeedTable) -> Option<FeedConfig> {
        self.check_one_credential(key, &table);
        let id = self.check_feed_id(&format!("{key}.id"), &table.id);
        let url = self.check_source_location(&format!("{key}.url"), &table.url);
        let (format, converter) = self.resolve_feed_format(&format!("{key}.format"), table.format);
        self.refuse_local_gbfs_source(key, format, url.as_ref(), &table.url);
        let siri_at = table.siri.as_ref().map(|siri| Spanned::new(siri.span(), ()));
        let static_feed = match &table.static_feed {
            Some(schedule) => Some(self.check_feed_id(&format!("{key}.static"), schedule)?),
            None => None,
        };
        let name = self.check_short_text(&format!("{key}.name"), table.name);
        let publisher = self.check_short_text(&format!("{key}.publisher"), table.publisher);
        let licence = self.check_short_text(&format!("{key}.licence"), table.licence);
        let theme = self.check_short_text(&format!("{key}.theme"), table.theme);
        let description = self.check_short_text(&format!("{key}.description"), table.description);
        let headers = self.check_request_headers(&format!("{key}.headers"), table.headers);
        let query = self.check_named_secrets(&format!("{key}.query"), table.query);
        let poll = self.check_duration(&format!("{key}.poll"), table.poll, POLL);
        let ttl = self.check_duration(&format!("{key}.ttl"), table.ttl, POLL);
        let rate = self.check_rate_limit(&format!("{key}.rate"), table.rate);
        let max_concurrent_requests = self.check_count(
            &format!("{key}.max_concurrent_requests"),
            &table.max_concurrent_requests,
            CONCURRENT_REQUESTS,
        );
        let basic = self.check_basic_auth(&format!("{key}.basic"), table.basic);
        let oauth2 = self.check_oauth2(&format!("{key}.oauth2"), table.oauth2);
        let siri = self.check_siri(&format!("{key}.siri"), table.siri);
        let fault = find_siri_conflict(siri.as_deref(), url.as_ref(), format, converter.as_deref())
            .or_else(|| find_missing_public_url(siri.as_deref(), self.is_public));
        if let (Some(at), Some((part, reason))) = (siri_at, fault) {
            self.add_error(&at, &format!("{key}.{part}"), reason);
        }
        let timeout = self.check_duration(&format!("{key}.timeout"), table.timeout, TIMEOUT);
        let max_bytes = self.check_size(&format!("{key}.max_bytes"), &table.max_bytes, BODY_BYTES);
        let max_age = self.check_duration(&format!("{key}.max_age"), table.max_age, AGE);
        let late_after = self.check_duration(&format!("{key}.late_after"), table.late_after, AGE);
        let trip_late_after = self.check_duration(
            &format!("{key}.trip_late_after"),
            table.trip_late_after,
            TRIP_LATE,
        );
        let reply_headers =
            self.check_reply_headers(&format!("{key}.reply_headers"), table.reply_headers);
        let mut feed = FeedConfig::new(id?, url?);
        (feed.format, feed.converter) = (format, converter);
        feed.static_feed = static_feed;
        (feed.name, feed.publisher, feed.licence) = (name, publisher, licence);
        (feed.theme, feed.description) = (theme, description);
        (feed.headers, feed.query) = (headers, query);
        (feed.basic, feed.oauth2, feed.siri) = (basic, oauth2, siri);
        (feed.poll, feed.ttl, feed.max_age) = (poll, ttl, max_age);
        (feed.rate, feed.max_concurrent_requests) = (rate, max_concurrent_requests);
        feed.timeout = timeout.unwrap_or(feed.timeout);
        feed.max_bytes = max_bytes.unwrap_or(feed.max_bytes);
        feed.late_after = late_after.unwrap_or(feed.late_after);
        feed.trip_late_after = trip_late_after;
        feed.reply_headers = reply_headers;
        Some(feed)
    }

    fn check_feed_id(&mut self, key: &str, text: &Spanned<String>) -> Option<FeedId> {
        match FeedId::new(text.get_ref()) {
            Ok(id) => Some(id),
            Err(error) => {
                self.add_error(text, key, format!("{error}"));
                None
            }
        }
    }

    fn check_source_location(
        &mut self,
        key: &str,
        text: &Spanned<String>,
    ) -> Option<SourceLocation> {
        match SourceLocation::parse(text.get_ref()) {
            Ok(location) => Some(resolve_relative_path(self.base, location)),
            Err(error) => {
                self.add_error(text, key, format!("{error}"));
                None
            }
        }
    }

    fn check_request_headers(
        &mut self,
        key: &str,
        pairs: BTreeMap<Spanned<String>, SecretText>,
    ) -> Vec<(String, Secret)> {
        for (name, secret) in &pairs {
            if http::HeaderName::try_from(name.get_ref().as_str()).is_err() {
                self.add_error(name, key, expected_message("an HTTP header name", name.get_ref()));
            }
            let value = secret.resolve_secret(self.base);
            if value.is_ok_and(|value| http::HeaderValue::try_from(value).is_err()) {
                let reason = "the value has characters that are invalid in an HTTP header";
                self.add_error(name, &format!("{key}.{}", name.get_ref()), reason);
            }
        }
        self.check_named_secrets(key, pairs)
    }

    fn check_named_secrets(
        &mut self,
        key: &str,
        pairs: BTreeMap<Spanned<String>, SecretText>,
    ) -> Vec<(String, Secret)> {
        if let Some(extra) = pairs.keys().nth(PAIRS_MAX) {
            self.add_error(extra, key, format!("more than {PAIRS_MAX} entries"));
        }
        let mut secrets = Vec::with_capacity(pairs.len());
        for (name, secret) in pairs {
            match secret.resolve_secret(self.base) {
                Ok(value) => secrets.push((name.into_inner(), Secret::new(value))),
                Err(reason) => self.add_error(&name, &format!("{key}.{}", name.get_ref()), reason),
            }
        }
        secrets
    }
}

/// Resolves a relative path of the file from the file's folder.
fn resolve_relative_path(base: &Path, location: SourceLocation) -> SourceLocation {
    match location {
        SourceLocation::Path(path) => SourceLocation::Path(base.join(path)),
        SourceLocation::Replay { dir, speed } => {
            SourceLocation::Replay { dir: base.join(dir), speed }
        }
        web @ SourceLocation::Http(_) => web,
    }
}
