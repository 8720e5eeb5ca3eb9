//! Permissions by token and namespace.

use std::sync::Arc;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use lineside_config::{self, TokenConfig, TokenKey};
use lineside_hub::{
    AccessPolicy, ChannelResolveError, ChannelState, ChannelStateSource, EncodedChannelName, Hub,
    HubConfig, Namespace, Position, RoomKey,
};
use lineside_model::Secret;
use lineside_sync::{Clock, SimulatedClock, UnixMillis};
use lineside_wire::auth::Authorizer as _;
use serde_json::{Value, json};

use super::{AccessDenied, ClientIdentity, TokenAuthorizer};

const NOW_S: i64 = 1_800_000_000;

/// A source for the hub, which needs one; these tests do not use it.
struct Nothing;

impl ChannelStateSource for Nothing {
    fn resolve_channel(&self, _: &EncodedChannelName) -> Result<RoomKey, ChannelResolveError> {
        Err(ChannelResolveError::UnknownFeed)
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

fn sample_authorizer(token: Option<bool>) -> TokenAuthorizer {
    authorizer_with(token, false)
}

fn authorizer_with(token: Option<bool>, public_ops: bool) -> TokenAuthorizer {
    let namespace = |prefix: &str, subscribe, publish| Namespace {
        prefix: prefix.to_owned(),
        subscribe,
        publish,
        ..Namespace::default()
    };
    let namespaces = vec![
        namespace("app/users/", AccessPolicy::Users, AccessPolicy::Users),
        namespace("app/closed/", AccessPolicy::Nobody, AccessPolicy::Nobody),
        namespace("app/open/", AccessPolicy::Anyone, AccessPolicy::Anyone),
    ];
    let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::new(UnixMillis(NOW_S * 1_000)));
    let config = HubConfig { namespaces, ..HubConfig::default() };
    let hub = Hub::new(config, Arc::new(Nothing), clock.clone(), 7);
    let token = token.map(|anonymous| {
        let key = TokenKey::Hmac(Secret::new("secret"));
        TokenConfig { key, issuer: None, audience: None, anonymous }
    });
    let admin = lineside_config::AdminConfig { token: None, public_ops };
    let config = lineside_config::Config { token, admin, ..lineside_config::Config::default() };
    TokenAuthorizer::new(&config, &hub, &clock)
}

fn sign(claims: &Value) -> String {
    let key = EncodingKey::from_secret(b"secret");
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &key).expect("a token")
}

fn channel(name: &str) -> EncodedChannelName {
    EncodedChannelName::parse_channel_name(name).expect("a channel")
}

fn user(name: &str) -> ClientIdentity {
    ClientIdentity { user: name.into(), ..ClientIdentity::default() }
}

#[test]
fn without_a_configured_key_all_clients_are_anonymous() {
    let authorizer = sample_authorizer(None);
    assert_eq!(authorizer.identify_client(None), Ok(ClientIdentity::default()));
    assert_eq!(authorizer.identify_client(Some("anything")), Ok(ClientIdentity::default()));
    assert!(authorizer.is_token_known("anything"));
}

#[test]
fn with_a_key_a_token_is_required_unless_anonymous_access_is_on() {
    assert_eq!(
        sample_authorizer(Some(false)).identify_client(None),
        Err(AccessDenied::Unauthorized)
    );
    assert_eq!(
        sample_authorizer(Some(false)).identify_client(Some("")),
        Err(AccessDenied::Unauthorized)
    );
    let open = sample_authorizer(Some(true));
    assert_eq!(open.identify_client(None), Ok(ClientIdentity::default()));
    assert_eq!(open.identify_client(Some("no.to.ken")), Err(AccessDenied::Unauthorized));
    assert_eq!(
        open.identify_client(Some(&sign(&json!({"exp": NOW_S})))),
        Err(AccessDenied::Expired)
    );
    let known =
        open.identify_client(Some(&sign(&json!({"sub": "42", "exp": NOW_S + 1})))).expect("good");
    assert_eq!((&*known.user, known.expires), ("42", Some(NOW_S + 1)));
}

