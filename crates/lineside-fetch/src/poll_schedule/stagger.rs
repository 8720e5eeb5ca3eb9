//! Staggering of first polls: neither all feeds of one host nor all hosts at once.

use std::{collections::HashMap, time::Duration};

use crate::{
    feed_config::FeedConfig,
    feed_id::FeedId,
    limits::{HOST_START_GAP, START_GAP},
};

/// The delay of each feed after the start.
#[derive(Clone, Debug, Default)]
pub struct FirstPollDelays(HashMap<FeedId, Duration>);

impl FirstPollDelays {
    /// Computes the delays. Feeds on the local disk have none.
    ///
    /// The feeds of one host are [`HOST_START_GAP`] apart, or less if they would not all be polled within the
    /// shortest of their intervals; all feeds together are [`START_GAP`] apart.
    pub fn new<'a>(
        feeds: impl Iterator<Item = &'a FeedConfig>,
        rng: &mut fastrand::Rng,
    ) -> FirstPollDelays {
        let mut hosts: HashMap<String, Vec<&FeedConfig>> = HashMap::new();
        let mut starts = HashMap::new();
        let mut n_before = 0_u32;
        let mut in_order = Vec::new();
        for feed in feeds {
            let Some(host) = feed.url.host_with_port() else { continue };
            let at_all = START_GAP.saturating_mul(n_before);
            n_before = n_before.saturating_add(1);
            let others = hosts.entry(host.clone()).or_default();
            in_order.push((feed, host, others.len(), at_all));
            others.push(feed);
        }
        for (feed, host, initial_delay, at_all) in in_order {
            let gap =
                hosts.get(&host).map_or(HOST_START_GAP, |feeds| gap_between_first_polls(feeds));
            let at_host = gap.saturating_mul(u32::try_from(initial_delay).unwrap_or(u32::MAX));
            let chance = gap.mul_f64(0.5 * rng.f64());
            starts.insert(feed.id.clone(), at_all.max(at_host) + chance);
        }
        FirstPollDelays(starts)
    }

    pub fn first_poll_delay(&self, feed: &FeedId) -> Duration {
        self.0.get(feed).copied().unwrap_or_default()
    }
}

fn gap_between_first_polls(feeds: &[&FeedConfig]) -> Duration {
    let shortest = feeds.iter().map(|feed| feed.poll_interval(None)).min().unwrap_or_default();
    let n_feeds = u32::try_from(feeds.len()).unwrap_or(u32::MAX).max(1);
    HOST_START_GAP.min(shortest / n_feeds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceLocation;

    fn feeds(n: usize, url: impl Fn(usize) -> String) -> Vec<FeedConfig> {
        let feed = |i| {
            let id = FeedId::new(&format!("f{i}")).unwrap();
            FeedConfig::new(id, SourceLocation::parse(&url(i)).unwrap())
        };
        (0..n).map(feed).collect()
    }

    /// Returns the start times of feeds in order.
    fn starts(feeds: &[FeedConfig]) -> Vec<Duration> {
        let spread = FirstPollDelays::new(feeds.iter(), &mut fastrand::Rng::with_seed(5));
        let mut starts: Vec<_> =
            feeds.iter().map(|feed| spread.first_poll_delay(&feed.id)).collect();
        starts.sort();
        starts
    }

    #[test]
    fn feeds_of_one_host_start_staggered_within_an_interval() {
        for n in [2, 20, 60, 1_000] {
            let starts = starts(&feeds(n, |i| format!("https://a.example/{i}")));
            let gap = HOST_START_GAP.min(Duration::from_secs(15) / n as u32);
            for pair in starts.windows(2) {
                assert!(pair[1] - pair[0] >= gap / 2, "{n} feeds: {pair:?}");
            }
            assert!(*starts.last().unwrap() <= Duration::from_secs(15).max(START_GAP * n as u32));
        }
    }

    #[test]
    fn starts_of_many_hosts_are_staggered() {
        let starts = starts(&feeds(1_000, |i| format!("https://{i}.example/")));
        for (i, start) in starts.iter().enumerate() {
            let second = starts[i..].iter().take_while(|at| **at < *start + Duration::from_secs(1));
            assert!(second.count() <= 700, "after {start:?}");
        }
    }

    #[test]
    fn the_first_feed_of_a_host_and_local_files_start_at_once() {
        assert!(starts(&feeds(1, |_| "https://a.example/".to_owned()))[0] < HOST_START_GAP);
        assert_eq!(starts(&feeds(3, |i| format!("{i}.zip"))), [Duration::ZERO; 3]);
    }
}
