//! Waiting for expected events. The deadline only ends a failing test.

use std::fmt::{Debug, Display};
use std::time::{Duration, Instant};

use reqwest::{Response, StatusCode};
use serde_json::Value;

use super::http::{get, json, json_of};

/// Longer than anything takes on a busy machine, including tasks that run once a minute.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until a condition holds.
pub(crate) async fn until(what: impl Display, mut is_met: impl AsyncFnMut() -> bool) {
    until_some(what, async || is_met().await.then_some(()).ok_or(())).await;
}

/// Waits until there is a value, and returns it. On a timeout the message shows the last error.
pub(crate) async fn until_some<T, E: Debug>(
    what: impl Display,
    mut attempt: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    let deadline = Instant::now() + WAIT_MAX;
    loop {
        match attempt().await {
            Ok(found) => return found,
            Err(instead) => {
                assert!(Instant::now() < deadline, "it never came that {what}: {instead:?}");
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Requests until the reply satisfies `is_met`, and returns it.
pub(crate) async fn until_reply(
    what: impl Display,
    url: &str,
    is_met: impl Fn(&Response) -> bool,
) -> Response {
    let attempt_request = async || {
        let reply = get(url).await;
        if is_met(&reply) { Ok(reply) } else { Err(reply) }
    };
    until_some(format_args!("{url} is {what}"), attempt_request).await
}

/// Requests until the JSON satisfies `is_met`, and returns it. A 503 reply is retried.
pub(crate) async fn until_json(url: &str, is_met: impl Fn(&Value) -> bool) -> Value {
    let attempt_request = async || {
        let reply = get(url).await;
        if reply.status() == StatusCode::SERVICE_UNAVAILABLE {
            return Err(json(reply).await);
        }
        let found = json_of(url, reply).await;
        if is_met(&found) { Ok(found) } else { Err(found) }
    };
    until_some(format_args!("{url} is as wanted"), attempt_request).await
}
