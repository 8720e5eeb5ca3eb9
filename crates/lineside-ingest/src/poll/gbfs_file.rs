//! What a file of a GBFS system says, and who hears of it: of stations and vehicles the system's network, of the first
//! language that has the file.

use bytes::Bytes;
use lineside_formats::{Error, gbfs::FileKind};
use lineside_sync::{UnixMillis, stage};
use smol_str::SmolStr;

use super::FeedPoller;
use crate::{
    limits::GBFS_INLINE_BYTES_MAX,
    network::{NetworkInput, NetworkQueue},
    normalize::{ParsedSystemFile, SystemFile, SystemKind, read_system_file},
    poll_stages::PollStage,
};

/// Of a text that does not say its language.
const LANGUAGE_UNKNOWN: &str = "und";

/// The network of a system, and the system's place in it.
#[derive(Clone, Debug)]
pub(super) struct NetworkLink {
    pub(super) queue: NetworkQueue,
    pub(super) number: usize,
    /// The file's.
    pub(super) language: Option<SmolStr>,
}

impl NetworkLink {
    /// Brings what a file says.
    pub(super) async fn send_file(&self, file: SystemFile, now: UnixMillis) {
        // A network that is gone needs no word of it.
        let _ = self.queue.send_input(NetworkInput::File { number: self.number, file, now }).await;
    }

    /// There is no such file, or none that is good.
    pub(super) async fn send_missing_file(&self, kind: SystemKind, now: UnixMillis) {
        self.send_file(SystemFile { kind, pieces: Vec::new() }, now).await;
    }
}

impl FeedPoller {
    /// The way to its network, if it is heard of there.
    pub(super) fn network_link(&self) -> Option<NetworkLink> {
        let queue = self.queue.clone()?;
        Some(NetworkLink { queue, number: self.number, language: None })
    }

    /// Reads a file of a system: what is wrong with it is told with it, and its records go to the network.
    ///
    /// # Errors
    /// If it is none of those that GBFS has by its name: what was good before it stays.
    pub(super) async fn read_gbfs_file(&mut self, body: &Bytes) -> Result<(), Error> {
        // Without alerts or free vehicles a system is as it should be: its file is no empty feed.
        self.status.entities = 1;
        self.status.problems = Default::default();
        let Some(kind) = FileKind::from_name(self.gbfs_file_name()) else { return Ok(()) };
        let language = self.told.as_ref().and_then(|told| told.language.clone());
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
            // A fault of ours leaves the file as it is, to be passed on.
            tokio::task::spawn_blocking(read)
                .await
                .unwrap_or_else(|_| Ok(ParsedSystemFile::default()))
        };
        let read = read?;
        self.status.data_time = read.told_at;
        self.status.problems = read.problems.into();
        if let (Some(told), Some(file)) = (&self.told, read.file) {
            told.send_file(file, self.clock.wall_time()).await;
        }
        Ok(())
    }

    /// What a file said is older than the operator allows.
    pub(super) async fn withdraw_records(&mut self, now: UnixMillis) {
        let (Some(told), Some(kind)) =
            (&self.told, SystemKind::from_file_name(self.gbfs_file_name()))
        else {
            return;
        };
        if !self.expired && self.is_expired(now) {
            told.send_missing_file(kind, now).await;
            self.fetcher.forget_version();
            self.expired = true;
        }
    }

    /// Its name in its system, without its language.
    fn gbfs_file_name(&self) -> &str {
        let path = self.feed.gbfs_file_name().as_str();
        path.rsplit_once('/').map_or(path, |(_, name)| name)
    }
}
