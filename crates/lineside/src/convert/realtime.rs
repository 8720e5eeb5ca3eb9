//! Real time: GTFS-Realtime and SIRI, each into the other, and as places for a map.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use jiff::tz::TimeZone;
use lineside_formats::{
    Format, Losses, Problems,
    gtfs_rt::{self, RawEntity, Shallow, proto::FeedMessage},
    siri::{
        self, EstimatedJourneyVersionFrame, EstimatedTimetableDelivery, Message, Payload,
        ServiceDelivery, SituationExchangeDelivery, Time, VehicleMonitoringDelivery,
    },
};
use lineside_hub::Epoch;
use lineside_ingest::{
    Dataset, FeedId, Network, NetworkState, NetworkWriter, SiriIds, geojson, match_trips,
    siri::{Elements, Service, Wanted, select},
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
const SIRI_VERSION: &str = "2.0";

/// A message as it was read.
enum Read {
    GtfsRt(Shallow),
    Siri(Message),
}

pub(super) fn convert(
    body: Bytes,
    from: Format,
    to: Target,
    schedule: Option<Bytes>,
) -> Result<Converted, Refusal> {
    let schedule = match schedule {
        Some(zip) => Some(Arc::new(Dataset::load(SCHEDULE.clone(), zip, UnixMillis(0))?)),
        None => None,
    };
    let (read, mut problems) = read(body, from, schedule.as_deref())?;
    let mut losses = Losses::new();
    let zone = zone_of(schedule.as_deref());
    let (message, more) = message_of(&read, &zone);
    problems.merge(more);
    let counts = counts_of(&message);
    let matched = schedule.as_ref().map(|it| match_trips(&message.entity, &it.timetable));
    let out = match (to, &read) {
        (Target::GtfsRt, Read::GtfsRt(shallow)) => {
            let entities = shallow.entities.iter().map(|raw| raw.bytes.clone());
            gtfs_rt::encode_feed(&shallow.header, entities)
        }
        (Target::GtfsRt | Target::GtfsRtJson, read) => {
            match read {
                Read::Siri(siri) => losses::of_siri(siri, &mut losses),
                Read::GtfsRt(shallow) => losses::of_json(shallow, &mut losses),
            }
            write(&message, to)?
        }
        (Target::SiriXml, Read::Siri(siri)) => siri::encode_xml(siri).into(),
        (Target::SiriJson, Read::Siri(siri)) => siri::encode_json(siri).into(),
        (_, read) => {
            if let Read::Siri(siri) = read {
                losses::of_siri(siri, &mut losses);
            }
            let state = state_of(&message, schedule)?;
            problems.merge(state.1);
            through_state(&state.0, &message, to, &mut losses)
        }
    };
    Ok(Converted { from, files: vec![(String::new(), out)], counts, problems, losses, matched })
}

fn read(
    body: Bytes,
    from: Format,
    schedule: Option<&Dataset>,
) -> Result<(Read, Problems), Refusal> {
    let limits = gtfs_rt::Limits::default();
    if from == Format::Siri {
        let zone = zone_of(schedule);
        let (message, problems) = siri::decode(&body, &zone, &siri::Limits::default())?;
        if message.deliveries().next().is_none() {
            let detail = "the input is SIRI, but no delivery of a service";
            return Err(Refusal::Unreadable(detail.to_owned()));
        }
        return Ok((Read::Siri(message), problems));
    }
    let is_json = body.trim_ascii_start().starts_with(b"{");
    let (shallow, problems) = if is_json {
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

/// The message in GTFS-Realtime's terms. What of it cannot be read is a problem.
fn message_of(read: &Read, zone: &TimeZone) -> (FeedMessage, Problems) {
    match read {
        Read::Siri(message) => siri_to_gtfs_rt(message, &SiriIds::Same, zone),
        Read::GtfsRt(shallow) => {
            let mut problems = Problems::new();
            let mut entity = Vec::with_capacity(shallow.entities.len());
            for raw in &shallow.entities {
                match raw.decode() {
                    Ok(decoded) => entity.push(decoded),
                    Err(problem) => problems.push(problem),
                }
            }
            (FeedMessage { header: shallow.header.clone(), entity }, problems)
        }
    }
}

fn write(message: &FeedMessage, to: Target) -> Result<Bytes, Refusal> {
    if to == Target::GtfsRtJson {
        let mut out = Vec::new();
        let entities = message.entity.iter().cloned();
        let written = gtfs_rt::to_json(&mut out, &message.header, entities);
        written.map_err(|error| Refusal::Unreadable(error.to_string()))?;
        return Ok(out.into());
    }
    let entities = message.entity.iter().zip(1..);
    let entities = entities.map(|(entity, number)| RawEntity::of_entity(entity, number).bytes);
    Ok(gtfs_rt::encode_feed(&message.header, entities))
}

/// The state of a network that the message makes, at the message's own time.
fn state_of(
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
    let bytes = write(message, Target::GtfsRt)?;
    let applied = writer.apply_snapshot(NAME.as_str(), bytes, at)?;
    Ok((network.state(), applied.problems))
}

fn through_state(
    state: &NetworkState,
    message: &FeedMessage,
    to: Target,
    losses: &mut Losses,
) -> Bytes {
    if to == Target::Geojson {
        losses::of_geojson(message, losses);
        return geojson::vehicles(state, NAME.as_str()).unwrap_or_default();
    }
    losses::of_gtfs_rt(message, losses);
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
    match to {
        Target::SiriJson => siri::encode_json(&siri).into(),
        _ => siri::encode_xml(&siri).into(),
    }
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

fn counts_of(message: &FeedMessage) -> Vec<(&'static str, u64)> {
    let mut counts = [("trip_updates", 0), ("vehicles", 0), ("alerts", 0)];
    for entity in &message.entity {
        let has = [entity.trip_update.is_some(), entity.vehicle.is_some(), entity.alert.is_some()];
        for ((_, count), has) in counts.iter_mut().zip(has) {
            *count += u64::from(has);
        }
    }
    counts.into()
}
