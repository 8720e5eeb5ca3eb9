//! `lineside check`: validates a file, on the command line or in CI.

mod reference_inputs;
mod check_settings;
mod report_files;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clap::{Args, ValueEnum};
use jiff::civil::Date;
use jiff::{Timestamp, tz::TimeZone};
use lineside_config::parse_size;
use lineside_formats::gtfs::fields::FILES;
use lineside_formats::sniff_format;
use lineside_model::{SiriIdMapping, SourceLocation};
use lineside_quality::check::{
    CheckPlan, CheckReadProgress, CheckReport, GbfsLanguageFiles, GbfsSystemCheckFiles,
    SAMPLES_MAX, STDIN, check_input, describe_folder, ensure_known_codes,
};
use lineside_quality::convert::DISCOVERY;
use lineside_sync::{Clock, RealClock};
use lineside_validate::Severity;
use lineside_validate::gtfs::has_numbering_plan;
use lineside_validate::rules::{ValidatorFault, gbfs, gbfs::LANGUAGES_MAX};
use serde::Serialize;

use self::check_settings::CheckSettings;
use super::gbfs_files::{self, CollectedSystem, OtherLanguage};
use super::{CommandFailure, input, input::AllowedAddresses, print};

/// Maximum size of an input, in bytes.
const INPUT_BYTES_MAX: u64 = 2 << 30;
/// Default memory limit, twice what the largest national schedules need.
const MEMORY: &str = "8GiB";

/// The format of a written report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CheckReportFormat {
    /// Short, for a terminal, the most severe findings first
    Text,
    /// The reference validator's report.json
    Json,
    /// A self-contained page
    Html,
}

/// The lowest severity that makes the exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailSeverity {
    /// Errors only
    Error,
    /// Warnings too
    Warning,
    /// Infos too
    Info,
    /// Never: findings are reported and the exit code is 0
    Never,
}

impl FailSeverity {
    fn is_failed_by_severity(self, worst: Option<Severity>) -> bool {
        let severity_min = match self {
            FailSeverity::Error => Severity::Error,
            FailSeverity::Warning => Severity::Warning,
            FailSeverity::Info => Severity::Info,
            FailSeverity::Never => return false,
        };
        worst.is_some_and(|worst| worst >= severity_min)
    }
}

/// Validate a file: GTFS and GTFS-Realtime by all rules of the reference validators, and GBFS, SIRI and NeTEx
///
/// The format is detected from the content. GTFS schedules and GTFS-Realtime are checked with the rules and codes of
/// the reference validators; some real-time rules, and those for SIRI ids, need the schedule (--static). Of GBFS, name
/// the gbfs.json, a folder or one file.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 no findings, 1 findings (see --fail-on), 2 usage error, 3 the input cannot be read or was not checked completely.

