//! Test helpers: a small city, messages about it, and a client that applies all messages.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use lineside_formats::{
    gtfs::{self, TextFiles, Timetable},
    gtfs_rt::proto::{
        self, FeedEntity, FeedHeader, FeedMessage, TripDescriptor, TripUpdate, VehicleDescriptor,
        VehiclePosition,
        trip_update::{StopTimeEvent, StopTimeUpdate},
    },
};
use lineside_hub::{
    ChannelStateSource, ClientDelivery, EncodedChannelName, Epoch, Hub, HubConfig, NewsListener,
    Position, Session, SessionLimits,
};
use lineside_ingest::{Network, NetworkChannelStates, NetworkWriter, limits::BOARD_HORIZON};
use lineside_model::{Dataset, Departure, FeedId, list_next_departures};
use lineside_sync::{Clock, SimulatedClock, UnixMillis};
use prost::Message as _;
use serde_json::Value;

/// Returns the departures from a stop that a board shows at `now` in Unix seconds.
pub(crate) fn next_departures(
    network: &Network,
    stop: &str,
    now: i64,
    limit: usize,
) -> Option<Vec<Departure>> {
    list_next_departures(
        &network.state(),
        stop,
        UnixMillis::from_seconds(now),
        limit,
        BOARD_HORIZON,
    )
}

/// Wednesday 4 March 2026, 08:00 in Paris.
pub(crate) const EIGHT: i64 = 1_772_607_600;

/// Returns two routes and a frequency-based one; trips every ten minutes; stops a kilometer apart, so that a trip
/// crosses cells.
pub(crate) fn city(version: u32) -> String {
    let mut text = String::from(
        "# agency.txt
        agency_id,agency_name,agency_url,agency_timezone
        a,Agency,https://a.example,Europe/Paris
        # routes.txt
        route_id,agency_id,route_short_name,route_long_name,route_type,route_color,route_text_color
        R1,a,12,Harbor – Airport,0,FF8800,000000
        R2,a,,Night Bus,3,,
        RF,a,F,Ferry,4,0000FF,FFFFFF
        # calendar.txt
        service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
        daily,1,1,1,1,1,1,1,20200101,20301231
        # stops.txt
        stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station,platform_code
        C,Central,48.8600,2.3400,1,,
        C1,Central,48.8601,2.3401,0,C,1
        C2,Central,48.8602,2.3402,0,C,2
        A,Airport,48.9200,2.3400,0,,
        B,Bassin « Nord »,48.8700,2.3400,0,,
        D,Docks/East,48.8900,2.3400,0,,
        N,Nowhere,0,0,0,,
        # frequencies.txt
        trip_id,start_time,end_time,headway_secs
        F0,06:00:00,22:00:00,1800
        # trips.txt
        route_id,service_id,trip_id,trip_headsign
        RF,daily,F0,Island
        R2,daily,late,After Midnight
",
    );
    let headsign = if version == 0 { "Airport" } else { "Aéroport" };
    for trip in 0..100 {
        let route = if trip % 2 == 0 { "R1" } else { "R2" };
        text.push_str(&format!("{route},daily,T{trip},{headsign}\n"));
    }
    text.push_str(
        "# stop_times.txt
        trip_id,arrival_time,departure_time,stop_id,stop_sequence
        F0,00:00:00,00:00:00,C1,1
        F0,00:20:00,00:20:00,A,2
        late,24:10:00,24:10:00,C1,1
        late,25:10:00,25:10:00,A,2
",
    );
    for trip in 0..100_u32 {
        let start = 5 * 3600 + trip * 600 + version * 60;
        for (call, stop) in ["C1", "B", "D", "A"].into_iter().enumerate() {
            let at = start + call as u32 * 300;
            let time = format!("{:02}:{:02}:{:02}", at / 3600, at / 60 % 60, at % 60);
            text.push_str(&format!("T{trip},{time},{time},{stop},{}\n", (call + 1) * 10));
        }
    }
    text
}

pub(crate) fn timetable(version: u32) -> Timetable {
    let mut files = TextFiles::from_sections(&city(version));
    let (timetable, problems) =
        gtfs::load_timetable(&mut files, &gtfs::DatasetLimits::default()).unwrap();
    // Only the stop at 0, 0 is invalid.
    assert!(problems.total_count() <= 2, "{:?}", problems.retained_problems());
    timetable
}

pub(crate) fn dataset(version: u32) -> Arc<Dataset> {
    let problems = Default::default();
    let hash = u128::from(version) + 1;
    Arc::new(Dataset::from_timetable(
        feed("city"),
        timetable(version),
        problems,
        hash,
        UnixMillis(0),
    ))
}

