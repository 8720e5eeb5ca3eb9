//! Validates the files of a GBFS system together, as soon as some of them are new.
//!
//! The files of a system arrive at different times, and refer to each other. So they are checked together, one system
//! after the other, with pauses that leave most of a core to other work. No poll waits for a check.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use lineside_ingest::{Feed, GbfsFeedFile};
use lineside_sync::UnixMillis;
use lineside_sync::real_time::RealTimeStopwatch;
use lineside_validate::rules::gbfs::{GbfsSystemFiles, LANGUAGES_MAX, validate_gbfs_while};
use lineside_validate::rules::gtfs_rt::ScheduleMatchRate;
use xxhash_rust::xxh3::xxh3_64;

use super::gbfs_history::GbfsComparisonHistory;
use super::{LatestCheck, MessageChecker, MessageNoticesSoFar};
use crate::check::{estimate_json_memory, gbfs_rows_of_findings};

/// Minimum pause between two checks of a system.
const PAUSE_MIN: Duration = Duration::from_secs(10);
/// Minimum pause as a multiple of the last check's duration.
const PAUSE_FACTOR: u32 = 20;
/// Maximum pause for an unchanged system, whose data still becomes older.
const PAUSE_MAX: Duration = Duration::from_secs(5 * 60);
/// The name of the discovery file.
const DISCOVERY: &str = "gbfs";

/// The state of a system's checks.
#[derive(Debug, Default)]
pub struct SystemCheckState {
    /// The last check; `None` before the first.
    last: Option<LastSystemCheck>,
    history: GbfsComparisonHistory,
}

#[derive(Debug)]
struct LastSystemCheck {
    /// The hash of the checked files.
    files: u64,
    ended: RealTimeStopwatch,
    took: Duration,
}

/// The files of a system.
struct SystemSnapshot {
    /// The files of each language, the first language first.
    languages: Vec<LanguageSnapshot>,
    hash: u64,
}

/// The files of a system in one language.
#[derive(Default)]
struct LanguageSnapshot {
    /// The language in the discovery file; empty for the first one.
    name: String,
    read: Vec<(String, Bytes)>,
    /// Time of each file's last successful poll.
    polled: Vec<(String, UnixMillis)>,
    unread: Vec<(String, String)>,
    /// The names of files that are also the first language's.
    shared: Vec<String>,
    /// The names of files that the first language lists.
    first: Vec<String>,
}

impl SystemSnapshot {
    /// Returns `None` until each file was polled.
    fn from_polled_files(feed: &Feed) -> Option<SystemSnapshot> {
        let parts = feed.gbfs_files();
        let discovery = feed.snapshot()?;
        let mut hashes = discovery.hash.to_le_bytes().to_vec();
        for GbfsFeedFile { name, language, feed, .. } in parts.iter() {
            hashes.extend_from_slice(language.as_deref().unwrap_or_default().as_bytes());
            hashes.extend_from_slice(name.as_bytes());
            match feed.snapshot() {
                Some(snapshot) => hashes.extend_from_slice(&snapshot.hash.to_le_bytes()),
                None if feed.has_been_polled() => {}
                None => return None,
            }
        }
        let mut names: Vec<Option<&str>> = Vec::new();
        for language in parts.iter().map(|part| part.language.as_deref()) {
            if !names.contains(&language) {
                names.push(language);
            }
        }
        let first = *names.first()?;
        let first_files: Vec<&GbfsFeedFile> =
            parts.iter().filter(|part| part.language.as_deref() == first).collect();
        let language = |name: &Option<&str>| {
            let own = parts.iter().filter(|part| part.language.as_deref() == *name);
            let mut language = LanguageSnapshot::from_language_files(
                own,
                if *name == first { &[] } else { &first_files },
            );
            language.read.push((DISCOVERY.to_owned(), discovery.bytes.clone()));
            if *name != first {
                language.name = name.unwrap_or_default().to_owned();
                language.shared.push(DISCOVERY.to_owned());
                let listed = first_files.iter().map(|part| part.name.to_string());
                language.first = listed.chain([DISCOVERY.to_owned()]).collect();
            }
            language
        };
        let languages = names.iter().take(LANGUAGES_MAX).map(language).collect();
        Some(SystemSnapshot { languages, hash: xxh3_64(&hashes) })
    }
}

impl LanguageSnapshot {
    fn from_language_files<'a>(
        parts: impl Iterator<Item = &'a GbfsFeedFile>,
        first: &[&GbfsFeedFile],
    ) -> LanguageSnapshot {
        let mut language = LanguageSnapshot::default();
        for part in parts {
            let name = part.name.to_string();
            if first.iter().any(|other| has_same_name_and_url(part, other)) {
                language.shared.push(name.clone());
            }
            let given = part.feed.status().last_success;
            language.polled.extend(given.map(|given| (name.clone(), given)));
            match part.feed.snapshot() {
                Some(snapshot) => language.read.push((name, snapshot.bytes.clone())),
                None => language.unread.push((name, part.feed.status().reason.clone())),
            }
        }
        language
    }

    fn to_system_files<'a>(
        &'a self,
        before: &'a [(String, Bytes)],
        now: UnixMillis,
    ) -> GbfsSystemFiles<'a> {
        let pairs = |files: &'a [(String, Bytes)]| {
            files.iter().map(|(name, body)| (name.as_str(), &body[..])).collect()
        };
        GbfsSystemFiles {
            files: pairs(&self.read),
            unread: self.unread.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect(),
            previous: pairs(before),
            language: &self.name,
            shared: self.shared.iter().map(String::as_str).collect(),
            first: self.first.iter().map(String::as_str).collect(),
            is_whole: true,
            now: now.unix_seconds(),
            delivered_at: self
                .polled
                .iter()
                .map(|(name, at)| (name.as_str(), at.unix_seconds()))
                .collect(),
        }
    }
}

