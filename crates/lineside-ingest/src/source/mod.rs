//! Sources: where a feed is polled from, and the secrets that it takes. Nothing here reads a byte.

mod credential;
mod location;
mod secret;
mod siri;

pub use credential::{Basic, OAuth2};
pub(crate) use location::host_of;
pub use location::{BadLocation, Location};
pub use secret::Secret;
pub use siri::{SiriAnswers, SiriEnvelope, SiriMode, SiriService, SiriSource};
