//! SIRI in the terms of GTFS-Realtime: a journey becomes a trip update, a vehicle's activity a vehicle, a situation an
//! alert, visits of stops the calls of trip updates. From here on they are records like those of any other feed.
//!
//! Every element becomes one entity, whether the timetable knows its journey or not, and nothing but the message decides
//! what becomes of it: the same bytes give the same entities at any time. Only a journey with extra calls of which not all
//! calls are told takes the others from the timetable, one after midnight may take its service day from it, and one that comes
//! to a stop more than once the numbers of its calls. What SIRI
//! says and GTFS-Realtime has no field for is left out, but for a platform's name and the date that such a journey is named
//! by, which have fields of our own.

mod calls;
mod incomplete;
mod journeys;
mod dropped_fields;
mod journey_marks;
mod sequences;
mod service_days;
mod situations;
mod terms;
mod vehicles;
mod visits;

use std::collections::{HashMap, HashSet};

use jiff::tz::TimeZone;
use lineside_formats::{
    ConversionReport, Problem, Problems,
    gtfs::Timetable,
    gtfs_rt::proto::{
        FeedEntity, FeedHeader, FeedMessage, TimeRange, TranslatedString, TripDescriptor,
        feed_header::Incrementality, translated_string::Translation,
    },
    siri::{LanguageText, MessagePayload, ServiceDelivery, SiriMessage, SiriTime},
};
use smol_str::{SmolStr, format_smolstr};

pub(crate) use journey_marks::{JourneyMark, JourneyMarks};
use sequences::CallHints;
use service_days::AimedCall;
pub(crate) use visits::{JourneyVisits, VisitStop};

use super::nonempty_text;
use crate::source::{IdKind, SiriIds};

/// How long a journey is kept after its last call, and a vehicle after it was seen, if nobody takes it back. As long as
/// SIRI's servers keep it themselves.
pub(crate) const GRACE_SECONDS: i64 = 10 * 60;
/// How long after its day, as UTC has it, a journey is kept that says nothing of when it ends: wherever the day is.
const AFTER_DAY_SECONDS: i64 = 36 * 60 * 60;
/// How long one is kept that does not say its day either.
const DAY_SECONDS: i64 = 24 * 60 * 60;

/// An element as an entity.
#[derive(Clone, Debug)]
pub(crate) struct SiriEntity {
    pub(crate) entity: FeedEntity,
    /// Until when it means something if nothing more is said of it, Unix seconds; none where what it says of itself has
    /// no end.
    pub(crate) until: Option<i64>,
    /// The visits that it is made of, if it is made of visits.
    pub(crate) visits: Option<JourneyVisits>,
    /// What its producer may call it that takes it back, if it is a vehicle. Another's may be called the same.
    pub(crate) names: Vec<SmolStr>,
    /// What tells its journey apart from another of the same name.
    pub(crate) marks: JourneyMarks,
    /// When its journey is planned, by its producer.
    aimed: Vec<AimedCall>,
    /// Which of its calls no schedule has, in order, where the producer does not say that it has told all calls.
    extra_calls: Vec<usize>,
    /// What says which call of its trip each told one is; of visits they say it themselves.
    told: Vec<CallHints>,
    /// The same of the call that its vehicle is at.
    near: Option<CallHints>,
}

/// Which of a trip's entities one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TripPart {
    /// The whole journey, as an estimated timetable tells it.
    Journey,
    /// What is known of it at monitored stops.
    Visits,
    /// The vehicle on it.
    Vehicle,
}

/// A trip as entities name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TripRef {
    pub(crate) trip_id: SmolStr,
    pub(crate) start_date: Option<SmolStr>,
}

impl TripRef {
    fn from_descriptor(trip: &TripDescriptor) -> Option<TripRef> {
        Some(TripRef {
            trip_id: nonempty_text(&trip.trip_id)?.into(),
            // By the date that its producer names, as it also takes things back by it.
            start_date: nonempty_text(&trip.named_start_date)
                .or(nonempty_text(&trip.start_date))
                .map(SmolStr::new),
        })
    }

    /// Whether both may be the same trip: one that does not say its day is that of any.
    pub(crate) fn may_be_same_trip(&self, other: &TripRef) -> bool {
        let (own, others) = (&self.start_date, &other.start_date);
        self.trip_id == other.trip_id && (own.is_none() || others.is_none() || own == others)
    }
}

impl SiriEntity {
    fn from_entity(entity: FeedEntity, until: Option<i64>) -> SiriEntity {
        SiriEntity {
            entity,
            until,
            visits: None,
            names: Vec::new(),
            marks: JourneyMarks::default(),
            aimed: Vec::new(),
            extra_calls: Vec::new(),
            told: Vec::new(),
            near: None,
        }
    }

