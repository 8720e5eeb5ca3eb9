//! Freshness of entities and of whole feeds, beyond the reference validator's rules.

mod age;
mod cadence;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] = &[&age::RULE, &cadence::RULE];
