//! One look at one version: on a thread of its own, with a limit of time and memory.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lineside_ingest::{Feed, FeedId, SiriIds};
use lineside_store::BlobHash;
use lineside_sync::UnixMillis;
use lineside_sync::semaphore::OwnedPermit;
use lineside_validate::Severity;
use serde_json::json;
use tokio::sync::oneshot;

use super::Version;
use super::report::{Fault, Finding, Outcome, Report, Subject};
use crate::app::App;
use crate::check::{self, Checked, Plan, Progress, memory_until, too_much};
use crate::config::{Validation, duration_text};
use crate::http::rfc3339;
use crate::patience::{Stopwatch, within};

/// Findings of one kind that are kept.
const SAMPLES: usize = 100;
/// What is said of bytes that are no schedule.
const UNREADABLE: &str = "The newest version cannot be read as a schedule. The one before it is served on, if there is one.";

/// What a look is about.
struct Task {
    feed: String,
    body: Arc<Body>,
    tag: String,
    refused: bool,
    plan: Plan,
    at: UnixMillis,
    memory: u64,
}

/// The bytes of a version, and what it is known by. They may be hundreds of megabytes: who asks first hashes them, off the
/// runtime's threads.
struct Body {
    bytes: Bytes,
    version: OnceLock<String>,
}

impl Body {
    fn of(bytes: Bytes) -> Arc<Body> {
        Arc::new(Body { bytes, version: OnceLock::new() })
    }

    fn version(&self) -> String {
        self.version.get_or_init(|| BlobHash::of(&self.bytes).to_string()).clone()
    }
}

/// Holds a version of a feed against the rules; nothing if it is gone meanwhile.
pub(super) async fn look(
    app: &App,
    id: &FeedId,
    version: Version,
    permit: OwnedPermit,
) -> Option<Report> {
    let feed = app.ingest().feed(id.as_str())?;
    let limits = app.config().validation.clone();
    let task = Task::of(&feed, version, app.now(), &limits)?;
    let (body, tag, refused, at) =
        (Arc::clone(&task.body), task.tag.clone(), task.refused, task.at);
    let progress = Arc::new(Progress::default());
    let watch = Stopwatch::start();
    let words = match begin(task, permit, Arc::clone(&progress), watch) {
        Err(error) => format!("there was no thread for it: {error}"),
        Ok(done) => match within(limits.timeout, done).await {
            Some(Ok(report)) => return Some(report),
            Some(Err(_)) => "our validator broke off".to_owned(),
            None => {
                progress.stop();
                let limit = duration_text(limits.timeout);
                format!("it took longer than {limit}, which is validation.timeout")
            }
        },
    };
    let took_ms = millis(watch.elapsed());
    // The version is known all the same, also where the look did not come to it.
    let version = tokio::task::spawn_blocking(move || body.version()).await.ok()?;
    let subject = Subject::Dataset { version, tag, refused };
    let mut report = Report::empty(id.to_string(), subject, at);
    (report.took_ms, report.outcome) = (took_ms, Outcome::Unfinished { words });
    Some(report)
}

/// Begins to look, on a thread of its own.
fn begin(
    task: Task,
    permit: OwnedPermit,
    progress: Arc<Progress>,
    watch: Stopwatch,
) -> io::Result<oneshot::Receiver<Report>> {
    let (reply, done) = oneshot::channel();
    let work = move || {
        let report = task.run(&progress, &watch);
        // The slot is taken until the look has ended, also where nobody waits for it any more: soon after it was stopped.
        drop(permit);
        let _: Result<(), Report> = reply.send(report);
    };
    std::thread::Builder::new().name("validate".to_owned()).spawn(work)?;
    Ok(done)
}

impl Task {
    fn of(feed: &Feed, version: Version, now: UnixMillis, limits: &Validation) -> Option<Task> {
        let (bytes, tag, refused) = match version {
            Some(refused) => (refused.bytes.clone(), String::new(), true),
            None => {
                let held = feed.held()?;
                let snapshot = held.snapshot();
                (snapshot.bytes.clone(), format!("{:032x}", snapshot.hash), false)
            }
        };
        let timetable = feed.network().timetable();
        let zone = timetable.map_or(TimeZone::UTC, |timetable| timetable.timezone().clone());
        let moment = Timestamp::from_millisecond(now.0).ok()?;
        let plan = Plan {
            input: feed.id().to_string(),
            today: moment.to_zoned(zone).date(),
            at: rfc3339(now)?,
            now: moment.as_second(),
            schedule: None,
            previous: None,
            ids: SiriIds::Same,
            country: limits.country,
            threads: 1,
            ignored: Vec::new(),
            output: None,
            samples: SAMPLES,
            with_places: true,
            memory: None,
            files: check::Files::default(),
        };
        let (feed, memory) = (feed.id().to_string(), limits.memory);
        Some(Task { feed, body: Body::of(bytes), tag, refused, plan, at: now, memory })
    }

