//! Real time: GTFS-Realtime and SIRI, each into the other, and as places for a map.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use jiff::tz::TimeZone;
use lineside_formats::{
    Error, Format, Losses, Problems,
    gtfs_rt::{
        self, RawEntity, Shallow,
        proto::{FeedEntity, FeedMessage},
    },
    is_json_twin,
    siri::{
        self, EstimatedJourneyVersionFrame, EstimatedTimetableDelivery, Message, Payload,
        ServiceDelivery, SituationExchangeDelivery, Time, VehicleMonitoringDelivery,
    },
};
use lineside_hub::Epoch;
use lineside_ingest::{
    Dataset, FeedId, Network, NetworkState, NetworkWriter, SiriIds, exports, geojson, match_trips,
    siri::{Elements, Service, Wanted, losses_of, select},
    siri_to_gtfs_rt,
};
use lineside_sync::{SimulatedClock, UnixMillis};

use super::{Converted, Refusal, Target, losses};

/// What feeds are called here; it shows nowhere.
pub(super) static NAME: LazyLock<FeedId> =
    LazyLock::new(|| FeedId::new("input").expect("a plain word is the id of a feed"));
static SCHEDULE: LazyLock<FeedId> =
    LazyLock::new(|| FeedId::new("schedule").expect("a plain word is the id of a feed"));

/// The version of SIRI that is written.
const SIRI_VERSION: &str = "2.1";

/// The schedule that messages of SIRI belong to.
#[derive(Clone, Debug)]
pub(crate) struct Schedule(Arc<Dataset>);

impl Schedule {
    /// Reads a GTFS zip.
    ///
    /// # Errors
    /// The decoder's refusal.
    pub(crate) fn read(zip: Bytes) -> Result<Schedule, Error> {
        Dataset::load(SCHEDULE.clone(), zip, UnixMillis(0)).map(|it| Schedule(Arc::new(it)))
    }

    /// The zone of times that do not say theirs.
    pub(crate) fn zone(schedule: Option<&Schedule>) -> TimeZone {
        zone_of(schedule.map(|it| &*it.0))
    }
}

/// What a message of SIRI comes to in a server that knows nothing else of its feed, as a message of GTFS-Realtime.
///
/// # Errors
/// If the server would refuse it.
pub(crate) fn comes_to(
    message: &Message,
    ids: &SiriIds,
    schedule: Option<&Schedule>,
) -> Result<FeedMessage, String> {
    let zone = Schedule::zone(schedule);
    let timetable = schedule.map(|it| &*it.0.timetable);
    let (translated, ..) = siri_to_gtfs_rt(message, ids, timetable, &zone);
    let state = state_of(&translated, schedule.map(|it| Arc::clone(&it.0)));
    let (state, _) = state.map_err(Refusal::words)?;
    let export = exports::gtfs_rt(&state, NAME.as_str(), exports::Part::All);
    let bytes = export.map(|export| export.bytes).unwrap_or_default();
    let decoded = gtfs_rt::decode(bytes, &gtfs_rt::Limits::default());
    decoded.map(|(message, _)| message).map_err(|error| error.to_string())
}

/// A message as it was read.
enum Read {
    GtfsRt(Shallow),
    /// With what of it is in no record.
    Siri(Message, Losses),
}

