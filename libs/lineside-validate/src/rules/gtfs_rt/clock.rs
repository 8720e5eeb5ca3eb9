//! What time alone makes of a message: one that its source gives again and again grows old.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{MessageSubject, realtime_rules, record_rule_result};
use crate::{Notices, rules::SystemError};

/// The codes that a message without them gets as time goes on.
pub const OF_AGE: &[&str] = &["W008", "stale_trip_update", "stale_vehicle"];

/// Judges only how old a message and what is in it are by now, as far as that is to the point. O(entities).
pub fn validate_age(subject: &MessageSubject<'_>, notices: &mut Notices) -> Vec<SystemError> {
    let mut errors = Vec::new();
    let mut found = notices.new_empty_like();
    for rule in
        realtime_rules().filter(|rule| rule.kinds.iter().any(|kind| OF_AGE.contains(&kind.code)))
    {
        let look = rule.on_message.unwrap_or(|_, _| {});
        let looked = catch_unwind(AssertUnwindSafe(|| look(subject, &mut found)));
        record_rule_result(rule, looked, &mut errors);
    }
    // They are found together with others.
    found.retain_kinds(|kind| OF_AGE.contains(&kind.code) && subject.scope.has_code(kind.code));
    notices.merge_notices(found);
    errors
}
