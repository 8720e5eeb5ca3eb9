//! The updates of a subscription: newer records; or a stop's visits that changed, and cancellations of visits that
//! disappeared early; or everything after any change, if the subscriber wants that.

use std::collections::HashMap;

use lineside_formats::siri::{
    MonitoredStopVisit, MonitoredStopVisitCancellation, ServiceDelivery, StopMonitoringDelivery,
    VehicleJourney,
};
use lineside_model::siri_output::{NO_DIRECTION, SiriOutput};
use smol_str::SmolStr;

use super::super::deliveries::{self, ConsumerPositions, ReplySizeLimit, count_elements};
use super::super::fault::SiriFault;
use super::super::query::{QuerySubject, SiriQuery};
use super::super::snapshot::SiriSnapshot;
use super::reported_journeys::{ReportedJourney, ReportedJourneys};
use super::update_policy::UpdatePolicy;

/// The position of a subscriber. Bound: a number per network, the visits of one delivery, and [`ReportedJourneys`].
#[derive(Clone, Debug, Default)]
pub(super) struct SubscriberState {
    positions: ConsumerPositions,
    visits: HashMap<SmolStr, ReportedVisit>,
    /// Journeys as last sent, if small changes are suppressed.
    journeys: ReportedJourneys,
    /// Hash of the record ids in the last complete delivery.
    record_set_hash: u128,
    /// True while a complete delivery is sent in parts.
    is_delivery_partial: bool,
    has_delivered: bool,
}

/// A visit as it was last sent.
#[derive(Clone, Debug)]
struct ReportedVisit {
    journey: ReportedJourney,
    /// Departure time, Unix seconds.
    departs_at: Option<i64>,
    line: Option<SmolStr>,
    direction: Option<SmolStr>,
}

/// An update, and the subscriber's position after it.
#[derive(Debug)]
pub(super) struct PendingUpdate {
    /// `None` if there is nothing to send.
    pub(super) delivery: Option<ServiceDelivery>,
    pub(super) state: SubscriberState,
    pub(super) has_more: bool,
}

impl PendingUpdate {
    fn without_delivery(memory: SubscriberState) -> Self {
        Self { delivery: None, state: memory, has_more: false }
    }
}

/// Finds the updates; `None` if the query's references are no longer valid.
pub(super) fn find_updates(
    snapshot: &SiriSnapshot,
    subject: QuerySubject,
    query: &SiriQuery,
    update_policy: UpdatePolicy,
    memory: &SubscriberState,
) -> Option<PendingUpdate> {
    match subject {
        QuerySubject::Records(service) => {
            let update_query = RecordUpdateQuery { snapshot, service, query, update_policy };
            if update_policy.is_incremental || memory.is_delivery_partial {
                update_query.find_next_part_update(memory.clone()).ok()
            } else {
                update_query.find_complete_update(memory).ok()
            }
        }
        QuerySubject::Visits => find_visit_updates(snapshot, query, update_policy, memory),
        QuerySubject::Lines | QuerySubject::StopPoints => None,
    }
}

/// The query for updates of records.
#[derive(Clone, Copy)]
struct RecordUpdateQuery<'a> {
    snapshot: &'a SiriSnapshot,
    service: SiriOutput,
    query: &'a SiriQuery,
    update_policy: UpdatePolicy,
}

