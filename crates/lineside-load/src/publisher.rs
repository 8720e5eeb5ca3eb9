//! Sends own publications through the server API on schedule.
//!
//! The publisher has its own thread and connection, so that a busy receiver does not delay it. Each publication has its
//! number and its send time. If a slow server delays the next publication, its send time is the scheduled one, so that
//! the delay counts as latency.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::LoadTestError;
use crate::clock::{self, MonotonicNanos, SECOND};
use crate::engine::TlsClient;
use crate::limits::{ANSWER_BYTES_MAX, PUBLISH_ANSWER_MAX};
use crate::message::write_own_publication_data;
use crate::plan::{LoadTestPlan, PublishPlan};
use crate::reasons::{count_failure_reason, failure_advice};

/// Timeout for opening a connection.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Delay up to which a publication counts as on time.
const LATENESS_MAX: MonotonicNanos = 1_000_000;

/// The results of the publications.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PublishTotals {
    /// Number of accepted publications, by channel of the plan.
    pub(crate) accepted: Vec<u64>,
    /// Number of failed publications, by reason.
    pub(crate) failed: Vec<(String, u64)>,
}

trait ByteStream: Read + Write + Send {}
impl<T: Read + Write + Send> ByteStream for T {}

/// A tested connection to the server API.
pub(crate) struct ApiPublisher {
    plan: LoadTestPlan,
    publishing: PublishPlan,
    connection: Box<dyn ByteStream>,
    /// The reply being read, at most [`ANSWER_BYTES_MAX`].
    answer: Vec<u8>,
}

impl ApiPublisher {
    /// Connects and sends a harmless request, so that a wrong key is detected before thousands of sessions are opened.
    pub(crate) fn open_connection(plan: &LoadTestPlan) -> Result<Option<Self>, LoadTestError> {
        let Some(publishing) = plan.publishing.clone() else { return Ok(None) };
        let connection = connect_to_api(plan)?;
        let answer = Vec::new();
        let mut publisher = Self { plan: plan.clone(), publishing, connection, answer };
        let first =
            plan.channels_published_by_run().next().map_or("", |(_, channel)| channel).to_owned();
        let question = serde_json::json!({ "channel": first }).to_string();
        match publisher.send_api_request("/api/presence_stats", question.as_bytes()) {
            Ok((200, _)) => Ok(Some(publisher)),
            Ok((401 | 403, _)) => Err(LoadTestError::Usage(
                "the server rejects the key in LINESIDE_API_KEY; set it to the key of the server's \
                [api] section".to_owned(),
            )),
            Ok((404, _)) => Err(LoadTestError::Usage(
                "the server has no server API; set [api] key in its configuration, or omit \
                --publish".to_owned(),
            )),
            Ok((status, _)) => Err(LoadTestError::Unreachable(format!(
                "the server API answered {status}; check the server's log"
            ))),
            Err(error) => {
                let why = error.to_string();
                let advice = failure_advice(&why);
                Err(LoadTestError::Unreachable(format!("the server API did not answer: {why}; {advice}")))
            }
        }
    }

    /// Publishes from `start` on, in a thread of its own.
    pub(crate) fn spawn_publisher(
        self,
        start: MonotonicNanos,
    ) -> io::Result<JoinHandle<PublishTotals>> {
        thread::Builder::new()
            .name("publisher".to_owned())
            .spawn(move || self.publish_on_schedule(start))
    }

    fn publish_on_schedule(mut self, start: MonotonicNanos) -> PublishTotals {
        let channels: Vec<(usize, String)> = self
            .plan
            .channels_published_by_run()
            .map(|(index, channel)| (index, serde_json::Value::from(channel).to_string()))
            .collect();
        let mut published =
            PublishTotals { accepted: vec![0; self.plan.channels.len()], failed: Vec::new() };
        let (mut data, mut body) = (Vec::new(), Vec::new());
        for n in 0..self.plan.publications_per_channel() {
            let due = start + (n as f64 / self.publishing.rate * SECOND as f64) as MonotonicNanos;
            let sent = wait_until_due(due);
            let (index, channel) = &channels[n as usize % channels.len()];
            write_own_publication_data(
                n / channels.len() as u64 + 1,
                sent,
                self.publishing.bytes,
                &mut data,
            );
            body.clear();
            body.extend_from_slice(b"{\"channel\":");
            body.extend_from_slice(channel.as_bytes());
            body.extend_from_slice(b",\"data\":");
            body.extend_from_slice(&data);
            body.push(b'}');
            match self.send_publication(&body) {
                Ok(()) => published.accepted[*index] += 1,
                Err(why) => count_failure_reason(&mut published.failed, &why, 1),
            }
        }
        published
    }

