//! Tests of the operator's own channels: tokens, history, presence, publishing.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{
    BadChannelName, ChannelResolveError, ChannelState, ChannelStateSource, DisconnectOrder,
    EncodedChannelName, HistoryOptions, Hub, HubConfig, Namespace, Position, PublicationExtras,
    RoomKey,
};
use lineside_sync::{SimulatedClock, UnixMillis};
use lineside_wire::centrifuge::CommandRequest;
use lineside_wire::centrifuge::message::*;

use crate::peer::{FORMATS, Peer};

/// A source without feeds.
struct Nothing;

impl ChannelStateSource for Nothing {
    fn resolve_channel(&self, _: &EncodedChannelName) -> Result<RoomKey, ChannelResolveError> {
        Err(BadChannelName::UnknownForm.into())
    }

    fn sequence_name(&self, channel: &EncodedChannelName, _: RoomKey) -> String {
        channel.to_string()
    }

    fn current_position(&self, _: &EncodedChannelName, _: RoomKey) -> Option<Position> {
        None
    }

    fn read_state(&self, _: &EncodedChannelName, _: RoomKey) -> ChannelState {
        ChannelState { position: None, parts: Vec::new() }
    }
}

struct World {
    hub: Arc<Hub>,
    clock: SimulatedClock,
}

impl World {
    /// Creates a world in which `app/kept/…` has a history of `size` publications, `app/room/…` has presence, and
    /// other channels have neither.
    fn new(size: usize) -> Self {
        let clock = SimulatedClock::new(UnixMillis(0));
        let history = Some(HistoryOptions { size, ttl: Duration::from_secs(60) });
        let history_namespace =
            Namespace { prefix: "app/kept/".into(), history, ..Namespace::default() };
        let room = Namespace {
            prefix: "app/room/".into(),
            presence: true,
            join_leave: true,
            ..Namespace::default()
        };
        let config =
            HubConfig { namespaces: vec![history_namespace, room], ..HubConfig::default() };
        let hub = Hub::new(config, Arc::new(Nothing), Arc::new(clock.clone()), 1);
        Self { hub, clock }
    }

    fn publish(&self, channel: &str, data: &str) {
        let channel = EncodedChannelName::parse_channel_name(channel).expect("a channel");
        let data = Bytes::from(data.to_owned());
        self.hub
            .publish_to_app_channel(&channel, data, PublicationExtras::default())
            .expect("published");
    }

    fn advance(&self, seconds: u64) {
        self.clock.advance_time(Duration::from_secs(seconds));
    }
}

fn channel(name: &str) -> ChannelRequest {
    ChannelRequest { channel: name.into() }
}

fn code(reply: &Reply) -> u32 {
    reply.error.as_ref().map_or(0, |error| error.code)
}

fn texts(publications: &[Publication]) -> Vec<&str> {
    publications.iter().map(|it| str::from_utf8(&it.data).expect("text")).collect()
}

#[test]
fn a_channel_with_history_starts_at_its_top_and_recovers() {
    for format in FORMATS {
        let world = World::new(4);
        world.publish("app/kept/a", "\"one\"");
        let mut peer = Peer::new(&world.hub, format, false);
        peer.connect("");
        let reply = peer.subscribe("app/kept/a").subscribe.expect("subscribed");
        assert!(reply.recoverable && reply.positioned && !reply.was_recovering);
        assert_eq!((reply.offset, reply.publications.len()), (1, 0));
        assert_eq!(peer.pull(9), 0, "there is no state");
        world.publish("app/kept/a", "\"two\"");
        assert_eq!((peer.pull(9), peer.contents["app/kept/a"].offset), (1, 2));

        let mut peer = peer.again();
        ["\"three\"", "\"four\""].iter().for_each(|data| world.publish("app/kept/a", data));
        peer.connect("");
        let reply = peer.subscribe("app/kept/a").subscribe.expect("subscribed");
        assert!(reply.was_recovering && reply.recovered);
        assert_eq!((reply.offset, texts(&reply.publications)), (2, vec!["\"three\"", "\"four\""]));
        assert_eq!(peer.pull(9), 0);

        let mut peer = peer.again();
        (0..1_100).for_each(|n| world.publish("app/kept/a", &n.to_string()));
        peer.connect("");
        let reply = peer.subscribe("app/kept/a").subscribe.expect("subscribed");
        assert!(reply.was_recovering && !reply.recovered && reply.publications.is_empty());
        assert_eq!((reply.offset, peer.pull(9)), (1_104, 0));
    }
}

