//! The server API: an operator's back end publishes to subscribers.

use lineside::{Config, RunningServer};
use lineside_testkit::WAIT_MAX;
use serde_json::{Value, json};

use crate::support::events::Stream;
use crate::support::http::{assert_problem, client, header, json as json_of, problem, refusal};
use crate::support::serve;

const KEY: &str = "a key of the tests";

const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
[api]
key = "a key of the tests"
[token]
hmac = "secret"
anonymous = true
[[namespace]]
prefix = "app/kept/"
history_size = 3
presence = true
[[namespace]]
prefix = "app/members/"
subscribe = "users"
[[namespace]]
prefix = "app/closed/"
subscribe = "nobody"
"#;

async fn server() -> (RunningServer, String) {
    let config = Config::parse(std::path::Path::new("lineside.toml"), CONFIG).unwrap();
    let running = serve(config).await;
    let url = format!("http://{}", running.listen_address());
    (running, url)
}

async fn call(server: &str, method: &str, call: Value) -> Value {
    let request = client().post(format!("{server}/api/{method}")).header("x-api-key", KEY);
    let response = request.body(call.to_string()).send().await.unwrap();
    assert_eq!(response.status(), 200, "{method}");
    json_of(response).await
}

/// Returns the code and the message of a call's error.
async fn error(server: &str, method: &str, parameters: Value) -> (u64, String) {
    let answer = call(server, method, parameters).await;
    let error = &answer["error"];
    (error["code"].as_u64().unwrap(), error["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_publication_reaches_its_subscribers() {
    let (_running, server) = server().await;
    let mut stream = Stream::open(&server, "channel=app/x&channel=app/y").await;
    let data = r#"{ "zulu": 1,
        "alpha": 12345678901234567890.5 }"#;
    let request = client().post(format!("{server}/api/publish"));
    let request = request.header("authorization", format!("apikey {KEY}"));
    let body = format!(r#"{{"channel": "app/x", "data": {data}}}"#);
    let answer = json_of(request.body(body).send().await.unwrap()).await;
    assert_eq!(answer["result"]["offset"], 1, "{answer}");
    let event = stream.next_within(WAIT_MAX).await.expect("an event").data;
    assert_eq!((&event["channel"], &event["offset"]), (&json!("app/x"), &json!(1)));
    assert_eq!(event["epoch"], answer["result"]["epoch"]);
    assert_eq!(event["data"]["zulu"], 1);

    let parameters = json!({"channels": ["app/x", "app/y", "feed/city"], "b64data": "WzEsMl0="});
    let answer = call(&server, "broadcast", parameters).await;
    let responses = answer["result"]["responses"].as_array().unwrap();
    assert_eq!(responses[0]["result"]["offset"], 2);
    assert_eq!(responses[1]["result"]["offset"], 1);
    assert_eq!(responses[2]["error"]["code"], 103);
    let mut events = Vec::new();
    for _ in 0..2 {
        let event = stream.next_within(WAIT_MAX).await.expect("an event").data;
        assert_eq!(event["data"], json!([1, 2]));
        events.push(event["channel"].as_str().unwrap().to_owned());
    }
    events.sort_unstable();
    assert_eq!(events, ["app/x", "app/y"]);
}

#[tokio::test]
async fn a_resumed_stream_receives_missed_publications() {
    let (_running, server) = server().await;
    let mut stream = Stream::open(&server, "channel=app/kept/x").await;
    call(&server, "publish", json!({"channel": "app/kept/x", "data": 1})).await;
    stream.next_within(WAIT_MAX).await.expect("an event");
    let id = stream.last_event_id.clone();
    drop(stream);
    for data in [2, 3] {
        call(&server, "publish", json!({"channel": "app/kept/x", "data": data})).await;
    }
    let mut stream = Stream::resume(&server, "channel=app/kept/x", &id).await;
    for data in [2, 3] {
        let event = stream.next_within(WAIT_MAX).await.expect("an event").data;
        assert_eq!(event["data"], data);
    }
}

#[tokio::test]
async fn a_namespace_with_history_retains_publications() {
    let (_running, server) = server().await;
    for data in 1..=4 {
        let parameters = json!({"channel": "app/kept/x", "data": data, "tags": {"n": "x"}});
        assert_eq!(call(&server, "publish", parameters).await["result"]["offset"], data);
    }
    let skipped = json!({"channel": "app/kept/x", "data": 5, "skip_history": true});
    call(&server, "publish", skipped).await;
    let get_history = |parameters| call(&server, "history", parameters);
    let all = get_history(json!({"channel": "app/kept/x", "limit": -1})).await;
    let found: Vec<u64> = all["result"]["publications"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["offset"].as_u64().unwrap())
        .collect();
    assert_eq!(found, [3, 4], "{all}");
    assert_eq!(all["result"]["publications"][0]["data"], 3);
    assert_eq!(all["result"]["publications"][0]["tags"], json!({"n": "x"}));
    let epoch = &all["result"]["epoch"];
    let top = get_history(json!({"channel": "app/kept/x"})).await;
    assert_eq!(top["result"], json!({"publications": [], "offset": 5, "epoch": epoch}));
    let since = json!({"offset": 3, "epoch": epoch});
    let later = get_history(json!({"channel": "app/kept/x", "limit": 9, "since": since})).await;
    assert_eq!(later["result"]["publications"][0]["offset"], 4);

    assert_eq!(error(&server, "history", json!({"channel": "app/x"})).await.0, 108);
    let since = json!({"offset": 3, "epoch": "00000000"});
    let other = json!({"channel": "app/kept/x", "limit": 9, "since": since});
    assert_eq!(error(&server, "history", other).await.0, 112);
}

#[tokio::test]
async fn an_idempotency_key_publishes_once() {
    let (_running, server) = server().await;
    let parameters = json!({"channel": "app/kept/x", "data": 1, "idempotency_key": "k"});
    let first = call(&server, "publish", parameters.clone()).await;
    assert_eq!(call(&server, "publish", parameters).await, first);
    let top = call(&server, "history", json!({"channel": "app/kept/x"})).await;
    assert_eq!(top["result"]["offset"], 1);
}

#[tokio::test]
async fn presence_can_be_queried() {
    let (_running, server) = server().await;
    let stats = call(&server, "presence_stats", json!({"channel": "app/kept/x"})).await;
    assert_eq!(stats["result"], json!({"num_clients": 0, "num_users": 0}));
    let who = call(&server, "presence", json!({"channel": "app/kept/x"})).await;
    assert_eq!(who["result"], json!({"presence": {}}));
    assert_eq!(error(&server, "presence", json!({"channel": "app/x"})).await.0, 108);
}

#[tokio::test]
async fn invalid_calls_are_refused_with_api_error_codes() {
    let (_running, server) = server().await;
    let large = "x".repeat(250_000);
    for (method, parameters, code, expected_message) in [
        ("publish", json!({"channel": "feed/city", "data": 1}), 103, "app/"),
        ("publish", json!({"channel": "app", "data": 1}), 107, "segments"),
        ("publish", json!({"channel": "app/x"}), 107, "data is missing"),
        ("publish", json!({"data": 1}), 107, "missing field `channel`"),
        ("publish", json!({"channel": "app/x", "b64data": "%"}), 107, "base64"),
        ("publish", json!({"channel": "app/x", "b64data": "AAAA"}), 107, "JSON"),
        ("publish", json!({"channel": "app/x", "data": large}), 107, "at most"),
        ("publish", json!({"channel": "app/x", "data": 1, "version": 3}), 107, "version"),
        ("broadcast", json!({"channels": [], "data": 1}), 107, "channels"),
        ("history", json!({"channel": "feed/city"}), 103, "app/"),
        ("presence", json!({"channel": "feed/city"}), 103, "app/"),
        ("disconnect", json!({"user": ""}), 107, "user"),
        ("batch", json!({"commands": []}), 104, "method"),
        ("info", json!({}), 104, "method"),
        ("channels", json!({}), 104, "method"),
        ("unsubscribe", json!({"user": "1", "channel": "app/x"}), 104, "method"),
        ("disconnect", json!({"user": "1", "disconnect": {"code": 1000}}), 107, "code"),
    ] {
        let (got, message) = error(&server, method, parameters).await;
        assert_eq!(got, code, "{method}: {message}");
        assert!(message.contains(expected_message), "{method}: {message}");
    }
    assert_eq!(call(&server, "disconnect", json!({"user": "1"})).await, json!({"result": {}}));
}

#[tokio::test]
async fn calls_without_the_api_key_are_refused() {
    let (_running, server) = server().await;
    for key in ["", "a key of the test", "a key of the tests!", "a key of the testz"] {
        let request = client().post(format!("{server}/api/publish")).header("x-api-key", key);
        let body = json!({"channel": "app/kept/x", "data": 1}).to_string();
        let response = request.body(body).send().await.unwrap();
        assert_eq!(response.status(), 401, "{key:?}");
        assert_eq!(json_of(response).await["code"], "no_key");
    }
    let history = call(&server, "history", json!({"channel": "app/kept/x"})).await;
    assert_eq!(history["result"]["offset"], 0);
}

#[tokio::test]
async fn a_namespace_restricts_its_subscribers() {
    let (_running, server) = server().await;
    for (channel, status, code) in
        [("app/members/x", 401, "unauthorized"), ("app/closed/x", 403, "permission_denied")]
    {
        let (got, _, refused) = problem(&format!("{server}/events?channel={channel}")).await;
        assert_eq!((got, &refused["code"]), (status, &json!(code)), "{channel}");
    }
    let bad = problem(&format!("{server}/events?channel=app/x&token=no.to.ken")).await;
    assert_eq!((bad.0, &bad.2["code"]), (401, &json!("unauthorized")));
    // {"alg":"HS256"} . {"sub":"42","channels":["app/closed/x"]}, signed with "secret".
    let token = "eyJhbGciOiJIUzI1NiJ9.\
                 eyJzdWIiOiI0MiIsImNoYW5uZWxzIjpbImFwcC9jbG9zZWQveCJdfQ.zuy1s-zsbcfAF1YwuPApmhmU8dx1MLe_HoLzmYBjjI4";
    let query = format!("channel=app/members/x&channel=app/closed/x&token={token}");
    let mut stream = Stream::open(&server, &query).await;
    call(&server, "publish", json!({"channel": "app/closed/x", "data": 1})).await;
    let event = stream.next_within(WAIT_MAX).await.expect("an event").data;
    assert_eq!(event["channel"], "app/closed/x");
}

#[tokio::test]
async fn guessing_the_key_is_blocked_with_retry_after() {
    const GUESSES_MAX: usize = 100;
    let (_running, server) = server().await;
    let guess = async |n: usize| {
        let request = client().post(format!("{server}/api/info"));
        request.header("x-api-key", format!("guess {n}")).body("{}").send().await.unwrap()
    };
    let mut n = 0;
    let refused = loop {
        let response = guess(n).await;
        if response.status() != 401 {
            break response;
        }
        n += 1;
        assert!(n < GUESSES_MAX, "an end of guessing");
    };
    let wait: u64 = header(&refused, "retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_problem(429, "too_many_attempts", refusal(refused).await);
}
