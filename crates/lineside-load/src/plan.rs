//! The plan of a run, validated before anything is opened.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

use lineside_wire::centrifuge;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::LoadTestError;
use crate::clock::{MonotonicNanos, duration_to_nanos};
use crate::limits::{
    CHANNELS_MAX, DURATION_MAX, PROCESSES_MAX, PUBLICATION_BYTES_MAX, PUBLICATIONS_MAX, SLICE_MIN,
    SLICES_MAX,
};

/// The transport of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionTransport {
    /// The Centrifuge client protocol at `/connection/websocket`.
    WebSocket,
    /// Server-sent events at `/events`.
    Sse,
}

/// The encoding of messages over WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageFormat {
    /// A JSON object per message.
    Json,
    /// Protobuf.
    Protobuf,
}

impl fmt::Display for SessionTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WebSocket => "websocket",
            Self::Sse => "sse",
        })
    }
}

impl fmt::Display for MessageFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "json",
            Self::Protobuf => "protobuf",
        })
    }
}

impl MessageFormat {
    pub(crate) fn to_protocol_format(self) -> centrifuge::ProtocolFormat {
        match self {
            Self::Json => centrifuge::ProtocolFormat::Json,
            Self::Protobuf => centrifuge::ProtocolFormat::Protobuf,
        }
    }
}

/// The server's address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetServer {
    /// The URL as given, without a trailing slash.
    pub url: String,
    /// The host name, for the Host header and the certificate.
    pub(crate) host: String,
    /// The socket address to connect to.
    pub address: SocketAddr,
    /// True for TLS.
    pub tls: bool,
    /// The prefix of every path.
    prefix: String,
}

impl TargetServer {
    /// Parses and resolves a server's URL: `http`, `https`, `ws` or `wss`.
    ///
    /// # Errors
    /// Returns an error if the text is not such a URL, or if its name cannot be resolved.
    pub fn parse_and_resolve_url(text: &str) -> Result<Self, LoadTestError> {
        let usage = |why: String| LoadTestError::Usage(format!("{text}: {why}"));
        let url = Url::parse(text).map_err(|error| {
            usage(format!("{error}; the URL must have a form such as http://127.0.0.1:8080"))
        })?;
        let tls = match url.scheme() {
            "http" | "ws" => false,
            "https" | "wss" => true,
            _ => {
                return Err(usage("the URL must begin with http:// or https://".to_owned()));
            }
        };
        let host = url.host_str().ok_or_else(|| usage("the URL has no host".to_owned()))?;
        let port = url.port().unwrap_or(if tls { 443 } else { 80 });
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let address = (name, port).to_socket_addrs().ok().and_then(|mut found| found.next());
        let address = address.ok_or_else(|| {
            LoadTestError::Unreachable(format!(
                "{text}: the host name {name} cannot be resolved; check the spelling"
            ))
        })?;
        Ok(Self {
            url: text.trim_end_matches('/').to_owned(),
            host: name.to_owned(),
            address,
            tls,
            prefix: url.path().trim_end_matches('/').to_owned(),
        })
    }

    /// Returns true if the server is on this machine's loopback and the system is Linux, where clients may use many
    /// addresses.
    pub(crate) fn is_on_loopback(&self) -> bool {
        cfg!(target_os = "linux") && matches!(self.address.ip(), IpAddr::V4(ip) if ip.is_loopback())
    }

    /// Returns host and port as in a request.
    pub(crate) fn host_authority(&self) -> String {
        let port = self.address.port();
        if self.host.contains(':') {
            format!("[{}]:{port}", self.host)
        } else {
            format!("{}:{port}", self.host)
        }
    }

    /// Returns one of the server's paths.
    pub(crate) fn path_on_server(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// Returns the first lines of a request, up to and including the Host header.
    pub(crate) fn request_head(&self, method: &str, path: &str) -> String {
        let (path, authority) = (self.path_on_server(path), self.host_authority());
        format!("{method} {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: lineside-load\r\n")
    }
}

/// The publications of a run, sent through the server API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishPlan {
    /// Publications per second, over all channels.
    pub rate: f64,
    /// Size of the data of each publication, in bytes.
    pub bytes: usize,
    /// The key of the server API. It is never printed.
    #[serde(skip)]
    pub key: ApiKey,
}

/// A key that is not printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ApiKey(pub String);

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadTestPlan {
    /// The server.
    pub target: TargetServer,
    /// Number of sessions, over all processes.
    pub sessions: usize,
    /// The channels that each session subscribes to.
    pub channels: Vec<String>,
    /// The transport of sessions.
    pub transport: SessionTransport,
    /// The encoding of WebSocket messages.
    pub format: MessageFormat,
    /// Duration of the measurement, once all sessions are ready.
    pub duration: Duration,
    /// Sessions opened per second, over all processes; `None` for as fast as the server answers.
    pub ramp: Option<f64>,
    /// The publications during the measurement; `None` if the channels change on their own.
    pub publishing: Option<PublishPlan>,
    /// Minimum number of processes.
    pub processes: usize,
    /// The id of the server's process, if it cannot be found by its port.
    pub server_process: Option<u32>,
    /// True to poll sockets without sleeping during the measurement.
    pub awake: bool,
}

