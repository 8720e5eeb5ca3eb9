//! Channels that no network has.

use std::{fmt, sync::Arc};

use lineside_hub::StateSource;

/// The source of channels that the program fills itself. Their rooms are of [`KIND_BESIDE`](super::kinds::KIND_BESIDE)
/// and count by themselves.
#[derive(Clone)]
pub struct ExtraChannels(pub Arc<dyn StateSource>);

impl fmt::Debug for ExtraChannels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Beside")
    }
}