    /// Of which trip it tells, and what; none of an alert, or where it names none.
    pub(crate) fn trip_ref(&self) -> Option<(TripRef, TripPart)> {
        if let Some(vehicle) = &self.entity.vehicle {
            return Some((TripRef::from_descriptor(vehicle.trip.as_ref()?)?, TripPart::Vehicle));
        }
        let trip = TripRef::from_descriptor(&self.entity.trip_update.as_ref()?.trip)?;
        let is_of_visits = self.visits.is_some();
        Some((trip, if is_of_visits { TripPart::Visits } else { TripPart::Journey }))
    }

    /// Until when it means something, Unix seconds, also where it says nothing of when it ends: a journey until well after
    /// its day, or a day after `made_at`, when it was told; a vehicle for a while; an alert until it is closed.
    pub(crate) fn expires_at(&self, made_at: i64) -> Option<i64> {
        if self.until.is_some() || self.entity.alert.is_some() {
            return self.until;
        }
        if self.entity.vehicle.is_some() {
            return Some(made_at.saturating_add(GRACE_SECONDS));
        }
        let trip = self.trip_ref().and_then(|(trip, _)| next_day_start(trip.start_date?.as_str()));
        let ends = trip.map(|next| next.saturating_add(AFTER_DAY_SECONDS));
        Some(ends.unwrap_or(made_at.saturating_add(DAY_SECONDS)))
    }
}

/// When the day after a date of GTFS begins in UTC, Unix seconds.
fn next_day_start(date: &str) -> Option<i64> {
    let date = jiff::civil::Date::strptime("%Y%m%d", date).ok()?.tomorrow().ok()?;
    Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
}

/// What is taken back, by one of the names that it may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CancelledEntity {
    /// A vehicle's activity.
    Vehicle {
        /// What the producer may call it, the surest name first.
        names: Vec<SmolStr>,
        trip: Option<TripRef>,
    },
    /// A visit of a stop.
    Visit { item: Option<SmolStr>, trip: Option<TripRef>, at: VisitStop },
}

/// What the deliveries of a message say.
#[derive(Debug, Default)]
pub(crate) struct NormalizedMessage {
    pub(crate) entities: Vec<SiriEntity>,
    pub(crate) cancelled: Vec<CancelledEntity>,
    pub(crate) problems: Problems,
    /// What had no room.
    losses: ConversionReport,
    /// When the answer was made, Unix seconds.
    pub(crate) made_at: Option<i64>,
    /// What the producer refuses, in its words.
    pub(crate) refusals: Vec<String>,
    /// How many deliveries of services it does not refuse.
    answered: usize,
}

/// How elements become entities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MappingRules<'a> {
    pub(crate) ids: &'a SiriIds,
    /// Whether what vehicles say of their journeys counts: not where estimated timetables say it too.
    pub(crate) vehicles_tell_delays: bool,
    /// The schedule's, in which runs of a repeated journey are told apart by when they start.
    pub(crate) zone: &'a TimeZone,
}

/// A message as GTFS-Realtime has it: each journey, vehicle and situation is an entity, the visits of a journey are one
/// unless its estimated timetable is there too. What vehicles say of their journeys counts where the message holds no estimated timetable.
/// `zone` is the schedule's, whose calls are put among those of journeys with extra ones. Each element that is in none of
/// the entities counts as a loss.
pub fn siri_to_gtfs_rt(
    message: &SiriMessage,
    ids: &SiriIds,
    schedule: Option<&Timetable>,
    zone: &TimeZone,
) -> (FeedMessage, Problems, ConversionReport) {
    let has_timetables = message.deliveries().any(|it| !it.estimated_timetables.is_empty());
    let rules = MappingRules { ids, vehicles_tell_delays: !has_timetables, zone };
    let mut normalized = normalize_message(message, rules);
    normalized.prefer_timetables();
    match schedule {
        Some(timetable) => normalized.apply_schedule(timetable),
        None => normalized.count_cut_journeys(),
    }
    normalized.rename_duplicates();
    let header = feed_header(normalized.made_at);
    let entity = normalized.entities.into_iter().map(|it| it.entity).collect();
    let mut losses = normalized.losses;
    let has_schedule = schedule.is_some();
    dropped_fields::count_dropped_fields(message, !has_timetables, has_schedule, zone, &mut losses);
    (FeedMessage { header, entity }, normalized.problems, losses)
}

/// Why a message gives nothing, in the words of its producer; none if it gives something.
pub(crate) fn message_refusal(message: &SiriMessage) -> Option<String> {
    let zone = &TimeZone::UTC;
    let rules = MappingRules { ids: &SiriIds::Same, vehicles_tell_delays: false, zone };
    let normalized = normalize_message(message, rules);
    normalized.is_refused().then(|| normalized.refusals.join("; "))
}

