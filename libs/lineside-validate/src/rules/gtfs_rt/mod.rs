//! The rules over GTFS-Realtime messages, with the codes of the reference real-time validator: one
//! page for each code.
//!
//! A schedule is prepared once, as a [`Timetable`]; each message is then a [`Subject`] of its own.
//! What a poll costs depends on the message, not on the schedule: ids are looked up in
//! dictionaries, and shapes through boxes.

mod alerts;
mod fields;
mod header;
mod lines;
mod network;
mod subject;
mod time;
mod timetable;
mod trips;
mod updates;
mod vehicles;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use self::{subject::Subject, timetable::Timetable};
use super::{SystemError, words_of};
use crate::{Context, Notices, notice::Kind};

/// A rule over a message.
#[derive(Debug)]
pub struct RealtimeRule {
    /// What it says: one kind of notice, or several where one look finds them all.
    pub kinds: &'static [&'static Kind],
    /// Looks at the message and says what is wrong.
    pub check: fn(&Subject<'_>, &mut Notices),
}

/// All rules.
pub fn rules() -> impl Iterator<Item = &'static RealtimeRule> {
    let families = [
        header::RULES,
        trips::RULES,
        updates::RULES,
        vehicles::RULES,
        alerts::RULES,
        network::RULES,
    ];
    families.into_iter().flatten().copied()
}

/// All kinds of notices that a message, or the schedule below it, may get.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    let schedule = timetable::KINDS.iter().copied();
    schedule.chain(rules().flat_map(|rule| rule.kinds.iter().copied()))
}

/// Runs all rules over a message. Those that break off are told apart from what the data gets
/// wrong. One thread: a message is done before others have begun.
pub fn validate(subject: &Subject<'_>, _: &Context, notices: &mut Notices) -> Vec<SystemError> {
    let mut errors = Vec::new();
    for rule in rules() {
        let look = AssertUnwindSafe(|| (rule.check)(subject, notices));
        if let Err(panic) = catch_unwind(look) {
            let rule = rule.kinds.first().map_or("", |kind| kind.code);
            errors.push(SystemError { rule, message: words_of(&*panic) });
        }
    }
    errors
}

/// What the schedule alone gets wrong for real-time messages: once for each schedule, not for each
/// message.
pub fn validate_schedule(timetable: &Timetable, notices: &mut Notices) {
    timetable.check(notices);
}
