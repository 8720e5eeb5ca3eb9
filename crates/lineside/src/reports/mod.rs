//! What is wrong with feeds: each new version of a schedule is held against the rules, in slots of its own, and what was
//! found is kept, shown and told.
//!
//! `watch` looks at all schedules once a second and puts those with a new version into a bounded queue; `looking` holds one
//! against the rules, on a thread of its own, with a limit of time and memory. What comes of it is a [`Report`], which
//! `changes` compares with the one before. It goes into the store where there is one, into [`Reports`], and from there
//! to whoever listens to `report/<feed>`. Messages of real time are looked at as they pass (`realtime`); their reports are of
//! the same shape and go the same way.

mod changes;
mod looking;
mod realtime;
mod record;
mod report;
mod verdict;
mod watch;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use arc_swap::ArcSwap;
use bytes::Bytes;
use lineside_formats::Format;
use lineside_hub::{BadChannel, Channel, Hub, Position, ResolveError, RoomKey, State, StateSource};
use lineside_ingest::messages::{publications, state_parts};
use lineside_ingest::{Feed, FeedId, Ingest, KIND_BESIDE, Refused};
use lineside_store::Store;
use lineside_sync::UnixMillis;
use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use crate::config::Validation;
use crate::ops::{Ops, message};
use crate::queue::{Figures, Queue, Standing};

pub(crate) use self::changes::Changed;
#[cfg(test)]
pub(crate) use self::changes::Changes;
pub(crate) use self::realtime::{About, MessageFigures, Messages, Seen, tell};
pub(crate) use self::record::Record;
pub(crate) use self::report::{Brief, DATASET, Fault, Finding, Outcome, REALTIME, Report, Subject};
pub(crate) use self::verdict::Verdict;
pub(crate) use self::watch::watch;

/// The first segment of these channels' names.
const WORD: &str = "report";
/// What records of these channels are.
const KIND: &str = "report";

/// The latest reports of one feed.
#[derive(Clone, Debug, Default)]
pub(crate) struct FeedReports {
    /// Of the latest version of its schedule.
    pub(crate) dataset: Option<Arc<Report>>,
    /// Of what comes in real time.
    pub(crate) realtime: Option<Arc<Report>>,
}

impl FeedReports {
    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Report>> {
        self.dataset.iter().chain(&self.realtime)
    }

    /// The one that stands for the feed.
    pub(crate) fn main(&self) -> Option<&Arc<Report>> {
        self.all().next()
    }

    /// What the one that stands for the feed comes to.
    pub(crate) fn brief(&self) -> Option<Brief> {
        self.main().map(|report| Brief::of(report))
    }

    fn slot(&mut self, subject: &Subject) -> &mut Option<Arc<Report>> {
        match subject {
            Subject::Dataset { .. } => &mut self.dataset,
            Subject::Realtime { .. } => &mut self.realtime,
        }
    }
}

/// What the first report of a feed waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ahead {
    /// The look at its newest version.
    Version(Standing),
    /// The look at its first message.
    Message,
    /// A schedule to hold its messages against.
    Schedule,
    /// All files of a GBFS system.
    System,
}

/// What of a feed is to be looked at: bytes that ingest refused; without them what is served when the look begins.
type Version = Option<Arc<Refused>>;

type ByFeed = HashMap<String, Arc<FeedReports>>;

/// The latest reports of all feeds, and the queue of those to come.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    by_feed: ArcSwap<ByFeed>,
    /// Held by whoever puts a report in, so that none is lost and all are told in their order.
    putting: Mutex<()>,
    queue: Queue<FeedId, Version>,
    /// What is found in messages as they pass.
    messages: Arc<Messages>,
    /// Who knows which feeds there are; none until polling begins.
    ingest: OnceLock<Weak<Ingest>>,
}

impl Reports {
    /// None yet. `limits` says what a look at a message may cost; `store` keeps versions of schedules, if there is one.
    pub(crate) fn new(limits: &Validation, store: Weak<Store>) -> Self {
        Self { messages: Arc::new(Messages::new(limits, store)), ..Self::default() }
    }

