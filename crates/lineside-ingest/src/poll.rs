//! The task of a feed: asks its source again and again, and brings what is good to its network.

mod converting;
mod decoding;
mod file;
mod go_on;
mod judging;
mod keeping;
mod passing;
mod siri;
mod system;
mod taking;

use std::{pin::Pin, sync::Arc, time::Duration};

use lineside_formats::Format;
use lineside_sync::{Clock, UnixMillis, stage};
use smol_str::ToSmolStr;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use self::{
    converting::Conversions,
    file::Told,
    go_on::answer,
    siri::{Farewell, Siri},
    system::System,
};
pub(crate) use self::{converting::Slots, decoding::decode as decode_message};
use crate::{
    archive::{Archive, Ledger},
    budget::{Booking, Place, Turn},
    config::FeedConfig,
    dataset::LoadLimits,
    feed::Feed,
    fetch::{Failure, FailureCode, Fetched, Fetcher, Question, Sources},
    health::Health,
    inbox::{Delivery, Inbox, Inboxes},
    ingest::Tasks,
    inspector::Inspector,
    limits::POLL_MIN,
    load_budget::LoadBudget,
    network::NetworkQueue,
    saved::{Keeper, Snapshots},
    schedule::{Asked, Spread},
    snapshot::Snapshot,
    stages::Stage,
    status::{FeedStatus, Rules},
};

/// How often a waiting feed looks whether its data have become old.
const JUDGE_INTERVAL: Duration = Duration::from_secs(1);
/// Wishes for a poll at once that wait for the feed's task; one is as good as many.
const ASKS_MAX: usize = 1;

/// A wish for a poll at once. The answer says, where the budget of the source leaves no room, how long that lasts.
pub(crate) type Ask = oneshot::Sender<Result<(), Duration>>;

/// One feed's polling.
#[derive(Debug)]
pub(crate) struct Poller {
    feed: Arc<Feed>,
    /// The feed's place in its network.
    number: usize,
    fetcher: Fetcher,
    /// The way to its network; a file of a system has none, and is not heard of there.
    queue: Option<NetworkQueue>,
    clock: Arc<dyn Clock>,
    rng: fastrand::Rng,
    /// Where its requests are counted.
    place: Place,
    /// The next of them.
    next: Booking,
    /// When it was wanted first.
    due: Duration,
    /// When the last one ended.
    ended_at: Option<Duration>,
    asks: mpsc::Receiver<Ask>,
    /// Keeps the way open for as long as there is somebody to answer.
    _asked_by: mpsc::Sender<Ask>,
    /// What comes next is of another source or another format than what is there.
    anew: bool,
    rules: Rules,
    health: Health,
    /// How many schedules may be decoded at once.
    loads: Arc<LoadBudget>,
    load_limits: Arc<LoadLimits>,
    conversions: Conversions,
    status: FeedStatus,
    expired: bool,
    ledger: Ledger,
    keeper: Keeper,
    /// Whether what an earlier process left has been looked at.
    is_begun: bool,
    /// Of a system, who polls its other files.
    system: Option<System>,
    /// What is known of a producer of SIRI.
    siri: Siri,
    /// The producer of a subscription that it is to be told is over.
    farewell: Option<Farewell>,
    /// What producers bring by themselves.
    deliveries: mpsc::Receiver<Delivery>,
    /// Where producers reach this server, and as whom they know it.
    inboxes: Inboxes,
    /// Who looks at messages as they pass.
    inspector: Option<Arc<dyn Inspector>>,
    /// Whether what is held is a message that an earlier process left, at which nobody has looked since.
    is_unseen: bool,
    /// Of a file of a system, whom it tells what the file says.
    told: Option<Told>,
    /// How long the last body is good, by its own word.
    body_ttl: Option<Duration>,
}

/// What all pollers share.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) sources: Sources,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) loads: Arc<LoadBudget>,
    pub(crate) load_limits: Arc<LoadLimits>,
    pub(crate) slots: Slots,
    pub(crate) spread: Arc<Spread>,
    pub(crate) archive: Arc<dyn Archive>,
    pub(crate) snapshots: Arc<dyn Snapshots>,
    pub(crate) tasks: Tasks,
    pub(crate) inboxes: Inboxes,
    pub(crate) inspector: Option<Arc<dyn Inspector>>,
}

impl Poller {
    pub(crate) fn new(
        feed: Arc<Feed>,
        number: usize,
        queue: NetworkQueue,
        shared: &Shared,
        seed: u64,
    ) -> Poller {
        let first = shared.spread.of(feed.id());
        let mut poller = Poller::begin(feed, shared, seed, first);
        (poller.number, poller.queue) = (number, Some(queue));
        let is_system = poller.feed.config().format == Some(Format::Gbfs);
        poller.system = is_system.then(|| System::new(shared, poller.way()));
        poller
    }

