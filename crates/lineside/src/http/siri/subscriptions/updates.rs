//! The updates of a subscription: newer records; or a stop's visits that changed, and cancellations of visits that
//! disappeared early; or everything after any change, if the subscriber wants that.

use std::collections::HashMap;

use lineside_formats::siri::{
    MonitoredStopVisit, MonitoredStopVisitCancellation, ServiceDelivery, StopMonitoringDelivery,
    VehicleJourney,
};
use lineside_ingest::siri::{NO_DIRECTION, SiriOutput};
use smol_str::SmolStr;

use super::super::deliveries::{self, AnswerLimit, Known, count_elements};
use super::super::fault::SiriFault;
use super::super::query::{QuerySubject, SiriQuery};
use super::super::snapshot::SiriSnapshot;
use super::reported_journeys::{ReportedJourney, ReportedJourneys};
use super::update_policy::UpdatePolicy;

/// The position of a subscriber. Bound: a number per network, the visits of one delivery, and [`ReportedJourneys`].
#[derive(Clone, Debug, Default)]
pub(super) struct SubscriberState {
    records: Known,
    visits: HashMap<SmolStr, ReportedVisit>,
    /// Journeys as last sent, if small changes are suppressed.
    journeys: ReportedJourneys,
    /// Hash of the record ids in the last complete delivery.
    set: u128,
    /// True while a complete delivery is sent in parts.
    is_amid: bool,
    is_begun: bool,
}

/// A visit as it was last sent.
#[derive(Clone, Debug)]
struct ReportedVisit {
    told: ReportedJourney,
    /// Departure time, Unix seconds.
    leaves: Option<i64>,
    line: Option<SmolStr>,
    direction: Option<SmolStr>,
}

/// An update, and the subscriber's position after it.
#[derive(Debug)]
pub(super) struct PendingUpdate {
    /// `None` if there is nothing to send.
    pub(super) delivery: Option<ServiceDelivery>,
    pub(super) memory: SubscriberState,
    pub(super) has_more: bool,
}

impl PendingUpdate {
    /// Returns an update without a delivery.
    fn unchanged(memory: SubscriberState) -> Self {
        Self { delivery: None, memory, has_more: false }
    }
}

/// Finds the updates; `None` if the query's references are no longer valid.
pub(super) fn find_updates(
    scene: &SiriSnapshot,
    subject: QuerySubject,
    asked: &SiriQuery,
    manner: UpdatePolicy,
    memory: &SubscriberState,
) -> Option<PendingUpdate> {
    match subject {
        QuerySubject::Records(service) => {
            let telling = UpdateQuery { scene, service, asked, manner };
            if manner.is_incremental || memory.is_amid {
                telling.find_part(memory.clone()).ok()
            } else {
                telling.find_whole(memory).ok()
            }
        }
        QuerySubject::Visits => find_visits(scene, asked, manner, memory),
        QuerySubject::Lines | QuerySubject::StopPoints => None,
    }
}

/// The query for updates of records.
#[derive(Clone, Copy)]
struct UpdateQuery<'a> {
    scene: &'a SiriSnapshot,
    service: SiriOutput,
    asked: &'a SiriQuery,
    manner: UpdatePolicy,
}

impl UpdateQuery<'_> {
    /// Finds the records after the subscriber's position, up to the size of one delivery.
    fn find_part(self, mut memory: SubscriberState) -> Result<PendingUpdate, SiriFault> {
        let Self { scene, service, asked, manner } = self;
        let most = deliveries::part_records_max(service);
        let told = deliveries::find_records(scene, service, asked, &memory.records, most)?;
        let has_more = told.delivery.more_data == Some(true);
        let mut delivery = told.delivery;
        let is_whole = !manner.is_incremental && memory.is_amid;
        if manner.least_change > 0 {
            let journeys = &mut memory.journeys;
            let now = scene.at.unix_seconds();
            journeys.forget_past(now);
            for timetable in &mut delivery.estimated_timetables {
                for frame in &mut timetable.frames {
                    frame.estimated_vehicle_journeys.retain(|journey| {
                        journeys.report_journey(journey, manner.least_change, now) || is_whole
                    });
                }
                timetable.frames.retain(|frame| !frame.estimated_vehicle_journeys.is_empty());
            }
        }
        let is_due = count_elements(&delivery) > 0 || !memory.is_begun;
        let is_amid = memory.is_amid && has_more;
        let memory = SubscriberState { records: told.known, is_begun: true, is_amid, ..memory };
        Ok(PendingUpdate { delivery: is_due.then_some(delivery), memory, has_more })
    }

    /// Finds the first part of a complete delivery, if anything changed.
    fn find_whole(self, memory: &SubscriberState) -> Result<PendingUpdate, SiriFault> {
        let Self { scene, service, asked, .. } = self;
        let set = deliveries::hash_record_ids(scene, service, asked)?;
        if memory.is_begun && set == memory.set {
            let changed = self.find_part(memory.clone())?;
            if changed.delivery.is_none() && !changed.has_more {
                return Ok(PendingUpdate::unchanged(changed.memory));
            }
        }
        let journeys = memory.journeys.clone();
        // The delivery is sent even if it is empty by now.
        let from_the_beginning =
            SubscriberState { set, journeys, is_amid: true, ..SubscriberState::default() };
        self.find_part(from_the_beginning)
    }
}

