//! The records of this world's networks, their encoding between nodes, and the history of what was ever true.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use lineside_hub::{Epoch, Position, RoomKey};
use parking_lot::Mutex;

pub(crate) const NETWORKS: [&str; 4] = ["oslo", "bergen", "tromso", "bodo"];
pub(crate) const ROUTES: u8 = 3;
const KEYS: u8 = 6;

const FEED: u8 = 1;
const ROUTE: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    route: u8,
    version: u32,
}

/// A network's records by key.
pub(crate) type Records = BTreeMap<u8, Record>;
/// A reader's content of a channel: version by key.
pub(crate) type Holdings = BTreeMap<u8, u32>;
/// A record after a change.
pub(crate) type Change = (u8, Option<Record>);

pub(crate) fn number_of(network: &str) -> usize {
    NETWORKS.iter().position(|name| *name == network).expect("a network of this test")
}

pub(crate) fn group_of(network: usize) -> u32 {
    network as u32 + 1
}

pub(crate) fn channels() -> Vec<String> {
    let of = |network: &&str| {
        let routes = (0..ROUTES).map(move |route| format!("route/{network}/{route}"));
        std::iter::once(format!("feed/{network}")).chain(routes).collect::<Vec<_>>()
    };
    NETWORKS.iter().flat_map(of).collect()
}

/// Returns the network of a channel, and its route if it has only one.
pub(crate) fn parse_channel(channel: &str) -> Option<(usize, Option<u8>)> {
    let mut segments = channel.split('/');
    let kind = segments.next()?;
    let name = segments.next()?;
    let network = NETWORKS.iter().position(|network| *network == name)?;
    match (kind, segments.next()) {
        ("feed", None) => Some((network, None)),
        ("route", Some(route)) => Some((network, Some(route.parse().ok()?))),
        _ => None,
    }
}

pub(crate) fn key_of(channel: &str) -> Option<RoomKey> {
    let (network, route) = parse_channel(channel)?;
    let (kind, id) = route.map_or((FEED, 0), |route| (ROUTE, u64::from(route)));
    Some(RoomKey { group: group_of(network), kind, id })
}

pub(crate) fn holdings(records: &Records, route: Option<u8>) -> Holdings {
    let belongs = |record: &Record| route.is_none_or(|route| record.route == route);
    records.iter().filter(|(_, it)| belongs(it)).map(|(key, it)| (*key, it.version)).collect()
}

pub(crate) fn draw_change(rng: &mut fastrand::Rng, records: &Records) -> Change {
    let key = rng.u8(..KEYS);
    if records.contains_key(&key) && rng.u8(..4) == 0 {
        return (key, None);
    }
    (key, Some(Record { route: rng.u8(..ROUTES), version: rng.u32(..1_000_000) }))
}

pub(crate) fn put(records: &mut Records, (key, new): Change) {
    match new {
        Some(record) => records.insert(key, record),
        None => records.remove(&key),
    };
}

/// Returns the publication for each channel of the network after some changes, in the order of the channels.
pub(crate) fn messages(
    network: usize,
    previous: &Records,
    changes: &[Change],
) -> BTreeMap<String, String> {
    let name = NETWORKS[network];
    let mut records = previous.clone();
    let mut messages = BTreeMap::from([(format!("feed/{name}"), String::new())]);
    for &change in changes {
        let (key, new) = change;
        let old = records.get(&key).copied();
        let mut tell = |channel: String, text: String| {
            messages.entry(channel).or_default().push_str(&text);
        };
        let upsert = new.map(|record| format!("{key}={};", record.version));
        let removal = format!("{key}-;");
        tell(format!("feed/{name}"), upsert.clone().unwrap_or(removal.clone()));
        let (left, entered) = (old.map(|it| it.route), new.map(|it| it.route));
        if let Some(left) = left.filter(|_| left != entered) {
            tell(format!("route/{name}/{left}"), removal);
        }
        if let (Some(entered), Some(upsert)) = (entered, upsert) {
            tell(format!("route/{name}/{entered}"), upsert);
        }
        put(&mut records, change);
    }
    messages
}

/// Applies a publication, or a part of a state.
pub(crate) fn apply(records: &mut Holdings, data: &[u8]) {
    let text = str::from_utf8(data).expect("text");
    for change in text.split_terminator(';') {
        if let Some((key, version)) = change.split_once('=') {
            records.insert(key.parse().expect("a key"), version.parse().expect("a version"));
        } else {
            records.remove(&change.trim_end_matches('-').parse().expect("a key"));
        }
    }
}

