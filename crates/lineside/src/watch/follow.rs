//! The connection of `watch`: connects, reads, and resumes after an interruption.

use std::time::Duration;

use futures_util::StreamExt as _;
use lineside_sync::real_time::sleep_real_time;
use reqwest::{Client, StatusCode};
use serde::Deserialize;
use url::Url;

use super::event_parser::EventParser;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest silence of the server, which sends something every 25 s.
const SILENCE_MAX: Duration = Duration::from_secs(60);
const RETRY_DEFAULT: Duration = Duration::from_secs(3);
const PROBLEM_BYTES_MAX: usize = 64 * 1024;

/// The reason why following ended.
#[derive(Debug)]
pub(crate) enum FollowEndReason {
    /// The reader of the output is gone.
    OutputClosed,
    /// The server refused the request as invalid.
    Refused(String),
    /// The server could not be reached, or does not serve events.
    Unreachable(String),
}

/// Follows `channels` of `server` without end: `event` gets the data of each event and returns false to stop, `note`
/// gets messages about the connection.
pub(crate) async fn follow_channels_until_error(
    server: &Url,
    channels: &[String],
    mut event: impl FnMut(&str) -> bool,
    mut note: impl FnMut(&str),
) -> FollowEndReason {
    let client =
        Client::builder().connect_timeout(CONNECT_TIMEOUT).read_timeout(SILENCE_MAX).build();
    let client = match client {
        Ok(client) => client,
        Err(error) => return FollowEndReason::Unreachable(root_cause(&error)),
    };
    let address = events_url(server, channels);
    let mut follower =
        ChannelFollower { client, address, last_event_id: String::new(), is_connected: false };
    loop {
        let retry = match follower.read_events_until_interrupted(&mut event, &mut note).await {
            Err(ended) => return ended,
            Ok(ReconnectPause { duration, reason }) => {
                note(&format!("{reason}; retrying in {:.1} s", duration.as_secs_f32()));
                duration
            }
        };
        sleep_real_time(retry).await;
    }
}

/// Builds `<server>/events?channel=…`, below the path of the server's URL.
fn events_url(server: &Url, channels: &[String]) -> Url {
    let mut address = server.clone();
    let path = format!("{}/events", server.path().trim_end_matches('/'));
    address.set_path(&path);
    address.query_pairs_mut().clear().extend_pairs(channels.iter().map(|name| ("channel", name)));
    address
}

struct ChannelFollower {
    client: Client,
    address: Url,
    last_event_id: String,
    /// True once a connection has succeeded: only then are failures retried.
    is_connected: bool,
}

/// A temporary interruption.
struct ReconnectPause {
    duration: Duration,
    reason: String,
}

impl ChannelFollower {
    async fn read_events_until_interrupted(
        &mut self,
        event: &mut impl FnMut(&str) -> bool,
        note: &mut impl FnMut(&str),
    ) -> Result<ReconnectPause, FollowEndReason> {
        let mut request = self.client.get(self.address.clone());
        if !self.last_event_id.is_empty() {
            request = request.header("last-event-id", &self.last_event_id);
        }
        let response = match request.send().await {
            Ok(response) if response.status().is_success() => response,
            Ok(response) => return self.retry_or_fail_on_status(response).await,
            Err(error) => return self.retry_or_fail_on_disconnect(root_cause(&error)),
        };
        if self.is_connected {
            note("reconnected");
        }
        self.is_connected = true;
        let mut parser = EventParser::default();
        let mut stream = response.bytes_stream();
        let why = loop {
            let events = match stream.next().await {
                None => break "the server ended the stream".to_owned(),
                Some(Err(error)) => break root_cause(&error),
                Some(Ok(bytes)) => {
                    parser.push(&bytes).map_err(|e| FollowEndReason::Unreachable(e.to_string()))?
                }
            };
            for next in events {
                self.last_event_id = next.id;
                if !event(&next.data) {
                    return Err(FollowEndReason::OutputClosed);
                }
            }
        };
        Ok(ReconnectPause {
            duration: parser.requested_retry_delay().unwrap_or(RETRY_DEFAULT),
            reason: why,
        })
    }

    async fn retry_or_fail_on_status(
        &self,
        response: reqwest::Response,
    ) -> Result<ReconnectPause, FollowEndReason> {
        let status = response.status();
        let reason = format!("{}: {}", status, read_problem_detail(response).await);
        match status {
            StatusCode::BAD_REQUEST | StatusCode::URI_TOO_LONG => {
                Err(FollowEndReason::Refused(reason))
            }
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                self.retry_or_fail_on_disconnect(reason)
            }
            _ => Err(FollowEndReason::Unreachable(reason)),
        }
    }

    fn retry_or_fail_on_disconnect(&self, why: String) -> Result<ReconnectPause, FollowEndReason> {
        if self.is_connected {
            Ok(ReconnectPause { duration: RETRY_DEFAULT, reason: why })
        } else {
            Err(FollowEndReason::Unreachable(why))
        }
    }
}

#[derive(Deserialize)]
struct ProblemDetails {
    detail: String,
}

/// Reads the server's description of the problem.
async fn read_problem_detail(mut response: reqwest::Response) -> String {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        body.extend_from_slice(&piece);
        if body.len() > PROBLEM_BYTES_MAX {
            break;
        }
    }
    let problem = serde_json::from_slice::<ProblemDetails>(&body);
    problem
        .map_or_else(|_| "this is not a response of Lineside".to_owned(), |problem| problem.detail)
}

/// Returns the innermost cause, which is the network's error.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_events_url_is_below_the_path_of_the_server() {
        let server = Url::parse("https://example.org/transit/").unwrap();
        let channels = ["feed/city".to_owned(), "route/city/4%2FB".to_owned()];
        let address = events_url(&server, &channels);
        assert_eq!(address.path(), "/transit/events");
        let pairs: Vec<_> = address.query_pairs().map(|(_, value)| value.into_owned()).collect();
        assert_eq!(pairs, channels);
    }
}
