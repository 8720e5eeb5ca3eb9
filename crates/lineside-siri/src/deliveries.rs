//! SIRI replies: a query and the networks become one message.

use std::sync::Arc;

use lineside_formats::siri::{
    CommonDeliveryFields, DurationSeconds, EstimatedJourneyVersionFrame,
    EstimatedTimetableDelivery, LinesDelivery, MessagePayload, ServiceDelivery, SiriMessage,
    SiriTime, SituationExchangeDelivery, StopMonitoringDelivery, StopPointsDelivery,
    VehicleMonitoringDelivery,
};
use lineside_http::limits::{
    SIRI_DISCOVERED_MAX, SIRI_ELEMENTS_MAX, SIRI_VEHICLES_MAX, SIRI_VISITS_MAX,
    SIRI_WHOLE_BYTES_MAX,
};
use lineside_hub::Epoch;
use lineside_ingest::limits::BOARD_TICK;
use lineside_model::Record;
use lineside_model::siri_output::{
    ConsumerReadPosition, EncodedSiriElements, RecordSelection, SiriOutput, VEHICLE_VALID_FOR,
    VisitQuery, find_stop_visits, list_annotated_lines, list_annotated_stop_points,
    select_new_records, select_records_after, size,
};
use lineside_sync::UnixMillis;
use xxhash_rust::xxh3::Xxh3;

use super::fault::SiriFault;
use super::query::{QuerySubject, SiriQuery};
use super::snapshot::SiriSnapshot;

/// The SIRI version of replies.
const VERSION: &str = "2.1";
/// `ProducerRef` of replies.
pub(super) const PRODUCER: &str = "lineside";

/// A consumer's position: for each network the number of the last record that it received, and the preview horizon.
pub(super) type ConsumerPositions = Vec<(Epoch, ConsumerReadPosition)>;

/// `ShortestPossibleCycle`: the interval at which there may be changes.
const CYCLE: DurationSeconds = DurationSeconds(BOARD_TICK.as_secs() as i32);

