//! Measured servers, each a process on separate cores.

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

use crate::http::{connect, get};
use crate::process::memory;

/// The core of a server, as taskset(1) names it, and that of its clients.
pub(crate) const ONE_CORE: &str = "0";
pub(crate) const CLIENTS: &str = "1";

/// The measured program; `cargo xtask bench` sets its path.
const PROGRAM: &str = "LINESIDE_PROGRAM";
/// The timeout for a server to listen.
const START_MAX: Duration = Duration::from_secs(10);
/// The timeout for a server to have the requested data.
const THERE_MAX: Duration = Duration::from_secs(20);
/// The timeout for a server to end.
const END_MAX: Duration = Duration::from_secs(2);
/// The interval of these checks.
const LOOK: Duration = Duration::from_millis(10);

/// A server's process; dropping this ends it.
pub(crate) struct Server {
    process: Child,
    pub(crate) url: String,
    pub(crate) port: u16,
}

/// The paths of the programs, and a folder for their files.
pub(crate) struct Place {
    pub(crate) lineside: PathBuf,
    pub(crate) folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn find() -> anyhow::Result<Place> {
        let own = env::current_exe().context("this program is a file")?;
        let lineside = match env::var_os(PROGRAM) {
            Some(program) => PathBuf::from(program),
            None => own.with_file_name("lineside"),
        };
        ensure!(
            lineside.is_file(),
            "{} is not there: `cargo xtask bench` builds it, or name one in {PROGRAM}",
            lineside.display()
        );
        Ok(Place { lineside, folder: tempfile::tempdir()? })
    }

    /// Starts the measured server with the configuration for a port.
    pub(crate) fn serve(
        &self,
        scheme: &str,
        cores: &str,
        configuration: impl FnOnce(u16) -> String,
    ) -> anyhow::Result<Server> {
        let port = free_port()?;
        let config = self.folder.path().join("lineside.toml");
        fs::write(&config, configuration(port))?;
        let mut command = pinned(cores, &self.lineside);
        command.arg("serve").arg("--config").arg(&config);
        let log = self.folder.path().join("lineside.log");
        Server::start(command, format!("{scheme}://127.0.0.1:{port}"), port, &log)
    }
}

impl Server {
    /// Starts a server that listens at `port`, and waits until it does; `log` receives its standard error.
    pub(crate) fn start(
        mut command: Command,
        url: String,
        port: u16,
        log: &Path,
    ) -> anyhow::Result<Server> {
        let process = command
            .stdout(Stdio::null())
            .stderr(fs::File::create(log)?)
            .spawn()
            .context("`taskset` or the server cannot be started")?;
        let mut server = Server { process, url, port };
        server.wait(log)?;
        Ok(server)
    }

    /// Starts this program as a server that prints its port in the first line.
    pub(crate) fn start_own(cores: &str, arguments: &[&str]) -> anyhow::Result<Server> {
        let mut command = pinned(cores, env::current_exe()?);
        let mut process = command.args(arguments).stdout(Stdio::piped()).spawn()?;
        let told = process.stdout.take().context("a pipe")?;
        let mut server = Server { process, url: String::new(), port: 0 };
        let mut line = String::new();
        BufReader::new(told).read_line(&mut line)?;
        server.port = line.trim().parse().context("the server says its port")?;
        server.url = format!("http://127.0.0.1:{}", server.port);
        Ok(server)
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the peak of resident memory.
    pub(crate) fn peak_bytes(&self) -> anyhow::Result<f64> {
        memory(&self.id().to_string(), "VmHWM:")
    }

    fn wait(&mut self, log: &Path) -> anyhow::Result<()> {
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if let Some(status) = self.process.try_wait()? {
                let log = fs::read_to_string(log).unwrap_or_default();
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
        // SIGTERM first: nginx's workers outlive a master that is killed. A process that has ended needs nothing.
        _ = Command::new("kill").arg(self.id().to_string()).status();
        let start = Instant::now();
        while start.elapsed() < END_MAX && matches!(self.process.try_wait(), Ok(None)) {
            thread::sleep(LOOK);
        }
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Repeats a request until it succeeds.
#[cfg(any(feature = "formats", feature = "proxy"))]
pub(crate) fn until_there(server: &Server, path: &str, headers: &str) -> anyhow::Result<()> {
    let start = Instant::now();
    loop {
        let answer = get(&mut BufReader::new(connect(server.port)?), path, headers);
        match answer {
            Ok(_) => return Ok(()),
            Err(error) => ensure!(start.elapsed() < THERE_MAX, "{path}: {error}"),
        }
        thread::sleep(LOOK);
    }
}

/// Returns a command on these cores only.
pub(crate) fn pinned(cores: &str, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", cores]).arg(program);
    command
}

pub(crate) fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
