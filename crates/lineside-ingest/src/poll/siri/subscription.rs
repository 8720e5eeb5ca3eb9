//! A subscription to a producer of SIRI: asked for, renewed before it ends, and asked for anew when nothing more is heard
//! of it. What the producer then has to say, it brings to the feed's inbox by itself.

mod agreement;
mod course;
mod request;
mod word;

pub(in crate::poll) use self::word::Word;
pub(super) use self::{course::Subscription, request::names};

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use lineside_formats::{
    Format,
    siri::{
        CheckStatusRequest, DataSupplyRequest, Flag, Payload, TerminateSubscriptionRequest, Time,
    },
};
use lineside_sync::Clock;
use smol_str::format_smolstr;

use self::{
    agreement::Agreement,
    course::{Asking, Supply, TELLING_MAX},
    request::{request, requestor},
};
use super::{Answer, PAGES_MAX, Said, decode, no_delivery, question::posted};
use crate::{
    budget::Place,
    fetch::{Body, Failure, FailureCode, Fetched, Fetcher, Question},
    inbox::{DELIVERIES_MAX, Delivery},
    poll::{Poller, broken, taking::hash_of},
    source::SiriMode,
};

/// How long a producer may take to hear that the subscription is over.
const FAREWELL_MAX: Duration = Duration::from_millis(1_500);
/// A subscription that was renewed has told all that there is again if it has told so much of what was known.
const TOLD_AGAIN_SHARE: f64 = 0.5;

/// The last word to a producer, which may not be the feed's any more.
#[derive(Debug)]
pub(in crate::poll) struct Farewell {
    pub(in crate::poll) fetcher: Fetcher,
    pub(in crate::poll) place: Place,
    pub(in crate::poll) question: Question,
}

/// Says it, for as long as that may take. Whether it was heard changes nothing: the subscription ends by itself.
async fn say(fetcher: &mut Fetcher, place: &Place, question: Question, clock: &Arc<dyn Clock>) {
    let saying = async {
        let now = clock.monotonic();
        let turn = place.book(now, now).turn(Arc::clone(clock)).await;
        let _: Result<Fetched, Failure> = fetcher.fetch(turn, question).await;
    };
    tokio::select! {
        biased;
        () = saying => {}
        () = clock.sleep(FAREWELL_MAX) => {}
    }
}

impl Poller {
    /// Whether what is new comes by itself.
    pub(in crate::poll) fn is_subscribing(&self) -> bool {
        self.feed.config().siri.as_ref().is_some_and(|siri| siri.mode == SiriMode::Subscribe)
    }

    /// How long until the producer has to be asked for its subscription again; none where that is now, or where nothing is
    /// subscribed to.
    pub(in crate::poll) fn subscription_rest(&self) -> Option<Duration> {
        let rest = self.siri.subscription.rest(self.clock.monotonic())?;
        self.is_subscribing().then_some(rest)
    }

    /// What is asked of a producer that is subscribed to, or is to be: what it has announced, or to go on.
    ///
    /// # Errors
    /// If there is no address for what the producer has to say.
    pub(in crate::poll) async fn ask_subscribed(&mut self) -> Result<Question, Failure> {
        // What waits to be read may announce the same again.
        for _ in 0..DELIVERIES_MAX {
            let Ok(delivery) = self.deliveries.try_recv() else { break };
            self.take_delivery(delivery).await;
        }
        let mut question = match self.siri.subscription.ask(self.clock.monotonic()) {
            Asking::Supply => self.supply(),
            Asking::Check => self.check(),
            Asking::Subscription => self.subscribe().await?,
        };
        // Whatever it is asked, it may repeat the key that it was told when it was asked for news.
        if let (Question::Post(post), Some(inbox)) = (&mut question, self.feed.inbox()) {
            post.secret = Some(inbox.key().clone());
        }
        Ok(question)
    }

    /// What asks whether the producer is there.
    fn check(&self) -> Question {
        let source = self.feed.config().siri.clone().unwrap_or_default();
        let now = self.clock.wall();
        let request = CheckStatusRequest {
            request_timestamp: Time::from_millis(now.0),
            requestor_ref: Some(requestor(&source, &self.inboxes.subscriber)),
            message_identifier: Some(format_smolstr!("lineside-{}-{}", self.feed.id(), now.0)),
        };
        posted(&source, Payload::CheckStatusRequest(request), "CheckStatus")
    }

