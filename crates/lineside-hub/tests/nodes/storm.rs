//! The seeded storm: polls, readers, and faults of the bus, of machines and of their view of each other, in any order;
//! then a calm.

use std::sync::Arc;
use std::time::Duration;

use lineside_hub::bus::{BusFaults, ClusterNodeMetrics, MemoryBus};
use lineside_hub::{HubMetrics, Position};
use lineside_sync::hashring::HashRingMember;
use lineside_sync::{SimulatedClock, UnixMillis};

use crate::reader::Reader;
use crate::records::{NETWORKS, Records, Truth, channels, holdings, parse_channel};
use crate::station::{Site, Station, spoil};
use crate::support::{Resumes, Trace, Violation, some_channels};

const STEPS: usize = 400;
const READERS: usize = 5;
const CHANNELS_PER_READER: usize = 5;
/// The number of turns after the last fault within which all nodes have equal content.
const CALM_TURNS: usize = 40;
const CALM_TURN: Duration = Duration::from_millis(100);
/// Longer than an owner retains its publications.
const LONG_TIME: Duration = Duration::from_secs(90);
/// Enough pulls for every reader to get through the calm.
const CALM_PULLS: usize = 10_000;

/// An injected fault that the checks must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InjectedFault {
    None,
    /// A message of an earlier term still counts.
    LowerTermAccepted,
    /// Changes are applied at any revision.
    GapNotNoticed,
    /// A part counts as the whole.
    PartsNotCounted,
    /// Owners send no heartbeats.
    HeartbeatOff,
    /// A node that claims a network with a lower term does not learn of the higher one.
    OutdatedNotSent,
    /// A new term reuses an earlier epoch.
    EpochNotDrawn,
    /// A node that takes a state in the middle of an epoch does not mark a gap in its rooms.
    JumpNotMarked,
    /// A reader drops its old content at the first part of a state, not at the last: if it is cut off in between, it
    /// may resume elsewhere from content that it no longer has.
    ForgottenEarly,
}

/// The result of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    /// The digest of all events, in order.
    pub(crate) digest: u64,
    pub(crate) nodes: Vec<ClusterNodeMetrics>,
    pub(crate) hubs: Vec<HubMetrics>,
    pub(crate) resumed_elsewhere: u64,
}

pub(crate) struct Storm {
    rng: fastrand::Rng,
    site: Site,
    stations: Vec<Station>,
    /// The current roster's number and members.
    number: u64,
    members: Vec<HashRingMember>,
    readers: Vec<Reader>,
    trace: Trace,
}

impl Storm {
    pub(crate) fn run(seed: u64, injected_fault: InjectedFault) -> Result<Report, Violation> {
        let mut storm = Self::new(seed, injected_fault);
        match storm.rage().and_then(|()| storm.calm()) {
            Ok(()) => Ok(storm.report()),
            Err(violation) => Err(storm.trace.explain(violation)),
        }
    }

