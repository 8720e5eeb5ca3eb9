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
use lineside_model::{FeedId, SiriIdMapping};
use lineside_store::BlobHash;
use lineside_sync::UnixMillis;
use lineside_sync::real_time::{RealTimeStopwatch, run_with_timeout};
use lineside_sync::semaphore::OwnedPermit;
use lineside_validate::Severity;
use serde_json::json;
use tokio::sync::oneshot;

use crate::check::{
    self, CheckPlan, CheckReadProgress, CheckReport, describe_if_over_memory_limit,
    estimate_until_cancelled,
};
use crate::context::ServerContext;
use crate::reports::VersionToValidate;
use crate::reports::validation_report::{
    FailedRule, FeedValidationReport, FindingsOfCode, ReportOutcome, ValidatedSubject,
};

/// Maximum number of stored findings of one code.
const SAMPLES: usize = 100;
/// The summary of the finding that the data is not a schedule.
const UNREADABLE: &str = "The newest version cannot be read as a schedule. Lineside keeps serving the previous version, if any.";

/// The input of a validation.
struct VersionValidation {
    feed: String,
    body: Arc<VersionBytes>,
    content_hash: String,
    is_rejected: bool,
    plan: CheckPlan,
    at: UnixMillis,
    memory: u64,
}

/// The bytes of a version and their hash. They may be hundreds of megabytes, so the first caller hashes them, off the
/// runtime's threads.
struct VersionBytes {
    bytes: Bytes,
    version: OnceLock<String>,
}

impl VersionBytes {
    fn from_bytes(bytes: Bytes) -> Arc<VersionBytes> {
        Arc::new(VersionBytes { bytes, version: OnceLock::new() })
    }

    fn get_or_compute_hash(&self) -> String {
        self.version.get_or_init(|| BlobHash::from_content(&self.bytes).to_string()).clone()
    }
}

