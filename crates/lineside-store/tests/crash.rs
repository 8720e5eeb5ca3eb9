//! A writing process is killed many times, and all data that it acknowledged must remain.
//!
//! This program has two roles. As `write` it sends records to a store and prints what the store has acknowledged.
//! Otherwise it repeatedly starts such a process, kills it, and checks the file.

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use lineside_model::{
    ArchiveSpan, FeedId, FeedState, FetchPhase, PollArchive as _, PollFailure, PollQuery,
    PollRecord, Secret, ServedContentFreshness,
};
use lineside_store::{FeedOverrideEdit, RetentionPolicy, Store};
use lineside_sync::{SimulatedClock, UnixMillis};
use rusqlite::Connection;

const ROUNDS: usize = 40;
/// Maximum number of acknowledgements before a writer is killed.
const ACKNOWLEDGED_MAX: usize = 12;
/// Maximum number of records between two flushes.
const RECORDS_PER_FLUSH_MAX: u64 = 60;
const SEED: u64 = 4;
const KEEP: RetentionPolicy = RetentionPolicy {
    availability: Duration::from_secs(30 * 86_400),
    versions: 3,
    versions_age: Duration::from_secs(90 * 86_400),
    reports: 100,
};
/// The polls of this test are numbered by their time, a second apart, from this one on.
const START: UnixMillis = UnixMillis(1_772_607_600_000);
const EVERYTHING: PollQuery =
    PollQuery { from: UnixMillis(0), only_failed: false, offset: 0, limit: 1_000_000 };

fn main() {
    let arguments: Vec<String> = env::args().collect();
    match &arguments[1..] {
        [write, file, next] if write == "write" => {
            let next = next.parse().expect("a number");
            write_for_ever(Path::new(file), next);
        }
        _ => kill_and_look(),
    }
}

fn feed() -> FeedId {
    FeedId::new("city").expect("a plain name")
}

fn open(file: &Path) -> Store {
    let clock = Arc::new(SimulatedClock::new(START));
    Store::open(file, clock, KEEP).expect("the store opens a file of a killed process")
}

fn poll(n: u64) -> PollRecord {
    let failed = n.is_multiple_of(3);
    PollRecord {
        at: START + Duration::from_secs(n),
        took: Duration::from_millis(n % 100),
        bytes: n,
        outcome: if failed { "timeout".into() } else { "new".into() },
        failure: failed.then(|| PollFailure {
            message: "no reply within 15 s".to_owned(),
            phase: Some(FetchPhase::Wait),
            status: None,
            head: None,
        }),
        serving: if failed { ServedContentFreshness::Stale } else { ServedContentFreshness::Fresh },
    }
}

/// Returns the override of the feed, which is a number here.
fn laid_over(store: &Store) -> Option<Secret> {
    let all = store.list_feed_overrides().expect("readable overrides");
    all.into_iter().next().map(|(_, body)| body)
}

/// Sets the number as the override of the feed.
fn edit(store: &Store, next: u64) {
    let edit = FeedOverrideEdit {
        feed: feed(),
        at: START + Duration::from_secs(next),
        who: "admin".to_owned(),
        what: "change".to_owned(),
        before: laid_over(store),
        after: Some(Secret::new(next.to_string())),
        undoes: None,
    };
    store.save_override_edit(&edit).expect("a successful write");
}

/// Checks that the edits form a chain that ends in the current override, and that no acknowledged one is missing.
fn look_at_edits(store: &Store, acknowledged: u64, round: usize) {
    let edits = store.list_edits_of_feed(&feed(), usize::MAX).expect("readable edits");
    let now = laid_over(store);
    assert_eq!(edits.first().and_then(|(_, it)| it.after.clone()), now, "round {round}");
    let number = now.map_or(0, |now| now.reveal().parse::<u64>().expect("a number"));
    assert!(number >= acknowledged, "round {round}: {number}, {acknowledged} acknowledged");
    for pair in edits.windows(2) {
        assert!(pair[0].0 > pair[1].0 && pair[0].1.before == pair[1].1.after, "round {round}");
    }
}

