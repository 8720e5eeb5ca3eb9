//! A server under thousands of good and bad clients for a long time loses nothing and does not grow.

mod hostile_clients;
mod protocol_violations;
mod soak;
mod socket;
mod reconnect_storm;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::http;
use crate::support::process::{ServerProcess, raise_descriptors};

/// Timeout of expected events on a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(180);
const KEY: &str = "a key of the tests";
/// {"alg":"HS256"} . {"sub":"crowd"}, signed with "secret".
const TOKEN: &str =
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjcm93ZCJ9.xUx2KdF6tylEUtmjwLkDQETMzb8kDyMNjzjuE5Ihhgs";

/// Starts a server process with this minimum size of logs.
fn start(folder: &Path, channel_log_bytes: &str) -> ServerProcess {
    raise_descriptors();
    let text = format!(
        r#"
[server]
listen = "127.0.0.1:0"
drain = "0s"
[limits]
channel_log_bytes = "{channel_log_bytes}"
[api]
key = "{KEY}"
[token]
hmac = "secret"
anonymous = true
[[namespace]]
prefix = "app/kept/"
history_size = 1000
history_ttl = "600s"
[[namespace]]
prefix = "app/met/"
history_size = 100
history_ttl = "5s"
presence = true
join_leave = true
publish = "anyone"
"#
    );
    ServerProcess::serving(folder, text)
}

fn client_address(server: &ServerProcess) -> String {
    server.url.trim_start_matches("http://").to_owned()
}

/// A caller of the server API.
#[derive(Clone)]
struct BackEnd {
    client: reqwest::Client,
    url: String,
}

impl BackEnd {
    fn for_server(server: &ServerProcess) -> Self {
        Self { client: http::client(), url: server.url.clone() }
    }

    /// Returns the result of a call.
    async fn call(&self, method: &str, call: &Value) -> Value {
        let request = self.client.post(format!("{}/api/{method}", self.url));
        let request = request.header("x-api-key", KEY).body(call.to_string());
        let mut answer = http::json(request.send().await.unwrap()).await;
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].take()
    }

    /// Publishes, and returns the offset.
    async fn publish(&self, channel: &str, data: &Value) -> Option<u64> {
        self.call("publish", &json!({"channel": channel, "data": data})).await["offset"].as_u64()
    }

    /// Returns a metric, summed over its labels.
    async fn metric(&self, name: &str) -> f64 {
        let reply = self.client.get(format!("{}/metrics", self.url)).send().await.unwrap();
        let text = reply.text().await.unwrap();
        let series = text.lines().filter_map(|line| line.strip_prefix(name)?.rsplit_once(' '));
        let unlabelled = series.filter(|(labels, _)| labels.is_empty() || labels.starts_with('{'));
        unlabelled.map(|(_, value)| value.parse::<f64>().unwrap()).sum()
    }
}

/// Waits until a condition holds.
async fn eventually(what: &str, mut is_met: impl AsyncFnMut() -> bool) {
    let started_at = Instant::now();
    while !is_met().await {
        assert!(started_at.elapsed() < WAIT_MAX, "not within {WAIT_MAX:?}: {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
