//! Normalization of SIRI to GTFS-Realtime: a journey becomes a trip update, a vehicle activity a vehicle, a situation
//! an alert, stop visits the calls of trip updates. The result is handled like any other feed.
//!
//! Every element becomes one entity, whether the timetable knows its journey or not, and only the message determines
//! the result: the same bytes always give the same entities. There are three exceptions: a journey with extra calls and
//! an incomplete sequence takes the others from the timetable, a journey after midnight may take its service day from
//! it, and a journey that visits a stop more than once the numbers of its calls. SIRI elements without a field in
//! GTFS-Realtime are dropped, except for a platform's name and the date in such a journey's reference, which have
//! extension fields of our own.

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

pub(crate) use journey_marks::{JourneyQualifierKind, JourneyQualifiers};
use sequences::CallMatchingHints;
use service_days::AimedCallTimes;
pub(crate) use visits::{JourneyVisits, StopOfVisit};

use crate::source::{IdKind, SiriIdMapping};
use crate::trip_identity::text_if_nonempty;

/// Seconds for which a journey is retained after its last call, and a vehicle after its last report, unless it is
/// cancelled. SIRI servers use the same time.
pub(crate) const GRACE_SECONDS: i64 = 10 * 60;
/// Seconds after the end of its day in UTC for which a journey without times is retained, whatever its time zone.
const AFTER_DAY_SECONDS: i64 = 36 * 60 * 60;
/// Seconds for which a journey without times or date is retained.
const DAY_SECONDS: i64 = 24 * 60 * 60;

/// A SIRI element as an entity.
#[derive(Clone, Debug)]
pub(crate) struct SiriEntity {
    pub(crate) entity: FeedEntity,
    /// The time in Unix seconds until which the element is valid without an update; `None` if it states no end.
    pub(crate) until: Option<i64>,
    /// The visits from which the entity was made, if any.
    pub(crate) visits: Option<JourneyVisits>,
    /// The names by which the producer may cancel a vehicle. Another producer's vehicle may have the same names.
    pub(crate) names: Vec<SmolStr>,
    /// Marks that distinguish its journey from others with the same name.
    pub(crate) marks: JourneyQualifiers,
    /// The producer's aimed times of the journey.
    aimed: Vec<AimedCallTimes>,
    /// Indexes of the calls that no schedule has, in order, unless the producer declares the sequence complete.
    extra_calls: Vec<usize>,
    /// Hints that identify each reported call in the trip; visits carry their own hints.
    call_hints: Vec<CallMatchingHints>,
    /// Hints that identify the vehicle's current call.
    vehicle_call_hints: Option<CallMatchingHints>,
}

/// The part of a trip that an entity describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DescribedTripPart {
    /// The whole journey, from an estimated timetable.
    Journey,
    /// Calls at monitored stops.
    Visits,
    Vehicle,
}

/// A reference to a trip in entities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TripRef {
    pub(crate) trip_id: SmolStr,
    pub(crate) start_date: Option<SmolStr>,
}

impl TripRef {
    fn from_descriptor(trip: &TripDescriptor) -> Option<TripRef> {
        Some(TripRef {
            trip_id: text_if_nonempty(&trip.trip_id)?.into(),
            // The date as the producer names it, because cancellations use it too.
            start_date: text_if_nonempty(&trip.named_start_date)
                .or(text_if_nonempty(&trip.start_date))
                .map(SmolStr::new),
        })
    }

    /// Returns true if both may be the same trip: a missing date matches any.
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
            marks: JourneyQualifiers::default(),
            aimed: Vec::new(),
            extra_calls: Vec::new(),
            call_hints: Vec::new(),
            vehicle_call_hints: None,
        }
    }

    /// Returns the trip and the part of it that the entity describes; `None` for an alert or without a trip.
    pub(crate) fn trip_and_part(&self) -> Option<(TripRef, DescribedTripPart)> {
        if let Some(vehicle) = &self.entity.vehicle {
            return Some((
                TripRef::from_descriptor(vehicle.trip.as_ref()?)?,
                DescribedTripPart::Vehicle,
            ));
        }
        let trip = TripRef::from_descriptor(&self.entity.trip_update.as_ref()?.trip)?;
        let is_from_visits = self.visits.is_some();
        Some((
            trip,
            if is_from_visits { DescribedTripPart::Visits } else { DescribedTripPart::Journey },
        ))
    }

    /// Returns the expiry in Unix seconds, even if the entity states no end: for a journey well after its day, or a day
    /// after the report at `made_at`; for a vehicle after a while; for an alert never until it is closed.
    pub(crate) fn expires_at(&self, made_at: i64) -> Option<i64> {
        if self.until.is_some() || self.entity.alert.is_some() {
            return self.until;
        }
        if self.entity.vehicle.is_some() {
            return Some(made_at.saturating_add(GRACE_SECONDS));
        }
        let trip = self
            .trip_and_part()
            .and_then(|(trip, _)| start_of_next_day_utc(trip.start_date?.as_str()));
        let ends = trip.map(|next| next.saturating_add(AFTER_DAY_SECONDS));
        Some(ends.unwrap_or(made_at.saturating_add(DAY_SECONDS)))
    }
}

