//! GBFS systems: what all files of one say is held against the rules as soon as some of it is new.
//!
//! The files of a system come at times of their own, and what one names is in another. So they are looked at together, one system
//! after the other, and after a pause that leaves most of a core to others. Nobody's poll waits for it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use lineside_ingest::{Feed, Part};
use lineside_sync::UnixMillis;
use lineside_validate::rules::gbfs::{System, validate_while};
use lineside_validate::rules::gtfs_rt::MatchRate;
use xxhash_rust::xxh3::xxh3_64;

use super::before::Before;
use super::{Found, Latest, Messages};
use crate::check::memory_of;
use crate::patience::Stopwatch;

/// How long a system is left alone between two looks at least,
const PAUSE_MIN: Duration = Duration::from_secs(10);
/// and how many times as long as the look took.
const PAUSE_TIMES: u32 = 20;
/// How long one is left alone that says nothing new: what it says becomes older all the same.
const PAUSE_MAX: Duration = Duration::from_secs(5 * 60);
/// How long ago each file may have been given for its age to be its producer's doing.
const GIVEN_WITHIN: Duration = Duration::from_secs(5 * 60);
/// What is said of the age of files.
const OUTDATED: &str = "outdated_file";
/// What the discovery file is called.
const DISCOVERY: &str = "gbfs";

/// What is remembered of a system.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// When it was looked at last, if it was.
    last: Option<LastLook>,
    before: Before,
}

/// When a system was looked at last.
#[derive(Debug)]
struct LastLook {
    /// The hash of what was looked at.
    files: u64,
    ended: Stopwatch,
    took: Duration,
}

/// The files of a system in one language.
struct Files {
    read: Vec<(String, Bytes)>,
    unread: Vec<(String, String)>,
    hash: u64,
    /// Each was given by its source a short while ago.
    are_just_given: bool,
}

impl Files {
    /// Those of the first language; none before each of them was asked for.
    fn of(feed: &Feed, now: UnixMillis) -> Option<Files> {
        let parts = feed.parts();
        let language = &parts.first()?.language;
        let discovery = feed.snapshot()?;
        let mut read = vec![(DISCOVERY.to_owned(), discovery.bytes.clone())];
        let mut unread = Vec::new();
        let mut hashes = discovery.hash.to_le_bytes().to_vec();
        let mut are_just_given = true;
        for Part { name, feed, .. } in parts.iter().filter(|part| part.language == *language) {
            hashes.extend_from_slice(name.as_bytes());
            let given = feed.status().last_success;
            are_just_given &= given.is_none_or(|at| at >= now - GIVEN_WITHIN);
            if let Some(snapshot) = feed.snapshot() {
                hashes.extend_from_slice(&snapshot.hash.to_le_bytes());
                read.push((name.to_string(), snapshot.bytes.clone()));
            } else if feed.was_tried() {
                unread.push((name.to_string(), feed.status().reason.clone()));
            } else {
                return None;
            }
        }
        Some(Files { read, unread, hash: xxh3_64(&hashes), are_just_given })
    }
}

/// Bytes that files take at most as values.
fn memory_of_all(files: &[(String, Bytes)]) -> u64 {
    files.iter().map(|(_, body)| memory_of(body)).fold(0, u64::saturating_add)
}

/// The files before these, if there is room for both in so many bytes of memory: a look without them says more than none.
fn comparable<'a>(
    files: &[(String, Bytes)],
    before: &'a [(String, Bytes)],
    memory: u64,
) -> &'a [(String, Bytes)] {
    let needed = memory_of_all(files).saturating_add(memory_of_all(before));
    if needed <= memory { before } else { &[] }
}

impl Messages {
    /// Looks at a system if something of it is new and it was left alone for long enough. A look that takes as long as one at a
    /// schedule may is cut short; one at whose time the server `is_ending` says nothing.
    pub(super) fn look_at_system(
        &self,
        feed: &Feed,
        now: UnixMillis,
        is_ending: &dyn Fn() -> bool,
    ) {
        if self.limits.message_time.is_zero() {
            return;
        }
        let place = self.place(feed.id());
        let mut looked = place.system.lock();
        let Looked { last, before } = &mut *looked;
        let is_resting = |last: &LastLook| {
            last.ended.elapsed() < PAUSE_MIN.max(last.took.saturating_mul(PAUSE_TIMES))
        };
        if last.as_ref().is_some_and(is_resting) {
            return;
        }
        let Some(files) = Files::of(feed, now) else { return };
        let is_known =
            |last: &LastLook| last.files == files.hash && last.ended.elapsed() < PAUSE_MAX;
        if last.as_ref().is_some_and(is_known) {
            return;
        }
        let watch = Stopwatch::start();
        let mut found = Found::new();
        let comparable = comparable(&files.read, before.files(), self.limits.memory);
        let system = System {
            files: files.read.iter().map(|(name, body)| (name.as_str(), &body[..])).collect(),
            unread: files.unread.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect(),
            before: comparable.iter().map(|(name, body)| (name.as_str(), &body[..])).collect(),
            is_whole: true,
            now: now.seconds(),
        };
        let goes_on = || watch.elapsed() < self.limits.timeout && !is_ending();
        if memory_of_all(&files.read) > self.limits.memory {
            found.is_cut_short = true;
        } else {
            let verdict = validate_while(&system, &mut found.notices, &goes_on);
            if verdict.is_cut_short && is_ending() {
                return;
            }
            (found.errors, found.is_cut_short) = (verdict.errors, verdict.is_cut_short);
        }
        // What is polled seldom is old for that.
        found.notices.retain(|kind| files.are_just_given || kind.code != OUTDATED);
        let took = watch.elapsed();
        *last = Some(LastLook { files: files.hash, ended: Stopwatch::start(), took });
        before.put(&files.read, now);
        drop(looked);
        self.looked.fetch_add(1, Ordering::Relaxed);
        self.cut_short.fetch_add(u64::from(found.is_cut_short), Ordering::Relaxed);
        place.look.lock().put(Latest::of(found, now, took, (None, MatchRate::default())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_before_is_left_out_first() {
        let file = |body: &'static str| vec![("f".to_owned(), Bytes::from_static(body.as_bytes()))];
        let (now, before) = (file("{}"), file("[1]"));
        let needed = memory_of_all(&now) + memory_of_all(&before);
        assert_eq!(comparable(&now, &before, needed), before);
        assert!(comparable(&now, &before, needed - 1).is_empty());
    }
}