/// Records polls from number `next` on, and prints after some of them how many the store has acknowledged.
fn write_for_ever(file: &Path, mut next: u64) {
    let store = open(file);
    let mut rng = fastrand::Rng::with_seed(SEED ^ next);
    let mut output = std::io::stdout().lock();
    loop {
        for _ in 0..rng.u64(1..=RECORDS_PER_FLUSH_MAX) {
            store.record_poll(&feed(), poll(next));
            next += 1;
        }
        let state = FeedState::ALL[rng.usize(..FeedState::ALL.len())];
        store.record_feed_state_change(&feed(), state, "told", START + Duration::from_secs(next));
        store.flush_writes().expect("a successful write");
        edit(&store, next);
        // The parent closes the pipe when it kills this process.
        let written = writeln!(output, "{next}").and_then(|()| output.flush());
        if written.is_err() {
            return;
        }
    }
}

fn kill_and_look() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lineside.db");
    let mut rng = fastrand::Rng::with_seed(SEED);
    let (mut known, mut edited) = (0, 0);
    for round in 0..ROUNDS {
        let acknowledged = run_and_kill(&file, known, rng.usize(..ACKNOWLEDGED_MAX), &mut rng);
        edited = acknowledged.unwrap_or(edited);
        known = check_store(&file, acknowledged.unwrap_or(known), edited, round);
    }
    assert!(known > 0, "every writer was killed before its first write");
}

/// Starts a writer and kills it after `times` acknowledgements. Returns the last acknowledged number.
fn run_and_kill(file: &Path, next: u64, times: usize, rng: &mut fastrand::Rng) -> Option<u64> {
    let mut writer = Command::new(env::current_exe().expect("the path of this program"))
        .arg("write")
        .arg(file)
        .arg(next.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a started process");
    let output = writer.stdout.take().expect("the output is piped");
    let mut lines = BufReader::new(output).lines();
    let mut last = None;
    for _ in 0..times {
        let line = lines.next().expect("a line before the kill").expect("a line");
        last = Some(line.parse().expect("a number"));
    }
    // The kill is at a random time between two acknowledgements.
    for _ in 0..rng.u32(..20_000) {
        std::hint::spin_loop();
    }
    writer.kill().expect("a running process");
    writer.wait().expect("an ended process");
    // Output before the kill counts too; its last line may be truncated.
    let rest = lines.map_while(Result::ok).filter_map(|line| line.parse().ok());
    rest.chain(last).max()
}

/// Checks that the file is valid and has all acknowledged data. Returns the number of its polls.
fn check_store(file: &Path, acknowledged: u64, edited: u64, round: usize) -> u64 {
    let store = open(file);
    let mut polls = store.list_polls(&feed(), EVERYTHING).expect("readable polls");
    polls.reverse();
    let n_polls = polls.len() as u64;
    assert!(n_polls >= acknowledged, "round {round}: {n_polls} polls, {acknowledged} acknowledged");
    for (n, found) in (0..).zip(&polls) {
        assert_eq!(*found, poll(n), "round {round}");
    }
    // A transaction is complete or absent, so the bins have the same counts as the polls.
    for span in ArchiveSpan::ALL {
        let bins = store.list_poll_bins(&feed(), span, UnixMillis(0)).expect("readable bins");
        let counted: u64 = bins.iter().map(|bin| u64::from(bin.polls)).sum();
        let failed: u64 = bins.iter().map(|bin| u64::from(bin.failed)).sum();
        assert_eq!((counted, failed), (n_polls, n_polls.div_ceil(3)), "round {round}");
    }
    let incidents = store
        .list_feed_state_periods(&feed(), UnixMillis(0), usize::MAX)
        .expect("readable incidents");
    assert!(incidents.iter().all(|incident| incident.ended.is_some()), "round {round}");
    assert!(acknowledged == 0 || !incidents.is_empty(), "round {round}");
    look_at_edits(&store, edited, round);
    drop(store);
    let connection = Connection::open(file).expect("an existing file");
    let verdict: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a result");
    assert_eq!(verdict, "ok", "round {round}");
    n_polls
}
