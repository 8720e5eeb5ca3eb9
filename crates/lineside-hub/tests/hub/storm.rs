//! The seeded storm: everything that can happen to a hub, in any order, then a calm.

use std::sync::Arc;
use std::time::Duration;

use lineside_hub::{Hub, HubConfig, HubMetrics};
use lineside_sync::{SimulatedClock, UnixMillis};

use crate::client::Client;
use crate::partition::Partition;
use crate::support::{Resumes, Trace, Violation, some_channels};
use crate::world::{InjectedFault, NETWORKS, Poll, World};

const STEPS: usize = 300;
const CLIENTS: usize = 5;
const CHANNELS_PER_CLIENT: usize = 5;
/// Enough pulls for every client to get through the calm.
const CALM_PULLS: usize = 10_000;
/// The node's limit for all rooms.
const TOTAL_BYTES: usize = 8_000;

/// The result of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    /// The digest of all events, in order.
    pub(crate) digest: u64,
    /// The metrics since the last restart.
    pub(crate) metrics: HubMetrics,
}

pub(crate) struct Storm {
    rng: fastrand::Rng,
    clock: SimulatedClock,
    world: Arc<World>,
    hub: Arc<Hub>,
    ring_publications: usize,
    /// True if epochs are short in this storm.
    restless: bool,
    clients: Vec<Client>,
    /// The clients from this index on are rows of the partition.
    first_in_partition: usize,
    partition: Partition,
    trace: Trace,
}

impl Storm {
    /// Runs one seed to its end; returns the result.
    pub(crate) fn run(seed: u64, injected_fault: InjectedFault) -> Result<Report, Violation> {
        let mut storm = Self::new(seed, injected_fault);
        match storm.rage().and_then(|()| storm.calm()) {
            Ok(()) => Ok(Report { digest: storm.trace.digest(), metrics: storm.hub.metrics() }),
            Err(violation) => Err(storm.trace.explain(violation)),
        }
    }

