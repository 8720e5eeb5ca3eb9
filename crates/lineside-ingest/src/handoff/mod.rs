//! The handoff file that a clean stop leaves for the next start: networks at their revision, and the logs of channels.
//!
//! A state that continues under its epoch must equal the one that subscribers hold. So the file contains the records
//! themselves, not only the bytes they were decoded from, and a digest of all of them: if the restored records differ,
//! because of another program or schedule decoder, the network starts a new epoch instead.

pub(crate) mod schema;
mod frames;
mod rooms;

use std::{
    io::{self, Read, Seek, Write},
    time::Duration,
};

use bytes::Bytes;
use lineside_hub::{Epoch, HandoffRoomLog};
use lineside_sync::UnixMillis;
use prost::Message;

use self::frames::{FrameReader, FrameWriter};
use crate::{feed_id::FeedId, limits::HANDOFF_CHUNK_BYTES};

/// The version of the writing program.
const PROGRAM_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The kinds of frames.
const HEAD: u8 = 1;
const NETWORK: u8 = 2;
const FEED: u8 = 3;
const SNAPSHOT: u8 = 4;
const CHUNK: u8 = 5;
const ROOM: u8 = 6;

/// The reason why a handoff file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HandoffError {
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// The file exceeds the maximum size of written files.
    #[error("the file is larger than {} bytes", crate::limits::HANDOFF_BYTES_MAX)]
    TooLarge,
    /// The file is not a handoff file.
    #[error("the file is not a restart state of Lineside")]
    Foreign,
    /// The file has an unsupported format version.
    #[error("the file has another format version")]
    OtherVersion,
    /// The file is truncated or modified.
    #[error("the file is damaged")]
    Damaged,
}

/// Writes a handoff file.
#[derive(Debug)]
pub struct HandoffWriter<W>(FrameWriter<W>);

impl<W: Write> HandoffWriter<W> {
    /// Begins a file at the wall time `now`.
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn begin_handoff_file(into: W, now: UnixMillis) -> io::Result<HandoffWriter<W>> {
        let mut writer = HandoffWriter(FrameWriter::write_file_header(into)?);
        writer.write_protobuf_frame(
            HEAD,
            &schema::HeadProto { program: PROGRAM_VERSION.to_owned(), at: now.0 },
        )?;
        Ok(writer)
    }

    /// Completes the file. A file without this end is rejected.
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn finish_handoff_file(self) -> io::Result<W> {
        self.0.write_digest_and_flush()
    }

    /// Adds the log of a channel.
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn write_channel_log(&mut self, room: &HandoffRoomLog) -> io::Result<()> {
        self.write_protobuf_frame(ROOM, &schema::ChannelLogProto::from(room))
    }

    pub(crate) fn write_network_message(
        &mut self,
        network: &schema::NetworkProto,
    ) -> io::Result<()> {
        self.write_protobuf_frame(NETWORK, network)
    }

    pub(crate) fn write_feed_and_snapshot(
        &mut self,
        feed: &schema::FeedProto,
        snapshot: Option<&Bytes>,
    ) -> io::Result<()> {
        self.write_protobuf_frame(FEED, feed)?;
        match snapshot {
            Some(bytes) => self.0.write_frame(SNAPSHOT, bytes),
            None => Ok(()),
        }
    }

    /// Adds a part to a chunk, which is written once it is large enough.
    pub(crate) fn add_to_chunk<T: Message>(
        &mut self,
        chunk: &mut FeedChunkBuilder,
        part: T,
        to: impl FnOnce(&mut schema::FeedChunkProto) -> &mut Vec<T>,
    ) -> io::Result<()> {
        chunk.bytes += part.encoded_len();
        to(&mut chunk.chunk).push(part);
        if chunk.bytes < HANDOFF_CHUNK_BYTES { Ok(()) } else { self.write_chunk_if_any(chunk) }
    }

    /// Writes the rest of a chunk.
    pub(crate) fn write_chunk_if_any(&mut self, chunk: &mut FeedChunkBuilder) -> io::Result<()> {
        let full = std::mem::take(chunk);
        if full.bytes == 0 { Ok(()) } else { self.write_protobuf_frame(CHUNK, &full.chunk) }
    }

    fn write_protobuf_frame(&mut self, kind: u8, message: &impl Message) -> io::Result<()> {
        self.0.write_frame(kind, &message.encode_to_vec())
    }
}

