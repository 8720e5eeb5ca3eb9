//! Who may what, by token and namespace.

use std::sync::Arc;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use lineside_hub::{
    Channel, Hub, HubConfig, Namespace, Position, ResolveError, RoomKey, State, StateSource, Who,
};
use lineside_ingest::Secret;
use lineside_sync::{Clock, SimulatedClock, UnixMillis};
use lineside_wire::gate::Gate as _;
use serde_json::{Value, json};

use super::{Denied, Gate, Identity};
use crate::config::{self, Token, TokenKey};

const NOW_S: i64 = 1_800_000_000;

/// A hub has to have a source; nobody asks it here.
struct Nothing;

impl StateSource for Nothing {
    fn resolve(&self, _: &Channel) -> Result<RoomKey, ResolveError> {
        Err(ResolveError::UnknownFeed)
    }

    fn sequence_name(&self, channel: &Channel, _: RoomKey) -> String {
        channel.to_string()
    }

    fn position(&self, _: &Channel, _: RoomKey) -> Option<Position> {
        None
    }

    fn read_state(&self, _: &Channel, _: RoomKey) -> State {
        State { position: None, parts: Vec::new() }
    }
}

fn gate(token: Option<bool>) -> Gate {
    gate_where(token, false)
}

fn gate_where(token: Option<bool>, public_ops: bool) -> Gate {
    let namespace = |prefix: &str, subscribe, publish| Namespace {
        prefix: prefix.to_owned(),
        subscribe,
        publish,
        ..Namespace::default()
    };
    let namespaces = vec![
        namespace("app/users/", Who::Users, Who::Users),
        namespace("app/closed/", Who::Nobody, Who::Nobody),
        namespace("app/open/", Who::Anyone, Who::Anyone),
    ];
    let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::new(UnixMillis(NOW_S * 1_000)));
    let config = HubConfig { namespaces, ..HubConfig::default() };
    let hub = Hub::new(config, Arc::new(Nothing), clock.clone(), 7);
    let token = token.map(|anonymous| {
        let key = TokenKey::Hmac(Secret::new("secret"));
        Token { key, issuer: None, audience: None, anonymous }
    });
    let admin = config::Admin { token: None, public_ops };
    let config = config::Config { token, admin, ..config::Config::default() };
    Gate::new(&config, &hub, &clock)
}

fn sign(claims: &Value) -> String {
    let key = EncodingKey::from_secret(b"secret");
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &key).expect("a token")
}

fn channel(name: &str) -> Channel {
    Channel::parse(name).expect("a channel")
}

fn user(name: &str) -> Identity {
    Identity { user: name.into(), ..Identity::default() }
}

#[test]
fn without_a_key_everybody_is_nobody_in_particular() {
    let gate = gate(None);
    assert_eq!(gate.identify(None), Ok(Identity::default()));
    assert_eq!(gate.identify(Some("anything")), Ok(Identity::default()));
    assert!(gate.is_known("anything"));
}

#[test]
fn with_a_key_a_token_is_wanted_unless_the_operator_says_otherwise() {
    assert_eq!(gate(Some(false)).identify(None), Err(Denied::Unauthorized));
    assert_eq!(gate(Some(false)).identify(Some("")), Err(Denied::Unauthorized));
    let open = gate(Some(true));
    assert_eq!(open.identify(None), Ok(Identity::default()));
    assert_eq!(open.identify(Some("no.to.ken")), Err(Denied::Unauthorized));
    assert_eq!(open.identify(Some(&sign(&json!({"exp": NOW_S})))), Err(Denied::Expired));
    let known = open.identify(Some(&sign(&json!({"sub": "42", "exp": NOW_S + 1})))).expect("good");
    assert_eq!((&*known.user, known.expires), ("42", Some(NOW_S + 1)));
}

#[test]
fn a_token_for_a_channel_lets_nobody_in_by_itself() {
    let token = sign(&json!({"sub": "42", "channel": "app/closed/x"}));
    assert_eq!(gate(Some(false)).identify(Some(&token)), Err(Denied::Unauthorized));
}

#[test]
fn the_namespace_decides_who_subscribes() {
    let gate = gate(Some(true));
    let may = |who: &Identity, name| gate.may_subscribe(who, &channel(name), None).map(drop);
    let listed = Identity { channels: vec![channel("app/closed/x")], ..user("42") };
    for (who, name, expect) in [
        (user(""), "feed/city", Ok(())),
        (user(""), "app/else", Ok(())),
        (user(""), "app/users/x", Err(Denied::Unauthorized)),
        (user("42"), "app/users/x", Ok(())),
        (user("42"), "app/closed/x", Err(Denied::Forbidden)),
        (listed.clone(), "app/closed/x", Ok(())),
        (listed, "app/closed/y", Err(Denied::Forbidden)),
    ] {
        assert_eq!(may(&who, name), expect, "{who:?} {name}");
    }
}

#[test]
fn what_is_for_admins_wants_a_token_that_lists_it() {
    let listed = Identity { channels: vec![channel("ops/node")], ..user("42") };
    for (public_ops, who, name, expect) in [
        (false, user(""), "ops/node", Err(Denied::Forbidden)),
        (false, user("42"), "ops/node", Err(Denied::Forbidden)),
        (false, listed.clone(), "ops/node", Ok(())),
        (false, listed, "ops/feeds", Err(Denied::Forbidden)),
        (true, user(""), "ops/node", Ok(())),
    ] {
        let gate = gate_where(Some(true), public_ops);
        let may = gate.may_subscribe(&who, &channel(name), None).map(drop);
        assert_eq!(may, expect, "{who:?} {name}");
    }
    let gate = gate_where(Some(true), false);
    let token = sign(&json!({"sub": "42", "channel": "ops/node"}));
    assert!(gate.may_subscribe(&user("42"), &channel("ops/node"), Some(&token)).is_ok());
}

#[test]
fn a_token_for_a_channel_is_for_that_channel_and_that_user() {
    let gate = gate(Some(true));
    let claims = json!({"sub": "42", "channel": "app/closed/x", "info": 1, "exp": NOW_S + 9});
    let token = sign(&claims);
    let may = |who: &str, name| gate.may_subscribe(&user(who), &channel(name), Some(&token));
    let grant = may("42", "app/closed/x").expect("granted");
    assert_eq!((grant.expires, &*grant.info), (Some(NOW_S + 9), &b"1"[..]));
    assert_eq!(may("43", "app/closed/x"), Err(Denied::Unauthorized));
    assert_eq!(may("42", "app/closed/y"), Err(Denied::Unauthorized));
}

#[test]
fn the_namespace_decides_who_publishes() {
    let gate = gate(Some(true));
    let may = |who: &str, name| gate.may_publish(&user(who), &channel(name));
    for (who, name, expect) in [
        ("", "app/open/x", Ok(())),
        ("", "app/users/x", Err(Denied::Unauthorized)),
        ("42", "app/users/x", Ok(())),
        ("42", "app/closed/x", Err(Denied::Forbidden)),
        ("42", "app/else", Err(Denied::Forbidden)),
        ("42", "feed/city", Err(Denied::Forbidden)),
    ] {
        assert_eq!(may(who, name), expect, "{who:?} {name}");
    }
}

#[test]
fn a_token_that_was_checked_is_known_good_or_bad() {
    let gate = gate(Some(true));
    for token in [sign(&json!({"sub": "42"})), "no.to.ken".to_owned()] {
        assert!(!gate.is_known(&token));
        gate.check(&token);
        assert!(gate.is_known(&token));
    }
}
