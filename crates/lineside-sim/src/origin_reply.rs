//! Answers of the origin, without HTTP types.

use bytes::Bytes;

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct OriginReply {
    /// The HTTP status.
    pub status: u16,
    /// The headers, with lower-case names.
    pub headers: Vec<(&'static str, String)>,
    pub body: ReplyBody,
}

/// The body of an [`OriginReply`].
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyBody {
    /// These bytes, possibly none.
    Bytes(Bytes),
    /// Nothing is ever sent, not even the headers; the connection stays open.
    Hang,
}