pub(super) fn convert(
    body: Bytes,
    from: Format,
    to: Target,
    schedule: Option<File>,
    ids: &SiriIds,
    mut out: &File,
) -> Result<Converted, Refusal> {
    let schedule = schedule.map(dataset_of).transpose()?;
    let (read, mut problems) = read(body, from, schedule.as_deref())?;
    let zone = zone_of(schedule.as_deref());
    let (message, more, untranslated) = message_of(&read, ids, schedule.as_deref(), &zone);
    problems.merge(more);
    let mut counts = counts_of(&message);
    let matched = schedule.as_ref().map(|it| match_trips(&message.entity, &it.timetable));
    let mut losses = losses_of_reading(&read, to, untranslated);
    let written = match (to, &read) {
        (Target::GtfsRt, Read::GtfsRt(shallow)) => {
            let entities = shallow.entities.iter().map(|raw| raw.bytes.clone());
            gtfs_rt::encode_feed(&shallow.header, entities)
        }
        (Target::GtfsRt | Target::GtfsRtJson, read) => {
            if let Read::GtfsRt(shallow) = read {
                losses::of_extensions(shallow, "JSON has no name for it", |_| true, &mut losses);
            }
            write(&message, to, &mut losses)?
        }
        (Target::SiriXml, Read::Siri(siri, _)) => {
            counts = elements_of(siri);
            siri::encode_xml(siri).into()
        }
        (Target::SiriJson, Read::Siri(siri, _)) => {
            counts = elements_of(siri);
            siri::encode_json(siri).into()
        }
        (_, read) => {
            if let Read::GtfsRt(shallow) = read {
                let why = "the other format has no name for it";
                let is_written = |payload: &str| payloads_of(to).contains(&payload);
                losses::of_extensions(shallow, why, is_written, &mut losses);
            }
            let has_schedule = schedule.is_some();
            let state = state_of(&message, schedule)?;
            problems.merge(state.1);
            let (written, things) =
                through_state(&state.0, &message, (to, has_schedule), &mut losses);
            counts = things;
            written
        }
    };
    out.write_all(&written).map_err(|error| super::unwritten(&error))?;
    Ok(Converted { from, files: Vec::new(), counts, problems, losses, matched })
}

/// The schedule that real time belongs to.
fn dataset_of(zip: File) -> Result<Arc<Dataset>, Refusal> {
    let dataset = Dataset::read(SCHEDULE.clone(), BufReader::new(zip), UnixMillis(0));
    dataset.map(Arc::new).map_err(Refusal::of_schedule)
}

/// What was lost before anything is written: what of SIRI is in no record, and what of its records has no other terms.
fn losses_of_reading(read: &Read, to: Target, untranslated: Losses) -> Losses {
    let Read::Siri(message, unread) = read else { return untranslated };
    let mut losses = unread.clone();
    match to {
        Target::SiriXml | Target::SiriJson => losses::of_siri(message, &mut losses),
        _ => losses.merge(untranslated),
    }
    losses
}

fn read(
    body: Bytes,
    from: Format,
    schedule: Option<&Dataset>,
) -> Result<(Read, Problems), Refusal> {
    let limits = gtfs_rt::Limits::default();
    if from == Format::Siri {
        let zone = zone_of(schedule);
        let limits = siri::Limits::default();
        let (message, problems, unread) = siri::decode_with_losses(&body, &zone, &limits)?;
        if message.deliveries().next().is_none() {
            let detail = "the input is SIRI, but no delivery of a service";
            return Err(Refusal::Unreadable(detail.to_owned()));
        }
        return Ok((Read::Siri(message, unread), problems));
    }
    let (shallow, problems) = if is_json_twin(&body) {
        let (message, problems) = gtfs_rt::decode_json(&body, &limits)?;
        (Shallow::of_message(&message), problems)
    } else {
        gtfs_rt::decode_shallow(body, &limits)?
    };
    Ok((Read::GtfsRt(shallow), problems))
}

/// The zone of times that do not say theirs.
fn zone_of(schedule: Option<&Dataset>) -> TimeZone {
    schedule.map_or(TimeZone::UTC, |it| it.timetable.timezone().clone())
}

/// The message in GTFS-Realtime's terms. What of it cannot be read is a problem, and what has no such term a loss.
fn message_of(
    read: &Read,
    ids: &SiriIds,
    schedule: Option<&Dataset>,
    zone: &TimeZone,
) -> (FeedMessage, Problems, Losses) {
    match read {
        Read::Siri(message, _) => {
            let timetable = schedule.map(|it| &*it.timetable);
            siri_to_gtfs_rt(message, ids, timetable, zone)
        }
        Read::GtfsRt(shallow) => {
            let mut problems = Problems::new();
            let mut entity = Vec::with_capacity(shallow.entities.len());
            for raw in &shallow.entities {
                match raw.decode() {
                    Ok(decoded) => entity.push(decoded),
                    Err(problem) => problems.push(problem),
                }
            }
            let header = shallow.header.clone();
            (FeedMessage { header, entity }, problems, Losses::new())
        }
    }
}