#[test]
fn a_channel_without_history_has_no_positions() {
    let world = World::new(4);
    let mut peer = Peer::new(&world.hub, FORMATS[0], false);
    peer.connect("");
    let reply = peer.subscribe("app/other").subscribe.expect("subscribed");
    assert_eq!(reply, SubscribeResult::default());
    world.publish("app/other", "1");
    assert_eq!(peer.pull(9), 1);
    let mut peer = peer.again();
    peer.connect("");
    let reply = peer.subscribe("app/other").subscribe.expect("subscribed");
    assert_eq!(reply, SubscribeResult::default(), "there is no position to resume from");
    let history = HistoryRequest { channel: "app/other".into(), ..HistoryRequest::default() };
    assert_eq!(code(&peer.ask(CommandRequest::History(history))), 108);
    assert_eq!(code(&peer.ask(CommandRequest::Presence(channel("app/other")))), 108);
    assert_eq!(code(&peer.ask(CommandRequest::PresenceStats(channel("app/other")))), 108);
    assert_eq!(code(&peer.ask(CommandRequest::Rpc)), 108);
    assert_eq!(code(&peer.ask(CommandRequest::Unknown)), 104);
}

#[test]
fn the_subscription_of_an_overtaken_reader_ends() {
    for format in FORMATS {
        let world = World::new(2);
        let mut peer = Peer::new(&world.hub, format, false);
        peer.connect("");
        peer.subscribe("app/kept/a");
        (0..2_000).for_each(|n| world.publish("app/kept/a", &n.to_string()));
        peer.pull(99);
        let push = peer.pushes.pop().expect("a push");
        assert_eq!(
            (push.channel.as_str(), push.unsubscribe.expect("an unsubscribe push").code),
            ("app/kept/a", 2500)
        );
        assert_eq!(peer.closed, None);
        let reply = peer.subscribe("app/kept/a").subscribe.expect("the client may subscribe again");
        assert!(reply.was_recovering && !reply.recovered);
    }
}

#[test]
fn history_is_read_in_pages() {
    for format in FORMATS {
        let world = World::new(500);
        (1..=400).for_each(|n| world.publish("app/kept/a", &n.to_string()));
        let mut peer = Peer::new(&world.hub, format, false);
        peer.connect("");
        let mut query = |limit, since: Option<(u64, &str)>, reverse| {
            let since = since.map(|(offset, epoch)| StreamPosition { offset, epoch: epoch.into() });
            let channel = "app/kept/a".into();
            peer.ask(CommandRequest::History(HistoryRequest { channel, limit, since, reverse }))
        };
        let position = query(0, None, false).history.expect("a history");
        assert_eq!((position.publications.len(), position.offset), (0, 400));
        let epoch = position.epoch;
        assert_eq!(
            texts(&query(2, None, false).history.expect("a history").publications),
            ["1", "2"]
        );
        assert_eq!(
            texts(&query(2, None, true).history.expect("a history").publications),
            ["400", "399"]
        );
        let since = query(-1, Some((398, &epoch)), false).history.expect("a history");
        assert_eq!(texts(&since.publications), ["399", "400"]);
        let since = query(1, Some((7, "")), false).history.expect("a history");
        assert_eq!(texts(&since.publications), ["8"]);
        assert_eq!(query(-1, None, false).history.expect("a history").publications.len(), 300);
        assert_eq!(code(&query(1, Some((1, "00000000")), false)), 112);
        assert_eq!(code(&query(1, Some((1, "never")), false)), 112);
    }
}

