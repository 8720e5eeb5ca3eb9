//! Rules over GTFS-Realtime messages: those of the reference real-time validator, with its codes, and further rules,
//! whose codes are words. Each code has a page.
//!
//! A schedule is prepared once, as a [`ScheduleIndex`]; each message then becomes a [`MessageWithContext`]. The cost of
//! a message depends on the message, not on the schedule: ids are looked up in dictionaries, and shapes through
//! bounding boxes.

mod alerts;
mod clock;
mod detours;
mod fields;
mod schedule_match;
mod freshness;
mod header;
mod history;
mod shape_index;
mod motion;
mod network;
mod active_trips;
mod scope;
mod subject;
mod time;
mod stop_time_reader;
mod schedule_index;
mod trip_ids;
mod trips;
mod updates;
mod vehicles;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use self::subject::TripUpdateWithSchedule;
pub use self::{
    clock::{AGE_CODES, validate_message_age},
    history::MessageHistory,
    schedule_index::ScheduleIndex,
    scope::RealtimeRuleScope,
    subject::{MessageWithContext, OtherScheduleVersion, ScheduleMatchRate, TRIPS_EXPECTED_FOR_S},
    trip_ids::ScheduleTripIds,
};
pub use super::ValidationOutcome;
use super::{ValidatorFault, panic_message};
use crate::{Notices, ValidationContext, notice::NoticeKind};

/// A rule over a message.
#[derive(Debug)]
pub struct RealtimeRule {
    /// The kinds that it reports: one, or several if one pass finds them all.
    pub kinds: &'static [&'static NoticeKind],
    /// Checks the whole message except its stop time updates.
    on_message: Option<fn(&MessageWithContext<'_>, &mut Notices)>,
    /// Then checks one trip update. All rules check one update before the next, while it is in the cache.
    on_update: Option<fn(&MessageWithContext<'_>, &TripUpdateWithSchedule<'_>, &mut Notices)>,
}

/// Returns all rules.
pub fn realtime_rules() -> impl Iterator<Item = &'static RealtimeRule> {
    let families = [
        header::RULES,
        trips::RULES,
        updates::RULES,
        vehicles::RULES,
        alerts::RULES,
        network::RULES,
        schedule_match::RULES,
        freshness::RULES,
        motion::RULES,
    ];
    families.into_iter().flatten().copied()
}

/// Returns all kinds of notices about a message, or about the schedule for real-time use.
pub fn realtime_notice_kinds() -> impl Iterator<Item = &'static NoticeKind> {
    let schedule = schedule_index::KINDS.iter().copied();
    schedule.chain(realtime_rules().flat_map(|rule| rule.kinds.iter().copied()))
}

/// Trip updates between two calls of the clock.
const UPDATES_PER_CHECK: usize = 64;

/// Runs all rules in the subject's scope over a message. Returns the faults of rules that panicked. Runs on one thread:
/// a message takes less time than starting others.
pub fn validate_realtime_message(
    subject: &MessageWithContext<'_>,
    _: &ValidationContext,
    notices: &mut Notices,
) -> Vec<ValidatorFault> {
    validate_realtime_while(subject, notices, &|| true).errors
}

/// Validates a message while there is time. Calls `should_continue` before each rule and after every 64 trip updates,
/// and stops once it returns false.
pub fn validate_realtime_while(
    subject: &MessageWithContext<'_>,
    notices: &mut Notices,
    should_continue: &dyn Fn() -> bool,
) -> ValidationOutcome {
    let scope = subject.scope;
    let has_any =
        |rule: &&RealtimeRule| rule.kinds.iter().any(|kind| scope.applies_to_code(kind.code));
    let mut found = notices.new_empty_like();
    let verdict = run_realtime_rules(
        realtime_rules().filter(has_any).collect(),
        subject,
        &mut found,
        should_continue,
    );
    // A check may report kinds outside the scope.
    found.retain_notice_kinds(|kind| scope.applies_to_code(kind.code));
    notices.merge_notices(found);
    verdict
}

fn run_realtime_rules(
    mut rules: Vec<&RealtimeRule>,
    subject: &MessageWithContext<'_>,
    notices: &mut Notices,
    should_continue: &dyn Fn() -> bool,
) -> ValidationOutcome {
    let mut verdict = ValidationOutcome::default();
    rules.retain(|rule| {
        verdict.is_cut_short |= rule.on_message.is_some() && !should_continue();
        let check_message = rule.on_message.filter(|_| !verdict.is_cut_short);
        let result = check_message
            .map_or(Ok(()), |check| catch_unwind(AssertUnwindSafe(|| check(subject, notices))));
        record_rule_result(rule, result, &mut verdict.errors)
    });
    for (at, update) in subject.updates.iter().enumerate() {
        verdict.is_cut_short |= at.is_multiple_of(UPDATES_PER_CHECK) && !should_continue();
        if verdict.is_cut_short {
            break;
        }
        rules.retain(|rule| {
            let result = rule.on_update.map_or(Ok(()), |check_update| {
                catch_unwind(AssertUnwindSafe(|| check_update(subject, update, notices)))
            });
            record_rule_result(rule, result, &mut verdict.errors)
        });
    }
    verdict
}

/// Returns true if a rule ended normally; otherwise records its fault.
fn record_rule_result(
    rule: &RealtimeRule,
    result: thread::Result<()>,
    errors: &mut Vec<ValidatorFault>,
) -> bool {
    let Err(panic) = result else { return true };
    let rule = rule.kinds.first().map_or("", |kind| kind.code);
    errors.push(ValidatorFault { rule, message: panic_message(&*panic) });
    false
}

/// Reports problems of the schedule itself for real-time use, once for each schedule, not for each message.
pub fn validate_schedule_for_realtime(timetable: &ScheduleIndex, notices: &mut Notices) {
    timetable.report_wrong_stop_location_types(notices);
}
