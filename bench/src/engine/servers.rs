//! Servers under measurement, each a process on cores of its own.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use crate::process::memory;

/// Cores of a server, as taskset(1) names them, and that of its clients.
pub(super) const ONE_CORE: &str = "0";
pub(super) const TWO_CORES: &str = "0,1";
pub(super) const CLIENTS: &str = "1";

/// The program that is measured; `cargo xtask bench` says where it was built.
const PROGRAM: &str = "LINESIDE_PROGRAM";
/// What the server API asks for.
pub(super) const KEY: &str = "bench";
/// How long a server may take to listen.
const START_MAX: Duration = Duration::from_secs(10);
/// Between two looks whether it does.
const LOOK: Duration = Duration::from_millis(10);

/// The channels of the measurements: one that nothing is kept of, and one with a history.
pub(super) const PLAIN: &str = "app/load/1";
pub(super) const KEPT: &str = "app/kept/1";

/// A server's process; ended with this.
pub(super) struct Server {
    process: Child,
    pub(super) url: String,
    pub(super) port: u16,
}

/// Where the programs are, and a folder for what they need.
pub(super) struct Place {
    pub(super) lineside: PathBuf,
    pub(super) folder: tempfile::TempDir,
}

impl Place {
    pub(super) fn find() -> anyhow::Result<Place> {
        let own = env::current_exe().context("this program is a file")?;
        let lineside = match env::var_os(PROGRAM) {
            Some(program) => PathBuf::from(program),
            None => own.with_file_name("lineside"),
        };
        ensure!(
            lineside.is_file(),
            "{} is not there: `cargo xtask bench engine` builds it, or name one in {PROGRAM}",
            lineside.display()
        );
        Ok(Place { lineside, folder: tempfile::tempdir()? })
    }

    /// The server that is measured, with further sections of its configuration.
    pub(super) fn lineside(&self, cores: &str, sections: &str) -> anyhow::Result<Server> {
        self.start("http", cores, sections)
    }

    /// The same with TLS, and a certificate of its own.
    pub(super) fn secured(&self, cores: &str) -> anyhow::Result<Server> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let (cert, key) = (self.certificate(), self.folder.path().join("key.pem"));
        fs::write(&cert, made.cert.pem())?;
        fs::write(&key, made.signing_key.serialize_pem())?;
        let (cert, key) = (cert.display(), key.display());
        let section = format!("\n[server.tls]\ncert = \"{cert}\"\nkey = \"{key}\"\n");
        self.start("https", cores, &section)
    }

    /// What clients are to trust.
    pub(super) fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    fn start(&self, scheme: &str, cores: &str, sections: &str) -> anyhow::Result<Server> {
        let port = free_port()?;
        let config = self.folder.path().join("lineside.toml");
        fs::write(&config, configuration(port, sections))?;
        let mut command = pinned(cores, &self.lineside);
        command.arg("serve").arg("--config").arg(&config);
        let log = fs::File::create(self.folder.path().join("lineside.log"))?;
        let process = command
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("`taskset` or the server cannot be started")?;
        let mut server = Server { process, url: format!("{scheme}://127.0.0.1:{port}"), port };
        server.wait(self.folder.path())?;
        Ok(server)
    }

    /// The bare loop.
    pub(super) fn bare(&self, coalesce: Option<Duration>) -> anyhow::Result<Server> {
        let mut command = pinned(ONE_CORE, env::current_exe()?);
        command.arg(super::BARE);
        command.args(coalesce.map(|wait| wait.as_millis().to_string()));
        let mut process = command.stdout(Stdio::piped()).spawn()?;
        let told = process.stdout.take().context("a pipe")?;
        let mut server = Server { process, url: String::new(), port: 0 };
        let mut line = String::new();
        BufReader::new(told).read_line(&mut line)?;
        server.port = line.trim().parse().context("the bare server says its port")?;
        server.url = format!("http://127.0.0.1:{}", server.port);
        Ok(server)
    }
}

impl Server {
    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The most memory that ever was resident.
    pub(super) fn peak_bytes(&self) -> anyhow::Result<f64> {
        memory(&self.id().to_string(), "VmHWM:")
    }

    fn wait(&mut self, folder: &Path) -> anyhow::Result<()> {
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if let Some(status) = self.process.try_wait()? {
                let log = fs::read_to_string(folder.join("lineside.log")).unwrap_or_default();
                bail!("the server ended with {status}: {log}");
            }
            ensure!(start.elapsed() < START_MAX, "the server does not listen");
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that is gone already needs no end.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// A program on these cores only.
pub(super) fn pinned(cores: &str, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", cores]).arg(program);
    command
}

/// Before all others on a core: who measures how late something is must not wait for its own turn.
pub(super) const FIRST: [&str; 2] = ["--fifo", "10"];
/// After all others on a core, the kernel's own work for sockets included.
pub(super) const LAST: [&str; 2] = ["--idle", "0"];

/// A program on these cores only, [`FIRST`] or [`LAST`] there if the system lets it.
pub(super) fn in_turn(turn: [&str; 2], cores: &str, program: impl AsRef<OsStr>) -> Command {
    let tried = Command::new("chrt").args(turn).arg("true").stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        return pinned(cores, program);
    }
    let mut command = Command::new("chrt");
    command.args(turn).args(["taskset", "--cpu-list", cores]).arg(program);
    command
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
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
