//! What an admin changes of feeds while the server runs: checked, recorded, then in force.

use std::sync::Arc;

use lineside_ingest::{Changed, FeedConfig, FeedId, Secret, Stopping};
use lineside_store::{Edit, NumberedEdit};

use super::Settings;
use crate::app::App;
use crate::overrides::{
    BadKey, Difference, Keys, NOT_WEB, Override, Overrides, UndoConflict, check_schedules,
    differences, differences_of, find_faults, keep_secrets, lay_over, restore_before, undo_edit,
};

/// Feeds that may be laid over: each is looked at whenever the configuration is read.
const OVERRIDES_MAX: usize = 10_000;
/// Edits of a feed that are shown.
pub(crate) const HISTORY_SHOWN: usize = 100;

/// What is to be done with a feed.
#[derive(Clone)]
pub(crate) enum What {
    /// A feed that the file does not have.
    Add(Keys),
    /// Keys that are others than in the file; with `null` they are the file's again.
    Change(Keys),
    /// The feed goes, whether it is the file's or was added.
    Remove,
    /// The feed is as the file says.
    Revert,
    /// Its source is left alone.
    Pause,
    /// Its source is asked again.
    Resume,
    /// An edit is undone.
    Undo {
        /// Its number.
        number: i64,
        /// Whether keys that later edits changed are also set back to their values before it.
        overwrites: bool,
    },
}

/// Keys that say how a source is requested.
const REQUEST_KEYS: [&str; 7] = ["url", "format", "headers", "query", "basic", "oauth2", "siri"];

impl What {
    fn name(&self) -> &'static str {
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

    /// Whether the source of the feed would be requested in another way than before.
    pub(crate) fn requests_otherwise(&self) -> bool {
        match self {
            Self::Add(_) => true,
            Self::Change(keys) => REQUEST_KEYS.iter().any(|key| keys.contains_key(*key)),
            _ => false,
        }
    }
}

/// What came of it, or would.
#[derive(Debug)]
pub(crate) struct Edited {
    /// Its number in the history; none where it was only tried.
    pub(crate) number: Option<i64>,
    /// What it means for what runs.
    pub(crate) changed: Changed,
    /// What is then laid over the feed.
    pub(crate) over: Option<Override>,
    /// Whether the file has the feed.
    pub(crate) in_file: bool,
    /// The keys that then have another value than before, whichever of file and edits it comes from, and those that the history
    /// lists of the edit.
    pub(crate) differences: Vec<Difference>,
    /// The feed as it is then; none where it goes.
    pub(crate) becomes: Option<Box<FeedConfig>>,
}

/// Why nothing was changed, as far as what runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotEdited {
    #[error("there is no such feed")]
    UnknownFeed,
    #[error("there is a feed of that id, or the file has one that was removed here: undo that")]
    Exists,
    #[error("feed {0} names it as its schedule")]
    InUse(FeedId),
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    BadKeys(Vec<BadKey>),
    #[error("there is no such edit of this feed")]
    UnknownEdit,
    #[error("{}", changed_since(.0))]
    ChangedSince(UndoConflict),
    #[error("too many feeds have overrides")]
    TooMany,
    #[error("it could not be recorded, and nothing was changed")]
    NotRecorded,
    #[error("the server is stopping")]
    Stopping,
    #[error("the server is stopping: edit {0} was recorded, and is in force after the next start")]
    OnlyRecorded(i64),
}

fn changed_since(UndoConflict { part, by }: &UndoConflict) -> String {
    match by {
        Some(number) => format!("edit {number} changed `{part}` again: undo edit {number} first"),
        None => format!("`{part}` was changed again after this edit"),
    }
}

