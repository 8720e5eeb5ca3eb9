//! `lineside demo`: a simulated city and a server that polls it.

use std::path::PathBuf;

use clap::Args;
use lineside_sim::{FaultPlan, limits};

use super::{CommandFailure, greeting, logging, print};
use crate::demo::{DemoOptions, DemoSiriMode};
use crate::signals::{TerminationSignals, run_until_signal};
use crate::start_demo::start_demo;

/// The range of `--speed`. Below 0.1 nothing seems to move; above 60 polls come faster than they are answered.
const SPEED: std::ops::RangeInclusive<f64> = 0.1..=60.0;

/// Run a simulated city with its feeds, and a server that polls them
///
/// The city starts at about 07:30 on a working day. Its schedule, vehicle positions, trip updates, alerts and shared
/// bikes are real feeds on a separate port: city, city-vehicles, city-trips, city-alerts and city-bikes; faults can be
/// switched at /demo/faults.
#[derive(Debug, Args)]
#[command(after_help = "Example: lineside demo --speed 10 --fault 'city-vehicles:hang@30s+2m'")]
pub(crate) struct DemoArguments {
    /// The port to serve on, on this machine; 0 takes any free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Seed of the city: equal seeds give equal cities
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Seconds of the city per second, from 0.1 to 60
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = parse_speed, allow_negative_numbers = true)]
    speed: f64,
    /// Approximate number of vehicles during the rush hour
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = parse_vehicles, allow_negative_numbers = true)]
    vehicles: usize,
    /// Serve the vehicles as SIRI too, as a separate network (twin, twin-et, twin-vm, twin-sx), by requests or
    /// subscriptions
    #[arg(long, value_name = "HOW", num_args = 0..=1, default_missing_value = "subscribe", value_parser = parse_siri_mode)]
    siri: Option<DemoSiriMode>,
    /// A scheduled fault: <feed>:<hang|500|html|truncate|empty|skew|ids>@<start>+<length>; repeatable
    #[arg(long = "fault", value_name = "FAULT", value_parser = parse_fault)]
    faults: Vec<String>,
    /// The data folder; a temporary folder if not given
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

fn parse_speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed| SPEED.contains(speed));
    speed.ok_or_else(|| format!("expected a number from {} to {}", SPEED.start(), SPEED.end()))
}

fn parse_vehicles(text: &str) -> Result<usize, String> {
    let vehicles =
        text.parse().ok().filter(|vehicles| (1..=*limits::VEHICLES.end()).contains(vehicles));
    vehicles.ok_or_else(|| format!("expected a number from 1 to {}", limits::VEHICLES.end()))
}

fn parse_siri_mode(text: &str) -> Result<DemoSiriMode, String> {
    match text {
        "request" => Ok(DemoSiriMode::Request),
        "subscribe" => Ok(DemoSiriMode::Subscribe),
        _ => Err("expected request or subscribe".to_owned()),
    }
}

fn parse_fault(text: &str) -> Result<String, String> {
    FaultPlan::parse_fault_specs([text]).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

pub(crate) async fn run_demo(arguments: DemoArguments) -> Result<(), CommandFailure> {
    logging::start_logging();
    let options = DemoOptions {
        port: arguments.port,
        seed: arguments.seed,
        speed: arguments.speed,
        vehicles: arguments.vehicles,
        siri: arguments.siri,
        faults: arguments.faults,
        data_dir: arguments.data_dir,
    };
    let running = start_demo(options).await.map_err(|error| CommandFailure::from_anyhow(&error))?;
    // A reader of the greeting may send a signal, so the handlers come first.
    let signals = TerminationSignals::register_handlers()
        .map_err(|error| CommandFailure::Unfinished(error.to_string()))?;
    print::print_line_to_stdout(&greeting::demo_greeting(&running));
    run_until_signal(running, signals).await;
    Ok(())
}
