//! Messages of SIRI: each is held against SIRI's own rules as it passes, and then all that they come to against the rules of real time
//! that are about trips, times and places, not about how GTFS-Realtime is written.
//!
//! Where a message is all that its producer knows, both happen at once. Where it is what has changed, what was found is gathered,
//! and judged together so long after the first of them. Where it is a page it waits for the last one, unless no more come.

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

use super::again::Judged;
use super::{Asked, Found, Messages, Place, message_of, tells_of_trips};
use crate::patience::Stopwatch;

/// How long what changes is gathered before it is judged together.
const GATHERED_FOR: Duration = Duration::from_secs(10);
/// How long after a page the next one is waited for: a rate of requests may keep them apart.
const PAGE_AWAITED_FOR: Duration = Duration::from_secs(120);
/// How long after the first page the last one is waited for: where pages always begin anew none is the last.
const PAGES_AWAITED_FOR: Duration = Duration::from_secs(600);

/// What was found in messages that are not judged as a whole yet.
#[derive(Debug)]
pub(super) struct Gathered {
    found: Found,
    /// When the first of them came.
    since: Stopwatch,
    /// When the last one came, if it was a page and not the last of all.
    page_since: Option<Stopwatch>,
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

impl Gathered {
    fn begin(at: UnixMillis, received: i64) -> Self {
        Self {
            found: Found::new(),
            since: Stopwatch::start(),
            page_since: None,
            at,
            received,
            has_visits: false,
            has_changes: false,
            is_complete: false,
        }
    }

    /// Notes what a message was.
    fn add(&mut self, (message, part): (&Message, SiriPart), at: UnixMillis, received: i64) {
        (self.at, self.received) = (at, received);
        self.has_visits |= message.deliveries().any(|it| !it.stop_monitorings.is_empty());
        self.has_changes |= part == SiriPart::Changes;
        self.is_complete = part == SiriPart::Whole;
        self.page_since = (part == SiriPart::Page).then(Stopwatch::start);
    }

    /// Whether it is to be judged by now.
    fn is_due_now(&self) -> bool {
        self.is_due(self.since.elapsed(), self.page_since.map(|since| since.elapsed()))
    }

    /// Whether it is to be judged, if it has been gathered for `gathered` and `page` has passed since the last page.
    fn is_due(&self, gathered: Duration, page: Option<Duration>) -> bool {
        match page {
            _ if self.is_complete => true,
            Some(page) => page >= PAGE_AWAITED_FOR || gathered >= PAGES_AWAITED_FOR,
            None => gathered >= GATHERED_FOR,
        }
    }

    /// Which rules are to the point. A subscription that begins has not told all.
    fn scope(&self, has_schedule: bool, is_beginning: bool) -> Scope {
        Scope {
            has_schedule,
            is_translated: true,
            is_whole: !self.has_visits && self.page_since.is_none() && !is_beginning,
            is_said_anew: !self.has_changes,
        }
    }
}

impl Place {
    /// Whether something waits, or was gathered for long enough. What is added to right now is asked about later: nobody here
    /// waits for rules.
    pub(super) fn has_something_due(&self) -> bool {
        self.waiting.lock().is_some() || self.is_of_gathered(Gathered::is_due_now)
    }

    /// Whether a message waits for its schedule to be prepared.
    pub(super) fn waits_for_schedule(&self) -> bool {
        self.waiting.lock().is_some() || self.is_of_gathered(|it| it.is_complete)
    }

    fn is_of_gathered(&self, is_so: impl Fn(&Gathered) -> bool) -> bool {
        let gathered = self.gathered.try_lock();
        gathered.is_some_and(|gathered| gathered.as_ref().is_some_and(is_so))
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
        // One that waits for its schedule to be prepared gives way to the next.
        held.take_if(|it| it.is_complete);
        let gathered = held.get_or_insert_with(|| Gathered::begin(at, received));
        let goes_on = || watch.elapsed() < self.limits.message_time;
        let verdict = validate_while(message, &mut gathered.found.notices, &goes_on);
        gathered.found.errors.extend(verdict.errors);
        gathered.found.is_cut_short |= verdict.is_cut_short;
        gathered.add((message, part), at, received);
        drop(held);
        self.looked.fetch_add(1, Ordering::Relaxed);
        self.cut_short.fetch_add(u64::from(verdict.is_cut_short), Ordering::Relaxed);
        if part == SiriPart::Whole {
            self.judge(feed, &place, &watch);
        }
    }

