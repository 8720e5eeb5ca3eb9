//! What a subscriber has not been told: of records those that are newer, of a stop's visits those that differ and those that
//! are gone before their time.

use std::collections::HashMap;

use lineside_formats::siri::{
    MonitoredStopVisit, MonitoredStopVisitCancellation, ServiceDelivery, StopMonitoringDelivery,
};
use lineside_ingest::siri::NO_DIRECTION;
use smol_str::SmolStr;
use xxhash_rust::xxh3::xxh3_128;

use super::super::answer::{self, Known};
use super::super::asked::{Asked, Subject};
use super::super::scene::Scene;

/// What a subscriber knows. Bound: a number per network, and as many visits as one answer holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    records: Known,
    visits: HashMap<SmolStr, Visit>,
    is_begun: bool,
}

/// A visit as it was told.
#[derive(Clone, Debug)]
struct Visit {
    /// Of all but the time at which it was recorded.
    hash: u128,
    /// When it leaves, Unix seconds.
    leaves: Option<i64>,
    line: Option<SmolStr>,
    direction: Option<SmolStr>,
}

/// What there is to tell, and what is known then.
#[derive(Debug)]
pub(super) struct News {
    pub(super) delivery: ServiceDelivery,
    pub(super) memory: Memory,
    pub(super) has_more: bool,
}

impl Memory {
    /// Whether something was told already.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun
    }
}

/// The news; none where what is asked for means nothing any more.
pub(super) fn news(
    scene: &Scene,
    subject: Subject,
    asked: &Asked,
    memory: &Memory,
) -> Option<News> {
    match subject {
        Subject::Records(service) => {
            let told = answer::records(scene, service, asked, &memory.records).ok()?;
            let has_more = told.delivery.more_data == Some(true);
            let memory = Memory { records: told.known, is_begun: true, ..Memory::default() };
            Some(News { delivery: told.delivery, memory, has_more })
        }
        Subject::Visits => {
            let room = answer::room(subject);
            let mut delivery = answer::delivery(scene, subject, asked, room).ok()?;
            let stop = delivery.stop_monitorings.first_mut()?;
            let visits = changed(stop, &memory.visits, asked.visits_max(), scene.at.seconds());
            // A part of what is there is all that is asked for.
            delivery.more_data = None;
            let memory = Memory { visits, is_begun: true, ..Memory::default() };
            Some(News { delivery, memory, has_more: false })
        }
        Subject::Lines | Subject::StopPoints => None,
    }
}

/// Leaves in a delivery of all visits, at most `most`, what is not known, and takes back what is gone before its time. Gives
/// all visits.
fn changed(
    stop: &mut StopMonitoringDelivery,
    known: &HashMap<SmolStr, Visit>,
    most: usize,
    now: i64,
) -> HashMap<SmolStr, Visit> {
    let is_full = stop.monitored_stop_visits.len() >= most;
    let last = stop.monitored_stop_visits.iter().filter_map(leaves).max();
    let all: HashMap<SmolStr, Visit> = stop
        .monitored_stop_visits
        .iter()
        .filter_map(|visit| Some((visit.item_identifier.clone()?, told(visit))))
        .collect();
    stop.monitored_stop_visits.retain(|visit| {
        let before = visit.item_identifier.as_ref().and_then(|id| known.get(id));
        before.is_none_or(|before| before.hash != told(visit).hash)
    });
    let recorded_at_time = stop.head.response_timestamp;
    let monitoring_ref = stop.monitoring_refs.first().cloned();
    let mut gone: Vec<(&SmolStr, &Visit)> = known
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

fn told(visit: &MonitoredStopVisit) -> Visit {
    let timeless = MonitoredStopVisit { recorded_at_time: None, ..visit.clone() };
    let journey = visit.monitored_vehicle_journey.as_ref();
    Visit {
        hash: xxh3_128(format!("{timeless:?}").as_bytes()),
        leaves: leaves(visit),
        line: journey.and_then(|journey| journey.line_ref.clone()),
        direction: journey.and_then(|journey| journey.direction_ref.clone()),
    }
}

fn leaves(visit: &MonitoredStopVisit) -> Option<i64> {
    let call = visit.monitored_vehicle_journey.as_ref()?.monitored_call.as_ref()?;
    let time = call.expected_departure_time.or(call.aimed_departure_time)?;
    Some(time.as_seconds())
}

#[cfg(test)]
mod tests {
    use lineside_formats::siri::{Call, Time, VehicleJourney};

    use super::*;

    fn visit(id: &str, leaves: i64, recorded: i64) -> MonitoredStopVisit {
        let time = |seconds: i64| Time::from_millis(seconds * 1_000);
        let call = Call { expected_departure_time: time(leaves), ..Call::default() };
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
        known: &mut HashMap<SmolStr, Visit>,
        visits: &[MonitoredStopVisit],
        most: usize,
        now: i64,
    ) -> (Vec<SmolStr>, Vec<SmolStr>) {
        let mut stop = StopMonitoringDelivery {
            monitored_stop_visits: visits.to_vec(),
            ..StopMonitoringDelivery::default()
        };
        *known = changed(&mut stop, known, most, now);
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
        // Another time of recording is no news, another time of departure is.
        let (a, late) = (visit("a", 100, 5), visit("b", 250, 5));
        let news = tell(&mut known, &[a, late.clone(), c.clone()], 9, 20);
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
