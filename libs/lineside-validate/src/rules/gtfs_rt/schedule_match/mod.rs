//! Whether messages and schedule fit each other, which the reference validator does not ask: the
//! part of the ids that match, and what should be there and is not.

mod completeness;
mod days;
mod rate;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] = &[&rate::RULE, &completeness::RULE, &days::RULE];