impl Settings {
    /// Changes what is laid over a feed, or only says what that would come to. What it answers has been recorded, and is in
    /// force. Once begun it ends, also if nobody waits for it.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub(crate) async fn edit(
        app: &App,
        id: FeedId,
        what: What,
        only_try: bool,
    ) -> Result<Edited, NotEdited> {
        let app = app.clone();
        let work = tokio::spawn(async move {
            let this = app.settings();
            let _only_one = this.changing.lock().await;
            if app.shutdown().is_draining() {
                return Err(NotEdited::Stopping);
            }
            let planned = this.plan(&app, &id, &what).await?;
            if only_try {
                Ok(planned.tried())
            } else {
                this.carry_out(&app, id, what, planned).await
            }
        });
        work.await.map_err(|_| NotEdited::NotRecorded)?
    }

    /// What is laid over a feed, and whether the file has it.
    pub(crate) fn find_override(&self, id: &FeedId) -> (Option<Override>, bool) {
        let in_file = self.in_force().feeds.iter().any(|feed| feed.id == *id);
        (self.overrides.load().get(id).cloned(), in_file)
    }

    /// Whether what is laid over feeds outlives the process.
    pub(crate) fn keeps_edits(&self) -> bool {
        self.log.is_kept()
    }

    /// The newest edits of a feed.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) async fn history(app: &App, id: FeedId) -> Result<Vec<NumberedEdit>, NotEdited> {
        let app = app.clone();
        let read = move || app.settings().log.list(&id, HISTORY_SHOWN);
        let read = tokio::task::spawn_blocking(read).await;
        read.ok().and_then(Result::ok).ok_or(NotEdited::NotRecorded)
    }

    /// The newest edits of all feeds that came before the one of this number, at most [`HISTORY_SHOWN`].
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) async fn history_of_all(
        app: &App,
        before: i64,
    ) -> Result<Vec<NumberedEdit>, NotEdited> {
        let app = app.clone();
        let read = move || app.settings().log.list_all(before, HISTORY_SHOWN);
        let read = tokio::task::spawn_blocking(read).await;
        read.ok().and_then(Result::ok).ok_or(NotEdited::NotRecorded)
    }

    async fn plan(&self, app: &App, id: &FeedId, what: &What) -> Result<Plan, NotEdited> {
        let overrides = self.overrides.load_full();
        let before = overrides.get(id).cloned();
        let file = self.in_force();
        let base = file.feeds.iter().find(|feed| feed.id == *id);
        let known = app.ingest().feed(id.as_str());
        let after = match what {
            What::Undo { number, overwrites } => {
                self.undone(app, id, (*number, *overwrites), before.as_ref()).await?
            }
            _ => after(what, before.as_ref(), base, known.as_ref().map(|feed| feed.config()))?,
        };
        let mut next = Overrides::clone(&overrides);
        match &after {
            Some(over) => drop(next.insert(id.clone(), over.clone())),
            None => drop(next.remove(id)),
        }
        if next.len() > OVERRIDES_MAX {
            return Err(NotEdited::TooMany);
        }
        if let Some(over) = &after {
            let present = lay_over(&file.feeds, &file.converters, &overrides);
            let faults = find_faults(id, base, &file.converters, over, &present);
            if !faults.is_empty() && !over.removed {
                return Err(NotEdited::BadKeys(faults));
            }
        }
        let feeds = lay_over(&file.feeds, &file.converters, &next);
        check_schedules(&feeds, id).map_err(|fault| {
            let by = feeds.iter().find(|feed| feed.static_feed.as_ref() == Some(id));
            match by.filter(|_| feeds.iter().all(|feed| feed.id != *id)) {
                Some(by) => NotEdited::InUse(by.id.clone()),
                None => NotEdited::BadKeys(vec![fault]),
            }
        })?;
        let changed = app.ingest().preview(feeds.clone());
        let becomes = feeds.iter().find(|feed| feed.id == *id);
        let mut all = differences_of(known.as_ref().map(|feed| feed.config()), becomes);
        if becomes.is_some() {
            add_recorded(&mut all, before.as_ref(), after.as_ref());
        }
        let in_file = base.is_some();
        let becomes = becomes.cloned().map(Box::new);
        Ok(Plan { before, after, next, feeds, changed, in_file, differences: all, becomes })
    }

    /// Every fault that these keys would have in a new feed, or laid over the feed of this id. Changes nothing.
    pub(crate) fn find_faults(app: &App, id: Option<&FeedId>, keys: &Keys) -> Vec<BadKey> {
        let this = app.settings();
        let file = this.in_force();
        let overrides = this.overrides.load();
        let feeds = lay_over(&file.feeds, &file.converters, &overrides);
        let known = id.and_then(|id| feeds.iter().find(|feed| feed.id == *id));
        let Some((id, known)) = id.zip(known) else {
            let mut faults: Vec<BadKey> = missing_url(keys).into_iter().collect();
            let over = Override { added: true, keys: keys.clone(), ..Override::default() };
            let id = unused_id(&feeds);
            faults.extend(find_faults(&id, None, &file.converters, &over, &feeds));
            return faults;
        };
        let before = overrides.get(id);
        let base = file.feeds.iter().find(|feed| feed.id == *id);
        match after(&What::Change(keys.clone()), before, base, Some(known)) {
            Ok(Some(over)) => find_faults(id, base, &file.converters, &over, &feeds),
            _ => Vec::new(),
        }
    }

    /// The override of the feed without an edit.
    async fn undone(
        &self,
        app: &App,
        id: &FeedId,
        (number, overwrites): (i64, bool),
        now: Option<&Override>,
    ) -> Result<Option<Override>, NotEdited> {
        let (app, id) = (app.clone(), id.clone());
        let read = move || {
            let log = &app.settings().log;
            log.find(&id, number).and_then(|found| Ok((found, log.list(&id, HISTORY_SHOWN)?)))
        };
        let found = tokio::task::spawn_blocking(read).await;
        let (found, edits) = found.ok().and_then(Result::ok).ok_or(NotEdited::NotRecorded)?;
        let edit = found.ok_or(NotEdited::UnknownEdit)?;
        if overwrites {
            return Ok(restore_before(&edit, now));
        }
        undo_edit(&edit, now, &edits).map_err(NotEdited::ChangedSince)
    }

    /// The feed that an edit is of.
    ///
    /// # Errors
    /// If there is no such edit, or it cannot be read.
    pub(crate) async fn feed_of_edit(app: &App, number: i64) -> Result<FeedId, NotEdited> {
        let newest = Self::history_of_all(app, number.saturating_add(1)).await?;
        let found = newest.into_iter().next().filter(|(n, _)| *n == number);
        found.map(|(_, edit)| edit.feed).ok_or(NotEdited::UnknownEdit)
    }

    async fn carry_out(
        &self,
        app: &App,
        id: FeedId,
        what: What,
        mut plan: Plan,
    ) -> Result<Edited, NotEdited> {
        let text = |over: &Option<Override>| over.as_ref().map(|over| Secret::new(over.to_text()));
        let edit = Edit {
            feed: id.clone(),
            at: app.now(),
            who: "admin".to_owned(),
            what: what.name().to_owned(),
            before: text(&plan.before),
            after: text(&plan.after),
            undoes: if let What::Undo { number, .. } = what { Some(number) } else { None },
        };
        let recording = app.clone();
        let record = move || recording.settings().log.record(edit);
        let number = match tokio::task::spawn_blocking(record).await {
            Ok(Ok(number)) => number,
            Ok(Err(error)) => {
                tracing::error!(feed = %id, %error, "an edit could not be recorded, and is not done");
                return Err(NotEdited::NotRecorded);
            }
            Err(_) => return Err(NotEdited::NotRecorded),
        };
        self.overrides.store(Arc::new(std::mem::take(&mut plan.next)));
        tracing::info!(feed = %id, what = what.name(), number, "an admin changed a feed");
        let feeds = std::mem::take(&mut plan.feeds);
        let changed = app.ingest().change(feeds).await;
        let changed = changed.map_err(|Stopping| match self.keeps_edits() {
            true => NotEdited::OnlyRecorded(number),
            false => NotEdited::Stopping,
        })?;
        let Plan { after, in_file, differences, becomes, .. } = plan;
        Ok(Edited { number: Some(number), changed, over: after, in_file, differences, becomes })
    }
}

