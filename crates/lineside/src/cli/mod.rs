//! The command line: one file per command.
//!
//! Exit codes: 0 fine, 1 findings (`check`) or losses (`load`), 2 usage or configuration, 3 could not read, reach or
//! finish.

mod check;
mod convert;
mod demo;
mod greeting;
mod input;
mod load;
mod logging;
mod print;
mod profile;
mod serve;
mod gbfs_files;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use lineside_config::ConfigErrors;
use url::Url;

/// One server between public-transport producers and everyone else.
///
/// Lineside polls each feed once, keeps the last good bytes, and serves any number of readers: the
/// bytes, the state as JSON, GTFS-Realtime, SIRI, GBFS and GeoJSON, and every change as it happens.
#[derive(Debug, Parser)]
#[command(
    name = "lineside",
    version,
    arg_required_else_help = true,
    after_help = "Try it: lineside demo\nWith your own feed: lineside serve --feed https://example.org/gtfs.zip"
)]
pub struct Cli {
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Run a simulated city with its feeds, and a server that polls them
    Demo(demo::DemoArguments),
    /// Poll the configured feeds and serve them
    Serve(serve::ServeArguments),
    /// Validate a schedule, real-time data or a system of shared vehicles
    ///
    /// The format is detected from the content: GTFS (a zip, or a folder of its tables), NeTEx, GTFS-Realtime, SIRI, or
    /// the gbfs.json of a system. GTFS and GTFS-Realtime are validated by the rules of the reference validators, GBFS
    /// by its specification, SIRI and NeTEx by structure, references and profiles.
    Check(check::CheckArguments),
    /// Convert between formats, and report what is lost
    ///
    /// The format is detected from the content: GTFS (a zip, or a folder of its tables), NeTEx (an XML file, or a zip
    /// or a folder of many), GTFS-Realtime in protobuf or JSON, SIRI in XML, SOAP or JSON, or the gbfs.json of a
    /// system, whose files are in its folder or at their addresses. Each journey, vehicle and situation becomes one
    /// entity, with or without a match in a schedule.
    ///
    /// A schedule is read in place, table by table or one XML file after the other, and may be as large as 12 GiB when
    /// unpacked; its records and one XML file, of at most 1 GiB, are in memory. Other input is in memory, several times
    /// over, and may have at most 256 MiB, SIRI 128 MiB. Input from an address or standard input, and the zip of a
    /// folder, is written to temporary files (TMPDIR).
    ///
    /// The output is written as FILE.part and renamed when it is complete.
    Convert(convert::ConvertArguments),
    /// Follow channels of a running server in the terminal
    Watch(watch::WatchArguments),
    /// Profile the threads of a running server, and write a flame graph
    Profile(profile::ProfileArguments),
    /// Open thousands of sessions to a server and measure deliveries
    Load(Box<load::LoadArguments>),
}

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum CommandFailure {
    /// The checked input has findings, which are already printed.
    Findings,
    /// The load test lost deliveries, which are already printed.
    LostDeliveries,
    /// The command line is invalid.
    Usage(String),
    /// The configuration is invalid.
    Configuration(ConfigErrors),
    /// Something could not be read, reached or finished.
    Unfinished(String),
}

impl CommandFailure {
    fn from_anyhow(error: &anyhow::Error) -> Self {
        Self::Unfinished(format!("{error:#}"))
    }
}

/// Parses the http(s) address of a server.
fn parse_server_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err("expected an address that begins with http:// or https://".to_owned()),
    }
}

/// Runs the command of the command line. Returns the exit code of the process.
pub async fn run_command(cli: Cli) -> ExitCode {
    let done = match cli.command {
        CliCommand::Demo(arguments) => demo::run_demo(arguments).await,
        CliCommand::Serve(arguments) => serve::run_serve(arguments).await,
        CliCommand::Check(arguments) => Box::pin(check::run_check(arguments)).await,
        CliCommand::Convert(arguments) => convert::run_convert(arguments).await,
        CliCommand::Watch(arguments) => watch::run_watch(arguments).await,
        CliCommand::Profile(arguments) => profile::run_profile(arguments).await,
        CliCommand::Load(arguments) => load::run_load(*arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(CommandFailure::Findings | CommandFailure::LostDeliveries) => ExitCode::from(1),
        Err(CommandFailure::Usage(reason)) => {
            print::print_failure_reason(&reason);
            ExitCode::from(2)
        }
        Err(CommandFailure::Configuration(errors)) => {
            errors.iter().for_each(|error| print::print_failure_reason(&error.to_string()));
            ExitCode::from(2)
        }
        Err(CommandFailure::Unfinished(reason)) => {
            print::print_failure_reason(&reason);
            ExitCode::from(3)
        }
    }
}

/// Prints that the runtime could not start. Returns exit code 3.
#[must_use]
pub fn print_runtime_start_failure(error: &std::io::Error) -> ExitCode {
    print::print_failure_reason(&format!("cannot start threads: {error}"));
    ExitCode::from(3)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_documented_commands_parse() {
        for line in [
            "lineside demo",
            "lineside demo --port 0 --seed 7 --speed 4 --vehicles 50 --data-dir /tmp/x",
            "lineside demo --fault city-vehicles:hang@10s+30s --fault city:500@1m+90",
            "lineside serve --config lineside.toml --check",
            "lineside serve --feed a=https://example.org/a.zip --feed https://example.org/b.pb",
            "lineside watch http://127.0.0.1:8080 feed/city alerts/city --json",
            "lineside load http://127.0.0.1:8080 --sessions 10000 --channel feed/city --transport sse",
            "lineside load http://h --sessions 9 --publish 10 --size 200 --duration 2m --ramp 500/s --processes 2",
            "lineside check gtfs.zip",
            "lineside check - --date 2026-06-15 --country no --format json --output report",
            "lineside check https://example.org/a.zip --fail-on never --ignore unknown_file,unknown_column",
            "lineside convert et.xml --to gtfs-rt --static gtfs.zip --output et.pb --report loss.json",
            "lineside convert - --to siri-json",
            "lineside convert https://example.org/gbfs.json --to gbfs3 --output bikes",
            "lineside profile http://127.0.0.1:8080 --output flame.html",
            "lineside profile https://h --seconds 60 --output a/flame.pb",
            "lineside load wss://h --sessions 9 --format protobuf --json a.json --graph a.svg --server-pid 7",
        ] {
            if let Err(error) = Cli::try_parse_from(line.split(' ')) {
                panic!("{line}: {error}");
            }
        }
    }
}
