//! The stop time updates of trips: whether they rise, say something, and fit the schedule.

mod along;
mod content;
mod time_order;
mod stops;

use super::RealtimeRule;

/// The rules of this family.
pub(super) static RULES: &[&RealtimeRule] = &[&along::RULE, &time_order::RULE, &stops::RULE];
