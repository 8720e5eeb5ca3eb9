//! A subscription to a producer of SIRI: asked for, renewed before it ends, and asked for anew when nothing more is heard
//! of it. What the producer then has to say, it brings to the feed's inbox by itself.

use std::time::Duration;

use bytes::Bytes;
use jiff::tz::TimeZone;
use lineside_formats::siri::{
    self, EstimatedTimetableRequest, EstimatedTimetableSubscriptionRequest, Flag, Limits, Message,
    Payload, Seconds, SituationExchangeRequest, SituationExchangeSubscriptionRequest,
    StopMonitoringRequest, StopMonitoringSubscriptionRequest, SubscriptionContext,
    SubscriptionRequest, TerminateSubscriptionRequest, Time, VehicleMonitoringRequest,
    VehicleMonitoringSubscriptionRequest,
};
use lineside_sync::UnixMillis;
use smol_str::{SmolStr, ToSmolStr, format_smolstr};

use super::question::{VERSION, posted};
use crate::{
    config::FeedConfig,
    fetch::{Body, Failure, FailureCode, Fetched, Question},
    poll::Poller,
    source::{SiriMode, SiriService, SiriSource},
};

/// For how long a producer is asked to go on; half of it later it is asked again.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// How often a producer is asked to say that it is there.
const HEARTBEAT_SECONDS: i32 = 60;
/// How long nothing may be heard of a subscription.
const SILENCE_MAX: Duration = Duration::from_secs(190);
/// How long a producer may take to hear that the subscription is over.
const FAREWELL_MAX: Duration = Duration::from_millis(1_500);

/// What is known of a feed's subscription.
#[derive(Debug, Default)]
pub(super) struct Subscription {
    /// When it was agreed on, on the monotonic clock; none without one.
    agreed_at: Option<Duration>,
    heard_at: Duration,
    /// When it was agreed on, on the wall.
    agreed_wall: UnixMillis,
}

/// What a producer says besides its news.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    /// It goes on.
    Alive,
    /// The subscription is over.
    Over,
}

impl Subscription {
    /// How long until the producer has to be asked; none where there is no subscription.
    fn rest(&self, now: Duration) -> Option<Duration> {
        let renew_at = self.agreed_at? + LIFETIME / 2;
        Some(renew_at.min(self.heard_at + SILENCE_MAX).saturating_sub(now))
    }

    fn is_silent(&self, now: Duration) -> bool {
        self.agreed_at.is_some() && now.saturating_sub(self.heard_at) >= SILENCE_MAX
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

    /// What is asked to begin a subscription, or to go on with it.
    ///
    /// # Errors
    /// If there is no address for what the producer has to say.
    pub(in crate::poll) fn subscribe(&mut self) -> Result<Question, Failure> {
        let now = self.clock.monotonic();
        if self.siri.subscription.is_silent(now) {
            // Who was silent may have lost anything: what comes next is all that there is.
            self.siri.subscription = Subscription::default();
        }
        if self.siri.subscription.agreed_at.is_none() {
            self.siri.begin_anew();
        }
        let Some(address) = self.inbox_address() else {
            let detail = "producers bring news to server.public_url, which the configuration does \
                          not name";
            return Err(Failure::new(FailureCode::Connect, detail));
        };
        let config = self.feed.shared_config().clone();
        let source = config.siri.clone().unwrap_or_default();
        let request = request(&config, &source, &address, self.clock.wall());
        let mut question = posted(&source, Payload::SubscriptionRequest(request), "Subscribe");
        if let (Question::Post(post), Some(inbox)) = (&mut question, self.feed.inbox()) {
            post.secret = Some(inbox.key().clone());
        }
        Ok(question)
    }

    fn inbox_address(&self) -> Option<String> {
        let inbox = self.feed.inbox()?;
        let base = self.inboxes.as_deref()?.trim_end_matches('/');
        Some(format!("{base}/siri/inbox/{}?key={}", self.feed.id(), inbox.key().reveal()))
    }

    /// Takes the answer to a request for a subscription.
    pub(in crate::poll) fn take_agreement(&mut self, body: &Body) -> Result<&'static str, Failure> {
        let refused = match agreement(&body.bytes) {
            Ok(()) => {
                let now = self.clock.monotonic();
                let subscription = &mut self.siri.subscription;
                subscription.agreed_at = Some(now);
                subscription.agreed_wall = self.clock.wall();
                subscription.heard_at = now;
                self.succeed();
                return Ok("subscribed");
            }
            Err(failure) => failure,
        };
        self.siri.subscription = Subscription::default();
        Err(refused)
    }

