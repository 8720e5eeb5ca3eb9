//! The protocols: one file for each kind of source.

mod converted;
mod gbfs;
mod gbfs_file;
mod plain;
mod siri;

use lineside_sync::UnixMillis;

pub(crate) use self::converted::ConverterSlots;
pub(super) use self::{
    converted::{ConvertedProtocol, ConverterReply},
    gbfs::GbfsProtocol,
    gbfs_file::GbfsFileProtocol,
    plain::PlainProtocol,
    siri::{SiriProtocol, error_body_reader},
};
use crate::{feed_config::FeedConfig, fetch::SourceRequest};

/// Returns the first request to a source, which for SIRI may be a POST.
pub(crate) fn build_trial_request(config: &FeedConfig, now: UnixMillis) -> SourceRequest {
    siri::SiriRequests::new(now.0.unsigned_abs()).next_request(config, now)
}
