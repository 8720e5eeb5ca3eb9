//! Edits of feeds by admins while the server runs: each is checked, recorded, then applied.

use std::fmt;
use std::sync::Arc;

use lineside_config::overrides::{
    FeedKeys, FeedOverride, FeedOverrides, KeyDifference, NOT_WEB, OverrideKeyError,
    apply_overrides, check_schedule_references, diff_feeds, diff_keys, find_override_errors,
    restore_redacted_secrets,
};
use lineside_ingest::{ConfigChange, PollingStopped};
use lineside_model::{FeedConfig, FeedId, Secret};
use lineside_quality::context::ServerContext;
use lineside_store::{FeedOverrideEdit, NumberedOverrideEdit};

use super::LiveSettings;
use crate::settings::edit_undo::{
    UndoConflict, override_restored_before_edit, override_without_edit,
};

/// Maximum number of overrides: each is applied whenever the configuration is read.
const OVERRIDES_MAX: usize = 10_000;
/// Number of edits of a feed that are shown.
pub const HISTORY_SHOWN: usize = 100;

/// An edit of a feed.
#[derive(Clone)]
pub enum EditAction {
    /// Adds a feed that the file does not have.
    Add(FeedKeys),
    /// Overrides keys of the file; `null` removes the override of a key.
    Change(FeedKeys),
    /// Removes the feed, from the file or added.
    Remove,
    /// Removes all overrides of the feed.
    Revert,
    /// Pauses polling.
    Pause,
    /// Resumes polling.
    Resume,
    Undo {
        number: i64,
        /// True if keys that later edits changed are also reset to their values before it.
        overwrites: bool,
    },
}

/// The keys that affect requests to the source.
const REQUEST_KEYS: [&str; 7] = ["url", "format", "headers", "query", "basic", "oauth2", "siri"];

/// Omits the keys, which may be secrets.
impl fmt::Debug for EditAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EditAction").field(&self.action_name()).finish()
    }
}

impl EditAction {
    fn action_name(&self) -> &'static str {
        match self {
            Self::Add(_) => "add",
            Self::Change(_) => "change",
            Self::Remove => "remove",
            Self::Revert => "revert",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Undo { .. } => "undo",
        }
    }

    /// Returns true if the edit changes the requests to the feed's source.
    pub fn changes_source_requests(&self) -> bool {
        match self {
            Self::Add(_) => true,
            Self::Change(keys) => REQUEST_KEYS.iter().any(|key| keys.contains_key(*key)),
            _ => false,
        }
    }
}

/// The result of an edit or a dry run.
#[derive(Debug)]
pub struct EditOutcome {
    /// The number in the history; `None` after a dry run.
    pub number: Option<i64>,
    /// The effect on the running feeds.
    pub change: ConfigChange,
    pub override_after: Option<FeedOverride>,
    /// True if the file has the feed.
    pub is_in_file: bool,
    /// The keys whose effective values change, and the further keys that the history lists for the edit.
    pub differences: Vec<KeyDifference>,
    /// The feed after the edit; `None` if it is removed.
    pub new_config: Option<Box<FeedConfig>>,
}

/// The reason why an edit was not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("the feed does not exist")]
    UnknownFeed,
    #[error(
        "a feed with this id exists, or was removed here but is in the configuration file: undo the removal"
    )]
    Exists,
    #[error("feed {0} uses it as its schedule")]
    InUse(FeedId),
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    BadKeys(Vec<OverrideKeyError>),
    #[error("this feed has no such edit")]
    UnknownEdit,
    #[error("{}", changed_since(.0))]
    ChangedSince(UndoConflict),
    #[error("too many feeds have overrides")]
    TooMany,
    #[error("the edit could not be saved, and nothing was changed")]
    NotRecorded,
    #[error("the server is stopping")]
    Stopping,
    #[error("the server is stopping: edit {0} was saved, and applies from the next start")]
    OnlyRecorded(i64),
}

fn changed_since(UndoConflict { part, edit_number }: &UndoConflict) -> String {
    match edit_number {
        Some(number) => format!("edit {number} changed `{part}` again: undo edit {number} first"),
        None => format!("`{part}` was changed again after this edit"),
    }
}

