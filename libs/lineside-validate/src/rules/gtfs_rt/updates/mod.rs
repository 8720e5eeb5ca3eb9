//! Rules about stop time updates: their order, their content, and their match with the schedule.

mod along;
mod content;
mod time_order;
mod stops;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] = &[&along::RULE, &time_order::RULE, &stops::RULE];
