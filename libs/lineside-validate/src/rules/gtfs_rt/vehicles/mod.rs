//! Vehicles: which they are, where, and how fast.

mod ids;
mod position;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] = &[&ids::RULE, &position::RULE];
