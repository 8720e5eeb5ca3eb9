//! Rules that compare the trips in updates and vehicles with the schedule.

mod frequencies;
mod ids;
mod relationship;
mod start;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] =
    &[&ids::RULE, &start::RULE, &relationship::RULE, &frequencies::RULE];
