//! The replies to a feed's edits. They never contain secrets.

use lineside_config::overrides::{
    FeedKeys, FeedOverride, KeyDifference, format_feed_toml, redact_secrets,
};
use lineside_model::FeedId;
use serde::Serialize;
use utoipa::ToSchema;

use super::source_test::SourceTestReply;
use crate::app::App;
use crate::settings::EditOutcome;

/// The overrides of one feed. Secrets are shown as `***`.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OverrideReply {
    /// The feed's id.
    id: String,
    /// True if the configuration file has the feed.
    in_file: bool,
    /// True if the feed is defined here only, because the file does not have it.
    added: bool,
    /// True if the file's feed is removed.
    removed: bool,
    /// True if the feed is paused.
    paused: bool,
    /// The overridden keys with their values.
    #[schema(value_type = Object)]
    keys: FeedKeys,
    /// The same keys as a TOML table for the file; null if there are none.
    toml: Option<String>,
    /// True if the override survives a restart, which needs a `data_dir`.
    persistent: bool,
}

impl OverrideReply {
    pub(super) fn for_feed(
        app: &App,
        id: &FeedId,
        feed_override: Option<&FeedOverride>,
        in_file: bool,
    ) -> Self {
        let keys = feed_override
            .map(|feed_override| redact_secrets(&feed_override.keys))
            .unwrap_or_default();
        Self {
            id: id.to_string(),
            in_file,
            added: feed_override.is_some_and(|feed_override| feed_override.added),
            removed: feed_override.is_some_and(|feed_override| feed_override.removed),
            paused: feed_override.is_some_and(|feed_override| feed_override.paused),
            toml: format_feed_toml(id, &keys).ok().filter(|_| !keys.is_empty()),
            keys,
            persistent: app.live_settings().persists_edits(),
        }
    }
}

/// The result of an edit, or of its dry run.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EditReply {
    /// True if nothing was changed.
    dry_run: bool,
    /// The number of the edit in the feed's history.
    edit: Option<i64>,
    /// The feeds and networks that change.
    changes: ChangedFeeds,
    /// The keys of the feed whose value changes, whether it comes from the file or from an edit.
    differences: Vec<KeyDifference>,
    /// The feed's overrides after the edit.
    feed: OverrideReply,
    /// The test of the source, in a dry run that adds a feed or changes how its source is requested; else null.
    source: Option<SourceTestReply>,
}

impl EditReply {
    pub(super) fn new(
        app: &App,
        id: &FeedId,
        edited: EditOutcome,
        source: Option<SourceTestReply>,
    ) -> Self {
        let EditOutcome { number, change, override_after, is_in_file, differences, .. } = edited;
        let names = |ids: Vec<FeedId>| ids.iter().map(ToString::to_string).collect();
        Self {
            dry_run: number.is_none(),
            edit: number,
            changes: ChangedFeeds {
                added: names(change.added),
                removed: names(change.removed),
                changed: names(change.changed),
                networks: names(change.networks),
            },
            differences,
            feed: OverrideReply::for_feed(app, id, override_after.as_ref(), is_in_file),
            source,
        }
    }
}

/// Feeds and networks, by their ids.
#[derive(Debug, Serialize, ToSchema)]
struct ChangedFeeds {
    /// Added feeds.
    added: Vec<String>,
    /// Removed feeds.
    removed: Vec<String>,
    /// Feeds with a changed configuration.
    changed: Vec<String>,
    /// Networks that are rebuilt: their subscribers receive the whole state again.
    networks: Vec<String>,
}
