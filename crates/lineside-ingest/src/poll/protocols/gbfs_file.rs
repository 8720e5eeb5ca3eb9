//! Decoding of a GBFS file, and sending its records to the system's network: for stations and vehicles, in the first
//! language that has the file.

use bytes::Bytes;
use lineside_formats::{Error, Format};
use lineside_gbfs::FileKind;
use lineside_sync::{UnixMillis, stage};
use smol_str::SmolStr;

use crate::{
    fetch_failure::FetchError,
    limits::GBFS_INLINE_BYTES_MAX,
    network_writer::{NetworkInput, NetworkQueue},
    normalize::{ParsedSystemFile, SystemFile, SystemKind, read_system_file},
    poll::{
        observe::UnobservedMessage,
        polled_feed::PolledFeed,
        protocol::{BoxFuture, Protocol},
    },
    poll_stages::PollStage,
    snapshot::Snapshot,
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
    /// Returns the link of a system to its network.
    pub(super) fn for_feed(polled: &PolledFeed) -> Option<NetworkLink> {
        let queue = polled.queue.clone()?;
        Some(NetworkLink { queue, number: polled.number, language: None })
    }

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

/// The protocol of a file of a GBFS system.
#[derive(Debug)]
pub(in crate::poll) struct GbfsFileProtocol {
    /// The network that receives the file's records.
    network_link: Option<NetworkLink>,
}

impl Protocol for GbfsFileProtocol {
    fn reads_format(&self, format: Format) -> bool {
        format.is_shared_mobility()
    }

    fn as_protocol(&mut self) -> &mut dyn Protocol {
        self
    }

    fn decode_body<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        body: Bytes,
        _format: Format,
        _now: UnixMillis,
    ) -> BoxFuture<'a, Result<Option<UnobservedMessage>, FetchError>> {
        Box::pin(async move { self.accept_file(polled, &body).await.map(|()| None) })
    }

    /// The records of the file may be lost.
    fn starts_from_body(&self) -> bool {
        true
    }

    fn decode_restored<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        snapshot: &'a Snapshot,
        is_too_old: bool,
    ) -> BoxFuture<'a, Result<(), FetchError>> {
        polled.is_expired |= is_too_old;
        Box::pin(async move {
            match is_too_old {
                true => Ok(()),
                false => self.accept_file(polled, &snapshot.bytes).await,
            }
        })
    }

    fn refresh_content<'a>(&'a mut self, polled: &'a mut PolledFeed) -> BoxFuture<'a, ()> {
        Box::pin(self.withdraw_records(polled))
    }
}

impl GbfsFileProtocol {
    pub(super) fn new(
        polled: &mut PolledFeed,
        network_link: Option<NetworkLink>,
    ) -> GbfsFileProtocol {
        polled.recommend_ttl(None);
        GbfsFileProtocol { network_link }
    }

    async fn accept_file(&self, polled: &mut PolledFeed, body: &Bytes) -> Result<(), FetchError> {
        let refused = |error: Error| FetchError::from_decoder_error(&error);
        polled.recommend_ttl(lineside_gbfs::parse_file_ttl(body).map_err(refused)?);
        self.read_file(polled, body).await.map_err(refused)?;
        polled.record_success();
        Ok(())
    }

    /// Decodes a GBFS file: its problems become part of the status, its records go to the network.
    ///
    /// # Errors
    /// Returns an error if the file is not what its name says: the earlier content stays.
    async fn read_file(&self, polled: &mut PolledFeed, body: &Bytes) -> Result<(), Error> {
        // A system without alerts or free vehicles is fine, so its file does not count as empty.
        polled.status.entities = 1;
        polled.status.problems = Default::default();
        let Some(kind) = FileKind::kind_from_file_name(file_name(polled)) else { return Ok(()) };
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
        polled.status.data_time = read.data_time;
        polled.status.problems = read.problems.into();
        if let (Some(link), Some(file)) = (&self.network_link, read.file) {
            link.send_file(file, polled.clock.wall_time()).await;
        }
        Ok(())
    }

    /// Removes the records of a file once it exceeds its maximum age.
    async fn withdraw_records(&self, polled: &mut PolledFeed) {
        let now = polled.clock.wall_time();
        let (Some(link), Some(kind)) =
            (&self.network_link, SystemKind::from_file_name(file_name(polled)))
        else {
            return;
        };
        if !polled.is_expired && polled.is_too_old(now) {
            link.send_missing_file(kind, now).await;
            polled.fetcher.forget_version();
            polled.is_expired = true;
        }
    }
}

/// Returns the file's name without its language.
fn file_name(polled: &PolledFeed) -> &str {
    let path = polled.feed.gbfs_file_name().as_str();
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
