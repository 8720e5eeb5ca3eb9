//! A process that saves snapshots is killed many times: saved snapshots must remain complete, without leftovers.
//!
//! This program has two roles. As `save` it saves bodies of several feeds and prints which are saved. Otherwise it
//! repeatedly starts such a process, kills it, and checks the folder.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, mpsc::sync_channel},
    thread,
    time::Duration,
};

use bytes::Bytes;
use lineside_model::{CacheValidators, FeedId, SnapshotKey, SnapshotMetadata, SnapshotStore as _};
use lineside_store::{RetentionPolicy, Store};
use lineside_sync::{SimulatedClock, UnixMillis};

const ROUNDS: usize = 40;
/// Maximum number of saved bodies before a process is killed.
const SAVES_MAX: usize = 30;
const FEEDS: usize = 3;
/// Sizes of bodies: below and above the limit for large bodies.
const SIZES: [usize; FEEDS] = [2_000, 200_000, 9 << 20];
const SEED: u64 = 5;
const KEEP: RetentionPolicy = RetentionPolicy {
    availability: Duration::from_secs(30 * 86_400),
    versions: 3,
    versions_age: Duration::from_secs(90 * 86_400),
    reports: 100,
};

fn main() {
    let arguments: Vec<String> = env::args().collect();
    match &arguments[1..] {
        [save, file, next] if save == "save" => {
            save_for_ever(Path::new(file), next.parse().expect("a number"));
        }
        _ => kill_and_look(),
    }
}

fn open(file: &Path) -> Store {
    let clock = Arc::new(SimulatedClock::new(UnixMillis(1_772_607_600_000)));
    Store::open(file, clock, KEEP).expect("the store opens a file of a killed process")
}

fn key(feed: usize) -> SnapshotKey {
    SnapshotKey::for_feed(&FeedId::new(&format!("feed{feed}")).expect("a plain name"))
}

/// Returns a body that contains its number and reveals truncation.
fn body(feed: usize, number: u64) -> Bytes {
    let mut body = number.to_le_bytes().repeat(SIZES[feed] / 8);
    body.push(feed as u8);
    body.into()
}

fn head(number: u64) -> SnapshotMetadata {
    SnapshotMetadata {
        source: "https://example.org/a".to_owned(),
        hash: u128::from(number),
        format: SnapshotMetadata::parse_format("raw").expect("a format"),
        content_type: String::new(),
        file_name: number.to_string(),
        fetched_at: UnixMillis(1),
        last_modified: None,
        validators: CacheValidators::default(),
        confirmed_at: UnixMillis(1),
    }
}

/// Saves bodies of all feeds, from number `next` on, one at a time for each feed.
fn save_for_ever(file: &Path, next: u64) {
    let store = Arc::new(open(file));
    let savers: Vec<_> = (0..FEEDS)
        .map(|feed| {
            let store = Arc::clone(&store);
            thread::spawn(move || save_one_feed(&store, feed, next))
        })
        .collect();
    for saver in savers {
        saver.join().expect("a thread that saves");
    }
}

fn save_one_feed(store: &Store, feed: usize, next: u64) {
    for number in next.. {
        let (reply, done) = sync_channel(1);
        let told = Box::new(move |is_saved| reply.send(is_saved).expect("the sender is waiting"));
        store.save_snapshot(&key(feed), head(number), body(feed, number), None, told);
        assert!(done.recv().expect("an answer"), "a successful save");
        // The parent closes the pipe when it kills this process.
        let mut output = std::io::stdout().lock();
        if writeln!(output, "{feed} {number}").and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

fn kill_and_look() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lineside.db");
    let mut rng = fastrand::Rng::with_seed(SEED);
    let mut next = 1;
    let mut n_saved = 0;
    let mut last_saved = [0; FEEDS];
    for round in 0..ROUNDS {
        let saved = run_and_kill(&file, next, rng.usize(..SAVES_MAX), &mut rng);
        n_saved += saved.iter().filter(|number| **number >= next).count();
        // Bodies saved in an earlier round have to remain, too.
        for (last, number) in last_saved.iter_mut().zip(saved) {
            *last = number.max(*last);
        }
        next = check_store(&file, last_saved, round) + 1;
    }
    assert!(n_saved >= ROUNDS, "every process was killed before its first save");
}

/// Starts a process and kills it after it saved `times` bodies. Returns the last number of each feed.
fn run_and_kill(file: &Path, next: u64, times: usize, rng: &mut fastrand::Rng) -> [u64; FEEDS] {
    let mut saver = Command::new(env::current_exe().expect("the path of this program"))
        .args(["save".as_ref(), file.as_os_str(), next.to_string().as_ref()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a started process");
    let output = saver.stdout.take().expect("the output is piped");
    let mut lines = BufReader::new(output).lines();
    let mut saved = [0; FEEDS];
    let mut note = |line: String| {
        let (feed, number) = line.split_once(' ')?;
        let (feed, number) = (feed.parse::<usize>().ok()?, number.parse().ok()?);
        saved[feed] = number;
        Some(())
    };
    for _ in 0..times {
        let line = lines.next().expect("a line before the kill").expect("a line");
        note(line).expect("two numbers");
    }
    // The kill is at a random time between two saves.
    for _ in 0..rng.u32(..200_000) {
        std::hint::spin_loop();
    }
    saver.kill().expect("a running process");
    saver.wait().expect("an ended process");
    // Output before the kill counts too, except for a truncated line.
    for line in lines.map_while(Result::ok) {
        note(line);
    }
    saved
}

/// Checks that all saved bodies are complete, and that others are deleted. Returns the highest number.
fn check_store(file: &Path, saved: [u64; FEEDS], round: usize) -> u64 {
    let store = open(file);
    let mut highest = 0;
    let mut bytes = 0;
    for (feed, saved) in saved.into_iter().enumerate() {
        let Some((head, found)) = store.read_snapshot(&key(feed)) else {
            assert_eq!(saved, 0, "round {round}: the snapshot of feed {feed} is missing");
            continue;
        };
        let number: u64 = head.file_name.parse().expect("a number");
        assert!(
            number >= saved,
            "round {round}: feed {feed} has {number}, but {saved} was acknowledged"
        );
        assert!(
            found == body(feed, number),
            "round {round}: the snapshot of feed {feed} is incomplete"
        );
        highest = highest.max(number);
        bytes += found.len() as u64;
    }
    for _ in 0..2_000 {
        if on_disk(&file.with_file_name("blobs")) == bytes {
            return highest;
        }
        thread::park_timeout(Duration::from_millis(10));
    }
    panic!("round {round}: an unreferenced file remains");
}

fn on_disk(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let of = |path: &Path| {
        if path.is_dir() { on_disk(path) } else { fs::metadata(path).map_or(0, |it| it.len()) }
    };
    entries.filter_map(Result::ok).map(|entry| of(&entry.path())).sum()
}
