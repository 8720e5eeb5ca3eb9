//! A subscription to a producer of SIRI: asked for, renewed before it ends, and asked for anew when nothing more is heard
//! of it. What the producer then has to say, it brings to the feed's inbox by itself.

mod agreement;
mod request;
mod word;

pub(super) use self::request::names;
pub(in crate::poll) use self::word::Word;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use lineside_formats::{
    Format, Problem, Problems,
    siri::{DataSupplyRequest, Flag, Payload, TerminateSubscriptionRequest, Time},
};
use lineside_sync::{Clock, UnixMillis};
use smol_str::format_smolstr;

use self::{
    agreement::Agreement,
    request::{request, requestor},
};
use super::{Answer, PAGES_MAX, Said, decode, no_delivery, question::posted};
use crate::{
    budget::Place,
    fetch::{Body, Failure, FailureCode, Fetched, Fetcher, Question},
    inbox::DELIVERIES_MAX,
    limits::BACKOFF_MAX,
    poll::{Poller, broken, taking::hash_of},
    source::SiriMode,
};

/// For how long a producer is asked to go on; half of it later it is asked again.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// How long nothing may be heard of a subscription.
const SILENCE_MAX: Duration = Duration::from_secs(190);
/// How long a producer may take to hear that the subscription is over.
const FAREWELL_MAX: Duration = Duration::from_millis(1_500);

/// How long after its first delivery a subscription has told all that there is: producers cut it into parts, and each
/// service comes by itself.
const TELLING_MAX: Duration = Duration::from_secs(60);
/// A subscription that was renewed has told all that there is again if it has told so much of what was known.
const TOLD_AGAIN_SHARE: f64 = 0.5;
/// A subscription is not renewed more often than this.
const RENEWAL_MIN: Duration = Duration::from_secs(60);
/// How long after its last agreement a producer that has ended it is asked again at the soonest. Doubles with each agreement
/// that it ends before it has delivered anything, up to [`BACKOFF_MAX`].
const AGAIN_MIN: Duration = Duration::from_secs(15);

/// What is known of a feed's subscription.
#[derive(Debug, Default)]
pub(super) struct Subscription {
    /// When the producer is to be asked again, on the monotonic clock; none without a subscription.
    renew_at: Option<Duration>,
    heard_at: Duration,
    /// Since when the producer is up, by its own clock.
    started: Option<Time>,
    /// What the producer refuses of it, in its words, as they may be shown.
    refused: Vec<String>,
    /// Whether there was a delivery.
    has_told: bool,
    /// Whether the producer was silent before, and nothing has come since.
    is_doubted: bool,
    telling: Telling,
    supply: Supply,
    /// Whether what was told before it, as by a subscription that goes on at the producer, need not be told again.
    is_renewal: bool,
    /// When the producer last agreed, to this subscription or to one before it, on the monotonic clock.
    agreed_at: Option<Duration>,
    /// How many agreements in a row it has ended without a delivery.
    n_ended: u32,
}

/// What a producer has announced instead of bringing it.
#[derive(Clone, Copy, Debug, Default)]
struct Supply {
    /// Whether there is something to be fetched. However often that is said, it is fetched once.
    is_due: bool,
    /// Whether it is being fetched.
    is_asked: bool,
    /// How many answers in a row said that there is more.
    pages: u32,
}

/// How far a producer is in telling all that there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Telling {
    /// It has told it.
    #[default]
    Done,
    /// It is about to, or will do so again because its subscription was renewed.
    Awaited { again: bool },
    /// It has begun, and will be through at this moment on the monotonic clock.
    Begun { again: bool, through_at: Duration },
}