/// A chunk under construction.
#[derive(Debug, Default)]
pub(crate) struct FeedChunkBuilder {
    chunk: schema::FeedChunkProto,
    bytes: usize,
}

/// The content of an earlier process's handoff file.
#[derive(Debug)]
pub struct HandoffFileContent {
    head: schema::HeadProto,
    networks: Vec<HandoffNetwork>,
    rooms: Vec<HandoffRoomLog>,
}

/// A network of a handoff file.
#[derive(Debug)]
pub struct HandoffNetwork {
    pub(crate) network: schema::NetworkProto,
    pub(crate) feeds: Vec<HandoffFeed>,
}

/// A feed of a handoff file.
#[derive(Debug)]
pub(crate) struct HandoffFeed {
    pub(crate) feed: schema::FeedProto,
    pub(crate) snapshot: Option<Bytes>,
    pub(crate) chunks: Vec<schema::FeedChunkProto>,
}

impl HandoffFileContent {
    /// Reads a file written by [`HandoffWriter`]. Verifies the whole file before any of it is used.
    ///
    /// # Errors
    /// Returns the reason why the file cannot be used.
    pub fn from_reader(source: impl Read + Seek) -> Result<HandoffFileContent, HandoffError> {
        let mut frames = FrameReader::open_verified(source)?;
        let Some((HEAD, head)) = frames.next_frame()? else { return Err(HandoffError::Damaged) };
        let mut state = HandoffFileContent {
            head: decode_protobuf_frame(head)?,
            networks: Vec::new(),
            rooms: Vec::new(),
        };
        while let Some((kind, content)) = frames.next_frame()? {
            state.add_frame(kind, content)?;
        }
        Ok(state)
    }

    fn add_frame(&mut self, kind: u8, content: Bytes) -> Result<(), HandoffError> {
        let feeds = self.networks.last_mut().map(|network| &mut network.feeds);
        match (kind, feeds) {
            (NETWORK, _) => {
                let network = decode_protobuf_frame(content)?;
                self.networks.push(HandoffNetwork { network, feeds: Vec::new() });
            }
            (FEED, Some(feeds)) => {
                feeds.push(HandoffFeed {
                    feed: decode_protobuf_frame(content)?,
                    snapshot: None,
                    chunks: Vec::new(),
                });
            }
            (SNAPSHOT | CHUNK, Some(feeds)) => {
                let feed = feeds.last_mut().ok_or(HandoffError::Damaged)?;
                match kind {
                    SNAPSHOT => feed.snapshot = Some(content),
                    _ => feed.chunks.push(decode_protobuf_frame(content)?),
                }
            }
            (ROOM, _) => {
                let room: schema::ChannelLogProto = decode_protobuf_frame(content)?;
                self.rooms.push(room.into_handoff_room().ok_or(HandoffError::Damaged)?);
            }
            _ => return Err(HandoffError::Damaged),
        }
        Ok(())
    }

    /// Returns the time between writing and `now`; zero if the wall clock went back since.
    pub fn elapsed_since_write(&self, now: UnixMillis) -> Duration {
        now.duration_since(UnixMillis(self.head.at))
    }

    /// Returns true if the same version of the program wrote the file.
    pub(crate) fn is_same_program_version(&self) -> bool {
        self.head.program == PROGRAM_VERSION
    }

    /// Returns the number of networks not taken yet.
    pub(crate) fn remaining_network_count(&self) -> usize {
        self.networks.len()
    }

    pub fn take_network(&mut self, id: &FeedId) -> Option<HandoffNetwork> {
        let at = self.networks.iter().position(|network| network.network.id == id.as_str())?;
        Some(self.networks.swap_remove(at))
    }

    /// Takes the logs of channels.
    pub fn take_channel_logs(&mut self) -> Vec<HandoffRoomLog> {
        std::mem::take(&mut self.rooms)
    }
}

impl HandoffNetwork {
    /// Returns the network's epoch.
    pub fn epoch(&self) -> Epoch {
        Epoch::from_bits(self.network.epoch)
    }
}

fn decode_protobuf_frame<T: Message + Default>(content: Bytes) -> Result<T, HandoffError> {
    T::decode(content).map_err(|_| HandoffError::Damaged)
}
