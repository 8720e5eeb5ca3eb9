//! One file of a visitor's, from where it is to its report.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_ingest::{FeedConfig, FeedId, Location, Program, fetch_into, run_program};
use tempfile::TempDir;
use url::Url;

use super::arrival::{Arrival, ArrivalWriter};
use super::rooms::FILE;
use super::{Desk, Stage, TOO_SLOW, written};
use crate::config::{self, size_text};

/// How long fetching an address may take.
const FETCH_TIME_MAX: Duration = Duration::from_secs(120);
/// Findings of each kind that a report holds.
const SAMPLES: &str = "100";
/// What the program's last words are where the system gives it no more memory.
const NO_ROOM: &str = "memory allocation of";
/// The folder beside the file, for what is found.
const FOUND: &str = "found";

/// What a visitor brings.
#[derive(Debug)]
pub(crate) enum Brought {
    /// A file that lies in a folder of its own, and what it is called.
    File { folder: TempDir, name: String },
    /// An address of the internet, and what its file is called.
    Address { url: Url, name: String },
}

impl Brought {
    /// What its file is called.
    pub(super) fn name(&self) -> &str {
        match self {
            Brought::File { name, .. } | Brought::Address { name, .. } => name,
        }
    }
}

/// Looks at what was brought once it is its turn, and keeps the report.
pub(super) async fn look_at(
    desk: Arc<Desk>,
    link: String,
    brought: Brought,
    arrival: Arc<Arrival>,
    rules: config::Visitors,
) {
    let looked = report_of(&desk, &link, brought, arrival, &rules).await;
    let kept = match looked {
        Ok(report) => keep(&desk, &link, report, rules.keep).await,
        Err(why) => Err(why),
    };
    match kept {
        Ok(()) => {
            desk.jobs.lock().all.remove(&link);
        }
        Err(why) => {
            desk.set(&link, Stage::Failed(why));
            let keep = i64::try_from(rules.keep.as_millis()).unwrap_or(i64::MAX);
            let before = lineside_sync::UnixMillis(desk.clock.wall().0.saturating_sub(keep));
            desk.jobs.lock().forget(before);
        }
    }
}

async fn keep(desk: &Arc<Desk>, link: &str, report: Bytes, time: Duration) -> Result<(), String> {
    let (desk, link) = (Arc::clone(desk), link.to_owned());
    let writing = tokio::task::spawn_blocking(move || {
        desk.kept.write(&link, &report, desk.clock.wall(), time)
    });
    let written = writing.await.map_err(io::Error::other).and_then(|written| written);
    written.map_err(|error| {
        tracing::error!(%error, "a visitor's report cannot be kept");
        "the report could not be kept: that is this server's fault and not your file's".to_owned()
    })
}

async fn report_of(
    desk: &Arc<Desk>,
    link: &str,
    brought: Brought,
    arrival: Arc<Arrival>,
    rules: &config::Visitors,
) -> Result<Bytes, String> {
    let (folder, name) = match brought {
        Brought::File { folder, name } => (folder, name),
        Brought::Address { url, name } => {
            let fetching = Box::pin(fetch(desk, url, &arrival, rules));
            (arrival.receive(fetching).await.ok_or(TOO_SLOW)??, name)
        }
    };
    desk.give_place(link).map_err(|_| "as many files wait here as may at once".to_owned())?;
    let _turn = desk.turn.acquire().await.map_err(|closed| closed.to_string())?;
    desk.set(link, Stage::Running);
    let program = Program {
        command: command(&desk.program, folder.path(), &name, rules.memory),
        timeout: rules.timeout,
        memory: rules.memory,
    };
    let ran = run_program(&program, Bytes::new(), written::BYTES_MAX, "", &*desk.clock).await;
    let reading = tokio::task::spawn_blocking(move || written::read(&folder.path().join(FOUND)));
    let found = reading.await.map_err(io::Error::other).and_then(|found| found);
    match (found, ran) {
        // Also where it ends with 3, as a rule of ours broke off.
        (Ok(report), _) => Ok(report),
        (Err(_), Err(not)) => Err(told(&not.why, &not.said, &name, rules.memory)),
        (Err(error), Ok(_)) => {
            tracing::error!(%error, "a visitor's report cannot be read");
            Err("its report could not be read: that is this server's fault and not your file's"
                .to_owned())
        }
    }
}

