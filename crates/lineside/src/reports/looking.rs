//! One look at one version: on a thread of its own, with a limit of time and memory.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lineside_ingest::Feed;
use lineside_store::BlobHash;
use lineside_sync::UnixMillis;
use lineside_sync::semaphore::OwnedPermit;
use lineside_validate::Severity;
use serde_json::json;
use tokio::sync::oneshot;

use super::queue::Job;
use super::reckoning::memory_for;
use super::report::{Fault, Finding, Outcome, Report, Subject};
use crate::app::App;
use crate::check::{self, Checked, Plan, Progress};
use crate::config::{Validation, duration_text, size_text};
use crate::http::rfc3339;
use crate::patience::{Stopwatch, within};

/// Findings of one kind that are kept.
const SAMPLES: usize = 100;
/// What is said of bytes that are no schedule.
const UNREADABLE: &str = "The newest version cannot be read as a schedule. The one before it is served on, if there is one.";

/// What a look is about.
struct Task {
    feed: String,
    bytes: Bytes,
    tag: String,
    refused: bool,
    plan: Plan,
    at: UnixMillis,
    memory: u64,
}

/// Holds a version of a feed against the rules; nothing if it is gone meanwhile.
pub(super) async fn look(app: &App, job: Job, permit: OwnedPermit) -> Option<Report> {
    let feed = app.ingest().feed(job.feed.as_str())?;
    let limits = app.config().validation.clone();
    let task = Task::of(&feed, &job, app.now(), &limits)?;
    drop(job);
    let (id, tag, refused, at) = (task.feed.clone(), task.tag.clone(), task.refused, task.at);
    let bytes = task.bytes.clone();
    let progress = Arc::new(Progress::default());
    let (seen, watch) = (Arc::clone(&progress), Stopwatch::start());
    let (reply, done) = oneshot::channel();
    let work = move || {
        // The slot is taken until the thread has ended, also where nobody waits for it any more.
        let _permit = permit;
        let _: Result<(), Report> = reply.send(task.run(&seen, &watch));
    };
    let gives_up = |words: String| {
        // What was not hashed by the look is hashed here: the version is known all the same.
        let version = BlobHash::of(&bytes).to_string();
        let subject = Subject::Dataset { version, tag: tag.clone(), refused };
        let mut report = Report::empty(id.clone(), subject, at);
        report.took_ms = millis(watch.elapsed());
        report.outcome = Outcome::Unfinished { words };
        report
    };
    if let Err(error) = std::thread::Builder::new().name("validate".to_owned()).spawn(work) {
        return Some(gives_up(format!("there was no thread for it: {error}")));
    }
    match within(limits.timeout, done).await {
        Some(Ok(report)) => Some(report),
        Some(Err(_)) => Some(gives_up("our validator broke off".to_owned())),
        None => {
            progress.stop();
            let limit = duration_text(limits.timeout);
            Some(gives_up(format!("it took longer than {limit}, which is validation.timeout")))
        }
    }
}

impl Task {
    fn of(feed: &Feed, job: &Job, now: UnixMillis, limits: &Validation) -> Option<Task> {
        let (bytes, tag, refused) = match &job.refused {
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
            country: limits.country,
            threads: 1,
            ignored: Vec::new(),
            output: None,
            samples: SAMPLES,
            with_places: true,
            files: check::Files::default(),
        };
        let (feed, memory) = (feed.id().to_string(), limits.memory);
        Some(Task { feed, bytes, tag, refused, plan, at: now, memory })
    }

    /// Looks. Takes as long as that takes.
    fn run(self, progress: &Progress, watch: &Stopwatch) -> Report {
        let version = BlobHash::of(&self.bytes).to_string();
        let subject = Subject::Dataset { version, tag: self.tag, refused: self.refused };
        let mut report = Report::empty(self.feed, subject, self.at);
        let needed = memory_for(&self.bytes, self.memory);
        if needed > self.memory {
            let (needs, may) = (size_text(needed.div_ceil(1 << 20) << 20), size_text(self.memory));
            let words = format!(
                "it would take about {needs} of memory, and validation.memory allows {may}"
            );
            report.outcome = Outcome::Unfinished { words };
            return report;
        }
        let elapsed = || watch.elapsed().as_secs_f64();
        match check::check(&self.bytes, self.plan, progress, &elapsed) {
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
