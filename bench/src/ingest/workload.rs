//! Real-time messages for a city's schedule, with given numbers of trips, vehicles and changes.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::Arc,
};

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use jiff::civil::Date;
use lineside_formats::gtfs::{Timetable, TripIdx};
use lineside_formats::gtfs_rt::proto::{
    FeedEntity, FeedHeader, FeedMessage, Position, TripDescriptor, TripUpdate, VehicleDescriptor,
    VehiclePosition,
    trip_update::{StopTimeEvent, StopTimeUpdate},
};
use lineside_hub::encode_segment;
use lineside_model::{Dataset, FeedId, GeohashCell};
use lineside_sync::UnixMillis;
use prost::Message as _;

/// The schedule's feed, which names the network.
pub(super) const SCHEDULE: &str = "city";
/// The feed of the messages.
pub(super) const REALTIME: &str = "city-realtime";
/// Seconds between two polls.
pub(super) const POLL_SECONDS: i64 = 15;
/// Predicted calls of a trip update.
const CALLS: usize = 20;
/// Days that are searched for a busy one.
const DAYS: i32 = 14;
/// The time of day of the measurement, in seconds.
const MORNING: i32 = 8 * 3_600;
/// Steps of a vehicle from one stop to the next.
const STEPS: usize = 10;
/// The geohash length of the subscribed cells.
const CELL_CHARS: u32 = 5;

/// A schedule with the runs in the messages.
pub(super) struct City {
    pub(super) dataset: Arc<Dataset>,
    /// The wall clock at the first poll, Unix seconds.
    pub(super) start: i64,
    runs: Vec<Run>,
}

/// One trip on one day.
struct Run {
    trip: TripIdx,
    date: Date,
}

/// One call of a run.
struct Call<'a> {
    stop_id: &'a str,
    stop_sequence: u32,
    arrival: i64,
    departure: i64,
    place: (f64, f64),
}

impl City {
    /// Loads the schedule in `zip`, with `n` runs: those of the busiest morning with at least `CALLS` calls first, then
    /// others.
    pub(super) fn load(zip: &Path, n: usize) -> anyhow::Result<City> {
        let bytes = fs::read(zip).with_context(|| format!("{}", zip.display()))?;
        let feed = FeedId::new(SCHEDULE)?;
        let dataset = Dataset::decode_gtfs_zip(feed, bytes.into(), UnixMillis(0))?;
        let timetable = &dataset.timetable;
        let (date, start) = busiest_morning(timetable)?;
        let under_way = timetable.active_trips_between(start, start + 2 * 3_600);
        let mut runs: Vec<Run> = under_way
            .into_iter()
            .filter(|run| run.start_time.is_none())
            .map(|run| Run { trip: run.trip, date: run.service_date })
            .collect();
        let known: BTreeSet<TripIdx> = runs.iter().map(|run| run.trip).collect();
        let others = timetable.trips().map(|trip| trip.idx).filter(|trip| !known.contains(trip));
        runs.extend(others.map(|trip| Run { trip, date }));
        runs.retain(|run| timetable.trip_stop_times(run.trip).len() > 1);
        runs.sort_by_key(|run| timetable.trip_stop_times(run.trip).len() < CALLS);
        runs.truncate(n);
        ensure!(runs.len() == n, "the schedule has {} trips, not {n}", runs.len());
        Ok(City { dataset: Arc::new(dataset), start, runs })
    }

    /// Returns the time of poll `poll`, Unix seconds.
    pub(super) fn time(&self, poll: usize) -> i64 {
        self.start + POLL_SECONDS * poll as i64
    }

    /// Returns trip updates of the first `n` runs. From one poll to the next, one run in `every` changes in all its
    /// calls; the others are identical, byte for byte.
    pub(super) fn trip_updates(&self, poll: usize, n: usize, every: usize) -> Bytes {
        let entities = self.runs.iter().take(n).enumerate().map(|(i, run)| {
            let n_changes = (poll + i) / every;
            self.trip_update(run, i, n_changes, self.time(n_changes * every))
        });
        self.message(poll, entities)
    }

    /// Returns the number of the first runs that have `calls` calls together.
    pub(super) fn runs_with_calls(&self, calls: usize) -> usize {
        let mut sum = 0;
        let enough = self.runs.iter().position(|run| {
            sum += self.calls(run).count();
            sum >= calls
        });
        enough.map_or(self.runs.len(), |at| at + 1)
    }

    /// Returns positions of the first `n` runs' vehicles, each moved since the previous poll.
    pub(super) fn vehicles(&self, poll: usize, n: usize) -> Bytes {
        let runs = self.runs.iter().take(n).enumerate();
        self.message(poll, runs.map(|(i, run)| self.vehicle(run, i, poll)))
    }

    /// Returns the channels of the feeds, routes, stops or areas of the first `n` runs, the busiest first.
    pub(super) fn channels(&self, what: &str, n: usize) -> Vec<String> {
        let timetable = &self.dataset.timetable;
        let mut uses: BTreeMap<String, usize> = BTreeMap::new();
        let mut used = |channel: String| *uses.entry(channel).or_default() += 1;
        for run in self.runs.iter().take(n) {
            match what {
                "feeds" => used(format!("feed/{SCHEDULE}")),
                "routes" => {
                    let route = timetable.route(timetable.trip(run.trip).route);
                    used(format!("route/{SCHEDULE}/{}", encode_segment(route.id)));
                }
                "stops" => self.calls(run).for_each(|call| {
                    used(format!("stop/{SCHEDULE}/{}", encode_segment(call.stop_id)));
                }),
                _ => self.calls(run).for_each(|call| {
                    let cell = GeohashCell::from_point(call.place.0, call.place.1, CELL_CHARS);
                    used(format!("area/{cell}"));
                }),
            }
        }
        let mut channels: Vec<_> = uses.into_iter().collect();
        channels.sort_by_key(|(_, uses)| Reverse(*uses));
        channels.into_iter().map(|(channel, _)| channel).collect()
    }