impl LiveSettings {
    /// Edits a feed, or only computes the result. The returned result is recorded and applied. An edit that has begun
    /// completes even if the future is dropped.
    ///
    /// # Errors
    /// Returns the reason why nothing was changed.
    pub async fn edit_feed(
        self: &Arc<Self>,
        context: &ServerContext,
        id: FeedId,
        action: EditAction,
        only_try: bool,
    ) -> Result<EditOutcome, EditError> {
        let (this, context) = (Arc::clone(self), context.clone());
        let work = tokio::spawn(async move {
            let _only_one = this.change_lock.lock().await;
            if context.shutdown().is_draining() {
                return Err(EditError::Stopping);
            }
            let planned = this.plan_edit(&context, &id, &action).await?;
            if only_try {
                Ok(planned.into_dry_run_outcome())
            } else {
                this.apply_edit_plan(&context, id, action, planned).await
            }
        });
        work.await.map_err(|_| EditError::NotRecorded)?
    }

    /// Returns the override of a feed, and true if the file has the feed.
    pub fn find_feed_override(&self, id: &FeedId) -> (Option<FeedOverride>, bool) {
        let in_file = self.current_config().feeds.iter().any(|feed| feed.id == *id);
        (self.overrides.load().get(id).cloned(), in_file)
    }

    /// Returns true if overrides survive a restart.
    pub fn persists_edits(&self) -> bool {
        self.log.is_persistent()
    }