/// The header of a message that was made at a moment, Unix seconds.
pub(crate) fn feed_header(made_at: Option<i64>) -> FeedHeader {
    FeedHeader {
        gtfs_realtime_version: "2.0".to_owned(),
        incrementality: Some(Incrementality::FullDataset as i32),
        timestamp: made_at.and_then(|at| u64::try_from(at).ok()),
        feed_version: None,
    }
}

/// Normalizes a message.
pub(crate) fn normalize_message(
    message: &SiriMessage,
    rules: MappingRules<'_>,
) -> NormalizedMessage {
    let mut out = NormalizedMessage::default();
    for payload in &message.payloads {
        match payload {
            MessagePayload::ServiceDelivery(delivery) => out.add_delivery(delivery, rules),
            MessagePayload::Fault(fault) => {
                let said = [fault.reason.as_deref(), fault.code.as_deref()];
                let said = said.into_iter().flatten().next().unwrap_or("a fault without a reason");
                out.refusals.push(said.to_owned());
            }
            _ => {}
        }
    }
    journey_marks::disambiguate_journeys(&mut out.entities);
    visits::merge_visits(&mut out.entities);
    out
}

impl NormalizedMessage {
    /// Whether the producer gives nothing at all.
    pub(crate) fn is_refused(&self) -> bool {
        !self.refusals.is_empty() && self.answered == 0
    }

    fn add_delivery(&mut self, delivery: &ServiceDelivery, rules: MappingRules<'_>) {
        self.made_at = self.made_at.max(to_unix_seconds(delivery.response_timestamp));
        if delivery.status == Some(false) {
            self.add_refusal(delivery.error_condition.as_ref());
        }
        let n_before = self.entities.len();
        for timetable in &delivery.estimated_timetables {
            self.add_delivery_head(&timetable.head);
            for frame in &timetable.frames {
                let recorded_at = frame.recorded_at_time;
                for journey in &frame.estimated_vehicle_journeys {
                    let entity = journeys::map_journey(journey, recorded_at, rules);
                    self.entities.push(entity);
                }
            }
        }
        for monitoring in &delivery.vehicle_monitorings {
            self.add_delivery_head(&monitoring.head);
            for activity in &monitoring.vehicle_activities {
                self.entities.extend(vehicles::map_activity(activity, rules));
            }
            let cancelled = monitoring.cancellations.iter();
            self.cancelled.extend(cancelled.map(|it| vehicles::cancelled_vehicle(it, rules.ids)));
        }
        for monitoring in &delivery.stop_monitorings {
            self.add_delivery_head(&monitoring.head);
            for visit in &monitoring.monitored_stop_visits {
                self.entities.extend(visits::map_visit(visit, rules.ids));
            }
            let cancelled = monitoring.cancellations.iter();
            self.cancelled.extend(cancelled.map(|it| visits::cancelled_visit(it, rules.ids)));
        }
        for exchange in &delivery.situation_exchanges {
            self.add_delivery_head(&exchange.head);
            for situation in &exchange.situations {
                let entity = situations::map_situation(situation, rules.ids, &mut self.losses);
                self.entities.push(entity);
            }
        }
        for it in self.entities.iter_mut().skip(n_before) {
            it.marks.set_producer(delivery.producer_ref.as_ref());
        }
    }

    fn add_delivery_head(&mut self, head: &lineside_formats::siri::DeliveryHead) {
        self.made_at = self.made_at.max(to_unix_seconds(head.response_timestamp));
        match head.status {
            Some(false) => self.add_refusal(head.error_condition.as_ref()),
            _ => self.answered += 1,
        }
    }

    fn add_refusal(&mut self, error: Option<&lineside_formats::siri::ErrorCondition>) {
        let parts = error.map(|error| [&error.kind, &error.text, &error.description]);
        let said: Vec<&str> =
            parts.into_iter().flatten().filter_map(|part| part.as_deref()).collect();
        self.refusals.push(match said.is_empty() {
            true => "the producer says that it failed, and not why".to_owned(),
            false => said.join(": "),
        });
    }

    /// Puts in what the schedule alone knows: the service days of journeys after midnight that their producer names by the
    /// day after it, the planned calls of journeys with extra ones where not all are told, and which calls are meant of trips
    /// that come to a stop more than once.
    pub(crate) fn apply_schedule(&mut self, timetable: &Timetable) {
        for it in &mut self.entities {
            service_days::put_service_day(it, timetable);
            incomplete::fill_planned_calls(it, timetable);
            sequences::put_sequences(it, timetable);
        }
    }

    /// Counts the journeys with extra calls of which not all calls are told, and no schedule has the others.
    fn count_cut_journeys(&mut self) {
        for it in self.entities.iter().filter(|it| !it.extra_calls.is_empty()) {
            let why = "no schedule is there to take the calls from that are not told";
            self.losses.record_dropped("ExtraCall", why, Some(&it.entity.id));
        }
    }

