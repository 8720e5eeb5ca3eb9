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
    Dataset, FeedId, NetworkState, SiriIdMapping, count_matched_trips, exports, geojson,
    siri_output::{
        EncodedSiriElements, RecordFilter, SiriOutput, report_fields_without_siri,
        select_new_records,
    },
};
use lineside_sync::{SimulatedClock, UnixMillis};

use super::{ConversionError, ConversionOutput, ConversionTargetFormat, dropped_fields};

/// Id of the input's feed; not visible in any output.
pub(super) static NAME: LazyLock<FeedId> =
    LazyLock::new(|| FeedId::new("input").expect("the word is a valid feed id"));
static SCHEDULE: LazyLock<FeedId> =
    LazyLock::new(|| FeedId::new("schedule").expect("the word is a valid feed id"));

/// The written version of SIRI.
const SIRI_VERSION: &str = "2.1";

/// The schedule that SIRI messages belong to.
#[derive(Clone, Debug)]
pub struct SiriConversionSchedule(Arc<Dataset>);

impl SiriConversionSchedule {
    /// Reads a GTFS zip.
    ///
    /// # Errors
    /// Returns the decoder's error.
    pub fn from_zip(zip: Bytes) -> Result<SiriConversionSchedule, Error> {
        Dataset::decode_gtfs_zip(SCHEDULE.clone(), zip, UnixMillis(0))
            .map(|it| SiriConversionSchedule(Arc::new(it)))
    }

    /// Returns the time zone of times without an offset.
    pub fn schedule_time_zone_or_utc(schedule: Option<&SiriConversionSchedule>) -> TimeZone {
        dataset_time_zone_or_utc(schedule.map(|it| &*it.0))
    }
}

