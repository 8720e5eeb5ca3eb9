//! Tests of the operator's own channels: logs without a state, and their history.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{
    APP_DATA_BYTES_MAX, DisconnectOrder, HistoryError, HistoryOptions, HistoryQuery, HubConfig,
    Namespace, Position, PresenceMember, PublicationExtras, PublishError,
};

use crate::script::{Stage, drain, held, name, stage, stage_with};

const ALL: HistoryQuery = HistoryQuery { limit: usize::MAX, since: None, reverse: false };

/// `app/…` has no history, `app/kept/…` has three publications for a minute.
fn app_stage() -> Stage {
    let history = HistoryOptions { size: 3, ttl: Duration::from_secs(60) };
    stage_with(HubConfig {
        ring_publications: 4,
        linger: Duration::from_secs(10),
        namespaces: vec![Namespace {
            prefix: "app/kept/".into(),
            history: Some(history),
            ..Namespace::default()
        }],
        ..HubConfig::default()
    })
}

impl Stage {
    fn say(&self, channel: &str, texts: &[&'static str]) -> Option<Position> {
        let mut last = None;
        for text in texts {
            let published = self.hub.publish_to_app_channel(
                &name(channel),
                Bytes::from(*text),
                PublicationExtras::default(),
            );
            last = published.expect("published").position;
        }
        last
    }

    fn history(&self, channel: &str, request: HistoryQuery) -> Vec<String> {
        let history = self.hub.read_history(&name(channel), request).expect("a history");
        let text = |it: &Bytes| String::from_utf8_lossy(it).into_owned();
        history.publications.iter().map(|it| text(it.payload.data())).collect()
    }
}

#[test]
fn a_subscriber_receives_later_publications_and_no_state() {
    let stage = app_stage();
    let (mut session, signals) = stage.on("app/x", None);
    assert_eq!(drain(&mut session), "");
    stage.say("app/x", &["1", "2"]);
    assert_eq!(signals.take(), 1);
    assert_eq!(drain(&mut session), "1 2");
    let (mut later, _) = stage.on("app/x", None);
    stage.say("app/x", &["3"]);
    assert_eq!(drain(&mut later), "3");
    assert_eq!(held(&mut later), ["app/x@3"]);
    assert_eq!(stage.hub.metrics().states_encoded_total, 0);
}

#[test]
fn publishing_without_listeners_or_history_creates_no_room() {
    let stage = app_stage();
    assert_eq!(stage.say("app/x", &["1"]), None);
    assert_eq!(stage.hub.metrics().rooms, 0);
    assert!(stage.say("app/kept/x", &["1"]).is_some());
    assert_eq!(stage.hub.metrics().rooms, 1);
}

#[test]
fn a_returning_client_receives_missed_publications() {
    let stage = app_stage();
    let mut session = stage.session().0;
    let start = session.subscribe(&name("app/kept/x"), None).expect("subscribed").position;
    assert_eq!(start.offset, 0);
    drop(session);
    stage.say("app/kept/x", &["1", "2"]);
    let mut session = stage.session().0;
    let resubscribed = session.subscribe(&name("app/kept/x"), Some(start)).expect("subscribed");
    assert!(resubscribed.recovered);
    assert_eq!(drain(&mut session), "1 2");
}

#[test]
fn a_client_with_an_uncovered_position_continues_from_now() {
    let stage = app_stage();
    let first = stage.say("app/kept/x", &["1"]).expect("a position");
    stage.say("app/kept/x", &["2", "3", "4", "5", "6"]);
    let ahead = Position { offset: 99, ..first };
    let other_epoch = Position { epoch: crate::script::OTHER_EPOCH, ..first };
    for from in [first, ahead, other_epoch] {
        let mut session = stage.session().0;
        let subscribed = session.subscribe(&name("app/kept/x"), Some(from)).expect("subscribed");
        assert!(!subscribed.recovered);
        assert_eq!(subscribed.position, Position { offset: 6, ..first });
        assert_eq!(drain(&mut session), "");
    }
}

#[test]
fn the_subscription_of_an_overtaken_reader_ends() {
    let stage = app_stage();
    let (mut session, _) = stage.on("app/x", None);
    stage.say("app/x", &["1", "2", "3", "4", "5"]);
    assert_eq!(drain(&mut session), "lost");
    assert_eq!(session.subscription_count(), 0);
    assert_eq!(stage.hub.metrics().ended_lost_total, 1);
}

#[test]
fn a_room_of_large_publications_retains_only_its_history() {
    const EACH: usize = 20 << 10;
    let history = HistoryOptions { size: 5, ttl: Duration::from_secs(60) };
    let stage = stage_with(HubConfig {
        ring_bytes_min: 64 << 10,
        namespaces: vec![Namespace { history: Some(history), ..Namespace::default() }],
        ..HubConfig::default()
    });
    let publish = || {
        let data = Bytes::from(vec![b'x'; EACH]);
        stage
            .hub
            .publish_to_app_channel(&name("app/x"), data, PublicationExtras::default())
            .expect("published")
            .position
    };
    let first = publish().expect("a position");
    assert_eq!((2..=16).filter_map(|_| publish()).count(), 15);
    assert_eq!(stage.history("app/x", ALL).len(), 5, "the history is complete");
    let ring_bytes = stage.hub.metrics().ring_bytes;
    assert!((5 * EACH..6 * EACH).contains(&ring_bytes), "{ring_bytes} bytes in the log");
    for (missed, recovered) in [(15, false), (6, false), (5, true)] {
        let mut session = stage.session().0;
        let from = Position { offset: 16 - missed, ..first };
        let subscribed = session.subscribe(&name("app/x"), Some(from)).expect("subscribed");
        assert_eq!(subscribed.recovered, recovered, "after {missed}");
    }
}

#[test]
fn a_room_of_small_publications_retains_more_than_its_history() {
    let stage = app_stage();
    let start = stage.say("app/kept/x", &["1"]).expect("a position");
    stage.say("app/kept/x", &["2", "3", "4", "5"]);
    let mut session = stage.session().0;
    let resubscribed = session.subscribe(&name("app/kept/x"), Some(start)).expect("subscribed");
    assert!(resubscribed.recovered, "the log still holds four publications, more than the history");
}

#[test]
fn a_history_is_bounded_by_size_and_age() {
    let stage = app_stage();
    stage.say("app/kept/x", &["1", "2", "3", "4"]);
    assert_eq!(stage.history("app/kept/x", ALL), ["2", "3", "4"]);
    stage.clock.advance_time(Duration::from_secs(59));
    stage.hub.trim_and_close_idle_rooms();
    stage.say("app/kept/x", &["5"]);
    assert_eq!(stage.history("app/kept/x", ALL), ["3", "4", "5"]);
    stage.clock.advance_time(Duration::from_secs(2));
    assert_eq!(stage.history("app/kept/x", ALL), ["5"]);
    stage.clock.advance_time(Duration::from_secs(60));
    stage.hub.trim_and_close_idle_rooms();
    assert_eq!(stage.hub.metrics().rooms, 0, "no room is left");
}

#[test]
fn a_history_is_read_by_position_limit_and_direction() {
    let stage = app_stage();
    let at = stage.say("app/kept/x", &["1", "2", "3"]).expect("a position");
    let since = Some(Position { offset: 1, ..at });
    assert_eq!(stage.history("app/kept/x", HistoryQuery { since, ..ALL }), ["2", "3"]);
    assert_eq!(stage.history("app/kept/x", HistoryQuery { limit: 2, ..ALL }), ["1", "2"]);
    let newest = HistoryQuery { limit: 2, reverse: true, since: None };
    assert_eq!(stage.history("app/kept/x", newest), ["3", "2"]);
    let before = HistoryQuery { limit: 9, reverse: true, since: Some(at) };
    assert_eq!(stage.history("app/kept/x", before), ["2", "1"]);
    let nothing = HistoryQuery { limit: 0, ..ALL };
    let top = stage.hub.read_history(&name("app/kept/x"), nothing).expect("a history");
    assert_eq!((top.publications.len(), top.position), (0, at));
}

#[test]
fn a_history_request_without_history_or_of_another_epoch_is_refused() {
    let stage = app_stage();
    let refused = |channel, request| stage.hub.read_history(&name(channel), request).err();
    assert_eq!(refused("app/x", ALL), Some(HistoryError::HistoryDisabled));
    let since = Some(Position { epoch: crate::script::OTHER_EPOCH, offset: 1 });
    let other = HistoryQuery { since, ..ALL };
    assert_eq!(refused("app/kept/x", other), Some(HistoryError::OtherEpoch));
}

#[test]
fn the_history_of_a_transit_channel_is_read_from_its_ring() {
    let stage = stage();
    let (mut session, _) = stage.on("route/1", None);
    drain(&mut session);
    stage.publish(11..=12, &[1]);
    let history = stage.hub.read_history(&name("route/1"), ALL).expect("a history");
    let offsets: Vec<u64> = history.publications.iter().map(|it| it.offset).collect();
    assert_eq!((offsets, history.position.offset), (vec![11, 12], 12));
    let quiet = stage.hub.read_history(&name("route/2"), ALL).expect("a history");
    assert_eq!((quiet.publications.len(), quiet.position.offset), (0, 12));
}

#[test]
fn publisher_and_tags_are_delivered_with_the_publication() {
    let stage = app_stage();
    let (mut session, _) = stage.on("app/kept/x", None);
    let member = Arc::new(PresenceMember {
        client: "c1".into(),
        user: "42".into(),
        ..PresenceMember::default()
    });
    let extras = PublicationExtras {
        publisher: Some(member.clone()),
        tags: vec![("kind".into(), "typing".into())],
        skip_history: true,
    };
    let channel = name("app/kept/x");
    stage
        .hub
        .publish_to_app_channel(&channel, Bytes::from_static(b"1"), extras.clone())
        .expect("published");
    stage.say("app/kept/x", &["2"]);
    let Some(lineside_hub::ClientDelivery::Publication { publication, .. }) =
        session.next_delivery()
    else {
        panic!("the delivery is not a publication")
    };
    assert_eq!(publication.extras(), &extras);
    assert_eq!(stage.history("app/kept/x", ALL), ["2"], "the publication skips the history");
}

#[test]
fn oversized_publications_and_those_to_transit_channels_are_refused() {
    let stage = app_stage();
    let publish = |channel, bytes: usize, extras| {
        stage.hub.publish_to_app_channel(&name(channel), vec![b'1'; bytes].into(), extras).err()
    };
    assert_eq!(publish("route/1", 1, PublicationExtras::default()), Some(PublishError::NotApp));
    assert_eq!(publish("app/x", APP_DATA_BYTES_MAX, PublicationExtras::default()), None);
    let too_large = publish("app/x", APP_DATA_BYTES_MAX + 1, PublicationExtras::default());
    assert_eq!(too_large, Some(PublishError::TooLarge));
    let tags = vec![("name".into(), "x".repeat(9_000).into())];
    let extras = PublicationExtras { tags, ..PublicationExtras::default() };
    assert_eq!(publish("app/x", 1, extras), Some(PublishError::TooLarge));
}

#[test]
fn a_batch_signals_once_for_several_channels() {
    let stage = app_stage();
    let (mut session, signals) = stage.on("app/1", None);
    session.subscribe(&name("app/2"), None).expect("subscribed");
    let mut batch = stage.hub.open_publish_batch();
    for channel in ["app/1", "app/2"] {
        batch
            .publish_app(&name(channel), Bytes::from_static(b"x"), PublicationExtras::default())
            .expect("ok");
    }
    batch.finish_and_signal_listeners();
    assert_eq!(signals.take(), 1);
    assert_eq!(drain(&mut session), "1 1");
}

#[test]
fn disconnecting_a_user_ends_all_sessions_of_the_user() {
    let stage = app_stage();
    let mut sessions = ["1", "2"].map(|user| {
        let mut session = stage.session().0;
        session.subscribe_to_user_orders(user).expect("subscribed");
        session
    });
    let order =
        DisconnectOrder { code: 3503, except: vec!["c".into()], ..DisconnectOrder::default() };
    assert!(order.applies_to_client("b") && !order.applies_to_client("c"));
    assert!(!DisconnectOrder { client: Some("a".into()), ..order.clone() }.applies_to_client("b"));
    stage.hub.disconnect_user("1", order);
    assert_eq!(sessions.each_mut().map(drain), ["x3503", ""]);
    assert_eq!(sessions[0].subscription_count(), 0, "the user channel is not a subscription");
    assert_eq!(held(&mut sessions[0]), [""; 0]);
}