impl LoadTestPlan {
    /// Returns true if the operator's back end publishes to the channel, as the run does.
    pub(crate) fn is_app_channel(channel: &str) -> bool {
        channel.starts_with("app/")
    }

    /// Returns the number of own publications of each channel; some channels may lack the last one.
    pub(crate) fn publications_per_channel(&self) -> u64 {
        let publishing = self.publishing.as_ref();
        publishing.map_or(0, |publishing| {
            (publishing.rate * self.duration.as_secs_f64()).round().max(1.0) as u64
        })
    }

    pub(crate) fn slice_duration_nanos(&self) -> MonotonicNanos {
        (duration_to_nanos(self.duration) / u64::from(SLICES_MAX)).max(duration_to_nanos(SLICE_MIN))
    }

    /// Returns the channels to which the run publishes.
    pub(crate) fn channels_published_by_run(&self) -> impl Iterator<Item = (usize, &str)> {
        let publishes = self.publishing.is_some();
        let all = self.channels.iter().map(String::as_str).enumerate();
        all.filter(move |(_, channel)| publishes && Self::is_app_channel(channel))
    }

    /// Checks the plan.
    ///
    /// # Errors
    /// Returns an error if the plan is invalid or exceeds a limit.
    pub fn validate_plan(&self) -> Result<(), LoadTestError> {
        let refuse = |why: String| Err(LoadTestError::Usage(why));
        if self.sessions == 0 {
            return refuse("--sessions must be at least 1".to_owned());
        }
        if self.channels.is_empty() || self.channels.len() > CHANNELS_MAX {
            return refuse(format!("--channel must be given 1 to {CHANNELS_MAX} times"));
        }
        if let Some(twice) = find_duplicate_channel(&self.channels) {
            return refuse(format!("--channel {twice} is given twice; remove one"));
        }
        if self.processes == 0 || self.processes > PROCESSES_MAX {
            return refuse(format!("--processes must be between 1 and {PROCESSES_MAX}"));
        }
        if self.duration.is_zero() || self.duration > DURATION_MAX {
            return refuse("--duration must be more than 0 s and at most 24 h".to_owned());
        }
        if self.transport == SessionTransport::Sse && self.format == MessageFormat::Protobuf {
            return refuse(
                "--format protobuf needs --transport websocket, because server-sent events are text"
                    .to_owned(),
            );
        }
        let Some(publishing) = &self.publishing else { return Ok(()) };
        if self.channels_published_by_run().next().is_none() {
            return refuse(
                "--publish needs a channel that begins with app/; add --channel app/load/1"
                    .to_owned(),
            );
        }
        if !publishing.rate.is_finite()
            || publishing.rate <= 0.0
            || self.publications_per_channel() > PUBLICATIONS_MAX
        {
            return refuse(format!(
                "--publish must be above 0, and a run may have at most {PUBLICATIONS_MAX} \
                publications; lower --publish or --duration"
            ));
        }
        if publishing.bytes > PUBLICATION_BYTES_MAX {
            return refuse(format!("--size must be at most {PUBLICATION_BYTES_MAX} bytes"));
        }
        Ok(())
    }
}

fn find_duplicate_channel(channels: &[String]) -> Option<&String> {
    channels
        .iter()
        .enumerate()
        .find(|(n, channel)| channels[..*n].contains(channel))
        .map(|(_, channel)| channel)
}

/// The part of a run that one process executes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProcessPlanShare {
    pub(crate) plan: LoadTestPlan,
    /// The index of its first session, counted over all processes.
    pub(crate) first: usize,
    /// Number of its sessions.
    pub(crate) sessions: usize,
    /// The loopback address of the first session of the run, if sessions have their own addresses.
    pub(crate) loopback: Ipv4Addr,
}

/// Divides a run between `processes` as evenly as possible.
pub(crate) fn split_plan_between_processes(
    plan: &LoadTestPlan,
    processes: usize,
) -> Vec<ProcessPlanShare> {
    let ramp = plan.ramp.map(|ramp| ramp / processes as f64);
    let plan = LoadTestPlan { ramp, ..plan.clone() };
    let begin = |process: usize| plan.sessions * process / processes;
    // Ports of an earlier run are unavailable for a minute and a search for others is slow, so the addresses are
    // random.
    let loopback = Ipv4Addr::new(127, fastrand::u8(1..=250), fastrand::u8(..), 1);
    let share = |process| ProcessPlanShare {
        plan: plan.clone(),
        first: begin(process),
        sessions: begin(process + 1) - begin(process),
        loopback,
    };
    (0..processes).map(share).collect()
}

