//! A feed whose producer sends what the operator's own program turns into a format that is read here.
//!
//! The producer's bytes are kept and served beside what was made of them, which goes the way of any other body. They go
//! through the program once: again only when they are others, when the program is configured otherwise, and after a start,
//! because a program may have become another one under the same name.

use std::sync::Arc;

use bytes::Bytes;
use lineside_formats::{Format, Problem, Problems};
use lineside_sync::{Clock, UnixMillis};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{JUDGE_INTERVAL, Poller, go_on::answer, taking::hash_of};
use crate::{
    config::{Converter, FeedConfig},
    external::{self, NotRan, Ran},
    feed::Feed,
    fetch::{Body, Failure, FailureCode, Hidden},
    limits::{CONVERSIONS_OF_REAL_TIME, CONVERSIONS_OF_SCHEDULES},
    saved::{Keeper, Said, Snapshots},
    snapshot::{Snapshot, default_file_name, media_type},
    source::Secret,
};

/// How many programs may run at once. A schedule that takes minutes holds up no real time.
///
/// Bound: a feed's task waits for one place at a time, and fetches nothing meanwhile; what it fetches next is the newest.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    schedules: Arc<Semaphore>,
    real_time: Arc<Semaphore>,
}

impl Slots {
    pub(crate) fn new() -> Slots {
        Slots {
            schedules: Arc::new(Semaphore::new(CONVERSIONS_OF_SCHEDULES)),
            real_time: Arc::new(Semaphore::new(CONVERSIONS_OF_REAL_TIME)),
        }
    }

    fn of(&self, format: Format) -> Arc<Semaphore> {
        Arc::clone(if format.is_schedule() { &self.schedules } else { &self.real_time })
    }
}

/// What a feed's task knows of its conversions.
#[derive(Debug)]
pub(super) struct Conversions {
    slots: Slots,
    /// Keeps the producer's own bytes.
    keeper: Keeper,
    /// The hash of what was converted last, and taken.
    done: Option<u128>,
    /// What the program said on its way to a good result, until that is taken in.
    said: Problems,
}

impl Conversions {
    pub(super) fn new(
        slots: &Slots,
        feed: &Feed,
        snapshots: &Arc<dyn Snapshots>,
        clock: &Arc<dyn Clock>,
    ) -> Conversions {
        let keeper = Keeper::new(snapshots, clock, feed.original_key(), feed.config());
        Conversions { slots: slots.clone(), keeper, done: None, said: Problems::new() }
    }

    /// Goes on with a feed that was configured as `before`.
    pub(super) fn go_on(&mut self, feed: &Feed, before: &FeedConfig, snapshots: &dyn Snapshots) {
        let config = feed.config();
        if !config.has_source_of(before) {
            self.keeper.go_on(config);
        }
        if config.converter != before.converter {
            self.done = None;
        }
        match (&before.converter, &config.converter) {
            (None, Some(_)) => feed.begin_original(),
            (Some(_), None) => {
                feed.set_original(None);
                snapshots.forget(&feed.original_key());
            }
            _ => {}
        }
    }

    /// What was said is told once, with what it was said of.
    pub(super) fn take_said(&mut self) -> Problems {
        std::mem::take(&mut self.said)
    }
}

