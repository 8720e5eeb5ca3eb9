//! The files of a GBFS system: each is a feed of its own, found through the system's feed.

use std::sync::Arc;

use lineside_formats::Problems;
use lineside_sync::UnixMillis;
use smol_str::{SmolStr, format_smolstr};

use crate::{
    catalog::Feed,
    status::{FeedState, FeedStatus, HealthRules},
};

/// The number of files that a reason names beside the worst one.
const OTHER_FILES_MAX: usize = 3;

/// A file of a GBFS system.
#[derive(Clone, Debug)]
pub struct GbfsFeedFile {
    /// The language, in GBFS versions with languages.
    pub language: Option<SmolStr>,
    /// The name without extension.
    pub name: SmolStr,
    /// The name in the URL without extension, if the file is in the folder of the discovery file.
    pub sibling_name: Option<SmolStr>,
    /// The file's feed: configured like its system, with its own URL, status and bytes. Languages may share a feed.
    pub feed: Arc<Feed>,
}

impl GbfsFeedFile {
    /// Returns the name prefixed by the language: `en/station_status`.
    pub fn path_with_language(&self) -> SmolStr {
        prefix_with_language(self.language.as_deref(), &self.name)
    }
}

/// Returns a file's name prefixed by its language, if it has one.
pub(crate) fn prefix_with_language(language: Option<&str>, name: &str) -> SmolStr {
    match language {
        Some(language) => format_smolstr!("{language}/{name}"),
        None => SmolStr::new(name),
    }
}

impl Feed {
    /// Returns the files of a GBFS system without duplicates: a file shared by languages appears under the first one.
    pub fn distinct_gbfs_files(&self) -> Vec<GbfsFeedFile> {
        let mut own: Vec<GbfsFeedFile> = Vec::new();
        for part in self.gbfs_files().iter() {
            if own.iter().all(|known| !Arc::ptr_eq(&known.feed, &part.feed)) {
                own.push(part.clone());
            }
        }
        own
    }

    /// Returns the file with a name and language; without a language, that of the first language that has it.
    pub fn find_gbfs_file(&self, language: Option<&str>, name: &str) -> Option<Arc<Feed>> {
        let parts = self.gbfs_files();
        let fits = |part: &&GbfsFeedFile| {
            part.name == name
                && language.is_none_or(|language| part.language.as_deref() == Some(language))
        };
        parts.iter().find(fits).map(|part| Arc::clone(&part.feed))
    }

    /// Returns the file with this name in the folder of the discovery file, whatever the discovery file calls it.
    pub fn find_file_beside_discovery(&self, name: &str) -> Option<Arc<Feed>> {
        let parts = self.gbfs_files();
        let found = parts.iter().find(|part| part.sibling_name.as_deref() == Some(name));
        found.map(|part| Arc::clone(&part.feed))
    }

    /// Returns the status with the requests and bytes of all files added. The data time is the oldest of the files with
    /// station and vehicle data.
    pub fn status_including_files(&self) -> Arc<FeedStatus> {
        let mut status = self.status();
        for part in self.distinct_gbfs_files() {
            let (status, its) = (Arc::make_mut(&mut status), part.feed.status());
            status.add_poll_counters(&its);
            let times = status.data_time.into_iter().chain(its.data_time);
            status.data_time = times.min();
        }
        status
    }

    /// Returns the oldest time of the files with station and vehicle data.
    pub(crate) fn files_data_time(&self) -> Option<UnixMillis> {
        self.gbfs_files().iter().filter_map(|part| part.feed.status().data_time).min()
    }

    /// Returns the problems of the system and of its files, each under the file's name with its language:
    /// `fr/vehicle_types.json`.
    pub fn problems_including_files(&self) -> Arc<Problems> {
        let mut all = Arc::clone(&self.status().problems);
        for part in self.distinct_gbfs_files() {
            let its = part.feed.status();
            if !its.problems.is_empty() {
                let file = format!("{}.json", part.path_with_language());
                Arc::make_mut(&mut all)
                    .merge(Problems::clone(&its.problems).move_all_to_file(&file));
            }
        }
        all
    }

    /// Returns the worst failure state of the files and its reason, if any file has one.
    pub(crate) fn worst_file_failure_state(&self) -> Option<(FeedState, String)> {
        let parts = self.distinct_gbfs_files();
        let mut troubled_files: Vec<(&GbfsFeedFile, Arc<FeedStatus>)> =
            parts.iter().map(|part| (part, part.feed.status())).collect();
        troubled_files.retain(|(_, status)| status.state.is_problem_state());
        let is_failing = |status: &FeedStatus| status.state == FeedState::Failing;
        let (part, status) = troubled_files.iter().max_by_key(|(_, status)| is_failing(status))?;
        let (n, n_files, file) = (troubled_files.len(), parts.len(), part.path_with_language());
        let others = troubled_files.iter().map(|(other, _)| other.path_with_language());
        let others: Vec<SmolStr> =
            others.filter(|other| *other != file).take(OTHER_FILES_MAX).collect();
        let also = match others.is_empty() {
            true => String::new(),
            false => format!("; also {}", others.join(", ")),
        };
        Some((status.state, format!("{n} of {n_files} files: {file}: {}{also}", status.reason)))
    }

    /// Takes over the status and bytes of the feed that this one replaces.
    pub(crate) fn copy_status_and_snapshot_from(&self, other: &Feed) {
        self.set_status(FeedStatus::clone(&other.status()));
        self.copy_served_snapshot_from(other);
    }

    /// Marks a file that is no longer polled: it is unknown if its bytes are still good.
    pub(crate) fn mark_no_longer_polled(&self, now: UnixMillis) {
        let status = self.status();
        let mut status =
            FeedStatus { is_restored: true, next_poll: None, ..FeedStatus::clone(&status) };
        status.update_state(now, now, &HealthRules::from_config(self.config()));
        self.set_status(status);
    }
}
