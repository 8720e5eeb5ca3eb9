//! Conversion between GTFS-Realtime and SIRI, and of both to GeoJSON.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use jiff::tz::TimeZone;
use lineside_formats::{
    ConversionReport, Error, Format, Problems,
    gtfs_rt::{
        self, EncodedEntity, SplitFeedMessage,
        proto::{FeedEntity, FeedMessage},
    },
    is_gtfs_rt_json,
    siri::{
        self, EstimatedJourneyVersionFrame, EstimatedTimetableDelivery, MessagePayload,
        ServiceDelivery, SiriMessage, SiriTime, SituationExchangeDelivery,
        VehicleMonitoringDelivery,
    },
};
use lineside_hub::Epoch;
use lineside_ingest::{Network, NetworkWriter, siri_to_gtfs_rt};
use lineside_model::{
    Dataset, FeedId, NetworkState, SiriIds, exports, geojson, match_trips,
    siri_output::{RecordFilter, SiriElements, SiriOutput, conversion_report, select_new_records},
};
use lineside_sync::{SimulatedClock, UnixMillis};

use super::{ConversionError, ConversionOutput, ConversionTarget, dropped_fields};

/// Id of the input's feed; not visible in any output.
pub(super) static NAME: LazyLock<FeedId> =
    LazyLock::new(|| FeedId::new("input").expect("the word is a valid feed id"));
static SCHEDULE: LazyLock<FeedId> =
    LazyLock::new(|| FeedId::new("schedule").expect("the word is a valid feed id"));

/// The written version of SIRI.
const SIRI_VERSION: &str = "2.1";

/// The schedule that SIRI messages belong to.
#[derive(Clone, Debug)]
pub struct ConversionSchedule(Arc<Dataset>);

impl ConversionSchedule {
    /// Reads a GTFS zip.
    ///
    /// # Errors
    /// Returns the decoder's error.
    pub fn from_zip(zip: Bytes) -> Result<ConversionSchedule, Error> {
        Dataset::load_gtfs(SCHEDULE.clone(), zip, UnixMillis(0))
            .map(|it| ConversionSchedule(Arc::new(it)))
    }

    /// Returns the time zone of times without an offset.
    pub fn time_zone(schedule: Option<&ConversionSchedule>) -> TimeZone {
        dataset_time_zone(schedule.map(|it| &*it.0))
    }
}

/// Converts a SIRI message to GTFS-Realtime, as a server without other data of the feed would.
///
/// # Errors
/// Returns an error if the server would refuse the message.
pub fn siri_to_gtfs_realtime(
    message: &SiriMessage,
    ids: &SiriIds,
    schedule: Option<&ConversionSchedule>,
) -> Result<FeedMessage, String> {
    let zone = ConversionSchedule::time_zone(schedule);
    let timetable = schedule.map(|it| &*it.0.timetable);
    let (translated, ..) = siri_to_gtfs_rt(message, ids, timetable, &zone);
    let state = build_network_state(&translated, schedule.map(|it| Arc::clone(&it.0)));
    let (state, _) = state.map_err(ConversionError::into_message)?;
    let export = exports::gtfs_rt_message(&state, NAME.as_str(), exports::ExportPart::All);
    let bytes = export.map(|export| export.bytes).unwrap_or_default();
    let decoded = gtfs_rt::decode_feed_message(bytes, &gtfs_rt::FeedMessageLimits::default());
    decoded.map(|(message, _)| message).map_err(|error| error.to_string())
}

enum DecodedMessage {
    GtfsRt(SplitFeedMessage),
    /// A SIRI message, with the elements that were not decoded.
    Siri(SiriMessage, ConversionReport),
}

