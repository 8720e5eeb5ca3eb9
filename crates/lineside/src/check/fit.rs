//! SIRI held against its schedule: what a message comes to in a server, by the rules of real time that a server asks of it.

use bytes::Bytes;
use lineside_formats::gtfs_rt::proto::FeedMessage;
use lineside_formats::siri;
use lineside_validate::rules::SystemError;
use lineside_validate::rules::gtfs_rt::{Scope, Subject, validate, validate_schedule};
use lineside_validate::{Context, Notices, Stop};

use super::others::{around, of_schedule, timetable};
use super::{Plan, Point};
use crate::convert::{Schedule, comes_to};

/// Whether there is something to hold a message against.
pub(super) fn is_asked(plan: &Plan) -> bool {
    plan.schedule.is_some() || plan.previous.is_some()
}

/// Holds what a message comes to against the rules: all that are to the point with its schedule, else those that need none.
pub(super) fn judge(
    body: &Bytes,
    plan: &Plan,
    stop: &Stop,
    (notices, outline): (&mut Notices, &mut Vec<Point>),
) -> Result<Vec<SystemError>, String> {
    let context = Context { today: plan.today, country: plan.country, threads: plan.threads };
    let rows = timetable(plan, &context, stop)?;
    let schedule = plan.schedule.clone().map(Schedule::read).transpose().map_err(of_schedule)?;
    around(&rows, outline);
    let read = |body: &Bytes| read(body, plan, schedule.as_ref());
    let previous = plan.previous.as_ref().map(read).transpose();
    let previous = previous.map_err(|error| format!("the message before it: {error}"))?;
    let (message, has_visits) = read(body)?;
    let scope = Scope {
        has_schedule: schedule.is_some(),
        is_translated: true,
        // Calls are told of stops that were asked about, which are not all that there are.
        is_whole: !has_visits,
        is_said_anew: true,
    };
    let subject = Subject::new(&message, &rows, plan.now).within(scope);
    let subject = subject.after(previous.as_ref().map(|(message, _)| message));
    let errors = validate(&subject, &context, notices);
    let mut of_schedule = notices.sibling();
    validate_schedule(&rows, &mut of_schedule);
    of_schedule.retain(|kind| scope.has(kind.code));
    notices.merge(of_schedule);
    Ok(errors)
}

/// What a message comes to, and whether it tells of calls at stops.
fn read(
    body: &Bytes,
    plan: &Plan,
    schedule: Option<&Schedule>,
) -> Result<(FeedMessage, bool), String> {
    let zone = Schedule::zone(schedule);
    let decoded = siri::decode(body, &zone, &siri::Limits::default());
    let (message, _) = decoded.map_err(|error| error.to_string())?;
    let has_visits = message.deliveries().any(|it| !it.stop_monitorings.is_empty());
    Ok((comes_to(&message, &plan.ids, schedule)?, has_visits))
}