Examples:
  lineside check gtfs.zip
  lineside check https://example.org/gtfs.zip --format json > report.json
  lineside check trips.pb --static gtfs.zip
  lineside check siri.xml --static gtfs.zip --ids netex
  lineside check https://example.org/gbfs.json
  lineside check now/gbfs.json --previous before/gbfs.json
  lineside check gtfs.zip --fail-on warning --ignore unknown_file,unknown_column --output report"
)]
pub(crate) struct CheckArguments {
    /// A file, a folder, an http(s) address, or - for standard input
    #[arg(value_name = "IN")]
    input: String,
    /// The GTFS that GTFS-Realtime or SIRI belongs to: with it, all rules run
    #[arg(long, display_order = 1, value_name = "GTFS")]
    r#static: Option<String>,
    /// The previous message of the same feed; or an earlier state of the GBFS system
    #[arg(long, display_order = 7, value_name = "FILE")]
    previous: Option<String>,
    /// Mapping of SIRI ids to those of --static: same, prefix:TEXT, netex, or file:TABLE.csv
    #[arg(long, display_order = 8, value_name = "IDS")]
    ids: Option<String>,
    /// Request only addresses that are reachable from the whole internet, also for the files that a gbfs.json lists
    #[arg(long, display_order = 13)]
    public_only: bool,
    /// The name of the input in the report; by default its path or address
    #[arg(long, display_order = 12, value_name = "NAME")]
    name: Option<String>,
    /// Findings of each kind to list; all are counted
    #[arg(long, display_order = 11, value_name = "N", default_value_t = SAMPLES_MAX, value_parser = clap::value_parser!(u32).range(1..=i64::from(SAMPLES_MAX)))]
    samples: u32,
    /// Memory limit. Inputs that might exceed it are refused
    #[arg(long, display_order = 14, value_name = "SIZE", default_value = MEMORY, value_parser = parse_memory)]
    memory: u64,
    /// The date of the validation (default: today)
    #[arg(long, display_order = 9, value_name = "YYYY-MM-DD", value_parser = parse_date)]
    date: Option<Date>,
    /// The country of telephone numbers, as two letters; without it they are not validated
    #[arg(long, display_order = 10, value_name = "CC", value_parser = parse_country)]
    country: Option<[u8; 2]>,
    /// Format of the report
    #[arg(long, display_order = 2, value_enum, default_value_t = CheckReportFormat::Text)]
    format: CheckReportFormat,
    /// A folder for report.json, report.html, places.json, unread.json and system_errors.json
    #[arg(long, display_order = 5, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Lowest severity that makes the exit code 1 (default: error)
    #[arg(long, display_order = 3, value_enum, value_name = "SEVERITY")]
    fail_on: Option<FailSeverity>,
    /// Codes to ignore, comma-separated
    #[arg(long, display_order = 4, value_name = "CODE,…", value_delimiter = ',')]
    ignore: Vec<String>,
    /// A TOML file with these settings: fail_on, ignore, country, date. The command line overrides it; the ignored
    /// codes of both apply
    #[arg(long, display_order = 6, value_name = "FILE")]
    config: Option<PathBuf>,
}

fn parse_date(text: &str) -> Result<Date, String> {
    text.parse().map_err(|_| "expected a date such as 2026-06-15".to_owned())
}

fn parse_memory(text: &str) -> Result<u64, String> {
    let size = parse_size(text).filter(|size| *size > 0);
    size.ok_or_else(|| "expected a size above 0 with a unit, such as 8GiB".to_owned())
}

fn parse_country(text: &str) -> Result<[u8; 2], String> {
    let letters = text.to_ascii_uppercase();
    let code = letters.as_bytes().try_into().ok();
    match code.filter(|code: &[u8; 2]| code.iter().all(u8::is_ascii_uppercase)) {
        Some(code) if has_numbering_plan(code) => Ok(code),
        Some(_) => Err(format!(
            "{letters} is not an ISO 3166 country with a telephone numbering plan; the United Kingdom is GB, Norway NO; without a country, telephone numbers are not checked"
        )),
        None => Err("expected a country as two letters of ISO 3166, such as NO".to_owned()),
    }
}

pub(crate) async fn run_check(arguments: CheckArguments) -> Result<(), CommandFailure> {
    let reported = check_input_by_arguments(&arguments).await.and_then(|(checked, fail_on)| {
        let written = arguments
            .output
            .as_ref()
            .map(|folder| report_files::write_report_files(&checked, folder));
        written.unwrap_or(Ok(())).map(|()| (checked, fail_on))
    });
    if let (Err(CommandFailure::Unfinished(reason)), Some(folder)) = (&reported, &arguments.output)
    {
        report_files::replace_report_by_failure(folder, &arguments.input, reason);
    }
    let (checked, fail_on) = reported?;
    let printed = match arguments.format {
        CheckReportFormat::Text => print::print_required_output(
            &checked.render_as_text(print::stdout_uses_colors()).trim_end(),
        ),
        CheckReportFormat::Json => {
            print::print_required_output(&to_pretty_json(&checked.to_report_json())?)
        }
        CheckReportFormat::Html => print::print_required_output(&checked.render_as_html()),
    };
    // The reference validator's JSON report has no field for omissions.
    let omissions = checked
        .describe_ignored_and_unread()
        .filter(|_| arguments.format == CheckReportFormat::Json);
    omissions.iter().flat_map(|lines| lines.lines()).for_each(|line| print::print_to_stderr(&line));
    let ended = result_after_report(
        fail_on.is_failed_by_severity(checked.worst_severity()),
        &checked.errors,
    );
    if let (Err(_), Err(CommandFailure::Unfinished(fault))) = (&printed, &ended) {
        print::print_failure_reason(fault);
    }
    printed.and(ended)
}

