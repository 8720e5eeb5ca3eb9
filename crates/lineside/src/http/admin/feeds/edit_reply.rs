//! What is answered of a feed's edits. Secrets are never in it.

use lineside_ingest::FeedId;
use serde::Serialize;
use utoipa::ToSchema;

use super::source_test::SourceTestReply;
use crate::app::App;
use crate::overrides::{FeedOverride, KeyDifference, Keys, format_toml, redact_keys};
use crate::settings::EditOutcome;

/// What is laid over the configuration's file for one feed. Secrets are shown as `***`.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OverrideReply {
    /// Its name in addresses and channels.
    id: String,
    /// Whether the file has it.
    in_file: bool,
    /// Whether all of it stands here, because the file does not have it.
    added: bool,
    /// Whether the file's feed is left out.
    removed: bool,
    /// Whether its source is left alone.
    paused: bool,
    /// The keys that are others than in the file, with their values.
    #[schema(value_type = Object)]
    keys: Keys,
    /// The same as it would stand in the file; null where no key is.
    toml: Option<String>,
    /// Whether it is there after a restart: not without a `data_dir`.
    kept: bool,
}

impl OverrideReply {
    pub(super) fn for_feed(
        app: &App,
        id: &FeedId,
        over: Option<&FeedOverride>,
        in_file: bool,
    ) -> Self {
        let keys = over.map(|over| redact_keys(&over.keys)).unwrap_or_default();
        Self {
            id: id.to_string(),
            in_file,
            added: over.is_some_and(|over| over.added),
            removed: over.is_some_and(|over| over.removed),
            paused: over.is_some_and(|over| over.paused),
            toml: format_toml(id, &keys).ok().filter(|_| !keys.is_empty()),
            keys,
            kept: app.settings().persists_edits(),
        }
    }
}

/// What an edit came to, or would.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EditReply {
    /// Whether this only says what would change.
    dry_run: bool,
    /// The number of the edit in the feed's history.
    edit: Option<i64>,
    /// What it means for what runs.
    changes: ChangedFeeds,
    /// Which keys of the feed then have another value than before, whichever of file and edits it comes from.
    differences: Vec<KeyDifference>,
    /// What is then laid over the feed.
    feed: OverrideReply,
    /// One request to the source, in a dry run that adds a feed or changes how its source is requested; else null.
    source: Option<SourceTestReply>,
}

impl EditReply {
    pub(super) fn new(
        app: &App,
        id: &FeedId,
        edited: EditOutcome,
        source: Option<SourceTestReply>,
    ) -> Self {
        let EditOutcome { number, changed, over, in_file, differences, .. } = edited;
        let names = |ids: Vec<FeedId>| ids.iter().map(ToString::to_string).collect();
        Self {
            dry_run: number.is_none(),
            edit: number,
            changes: ChangedFeeds {
                added: names(changed.added),
                removed: names(changed.removed),
                changed: names(changed.changed),
                networks: names(changed.networks),
            },
            differences,
            feed: OverrideReply::for_feed(app, id, over.as_ref(), in_file),
            source,
        }
    }
}

/// Feeds and networks, by their ids.
#[derive(Debug, Serialize, ToSchema)]
struct ChangedFeeds {
    /// Feeds that come.
    added: Vec<String>,
    /// Feeds that go.
    removed: Vec<String>,
    /// Feeds that are configured otherwise.
    changed: Vec<String>,
    /// Networks that are rebuilt: their subscribers receive the whole state again.
    networks: Vec<String>,
}
