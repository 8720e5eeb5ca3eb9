//! The protocols: one file for each kind of source.

mod converted;
mod gbfs;
mod gbfs_file;
mod plain;
mod siri;

use lineside_sync::UnixMillis;

pub(crate) use self::converted::ConverterSlots;
pub(super) use self::{
    converted::{ConvertedProtocol, ConverterResult},
    gbfs::GbfsProtocol,
    gbfs_file::GbfsFileProtocol,
    plain::WholeFileProtocol,
    siri::{SiriProtocol, siri_error_body_reader},
};
use crate::{feed_config::FeedConfig, fetch::SourceRequest};

/// Returns the first request to a source, which for SIRI may be a POST.
pub(crate) fn build_source_test_request(config: &FeedConfig, now: UnixMillis) -> SourceRequest {
    siri::SiriRequestBuilder::new(now.0.unsigned_abs()).build_next_request(config, now)
}
