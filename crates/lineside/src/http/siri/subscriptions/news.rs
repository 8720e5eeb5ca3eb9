//! What a subscriber has not been told: of records those that are newer, of a stop's visits those that differ and those that
//! are gone before their time; or, where it wants that, all of them whenever something of them is news.

use std::collections::HashMap;

use lineside_formats::siri::{
    MonitoredStopVisit, MonitoredStopVisitCancellation, ServiceDelivery, StopMonitoringDelivery,
    VehicleJourney,
};
use lineside_ingest::siri::{NO_DIRECTION, Service};
use smol_str::SmolStr;

use super::super::answer::{self, AnswerRoom, Known, n_elements};
use super::super::asked::{Asked, Subject};
use super::super::fault::Fault;
use super::super::scene::Scene;
use super::change::{Journeys, Told};
use super::manner::Manner;

/// What a subscriber knows. Bound: a number per network, as many visits as one answer holds, and [`Journeys`].
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    records: Known,
    visits: HashMap<SmolStr, Visit>,
    /// Journeys as they were told, where small changes do not count.
    journeys: Journeys,
    /// Which records there were when all of them was told last, as a hash.
    set: u128,
    /// Whether all of them is being told, in parts.
    is_amid: bool,
    is_begun: bool,
}

/// A visit as it was told.
#[derive(Clone, Debug)]
struct Visit {
    told: Told,
    /// When it leaves, Unix seconds.
    leaves: Option<i64>,
    line: Option<SmolStr>,
    direction: Option<SmolStr>,
}

/// What there is to tell, and what is known then.
#[derive(Debug)]
pub(super) struct News {
    /// Nothing where there is nothing to tell.
    pub(super) delivery: Option<ServiceDelivery>,
    pub(super) memory: Memory,
    pub(super) has_more: bool,
}

impl News {
    /// There is nothing to tell.
    fn none(memory: Memory) -> Self {
        Self { delivery: None, memory, has_more: false }
    }
}

/// The news; none where what is asked for means nothing any more.
pub(super) fn news(
    scene: &Scene,
    subject: Subject,
    asked: &Asked,
    manner: Manner,
    memory: &Memory,
) -> Option<News> {
    match subject {
        Subject::Records(service) => {
            let telling = Telling { scene, service, asked, manner };
            if manner.is_incremental || memory.is_amid {
                telling.part(memory.clone()).ok()
            } else {
                telling.whole(memory).ok()
            }
        }
        Subject::Visits => visits(scene, asked, manner, memory),
        Subject::Lines | Subject::StopPoints => None,
    }
}

/// How records are told.
#[derive(Clone, Copy)]
struct Telling<'a> {
    scene: &'a Scene,
    service: Service,
    asked: &'a Asked,
    manner: Manner,
}

impl Telling<'_> {
    /// What is newer than what is known, as much as one delivery holds.
    fn part(self, mut memory: Memory) -> Result<News, Fault> {
        let Self { scene, service, asked, manner } = self;
        let most = answer::part_max(service);
        let told = answer::records(scene, service, asked, &memory.records, most)?;
        let has_more = told.delivery.more_data == Some(true);
        let mut delivery = told.delivery;
        let is_whole = !manner.is_incremental && memory.is_amid;
        if manner.least_change > 0 {
            let journeys = &mut memory.journeys;
            let now = scene.at.seconds();
            journeys.forget_over(now);
            for timetable in &mut delivery.estimated_timetables {
                for frame in &mut timetable.frames {
                    frame.estimated_vehicle_journeys.retain(|journey| {
                        journeys.tell(journey, manner.least_change, now) || is_whole
                    });
                }
                timetable.frames.retain(|frame| !frame.estimated_vehicle_journeys.is_empty());
            }
        }
        let is_due = n_elements(&delivery) > 0 || !memory.is_begun;
        let is_amid = memory.is_amid && has_more;
        let memory = Memory { records: told.known, is_begun: true, is_amid, ..memory };
        Ok(News { delivery: is_due.then_some(delivery), memory, has_more })
    }

    /// The first part of all that there is, if something of it is news.
    fn whole(self, memory: &Memory) -> Result<News, Fault> {
        let Self { scene, service, asked, .. } = self;
        let set = answer::set_of(scene, service, asked)?;
        if memory.is_begun && set == memory.set {
            let changed = self.part(memory.clone())?;
            if changed.delivery.is_none() && !changed.has_more {
                return Ok(News::none(changed.memory));
            }
        }
        let journeys = memory.journeys.clone();
        // It is told even where it has become nothing.
        let from_the_beginning = Memory { set, journeys, is_amid: true, ..Memory::default() };
        self.part(from_the_beginning)
    }
}

fn visits(scene: &Scene, asked: &Asked, manner: Manner, memory: &Memory) -> Option<News> {
    let room = AnswerRoom::for_whole(Subject::Visits).records;
    let mut delivery = answer::find_first_visits(scene, asked, room).ok()?;
    let stop = delivery.stop_monitorings.first_mut()?;
    let all = (!manner.is_incremental).then(|| stop.monitored_stop_visits.clone());
    let look =
        Look { most: asked.visits_max(), least: manner.least_change, now: scene.at.seconds() };
    let visits = changed(stop, &memory.visits, look);
    let is_due = !stop.monitored_stop_visits.is_empty() || !stop.cancellations.is_empty();
    if let Some(all) = all {
        stop.monitored_stop_visits = all;
    }
    let delivery = (is_due || !memory.is_begun).then_some(delivery);
    let memory = Memory { visits, is_begun: true, ..Memory::default() };
    Some(News { delivery, memory, has_more: false })
}

/// How visits are compared with those that are known.
#[derive(Clone, Copy)]
struct Look {
    /// How many are asked for at most.
    most: usize,
    /// Seconds by which a time has to differ.
    least: u32,
    /// Unix seconds.
    now: i64,
}

/// Leaves in a delivery of all visits what is not known, and takes back what is gone before its time. Gives all visits, each
/// as it was told.
fn changed(
    stop: &mut StopMonitoringDelivery,
    known: &HashMap<SmolStr, Visit>,
    look: Look,
) -> HashMap<SmolStr, Visit> {
    let Look { most, least, now } = look;
    let is_full = stop.monitored_stop_visits.len() >= most;
    let last = stop.monitored_stop_visits.iter().filter_map(leaves).max();
    let mut all: HashMap<SmolStr, Visit> = HashMap::new();
    stop.monitored_stop_visits.retain(|visit| {
        let Some(id) = &visit.item_identifier else { return true };
        let (now, before) = (told(visit), known.get(id));
        let before = before.filter(|before| !now.told.is_news_after(&before.told, least));
        let is_news = before.is_none();
        let told = before.map_or_else(|| now.told.clone(), |before| before.told.clone());
        all.insert(id.clone(), Visit { told, ..now });
        is_news
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
    let journey = visit.monitored_vehicle_journey.as_ref();
    let beside = MonitoredStopVisit {
        recorded_at_time: None,
        monitored_vehicle_journey: None,
        ..visit.clone()
    };
    let none = VehicleJourney::default();
    Visit {
        told: Told::of(journey.map_or(&none, |journey| journey), &format!("{beside:?}")),
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
    use lineside_formats::siri::{Call, Time};

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
        *known = changed(&mut stop, known, Look { most, least: 20, now });
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
