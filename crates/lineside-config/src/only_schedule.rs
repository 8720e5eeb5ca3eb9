//! Attaches real-time feeds of the command line to the schedule, if there is only one.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use lineside_fetch::detect_source_format;
use lineside_formats::{Format, guess_format_by_name};
use lineside_model::FeedConfig;
use lineside_sync::Clock;
use lineside_sync::real_time::run_with_timeout;

/// Time limit for detecting the format of a source.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Attaches real-time feeds that name no schedule to the only schedule among `feeds`.
///
/// A source that does not answer counts as real-time, unless its address ends like a schedule's.
pub async fn attach_only_schedule(feeds: &mut [FeedConfig], clock: &Arc<dyn Clock>) {
    if feeds.len() < 2 || feeds.iter().all(|feed| feed.static_feed.is_some()) {
        return;
    }
    let formats = join_all(feeds.iter().map(|feed| detect_format(feed, clock))).await;
    let mut schedules = feeds.iter().zip(&formats).filter(|(_, format)| format.is_schedule());
    let (Some((schedule, _)), None) = (schedules.next(), schedules.next()) else { return };
    let schedule = schedule.id.clone();
    for (feed, format) in feeds.iter_mut().zip(&formats) {
        if format.is_realtime() && feed.static_feed.is_none() {
            feed.static_feed = Some(schedule.clone());
        }
    }
}

async fn detect_format(feed: &FeedConfig, clock: &Arc<dyn Clock>) -> Format {
    let seen = run_with_timeout(PROBE_TIMEOUT, detect_source_format(feed, Arc::clone(clock)))
        .await
        .flatten();
    let by_name = || guess_format_by_name(feed.url.last_path_segment().unwrap_or_default());
    seen.unwrap_or_else(by_name)
}