/// A delivery of journeys, vehicles or situations, and the position of its consumer afterwards.
#[derive(Debug)]
pub(super) struct DeliveredRecords {
    pub(super) delivery: ServiceDelivery,
    pub(super) positions: ConsumerPositions,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ReplySizeLimit {
    pub(super) records: usize,
    /// Estimated bytes of XML.
    pub(super) bytes: usize,
}

impl ReplySizeLimit {
    /// Returns the limit of a complete reply. Journeys and situations have no limit on their number: a client without a
    /// name cannot request the rest.
    pub(super) fn for_complete_reply(subject: QuerySubject) -> Self {
        let records = match subject {
            QuerySubject::Records(SiriOutput::VehicleMonitoring) => SIRI_VEHICLES_MAX,
            QuerySubject::Records(
                SiriOutput::EstimatedTimetable | SiriOutput::SituationExchange,
            ) => usize::MAX,
            QuerySubject::Visits => SIRI_VISITS_MAX,
            QuerySubject::Lines | QuerySubject::StopPoints => SIRI_DISCOVERED_MAX,
        };
        Self { records, bytes: SIRI_WHOLE_BYTES_MAX }
    }
}

/// Builds the complete reply to a query; an error is a message with the fault.
pub(super) fn build_reply_message(
    snapshot: &SiriSnapshot,
    subject: QuerySubject,
    query: &SiriQuery,
) -> Result<SiriMessage, SiriMessage> {
    let answer = match subject {
        QuerySubject::Lines => build_lines_delivery(snapshot, query)
            .map(MessagePayload::LinesDelivery)
            .map(wrap_payload_in_message),
        QuerySubject::StopPoints => build_stop_points_delivery(snapshot, query)
            .map(MessagePayload::StopPointsDelivery)
            .map(wrap_payload_in_message),
        QuerySubject::Records(_) | QuerySubject::Visits => {
            let message_ref = query.message_ref.as_deref();
            build_delivery(snapshot, subject, query, ReplySizeLimit::for_complete_reply(subject))
                .map(|answer| wrap_delivery_in_message(snapshot, message_ref, answer))
        }
    };
    answer.map_err(|fault| build_fault_message(snapshot, subject, query, &fault))
}

/// Builds the message that refuses a query.
pub(super) fn build_fault_message(
    snapshot: &SiriSnapshot,
    subject: QuerySubject,
    query: &SiriQuery,
    fault: &SiriFault,
) -> SiriMessage {
    // The schema of discovery replies has no element for the request's identifier.
    let head = || fault_delivery_head(snapshot, None, fault);
    match subject {
        QuerySubject::Lines => {
            wrap_payload_in_message(MessagePayload::LinesDelivery(LinesDelivery {
                head: head(),
                ..LinesDelivery::default()
            }))
        }
        QuerySubject::StopPoints => {
            wrap_payload_in_message(MessagePayload::StopPointsDelivery(StopPointsDelivery {
                head: head(),
                ..StopPointsDelivery::default()
            }))
        }
        QuerySubject::Records(_) | QuerySubject::Visits => {
            let faulty = fault_delivery(snapshot, subject, query, fault);
            wrap_delivery_in_message(snapshot, query.message_ref.as_deref(), faulty)
        }
    }
}

/// Returns the largest number of records in a part of a reply; the client requests the next part.
pub(super) fn part_records_max(service: SiriOutput) -> usize {
    match service {
        SiriOutput::VehicleMonitoring => SIRI_VEHICLES_MAX,
        SiriOutput::EstimatedTimetable | SiriOutput::SituationExchange => SIRI_ELEMENTS_MAX,
    }
}

/// Builds the delivery of one service with all records of the query, without the envelope. `limit` limits its size.
///
/// # Errors
/// Returns a fault if there are more records: another request would return the same ones.
pub(super) fn build_delivery(
    snapshot: &SiriSnapshot,
    subject: QuerySubject,
    query: &SiriQuery,
    limit: ReplySizeLimit,
) -> Result<ServiceDelivery, SiriFault> {
    match subject {
        QuerySubject::Records(service) => find_all_records(snapshot, service, query, limit),
        QuerySubject::Visits => find_all_visits(snapshot, query, limit.records),
        QuerySubject::Lines | QuerySubject::StopPoints => {
            Err(SiriFault::not_offered("request lines and stops separately"))
        }
    }
}

/// Finds all wanted records, or as many as the client asks for. The client cannot request the rest, so `MoreData` is
/// never set.
fn find_all_records(
    snapshot: &SiriSnapshot,
    service: SiriOutput,
    query: &SiriQuery,
    limit: ReplySizeLimit,
) -> Result<ServiceDelivery, SiriFault> {
    let ReplySizeLimit { records, bytes } = limit;
    let requested_max = query
        .visits_max
        .and_then(|it| usize::try_from(it).ok())
        .filter(|requested_count| *requested_count <= records);
    let selected = select_records(
        snapshot,
        service,
        query,
        &ConsumerPositions::new(),
        requested_max.unwrap_or(records),
    )?;
    if selected.has_more && requested_max.is_none() {
        return Err(too_many_records_fault(&format!("{records} records")));
    }
    let delivered = deliver_records(snapshot, service, query, selected, bytes);
    let delivered = delivered.ok_or_else(|| too_many_records_fault(&format!("{bytes} bytes")))?;
    Ok(delivered.delivery)
}

fn too_many_records_fault(left: &str) -> SiriFault {
    SiriFault::too_many_records(format!(
        "the result exceeds the {left} left in this response: limit it by DatasetId or LineRef, or request it in parts from /siri/rest with a requestorId or from /siri/services with a RequestorRef"
    ))
}

/// Finds the wanted records after the client's position, at most `part_max` of them and at most as many as the query
/// allows.
///
/// # Errors
/// Returns a fault if the query allows none: the client would poll forever.
pub(super) fn find_records_after_position(
    snapshot: &SiriSnapshot,
    service: SiriOutput,
    query: &SiriQuery,
    known: &ConsumerPositions,
    part_max: usize,
) -> Result<DeliveredRecords, SiriFault> {
    if query.visits_max == Some(0) {
        return Err(SiriFault::invalid_value("MaximumVehicles or maxSize: expected at least 1"));
    }
    let requested_max =
        query.visits_max.and_then(|it| usize::try_from(it).ok()).unwrap_or(part_max);
    let selected = select_records(snapshot, service, query, known, requested_max.min(part_max))?;
    let has_more = selected.has_more;
    let delivered = deliver_records(snapshot, service, query, selected, usize::MAX);
    let mut delivered = delivered.ok_or_else(|| too_many_records_fault("records"))?;
    delivered.delivery.more_data = has_more.then_some(true);
    Ok(delivered)
}

/// The selected records of each network, in the snapshot's order.
struct SelectedRecords<'a> {
    records: Vec<Vec<&'a Arc<Record>>>,
    positions: ConsumerPositions,
    has_more: bool,
}