    /// One that is heard of nowhere, as that of a file of a system; it asks for the first time after `first`.
    fn begin(feed: Arc<Feed>, shared: &Shared, seed: u64, first: Duration) -> Poller {
        let config = feed.shared_config();
        let place = shared.sources.place_of(config);
        let now = shared.clock.monotonic();
        let due = now + first;
        let (asked_by, asks) = mpsc::channel(ASKS_MAX);
        feed.set_asks(asked_by.clone());
        let (inbox, deliveries) = Inbox::new((shared.inboxes.keys)());
        feed.set_inbox(inbox);
        Poller {
            fetcher: Fetcher::new(config, &shared.sources),
            rules: Rules::of(config),
            health: Health::default(),
            status: FeedStatus::clone(&feed.status()),
            clock: Arc::clone(&shared.clock),
            loads: Arc::clone(&shared.loads),
            load_limits: Arc::clone(&shared.load_limits),
            conversions: Conversions::new(&shared.slots, &feed, &shared.snapshots, &shared.clock),
            rng: fastrand::Rng::with_seed(seed),
            next: place.book(due, now),
            due,
            ended_at: None,
            asks,
            _asked_by: asked_by,
            anew: false,
            place,
            // What was taken back because it was too old comes again with the same bytes.
            expired: feed.is_empty_message(),
            ledger: Ledger::new(&shared.archive, &shared.clock, feed.id()),
            keeper: Keeper::new(&shared.snapshots, &shared.clock, feed.key(), config),
            is_begun: false,
            number: 0,
            queue: None,
            system: None,
            siri: Siri::new(seed),
            farewell: None,
            deliveries,
            inboxes: shared.inboxes.clone(),
            inspector: shared.inspector.clone(),
            is_unseen: false,
            told: None,
            body_ttl: None,
            feed,
        }
    }

    /// Polls until `stop`, or until `retire`: then it can [go on](Poller::go_on) as something else. What has been fetched
    /// by then is taken first.
    pub(crate) async fn run(
        mut self,
        stop: CancellationToken,
        retire: CancellationToken,
    ) -> Option<Poller> {
        let retired = tokio::select! {
            biased;
            () = stop.cancelled() => false,
            () = self.poll_until(&retire) => true,
        };
        if !retired {
            self.unsubscribe().await;
        }
        retired.then_some(self)
    }

