//! Rules about the header and all timestamps of a message.

mod is_deleted;
mod pace;
mod timestamps;
mod version;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] =
    &[&version::RULE, &is_deleted::RULE, &pace::RULE, &timestamps::RULE];
