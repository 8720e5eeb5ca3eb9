//! What a clean stop leaves for the next start, in one file: networks at their revision, and the logs of channels.
//!
//! A state that goes on under its epoch has to be the very one that subscribers hold. So the records themselves are kept,
//! not only the bytes that they once came from, with a digest of all that was said of them: where what is put back says
//! anything else, by another program or another schedule decoder, the network begins a new life instead.

pub(crate) mod form;
mod frames;
mod rooms;

use std::{
    io::{self, Read, Seek, Write},
    time::Duration,
};

use bytes::Bytes;
use lineside_hub::{Epoch, KeptRoom};
use lineside_sync::UnixMillis;
use prost::Message;

use self::frames::{FrameReader, FrameWriter};
use crate::{FeedId, limits::KEPT_CHUNK_BYTES};

/// Which program writes.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The kinds of frames.
const HEAD: u8 = 1;
const NETWORK: u8 = 2;
const FEED: u8 = 3;
const SNAPSHOT: u8 = 4;
const CHUNK: u8 = 5;
const ROOM: u8 = 6;

/// Why a file of an earlier process is of no use.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// The system does not give it to us.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// Larger than any that is written.
    #[error("it is larger than {} bytes", crate::limits::KEPT_BYTES_MAX)]
    TooLarge,
    /// It does not begin as such a file does.
    #[error("it is another sort of file")]
    Foreign,
    /// It is of a form that this program does not read.
    #[error("it is of another version")]
    OtherVersion,
    /// Cut, or changed.
    #[error("it is damaged")]
    Damaged,
}

/// Writes what is kept.
#[derive(Debug)]
pub struct KeptWriter<W>(FrameWriter<W>);

impl<W: Write> KeptWriter<W> {
    /// Begins to write at the wall time `now`.
    ///
    /// # Errors
    /// What the writer says.
    pub fn begin(into: W, now: UnixMillis) -> io::Result<KeptWriter<W>> {
        let mut writer = KeptWriter(FrameWriter::begin(into)?);
        writer.put(HEAD, &form::Head { program: PROGRAM.to_owned(), at: now.0 })?;
        Ok(writer)
    }

    /// Ends it. Without this nothing of it is believed.
    ///
    /// # Errors
    /// What the writer says.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish()
    }

    /// Adds the log of a channel.
    ///
    /// # Errors
    /// What the writer says.
    pub fn room(&mut self, room: &KeptRoom) -> io::Result<()> {
        self.put(ROOM, &form::Room::from(room))
    }

    pub(crate) fn network(&mut self, network: &form::Network) -> io::Result<()> {
        self.put(NETWORK, network)
    }

    pub(crate) fn feed(&mut self, feed: &form::Feed, snapshot: Option<&Bytes>) -> io::Result<()> {
        self.put(FEED, feed)?;
        match snapshot {
            Some(bytes) => self.0.frame(SNAPSHOT, bytes),
            None => Ok(()),
        }
    }

    /// Adds to a chunk, which is written once it is large enough.
    pub(crate) fn add<T: Message>(
        &mut self,
        chunk: &mut Chunking,
        part: T,
        to: impl FnOnce(&mut form::Chunk) -> &mut Vec<T>,
    ) -> io::Result<()> {
        chunk.bytes += part.encoded_len();
        to(&mut chunk.chunk).push(part);
        if chunk.bytes < KEPT_CHUNK_BYTES { Ok(()) } else { self.chunk(chunk) }
    }

    /// Writes what is left in a chunk.
    pub(crate) fn chunk(&mut self, chunk: &mut Chunking) -> io::Result<()> {
        let full = std::mem::take(chunk);
        if full.bytes == 0 { Ok(()) } else { self.put(CHUNK, &full.chunk) }
    }

    fn put(&mut self, kind: u8, message: &impl Message) -> io::Result<()> {
        self.0.frame(kind, &message.encode_to_vec())
    }
}

/// A chunk that is being filled.
#[derive(Debug, Default)]
pub(crate) struct Chunking {
    chunk: form::Chunk,
    bytes: usize,
}

/// What an earlier process has kept.
#[derive(Debug)]
pub struct Kept {
    head: form::Head,
    networks: Vec<KeptNetwork>,
    rooms: Vec<KeptRoom>,
}

/// One network of it.
#[derive(Debug)]
pub struct KeptNetwork {
    pub(crate) network: form::Network,
    pub(crate) feeds: Vec<KeptFeed>,
}

/// One feed of it.
#[derive(Debug)]
pub(crate) struct KeptFeed {
    pub(crate) feed: form::Feed,
    pub(crate) snapshot: Option<Bytes>,
    pub(crate) chunks: Vec<form::Chunk>,
}

impl Kept {
    /// Reads a file as [`KeptWriter`] writes it. It is looked through as a whole before anything of it is believed.
    ///
    /// # Errors
    /// Why it is of no use.
    pub fn read(source: impl Read + Seek) -> Result<Kept, KeptError> {
        let mut frames = FrameReader::open(source)?;
        let Some((HEAD, head)) = frames.next()? else { return Err(KeptError::Damaged) };
        let mut kept = Kept { head: decode(head)?, networks: Vec::new(), rooms: Vec::new() };
        while let Some((kind, content)) = frames.next()? {
            kept.take(kind, content)?;
        }
        Ok(kept)
    }

    fn take(&mut self, kind: u8, content: Bytes) -> Result<(), KeptError> {
        let feeds = self.networks.last_mut().map(|network| &mut network.feeds);
        match (kind, feeds) {
            (NETWORK, _) => {
                let network = decode(content)?;
                self.networks.push(KeptNetwork { network, feeds: Vec::new() });
            }
            (FEED, Some(feeds)) => {
                feeds.push(KeptFeed { feed: decode(content)?, snapshot: None, chunks: Vec::new() });
            }
            (SNAPSHOT | CHUNK, Some(feeds)) => {
                let feed = feeds.last_mut().ok_or(KeptError::Damaged)?;
                match kind {
                    SNAPSHOT => feed.snapshot = Some(content),
                    _ => feed.chunks.push(decode(content)?),
                }
            }
            (ROOM, _) => {
                let room: form::Room = decode(content)?;
                self.rooms.push(room.into_kept().ok_or(KeptError::Damaged)?);
            }
            _ => return Err(KeptError::Damaged),
        }
        Ok(())
    }

    /// How long before `now` it was written; nothing if the wall clock went back since.
    pub fn away(&self, now: UnixMillis) -> Duration {
        now.since(UnixMillis(self.head.at))
    }

    /// Whether this very version of the program wrote it.
    pub(crate) fn is_of_this_program(&self) -> bool {
        self.head.program == PROGRAM
    }

    /// How many networks are left in it.
    pub(crate) fn n_networks(&self) -> usize {
        self.networks.len()
    }

    /// Takes a network out of it.
    pub fn take_network(&mut self, id: &FeedId) -> Option<KeptNetwork> {
        let at = self.networks.iter().position(|kept| kept.network.id == id.as_str())?;
        Some(self.networks.swap_remove(at))
    }

    /// Takes the logs of channels out of it.
    pub fn take_rooms(&mut self) -> Vec<KeptRoom> {
        std::mem::take(&mut self.rooms)
    }
}

impl KeptNetwork {
    /// The life of its sequence.
    pub fn epoch(&self) -> Epoch {
        Epoch::from_bits(self.network.epoch)
    }
}

fn decode<T: Message + Default>(content: Bytes) -> Result<T, KeptError> {
    T::decode(content).map_err(|_| KeptError::Damaged)
}
