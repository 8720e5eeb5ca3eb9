//! The live configuration, reloaded when its file changes.
//!
//! A file is accepted or rejected as a whole: an invalid one is reported, and the previous configuration stays in
//! force. Readers load the current configuration without a lock; changes are serialized.

pub mod edit_log;
pub mod edit_undo;
mod feed_edit;
mod deferred_keys;
mod config_watcher;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;
use arc_swap::ArcSwap;
use lineside_config::overrides::{FeedOverrides, apply_overrides};
use lineside_config::{Config, ConfigError, ConfigErrors, FileStamp};
use lineside_model::FeedConfig;
use lineside_quality::context::ServerContext;
use lineside_store::Store;
use lineside_sync::UnixMillis;
use tokio::sync::Mutex;

pub use self::config_watcher::watch_config_files;
pub use self::feed_edit::{EditAction, EditError, EditOutcome, HISTORY_SHOWN};

use crate::settings::edit_log::EditLog;

/// The configuration in force, and the state of its reloads.
#[derive(Debug)]
pub struct LiveSettings {
    config: Arc<ArcSwap<Config>>,
    state: ArcSwap<ConfigReloadState>,
    /// The overrides of the file's feeds.
    overrides: ArcSwap<FeedOverrides>,
    log: EditLog,
    /// Locked during each change.
    change_lock: Mutex<()>,
    n_accepted: AtomicU64,
    n_rejected: AtomicU64,
}

/// The relation between the configuration file and the configuration in force.
#[derive(Debug, Clone)]
pub struct ConfigReloadState {
    /// Time of the last successful read.
    pub read_at: UnixMillis,
    /// The rejection of the current file, if it is invalid; then an older configuration is in force.
    pub rejected: Option<RejectedConfig>,
    /// Changed keys of the file that take effect at the next start.
    pub deferred_keys: Vec<&'static str>,
}

/// A rejected configuration file.
#[derive(Debug, Clone)]
pub struct RejectedConfig {
    /// Time of the rejection.
    pub at: UnixMillis,
    /// All errors in the file, each with file, line, key and reason.
    pub errors: Vec<String>,
}

impl LiveSettings {
    /// Creates the settings at the start of the server, with the overrides of the previous run.
    ///
    /// # Errors
    /// Returns an error if the overrides cannot be read: without them paused feeds would be polled.
    pub async fn with_stored_overrides(
        config: Config,
        store: Option<&Arc<Store>>,
        now: UnixMillis,
    ) -> anyhow::Result<Self> {
        // A missing program is only a warning: it may be installed later, and the rest works without it.
        config.config_warnings().for_each(|fault| tracing::warn!("{fault}"));
        let log = EditLog::new(store);
        let load = move || log.load_overrides().map(|overrides| (log, overrides));
        let loaded =
            tokio::task::spawn_blocking(load).await.context("a task of the start crashed")?;
        let (log, overrides) = loaded.context("the overrides of the feeds cannot be read")?;
        let state = ConfigReloadState { read_at: now, rejected: None, deferred_keys: Vec::new() };
        Ok(Self {
            config: Arc::new(ArcSwap::from_pointee(config)),
            state: ArcSwap::from_pointee(state),
            overrides: ArcSwap::from_pointee(overrides),
            log,
            change_lock: Mutex::new(()),
            n_accepted: AtomicU64::new(0),
            n_rejected: AtomicU64::new(0),
        })
    }

    /// Returns the file's feeds with their overrides applied.
    pub fn effective_feeds(&self) -> Vec<FeedConfig> {
        let file = self.current_config();
        apply_overrides(&file.feeds, &file.converters, &self.overrides.load())
    }

    /// Returns the configuration in force.
    pub fn current_config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// Returns the configuration in force, as a shared value that each reload replaces.
    pub fn shared_config(&self) -> &Arc<ArcSwap<Config>> {
        &self.config
    }

    /// Returns the relation between the file and the configuration in force.
    pub fn reload_state(&self) -> Arc<ConfigReloadState> {
        self.state.load_full()
    }

    /// Returns the number of accepted and of rejected reloads.
    pub fn reload_counts(&self) -> [(&'static str, u64); 2] {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [("accepted", load(&self.n_accepted)), ("refused", load(&self.n_rejected))]
    }

    /// Reloads the file, and applies it if it is valid.
    async fn reload_file(&self, context: &ServerContext) {
        let _only_one = self.change_lock.lock().await;
        let before = self.current_config();
        let Some(file) = before.source.file.clone() else {
            tracing::info!("the server has no configuration file to reload");
            return;
        };
        let arguments = before.source.arguments.clone();
        let feeds_before = before.feeds.len() - arguments.len();
        let read = move || {
            let config = Config::load_with_feeds(&file, &arguments)?;
            // An editor, or a deployment on a full disk, may leave a truncated or empty file.
            if feeds_before > 0 && !config.source.has_feeds {
                return Err(ConfigErrors::from_error(ConfigError::missing_feeds_error(
                    &file,
                    feeds_before,
                )));
            }
            Ok(config)
        };
        let read = tokio::task::spawn_blocking(read).await;
        match read {
            Ok(Ok(config)) => self.accept_config(context, &before, config).await,
            Ok(Err(errors)) => self.reject_config(&errors, context.wall_time_now()),
            Err(error) => tracing::error!(%error, "reading the configuration crashed"),
        }
    }

    async fn accept_config(&self, context: &ServerContext, before: &Config, mut config: Config) {
        config.source.arguments.clone_from(&before.source.arguments);
        config.admin.fill_token_from_environment();
        config.feeds.extend(before.source.arguments.iter().cloned());
        let (next, waiting) = deferred_keys::split_off_restart_keys(before, config);
        next.config_warnings().for_each(|fault| tracing::warn!("{fault}"));
        let feeds = apply_overrides(&next.feeds, &next.converters, &self.overrides.load());
        let Ok(changed) = context.ingest().apply_feed_configs(feeds).await else { return };
        self.config.store(Arc::new(next));
        let known = self.reload_state();
        if waiting != known.deferred_keys && !waiting.is_empty() {
            let keys = waiting.join(", ");
            tracing::warn!(keys, "changed configuration keys apply only after a restart");
        }
        let [added, removed, others] =
            [&changed.added, &changed.removed, &changed.changed].map(Vec::len);
        tracing::info!(added, removed, changed = others, "the configuration was reloaded");
        self.n_accepted.fetch_add(1, Ordering::Relaxed);
        let state = ConfigReloadState {
            read_at: context.wall_time_now(),
            rejected: None,
            deferred_keys: waiting,
        };
        self.state.store(Arc::new(state));
    }

    fn reject_config(&self, errors: &ConfigErrors, at: UnixMillis) {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        for error in &errors {
            tracing::error!("{error}");
        }
        tracing::error!("the configuration was not reloaded, because it is invalid");
        self.n_rejected.fetch_add(1, Ordering::Relaxed);
        let state = ConfigReloadState::clone(&self.reload_state());
        let refused = Some(RejectedConfig { at, errors });
        self.state.store(Arc::new(ConfigReloadState { rejected: refused, ..state }));
    }

    /// Returns the files of the configuration, with their stamps before reading.
    fn watched_files(&self) -> Vec<(PathBuf, FileStamp)> {
        self.current_config().source.read.clone()
    }
}
