//! Compares the counts of codes in real messages with those of the reference real-time validator.
//!
//! The feeds are in a folder next to the repository; without it, nothing is compared. `LINESIDE_RULE=a,b` compares only
//! these codes, `LINESIDE_FEED=name` only messages whose name contains that text.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use jiff::civil::date;
use lineside_formats::{
    gtfs::DatasetLimits as ScheduleLimits,
    gtfs_rt::{FeedMessageLimits, decode_feed_message, proto::FeedMessage},
};
use lineside_validate::{
    Notices, ValidationContext,
    gtfs::ZipFileSource,
    rules::gtfs_rt::{
        MessageWithContext, ScheduleIndex, realtime_notice_kinds, validate_realtime_message,
    },
};
use serde_json::Value;

/// Intended differences, each with its reason: message, code, our count, the reference's count.
const KNOWN: &[(&str, &str, u64, u64)] = &[];

/// The reference's clock at the first file of a folder, and its advance with each file, in seconds.
const CLOCK_S: (i64, i64) = (1_700_000_000, 60);

const CONTEXT: ValidationContext =
    ValidationContext { today: date(2024, 1, 1), country: None, threads: 1 };

type Counts = BTreeMap<String, u64>;

/// Returns the folder of a group's messages, and the prefix of its files in that folder.
fn folder_of(group: &str) -> (&str, &str) {
    match group.split_once('-') {
        Some(("conformance", schedule)) => ("conformance-veodyn", schedule),
        _ if group == "soundtransit" => ("soundtransit-pb", ""),
        _ => (group, ""),
    }
}

/// Returns the messages of a group in the order in which the reference read them, each with its clock. Unreadable and
/// repeated messages are skipped.
fn messages(data: &Path, group: &str) -> Vec<(String, i64, FeedMessage)> {
    let (folder, prefix) = folder_of(group);
    let Ok(files) = fs::read_dir(data.join(folder)) else { return Vec::new() };
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.retain(|path| {
        let name = path.file_name().expect("a name").to_string_lossy();
        let of_group = prefix.is_empty() || name.starts_with(&format!("{prefix}_"));
        of_group && name.ends_with(".pb")
    });
    paths.sort();
    let (mut messages, mut last) = (Vec::new(), Vec::new());
    for (at, path) in paths.iter().enumerate() {
        let bytes = fs::read(path).expect("a file");
        if bytes == last {
            continue;
        }
        if let Ok((message, problems)) =
            decode_feed_message(bytes.clone().into(), &FeedMessageLimits::default())
            && problems.is_empty()
        {
            let name = path.file_name().expect("a name").to_string_lossy();
            let now = CLOCK_S.0 + CLOCK_S.1 * at as i64;
            messages.push((format!("{group}/{name}"), now, message));
            last = bytes;
        }
    }
    messages
}

fn timetable(path: &Path) -> ScheduleIndex {
    let bytes = fs::read(path).expect("a file");
    let limits = ScheduleLimits::default();
    let source = ZipFileSource::new(&bytes, &limits).expect("a zip");
    ScheduleIndex::read_and_index_schedule(&source, &CONTEXT).expect("a schedule")
}

fn counts(subject: &MessageWithContext<'_>) -> Counts {
    let mut notices = Notices::new(3);
    let errors = validate_realtime_message(subject, &CONTEXT, &mut notices);
    assert!(errors.is_empty(), "{errors:?}");
    // Codes in words are Lineside's own; the reference does not have them.
    let theirs = notices.iter().filter(|found| found.kind.code.starts_with(['E', 'W']));
    theirs.map(|found| (found.kind.code.to_owned(), found.total)).collect()
}

#[test]
fn real_messages_have_the_counts_of_the_reference() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let Ok(text) = fs::read_to_string(shared.join("rules/expected/gtfs-rt.json")) else {
        eprintln!("skipped: there are no feeds next to the repository");
        return;
    };
    let expected: Value = serde_json::from_str(&text).unwrap();
    let (rules, part) = (std::env::var("LINESIDE_RULE").ok(), std::env::var("LINESIDE_FEED").ok());
    let counts_code =
        |code: &str| rules.as_deref().is_none_or(|rules| rules.split(',').any(|rule| rule == code));
    let mut groups: BTreeMap<&str, &str> = BTreeMap::new();
    let files = expected["files"].as_object().unwrap();
    for (name, file) in files {
        groups.insert(name.split_once('/').unwrap().0, file["static"].as_str().unwrap());
    }
    let (mut compared, mut wrong) = (0, Vec::new());
    for (group, schedule) in groups {
        let timetable = timetable(&shared.join("data").join(schedule));
        let messages = messages(&shared.join("data/gtfs-rt"), group);
        let mut previous = None;
        for (name, now, message) in &messages {
            let subject =
                MessageWithContext::new(message, &timetable, *now).with_previous_message(previous);
            previous = Some(message);
            if part.as_deref().is_some_and(|part| !name.contains(part)) {
                continue;
            }
            let Some(theirs) = files.get(name).map(|file| &file["codes"]) else { continue };
            compared += 1;
            let ours = counts(&subject);
            let codes: BTreeSet<&String> =
                ours.keys().chain(theirs.as_object().unwrap().keys()).collect();
            for code in codes.into_iter().filter(|code| counts_code(code)) {
                let ours = ours.get(code).copied().unwrap_or_default();
                let theirs = theirs[code].as_u64().unwrap_or_default();
                if ours != theirs && !KNOWN.contains(&(name, code, ours, theirs)) {
                    wrong.push(format!("{name}: {code}: Lineside {ours}, reference {theirs}"));
                }
            }
        }
    }
    let n_kinds = realtime_notice_kinds().count();
    eprintln!("{compared} messages compared, {n_kinds} kinds, {} differences", wrong.len());
    assert!(compared > 0, "the expected counts belong to messages that are missing");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
