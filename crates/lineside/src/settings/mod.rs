//! What the server goes on by: the configuration in force, read again when its file changes.
//!
//! A file is taken whole or not at all: one that is no good is told of, and what was in force stays. Readers take the
//! configuration of the moment and hold no lock; changes come one after another.

mod feed_edit;
mod deferred_keys;
mod config_watcher;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;
use arc_swap::ArcSwap;
use lineside_ingest::FeedConfig;
use lineside_store::Store;
use lineside_sync::UnixMillis;
use tokio::sync::Mutex;

pub(crate) use self::config_watcher::watch_config_files;
pub(crate) use self::feed_edit::{EditAction, EditError, EditOutcome, HISTORY_SHOWN};

use crate::app::App;
use crate::config::{Config, ConfigError, ConfigErrors, FileStamp};
use crate::overrides::{EditLog, Overrides, apply_overrides};

/// The configuration in force, and how reading it again went.
#[derive(Debug)]
pub(crate) struct LiveSettings {
    in_force: ArcSwap<Config>,
    state: ArcSwap<SettingsState>,
    /// What is laid over the feeds of the file.
    overrides: ArcSwap<Overrides>,
    log: EditLog,
    /// Held while feeds or anything else is changed.
    changing: Mutex<()>,
    taken: AtomicU64,
    refused: AtomicU64,
}

/// How the configuration's file and what is in force go together.
#[derive(Debug, Clone)]
pub(crate) struct SettingsState {
    /// When the file was last read and was good.
    pub(crate) read_at: UnixMillis,
    /// What is wrong with the file as it is now, and since when; then something older is in force.
    pub(crate) refused: Option<RejectedConfig>,
    /// Keys that say something else in the file than what is in force until the next start.
    pub(crate) waiting: Vec<&'static str>,
}

/// A file that was no good.
#[derive(Debug, Clone)]
pub(crate) struct RejectedConfig {
    /// When it was read.
    pub(crate) at: UnixMillis,
    /// All that is wrong with it: file, line, key and reason.
    pub(crate) errors: Vec<String>,
}

impl LiveSettings {
    /// What the server starts with, and what was laid over its feeds when it last ran.
    ///
    /// # Errors
    /// If that cannot be read: without it paused feeds would be polled.
    pub(crate) async fn with_stored_overrides(
        config: Config,
        store: Option<&Arc<Store>>,
        now: UnixMillis,
    ) -> anyhow::Result<Self> {
        // A program may come later, and the rest works without it.
        config.warnings().for_each(|fault| tracing::warn!("{fault}"));
        let log = EditLog::new(store);
        let load = move || log.load_overrides().map(|overrides| (log, overrides));
        let loaded = tokio::task::spawn_blocking(load).await.context("the start broke off")?;
        let (log, overrides) = loaded.context("the overrides of feeds cannot be read")?;
        let state = SettingsState { read_at: now, refused: None, waiting: Vec::new() };
        Ok(Self {
            in_force: ArcSwap::from_pointee(config),
            state: ArcSwap::from_pointee(state),
            overrides: ArcSwap::from_pointee(overrides),
            log,
            changing: Mutex::new(()),
            taken: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        })
    }

    /// The feeds of the file with what is laid over them.
    pub(crate) fn effective_feeds(&self) -> Vec<FeedConfig> {
        let file = self.current_config();
        apply_overrides(&file.feeds, &file.converters, &self.overrides.load())
    }

    /// What is in force.
    pub(crate) fn current_config(&self) -> Arc<Config> {
        self.in_force.load_full()
    }

    /// How the file and that go together.
    pub(crate) fn reload_state(&self) -> Arc<SettingsState> {
        self.state.load_full()
    }

    /// How often the file was read again and taken, and how often it was refused.
    pub(crate) fn reload_counts(&self) -> [(&'static str, u64); 2] {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [("taken", load(&self.taken)), ("refused", load(&self.refused))]
    }

    /// Reads the file again, and goes on by it if it is good.
    async fn reload_file(&self, app: &App) {
        let _only_one = self.changing.lock().await;
        let before = self.current_config();
        let Some(file) = before.source.file.clone() else {
            tracing::info!("there is no configuration file to reload");
            return;
        };
        let arguments = before.source.arguments.clone();
        let feeds_before = before.feeds.len() - arguments.len();
        let read = move || {
            let config = Config::load_with_feeds(&file, &arguments)?;
            // An editor, or a deployment on a full disk, leaves a file that is cut off or empty.
            if feeds_before > 0 && !config.source.lists_feeds {
                return Err(ConfigErrors::from_error(ConfigError::missing_feeds(
                    &file,
                    feeds_before,
                )));
            }
            Ok(config)
        };
        let read = tokio::task::spawn_blocking(read).await;
        match read {
            Ok(Ok(config)) => self.accept_config(app, &before, config).await,
            Ok(Err(errors)) => self.reject_config(&errors, app.now()),
            Err(error) => tracing::error!(%error, "reading the configuration broke off"),
        }
    }

    async fn accept_config(&self, app: &App, before: &Config, mut config: Config) {
        config.source.arguments.clone_from(&before.source.arguments);
        config.admin.fill_from_environment();
        config.feeds.extend(before.source.arguments.iter().cloned());
        let (next, waiting) = deferred_keys::defer_restart_keys(before, config);
        next.warnings().for_each(|fault| tracing::warn!("{fault}"));
        let feeds = apply_overrides(&next.feeds, &next.converters, &self.overrides.load());
        let Ok(changed) = app.ingest().apply_change(feeds).await else { return };
        self.in_force.store(Arc::new(next));
        let known = self.reload_state();
        if waiting != known.waiting && !waiting.is_empty() {
            let keys = waiting.join(", ");
            tracing::warn!(keys, "these keys of the configuration wait for the next start");
        }
        let [added, removed, others] =
            [&changed.added, &changed.removed, &changed.changed].map(Vec::len);
        tracing::info!(added, removed, changed = others, "the configuration was read again");
        self.taken.fetch_add(1, Ordering::Relaxed);
        let state = SettingsState { read_at: app.now(), refused: None, waiting };
        self.state.store(Arc::new(state));
    }

    fn reject_config(&self, errors: &ConfigErrors, at: UnixMillis) {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        for error in &errors {
            tracing::error!("{error}");
        }
        tracing::error!("the configuration stays as it was");
        self.refused.fetch_add(1, Ordering::Relaxed);
        let state = SettingsState::clone(&self.reload_state());
        let refused = Some(RejectedConfig { at, errors });
        self.state.store(Arc::new(SettingsState { refused, ..state }));
    }

    /// The files that the configuration came from, and would come from again, as they looked when they were read.
    fn watched_files(&self) -> Vec<(PathBuf, FileStamp)> {
        self.current_config().source.read.clone()
    }
}