#[test]
fn a_channel_token_does_not_authenticate_a_connection() {
    let token = sign(&json!({"sub": "42", "channel": "app/closed/x"}));
    assert_eq!(
        sample_authorizer(Some(false)).identify_client(Some(&token)),
        Err(AccessDenied::Unauthorized)
    );
}

#[test]
fn the_namespace_controls_subscribing() {
    let authorizer = sample_authorizer(Some(true));
    let may_authorize = |client: &ClientIdentity, name| {
        authorizer.authorize_subscribe(client, &channel(name), None).map(drop)
    };
    let listed = ClientIdentity { channels: vec![channel("app/closed/x")], ..user("42") };
    for (client, name, expect) in [
        (user(""), "feed/city", Ok(())),
        (user(""), "app/else", Ok(())),
        (user(""), "app/users/x", Err(AccessDenied::Unauthorized)),
        (user("42"), "app/users/x", Ok(())),
        (user("42"), "app/closed/x", Err(AccessDenied::Forbidden)),
        (listed.clone(), "app/closed/x", Ok(())),
        (listed, "app/closed/y", Err(AccessDenied::Forbidden)),
    ] {
        assert_eq!(may_authorize(&client, name), expect, "{client:?} {name}");
    }
}

#[test]
fn ops_channels_require_a_token_that_lists_them() {
    let listed = ClientIdentity { channels: vec![channel("ops/node")], ..user("42") };
    for (public_ops, client, name, expect) in [
        (false, user(""), "ops/node", Err(AccessDenied::Forbidden)),
        (false, user("42"), "ops/node", Err(AccessDenied::Forbidden)),
        (false, listed.clone(), "ops/node", Ok(())),
        (false, listed, "ops/feeds", Err(AccessDenied::Forbidden)),
        (true, user(""), "ops/node", Ok(())),
    ] {
        let authorizer = authorizer_with(Some(true), public_ops);
        let may_authorize = authorizer.authorize_subscribe(&client, &channel(name), None).map(drop);
        assert_eq!(may_authorize, expect, "{client:?} {name}");
    }
    let authorizer = authorizer_with(Some(true), false);
    let token = sign(&json!({"sub": "42", "channel": "ops/node"}));
    assert!(
        authorizer.authorize_subscribe(&user("42"), &channel("ops/node"), Some(&token)).is_ok()
    );
}

#[test]
fn a_channel_token_is_valid_for_its_channel_and_user_only() {
    let authorizer = sample_authorizer(Some(true));
    let claims = json!({"sub": "42", "channel": "app/closed/x", "info": 1, "exp": NOW_S + 9});
    let token = sign(&claims);
    let may_authorize = |client: &str, name| {
        authorizer.authorize_subscribe(&user(client), &channel(name), Some(&token))
    };
    let granted = may_authorize("42", "app/closed/x").expect("granted");
    assert_eq!((granted.expires, &*granted.info), (Some(NOW_S + 9), &b"1"[..]));
    assert_eq!(may_authorize("43", "app/closed/x"), Err(AccessDenied::Unauthorized));
    assert_eq!(may_authorize("42", "app/closed/y"), Err(AccessDenied::Unauthorized));
}

#[test]
fn the_namespace_controls_publishing() {
    let authorizer = sample_authorizer(Some(true));
    let may_authorize =
        |client: &str, name| authorizer.authorize_publish(&user(client), &channel(name));
    for (client, name, expect) in [
        ("", "app/open/x", Ok(())),
        ("", "app/users/x", Err(AccessDenied::Unauthorized)),
        ("42", "app/users/x", Ok(())),
        ("42", "app/closed/x", Err(AccessDenied::Forbidden)),
        ("42", "app/else", Err(AccessDenied::Forbidden)),
        ("42", "feed/city", Err(AccessDenied::Forbidden)),
    ] {
        assert_eq!(may_authorize(client, name), expect, "{client:?} {name}");
    }
}

#[test]
fn a_checked_token_is_remembered_valid_or_not() {
    let authorizer = sample_authorizer(Some(true));
    for token in [sign(&json!({"sub": "42"})), "no.to.ken".to_owned()] {
        assert!(!authorizer.is_token_known(&token));
        authorizer.verify_and_cache_token(&token);
        assert!(authorizer.is_token_known(&token));
    }
}