/// Returns the number of a channel's last publication, if `all` are distributed in turn over `channels` channels.
pub(crate) fn last_publication_number(all: u64, channels: u64, index: u64) -> u64 {
    (all + channels - 1 - index) / channels
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn publications_are_distributed_round_robin() {
        for all in 0..20 {
            for channels in 1..5 {
                let counts =
                    (0..channels).map(|index| last_publication_number(all, channels, index));
                assert_eq!(counts.sum::<u64>(), all);
            }
        }
        assert_eq!((last_publication_number(5, 2, 0), last_publication_number(5, 2, 1)), (3, 2));
    }

    pub(crate) fn new_test_plan(url: &str) -> LoadTestPlan {
        LoadTestPlan {
            target: TargetServer::parse_and_resolve_url(url).expect("a server's address"),
            sessions: 10,
            channels: vec!["feed/city".to_owned()],
            transport: SessionTransport::Sse,
            format: MessageFormat::Json,
            duration: Duration::from_secs(1),
            ramp: None,
            publishing: None,
            processes: 1,
            server_process: None,
            awake: false,
        }
    }

    fn refusal_text_after_change(change: impl Fn(&mut LoadTestPlan)) -> String {
        let mut plan = new_test_plan("http://127.0.0.1:8080");
        change(&mut plan);
        plan.validate_plan().expect_err("the plan was accepted").to_string()
    }

    fn plan_with_rate(rate: f64) -> Option<PublishPlan> {
        Some(PublishPlan { rate, bytes: 200, key: ApiKey::default() })
    }

    #[test]
    fn a_server_url_is_parsed() {
        let target =
            TargetServer::parse_and_resolve_url("https://127.0.0.1/lineside/").expect("an address");
        assert!(target.tls && target.is_on_loopback() == cfg!(target_os = "linux"));
        assert_eq!(target.address.port(), 443);
        let request = target.request_head("GET", "/events");
        assert!(
            request.starts_with("GET /lineside/events HTTP/1.1\r\nHost: 127.0.0.1:443\r\n"),
            "{request}"
        );
        assert!(
            TargetServer::parse_and_resolve_url("http://[::1]:80")
                .is_ok_and(|target| target.request_head("GET", "/").contains("Host: [::1]:80"))
        );
        assert!(matches!(
            TargetServer::parse_and_resolve_url("ftp://127.0.0.1"),
            Err(LoadTestError::Usage(_))
        ));
        assert!(matches!(
            TargetServer::parse_and_resolve_url("127.0.0.1:80"),
            Err(LoadTestError::Usage(_))
        ));
    }

    #[test]
    fn an_invalid_plan_is_refused_with_advice() {
        assert!(new_test_plan("http://127.0.0.1:8080").validate_plan().is_ok());
        assert!(
            refusal_text_after_change(|plan| plan.sessions = 0)
                .contains("--sessions must be at least 1")
        );
        assert!(refusal_text_after_change(|plan| plan.channels.clear()).contains("--channel"));
        assert!(
            refusal_text_after_change(|plan| plan.channels = vec!["a/b".to_owned(); 2])
                .contains("twice")
        );
        assert!(refusal_text_after_change(|plan| plan.processes = 65).contains("64"));
        assert!(
            refusal_text_after_change(|plan| plan.format = MessageFormat::Protobuf)
                .contains("websocket")
        );
        assert!(
            refusal_text_after_change(|plan| plan.publishing = plan_with_rate(10.0))
                .contains("app/load/1")
        );
        let into_ours = |rate| {
            refusal_text_after_change(|plan| {
                plan.channels = vec!["app/load/1".to_owned()];
                plan.publishing = plan_with_rate(rate);
            })
        };
        assert!(into_ours(f64::NAN).contains("above 0"));
        assert!(into_ours(1e9).contains("1048576"));
    }

    #[test]
    fn shares_cover_all_sessions_once() {
        let plan = LoadTestPlan {
            sessions: 25_001,
            ramp: Some(900.0),
            ..new_test_plan("http://127.0.0.1:8080")
        };
        let shares = split_plan_between_processes(&plan, 3);
        let next = shares.iter().fold(0, |next, share| {
            assert_eq!(share.first, next);
            assert_eq!(share.plan.ramp, Some(300.0));
            next + share.sessions
        });
        assert_eq!(next, 25_001);
    }

    #[test]
    fn an_api_key_is_never_printed() {
        let secret = ApiKey("correct horse".to_owned());
        assert!(!format!("{secret:?}").contains("horse"));
    }
}
