//! Waiting for the replies of a server. A failed request is repeated, like any unexpected reply.

use std::fmt::{Debug, Display};

use reqwest::{Client, Response, redirect};
use serde_json::Value;

use crate::wait::wait_for;

/// Repeats a request until `accept` returns a value of the reply, each time over a new connection.
async fn wait_for_accepted<T, E: Debug>(
    what: impl Display,
    url: &str,
    mut accept: impl AsyncFnMut(Response) -> Result<T, E>,
) -> T {
    let client = Client::builder().redirect(redirect::Policy::none()).pool_max_idle_per_host(0);
    let client = client.build().expect("a client without options");
    let attempt = async || {
        let reply = client.get(url).send().await.map_err(|error| format!("{error:?}"))?;
        accept(reply).await.map_err(|last| format!("{last:?}"))
    };
    wait_for(format_args!("{url}: {what}"), attempt).await
}

/// Requests until the reply satisfies `is_met`, and returns it. Its body is not read.
async fn wait_for_reply(
    what: impl Display,
    url: &str,
    is_met: impl Fn(&Response) -> bool,
) -> Response {
    wait_for_accepted(what, url, async |reply| if is_met(&reply) { Ok(reply) } else { Err(reply) })
        .await
}

/// Requests until the reply has this status code, and returns it.
///
/// # Panics
/// Panics after [`WAIT_MAX`](crate::WAIT_MAX), as all functions of this module.
pub async fn wait_for_status(url: &str, status: u16) -> Response {
    wait_for_reply(format_args!("status {status}"), url, |reply| reply.status() == status).await
}

/// Requests a proxied file until its `Lineside-Status` begins with a prefix, and returns the reply.
pub async fn wait_for_freshness(url: &str, prefix: &str) -> Response {
    wait_for_reply(prefix, url, |reply| freshness(reply).starts_with(prefix)).await
}

fn freshness(reply: &Response) -> &str {
    let status = reply.headers().get("lineside-status");
    status.map_or("", |status| status.to_str().expect("ASCII"))
}

/// Requests a proxied file until it is fresh and has this content.
pub async fn wait_for_body(url: &str, expect: &[u8]) {
    let what = format_args!("{:?}", String::from_utf8_lossy(&expect[..expect.len().min(100)]));
    wait_for_accepted(what, url, async |reply| {
        let freshness = freshness(&reply).to_owned();
        let body = reply.bytes().await.map_err(|error| (freshness.clone(), error.to_string()))?;
        if freshness == "fresh" && *body == *expect {
            return Ok(());
        }
        let beginning = String::from_utf8_lossy(&body[..body.len().min(100)]).into_owned();
        Err((freshness, beginning))
    })
    .await;
}

/// Requests until the reply is a success whose JSON satisfies `is_met`, and returns the JSON.
pub async fn wait_for_json(url: &str, is_met: impl Fn(&Value) -> bool) -> Value {
    wait_for_accepted("the expected JSON", url, async |reply| {
        let status = reply.status();
        let text = reply.text().await.map_err(|error| error.to_string())?;
        if !status.is_success() {
            return Err(format!("{status}: {text}"));
        }
        serde_json::from_str(&text).ok().filter(&is_met).ok_or(text)
    })
    .await
}

/// Waits until the API's record of a feed satisfies `is_met`, and returns the record.
pub async fn wait_for_feed(server: &str, feed: &str, is_met: impl Fn(&Value) -> bool) -> Value {
    wait_for_json(&format!("{server}/api/v1/feeds/{feed}"), is_met).await
}

/// Waits until a feed is in a state, and returns its record from the API.
pub async fn wait_for_feed_state(server: &str, feed: &str, state: &str) -> Value {
    wait_for_feed(server, feed, |record| record["state"] == state).await
}

/// Waits until the metrics of a server contain a line.
pub async fn wait_for_metric(server: &str, line: &str) {
    let name = line.split(['{', ' ']).next().unwrap_or_default();
    wait_for_accepted(line, &format!("{server}/metrics"), async |reply| {
        let text = reply.text().await.unwrap_or_default();
        let lines: Vec<_> = text.lines().filter(|it| it.starts_with(name)).collect();
        if lines.contains(&line) { Ok(()) } else { Err(lines.join("\n")) }
    })
    .await;
}

/// Waits until a server is ready and knows the state of each feed. On a busy machine it may be ready before, because it
/// waits for its feeds only for a while.
pub async fn wait_until_ready(server: &str) {
    wait_for_status(&format!("{server}/readyz"), 200).await;
    let is_known = |feed: &Value| {
        let is_paused = feed["reason"].as_str().is_some_and(|why| why.starts_with("paused"));
        is_paused || feed["state"] != "unknown"
    };
    wait_for_json(&format!("{server}/api/v1/feeds"), |found| {
        found["items"].as_array().is_some_and(|feeds| feeds.iter().all(is_known))
    })
    .await;
}
