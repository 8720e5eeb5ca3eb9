//! What a feed's task does when the operator wants something else of it: poll at once, rest, or go on as another feed.

use std::{mem, sync::Arc, time::Duration};

use lineside_formats::Format;
use lineside_sync::UnixMillis;

use super::{Ask, JUDGE_INTERVAL, Poller, Shared, System, broken, siri::Farewell};
use crate::{
    budget::{Booking, Place},
    feed::Feed,
    fetch::{Failure, Fetcher},
    health::Health,
    inbox::Inbox,
    network::{Input, NetworkQueue},
    status::Rules,
};

impl Poller {
    /// Where its requests are counted.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Goes on as `feed`, which is the same one configured otherwise, or in another place of another network. The next
    /// poll is when it would have been under the new configuration, at once if its source is another one.
    pub(crate) fn go_on(
        mut self,
        feed: Arc<Feed>,
        number: usize,
        queue: NetworkQueue,
        shared: &Shared,
    ) -> Poller {
        let before = Arc::clone(self.feed.shared_config());
        let config = Arc::clone(feed.shared_config());
        let now = self.clock.monotonic();
        let last_word = self.last_word();
        // Its own place first: it is not to stand in its own way.
        drop(mem::take(&mut self.next));
        self.conversions.go_on(&feed, &before, &*shared.snapshots);
        let place = mem::replace(&mut self.place, shared.sources.place_of(&config));
        self.rules = Rules::of(&config);
        (self.feed, self.number, self.queue) = (feed, number, Some(queue));
        let is_other_format = config.promised().is_some_and(|it| self.status.format != Some(it));
        if !config.has_source_of(&before) {
            let fetcher = mem::replace(&mut self.fetcher, Fetcher::new(&config, &shared.sources));
            self.farewell = last_word.map(|question| Farewell { fetcher, place, question });
            self.keeper.go_on(&config);
            self.siri.clear();
            // The producer that it had knows the key of the inbox that it had.
            let (inbox, deliveries) = Inbox::new((shared.inboxes.keys)());
            self.feed.set_inbox(inbox);
            self.deliveries = deliveries;
            self.anew = true;
            // Another source may usually tell of more, or of less.
            self.health = Health::default();
            self.due = now;
        } else {
            self.fetcher.go_on(&config, &shared.sources);
            if config.siri != before.siri {
                // What its ids become may have changed, and what is known came by the old ones.
                self.siri.clear();
                self.forget();
                self.due = now;
            }
            let is_converted_otherwise = config.converter != before.converter;
            if is_converted_otherwise || is_other_format && self.status.format.is_some() {
                // The same bytes say something else now.
                self.fetcher.forget();
                self.anew = true;
                self.due = now;
            } else if let Some(ended_at) = self.ended_at.filter(|_| config.siri == before.siri) {
                self.due = ended_at + self.wait();
            }
        }
        self.next = self.place.book(self.due, now);
        self.begin_system_anew(shared);
        self
    }

    /// The files of a system are asked for as it is configured now, once its discovery file has been read again.
    fn begin_system_anew(&mut self, shared: &Shared) {
        let is_system = self.feed.config().format == Some(Format::Gbfs);
        self.system = is_system.then(|| System::new(shared, self.way()));
        self.is_begun &= !is_system;
        let (parts, now) = (self.feed.parts(), self.clock.wall());
        if is_system {
            parts.iter().for_each(|part| part.feed.leave_alone(now));
        } else {
            self.feed.set_parts(Vec::new());
            self.status.of_parts = None;
            parts.iter().for_each(|part| shared.snapshots.forget(&part.feed.key()));
        }
    }

    /// Ends for good, without a server that ends.
    pub(crate) async fn end(mut self) {
        self.unsubscribe().await;
    }

    /// What came before is not known any more: the same bytes are to come again, and to be taken.
    pub(crate) fn forget(&mut self) {
        self.fetcher.forget();
        self.expired = true;
    }

    /// Polls at once, if the budget has room for it; else the answer says when it will.
    pub(super) fn hurry(&mut self, ask: Ask) {
        let now = self.clock.monotonic();
        drop(mem::take(&mut self.next));
        let first = self.place.book(now, now);
        if first.at() <= now {
            self.next = first;
            self.system.iter().for_each(System::hurry);
            return answer(ask, Ok(()));
        }
        let wait = first.at().saturating_sub(now);
        drop(first);
        self.next = self.place.book(self.due, now);
        answer(ask, Err(wait));
    }

    /// Leaves its source alone, for ever: it ends with the task. What is known grows old meanwhile, which is told.
    pub(super) async fn pause(&mut self) {
        // Others may have its place.
        self.next = Booking::default();
        self.status.next_poll = None;
        self.unsubscribe().await;
        loop {
            self.judge().await;
            self.ledger.paused(&self.feed, &self.status);
            self.feed.set_status(self.status.clone());
            tokio::select! {
                biased;
                // Without an answer: it was paused after the wish was made.
                Some(ask) = self.asks.recv() => drop(ask),
                () = self.clock.sleep(JUDGE_INTERVAL) => {}
            }
        }
    }

    /// What comes now is of another kind than what came before: that is over.
    pub(super) async fn make_way(&self, format: Format, now: UnixMillis) -> Result<(), Failure> {
        let before = self.feed.snapshot().map(|snapshot| snapshot.format);
        if before.is_none_or(|before| before == format) {
            return Ok(());
        }
        let clear = Input::Clear { number: self.number, now };
        self.send(clear).await.map_err(|_| broken())
    }
}

/// Who asked may be gone.
pub(super) fn answer(ask: Ask, said: Result<(), Duration>) {
    let _ = ask.send(said);
}