    /// The same, for a poller that starts others.
    fn run_boxed(self, stop: CancellationToken) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let run = self.run(stop, CancellationToken::new());
        Box::pin(async move { drop(run.await) })
    }

    async fn poll_until(&mut self, retire: &CancellationToken) {
        self.say_farewell().await;
        self.restore().await;
        self.tell_state();
        loop {
            let turn = tokio::select! {
                biased;
                () = retire.cancelled() => return,
                turn = self.wait_for_turn() => turn,
            };
            if !self.poll(turn, retire).await {
                return;
            }
            self.feed.set_tried();
            let now = self.clock.monotonic();
            self.ended_at = Some(now);
            self.due = now + self.wait();
            self.next = self.place.book(self.due, now);
        }
    }

    async fn wait_for_turn(&mut self) -> Turn {
        if self.feed.config().paused {
            self.pause().await;
        }
        self.rest().await;
        self.take_turn().await
    }

    /// Says when the next poll is, and waits for it.
    async fn rest(&mut self) {
        loop {
            let left = self.next.at().saturating_sub(self.clock.monotonic());
            self.status.next_poll = Some(self.clock.wall() + left);
            self.feed.set_status(self.status.clone());
            let Some(ask) = self.wait_for_next().await else { return };
            self.hurry(ask);
        }
    }

    /// Waits for the next poll, unless it is asked to poll at once. What its producer brings meanwhile it takes.
    async fn wait_for_next(&mut self) -> Option<Ask> {
        while self.clock.monotonic() < self.next.at() {
            let look = (self.clock.monotonic() + JUDGE_INTERVAL).min(self.next.at());
            tokio::select! {
                biased;
                Some(ask) = self.asks.recv() => return Some(ask),
                Some(delivery) = self.deliveries.recv() => self.take_delivery(delivery).await,
                () = self.clock.sleep_until(look) => {}
            }
            self.look().await;
        }
        None
    }

    /// Takes the turn whose time has come; others may still be at it.
    async fn take_turn(&mut self) -> Turn {
        let next = std::mem::take(&mut self.next);
        let mut turn = std::pin::pin!(next.turn(Arc::clone(&self.clock)));
        loop {
            let look = self.clock.sleep(JUDGE_INTERVAL);
            tokio::select! {
                biased;
                turn = &mut turn => return turn,
                // It will poll as soon as it may.
                Some(ask) = self.asks.recv() => answer(ask, Ok(())),
                () = look => {}
            }
            self.look().await;
        }
    }

    /// Sees how the feed is doing while it waits; before its first poll there is nothing to say of it.
    async fn look(&mut self) {
        if self.feed.was_tried() {
            self.sweep_when_told().await;
            self.judge().await;
        }
    }

    /// Asks the source once. False when it was told to retire before there was an answer, or before that was converted.
    async fn poll(&mut self, turn: Turn, retire: &CancellationToken) -> bool {
        self.status.last_attempt = Some(self.clock.wall());
        self.status.is_restored = false;
        let network = self.feed.network();
        let began = network.begin();
        let mut asked = self.ledger.asked(&self.status);
        let fetching = stage::within(Stage::Fetch.work(), self.fetch(turn, retire));
        let Some(fetched) = fetching.await else { return false };
        let waited = self.fetcher.waited();
        self.ledger.answered(&mut asked, waited);
        network.finish(Stage::Fetch, began + waited);
        if let Some(replay) = self.fetcher.replay_clock() {
            network.follow(replay);
        }
        let outcome = match fetched {
            Ok(Fetched::NotModified) => {
                self.confirm();
                Ok("not_modified")
            }
            Ok(Fetched::Nothing(status)) => self.take_nothing(status),
            Ok(Fetched::Body(body)) if self.is_subscribing() => self.take_answered(body).await,
            Ok(Fetched::Body(body)) => match self.take_reply(body, retire).await {
                Some(taken) => taken,
                None => return false,
            },
            Err(failure) => Err(failure),
        };
        let outcome = outcome.or_else(|failure| match self.is_unchecked(&failure) {
            true => Ok("unchecked"),
            false => Err(failure),
        });
        match outcome {
            Ok(outcome) => {
                self.siri_answered(outcome == "new").await;
                self.status.count(outcome);
                self.judge().await;
                self.ledger.ended(asked, outcome, &self.feed, &self.status);
                self.inspect_kept(outcome).await;
            }
            Err(failure) => {
                self.siri_failed();
                self.fail(failure).await;
                self.ledger.ended(asked, "", &self.feed, &self.status);
            }
        }
        true
    }

    async fn fetch(
        &mut self,
        turn: Turn,
        retire: &CancellationToken,
    ) -> Option<Result<Fetched, Failure>> {
        let question = match self.is_subscribing() {
            true => match self.ask_subscribed().await {
                Ok(question) => question,
                Err(failure) => return Some(Err(failure)),
            },
            false => self.question(),
        };
        let mut fetched = std::pin::pin!(self.fetcher.fetch(turn, question));
        loop {
            tokio::select! {
                biased;
                () = retire.cancelled() => return None,
                fetched = &mut fetched => return Some(fetched),
                Some(ask) = self.asks.recv() => answer(ask, Ok(())),
            }
        }
    }

    async fn fail(&mut self, failure: Failure) {
        tracing::warn!(feed = %self.feed.key(), code = %failure.code, detail = failure.detail, "the poll failed");
        self.status.count(&failure.code.to_smolstr());
        self.status.nothing_since = None;
        self.status.failures += 1;
        self.status.failures_in_a_row = self.status.failures_in_a_row.saturating_add(1);
        let now = self.clock.wall();
        self.status.failing_since.get_or_insert(now);
        self.status.last_error = Some(failure.at(now));
        self.judge().await;
    }

    fn succeed(&mut self) {
        self.status.last_success = Some(self.clock.wall());
        self.status.last_error = None;
        self.status.failures_in_a_row = 0;
        self.status.failing_since = None;
        self.status.nothing_since = None;
        self.status.is_gathering = false;
        self.expired = false;
    }

    /// How long until the next poll.
    fn wait(&mut self) -> Duration {
        if let Some(due) = self.fetcher.due_in() {
            return due.max(POLL_MIN);
        }
        let is_failing = self.status.failures_in_a_row > 0;
        // Who did not answer when it was to be renewed is asked again as anybody else.
        if let Some(rest) = self.subscription_rest().filter(|_| !is_failing) {
            return rest.max(POLL_MIN);
        }
        if let Some(wait) = self.wait_for_page() {
            return wait;
        }
        let config = self.feed.config();
        let mut advice = self.fetcher.advice();
        advice.fresh_for = advice.fresh_for.max(self.body_ttl);
        let own = self.gbfs_interval().filter(|_| config.poll.is_none());
        let asked = Asked {
            interval: own.unwrap_or_else(|| config.poll_interval(self.status.format)),
            ttl: config.ttl.unwrap_or_default(),
            failures_in_a_row: self.status.failures_in_a_row,
            advice,
        };
        asked.wait(&mut self.rng)
    }
}

/// The first request to a source, which for SIRI may be a POST.
pub(crate) fn first_question(config: &FeedConfig, now: UnixMillis) -> Question {
    siri::Questions::new(now.0.unsigned_abs()).next(config, now)
}

fn broken() -> Failure {
    Failure::new(FailureCode::Decode, "decoding broke off for a fault of our own")
}