/// A file may be the list of a system's files, and a stranger wrote it: `--public-only`.
fn command(program: &Path, folder: &Path, name: &str, memory: u64) -> Vec<String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut command = vec![text(program), "check".to_owned(), text(&folder.join(FILE))];
    command.push(format!("--name={name}"));
    command.push(format!("--memory={memory}"));
    command.push(format!("--output={}", text(&folder.join(FOUND))));
    command.extend(["--public-only", "--fail-on=never", "--samples", SAMPLES].map(str::to_owned));
    command
}

/// Why there is no report, for who brought the file. What the program itself said of the file says more than how it ended.
fn told(why: &str, said: &str, name: &str, memory: u64) -> String {
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    let of_file = last.and_then(|line| line.split_once(&format!("{name}: ")));
    match of_file {
        Some((_, reason)) => reason.replace("--memory allows", "visitors.memory allows"),
        None if said.contains(NO_ROOM) => {
            let memory = size_text(memory);
            format!(
                "looking at it takes more memory than visitors.memory allows, which is {memory}"
            )
        }
        None => format!("looking at it broke off: it {why}"),
    }
}

/// Fetches an address as a stranger's: of the internet only, within size and time.
async fn fetch(
    desk: &Arc<Desk>,
    url: Url,
    arrival: &Arc<Arrival>,
    rules: &config::Visitors,
) -> Result<TempDir, String> {
    let at = Arc::clone(desk);
    let readying = tokio::task::spawn_blocking(move || at.room()).await.map_err(io::Error::other);
    let (folder, file) = readying.and_then(|room| room).map_err(|error| {
        tracing::error!(%error, "a visitor's file cannot be taken");
        "this server has no room for the file at the moment".to_owned()
    })?;
    let id = FeedId::new("visitor").map_err(|error| error.to_string())?;
    let location = Location::parse(url.as_str()).map_err(|error| error.to_string())?;
    let config = FeedConfig {
        max_bytes: rules.max_bytes,
        timeout: FETCH_TIME_MAX,
        public_only: true,
        ..FeedConfig::new(id, location)
    };
    let writer = ArrivalWriter { file, arrival: Arc::clone(arrival) };
    match fetch_into(&config, Arc::clone(&desk.clock), Box::new(writer)).await {
        Ok(()) => Ok(folder),
        Err(failure) => {
            drop_aside(folder);
            Err(not_fetched(&failure.detail))
        }
    }
}

/// Why there is no file behind an address, for who named it.
fn not_fetched(detail: &str) -> String {
    let detail = detail.strip_prefix("not asked: ").unwrap_or(detail);
    format!("it could not be fetched: {detail}")
}

