//! A validation of one version, on a separate thread and within limits of time and memory.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lineside_config::times::format_rfc3339;
use lineside_config::{ValidationConfig, format_duration};
use lineside_ingest::Feed;
use lineside_model::{FeedId, SiriIds};
use lineside_store::BlobHash;
use lineside_sync::UnixMillis;
use lineside_sync::real_time::{Stopwatch, run_within};
use lineside_sync::semaphore::OwnedPermit;
use lineside_validate::Severity;
use serde_json::json;
use tokio::sync::oneshot;

use crate::check::{
    self, CheckPlan, CheckProgress, CheckReport, describe_memory_excess, estimate_until_cancelled,
};
use crate::context::ServerContext;
use crate::reports::Version;
use crate::reports::validation_report::{
    ReportFinding, ReportOutcome, ReportSubject, RuleFault, ValidationReport,
};

/// Maximum number of stored findings of one code.
const SAMPLES: usize = 100;
/// The summary of the finding that the data is not a schedule.
const UNREADABLE: &str = "The newest version cannot be read as a schedule. Lineside keeps serving the previous version, if any.";

/// The input of a validation.
struct ValidationTask {
    feed: String,
    body: Arc<VersionBody>,
    content_hash: String,
    is_rejected: bool,
    plan: CheckPlan,
    at: UnixMillis,
    memory: u64,
}

/// The bytes of a version and their hash. They may be hundreds of megabytes, so the first caller hashes them, off the
/// runtime's threads.
struct VersionBody {
    bytes: Bytes,
    version: OnceLock<String>,
}

impl VersionBody {
    fn from_bytes(bytes: Bytes) -> Arc<VersionBody> {
        Arc::new(VersionBody { bytes, version: OnceLock::new() })
    }

    fn version_hash(&self) -> String {
        self.version.get_or_init(|| BlobHash::from_content(&self.bytes).to_string()).clone()
    }
}

/// Validates a version of a feed; returns `None` if the feed or the version is gone.
pub(crate) async fn validate_version(
    context: &ServerContext,
    id: &FeedId,
    version: Version,
    permit: OwnedPermit,
) -> Option<ValidationReport> {
    let feed = context.ingest().find_feed(id.as_str())?;
    let limits = context.config().validation.clone();
    let task = ValidationTask::for_version(&feed, version, context.now(), &limits)?;
    let (body, content_hash, refused, at) =
        (Arc::clone(&task.body), task.content_hash.clone(), task.is_rejected, task.at);
    let progress = Arc::new(CheckProgress::default());
    let watch = Stopwatch::start();
    let message = match spawn_validation(task, permit, Arc::clone(&progress), watch) {
        Err(error) => format!("its thread could not be started: {error}"),
        Ok(done) => match run_within(limits.timeout, done).await {
            Some(Ok(report)) => return Some(report),
            Some(Err(_)) => "the validator crashed".to_owned(),
            None => {
                progress.cancel_check();
                let limit = format_duration(limits.timeout);
                format!("it took longer than validation.timeout ({limit})")
            }
        },
    };
    let took_ms = to_millis(watch.elapsed());
    // A report needs the version's hash even if the validation did not compute it.
    let version = tokio::task::spawn_blocking(move || body.version_hash()).await.ok()?;
    let subject = ReportSubject::Dataset { version, tag: content_hash, refused };
    let mut report = ValidationReport::empty_report(id.to_string(), subject, at);
    (report.took_ms, report.outcome) = (took_ms, ReportOutcome::Unfinished { words: message });
    Some(report)
}

/// Starts the validation on a separate thread.
fn spawn_validation(
    task: ValidationTask,
    permit: OwnedPermit,
    progress: Arc<CheckProgress>,
    watch: Stopwatch,
) -> io::Result<oneshot::Receiver<ValidationReport>> {
    let (reply, done) = oneshot::channel();
    let work = move || {
        let report = task.run_rules(&progress, &watch);
        // The slot stays taken until the thread ends, even after a timeout: soon after the cancellation.
        drop(permit);
        let _: Result<(), ValidationReport> = reply.send(report);
    };
    std::thread::Builder::new().name("validate".to_owned()).spawn(work)?;
    Ok(done)
}

impl ValidationTask {
    fn for_version(
        feed: &Feed,
        version: Version,
        now: UnixMillis,
        limits: &ValidationConfig,
    ) -> Option<ValidationTask> {
        let (bytes, content_hash, refused) = match version {
            Some(refused) => (refused.bytes.clone(), String::new(), true),
            None => {
                let served = feed.current()?;
                let snapshot = served.snapshot();
                (snapshot.bytes.clone(), format!("{:032x}", snapshot.hash), false)
            }
        };
        let timetable = feed.network().timetable();
        let zone = timetable.map_or(TimeZone::UTC, |timetable| timetable.timezone().clone());
        let moment = Timestamp::from_millisecond(now.0).ok()?;
        let plan = CheckPlan {
            input: feed.id().to_string(),
            today: moment.to_zoned(zone).date(),
            at: format_rfc3339(now)?,
            now: moment.as_second(),
            schedule: None,
            previous: None,
            ids: SiriIds::Same,
            country: limits.country,
            threads: 1,
            ignored: Vec::new(),
            output: None,
            samples: SAMPLES,
            has_places: true,
            memory: None,
            files: check::CheckSystemFiles::default(),
        };
        let (feed, memory) = (feed.id().to_string(), limits.memory);
        Some(ValidationTask {
            feed,
            body: VersionBody::from_bytes(bytes),
            content_hash,
            is_rejected: refused,
            plan,
            at: now,
            memory,
        })
    }