#[test]
fn replies_are_bounded_in_size() {
    let world = World::new(500);
    let large = format!("\"{}\"", "x".repeat(30_000));
    let huge = format!("\"{}\"", "y".repeat(200_000));
    for format in FORMATS {
        let mut peer = Peer::new(&world.hub, format, true);
        peer.connect("");
        peer.subscribe("app/kept/a");
        (0..5).for_each(|_| world.publish("app/kept/a", &large));
        world.publish("app/kept/a", &huge);
        let mut peer = peer.again();
        peer.connect("");
        let before = peer.contents["app/kept/a"].offset;
        let reply = peer.subscribe("app/kept/a").subscribe.expect("subscribed");
        assert_eq!((reply.offset, reply.publications.len()), (before, 2));
        assert_eq!(peer.pull(9), 3, "one publication was in the reply, the others follow");
        assert_eq!(peer.contents["app/kept/a"].offset, before + 6);
        let epoch = reply.epoch;
        for (since, expected) in [(before, 2), (before + 5, 1)] {
            let request = HistoryRequest {
                channel: "app/kept/a".into(),
                limit: -1,
                since: Some(StreamPosition { offset: since, epoch: epoch.clone() }),
                reverse: false,
            };
            let history = peer.ask(CommandRequest::History(request)).history.expect("a history");
            assert_eq!(history.publications.len(), expected);
        }
        assert!(peer.largest_frame <= 256 << 10);
    }
}

#[test]
fn presence_is_counted_listed_and_announced() {
    for format in FORMATS {
        let world = World::new(4);
        let mut peers: Vec<Peer> = (0..3).map(|_| Peer::new(&world.hub, format, false)).collect();
        for (peer, token) in peers.iter_mut().zip(["ann", "ann", "bob"]) {
            peer.connect(token);
            peer.subscribe("app/room/1");
        }
        let stats = peers[0].ask(CommandRequest::PresenceStats(channel("app/room/1")));
        let stats = stats.presence_stats.expect("presence stats");
        assert_eq!((stats.num_clients, stats.num_users), (3, 2));
        let presence = peers[0].ask(CommandRequest::Presence(channel("app/room/1")));
        let presence = presence.presence.expect("presence").presence;
        assert_eq!(presence.len(), 3);
        for (client, info) in &presence {
            assert_eq!(*client, info.client);
            assert_eq!(info.conn_info, format!("{{\"name\":\"{}\"}}", info.user));
        }
        world.hub.publish_presence_changes();
        peers[0].pull(99);
        peers[0].pushes.clear();
        let bob = peers.pop().expect("a peer");
        let name = bob.connection.as_client().client_id().to_string();
        drop(bob);
        let mut zoe = Peer::new(&world.hub, format, false);
        zoe.connect("zoe");
        zoe.subscribe("app/room/1");
        world.hub.publish_presence_changes();
        peers[0].pull(99);
        let left =
            peers[0].pushes.iter().find_map(|push| push.leave.clone()).expect("a leave push");
        assert_eq!(left.info.expect("client info").client, name);
        let join = peers[0].pushes.iter().find_map(|push| push.join.clone()).expect("a join push");
        assert_eq!(join.info.expect("client info").user, "zoe");
        zoe.ask(CommandRequest::Unsubscribe(channel("app/room/1")));
        world.hub.publish_presence_changes();
        peers[0].pushes.clear();
        peers[0].pull(99);
        assert!(peers[0].pushes.iter().any(|push| push.leave.is_some()), "a leave push of zoe");
        zoe.pushes.clear();
        world.hub.publish_presence_changes();
        assert_eq!(zoe.pull(9), 0, "a client that left receives no pushes");
    }
}