    fn calls<'a>(&'a self, run: &'a Run) -> impl Iterator<Item = Call<'a>> {
        let timetable = &self.dataset.timetable;
        timetable.trip_stop_times(run.trip).take(CALLS).map(|call| {
            let stop = timetable.stop(call.stop);
            let departure = call.departure.or(call.arrival).unwrap_or(MORNING);
            Call {
                stop_id: stop.id,
                stop_sequence: call.stop_sequence,
                arrival: timetable
                    .service_time_to_unix(run.date, call.arrival.unwrap_or(departure)),
                departure: timetable.service_time_to_unix(run.date, departure),
                place: (stop.lat.unwrap_or_default(), stop.lon.unwrap_or_default()),
            }
        })
    }

    fn trip_update(&self, run: &Run, i: usize, n_changes: usize, at: i64) -> FeedEntity {
        let delay = ((i * 13 + n_changes * 7) % 600) as i32 - 60;
        let event = |time: i64| StopTimeEvent {
            delay: Some(delay),
            time: Some(time + i64::from(delay)),
            ..StopTimeEvent::default()
        };
        let stop_time_update = self.calls(run).map(|call| StopTimeUpdate {
            stop_sequence: Some(call.stop_sequence),
            stop_id: Some(call.stop_id.to_owned()),
            arrival: Some(event(call.arrival)),
            departure: Some(event(call.departure)),
            ..StopTimeUpdate::default()
        });
        let trip_update = TripUpdate {
            trip: self.trip(run),
            stop_time_update: stop_time_update.collect(),
            vehicle: Some(vehicle_descriptor(i)),
            timestamp: u64::try_from(at).ok(),
            ..TripUpdate::default()
        };
        FeedEntity { id: format!("u{i}"), trip_update: Some(trip_update), ..FeedEntity::default() }
    }

    fn vehicle(&self, run: &Run, i: usize, poll: usize) -> FeedEntity {
        let calls: Vec<_> = self.calls(run).collect();
        let step = (i * 7 + poll * 3) % (STEPS * (calls.len() - 1));
        let (from, to) = (&calls[step / STEPS], &calls[step / STEPS + 1]);
        let part = (step % STEPS) as f64 / STEPS as f64;
        let between = |from: f64, to: f64| (from + (to - from) * part) as f32;
        let vehicle = VehiclePosition {
            trip: Some(self.trip(run)),
            vehicle: Some(vehicle_descriptor(i)),
            position: Some(Position {
                latitude: between(from.place.0, to.place.0),
                longitude: between(from.place.1, to.place.1),
                bearing: Some((step % 360) as f32),
                speed: Some(8.5),
                ..Position::default()
            }),
            current_stop_sequence: Some(to.stop_sequence),
            stop_id: Some(to.stop_id.to_owned()),
            timestamp: u64::try_from(self.time(poll)).ok(),
            ..VehiclePosition::default()
        };
        FeedEntity { id: format!("v{i}"), vehicle: Some(vehicle), ..FeedEntity::default() }
    }

    fn trip(&self, run: &Run) -> TripDescriptor {
        let timetable = &self.dataset.timetable;
        let trip = timetable.trip(run.trip);
        TripDescriptor {
            trip_id: Some(trip.id.to_owned()),
            route_id: Some(timetable.route(trip.route).id.to_owned()),
            start_date: Some(run.date.strftime("%Y%m%d").to_string()),
            ..TripDescriptor::default()
        }
    }

    fn message(&self, poll: usize, entities: impl Iterator<Item = FeedEntity>) -> Bytes {
        let header = FeedHeader {
            gtfs_realtime_version: "2.0".to_owned(),
            timestamp: u64::try_from(self.time(poll)).ok(),
            ..FeedHeader::default()
        };
        FeedMessage { header, entity: entities.collect() }.encode_to_vec().into()
    }
}

fn vehicle_descriptor(i: usize) -> VehicleDescriptor {
    VehicleDescriptor {
        id: Some(format!("vehicle-{i}")),
        label: Some(format!("{i}")),
        ..VehicleDescriptor::default()
    }
}

/// Returns the day with most running trips in the morning, and the time in Unix seconds.
fn busiest_morning(timetable: &Timetable) -> anyhow::Result<(Date, i64)> {
    let (first, last) = timetable.service_date_range().context("the schedule has service days")?;
    let days = (0..DAYS).filter_map(|day| first.checked_add(jiff::Span::new().days(day)).ok());
    let busiest = days.filter(|day| *day <= last).max_by_key(|&day| {
        timetable.active_trips_at(timetable.service_time_to_unix(day, MORNING)).len()
    });
    let day = busiest.context("the schedule has a first day")?;
    Ok((day, timetable.service_time_to_unix(day, MORNING)))
}
