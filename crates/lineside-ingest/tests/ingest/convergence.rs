//! Test that a subscriber that applies states and changes has the network's records, whatever happens in between.

use lineside_formats::gtfs_rt::proto::{FeedEntity, trip_descriptor::ScheduleRelationship};
use lineside_hub::HubConfig;
use lineside_model::{FeedState, FeedStatusRecord};

use crate::support::*;

const CHANNELS: [&str; 23] = [
    "feed/city",
    "feed/city-vehicles",
    "feed/city-trips",
    "feed/city-alerts",
    "vehicle/city-vehicles/v0",
    "vehicle/city-vehicles/nobody",
    "trip/city-vehicles/T18",
    "trip/city-trips/T18",
    "trip/city-trips/T19",
    "alerts/city-alerts",
    "alerts/city-vehicles",
    "route/city/R1",
    "route/city/R2",
    "route/city-vehicles/R1",
    "stop/city/C",
    "stop/city/B",
    "stop/city/A",
    "station/city/1",
    "area/u09t",
    "area/u09tv",
    "area/u09tvn",
    "area/u09wm",
    "area/u09w",
];

/// A run with random events.
struct Storm {
    world: World,
    rng: fastrand::Rng,
    clients: Vec<Client>,
    vehicles: Vec<FeedEntity>,
    updates: Vec<FeedEntity>,
    alerts: Vec<FeedEntity>,
    version: u32,
}

impl Storm {
    fn config() -> HubConfig {
        HubConfig { ring_publications: 6, ..HubConfig::default() }
    }

    fn new(seed: u64) -> Storm {
        Storm {
            world: World::with(Storm::config()),
            rng: fastrand::Rng::with_seed(seed),
            clients: Vec::new(),
            vehicles: Vec::new(),
            updates: Vec::new(),
            alerts: Vec::new(),
            version: 0,
        }
    }

    fn step(&mut self) {
        match self.rng.u32(0..20) {
            0..=5 => self.move_vehicles(),
            6..=8 => self.publish_trips(),
            9 => self.publish_alerts(),
            10 => self.new_dataset(),
            11 => self.let_time_pass(),
            12..=13 => self.subscribe(),
            14 => self.come_back(),
            15 => self.leave(),
            16 => self.world.hub.trim_and_close_idle_rooms(),
            _ => self.pull_some(),
        }
    }

    /// A few vehicles appear, disappear, move across cells, and change their trip and so their route.
    fn move_vehicles(&mut self) {
        let now = self.world.now().unix_seconds();
        for _ in 0..self.rng.usize(0..4) {
            let id = format!("v{}", self.rng.u32(0..6));
            self.vehicles
                .retain(|it| it.vehicle.as_ref().unwrap().vehicle.as_ref().unwrap().id() != id);
            if self.rng.u32(0..4) > 0 {
                let trip = ["T18", "T19", "T20", "unknown"][self.rng.usize(0..4)];
                let lat = 48.85 + self.rng.f32() * 0.1;
                let lon = 2.33 + self.rng.f32() * 0.02;
                let mut entity = vehicle(&id, Some(trip), lat, lon, now);
                entity.vehicle.as_mut().unwrap().current_stop_sequence =
                    Some(self.rng.u32(0..5) * 10);
                self.vehicles.push(entity);
            }
        }
        let vehicles = self.vehicles.clone();
        self.world.apply("city-vehicles", vehicles);
    }

    fn publish_trips(&mut self) {
        for _ in 0..self.rng.usize(1..3) {
            let trip = format!("T{}", self.rng.u32(16..24));
            self.updates.retain(|it| it.trip_update.as_ref().unwrap().trip.trip_id() != trip);
            if self.rng.u32(0..3) > 0 {
                let mut entity = update(&trip, self.rng.u32(1..5) * 10, self.rng.i32(-300..3000));
                if self.rng.u32(0..5) == 0 {
                    let trip = &mut entity.trip_update.as_mut().unwrap().trip;
                    trip.set_schedule_relationship(ScheduleRelationship::Canceled);
                }
                self.updates.push(entity);
            }
        }
        let body = message(self.world.now().unix_seconds(), self.updates.clone());
        let state = FeedState::ALL[self.rng.usize(0..6)];
        let (since, reason) = (self.world.now(), format!("random {}", self.rng.u32(0..3)));
        let list_health = |_| {
            let (state_before_pause, unreliable_since) = (None, Some(since));
            let record =
                FeedStatusRecord { state, reason, since, state_before_pause, unreliable_since };
            self.rng.bool().then_some(record)
        };
        let now = self.world.now();
        self.world
            .writer
            .decode_and_apply_with_status("city-trips", body, now, list_health)
            .unwrap();
    }

    fn publish_alerts(&mut self) {
        let id = format!("a{}", self.rng.u32(0..3));
        self.alerts.retain(|it| it.id != id);
        if self.rng.bool() {
            let route = [Some("R1"), Some("R2"), None][self.rng.usize(0..3)];
            self.alerts.push(alert(&id, route, Some("B"), "works"));
        }
        let alerts = self.alerts.clone();
        self.world.apply("city-alerts", alerts);
    }

    fn new_dataset(&mut self) {
        self.version = self.rng.u32(0..3);
        self.world.writer.apply_dataset(dataset(self.version), self.world.now());
    }

    fn let_time_pass(&mut self) {
        self.world.clock.advance_time(std::time::Duration::from_secs(self.rng.u64(1..200)));
        self.world.writer.advance_boards_if_due();
    }