#[test]
fn an_authorized_client_may_publish_json() {
    for format in FORMATS {
        let world = World::new(4);
        let mut reader = Peer::new(&world.hub, format, false);
        reader.connect("");
        reader.subscribe("app/kept/a");
        let publish = |peer: &mut Peer, name: &str, data: &'static str| {
            let data = Bytes::from_static(data.as_bytes());
            peer.ask(CommandRequest::Publish(PublishRequest { channel: name.into(), data }))
        };
        assert_eq!(code(&publish(&mut reader, "app/kept/a", "1")), 103);
        let mut writer = Peer::new(&world.hub, format, false);
        writer.connect("ann");
        assert!(publish(&mut writer, "app/kept/a", "{\"hi\":1}").publish.is_some());
        assert_eq!(code(&publish(&mut writer, "feed/city", "1")), 103);
        assert_eq!(code(&publish(&mut writer, "app/kept/a", "")), 107);
        if format == FORMATS[1] {
            assert_eq!(code(&publish(&mut writer, "app/kept/a", "no JSON")), 107);
        }
        let mut reader = reader.again();
        reader.connect("");
        let reply = reader.subscribe("app/kept/a").subscribe.expect("subscribed");
        let info = reply.publications[0].info.clone().expect("client info");
        assert_eq!(
            (info.user.as_str(), &info.client),
            ("ann", &writer.connection.as_client().client_id().to_string())
        );
    }
}

#[test]
fn commands_wait_while_a_token_is_checked() {
    let world = World::new(4);
    for format in FORMATS {
        let mut peer = Peer::new(&world.hub, format, false);
        let connect = ConnectRequest { token: "ann".into(), ..ConnectRequest::default() };
        let subscribe = peer.subscribe_request("app/kept/a");
        let replies =
            peer.ask_all([CommandRequest::Connect(connect), subscribe, CommandRequest::Ping]);
        assert!(replies[0].connect.is_some() && replies[1].subscribe.is_some());
        assert_eq!((peer.waits, peer.authorizer.checked.lock().len()), (1, 1));
        let mut peer = Peer::new(&world.hub, format, false);
        assert_eq!(code(&peer.connect("forged")), 101);
        assert_eq!(code(&peer.connect("ann until 0")), 109);
        assert!(peer.connect("ann until 60").connect.is_some(), "the client may try another token");
    }
}

#[test]
fn an_expiring_token_is_refreshed_or_the_connection_ends() {
    for format in FORMATS {
        let world = World::new(4);
        let mut peer = Peer::new(&world.hub, format, false);
        let connected = peer.connect("ann until 60").connect.expect("connected");
        assert_eq!((connected.expires, connected.ttl), (true, 60));
        world.advance(61);
        peer.look_in();
        assert_eq!(peer.closed, None, "the client has time to refresh its token");
        let refresh = |peer: &mut Peer, token: &str| {
            peer.ask(CommandRequest::Refresh(RefreshRequest { token: token.into() }))
        };
        assert_eq!(code(&refresh(&mut peer, "bob until 90")), 101, "the token names another user");
        assert_eq!(code(&refresh(&mut peer, "ann until 50")), 109);
        let refreshed = refresh(&mut peer, "ann until 90").refresh.expect("refreshed");
        assert_eq!((refreshed.expires, refreshed.ttl), (true, 29));
        world.advance(53);
        peer.look_in();
        assert_eq!(peer.closed, None);
        world.advance(1);
        peer.look_in();
        assert_eq!(peer.closed.expect("a close").code, 3005);
    }
}

#[test]
fn an_expiring_subscription_is_refreshed_or_ends() {
    for format in FORMATS {
        let world = World::new(4);
        let mut peer = Peer::new(&world.hub, format, false);
        peer.connect("");
        let request = SubscribeRequest {
            channel: "app/kept/a".into(),
            token: "until 60".into(),
            ..SubscribeRequest::default()
        };
        let reply = peer.ask(CommandRequest::Subscribe(request)).subscribe.expect("subscribed");
        assert_eq!((reply.expires, reply.ttl), (true, 60));
        let refresh = |peer: &mut Peer, name: &str, token: &str| {
            let (channel, token) = (name.into(), token.into());
            peer.ask(CommandRequest::SubRefresh(SubRefreshRequest { channel, token }))
        };
        assert_eq!(code(&refresh(&mut peer, "app/kept/b", "until 90")), 103);
        let refreshed =
            refresh(&mut peer, "app/kept/a", "until 90").sub_refresh.expect("refreshed");
        assert_eq!((refreshed.expires, refreshed.ttl), (true, 90));
        world.advance(114);
        peer.look_in();
        assert!(peer.pushes.is_empty());
        world.advance(1);
        peer.look_in();
        let push = peer.pushes.pop().expect("a push");
        assert_eq!(push.unsubscribe.expect("an unsubscribe push").code, 2501);
        assert_eq!((peer.closed.clone(), peer.connection.next_due()), (None, None));
        assert!(peer.subscribe("app/kept/a").subscribe.is_some());
    }
}

