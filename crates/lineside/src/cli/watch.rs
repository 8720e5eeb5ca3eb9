//! `lineside watch`: follow channels in the terminal.

use clap::Args;
use url::Url;

use super::{Failure, print};
use crate::shutdown::Signals;
use crate::watch::{Ended, Show, Style, follow};

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
pub(crate) struct Arguments {
    /// The server, such as http://127.0.0.1:8080
    #[arg(value_name = "SERVER-URL", value_parser = super::web_url)]
    server: Url,
    /// The channels to follow
    #[arg(value_name = "CHANNEL", required = true)]
    channels: Vec<String>,
    /// Print each event's data unchanged, one JSON object per line
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let style = if arguments.json { Style::Json } else { Style::Lines };
    let show = Show::new(style, print::in_colors());
    let event = |data: &str| print::say(&show.lines(data));
    let note = |text: &str| print::note(&text);
    let signals = Signals::listen();
    let mut signals = signals.map_err(|error| Failure::Unfinished(error.to_string()))?;
    let ended = tokio::select! {
        ended = follow(&arguments.server, &arguments.channels, event, note) => ended,
        () = signals.asked_to_stop() => return Ok(()),
    };
    match ended {
        Ended::NobodyReads => Ok(()),
        Ended::Refused(reason) => Err(Failure::Usage(reason)),
        Ended::Unreachable(reason) => {
            Err(Failure::Unfinished(format!("{}: {reason}", arguments.server)))
        }
    }
}