    /// What fetches everything that was announced.
    fn supply(&self) -> Question {
        let source = self.feed.config().siri.clone().unwrap_or_default();
        let now = self.clock.wall();
        let request = DataSupplyRequest {
            request_timestamp: Time::from_millis(now.0),
            consumer_ref: Some(requestor(&source, &self.inboxes.subscriber)),
            message_identifier: Some(format_smolstr!("lineside-{}-{}", self.feed.id(), now.0)),
            all_data: Some(false),
            ..DataSupplyRequest::default()
        };
        posted(&source, Payload::DataSupplyRequest(request), "DataSupply")
    }

    /// Takes what the producer answers.
    pub(in crate::poll) async fn take_answered(
        &mut self,
        body: Body,
    ) -> Result<&'static str, Failure> {
        match self.siri.subscription.asking {
            Asking::Subscription => return self.take_agreement(body).await,
            Asking::Check => return self.take_check(body).await,
            Asking::Supply => {}
        }
        let Said::Answer(answer) = self.read_siri(body.bytes.clone()).await? else {
            return Err(no_delivery());
        };
        let has_more = answer.has_more;
        let before = self.siri.subscription.supply.pages;
        let goes_on = has_more && before < PAGES_MAX;
        self.siri.is_cut_off = has_more && !goes_on;
        self.take_news(body.bytes, *answer).await?;
        let subscription = &mut self.siri.subscription;
        subscription.heard_at = self.clock.monotonic();
        subscription.is_doubted = false;
        let pages = if goes_on { before + 1 } else { 0 };
        subscription.supply = Supply { is_due: goes_on, pages };
        Ok("new")
    }

    /// What was announced could not be fetched: nobody knows what was in it, so all there is is asked for.
    pub(in crate::poll) fn supply_failed(&mut self) {
        if self.siri.subscription.asking == Asking::Supply {
            self.siri.subscription = self.siri.subscription.given_up();
        }
    }

    /// Whether a failure is that of a question which the producer does not know; then it is not asked that again.
    pub(in crate::poll) fn is_unchecked(&mut self, failure: &Failure) -> bool {
        use FailureCode::{Decode, Empty, Html, Http, Truncated};
        let is_unknown = self.siri.subscription.asking == Asking::Check
            && matches!(
                failure.code,
                Http(400 | 404 | 405 | 500 | 501) | Decode | Empty | Html | Truncated
            );
        self.siri.subscription.has_no_checks |= is_unknown;
        is_unknown
    }

    /// Takes the answer to the question whether the producer is there. That it is keeps the subscription for a while, and
    /// tells nothing of the data: who is there may have news that do not reach us.
    async fn take_check(&mut self, body: Body) -> Result<&'static str, Failure> {
        let (config, zone) = (self.feed.shared_config().clone(), self.zone());
        let reading = tokio::task::spawn_blocking(move || {
            Ok(Word::of_check(&decode(&body.bytes, &zone, &config)?.0))
        });
        let Some(word) = reading.await.unwrap_or_else(|_| Err(broken()))? else {
            return Err(Failure::new(FailureCode::Decode, "the answer is SIRI, but no status"));
        };
        match word {
            Word::Alive(started) if !self.siri.subscription.has_restarted(started) => {
                self.siri.subscription.vouched_at = Some(self.clock.monotonic());
                if !self.siri.subscription.is_doubted {
                    self.end_trouble();
                }
            }
            _ => drop(self.end_subscription()),
        }
        Ok("checked")
    }

    /// The producer has ended the subscription, or knows nothing of it any more; how long it is left alone, if there was one.
    fn end_subscription(&mut self) -> Option<Duration> {
        // Who says so again and again is not asked any later, nor any sooner.
        self.siri.subscription.renew_at?;
        let now = self.clock.monotonic();
        self.siri.subscription = self.siri.subscription.ended(now);
        self.siri.subscription.rest(now)
    }

    /// What is asked to begin a subscription, or to go on with it.
    ///
    /// # Errors
    /// If there is no address for what the producer has to say.
    async fn subscribe(&mut self) -> Result<Question, Failure> {
        if self.siri.subscription.is_silent(self.clock.monotonic()) {
            // Who was silent may have lost anything: what comes next is all that there is.
            self.siri.subscription = self.siri.subscription.given_up();
            self.siri.subscription.is_doubted = true;
            let detail = "nothing was heard of the subscription";
            self.fail(Failure::new(FailureCode::Timeout, detail)).await;
        }
        let Some(address) = self.inbox_address() else {
            let detail = "producers bring news to server.public_url, which the configuration does \
                          not name";
            return Err(Failure::new(FailureCode::Connect, detail));
        };
        let config = self.feed.shared_config().clone();
        let source = config.siri.clone().unwrap_or_default();
        let by = &self.inboxes.subscriber;
        let request = request(&config, &source, (by, &address), self.clock.wall());
        Ok(posted(&source, Payload::SubscriptionRequest(request), "Subscribe"))
    }

    fn inbox_address(&self) -> Option<String> {
        let inbox = self.feed.inbox()?;
        let base = self.inboxes.address.as_deref()?.trim_end_matches('/');
        Some(format!("{base}/siri/inbox/{}?key={}", self.feed.id(), inbox.key().reveal()))
    }

    /// Takes the answer to a request for a subscription.
    async fn take_agreement(&mut self, body: Body) -> Result<&'static str, Failure> {
        let (config, zone) = (self.feed.shared_config().clone(), self.zone());
        let reading = tokio::task::spawn_blocking(move || {
            let (message, _) = decode(&body.bytes, &zone, &config)?;
            Ok(Agreement::of(&message))
        });
        let in_doubt = self.siri.subscription.in_doubt();
        let before = std::mem::replace(&mut self.siri.subscription, in_doubt);
        let read = reading.await.unwrap_or_else(|_| Err(broken()))?;
        // What a producer says may repeat what it was sent: the key of the inbox is in each request.
        let shown = |said: &str| self.shown_by_producer(said);
        let mut agreement = read.map_err(|not| not.failure(shown))?;
        agreement.refused.iter_mut().for_each(|said| *said = shown(said));
        let (now, wall) = (self.clock.monotonic(), self.clock.wall());
        self.siri.held.begin_anew();
        self.siri.subscription = before.agreed(agreement, now, wall);
        self.status.failures_in_a_row = 0;
        // Who was silent has promised before.
        if !self.siri.subscription.is_doubted {
            self.end_trouble();
        }
        Ok("subscribed")
    }

    /// The producer is there, whether it has told anything or not.
    pub(super) fn end_trouble(&mut self) {
        self.status.last_error = None;
        self.status.failures_in_a_row = 0;
        self.status.failing_since = None;
    }

    /// Takes what the producer has brought.
    pub(in crate::poll) async fn take_delivery(&mut self, delivery: Delivery) {
        let bytes = delivery.bytes.clone();
        let asked = self.ledger.asked(&self.status);
        let subscription = &mut self.siri.subscription;
        subscription.heard_at = self.clock.monotonic();
        subscription.is_doubted = false;
        let taken = match self.read_siri(bytes.clone()).await {
            Ok(Said::Answer(answer)) => self.take_news(bytes, *answer).await,
            Ok(Said::Word(word)) => {
                self.take_word(word).await;
                Ok(())
            }
            Err(failure) => Err(failure),
        };
        match taken {
            Ok(()) => {
                self.judge().await;
                self.put_off();
                self.ledger.brought(asked, &self.feed, &self.status);
                // Of a feed that is as well as before, too, when it was heard last is told.
                self.feed.set_status(self.status.clone());
            }
            Err(failure) => {
                self.fail(failure).await;
                self.ledger.brought(asked, &self.feed, &self.status);
                // Nobody knows what was in it, so the producer is asked for all there is, as after a failed poll. It may go on
                // with changes all the same.
                self.siri.subscription = self.siri.subscription.in_doubt();
                let wait = self.wait();
                self.ask_again(wait);
            }
        }
    }

    async fn take_news(&mut self, bytes: Bytes, answer: Answer) -> Result<(), Failure> {
        let now = self.clock.wall();
        self.status.bytes += bytes.len() as u64;
        let hash = hash_of(&bytes).await;
        let passing = self.take_answer(answer, now).await?;
        let body =
            Body { bytes, content_type: None, last_modified: None, file_name: None, status: None };
        self.keep(body, Format::Siri, hash, now).await;
        self.inspect(passing, now).await;
        Ok(())
    }

    async fn take_word(&mut self, word: Word) {
        let is_over = match word {
            Word::Alive(started) => self.siri.subscription.has_restarted(started),
            Word::Over => true,
            Word::Ready => {
                // Without a subscription all there is is asked for anyway.
                if self.siri.subscription.renew_at.is_some() {
                    self.siri.subscription.supply.is_due = true;
                    self.ask_again(Duration::ZERO);
                }
                return;
            }
            Word::OtherOver => {
                // Taken, and without effect: who meant this feed's is to see why.
                tracing::info!(feed = %self.feed.key(), "the producer has ended another subscription than this feed's");
                return;
            }
        };
        if is_over {
            if let Some(wait) = self.end_subscription() {
                self.ask_again(wait);
            }
        } else if self.siri.subscription.has_told {
            self.confirm();
            self.tell_again().await;
        } else {
            self.end_trouble();
        }
    }

    /// Lets go of what the producer has not told again of what was known before the subscription, once it is through. A
    /// renewed one may go on with changes only: then nothing is to be let go of.
    pub(in crate::poll) async fn sweep_when_told(&mut self) {
        let now = self.clock.monotonic();
        let is_settled = self.status.is_beginning && !self.is_beginning();
        if is_settled {
            self.status.is_beginning = false;
            self.siri.is_whole = true;
            // Readers hear of it also where nothing else changes.
            self.feed.set_status(self.status.clone());
        }
        let is_swept = self.siri.subscription.is_through(now).is_some_and(|again| {
            let is_all = !again || self.siri.held.share_seen() >= TOLD_AGAIN_SHARE;
            is_all && self.siri.held.sweep()
        });
        // What was held back until now is told, unless the producer is in trouble: then with its next word.
        let is_untold = is_settled && !self.siri.tells_parts;
        if is_swept || (is_untold && self.status.failures_in_a_row == 0) {
            self.tell_again().await;
        }
    }

    /// Whether the producer may not have told yet all that there is since nothing was known: its first deliveries are parts
    /// of that, however many they are.
    pub(in crate::poll::siri) fn is_beginning(&mut self) -> bool {
        if self.siri.is_whole || !self.is_subscribing() {
            return false;
        }
        let now = self.clock.monotonic();
        now < *self.siri.began_at.get_or_insert(now) + TELLING_MAX
    }

    /// Who was heard of just now is asked later than was thought before.
    fn put_off(&mut self) {
        let now = self.clock.monotonic();
        if let Some(rest) = self.subscription_rest().filter(|&rest| now + rest > self.next.at()) {
            self.ask_again(rest);
        }
    }

    /// Has the next poll after `wait`, whenever it would have been.
    fn ask_again(&mut self, wait: Duration) {
        let now = self.clock.monotonic();
        drop(std::mem::take(&mut self.next));
        self.due = now + wait;
        self.next = self.place.book(self.due, now);
        let left = self.next.at().saturating_sub(now);
        self.status.next_poll = Some(self.clock.wall() + left);
        self.feed.set_status(self.status.clone());
    }

    /// What ends the subscription at the producer, if there is one.
    pub(in crate::poll) fn last_word(&self) -> Option<Question> {
        if self.siri.subscription.renew_at.is_none() || !self.is_subscribing() {
            return None;
        }
        let config = self.feed.config();
        let source = config.siri.clone().unwrap_or_default();
        let request = TerminateSubscriptionRequest {
            request_timestamp: Time::from_millis(self.clock.wall().0),
            requestor_ref: Some(requestor(&source, &self.inboxes.subscriber)),
            subscriber_ref: Some(self.inboxes.subscriber.as_ref().into()),
            all: Flag::default(),
            subscription_refs: names(config, &source),
            ..TerminateSubscriptionRequest::default()
        };
        let payload = Payload::TerminateSubscriptionRequest(request);
        Some(posted(&source, payload, "DeleteSubscription"))
    }

    /// Tells the producer that nothing more is wanted.
    pub(in crate::poll) async fn unsubscribe(&mut self) {
        self.say_farewell().await;
        let Some(question) = self.last_word() else { return };
        self.siri.subscription = Subscription::default();
        say(&mut self.fetcher, &self.place, question, &self.clock).await;
    }

    /// Tells the producer that the feed had before that nothing more is wanted.
    pub(in crate::poll) async fn say_farewell(&mut self) {
        if let Some(Farewell { mut fetcher, place, question }) = self.farewell.take() {
            say(&mut fetcher, &place, question, &self.clock).await;
        }
    }
}
