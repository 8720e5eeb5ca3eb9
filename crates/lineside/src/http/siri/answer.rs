//! Answers: a question and the networks become one message.

use std::sync::Arc;

use lineside_formats::siri::{
    DeliveryHead, EstimatedJourneyVersionFrame, EstimatedTimetableDelivery, LinesDelivery, Message,
    Payload, Seconds, ServiceDelivery, SituationExchangeDelivery, StopMonitoringDelivery,
    StopPointsDelivery, Time, VehicleMonitoringDelivery,
};
use lineside_hub::Epoch;
use lineside_ingest::Record;
use lineside_ingest::limits::BOARD_TICK;
use lineside_ingest::siri::{
    Before, Elements, Selection, Service, VEHICLE_VALID_FOR, Visits, lines, select, select_after,
    size, stop_points, stop_visits,
};
use lineside_sync::UnixMillis;
use xxhash_rust::xxh3::Xxh3;

use super::asked::{Asked, Subject};
use super::fault::Fault;
use super::scene::Scene;
use crate::http::limits::{
    SIRI_DISCOVERED_MAX, SIRI_ELEMENTS_MAX, SIRI_VEHICLES_MAX, SIRI_VISITS_MAX,
    SIRI_WHOLE_BYTES_MAX,
};

/// The version of SIRI that answers are of.
const VERSION: &str = "2.1";
/// What answers call the one who makes them.
pub(super) const PRODUCER: &str = env!("CARGO_PKG_NAME");

/// What one who asks again knows: of each network the number of the last record that it was told, and how far ahead.
pub(super) type Known = Vec<(Epoch, Before)>;

/// How often there may be something new.
const CYCLE: Seconds = Seconds(BOARD_TICK.as_secs() as i32);

/// Journeys, vehicles or situations, and what those know who have read them.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) delivery: ServiceDelivery,
    pub(super) known: Known,
}

/// How much one answer may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerRoom {
    pub(super) records: usize,
    /// Bytes of XML, as far as they can be estimated before anything is written.
    pub(super) bytes: usize,
}

impl AnswerRoom {
    /// The room of a whole answer. Journeys and situations have no number: a client that does not say its name cannot come back
    /// for the rest.
    pub(super) fn for_whole(subject: Subject) -> Self {
        let records = match subject {
            Subject::Records(Service::VehicleMonitoring) => SIRI_VEHICLES_MAX,
            Subject::Records(Service::EstimatedTimetable | Service::SituationExchange) => {
                usize::MAX
            }
            Subject::Visits => SIRI_VISITS_MAX,
            Subject::Lines | Subject::StopPoints => SIRI_DISCOVERED_MAX,
        };
        Self { records, bytes: SIRI_WHOLE_BYTES_MAX }
    }
}

/// The answer to a question that stands by itself, as a message; at fault it says why.
pub(super) fn message(scene: &Scene, subject: Subject, asked: &Asked) -> Result<Message, Message> {
    let made = match subject {
        Subject::Lines => discovered(scene, asked).map(Payload::LinesDelivery).map(wrap),
        Subject::StopPoints => {
            discovered_stops(scene, asked).map(Payload::StopPointsDelivery).map(wrap)
        }
        Subject::Records(_) | Subject::Visits => {
            let message_ref = asked.message_ref.as_deref();
            delivery(scene, subject, asked, AnswerRoom::for_whole(subject))
                .map(|made| whole(scene, message_ref, made))
        }
    };
    made.map_err(|fault| refusal(scene, subject, asked, &fault))
}

/// The message that says why a question is not answered.
pub(super) fn refusal(scene: &Scene, subject: Subject, asked: &Asked, fault: &Fault) -> Message {
    // The schema has no place for the question's name in the answers of discovery.
    let head = || faulty_head(scene, None, fault);
    match subject {
        Subject::Lines => {
            wrap(Payload::LinesDelivery(LinesDelivery { head: head(), ..LinesDelivery::default() }))
        }
        Subject::StopPoints => wrap(Payload::StopPointsDelivery(StopPointsDelivery {
            head: head(),
            ..StopPointsDelivery::default()
        })),
        Subject::Records(_) | Subject::Visits => {
            let faulty = faulty(scene, subject, asked, fault);
            whole(scene, asked.message_ref.as_deref(), faulty)
        }
    }
}

