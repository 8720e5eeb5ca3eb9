//! `proxy`: the cost of serving the last good bytes, compared with nginx with the same files in a warm cache.
//!
//! Servers are processes on one core, measured alternately; clients and the producer are on the other. nginx is
//! Debian's (`nginx-light`); without it on this machine, its results are absent.

mod actor;
mod calm;
mod crowd;
mod many;
mod peers;
mod producer;
mod profile;
mod throughput;

use self::peers::Peers;
use crate::{
    report::Report,
    rounds::{Effort, timed},
    servers::{Place, Server},
};

/// The first argument of this program as the producer.
const PRODUCE: &str = "produce";

/// A function that measures one part.
type Measure = fn(&mut Bench) -> anyhow::Result<()>;

static MODULES: [Measure; NAMES.len()] =
    [throughput::run, calm::run, crowd::run, many::run, actor::run, profile::run];

/// The modules in the order in which they are measured.
pub(crate) const NAMES: &[&str] = &["throughput", "calm", "crowd", "many", "actor", "profile"];

/// The context of the modules' measurements.
struct Bench {
    effort: Effort,
    report: Report,
    place: Place,
    peers: Peers,
    producer: Server,
}

/// Measures all modules, or `only` one: its rows are written to a separate file.
pub(crate) fn run(effort: Effort, only: Option<&'static str>) -> anyhow::Result<()> {
    let suite = only.map_or("proxy".to_owned(), |only| format!("proxy-{only}"));
    let report = Report::new(suite, effort);
    let producer = producer::start()?;
    let mut bench = Bench { effort, report, place: Place::find()?, peers: Peers::find(), producer };
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

/// Runs this program as the producer; `None` if the arguments do not name it.
pub(crate) fn child(arguments: &[&str]) -> Option<anyhow::Result<()>> {
    match arguments {
        [PRODUCE] => Some(producer::serve()),
        _ => None,
    }
}
