//! Tests of shared states, signals and limits.

use std::sync::Arc;
use std::time::Duration;

use lineside_hub::{
    ChannelResolveError, ClientDelivery, HubConfig, HubMetrics, SessionLimits, SubscribeError,
};
use parking_lot::Mutex;

use crate::script::{
    GROUP, ROUTE, Signals, Stage, at, drain, interrupted_stage, name, route, stage, stage_with,
};

#[test]
fn one_session_reads_the_state_and_the_others_are_signaled() {
    let stage = stage();
    let (mut first, _) = stage.on("route/1", None);
    let (other, signals) = stage.on("route/1", None);
    let other = Arc::new(Mutex::new(other));
    let waiting = other.clone();
    let until_then = signals.clone();
    stage.source.in_read.lock().push_back(Box::new(move || {
        assert_eq!(drain(&mut waiting.lock()), "", "the session delivers from other rooms");
        assert_eq!(until_then.take(), 0);
    }));
    let Some(ClientDelivery::State { state: one, .. }) = first.next_delivery() else {
        panic!("the delivery is not a state")
    };
    assert_eq!(signals.take(), 1);
    let Some(ClientDelivery::State { state: two, .. }) = other.lock().next_delivery() else {
        panic!("the delivery is not a state")
    };
    assert!(Arc::ptr_eq(&one, &two));
    assert_eq!(stage.hub.metrics().states_encoded_total, 1);
}

#[test]
fn a_panicking_source_leaves_no_session_waiting() {
    let stage = stage();
    let (mut first, _) = stage.on("route/1", None);
    let (other, signals) = stage.on("route/1", None);
    let other = Arc::new(Mutex::new(other));
    let waiting = other.clone();
    stage.source.in_read.lock().push_back(Box::new(move || {
        assert_eq!(drain(&mut waiting.lock()), "");
        panic!("intended panic of the source");
    }));
    let fault = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| first.next_delivery()));
    assert!(fault.is_err());
    assert_eq!(signals.take(), 1);
    assert_eq!(drain(&mut other.lock()), "s10");
}

#[test]
fn a_state_is_cached_while_the_ring_reaches_back_to_it() {
    let stage = stage();
    let (mut first, _) = stage.on("route/1", None);
    assert_eq!(drain(&mut first), "s10");
    stage.publish(11..=14, &[1]);
    let (mut second, _) = stage.on("route/1", None);
    assert_eq!(drain(&mut second), "s10 11 12 13 14");
    stage.publish([15], &[1]);
    assert_eq!(stage.hub.metrics().state_bytes, 0);
    let (mut third, _) = stage.on("route/1", None);
    assert_eq!(drain(&mut third), "s15");
    assert_eq!(stage.hub.metrics().states_encoded_total, 2);
}

#[test]
fn a_publication_is_shared_by_all_sessions() {
    let stage = stage();
    let (mut first, _) = stage.on("route/1", None);
    let (mut second, _) = stage.on("route/1", None);
    drain(&mut first);
    drain(&mut second);
    stage.publish([11], &[1]);
    let (a, b) = (first.next_delivery(), second.next_delivery());
    let (
        Some(ClientDelivery::Publication { publication: a, .. }),
        Some(ClientDelivery::Publication { publication: b, .. }),
    ) = (a, b)
    else {
        panic!("the delivery is not a publication")
    };
    assert!(Arc::ptr_eq(&a, &b));
}

#[test]
fn a_listener_is_signaled_once_until_it_is_drained() {
    let stage = stage();
    let (mut session, signals) = stage.session();
    for id in 1..=3 {
        session.subscribe(&name(&format!("route/{id}")), None).expect("subscribed");
    }
    drain(&mut session);
    assert_eq!(signals.take(), 0);
    stage.publish([11], &[1, 2, 3]);
    assert_eq!(signals.take(), 1);
    stage.publish([12], &[1, 2, 3]);
    assert_eq!(signals.take(), 0, "the listener is already signaled");
    assert_eq!(drain(&mut session), "11 11 11 12 12 12");
    stage.publish([13], &[2]);
    assert_eq!(signals.take(), 1);
}

