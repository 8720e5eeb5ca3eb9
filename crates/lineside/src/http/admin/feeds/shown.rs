//! What is answered of a feed's edits. Secrets are never in it.

use lineside_ingest::FeedId;
use serde::Serialize;
use utoipa::ToSchema;

use super::source_test::SourceTestReply;
use crate::app::App;
use crate::overrides::{Difference, Keys, Override, redacted, toml_of};
use crate::settings::Edited;

/// What is laid over the configuration's file for one feed. Secrets are shown as `***`.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LaidOver {
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

impl LaidOver {
    pub(super) fn of(app: &App, id: &FeedId, over: Option<&Override>, in_file: bool) -> Self {
        let keys = over.map(|over| redacted(&over.keys)).unwrap_or_default();
        Self {
            id: id.to_string(),
            in_file,
            added: over.is_some_and(|over| over.added),
            removed: over.is_some_and(|over| over.removed),
            paused: over.is_some_and(|over| over.paused),
            toml: toml_of(id, &keys).ok().filter(|_| !keys.is_empty()),
            keys,
            kept: app.settings().keeps_edits(),
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
    changes: Changes,
    /// Which keys of the feed then have another value than before, whichever of file and edits it comes from.
    differences: Vec<Difference>,
    /// What is then laid over the feed.
    feed: LaidOver,
    /// One request to the source, in a dry run that adds a feed or changes how its source is requested; else null.
    source: Option<SourceTestReply>,
}

impl EditReply {
    pub(super) fn new(
        app: &App,
        id: &FeedId,
        edited: Edited,
        source: Option<SourceTestReply>,
    ) -> Self {
        let Edited { number, changed, over, in_file, differences, .. } = edited;
        let names = |ids: Vec<FeedId>| ids.iter().map(ToString::to_string).collect();
        Self {
            dry_run: number.is_none(),
            edit: number,
            changes: Changes {
                added: names(changed.added),
                removed: names(changed.removed),
                changed: names(changed.changed),
                networks: names(changed.networks),
            },
            differences,
            feed: LaidOver::of(app, id, over.as_ref(), in_file),
            source,
        }
    }
}

/// Feeds and networks, by their ids.
#[derive(Debug, Serialize, ToSchema)]
struct Changes {
    /// Feeds that come.
    added: Vec<String>,
    /// Feeds that go.
    removed: Vec<String>,
    /// Feeds that are configured otherwise.
    changed: Vec<String>,
    /// Networks that are rebuilt: their subscribers receive the whole state again.
    networks: Vec<String>,
}
