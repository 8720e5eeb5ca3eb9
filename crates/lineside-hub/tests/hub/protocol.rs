//! Tests of deliveries and claimed positions, rule by rule.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{Position, SubscribeOutcome};

use crate::script::{EPOCH, GROUP, OTHER_EPOCH, at, brief, drain, held, name, stage};

#[test]
fn a_new_subscriber_receives_the_state_and_then_publications() {
    let stage = stage();
    stage.parts(&[5, 5]);
    let (mut session, _) = stage.session();
    let subscribed = session.subscribe(&name("route/1"), None);
    assert_eq!(subscribed, Ok(SubscribeOutcome { recovered: false, position: at(0) }));
    assert_eq!(drain(&mut session), "s. s10");
    stage.publish([11, 13], &[1]);
    assert_eq!(drain(&mut session), "11 13");
}

#[test]
fn publications_at_or_below_the_state_are_skipped() {
    let stage = stage();
    let (_other, _) = stage.on("route/1", None);
    stage.publish([11], &[1]);
    stage.swap(at(12));
    let (mut session, _) = stage.on("route/1", None);
    // The writer of 12 has swapped the state, but not appended yet.
    assert_eq!(drain(&mut session), "s12");
    let mut batch = stage.hub.open_publish_batch();
    batch.append_publication(&stage.room(1), Some(at(12)), Bytes::from_static(b"late"));
    batch.finish_and_signal_listeners();
    assert_eq!(drain(&mut session), "");
}

#[test]
fn a_covered_position_is_resumed_without_a_state() {
    let stage = stage();
    let (_other, _) = stage.on("route/1", None);
    stage.publish([11, 12, 13], &[1]);
    let (mut session, _) = stage.session();
    let subscribed = session.subscribe(&name("route/1"), Some(at(11)));
    assert_eq!(subscribed, Ok(SubscribeOutcome { recovered: true, position: at(11) }));
    assert_eq!(drain(&mut session), "12 13");
    let (mut at_the_top, _) = stage.on("route/1", Some(at(13)));
    assert_eq!(drain(&mut at_the_top), "");
    assert_eq!(stage.hub.metrics().resumed_total, 2);
}

#[test]
fn an_uncovered_position_gets_a_state_with_a_gap() {
    let stage = stage();
    let (_other, _) = stage.on("route/1", None);
    stage.publish(11..=20, &[1]);
    let uncovered = [at(9), at(15), Position { epoch: OTHER_EPOCH, offset: 20 }];
    for from in uncovered {
        let (mut session, _) = stage.session();
        let subscribed = session.subscribe(&name("route/1"), Some(from)).expect("subscribed");
        assert_eq!((subscribed.recovered, subscribed.position), (false, at(0)));
        assert_eq!(drain(&mut session), "g20", "from {from}");
    }
    assert_eq!(stage.hub.metrics().gaps_resume_total, 3);
}

#[test]
fn a_subscriber_at_offset_zero_gets_no_gap() {
    let stage = stage();
    let (mut session, _) = stage.on("route/1", Some(at(0)));
    assert_eq!(drain(&mut session), "s10");
}

#[test]
fn a_position_ahead_of_the_top_is_neither_resumed_nor_listed() {
    let stage = stage();
    let (mut session, _) = stage.session();
    let subscribed = session.subscribe(&name("route/1"), Some(at(11))).expect("subscribed");
    assert!(!subscribed.recovered);
    // The listed position continues nothing: a client that returns with it gets a gap, even once there is an 11.
    let listed: Vec<_> =
        session.client_positions().map(|(name, at)| (name.to_owned(), at)).collect();
    assert_eq!(listed, [("city".to_owned(), Position::INVALID)]);
    assert_eq!(drain(&mut session), "g10");
    assert_eq!(held(&mut session), ["city@10"]);
    stage.publish([11], &[1]);
    let (mut second, _) = stage.on("route/1", Some(Position::INVALID));
    assert_eq!(drain(&mut second), "g10 11");
}