#[test]
fn a_publication_during_draining_is_found_before_draining_ends() {
    let (stage, interruption) = interrupted_stage();
    let stage = Arc::new(stage);
    let (mut session, _) = stage.on("route/1", Some(at(10)));
    session.subscribe(&name("route/2"), None).expect("subscribed");
    let session = Arc::new(Mutex::new(session));
    // Another session reads the state of route/2 and so keeps this one from it. When this session gets there, after it
    // has looked at route/1, route/1 gets a publication.
    let (mut other, _) = stage.on("route/2", None);
    let (reading, publisher) = (session.clone(), stage.clone());
    stage.source.in_read.lock().push_back(Box::new(move || {
        interruption.set(move || publisher.publish([11], &[1]));
        assert_eq!(drain(&mut reading.lock()), "11");
    }));
    assert_eq!(drain(&mut other), "s10");
    assert_eq!(drain(&mut session.lock()), "s10");
}

#[test]
fn the_rooms_of_a_session_deliver_in_turn() {
    let stage = stage();
    let (mut session, _) = stage.session();
    for id in 1..=2 {
        session.subscribe(&name(&format!("route/{id}")), None).expect("subscribed");
    }
    drain(&mut session);
    stage.publish(11..=13, &[1, 2]);
    let channels: Vec<String> =
        std::iter::from_fn(|| session.next_delivery()).map(|it| it.channel().to_string()).collect();
    let turns = ["route/1", "route/2"].repeat(3);
    assert!(channels == turns || channels.iter().rev().eq(turns.iter()), "{channels:?}");
}

#[test]
fn delivery_time_is_measured_for_connected_sessions_only() {
    let stage = stage();
    let (mut present, _) = stage.on("route/1", None);
    drain(&mut present);
    stage.publish(11..=12, &[1]);
    stage.clock.advance_time(Duration::from_millis(3));
    assert_eq!(drain(&mut present), "11 12");
    let (mut returning, _) = stage.on("route/1", Some(at(10)));
    assert_eq!(drain(&mut returning), "11 12");
    let times = stage.hub.delivery_time_snapshot();
    assert_eq!(
        (times.value_count(), times.min(), times.max()),
        (2, Some(3_000_000), Some(3_000_000))
    );
    assert_eq!(stage.hub.metrics().deliveries_total, 5);
}

#[test]
fn the_interest_shows_kinds_without_rooms() {
    let stage = stage();
    let interest = stage.hub.room_group(GROUP);
    assert!(!interest.has_rooms_of_kind(ROUTE) && stage.hub.find_room(route(1)).is_none());
    let (session, _) = stage.on("route/1", None);
    assert!(interest.has_rooms_of_kind(ROUTE) && !interest.has_rooms_of_kind(ROUTE + 1));
    assert_eq!(stage.hub.rooms_of_kind_in_group(GROUP, ROUTE).len(), 1);
    drop(session);
    stage.hub.trim_and_close_idle_rooms();
    assert!(interest.has_rooms_of_kind(ROUTE), "a room lingers after its last subscription");
    stage.clock.advance_time(Duration::from_secs(10));
    stage.hub.trim_and_close_idle_rooms();
    assert!(!interest.has_rooms_of_kind(ROUTE) && stage.hub.find_room(route(1)).is_none());
    assert!(stage.hub.rooms_of_kind_in_group(GROUP, ROUTE).is_empty());
}

