//! Rules about the match of messages and schedule, beyond the reference validator's: the share of
//! matching ids, and missing trips.

mod completeness;
mod days;
mod rate;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] = &[&rate::RULE, &completeness::RULE, &days::RULE];