fn select_records<'a>(
    snapshot: &'a SiriSnapshot,
    service: SiriOutput,
    query: &SiriQuery,
    known: &ConsumerPositions,
    elements_max: usize,
) -> Result<SelectedRecords<'a>, SiriFault> {
    let filter = query.resolve_references(snapshot)?;
    let mut all = SelectedRecords {
        records: Vec::new(),
        positions: ConsumerPositions::new(),
        has_more: false,
    };
    let mut records_left = elements_max;
    for seen in &snapshot.networks {
        let before = known.iter().find(|(epoch, _)| *epoch == seen.epoch);
        let before = before.map_or(ConsumerReadPosition::default(), |(_, before)| *before);
        let now = seen.now.unix_seconds();
        let selection =
            select_records_after(&seen.state, service, &filter, now, before, records_left);
        records_left = records_left.saturating_sub(selection.records.len());
        all.has_more |= selection.has_more;
        let RecordSelection { up_to: number, horizon, .. } = selection;
        all.positions.push((seen.epoch, ConsumerReadPosition { number, horizon }));
        all.records.push(selection.records);
    }
    Ok(all)
}

/// Builds a delivery of records; `None` if they exceed `bytes_max` bytes.
fn deliver_records(
    snapshot: &SiriSnapshot,
    service: SiriOutput,
    query: &SiriQuery,
    selected: SelectedRecords<'_>,
    bytes_max: usize,
) -> Option<DeliveredRecords> {
    let mut elements = EncodedSiriElements::default();
    let mut bytes_left = bytes_max;
    for (seen, records) in snapshot.networks.iter().zip(selected.records) {
        for record in records {
            bytes_left = bytes_left.checked_sub(elements.encode_record(&seen.state, record))?;
        }
    }
    let head = delivery_head(snapshot, query.message_ref.as_deref());
    Some(DeliveredRecords {
        delivery: delivery_from_elements(snapshot, service, elements, head),
        positions: selected.positions,
    })
}

/// Hashes the ids of the wanted records, independent of their contents.
pub(super) fn hash_record_ids(
    snapshot: &SiriSnapshot,
    service: SiriOutput,
    query: &SiriQuery,
) -> Result<u128, SiriFault> {
    let filter = query.resolve_references(snapshot)?;
    let mut hash = Xxh3::new();
    for seen in &snapshot.networks {
        let all = select_new_records(
            &seen.state,
            service,
            &filter,
            seen.now.unix_seconds(),
            0,
            usize::MAX,
        );
        let mut names: Vec<(&str, &str)> =
            all.records.iter().map(|it| (it.feed.as_str(), it.id.as_str())).collect();
        names.sort_unstable();
        for (feed, id) in names {
            hash.update(feed.as_bytes());
            hash.update(b"\0");
            hash.update(id.as_bytes());
            hash.update(b"\0");
        }
    }
    Ok(hash.digest128())
}

fn delivery_from_elements(
    snapshot: &SiriSnapshot,
    service: SiriOutput,
    elements: EncodedSiriElements,
    head: CommonDeliveryFields,
) -> ServiceDelivery {
    let mut delivery = ServiceDelivery::default();
    match service {
        SiriOutput::EstimatedTimetable => {
            let frame = EstimatedJourneyVersionFrame {
                recorded_at_time: snapshot.response_time(),
                version_ref: None,
                estimated_vehicle_journeys: elements.journeys,
            };
            // Omits a frame without journeys.
            let frames = match frame.estimated_vehicle_journeys.is_empty() {
                true => Vec::new(),
                false => vec![frame],
            };
            delivery.estimated_timetables.push(EstimatedTimetableDelivery { head, frames });
        }
        SiriOutput::VehicleMonitoring => {
            let vehicle_activities = elements.activities;
            let until = snapshot.at + VEHICLE_VALID_FOR;
            let head = CommonDeliveryFields {
                valid_until: SiriTime::from_millis(until.0),
                shortest_possible_cycle: Some(CYCLE),
                ..head
            };
            let vehicles =
                VehicleMonitoringDelivery { head, vehicle_activities, ..Default::default() };
            delivery.vehicle_monitorings.push(vehicles);
        }
        SiriOutput::SituationExchange => {
            let situations = elements.situations;
            delivery.situation_exchanges.push(SituationExchangeDelivery { head, situations });
        }
    }
    delivery
}