    fn send_publication(&mut self, body: &[u8]) -> Result<(), String> {
        let (status, answer) = match self.send_api_request("/api/publish", body) {
            Ok(answered) => answered,
            Err(error) => {
                // The new connection serves the next publication after a restart of the server.
                if let Ok(connection) = connect_to_api(&self.plan) {
                    self.connection = connection;
                }
                return Err(error.to_string());
            }
        };
        if status != 200 {
            return Err(format!("the server API answered {status}"));
        }
        let answer: serde_json::Value = serde_json::from_slice(&answer)
            .map_err(|_| "the server API did not answer with JSON".to_owned())?;
        match answer.get("error") {
            None => Ok(()),
            Some(error) => Err(format!("the server API answered {error}")),
        }
    }

    /// Sends a request, and returns status and body of the response.
    fn send_api_request(&mut self, path: &str, body: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        let head = self.plan.target.request_head("POST", path);
        let key = &self.publishing.key.0;
        let length = body.len();
        let mut request = format!(
            "{head}X-API-Key: {key}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
        .into_bytes();
        request.extend_from_slice(body);
        self.connection.write_all(&request)?;
        self.connection.flush()?;
        self.read_api_response()
    }

    fn read_api_response(&mut self) -> io::Result<(u16, Vec<u8>)> {
        let unreadable = || io::Error::new(io::ErrorKind::InvalidData, "the response is malformed");
        self.answer.clear();
        loop {
            if let Some((status, body)) = split_api_response(&self.answer).ok_or_else(unreadable)? {
                return Ok((status, body.to_vec()));
            }
            if self.answer.len() > ANSWER_BYTES_MAX {
                return Err(unreadable());
            }
            let mut piece = [0; 4_096];
            let read = self.connection.read(&mut piece)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.answer.extend_from_slice(&piece[..read]);
        }
    }
}

/// Splits a response with a length into status and body; `Some(None)` if it is incomplete, `None` if it is invalid.
fn split_api_response(answer: &[u8]) -> Option<Option<(u16, &[u8])>> {
    let Some(end) = memchr::memmem::find(answer, b"\r\n\r\n") else { return Some(None) };
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut headers = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    let length = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = length.map_or(Ok(0), |(_, value)| value.trim().parse()).ok()?;
    let body = &answer[end + 4..];
    Some((body.len() >= length).then(|| (status, &body[..length])))
}

fn connect_to_api(plan: &LoadTestPlan) -> Result<Box<dyn ByteStream>, LoadTestError> {
    let target = &plan.target;
    let open = || {
        let socket = TcpStream::connect_timeout(&target.address, CONNECT_MAX)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PUBLISH_ANSWER_MAX))?;
        socket.set_write_timeout(Some(PUBLISH_ANSWER_MAX))?;
        Ok(socket)
    };
    let unreachable = |error: io::Error| {
        LoadTestError::Unreachable(format!(
            "cannot connect to {}: {error}; check that the server runs",
            target.url
        ))
    };
    let socket = open().map_err(unreachable)?;
    if !target.tls {
        return Ok(Box::new(socket));
    }
    let connection = TlsClient::tls_client_for_host(&target.host)?.new_connection();
    let connection = connection.map_err(|error| unreachable(io::Error::other(error)))?;
    Ok(Box::new(rustls::StreamOwned::new(connection, socket)))
}

/// Waits until a publication is due, and returns its send time.
fn wait_until_due(due: MonotonicNanos) -> MonotonicNanos {
    loop {
        let now = clock::now_nanos();
        match due.checked_sub(now) {
            None | Some(0) if now - due > LATENESS_MAX => return due,
            None | Some(0) => return now,
            Some(wait) => thread::park_timeout(Duration::from_nanos(wait)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_complete_at_its_content_length() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(split_api_response(answer), Some(Some((200, &b"{}"[..]))));
        for end in 0..answer.len() {
            assert_eq!(split_api_response(&answer[..end]), Some(None), "{end}");
        }
        assert_eq!(split_api_response(b"hello\r\n\r\n"), None);
        assert_eq!(
            split_api_response(b"HTTP/1.1 204 No Content\r\n\r\n"),
            Some(Some((204, &b""[..])))
        );
    }

    #[test]
    fn a_late_publisher_returns_the_time_it_was_due() {
        let now = clock::now_nanos();
        assert_eq!(wait_until_due(now - 5 * LATENESS_MAX), now - 5 * LATENESS_MAX);
        let due = now + 2 * LATENESS_MAX;
        assert!(wait_until_due(due) >= due);
    }
}
