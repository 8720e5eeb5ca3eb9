//! The configuration file's own shape. A key that is not here is refused, not ignored.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::error::ConfigError;
use super::value::{DurationText, SecretText, SizeText};

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
    pub(super) connections: Option<Spanned<u64>>,
    pub(super) connections_per_address: Option<Spanned<u64>>,
    pub(super) room_bytes: Option<Spanned<SizeText>>,
    pub(super) total_bytes: Option<Spanned<SizeText>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct MapTable {
    pub(super) style: Option<Spanned<String>>,
    pub(super) pmtiles: Option<Spanned<String>>,
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
        let key = match error.path().to_string() {
            root if root == "." => String::new(),
            key => key,
        };
        let inner = error.inner();
        ConfigError::at(path, text, inner.span(), key, one_line(inner.message()))
    })
}

fn one_line(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}