pub(super) fn convert_realtime(
    body: Bytes,
    from: Format,
    to: ConversionTarget,
    schedule: Option<File>,
    ids: &SiriIds,
    mut out: &File,
) -> Result<ConversionOutput, ConversionError> {
    let schedule = schedule.map(read_dataset).transpose()?;
    let (read, mut problems) = decode_message(body, from, schedule.as_deref())?;
    let zone = dataset_time_zone(schedule.as_deref());
    let (message, more, untranslated) = to_feed_message(&read, ids, schedule.as_deref(), &zone);
    problems.merge(more);
    let mut counts = count_entities(&message);
    let matched = schedule.as_ref().map(|it| match_trips(&message.entity, &it.timetable));
    let mut losses = decoding_report(&read, to, untranslated);
    let written = match (to, &read) {
        (ConversionTarget::GtfsRt, DecodedMessage::GtfsRt(shallow)) => {
            let entities = shallow.entities.iter().map(|raw| raw.bytes.clone());
            gtfs_rt::encode_feed_message(&shallow.header, entities)
        }
        (ConversionTarget::GtfsRt | ConversionTarget::GtfsRtJson, read) => {
            if let DecodedMessage::GtfsRt(shallow) = read {
                dropped_fields::report_dropped_extensions(
                    shallow,
                    "JSON has no field for it",
                    |_| true,
                    &mut losses,
                );
            }
            write_message(&message, to, &mut losses)?
        }
        (ConversionTarget::SiriXml, DecodedMessage::Siri(siri, _)) => {
            counts = count_siri_elements(siri);
            siri::encode_xml(siri).into()
        }
        (ConversionTarget::SiriJson, DecodedMessage::Siri(siri, _)) => {
            counts = count_siri_elements(siri);
            siri::encode_json(siri).into()
        }
        (_, read) => {
            if let DecodedMessage::GtfsRt(shallow) = read {
                let why = "the other format has no field for it";
                let is_written = |payload: &str| supported_payloads(to).contains(&payload);
                dropped_fields::report_dropped_extensions(shallow, why, is_written, &mut losses);
            }
            let has_schedule = schedule.is_some();
            let state = build_network_state(&message, schedule)?;
            problems.merge(state.1);
            let (written, named_counts) =
                convert_through_state(&state.0, &message, (to, has_schedule), &mut losses);
            counts = named_counts;
            written
        }
    };
    out.write_all(&written).map_err(|error| super::write_failed(&error))?;
    Ok(ConversionOutput {
        from,
        files: Vec::new(),
        counts,
        problems,
        conversion_report: losses,
        matched,
    })
}

/// Loads the schedule that real-time data belong to.
fn read_dataset(zip: File) -> Result<Arc<Dataset>, ConversionError> {
    let dataset = Dataset::read_gtfs(SCHEDULE.clone(), BufReader::new(zip), UnixMillis(0));
    dataset.map(Arc::new).map_err(ConversionError::from_schedule_error)
}

/// Returns the losses before anything is written: SIRI elements that were not decoded, and values without a counterpart
/// in the target.
fn decoding_report(
    read: &DecodedMessage,
    to: ConversionTarget,
    untranslated: ConversionReport,
) -> ConversionReport {
    let DecodedMessage::Siri(message, unread) = read else { return untranslated };
    let mut losses = unread.clone();
    match to {
        ConversionTarget::SiriXml | ConversionTarget::SiriJson => {
            dropped_fields::report_dropped_siri(message, &mut losses)
        }
        _ => losses.merge(untranslated),
    }
    losses
}

fn decode_message(
    body: Bytes,
    from: Format,
    schedule: Option<&Dataset>,
) -> Result<(DecodedMessage, Problems), ConversionError> {
    let limits = gtfs_rt::FeedMessageLimits::default();
    if from == Format::Siri {
        let zone = dataset_time_zone(schedule);
        let limits = siri::MessageLimits::default();
        let (message, problems, unread) = siri::decode_message_with_report(&body, &zone, &limits)?;
        if message.service_deliveries().next().is_none() {
            let detail = "the input is SIRI without a delivery of a service";
            return Err(ConversionError::Unreadable(detail.to_owned()));
        }
        return Ok((DecodedMessage::Siri(message, unread), problems));
    }
    let (shallow, problems) = if is_gtfs_rt_json(&body) {
        let (message, problems) = gtfs_rt::decode_json(&body, &limits)?;
        (SplitFeedMessage::from_decoded_message(&message), problems)
    } else {
        gtfs_rt::split_feed_message(body, &limits)?
    };
    Ok((DecodedMessage::GtfsRt(shallow), problems))
}

