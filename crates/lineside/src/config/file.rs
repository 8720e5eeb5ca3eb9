//! The configuration file's own shape. A key that is not here is refused, not ignored.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::error::ConfigError;
use super::value::{CountText, DurationText, SecretText, SizeText};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub(super) server: ServerTable,
    pub(super) limits: LimitsTable,
    pub(super) map: MapTable,
    pub(super) feed: Vec<FeedTable>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ServerTable {
    pub(super) listen: Option<Spanned<String>>,
    pub(super) public_url: Option<Spanned<String>>,
    pub(super) data_dir: Option<String>,
    pub(super) drain: Option<Spanned<DurationText>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitsTable {
    pub(super) connections: Option<Spanned<CountText>>,
    pub(super) connections_per_address: Option<Spanned<CountText>>,
    pub(super) room_bytes: Option<Spanned<SizeText>>,
    pub(super) total_bytes: Option<Spanned<SizeText>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct MapTable {
    pub(super) style: Option<Spanned<String>>,
    pub(super) pmtiles: Option<Spanned<String>>,
    pub(super) origins: Vec<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FeedTable {
    pub(super) id: Spanned<String>,
    pub(super) url: Spanned<String>,
    pub(super) format: Option<FormatText>,
    pub(super) name: Option<Spanned<String>>,
    pub(super) publisher: Option<Spanned<String>>,
    pub(super) licence: Option<Spanned<String>>,
    pub(super) theme: Option<Spanned<String>>,
    #[serde(rename = "static")]
    pub(super) static_feed: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) headers: BTreeMap<Spanned<String>, SecretText>,
    #[serde(default)]
    pub(super) query: BTreeMap<Spanned<String>, SecretText>,
    pub(super) poll: Option<Spanned<DurationText>>,
    pub(super) timeout: Option<Spanned<DurationText>>,
    pub(super) max_bytes: Option<Spanned<SizeText>>,
    pub(super) max_age: Option<Spanned<DurationText>>,
    pub(super) late_after: Option<Spanned<DurationText>>,
}

/// The formats that this server decodes, and `raw` for bytes that it only passes on.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FormatText {
    Gtfs,
    GtfsRt,
    Raw,
}

/// Reads the text into its shape.
///
/// # Errors
/// The first thing that is not TOML, not a key, or not of a key's kind.
pub(super) fn parse(path: &Path, text: &str) -> Result<File, ConfigError> {
    let deserializer = toml::Deserializer::parse(text).map_err(|error| {
        ConfigError::at(path, text, error.span(), "", one_line(error.message()))
    })?;
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let key = readable_key(&error.path().to_string());
        let inner = error.inner();
        ConfigError::at(path, text, inner.span(), key, one_line(inner.message()))
    })
}

/// The path of a key without what `Spanned` adds to it.
fn readable_key(path: &str) -> String {
    let own = |segment: &&str| !segment.is_empty() && *segment != "?" && !segment.starts_with('$');
    path.split('.').filter(own).collect::<Vec<_>>().join(".")
}

fn one_line(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEED: &str = "[[feed]]\nid = \"a\"\nurl = \"b\"\n";

    #[track_caller]
    fn check_refused(text: &str, expect: &str) {
        let error = parse(Path::new("lineside.toml"), text).unwrap_err();
        assert_eq!(error.to_string(), expect);
    }

    #[test]
    fn what_is_not_toml_is_refused_with_its_line() {
        check_refused(
            "[server]\nlisten = ",
            "lineside.toml line 2: string values must be quoted, expected literal string",
        );
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_known_ones() {
        check_refused(
            "\n[server]\nlisen = \"127.0.0.1:1\"\n",
            "lineside.toml line 3, server.lisen: unknown field `lisen`, expected one of `listen`, \
             `public_url`, `data_dir`, `drain`",
        );
        check_refused(
            "[map]\ntiles = \"x\"",
            "lineside.toml line 2, map.tiles: unknown field `tiles`, expected one of \
             `style`, `pmtiles`, `origins`",
        );
        check_refused(
            "[smtp]\nhost = \"x\"\n",
            "lineside.toml line 1, smtp: unknown field `smtp`, expected one of `server`, `limits`, \
             `map`, `feed`",
        );
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_refused_with_what_is_expected() {
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
            &format!("{FEED}format = \"siri\"\n"),
            "lineside.toml line 4, feed[0].format: unknown variant `siri`, expected one of `gtfs`, \
             `gtfs-rt`, `raw`",
        );
        check_refused(
            "[limits]\nconnections = \"many\"\n",
            "lineside.toml line 2, limits.connections: invalid type: string \"many\", expected a \
             whole number",
        );
    }

    #[test]
    fn a_secret_is_a_text_or_says_where_it_is() {
        check_refused(
            &format!("{FEED}headers = {{ Key = {{ envv = \"X\" }} }}\n"),
            "lineside.toml line 4, feed[0].headers: unknown field `envv`, expected `env` or `file`",
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