    /// Those who know the feeds, told once.
    pub(crate) fn begin(&self, ingest: &Arc<Ingest>) {
        self.ingest.get_or_init(|| Arc::downgrade(ingest));
    }

    /// The latest reports of a feed.
    pub(crate) fn of(&self, feed: &str) -> Option<Arc<FeedReports>> {
        self.by_feed.load().get(feed).cloned()
    }

    /// Who looks at messages.
    pub(crate) fn messages(&self) -> &Arc<Messages> {
        &self.messages
    }

    /// What waits and runs, and what came of it so far.
    pub(crate) fn figures(&self) -> Figures {
        self.queue.figures()
    }

    /// How far it is with a feed's newest version; none if nothing of it is to be looked at.
    pub(crate) fn standing(&self, feed: &str) -> Option<Standing> {
        self.queue.standing(|id| id.as_str() == feed)
    }

    /// What the first report of a feed waits for; none if there is nothing that could be looked at.
    pub(crate) fn ahead(&self, feed: &Feed) -> Option<Ahead> {
        if let Some(standing) = self.standing(feed.id().as_str()) {
            return Some(Ahead::Version(standing));
        }
        feed.held()?;
        match feed.format()? {
            // It is put into the queue within a second.
            format if format.is_schedule() && self.figures().slots > 0 => {
                Some(Ahead::Version(Standing::Waits(self.figures().waiting)))
            }
            Format::GtfsRt | Format::Siri => self.messages.ahead(feed.id()),
            Format::Gbfs => self.messages.ahead(feed.id()).map(|_| Ahead::System),
            _ => None,
        }
    }

    /// Makes it the feed's report of its subject, and tells who listens, unless all that a record says is as it was.
    pub(crate) fn put(&self, hub: &Hub, report: Arc<Report>) {
        let _putting = self.putting.lock();
        let (before, at) = (self.by_feed.load_full(), report.at);
        let mut of_feed =
            before.get(&report.feed).map(|it| FeedReports::clone(it)).unwrap_or_default();
        let replaced = of_feed.slot(&report.subject).replace(Arc::clone(&report));
        let mut next = ByFeed::clone(&before);
        next.insert(report.feed.clone(), Arc::new(of_feed));
        self.by_feed.store(Arc::new(next));
        if replaced.is_some_and(|before| says_the_same(&before, &report)) {
            return;
        }
        let Some(room) = hub.find_room(key_of(&report.feed)) else { return };
        let mut batch = hub.batch();
        for message in publications(at, &[upsert_of(&report)]) {
            batch.append(&room, None, message);
        }
        batch.finish();
    }

    /// Lets go of what is known of feeds that are gone.
    fn retain(&self, is_there: impl Fn(&str) -> bool) {
        let _putting = self.putting.lock();
        let before = self.by_feed.load_full();
        if before.keys().all(|feed| is_there(feed)) {
            return;
        }
        let mut next = ByFeed::clone(&before);
        next.retain(|feed, _| is_there(feed));
        self.by_feed.store(Arc::new(next));
    }

    fn knows(&self, feed: &str) -> bool {
        let ingest = self.ingest.get().and_then(Weak::upgrade);
        ingest.is_some_and(|ingest| ingest.feed(feed).is_some())
    }
}

/// Whether two reports differ in when they were made and in nothing else that is told.
fn says_the_same(before: &Report, now: &Report) -> bool {
    let (before, now) = (Record::of(before), Record::of(now));
    Record { at: None, took: 0.0, ..before } == Record { at: None, took: 0.0, ..now }
}

fn upsert_of(report: &Report) -> Bytes {
    message::upsert(&report.feed, KIND, report.subject.word(), &Record::of(report))
}

/// The room of a feed's channel, among those that the program fills itself; the dashboard's have the lowest numbers.
fn key_of(feed: &str) -> RoomKey {
    RoomKey { group: 0, kind: KIND_BESIDE, id: xxh3_64(feed.as_bytes()) | 1 << 63 }
}

