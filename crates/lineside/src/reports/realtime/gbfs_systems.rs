//! GBFS systems: what all files of one say is held against the rules as soon as some of it is new.
//!
//! The files of a system come at times of their own, and what one names is in another. So they are looked at together, one system
//! after the other, and after a pause that leaves most of a core to others. Nobody's poll waits for it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use lineside_ingest::{Feed, GbfsFeedFile};
use lineside_sync::UnixMillis;
use lineside_validate::rules::gbfs::{LANGUAGES_MAX, SystemFiles, validate_while};
use lineside_validate::rules::gtfs_rt::MatchRate;
use xxhash_rust::xxh3::xxh3_64;

use super::gbfs_history::GbfsHistory;
use super::{FoundNotices, LatestCheck, MessageChecks};
use crate::check::{estimate_json_memory, gbfs_rows};
use crate::timeout::Stopwatch;

/// How long a system is left alone between two looks at least,
const PAUSE_MIN: Duration = Duration::from_secs(10);
/// and how many times as long as the look took.
const PAUSE_TIMES: u32 = 20;
/// How long one is left alone that says nothing new: what it says becomes older all the same.
const PAUSE_MAX: Duration = Duration::from_secs(5 * 60);
/// What the discovery file is called.
const DISCOVERY: &str = "gbfs";

/// What is remembered of a system.
#[derive(Debug, Default)]
pub(super) struct SystemCheckState {
    /// When it was looked at last, if it was.
    last: Option<LastSystemCheck>,
    before: GbfsHistory,
}

/// When a system was looked at last.
#[derive(Debug)]
struct LastSystemCheck {
    /// The hash of what was looked at.
    files: u64,
    ended: Stopwatch,
    took: Duration,
}

/// The files of a system.
struct SystemSnapshot {
    /// Those of each language, the first one's first.
    languages: Vec<LanguageSnapshot>,
    hash: u64,
}

/// The files of a system in one language.
#[derive(Default)]
struct LanguageSnapshot {
    /// As the discovery file has it; empty of the first one.
    name: String,
    read: Vec<(String, Bytes)>,
    /// When each was given by its source last.
    given: Vec<(String, UnixMillis)>,
    unread: Vec<(String, String)>,
    /// Those that are those of the first one.
    shared: Vec<String>,
    /// Those that the first one lists.
    first: Vec<String>,
}

impl SystemSnapshot {
    /// None before each of them was asked for.
    fn from_feed(feed: &Feed) -> Option<SystemSnapshot> {
        let parts = feed.gbfs_files();
        let discovery = feed.snapshot()?;
        let mut hashes = discovery.hash.to_le_bytes().to_vec();
        for GbfsFeedFile { name, language, feed, .. } in parts.iter() {
            hashes.extend_from_slice(language.as_deref().unwrap_or_default().as_bytes());
            hashes.extend_from_slice(name.as_bytes());
            match feed.snapshot() {
                Some(snapshot) => hashes.extend_from_slice(&snapshot.hash.to_le_bytes()),
                None if feed.was_polled() => {}
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
        let of_first: Vec<&GbfsFeedFile> =
            parts.iter().filter(|part| part.language.as_deref() == first).collect();
        let language = |name: &Option<&str>| {
            let own = parts.iter().filter(|part| part.language.as_deref() == *name);
            let mut language =
                LanguageSnapshot::from_parts(own, if *name == first { &[] } else { &of_first });
            language.read.push((DISCOVERY.to_owned(), discovery.bytes.clone()));
            if *name != first {
                language.name = name.unwrap_or_default().to_owned();
                language.shared.push(DISCOVERY.to_owned());
                let listed = of_first.iter().map(|part| part.name.to_string());
                language.first = listed.chain([DISCOVERY.to_owned()]).collect();
            }
            language
        };
        let languages = names.iter().take(LANGUAGES_MAX).map(language).collect();
        Some(SystemSnapshot { languages, hash: xxh3_64(&hashes) })
    }
}

impl LanguageSnapshot {
    fn from_parts<'a>(
        parts: impl Iterator<Item = &'a GbfsFeedFile>,
        first: &[&GbfsFeedFile],
    ) -> LanguageSnapshot {
        let mut language = LanguageSnapshot::default();
        for part in parts {
            let name = part.name.to_string();
            if first.iter().any(|other| is_same_file(part, other)) {
                language.shared.push(name.clone());
            }
            let given = part.feed.status().last_success;
            language.given.extend(given.map(|given| (name.clone(), given)));
            match part.feed.snapshot() {
                Some(snapshot) => language.read.push((name, snapshot.bytes.clone())),
                None => language.unread.push((name, part.feed.status().reason.clone())),
            }
        }
        language
    }

    fn to_system<'a>(&'a self, before: &'a [(String, Bytes)], now: UnixMillis) -> SystemFiles<'a> {
        let pairs = |files: &'a [(String, Bytes)]| {
            files.iter().map(|(name, body)| (name.as_str(), &body[..])).collect()
        };
        SystemFiles {
            files: pairs(&self.read),
            unread: self.unread.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect(),
            before: pairs(before),
            language: &self.name,
            shared: self.shared.iter().map(String::as_str).collect(),
            first: self.first.iter().map(String::as_str).collect(),
            is_whole: true,
            now: now.unix_seconds(),
            given: self.given.iter().map(|(name, at)| (name.as_str(), at.unix_seconds())).collect(),
        }
    }
}

