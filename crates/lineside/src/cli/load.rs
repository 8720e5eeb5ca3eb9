//! `lineside load`: opens thousands of sessions and measures deliveries.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::{Args, ValueEnum};
use lineside_load::{
    ApiKey, LoadTestPlan, MessageFormat, PublishPlan, SessionTransport, TargetServer,
};

use super::{CommandFailure, print};

/// The channel of our publications if none is named.
const OWN_CHANNEL: &str = "app/load/1";
/// The environment variable with the key of the server API.
const KEY_VARIABLE: &str = "LINESIDE_API_KEY";

/// Open thousands of sessions to a server and measure deliveries
///
/// All sessions subscribe to all the channels. Once each has its state, deliveries are measured: the latency of every
/// publication in every session, missing publications and duplicates. If the server runs on this machine, its CPU
/// and memory are measured as well.
///
/// The exit code is 1 if something was lost, 3 if no session could connect.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  All changes of a demo, which runs in another terminal, to a thousand clients:
    lineside demo
    lineside load http://127.0.0.1:8080 --sessions 1000 --channel feed/city --transport sse

  One publication a second to ten thousand WebSockets, with a graph:
    LINESIDE_API_KEY=… lineside load http://127.0.0.1:8080 --sessions 10000 --publish 1 --graph load.svg

  Clients that connect slowly, from four processes, with protobuf and TLS:
    lineside load https://example.org --sessions 60000 --channel feed/city --format protobuf --ramp 2000/s --processes 4

One process holds as many sessions as `ulimit -n` allows; beyond that further ones are started. On loopback, clients
have many addresses. Certificates of your own are trusted if SSL_CERT_FILE names them.")]
pub(crate) struct LoadArguments {
    /// The server, such as http://127.0.0.1:8080
    #[arg(value_name = "SERVER-URL", required_unless_present = "worker")]
    server: Option<String>,
    /// Number of sessions
    #[arg(long, value_name = "N", required_unless_present = "worker")]
    sessions: Option<usize>,
    /// A channel that every session subscribes to; repeatable. With --publish, the default is app/load/1
    #[arg(long = "channel", value_name = "CHANNEL")]
    channels: Vec<String>,
    /// Transport of the sessions
    #[arg(long, value_enum, default_value_t = TransportArgument::Websocket)]
    transport: TransportArgument,
    /// Format of messages over WebSocket
    #[arg(long, value_enum, default_value_t = FormatArgument::Json)]
    format: FormatArgument,
    /// Duration of the measurement
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    duration: Duration,
    /// Sessions opened per second, as 500/s; as fast as the server answers if not given
    #[arg(long, value_name = "N/s", value_parser = parse_rate)]
    ramp: Option<f64>,
    /// Publications per second into the app/… channels, through the server API with the key in LINESIDE_API_KEY
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    publish: Option<f64>,
    /// Size of each publication's data, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 200, requires = "publish")]
    size: usize,
    /// Minimum number of processes
    #[arg(long, value_name = "N", default_value_t = 1)]
    processes: usize,
    /// The server's process id; by default the process that listens on its port on this machine
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,
    /// Never sleep during the measurement: this takes a core per process, and spares a server on the same machine the
    /// cost of waking up the clients
    #[arg(long)]
    awake: bool,
    /// Write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw latencies and deliveries over time
    #[arg(long, value_name = "FILE.svg")]
    graph: Option<PathBuf>,
    /// Run some of another process's sessions
    #[arg(long, hide = true)]
    worker: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TransportArgument {
    Websocket,
    Sse,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatArgument {
    Json,
    Protobuf,
}

pub(crate) fn run_load(arguments: LoadArguments) -> Result<(), CommandFailure> {
    if arguments.worker {
        let worked = lineside_load::run_worker_process(io::stdin().lock(), io::stdout().lock());
        return worked.map_err(|error| CommandFailure::Unfinished(error.to_string()));
    }
    let plan = build_load_plan(&arguments)?;
    let mut note = |text: &str| print::print_to_stderr(&text);
    let report = lineside_load::run_load_test(&plan, &load_worker_command, &mut note)
        .map_err(to_command_failure)?;
    if let Some(file) = &arguments.json {
        write_load_report(file, &report.to_json())?;
    }
    if let Some(file) = &arguments.graph {
        write_load_report(file, &report.render_svg())?;
    }
    print::print_required_output(&report)?;
    if report.has_failures_or_losses() { Err(CommandFailure::LostDeliveries) } else { Ok(()) }
}

fn build_load_plan(arguments: &LoadArguments) -> Result<LoadTestPlan, CommandFailure> {
    let publishing = arguments.publish.map(|rate| {
        let key = env::var(KEY_VARIABLE).ok().filter(|key| !key.is_empty()).ok_or_else(|| {
            CommandFailure::Usage(format!(
                "--publish uses the server API: set {KEY_VARIABLE} to the key in the server's [api] section"
            ))
        })?;
        Ok(PublishPlan { rate, bytes: arguments.size, key: ApiKey(key) })
    });
    let publishing = publishing.transpose()?;
    let mut channels = arguments.channels.clone();
    if channels.is_empty() {
        if publishing.is_none() {
            let advice = "a channel is missing: give --channel feed/<feed>, or --publish RATE";
            return Err(CommandFailure::Usage(advice.to_owned()));
        }
        channels.push(OWN_CHANNEL.to_owned());
    }
    let server = arguments.server.as_deref().unwrap_or_default();
    let plan = LoadTestPlan {
        target: TargetServer::parse_and_resolve_url(server).map_err(to_command_failure)?,
        sessions: arguments.sessions.unwrap_or_default(),
        channels,
        transport: match arguments.transport {
            TransportArgument::Websocket => SessionTransport::WebSocket,
            TransportArgument::Sse => SessionTransport::Sse,
        },
        format: match arguments.format {
            FormatArgument::Json => MessageFormat::Json,
            FormatArgument::Protobuf => MessageFormat::Protobuf,
        },
        duration: arguments.duration,
        ramp: arguments.ramp,
        publishing,
        processes: arguments.processes,
        server_process: arguments.server_pid,
        awake: arguments.awake,
    };
    Ok(plan)
}

fn to_command_failure(failure: lineside_load::LoadTestError) -> CommandFailure {
    match failure {
        lineside_load::LoadTestError::Usage(reason) => CommandFailure::Usage(reason),
        lineside_load::LoadTestError::Unreachable(reason) => CommandFailure::Unfinished(reason),
    }
}

/// Returns the command that starts this program as a worker for some of the sessions.
fn load_worker_command() -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["load", "--worker"]);
    Ok(command)
}