    /// Returns the newest edits of a feed.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub async fn list_feed_edits(
        self: &Arc<Self>,
        id: FeedId,
    ) -> Result<Vec<NumberedOverrideEdit>, EditError> {
        let this = Arc::clone(self);
        let read = move || this.log.list_edits(&id, HISTORY_SHOWN);
        let read = tokio::task::spawn_blocking(read).await;
        read.ok().and_then(Result::ok).ok_or(EditError::NotRecorded)
    }

    /// Returns the newest edits of all feeds before the edit of this number, at most [`HISTORY_SHOWN`].
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub async fn list_edits_before(
        self: &Arc<Self>,
        before: i64,
    ) -> Result<Vec<NumberedOverrideEdit>, EditError> {
        let this = Arc::clone(self);
        let read = move || this.log.list_all_edits(before, HISTORY_SHOWN);
        let read = tokio::task::spawn_blocking(read).await;
        read.ok().and_then(Result::ok).ok_or(EditError::NotRecorded)
    }

    async fn plan_edit(
        self: &Arc<Self>,
        context: &ServerContext,
        id: &FeedId,
        action: &EditAction,
    ) -> Result<EditPlan, EditError> {
        let overrides = self.overrides.load_full();
        let before = overrides.get(id).cloned();
        let file = self.current_config();
        let base = file.feeds.iter().find(|feed| feed.id == *id);
        let known = context.ingest().find_feed(id.as_str());
        let after = match action {
            EditAction::Undo { number, overwrites } => {
                self.compute_undone_override(id, (*number, *overwrites), before.as_ref()).await?
            }
            _ => override_after(
                action,
                before.as_ref(),
                base,
                known.as_ref().map(|feed| feed.config()),
            )?,
        };
        let mut next = FeedOverrides::clone(&overrides);
        match &after {
            Some(feed_override) => drop(next.insert(id.clone(), feed_override.clone())),
            None => drop(next.remove(id)),
        }
        if next.len() > OVERRIDES_MAX {
            return Err(EditError::TooMany);
        }
        if let Some(feed_override) = &after {
            let present = apply_overrides(&file.feeds, &file.converters, &overrides);
            let faults = find_override_errors(id, base, &file.converters, feed_override, &present);
            if !faults.is_empty() && !feed_override.removed {
                return Err(EditError::BadKeys(faults));
            }
        }
        let feeds = apply_overrides(&file.feeds, &file.converters, &next);
        check_schedule_references(&feeds, id).map_err(|fault| {
            let dependent = feeds.iter().find(|feed| feed.static_feed.as_ref() == Some(id));
            match dependent.filter(|_| feeds.iter().all(|feed| feed.id != *id)) {
                Some(dependent) => EditError::InUse(dependent.id.clone()),
                None => EditError::BadKeys(vec![fault]),
            }
        })?;
        let changed = context.ingest().preview_config_change(feeds.clone());
        let becomes = feeds.iter().find(|feed| feed.id == *id);
        let mut all = diff_feeds(known.as_ref().map(|feed| feed.config()), becomes);
        if becomes.is_some() {
            add_history_only_differences(&mut all, before.as_ref(), after.as_ref());
        }
        let in_file = base.is_some();
        let becomes = becomes.cloned().map(Box::new);
        Ok(EditPlan {
            before,
            after,
            new_overrides: next,
            feeds,
            change: changed,
            is_in_file: in_file,
            differences: all,
            new_config: becomes,
        })
    }

    /// Returns all errors that these keys would have in a new feed, or as an override of the feed with this id. Changes
    /// nothing.
    pub fn find_key_errors(&self, id: Option<&FeedId>, keys: &FeedKeys) -> Vec<OverrideKeyError> {
        let file = self.current_config();
        let overrides = self.overrides.load();
        let feeds = apply_overrides(&file.feeds, &file.converters, &overrides);
        let known = id.and_then(|id| feeds.iter().find(|feed| feed.id == *id));
        let Some((id, known)) = id.zip(known) else {
            let mut faults: Vec<OverrideKeyError> = find_missing_url(keys).into_iter().collect();
            let feed_override =
                FeedOverride { added: true, keys: keys.clone(), ..FeedOverride::default() };
            let id = unused_feed_id(&feeds);
            faults.extend(find_override_errors(
                &id,
                None,
                &file.converters,
                &feed_override,
                &feeds,
            ));
            return faults;
        };
        let before = overrides.get(id);
        let base = file.feeds.iter().find(|feed| feed.id == *id);
        match override_after(&EditAction::Change(keys.clone()), before, base, Some(known)) {
            Ok(Some(feed_override)) => {
                find_override_errors(id, base, &file.converters, &feed_override, &feeds)
            }
            _ => Vec::new(),
        }
    }

    async fn compute_undone_override(
        self: &Arc<Self>,
        id: &FeedId,
        (number, overwrites): (i64, bool),
        now: Option<&FeedOverride>,
    ) -> Result<Option<FeedOverride>, EditError> {
        let (this, id) = (Arc::clone(self), id.clone());
        let read = move || {
            let log = &this.log;
            log.find_edit(&id, number)
                .and_then(|found| Ok((found, log.list_edits(&id, HISTORY_SHOWN)?)))
        };
        let found = tokio::task::spawn_blocking(read).await;
        let (found, edits) = found.ok().and_then(Result::ok).ok_or(EditError::NotRecorded)?;
        let edit = found.ok_or(EditError::UnknownEdit)?;
        if overwrites {
            return Ok(override_restored_before_edit(&edit, now));
        }
        override_without_edit(&edit, now, &edits).map_err(EditError::ChangedSince)
    }

    /// Returns the feed of an edit.
    ///
    /// # Errors
    /// Returns an error if there is no such edit, or it cannot be read.
    pub async fn find_feed_of_edit(self: &Arc<Self>, number: i64) -> Result<FeedId, EditError> {
        let newest = self.list_edits_before(number.saturating_add(1)).await?;
        let found = newest.into_iter().next().filter(|(n, _)| *n == number);
        found.map(|(_, edit)| edit.feed).ok_or(EditError::UnknownEdit)
    }

    async fn apply_edit_plan(
        self: &Arc<Self>,
        context: &ServerContext,
        id: FeedId,
        action: EditAction,
        mut plan: EditPlan,
    ) -> Result<EditOutcome, EditError> {
        let text = |feed_override: &Option<FeedOverride>| {
            feed_override.as_ref().map(|feed_override| Secret::new(feed_override.to_json_text()))
        };
        let edit = FeedOverrideEdit {
            feed: id.clone(),
            at: context.wall_time_now(),
            who: "admin".to_owned(),
            what: action.action_name().to_owned(),
            before: text(&plan.before),
            after: text(&plan.after),
            undoes: if let EditAction::Undo { number, .. } = action { Some(number) } else { None },
        };
        let this = Arc::clone(self);
        let record = move || this.log.record_edit(edit);
        let number = match tokio::task::spawn_blocking(record).await {
            Ok(Ok(number)) => number,
            Ok(Err(error)) => {
                tracing::error!(feed = %id, %error, "an edit could not be saved, and is not applied");
                return Err(EditError::NotRecorded);
            }
            Err(_) => return Err(EditError::NotRecorded),
        };
        self.overrides.store(Arc::new(std::mem::take(&mut plan.new_overrides)));
        tracing::info!(feed = %id, what = action.action_name(), number, "an admin changed a feed");
        let feeds = std::mem::take(&mut plan.feeds);
        let changed = context.ingest().apply_feed_configs(feeds).await;
        let changed = changed.map_err(|PollingStopped| match self.persists_edits() {
            true => EditError::OnlyRecorded(number),
            false => EditError::Stopping,
        })?;
        let EditPlan { after, is_in_file, differences, new_config, .. } = plan;
        Ok(EditOutcome {
            number: Some(number),
            change: changed,
            override_after: after,
            is_in_file,
            differences,
            new_config,
        })
    }
}

