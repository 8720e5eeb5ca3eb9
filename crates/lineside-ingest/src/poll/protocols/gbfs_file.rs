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
    normalize::{DecodedGbfsFile, GbfsFileRecords, GbfsRecordFileKind, decode_file_records},
    poll::{
        observe::MessageToObserve,
        polled_feed::PolledFeed,
        protocol::{BoxFuture, SourceProtocol},
    },
    poll_stages::PollStage,
    snapshot::FeedBodySnapshot,
};

/// The language code of a text in an unknown language.
const LANGUAGE_UNKNOWN: &str = "und";

/// The network of a GBFS system and the system's number in it.
#[derive(Clone, Debug)]
pub(super) struct GbfsNetworkLink {
    pub(super) queue: NetworkQueue,
    pub(super) number: usize,
    /// The language of the file.
    pub(super) language: Option<SmolStr>,
}

impl GbfsNetworkLink {
    /// Returns the link of a system to its network.
    pub(super) fn for_feed(polled: &PolledFeed) -> Option<GbfsNetworkLink> {
        let queue = polled.queue.clone()?;
        Some(GbfsNetworkLink { queue, number: polled.number, language: None })
    }

    /// Sends the records of a file.
    pub(super) async fn send_records_to_network(&self, file: GbfsFileRecords, now: UnixMillis) {
        // An ended network needs no update.
        let _ = self.queue.send_input(NetworkInput::File { number: self.number, file, now }).await;
    }

    /// Reports that there is no such file, or no usable one.
    pub(super) async fn remove_records_from_network(
        &self,
        kind: GbfsRecordFileKind,
        now: UnixMillis,
    ) {
        self.send_records_to_network(GbfsFileRecords { kind, pieces: Vec::new() }, now).await;
    }
}

/// The protocol of a file of a GBFS system.
#[derive(Debug)]
pub(in crate::poll) struct GbfsFileProtocol {
    /// The network that receives the file's records.
    network_link: Option<GbfsNetworkLink>,
}

impl SourceProtocol for GbfsFileProtocol {
    fn can_decode_format(&self, format: Format) -> bool {
        format.is_shared_mobility()
    }

    fn as_dyn_protocol(&mut self) -> &mut dyn SourceProtocol {
        self
    }

    fn decode_and_apply_body<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        body: Bytes,
        _format: Format,
        _now: UnixMillis,
    ) -> BoxFuture<'a, Result<Option<MessageToObserve>, FetchError>> {
        Box::pin(async move { self.accept_gbfs_file(polled, &body).await.map(|()| None) })
    }

    /// The records of the file may be lost.
    fn is_body_needed_at_start(&self) -> bool {
        true
    }

    fn decode_restored_body<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        snapshot: &'a FeedBodySnapshot,
        is_too_old: bool,
    ) -> BoxFuture<'a, Result<(), FetchError>> {
        polled.is_expired |= is_too_old;
        Box::pin(async move {
            match is_too_old {
                true => Ok(()),
                false => self.accept_gbfs_file(polled, &snapshot.bytes).await,
            }
        })
    }

    fn update_content_between_polls<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
    ) -> BoxFuture<'a, ()> {
        Box::pin(self.withdraw_records_if_too_old(polled))
    }
}

impl GbfsFileProtocol {
    pub(super) fn new(
        polled: &mut PolledFeed,
        network_link: Option<GbfsNetworkLink>,
    ) -> GbfsFileProtocol {
        polled.set_interval_from_ttl(None);
        GbfsFileProtocol { network_link }
    }

    async fn accept_gbfs_file(
        &self,
        polled: &mut PolledFeed,
        body: &Bytes,
    ) -> Result<(), FetchError> {
        let refused = |error: Error| FetchError::from_decoder_error(&error);
        polled.set_interval_from_ttl(lineside_gbfs::parse_file_ttl(body).map_err(refused)?);
        self.decode_and_send_records(polled, body).await.map_err(refused)?;
        polled.record_success();
        Ok(())
    }

    /// Decodes a GBFS file: its problems become part of the status, its records go to the network.
    ///
    /// # Errors
    /// Returns an error if the file is not what its name says: the earlier content stays.
    async fn decode_and_send_records(
        &self,
        polled: &mut PolledFeed,
        body: &Bytes,
    ) -> Result<(), Error> {
        // A system without alerts or free vehicles is fine, so its file does not count as empty.
        polled.status.entities = 1;
        polled.status.problems = Default::default();
        let Some(kind) = FileKind::kind_from_file_name(file_name_without_language(polled)) else {
            return Ok(());
        };
        let language = self.network_link.as_ref().and_then(|link| link.language.clone());
        let language = language.unwrap_or(SmolStr::new_static(LANGUAGE_UNKNOWN));
        let body = body.clone();
        let is_small = body.len() <= GBFS_INLINE_BYTES_MAX;
        let read = move || {
            let _at = stage::set_stage_until_dropped(PollStage::Decode.to_work_stage());
            decode_file_records(kind, &body, &language)
        };
        let read = if is_small {
            read()
        } else {
            // A panic of the decoder leaves the file unchecked, but it is served.
            tokio::task::spawn_blocking(read)
                .await
                .unwrap_or_else(|_| Ok(DecodedGbfsFile::default()))
        };
        let read = read?;
        polled.status.data_time = read.data_time;
        polled.status.problems = read.problems.into();
        if let (Some(link), Some(file)) = (&self.network_link, read.file) {
            link.send_records_to_network(file, polled.clock.wall_time()).await;
        }
        Ok(())
    }

    /// Removes the records of a file once it exceeds its maximum age.
    async fn withdraw_records_if_too_old(&self, polled: &mut PolledFeed) {
        let now = polled.clock.wall_time();
        let (Some(link), Some(kind)) = (
            &self.network_link,
            GbfsRecordFileKind::from_file_name(file_name_without_language(polled)),
        ) else {
            return;
        };
        if !polled.is_expired && polled.is_data_too_old(now) {
            link.remove_records_from_network(kind, now).await;
            polled.fetcher.forget_fetched_version();
            polled.is_expired = true;
        }
    }
}

/// Returns the file's name without its language.
fn file_name_without_language(polled: &PolledFeed) -> &str {
    let path = polled.feed.gbfs_file_name().as_str();
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