/// Returns the time zone of times without an offset.
fn dataset_time_zone(schedule: Option<&Dataset>) -> TimeZone {
    schedule.map_or(TimeZone::UTC, |it| it.timetable.timezone().clone())
}

/// Converts a message to GTFS-Realtime. Unreadable parts are problems, and values without a counterpart are losses.
fn to_feed_message(
    read: &DecodedMessage,
    ids: &SiriIds,
    schedule: Option<&Dataset>,
    zone: &TimeZone,
) -> (FeedMessage, Problems, ConversionReport) {
    match read {
        DecodedMessage::Siri(message, _) => {
            let timetable = schedule.map(|it| &*it.timetable);
            siri_to_gtfs_rt(message, ids, timetable, zone)
        }
        DecodedMessage::GtfsRt(shallow) => {
            let mut problems = Problems::new();
            let mut entity = Vec::with_capacity(shallow.entities.len());
            for raw in &shallow.entities {
                match raw.decode_entity() {
                    Ok(decoded) => entity.push(decoded),
                    Err(problem) => problems.push(problem),
                }
            }
            let header = shallow.header.clone();
            (FeedMessage { header, entity }, problems, ConversionReport::new())
        }
    }
}

fn write_message(
    message: &FeedMessage,
    to: ConversionTarget,
    losses: &mut ConversionReport,
) -> Result<Bytes, ConversionError> {
    if to == ConversionTarget::GtfsRtJson {
        let mut out = Vec::new();
        let entities = message.entity.iter().cloned().map(|mut entity| {
            for field in gtfs_rt::remove_lineside_extensions(&mut entity) {
                losses.record_dropped_object(field, "JSON has no field for it", Some(&entity.id));
            }
            entity
        });
        let written = gtfs_rt::write_feed_json(&mut out, &message.header, entities);
        written.map_err(|error| ConversionError::Unreadable(error.to_string()))?;
        return Ok(out.into());
    }
    let entities = message.entity.iter().zip(1..);
    let entities =
        entities.map(|(entity, number)| EncodedEntity::from_decoded_entity(entity, number).bytes);
    Ok(gtfs_rt::encode_feed_message(&message.header, entities))
}

/// Builds the network state from a message, at the message's own time.
pub fn build_network_state(
    message: &FeedMessage,
    schedule: Option<Arc<Dataset>>,
) -> Result<(Arc<NetworkState>, Problems), ConversionError> {
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
    let bytes = write_message(message, ConversionTarget::GtfsRt, &mut ConversionReport::new())?;
    let applied = writer.apply_snapshot(NAME.as_str(), bytes, at)?;
    Ok((network.state(), applied.problems))
}