impl Subscription {
    /// One that was agreed on at `now`, on both clocks.
    fn agreed(self, agreement: Agreement, now: Duration, wall: UnixMillis) -> Subscription {
        let again = self.renew_at.is_some() || self.is_renewal;
        let valid = agreement.valid_until.and_then(|until| {
            let millis = until.as_millis().saturating_sub(wall.0);
            // By a clock that is far behind ours it would be over already.
            u64::try_from(millis).ok().filter(|&millis| millis > 0).map(Duration::from_millis)
        });
        let lifetime = valid.unwrap_or(LIFETIME).min(LIFETIME);
        Subscription {
            renew_at: Some(now + (lifetime / 2).max(RENEWAL_MIN)),
            heard_at: now,
            started: agreement.started.or(self.started),
            refused: agreement.refused,
            telling: Telling::Awaited { again },
            agreed_at: Some(now),
            is_renewal: false,
            ..self
        }
    }

    /// The producer has ended it: what it agrees to next is another one.
    fn ended(&self) -> Subscription {
        Subscription { n_ended: self.n_ended.saturating_add(1), ..self.given_up() }
    }

    /// Something of it was not understood: it is asked for again, and goes on at the producer meanwhile.
    fn in_doubt(&self) -> Subscription {
        let is_renewal = self.renew_at.is_some() || self.is_renewal;
        Subscription { is_renewal, ..self.given_up() }
    }

    /// It is not relied on any more.
    fn given_up(&self) -> Subscription {
        let (agreed_at, n_ended) = (self.agreed_at, self.n_ended);
        Subscription { agreed_at, n_ended, ..Subscription::default() }
    }

    /// How long a producer that has ended what it agreed to is left alone.
    fn wait_after_end(&self, now: Duration) -> Duration {
        let doublings = self.n_ended.saturating_sub(1).min(u32::BITS - 1);
        let gap = AGAIN_MIN.saturating_mul(1 << doublings).min(BACKOFF_MAX);
        self.agreed_at.map_or(Duration::ZERO, |at| (at + gap).saturating_sub(now))
    }

    /// How long until the producer has to be asked; none where there is no subscription.
    fn rest(&self, now: Duration) -> Option<Duration> {
        if self.supply.is_due {
            return self.renew_at.map(|_| Duration::ZERO);
        }
        Some(self.renew_at?.min(self.heard_at + SILENCE_MAX).saturating_sub(now))
    }

    fn is_silent(&self, now: Duration) -> bool {
        self.renew_at.is_some() && now.saturating_sub(self.heard_at) >= SILENCE_MAX
    }

    /// Whether a producer that is up since then is not the one that agreed. Both times are by its own clock.
    fn has_restarted(&mut self, started: Option<Time>) -> bool {
        let Some(started) = started else { return false };
        started > *self.started.get_or_insert(started)
    }

    /// There was a delivery.
    pub(super) fn told(&mut self, now: Duration) {
        self.has_told = true;
        self.n_ended = 0;
        if let Telling::Awaited { again } = self.telling {
            self.telling = Telling::Begun { again, through_at: now + TELLING_MAX };
        }
    }

    /// Whether the producer has told all that there is by now, and if so, whether it had done so before.
    fn is_through(&mut self, now: Duration) -> Option<bool> {
        let Telling::Begun { again, through_at } = self.telling else { return None };
        (now >= through_at).then(|| {
            self.telling = Telling::Done;
            again
        })
    }

