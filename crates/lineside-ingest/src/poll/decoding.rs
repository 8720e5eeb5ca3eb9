//! From the bytes of a real-time message to its entities.

use bytes::Bytes;
use lineside_formats::{Problems, gtfs_rt, is_json_twin};
use lineside_sync::stage;

use super::{Failure, broken};
use crate::stages::Stage;

/// Takes a message apart: protobuf, or its JSON twin.
pub(crate) async fn decode(body: Bytes, max: u64) -> Result<(gtfs_rt::Shallow, Problems), Failure> {
    let body_bytes = usize::try_from(max).unwrap_or(usize::MAX);
    let usual = gtfs_rt::Limits::default();
    let limits = gtfs_rt::Limits { body_bytes: body_bytes.min(usual.body_bytes), ..usual };
    if !is_json_twin(&body) {
        return gtfs_rt::decode_shallow(body, &limits).map_err(|error| Failure::refused(&error));
    }
    let decoded = tokio::task::spawn_blocking(move || {
        let _at = stage::enter(Stage::Decode.work());
        let (message, problems) = gtfs_rt::decode_json(&body, &limits)?;
        Ok((gtfs_rt::Shallow::of_message(&message), problems))
    });
    match decoded.await {
        Ok(result) => result.map_err(|error| Failure::refused(&error)),
        Err(_) => Err(broken()),
    }
}
