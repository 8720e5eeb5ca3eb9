//! Last good bytes on their way to the disk and back: kept before they are served, and taken in again by the next process
//! before its first poll.

use std::sync::Arc;

use lineside_formats::Format;
use lineside_sync::UnixMillis;

use super::{Failure, Feed, Poller, Snapshot};
use crate::config::SharedConfig;
use crate::feed::Held;
use crate::limits;
use crate::saved::{DatasetFacts, Said, SavedHead, Validators, source_of};

/// Gives new bytes to readers, also when polling is stopped while they are on their way to the disk.
struct Swap<'a> {
    feed: &'a Feed,
    snapshot: Option<Snapshot>,
    held: Option<Held>,
}

impl Drop for Swap<'_> {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            self.feed.set_held(held);
        } else if let Some(snapshot) = self.snapshot.take() {
            self.feed.set_snapshot(snapshot);
        }
    }
}

/// Makes bytes ready to be given out, elsewhere where that takes long.
pub(super) async fn held(snapshot: Snapshot, config: SharedConfig) -> Option<Held> {
    if snapshot.bytes.len() <= limits::COPY_INLINE_BYTES_MAX {
        return Some(Held::new(snapshot, config));
    }
    tokio::task::spawn_blocking(move || Held::new(snapshot, config)).await.ok()
}

impl Poller {
    /// Has new bytes kept, and then gives them to readers: what a client was given has to be there after a crash.
    pub(super) async fn keep_and_serve(&mut self, snapshot: Snapshot, now: UnixMillis) {
        let said = self.said(&snapshot);
        let mut swap = Swap { feed: &self.feed, snapshot: Some(snapshot.clone()), held: None };
        swap.held = held(snapshot, Arc::clone(self.feed.shared_config())).await;
        if let Some(held) = &swap.held {
            swap.snapshot = None;
            self.keeper.save(&Arc::clone(held.snapshot()), said, now).await;
        }
        drop(swap);
    }

    /// What is kept beside bytes that have been taken in.
    fn said(&self, snapshot: &Snapshot) -> Said {
        let dataset = self.feed.network().dataset().filter(|dataset| dataset.is_of(snapshot.hash));
        let is_schedule = snapshot.format.is_schedule();
        // What a source says of its bytes is not said of what was made of them.
        let is_converted = self.feed.config().converter.is_some();
        let validators =
            if is_converted { Validators::default() } else { self.fetcher.validators() };
        Said {
            validators,
            facts: dataset.filter(|_| is_schedule).map(|it| DatasetFacts::of(&it.timetable)),
        }
    }

    /// The source has confirmed what is held.
    pub(super) fn confirm(&mut self) {
        self.succeed();
        let now = self.clock.wall();
        self.health.heard_the_same(now);
        if let Some(snapshot) = self.feed.snapshot() {
            let said = self.said(&snapshot);
            self.keeper.confirm(&snapshot, said, now);
        }
    }

    /// Takes in the bytes that an earlier process kept, as if they had just come. Its source is asked next, with what it
    /// said of them.
    pub(super) async fn restore(&mut self) {
        if std::mem::replace(&mut self.is_begun, true) || self.anew {
            return;
        }
        self.remember_trips().await;
        let Some(snapshot) = self.feed.snapshot() else { return };
        let is_of = |head: &SavedHead| {
            head.hash == snapshot.hash && head.source == source_of(self.feed.config())
        };
        let restored = self.feed.restored().filter(|it| is_of(&it.head)).cloned();
        // What a system's files say of themselves, and which there are, they alone know, also where a network just goes on.
        let is_gbfs = snapshot.format == Format::Gbfs;
        if is_gbfs || restored.as_ref().is_some_and(|it| it.is_to_decode) {
            self.take_again(&snapshot).await;
        }
        let Some(head) = restored.map(|it| it.head) else { return };
        self.keeper.is_saved(head.hash);
        self.is_unseen = match snapshot.format {
            Format::GtfsRt => true,
            // Of changes the last ones are nothing to look at by themselves.
            Format::Siri => !self.answers_changes(),
            _ => false,
        };
        if !self.expired && self.feed.config().converter.is_none() {
            self.fetcher.remember(&head.validators);
        }
    }

    async fn take_again(&mut self, snapshot: &Snapshot) {
        let before = self.status.clone();
        let taken = self.take_kept(snapshot, before.last_success).await;
        // The source has not been asked for that.
        self.status.last_success = before.last_success;
        self.status.last_error = before.last_error;
        self.status.failures_in_a_row = before.failures_in_a_row;
        self.status.failing_since = before.failing_since;
        self.status.judge(self.clock.wall(), self.data_now(), &self.rules);
        self.feed.set_status(self.status.clone());
        if let Err(failure) = taken {
            tracing::warn!(
                feed = %self.feed.key(), code = %failure.code, detail = failure.detail,
                "the kept bytes are served as they are, but can no longer be read"
            );
            // The same bytes are to be looked at again, and not passed over.
            self.expired = true;
        }
    }

    async fn take_kept(
        &mut self,
        snapshot: &Snapshot,
        confirmed_at: Option<UnixMillis>,
    ) -> Result<(), Failure> {
        let (bytes, now) = (snapshot.bytes.clone(), self.clock.wall());
        let age = confirmed_at.map(|at| now.since(at));
        let is_too_old = self.rules.max_age.zip(age).is_some_and(|(max, age)| age > max);
        match snapshot.format {
            format @ (Format::Gtfs | Format::Netex) => {
                self.take_schedule(bytes, format, snapshot.fetched_at).await
            }
            Format::GtfsRt | Format::Siri if is_too_old => {
                self.expired = true;
                Ok(())
            }
            // Which files there are is asked all the same.
            Format::Gbfs if is_too_old && self.system.is_none() => {
                self.expired = true;
                Ok(())
            }
            Format::GtfsRt => self.take_message(bytes, now).await,
            // Only its last changes are kept. What it said before nobody knows any more: a part is not told as the whole.
            Format::Siri if self.answers_changes() => Ok(()),
            Format::Siri => {
                let taken = self.take_siri(bytes, now).await;
                // It may be one page of several.
                self.siri.begin_anew();
                taken.map(drop)
            }
            Format::Gbfs => self.take_gbfs(&bytes).await,
            Format::Raw => {
                self.succeed();
                Ok(())
            }
        }
    }
}