/// Returns the start of the day after a GTFS date in UTC, in Unix seconds.
fn start_of_next_day_utc(date: &str) -> Option<i64> {
    let date = jiff::civil::Date::strptime("%Y%m%d", date).ok()?.tomorrow().ok()?;
    Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
}

/// A cancellation, with the names that the cancelled element may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CancelledEntity {
    /// A cancelled vehicle activity.
    Vehicle {
        /// Possible names of the vehicle, the most reliable first.
        names: Vec<SmolStr>,
        trip: Option<TripRef>,
    },
    /// A cancelled stop visit.
    Visit { item: Option<SmolStr>, trip: Option<TripRef>, at: StopOfVisit },
}

/// The normalized deliveries of a message.
#[derive(Debug, Default)]
pub(crate) struct NormalizedMessage {
    pub(crate) entities: Vec<SiriEntity>,
    pub(crate) cancelled: Vec<CancelledEntity>,
    pub(crate) problems: Problems,
    /// The report of dropped elements.
    conversion_report: ConversionReport,
    /// The time of the reply, in Unix seconds.
    pub(crate) made_at: Option<i64>,
    /// The producer's refusals.
    pub(crate) refusals: Vec<String>,
    /// The number of deliveries that are not refusals.
    answered: usize,
}

/// The rules for mapping elements to entities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MappingRules<'a> {
    pub(crate) ids: &'a SiriIdMapping,
    /// True if the delays that vehicles report are used: not if estimated timetables contain them.
    pub(crate) has_vehicle_delays: bool,
    /// The schedule's time zone, in which the start of a frequency-based run is given.
    pub(crate) zone: &'a TimeZone,
}

/// Converts a message to GTFS-Realtime: each journey, vehicle and situation becomes an entity, and so do the visits of
/// a journey unless the message contains its estimated timetable. Delays of vehicles are used if the message contains
/// no estimated timetable. Journeys with extra calls are completed from `schedule`. Each element that is in no entity
/// is counted in the report.
pub fn siri_to_gtfs_rt(
    message: &SiriMessage,
    ids: &SiriIdMapping,
    schedule: Option<&Timetable>,
    zone: &TimeZone,
) -> (FeedMessage, Problems, ConversionReport) {
    let has_timetables = message.service_deliveries().any(|it| !it.estimated_timetables.is_empty());
    let rules = MappingRules { ids, has_vehicle_delays: !has_timetables, zone };
    let mut normalized = normalize_message(message, rules);
    normalized.remove_visits_with_timetables();
    match schedule {
        Some(timetable) => normalized.complete_from_schedule(timetable),
        None => normalized.count_incomplete_journeys(),
    }
    normalized.rename_duplicate_ids();
    let header = gtfs_rt_feed_header(normalized.made_at);
    let entity = normalized.entities.into_iter().map(|it| it.entity).collect();
    let mut losses = normalized.conversion_report;
    let has_schedule = schedule.is_some();
    dropped_fields::count_dropped_fields(message, !has_timetables, has_schedule, zone, &mut losses);
    (FeedMessage { header, entity }, normalized.problems, losses)
}

/// Returns the producer's reason for a refused message; `None` if the message contains data.
pub(crate) fn refusal_reason_of_message(message: &SiriMessage) -> Option<String> {
    let zone = &TimeZone::UTC;
    let rules = MappingRules { ids: &SiriIdMapping::Same, has_vehicle_delays: false, zone };
    let normalized = normalize_message(message, rules);
    normalized.is_refused().then(|| normalized.refusals.join("; "))
}

/// Returns the header of a message made at a time in Unix seconds.
pub(crate) fn gtfs_rt_feed_header(made_at: Option<i64>) -> FeedHeader {
    FeedHeader {
        gtfs_realtime_version: "2.0".to_owned(),
        incrementality: Some(Incrementality::FullDataset as i32),
        timestamp: made_at.and_then(|at| u64::try_from(at).ok()),
        feed_version: None,
    }
}