/// Validates a version of a feed; returns `None` if the feed or the version is gone.
pub(crate) async fn validate_version(
    context: &ServerContext,
    id: &FeedId,
    version: VersionToValidate,
    permit: OwnedPermit,
) -> Option<FeedValidationReport> {
    let feed = context.ingest().find_feed(id.as_str())?;
    let limits = context.config().validation.clone();
    let task = VersionValidation::for_version(&feed, version, context.wall_time_now(), &limits)?;
    let (body, content_hash, refused, at) =
        (Arc::clone(&task.body), task.content_hash.clone(), task.is_rejected, task.at);
    let progress = Arc::new(CheckReadProgress::default());
    let watch = RealTimeStopwatch::start_stopwatch();
    let message = match spawn_validation_thread(task, permit, Arc::clone(&progress), watch) {
        Err(error) => format!("its thread could not be started: {error}"),
        Ok(done) => match run_with_timeout(limits.timeout, done).await {
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
    let version = tokio::task::spawn_blocking(move || body.get_or_compute_hash()).await.ok()?;
    let subject = ValidatedSubject::Dataset { version, tag: content_hash, refused };
    let mut report = FeedValidationReport::empty_report(id.to_string(), subject, at);
    (report.took_ms, report.outcome) = (took_ms, ReportOutcome::Unfinished { words: message });
    Some(report)
}

/// Starts the validation on a separate thread.
fn spawn_validation_thread(
    task: VersionValidation,
    permit: OwnedPermit,
    progress: Arc<CheckReadProgress>,
    watch: RealTimeStopwatch,
) -> io::Result<oneshot::Receiver<FeedValidationReport>> {
    let (reply, done) = oneshot::channel();
    let work = move || {
        let report = task.validate_into_report(&progress, &watch);
        // The slot stays taken until the thread ends, even after a timeout: soon after the cancellation.
        drop(permit);
        let _: Result<(), FeedValidationReport> = reply.send(report);
    };
    std::thread::Builder::new().name("validate".to_owned()).spawn(work)?;
    Ok(done)
}

impl VersionValidation {
    fn for_version(
        feed: &Feed,
        version: VersionToValidate,
        now: UnixMillis,
        limits: &ValidationConfig,
    ) -> Option<VersionValidation> {
        let (bytes, content_hash, refused) = match version {
            Some(refused) => (refused.bytes.clone(), String::new(), true),
            None => {
                let served = feed.served_snapshot()?;
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
            ids: SiriIdMapping::Same,
            country: limits.country,
            threads: 1,
            ignored: Vec::new(),
            output: None,
            samples: SAMPLES,
            has_places: true,
            memory: None,
            files: check::GbfsSystemCheckFiles::default(),
        };
        let (feed, memory) = (feed.id().to_string(), limits.memory);
        Some(VersionValidation {
            feed,
            body: VersionBytes::from_bytes(bytes),
            content_hash,
            is_rejected: refused,
            plan,
            at: now,
            memory,
        })
    }

    /// Runs the validation. Blocks for as long as that takes.
    fn validate_into_report(
        self,
        progress: &CheckReadProgress,
        watch: &RealTimeStopwatch,
    ) -> FeedValidationReport {
        let bytes = &self.body.bytes;
        let version = self.body.get_or_compute_hash();
        let subject = ValidatedSubject::Dataset {
            version,
            tag: self.content_hash,
            refused: self.is_rejected,
        };
        let mut report = FeedValidationReport::empty_report(self.feed, subject, self.at);
        match estimate_until_cancelled(bytes, self.memory, progress.cancel_token()) {
            Ok(needed) => {
                if let Some(message) =
                    describe_if_over_memory_limit(needed, self.memory, "validation.memory")
                {
                    report.outcome = ReportOutcome::Unfinished { words: message };
                    return report;
                }
            }
            Err(error) => {
                report.set_unreadable_finding(error.to_string());
                return report;
            }
        }
        let elapsed = || watch.elapsed().as_secs_f64();
        match check::check_input(bytes, self.plan, progress, &elapsed) {
            Ok(checked) => report.set_check_result(checked),
            Err(message) => report.set_unreadable_finding(message),
        }
        report.took_ms = to_millis(watch.elapsed());
        report
    }
}

impl FeedValidationReport {
    /// Returns a report without findings.
    fn empty_report(
        feed: String,
        subject: ValidatedSubject,
        at: UnixMillis,
    ) -> FeedValidationReport {
        FeedValidationReport {
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

    fn set_check_result(&mut self, checked: CheckReport) {
        self.about = checked.summary_json();
        let fault = |rule: &str, message: &str| FailedRule {
            rule: rule.to_owned(),
            message: message.to_owned(),
        };
        self.faults = checked.errors.iter().map(|it| fault(it.rule, &it.message)).collect();
        self.outline = checked.outline;
        self.unread = checked.unread;
        self.rows = checked.rows;
        let findings = checked.findings.into_iter().map(|found| FindingsOfCode {
            code: found.code,
            severity: found.severity,
            total: found.total,
            summary: found.summary.to_owned(),
            samples: found.samples,
            places: found.places,
        });
        self.findings = findings.collect();
    }

    fn set_unreadable_finding(&mut self, message: String) {
        let sample = [("message".to_owned(), json!(message))].into_iter().collect();
        self.findings = vec![FindingsOfCode {
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

    fn task(bytes: &Bytes) -> VersionValidation {
        let plan = CheckPlan {
            input: "city".to_owned(),
            today: jiff::civil::date(2026, 6, 15),
            at: "2026-06-15T08:00:00Z".to_owned(),
            now: 1_781_510_400,
            ..CheckPlan::for_tests()
        };
        let (body, at) = (VersionBytes::from_bytes(bytes.clone()), UnixMillis(1_781_510_400_000));
        let (feed, content_hash, memory) = ("city".to_owned(), String::new(), u64::MAX);
        VersionValidation { feed, body, content_hash, is_rejected: false, plan, at, memory }
    }

    #[tokio::test]
    async fn a_cancelled_validation_frees_its_slot() {
        let (queue, bytes) = (JobQueue::default(), schedule());
        queue.set_max_running(1);
        assert!(queue.push("a", (), 2) && queue.push("b", (), 2));
        let (feed, (), permit) = queue.start_next_job().unwrap();
        let progress = Arc::new(CheckReadProgress::default());
        assert!(queue.start_next_job().is_none(), "the only slot is taken");
        progress.cancel_check();
        let done = spawn_validation_thread(
            task(&bytes),
            permit,
            progress,
            RealTimeStopwatch::start_stopwatch(),
        )
        .unwrap();
        let report = done.await.unwrap();
        assert!(!matches!(report.outcome, ReportOutcome::Whole), "the validation was cancelled");
        assert_eq!(queue.stats().running, 0);
        queue.mark_job_finished(&feed, None);
        let (feed, (), _permit) = queue.start_next_job().unwrap();
        assert_eq!((feed, queue.stats().running), ("b", 1));
    }
}