/// An edit that can be carried out.
struct Plan {
    before: Option<Override>,
    after: Option<Override>,
    next: Overrides,
    feeds: Vec<FeedConfig>,
    changed: Changed,
    in_file: bool,
    differences: Vec<Difference>,
    becomes: Option<Box<FeedConfig>>,
}

impl Plan {
    fn tried(self) -> Edited {
        let Self { changed, after, in_file, differences, becomes, .. } = self;
        Edited { number: None, changed, over: after, in_file, differences, becomes }
    }
}

/// Adds what the history lists of an edit and what changes no value in force, such as a key that is set to its default.
fn add_recorded(all: &mut Vec<Difference>, before: Option<&Override>, after: Option<&Override>) {
    let keys = |over: Option<&Override>| over.map(|over| over.keys.clone()).unwrap_or_default();
    let recorded = differences(&keys(before), &keys(after));
    let is_new = |found: &Difference| all.iter().all(|known| known.key != found.key);
    let new: Vec<Difference> = recorded.into_iter().filter(is_new).collect();
    all.extend(new);
    all.sort_by(|a, b| a.key.cmp(&b.key));
}

/// A new feed needs an address.
fn missing_url(keys: &Keys) -> Option<BadKey> {
    let fault = || BadKey { key: "url".to_owned(), reason: NOT_WEB.to_owned() };
    (!keys.contains_key("url")).then(fault)
}