impl RecordUpdateQuery<'_> {
    /// Finds the records after the subscriber's position, up to the size of one delivery.
    fn find_next_part_update(
        self,
        mut memory: SubscriberState,
    ) -> Result<PendingUpdate, SiriFault> {
        let Self { snapshot, service, query, update_policy } = self;
        let records_max = deliveries::part_records_max(service);
        let delivered = deliveries::find_records_after_position(
            snapshot,
            service,
            query,
            &memory.positions,
            records_max,
        )?;
        let has_more = delivered.delivery.more_data == Some(true);
        let mut delivery = delivered.delivery;
        let is_whole = !update_policy.is_incremental && memory.is_delivery_partial;
        if update_policy.change_min > 0 {
            let journeys = &mut memory.journeys;
            let now = snapshot.at.unix_seconds();
            journeys.forget_past_journeys(now);
            for timetable in &mut delivery.estimated_timetables {
                for frame in &mut timetable.frames {
                    frame.estimated_vehicle_journeys.retain(|journey| {
                        journeys.remember_if_changed(journey, update_policy.change_min, now)
                            || is_whole
                    });
                }
                timetable.frames.retain(|frame| !frame.estimated_vehicle_journeys.is_empty());
            }
        }
        let is_due = count_elements(&delivery) > 0 || !memory.has_delivered;
        let is_delivery_partial = memory.is_delivery_partial && has_more;
        let memory = SubscriberState {
            positions: delivered.positions,
            has_delivered: true,
            is_delivery_partial,
            ..memory
        };
        Ok(PendingUpdate { delivery: is_due.then_some(delivery), state: memory, has_more })
    }

    /// Finds the first part of a complete delivery, if anything changed.
    fn find_complete_update(self, memory: &SubscriberState) -> Result<PendingUpdate, SiriFault> {
        let Self { snapshot, service, query, .. } = self;
        let set = deliveries::hash_record_ids(snapshot, service, query)?;
        if memory.has_delivered && set == memory.record_set_hash {
            let changed = self.find_next_part_update(memory.clone())?;
            if changed.delivery.is_none() && !changed.has_more {
                return Ok(PendingUpdate::without_delivery(changed.state));
            }
        }
        let journeys = memory.journeys.clone();
        // The delivery is sent even if it is empty by now.
        let from_the_beginning = SubscriberState {
            record_set_hash: set,
            journeys,
            is_delivery_partial: true,
            ..SubscriberState::default()
        };
        self.find_next_part_update(from_the_beginning)
    }
}

fn find_visit_updates(
    snapshot: &SiriSnapshot,
    query: &SiriQuery,
    update_policy: UpdatePolicy,
    memory: &SubscriberState,
) -> Option<PendingUpdate> {
    let count_max = ReplySizeLimit::for_complete_reply(QuerySubject::Visits).records;
    let mut delivery = deliveries::find_first_visits(snapshot, query, count_max).ok()?;
    let stop = delivery.stop_monitorings.first_mut()?;
    let all = (!update_policy.is_incremental).then(|| stop.monitored_stop_visits.clone());
    let comparison = VisitChangeCriteria {
        visits_max: query.visits_max(),
        change_min: update_policy.change_min,
        now: snapshot.at.unix_seconds(),
    };
    let visits = retain_changed_visits(stop, &memory.visits, comparison);
    let is_due = !stop.monitored_stop_visits.is_empty() || !stop.cancellations.is_empty();
    if let Some(all) = all {
        stop.monitored_stop_visits = all;
    }
    let delivery = (is_due || !memory.has_delivered).then_some(delivery);
    let memory = SubscriberState { visits, has_delivered: true, ..SubscriberState::default() };
    Some(PendingUpdate { delivery, state: memory, has_more: false })
}

#[derive(Clone, Copy)]
struct VisitChangeCriteria {
    /// Largest number of visits in the query.
    visits_max: usize,
    /// Threshold of time changes, in seconds.
    change_min: u32,
    /// Current time, Unix seconds.
    now: i64,
}