#[test]
fn no_epoch_is_listed_until_all_channels_have_reached_it() {
    let stage = stage();
    let (mut session, _) = stage.session();
    for channel in ["route/1", "route/2"] {
        session.subscribe(&name(channel), None).expect("subscribed");
    }
    drain(&mut session);
    assert_eq!(held(&mut session), ["city@10"]);
    let renewed = Position { epoch: OTHER_EPOCH, offset: 3 };
    stage.swap(renewed);
    let mut batch = stage.hub.open_publish_batch();
    [1, 2].iter().for_each(|id| batch.resend_state_with_gap(&stage.room(*id), renewed));
    batch.finish_and_signal_listeners();
    assert!(session.next_delivery().is_some(), "the state of the first channel");
    let listed: Vec<_> = session.client_positions().map(|(_, position)| position).collect();
    assert_eq!(listed, [Position::INVALID], "another node may still know the old epoch");
    assert_eq!(drain(&mut session), "g3");
    assert_eq!(
        session.client_positions().map(|(_, position)| position).collect::<Vec<_>>(),
        [renewed]
    );
}

#[test]
fn a_fast_reader_receives_a_batch_larger_than_the_ring() {
    let stage = stage();
    let (mut session, _) = stage.on("route/1", None);
    assert_eq!(drain(&mut session), "s10");
    stage.swap(at(17));
    let mut batch = stage.hub.open_publish_batch();
    for offset in 11..=17 {
        batch.append_publication(&stage.room(1), Some(at(offset)), Bytes::from_static(b"change"));
    }
    batch.finish_and_signal_listeners();
    assert_eq!(drain(&mut session), "11 12 13 14 15 16 17");
}

#[test]
fn a_slow_reader_gets_states_and_is_ended_at_the_third_gap() {
    let stage = stage();
    let (mut session, _) = stage.on("route/1", None);
    assert_eq!(drain(&mut session), "s10");
    let pull =
        |session: &mut lineside_hub::Session| brief(&session.next_delivery().expect("something"));
    stage.publish(11..=20, &[1]);
    assert_eq!(pull(&mut session), "g20");
    stage.publish(21..=30, &[1]);
    assert_eq!(pull(&mut session), "g30");
    stage.publish(31..=40, &[1]);
    assert_eq!(drain(&mut session), "slow");
    assert_eq!((session.subscription_count(), stage.room(1).listener_count()), (0, 0));
    let metrics = stage.hub.metrics();
    assert_eq!((metrics.gaps_slow_total, metrics.ended_slow_total), (2, 1));
}

#[test]
fn reaching_the_top_resets_the_count_of_gaps() {
    let stage = stage();
    let (mut session, _) = stage.on("route/1", None);
    drain(&mut session);
    for round in 1..=5 {
        stage.publish(round * 100..round * 100 + 10, &[1]);
        assert_eq!(drain(&mut session), format!("g{}", round * 100 + 9));
    }
    assert_eq!(stage.hub.metrics().gaps_slow_total, 5);
}

#[test]
fn a_new_dataset_sends_the_state_once_without_a_gap() {
    let stage = stage();
    let (mut session, _) = stage.on("route/1", None);
    let (mut behind, _) = stage.on("route/1", None);
    drain(&mut session);
    drain(&mut behind);
    stage.publish([11], &[1]);
    assert_eq!(drain(&mut session), "11");
    stage.swap(at(12));
    let mut batch = stage.hub.open_publish_batch();
    batch.resend_state_without_gap(&stage.room(1), Some(at(12)));
    batch.finish_and_signal_listeners();
    assert_eq!(drain(&mut session), "s12");
    assert_eq!(drain(&mut behind), "s12");
    stage.publish([13], &[1]);
    assert_eq!(drain(&mut session), "13");
    let (mut resumed, _) = stage.on("route/1", Some(at(11)));
    assert_eq!(
        drain(&mut resumed),
        "g12 13",
        "the client that was away missed the publications in between"
    );
}

#[test]
fn a_reader_overtaken_before_a_new_dataset_gets_a_gap() {
    let stage = stage();
    let (mut session, _) = stage.on("route/1", None);
    drain(&mut session);
    stage.publish(11..=20, &[1]);
    stage.swap(at(21));
    let mut batch = stage.hub.open_publish_batch();
    batch.resend_state_without_gap(&stage.room(1), Some(at(21)));
    drop(batch);
    assert_eq!(drain(&mut session), "g21");
}