/// Whether two languages have one file: of one address. Content does not tell: what says when it was made is the same in one
/// second and another in the next, and counts would go up and down with it.
fn is_same_file(part: &GbfsFeedFile, other: &GbfsFeedFile) -> bool {
    part.name == other.name && part.feed.config().url == other.feed.config().url
}

/// Bytes that files take at most as values.
fn estimate_memory(files: &[(String, Bytes)]) -> u64 {
    files.iter().map(|(_, body)| estimate_json_memory(body)).fold(0, u64::saturating_add)
}

/// The files before these, if there is room for both in so many bytes of memory: a look without them says more than none.
fn comparable_files<'a>(
    files: &[(String, Bytes)],
    before: &'a [(String, Bytes)],
    memory: u64,
) -> &'a [(String, Bytes)] {
    let needed = estimate_memory(files).saturating_add(estimate_memory(before));
    if needed <= memory { before } else { &[] }
}

impl MessageChecks {
    /// Looks at a system if something of it is new and it was left alone for long enough. A look that takes as long as one at a
    /// schedule may is cut short; one at whose time the server `is_ending` says nothing.
    pub(super) fn check_system(&self, feed: &Feed, now: UnixMillis, is_ending: &dyn Fn() -> bool) {
        if self.limits.message_time.is_zero() {
            return;
        }
        let place = self.feed_messages(feed.id());
        let mut looked = place.system.lock();
        let SystemCheckState { last, before } = &mut *looked;
        let is_resting = |last: &LastSystemCheck| {
            last.ended.elapsed() < PAUSE_MIN.max(last.took.saturating_mul(PAUSE_TIMES))
        };
        if last.as_ref().is_some_and(is_resting) {
            return;
        }
        let Some(files) = SystemSnapshot::from_feed(feed) else { return };
        let is_known =
            |last: &LastSystemCheck| last.files == files.hash && last.ended.elapsed() < PAUSE_MAX;
        if last.as_ref().is_some_and(is_known) {
            return;
        }
        let watch = Stopwatch::start();
        // One at which the look breaks off is left alone, too.
        let begun = LastSystemCheck { files: files.hash, ended: watch, took: Duration::ZERO };
        *last = Some(begun);
        let mut found = FoundNotices::new();
        let goes_on = || watch.elapsed() < self.limits.timeout && !is_ending();
        for (n, language) in files.languages.iter().enumerate() {
            if estimate_memory(&language.read) > self.limits.memory {
                found.is_cut_short = true;
                continue;
            }
            // What stays over time is asked once, in the first.
            let before = if n == 0 { before.previous_files() } else { &[] };
            let before = comparable_files(&language.read, before, self.limits.memory);
            let system = language.to_system(before, now);
            let verdict = validate_while(&system, &mut found.notices, &goes_on);
            if verdict.is_cut_short && is_ending() {
                return;
            }
            found.errors.extend(verdict.errors);
            found.is_cut_short |= verdict.is_cut_short;
        }
        let took = watch.elapsed();
        *last = Some(LastSystemCheck { files: files.hash, ended: Stopwatch::start(), took });
        if let Some(first) = files.languages.first() {
            let read = first.read.iter().map(|(name, body)| (name.as_str(), &body[..]));
            let records = gbfs_rows(read, found.codes_with_samples());
            found.rows = records;
            before.record_files(&first.read, now);
        }
        drop(looked);
        self.looked.fetch_add(1, Ordering::Relaxed);
        self.cut_short.fetch_add(u64::from(found.is_cut_short), Ordering::Relaxed);
        place.look.lock().record_check(LatestCheck::from_found(
            found,
            now,
            took,
            (None, MatchRate::default()),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_before_is_left_out_first() {
        let file = |body: &'static str| vec![("f".to_owned(), Bytes::from_static(body.as_bytes()))];
        let (now, before) = (file("{}"), file("[1]"));
        let needed = estimate_memory(&now) + estimate_memory(&before);
        assert_eq!(comparable_files(&now, &before, needed), before);
        assert!(comparable_files(&now, &before, needed - 1).is_empty());
    }
}
