//! Checks of the age of a message. A message that its source repeats ages without changing.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{MessageWithContext, realtime_rules, record_rule_result};
use crate::{Notices, rules::ValidatorFault};

/// The codes that a message gets only because time passes.
pub const AGE_CODES: &[&str] = &["W008", "stale_trip_update", "stale_vehicle"];

/// Checks only the age of a message and of its entities, within the scope of the message. O(entities).
pub fn validate_message_age(
    subject: &MessageWithContext<'_>,
    notices: &mut Notices,
) -> Vec<ValidatorFault> {
    let mut errors = Vec::new();
    let mut found = notices.new_empty_like();
    for rule in
        realtime_rules().filter(|rule| rule.kinds.iter().any(|kind| AGE_CODES.contains(&kind.code)))
    {
        let check_message = rule.on_message.unwrap_or(|_, _| {});
        let result = catch_unwind(AssertUnwindSafe(|| check_message(subject, &mut found)));
        record_rule_result(rule, result, &mut errors);
    }
    // The same rules report other codes too.
    found.retain_notice_kinds(|kind| {
        AGE_CODES.contains(&kind.code) && subject.scope.applies_to_code(kind.code)
    });
    notices.merge_notices(found);
    errors
}