fn find_visits(
    scene: &SiriSnapshot,
    asked: &SiriQuery,
    manner: UpdatePolicy,
    memory: &SubscriberState,
) -> Option<PendingUpdate> {
    let room = AnswerLimit::for_whole(QuerySubject::Visits).records;
    let mut delivery = deliveries::find_first_visits(scene, asked, room).ok()?;
    let stop = delivery.stop_monitorings.first_mut()?;
    let all = (!manner.is_incremental).then(|| stop.monitored_stop_visits.clone());
    let look = VisitComparison {
        most: asked.visits_max(),
        least: manner.least_change,
        now: scene.at.unix_seconds(),
    };
    let visits = retain_changed(stop, &memory.visits, look);
    let is_due = !stop.monitored_stop_visits.is_empty() || !stop.cancellations.is_empty();
    if let Some(all) = all {
        stop.monitored_stop_visits = all;
    }
    let delivery = (is_due || !memory.is_begun).then_some(delivery);
    let memory = SubscriberState { visits, is_begun: true, ..SubscriberState::default() };
    Some(PendingUpdate { delivery, memory, has_more: false })
}

/// The criteria for changed visits.
#[derive(Clone, Copy)]
struct VisitComparison {
    /// Largest number of visits in the query.
    most: usize,
    /// Threshold of time changes, in seconds.
    least: u32,
    /// Current time, Unix seconds.
    now: i64,
}

/// Retains only changed visits in a delivery of all visits, and adds cancellations of visits that disappeared early.
/// Returns all visits as they were last sent.
fn retain_changed(
    stop: &mut StopMonitoringDelivery,
    known: &HashMap<SmolStr, ReportedVisit>,
    look: VisitComparison,
) -> HashMap<SmolStr, ReportedVisit> {
    let VisitComparison { most, least, now } = look;
    let is_full = stop.monitored_stop_visits.len() >= most;
    let last = stop.monitored_stop_visits.iter().filter_map(departure_time).max();
    let mut all: HashMap<SmolStr, ReportedVisit> = HashMap::new();
    stop.monitored_stop_visits.retain(|visit| {
        let Some(id) = &visit.item_identifier else { return true };
        let (now, before) = (reported_visit(visit), known.get(id));
        let before = before.filter(|before| !now.told.is_news_since(&before.told, least));
        let is_news = before.is_none();
        let told = before.map_or_else(|| now.told.clone(), |before| before.told.clone());
        all.insert(id.clone(), ReportedVisit { told, ..now });
        is_news
    });
    let recorded_at_time = stop.head.response_timestamp;
    let monitoring_ref = stop.monitoring_refs.first().cloned();
    let mut gone: Vec<(&SmolStr, &ReportedVisit)> = known
        .iter()
        .filter(|(id, _)| !all.contains_key(*id))
        // A visit that has departed is over, and one after the last listed visit may still exist.
        .filter(|(_, visit)| visit.leaves.is_none_or(|leaves| leaves >= now))
        .filter(|(_, visit)| !is_full || visit.leaves <= last)
        .collect();
    gone.sort_unstable_by_key(|(id, _)| *id);
    stop.cancellations = gone
        .into_iter()
        .map(|(id, visit)| MonitoredStopVisitCancellation {
            recorded_at_time,
            item_ref: Some(id.clone()),
            monitoring_ref: monitoring_ref.clone(),
            line_ref: visit.line.clone(),
            // The schema requires a direction with a line.
            direction_ref: visit
                .line
                .as_ref()
                .map(|_| visit.direction.clone().unwrap_or(SmolStr::new_static(NO_DIRECTION))),
            ..MonitoredStopVisitCancellation::default()
        })
        .collect();
    all
}

