//! The pace of a feed, beside its own of the last messages.

use crate::{
    Notices,
    notice::Kind,
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{Field, HEADER, warning},
    },
};

pub(super) static RULE: RealtimeRule =
    RealtimeRule { kinds: &[&PAUSE, &JUMP], on_update: None, on_message: Some(check) };

const INTERVAL: Field = ("interval", "The seconds since the message before, by the headers.");

static PAUSE: Kind = warning(
    "feed_pause",
    &[HEADER, INTERVAL, ("usualInterval", "The seconds that mostly lie between two messages.")],
    include_str!("feed_pause.md"),
);

static JUMP: Kind = warning(
    "timestamp_jump",
    &[HEADER, INTERVAL, ("received", "The seconds between them, as they were received.")],
    include_str!("timestamp_jump.md"),
);

/// How many times the usual interval is a pause.
const PAUSE_TIMES: i64 = 3;
/// Seconds up to which nothing is a pause.
const PAUSE_MIN_S: i64 = 60;
/// How far a header's clock may go on otherwise than ours between two messages, in seconds.
const JUMP_MIN_S: i64 = 60;

/// O(1).
fn check(subject: &Subject<'_>, out: &mut Notices) {
    let (Some(history), Some(header)) = (subject.history, subject.timestamp()) else { return };
    let Some(last) = history.last() else { return };
    let interval = header.saturating_sub(last.header);
    let received = subject.now.saturating_sub(last.received);
    let usual = history.interval();
    if let Some(usual) = usual
        && interval > PAUSE_MIN_S.max(usual.saturating_mul(PAUSE_TIMES))
    {
        out.add(&PAUSE, |sample| {
            sample.put("headerTimestamp", header).put("interval", interval);
            sample.put("usualInterval", usual);
        });
    }
    // A source that makes a message every few minutes is read once at any point of them.
    let slack = JUMP_MIN_S.max(usual.unwrap_or_default());
    if interval.saturating_sub(received).saturating_abs() > slack {
        out.add(&JUMP, |sample| {
            sample.put("headerTimestamp", header).put("interval", interval);
            sample.put("received", received);
        });
    }
}
