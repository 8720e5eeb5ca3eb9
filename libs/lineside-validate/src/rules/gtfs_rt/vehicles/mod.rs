//! Rules about vehicles: their ids, positions and speeds.

mod ids;
mod position;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] = &[&ids::RULE, &position::RULE];
