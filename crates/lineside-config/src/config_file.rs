//! The tables and keys of the configuration file. Unknown keys are errors.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_path_to_error::Segment;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::alerts::{AlertTable, SmtpTable};
use super::client_access::{AdminTable, ApiTable, NamespaceTable, TokenTable};
use super::converters::ConverterTable;
use super::error::ConfigError;
use super::external_validators::ExternalValidatorTable;
use super::limits::LimitsTable;
use super::polling::{BasicAuthTable, OAuth2Table};
use super::renamed_keys::renamed_key_advice;
use super::siri::SiriTable;
use super::site::SiteTable;
use super::uploads::UploadsTable;
use super::validation::ValidationTable;
use super::value::{CountText, DurationText, ListenAddressText, SecretText, SizeText};
use crate::spelling::with_suggestion;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ConfigFileTables {
    pub(super) server: ServerTable,
    pub(super) limits: LimitsTable,
    pub(super) token: Option<Spanned<TokenTable>>,
    pub(super) api: ApiTable,
    pub(super) admin: AdminTable,
    pub(super) namespace: Vec<NamespaceTable>,
    pub(super) retention: RetentionTable,
    pub(super) uploads: UploadsTable,
    pub(super) validation: ValidationTable,
    pub(super) site: SiteTable,
    pub(super) map: MapTable,
    pub(super) import: ImportTable,
    pub(super) converter: Vec<ConverterTable>,
    pub(super) external_validator: Vec<ExternalValidatorTable>,
    pub(super) feed: Vec<FeedTable>,
    pub(super) alert: Vec<AlertTable>,
    pub(super) smtp: Option<SmtpTable>,
}

/// The tables of a file; `true` if a table is a list.
const TABLES: [(&str, bool); 17] = [
    ("server", false),
    ("limits", false),
    ("token", false),
    ("api", false),
    ("admin", false),
    ("namespace", true),
    ("retention", false),
    ("uploads", false),
    ("validation", false),
    ("site", false),
    ("map", false),
    ("import", false),
    ("converter", true),
    ("external_validator", true),
    ("feed", true),
    ("alert", true),
    ("smtp", false),
];

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ServerTable {
    pub(super) listen: Option<Spanned<ListenAddressText>>,
    pub(super) public_url: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) trusted_proxies: Vec<Spanned<String>>,
    pub(super) data_dir: Option<String>,
    pub(super) drain: Option<Spanned<DurationText>>,
    pub(super) user_agent: Option<Spanned<String>>,
    pub(super) allow_private_subscribers: bool,
    pub(super) cross_origin: Option<bool>,
    pub(super) tls: Option<TlsTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a [server.tls] table")]
