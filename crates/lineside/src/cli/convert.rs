//! `lineside convert`: a file of one format into another.

mod given;
mod output;

use std::path::PathBuf;

use clap::Args;

use self::output::Output;
use super::{Failure, print};
use crate::convert::{Converted, Input, Refusal, Target, convert};

/// What is converted into what. What help says of it stands where the commands are listed.
#[derive(Debug, Args)]
#[command(after_help = "What becomes of what:
  gtfs           geojson
  netex          gtfs, geojson
  gtfs-rt, siri  gtfs-rt, gtfs-rt-json, siri-xml, siri-json, geojson
  gbfs           gbfs2, gbfs3

Examples:
  lineside convert et.xml --to gtfs-rt --static gtfs.zip --output trips.pb --report losses.json
  lineside convert https://example.org/trips.pb --to siri-xml > trips.xml
  lineside convert bikes/gbfs.json --to gbfs3 --output bikes-3")]
pub(crate) struct Arguments {
    /// A file, a folder, an http(s) address, or - for standard input
    #[arg(value_name = "IN")]
    input: String,
    /// What to write
    #[arg(long, value_name = "FORMAT")]
    to: Target,
    /// The schedule that real time belongs to, in GTFS or NeTEx: its trips and stops complete what is written
    #[arg(long, value_name = "SCHEDULE")]
    r#static: Option<String>,
    /// The file to write, or the folder for gbfs2 and gbfs3; standard output without it
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Where to write, as JSON, what the conversion lost and what was wrong
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { input, to, r#static, output, report } = arguments;
    let is_folder = matches!(to, Target::Gbfs2 | Target::Gbfs3);
    if is_folder && output.is_none() {
        let reason = format!("{to} is a folder of files: say which, with --output FOLDER");
        return Err(Failure::Usage(reason));
    }
    let file = given::open(&input).await?;
    let schedule = match &r#static {
        Some(schedule) => Some(given::open(schedule).await?),
        None => None,
    };
    let refused = |refusal| match refusal {
        Refusal::NoWay(reason) => Failure::Usage(format!("{input}: {reason}")),
        Refusal::Unreadable(reason) => Failure::Unfinished(format!("{input}: {reason}")),
    };
    let given = blocking(move || Input::of(file)).await?.map_err(refused)?;
    let given = match given {
        Input::Body(body) => match given::system_of(&input, &body).await? {
            Some(system) => system,
            None => Input::Body(body),
        },
        other => other,
    };
    let out = if is_folder { Output::scratch()? } else { Output::open(output.as_deref())? };
    let (out, converted) = blocking(move || {
        let converted = convert(given, to, schedule, out.file());
        (out, converted)
    })
    .await?;
    let converted = converted.map_err(refused)?;
    match output.filter(|_| is_folder) {
        Some(folder) => output::write_folder(&folder, &converted.files)?,
        None => blocking(move || out.finish()).await??,
    }
    if let Some(file) = &report {
        let text = serde_json::to_string_pretty(&converted.report(to));
        let text = text.map_err(|error| Failure::Unfinished(error.to_string()))?;
        output::write_file(file, text.as_bytes())?;
    }
    tell(&converted, to);
    Ok(())
}

/// Runs what takes long where it may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::Unfinished(format!("it broke off: {error}")))
}

/// Says on standard error what came of it.
fn tell(converted: &Converted, to: Target) {
    let counts: Vec<String> = converted
        .counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{count} {}", kind.replace('_', " ")))
        .collect();
    let counts = if counts.is_empty() { "nothing in it".to_owned() } else { counts.join(", ") };
    print::note(&format!("{} to {to}: {counts}", converted.from.as_str()));
    if let Some(counts) = &converted.matched {
        let (matched, all) = (counts.matched, counts.total());
        print::note(&format!("trips: {matched} of {all} are in the schedule"));
        for (reason, found) in counts.reasons() {
            let sample = found.samples().next().unwrap_or_default();
            let more = if found.count > 1 { ", …" } else { "" };
            print::note(&format!("{}: {} ({sample}{more})", reason.as_str(), found.count));
        }
    }
    for loss in converted.losses.iter() {
        let examples = match loss.examples {
            [] => String::new(),
            some => format!(" ({}{})", some[0], if loss.count > 1 { ", …" } else { "" }),
        };
        print::note(&format!("lost: {} {}: {}{examples}", loss.count, loss.kind, loss.why));
    }
    for (file, code, count) in converted.problems.counts() {
        print::note(&format!("problem: {count} {code} in {file}"));
    }
}
