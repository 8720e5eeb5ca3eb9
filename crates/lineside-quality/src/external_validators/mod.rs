//! Runs the operator's own validators on schedules, in addition to our rules.
//!
//! `validation_tasks` queues each new version of a schedule for each validator of its format, and runs one program at a
//! time. The result is an [`ExternalReport`], which is stored like our reports and which `external_comparison` shows
//! next to ours. Nothing else waits for it, and it causes no notifications.

mod external_comparison;
pub mod external_report;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use lineside_config::ExternalValidatorConfig;
use lineside_model::FeedId;
use parking_lot::Mutex;
use smol_str::SmolStr;

use crate::job_queue::{JobQueue, QueueStats};

pub use self::external_comparison::{ComparedCode, ExternalComparison};
pub use self::external_report::{ExternalOutput, ExternalReport, ExternalResult, FailedRun};

/// The latest reports on each feed, sorted by validator.
type ExternalReportsByFeed = HashMap<String, Arc<[Arc<ExternalReport>]>>;

/// A feed and a validator's name. The run validates the version that is served when it starts.
pub type ValidatorJobKey = (FeedId, SmolStr);

/// The latest reports on all feeds, and the queue of runs.
#[derive(Debug, Default)]
pub struct ExternalValidatorReports {
    by_feed: ArcSwap<ExternalReportsByFeed>,
    /// Locked during each change of `by_feed`, so that none is lost.
    changing: Mutex<()>,
    pub queue: JobQueue<ValidatorJobKey, Arc<ExternalValidatorConfig>>,
}

impl ExternalValidatorReports {
    /// Returns the latest reports on a feed, sorted by validator.
    pub fn latest_reports_of_feed(&self, feed: &str) -> Arc<[Arc<ExternalReport>]> {
        self.by_feed.load().get(feed).cloned().unwrap_or_default()
    }

    /// Returns a validator's latest report on a feed.
    pub fn find_latest_report(&self, feed: &str, validator: &str) -> Option<Arc<ExternalReport>> {
        self.latest_reports_of_feed(feed)
            .iter()
            .find(|report| report.validator == validator)
            .cloned()
    }

    /// Returns the statistics of the queue.
    pub fn run_queue_stats(&self) -> QueueStats {
        self.queue.stats()
    }

    /// Returns true if a validator's run on a feed is queued or in progress.
    pub fn is_run_pending(&self, feed: &str, validator: &str) -> bool {
        self.queue.job_status(|(id, name)| id.as_str() == feed && name == validator).is_some()
    }

    /// Replaces a validator's latest report on a feed.
    pub fn replace_latest_report(&self, feed: &str, report: ExternalReport) {
        let _changing = self.changing.lock();
        let mut reports = self.latest_reports_of_feed(feed).to_vec();
        reports.retain(|other| other.validator != report.validator);
        reports.push(Arc::new(report));
        reports.sort_by(|a, b| a.validator.cmp(&b.validator));
        let mut next = ExternalReportsByFeed::clone(&self.by_feed.load());
        next.insert(feed.to_owned(), reports.into());
        self.by_feed.store(Arc::new(next));
    }

    /// Removes reports and queued runs of deleted feeds and validators.
    pub fn retain_feeds_and_validators(&self, is_member: impl Fn(&str, &str) -> bool) {
        self.queue.retain_waiting_jobs(|(feed, validator)| is_member(feed.as_str(), validator));
        let _changing = self.changing.lock();
        let before = self.by_feed.load_full();
        let has_current = |(feed, reports): (&String, &Arc<[Arc<ExternalReport>]>)| {
            reports.iter().all(|report| is_member(feed, &report.validator))
        };
        if before.iter().all(has_current) {
            return;
        }
        let mut next = ExternalReportsByFeed::clone(&before);
        next.retain(|feed, reports| {
            let remaining = reports.iter().filter(|report| is_member(feed, &report.validator));
            *reports = remaining.cloned().collect();
            !reports.is_empty()
        });
        self.by_feed.store(Arc::new(next));
    }
}

#[cfg(test)]
mod tests {
    use super::external_report::tests::sample_external_report;
    use super::*;

    #[test]
    fn the_latest_report_is_retained_while_validator_and_feed_exist() {
        let known = ExternalValidatorReports::default();
        known.replace_latest_report("city", sample_external_report("b", "1"));
        known.replace_latest_report("city", sample_external_report("a", "1"));
        known.replace_latest_report("city", sample_external_report("b", "2"));
        known.replace_latest_report("town", sample_external_report("a", "3"));
        let names = |feed: &str| {
            let reports = known.latest_reports_of_feed(feed);
            let describe = |it: &Arc<ExternalReport>| format!("{} {}", it.validator, it.version);
            reports.iter().map(describe).collect::<Vec<_>>()
        };
        assert_eq!(names("city"), ["a 1", "b 2"]);
        assert_eq!(known.find_latest_report("city", "b").unwrap().version, "2");
        known.retain_feeds_and_validators(|feed, validator| feed == "city" && validator == "b");
        assert_eq!(names("city"), ["b 2"]);
        assert!(names("town").is_empty() && !known.by_feed.load().contains_key("town"));
    }
}