pub(crate) fn feed(id: &str) -> FeedId {
    FeedId::new(id).unwrap()
}

/// The number of the trip that leaves the first stop at 08:00, in [`city`].
pub(crate) const EIGHT_TRIP: u32 = 18;

pub(crate) fn trip(id: impl Into<String>) -> TripDescriptor {
    TripDescriptor { trip_id: Some(id.into()), ..Default::default() }
}

pub(crate) fn vehicle(id: &str, trip_id: Option<&str>, lat: f32, lon: f32, at: i64) -> FeedEntity {
    FeedEntity {
        id: format!("v{id}"),
        vehicle: Some(VehiclePosition {
            trip: trip_id.map(trip),
            vehicle: Some(VehicleDescriptor { id: Some(id.into()), ..Default::default() }),
            position: Some(proto::Position { latitude: lat, longitude: lon, ..Default::default() }),
            timestamp: u64::try_from(at).ok(),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// Returns a trip update with a `delay` in seconds from the call with a sequence on.
pub(crate) fn update(trip_id: &str, sequence: u32, delay: i32) -> FeedEntity {
    let event = StopTimeEvent { delay: Some(delay), ..Default::default() };
    FeedEntity {
        id: format!("t{trip_id}"),
        trip_update: Some(TripUpdate {
            trip: trip(trip_id),
            stop_time_update: vec![StopTimeUpdate {
                stop_sequence: Some(sequence),
                arrival: Some(event),
                departure: Some(event),
                ..Default::default()
            }],
            ..Default::default()
        }),
        ..Default::default()
    }
}

pub(crate) fn alert(id: &str, route: Option<&str>, stop: Option<&str>, text: &str) -> FeedEntity {
    let translation =
        proto::translated_string::Translation { text: text.into(), ..Default::default() };
    FeedEntity {
        id: id.into(),
        alert: Some(proto::Alert {
            informed_entity: vec![proto::EntitySelector {
                route_id: route.map(str::to_owned),
                stop_id: stop.map(str::to_owned),
                ..Default::default()
            }],
            header_text: Some(proto::TranslatedString { translation: vec![translation] }),
            ..Default::default()
        }),
        ..Default::default()
    }
}

pub(crate) fn message(at: i64, entity: Vec<FeedEntity>) -> Bytes {
    let header = FeedHeader {
        gtfs_realtime_version: "2.0".into(),
        timestamp: u64::try_from(at).ok(),
        ..Default::default()
    };
    FeedMessage { header, entity }.encode_to_vec().into()
}

/// A network of a schedule `city` with the feeds `city-vehicles`, `city-trips`, `city-alerts`, and a hub.
pub(crate) struct World {
    pub(crate) clock: Arc<SimulatedClock>,
    pub(crate) network: Arc<Network>,
    pub(crate) writer: NetworkWriter,
    pub(crate) hub: Arc<Hub>,
    pub(crate) channels: Arc<NetworkChannelStates>,
}

impl World {
    pub(crate) fn new() -> World {
        World::with(HubConfig::default())
    }

    pub(crate) fn with(config: HubConfig) -> World {
        let clock = Arc::new(SimulatedClock::new(UnixMillis::from_seconds(EIGHT)));
        let shared: Arc<dyn Clock> = Arc::clone(&clock) as _;
        let others = ["city-vehicles", "city-trips", "city-alerts"].map(feed);
        let epoch = Epoch::from_bits(7);
        let network = Arc::new(Network::new(feed("city"), others, 1, epoch, Arc::clone(&shared)));
        let channels =
            Arc::new(NetworkChannelStates::new(vec![Arc::clone(&network)], 5, Arc::clone(&shared)));
        let hub = Hub::new(config, Arc::clone(&channels) as _, shared, 3);
        let writer = NetworkWriter::new(Arc::clone(&network), Some(Arc::clone(&hub)), 5);
        World { clock, network, writer, hub, channels }
    }

    pub(crate) fn now(&self) -> UnixMillis {
        self.clock.wall_time()
    }

    /// Applies a message with the present as its timestamp.
    pub(crate) fn apply(
        &mut self,
        feed: &str,
        entities: Vec<FeedEntity>,
    ) -> lineside_ingest::ApplyOutcome {
        let now = self.now();
        self.writer
            .decode_and_apply_message(feed, message(now.unix_seconds(), entities), now)
            .unwrap()
    }

    pub(crate) fn session(&self) -> Session {
        self.hub.open_session(Arc::new(IdleReceiver), SessionLimits::default())
    }

    pub(crate) fn state_of(&self, channel: &str) -> ReceivedState {
        let channel = EncodedChannelName::parse_channel_name(channel).unwrap();
        let key = self.channels.resolve_channel(&channel).unwrap();
        let mut received_state = ReceivedState::default();
        for part in self.channels.read_state(&channel, key).parts {
            received_state.apply(&part);
        }
        received_state
    }
}

/// A listener that ignores signals: these tests pull on their own.
#[derive(Debug)]
pub(crate) struct IdleReceiver;

impl NewsListener for IdleReceiver {
    fn signal_news(&self) {}
}

/// A client's records of one channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReceivedState {
    pub(crate) records: BTreeMap<(String, String, String), Value>,
}

static PUBLICATIONS_SEEN: AtomicU64 = AtomicU64::new(0);

impl ReceivedState {
    /// Applies a message by the protocol and checks its form.
    pub(crate) fn apply(&mut self, data: &[u8]) -> Value {
        PUBLICATIONS_SEEN.fetch_add(1, Ordering::Relaxed);
        assert!(data.len() <= lineside_ingest::limits::MESSAGE_BYTES_MAX, "{} bytes", data.len());
        let message: Value = serde_json::from_slice(data).unwrap();
        assert!(message["at"].is_i64(), "{message}");
        if message["state"]["part"] == 1 {
            self.records.clear();
        }
        for change in message["changes"].as_array().unwrap() {
            let text = |name: &str| change[name].as_str().unwrap().to_owned();
            let key = (text("feed"), text("kind"), text("id"));
            match change["op"].as_str().unwrap() {
                "upsert" => {
                    assert!(change["record"].is_object(), "{change}");
                    self.records.insert(key, change["record"].clone());
                }
                "remove" => {
                    assert!(
                        ["gone", "moved", "expired"].contains(&text("why").as_str()),
                        "{change}"
                    );
                    self.records.remove(&key);
                }
                other => panic!("unknown op {other}"),
            }
        }
        message
    }

    /// Returns the ids of a kind, in order.
    pub(crate) fn ids(&self, kind: &str) -> Vec<&str> {
        self.records.keys().filter(|key| key.1 == kind).map(|key| key.2.as_str()).collect()
    }

    pub(crate) fn find(&self, kind: &str, id: &str) -> Option<&Value> {
        self.records.iter().find(|(key, _)| key.1 == kind && key.2 == id).map(|(_, value)| value)
    }
}

/// A subscriber of one channel.
pub(crate) struct Client {
    session: Session,
    pub(crate) channel: EncodedChannelName,
    pub(crate) state: ReceivedState,
    pub(crate) position: Option<Position>,
    pub(crate) has_ended: bool,
    /// Publications since the last check, without states.
    pub(crate) publications: Vec<Value>,
}

impl Client {
    pub(crate) fn new(world: &World, channel: &str) -> Client {
        let mut client = Client {
            session: world.session(),
            channel: EncodedChannelName::parse_channel_name(channel).unwrap(),
            state: ReceivedState::default(),
            position: None,
            has_ended: false,
            publications: Vec::new(),
        };
        client.session.subscribe(&client.channel, None).unwrap();
        client
    }

    /// Reconnects with the current position. Returns true if the session was recovered.
    pub(crate) fn resume(&mut self, world: &World) -> bool {
        self.session = world.session();
        self.has_ended = false;
        self.session.subscribe(&self.channel, self.position).unwrap().recovered
    }

    /// Applies up to `publications_max` deliveries.
    pub(crate) fn pull(&mut self, publications_max: usize) {
        for _ in 0..publications_max {
            let Some(delivery) = self.session.next_delivery() else { return };
            if let ClientDelivery::Ended { .. } = delivery {
                self.has_ended = true;
                continue;
            }
            let is_state = matches!(delivery, ClientDelivery::State { .. });
            let message = self.state.apply(delivery.payload().unwrap().data());
            if !is_state {
                self.publications.push(message);
            }
            if let Some(position) = delivery.position() {
                let before = self.position.filter(|before| before.epoch == position.epoch);
                let rises = before.is_none_or(|before| before.offset < position.offset || is_state);
                assert!(rises, "{:?} then {position:?}", self.position);
                self.position = Some(position);
            }
        }
    }

    pub(crate) fn pull_all(&mut self) {
        self.pull(usize::MAX);
    }
}

pub(crate) fn minutes(n: u64) -> Duration {
    Duration::from_secs(60 * n)
}