#[test]
fn a_new_epoch_is_a_gap_for_all_readers() {
    let stage = stage();
    let (mut session, signals) = stage.on("route/1", None);
    drain(&mut session);
    stage.publish_at(Position { epoch: OTHER_EPOCH, offset: 3 }, &[1]);
    assert_eq!(signals.take(), 1);
    assert_eq!(drain(&mut session), "g3");
    assert_eq!(stage.hub.metrics().gaps_epoch_total, 1);
    assert!(session.client_positions().all(|(_, position)| position.epoch == OTHER_EPOCH));
}

#[test]
fn a_position_read_before_a_new_epoch_is_read_again() {
    let stage = Arc::new(stage());
    let (mut session, _) = stage.on("route/1", None);
    drain(&mut session);
    let publisher = stage.clone();
    let new_epoch = Position { epoch: OTHER_EPOCH, offset: 3 };
    stage
        .source
        .in_position
        .lock()
        .push_back(Box::new(move || publisher.publish_at(new_epoch, &[1])));
    let (mut late, _) = stage.session();
    let subscribed = late.subscribe(&name("route/1"), None).expect("subscribed");
    assert_eq!(subscribed.position, Position { epoch: OTHER_EPOCH, offset: 0 });
    assert_eq!(stage.room(1).newest_position(), Some(new_epoch), "the old epoch did not return");
    assert_eq!(drain(&mut session), "g3");
    assert_eq!(drain(&mut late), "s3");
}

#[test]
fn a_state_of_the_old_epoch_is_read_again() {
    let stage = Arc::new(stage());
    let (mut session, _) = stage.on("route/1", None);
    let publisher = stage.clone();
    let new_epoch = Position { epoch: OTHER_EPOCH, offset: 3 };
    stage.source.in_read.lock().push_back(Box::new(move || publisher.publish_at(new_epoch, &[1])));
    assert_eq!(drain(&mut session), "s3");
    assert_eq!(stage.hub.metrics().states_encoded_total, 2);
}

#[test]
fn a_state_overtaken_while_reading_is_read_again() {
    let stage = Arc::new(stage());
    let (mut session, _) = stage.on("route/1", None);
    let publisher = stage.clone();
    stage.source.in_read.lock().push_back(Box::new(move || publisher.publish(11..=20, &[1])));
    assert_eq!(drain(&mut session), "s20");
    assert_eq!(stage.hub.metrics().gaps_slow_total, 0, "the gap does not count as slowness");
}

#[test]
fn a_lingering_room_can_be_resumed_and_a_removed_one_cannot() {
    let stage = stage();
    let (mut session, _) = stage.on("route/1", None);
    drain(&mut session);
    drop(session);
    stage.publish([11], &[1]);
    stage.clock.advance_time(Duration::from_secs(9));
    stage.hub.trim_and_close_idle_rooms();
    let (mut session, _) = stage.on("route/1", Some(at(10)));
    assert_eq!(drain(&mut session), "11");
    drop(session);
    stage.clock.advance_time(Duration::from_secs(10));
    stage.hub.trim_and_close_idle_rooms();
    stage.swap(at(12));
    let (mut session, _) = stage.on("route/1", Some(at(11)));
    assert_eq!(drain(&mut session), "g12");
}

#[test]
fn a_room_with_its_own_offsets_has_a_new_epoch_when_recreated() {
    let stage = stage();
    let (mut session, _) = stage.session();
    let first = session.subscribe(&name("area/1"), None).expect("subscribed").position.epoch;
    assert_eq!(drain(&mut session), "s0");
    let room = stage.hub.rooms_of_kind_in_group(0, 3).remove(0);
    let mut batch = stage.hub.open_publish_batch();
    batch.append_publication(&room, None, Bytes::from_static(b"one"));
    batch.append_publication(&room, None, Bytes::from_static(b"two"));
    batch.finish_and_signal_listeners();
    assert_eq!(drain(&mut session), "1 2");
    assert_eq!(held(&mut session), ["area/1@2"]);
    drop(session);
    stage.clock.advance_time(Duration::from_secs(10));
    stage.hub.trim_and_close_idle_rooms();
    let (mut session, _) = stage.session();
    let from = Position { epoch: first, offset: 2 };
    let second = session.subscribe(&name("area/1"), Some(from)).expect("subscribed");
    assert!(!second.recovered && second.position.epoch != first);
    assert_eq!(drain(&mut session), "g0");
}