pub(super) struct TlsTable {
    pub(super) cert: String,
    pub(super) key: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RetentionTable {
    pub(super) availability: Option<Spanned<DurationText>>,
    pub(super) versions: Option<Spanned<CountText>>,
    pub(super) versions_age: Option<Spanned<DurationText>>,
    pub(super) reports: Option<Spanned<CountText>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct MapTable {
    pub(super) style: Option<Spanned<String>>,
    pub(super) pmtiles: Option<Spanned<String>>,
    pub(super) origins: Vec<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ImportTable {
    pub(super) feeds: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a [[feed]] table")]
pub(super) struct FeedTable {
    pub(super) id: Spanned<String>,
    pub(super) url: Spanned<String>,
    pub(super) format: Option<Spanned<String>>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) publisher: Option<Spanned<String>>,
    pub(super) licence: Option<Spanned<String>>,
    pub(super) theme: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    #[serde(rename = "static")]
    pub(super) static_feed: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) headers: BTreeMap<Spanned<String>, SecretText>,
    #[serde(default)]
    pub(super) query: BTreeMap<Spanned<String>, SecretText>,
    pub(super) basic: Option<Spanned<BasicAuthTable>>,
    pub(super) oauth2: Option<Spanned<OAuth2Table>>,
    pub(super) siri: Option<Spanned<SiriTable>>,
    pub(super) poll: Option<Spanned<DurationText>>,
    pub(super) ttl: Option<Spanned<DurationText>>,
    pub(super) rate: Option<Spanned<String>>,
    pub(super) max_concurrent_requests: Option<Spanned<CountText>>,
    pub(super) timeout: Option<Spanned<DurationText>>,
    pub(super) max_bytes: Option<Spanned<SizeText>>,
    pub(super) max_age: Option<Spanned<DurationText>>,
    pub(super) late_after: Option<Spanned<DurationText>>,
    pub(super) trip_late_after: Option<Spanned<DurationText>>,
    /// Headers of replies with the feed's bytes; only the YAML configuration has them.
    #[serde(skip)]
    pub(super) reply_headers: Vec<(Spanned<String>, String)>,
}

impl FeedTable {
    /// Returns a feed with an id and a URL only.
    pub(super) fn for_url(id: Spanned<String>, url: Spanned<String>) -> Self {
        Self {
            id,
            url,
            format: None,
            name: None,
            publisher: None,
            licence: None,
            theme: None,
            description: None,
            static_feed: None,
            headers: BTreeMap::new(),
            query: BTreeMap::new(),
            basic: None,
            oauth2: None,
            siri: None,
            poll: None,
            ttl: None,
            rate: None,
            max_concurrent_requests: None,
            timeout: None,
            max_bytes: None,
            max_age: None,
            late_after: None,
            trip_late_after: None,
            reply_headers: Vec::new(),
        }
    }
}

/// The valid parts of a file, and its errors.
#[derive(Debug, Default)]
pub(super) struct ParsedConfig {
    pub(super) file: ConfigFileTables,
    /// The errors of the invalid parts, which were left out.
    pub(super) errors: Vec<ConfigError>,
    /// The warnings about ignored parts.
    pub(super) warnings: Vec<ConfigError>,
    /// For each feed that remains, its number in the file.
    pub(super) feed_numbers: Vec<usize>,
    /// For each namespace that remains, its number in the file.
    pub(super) namespace_numbers: Vec<usize>,
    /// For each alert that remains, its number in the file.
    pub(super) alert_numbers: Vec<usize>,
    /// For each converter that remains, its number in the file.
    pub(super) converter_numbers: Vec<usize>,
    /// For each validator that remains, its number in the file.
    pub(super) validator_numbers: Vec<usize>,
    /// True if no feed was left out. Otherwise a feed may name a schedule that seems to be missing.
    pub(super) has_all_feeds: bool,
    /// True if no converter was left out. Otherwise a feed may name a format that seems to be unknown.
    pub(super) has_all_converters: bool,
}

/// Parses the text into tables. Invalid parts are left out and reported, so that one run reports all errors.
///
/// # Errors
/// Returns the first syntax error, or the errors of a file without any valid part.
pub(super) fn parse_toml(path: &Path, text: &str) -> Result<ParsedConfig, Vec<ConfigError>> {
    let root = DeTable::parse(text).map_err(|error| {
        vec![ConfigError::at_span(path, text, error.span(), "", to_single_line(error.message()))]
    })?;
    TomlReader::new(path, text, root).read_tables()
}

/// Maximum number of errors that are reported.
const ERRORS_MAX: usize = 100;

/// A step on the path to a value in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyPathStep {
    Key(String),
    Index(usize),
}

struct TomlReader<'a> {
    path: &'a Path,
    text: &'a str,
    root: Spanned<DeTable<'a>>,
    errors: Vec<ConfigError>,
    /// For each table of a list that remains, its number in the file.
    lists: BTreeMap<&'static str, Vec<usize>>,
    /// The removed keys, each with its list and the number of its table in the file.
    removed_keys: Vec<(String, usize, String)>,
    has_all_feeds: bool,
    has_all_converters: bool,
}