    /// Runs the validation. Blocks for as long as that takes.
    fn run_rules(self, progress: &CheckProgress, watch: &Stopwatch) -> ValidationReport {
        let bytes = &self.body.bytes;
        let version = self.body.version_hash();
        let subject =
            ReportSubject::Dataset { version, tag: self.content_hash, refused: self.is_rejected };
        let mut report = ValidationReport::empty_report(self.feed, subject, self.at);
        match estimate_until_cancelled(bytes, self.memory, progress.cancel_token()) {
            Ok(needed) => {
                if let Some(message) =
                    describe_memory_excess(needed, self.memory, "validation.memory")
                {
                    report.outcome = ReportOutcome::Unfinished { words: message };
                    return report;
                }
            }
            Err(error) => {
                report.mark_unreadable(error.to_string());
                return report;
            }
        }
        let elapsed = || watch.elapsed().as_secs_f64();
        match check::check_input(bytes, self.plan, progress, &elapsed) {
            Ok(checked) => report.add_check_result(checked),
            Err(message) => report.mark_unreadable(message),
        }
        report.took_ms = to_millis(watch.elapsed());
        report
    }
}

impl ValidationReport {
    /// Returns a report without findings.
    fn empty_report(feed: String, subject: ReportSubject, at: UnixMillis) -> ValidationReport {
        ValidationReport {
            feed,
            subject,
            at,
            validator: env!("CARGO_PKG_VERSION").to_owned(),
            took_ms: 0,
            outcome: ReportOutcome::Whole,
            findings: Vec::new(),
            faults: Vec::new(),
            changes: None,
            about: json!({}),
            outline: Vec::new(),
            unread: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn add_check_result(&mut self, checked: CheckReport) {
        self.about = checked.summary_json();
        let fault = |rule: &str, message: &str| RuleFault {
            rule: rule.to_owned(),
            message: message.to_owned(),
        };
        self.faults = checked.errors.iter().map(|it| fault(it.rule, &it.message)).collect();
        self.outline = checked.outline;
        self.unread = checked.unread;
        self.rows = checked.rows;
        let findings = checked.findings.into_iter().map(|found| ReportFinding {
            code: found.code,
            severity: found.severity,
            total: found.total,
            summary: found.summary.to_owned(),
            samples: found.samples,
            places: found.places,
        });
        self.findings = findings.collect();
    }

    fn mark_unreadable(&mut self, message: String) {
        let sample = [("message".to_owned(), json!(message))].into_iter().collect();
        self.findings = vec![ReportFinding {
            code: "unreadable".to_owned(),
            severity: Severity::Error,
            total: 1,
            summary: UNREADABLE.to_owned(),
            samples: vec![sample],
            places: Vec::new(),
        }];
        self.outcome = ReportOutcome::Unreadable { words: message };
    }
}

fn to_millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::job_queue::JobQueue;

    /// Returns a schedule with a hundred thousand stop times.
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

    fn task(bytes: &Bytes) -> ValidationTask {
        let plan = CheckPlan {
            input: "city".to_owned(),
            today: jiff::civil::date(2026, 6, 15),
            at: "2026-06-15T08:00:00Z".to_owned(),
            now: 1_781_510_400,
            ..CheckPlan::for_tests()
        };
        let (body, at) = (VersionBody::from_bytes(bytes.clone()), UnixMillis(1_781_510_400_000));
        let (feed, content_hash, memory) = ("city".to_owned(), String::new(), u64::MAX);
        ValidationTask { feed, body, content_hash, is_rejected: false, plan, at, memory }
    }

    #[tokio::test]
    async fn a_cancelled_validation_frees_its_slot() {
        let (queue, bytes) = (JobQueue::default(), schedule());
        queue.set_concurrency(1);
        assert!(queue.push("a", (), 2) && queue.push("b", (), 2));
        let (feed, (), permit) = queue.start_next_job().unwrap();
        let progress = Arc::new(CheckProgress::default());
        assert!(queue.start_next_job().is_none(), "the only slot is taken");
        progress.cancel_check();
        let done = spawn_validation(task(&bytes), permit, progress, Stopwatch::start()).unwrap();
        let report = done.await.unwrap();
        assert!(!matches!(report.outcome, ReportOutcome::Whole), "the validation was cancelled");
        assert_eq!(queue.stats().running, 0);
        queue.finish_job(&feed, None);
        let (feed, (), _permit) = queue.start_next_job().unwrap();
        assert_eq!((feed, queue.stats().running), ("b", 1));
    }
}