/// Checks the input as the arguments ask. Also returns the severity that fails the command.
async fn check_input_by_arguments(
    arguments: &CheckArguments,
) -> Result<(CheckReport, FailSeverity), CommandFailure> {
    let address_scope =
        if arguments.public_only { AllowedAddresses::Public } else { AllowedAddresses::Anywhere };
    let settings =
        arguments.config.as_deref().map(CheckSettings::from_file).transpose()?.unwrap_or_default();
    reference_inputs::check_arguments_usable(arguments)?;
    let ignore = trim_and_drop_empty_codes(&arguments.ignore);
    ensure_known_codes(&ignore)
        .map_err(|reason| CommandFailure::Usage(format!("--ignore: {reason}")))?;
    let fail_on = arguments.fail_on.or(settings.fail_on).unwrap_or(FailSeverity::Error);
    let clock = Arc::new(RealClock::new());
    let now = Timestamp::from_millisecond(clock.wall_time().0).map_err(|error| {
        CommandFailure::Unfinished(format!("the clock of this machine is wrong: {error}"))
    })?;
    let today = now.to_zoned(TimeZone::system()).date();
    let mut ignored = settings.ignore;
    ignored.extend(ignore);
    let mut plan = CheckPlan {
        input: arguments
            .name
            .clone()
            .unwrap_or_else(|| default_report_input_name(&arguments.input)),
        today: arguments.date.or(settings.date).unwrap_or(today),
        at: now.to_string(),
        now: now.as_second(),
        schedule: read_optional_input(arguments.r#static.as_deref(), address_scope, &clock).await?,
        previous: None,
        ids: SiriIdMapping::Same,
        country: arguments.country.or(settings.country),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        ignored,
        output: arguments.output.as_ref().map(|folder| folder.display().to_string()),
        samples: arguments.samples as usize,
        has_places: arguments.output.is_some() || arguments.format == CheckReportFormat::Html,
        memory: Some((arguments.memory, "--memory")),
        files: GbfsSystemCheckFiles::default(),
    };
    let given = read_input_and_gbfs_files(&arguments.input, address_scope);
    let (body, files) =
        print::run_with_progress_line(&*clock, reading_progress_text(&arguments.input), given)
            .await?;
    plan.files = files;
    let download = reference_inputs::read_reference_inputs_into_plan(
        arguments,
        &body,
        &mut plan,
        address_scope,
    );
    let before = arguments.previous.as_deref().unwrap_or_default();
    print::run_with_progress_line(&*clock, reading_progress_text(before), download).await?;
    Ok((check_with_progress(body, plan, clock).await?, fail_on))
}

/// Splits a list of codes. Empty entries, as from an empty variable of a build, are dropped.
fn trim_and_drop_empty_codes(given: &[String]) -> Vec<String> {
    let codes = given.iter().map(|code| code.trim().to_owned());
    codes.filter(|code| !code.is_empty()).collect()
}

/// Returns the default name of an input in the report.
fn default_report_input_name(input: &str) -> String {
    if input == "-" { STDIN.to_owned() } else { input::redacted_name(input).into_owned() }
}

/// Returns the result of the command after all output. An incomplete check is never a success.
fn result_after_report(is_failed: bool, errors: &[ValidatorFault]) -> Result<(), CommandFailure> {
    let rules: Vec<&str> = errors.iter().map(|error| error.rule).collect();
    let fault = (!rules.is_empty())
        .then(|| format!("error in Lineside: these rules did not finish: {}", rules.join(", ")));
    if is_failed {
        fault.iter().for_each(|fault| print::print_failure_reason(fault));
        return Err(CommandFailure::Findings);
    }
    fault.map_or(Ok(()), |fault| Err(CommandFailure::Unfinished(fault)))
}

/// Reads the input, and the other files of its system if it is GBFS.
async fn read_input_and_gbfs_files(
    input: &str,
    address_scope: AllowedAddresses,
) -> Result<(Bytes, GbfsSystemCheckFiles), CommandFailure> {
    let location = SourceLocation::parse(input).ok().filter(|_| input != "-");
    if let Some(folder) = location.as_ref().and_then(SourceLocation::existing_folder) {
        return read_schedule_or_gbfs_folder(input, folder.to_owned(), address_scope).await;
    }
    let body = input::read_input(input, INPUT_BYTES_MAX, address_scope).await?;
    let Some(mut system) = gbfs_files::read_listed_gbfs_files(input, &body, address_scope).await?
    else {
        let name =
            gbfs_files::file_name_to_first_dot(input).filter(|name| gbfs::is_gbfs_file(name));
        let read = name.map(|name| (name, body.clone())).into_iter().collect();
        return Ok((body, GbfsSystemCheckFiles { read, ..GbfsSystemCheckFiles::default() }));
    };
    system.files.insert(0, (DISCOVERY.to_owned(), body.clone()));
    Ok((body, to_check_system_files(system)))
}

/// Reads a folder: as a schedule if it holds one, as a zip would be, else as a GBFS system.
async fn read_schedule_or_gbfs_folder(
    input: &str,
    folder: PathBuf,
    address_scope: AllowedAddresses,
) -> Result<(Bytes, GbfsSystemCheckFiles), CommandFailure> {
    let is_schedule =
        |body: &Bytes| sniff_format(body).is_some_and(lineside_formats::Format::is_schedule);
    if FILES.iter().any(|file| folder.join(file.name).is_file()) {
        let body = input::read_input(input, INPUT_BYTES_MAX, address_scope).await?;
        if is_schedule(&body) {
            return Ok((body, GbfsSystemCheckFiles::default()));
        }
    }
    let system = gbfs_files::read_gbfs_folder(folder.clone()).await?;
    if !system.files.is_empty() {
        return Ok((Bytes::new(), to_check_system_files(system)));
    }
    let body = input::read_input(input, INPUT_BYTES_MAX, address_scope).await?;
    if is_schedule(&body) {
        return Ok((body, GbfsSystemCheckFiles::default()));
    }
    let message = describe_folder(&gbfs_files::list_folder_names(&folder));
    Err(CommandFailure::Unfinished(format!("{input}: {message}")))
}

/// Converts the collected files of a system for the check.
fn to_check_system_files(system: CollectedSystem) -> GbfsSystemCheckFiles {
    let unread = system.unread.into_iter();
    let unread = unread.map(|it| (it.name, it.error.unwrap_or_else(|| it.reason.to_owned())));
    let unread: Vec<(String, String)> = unread.collect();
    let further = |OtherLanguage { language, files, shared }: OtherLanguage| {
        let its = unread.iter().filter_map(|(name, _)| name.strip_prefix(&language));
        let its = its.filter_map(|name| name.strip_prefix('/')).map(str::to_owned).collect();
        GbfsLanguageFiles { language, read: files, shared, unread: its }
    };
    let others = system.others.into_iter().take(LANGUAGES_MAX - 1).map(further).collect();
    GbfsSystemCheckFiles {
        read: system.files,
        unread,
        others,
        is_whole: true,
        ..GbfsSystemCheckFiles::default()
    }
}

async fn read_optional_input(
    input: Option<&str>,
    address_scope: AllowedAddresses,
    clock: &RealClock,
) -> Result<Option<Bytes>, CommandFailure> {
    let Some(input) = input else { return Ok(None) };
    let reading = input::read_input(input, INPUT_BYTES_MAX, address_scope);
    print::run_with_progress_line(clock, reading_progress_text(input), reading).await.map(Some)
}

/// Returns the progress text for reading an input. It omits the name, because only a single line can be redrawn.
fn reading_progress_text(input: &str) -> impl Fn(Duration) -> String {
    let what = match SourceLocation::parse(input) {
        _ if input == "-" => "reading standard input",
        Ok(SourceLocation::Http(_)) => "fetching",
        _ => "reading",
    };
    move |since| format!("{what} … {} s", since.as_secs())
}

/// Checks the input, with a progress bar if standard error is a terminal.
async fn check_with_progress(
    body: Bytes,
    plan: CheckPlan,
    clock: Arc<RealClock>,
) -> Result<CheckReport, CommandFailure> {
    let name = plan.input.clone();
    let progress = Arc::new(CheckReadProgress::default());
    let (seen, timer) = (Arc::clone(&progress), Arc::clone(&clock));
    let started_at = clock.monotonic();
    let validation_task = tokio::task::spawn_blocking(move || {
        let elapsed = || (timer.monotonic() - started_at).as_secs_f64();
        check_input(&body, plan, &seen, &elapsed)
    });
    match print::run_with_progress_line(
        &*clock,
        |_| print::progress_bar(progress.fraction_read()),
        validation_task,
    )
    .await
    {
        Ok(Ok(checked)) => Ok(checked),
        Ok(Err(reason)) => Err(CommandFailure::Unfinished(format!("{name}: {reason}"))),
        Err(error) => {
            Err(CommandFailure::Unfinished(format!("{name}: the check crashed: {error}")))
        }
    }
}

fn to_pretty_json(value: &impl Serialize) -> Result<String, CommandFailure> {
    serde_json::to_string_pretty(value)
        .map_err(|error| CommandFailure::Unfinished(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_country_must_exist() {
        assert_eq!(parse_country("gb"), Ok(*b"GB"));
        assert!(parse_country("UK").unwrap_err().contains("the United Kingdom is GB"));
        assert!(parse_country("Norway").unwrap_err().contains("two letters"));
    }

    #[test]
    fn the_memory_limit_must_be_above_zero() {
        assert_eq!(parse_memory("1GiB"), Ok(1 << 30));
        assert!(
            parse_memory("0").is_err()
                && parse_memory("0GiB").is_err()
                && parse_memory("much").is_err()
        );
    }

    #[test]
    fn an_empty_ignore_list_ignores_nothing() {
        let given = |list: &str| {
            trim_and_drop_empty_codes(&list.split(',').map(str::to_owned).collect::<Vec<_>>())
        };
        assert!(given("").is_empty() && given(" , ").is_empty());
        assert_eq!(given("unknown_file, unknown_column,"), ["unknown_file", "unknown_column"]);
    }

    #[test]
    fn an_unfinished_check_is_a_failure() {
        let broken = [ValidatorFault { rule: "netex", message: "it failed".to_owned() }];
        assert!(result_after_report(false, &[]).is_ok());
        assert!(matches!(result_after_report(true, &[]), Err(CommandFailure::Findings)));
        assert!(matches!(result_after_report(true, &broken), Err(CommandFailure::Findings)));
        let unfinished = result_after_report(false, &broken);
        assert!(
            matches!(&unfinished, Err(CommandFailure::Unfinished(why)) if why.contains("netex")),
            "{unfinished:?}"
        );
    }
}