/// A validated edit.
struct EditPlan {
    before: Option<FeedOverride>,
    after: Option<FeedOverride>,
    new_overrides: FeedOverrides,
    feeds: Vec<FeedConfig>,
    change: ConfigChange,
    is_in_file: bool,
    differences: Vec<KeyDifference>,
    new_config: Option<Box<FeedConfig>>,
}

impl EditPlan {
    fn into_dry_run_outcome(self) -> EditOutcome {
        let Self { change, after, is_in_file, differences, new_config, .. } = self;
        EditOutcome {
            number: None,
            change,
            override_after: after,
            is_in_file,
            differences,
            new_config,
        }
    }
}

/// Adds the keys that the history lists for an edit although their effective values stay, such as one set to its
/// default.
fn add_history_only_differences(
    all: &mut Vec<KeyDifference>,
    before: Option<&FeedOverride>,
    after: Option<&FeedOverride>,
) {
    let keys = |feed_override: Option<&FeedOverride>| {
        feed_override.map(|feed_override| feed_override.keys.clone()).unwrap_or_default()
    };
    let recorded = diff_keys(&keys(before), &keys(after));
    let is_new = |found: &KeyDifference| all.iter().all(|known| known.key != found.key);
    let new: Vec<KeyDifference> = recorded.into_iter().filter(is_new).collect();
    all.extend(new);
    all.sort_by(|a, b| a.key.cmp(&b.key));
}

/// Returns an error if a new feed has no address.
fn find_missing_url(keys: &FeedKeys) -> Option<OverrideKeyError> {
    let fault = || OverrideKeyError { key: "url".to_owned(), reason: NOT_WEB.to_owned() };
    (!keys.contains_key("url")).then(fault)
}

/// Returns an unused id, to check a new feed whose own id is missing or taken.
fn unused_feed_id(feeds: &[FeedConfig]) -> FeedId {
    let free = (0..=feeds.len()).map(|n| format!("new-feed-{n}"));
    let mut free = free.filter(|id| feeds.iter().all(|feed| feed.id.as_str() != id));
    let id = free.next().unwrap_or_default();
    FeedId::new(&id).expect("letters, digits and dashes are an id")
}

/// Returns the override after an edit: `base` is the feed in the file, `known` the feed now.
fn override_after(
    action: &EditAction,
    before: Option<&FeedOverride>,
    base: Option<&FeedConfig>,
    known: Option<&FeedConfig>,
) -> Result<Option<FeedOverride>, EditError> {
    let mut feed_override = before.cloned().unwrap_or_default();
    match (action, known) {
        (EditAction::Add(_), Some(_)) => return Err(EditError::Exists),
        (EditAction::Add(keys), None) if base.is_none() => {
            if let Some(fault) = find_missing_url(keys) {
                return Err(EditError::BadKeys(vec![fault]));
            }
            return Ok(Some(FeedOverride {
                added: true,
                keys: keys.clone(),
                ..FeedOverride::default()
            }));
        }
        // The file has the feed and an edit removed it: the user must undo that edit.
        (EditAction::Add(_), None) => return Err(EditError::Exists),
        (EditAction::Revert, _) if before.is_some() => return Ok(None),
        (_, None) => return Err(EditError::UnknownFeed),
        (EditAction::Revert, Some(_)) => {}
        (EditAction::Change(keys), Some(known)) => {
            let mut keys = keys.clone();
            restore_redacted_secrets(&mut keys, known);
            for (key, value) in keys {
                match value.is_null() {
                    true => drop(feed_override.keys.remove(&key)),
                    false => drop(feed_override.keys.insert(key, value)),
                }
            }
        }
        (EditAction::Remove, Some(_)) if base.is_some() => feed_override.removed = true,
        (EditAction::Remove, Some(_)) => return Ok(None),
        (EditAction::Pause, Some(_)) => feed_override.paused = true,
        (EditAction::Resume, Some(_)) => feed_override.paused = false,
        (EditAction::Undo { .. }, Some(_)) => {}
    }
    Ok(feed_override.none_if_empty())
}