pub(crate) fn normalize_message(
    message: &SiriMessage,
    rules: MappingRules<'_>,
) -> NormalizedMessage {
    let mut out = NormalizedMessage::default();
    for payload in &message.payloads {
        match payload {
            MessagePayload::ServiceDelivery(delivery) => out.add_delivery(delivery, rules),
            MessagePayload::Fault(fault) => {
                let reasons = [fault.reason.as_deref(), fault.code.as_deref()];
                let reason_text =
                    reasons.into_iter().flatten().next().unwrap_or("a fault without a reason");
                out.refusals.push(reason_text.to_owned());
            }
            _ => {}
        }
    }
    journey_marks::disambiguate_journeys(&mut out.entities);
    visits::merge_visits_of_journeys(&mut out.entities);
    out
}

impl NormalizedMessage {
    /// Returns true if the producer refuses all requested services.
    pub(crate) fn is_refused(&self) -> bool {
        !self.refusals.is_empty() && self.answered == 0
    }

    fn add_delivery(&mut self, delivery: &ServiceDelivery, rules: MappingRules<'_>) {
        self.made_at = self.made_at.max(to_unix_seconds(delivery.response_timestamp));
        if delivery.status == Some(false) {
            self.record_refusal_reason(delivery.error_condition.as_ref());
        }
        let n_before = self.entities.len();
        for timetable in &delivery.estimated_timetables {
            self.record_delivery_status(&timetable.head);
            for frame in &timetable.frames {
                let recorded_at = frame.recorded_at_time;
                for journey in &frame.estimated_vehicle_journeys {
                    let entity = journeys::map_estimated_journey(journey, recorded_at, rules);
                    self.entities.push(entity);
                }
            }
        }
        for monitoring in &delivery.vehicle_monitorings {
            self.record_delivery_status(&monitoring.head);
            for activity in &monitoring.vehicle_activities {
                self.entities.extend(vehicles::map_activity_to_vehicle(activity, rules));
            }
            let cancelled = monitoring.cancellations.iter();
            self.cancelled
                .extend(cancelled.map(|it| vehicles::map_vehicle_cancellation(it, rules.ids)));
        }
        for monitoring in &delivery.stop_monitorings {
            self.record_delivery_status(&monitoring.head);
            for visit in &monitoring.monitored_stop_visits {
                self.entities.extend(visits::map_visit(visit, rules.ids));
            }
            let cancelled = monitoring.cancellations.iter();
            self.cancelled
                .extend(cancelled.map(|it| visits::map_visit_cancellation(it, rules.ids)));
        }
        for exchange in &delivery.situation_exchanges {
            self.record_delivery_status(&exchange.head);
            for situation in &exchange.situations {
                let entity =
                    situations::map_situation(situation, rules.ids, &mut self.conversion_report);
                self.entities.push(entity);
            }
        }
        for it in self.entities.iter_mut().skip(n_before) {
            it.marks.set_producer(delivery.producer_ref.as_ref());
        }
    }

    fn record_delivery_status(&mut self, head: &lineside_formats::siri::CommonDeliveryFields) {
        self.made_at = self.made_at.max(to_unix_seconds(head.response_timestamp));
        match head.status {
            Some(false) => self.record_refusal_reason(head.error_condition.as_ref()),
            _ => self.answered += 1,
        }
    }

    fn record_refusal_reason(&mut self, error: Option<&lineside_formats::siri::ErrorCondition>) {
        let parts = error.map(|error| [&error.kind, &error.text, &error.description]);
        let conditions: Vec<&str> =
            parts.into_iter().flatten().filter_map(|part| part.as_deref()).collect();
        self.refusals.push(match conditions.is_empty() {
            true => "the producer reports a failure without a reason".to_owned(),
            false => conditions.join(": "),
        });
    }

    /// Applies knowledge of the schedule: service days of journeys after midnight that the producer names by the next
    /// day, missing scheduled calls of journeys with extra ones, and stop sequences of trips that visit a stop more
    /// than once.
    pub(crate) fn complete_from_schedule(&mut self, timetable: &Timetable) {
        for it in &mut self.entities {
            service_days::correct_service_day(it, timetable);
            incomplete::insert_missing_scheduled_calls(it, timetable);
            sequences::set_stop_sequences(it, timetable);
        }
    }