    fn subscribe(&mut self) {
        if self.clients.len() < 40 {
            let channel = CHANNELS[self.rng.usize(0..CHANNELS.len())];
            self.clients.push(Client::new(&self.world, channel));
        }
    }

    fn come_back(&mut self) {
        if let Some(client) = self.rng.choice(&mut self.clients) {
            client.resume(&self.world);
        }
    }

    fn leave(&mut self) {
        if !self.clients.is_empty() {
            let at = self.rng.usize(0..self.clients.len());
            self.clients.swap_remove(at);
        }
    }

    fn pull_some(&mut self) {
        if let Some(client) = self.rng.choice(&mut self.clients) {
            client.pull(self.rng.usize(1..5));
        }
    }

    /// Another process takes over. A client that is up to date receives nothing.
    fn restart(&mut self, seed: u64) {
        let up_to_date = self.rng.bool();
        if up_to_date {
            self.clients.iter_mut().for_each(Client::pull_all);
        }
        self.world = self.world.restarted(Storm::config(), self.rng.u64(..));
        for client in &mut self.clients {
            let recovered = client.resume(&self.world);
            if up_to_date {
                let (before, n_heard) = (client.state.clone(), client.publications.len());
                client.pull_all();
                let channel = &client.channel;
                // A cell without any event yet has no position to resume from.
                let nowhere = client.position.is_none_or(|position| position.offset == 0);
                assert!(recovered || nowhere, "seed {seed}, {channel}: no full state");
                assert_eq!(client.publications.len(), n_heard, "seed {seed}, {channel}");
                assert_eq!(client.state, before, "seed {seed}, {channel}");
            }
        }
    }

    /// Every client reads to the end and must then have the current records.
    fn check(&mut self, seed: u64) {
        for client in &mut self.clients {
            client.pull_all();
            if client.has_ended {
                client.resume(&self.world);
                client.pull_all();
            }
            let channel = client.channel.as_str();
            assert_eq!(client.state, self.world.state_of(channel), "seed {seed}, {channel}");
        }
    }
}

#[test]
fn a_subscriber_converges_to_the_state_of_the_network() {
    for seed in 0..150 {
        let mut storm = Storm::new(seed);
        storm.new_dataset();
        for step in 0..120 {
            storm.step();
            if step % 40 == 39 {
                storm.check(seed);
            }
        }
    }
}

#[test]
fn a_subscriber_notices_no_restart() {
    for seed in 0..100 {
        let mut storm = Storm::new(seed);
        storm.new_dataset();
        for step in 0..120 {
            storm.step();
            if step % 15 == 14 {
                storm.restart(seed);
            }
            if step % 40 == 39 {
                storm.check(seed);
            }
        }
    }
}

#[test]
fn the_network_channel_receives_every_revision() {
    let mut storm = Storm::new(1);
    let mut client = Client::new(&storm.world, "feed/city");
    client.pull_all();
    let mut stop = Client::new(&storm.world, "stop/city/C");
    for _ in 0..60 {
        match storm.rng.u32(0..4) {
            0 => storm.move_vehicles(),
            1 => storm.publish_trips(),
            2 => storm.publish_alerts(),
            _ => storm.let_time_pass(),
        }
        let before = client.position.unwrap().offset;
        let n_heard = client.publications.len();
        client.pull_all();
        stop.pull_all();
        let after = storm.world.network.state().revision;
        assert_eq!(client.position.unwrap().offset, after);
        assert_eq!((client.publications.len() - n_heard) as u64, after - before);
    }
}

#[test]
fn a_vehicle_that_leaves_a_cell_is_removed_there_as_moved() {
    let mut world = World::new();
    let mut here = Client::new(&world, "area/u09tvn");
    let mut there = Client::new(&world, "area/u09wm");
    world.apply("city-vehicles", vec![vehicle("1", None, 48.86, 2.34, EIGHT)]);
    here.pull_all();
    there.pull_all();
    assert_eq!((here.state.ids("vehicle"), there.state.ids("vehicle")), (vec!["1"], vec![]));
    assert_eq!(here.state.ids("feed"), ["city-vehicles"]);
    here.publications.clear();
    world.apply("city-vehicles", vec![vehicle("1", None, 48.92, 2.34, EIGHT)]);
    here.pull_all();
    there.pull_all();
    assert_eq!((here.state.ids("vehicle"), there.state.ids("vehicle")), (vec![], vec!["1"]));
    assert_eq!(here.publications[0]["changes"][0]["why"], "moved");
    assert!(here.state.records.is_empty());
}

#[test]
fn a_large_poll_is_split_into_publications_below_the_limit() {
    let mut world = World::new();
    let mut whole = Client::new(&world, "feed/city");
    let mut part = Client::new(&world, "feed/city-vehicles");
    let mut area = Client::new(&world, "area/u09t");
    for client in [&mut whole, &mut part, &mut area] {
        client.pull_all();
    }
    let fleet = |lat: f32| {
        (0..2_000)
            .map(|n| vehicle(&format!("vehicle number {n}"), Some("T18"), lat, 2.34, EIGHT))
            .collect()
    };
    world.apply("city-vehicles", fleet(48.86));
    for client in [&mut whole, &mut part, &mut area] {
        client.pull_all();
        assert!(client.publications.len() > 3, "{}", client.publications.len());
        assert_eq!(client.state.ids("vehicle").len(), 2_000);
        assert_eq!(client.state, world.state_of(client.channel.as_str()));
    }
    assert_eq!(whole.publications.len() as u64, world.network.state().revision);
}
