//! `formats`: the cost of reading SIRI and NeTEx, compared with the least work of any XML reader, and of the delays
//! page under a crowd.

mod delays;
mod events;
mod made;
mod netex;
mod siri;

use crate::{
    child::Contender,
    report::Report,
    rounds::{Effort, timed},
};

/// All contenders of this suite that run in a separate process.
pub(crate) static CONTENDERS: &[Contender] = &[netex::EVENTS, netex::OURS];

/// A function that measures one part.
type Measure = fn(Effort, &mut Report) -> anyhow::Result<()>;

static MODULES: [Measure; NAMES.len()] = [siri::run, netex::run, delays::run];

/// The modules in the order in which they are measured.
pub(crate) const NAMES: &[&str] = &["siri", "netex", "delays"];

/// Measures all modules, or `only` one: its rows are written to a separate file.
pub(crate) fn run(effort: Effort, only: Option<&'static str>) -> anyhow::Result<()> {
    let suite = only.map_or("formats".to_owned(), |only| format!("formats-{only}"));
    let mut report = Report::new(suite, effort);
    for (&name, module) in NAMES.iter().zip(MODULES) {
        if only.is_none_or(|only| only == name) {
            println!("\n── {name} ──");
            let (elapsed, measured) = timed(|| module(effort, &mut report));
            measured?;
            println!("── {name} took {:.1} s", elapsed.as_secs_f64());
        }
    }
    report.write()
}