fn write_load_report(file: &Path, text: &str) -> Result<(), CommandFailure> {
    std::fs::write(file, text).map_err(|error| {
        CommandFailure::Unfinished(format!(
            "{} cannot be written: {error}; name another file",
            file.display()
        ))
    })
}

/// Parses `500ms`, `10s`, `2m` or `1h`; a number alone is seconds.
fn parse_duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 4] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3_600.0)];
    let unit = UNITS.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)));
    let (number, seconds) = unit.unwrap_or((text, 1.0));
    let number: f64 = number
        .trim()
        .parse()
        .map_err(|_| "expected a duration such as 500ms, 10s or 2m".to_owned())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}

/// Parses `500/s`, or the number alone.
fn parse_rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).trim();
    let rate: f64 =
        number.parse().map_err(|_| "expected a rate such as 500/s or 0.5".to_owned())?;
    if rate.is_finite() && rate > 0.0 {
        Ok(rate)
    } else {
        Err("expected a rate above 0".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_rates_are_read_with_their_units() {
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_duration("7"), Ok(Duration::from_secs(7)));
        assert!(
            ["", "s", "-1s", "1 week", "infs"].iter().all(|text| parse_duration(text).is_err())
        );
        assert_eq!((parse_rate("500/s"), parse_rate("0.5")), (Ok(500.0), Ok(0.5)));
        assert!(["", "0", "-1", "NaN", "inf", "1/m"].iter().all(|text| parse_rate(text).is_err()));
    }
}