impl<'a> TomlReader<'a> {
    fn new(path: &'a Path, text: &'a str, root: Spanned<DeTable<'a>>) -> Self {
        let numbers = |name: &str| match root.get_ref().get(name).map(Spanned::get_ref) {
            Some(DeValue::Array(tables)) => (0..tables.len()).collect(),
            _ => Vec::new(),
        };
        let lists = TABLES.iter().filter(|(_, is_list)| *is_list);
        let lists = lists.map(|(name, _)| (*name, numbers(name))).collect();
        let (errors, left_out) = (Vec::new(), Vec::new());
        let (has_all_feeds, has_all_converters) = (true, true);
        Self {
            path,
            text,
            root,
            errors,
            lists,
            removed_keys: left_out,
            has_all_feeds,
            has_all_converters,
        }
    }

    fn read_tables(mut self) -> Result<ParsedConfig, Vec<ConfigError>> {
        self.check_table_brackets();
        while self.errors.len() < ERRORS_MAX {
            // Deserializing consumes the tables, so they are cloned; a file is small.
            let tables = toml::Deserializer::from(self.root.clone());
            match serde_path_to_error::deserialize(tables) {
                Ok(file) => {
                    let Self { errors, mut lists, has_all_feeds, has_all_converters, .. } = self;
                    let mut numbers = |list| lists.remove(list).unwrap_or_default();
                    let (feed_numbers, namespace_numbers) = (numbers("feed"), numbers("namespace"));
                    let (alert_numbers, converter_numbers) =
                        (numbers("alert"), numbers("converter"));
                    let validator_numbers = numbers("external_validator");
                    return Ok(ParsedConfig {
                        file,
                        errors,
                        warnings: Vec::new(),
                        feed_numbers,
                        namespace_numbers,
                        alert_numbers,
                        converter_numbers,
                        validator_numbers,
                        has_all_feeds,
                        has_all_converters,
                    });
                }
                Err(error) => {
                    let steps = key_path_steps(error.path());
                    self.add_error(&steps, error.inner());
                    if !self.remove_value(&steps) {
                        break;
                    }
                }
            }
        }
        Err(self.errors)
    }

    /// Reports a table with one pair of brackets too few or too many.
    fn check_table_brackets(&mut self) {
        for (name, is_list) in TABLES {
            let Some(value) = self.root.get_ref().get(name) else { continue };
            let expected = match (value.get_ref(), is_list) {
                (DeValue::Table(_), false) | (DeValue::Array(_), true) => continue,
                (_, false) => format!("expected one table: write [{name}]"),
                (_, true) => format!("expected a list of tables: write [[{name}]]"),
            };
            let error =
                ConfigError::at_span(self.path, self.text, Some(value.span()), name, expected);
            self.errors.push(error);
            self.root.get_mut().remove(name);
            self.record_removed_table(name);
        }
    }

    fn add_error(&mut self, steps: &[KeyPathStep], error: &toml::de::Error) {
        if let [KeyPathStep::Key(name), KeyPathStep::Index(index)] = steps {
            let number = self.original_table_number(name, *index);
            let is_known = |(list, table, key): &(String, usize, String)| {
                list == name
                    && *table == number
                    && error.message() == format!("missing field `{key}`")
            };
            // The key is in the file, and its error was already reported.
            if self.removed_keys.iter().any(is_known) {
                return;
            }
        }
        let key = self.key_with_table_numbers(steps);
        let message = to_single_line(error.message());
        let advice = message.starts_with("unknown field").then(|| {
            renamed_key_advice(&key_path_without_numbers(steps)).or_else(|| section_advice(steps))
        });
        let reason = advice.flatten().unwrap_or_else(|| with_suggestion(message));
        self.errors.push(ConfigError::at_span(self.path, self.text, error.span(), key, reason));
    }

    /// Returns the key as the operator knows it, with the numbers of feeds in the file.
    fn key_with_table_numbers(&self, steps: &[KeyPathStep]) -> String {
        let mut key = String::new();
        for (depth, step) in steps.iter().enumerate() {
            match step {
                KeyPathStep::Key(name) if depth == 0 => key.push_str(name),
                KeyPathStep::Key(name) => key.extend([".", name]),
                KeyPathStep::Index(index) => {
                    let index =
                        if depth == 1 { self.original_table_number(&key, *index) } else { *index };
                    key.push_str(&format!("[{index}]"));
                }
            }
        }
        key
    }