/// Returns true if two languages list the same file, by its address. Equal content does not suffice: files that differ
/// only in their timestamps are sometimes equal, so counts would vary.
fn has_same_name_and_url(part: &GbfsFeedFile, other: &GbfsFeedFile) -> bool {
    part.name == other.name && part.feed.config().url == other.feed.config().url
}

/// Returns an upper bound of the memory of parsed files, in bytes.
fn estimate_memory(files: &[(String, Bytes)]) -> u64 {
    files.iter().map(|(_, body)| estimate_json_memory(body)).fold(0, u64::saturating_add)
}

/// Returns the earlier files if both fit into `memory` bytes, else none: a check without them still finds more than no
/// check.
fn earlier_files_if_memory_allows<'a>(
    files: &[(String, Bytes)],
    before: &'a [(String, Bytes)],
    memory: u64,
) -> &'a [(String, Bytes)] {
    let needed = estimate_memory(files).saturating_add(estimate_memory(before));
    if needed <= memory { before } else { &[] }
}

impl MessageChecker {
    /// Checks a system if it has changed and its pause is over. The check is cut short after the time limit of a
    /// schedule's validation. If `is_ending` interrupts it, it reports nothing.
    pub fn check_gbfs_system_if_due(
        &self,
        feed: &Feed,
        now: UnixMillis,
        is_ending: &dyn Fn() -> bool,
    ) {
        if self.limits.message_time.is_zero() {
            return;
        }
        let feed_messages = self.get_or_create_feed_checks(feed.id());
        let mut system_state = feed_messages.system.lock();
        let SystemCheckState { last, history } = &mut *system_state;
        let is_resting = |last: &LastSystemCheck| {
            last.ended.elapsed() < PAUSE_MIN.max(last.took.saturating_mul(PAUSE_FACTOR))
        };
        if last.as_ref().is_some_and(is_resting) {
            return;
        }
        let Some(files) = SystemSnapshot::from_polled_files(feed) else { return };
        let is_known =
            |last: &LastSystemCheck| last.files == files.hash && last.ended.elapsed() < PAUSE_MAX;
        if last.as_ref().is_some_and(is_known) {
            return;
        }
        let watch = RealTimeStopwatch::start_stopwatch();
        // Recorded first, so that a system whose check panics is paused too.
        let current_check =
            LastSystemCheck { files: files.hash, ended: watch, took: Duration::ZERO };
        *last = Some(current_check);
        let mut found = MessageNoticesSoFar::new();
        let may_continue = || watch.elapsed() < self.limits.timeout && !is_ending();
        for (n, language) in files.languages.iter().enumerate() {
            if estimate_memory(&language.read) > self.limits.memory {
                found.is_cut_short = true;
                continue;
            }
            // Rules on changes over time run once, for the first language.
            let before = if n == 0 { history.previous_files() } else { &[] };
            let before = earlier_files_if_memory_allows(&language.read, before, self.limits.memory);
            let system = language.to_system_files(before, now);
            let verdict = validate_gbfs_while(&system, &mut found.notices, &may_continue);
            if verdict.is_cut_short && is_ending() {
                return;
            }
            found.errors.extend(verdict.errors);
            found.is_cut_short |= verdict.is_cut_short;
        }
        let took = watch.elapsed();
        *last = Some(LastSystemCheck {
            files: files.hash,
            ended: RealTimeStopwatch::start_stopwatch(),
            took,
        });
        if let Some(first) = files.languages.first() {
            let read = first.read.iter().map(|(name, body)| (name.as_str(), &body[..]));
            let records = gbfs_rows_of_findings(read, found.finding_codes_with_samples());
            found.rows = records;
            history.record_files_if_due(&first.read, now);
        }
        drop(system_state);
        self.checked.fetch_add(1, Ordering::Relaxed);
        self.cut_short.fetch_add(u64::from(found.is_cut_short), Ordering::Relaxed);
        feed_messages.findings.lock().record_message_check(LatestCheck::from_check_findings(
            found,
            now,
            took,
            (None, ScheduleMatchRate::default()),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn previous_files_are_omitted_first_if_memory_is_short() {
        let file = |body: &'static str| vec![("f".to_owned(), Bytes::from_static(body.as_bytes()))];
        let (now, before) = (file("{}"), file("[1]"));
        let needed = estimate_memory(&now) + estimate_memory(&before);
        assert_eq!(earlier_files_if_memory_allows(&now, &before, needed), before);
        assert!(earlier_files_if_memory_allows(&now, &before, needed - 1).is_empty());
    }
}