/// How many records a part of an answer may hold; the client asks again for the next part.
pub(super) fn part_max(service: Service) -> usize {
    match service {
        Service::VehicleMonitoring => SIRI_VEHICLES_MAX,
        Service::EstimatedTimetable | Service::SituationExchange => SIRI_ELEMENTS_MAX,
    }
}

/// The delivery of one service that holds the whole answer, with nothing around it. `room` says how much it may hold.
///
/// # Errors
/// A fault where there is more than that: to ask again would give the same once more.
pub(super) fn delivery(
    scene: &Scene,
    subject: Subject,
    asked: &Asked,
    room: AnswerRoom,
) -> Result<ServiceDelivery, Fault> {
    match subject {
        Subject::Records(service) => find_all_records(scene, service, asked, room),
        Subject::Visits => visits(scene, asked, room.records),
        Subject::Lines | Subject::StopPoints => {
            Err(Fault::not_offered("lines and stops are asked for by themselves"))
        }
    }
}

/// All wanted records, or as many as the client asks for. It cannot ask for the rest, so `MoreData` is never said.
fn find_all_records(
    scene: &Scene,
    service: Service,
    asked: &Asked,
    room: AnswerRoom,
) -> Result<ServiceDelivery, Fault> {
    let AnswerRoom { records, bytes } = room;
    let wished = asked.most.and_then(|it| usize::try_from(it).ok()).filter(|most| *most <= records);
    let selected = select_records(scene, service, asked, &Known::new(), wished.unwrap_or(records))?;
    if selected.has_more && wished.is_none() {
        return Err(too_much(&format!("{records} records")));
    }
    let told = build_told(scene, service, asked, selected, bytes);
    let told = told.ok_or_else(|| too_much(&format!("{bytes} bytes")))?;
    Ok(told.delivery)
}

fn too_much(left: &str) -> Fault {
    Fault::too_much(format!(
        "there is more than the {left} that are left in this answer: ask by DatasetId or LineRef, or get all in parts from \
         /siri/rest with a requestorId or from /siri/services with a RequestorRef"
    ))
}

/// The wanted records that are newer than what is known, at most `most` of them and as many as are asked for.
///
/// # Errors
/// A fault where none are asked for: such an answer would never come to an end.
pub(super) fn records(
    scene: &Scene,
    service: Service,
    asked: &Asked,
    known: &Known,
    most: usize,
) -> Result<Told, Fault> {
    if asked.most == Some(0) {
        return Err(Fault::bad("MaximumVehicles or maxSize: expected at least 1"));
    }
    let wished = asked.most.and_then(|it| usize::try_from(it).ok()).unwrap_or(most);
    let selected = select_records(scene, service, asked, known, wished.min(most))?;
    let has_more = selected.has_more;
    let told = build_told(scene, service, asked, selected, usize::MAX);
    let mut told = told.ok_or_else(|| too_much("records"))?;
    told.delivery.more_data = has_more.then_some(true);
    Ok(told)
}

/// Records of each network of a scene, in its order.
struct SelectedRecords<'a> {
    records: Vec<Vec<&'a Arc<Record>>>,
    known: Known,
    has_more: bool,
}

fn select_records<'a>(
    scene: &'a Scene,
    service: Service,
    asked: &Asked,
    known: &Known,
    most: usize,
) -> Result<SelectedRecords<'a>, Fault> {
    let wanted = asked.wanted(scene)?;
    let mut all = SelectedRecords { records: Vec::new(), known: Known::new(), has_more: false };
    let mut room = most;
    for seen in &scene.networks {
        let before = known.iter().find(|(epoch, _)| *epoch == seen.epoch);
        let before = before.map_or(Before::default(), |(_, before)| *before);
        let now = seen.now.seconds();
        let selection = select_after(&seen.state, service, &wanted, now, before, room);
        room = room.saturating_sub(selection.records.len());
        all.has_more |= selection.has_more;
        let Selection { up_to: number, horizon, .. } = selection;
        all.known.push((seen.epoch, Before { number, horizon }));
        all.records.push(selection.records);
    }
    Ok(all)
}

/// Makes a delivery of records; none where they have more than `bytes_max` bytes.
fn build_told(
    scene: &Scene,
    service: Service,
    asked: &Asked,
    selected: SelectedRecords<'_>,
    bytes_max: usize,
) -> Option<Told> {
    let mut elements = Elements::default();
    let mut bytes_left = bytes_max;
    for (seen, records) in scene.networks.iter().zip(selected.records) {
        for record in records {
            bytes_left = bytes_left.checked_sub(elements.push(&seen.state, record))?;
        }
    }
    let head = head(scene, asked.message_ref.as_deref());
    Some(Told { delivery: of_elements(scene, service, elements, head), known: selected.known })
}

