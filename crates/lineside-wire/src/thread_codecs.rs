//! The encoders and decoders that the connections of a thread share.

use lineside_hub::JoinedPublicationsCache;

use crate::websocket::{Deflater, Inflater};

/// The codecs shared by the connections of a thread.
#[derive(Debug, Default)]
pub struct ThreadCodecs {
    /// The last runs, shared by sessions with equal deliveries.
    pub runs: JoinedPublicationsCache,
    /// Compresses messages.
    pub deflater: Deflater,
    /// Decompresses messages.
    pub inflater: Inflater,
}