/// A folder with a large file takes its time to go.
fn drop_aside(folder: TempDir) {
    tokio::task::spawn_blocking(move || drop(folder));
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::Standing;
    use super::*;
    use crate::check::Reread;

    /// What became of a file that this program of the shell looks at.
    async fn looked_at(script: &str, rules: &config::Visitors) -> Option<Standing> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let desk = Desk::running(None, program).unwrap();
        let mut place = desk.take_place([203, 0, 113, 1].into()).unwrap();
        place.is_kept = true;
        let (room, _) = desk.room().unwrap();
        let brought = Brought::File { folder: room, name: "gtfs.zip".to_owned() };
        let arrival = Arc::clone(&place.arrival);
        look_at(Arc::clone(&desk), place.link.clone(), brought, arrival, rules.clone()).await;
        desk.standing(&place.link, rules)
    }

    #[tokio::test]
    async fn a_rule_of_ours_that_broke_off_is_told_and_what_was_found_stays() {
        let script = r#"for it; do case "$it" in --output=*) folder="${it#--output=}";; esac; done
            mkdir "$folder"
            echo '{"summary": {"input": "a.xml"}, "notices": []}' > "$folder/report.json"
            echo '{"notices": [{"sampleNotices": [{"validator": "netex", "message": "it broke"}]}]}' > "$folder/system_errors.json"
            echo '{"outline": [], "places": {}}' > "$folder/places.json"
            echo '[]' > "$folder/unread.json"
            exit 3"#;
        let found = looked_at(script, &config::Visitors::default()).await;
        let Some(Standing::Done(report)) = found else { panic!("it stands otherwise: {found:?}") };
        let read = Reread::of(&report).unwrap();
        assert_eq!(read.input, "a.xml");
        assert_eq!(read.faults, [("netex".to_owned(), "it broke".to_owned())]);
        let nothing = looked_at("echo done", &config::Visitors::default()).await;
        assert!(
            matches!(&nothing, Some(Standing::Failed { why, .. }) if why.contains("this server's fault")),
            "{nothing:?}"
        );
    }

    #[tokio::test]
    async fn what_takes_too_long_is_ended_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("endless");
        std::fs::write(&program, "#!/bin/sh\nsleep 600\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let desk = Desk::running(None, program).unwrap();
        let rules =
            config::Visitors { timeout: Duration::from_secs(1), ..config::Visitors::default() };
        let place = desk.take_place([203, 0, 113, 1].into()).unwrap();
        let (room, _) = desk.room().unwrap();
        let at = room.path().to_owned();
        let brought = Brought::File { folder: room, name: "gtfs.zip".to_owned() };
        let link = place.link.clone();
        let arrival = Arc::clone(&place.arrival);
        look_at(Arc::clone(&desk), link.clone(), brought, arrival, rules.clone()).await;
        let Some(Standing::Failed { why, .. }) = desk.standing(&link, &rules) else {
            panic!("it stands otherwise: {:?}", desk.standing(&link, &rules));
        };
        assert!(why.contains("did not end within 1s"), "{why}");
        while at.exists() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_stop_ends_the_program_and_takes_the_file_away() {
        let folder = tempfile::tempdir().unwrap();
        let (program, number) = (folder.path().join("endless"), folder.path().join("number"));
        let script = format!("#!/bin/sh\necho $$ > '{}'\nexec sleep 600\n", number.display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let desk = Desk::running(None, program).unwrap();
        let bring = |address: u8| {
            let place = desk.take_place([203, 0, 113, address].into()).unwrap();
            let (room, _) = desk.room().unwrap();
            let at = room.path().to_owned();
            let brought = Brought::File { folder: room, name: "gtfs.zip".to_owned() };
            place.keep(brought, config::Visitors::default()).unwrap();
            at
        };
        let (looked_at, waits) = (bring(1), bring(2));
        // One that is on its way stays open until who brings it is gone.
        let (coming, _) = desk.room().unwrap();
        let pid = loop {
            let text = std::fs::read_to_string(&number).unwrap_or_default();
            if text.ends_with('\n') {
                break text.trim().to_owned();
            }
            tokio::task::yield_now().await;
        };
        desk.stop().await;
        assert!(![&*looked_at, &*waits, coming.path()].iter().any(|it| it.exists()));
        assert!(!looked_at.parent().unwrap().exists());
        // It may not have been waited for yet.
        let runs = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        while runs() {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn why_nothing_was_fetched_is_said_once() {
        let told = not_fetched("not asked: the host is not on the public internet");
        assert_eq!(told, "it could not be fetched: the host is not on the public internet");
        assert_eq!(not_fetched("no answer"), "it could not be fetched: no answer");
    }

    #[test]
    fn what_is_told_of_a_file_without_report_names_no_place_of_ours() {
        let said = "lineside: gtfs.zip: this is no zip\n";
        let told = |why: &str, said: &str, name: &str| told(why, said, name, 4 << 30);
        assert_eq!(told("ended with exit code 3", said, "gtfs.zip"), "this is no zip");
        let said =
            "lineside: gtfs.zip: it would take about 9GiB of memory, and --memory allows 4GiB\n";
        let bound = told("ended with exit code 3", said, "gtfs.zip");
        assert_eq!(bound, "it would take about 9GiB of memory, and visitors.memory allows 4GiB");
        let bound =
            told("was ended by SIGABRT", "memory allocation of 512 bytes failed\n", "gtfs.zip");
        assert!(bound.contains("visitors.memory allows, which is 4GiB"), "{bound}");
        let broken = told("did not end within 120s and was stopped", "", "gtfs.zip");
        assert_eq!(broken, "looking at it broke off: it did not end within 120s and was stopped");
        let other = told("ended with exit code 101", "thread panicked at /tmp/x", "gtfs.zip");
        assert!(!other.contains("/tmp"), "{other}");
    }
}