    /// Counts the journeys with extra calls that are incomplete because there is no schedule with the other calls.
    fn count_incomplete_journeys(&mut self) {
        for it in self.entities.iter().filter(|it| !it.extra_calls.is_empty()) {
            let why = "there is no schedule with the other calls";
            self.conversion_report.record_dropped_object("ExtraCall", why, Some(&it.entity.id));
        }
    }

    /// Removes the visits of journeys whose estimated timetables contain all their calls.
    fn remove_visits_with_timetables(&mut self) {
        if self.entities.iter().all(|it| it.visits.is_none()) {
            return;
        }
        let mut journeys: HashMap<SmolStr, Vec<TripRef>> = HashMap::new();
        for it in &self.entities {
            if let Some((trip, DescribedTripPart::Journey)) = it.trip_and_part() {
                journeys.entry(trip.trip_id.clone()).or_default().push(trip);
            }
        }
        let losses = &mut self.conversion_report;
        self.entities.retain(|it| match it.trip_and_part() {
            Some((trip, DescribedTripPart::Visits)) => {
                let known = journeys.get(&trip.trip_id);
                let is_known =
                    known.is_some_and(|known| known.iter().any(|it| it.may_be_same_trip(&trip)));
                if is_known {
                    let why = "the journey's estimated timetable contains it";
                    let n_visits = it.names_of_visits().count() as u64;
                    losses.record_dropped_objects("MonitoredStopVisit", why, n_visits);
                }
                !is_known
            }
            _ => true,
        });
    }

    /// Keeps only the last of several elements with the same id.
    pub(crate) fn remove_earlier_duplicates(&mut self) {
        let mut known: HashSet<SmolStr> = HashSet::with_capacity(self.entities.len());
        self.entities.reverse();
        let problems = &mut self.problems;
        self.entities.retain(|it| {
            let is_last = known.insert(SmolStr::new(&it.entity.id));
            if !is_last {
                let detail = "is in the message twice; the later one is used";
                let problem = Problem::new("entity", "duplicate_id", detail);
                problems.push(problem.with_value(&it.entity.id));
            }
            is_last
        });
        self.entities.reverse();
    }

    /// Makes ids unique: a repeated id gets a number and is reported.
    fn rename_duplicate_ids(&mut self) {
        let mut known: HashSet<SmolStr> = HashSet::with_capacity(self.entities.len());
        let mut number = 1_u32;
        for it in &mut self.entities {
            if known.insert(SmolStr::new(&it.entity.id)) {
                continue;
            }
            let detail =
                "is in the message twice; both are kept, and the later one takes precedence";
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

/// Converts a time to Unix seconds.
fn to_unix_seconds(time: Option<SiriTime>) -> Option<i64> {
    time.map(SiriTime::as_seconds)
}

/// Converts a time to a GTFS-Realtime timestamp; `None` before 1970.
fn to_timestamp(time: Option<SiriTime>) -> Option<u64> {
    to_unix_seconds(time).and_then(|seconds| u64::try_from(seconds).ok())
}

/// Returns the first non-empty text, in any language.
fn first_nonempty_text(texts: &[LanguageText]) -> Option<&str> {
    texts.iter().map(|text| text.value.as_str()).find(|text| !text.is_empty())
}

/// Converts texts to a translated string, where several texts of one language become paragraphs; `None` without texts.
fn to_translated_string<'a>(
    texts: impl IntoIterator<Item = &'a LanguageText>,
    language: Option<&str>,
) -> Option<TranslatedString> {
    let mut translation: Vec<Translation> = Vec::new();
    // Index and known texts by language. A situation may have hundreds of thousands of texts.
    let mut known: HashMap<Option<String>, (usize, HashSet<&str>)> = HashMap::new();
    for text in texts.into_iter().filter(|text| !text.value.is_empty()) {
        let language = text.lang.as_deref().or(language).filter(|it| !it.is_empty());
        let language = language.map(str::to_ascii_lowercase);
        let next = translation.len();
        let (at, known_texts) =
            known.entry(language.clone()).or_insert_with(|| (next, HashSet::new()));
        if !known_texts.insert(&text.value) {
            continue;
        }
        known_texts.extend(text.value.split('\n'));
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

/// Converts a period with optional start and end.
fn to_time_range(start: Option<SiriTime>, end: Option<SiriTime>) -> TimeRange {
    TimeRange { start: to_timestamp(start), end: to_timestamp(end) }
}

#[cfg(test)]
mod tests;