    fn new(seed: u64, injected_fault: InjectedFault) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let clock = SimulatedClock::new(UnixMillis(0));
        let bus = MemoryBus::new(Arc::new(clock.clone()), rng.u64(..));
        let site = Site { clock, bus, truth: Truth::new(), injected_fault };
        let stations = (1..=rng.usize(2..=5)).map(|n| Station::new(format!("node {n}"))).collect();
        let readers = (0..READERS).map(|_| new_reader(&mut rng)).collect();
        let mut storm = Self {
            rng,
            site,
            stations,
            number: 0,
            members: Vec::new(),
            readers,
            trace: Trace::default(),
        };
        for station in &mut storm.stations {
            station.start(&storm.site, &mut storm.rng);
        }
        storm.set_faults();
        storm.count_members();
        storm
    }

    fn rage(&mut self) -> Result<(), Violation> {
        for _ in 0..STEPS {
            self.site.clock.advance_time(Duration::from_millis(self.rng.u64(..120)));
            for n in 0..self.stations.len() {
                self.run_station(n, false);
            }
            self.step()?;
            self.check_all()?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Violation> {
        let n = self.rng.usize(..self.stations.len());
        let reader = self.rng.usize(..READERS);
        match self.rng.u32(..1_000) {
            0..400 => {
                let network = self.rng.usize(..NETWORKS.len());
                self.poll(network);
            }
            400..700 => {
                for _ in 0..self.rng.usize(1..12) {
                    self.pull(reader)?;
                }
            }
            700..790 => self.move_reader(reader)?,
            790..840 => self.count_members(),
            840..865 => self.set_faults(),
            865..885 => {
                self.note(format!("node {} loses or regains its connection", n + 1));
                let is_cut_off = !self.stations[n].is_cut_off;
                self.cut_off(n, is_cut_off);
            }
            885..905 => {
                self.note(format!("node {} pauses or continues", n + 1));
                self.stations[n].is_paused ^= true;
            }
            905..915 => self.crash(n),
            915..940 => self.come_back(n),
            940..950 => {
                self.stations[n].weight = self.rng.u16(..4);
                self.note(format!("node {} has weight {}", n + 1, self.stations[n].weight));
            }
            950..955 => {
                self.note("a long time passes".into());
                self.site.clock.advance_time(LONG_TIME);
            }
            _ => {
                if let Some(process) = &self.stations[n].process {
                    process.hub.trim_and_close_idle_rooms();
                }
            }
        }
        Ok(())
    }

    /// Lets a station receive messages, learn the roster, and do due work; all of it if `all` is true, otherwise a
    /// random part.
    fn run_station(&mut self, n: usize, all: bool) {
        if !self.stations[n].is_running() {
            return;
        }
        let learns = all || self.rng.u8(..4) == 0 && !self.stations[n].is_cut_off;
        if let Some(process) = self.stations[n].process.as_ref().filter(|_| learns) {
            let taken = process
                .ownership
                .replace_roster_if_newer(self.number, self.members.iter().cloned());
            assert!(taken.is_ok(), "names differ and weights are small");
        }
        let steps_max = if all { usize::MAX } else { self.rng.usize(..30) };
        for _ in 0..steps_max {
            let Some(message) = self.site.bus.receive_message(&self.stations[n].name) else {
                break;
            };
            let message = spoil(self.site.injected_fault, message, &self.stations, n);
            if let (Some(message), Some(process)) = (message, &mut self.stations[n].process) {
                process.node.handle_bus_message(message);
            }
        }
        let ticks = all || self.rng.bool();
        if let Some(process) = self.stations[n].process.as_mut().filter(|_| ticks) {
            process.node.run_periodic_work();
        }
    }

    /// Every node that believes that it owns the network polls its feeds.
    fn poll(&mut self, network: usize) {
        let name = NETWORKS[network];
        for n in 0..self.stations.len() {
            let station = &mut self.stations[n];
            if !station.is_running() || !station.owns(name) {
                continue;
            }
            let Some(process) = &mut station.process else { continue };
            let (at, changes) = process.copies.poll(network);
            if let Err(why) = process.node.send_changes_to_nodes(name, at, changes) {
                self.site.truth.complain(format!("node {}: {name} {at}: {why}", n + 1));
            }
            self.note(format!("node {} publishes {name} {at}", n + 1));
        }
    }

    fn pull(&mut self, n: usize) -> Result<(), Violation> {
        let reader = &mut self.readers[n];
        if self.stations[reader.at].is_paused || !reader.may_pull() {
            return Ok(());
        }
        let description = reader
            .pull(&self.site.truth, self.site.injected_fault)
            .map_err(|why| format!("reader {n}: {why}"))?;
        self.note(format!("reader {n}: {description}"));
        Ok(())
    }

    /// Connects a reader again, to any running machine.
    fn move_reader(&mut self, n: usize) -> Result<(), Violation> {
        let answering: Vec<usize> =
            (0..self.stations.len()).filter(|it| self.stations[*it].is_running()).collect();
        let Some(to) = self.rng.choice(answering) else { return Ok(()) };
        self.note(format!("reader {n} connects to node {}", to + 1));
        let Some(process) = &self.stations[to].process else { return Ok(()) };
        self.readers[n].disconnect();
        self.readers[n].connect(to, &process.hub).map_err(|why| format!("reader {n}: {why}"))
    }

    /// Updates the roster to the reachable nodes.
    fn count_members(&mut self) {
        let reachable = self.stations.iter().filter(|station| station.is_reachable());
        let mut members: Vec<HashRingMember> = reachable.map(Station::member).collect();
        // At least one node needs weight.
        if let Some(first) = members.first_mut().filter(|first| first.weight == 0) {
            first.weight = 1;
        }
        if members != self.members {
            self.give_out(members);
        }
    }

    fn give_out(&mut self, members: Vec<HashRingMember>) {
        self.number += 1;
        self.members = members;
        let names: Vec<&str> = self.members.iter().map(|it| &*it.name).collect();
        self.note(format!("roster {}: {}", self.number, names.join(", ")));
    }

    fn crash(&mut self, n: usize) {
        self.note(format!("node {} crashes", n + 1));
        self.stations[n].stop(&self.site);
        for reader in self.readers.iter_mut().filter(|reader| reader.at == n) {
            reader.disconnect();
        }
    }

    /// Restarts a crashed machine; this takes a new roster number, even if its absence was not noticed.
    fn come_back(&mut self, n: usize) {
        if self.stations[n].process.is_none() {
            self.note(format!("node {} starts", n + 1));
            self.stations[n].start(&self.site, &mut self.rng);
            self.give_out(self.members.clone());
        }
    }

    fn cut_off(&mut self, n: usize, is_cut_off: bool) {
        self.stations[n].is_cut_off = is_cut_off;
        self.site.bus.set_node_cut_off(&self.stations[n].name, is_cut_off);
    }

    fn set_faults(&mut self) {
        let rng = &mut self.rng;
        let mut chance = |chance_max: u16| if rng.bool() { 0 } else { rng.u16(..chance_max) };
        let faults = BusFaults {
            lost: chance(400),
            repeated: chance(300),
            reordered: chance(400),
            delay: Duration::from_millis(chance(500).into()),
        };
        self.note(format!("{faults:?}"));
        self.site.bus.set_faults(faults);
    }

    /// Ends all faults: within a few seconds all nodes have equal content, and so do their readers.
    fn calm(&mut self) -> Result<(), Violation> {
        self.site.bus.set_faults(BusFaults::default());
        for n in 0..self.stations.len() {
            self.cut_off(n, false);
            self.stations[n].is_paused = false;
        }
        if !self.stations.iter().any(Station::is_running) {
            self.come_back(0);
        }
        self.count_members();
        for _ in 0..CALM_TURNS {
            self.site.clock.advance_time(CALM_TURN);
            (0..self.stations.len()).for_each(|n| self.run_station(n, true));
        }
        self.check_all()?;
        self.check_nodes()?;
        self.drain_readers()?;
        let expected = |channel: &str| {
            let (network, route) = parse_channel(channel)?;
            let (_, copies) = self.owner(network)?;
            Some(holdings(&copies.1, route))
        };
        for (n, reader) in self.readers.iter().enumerate() {
            reader.check(expected).map_err(|why| format!("reader {n}: {why}"))?;
        }
        self.check_all()
    }

    fn drain_readers(&mut self) -> Result<(), Violation> {
        for n in 0..READERS {
            for _ in 0..CALM_PULLS {
                // Readers that were ended as slow reconnect too.
                if !self.readers[n].is_connected() {
                    self.move_reader(n)?;
                } else if !self.readers[n].may_pull() {
                    break;
                }
                self.pull(n)?;
            }
        }
        Ok(())
    }

    /// Returns the owner of the network, and its content.
    fn owner(&self, network: usize) -> Option<(usize, (Position, Records))> {
        let owner = self.stations.iter().position(|station| station.owns(NETWORKS[network]))?;
        let process = self.stations[owner].process.as_ref()?;
        Some((owner, process.copies.held(network)))
    }

    /// *One owner, the one of the hash ring, and every node at its position.*
    fn check_nodes(&self) -> Result<(), Violation> {
        for (network, name) in NETWORKS.iter().enumerate() {
            let (owner, held) = self.owner(network).ok_or(format!("{name} has no owner"))?;
            for (n, station) in self.stations.iter().enumerate() {
                let Some(process) = &station.process else { continue };
                if process.node.owns_network(name) != (n == owner)
                    || process.ownership.load_roster().is_owner(name, &station.name) != (n == owner)
                {
                    return Err(format!("nodes {} and {} own {name}", owner + 1, n + 1));
                }
                if process.copies.held(network) != held || process.node.has_missed_changes_of(name)
                {
                    let (has, is) = (process.copies.held(network), held);
                    return Err(format!("node {}: {name} is {has:?} instead of {is:?}", n + 1));
                }
            }
        }
        Ok(())
    }

    fn check_all(&self) -> Result<(), Violation> {
        for station in &self.stations {
            let Some(process) = &station.process else { continue };
            for name in NETWORKS {
                if process.copies.leads(name) != process.node.owns_network(name) {
                    return Err(format!(
                        "{}: {name} has a writer on another node than its owner",
                        station.name
                    ));
                }
            }
        }
        self.site.truth.complaint().map_or(Ok(()), Err)
    }

    fn report(self) -> Report {
        let up = || self.stations.iter().filter_map(|station| station.process.as_ref());
        Report {
            nodes: up().map(|process| process.node.metrics()).collect(),
            hubs: up().map(|process| process.hub.metrics()).collect(),
            resumed_elsewhere: self.readers.iter().map(|it| it.resumed_elsewhere).sum(),
            digest: self.trace.digest(),
        }
    }

    fn note(&mut self, line: String) {
        self.trace.note(line);
    }
}

fn new_reader(rng: &mut fastrand::Rng) -> Reader {
    let resumes = Resumes::any(rng);
    Reader::new(resumes, some_channels(rng, channels(), CHANNELS_PER_READER))
}
