//! From a message's bytes to published changes, synchronously: the cost of one poll for the writer of a network.
//!
//! Contenders process the same bytes alternately, poll by poll. The subscribers' processing of their deliveries is not
//! counted.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use lineside_formats::gtfs_rt::proto::FeedMessage;
use lineside_hub::{
    EncodedChannelName, Epoch, Hub, HubConfig, NewsListener, Session, SessionLimits,
};
use lineside_ingest::{Network, NetworkChannelStates, NetworkWriter};
use lineside_model::FeedId;
use lineside_sync::{Clock as _, SimulatedClock, UnixMillis};
use prost::Message as _;

use super::workload::{City, POLL_SECONDS, REALTIME, SCHEDULE};
use crate::{
    report::{Report, Row},
    rounds::{Effort, median, timed},
};

const TRIPS: usize = 5_000;
/// 5 % of the trips change from poll to poll.
const ONE_IN: usize = 20;
const VEHICLES: usize = 20_000;
const STOP_TIME_CHANGES: usize = 100_000;
const LISTENERS: [usize; 2] = [1, 1_000];
/// Polls of one round.
const POLLS: usize = 10;
/// The allowed cost factor of publishing while there are no listeners.
const NOBODY_FACTOR: f64 = 1.1;
const SEED: u64 = 7;

/// Measures with the schedule in `zip`.
pub(super) fn run(zip: &Path, effort: Effort, report: &mut Report) -> anyhow::Result<()> {
    let shrink = effort.size(20, 1);
    let city = City::load(zip, VEHICLES / shrink)?;
    updates(&city, TRIPS / shrink, effort, report)?;
    vehicles(&city, VEHICLES / shrink, effort, report)?;
    stop_times(&city, STOP_TIME_CHANGES / shrink, effort, report)
}

fn updates(city: &City, n: usize, effort: Effort, report: &mut Report) -> anyhow::Result<()> {
    let feed = city.channels("feeds", n);
    let what = format!("{n} trip updates");
    for (every, changed, judged) in [
        (ONE_IN, "5 % changed", true),
        (usize::MAX, "none changed", false),
        (1, "all changed", false),
    ] {
        let mut ours = [Poller::new("ours", city, Some((&feed, 1)))?];
        let mut decodes = Vec::new();
        let times = take_turns(city, &mut ours, effort, |poll| {
            let body = city.trip_updates(poll, n, every);
            let (decode, message) = timed(|| FeedMessage::decode(body.clone()));
            ensure!(message?.entity.len() == n, "prost reads {n} trip updates");
            decodes.push(decode);
            Ok(body)
        })?;
        let row = Row::new(
            format!("{what}, {changed}: poll to published changes"),
            milliseconds(&times[0]),
            "ms",
        )
        .beside("prost decode", milliseconds(&decodes[1..]));
        report.add(if judged { row.at_most_times(1.0, "prost decode") } else { row });
    }
    Ok(())
}

fn vehicles(city: &City, n: usize, effort: Effort, report: &mut Report) -> anyhow::Result<()> {
    let mut pollers =
        vec![Poller::new("alone", city, None)?, Poller::new("nobody", city, Some((&[], 0)))?];
    for what in ["feeds", "routes", "stops", "areas"] {
        let channels = city.channels(what, n);
        for listeners in LISTENERS {
            let name = format!("{listeners} on {what}");
            let mut poller = Poller::new(&name, city, Some((&channels, listeners)))?;
            // A moving vehicle changes no departure.
            poller.must_hear = what != "stops";
            pollers.push(poller);
        }
    }
    let times = take_turns(city, &mut pollers, effort, |poll| Ok(city.vehicles(poll, n)))?;
    judge(&format!("{n} vehicles, all moving"), &pollers, &times, report);
    Ok(())
}

fn stop_times(city: &City, n: usize, effort: Effort, report: &mut Report) -> anyhow::Result<()> {
    let trips = city.runs_with_calls(n);
    let stops = city.channels("stops", trips);
    let mut pollers =
        vec![Poller::new("alone", city, None)?, Poller::new("nobody", city, Some((&[], 0)))?];
    for listeners in LISTENERS {
        let name = format!("{listeners} stop rooms");
        pollers.push(Poller::new(&name, city, Some((&stops, listeners)))?);
    }
    let times =
        take_turns(city, &mut pollers, effort, |poll| Ok(city.trip_updates(poll, trips, 1)))?;
    judge(&format!("{n} stop-time changes"), &pollers, &times, report);
    Ok(())
}

