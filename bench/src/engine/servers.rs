//! The measured servers: Lineside with and without TLS, and the bare loop.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

pub(super) use crate::servers::{CLIENTS, ONE_CORE, Place, Server, pinned};

/// Both cores, as taskset(1) names them.
pub(super) const TWO_CORES: &str = "0,1";
/// The key of the server API.
pub(super) const KEY: &str = "bench";

/// The channels of the measurements: one without and one with a history.
pub(super) const PLAIN: &str = "app/load/1";
pub(super) const KEPT: &str = "app/kept/1";

impl Place {
    /// Starts the measured server, with further sections of its configuration.
    pub(super) fn lineside(&self, cores: &str, sections: &str) -> anyhow::Result<Server> {
        self.serve("http", cores, |port| configuration(port, sections))
    }

    /// Starts the measured server with TLS and a self-signed certificate.
    pub(super) fn secured(&self, cores: &str) -> anyhow::Result<Server> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let (cert, key) = (self.certificate(), self.folder.path().join("key.pem"));
        fs::write(&cert, made.cert.pem())?;
        fs::write(&key, made.signing_key.serialize_pem())?;
        let (cert, key) = (cert.display(), key.display());
        let section = format!("\n[server.tls]\ncert = \"{cert}\"\nkey = \"{key}\"\n");
        self.serve("https", cores, |port| configuration(port, &section))
    }

    /// Returns the path of the certificate that clients must trust.
    pub(super) fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// Starts the bare loop.
    pub(super) fn bare(&self, coalesce: Option<Duration>) -> anyhow::Result<Server> {
        let wait = coalesce.map(|wait| wait.as_millis().to_string());
        let arguments: Vec<&str> = [super::BARE].into_iter().chain(wait.as_deref()).collect();
        Server::start_own(ONE_CORE, &arguments)
    }
}

/// The highest priority on a core: a process that measures latency must not wait for its own turn.
pub(super) const FIRST: [&str; 2] = ["--fifo", "10"];
/// The lowest priority on a core, below the kernel's own work for sockets.
pub(super) const LAST: [&str; 2] = ["--idle", "0"];

/// Returns a command on these cores only, with the priority [`FIRST`] or [`LAST`] if the system permits it.
pub(super) fn in_turn(turn: [&str; 2], cores: &str, program: impl AsRef<OsStr>) -> Command {
    let tried = Command::new("chrt").args(turn).arg("true").stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        return pinned(cores, program);
    }
    let mut command = Command::new("chrt");
    command.args(turn).args(["taskset", "--cpu-list", cores]).arg(program);
    command
}

fn configuration(port: u16, sections: &str) -> String {
    format!(
        r#"[server]
listen = "127.0.0.1:{port}"

[api]
key = "{KEY}"

[[namespace]]
prefix = "app/kept/"
history_size = 100
history_ttl = "5m"
{sections}"#
    )
}
