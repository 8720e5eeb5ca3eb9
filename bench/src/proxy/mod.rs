//! `proxy`: what it costs to give out the last good bytes, beside nginx with the same files in a warm cache.
//!
//! Servers are processes on one core, and take turns; clients and the producer are on the other. nginx is Debian's
//! (`nginx-light`); where it is not on this machine its figures are absent.

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

/// What measures one part.
type Measure = fn(&mut Bench) -> anyhow::Result<()>;

static MODULES: [Measure; NAMES.len()] =
    [throughput::run, calm::run, crowd::run, many::run, actor::run, profile::run];

/// The modules in the order in which they are measured.
pub(crate) const NAMES: &[&str] = &["throughput", "calm", "crowd", "many", "actor", "profile"];

/// What the modules measure with.
struct Bench {
    effort: Effort,
    report: Report,
    place: Place,
    peers: Peers,
    producer: Server,
}

/// Measures all modules, or `only` one: its rows then go to a file of their own.
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

/// This program as the producer; `None` if the arguments do not name it.
pub(crate) fn child(arguments: &[&str]) -> Option<anyhow::Result<()>> {
    match arguments {
        [PRODUCE] => Some(producer::serve()),
        _ => None,
    }
}