/// Adds the rows. The first poller only decodes and compares, the second has a hub without listeners.
fn judge(what: &str, pollers: &[Poller], times: &[Vec<Duration>], report: &mut Report) {
    const ALONE: &str = "decode and diff";
    let alone = milliseconds(&times[0]);
    for (poller, times) in pollers.iter().zip(times).skip(1) {
        let row = Row::new(format!("{what}, {}", poller.name), milliseconds(times), "ms");
        let row = row.beside(ALONE, alone);
        let judged = poller.sessions.is_empty();
        report.add(if judged { row.at_most_times(NOBODY_FACTOR, ALONE) } else { row });
    }
}

/// Gives each poller the same bodies alternately; the first body, in which everything is new, is not counted.
fn take_turns(
    city: &City,
    pollers: &mut [Poller],
    effort: Effort,
    mut body: impl FnMut(usize) -> anyhow::Result<Bytes>,
) -> anyhow::Result<Vec<Vec<Duration>>> {
    let mut times = vec![Vec::new(); pollers.len()];
    for poll in 0..=effort.rounds * POLLS {
        let body = body(poll)?;
        let now = UnixMillis(city.time(poll) * 1_000);
        // The order rotates, so that no poller is always the first to touch the bytes.
        for turn in 0..pollers.len() {
            let at = (poll + turn) % pollers.len();
            let elapsed = pollers[at].poll(body.clone(), now)?;
            if poll > 0 {
                times[at].push(elapsed);
            }
        }
    }
    for poller in pollers {
        poller.check_heard()?;
    }
    Ok(times)
}

fn milliseconds(times: &[Duration]) -> f64 {
    median(times.iter().map(Duration::as_secs_f64)) * 1e3
}

/// One network with its writer, its hub and its subscribers.
struct Poller {
    name: String,
    writer: NetworkWriter,
    clock: SimulatedClock,
    sessions: Vec<Session>,
    deliveries: usize,
    /// True if the polls contain changes for the listeners.
    must_hear: bool,
}

/// A listener that is polled and needs no wake-up.
struct Asked;

impl NewsListener for Asked {
    fn signal_news(&self) {}
}

impl Poller {
    /// Creates a poller with a hub and a number of listeners spread over the channels; or without a hub.
    fn new(
        name: &str,
        city: &City,
        audience: Option<(&[String], usize)>,
    ) -> anyhow::Result<Poller> {
        let clock = SimulatedClock::new(UnixMillis(city.start * 1_000));
        let network = Arc::new(Network::new(
            FeedId::new(SCHEDULE)?,
            [FeedId::new(REALTIME)?],
            1,
            Epoch::from_bits(SEED),
            Arc::new(clock.clone()),
        ));
        let hub = audience.map(|_| {
            let source = NetworkChannelStates::new(
                vec![Arc::clone(&network)],
                SEED,
                Arc::new(clock.clone()),
            );
            Hub::new(HubConfig::default(), Arc::new(source), Arc::new(clock.clone()), SEED)
        });
        let mut writer = NetworkWriter::new(network, hub.clone(), SEED);
        writer.apply_dataset(Arc::clone(&city.dataset), clock.wall_time());
        let mut sessions = Vec::new();
        if let (Some(hub), Some((channels, listeners))) = (hub, audience) {
            for name in channels.iter().cycle().take(listeners) {
                let channel =
                    EncodedChannelName::parse_channel_name(name).with_context(|| name.clone())?;
                let mut session = hub.open_session(Arc::new(Asked), SessionLimits::default());
                session.subscribe(&channel, None).with_context(|| name.clone())?;
                sessions.push(session);
            }
        }
        Ok(Poller {
            name: name.to_owned(),
            writer,
            clock,
            sessions,
            deliveries: 0,
            must_hear: true,
        })
    }

    fn poll(&mut self, body: Bytes, now: UnixMillis) -> anyhow::Result<Duration> {
        self.clock.advance_time(Duration::from_secs(POLL_SECONDS as u64));
        let (elapsed, applied) =
            timed(|| self.writer.decode_and_apply_message(REALTIME, body, now));
        ensure!(applied?.problems.is_empty(), "{}: the message has problems", self.name);
        for session in &mut self.sessions {
            while session.next_delivery().is_some() {
                self.deliveries += 1;
            }
        }
        Ok(elapsed)
    }

    /// Checks that each listener has the state, and that changes were delivered if there were any; otherwise nothing
    /// was measured.
    fn check_heard(&self) -> anyhow::Result<()> {
        let states = self.sessions.len();
        let heard = self.deliveries > states || states == 0 || !self.must_hear;
        ensure!(
            self.deliveries >= states && heard,
            "{}: {} deliveries",
            self.name,
            self.deliveries
        );
        Ok(())
    }
}
