//! `formats`: what it costs to read SIRI and NeTEx, beside the least that any reader of XML must do, and the page that
//! answers from what was read, under a crowd.

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

/// Everything of this suite that runs in a process of its own.
pub(crate) static CONTENDERS: &[Contender] = &[netex::EVENTS, netex::OURS];

/// What measures one part.
type Measure = fn(Effort, &mut Report) -> anyhow::Result<()>;

static MODULES: [Measure; NAMES.len()] = [siri::run, netex::run, delays::run];

/// The modules in the order in which they are measured.
pub(crate) const NAMES: &[&str] = &["siri", "netex", "delays"];

/// Measures all modules, or `only` one: its rows then go to a file of their own.
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