#[test]
fn refused_subscriptions_return_their_reason() {
    let stage =
        stage_with(HubConfig { rooms_max: 2, linger: Duration::ZERO, ..HubConfig::default() });
    let (mut session, _) = stage.session();
    let route = name("route/1");
    assert!(session.subscribe(&route, None).is_ok());
    assert_eq!(session.subscribe(&route, None), Err(SubscribeError::AlreadySubscribed));
    assert_eq!(session.subscribe(&name("twin/1"), None), Err(SubscribeError::KeyTaken));
    let unknown = SubscribeError::Unresolved(ChannelResolveError::UnknownFeed);
    assert_eq!(session.subscribe(&name("route/x"), None), Err(unknown));
    assert!(session.subscribe(&name("area/1"), None).is_ok());
    assert_eq!(session.subscribe(&name("route/2"), None), Err(SubscribeError::TooManyRooms));
    assert_eq!(stage.hub.metrics().refused_rooms_total, 1);
    assert!(session.unsubscribe(&name("area/1")) && !session.unsubscribe(&name("area/1")));
    stage.hub.trim_and_close_idle_rooms();
    assert!(session.subscribe(&name("route/2"), None).is_ok());

    let mut narrow =
        stage.hub.open_session(Arc::new(Signals::default()), SessionLimits { channels_max: 1 });
    assert!(narrow.subscribe(&route, None).is_ok());
    assert_eq!(narrow.subscribe(&name("route/2"), None), Err(SubscribeError::TooManyChannels));
}

#[test]
fn dropping_a_session_frees_everything() {
    let stage = stage();
    let (mut session, _) = stage.session();
    for channel in ["route/1", "route/2", "area/1"] {
        session.subscribe(&name(channel), None).expect("subscribed");
    }
    drain(&mut session);
    stage.publish([11], &[1, 2]);
    drop(session);
    stage.clock.advance_time(Duration::from_secs(10));
    stage.hub.trim_and_close_idle_rooms();
    let HubMetrics { sessions, rooms, subscriptions, ring_bytes, state_bytes, .. } =
        stage.hub.metrics();
    assert_eq!((sessions, rooms, subscriptions, ring_bytes, state_bytes), (0, 0, 0, 0, 0));
}

#[test]
fn the_ring_grows_with_its_state_and_expires() {
    let stage = stage_with(HubConfig {
        ring_bytes_min: 1_000,
        ring_age: Duration::from_secs(60),
        ..HubConfig::default()
    });
    let (mut session, _) = stage.on("route/1", None);
    let bytes = |stage: &Stage| stage.hub.metrics().ring_bytes;
    drain(&mut session);
    stage.publish(11..=100, &[1]);
    let small = bytes(&stage);
    assert!(small <= 1_000 && small > 800, "{small}");
    stage.parts(&[3_000, 2_000]);
    let (mut other, _) = stage.on("route/1", None);
    drain(&mut other);
    stage.publish(101..=300, &[1]);
    let large = bytes(&stage);
    assert!(large <= 10_000 && large > 9_000, "{large}");
    stage.clock.advance_time(Duration::from_secs(61));
    stage.hub.trim_and_close_idle_rooms();
    assert_eq!(bytes(&stage), 0);
}

#[test]
fn an_unused_state_is_freed() {
    let stage = stage();
    let (mut session, _) = stage.on("route/1", None);
    drain(&mut session);
    assert_eq!(stage.hub.metrics().state_bytes, 5);
    stage.clock.advance_time(Duration::from_secs(10));
    stage.hub.trim_and_close_idle_rooms();
    assert_eq!(stage.hub.metrics().state_bytes, 0);
}

#[test]
fn at_the_nodes_limit_the_largest_room_shrinks_first() {
    let stage = stage_with(HubConfig { total_bytes: 20_000, ..HubConfig::default() });
    stage.parts(&[1]);
    let (mut small, _) = stage.on("route/1", None);
    let (mut large, _) = stage.on("route/2", None);
    drain(&mut small);
    drain(&mut large);
    stage.publish(11..=15, &[1]);
    stage.publish(16..=300, &[2]);
    let metrics = stage.hub.metrics();
    assert!(metrics.ring_bytes + metrics.state_bytes <= 20_000, "{metrics:?}");
    assert!(metrics.evicted_total > 0);
    assert_eq!(drain(&mut small), "11 12 13 14 15");
    assert_eq!(drain(&mut large), "g300");
}
