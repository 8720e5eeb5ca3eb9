//! Rules about the positions of vehicles over time and relative to shapes, beyond the reference
//! validator's.

mod duplicate_vehicles;
mod jumps;
mod shape;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] =
    &[&shape::RULE, &jumps::RULE, &duplicate_vehicles::RULE];