/// The feed of a channel `report/<feed>`.
fn feed_of(channel: &Channel) -> Option<String> {
    let mut segments = channel.segments();
    let is_report = segments.next().as_deref() == Some(WORD);
    let feed = segments.next().filter(|_| is_report)?;
    segments.next().is_none().then(|| feed.into_owned())
}

/// The channels that the program fills itself: the dashboard's, and those of reports.
#[derive(Debug)]
pub(crate) struct Rooms {
    pub(crate) ops: Arc<Ops>,
    pub(crate) reports: Arc<Reports>,
}

impl StateSource for Rooms {
    fn resolve(&self, channel: &Channel) -> Result<RoomKey, ResolveError> {
        let is_report = channel.segments().next().as_deref() == Some(WORD);
        match feed_of(channel) {
            Some(feed) if self.reports.knows(&feed) => Ok(key_of(&feed)),
            Some(_) => Err(ResolveError::UnknownFeed),
            None if is_report => Err(BadChannel::UnknownForm.into()),
            None => self.ops.resolve(channel),
        }
    }

    fn sequence_name(&self, channel: &Channel, _: RoomKey) -> String {
        channel.as_str().to_owned()
    }

    fn position(&self, _: &Channel, _: RoomKey) -> Option<Position> {
        None
    }

    fn read_state(&self, channel: &Channel, key: RoomKey) -> State {
        let Some(feed) = feed_of(channel) else { return self.ops.read_state(channel, key) };
        let reports = self.reports.of(&feed).unwrap_or_default();
        let at = reports.all().map(|report| report.at).max().unwrap_or(UnixMillis(0));
        let upserts: Vec<Bytes> = reports.all().map(|report| upsert_of(report)).collect();
        State { position: None, parts: state_parts(at, &upserts) }
    }
}

/// What reports on versions come to, by version.
pub(crate) type Briefs = HashMap<String, Option<Brief>>;

/// What the latest reports on versions of a feed come to; none where they cannot be read. A version whose report is
/// of an older program has one without counts.
pub(crate) fn briefs(store: &lineside_store::Store, feed: &FeedId, limit: usize) -> Briefs {
    match store.list_report_briefs(feed, DATASET, limit) {
        Ok(rows) => {
            let brief = |text: &str| serde_json::from_str(text).ok();
            rows.into_iter().map(|row| (row.version, brief(&row.brief))).collect()
        }
        Err(error) => {
            tracing::warn!(%feed, %error, "what reports come to cannot be read");
            Briefs::new()
        }
    }
}

/// The reports of a feed that are kept on the disk, the latest first, at most so many; nothing where they cannot be read.
fn kept(store: &lineside_store::Store, feed: &FeedId, subject: &str, limit: usize) -> Vec<Report> {
    match store.list_reports(feed, subject, limit) {
        Ok(rows) => rows.iter().filter_map(Report::of_row).collect(),
        Err(error) => {
            tracing::warn!(%feed, %error, "earlier reports cannot be read");
            Vec::new()
        }
    }
}

#[cfg(test)]
pub(crate) use self::report::tests::report as test_report;

#[cfg(test)]
mod tests {
    use super::report::tests::report;
    use super::*;

    #[test]
    fn a_channel_is_a_feeds_or_none() {
        let channel = |name: &str| Channel::parse(name).unwrap();
        assert_eq!(feed_of(&channel("report/city")).as_deref(), Some("city"));
        for other in ["report/city/more", "ops/feeds", "feed/city"] {
            assert_eq!(feed_of(&channel(other)), None, "{other}");
        }
        assert_ne!(key_of("city"), key_of("town"));
    }

    #[test]
    fn a_report_that_says_the_same_later_is_no_news() {
        let first = report("a", &[("unknown_file", lineside_validate::Severity::Info, 1)]);
        let later = Report { at: UnixMillis(9_000), took_ms: 77, ..first.clone() };
        assert!(says_the_same(&first, &later));
        let more = report("a", &[("unknown_file", lineside_validate::Severity::Info, 2)]);
        assert!(!says_the_same(&first, &more));
    }
}