/// Encodes changes, or records, for the bus: `|` ends a revision, `;` a record.
pub(crate) fn encode(revisions: &[Vec<Change>]) -> String {
    let mut text = String::new();
    for changes in revisions {
        for (key, new) in changes {
            match new {
                Some(it) => text.push_str(&format!("{key}={}/{};", it.route, it.version)),
                None => text.push_str(&format!("{key}-;")),
            }
        }
        text.push('|');
    }
    text
}

pub(crate) fn decode(pieces: &[Bytes]) -> Option<Vec<Vec<Change>>> {
    let text = String::from_utf8(pieces.concat()).ok()?;
    let revisions = text.strip_suffix('|')?.split('|');
    revisions.map(|it| it.split_terminator(';').map(decode_change).collect()).collect()
}

fn decode_change(text: &str) -> Option<Change> {
    if let Some(key) = text.strip_suffix('-') {
        return Some((key.parse().ok()?, None));
    }
    let (key, record) = text.split_once('=')?;
    let (route, version) = record.split_once('/')?;
    let record = Record { route: route.parse().ok()?, version: version.parse().ok()? };
    Some((key.parse().ok()?, Some(record)))
}

/// Cuts a text at random places into a few pieces.
pub(crate) fn pieces(rng: &mut fastrand::Rng, text: &str) -> Vec<Bytes> {
    let mut rest = Bytes::copy_from_slice(text.as_bytes());
    let mut pieces = Vec::new();
    for _ in 0..rng.usize(..4) {
        pieces.push(rest.split_to(rng.usize(..=rest.len())));
    }
    pieces.push(rest);
    pieces
}

type History = BTreeMap<u64, Records>;

/// Everything that any owner ever wrote, received or not; and the first error that was found.
#[derive(Default)]
pub(crate) struct Truth {
    written: Mutex<BTreeMap<(usize, Epoch), History>>,
    published: Mutex<BTreeMap<(String, Epoch, u64), Bytes>>,
    complaint: Mutex<Option<String>>,
}

impl Truth {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn complain(&self, what: String) {
        self.complaint.lock().get_or_insert(what);
    }

    pub(crate) fn complaint(&self) -> Option<String> {
        self.complaint.lock().clone()
    }

    /// Records that an owner starts an epoch; each epoch starts once.
    pub(crate) fn begin(&self, network: usize, at: Position, records: &Records) {
        if self.written.lock().contains_key(&(network, at.epoch)) {
            self.complain(format!("{} {} was used before", NETWORKS[network], at.epoch));
        }
        self.write(network, at, records);
    }

    /// Records the content of a position; each position is written once.
    pub(crate) fn write(&self, network: usize, at: Position, records: &Records) {
        let mut written = self.written.lock();
        let history = written.entry((network, at.epoch)).or_default();
        if history.get(&at.offset).is_some_and(|expected| expected != records) {
            self.complain(format!("{} {at} was written twice", NETWORKS[network]));
        }
        history.insert(at.offset, records.clone());
    }

    /// *A node's content at a position is what was written there.*
    pub(crate) fn check_records(
        &self,
        node: &str,
        network: usize,
        at: Position,
        records: &Records,
    ) {
        let written = self.written.lock();
        let expected =
            written.get(&(network, at.epoch)).and_then(|history| history.get(&at.offset));
        if expected != Some(records) {
            let name = NETWORKS[network];
            self.complain(format!("{node}: {name} {at} holds {records:?} instead of {expected:?}"));
        }
    }

    /// *A reader's content of a channel at a position is what was written there.*
    pub(crate) fn check_holdings(
        &self,
        channel: &str,
        at: Position,
        actual: &Holdings,
    ) -> Result<(), String> {
        let (network, route) =
            parse_channel(channel).ok_or("the channel is not part of this test")?;
        let written = self.written.lock();
        let expected =
            written.get(&(network, at.epoch)).and_then(|history| history.get(&at.offset));
        let expected = expected.map(|records| holdings(records, route));
        if expected.as_ref() == Some(actual) {
            Ok(())
        } else {
            Err(format!("{channel} {at} holds {actual:?} instead of {expected:?}"))
        }
    }

    /// *One position of a channel is one publication, on every node.*
    pub(crate) fn check_told(
        &self,
        channel: &str,
        at: Position,
        data: &Bytes,
    ) -> Result<(), String> {
        let mut published = self.published.lock();
        let expected =
            published.entry((channel.to_owned(), at.epoch, at.offset)).or_insert(data.clone());
        if expected == data { Ok(()) } else { Err(format!("{channel} {at} differs between nodes")) }
    }
}