/// Retains only changed visits in a delivery of all visits, and adds cancellations of visits that disappeared early.
/// Returns all visits as they were last sent.
fn retain_changed_visits(
    stop: &mut StopMonitoringDelivery,
    known: &HashMap<SmolStr, ReportedVisit>,
    comparison: VisitChangeCriteria,
) -> HashMap<SmolStr, ReportedVisit> {
    let VisitChangeCriteria { visits_max, change_min, now } = comparison;
    let is_full = stop.monitored_stop_visits.len() >= visits_max;
    let last = stop.monitored_stop_visits.iter().filter_map(visit_departure_time).max();
    let mut all: HashMap<SmolStr, ReportedVisit> = HashMap::new();
    stop.monitored_stop_visits.retain(|visit| {
        let Some(id) = &visit.item_identifier else { return true };
        let (now, before) = (to_reported_visit(visit), known.get(id));
        let before =
            before.filter(|before| !now.journey.is_reportable_change(&before.journey, change_min));
        let is_news = before.is_none();
        let journey = before.map_or_else(|| now.journey.clone(), |before| before.journey.clone());
        all.insert(id.clone(), ReportedVisit { journey, ..now });
        is_news
    });
    let recorded_at_time = stop.head.response_timestamp;
    let monitoring_ref = stop.monitoring_refs.first().cloned();
    let mut removed: Vec<(&SmolStr, &ReportedVisit)> = known
        .iter()
        .filter(|(id, _)| !all.contains_key(*id))
        // A visit that has departed is over, and one after the last listed visit may still exist.
        .filter(|(_, visit)| visit.departs_at.is_none_or(|leaves| leaves >= now))
        .filter(|(_, visit)| !is_full || visit.departs_at <= last)
        .collect();
    removed.sort_unstable_by_key(|(id, _)| *id);
    stop.cancellations = removed
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

fn to_reported_visit(visit: &MonitoredStopVisit) -> ReportedVisit {
    let journey = visit.monitored_vehicle_journey.as_ref();
    let reported = MonitoredStopVisit {
        recorded_at_time: None,
        monitored_vehicle_journey: None,
        ..visit.clone()
    };
    let none = VehicleJourney::default();
    ReportedVisit {
        journey: ReportedJourney::from_journey(
            journey.map_or(&none, |journey| journey),
            &format!("{reported:?}"),
        ),
        departs_at: visit_departure_time(visit),
        line: journey.and_then(|journey| journey.line_ref.clone()),
        direction: journey.and_then(|journey| journey.direction_ref.clone()),
    }
}

fn visit_departure_time(visit: &MonitoredStopVisit) -> Option<i64> {
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
    fn find_updates_for(
        known: &mut HashMap<SmolStr, ReportedVisit>,
        visits: &[MonitoredStopVisit],
        visits_max: usize,
        now: i64,
    ) -> (Vec<SmolStr>, Vec<SmolStr>) {
        let mut stop = StopMonitoringDelivery {
            monitored_stop_visits: visits.to_vec(),
            ..StopMonitoringDelivery::default()
        };
        *known = retain_changed_visits(
            &mut stop,
            known,
            VisitChangeCriteria { visits_max, change_min: 20, now },
        );
        let visit_ids = stop.monitored_stop_visits.into_iter().filter_map(|it| it.item_identifier);
        let removed = stop.cancellations.into_iter().filter_map(|it| it.item_ref);
        (visit_ids.collect(), removed.collect())
    }

    #[test]
    fn changed_visits_are_sent_and_visits_removed_early_are_cancelled() {
        let none: [SmolStr; 0] = [];
        let mut known = HashMap::new();
        let (a, b, c) = (visit("a", 100, 0), visit("b", 200, 0), visit("c", 300, 0));
        let first = find_updates_for(&mut known, &[a.clone(), b.clone(), c.clone()], 9, 10);
        assert_eq!(first, (vec!["a".into(), "b".into(), "c".into()], none.to_vec()));
        // A new time of recording is not a change; a new departure time is, from the threshold on.
        let (a, late) = (visit("a", 119, 5), visit("b", 250, 5));
        let changes = find_updates_for(&mut known, &[a, late.clone(), c.clone()], 9, 25);
        assert_eq!(changes, (vec!["b".into()], none.to_vec()));
        // The first visit has departed, the last one is cancelled.
        let changes = find_updates_for(&mut known, std::slice::from_ref(&late), 9, 120);
        assert_eq!(changes, (none.to_vec(), vec!["c".into()]));
        // A visit that another one pushes out of the list is not cancelled.
        let other = visit("d", 240, 120);
        let changes = find_updates_for(&mut known, &[other], 1, 130);
        assert_eq!(changes, (vec!["d".into()], none.to_vec()));
    }
}