    /// Leaves out the visits of journeys whose estimated timetables tell of all their calls.
    fn prefer_timetables(&mut self) {
        if self.entities.iter().all(|it| it.visits.is_none()) {
            return;
        }
        let mut journeys: HashMap<SmolStr, Vec<TripRef>> = HashMap::new();
        for it in &self.entities {
            if let Some((trip, TripPart::Journey)) = it.trip_ref() {
                journeys.entry(trip.trip_id.clone()).or_default().push(trip);
            }
        }
        let losses = &mut self.losses;
        self.entities.retain(|it| match it.trip_ref() {
            Some((trip, TripPart::Visits)) => {
                let known = journeys.get(&trip.trip_id);
                let is_known =
                    known.is_some_and(|known| known.iter().any(|it| it.may_be_same_trip(&trip)));
                if is_known {
                    let why = "the journey's estimated timetable tells of it";
                    let n_visits = it.visit_names().count() as u64;
                    losses.record_dropped_many("MonitoredStopVisit", why, n_visits);
                }
                !is_known
            }
            _ => true,
        });
    }

    /// Keeps of what is in the message twice under the same id what was said later.
    pub(crate) fn keep_last_duplicates(&mut self) {
        let mut known: HashSet<SmolStr> = HashSet::with_capacity(self.entities.len());
        self.entities.reverse();
        let problems = &mut self.problems;
        self.entities.retain(|it| {
            let is_last = known.insert(SmolStr::new(&it.entity.id));
            if !is_last {
                let detail = "is in the message twice; the later one counts";
                let problem = Problem::new("entity", "duplicate_id", detail);
                problems.push(problem.with_value(&it.entity.id));
            }
            is_last
        });
        self.entities.reverse();
    }

    /// An id stands once in a message: what comes again under the same is told apart by its number, and named.
    fn rename_duplicates(&mut self) {
        let mut known: HashSet<SmolStr> = HashSet::with_capacity(self.entities.len());
        let mut number = 1_u32;
        for it in &mut self.entities {
            if known.insert(SmolStr::new(&it.entity.id)) {
                continue;
            }
            let detail = "is in the message twice; both are kept, and the later one counts";
            let problem = Problem::new("entity", "duplicate_id", detail);
            self.problems.push(problem.with_value(&it.entity.id));
            loop {
                number = number.saturating_add(1);
                let id = format_smolstr!("{}#{number}", it.entity.id);
                if known.insert(id.clone()) {
                    it.entity.id = id.into();
                    break;
                }
            }
        }
    }
}

/// A moment as Unix seconds.
fn to_unix_seconds(time: Option<SiriTime>) -> Option<i64> {
    time.map(SiriTime::as_seconds)
}

/// A moment as messages of GTFS-Realtime have it; none before 1970.
fn to_timestamp(time: Option<SiriTime>) -> Option<u64> {
    to_unix_seconds(time).and_then(|seconds| u64::try_from(seconds).ok())
}

/// The first text, whatever its language.
fn first_text(texts: &[LanguageText]) -> Option<&str> {
    texts.iter().map(|text| text.value.as_str()).find(|text| !text.is_empty())
}

/// Texts in their languages, those of one language as paragraphs; none without any.
fn to_translated_string<'a>(
    texts: impl IntoIterator<Item = &'a LanguageText>,
    language: Option<&str>,
) -> Option<TranslatedString> {
    let mut translation: Vec<Translation> = Vec::new();
    // By language: where its text is, and what is in it. A situation may have hundreds of thousands of texts.
    let mut known: HashMap<Option<String>, (usize, HashSet<&str>)> = HashMap::new();
    for text in texts.into_iter().filter(|text| !text.value.is_empty()) {
        let language = text.lang.as_deref().or(language).filter(|it| !it.is_empty());
        let language = language.map(str::to_ascii_lowercase);
        let next = translation.len();
        let (at, said) = known.entry(language.clone()).or_insert_with(|| (next, HashSet::new()));
        if !said.insert(&text.value) {
            continue;
        }
        said.extend(text.value.split('\n'));
        match translation.get_mut(*at) {
            Some(known) => {
                known.text.push('\n');
                known.text.push_str(&text.value);
            }
            None => translation.push(Translation { text: text.value.to_string(), language }),
        }
    }
    (!translation.is_empty()).then_some(TranslatedString { translation })
}

/// A span of time whose ends may be open.
fn time_range(start: Option<SiriTime>, end: Option<SiriTime>) -> TimeRange {
    TimeRange { start: to_timestamp(start), end: to_timestamp(end) }
}

#[cfg(test)]
mod tests;
