//! SIRI as a feed's task takes it: what a producer is asked, and what of its answers is held.
//!
//! An answer may be one page of several, or only what changed since the one before. What the network is brought is in any
//! case all that holds now, as if a message of GTFS-Realtime had said it; so the rest of the way knows nothing of pages.

mod held;
mod question;
mod subscription;

use bytes::Bytes;
use jiff::tz::TimeZone;
use lineside_formats::{
    Format, Problem, Problems,
    gtfs_rt::{RawEntity, Shallow},
    siri::{self, Limits},
};
use lineside_sync::{UnixMillis, stage};

pub(super) use self::question::Questions;
use self::{
    held::{Held, Put},
    subscription::Subscription,
};
use super::{Poller, broken};
use crate::{
    config::FeedConfig,
    fetch::{Failure, FailureCode},
    normalize::{Normalized, SiriEntity, SiriRules, normalize_siri, siri_header},
    source::{SiriMode, SiriService, SiriSource},
    stages::Stage,
};

/// Most pages of one answer that are asked for one after the other, without the feed's interval between them.
const PAGES_MAX: u32 = 200;

/// What is known of a producer of SIRI from one answer to the next.
#[derive(Debug)]
pub(super) struct Siri {
    held: Held,
    pub(super) questions: Questions,
    subscription: Subscription,
    /// How many pages of the present answer have come, if there are more.
    pages: u32,
}

impl Siri {
    pub(super) fn new(seed: u64) -> Siri {
        Siri {
            held: Held::default(),
            questions: Questions::new(seed),
            subscription: Subscription::default(),
            pages: 0,
        }
    }

    /// Whether the producer has more to say than it has said, so that it is asked again at once.
    pub(super) fn has_more(&self) -> bool {
        self.pages > 0
    }

    /// Begins anew: what is held is not of the source that is asked from now on, or part of it has been lost.
    pub(super) fn begin_anew(&mut self) {
        self.pages = 0;
        self.questions.begin_anew();
        self.held.clear();
    }
}

/// What an answer says, ready to be held.
struct Answer {
    entities: Vec<(SiriEntity, RawEntity)>,
    normalized: Normalized,
    problems: Problems,
    has_more: bool,
}

impl Poller {
    /// Takes an answer in SIRI.
    pub(super) async fn take_siri(&mut self, body: Bytes, now: UnixMillis) -> Result<(), Failure> {
        let config = self.feed.shared_config().clone();
        let source = config.siri.clone().unwrap_or_default();
        let zone = self.feed.network().dataset();
        let zone = zone.map_or(TimeZone::UTC, |dataset| dataset.timetable.timezone().clone());
        let network = self.feed.network();
        let began = network.begin();
        let decoding = tokio::task::spawn_blocking(move || {
            let _at = stage::enter(Stage::Decode.work());
            decode(&body, &zone, &config, &source)
        });
        let answer = decoding.await;
        network.finish(Stage::Decode, began);
        let answer = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(failure)) => {
                // What a subscription has brought stays known until the producer has been asked for all of it.
                if !self.is_subscribing() {
                    self.siri.begin_anew();
                }
                return Err(failure);
            }
            Err(_) => return Err(broken()),
        };
        let (message, problems) = self.hold(answer, now);
        self.take_entities(message, problems, Format::Siri, now).await
    }

    /// Lets go of what is over and of which nobody says more.
    async fn forget_over(&mut self) {
        let now = self.clock.wall();
        if !self.siri.held.forget_over(now.seconds()) {
            return;
        }
        let header = siri_header(Some(now.seconds()));
        let message = Shallow { header, entities: self.siri.held.all() };
        // A network that is gone needs no word of it.
        let _ = self.take_entities(message, Problems::new(), Format::Siri, now).await;
    }

    /// Puts an answer to what is held, and gives all of that.
    fn hold(&mut self, answer: Answer, now: UnixMillis) -> (Shallow, Problems) {
        let Answer { entities, normalized, mut problems, has_more } = answer;
        let source = self.feed.config().siri.clone().unwrap_or_default();
        problems.merge(normalized.problems);
        let siri = &mut self.siri;
        if siri.pages == 0 {
            if !source.answers_changes() {
                siri.held.begin_anew();
            }
            siri.held.begin_answer();
        }
        let made_at = normalized.made_at.unwrap_or(now.seconds());
        for (entity, raw) in entities {
            let until = entity.lasts_until(made_at);
            if siri.held.put(entity, raw, until) == Put::NoRoom {
                let detail = "the feed holds as much as it may already; this is left out";
                problems.push(Problem::new("entity", "too_many_records", detail));
            }
        }
        for cancelled in &normalized.cancelled {
            siri.held.take_back(cancelled);
        }
        siri.pages = match has_more && siri.pages < PAGES_MAX {
            true => siri.pages + 1,
            false => 0,
        };
        if siri.pages == 0 && !source.answers_changes() {
            siri.held.sweep();
        }
        if source.answers_changes() {
            siri.held.forget_over(now.seconds());
        }
        let message = Shallow { header: siri_header(Some(made_at)), entities: siri.held.all() };
        (message, problems)
    }
}

fn decode(
    body: &Bytes,
    zone: &TimeZone,
    config: &FeedConfig,
    source: &SiriSource,
) -> Result<Answer, Failure> {
    let body_bytes = usize::try_from(config.max_bytes).unwrap_or(usize::MAX);
    let usual = Limits::default();
    let limits = Limits { body_bytes: usual.body_bytes.min(body_bytes), ..usual };
    let decoded = siri::decode(body, zone, &limits);
    let (message, problems) = decoded.map_err(|error| Failure::refused(&error))?;
    let has_timetables = match source.mode {
        // What vehicles say comes by itself, whenever the timetables did.
        SiriMode::Subscribe => source.services.contains(&SiriService::Timetables),
        SiriMode::Request | SiriMode::Lite => {
            source.services.contains(&SiriService::Timetables)
                && message.deliveries().any(|it| !it.estimated_timetables.is_empty())
        }
    };
    let vehicles_tell_delays = !has_timetables;
    let rules = SiriRules { ids: &source.ids, vehicles_tell_delays };
    let mut normalized = normalize_siri(&message, rules);
    if normalized.is_refused() {
        let detail = format!("the producer refuses: {}", normalized.refusals.join("; "));
        return Err(Failure::new(FailureCode::Refused, detail));
    }
    for refusal in &normalized.refusals {
        let problem =
            Problem::new("delivery", "delivery_refused", "the producer gives nothing of it");
        normalized.problems.push(problem.with_value(refusal));
    }
    if message.deliveries().next().is_none() {
        let detail = "the answer is SIRI, but no delivery of a service";
        return Err(Failure::new(FailureCode::Decode, detail));
    }
    normalized.keep_last();
    let entities = std::mem::take(&mut normalized.entities);
    let encoded = entities.into_iter().map(|it| {
        let raw = RawEntity::of_entity(&it.entity, 0);
        (it, raw)
    });
    let has_more = message.has_more_data();
    Ok(Answer { entities: encoded.collect(), normalized, problems, has_more })
}