/// Converts a SIRI message to GTFS-Realtime, as a server without other data of the feed would.
///
/// # Errors
/// Returns an error if the server would refuse the message.
pub fn siri_to_gtfs_rt_via_state(
    message: &SiriMessage,
    ids: &SiriIdMapping,
    schedule: Option<&SiriConversionSchedule>,
) -> Result<FeedMessage, String> {
    let zone = SiriConversionSchedule::schedule_time_zone_or_utc(schedule);
    let timetable = schedule.map(|it| &*it.0.timetable);
    let (translated, ..) = siri_to_gtfs_rt(message, ids, timetable, &zone);
    let state = build_state_from_message(&translated, schedule.map(|it| Arc::clone(&it.0)));
    let (state, _) = state.map_err(ConversionError::into_reason)?;
    let export =
        exports::get_gtfs_rt_export(&state, NAME.as_str(), exports::ExportedEntityKinds::All);
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
    to: ConversionTargetFormat,
    schedule: Option<File>,
    ids: &SiriIdMapping,
    mut out: &File,
) -> Result<ConversionOutput, ConversionError> {
    let schedule = schedule.map(load_schedule_dataset).transpose()?;
    let (read, mut problems) = decode_message(body, from, schedule.as_deref())?;
    let zone = dataset_time_zone_or_utc(schedule.as_deref());
    let (message, more, untranslated) = to_feed_message(&read, ids, schedule.as_deref(), &zone);
    problems.merge(more);
    let mut counts = count_gtfs_rt_entities(&message);
    let matched = schedule.as_ref().map(|it| count_matched_trips(&message.entity, &it.timetable));
    let mut losses = initial_conversion_report(&read, to, untranslated);
    let written = match (to, &read) {
        (ConversionTargetFormat::GtfsRt, DecodedMessage::GtfsRt(shallow)) => {
            let entities = shallow.entities.iter().map(|raw| raw.bytes.clone());
            gtfs_rt::encode_feed_message(&shallow.header, entities)
        }
        (ConversionTargetFormat::GtfsRt | ConversionTargetFormat::GtfsRtJson, read) => {
            if let DecodedMessage::GtfsRt(shallow) = read {
                dropped_fields::report_dropped_gtfs_rt_extensions(
                    shallow,
                    "JSON has no field for it",
                    |_| true,
                    &mut losses,
                );
            }
            encode_gtfs_rt_output(&message, to, &mut losses)?
        }
        (ConversionTargetFormat::SiriXml, DecodedMessage::Siri(siri, _)) => {
            counts = count_siri_elements(siri);
            siri::encode_xml(siri).into()
        }
        (ConversionTargetFormat::SiriJson, DecodedMessage::Siri(siri, _)) => {
            counts = count_siri_elements(siri);
            siri::encode_json(siri).into()
        }
        (_, read) => {
            if let DecodedMessage::GtfsRt(shallow) = read {
                let why = "the other format has no field for it";
                let is_written = |payload: &str| representable_payloads(to).contains(&payload);
                dropped_fields::report_dropped_gtfs_rt_extensions(
                    shallow,
                    why,
                    is_written,
                    &mut losses,
                );
            }
            let has_schedule = schedule.is_some();
            let state = build_state_from_message(&message, schedule)?;
            problems.merge(state.1);
            let (written, named_counts) =
                encode_from_network_state(&state.0, &message, (to, has_schedule), &mut losses);
            counts = named_counts;
            written
        }
    };
    out.write_all(&written).map_err(|error| super::output_write_error(&error))?;
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
fn load_schedule_dataset(zip: File) -> Result<Arc<Dataset>, ConversionError> {
    let dataset =
        Dataset::decode_gtfs_from_reader(SCHEDULE.clone(), BufReader::new(zip), UnixMillis(0));
    dataset.map(Arc::new).map_err(ConversionError::from_schedule_error)
}

/// Returns the losses before anything is written: SIRI elements that were not decoded, and values without a counterpart
/// in the target.
fn initial_conversion_report(
    read: &DecodedMessage,
    to: ConversionTargetFormat,
    untranslated: ConversionReport,
) -> ConversionReport {
    let DecodedMessage::Siri(message, unread) = read else { return untranslated };
    let mut losses = unread.clone();
    match to {
        ConversionTargetFormat::SiriXml | ConversionTargetFormat::SiriJson => {
            dropped_fields::report_parts_dropped_from_siri(message, &mut losses)
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
        let zone = dataset_time_zone_or_utc(schedule);
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
fn dataset_time_zone_or_utc(schedule: Option<&Dataset>) -> TimeZone {
    schedule.map_or(TimeZone::UTC, |it| it.timetable.timezone().clone())
}

/// Converts a message to GTFS-Realtime. Unreadable parts are problems, and values without a counterpart are losses.
fn to_feed_message(
    read: &DecodedMessage,
    ids: &SiriIdMapping,
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

fn encode_gtfs_rt_output(
    message: &FeedMessage,
    to: ConversionTargetFormat,
    losses: &mut ConversionReport,
) -> Result<Bytes, ConversionError> {
    if to == ConversionTargetFormat::GtfsRtJson {
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
pub fn build_state_from_message(
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
    let bytes = encode_gtfs_rt_output(
        message,
        ConversionTargetFormat::GtfsRt,
        &mut ConversionReport::new(),
    )?;
    let applied = writer.decode_and_apply_message(NAME.as_str(), bytes, at)?;
    Ok((network.state(), applied.problems))
}

/// Number of written objects by kind.
type CountsByKind = Vec<(&'static str, u64)>;

fn encode_from_network_state(
    state: &NetworkState,
    message: &FeedMessage,
    (to, has_schedule): (ConversionTargetFormat, bool),
    losses: &mut ConversionReport,
) -> (Bytes, CountsByKind) {
    if to == ConversionTargetFormat::Geojson {
        report_entities_without_record(state, message, representable_payloads(to), losses);
        dropped_fields::report_entities_dropped_from_geojson(message, losses);
        let (shown, hidden): (Vec<_>, Vec<_>) =
            state.vehicles().partition(|record| record.position().is_some());
        for vehicle in hidden {
            losses.record_dropped_object(
                "vehicle",
                "it has no position",
                Some(vehicle.id.as_str()),
            );
        }
        let map = geojson::vehicles_geojson(state, NAME.as_str()).unwrap_or_default();
        return (map, vec![("vehicles", shown.len() as u64)]);
    }
    report_entities_without_record(state, message, representable_payloads(to), losses);
    losses.merge(report_fields_without_siri(message, has_schedule));
    let at = message.header.timestamp.and_then(|at| i64::try_from(at).ok()).unwrap_or_default();
    let mut elements = EncodedSiriElements::default();
    for service in [
        SiriOutput::EstimatedTimetable,
        SiriOutput::VehicleMonitoring,
        SiriOutput::SituationExchange,
    ] {
        let filter = RecordFilter::default();
        for record in select_new_records(state, service, &filter, at, 0, usize::MAX).records {
            elements.encode_record(state, record);
        }
    }
    let siri = build_siri_delivery(elements, SiriTime::from_millis(at.saturating_mul(1_000)));
    let written = match to {
        ConversionTargetFormat::SiriJson => siri::encode_json(&siri).into(),
        _ => siri::encode_xml(&siri).into(),
    };
    (written, count_siri_elements(&siri))
}
/// Builds a message with a delivery for each service that has elements.
fn build_siri_delivery(elements: EncodedSiriElements, at: Option<SiriTime>) -> SiriMessage {
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
fn representable_payloads(to: ConversionTargetFormat) -> &'static [&'static str] {
    if to == ConversionTargetFormat::Geojson {
        &["vehicle"]
    } else {
        &["trip_update", "vehicle", "alert"]
    }
}

/// Counts the entities of these kinds that have no record of their own in the state.
fn report_entities_without_record(
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
fn count_siri_elements(message: &SiriMessage) -> CountsByKind {
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
fn count_gtfs_rt_entities(message: &FeedMessage) -> CountsByKind {
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
