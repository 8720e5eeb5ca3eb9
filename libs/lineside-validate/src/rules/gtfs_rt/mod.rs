//! The rules over GTFS-Realtime messages: those of the reference real-time validator, with its codes,
//! and some that it has not, whose codes are words. One page for each code.
//!
//! A schedule is prepared once, as a [`ScheduleIndex`]; each message is then a [`MessageSubject`] of its own.
//! What a poll costs depends on the message, not on the schedule: ids are looked up in
//! dictionaries, and shapes through boxes.

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

use self::subject::TripUpdateRef;
pub use self::{
    clock::{OF_AGE, validate_age},
    history::MessageHistory,
    schedule_index::ScheduleIndex,
    scope::RuleScope,
    subject::{AlternateSchedule, MatchRate, MessageSubject, TRIPS_EXPECTED_FOR_S},
    trip_ids::TripIds,
};
pub use super::ValidationOutcome;
use super::{SystemError, panic_message};
use crate::{Notices, ValidationContext, notice::NoticeKind};

/// A rule over a message.
#[derive(Debug)]
pub struct RealtimeRule {
    /// What it says: one kind of notice, or several where one look finds them all.
    pub kinds: &'static [&'static NoticeKind],
    /// Looks at all of the message but its stop time updates.
    on_message: Option<fn(&MessageSubject<'_>, &mut Notices)>,
    /// Then looks at one trip update: all rules look at one before they go on to the next, as long
    /// as it is at hand.
    on_update: Option<fn(&MessageSubject<'_>, &TripUpdateRef<'_>, &mut Notices)>,
}

/// All rules.
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

/// All kinds of notices that a message, or the schedule below it, may get.
pub fn notice_kinds() -> impl Iterator<Item = &'static NoticeKind> {
    let schedule = schedule_index::KINDS.iter().copied();
    schedule.chain(realtime_rules().flat_map(|rule| rule.kinds.iter().copied()))
}

/// Trip updates between two looks at the clock.
const UPDATES_PER_LOOK: usize = 64;

/// Runs all rules over a message that are to the point for it. Those that break off are told apart from what the data gets
/// wrong. One thread: a message is done before others have begun.
pub fn validate_message(
    subject: &MessageSubject<'_>,
    _: &ValidationContext,
    notices: &mut Notices,
) -> Vec<SystemError> {
    validate_while(subject, notices, &|| true).errors
}

/// The same for as long as there is time: `goes_on` is asked before each rule and after every 64
/// trip updates, and once it says no, the rest is left out.
pub fn validate_while(
    subject: &MessageSubject<'_>,
    notices: &mut Notices,
    goes_on: &dyn Fn() -> bool,
) -> ValidationOutcome {
    let scope = subject.scope;
    let has_any = |rule: &&RealtimeRule| rule.kinds.iter().any(|kind| scope.has_code(kind.code));
    let mut found = notices.new_empty_like();
    let verdict = run_realtime_rules(
        realtime_rules().filter(has_any).collect(),
        subject,
        &mut found,
        goes_on,
    );
    // A look may find more than is asked.
    found.retain_kinds(|kind| scope.has_code(kind.code));
    notices.merge_notices(found);
    verdict
}

fn run_realtime_rules(
    mut rules: Vec<&RealtimeRule>,
    subject: &MessageSubject<'_>,
    notices: &mut Notices,
    goes_on: &dyn Fn() -> bool,
) -> ValidationOutcome {
    let mut verdict = ValidationOutcome::default();
    rules.retain(|rule| {
        verdict.is_cut_short |= rule.on_message.is_some() && !goes_on();
        let look = rule.on_message.filter(|_| !verdict.is_cut_short);
        let looked =
            look.map_or(Ok(()), |look| catch_unwind(AssertUnwindSafe(|| look(subject, notices))));
        record_rule_result(rule, looked, &mut verdict.errors)
    });
    for (at, update) in subject.updates.iter().enumerate() {
        verdict.is_cut_short |= at.is_multiple_of(UPDATES_PER_LOOK) && !goes_on();
        if verdict.is_cut_short {
            break;
        }
        rules.retain(|rule| {
            let looked = rule.on_update.map_or(Ok(()), |look| {
                catch_unwind(AssertUnwindSafe(|| look(subject, update, notices)))
            });
            record_rule_result(rule, looked, &mut verdict.errors)
        });
    }
    verdict
}

/// Whether a rule ended as it should; if not, that is said once.
fn record_rule_result(
    rule: &RealtimeRule,
    looked: thread::Result<()>,
    errors: &mut Vec<SystemError>,
) -> bool {
    let Err(panic) = looked else { return true };
    let rule = rule.kinds.first().map_or("", |kind| kind.code);
    errors.push(SystemError { rule, message: panic_message(&*panic) });
    false
}

/// What the schedule alone gets wrong for real-time messages: once for each schedule, not for each
/// message.
pub fn validate_schedule(timetable: &ScheduleIndex, notices: &mut Notices) {
    timetable.check_stop_times(notices);
}
