//! `engine`: the cost of publishing to all sessions, compared with a bare loop that only writes.
//!
//! Servers are processes on one core, clients are `lineside load` on the other. Both servers are measured alternately
//! in each round.

mod bare;
mod fanout;
mod feeds;
mod load;
mod million;
mod pages;
mod servers;
mod state;

use std::time::Duration;

use anyhow::Context as _;

use self::servers::Place;
use crate::{
    report::Report,
    rounds::{Effort, Samples, timed},
};

/// First arguments of this program's other processes.
pub(crate) const BARE: &str = "bare";
pub(crate) const MILLION: &str = "million";
pub(crate) const PAGES: &str = "pages";

/// A function that measures one part.
type Measure = fn(&mut Bench) -> anyhow::Result<()>;

static MODULES: [Measure; NAMES.len()] = [fanout::run, state::run, pages::run, million::run];

/// The modules in the order in which they are measured.
pub(crate) const NAMES: &[&str] = &["fanout", "state", "pages", "million"];

/// Measures all modules, or `only` one: its rows are written to a separate file.
pub(crate) fn run(effort: Effort, only: Option<&'static str>) -> anyhow::Result<()> {
    let suite = only.map_or("engine".to_owned(), |only| format!("engine-{only}"));
    let report = Report::new(suite, effort);
    let mut bench = Bench { effort, report, place: Place::find()? };
    for (&name, module) in NAMES.iter().zip(MODULES) {
        if only.is_none_or(|only| only == name) {
            println!("\n── {name} ──");
            let (elapsed, measured) = timed(|| module(&mut bench));
            measured?;
            println!("── {name} took {:.1} s", elapsed.as_secs_f64());
        }
    }
    bench.report.write()
}

/// Runs this program as one of the suite's processes; `None` if the arguments name none of them.
pub(crate) fn child(arguments: &[&str]) -> Option<anyhow::Result<()>> {
    match arguments {
        [BARE] => Some(bare::serve(None)),
        [BARE, wait] => Some(
            wait.parse()
                .context("milliseconds")
                .and_then(|wait| bare::serve(Some(Duration::from_millis(wait)))),
        ),
        [MILLION, sessions] => {
            Some(sessions.parse().context("sessions").and_then(million::measure))
        }
        [PAGES, port, users, seconds] => Some(pages::visit(port, users, seconds)),
        _ => None,
    }
}

/// The context of the modules' measurements.
struct Bench {
    effort: Effort,
    report: Report,
    place: Place,
}

const KIB: f64 = 1_024.0;
const MB: f64 = 1e6;
