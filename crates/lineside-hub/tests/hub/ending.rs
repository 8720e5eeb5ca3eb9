//! Tests of ended groups: their listeners are informed, and no one can join any more.

use std::sync::Arc;

use lineside_hub::{ChannelResolveError, Position, SubscribeError};

use crate::script::{GROUP, OTHER_EPOCH, at, drain, held, name, stage};

const NEXT_GROUP: u32 = 2;

fn there(offset: u64) -> Position {
    Position { epoch: OTHER_EPOCH, offset }
}

#[test]
fn ending_a_group_ends_all_its_subscriptions() {
    let stage = stage();
    let (mut following, signals) = stage.on("route/1", None);
    assert_eq!(drain(&mut following), "s10");
    let (mut waiting, _) = stage.on("route/2", None);
    let (mut elsewhere, _) = stage.on("area/1", None);
    assert_eq!(drain(&mut elsewhere), "s0");
    stage.publish([11], &[1]);
    assert_eq!(drain(&mut following), "11");
    signals.take();
    *stage.source.group.lock() = None;
    stage.hub.end_group_and_close_rooms(GROUP);
    assert_eq!(signals.take(), 1);
    assert_eq!(drain(&mut following), "over");
    assert_eq!(drain(&mut waiting), "over");
    assert_eq!(drain(&mut elsewhere), "");
    assert_eq!((following.subscription_count(), elsewhere.subscription_count()), (0, 1));
    let metrics = stage.hub.metrics();
    assert_eq!((metrics.ended_with_group_total, metrics.rooms), (2, 1));
    assert_eq!((metrics.ring_bytes, metrics.state_bytes), (0, 5));
    assert_eq!(
        following.subscribe(&name("route/1"), None),
        Err(SubscribeError::Unresolved(ChannelResolveError::UnknownFeed))
    );
}

#[test]
fn subscribing_while_the_group_ends_fails_or_joins_the_next_group() {
    for next in [None, Some(NEXT_GROUP)] {
        let stage = stage();
        let (source, hub) = (stage.source.clone(), stage.hub.clone());
        stage.source.in_position.lock().push_back(Box::new(move || {
            *source.group.lock() = next;
            hub.end_group_and_close_rooms(GROUP);
        }));
        stage.swap(there(3));
        let (mut session, _) = stage.session();
        let subscribed = session.subscribe(&name("route/1"), None);
        match next {
            None => {
                assert!(subscribed.is_err());
                assert_eq!(session.subscription_count(), 0);
            }
            Some(_) => {
                assert_eq!(subscribed.map(|it| it.position), Ok(there(0)));
                assert_eq!(drain(&mut session), "s3");
            }
        }
    }
}

#[test]
fn a_position_in_an_ended_group_gets_a_gap_in_the_next_group() {
    let stage = stage();
    let (mut session, _) = stage.on("route/1", None);
    let _ = session.subscribe(&name("route/2"), None);
    assert_eq!(drain(&mut session), "s10 s10");
    *stage.source.group.lock() = Some(NEXT_GROUP);
    stage.swap(there(3));
    stage.hub.end_group_and_close_rooms(GROUP);
    // Subscribes again on one channel before the end of the other channel is delivered.
    let first = session.next_delivery();
    assert!(first.is_some_and(|it| it.channel() == &name("route/1")));
    let resubscribed = session.subscribe(&name("route/1"), Some(at(10)));
    assert_eq!(resubscribed.map(|it| (it.recovered, it.position)), Ok((false, there(0))));
    assert_eq!(drain(&mut session), "over g3");
    // The quiet channel continues with its new group.
    let mut batch = stage.hub.open_publish_batch();
    batch.mark_group_published_up_to(NEXT_GROUP, there(7));
    batch.finish_and_signal_listeners();
    assert_eq!(drain(&mut session), "");
    assert_eq!(held(&mut session), ["city@7"]);
}

#[test]
fn sweeping_removes_an_ended_group() {
    let stage = stage();
    let (mut session, _) = stage.on("route/1", None);
    assert_eq!(drain(&mut session), "s10");
    let previous = stage.hub.room_group(GROUP);
    stage.hub.trim_and_close_idle_rooms();
    assert!(Arc::ptr_eq(&previous, &stage.hub.room_group(GROUP)));
    *stage.source.group.lock() = None;
    stage.hub.end_group_and_close_rooms(GROUP);
    assert_eq!(drain(&mut session), "over");
    drop(session);
    stage.hub.trim_and_close_idle_rooms();
    assert!(!Arc::ptr_eq(&previous, &stage.hub.room_group(GROUP)));
}
