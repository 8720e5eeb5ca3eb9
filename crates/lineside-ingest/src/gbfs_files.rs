//! The files of a GBFS system as readers see them: each is a feed of its own, found through the system's.

use std::sync::Arc;

use lineside_formats::Problems;
use lineside_sync::UnixMillis;
use smol_str::{SmolStr, format_smolstr};

use crate::{
    feed::Feed,
    status::{FeedState, FeedStatus, HealthRules},
};

/// A file of a GBFS system.
#[derive(Clone, Debug)]
pub struct GbfsFeedFile {
    /// Its language, in versions that have them.
    pub language: Option<SmolStr>,
    /// Its name, without an ending.
    pub name: SmolStr,
    /// Its name in its address, without an ending, if that lies in the folder of the discovery file.
    pub beside: Option<SmolStr>,
    /// It, as a feed of its own: configured as its system is, with its own address, status and bytes. Languages may share one.
    pub feed: Arc<Feed>,
}

impl GbfsFeedFile {
    /// Its name, with its language before it: `en/station_status`.
    pub fn path_with_language(&self) -> SmolStr {
        join_language_path(self.language.as_deref(), &self.name)
    }
}

/// A file's name, with its language before it if it has one.
pub(crate) fn join_language_path(language: Option<&str>, name: &str) -> SmolStr {
    match language {
        Some(language) => format_smolstr!("{language}/{name}"),
        None => SmolStr::new(name),
    }
}

impl Feed {
    /// The files of a GBFS system that are asked for: one that languages share counts as that of the first of them.
    pub fn own_gbfs_files(&self) -> Vec<GbfsFeedFile> {
        let mut own: Vec<GbfsFeedFile> = Vec::new();
        for part in self.gbfs_files().iter() {
            if own.iter().all(|known| !Arc::ptr_eq(&known.feed, &part.feed)) {
                own.push(part.clone());
            }
        }
        own
    }

    /// The file of that name in that language; without one in the first language that has it.
    pub fn find_gbfs_file(&self, language: Option<&str>, name: &str) -> Option<Arc<Feed>> {
        let parts = self.gbfs_files();
        let fits = |part: &&GbfsFeedFile| {
            part.name == name
                && language.is_none_or(|language| part.language.as_deref() == Some(language))
        };
        parts.iter().find(fits).map(|part| Arc::clone(&part.feed))
    }

    /// The file of that name in the folder of the discovery file, whatever that calls it.
    pub fn find_sibling_file(&self, name: &str) -> Option<Arc<Feed>> {
        let parts = self.gbfs_files();
        let found = parts.iter().find(|part| part.beside.as_deref() == Some(name));
        found.map(|part| Arc::clone(&part.feed))
    }

    /// Its status, in which requests and bytes are also those of its files, and the time of its data is the oldest of those
    /// that tell how stations and vehicles are.
    pub fn status_with_files(&self) -> Arc<FeedStatus> {
        let mut status = self.status();
        for part in self.own_gbfs_files() {
            let (status, its) = (Arc::make_mut(&mut status), part.feed.status());
            status.add_counts(&its);
            let times = status.data_time.into_iter().chain(its.data_time);
            status.data_time = times.min();
        }
        status
    }

    /// What is wrong with its data, and with those of its files, each under its name with its language: `fr/vehicle_types.json`.
    pub fn problems_with_files(&self) -> Arc<Problems> {
        let mut all = Arc::clone(&self.status().problems);
        for part in self.own_gbfs_files() {
            let its = part.feed.status();
            if !its.problems.is_empty() {
                let file = format!("{}.json", part.path_with_language());
                Arc::make_mut(&mut all).merge(Problems::clone(&its.problems).relabel_file(&file));
            }
        }
        all
    }

    /// The worst state of its files with the reason, if any is in trouble.
    pub(crate) fn worst_file_trouble(&self) -> Option<(FeedState, String)> {
        let parts = self.own_gbfs_files();
        let mut troubled: Vec<(&GbfsFeedFile, Arc<FeedStatus>)> =
            parts.iter().map(|part| (part, part.feed.status())).collect();
        troubled.retain(|(_, status)| status.state.is_trouble());
        let is_failing = |status: &FeedStatus| status.state == FeedState::Failing;
        let (part, status) = troubled.iter().max_by_key(|(_, status)| is_failing(status))?;
        let (n, of, file) = (troubled.len(), parts.len(), part.path_with_language());
        Some((status.state, format!("{n} of {of} files: {file}: {}", status.reason)))
    }

    /// Goes on with what another had, whose place it takes.
    pub(crate) fn adopt_state(&self, other: &Feed) {
        self.set_status(FeedStatus::clone(&other.status()));
        self.copy_current_from(other);
    }

    /// Nobody asks for it until further notice: whether its bytes are still good is not known any more.
    pub(crate) fn mark_unpolled(&self, now: UnixMillis) {
        let status = self.status();
        let mut status =
            FeedStatus { is_restored: true, next_poll: None, ..FeedStatus::clone(&status) };
        status.update_state(now, now, &HealthRules::from_config(self.config()));
        self.set_status(status);
    }
}
