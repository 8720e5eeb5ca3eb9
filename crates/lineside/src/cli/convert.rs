//! `lineside convert`: a file of one format into another.

mod given;
mod output;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use lineside_ingest::SiriIds;

use self::output::Output;
use super::{Failure, input, print};
use crate::config::read_id_table;
use crate::convert::{By, Converted, Input, Refusal, Target, convert};

/// What is converted into what. What help says of it stands where the commands are listed.
#[derive(Debug, Args)]
#[command(after_help = "What becomes of what:
  gtfs           geojson
  netex          gtfs, geojson
  gtfs-rt, siri  gtfs-rt, gtfs-rt-json, siri-xml, siri-json, geojson
  gbfs           gbfs2, gbfs3, geojson

Examples:
  lineside convert et.xml --to gtfs-rt --static gtfs.zip --output trips.pb --report losses.json
  lineside convert https://example.org/trips.pb --to siri-xml > trips.xml
  lineside convert vm.xml --to geojson --ids netex > vehicles.geojson
  lineside convert bikes/gbfs.json --to gbfs3 --output bikes-3")]
pub(crate) struct Arguments {
    /// A file, a folder, an http(s) address, or - for standard input
    #[arg(value_name = "IN")]
    input: String,
    /// The output format
    #[arg(long, value_name = "FORMAT")]
    to: Target,
    /// The schedule of real-time input, in GTFS or NeTEx: its trips and stops complete the output
    #[arg(long, value_name = "SCHEDULE")]
    r#static: Option<String>,
    /// How SIRI ids are mapped to those of the schedule: same, prefix:TEXT, netex, or file:TABLE.csv
    #[arg(long, value_name = "IDS")]
    ids: Option<String>,
    /// The file to write, or the folder for gbfs2 and gbfs3; standard output without it
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A JSON file for the losses and problems of the conversion
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { input, to, r#static, ids, output, report } = arguments;
    let is_folder = matches!(to, Target::Gbfs2 | Target::Gbfs3);
    if is_folder && output.is_none() {
        let reason = format!("{to} is a folder of files: say which, with --output FOLDER");
        return Err(Failure::Usage(reason));
    }
    let ids = ids.as_deref().map(ids_of).transpose()?;
    let file = given::open(&input).await?;
    let schedule = match &r#static {
        Some(schedule) => Some(given::open(schedule).await?),
        None => None,
    };
    let name = input::shown(&input);
    let refused = |refusal| match refusal {
        Refusal::NoWay(reason) => Failure::Usage(format!("{name}: {reason}")),
        Refusal::Unreadable(reason) => Failure::Unfinished(format!("{name}: {reason}")),
        Refusal::Schedule(reason) => {
            let given = input::shown(r#static.as_deref().unwrap_or_default());
            let wanted = "a schedule in GTFS or NeTEx is wanted";
            Failure::Unfinished(format!("--static {given}: {wanted}: {reason}"))
        }
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
        let converted = convert(given, to, By { schedule, ids }, out.file());
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

/// How ids become the schedule's, in the words of a configuration; a table is named behind `file:`.
pub(super) fn ids_of(text: &str) -> Result<SiriIds, Failure> {
    let Some(file) = text.strip_prefix("file:") else {
        let expected = "expected same, prefix:TEXT, netex or file:TABLE.csv";
        let usage = || Failure::Usage(format!("--ids {text}: {expected}"));
        return SiriIds::parse(text).ok_or_else(usage);
    };
    let table = read_id_table(Path::new(file));
    let table = table.map_err(|reason| Failure::Unfinished(format!("{file}: {reason}")))?;
    Ok(SiriIds::Table(file.into(), Arc::new(table)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_named_as_in_a_configuration() {
        for (text, ids) in [
            ("same", SiriIds::Same),
            ("netex", SiriIds::Netex),
            ("prefix:NO:", SiriIds::Prefix("NO:".into())),
        ] {
            assert_eq!(ids_of(text).unwrap(), ids, "{text}");
        }
        let Failure::Usage(reason) = ids_of("other").unwrap_err() else { panic!("it is a word") };
        assert!(reason.contains("expected same, prefix:TEXT, netex or file:TABLE.csv"), "{reason}");
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("ids.csv");
        std::fs::write(&table, "kind,siri,gtfs\nstop,A,1\n").unwrap();
        let ids = ids_of(&format!("file:{}", table.display())).unwrap();
        assert_eq!(ids.map(lineside_ingest::IdKind::Stop, "A"), "1");
        std::fs::write(&table, "stop,A,1\n").unwrap();
        let Failure::Unfinished(reason) = ids_of(&format!("file:{}", table.display())).unwrap_err()
        else {
            panic!("it cannot be read")
        };
        assert!(reason.ends_with("line 1: has to be: kind,siri,gtfs"), "{reason}");
    }
}
