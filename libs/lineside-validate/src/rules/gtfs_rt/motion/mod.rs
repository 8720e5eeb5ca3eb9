//! Where vehicles are and were, beyond what the reference validator asks.

mod duplicate_vehicles;
mod jumps;
mod shape;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] =
    &[&shape::RULE, &jumps::RULE, &duplicate_vehicles::RULE];