/// The id under which a new feed is checked whose own id is missing or taken.
fn unused_id(feeds: &[FeedConfig]) -> FeedId {
    let free = (0..=feeds.len()).map(|n| format!("new-feed-{n}"));
    let mut free = free.filter(|id| feeds.iter().all(|feed| feed.id.as_str() != id));
    let id = free.next().unwrap_or_default();
    FeedId::new(&id).expect("letters, digits and dashes are an id")
}

/// What is then laid over a feed: `base` is how the file has it, `known` how it is now.
fn after(
    what: &What,
    before: Option<&Override>,
    base: Option<&FeedConfig>,
    known: Option<&FeedConfig>,
) -> Result<Option<Override>, NotEdited> {
    let mut over = before.cloned().unwrap_or_default();
    match (what, known) {
        (What::Add(_), Some(_)) => return Err(NotEdited::Exists),
        (What::Add(keys), None) if base.is_none() => {
            if let Some(fault) = missing_url(keys) {
                return Err(NotEdited::BadKeys(vec![fault]));
            }
            return Ok(Some(Override { added: true, keys: keys.clone(), ..Override::default() }));
        }
        // The file has it, and it was removed here: that is to be undone.
        (What::Add(_), None) => return Err(NotEdited::Exists),
        (What::Revert, _) if before.is_some() => return Ok(None),
        (_, None) => return Err(NotEdited::UnknownFeed),
        (What::Revert, Some(_)) => {}
        (What::Change(keys), Some(known)) => {
            let mut keys = keys.clone();
            keep_secrets(&mut keys, known);
            for (key, value) in keys {
                match value.is_null() {
                    true => drop(over.keys.remove(&key)),
                    false => drop(over.keys.insert(key, value)),
                }
            }
        }
        (What::Remove, Some(_)) if base.is_some() => over.removed = true,
        (What::Remove, Some(_)) => return Ok(None),
        (What::Pause, Some(_)) => over.paused = true,
        (What::Resume, Some(_)) => over.paused = false,
        (What::Undo { .. }, Some(_)) => {}
    }
    Ok(over.if_any())
}