/// Finds all wanted visits. Another request would return the same ones, so `MoreData` is never set.
fn find_all_visits(
    snapshot: &SiriSnapshot,
    query: &SiriQuery,
    count_max: usize,
) -> Result<ServiceDelivery, SiriFault> {
    let delivery = find_first_visits(snapshot, query, count_max.saturating_add(1))?;
    if count_elements(&delivery) > count_max {
        return Err(SiriFault::too_many_records(format!(
            "the result exceeds the {count_max} visits left in this response: limit it by PreviewInterval, LineRef or MinimumStopVisitsPerLine"
        )));
    }
    Ok(delivery)
}

/// Finds the wanted visits, the soonest first, at most `records_max` of them.
pub(super) fn find_first_visits(
    snapshot: &SiriSnapshot,
    query: &SiriQuery,
    records_max: usize,
) -> Result<ServiceDelivery, SiriFault> {
    let stop = query.resolve_monitored_stop(snapshot)?;
    let filter = query.resolve_references(snapshot)?;
    let unknown = || SiriFault::bad_reference(format!("stop {:?} does not exist", stop.id));
    let find_network = |feed: &str| snapshot.networks.iter().find(|seen| seen.state.has_feed(feed));
    let seen = stop.feed.as_deref().and_then(find_network).ok_or_else(unknown)?;
    let monitoring_ref = query.monitoring_ref.as_deref().unwrap_or(&stop.id);
    let visits = VisitQuery {
        stop_id: &stop.id,
        monitoring_ref,
        from: query.start.map_or(seen.now, |start| UnixMillis(start.as_millis())),
        preview: query.preview_interval(),
        filter: &filter,
        destination: query.destination.as_deref(),
        visits_max: query.visits_max(),
        visits_per_line_min: usize::try_from(query.visits_per_line_min.unwrap_or(0)).unwrap_or(0),
        limit: records_max,
    };
    let found = find_stop_visits(&seen.state, &visits, seen.now);
    let monitored_stop_visits = found.ok_or_else(unknown)?;
    let stop_monitoring = StopMonitoringDelivery {
        head: delivery_head(snapshot, query.message_ref.as_deref()),
        monitoring_refs: vec![monitoring_ref.into()],
        monitored_stop_visits,
        ..StopMonitoringDelivery::default()
    };
    Ok(ServiceDelivery { stop_monitorings: vec![stop_monitoring], ..ServiceDelivery::default() })
}

/// Estimates the bytes of XML that a delivery's records take.
pub(super) fn estimate_bytes(delivery: &ServiceDelivery) -> usize {
    let journeys = delivery.estimated_timetables.iter().flat_map(|it| it.estimated_journeys());
    let vehicles = delivery.vehicle_monitorings.iter().flat_map(|it| &it.vehicle_activities);
    let situations = delivery.situation_exchanges.iter().flat_map(|it| &it.situations);
    let visits = delivery.stop_monitorings.iter().map(|it| it.monitored_stop_visits.len());
    journeys.map(size::journey_bytes).sum::<usize>()
        + vehicles.count() * size::ACTIVITY_BYTES
        + situations.map(size::situation_bytes).sum::<usize>()
        + visits.sum::<usize>() * size::VISIT_BYTES
}

/// Counts the journeys, vehicles, situations, visits and cancellations of a delivery.
pub(super) fn count_elements(delivery: &ServiceDelivery) -> usize {
    let journeys = delivery.estimated_timetables.iter().map(|it| it.estimated_journeys().count());
    let vehicles = delivery.vehicle_monitorings.iter().map(|it| it.vehicle_activities.len());
    let situations = delivery.situation_exchanges.iter().map(|it| it.situations.len());
    let visits = delivery.stop_monitorings.iter();
    let visits = visits.map(|it| it.monitored_stop_visits.len() + it.cancellations.len());
    journeys.chain(vehicles).chain(situations).chain(visits).sum()
}

