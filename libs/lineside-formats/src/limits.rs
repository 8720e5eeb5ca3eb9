//! The limits that several formats share.

/// The longest body of a real-time message that a decoder accepts, in bytes.
pub(crate) const MESSAGE_BYTES_MAX: u64 = 128 << 20;
