//! Tests of presence: the members of a channel, and their joins and leaves.

use std::sync::Arc;

use lineside_hub::{
    HubConfig, Namespace, PresenceError, PresenceMember, PresenceMembership, PresenceStats, Session,
};
use proptest::prelude::*;

use crate::script::{Stage, drain, name, stage_with};

fn presence_stage(present_max: usize) -> Stage {
    let namespace = |prefix: &str, presence, join_leave| Namespace {
        prefix: prefix.into(),
        presence,
        join_leave,
        ..Namespace::default()
    };
    stage_with(HubConfig {
        namespaces: vec![
            namespace("app/told/", true, true),
            namespace("app/counted/", true, false),
        ],
        present_max,
        ..HubConfig::default()
    })
}

fn member(client: &str, user: &str) -> Arc<PresenceMember> {
    Arc::new(PresenceMember {
        client: client.into(),
        user: user.into(),
        ..PresenceMember::default()
    })
}

impl Stage {
    fn enter(&self, channel: &str, client: &str, user: &str) -> PresenceMembership {
        self.hub.count_as_present(&name(channel), member(client, user)).expect("entered")
    }

    fn count(&self, channel: &str) -> (usize, usize) {
        let PresenceStats { clients, users } =
            self.hub.presence_stats(&name(channel)).expect("counted");
        (clients, users)
    }

    fn listener(&self, channel: &str) -> Session {
        let mut session = self.on(channel, None).0;
        session.subscribe_to_joins_and_leaves(&name(channel)).expect("subscribed");
        session
    }
}

#[test]
fn a_channel_counts_clients_and_users() {
    let stage = presence_stage(10);
    assert_eq!(stage.count("app/counted/x"), (0, 0));
    let a = stage.enter("app/counted/x", "a", "1");
    let b = stage.enter("app/counted/x", "b", "1");
    let _c = stage.enter("app/counted/x", "c", "2");
    assert_eq!(stage.count("app/counted/x"), (3, 2));
    drop(a);
    assert_eq!(stage.count("app/counted/x"), (2, 2));
    drop(b);
    assert_eq!(stage.count("app/counted/x"), (1, 1));
    assert_eq!(stage.hub.metrics().present, 1);
}

#[test]
fn joins_and_leaves_are_sent_at_the_tick_without_offsets() {
    let stage = presence_stage(10);
    let mut session = stage.listener("app/told/x");
    let a = stage.enter("app/told/x", "a", "1");
    assert_eq!(drain(&mut session), "");
    stage.hub.publish_presence_changes();
    assert_eq!(drain(&mut session), "+a");
    drop(a);
    let _b = stage.enter("app/told/x", "b", "1");
    stage
        .hub
        .publish_to_app_channel(&name("app/told/x"), "1".into(), Default::default())
        .expect("published");
    stage.hub.publish_presence_changes();
    let changes = drain(&mut session);
    let mut changes: Vec<&str> = changes.split(' ').collect();
    changes.sort_unstable();
    assert_eq!(changes, ["+b", "-a", "1"], "the publication has the first offset of its sequence");
    assert_eq!(session.subscription_count(), 1);
}

#[test]
fn a_leave_and_rejoin_within_a_tick_is_not_sent() {
    let stage = presence_stage(10);
    let mut session = stage.listener("app/told/x");
    let a = stage.enter("app/told/x", "a", "1");
    stage.hub.publish_presence_changes();
    drain(&mut session);
    drop(a);
    let _a = stage.enter("app/told/x", "a", "1");
    drop(stage.enter("app/told/x", "b", "1"));
    stage.hub.publish_presence_changes();
    assert_eq!(drain(&mut session), "");
}

#[test]
fn unsubscribing_stops_joins_and_leaves() {
    let stage = presence_stage(10);
    let mut session = stage.listener("app/told/x");
    assert!(session.unsubscribe(&name("app/told/x")));
    let _a = stage.enter("app/told/x", "a", "1");
    stage.hub.publish_presence_changes();
    assert_eq!(drain(&mut session), "");
    assert!(!session.unsubscribe_from_joins_and_leaves(&name("app/told/x")));
}

#[test]
fn the_number_of_joins_per_tick_is_bounded() {
    let stage = presence_stage(100_000);
    let mut session = stage.listener("app/told/x");
    let members: Vec<PresenceMembership> =
        (0..8_000).map(|n| stage.enter("app/told/x", &format!("{n}"), "")).collect();
    stage.hub.publish_presence_changes();
    let changes = drain(&mut session).split(' ').count();
    assert_eq!(changes, 16, "the number of join deliveries per tick is bounded");
    drop(members);
    let mut rest = 0;
    for _ in 0..8_000 {
        stage.hub.publish_presence_changes();
        rest += drain(&mut session).split_terminator(' ').count();
    }
    assert_eq!(rest, 16, "changes that cancel out are not published");
    assert_eq!(stage.hub.metrics().member_changes_dropped_total, 0);
}

