//! `lineside watch`: follows channels in the terminal.

use clap::Args;
use url::Url;

use super::{CommandFailure, print};
use crate::signals::TerminationSignals;
use crate::watch::{EventFormatter, EventStyle, FollowEndReason, follow_channels_until_error};

/// Follow channels of a running server in the terminal
///
/// The state of each channel comes first, then every change as it happens. After a lost connection it
/// resumes at the same position.
#[derive(Debug, Args)]
#[command(
    after_help = "Channels: feed/<feed>  vehicle/<feed>/<vehicle>  trip/<feed>/<trip>  alerts/<feed>\n          \
    route/<feed>/<route>  stop/<feed>/<stop>  area/<geohash>  report/<feed>  app/<anything>\n\
    Example: lineside watch http://127.0.0.1:8080 feed/city-vehicles"
)]
pub(crate) struct WatchArguments {
    /// The server, such as http://127.0.0.1:8080
    #[arg(value_name = "SERVER-URL", value_parser = super::parse_server_url)]
    server: Url,
    /// The channels to follow
    #[arg(value_name = "CHANNEL", required = true)]
    channels: Vec<String>,
    /// Print each event's data unchanged, one JSON object per line
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run_watch(arguments: WatchArguments) -> Result<(), CommandFailure> {
    let style = if arguments.json { EventStyle::Json } else { EventStyle::Lines };
    let show = EventFormatter::new(style, print::stdout_uses_colors());
    let event = |data: &str| print::print_line_to_stdout(&show.format_event(data));
    let note = |text: &str| print::print_to_stderr(&text);
    let signals = TerminationSignals::register_handlers();
    let mut signals = signals.map_err(|error| CommandFailure::Unfinished(error.to_string()))?;
    let ended = tokio::select! {
        ended = follow_channels_until_error(&arguments.server, &arguments.channels, event, note) => ended,
        () = signals.wait_for_signal() => return Ok(()),
    };
    match ended {
        FollowEndReason::OutputClosed => Ok(()),
        FollowEndReason::Refused(reason) => Err(CommandFailure::Usage(reason)),
        FollowEndReason::Unreachable(reason) => {
            Err(CommandFailure::Unfinished(format!("{}: {reason}", arguments.server)))
        }
    }
}