    /// Judges what was gathered for long enough.
    pub(super) fn judge_gathered(&self, feed: &Feed, place: &Place) {
        let is_due = place.gathered.lock().as_ref().is_some_and(Gathered::is_due_now);
        if is_due {
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
                    let tells = || come_to(feed, &network).is_some_and(|it| tells_of_trips(&it.0));
                    place.refuse(refusal, gathered.at, gathered.received, tells);
                }
                return;
            }
        };
        let Some(gathered) = place.gathered.lock().take() else { return };
        let scope = gathered.scope(schedule.name.is_some(), feed.status().is_beginning);
        let Gathered { found, at, received, .. } = gathered;
        let Some((message, is_held)) = come_to(feed, &network) else { return };
        let others = self.others(&network, feed.id(), received);
        let previous = place.previous.lock().clone();
        let asked = Asked { message: &message, previous, others, schedule, scope, received };
        let was_cut_short = found.is_cut_short;
        let is_cut_short = self.take(&network, place, (asked, found), at, watch);
        self.cut_short.fetch_add(u64::from(is_cut_short && !was_cut_short), Ordering::Relaxed);
        place.hold(Some(message).filter(|_| is_held), feed, received);
        // What was told once as it changed does not grow old by that.
        let judged = scope.is_said_anew.then(|| Judged::at(at, &feed.status(), scope));
        place.look.lock().judged = judged;
    }
}

/// All that is known of a feed now, as a message of GTFS-Realtime, and whether it may be held.
fn come_to(feed: &Feed, network: &Network) -> Option<(Arc<FeedMessage>, bool)> {
    message_of(&gtfs_rt(&network.state(), feed.id().as_str(), Part::All)?.bytes)
}

#[cfg(test)]
mod tests {
    use lineside_ingest::FeedStatus;

    use super::*;

    const AT: UnixMillis = UnixMillis(1_795_262_400_000);

    fn gathered(parts: &[SiriPart]) -> Gathered {
        let mut gathered = Gathered::begin(AT, AT.seconds());
        for part in parts {
            gathered.add((&Message::default(), *part), AT, AT.seconds());
        }
        gathered
    }

    #[test]
    fn pages_wait_for_the_last_one_and_changes_for_some_seconds() {
        use SiriPart::{Changes, Page, Whole};
        let check = |parts: &[SiriPart], gathered_for: u64, page: Option<u64>, is_due: bool| {
            let (gathered_for, page) =
                (Duration::from_secs(gathered_for), page.map(Duration::from_secs));
            assert_eq!(gathered(parts).is_due(gathered_for, page), is_due, "{parts:?}");
        };
        check(&[Changes], 9, None, false);
        check(&[Changes, Changes], 10, None, true);
        check(&[Page], 15, Some(15), false);
        check(&[Page, Page], 300, Some(15), false);
        check(&[Page, Page, Whole], 30, None, true);
        check(&[Page, Page], 135, Some(120), true);
        check(&[Page, Page], 600, Some(15), true);
        assert!(gathered(&[Page]).page_since.is_some());
        assert!(gathered(&[Page, Whole]).page_since.is_none());
    }

    #[test]
    fn who_asks_does_not_wait_for_a_look() {
        let place = Place::default();
        *place.gathered.lock() = Some(gathered(&[SiriPart::Whole]));
        assert!(place.has_something_due() && place.waits_for_schedule());
        let (gathering, looking) = (place.gathered.lock(), place.look.lock());
        assert!(!place.has_something_due() && !place.waits_for_schedule());
        assert!(!place.is_the_same_for_long(&FeedStatus::default(), AT));
        drop((gathering, looking));
    }

    #[test]
    fn nothing_is_asked_for_where_not_all_is_told() {
        use SiriPart::{Changes, Page, Whole};
        let is_whole =
            |parts: &[SiriPart], is_beginning| gathered(parts).scope(true, is_beginning).is_whole;
        assert!(is_whole(&[Page, Whole], false) && is_whole(&[Changes], false));
        assert!(!is_whole(&[Changes], true), "the first minute of a subscription");
        assert!(!is_whole(&[Page], false), "no more pages came");
    }
}
