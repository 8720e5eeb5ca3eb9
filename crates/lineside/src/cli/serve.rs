//! `lineside serve`: polls the configured feeds and serves them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use lineside_config::{Config, FeedArgument, attach_only_schedule, feeds_from_arguments};
use lineside_model::SourceLocation;
use lineside_sync::{Clock, RealClock};

use super::{CommandFailure, greeting, logging, print};
use crate::server::{self, ServerOptions};
use crate::signals::{TerminationSignals, run_until_signal};

/// The configuration file that is read if none is named.
const CONFIG_DEFAULT: &str = "lineside.toml";

/// Poll the configured feeds and serve them
///
/// With --feed no configuration is needed: the format is detected from the content, and real-time feeds
/// belong to the schedule if there is only one.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lineside serve --feed https://example.org/gtfs.zip --feed https://example.org/vehicles.pb\n  \
    lineside serve --config lineside.toml --check\n\n\
    The pages are at http://127.0.0.1:8080; [server] listen = \"0.0.0.0:80\" in the configuration changes that.\n\
    To log in at /ops, set [admin] token in the configuration or LINESIDE_ADMIN_TOKEN; without them a token is printed at the start."
)]
pub(crate) struct ServeArguments {
    /// The configuration to read; lineside.toml unless --feed is given
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A feed to serve: a URL, a file, a folder with the files of a GTFS, or replay://FOLDER?speed=10
    #[arg(long = "feed", value_name = "[ID=]URL|FILE|FOLDER")]
    feeds: Vec<FeedArgument>,
    /// Check the configuration and stop
    #[arg(long)]
    check: bool,
    /// A file or address without its option, which the error asks for
    #[arg(hide = true)]
    without_option: Option<String>,
}

pub(crate) async fn run_serve(arguments: ServeArguments) -> Result<(), CommandFailure> {
    if let Some(value) = arguments.without_option {
        let option = if value.ends_with(".toml") { "--config" } else { "--feed" };
        let reason = format!("unexpected argument {value}: write {option} {value}");
        return Err(CommandFailure::Usage(reason));
    }
    let (mut config, file) = read_config_file_if_any(arguments.config, arguments.feeds.is_empty())?;
    let configured: Vec<_> = config.feeds.iter().map(|feed| feed.id.clone()).collect();
    let mut added =
        feeds_from_arguments(arguments.feeds, configured).map_err(CommandFailure::Usage)?;
    if arguments.check {
        config.feeds.extend(added);
        print_config_summary(&config, file.as_deref());
        return Ok(());
    }
    logging::start_logging();
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    attach_only_schedule(&mut added, &clock).await;
    config.source.arguments.clone_from(&added);
    config.feeds.extend(added);
    config.admin.fill_token_from_environment();
    let start =
        ServerOptions { config, clock, seed: fastrand::u64(..), demo: None, base_map: None };
    let running =
        server::start_server(start).await.map_err(|error| CommandFailure::from_anyhow(&error))?;
    // A reader of the greeting may send a signal, so the handlers come first.
    let signals = TerminationSignals::register_handlers()
        .map_err(|error| CommandFailure::Unfinished(error.to_string()))?;
    print::print_line_to_stdout(&greeting::serve_greeting(&running));
    run_until_signal(running, signals).await;
    Ok(())
}

/// Reads the configuration. Also returns the file that it came from.
fn read_config_file_if_any(
    file: Option<PathBuf>,
    needed: bool,
) -> Result<(Config, Option<PathBuf>), CommandFailure> {
    let file = match file {
        Some(file) => file,
        None if !needed => return Ok((Config::default(), None)),
        None if Path::new(CONFIG_DEFAULT).exists() => PathBuf::from(CONFIG_DEFAULT),
        None => {
            let advice = "this folder has no lineside.toml: give --config FILE or --feed URL, or try `lineside demo`";
            return Err(CommandFailure::Usage(advice.to_owned()));
        }
    };
    match Config::load(&file) {
        Ok(config) => Ok((config, Some(file))),
        Err(errors) => Err(CommandFailure::Configuration(errors)),
    }
}

fn print_config_summary(config: &Config, file: Option<&Path>) {
    let source = file.map_or("the command line".to_owned(), |file| file.display().to_string());
    let feeds = match config.feeds.len() {
        1 => "1 feed".to_owned(),
        count => format!("{count} feeds"),
    };
    let warnings = list_config_warnings(config);
    let counted = match warnings.len() {
        0 => String::new(),
        1 => ", 1 warning".to_owned(),
        count => format!(", {count} warnings"),
    };
    print::print_line_to_stdout(&format_args!(
        "{source} is valid{counted}: {feeds}, listening on {}",
        config.server.listen
    ));
    for feed in &config.feeds {
        print::print_line_to_stdout(&format_args!("  {}  {}", feed.id, feed.url));
    }
    for warning in warnings {
        print::print_to_stderr(&format_args!("warning: {warning}"));
    }
}

/// Returns what is suspicious in a valid configuration.
fn list_config_warnings(config: &Config) -> Vec<String> {
    // A missing file is only a warning, because it may be created later.
    let missing = config.feeds.iter().filter_map(|feed| {
        let path = find_missing_path(&feed.url)?;
        Some(format!("feed {}: {} does not exist", feed.id, path.display()))
    });
    let mut warnings: Vec<String> = missing.collect();
    warnings.extend(config.config_warnings());
    // An unknown feed id is only a warning, because admins add feeds too.
    let is_known = |id: &str| config.feeds.iter().any(|feed| feed.id.as_str() == id);
    for (number, alert) in config.alerts.iter().enumerate() {
        let unknown = alert.unknown_feed_ids(is_known);
        warnings
            .extend(unknown.map(|id| format!("alert[{number}].feeds: feed {id:?} does not exist")));
    }
    warnings
}

/// Returns the path of a local source if it does not exist.
fn find_missing_path(source: &SourceLocation) -> Option<&Path> {
    let (SourceLocation::Path(path) | SourceLocation::Replay { dir: path, .. }) = source else {
        return None;
    };
    (!path.exists()).then_some(path)
}