impl Poller {
    /// Takes the body of a reply. None when the feed was told to retire before it was converted.
    pub(super) async fn take_reply(
        &mut self,
        body: Body,
        retire: &CancellationToken,
    ) -> Option<Result<&'static str, Failure>> {
        let (bytes, status) = (body.bytes.clone(), body.status);
        let taken = match self.feed.config().converter.clone() {
            None => self.take(body).await,
            Some(converter) => self.take_converted(body, &converter, retire).await?,
        };
        Some(taken.map_err(|failure| {
            // A body that could not be used must not become "not modified" at the next poll.
            self.fetcher.forget();
            // Of a conversion its own words are told, and not how what it was given began.
            let is_of_reply = failure.code != FailureCode::Convert;
            let head = is_of_reply.then(|| self.fetcher.shown(&bytes, None));
            // A decoder's reason may quote the bytes.
            let failure = match self.fetcher.other_host() {
                Some(host) => failure.without_detail(&format!(
                    "the reply of {host}, which it redirects to, cannot be used"
                )),
                None => failure,
            };
            failure.of_reply(status, bytes.len() as u64, head)
        }))
    }

    async fn take_converted(
        &mut self,
        body: Body,
        converter: &Converter,
        retire: &CancellationToken,
    ) -> Option<Result<&'static str, Failure>> {
        self.status.bytes += body.bytes.len() as u64;
        if body.bytes.is_empty() {
            return Some(Err(Failure::new(FailureCode::Empty, "the body is empty")));
        }
        let hash = hash_of(&body.bytes).await;
        let is_old_news = !self.anew && !self.expired && !self.wants_all();
        if self.conversions.done == Some(hash) && is_old_news {
            self.confirm();
            return Some(Ok("same"));
        }
        let Some(ran) = self.convert(body.bytes.clone(), converter, retire).await else {
            self.fetcher.forget();
            return None;
        };
        Some(match ran {
            Ok(ran) => self.take_made(ran, body, hash, converter).await,
            Err(NotRan { why, said }) => {
                let shown = self.shown(&said, converter);
                let last = shown.lines().rev().find(|line| !line.trim().is_empty());
                let last = last.map(|line| format!(": {}", line.trim())).unwrap_or_default();
                let words = format!("{} {why}{last}", of(converter));
                Err(Failure::new(FailureCode::Convert, words).saying(shown))
            }
        })
    }

    /// Runs the program, once there is a place for it. None when the feed is told to retire meanwhile.
    async fn convert(
        &mut self,
        input: Bytes,
        converter: &Converter,
        retire: &CancellationToken,
    ) -> Option<Result<Ran, NotRan>> {
        let config = Arc::clone(self.feed.shared_config());
        let (slot, clock) = (self.conversions.slots.of(converter.to), Arc::clone(&self.clock));
        let program = converter.program.clone();
        let run = async move {
            let place = tokio::select! {
                biased;
                place = slot.acquire_owned() => place.ok(),
                () = clock.sleep(program.timeout) => None,
            };
            let Some(_place) = place else {
                let why = "was not run: others took every place for as long as it may take itself";
                return Err(NotRan::from(why.to_owned()));
            };
            let (max, id) = (config.max_bytes, config.id.as_str());
            external::run(&program, input, max, id, &*clock).await
        };
        let mut run = Box::pin(run);
        loop {
            tokio::select! {
                biased;
                () = retire.cancelled() => return None,
                ran = &mut run => return Some(ran),
                Some(ask) = self.asks.recv() => answer(ask, Ok(())),
                // What is known grows old meanwhile, as while nothing is asked.
                () = self.clock.sleep(JUDGE_INTERVAL) => self.look().await,
            }
        }
    }

    /// What a program has said, as everybody may see it: without the feed's secrets, of which its producer may repeat some, and
    /// without its own arguments.
    fn shown(&self, said: &external::Said, converter: &Converter) -> String {
        let arguments = converter.program.secrets();
        let arguments: Vec<&Secret> = arguments.iter().collect();
        said.shown(&Hidden::of(self.feed.config(), &arguments))
    }

    /// Takes what the program made, and then the bytes that it was made of.
    async fn take_made(
        &mut self,
        ran: Ran,
        body: Body,
        hash: u128,
        converter: &Converter,
    ) -> Result<&'static str, Failure> {
        tracing::debug!(feed = %self.feed.id(), took = ?ran.took, "the feed's bytes were converted");
        let said = self.shown(&ran.said, converter);
        self.conversions.said = complaints(&said);
        let made = Body {
            bytes: ran.output,
            content_type: None,
            last_modified: body.last_modified,
            file_name: None,
            status: None,
        };
        let taken = self.take_in(made).await;
        self.conversions.said = Problems::new();
        let outcome = taken.map_err(|failure| {
            let words = format!(
                "what {} made cannot be used: {}: {}",
                of(converter),
                failure.code,
                failure.detail
            );
            Failure::new(FailureCode::Convert, words).saying(said)
        })?;
        self.conversions.done = Some(hash);
        self.keep_original(body, hash, self.clock.wall()).await;
        Ok(outcome)
    }

    /// Has the producer's own bytes kept, and then gives them to readers.
    async fn keep_original(&mut self, body: Body, hash: u128, now: UnixMillis) {
        let before = self.feed.original().map(|held| Arc::clone(held.snapshot()));
        if let Some(before) = before.as_ref().filter(|before| before.hash == hash) {
            return self.conversions.keeper.confirm(before, Said::default(), now);
        }
        let (id, format) = (self.feed.id().as_str(), Format::Raw);
        let snapshot = Snapshot {
            hash,
            format,
            content_type: body
                .content_type
                .unwrap_or_else(|| media_type(format, &body.bytes).to_owned()),
            file_name: body.file_name.unwrap_or_else(|| default_file_name(id, format, &body.bytes)),
            fetched_at: now,
            last_modified: Snapshot::changed_at(body.last_modified, now, before.as_deref()),
            bytes: body.bytes,
        };
        if let Some(held) =
            super::keeping::held(snapshot, Arc::clone(self.feed.shared_config())).await
        {
            self.conversions.keeper.save(&Arc::clone(held.snapshot()), Said::default(), now).await;
            self.feed.set_original(Some(held));
        }
    }
}

/// A converter as the operator knows it.
fn of(converter: &Converter) -> String {
    format!("the converter from {} to {}", converter.from, converter.to.as_str())
}

/// What a program said although its result is good, line by line.
fn complaints(said: &str) -> Problems {
    let mut problems = Problems::new();
    for line in said.lines().map(str::trim).filter(|line| !line.is_empty()) {
        problems.push(Problem::new("converter", "converter_said", line));
    }
    problems
}