    /// Looks. Takes as long as that takes.
    fn run(self, progress: &Progress, watch: &Stopwatch) -> Report {
        let bytes = &self.body.bytes;
        let version = self.body.version();
        let subject = Subject::Dataset { version, tag: self.tag, refused: self.refused };
        let mut report = Report::empty(self.feed, subject, self.at);
        match memory_until(bytes, self.memory, progress.stopper()) {
            Ok(needed) => {
                if let Some(words) = too_much(needed, self.memory, "validation.memory") {
                    report.outcome = Outcome::Unfinished { words };
                    return report;
                }
            }
            Err(error) => {
                report.be_unreadable(error.to_string());
                return report;
            }
        }
        let elapsed = || watch.elapsed().as_secs_f64();
        match check::check(bytes, self.plan, progress, &elapsed) {
            Ok(checked) => report.take(checked),
            Err(words) => report.be_unreadable(words),
        }
        report.took_ms = millis(watch.elapsed());
        report
    }
}

impl Report {
    /// That nothing was found so far.
    fn empty(feed: String, subject: Subject, at: UnixMillis) -> Report {
        Report {
            feed,
            subject,
            at,
            validator: env!("CARGO_PKG_VERSION").to_owned(),
            took_ms: 0,
            outcome: Outcome::Whole,
            findings: Vec::new(),
            faults: Vec::new(),
            changes: None,
            about: json!({}),
            outline: Vec::new(),
            unread: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn take(&mut self, checked: Checked) {
        self.about = checked.about();
        let fault = |rule: &str, message: &str| Fault {
            rule: rule.to_owned(),
            message: message.to_owned(),
        };
        self.faults = checked.errors.iter().map(|it| fault(it.rule, &it.message)).collect();
        self.outline = checked.outline;
        self.unread = checked.unread;
        self.rows = checked.rows;
        let findings = checked.findings.into_iter().map(|found| Finding {
            code: found.code,
            severity: found.severity,
            total: found.total,
            summary: found.summary.to_owned(),
            samples: found.samples,
            places: found.places,
        });
        self.findings = findings.collect();
    }

    fn be_unreadable(&mut self, words: String) {
        let sample = [("message".to_owned(), json!(words))].into_iter().collect();
        self.findings = vec![Finding {
            code: "unreadable".to_owned(),
            severity: Severity::Error,
            total: 1,
            summary: UNREADABLE.to_owned(),
            samples: vec![sample],
            places: Vec::new(),
        }];
        self.outcome = Outcome::Unreadable { words };
    }
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::queue::Queue;

    /// A schedule of a hundred thousand calls.
    fn schedule() -> Bytes {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        archive.start_file("stop_times.txt", SimpleFileOptions::default()).unwrap();
        archive.write_all(b"trip_id,arrival_time,departure_time,stop_id,stop_sequence\n").unwrap();
        for trip in 0..100 {
            let line = format!("T{trip},08:00:00,08:00:00,S1,1\n");
            archive.write_all(line.repeat(1_000).as_bytes()).unwrap();
        }
        archive.finish().unwrap().into_inner().into()
    }

    fn task(bytes: &Bytes) -> Task {
        let plan = Plan {
            input: "city".to_owned(),
            today: jiff::civil::date(2026, 6, 15),
            at: "2026-06-15T08:00:00Z".to_owned(),
            now: 1_781_510_400,
            ..Plan::plain()
        };
        let (body, at) = (Body::of(bytes.clone()), UnixMillis(1_781_510_400_000));
        let (feed, tag, memory) = ("city".to_owned(), String::new(), u64::MAX);
        Task { feed, body, tag, refused: false, plan, at, memory }
    }

    #[tokio::test]
    async fn a_look_that_is_stopped_leaves_its_slot_to_the_next() {
        let (queue, bytes) = (Queue::default(), schedule());
        queue.set_slots(1);
        assert!(queue.push("a", (), 2) && queue.push("b", (), 2));
        let (feed, (), permit) = queue.next().unwrap();
        let progress = Arc::new(Progress::default());
        assert!(queue.next().is_none(), "the only slot is taken");
        progress.stop();
        let done = begin(task(&bytes), permit, progress, Stopwatch::start()).unwrap();
        let report = done.await.unwrap();
        assert!(!matches!(report.outcome, Outcome::Whole), "it was stopped");
        assert_eq!(queue.figures().running, 0);
        queue.finish(&feed, None);
        let (feed, (), _permit) = queue.next().unwrap();
        assert_eq!((feed, queue.figures().running), ("b", 1));
    }
}