fn build_lines_delivery(
    snapshot: &SiriSnapshot,
    query: &SiriQuery,
) -> Result<LinesDelivery, SiriFault> {
    let filter = query.resolve_references(snapshot)?;
    let all = snapshot.network_states().flat_map(|state| list_annotated_lines(state, &filter));
    let annotated_line_refs = collect_or_too_many_fault(all, "lines")?;
    Ok(LinesDelivery { head: delivery_head(snapshot, None), annotated_line_refs })
}

fn build_stop_points_delivery(
    snapshot: &SiriSnapshot,
    query: &SiriQuery,
) -> Result<StopPointsDelivery, SiriFault> {
    let filter = query.resolve_references(snapshot)?;
    let all =
        snapshot.network_states().flat_map(|state| list_annotated_stop_points(state, &filter));
    let annotated_stop_point_refs = collect_or_too_many_fault(all, "stops")?;
    Ok(StopPointsDelivery { head: delivery_head(snapshot, None), annotated_stop_point_refs })
}

/// Collects all items; returns a fault if they are too many for one reply.
fn collect_or_too_many_fault<T>(
    all: impl Iterator<Item = T>,
    what: &str,
) -> Result<Vec<T>, SiriFault> {
    let some: Vec<T> = all.take(SIRI_DISCOVERED_MAX + 1).collect();
    if some.len() <= SIRI_DISCOVERED_MAX {
        return Ok(some);
    }
    let elements_max = SIRI_DISCOVERED_MAX;
    let fault = format!(
        "the result exceeds {elements_max} {what}: limit it by DatasetId, OperatorRef or LineRef"
    );
    Err(SiriFault::too_many_records(fault))
}

/// Builds the elements that every delivery begins with.
fn delivery_head(snapshot: &SiriSnapshot, message_ref: Option<&str>) -> CommonDeliveryFields {
    CommonDeliveryFields {
        version: Some(VERSION.into()),
        response_timestamp: snapshot.response_time(),
        request_message_ref: message_ref.map(Into::into),
        status: Some(true),
        ..CommonDeliveryFields::default()
    }
}

fn fault_delivery_head(
    snapshot: &SiriSnapshot,
    message_ref: Option<&str>,
    fault: &SiriFault,
) -> CommonDeliveryFields {
    CommonDeliveryFields {
        status: Some(false),
        error_condition: Some(fault.error_condition()),
        ..delivery_head(snapshot, message_ref)
    }
}

/// Builds a service's delivery that contains only a fault.
pub(super) fn fault_delivery(
    snapshot: &SiriSnapshot,
    subject: QuerySubject,
    query: &SiriQuery,
    fault: &SiriFault,
) -> ServiceDelivery {
    let head = fault_delivery_head(snapshot, query.message_ref.as_deref(), fault);
    let delivery = match subject {
        QuerySubject::Records(service) => {
            delivery_from_elements(snapshot, service, EncodedSiriElements::default(), head)
        }
        QuerySubject::Visits | QuerySubject::Lines | QuerySubject::StopPoints => {
            let visits = StopMonitoringDelivery { head, ..Default::default() };
            ServiceDelivery { stop_monitorings: vec![visits], ..ServiceDelivery::default() }
        }
    };
    ServiceDelivery { status: Some(false), ..delivery }
}

/// Wraps a delivery in a message, with the elements about the whole reply.
pub(super) fn wrap_delivery_in_message(
    snapshot: &SiriSnapshot,
    message_ref: Option<&str>,
    delivery: ServiceDelivery,
) -> SiriMessage {
    wrap_payload_in_message(MessagePayload::ServiceDelivery(ServiceDelivery {
        response_timestamp: snapshot.response_time(),
        producer_ref: Some(PRODUCER.into()),
        request_message_ref: message_ref.map(Into::into),
        status: delivery.status.or(Some(true)),
        ..delivery
    }))
}

pub(super) fn wrap_payload_in_message(payload: MessagePayload) -> SiriMessage {
    SiriMessage { version: Some(VERSION.into()), payloads: vec![payload] }
}

#[cfg(test)]
mod tests;