/// A hash of which wanted records there are, whatever they say.
pub(super) fn set_of(scene: &Scene, service: Service, asked: &Asked) -> Result<u128, Fault> {
    let wanted = asked.wanted(scene)?;
    let mut hash = Xxh3::new();
    for seen in &scene.networks {
        let all = select(&seen.state, service, &wanted, seen.now.seconds(), 0, usize::MAX);
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

/// The delivery of a service with its elements.
fn of_elements(
    scene: &Scene,
    service: Service,
    elements: Elements,
    head: DeliveryHead,
) -> ServiceDelivery {
    let mut delivery = ServiceDelivery::default();
    match service {
        Service::EstimatedTimetable => {
            let frame = EstimatedJourneyVersionFrame {
                recorded_at_time: scene.time(),
                version_ref: None,
                estimated_vehicle_journeys: elements.journeys,
            };
            // A frame without journeys is none.
            let frames = match frame.estimated_vehicle_journeys.is_empty() {
                true => Vec::new(),
                false => vec![frame],
            };
            delivery.estimated_timetables.push(EstimatedTimetableDelivery { head, frames });
        }
        Service::VehicleMonitoring => {
            let vehicle_activities = elements.activities;
            let until = scene.at + VEHICLE_VALID_FOR;
            let head = DeliveryHead {
                valid_until: Time::from_millis(until.0),
                shortest_possible_cycle: Some(CYCLE),
                ..head
            };
            let vehicles =
                VehicleMonitoringDelivery { head, vehicle_activities, ..Default::default() };
            delivery.vehicle_monitorings.push(vehicles);
        }
        Service::SituationExchange => {
            let situations = elements.situations;
            delivery.situation_exchanges.push(SituationExchangeDelivery { head, situations });
        }
    }
    delivery
}

/// All wanted visits. To ask again would give the same once more, so `MoreData` is never said.
fn visits(scene: &Scene, asked: &Asked, room: usize) -> Result<ServiceDelivery, Fault> {
    let delivery = find_first_visits(scene, asked, room.saturating_add(1))?;
    if n_elements(&delivery) > room {
        return Err(Fault::too_much(format!(
            "there are more than the {room} visits that are left in this answer: ask for fewer by \
             PreviewInterval, LineRef or MinimumStopVisitsPerLine"
        )));
    }
    Ok(delivery)
}

/// The wanted visits, the soonest first, at most `most` of them.
pub(super) fn find_first_visits(
    scene: &Scene,
    asked: &Asked,
    most: usize,
) -> Result<ServiceDelivery, Fault> {
    let stop = asked.stop(scene)?;
    let wanted = asked.wanted(scene)?;
    let unknown = || Fault::reference(format!("there is no stop {:?}", stop.id));
    let of = |feed: &str| scene.networks.iter().find(|seen| seen.state.has_feed(feed));
    let seen = stop.feed.as_deref().and_then(of).ok_or_else(unknown)?;
    let monitoring_ref = asked.monitoring_ref.as_deref().unwrap_or(&stop.id);
    let visits = Visits {
        stop_id: &stop.id,
        monitoring_ref,
        from: asked.start.map_or(seen.now, |start| UnixMillis(start.as_millis())),
        preview: asked.preview(),
        wanted: &wanted,
        destination: asked.destination.as_deref(),
        most: asked.visits_max(),
        least_per_line: usize::try_from(asked.least_per_line.unwrap_or(0)).unwrap_or(0),
        limit: most,
    };
    let found = stop_visits(&seen.state, &visits, seen.now);
    let monitored_stop_visits = found.ok_or_else(unknown)?;
    let stop_monitoring = StopMonitoringDelivery {
        head: head(scene, asked.message_ref.as_deref()),
        monitoring_refs: vec![monitoring_ref.into()],
        monitored_stop_visits,
        ..StopMonitoringDelivery::default()
    };
    Ok(ServiceDelivery { stop_monitorings: vec![stop_monitoring], ..ServiceDelivery::default() })
}

/// About how many bytes of XML the records of a delivery take.
pub(super) fn estimate_bytes(delivery: &ServiceDelivery) -> usize {
    let journeys = delivery.estimated_timetables.iter().flat_map(|it| it.journeys());
    let vehicles = delivery.vehicle_monitorings.iter().flat_map(|it| &it.vehicle_activities);
    let situations = delivery.situation_exchanges.iter().flat_map(|it| &it.situations);
    let visits = delivery.stop_monitorings.iter().map(|it| it.monitored_stop_visits.len());
    journeys.map(size::journey_bytes).sum::<usize>()
        + vehicles.count() * size::ACTIVITY_BYTES
        + situations.map(size::situation_bytes).sum::<usize>()
        + visits.sum::<usize>() * size::VISIT_BYTES
}

/// How many journeys, vehicles, situations and visits a delivery holds.
pub(super) fn n_elements(delivery: &ServiceDelivery) -> usize {
    let journeys = delivery.estimated_timetables.iter().map(|it| it.journeys().count());
    let vehicles = delivery.vehicle_monitorings.iter().map(|it| it.vehicle_activities.len());
    let situations = delivery.situation_exchanges.iter().map(|it| it.situations.len());
    let visits = delivery.stop_monitorings.iter();
    let visits = visits.map(|it| it.monitored_stop_visits.len() + it.cancellations.len());
    journeys.chain(vehicles).chain(situations).chain(visits).sum()
}

fn discovered(scene: &Scene, asked: &Asked) -> Result<LinesDelivery, Fault> {
    let wanted = asked.wanted(scene)?;
    let all = scene.states().flat_map(|state| lines(state, &wanted));
    let annotated_line_refs = at_most(all, "lines")?;
    Ok(LinesDelivery { head: head(scene, None), annotated_line_refs })
}

fn discovered_stops(scene: &Scene, asked: &Asked) -> Result<StopPointsDelivery, Fault> {
    let wanted = asked.wanted(scene)?;
    let all = scene.states().flat_map(|state| stop_points(state, &wanted));
    let annotated_stop_point_refs = at_most(all, "stops")?;
    Ok(StopPointsDelivery { head: head(scene, None), annotated_stop_point_refs })
}

/// All of them, unless those are too many for one answer.
fn at_most<T>(all: impl Iterator<Item = T>, what: &str) -> Result<Vec<T>, Fault> {
    let some: Vec<T> = all.take(SIRI_DISCOVERED_MAX + 1).collect();
    if some.len() <= SIRI_DISCOVERED_MAX {
        return Ok(some);
    }
    let most = SIRI_DISCOVERED_MAX;
    let fault =
        format!("there are more than {most} {what}: ask by DatasetId, OperatorRef or LineRef");
    Err(Fault::too_much(fault))
}

/// What every delivery begins with.
fn head(scene: &Scene, message_ref: Option<&str>) -> DeliveryHead {
    DeliveryHead {
        version: Some(VERSION.into()),
        response_timestamp: scene.time(),
        request_message_ref: message_ref.map(Into::into),
        status: Some(true),
        ..DeliveryHead::default()
    }
}

fn faulty_head(scene: &Scene, message_ref: Option<&str>, fault: &Fault) -> DeliveryHead {
    DeliveryHead {
        status: Some(false),
        error_condition: Some(fault.condition()),
        ..head(scene, message_ref)
    }
}

/// The delivery of a service that says why there is none.
pub(super) fn faulty(
    scene: &Scene,
    subject: Subject,
    asked: &Asked,
    fault: &Fault,
) -> ServiceDelivery {
    let head = faulty_head(scene, asked.message_ref.as_deref(), fault);
    let delivery = match subject {
        Subject::Records(service) => of_elements(scene, service, Elements::default(), head),
        Subject::Visits | Subject::Lines | Subject::StopPoints => {
            let visits = StopMonitoringDelivery { head, ..Default::default() };
            ServiceDelivery { stop_monitorings: vec![visits], ..ServiceDelivery::default() }
        }
    };
    ServiceDelivery { status: Some(false), ..delivery }
}

/// A delivery with what is said about the whole answer.
pub(super) fn whole(
    scene: &Scene,
    message_ref: Option<&str>,
    delivery: ServiceDelivery,
) -> Message {
    wrap(Payload::ServiceDelivery(ServiceDelivery {
        response_timestamp: scene.time(),
        producer_ref: Some(PRODUCER.into()),
        request_message_ref: message_ref.map(Into::into),
        status: delivery.status.or(Some(true)),
        ..delivery
    }))
}

/// One thing as a message.
pub(super) fn wrap(payload: Payload) -> Message {
    Message { version: Some(VERSION.into()), payloads: vec![payload] }
}

#[cfg(test)]
mod tests;