#[test]
fn presence_is_read_in_pages() {
    let stage = presence_stage(1_000);
    let members: Vec<PresenceMembership> =
        (0..250).map(|n| stage.enter("app/counted/x", &format!("{n}"), "")).collect();
    let mut gone = Vec::new();
    for (n, member) in members.into_iter().enumerate() {
        if n % 10 == 0 {
            drop(member);
        } else {
            gone.push(member);
        }
    }
    let (mut from, mut seen, mut pages) = (0, Vec::new(), 0);
    loop {
        let page = stage.hub.presence_page(&name("app/counted/x"), from, 100).expect("a page");
        seen.extend(page.members.iter().map(|it| it.client.parse::<u32>().expect("a number")));
        pages += 1;
        let Some(next) = page.next else { break };
        from = next;
    }
    seen.sort_unstable();
    let there: Vec<u32> = (0..250).filter(|n| n % 10 != 0).collect();
    assert_eq!((seen, pages), (there, 3));
}

#[test]
fn presence_requires_a_namespace_option_and_is_bounded() {
    let stage = presence_stage(1);
    let refused = |channel| stage.hub.count_as_present(&name(channel), member("z", "")).err();
    assert_eq!(refused("app/x"), Some(PresenceError::PresenceDisabled));
    assert_eq!(refused("route/1"), Some(PresenceError::PresenceDisabled));
    let _only = stage.enter("app/counted/x", "a", "");
    assert_eq!(refused("app/counted/x"), Some(PresenceError::Full));
    assert_eq!(
        stage.hub.presence_stats(&name("app/x")).err(),
        Some(PresenceError::PresenceDisabled)
    );
    assert_eq!(stage.hub.metrics().refused_presence_total, 1);
}

#[test]
fn joins_and_leaves_from_many_threads_match_the_presence() {
    const CLIENTS: usize = 50;
    let stage = presence_stage(1_000);
    let mut session = stage.listener("app/told/x");
    let mut known = std::collections::BTreeSet::new();
    let mut follow = || {
        stage.hub.publish_presence_changes();
        for word in drain(&mut session).split_terminator(' ') {
            let (sign, client) = word.split_at(1);
            let changed =
                if sign == "+" { known.insert(client.to_owned()) } else { known.remove(client) };
            assert!(changed, "{word} repeats an earlier change");
        }
        known.clone()
    };
    let there: Vec<(String, PresenceMembership)> = std::thread::scope(|scope| {
        let stage = &stage;
        let comes_and_goes = |thread: usize| {
            let mut rng = fastrand::Rng::with_seed(thread as u64);
            let mut there = std::collections::BTreeMap::new();
            for _ in 0..4_000 {
                let client = format!("{thread}.{}", rng.usize(..CLIENTS));
                if there.remove(&client).is_none() {
                    let membership = stage.enter("app/told/x", &client, "");
                    there.insert(client, membership);
                }
            }
            there
        };
        let threads: Vec<_> =
            (0..3).map(|thread| scope.spawn(move || comes_and_goes(thread))).collect();
        while !threads.iter().all(|thread| thread.is_finished()) {
            follow();
        }
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    let known = follow();
    let names: std::collections::BTreeSet<String> =
        there.iter().map(|(client, _)| client.clone()).collect();
    assert_eq!(known, names);
    assert_eq!(stage.count("app/told/x").0, names.len());
    drop(there);
    assert_eq!(follow().len(), 0);
    assert_eq!(stage.hub.metrics().present, 0);
}

proptest! {
    #[test]
    fn joins_and_leaves_add_up_to_the_presence(steps in prop::collection::vec((0..6_u8, 0..3_u8), 1..60)) {
        let stage = presence_stage(100);
        let mut session = stage.listener("app/told/x");
        let mut there: std::collections::BTreeMap<u8, PresenceMembership> = Default::default();
        let mut known = std::collections::BTreeSet::new();
        let mut follow = |session: &mut Session| {
            for word in drain(session).split_terminator(' ') {
                let (sign, client) = word.split_at(1);
                let changed = if sign == "+" {
                    known.insert(client.to_owned())
                } else {
                    known.remove(client)
                };
                assert!(changed, "{word} repeats an earlier change");
            }
            known.clone()
        };
        for (client, step) in steps {
            match step {
                0 if !there.contains_key(&client) => {
                    there.insert(client, stage.enter("app/told/x", &client.to_string(), ""));
                }
                1 => drop(there.remove(&client)),
                2 => stage.hub.publish_presence_changes(),
                _ => {}
            }
            follow(&mut session);
            prop_assert_eq!(stage.count("app/told/x").0, there.len());
        }
        stage.hub.publish_presence_changes();
        let known = follow(&mut session);
        let names: std::collections::BTreeSet<String> = there.keys().map(u8::to_string).collect();
        prop_assert_eq!(known, names);
    }
}
