//! Channels outside of networks.

use std::{fmt, sync::Arc};

use lineside_hub::ChannelStateSource;

/// The source of channels that the program fills itself. Their rooms have
/// [`KIND_EXTRA`](crate::KIND_EXTRA) and their own offsets.
#[derive(Clone)]
pub struct ExtraChannelSource(pub Arc<dyn ChannelStateSource>);

impl fmt::Debug for ExtraChannelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExtraChannels")
    }
}