    /// Takes what the producer has brought.
    pub(in crate::poll) async fn take_delivery(&mut self, bytes: Bytes) {
        let Some(word) = word_of(&bytes, self.siri.subscription.agreed_wall) else {
            let body = Body {
                bytes,
                content_type: None,
                last_modified: None,
                file_name: None,
                status: None,
            };
            self.siri.subscription.heard_at = self.clock.monotonic();
            match self.take(body).await {
                Ok(_) => self.judge().await,
                Err(failure) => {
                    self.fail(failure).await;
                    // Nobody knows what was in it, so the producer is asked for all there is, as after a failed poll.
                    self.siri.subscription = Subscription::default();
                    let wait = self.wait();
                    self.ask_again(wait);
                }
            }
            return;
        };
        match word {
            Word::Alive => {
                self.siri.subscription.heard_at = self.clock.monotonic();
                self.confirm();
                // That nothing is new is news, too.
                self.status.data_time = self.status.data_time.map(|_| self.clock.wall());
                self.forget_over().await;
            }
            Word::Over => {
                self.siri.subscription = Subscription::default();
                self.ask_again(Duration::ZERO);
            }
        }
        self.judge().await;
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

    /// What was agreed on with the producer does not hold any more for what is wanted now.
    pub(in crate::poll) fn forget_subscription(&mut self) {
        self.siri.subscription = Subscription::default();
    }

    /// Tells the producer that nothing more is wanted, for as long as that may take.
    pub(in crate::poll) async fn unsubscribe(&mut self) {
        if self.siri.subscription.agreed_at.is_none() || !self.is_subscribing() {
            return;
        }
        self.siri.subscription = Subscription::default();
        let config = self.feed.shared_config().clone();
        let source = config.siri.clone().unwrap_or_default();
        let request = TerminateSubscriptionRequest {
            request_timestamp: Time::from_millis(self.clock.wall().0),
            requestor_ref: source.requestor_ref.as_ref().map(|it| it.reveal().to_smolstr()),
            subscriber_ref: subscriber(&source),
            all: Flag::default(),
            subscription_refs: names(&config, &source),
            ..TerminateSubscriptionRequest::default()
        };
        let payload = Payload::TerminateSubscriptionRequest(request);
        let question = posted(&source, payload, "DeleteSubscription");
        let clock = self.clock.clone();
        let farewell = async {
            let now = clock.monotonic();
            let turn = self.place.book(now, now).turn(clock.clone()).await;
            // Whether it was heard changes nothing: the subscription ends by itself.
            let _: Result<Fetched, Failure> = self.fetcher.fetch(turn, question).await;
        };
        tokio::select! {
            biased;
            () = farewell => {}
            () = clock.sleep(FAREWELL_MAX) => {}
        }
    }
}

/// Who subscribes.
fn subscriber(source: &SiriSource) -> Option<SmolStr> {
    let requestor = source.requestor_ref.as_ref().map(|it| it.reveal().to_smolstr());
    Some(requestor.unwrap_or(SmolStr::new_static("lineside")))
}

/// What a feed's subscription to a service is called: the same each time, so that a producer takes the new one for the
/// old one.
fn name_of(config: &FeedConfig, service: SiriService) -> SmolStr {
    format_smolstr!("lineside-{}-{service}", config.id)
}

/// What its subscription to a stop is called.
fn name_at(config: &FeedConfig, stop: &str) -> SmolStr {
    format_smolstr!("{}-{stop}", name_of(config, SiriService::Stops))
}

fn names(config: &FeedConfig, source: &SiriSource) -> Vec<SmolStr> {
    let of = |service: &SiriService| match service {
        SiriService::Stops => source.stops.iter().map(|stop| name_at(config, stop)).collect(),
        service => vec![name_of(config, *service)],
    };
    source.services.iter().flat_map(of).collect()
}

/// What is the same in the subscriptions to all services.
macro_rules! subscription {
    ($by:expr, $name:expr, $Request:ident { $($field:ident: $value:expr)? }, $Subscription:ident $(.. $rest:expr)?) => {
        $Subscription {
            subscriber_ref: subscriber($by.0),
            subscription_identifier: Some($name),
            initial_termination_time: Time::from_millis(($by.1 + LIFETIME).0),
            request: Some(Box::new($Request {
                version: Some(SmolStr::new_static(VERSION)),
                request_timestamp: Time::from_millis($by.1.0),
                $($field: $value,)?
                ..$Request::default()
            })),
            incremental_updates: Some(true),
            $(..$rest)?
        }
    };
}

fn request(
    config: &FeedConfig,
    source: &SiriSource,
    address: &str,
    now: UnixMillis,
) -> SubscriptionRequest {
    let at = Time::from_millis(now.0);
    let mut request = SubscriptionRequest {
        request_timestamp: at,
        requestor_ref: source.requestor_ref.as_ref().map(|it| it.reveal().to_smolstr()),
        message_identifier: Some(format_smolstr!("lineside-{}-{}", config.id, now.0)),
        consumer_address: Some(address.into()),
        subscription_context: Some(SubscriptionContext {
            heartbeat_interval: Some(Seconds(HEARTBEAT_SECONDS)),
        }),
        ..SubscriptionRequest::default()
    };
    let by = (source, now);
    for &service in &source.services {
        let name = name_of(config, service);
        match service {
            SiriService::Timetables => request.estimated_timetables.push(subscription!(
                by,
                name,
                EstimatedTimetableRequest {},
                EstimatedTimetableSubscriptionRequest..Default::default()
            )),
            SiriService::Vehicles => request.vehicle_monitorings.push(subscription!(
                by,
                name,
                VehicleMonitoringRequest {},
                VehicleMonitoringSubscriptionRequest..Default::default()
            )),
            SiriService::Situations => request.situation_exchanges.push(subscription!(
                by,
                name,
                SituationExchangeRequest {},
                SituationExchangeSubscriptionRequest
            )),
            SiriService::Stops => {
                let stops = source.stops.iter().map(|stop| {
                    subscription!(
                        by,
                        name_at(config, stop),
                        StopMonitoringRequest { monitoring_ref: Some(stop.to_smolstr()) },
                        StopMonitoringSubscriptionRequest..Default::default()
                    )
                });
                request.stop_monitorings.extend(stops);
            }
        }
    }
    request
}

fn decode(body: &[u8]) -> Option<Message> {
    siri::decode(body, &TimeZone::UTC, &Limits::default()).ok().map(|(message, _)| message)
}

/// Whether the producer has agreed.
fn agreement(body: &[u8]) -> Result<(), Failure> {
    let decoded = siri::decode(body, &TimeZone::UTC, &Limits::default());
    let (message, _) = decoded.map_err(|error| Failure::refused(&error))?;
    let mut is_agreed = false;
    for payload in &message.payloads {
        match payload {
            Payload::SubscriptionResponse(response) => {
                let refusal = response.response_statuses.iter().find(|it| it.status == Some(false));
                if let Some(refusal) = refusal {
                    let said = refusal.error_condition.as_ref();
                    let said = said.and_then(|it| it.text.as_deref().or(it.description.as_deref()));
                    let detail = format!(
                        "the producer refuses the subscription: {}",
                        said.unwrap_or("it does not say why")
                    );
                    return Err(Failure::new(FailureCode::Refused, detail));
                }
                is_agreed = true;
            }
            Payload::Fault(fault) => {
                let said = fault.reason.as_deref().unwrap_or("a fault without a reason");
                let detail = format!("the producer refuses the subscription: {said}");
                return Err(Failure::new(FailureCode::Refused, detail));
            }
            _ => {}
        }
    }
    if is_agreed {
        return Ok(());
    }
    let detail = "the answer to a request for a subscription is none";
    Err(Failure::new(FailureCode::Decode, detail))
}

/// What is said besides news; none where there are news, or nothing that can be read. A producer that has started since
/// the subscription was agreed on knows nothing of it.
fn word_of(body: &[u8], agreed_at: UnixMillis) -> Option<Word> {
    let message = decode(body)?;
    if message.deliveries().next().is_some() {
        return None;
    }
    let has_restarted =
        |started: Option<Time>| started.is_some_and(|started| started.as_millis() > agreed_at.0);
    message.payloads.iter().find_map(|payload| match payload {
        Payload::HeartbeatNotification(it) => {
            let is_over = it.status == Some(false) || has_restarted(it.service_started_time);
            Some(if is_over { Word::Over } else { Word::Alive })
        }
        Payload::SubscriptionTerminatedNotification(_) => Some(Word::Over),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use lineside_formats::siri::Exchange;

    use super::*;
    use crate::{config::FeedId, source::Location};

    fn body(inside: &str) -> Vec<u8> {
        format!("<Siri xmlns=\"http://www.siri.org.uk/siri\">{inside}</Siri>").into_bytes()
    }

    #[test]
    fn one_request_subscribes_to_all_services_at_the_inbox() {
        let url = Location::parse("https://a.example/siri").unwrap();
        let config = FeedConfig::new(FeedId::new("a").unwrap(), url);
        let source = SiriSource {
            services: SiriService::ALL.to_vec(),
            stops: vec!["S".to_owned()],
            ..SiriSource::default()
        };
        let now = UnixMillis(1_795_262_400_000);
        let request = request(&config, &source, "https://me.example/siri/inbox/a?key=k", now);
        let message = Message {
            version: None,
            payloads: vec![Payload::SubscriptionRequest(request.clone())],
        };
        let xml = siri::encode_xml(&message);
        let read = decode(xml.as_bytes()).unwrap();
        assert_eq!(read.payloads, [Payload::SubscriptionRequest(request.clone())]);
        let soap = siri::encode_soap(&message, Exchange::Answer);
        assert!(soap.contains("https://me.example/siri/inbox/a?key=k"), "{soap}");
        let first = &request.estimated_timetables[0];
        assert_eq!(first.subscription_identifier.as_deref(), Some("lineside-a-et"));
        let ends = first.initial_termination_time.unwrap().as_millis();
        assert_eq!(ends - now.0, 24 * 60 * 60 * 1_000);
        let stop = &request.stop_monitorings[0];
        assert_eq!(stop.request.as_ref().unwrap().monitoring_ref.as_deref(), Some("S"));
    }

    #[test]
    fn an_agreement_is_told_from_a_refusal() {
        let response = |inside: &str| {
            body(&format!(
                "<SubscriptionResponse><ResponseStatus>{inside}</ResponseStatus></SubscriptionResponse>"
            ))
        };
        assert!(agreement(&response("<Status>true</Status>")).is_ok());
        let refused = response(
            "<Status>false</Status><ErrorCondition><OtherError><ErrorText>Full</ErrorText>\
             </OtherError></ErrorCondition>",
        );
        let failure = agreement(&refused).unwrap_err();
        assert_eq!(failure.code, FailureCode::Refused);
        assert_eq!(failure.detail, "the producer refuses the subscription: Full");
        assert_eq!(agreement(&body("")).unwrap_err().code, FailureCode::Decode);
    }

    #[test]
    fn a_producer_that_has_started_again_knows_of_no_subscription() {
        let agreed_at = UnixMillis(1_795_262_400_000);
        let beat = |inside: &str| {
            body(&format!("<HeartbeatNotification>{inside}</HeartbeatNotification>"))
        };
        let started = |at: &str| beat(&format!("<ServiceStartedTime>{at}</ServiceStartedTime>"));
        for (said, expected) in [
            (beat("<Status>true</Status>"), Some(Word::Alive)),
            (beat("<Status>false</Status>"), Some(Word::Over)),
            (started("2026-11-21T11:00:00Z"), Some(Word::Alive)),
            (started("2026-11-21T13:00:00Z"), Some(Word::Over)),
            (
                body("<SubscriptionTerminatedNotification></SubscriptionTerminatedNotification>"),
                Some(Word::Over),
            ),
            (body("<ServiceDelivery></ServiceDelivery>"), None),
            (b"garbage".to_vec(), None),
        ] {
            assert_eq!(word_of(&said, agreed_at), expected, "{}", String::from_utf8_lossy(&said));
        }
    }
}