#[test]
fn channels_of_the_token_are_subscribed_to_and_resumed() {
    for format in FORMATS {
        let world = World::new(4);
        let token = "ann in app/kept/a,app/kept/b,feed/nowhere";
        let mut peer = Peer::new(&world.hub, format, false);
        let subs = peer.connect(token).connect.expect("connected").subs;
        let names: Vec<&str> = subs.iter().map(|sub| sub.channel.as_str()).collect();
        assert_eq!(names, ["app/kept/a", "app/kept/b"], "channels that do not exist are left out");
        world.publish("app/kept/a", "1");
        assert_eq!(peer.pull(9), 1);
        world.publish("app/kept/a", "2");
        let mut peer = peer.again();
        let resume = |content: &crate::peer::ChannelContent| ResumePoint {
            recover: true,
            epoch: content.epoch.clone(),
            offset: content.offset,
        };
        let subs = peer.contents.iter().map(|(name, held)| (name.clone(), resume(held))).collect();
        let connect = ConnectRequest { token: token.into(), subs, ..ConnectRequest::default() };
        let subs = peer.ask(CommandRequest::Connect(connect)).connect.expect("connected").subs;
        assert!(subs.iter().all(|sub| sub.result.recovered) && subs.len() == 2);
        assert_eq!(texts(&subs[0].result.publications), ["2"]);
        assert_eq!(peer.pull(9), 0);
    }
}

#[test]
fn a_client_may_rejoin_a_channel_of_its_token() {
    let world = World::new(4);
    let mut peer = Peer::new(&world.hub, FORMATS[0], false);
    peer.connect("ann in app/closed/hers");
    peer.ask(CommandRequest::Unsubscribe(channel("app/closed/hers")));
    assert_eq!(code(&peer.subscribe("app/closed/hers")), 0);
    assert_eq!(code(&peer.subscribe("app/closed/his")), 103);
}

#[test]
fn a_refused_client_has_no_subscriptions() {
    let config = HubConfig { rooms_max: 1, ..HubConfig::default() };
    let hub = Hub::new(config, Arc::new(Nothing), Arc::new(SimulatedClock::new(UnixMillis(0))), 1);
    let mut peer = Peer::new(&hub, FORMATS[0], false);
    let refused = peer.connect("ann in app/one,app/two");
    assert!(
        refused.error.is_some_and(|error| error.temporary),
        "the node has too few rooms for both"
    );
    let session = peer.connection.client().session();
    assert_eq!(session.subscription_count(), 0);
    assert_eq!(
        session.subscribe_to_user_orders("ann"),
        Ok(()),
        "the subscription to the user's orders was removed"
    );
}

#[test]
fn the_operator_can_disconnect_a_user() {
    let world = World::new(4);
    for format in FORMATS {
        let mut ann = Peer::new(&world.hub, format, false);
        ann.connect("ann");
        let mut other = Peer::new(&world.hub, format, false);
        other.connect("ann");
        let order = DisconnectOrder {
            client: None,
            except: vec![other.connection.as_client().client_id().as_ref().into()],
            code: 3011,
            reason: "force reconnect".into(),
        };
        world.hub.disconnect_user("ann", order);
        ann.pull(9);
        other.pull(9);
        let close = ann.closed.expect("a close");
        assert_eq!((close.code, &*close.reason), (3011, "force reconnect"));
        assert_eq!(other.closed, None);
    }
}
