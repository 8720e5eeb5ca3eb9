//! How fresh a feed is, entity by entity and from one message to the next, beyond what the reference
//! validator asks.

mod age;
mod cadence;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] = &[&age::RULE, &cadence::RULE];