fn reported_visit(visit: &MonitoredStopVisit) -> ReportedVisit {
    let journey = visit.monitored_vehicle_journey.as_ref();
    let beside = MonitoredStopVisit {
        recorded_at_time: None,
        monitored_vehicle_journey: None,
        ..visit.clone()
    };
    let none = VehicleJourney::default();
    ReportedVisit {
        told: ReportedJourney::from_journey(
            journey.map_or(&none, |journey| journey),
            &format!("{beside:?}"),
        ),
        leaves: departure_time(visit),
        line: journey.and_then(|journey| journey.line_ref.clone()),
        direction: journey.and_then(|journey| journey.direction_ref.clone()),
    }
}

fn departure_time(visit: &MonitoredStopVisit) -> Option<i64> {
    let call = visit.monitored_vehicle_journey.as_ref()?.monitored_call.as_ref()?;
    let time = call.expected_departure_time.or(call.aimed_departure_time)?;
    Some(time.as_seconds())
}

#[cfg(test)]
mod tests {
    use lineside_formats::siri::{SiriCall, SiriTime};

    use super::*;

    fn visit(id: &str, leaves: i64, recorded: i64) -> MonitoredStopVisit {
        let time = |seconds: i64| SiriTime::from_millis(seconds * 1_000);
        let call = SiriCall { expected_departure_time: time(leaves), ..SiriCall::default() };
        let journey = VehicleJourney {
            line_ref: Some("L".into()),
            monitored_call: Some(Box::new(call)),
            ..VehicleJourney::default()
        };
        MonitoredStopVisit {
            recorded_at_time: time(recorded),
            item_identifier: Some(id.into()),
            monitored_vehicle_journey: Some(Box::new(journey)),
            ..MonitoredStopVisit::default()
        }
    }

    /// Returns the ids of the sent visits and of the cancellations at `now`.
    fn tell(
        known: &mut HashMap<SmolStr, ReportedVisit>,
        visits: &[MonitoredStopVisit],
        most: usize,
        now: i64,
    ) -> (Vec<SmolStr>, Vec<SmolStr>) {
        let mut stop = StopMonitoringDelivery {
            monitored_stop_visits: visits.to_vec(),
            ..StopMonitoringDelivery::default()
        };
        *known = retain_changed(&mut stop, known, VisitComparison { most, least: 20, now });
        let told = stop.monitored_stop_visits.into_iter().filter_map(|it| it.item_identifier);
        let gone = stop.cancellations.into_iter().filter_map(|it| it.item_ref);
        (told.collect(), gone.collect())
    }

    #[test]
    fn changed_visits_are_sent_and_visits_removed_early_are_cancelled() {
        let none: [SmolStr; 0] = [];
        let mut known = HashMap::new();
        let (a, b, c) = (visit("a", 100, 0), visit("b", 200, 0), visit("c", 300, 0));
        let first = tell(&mut known, &[a.clone(), b.clone(), c.clone()], 9, 10);
        assert_eq!(first, (vec!["a".into(), "b".into(), "c".into()], none.to_vec()));
        // A new time of recording is not a change; a new departure time is, from the threshold on.
        let (a, late) = (visit("a", 119, 5), visit("b", 250, 5));
        let news = tell(&mut known, &[a, late.clone(), c.clone()], 9, 25);
        assert_eq!(news, (vec!["b".into()], none.to_vec()));
        // The first visit has departed, the last one is cancelled.
        let news = tell(&mut known, std::slice::from_ref(&late), 9, 120);
        assert_eq!(news, (none.to_vec(), vec!["c".into()]));
        // A visit that another one pushes out of the list is not cancelled.
        let other = visit("d", 240, 120);
        let news = tell(&mut known, &[other], 1, 130);
        assert_eq!(news, (vec!["d".into()], none.to_vec()));
    }
}