#[test]
fn a_sequence_is_listed_at_the_lowest_position_of_its_channels() {
    let stage = stage();
    stage.parts(&[5, 5]);
    let (mut session, _) = stage.session();
    for channel in ["route/1", "route/2", "area/1"] {
        session.subscribe(&name(channel), None).expect("subscribed");
    }
    let mut lists = Vec::new();
    while let Some(delivery) = session.next_delivery() {
        if delivery.position().is_some() && delivery.channel().as_str() == "route/1" {
            // The network moves on between the two states.
            stage.swap(at(12));
        }
        lists.push(held(&mut session));
    }
    let empty = Vec::<String>::new();
    assert_eq!(
        lists[..5],
        [&empty, &empty, &empty, &empty, &vec!["city@10".to_string()]].map(Vec::clone)
    );
    // A publication of another route: no delivery here, but both routes are now complete up to it.
    let (_third, _) = stage.on("route/3", None);
    stage.publish([13], &[3]);
    assert_eq!(drain(&mut session), "");
    assert_eq!(held(&mut session), ["city@13"]);
}

#[test]
fn a_quiet_channel_does_not_hold_back_a_busy_one() {
    let stage = stage();
    let (mut session, _) = stage.session();
    for channel in ["route/1", "route/2"] {
        session.subscribe(&name(channel), None).expect("subscribed");
    }
    drain(&mut session);
    for offset in 11..=30 {
        stage.publish([offset], &[1]);
        drain(&mut session);
    }
    assert_eq!(held(&mut session), ["city@30"]);
    let (mut second, _) = stage.session();
    for channel in ["route/1", "route/2"] {
        assert!(second.subscribe(&name(channel), Some(at(30))).expect("subscribed").recovered);
    }
}

#[test]
fn a_listed_position_does_not_move_while_a_state_is_sent_again() {
    let stage = stage();
    stage.parts(&[5, 5]);
    let (mut session, _) = stage.session();
    for channel in ["route/1", "route/2"] {
        session.subscribe(&name(channel), None).expect("subscribed");
    }
    drain(&mut session);
    stage.publish(11..=20, &[1]);
    assert_eq!(session.next_delivery().map(|it| brief(&it)), Some("g.".into()));
    assert_eq!(held(&mut session), ["city@10"]);
    // A client that returns with it now gets the state: it is out of the ring permanently.
    let (mut second, _) = stage.on("route/1", Some(at(10)));
    assert_eq!(drain(&mut second), "g. g20");
}

#[test]
fn the_reached_position_advances_channels_without_publications() {
    let stage = stage();
    let (mut session, _) = stage.on("route/1", None);
    drain(&mut session);
    stage.swap(at(25));
    let mut batch = stage.hub.open_publish_batch();
    batch.mark_group_published_up_to(GROUP, at(25));
    batch.finish_and_signal_listeners();
    assert_eq!(drain(&mut session), "");
    assert_eq!(held(&mut session), ["city@25"]);
}

#[test]
fn a_room_marked_with_a_gap_sends_the_state_with_a_gap() {
    let stage = stage();
    let (mut session, signals) = stage.on("route/1", None);
    drain(&mut session);
    stage.publish([11], &[1]);
    assert_eq!(drain(&mut session), "11");
    signals.take();
    stage.swap(at(20));
    let mut batch = stage.hub.open_publish_batch();
    batch.resend_state_with_gap(&stage.room(1), at(20));
    batch.finish_and_signal_listeners();
    assert_eq!(signals.take(), 1);
    assert_eq!(drain(&mut session), "g20");
    stage.publish([21], &[1]);
    assert_eq!(drain(&mut session), "21");
    // A room that has already read the state is left unchanged.
    stage.swap(at(30));
    let (mut fresh, _) = stage.on("route/2", None);
    assert_eq!(drain(&mut fresh), "s30");
    let mut batch = stage.hub.open_publish_batch();
    batch.resend_state_with_gap(&stage.room(2), at(30));
    batch.finish_and_signal_listeners();
    assert_eq!(drain(&mut fresh), "");
}

#[test]
fn the_listed_position_has_the_epoch_of_the_source() {
    let stage = stage();
    let (mut session, _) = stage.on("route/1", None);
    drain(&mut session);
    let listed: Vec<_> =
        session.client_positions().map(|(name, position)| format!("{name}@{position}")).collect();
    assert_eq!(listed, [format!("city@{EPOCH}:10")]);
}
