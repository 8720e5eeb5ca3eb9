//! Runs of `lineside load`: deliveries to clients and their cost, measured by one program for both servers.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail};
use serde::Deserialize;

use super::servers::{CLIENTS, FIRST, KEY, LAST, Place, Server, in_turn, pinned};

/// The exit codes if nothing was lost, and if something was.
const FINISHED: [i32; 2] = [0, 1];

/// The parameters of a run.
#[derive(Clone)]
pub(super) struct Load<'a> {
    pub(super) sessions: usize,
    pub(super) channels: Vec<String>,
    /// `websocket` or `sse`.
    pub(super) transport: &'a str,
    /// Publications a second, and the bytes of each.
    pub(super) publish: Option<(f64, usize)>,
    pub(super) seconds: f64,
}

/// The needed part of a run's result.
#[derive(Deserialize)]
pub(super) struct Found {
    pub(super) connect: Connect,
    deliveries: Deliveries,
    latency_ms: Option<Latency>,
    server_process: Option<Costs>,
}

#[derive(Deserialize)]
pub(super) struct Connect {
    pub(super) seconds: f64,
    /// Bytes received until all sessions were connected.
    pub(super) bytes: u64,
    failed: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Deliveries {
    missing: u64,
    duplicates: u64,
    closed: BTreeMap<String, u64>,
    refused: BTreeMap<String, u64>,
}

/// Milliseconds.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct Latency {
    pub(super) p99: f64,
    pub(super) last: f64,
}

#[derive(Clone, Copy, Deserialize)]
pub(super) struct Costs {
    pub(super) cpu_us_per_session: f64,
    cpu_us_per_delivery: Option<f64>,
    pub(super) resident_bytes_before: f64,
    resident_bytes_after: f64,
    pub(super) resident_bytes_per_session: f64,
}

impl Load<'_> {
    /// Returns a load of sessions that subscribe to a channel with publications.
    pub(super) fn publishing(channel: &str, sessions: usize, rate: f64, seconds: f64) -> Self {
        let channels = vec![channel.to_owned()];
        Load { sessions, channels, transport: "websocket", publish: Some((rate, 200)), seconds }
    }

    /// Begins a run whose latencies must not depend on other clients. It sleeps when it is idle, because with its
    /// priority no other process would run.
    pub(super) fn begin_urgently(&self, place: &Place, server: &Server) -> anyhow::Result<Run> {
        self.begin_as(in_turn(FIRST, CLIENTS, &place.lineside), place, server, "urgent", false)
    }

    fn begin_as(
        &self,
        mut command: Command,
        place: &Place,
        server: &Server,
        name: &str,
        awake: bool,
    ) -> anyhow::Result<Run> {
        let json = place.folder.path().join(format!("{name}.json"));
        command.arg("load").arg(&server.url).arg("--json").arg(&json);
        command.args(["--server-pid", &server.id().to_string()]);
        command.args(["--sessions", &self.sessions.to_string(), "--transport", self.transport]);
        command.args(["--duration", &format!("{}s", self.seconds)]);
        for channel in &self.channels {
            command.args(["--channel", channel]);
        }
        if let Some((rate, bytes)) = self.publish {
            command.args(["--publish", &rate.to_string(), "--size", &bytes.to_string()]);
        }
        if awake {
            // A sleeping client is a matter of chance, and waking it costs the server as much as the write does.
            command.arg("--awake");
        }
        if server.url.starts_with("https:") {
            command.env("SSL_CERT_FILE", place.certificate());
        }
        command.env("LINESIDE_API_KEY", KEY).stdout(Stdio::null()).stderr(Stdio::piped());
        let process = command.spawn().context("`taskset` or `lineside load` cannot be started")?;
        Ok(Run { process, json })
    }

    /// Runs the load to its end.
    pub(super) fn run(&self, place: &Place, server: &Server) -> anyhow::Result<Found> {
        self.begin_as(pinned(CLIENTS, &place.lineside), place, server, "load", true)?.end()
    }

    /// Runs the load to its end, with clients of the lowest priority.
    pub(super) fn run_last(&self, place: &Place, server: &Server) -> anyhow::Result<Found> {
        let command = in_turn(LAST, CLIENTS, &place.lineside);
        self.begin_as(command, place, server, "load", true)?.end()
    }
}

/// A run in progress.
pub(super) struct Run {
    process: Child,
    json: std::path::PathBuf,
}

impl Run {
    /// Waits for the end of the run.
    pub(super) fn end(self) -> anyhow::Result<Found> {
        let output = self.process.wait_with_output()?;
        if !output.status.code().is_some_and(|code| FINISHED.contains(&code)) {
            bail!("`lineside load` failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        let json = std::fs::read(&self.json)?;
        serde_json::from_slice(&json).context("the JSON of `lineside load`")
    }
}

impl Found {
    /// Returns the number of failures: missing and duplicate deliveries, rejected and closed sessions, rejected
    /// publications.
    pub(super) fn lost(&self) -> u64 {
        let Deliveries { missing, duplicates, closed, refused } = &self.deliveries;
        let reasons = [&self.connect.failed, closed, refused];
        missing + duplicates + reasons.iter().flat_map(|it| it.values()).sum::<u64>()
    }

    pub(super) fn latency(&self) -> anyhow::Result<Latency> {
        self.latency_ms.context("publications that say when they were sent")
    }

    pub(super) fn costs(&self) -> anyhow::Result<Costs> {
        self.server_process.context("a server whose costs can be read")
    }

    /// Returns the microseconds of the server's CPU.
    pub(super) fn cpu_per_delivery(&self) -> anyhow::Result<f64> {
        self.costs()?.cpu_us_per_delivery.context("deliveries")
    }

    /// Returns the bytes of each session after all deliveries.
    pub(super) fn bytes_after(&self, sessions: usize) -> anyhow::Result<f64> {
        let costs = self.costs()?;
        Ok((costs.resident_bytes_after - costs.resident_bytes_before) / sessions as f64)
    }
}
