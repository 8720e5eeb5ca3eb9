//! `lineside convert`: a file of one format into another.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use clap::Args;
use lineside_formats::{Format, Losses, gbfs, sniff};
use lineside_ingest::{FeedConfig, FeedId, Location, fetch_once};
use lineside_sync::{Clock, RealClock};
use url::Url;

use super::{Failure, print};
use crate::convert::{Converted, DISCOVERY, Input, Refusal, Target, convert};

/// Largest input, of all its files together.
const INPUT_BYTES_MAX: u64 = 1 << 30;
/// Largest file of a GBFS system.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Most files of a GBFS system.
const FILES_MAX: usize = 200;

/// Turn a file of one format into another, and tell what that loses
///
/// What the input is, is told from its content: GTFS (a zip, or a folder of its tables), NeTEx, GTFS-Realtime, SIRI in XML, SOAP or JSON,
/// or the gbfs.json of a system, whose files lie beside it or where it says. Each journey, vehicle and situation becomes one
/// entity, whether a schedule knows it or not.
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
    /// The GTFS that real time belongs to: its trips and stops complete what is written
    #[arg(long, value_name = "GTFS")]
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
    let body = read(&input).await?;
    let schedule = match &r#static {
        Some(schedule) => Some(read(schedule).await?),
        None => None,
    };
    let given = match system_of(&input, &body).await? {
        Some(system) => system,
        None => Input::Body(body),
    };
    let converting = tokio::task::spawn_blocking(move || convert(given, to, schedule));
    let converted = match converting.await {
        Ok(Ok(converted)) => converted,
        Ok(Err(Refusal::NoWay(reason))) => {
            return Err(Failure::Usage(format!("{input}: {reason}")));
        }
        Ok(Err(Refusal::Unreadable(reason))) => {
            return Err(Failure::Unfinished(format!("{input}: {reason}")));
        }
        Err(error) => return Err(Failure::Unfinished(format!("{input}: broke off: {error}"))),
    };
    write_all(&converted, output.as_deref(), is_folder)?;
    if let Some(file) = &report {
        let text = serde_json::to_string_pretty(&converted.report(to));
        let text = text.map_err(|error| Failure::Unfinished(error.to_string()))?;
        write_file(file, text.as_bytes())?;
    }
    tell(&converted, to);
    Ok(())
}

/// The bytes of a file, a folder, an address or standard input.
async fn read(input: &str) -> Result<Bytes, Failure> {
    let unfinished = |reason: String| Failure::Unfinished(format!("{input}: {reason}"));
    if input == "-" {
        let read = tokio::task::spawn_blocking(|| {
            let mut body = Vec::new();
            let taken = io::stdin().lock().take(INPUT_BYTES_MAX + 1).read_to_end(&mut body);
            taken.map(|_| body)
        });
        let body = read.await.map_err(io::Error::other).and_then(|read| read);
        let body = body.map_err(|error| unfinished(error.to_string()))?;
        if body.len() as u64 > INPUT_BYTES_MAX {
            return Err(unfinished(format!("larger than {} MiB", INPUT_BYTES_MAX >> 20)));
        }
        return Ok(body.into());
    }
    let location = Location::parse(input).map_err(|error| Failure::Usage(error.to_string()))?;
    let location = match location {
        // A system's folder is named by its discovery file.
        Location::Folder(folder) if folder.join("gbfs.json").is_file() => {
            Location::File(folder.join("gbfs.json"))
        }
        other => other,
    };
    fetch(location, INPUT_BYTES_MAX).await.map_err(unfinished)
}

async fn fetch(location: Location, most: u64) -> Result<Bytes, String> {
    let id = FeedId::new("input").map_err(|error| error.to_string())?;
    let mut config = FeedConfig::new(id, location);
    config.max_bytes = most;
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    fetch_once(&config, clock).await.map_err(|failure| failure.detail)
}

/// The files of a GBFS system in its first language, if the body is a discovery file.
async fn system_of(input: &str, body: &Bytes) -> Result<Option<Input>, Failure> {
    if sniff(body) != Some(Format::Raw) {
        return Ok(None);
    }
    let Ok((discovery, _)) = gbfs::decode(body, &gbfs::Limits::default()) else { return Ok(None) };
    let language = discovery.languages().first().copied();
    let mut files = vec![(DISCOVERY.to_owned(), body.clone())];
    let mut missing = Losses::new();
    let mut left = INPUT_BYTES_MAX;
    let entries = discovery.entries.iter().filter(|entry| entry.language.as_deref() == language);
    for entry in entries.filter(|entry| &*entry.name != DISCOVERY) {
        let location = match place_of(input, entry) {
            Ok(_) if files.len() > FILES_MAX => Err("there are more files than are read"),
            found => found,
        };
        let why = match location {
            Ok(location) => match fetch(location, left.min(FILE_BYTES_MAX)).await {
                Ok(body) => {
                    left = left.saturating_sub(body.len() as u64);
                    files.push((entry.name.to_string(), body));
                    continue;
                }
                Err(reason) => {
                    print::note(&format!("{}: {reason}", entry.name));
                    "it cannot be read where it is listed"
                }
            },
            Err(why) => why,
        };
        missing.push("file", why, Some(&*entry.name));
    }
    Ok(Some(Input::System { files, language: language.map(str::to_owned), missing }))
}

/// Where a listed file is: beside the discovery file, else where that says.
fn place_of(input: &str, entry: &gbfs::Entry) -> Result<Location, &'static str> {
    // The name comes from the file's writer: it is no path.
    let is_plain = entry.name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    let beside = folder_of(input).filter(|_| is_plain);
    let beside = beside.map(|folder| folder.join(format!("{}.json", entry.name)));
    if let Some(file) = beside.filter(|file| file.is_file()) {
        return Ok(Location::File(file));
    }
    let url = match Location::parse(input) {
        Ok(Location::Http(base)) if input != "-" => base.join(&entry.url),
        _ => Url::parse(&entry.url),
    };
    match url {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(Location::Http(url)),
        _ => Err("it is not beside the discovery file, nor does that say where it is"),
    }
}

/// The folder of a file here; none for an address, and for what nobody knows where it comes from.
fn folder_of(input: &str) -> Option<PathBuf> {
    match Location::parse(input).ok()? {
        Location::File(file) if input != "-" => file.parent().map(Path::to_owned),
        Location::Folder(folder) => Some(folder),
        _ => None,
    }
}

fn write_all(converted: &Converted, output: Option<&Path>, is_folder: bool) -> Result<(), Failure> {
    for (name, bytes) in &converted.files {
        match output {
            Some(folder) if is_folder => {
                let made = fs::create_dir_all(folder);
                made.map_err(|error| cannot_write(folder, &error))?;
                write_file(&folder.join(name), bytes)?;
            }
            Some(file) => write_file(file, bytes)?,
            None => {
                let mut out = io::stdout().lock();
                let written = out.write_all(bytes).and_then(|()| out.flush());
                written.map_err(|error| cannot_write(Path::new("standard output"), &error))?;
            }
        }
    }
    Ok(())
}

fn write_file(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(file, bytes).map_err(|error| cannot_write(file, &error))
}

fn cannot_write(file: &Path, error: &io::Error) -> Failure {
    Failure::Unfinished(format!("{} cannot be written: {error}", file.display()))
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
