//! What a subscriber has not been told: of records those that are newer, of a stop's visits those that differ and those that
//! are gone before their time; or, where it wants that, all of them whenever something of them is news.

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

/// What a subscriber knows. Bound: a number per network, as many visits as one answer holds, and [`ReportedJourneys`].
#[derive(Clone, Debug, Default)]
pub(super) struct SubscriberState {
    records: Known,
    visits: HashMap<SmolStr, ReportedVisit>,
    /// Journeys as they were told, where small changes do not count.
    journeys: ReportedJourneys,
    /// Which records there were when all of them was told last, as a hash.
    set: u128,
    /// Whether all of them is being told, in parts.
    is_amid: bool,
    is_begun: bool,
}

/// A visit as it was told.
#[derive(Clone, Debug)]
struct ReportedVisit {
    told: ReportedJourney,
    /// When it leaves, Unix seconds.
    leaves: Option<i64>,
    line: Option<SmolStr>,
    direction: Option<SmolStr>,
}

/// What there is to tell, and what is known then.
#[derive(Debug)]
pub(super) struct PendingUpdate {
    /// Nothing where there is nothing to tell.
    pub(super) delivery: Option<ServiceDelivery>,
    pub(super) memory: SubscriberState,
    pub(super) has_more: bool,
}

impl PendingUpdate {
    /// There is nothing to tell.
    fn unchanged(memory: SubscriberState) -> Self {
        Self { delivery: None, memory, has_more: false }
    }
}

/// The news; none where what is asked for means nothing any more.
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

/// How records are told.
#[derive(Clone, Copy)]
struct UpdateQuery<'a> {
    scene: &'a SiriSnapshot,
    service: SiriOutput,
    asked: &'a SiriQuery,
    manner: UpdatePolicy,
}

impl UpdateQuery<'_> {
    /// What is newer than what is known, as much as one delivery holds.
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

    /// The first part of all that there is, if something of it is news.
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
        // It is told even where it has become nothing.
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

/// How visits are compared with those that are known.
#[derive(Clone, Copy)]
struct VisitComparison {
    /// How many are asked for at most.
    most: usize,
    /// Seconds by which a time has to differ.
    least: u32,
    /// Unix seconds.
    now: i64,
}

/// Leaves in a delivery of all visits what is not known, and takes back what is gone before its time. Gives all visits, each
/// as it was told.
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
        // What has left is over, and what comes after the last that is asked for may still be there.
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
            // A line stands with its direction.
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

    /// What is told of these visits at `now`, and what is taken back.
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
    fn visits_are_told_when_they_change_and_taken_back_when_they_go_before_their_time() {
        let none: [SmolStr; 0] = [];
        let mut known = HashMap::new();
        let (a, b, c) = (visit("a", 100, 0), visit("b", 200, 0), visit("c", 300, 0));
        let first = tell(&mut known, &[a.clone(), b.clone(), c.clone()], 9, 10);
        assert_eq!(first, (vec!["a".into(), "b".into(), "c".into()], none.to_vec()));
        // Another time of recording is no news, another time of departure is, if it is far enough from the one before.
        let (a, late) = (visit("a", 119, 5), visit("b", 250, 5));
        let news = tell(&mut known, &[a, late.clone(), c.clone()], 9, 25);
        assert_eq!(news, (vec!["b".into()], none.to_vec()));
        // The first has left, the last does not come.
        let news = tell(&mut known, std::slice::from_ref(&late), 9, 120);
        assert_eq!(news, (none.to_vec(), vec!["c".into()]));
        // What is pushed out of the list by another is not gone.
        let other = visit("d", 240, 120);
        let news = tell(&mut known, &[other], 1, 130);
        assert_eq!(news, (vec!["d".into()], none.to_vec()));
    }
}
