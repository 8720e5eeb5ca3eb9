//! The program as a separate process, as an operator runs it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Returns a command of the built program.
pub(crate) fn lineside(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lineside"));
    command
        .args(arguments)
        .env_remove("RUST_LOG")
        .env_remove("LINESIDE_ADMIN_TOKEN")
        .stdin(Stdio::null());
    command
}

/// A server process; killed if a test leaves it behind.
pub(crate) struct ServerProcess {
    child: Child,
    /// Its output until it was ready.
    pub(crate) greeting: String,
    /// Its address, without a slash at the end.
    pub(crate) url: String,
}

impl ServerProcess {
    /// Starts the server and waits until it prints its address.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::from_command(lineside(arguments))
    }

    /// Starts the server with this configuration, which is written into `folder`.
    pub(crate) fn serving(folder: &Path, configuration: impl AsRef<[u8]>) -> Self {
        let file = folder.join("lineside.toml");
        std::fs::write(&file, configuration).unwrap();
        Self::start(&["serve", "--config", file.to_str().unwrap()])
    }

    /// Starts the server by a prepared command.
    pub(crate) fn from_command(command: Command) -> Self {
        Self::logging(command, Stdio::null())
    }

    /// Starts the server by a prepared command, with a destination for its log.
    pub(crate) fn logging(mut command: Command, log: Stdio) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut greeting = String::new();
        let mut url = None;
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        while let Some(Ok(line)) = lines.next() {
            greeting.push_str(&line);
            greeting.push('\n');
            url = url.or_else(|| {
                line.split_whitespace()
                    .find(|word| {
                        word.starts_with("http://127.") || word.starts_with("https://127.")
                    })
                    .map(str::to_owned)
            });
            if line.contains("Ctrl-C") {
                break;
            }
        }
        // The rest is discarded, so that the process never blocks on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let url = url.unwrap_or_else(|| panic!("no address in {greeting:?}"));
        Self { child, greeting, url: url.trim_end_matches('/').to_owned() }
    }

    /// Returns the resource usage of the process.
    pub(crate) fn usage(&self) -> Usage {
        Usage::for_process(self.child.id())
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Sends a signal and waits; returns the exit status and the duration.
    pub(crate) fn stop(mut self, signal: &str) -> (ExitStatus, Duration) {
        let started = Instant::now();
        self.signal(signal);
        let status = self.child.wait().unwrap();
        (status, started.elapsed())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The process is gone already if the test stopped it.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The resource usage of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Resident memory and its peak, in bytes.
    pub(crate) resident: u64,
    pub(crate) resident_peak: u64,
    pub(crate) descriptors: usize,
}

impl Usage {
    fn for_process(process: u32) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
        };
        let descriptors = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().count();
        Self { resident: bytes("VmRSS:"), resident_peak: bytes("VmHWM:"), descriptors }
    }
}

/// Raises the limit of this process's file descriptors to the maximum.
pub(crate) fn raise_descriptors() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, descriptor_limit) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, descriptor_limit, descriptor_limit).unwrap();
}