    /// What of it is not as it was asked for.
    pub(super) fn problems(&self) -> Problems {
        let mut problems = Problems::new();
        for said in &self.refused {
            let detail = "the producer refuses a part of the subscription";
            let problem = Problem::new("subscription", "subscription_refused", detail);
            problems.push(problem.with_value(said));
        }
        problems
    }
}

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
        let (now, subscription) = (self.clock.monotonic(), &mut self.siri.subscription);
        let is_due = std::mem::take(&mut subscription.supply.is_due);
        subscription.supply.is_asked =
            is_due && subscription.renew_at.is_some() && !subscription.is_silent(now);
        if self.siri.subscription.supply.is_asked {
            Ok(self.supply())
        } else {
            self.subscribe().await
        }
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
        if !self.siri.subscription.supply.is_asked {
            return self.take_agreement(body).await;
        }
        let Said::Answer(answer) = self.read_siri(body.bytes.clone()).await? else {
            return Err(no_delivery());
        };
        let has_more = answer.has_more;
        self.take_news(body.bytes, *answer).await?;
        let subscription = &mut self.siri.subscription;
        subscription.heard_at = self.clock.monotonic();
        subscription.is_doubted = false;
        let supply = &mut subscription.supply;
        let goes_on = has_more && supply.pages < PAGES_MAX;
        let pages = if goes_on { supply.pages + 1 } else { 0 };
        *supply = Supply { is_due: goes_on, is_asked: false, pages };
        Ok("new")
    }

    /// What was announced could not be fetched: nobody knows what was in it, so all there is is asked for.
    pub(in crate::poll) fn supply_failed(&mut self) {
        if self.siri.subscription.supply.is_asked {
            self.siri.subscription = self.siri.subscription.given_up();
        }
    }

    /// What is asked to begin a subscription, or to go on with it.
    ///
    /// # Errors
    /// If there is no address for what the producer has to say.
    async fn subscribe(&mut self) -> Result<Question, Failure> {
        if self.siri.subscription.is_silent(self.clock.monotonic()) {
            // Who was silent may have lost anything: what comes next is all that there is.
            let before = self.siri.subscription.given_up();
            self.siri.subscription = Subscription { is_doubted: true, ..before };
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
        let mut question = posted(&source, Payload::SubscriptionRequest(request), "Subscribe");
        if let (Question::Post(post), Some(inbox)) = (&mut question, self.feed.inbox()) {
            post.secret = Some(inbox.key().clone());
        }
        Ok(question)
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
        let shown = |said: &str| self.fetcher.shown(said.as_bytes());
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
    fn end_trouble(&mut self) {
        self.status.last_error = None;
        self.status.failures_in_a_row = 0;
        self.status.failing_since = None;
    }

    /// Takes what the producer has brought.
    pub(in crate::poll) async fn take_delivery(&mut self, bytes: Bytes) {
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
                // Of a feed that is as well as before, too, when it was heard last is told.
                self.feed.set_status(self.status.clone());
            }
            Err(failure) => {
                self.fail(failure).await;
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
        self.take_answer(answer, now).await?;
        let body =
            Body { bytes, content_type: None, last_modified: None, file_name: None, status: None };
        self.keep(body, Format::Siri, hash, now).await;
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
            Word::OtherOver => return,
        };
        if is_over {
            // Who says so again and again is not asked any later, nor any sooner.
            if self.siri.subscription.renew_at.is_some() {
                let ended = self.siri.subscription.ended();
                let wait = ended.wait_after_end(self.clock.monotonic());
                self.siri.subscription = ended;
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
        let Some(again) = self.siri.subscription.is_through(now) else { return };
        let is_all = !again || self.siri.held.share_seen() >= TOLD_AGAIN_SHARE;
        if is_all && self.siri.held.sweep() {
            self.tell_again().await;
        }
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

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use lineside_formats::siri::{self, Limits};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const NOON: UnixMillis = UnixMillis(1_795_262_400_000);

    fn word(inside: &str) -> Option<Word> {
        let body = format!("<Siri xmlns=\"http://www.siri.org.uk/siri\">{inside}</Siri>");
        let decoded = siri::decode(body.as_bytes(), &TimeZone::UTC, &Limits::default());
        Word::of(&decoded.unwrap().0, &["lineside-a-et".into(), "lineside-a-vm".into()])
    }

    fn beat(inside: &str) -> Option<Word> {
        word(&format!("<HeartbeatNotification>{inside}</HeartbeatNotification>"))
    }

    fn at(hours: i64) -> Option<Time> {
        Time::from_millis(NOON.0 + hours * 3_600_000)
    }

    fn agreed(agreement: Agreement) -> Subscription {
        Subscription::default().agreed(agreement, SECOND, NOON)
    }

    #[test]
    fn words_are_told_from_news() {
        assert_eq!(beat("<Status>true</Status>"), Some(Word::Alive(None)));
        assert_eq!(beat("<Status>false</Status>"), Some(Word::Over));
        let started = "<ServiceStartedTime>2026-11-21T13:00:00Z</ServiceStartedTime>";
        assert_eq!(beat(started), Some(Word::Alive(at(1))));
        let over = "<SubscriptionTerminatedNotification></SubscriptionTerminatedNotification>";
        assert_eq!(word(over), Some(Word::Over));
        let ready = "<DataReadyNotification></DataReadyNotification>";
        assert_eq!(word(ready), Some(Word::Ready));
        for (names, expected) in [
            (["lineside-b-et", "lineside-a-vm"], Word::Over),
            (["lineside-b-et", "lineside-a"], Word::OtherOver),
        ] {
            let names = names.map(|name| format!("<SubscriptionRef>{name}</SubscriptionRef>"));
            let over = over.replace("><", &format!(">{}<", names.concat()));
            assert_eq!(word(&over), Some(expected), "{over}");
        }
        assert_eq!(word("<ServiceDelivery></ServiceDelivery>"), None);
    }

    #[test]
    fn a_producer_has_restarted_when_it_says_another_start_than_before() {
        // Its clock may be hours ahead of ours.
        let mut told = agreed(Agreement { started: at(5), ..Agreement::default() });
        assert!(!told.has_restarted(at(5)) && !told.has_restarted(None));
        assert!(!told.has_restarted(at(4)) && told.has_restarted(at(6)));
        let mut untold = agreed(Agreement::default());
        assert!(!untold.has_restarted(at(5)) && !untold.has_restarted(at(5)));
        assert!(untold.has_restarted(at(6)));
    }

    #[test]
    fn a_subscription_is_renewed_after_half_of_its_time() {
        for (valid_until, expected) in [
            (None, 12 * 3_600),
            (at(2), 3_600),
            (at(100), 12 * 3_600),
            (Time::from_millis(NOON.0 + 30_000), 60),
            // By a clock that is behind ours.
            (at(-3), 12 * 3_600),
        ] {
            let subscription = agreed(Agreement { valid_until, ..Agreement::default() });
            let renewal = subscription.renew_at.unwrap() - SECOND;
            assert_eq!(renewal, expected * SECOND, "{valid_until:?}");
        }
    }

    #[test]
    fn who_ends_what_it_agrees_to_is_asked_ever_more_rarely() {
        let mut subscription = Subscription::default();
        let mut waits = Vec::new();
        for _ in 0..9 {
            subscription = subscription.agreed(Agreement::default(), 9 * SECOND, NOON).ended();
            waits.push(subscription.wait_after_end(10 * SECOND).as_secs() + 1);
        }
        assert_eq!(waits, [15, 30, 60, 120, 240, 300, 300, 300, 300]);
        subscription = subscription.agreed(Agreement::default(), 9 * SECOND, NOON);
        subscription.told(10 * SECOND);
        assert_eq!(subscription.ended().wait_after_end(10 * SECOND), 14 * SECOND);
        assert_eq!(subscription.ended().wait_after_end(24 * SECOND), Duration::ZERO);
    }

    #[test]
    fn all_is_told_a_while_after_the_first_delivery() {
        let mut first = agreed(Agreement::default());
        assert_eq!(first.is_through(99 * SECOND), None);
        first.told(100 * SECOND);
        first.told(130 * SECOND);
        assert_eq!(first.is_through(159 * SECOND), None);
        assert_eq!(first.is_through(160 * SECOND), Some(false));
        assert_eq!(first.is_through(999 * SECOND), None);
        let mut renewed = first.agreed(Agreement::default(), 999 * SECOND, NOON);
        renewed.told(1_000 * SECOND);
        assert_eq!(renewed.is_through(1_060 * SECOND), Some(true));
        // One of which something was not understood goes on, and one that was ended does not.
        for (before, expected) in [(renewed.in_doubt().in_doubt(), true), (renewed.ended(), false)]
        {
            let mut next = before.agreed(Agreement::default(), 1_100 * SECOND, NOON);
            next.told(1_100 * SECOND);
            assert_eq!(next.is_through(1_160 * SECOND), Some(expected));
        }
    }
}