    fn new(seed: u64, injected_fault: InjectedFault) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let clock = SimulatedClock::new(UnixMillis(0));
        let world = World::new(rng.u64(..), injected_fault);
        let ring_publications = rng.usize(1..12);
        let hub = new_hub(&mut rng, ring_publications, &world, &clock);
        let clients = (0..CLIENTS).map(|_| new_client(&mut rng)).collect();
        let (first_in_partition, partition) = (rng.usize(..=CLIENTS), Partition::new(&hub));
        let restless = rng.u8(..6) == 0;
        Self {
            rng,
            clock,
            world,
            hub,
            ring_publications,
            restless,
            clients,
            first_in_partition,
            partition,
            trace: Trace::default(),
        }
    }

    fn rage(&mut self) -> Result<(), Violation> {
        (0..STEPS).try_for_each(|_| self.step())
    }

    /// Ends all faults: all writers finish, all clients reconnect and read everything.
    fn calm(&mut self) -> Result<(), Violation> {
        self.world.finish_all();
        for _ in 0..CALM_PULLS {
            // Clients that were ended as slow reconnect too.
            for n in 0..CLIENTS {
                if !self.clients[n].is_connected() {
                    self.connect(n, false)?;
                }
            }
            match (0..CLIENTS).find(|n| self.clients[*n].may_pull()) {
                Some(n) => self.pull(n)?,
                None if self.partition.work() || !self.partition.workers.is_quiet() => self.turn(),
                None => break,
            }
        }
        for client in &mut self.clients {
            if !client.is_idle() {
                return Err("a client still receives deliveries after the calm".into());
            }
            client.check_drained(&self.world)?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Violation> {
        let n = self.rng.usize(..CLIENTS);
        let network = self.rng.usize(..NETWORKS);
        if self.restless && self.rng.u8(..8) == 0 {
            // The new writer's first step happens while others read.
            self.world.begin(&self.hub, network, Poll::NewWriter);
            return self.reconnect(n);
        }
        match self.rng.u32(..1_000) {
            0..80 => self.turn(),
            80..120 => _ = self.partition.work(),
            120..124 => self.partition.lose_job(),
            124..250 => {
                self.world.begin(&self.hub, network, Poll::Changes);
                (0..self.rng.usize(..8)).for_each(|_| self.world.step(network));
            }
            250..500 => (0..self.rng.usize(1..8)).for_each(|_| self.world.step(network)),
            500..850 => {
                for _ in 0..self.rng.usize(1..6) {
                    self.pull(n)?;
                }
            }
            850..900 => {
                // A client that reads everything it can.
                self.turn();
                while self.clients[n].may_pull() {
                    self.pull(n)?;
                }
            }
            900..930 => self.clients[n].disconnect(),
            930..970 => self.reconnect(n)?,
            970..978 => {
                let channels = World::channels();
                let name = &channels[self.rng.usize(..channels.len())];
                self.note(format!("{n} subscribes {name}"));
                self.clients[n].subscribe(name)?;
            }
            978..982 => self.clients[n].unsubscribe(self.rng.usize(..100))?,
            982..986 => self.jump(network, n)?,
            986..990 => {
                self.clock.advance_time(Duration::from_millis(self.rng.u64(..8_000)));
                self.hub.trim_and_close_idle_rooms();
                self.check_bounds()?;
            }
            990..995 => self.begin(network, Poll::Dataset),
            995..997 => self.begin(network, Poll::NewEpoch),
            997..999 => self.begin(network, Poll::NewWriter),
            _ => self.restart(),
        }
        Ok(())
    }

    fn begin(&mut self, network: usize, poll: Poll) {
        self.note(format!("network {network}: {poll:?}"));
        self.world.begin(&self.hub, network, poll);
        self.world.step(network);
    }

    /// A network that falls behind, perhaps repeatedly, while a client reads a little.
    fn jump(&mut self, network: usize, n: usize) -> Result<(), Violation> {
        for _ in 0..self.rng.usize(1..6) {
            self.begin(network, Poll::Jump);
            (0..self.rng.usize(..40)).for_each(|_| self.world.step(network));
            for _ in 0..self.rng.usize(..4) {
                self.pull(n)?;
            }
        }
        Ok(())
    }

    fn pull(&mut self, n: usize) -> Result<(), Violation> {
        if self.clients[n].may_pull() {
            let runs = self.rng.bool().then_some(&mut self.partition.runs);
            let description = self.clients[n]
                .pull(&self.world, runs)
                .map_err(|why| format!("client {n}: {why}"))?;
            self.note(format!("{n} {description}"));
        }
        Ok(())
    }

    fn reconnect(&mut self, n: usize) -> Result<(), Violation> {
        let forget = self.rng.u8(..4) == 0;
        self.note(format!("{n} connects, forget {forget}"));
        self.clients[n].disconnect();
        self.connect(n, forget)
    }

    fn connect(&mut self, n: usize, forget: bool) -> Result<(), Violation> {
        let row = (n >= self.first_in_partition).then_some(n as u32);
        self.clients[n]
            .connect(&self.world, &self.hub, &self.partition, row, forget)
            .map_err(|why| format!("client {n}: {why}"))
    }

    fn turn(&mut self) {
        let clients = &mut self.clients;
        self.partition.turn(|row, subscription| clients[row as usize].note(subscription));
    }

    fn restart(&mut self) {
        self.note("restart".into());
        self.clients.iter_mut().for_each(Client::disconnect);
        self.world.restart();
        self.hub = new_hub(&mut self.rng, self.ring_publications, &self.world, &self.clock);
        self.partition = Partition::new(&self.hub);
    }

    /// *Bounded memory*: of all rooms together, and of each room.
    fn check_bounds(&self) -> Result<(), Violation> {
        let metrics = self.hub.metrics();
        let bytes = metrics.ring_bytes + metrics.state_bytes;
        if bytes > TOTAL_BYTES {
            return Err(format!("the rooms hold {bytes} bytes, more than the limit"));
        }
        let rooms = (0..=NETWORKS as u32).flat_map(|group| self.hub.rooms_of_group(group));
        for room in rooms {
            // A batch stays whole, and adds at most three publications to a room.
            if room.publication_count() > self.ring_publications.max(3) {
                return Err(format!(
                    "{}: {} publications",
                    room.channel(),
                    room.publication_count()
                ));
            }
        }
        Ok(())
    }

    fn note(&mut self, line: String) {
        self.trace.note(line);
    }
}

/// Creates a hub so small that every limit is exceeded now and then.
fn new_hub(
    rng: &mut fastrand::Rng,
    ring_publications: usize,
    world: &Arc<World>,
    clock: &SimulatedClock,
) -> Arc<Hub> {
    let config = HubConfig {
        ring_publications,
        ring_age: Duration::from_secs(rng.u64(5..60)),
        ring_bytes_min: rng.usize(1..3_000),
        ring_bytes_max: 3_000,
        linger: Duration::from_secs(rng.u64(0..10)),
        rooms_max: 1_000,
        total_bytes: TOTAL_BYTES,
        ..HubConfig::default()
    };
    Hub::new(config, world.clone(), Arc::new(clock.clone()), rng.u64(..))
}

fn new_client(rng: &mut fastrand::Rng) -> Client {
    let resumes = Resumes::any(rng);
    Client::new(resumes, some_channels(rng, World::channels(), CHANNELS_PER_CLIENT))
}
