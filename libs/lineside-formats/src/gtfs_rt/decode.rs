//! Decodes a whole message at once, for tools and tests that do not compare polls.

use bytes::Bytes;

use super::{FeedMessageLimits, proto, split_feed_message};
use crate::{Error, Problems};

/// Decodes the message in `body` with all its entities. A damaged entity is dropped with a problem.
///
/// # Errors
/// Returns the errors of [`split_feed_message`].
pub fn decode_feed_message(
    body: Bytes,
    limits: &FeedMessageLimits,
) -> Result<(proto::FeedMessage, Problems), Error> {
    let (shallow, mut problems) = split_feed_message(body, limits)?;
    let mut entity = Vec::with_capacity(shallow.entities.len());
    for raw in &shallow.entities {
        match raw.decode_entity() {
            Ok(decoded) => entity.push(decoded),
            Err(problem) => problems.push(problem),
        }
    }
    Ok((proto::FeedMessage { header: shallow.header, entity }, problems))
}