fn write(message: &FeedMessage, to: Target, losses: &mut Losses) -> Result<Bytes, Refusal> {
    if to == Target::GtfsRtJson {
        let mut out = Vec::new();
        let entities = message.entity.iter().cloned().map(|mut entity| {
            for field in gtfs_rt::remove_extensions(&mut entity) {
                losses.push(field, "JSON has no name for it", Some(&entity.id));
            }
            entity
        });
        let written = gtfs_rt::to_json(&mut out, &message.header, entities);
        written.map_err(|error| Refusal::Unreadable(error.to_string()))?;
        return Ok(out.into());
    }
    let entities = message.entity.iter().zip(1..);
    let entities = entities.map(|(entity, number)| RawEntity::of_entity(entity, number).bytes);
    Ok(gtfs_rt::encode_feed(&message.header, entities))
}

/// The state of a network that the message makes, at the message's own time.
pub(crate) fn state_of(
    message: &FeedMessage,
    schedule: Option<Arc<Dataset>>,
) -> Result<(Arc<NetworkState>, Problems), Refusal> {
    let at = message.header.timestamp.and_then(|at| i64::try_from(at).ok()).unwrap_or_default();
    let at = UnixMillis::from_seconds(at);
    let clock = Arc::new(SimulatedClock::new(at));
    let feeds = [NAME.clone()];
    let network = Network::new(SCHEDULE.clone(), feeds, 1, Epoch::from_bits(1), clock);
    let network = Arc::new(network);
    let mut writer = NetworkWriter::new(Arc::clone(&network), None, 1);
    if let Some(dataset) = schedule {
        writer.apply_dataset(dataset, at);
    }
    let bytes = write(message, Target::GtfsRt, &mut Losses::new())?;
    let applied = writer.apply_snapshot(NAME.as_str(), bytes, at)?;
    Ok((network.state(), applied.problems))
}

/// Kinds of things that were written, with how many.
type Counts = Vec<(&'static str, u64)>;

fn through_state(
    state: &NetworkState,
    message: &FeedMessage,
    (to, has_schedule): (Target, bool),
    losses: &mut Losses,
) -> (Bytes, Counts) {
    if to == Target::Geojson {
        count_merged(state, message, payloads_of(to), losses);
        losses::of_geojson(message, losses);
        let (shown, hidden): (Vec<_>, Vec<_>) =
            state.vehicles().partition(|record| record.position().is_some());
        for vehicle in hidden {
            losses.push("vehicle", "it has no position", Some(vehicle.id.as_str()));
        }
        let map = geojson::vehicles(state, NAME.as_str()).unwrap_or_default();
        return (map, vec![("vehicles", shown.len() as u64)]);
    }
    count_merged(state, message, payloads_of(to), losses);
    losses.merge(losses_of(message, has_schedule));
    let at = message.header.timestamp.and_then(|at| i64::try_from(at).ok()).unwrap_or_default();
    let mut elements = Elements::default();
    for service in
        [Service::EstimatedTimetable, Service::VehicleMonitoring, Service::SituationExchange]
    {
        let wanted = Wanted::default();
        for record in select(state, service, &wanted, at, 0, usize::MAX).records {
            elements.push(state, record);
        }
    }
    let siri = delivery(elements, Time::from_millis(at.saturating_mul(1_000)));
    let written = match to {
        Target::SiriJson => siri::encode_json(&siri).into(),
        _ => siri::encode_xml(&siri).into(),
    };
    (written, elements_of(&siri))
}
/// A message with a delivery of each service that has something to say.
fn delivery(elements: Elements, at: Option<Time>) -> Message {
    let head = siri::DeliveryHead {
        version: Some(SIRI_VERSION.into()),
        response_timestamp: at,
        ..siri::DeliveryHead::default()
    };
    let mut delivery = ServiceDelivery {
        response_timestamp: at,
        status: Some(true),
        more_data: Some(false),
        ..ServiceDelivery::default()
    };
    if !elements.journeys.is_empty() {
        let frame = EstimatedJourneyVersionFrame {
            recorded_at_time: at,
            estimated_vehicle_journeys: elements.journeys,
            ..EstimatedJourneyVersionFrame::default()
        };
        delivery
            .estimated_timetables
            .push(EstimatedTimetableDelivery { head: head.clone(), frames: vec![frame] });
    }
    if !elements.activities.is_empty() {
        delivery.vehicle_monitorings.push(VehicleMonitoringDelivery {
            head: head.clone(),
            vehicle_activities: elements.activities,
            ..VehicleMonitoringDelivery::default()
        });
    }
    if !elements.situations.is_empty() {
        let situations = elements.situations;
        delivery.situation_exchanges.push(SituationExchangeDelivery { head, situations });
    }
    Message {
        version: Some(SIRI_VERSION.into()),
        payloads: vec![Payload::ServiceDelivery(delivery)],
    }
}

/// What of entities is written as something else than GTFS-Realtime.
fn payloads_of(to: Target) -> &'static [&'static str] {
    if to == Target::Geojson { &["vehicle"] } else { &["trip_update", "vehicle", "alert"] }
}

