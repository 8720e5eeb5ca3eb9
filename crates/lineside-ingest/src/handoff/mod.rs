//! What a clean stop leaves for the next start, in one file: networks at their revision, and the logs of channels.
//!
//! A state that goes on under its epoch has to be the very one that subscribers hold. So the records themselves are kept,
//! not only the bytes that they once came from, with a digest of all that was said of them: where what is put back says
//! anything else, by another program or another schedule decoder, the network begins a new life instead.

pub(crate) mod schema;
mod frames;
mod rooms;

use std::{
    io::{self, Read, Seek, Write},
    time::Duration,
};

use bytes::Bytes;
use lineside_hub::{Epoch, HandoffRoom};
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
pub enum HandoffError {
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
pub struct HandoffWriter<W>(FrameWriter<W>);

impl<W: Write> HandoffWriter<W> {
    /// Begins to write at the wall time `now`.
    ///
    /// # Errors
    /// What the writer says.
    pub fn begin_file(into: W, now: UnixMillis) -> io::Result<HandoffWriter<W>> {
        let mut writer = HandoffWriter(FrameWriter::begin_file(into)?);
        writer
            .write_message(HEAD, &schema::HeadProto { program: PROGRAM.to_owned(), at: now.0 })?;
        Ok(writer)
    }

    /// Ends it. Without this nothing of it is believed.
    ///
    /// # Errors
    /// What the writer says.
    pub fn finish_file(self) -> io::Result<W> {
        self.0.finish_file()
    }

    /// Adds the log of a channel.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_room(&mut self, room: &HandoffRoom) -> io::Result<()> {
        self.write_message(ROOM, &schema::RoomProto::from(room))
    }

    pub(crate) fn write_network(&mut self, network: &schema::NetworkProto) -> io::Result<()> {
        self.write_message(NETWORK, network)
    }

    pub(crate) fn write_feed(
        &mut self,
        feed: &schema::FeedProto,
        snapshot: Option<&Bytes>,
    ) -> io::Result<()> {
        self.write_message(FEED, feed)?;
        match snapshot {
            Some(bytes) => self.0.write_frame(SNAPSHOT, bytes),
            None => Ok(()),
        }
    }

    /// Adds to a chunk, which is written once it is large enough.
    pub(crate) fn add_to_chunk<T: Message>(
        &mut self,
        chunk: &mut ChunkBuilder,
        part: T,
        to: impl FnOnce(&mut schema::ChunkProto) -> &mut Vec<T>,
    ) -> io::Result<()> {
        chunk.bytes += part.encoded_len();
        to(&mut chunk.chunk).push(part);
        if chunk.bytes < KEPT_CHUNK_BYTES { Ok(()) } else { self.write_chunk(chunk) }
    }

    /// Writes what is left in a chunk.
    pub(crate) fn write_chunk(&mut self, chunk: &mut ChunkBuilder) -> io::Result<()> {
        let full = std::mem::take(chunk);
        if full.bytes == 0 { Ok(()) } else { self.write_message(CHUNK, &full.chunk) }
    }

    fn write_message(&mut self, kind: u8, message: &impl Message) -> io::Result<()> {
        self.0.write_frame(kind, &message.encode_to_vec())
    }
}

/// A chunk that is being filled.
#[derive(Debug, Default)]
pub(crate) struct ChunkBuilder {
    chunk: schema::ChunkProto,
    bytes: usize,
}

/// What an earlier process has kept.
#[derive(Debug)]
pub struct HandoffState {
    head: schema::HeadProto,
    networks: Vec<HandoffNetwork>,
    rooms: Vec<HandoffRoom>,
}

/// One network of it.
#[derive(Debug)]
pub struct HandoffNetwork {
    pub(crate) network: schema::NetworkProto,
    pub(crate) feeds: Vec<HandoffFeed>,
}

/// One feed of it.
#[derive(Debug)]
pub(crate) struct HandoffFeed {
    pub(crate) feed: schema::FeedProto,
    pub(crate) snapshot: Option<Bytes>,
    pub(crate) chunks: Vec<schema::ChunkProto>,
}

impl HandoffState {
    /// Reads a file as [`HandoffWriter`] writes it. It is looked through as a whole before anything of it is believed.
    ///
    /// # Errors
    /// Why it is of no use.
    pub fn from_reader(source: impl Read + Seek) -> Result<HandoffState, HandoffError> {
        let mut frames = FrameReader::open_verified(source)?;
        let Some((HEAD, head)) = frames.next_frame()? else { return Err(HandoffError::Damaged) };
        let mut kept =
            HandoffState { head: decode_message(head)?, networks: Vec::new(), rooms: Vec::new() };
        while let Some((kind, content)) = frames.next_frame()? {
            kept.take_frame(kind, content)?;
        }
        Ok(kept)
    }

    fn take_frame(&mut self, kind: u8, content: Bytes) -> Result<(), HandoffError> {
        let feeds = self.networks.last_mut().map(|network| &mut network.feeds);
        match (kind, feeds) {
            (NETWORK, _) => {
                let network = decode_message(content)?;
                self.networks.push(HandoffNetwork { network, feeds: Vec::new() });
            }
            (FEED, Some(feeds)) => {
                feeds.push(HandoffFeed {
                    feed: decode_message(content)?,
                    snapshot: None,
                    chunks: Vec::new(),
                });
            }
            (SNAPSHOT | CHUNK, Some(feeds)) => {
                let feed = feeds.last_mut().ok_or(HandoffError::Damaged)?;
                match kind {
                    SNAPSHOT => feed.snapshot = Some(content),
                    _ => feed.chunks.push(decode_message(content)?),
                }
            }
            (ROOM, _) => {
                let room: schema::RoomProto = decode_message(content)?;
                self.rooms.push(room.into_handoff_room().ok_or(HandoffError::Damaged)?);
            }
            _ => return Err(HandoffError::Damaged),
        }
        Ok(())
    }

    /// How long before `now` it was written; nothing if the wall clock went back since.
    pub fn elapsed_since_write(&self, now: UnixMillis) -> Duration {
        now.duration_since(UnixMillis(self.head.at))
    }

    /// Whether this very version of the program wrote it.
    pub(crate) fn is_same_version(&self) -> bool {
        self.head.program == PROGRAM
    }

    /// How many networks are left in it.
    pub(crate) fn network_count(&self) -> usize {
        self.networks.len()
    }

    /// Takes a network out of it.
    pub fn take_network(&mut self, id: &FeedId) -> Option<HandoffNetwork> {
        let at = self.networks.iter().position(|kept| kept.network.id == id.as_str())?;
        Some(self.networks.swap_remove(at))
    }

    /// Takes the logs of channels out of it.
    pub fn take_rooms(&mut self) -> Vec<HandoffRoom> {
        std::mem::take(&mut self.rooms)
    }
}

impl HandoffNetwork {
    /// The life of its sequence.
    pub fn epoch(&self) -> Epoch {
        Epoch::from_bits(self.network.epoch)
    }
}

fn decode_message<T: Message + Default>(content: Bytes) -> Result<T, HandoffError> {
    T::decode(content).map_err(|_| HandoffError::Damaged)
}
