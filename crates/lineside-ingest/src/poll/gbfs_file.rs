//! Decoding of a GBFS file, and sending its records to the system's network: for stations and vehicles, in the first
//! language that has the file.

use bytes::Bytes;
use lineside_formats::Error;
use lineside_gbfs::FileKind;
use lineside_sync::{UnixMillis, stage};
use smol_str::SmolStr;

use super::FeedPoller;
use crate::{
    limits::GBFS_INLINE_BYTES_MAX,
    network_writer::{NetworkInput, NetworkQueue},
    normalize::{ParsedSystemFile, SystemFile, SystemKind, read_system_file},
    poll_stages::PollStage,
};

/// The language code of a text in an unknown language.
const LANGUAGE_UNKNOWN: &str = "und";

/// The network of a GBFS system and the system's number in it.
#[derive(Clone, Debug)]
pub(super) struct NetworkLink {
    pub(super) queue: NetworkQueue,
    pub(super) number: usize,
    /// The language of the file.
    pub(super) language: Option<SmolStr>,
}

impl NetworkLink {
    /// Sends the records of a file.
    pub(super) async fn send_file(&self, file: SystemFile, now: UnixMillis) {
        // An ended network needs no update.
        let _ = self.queue.send_input(NetworkInput::File { number: self.number, file, now }).await;
    }

    /// Reports that there is no such file, or no usable one.
    pub(super) async fn send_missing_file(&self, kind: SystemKind, now: UnixMillis) {
        self.send_file(SystemFile { kind, pieces: Vec::new() }, now).await;
    }
}

impl FeedPoller {
    /// Returns the link to its network; `None` for a GBFS file.
    pub(super) fn network_link(&self) -> Option<NetworkLink> {
        let queue = self.queue.clone()?;
        Some(NetworkLink { queue, number: self.number, language: None })
    }

    /// Decodes a GBFS file: its problems become part of the status, its records go to the network.
    ///
    /// # Errors
    /// Returns an error if the file is not what its name says: the earlier content stays.
    pub(super) async fn read_gbfs_file(&mut self, body: &Bytes) -> Result<(), Error> {
        // A system without alerts or free vehicles is fine, so its file does not count as empty.
        self.status.entities = 1;
        self.status.problems = Default::default();
        let Some(kind) = FileKind::from_name(self.gbfs_file_name()) else { return Ok(()) };
        let language = self.network_link.as_ref().and_then(|link| link.language.clone());
        let language = language.unwrap_or(SmolStr::new_static(LANGUAGE_UNKNOWN));
        let body = body.clone();
        let is_small = body.len() <= GBFS_INLINE_BYTES_MAX;
        let read = move || {
            let _at = stage::enter_stage(PollStage::Decode.thread_stage());
            read_system_file(kind, &body, &language)
        };
        let read = if is_small {
            read()
        } else {
            // A panic of the decoder leaves the file unchecked, but it is served.
            tokio::task::spawn_blocking(read)
                .await
                .unwrap_or_else(|_| Ok(ParsedSystemFile::default()))
        };
        let read = read?;
        self.status.data_time = read.data_time;
        self.status.problems = read.problems.into();
        if let (Some(link), Some(file)) = (&self.network_link, read.file) {
            link.send_file(file, self.clock.wall_time()).await;
        }
        Ok(())
    }

    /// Removes the records of a file once it exceeds its maximum age.
    pub(super) async fn withdraw_records(&mut self, now: UnixMillis) {
        let (Some(link), Some(kind)) =
            (&self.network_link, SystemKind::from_file_name(self.gbfs_file_name()))
        else {
            return;
        };
        if !self.is_expired && self.is_expired(now) {
            link.send_missing_file(kind, now).await;
            self.fetcher.forget_version();
            self.is_expired = true;
        }
    }

    /// Returns the file's name without its language.
    fn gbfs_file_name(&self) -> &str {
        let path = self.feed.gbfs_file_name().as_str();
        path.rsplit_once('/').map_or(path, |(_, name)| name)
    }
}