    /// Returns the number in the file of the table that is now at `index` of a list.
    fn original_table_number(&self, list: &str, index: usize) -> usize {
        let numbers = self.lists.get(list);
        numbers.and_then(|numbers| numbers.get(index)).copied().unwrap_or(index)
    }

    /// Removes a value from the file. Returns true if there was one.
    fn remove_value(&mut self, steps: &[KeyPathStep]) -> bool {
        let [KeyPathStep::Key(name), rest @ ..] = steps else { return false };
        let number = match rest {
            [KeyPathStep::Index(index), ..] => self.original_table_number(name, *index),
            _ => 0,
        };
        let root = self.root.get_mut();
        let Some(value) = root.get_mut(name.as_str()) else { return false };
        match (value.get_mut(), rest) {
            (DeValue::Table(table), [KeyPathStep::Key(key), ..]) => {
                table.remove(key.as_str()).is_some()
            }
            (DeValue::Array(tables), [KeyPathStep::Index(index), KeyPathStep::Key(key), ..]) => {
                let Some(DeValue::Table(table)) = tables.get_mut(*index).map(Spanned::get_mut)
                else {
                    return false;
                };
                self.removed_keys.push((name.clone(), number, key.clone()));
                table.remove(key.as_str()).is_some()
            }
            (DeValue::Array(tables), [KeyPathStep::Index(index)]) if *index < tables.len() => {
                let mut others = DeArray::new();
                for (_, table) in tables.iter().enumerate().filter(|(number, _)| number != index) {
                    others.push(table.clone());
                }
                *tables = others;
                if let Some(numbers) = self.lists.get_mut(name.as_str()) {
                    numbers.remove(*index);
                }
                self.record_removed_table(name);
                true
            }
            _ => root.remove(name.as_str()).is_some(),
        }
    }
}

impl TomlReader<'_> {
    fn record_removed_table(&mut self, list: &str) {
        self.has_all_feeds &= list != "feed";
        self.has_all_converters &= list != "converter";
    }
}

/// Returns a key with `[]` for the number of a table in a list.
fn key_path_without_numbers(steps: &[KeyPathStep]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            KeyPathStep::Key(name) if path.is_empty() => path.push_str(name),
            KeyPathStep::Key(name) => path.extend([".", name]),
            KeyPathStep::Index(_) => path.push_str("[]"),
        }
    }
    path
}

/// Returns the path of a value, without the internals of `Spanned`.
fn key_path_steps(path: &serde_path_to_error::Path) -> Vec<KeyPathStep> {
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(KeyPathStep::Index(*index)),
        Segment::Map { key } if !key.is_empty() && !key.starts_with('$') => {
            Some(KeyPathStep::Key(key.clone()))
        }
        _ => None,
    };
    path.iter().filter_map(step).collect()
}

/// Returns a message in one line, with the terms of TOML.
fn to_single_line(message: &str) -> String {
    let line = message.lines().map(str::trim).collect::<Vec<_>>().join("; ");
    line.replace("invalid type: map", "invalid type: table")
        .replace("expected a sequence", "expected a list, such as [\"a\", \"b\"]")
}

