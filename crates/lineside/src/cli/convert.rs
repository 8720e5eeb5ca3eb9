//! `lineside convert`: converts a file of one format into another.

mod conversion_input;
mod output;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use lineside_config::read_id_table;
use lineside_model::SiriIdMapping;
use lineside_quality::convert::{
    ConversionError, ConversionInput, ConversionOptions, ConversionOutput, ConversionTargetFormat,
    convert_input,
};

use self::output::ConversionOutputFile;
use super::{CommandFailure, input, print};

/// The arguments of `convert`. The help text is on the command's variant in the parent module.
#[derive(Debug, Args)]
#[command(after_help = "Input and output formats:
  gtfs           geojson
  netex          gtfs, geojson
  gtfs-rt, siri  gtfs-rt, gtfs-rt-json, siri-xml, siri-json, geojson
  gbfs           gbfs2, gbfs3, geojson

Examples:
  lineside convert et.xml --to gtfs-rt --static gtfs.zip --output trips.pb --report losses.json
  lineside convert https://example.org/trips.pb --to siri-xml > trips.xml
  lineside convert vm.xml --to geojson --ids netex > vehicles.geojson
  lineside convert bikes/gbfs.json --to gbfs3 --output bikes-3")]
pub(crate) struct ConvertArguments {
    /// A file, a folder, an http(s) address, or - for standard input
    #[arg(value_name = "IN")]
    input: String,
    /// The output format
    #[arg(long, value_name = "FORMAT")]
    to: ConversionTargetFormat,
    /// The schedule of real-time input, in GTFS or NeTEx: its trips and stops complete the output
    #[arg(long, value_name = "SCHEDULE")]
    r#static: Option<String>,
    /// Mapping of SIRI ids to those of the schedule: same, prefix:TEXT, netex, or file:TABLE.csv
    #[arg(long, value_name = "IDS")]
    ids: Option<String>,
    /// The file to write, or the folder for gbfs2 and gbfs3; standard output without it
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A JSON file for the losses and problems of the conversion
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

pub(crate) async fn run_convert(arguments: ConvertArguments) -> Result<(), CommandFailure> {
    let ConvertArguments { input, to, r#static, ids, output, report } = arguments;
    let is_folder = matches!(to, ConversionTargetFormat::Gbfs2 | ConversionTargetFormat::Gbfs3);
    if is_folder && output.is_none() {
        let reason = format!("{to} is a folder of files: name it with --output FOLDER");
        return Err(CommandFailure::Usage(reason));
    }
    let ids = ids.as_deref().map(parse_siri_id_mapping).transpose()?;
    let file = conversion_input::open_conversion_input(&input).await?;
    let schedule = match &r#static {
        Some(schedule) => Some(conversion_input::open_conversion_input(schedule).await?),
        None => None,
    };
    let name = input::redacted_name(&input);
    let refused = |refusal| match refusal {
        ConversionError::Unsupported(reason) => CommandFailure::Usage(format!("{name}: {reason}")),
        ConversionError::Unreadable(reason) => {
            CommandFailure::Unfinished(format!("{name}: {reason}"))
        }
        ConversionError::Schedule(reason) => {
            let given = input::redacted_name(r#static.as_deref().unwrap_or_default());
            let wanted = "expected a schedule in GTFS or NeTEx";
            CommandFailure::Unfinished(format!("--static {given}: {wanted}: {reason}"))
        }
    };
    let given =
        run_blocking(move || ConversionInput::open_file_input(file)).await?.map_err(refused)?;
    let given = match given {
        ConversionInput::Body(body) => {
            match conversion_input::read_gbfs_system_input(&input, &body).await? {
                Some(system) => system,
                None => ConversionInput::Body(body),
            }
        }
        other => other,
    };
    let out = if is_folder {
        ConversionOutputFile::create_discarded()?
    } else {
        ConversionOutputFile::create_for_destination(output.as_deref())?
    };
    let (out, converted) = run_blocking(move || {
        let converted = convert_input(given, to, ConversionOptions { schedule, ids }, out.file());
        (out, converted)
    })
    .await?;
    let converted = converted.map_err(refused)?;
    match output.filter(|_| is_folder) {
        Some(folder) => output::write_folder_atomically(&folder, &converted.files)?,
        None => run_blocking(move || out.publish_to_destination()).await??,
    }
    if let Some(file) = &report {
        let text = serde_json::to_string_pretty(&converted.report_json(to));
        let text = text.map_err(|error| CommandFailure::Unfinished(error.to_string()))?;
        output::write_file_atomically(file, text.as_bytes())?;
    }
    print_conversion_summary(&converted, to);
    Ok(())
}

/// Parses a mapping of SIRI ids in the syntax of the configuration; `file:` precedes the name of a table.
pub(super) fn parse_siri_id_mapping(text: &str) -> Result<SiriIdMapping, CommandFailure> {
    let Some(file) = text.strip_prefix("file:") else {
        let expected = "expected same, prefix:TEXT, netex or file:TABLE.csv";
        let usage = || CommandFailure::Usage(format!("--ids {text}: {expected}"));
        return SiriIdMapping::parse(text).ok_or_else(usage);
    };
    let table = read_id_table(Path::new(file));
    let table = table.map_err(|reason| CommandFailure::Unfinished(format!("{file}: {reason}")))?;
    Ok(SiriIdMapping::Table(file.into(), Arc::new(table)))
}

/// Runs blocking work on a thread for it.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CommandFailure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| CommandFailure::Unfinished(format!("the conversion crashed: {error}")))
}

/// Prints the counts, losses and problems of a conversion on standard error.
fn print_conversion_summary(converted: &ConversionOutput, to: ConversionTargetFormat) {
    let counts: Vec<String> = converted
        .counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{count} {}", kind.replace('_', " ")))
        .collect();
    let counts = if counts.is_empty() { "no records".to_owned() } else { counts.join(", ") };
    print::print_to_stderr(&format!("{} to {to}: {counts}", converted.from.as_str()));
    if let Some(counts) = &converted.matched {
        let (matched, all) = (counts.matched, counts.total_count());
        print::print_to_stderr(&format!("trips: {matched} of {all} are in the schedule"));
        for (reason, found) in counts.reasons() {
            let sample = found.sample_ids().next().unwrap_or_default();
            let more = if found.count > 1 { ", …" } else { "" };
            print::print_to_stderr(&format!(
                "{}: {} ({sample}{more})",
                reason.as_str(),
                found.count
            ));
        }
    }
    for loss in converted.conversion_report.iter() {
        let examples = match loss.examples {
            [] => String::new(),
            some => format!(" ({}{})", some[0], if loss.count > 1 { ", …" } else { "" }),
        };
        print::print_to_stderr(&format!(
            "lost: {} {}: {}{examples}",
            loss.count, loss.kind, loss.why
        ));
    }
    for (file, code, count) in converted.problems.problem_counts() {
        print::print_to_stderr(&format!("problem: {count} {code} in {file}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_mappings_have_the_syntax_of_the_configuration() {
        for (text, ids) in [
            ("same", SiriIdMapping::Same),
            ("netex", SiriIdMapping::Netex),
            ("prefix:NO:", SiriIdMapping::Prefix("NO:".into())),
        ] {
            assert_eq!(parse_siri_id_mapping(text).unwrap(), ids, "{text}");
        }
        let CommandFailure::Usage(reason) = parse_siri_id_mapping("other").unwrap_err() else {
            panic!("an unknown mapping is a usage error")
        };
        assert!(reason.contains("expected same, prefix:TEXT, netex or file:TABLE.csv"), "{reason}");
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("ids.csv");
        std::fs::write(&table, "kind,siri,gtfs\nstop,A,1\n").unwrap();
        let ids = parse_siri_id_mapping(&format!("file:{}", table.display())).unwrap();
        assert_eq!(ids.map_to_schedule_id(lineside_model::IdKind::Stop, "A"), "1");
        std::fs::write(&table, "stop,A,1\n").unwrap();
        let CommandFailure::Unfinished(reason) =
            parse_siri_id_mapping(&format!("file:{}", table.display())).unwrap_err()
        else {
            panic!("an invalid table is a failure")
        };
        assert!(reason.ends_with("line 1: must be kind,siri,gtfs"), "{reason}");
    }
}