/// Number of written objects by kind.
type Counts = Vec<(&'static str, u64)>;

fn convert_through_state(
    state: &NetworkState,
    message: &FeedMessage,
    (to, has_schedule): (ConversionTarget, bool),
    losses: &mut ConversionReport,
) -> (Bytes, Counts) {
    if to == ConversionTarget::Geojson {
        report_merged_entities(state, message, supported_payloads(to), losses);
        dropped_fields::report_dropped_geojson(message, losses);
        let (shown, hidden): (Vec<_>, Vec<_>) =
            state.vehicles().partition(|record| record.position().is_some());
        for vehicle in hidden {
            losses.record_dropped_object(
                "vehicle",
                "it has no position",
                Some(vehicle.id.as_str()),
            );
        }
        let map = geojson::encode_vehicles(state, NAME.as_str()).unwrap_or_default();
        return (map, vec![("vehicles", shown.len() as u64)]);
    }
    report_merged_entities(state, message, supported_payloads(to), losses);
    losses.merge(conversion_report(message, has_schedule));
    let at = message.header.timestamp.and_then(|at| i64::try_from(at).ok()).unwrap_or_default();
    let mut elements = SiriElements::default();
    for service in [
        SiriOutput::EstimatedTimetable,
        SiriOutput::VehicleMonitoring,
        SiriOutput::SituationExchange,
    ] {
        let filter = RecordFilter::default();
        for record in select_new_records(state, service, &filter, at, 0, usize::MAX).records {
            elements.push_record(state, record);
        }
    }
    let siri = build_delivery(elements, SiriTime::from_millis(at.saturating_mul(1_000)));
    let written = match to {
        ConversionTarget::SiriJson => siri::encode_json(&siri).into(),
        _ => siri::encode_xml(&siri).into(),
    };
    (written, count_siri_elements(&siri))
}
/// Builds a message with a delivery for each service that has elements.
fn build_delivery(elements: SiriElements, at: Option<SiriTime>) -> SiriMessage {
    let head = siri::CommonDeliveryFields {
        version: Some(SIRI_VERSION.into()),
        response_timestamp: at,
        ..siri::CommonDeliveryFields::default()
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
    SiriMessage {
        version: Some(SIRI_VERSION.into()),
        payloads: vec![MessagePayload::ServiceDelivery(delivery)],
    }
}

/// Returns the payloads of entities that the target format can represent, if it is not GTFS-Realtime.
fn supported_payloads(to: ConversionTarget) -> &'static [&'static str] {
    if to == ConversionTarget::Geojson {
        &["vehicle"]
    } else {
        &["trip_update", "vehicle", "alert"]
    }
}

/// Counts the entities of these kinds that have no record of their own in the state.
fn report_merged_entities(
    state: &NetworkState,
    message: &FeedMessage,
    kinds: &[&str],
    losses: &mut ConversionReport,
) {
    let (deleted_entities, merged): (Vec<_>, Vec<_>) =
        message.entity.iter().partition(|entity| entity.is_deleted());
    for entity in deleted_entities {
        losses.record_dropped_object(
            "is_deleted",
            "deleted entities are left out",
            Some(&entity.id),
        );
    }
    let records = [state.trip_updates().count(), state.vehicles().count(), state.alerts().count()];
    let why = "another entity has the same data, or it has a problem that is listed";
    for ((kind, count), records) in count_entity_kinds(merged).into_iter().zip(records) {
        if kinds.contains(&kind) {
            losses.record_dropped_objects(kind, why, count.saturating_sub(records as u64));
        }
    }
}

/// Counts the elements of a SIRI message by kind.
fn count_siri_elements(message: &SiriMessage) -> Counts {
    let mut counts = [
        ("EstimatedVehicleJourney", 0),
        ("VehicleActivity", 0),
        ("PtSituationElement", 0),
        ("MonitoredStopVisit", 0),
    ];
    for delivery in message.service_deliveries() {
        let timetables = delivery.estimated_timetables.iter();
        let activities = delivery.vehicle_monitorings.iter().map(|it| it.vehicle_activities.len());
        let situations = delivery.situation_exchanges.iter().map(|it| it.situations.len());
        let visits = delivery.stop_monitorings.iter().map(|it| it.monitored_stop_visits.len());
        let found = [
            timetables.map(|it| it.estimated_journeys().count()).sum::<usize>(),
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

/// Counts the entities of a message by kind.
fn count_entities(message: &FeedMessage) -> Counts {
    let kinds = count_entity_kinds(&message.entity);
    ["trip_updates", "vehicles", "alerts"].into_iter().zip(kinds.map(|(_, count)| count)).collect()
}

fn count_entity_kinds<'m>(
    entities: impl IntoIterator<Item = &'m FeedEntity>,
) -> [(&'static str, u64); 3] {
    let mut counts = [("trip_update", 0), ("vehicle", 0), ("alert", 0)];
    for entity in entities {
        let has = [entity.trip_update.is_some(), entity.vehicle.is_some(), entity.alert.is_some()];
        for ((_, count), has) in counts.iter_mut().zip(has) {
            *count += u64::from(has);
        }
    }
    counts
}
