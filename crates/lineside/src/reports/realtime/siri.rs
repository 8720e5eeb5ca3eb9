//! Messages of SIRI: each is held against SIRI's own rules as it passes, and then all that they come to against the rules of real time
//! that are about trips, times and places, not about how GTFS-Realtime is written.
//!
//! Where a message is all that its producer knows, both happen at once. Where it is a page or what has changed, what was found is
//! gathered, and judged together so long after the first of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lineside_formats::gtfs_rt::proto::FeedMessage;
use lineside_formats::siri::Message;
use lineside_ingest::exports::{Part, gtfs_rt};
use lineside_ingest::{Feed, Network, SiriPart};
use lineside_sync::UnixMillis;
use lineside_validate::rules::gtfs_rt::Scope;
use lineside_validate::rules::siri::validate_while;

use super::{Asked, Found, HELD_BYTES_MAX, Messages, Place, message_of};
use crate::patience::Stopwatch;

/// How long what changes is gathered before it is judged together.
const GATHERED_FOR: Duration = Duration::from_secs(10);

/// What was found in messages that are not judged as a whole yet.
#[derive(Debug)]
pub(super) struct Gathered {
    found: Found,
    /// When the first of them came.
    since: Stopwatch,
    /// When the last one came,
    at: UnixMillis,
    /// on the clock of the feed's data, in seconds since 1970.
    received: i64,
    /// One of them told of calls at stops that were asked about, which are not all that there are.
    has_visits: bool,
    /// One of them held changes only.
    has_changes: bool,
    /// The last of them was all that there is, or the last page of it.
    is_complete: bool,
}

impl Place {
    /// Whether something waits, or was gathered for long enough.
    pub(super) fn has_something_due(&self) -> bool {
        self.waiting.lock().is_some() || self.is_gathered()
    }

    fn is_gathered(&self) -> bool {
        let gathered = self.gathered.lock();
        let is_due = |it: &Gathered| it.is_complete || it.since.elapsed() >= GATHERED_FOR;
        gathered.as_ref().is_some_and(is_due)
    }

    /// Whether a message waits for its schedule to be prepared.
    pub(super) fn waits_for_schedule(&self) -> bool {
        let gathered = self.gathered.lock();
        self.waiting.lock().is_some() || gathered.as_ref().is_some_and(|it| it.is_complete)
    }
}

impl Messages {
    /// Holds a message against SIRI's own rules, and has the rest judged where it is all that there is.
    pub(super) fn gather(
        &self,
        feed: &Feed,
        (message, part): (&Message, SiriPart),
        at: UnixMillis,
        received: i64,
    ) {
        let (place, watch) = (self.place(feed.id()), Stopwatch::start());
        let mut held = place.gathered.lock();
        let begin = || Gathered {
            found: Found::new(),
            since: Stopwatch::start(),
            at,
            received,
            has_visits: false,
            has_changes: false,
            is_complete: false,
        };
        // One that waits for its schedule to be prepared gives way to the next.
        held.take_if(|it| it.is_complete);
        let gathered = held.get_or_insert_with(begin);
        let goes_on = || watch.elapsed() < self.limits.message_time;
        let verdict = validate_while(message, &mut gathered.found.notices, &goes_on);
        gathered.found.errors.extend(verdict.errors);
        gathered.found.is_cut_short |= verdict.is_cut_short;
        (gathered.at, gathered.received) = (at, received);
        gathered.has_visits |= message.deliveries().any(|it| !it.stop_monitorings.is_empty());
        gathered.has_changes |= part == SiriPart::Changes;
        gathered.is_complete = part == SiriPart::Whole;
        drop(held);
        self.looked.fetch_add(1, Ordering::Relaxed);
        self.cut_short.fetch_add(u64::from(verdict.is_cut_short), Ordering::Relaxed);
        if part == SiriPart::Whole {
            self.judge(feed, &place, &watch);
        }
    }

    /// Judges what was gathered for long enough.
    pub(super) fn judge_gathered(&self, feed: &Feed, place: &Place) {
        if place.is_gathered() {
            self.judge(feed, place, &Stopwatch::start());
        }
    }

    /// Holds all that the messages come to against the rules, and has what was found in them told with that.
    fn judge(&self, feed: &Feed, place: &Place, watch: &Stopwatch) {
        let network = feed.network();
        let schedule = match self.schedule_of(feed, &network) {
            Ok(Some(schedule)) => schedule,
            // It is being prepared; it is looked again once a second.
            Ok(None) => return,
            Err(refusal) => {
                let gathered = place.gathered.lock().take();
                if let Some(gathered) = gathered {
                    place.refuse(refusal, gathered.at);
                }
                return;
            }
        };
        let Some(gathered) = place.gathered.lock().take() else { return };
        let Gathered { found, at, received, has_visits, has_changes, .. } = gathered;
        let Some((message, size)) = come_to(feed, &network) else { return };
        let scope = Scope {
            has_schedule: schedule.name.is_some(),
            is_translated: true,
            is_whole: !has_visits,
            is_said_anew: !has_changes,
        };
        let others = self.others(&network, feed.id(), received);
        let previous = place.previous.lock().clone();
        let asked = Asked { message: &message, previous, others, schedule, scope, received };
        let was_cut_short = found.is_cut_short;
        let is_cut_short = self.take(&network, place, (asked, found), at, watch);
        self.cut_short.fetch_add(u64::from(is_cut_short && !was_cut_short), Ordering::Relaxed);
        place.hold(Some(message).filter(|_| size <= HELD_BYTES_MAX), feed, received);
    }
}

/// All that is known of a feed now, as a message of GTFS-Realtime, and how many bytes that is.
fn come_to(feed: &Feed, network: &Network) -> Option<(Arc<FeedMessage>, usize)> {
    let export = gtfs_rt(&network.state(), feed.id().as_str(), Part::All)?;
    Some((Arc::new(message_of(&export.bytes)?), export.bytes.len()))
}