/// Returns the table that an unknown key at the top of the file belongs in, if it is one of `[server]`.
fn section_advice(steps: &[KeyPathStep]) -> Option<String> {
    let [KeyPathStep::Key(key)] = steps else { return None };
    let probe = toml::from_str::<ServerTable>(&format!("{key:?} = 0"));
    let is_unknown = |error: toml::de::Error| error.message().starts_with("unknown field");
    (!probe.is_err_and(is_unknown)).then(|| "this key belongs in [server]".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEED: &str = "[[feed]]\nid = \"a\"\nurl = \"b\"\n";

    #[track_caller]
    fn check_refused(text: &str, expect: &str) {
        check_all_refused(text, &[expect]);
    }

    #[track_caller]
    fn check_all_refused(text: &str, expect: &[&str]) {
        let errors = match parse_toml(Path::new("lineside.toml"), text) {
            Ok(parsed) => parsed.errors,
            Err(errors) => errors,
        };
        let messages: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(messages, expect);
    }

    #[track_caller]
    fn check_error(text: &str, part: &str) {
        let errors = match parse_toml(Path::new("lineside.toml"), text) {
            Ok(parsed) => parsed.errors,
            Err(errors) => errors,
        };
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert!(errors.iter().any(|error| error.contains(part)), "{errors:?}");
    }

    #[test]
    fn invalid_toml_is_refused_with_its_line() {
        check_refused(
            "[server]\nlisten = ",
            "lineside.toml line 2: string values must be quoted, expected literal string",
        );
    }

    #[test]
    fn a_renamed_key_is_refused_with_its_new_name() {
        for (text, says) in [
            ("[keep]\nversions = 3\n", "line 1, keep: renamed: write `retention`"),
            ("[visitors]\n", "line 1, visitors: renamed: write `uploads`"),
            ("[[validator]]\nname = \"a\"\n", "validator: renamed: write `external_validator`"),
            ("[server]\nclient_name = \"a\"\n", "server.client_name: renamed: write `user_agent`"),
            ("[validation]\nslots = 1\n", "validation.slots: renamed: write `concurrency`"),
            ("[uploads]\nkeep = \"1d\"\n", "uploads.keep: renamed: write `retention`"),
        ] {
            check_error(text, says);
        }
        let serial = format!("{FEED}serial = true\n");
        check_error(&serial, "feed[0].serial: renamed: write `max_concurrent_requests = 1`");
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_known_ones() {
        check_refused(
            "\n[server]\nlisen = \"127.0.0.1:1\"\n",
            "lineside.toml line 3, server.lisen: unknown field `lisen`, did you mean `listen`?",
        );
        check_refused(
            "[map]\nzoom = \"x\"",
            "lineside.toml line 2, map.zoom: unknown field `zoom`, expected one of \
             `style`, `pmtiles`, `origins`",
        );
        check_refused(
            "listen = \"127.0.0.1:1\"\n",
            "lineside.toml line 1, listen: this key belongs in [server]",
        );
        check_refused(
            "[judge]\nto = \"x\"\n",
            "lineside.toml line 1, judge: unknown field `judge`, expected one of `server`, `limits`, \
             `token`, `api`, `admin`, `namespace`, `retention`, `uploads`, `validation`, `site`, `map`, `import`, `converter`, \
             `external_validator`, `feed`, `alert`, `smtp`",
        );
    }

    #[test]
    fn a_value_of_the_wrong_type_is_refused_with_the_expected_one() {
        let duration = "expected a duration as text, such as \"15s\", \"5m\" or \"1h30m\"";
        check_refused(
            &format!("{FEED}{FEED}poll = 15\n"),
            &format!("lineside.toml line 7, feed[1].poll: invalid type: integer `15`, {duration}"),
        );
        check_refused(
            "[server]\ndrain = \"soon\"\n",
            &format!(
                "lineside.toml line 2, server.drain: invalid value: string \"soon\", {duration}"
            ),
        );
        check_refused(
            &format!("{FEED}format = 3\n"),
            "lineside.toml line 4, feed[0].format: invalid type: integer `3`, expected a string",
        );
        check_refused(
            "[limits]\nconnections = \"many\"\n",
            "lineside.toml line 2, limits.connections: invalid type: string \"many\", expected a \
             whole number from 1 to 10000000",
        );
        check_refused(
            "[limits]\nconnections = -1\n",
            "lineside.toml line 2, limits.connections: invalid value: integer `-1`, expected a whole \
             number from 1 to 10000000",
        );
        check_refused(
            "[server]\nlisten = 80\n",
            "lineside.toml line 2, server.listen: invalid type: integer `80`, expected an address \
             and port, such as \"127.0.0.1:8080\"",
        );
        check_refused(
            "[map]\norigins = {}\n",
            "lineside.toml line 2, map.origins: invalid type: table, expected a list, such as \
             [\"a\", \"b\"]",
        );
    }

    #[test]
    fn wrong_table_brackets_are_reported() {
        check_refused(
            "[feed]\nid = \"a\"\nurl = \"b\"\n",
            "lineside.toml line 1, feed: expected a list of tables: write [[feed]]",
        );
        check_refused(
            "feed = 3",
            "lineside.toml line 1, feed: expected a list of tables: write [[feed]]",
        );
        check_refused(
            "[[server]]\ndrain = \"1s\"\n",
            "lineside.toml line 1, server: expected one table: write [server]",
        );
        check_refused(
            "feed = [1]",
            "lineside.toml line 1, feed[0]: invalid type: integer `1`, expected a [[feed]] table",
        );
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let duration = "expected a duration as text, such as \"15s\", \"5m\" or \"1h30m\"";
        check_all_refused(
            "[[feed]]\nid = 1\nurl = \"b\"\n[[feed]]\nid = \"b\"\nurl = \"c\"\nmax_bytes = \
             \"lots\"\nlate_after = \"x\"\ntimeout = 3\npol = \"1s\"\n",
            &[
                "lineside.toml line 2, feed[0].id: invalid type: integer `1`, expected a string",
                &format!(
                    "lineside.toml line 8, feed[1].late_after: invalid value: string \"x\", {duration}"
                ),
                "lineside.toml line 7, feed[1].max_bytes: invalid value: string \"lots\", expected a \
                 size, such as 65536, \"256KiB\" or \"64MiB\"",
                "lineside.toml line 10, feed[1].pol: unknown field `pol`, did you mean `poll`?",
                &format!(
                    "lineside.toml line 9, feed[1].timeout: invalid type: integer `3`, {duration}"
                ),
            ],
        );
    }

    #[test]
    fn an_invalid_namespace_does_not_renumber_the_others() {
        check_all_refused(
            "[[namespace]]\nhistory_size = 3\n[[namespace]]\nprefix = \"app/\"\npublish = \"me\"\n\
             [api]\nkey = 3\n[token]\nhmac = \"x\"\nkid = \"y\"\n",
            &[
                "lineside.toml line 7, api.key: invalid type: integer `3`, expected text, { env = \
                 \"NAME\" } or { file = \"path\" }",
                "lineside.toml line 1, namespace[0]: missing field `prefix`",
                "lineside.toml line 5, namespace[1].publish: unknown variant `me`, expected one of \
                 `anyone`, `users`, `nobody`",
                "lineside.toml line 10, token.kid: unknown field `kid`, expected one of `hmac`, \
                 `public_key`, `issuer`, `audience`, `anonymous`",
            ],
        );
    }

    #[test]
    fn the_number_of_errors_is_limited() {
        let many = format!("{FEED}poll = 3\n").repeat(ERRORS_MAX + 1);
        let errors = parse_toml(Path::new("lineside.toml"), &many).unwrap_err();
        assert_eq!(errors.len(), ERRORS_MAX);
    }

    #[test]
    fn a_secret_is_text_or_a_reference_to_env_or_file() {
        check_refused(
            &format!("{FEED}headers = {{ Key = {{ envv = \"X\" }} }}\n"),
            "lineside.toml line 4, feed[0].headers: unknown field `envv`, did you mean `env`?",
        );
        check_refused(
            &format!("{FEED}query = {{ key = 3 }}\n"),
            "lineside.toml line 4, feed[0].query: invalid type: integer `3`, expected text, { env \
             = \"NAME\" } or { file = \"path\" }",
        );
    }

    #[test]
    fn a_missing_key_is_named() {
        check_refused(
            "[[feed]]\nid = \"a\"\n",
            "lineside.toml line 1, feed[0]: missing field `url`",
        );
    }
}
