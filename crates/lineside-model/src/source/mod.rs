//! Sources: the location from which a feed is polled, and its credentials. Nothing here performs I/O.

mod credential;
mod location;
mod secret;
mod siri;
mod siri_ids;

pub use credential::{BasicAuth, OAuth2Client};
pub use location::url_host;
pub use location::{BadLocation, SourceLocation};
pub use secret::Secret;
pub use siri::{SiriAnswers, SiriEnvelope, SiriMode, SiriService, SiriSourceSettings};
pub use siri_ids::{IdKind, IdTable, IdTableError, SiriIdMapping};