/// Counts the entities of these kinds of which a state holds no record of their own.
fn count_merged(state: &NetworkState, message: &FeedMessage, kinds: &[&str], losses: &mut Losses) {
    let (gone, told): (Vec<_>, Vec<_>) =
        message.entity.iter().partition(|entity| entity.is_deleted());
    for entity in gone {
        losses.push("is_deleted", "what is gone is left out", Some(&entity.id));
    }
    let records = [state.trip_updates().count(), state.vehicles().count(), state.alerts().count()];
    let why = "another entity tells of the same, or a problem says why it is left out";
    for ((kind, count), records) in kinds_of(told).into_iter().zip(records) {
        if kinds.contains(&kind) {
            losses.push_many(kind, why, count.saturating_sub(records as u64));
        }
    }
}

/// How many elements there are in a message of SIRI, by their kind.
fn elements_of(message: &Message) -> Counts {
    let mut counts = [
        ("EstimatedVehicleJourney", 0),
        ("VehicleActivity", 0),
        ("PtSituationElement", 0),
        ("MonitoredStopVisit", 0),
    ];
    for delivery in message.deliveries() {
        let timetables = delivery.estimated_timetables.iter();
        let activities = delivery.vehicle_monitorings.iter().map(|it| it.vehicle_activities.len());
        let situations = delivery.situation_exchanges.iter().map(|it| it.situations.len());
        let visits = delivery.stop_monitorings.iter().map(|it| it.monitored_stop_visits.len());
        let found = [
            timetables.map(|it| it.journeys().count()).sum::<usize>(),
            activities.sum(),
            situations.sum(),
            visits.sum(),
        ];
        for ((_, count), found) in counts.iter_mut().zip(found) {
            *count += found as u64;
        }
    }
    counts.into()
}

/// How many entities there are of each kind.
fn counts_of(message: &FeedMessage) -> Counts {
    let kinds = kinds_of(&message.entity);
    ["trip_updates", "vehicles", "alerts"].into_iter().zip(kinds.map(|(_, count)| count)).collect()
}

fn kinds_of<'m>(entities: impl IntoIterator<Item = &'m FeedEntity>) -> [(&'static str, u64); 3] {
    let mut counts = [("trip_update", 0), ("vehicle", 0), ("alert", 0)];
    for entity in entities {
        let has = [entity.trip_update.is_some(), entity.vehicle.is_some(), entity.alert.is_some()];
        for ((_, count), has) in counts.iter_mut().zip(has) {
            *count += u64::from(has);
        }
    }
    counts
}
