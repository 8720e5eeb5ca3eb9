//! What the operator's own validators say of schedules, beside what we say.
//!
//! `watch` looks at all schedules once a second and has each new version wait in a bounded queue, once for each validator of
//! its format; one program runs at a time, in `running`. What comes of it is an [`ExternalReport`], which is kept as reports are and
//! shown `beside` ours. Nobody else waits for it, and it is told to nobody.

mod external_comparison;
mod external_report;
mod validator_run;
mod validator_scheduler;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use lineside_ingest::FeedId;
use parking_lot::Mutex;
use smol_str::SmolStr;

use crate::config::ExternalValidatorConfig;
use crate::job_queue::{JobQueue, QueueStats};

pub(crate) use self::external_comparison::{
    ComparedCode, ExternalComparison, compare_external_reports,
};
#[cfg(test)]
pub(crate) use self::external_report::FailedRun;
pub(crate) use self::external_report::{ExternalOutput, ExternalReport, ExternalResult};
pub(crate) use self::validator_scheduler::run_scheduler;

/// The latest opinions on each feed, by the validators' names.
type ByFeed = HashMap<String, Arc<[Arc<ExternalReport>]>>;

/// A feed, and the name of a validator that its version is to be given to: the one that is served when its turn comes.
type Key = (FeedId, SmolStr);

/// The latest opinions on all feeds, and the queue of those to come.
#[derive(Debug, Default)]
pub(crate) struct ExternalValidators {
    by_feed: ArcSwap<ByFeed>,
    /// Held by whoever changes what is known, so that nothing is lost.
    changing: Mutex<()>,
    queue: JobQueue<Key, Arc<ExternalValidatorConfig>>,
}

impl ExternalValidators {
    /// The latest opinions on a feed, by name.
    pub(crate) fn feed_reports(&self, feed: &str) -> Arc<[Arc<ExternalReport>]> {
        self.by_feed.load().get(feed).cloned().unwrap_or_default()
    }

    /// The latest opinion of one of them on a feed.
    fn find_report(&self, feed: &str, validator: &str) -> Option<Arc<ExternalReport>> {
        self.feed_reports(feed).iter().find(|opinion| opinion.validator == validator).cloned()
    }

    /// What waits and runs, and what came of it so far.
    pub(crate) fn queue_stats(&self) -> QueueStats {
        self.queue.stats()
    }

    /// Whether a feed's newest version waits for a validator, or it looks at one right now.
    fn is_pending(&self, feed: &str, validator: &str) -> bool {
        self.queue.job_status(|(id, name)| id.as_str() == feed && name == validator).is_some()
    }

    /// Makes it the latest of its validator.
    fn put_report(&self, feed: &str, opinion: ExternalReport) {
        let _changing = self.changing.lock();
        let mut opinions = self.feed_reports(feed).to_vec();
        opinions.retain(|other| other.validator != opinion.validator);
        opinions.push(Arc::new(opinion));
        opinions.sort_by(|a, b| a.validator.cmp(&b.validator));
        let mut next = ByFeed::clone(&self.by_feed.load());
        next.insert(feed.to_owned(), opinions.into());
        self.by_feed.store(Arc::new(next));
    }

    /// Lets go of what is known of feeds and validators that are gone.
    fn retain(&self, is_there: impl Fn(&str, &str) -> bool) {
        self.queue.retain(|(feed, validator)| is_there(feed.as_str(), validator));
        let _changing = self.changing.lock();
        let before = self.by_feed.load_full();
        let stays = |(feed, opinions): (&String, &Arc<[Arc<ExternalReport>]>)| {
            opinions.iter().all(|opinion| is_there(feed, &opinion.validator))
        };
        if before.iter().all(stays) {
            return;
        }
        let mut next = ByFeed::clone(&before);
        next.retain(|feed, opinions| {
            let stay = opinions.iter().filter(|opinion| is_there(feed, &opinion.validator));
            *opinions = stay.cloned().collect();
            !opinions.is_empty()
        });
        self.by_feed.store(Arc::new(next));
    }
}

#[cfg(test)]
mod tests {
    use super::external_report::tests::sample_external_report;
    use super::*;

    #[test]
    fn the_latest_of_each_validator_is_known_until_it_or_the_feed_is_gone() {
        let known = ExternalValidators::default();
        known.put_report("city", sample_external_report("b", "1"));
        known.put_report("city", sample_external_report("a", "1"));
        known.put_report("city", sample_external_report("b", "2"));
        known.put_report("town", sample_external_report("a", "3"));
        let names = |feed: &str| {
            let opinions = known.feed_reports(feed);
            let told = |it: &Arc<ExternalReport>| format!("{} {}", it.validator, it.version);
            opinions.iter().map(told).collect::<Vec<_>>()
        };
        assert_eq!(names("city"), ["a 1", "b 2"]);
        assert_eq!(known.find_report("city", "b").unwrap().version, "2");
        known.retain(|feed, validator| feed == "city" && validator == "b");
        assert_eq!(names("city"), ["b 2"]);
        assert!(names("town").is_empty() && !known.by_feed.load().contains_key("town"));
    }
}
