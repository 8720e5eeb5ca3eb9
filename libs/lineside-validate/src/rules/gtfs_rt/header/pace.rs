//! How the header's timestamp goes on from one message to the next.

use crate::{
    Notices,
    notice::Kind,
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{Field, HEADER, error, warning},
        time::timestamp,
    },
};

pub(super) static RULE: RealtimeRule =
    RealtimeRule { kinds: &[&SAME, &BACKWARDS, &LATE], on_update: None, on_message: Some(check) };

const PREVIOUS: Field =
    ("previousTimestamp", "The timestamp of the message before, in seconds since 1970.");

static SAME: Kind = error("E017", &[HEADER], include_str!("E017.md"));

static BACKWARDS: Kind = error("E018", &[HEADER, PREVIOUS], include_str!("E018.md"));

static LATE: Kind = warning(
    "W007",
    &[HEADER, PREVIOUS, ("interval", "The seconds between them.")],
    include_str!("W007.md"),
);

/// Seconds between two messages that are no delay: half a minute, as the best practices want it,
/// and some for the way.
const INTERVAL_MAX_S: i64 = 35;

/// O(1), or O(message) where both have the same timestamp.
fn check(subject: &Subject<'_>, out: &mut Notices) {
    let (Some(this), Some(previous)) = (subject.timestamp(), subject.previous) else { return };
    let Some(before) = timestamp(previous.header.timestamp) else { return };
    if this == before {
        if previous != subject.message {
            out.add(&SAME, |sample| {
                sample.put("headerTimestamp", this);
            });
        }
    } else if this < before {
        out.add(&BACKWARDS, |sample| {
            sample.put("headerTimestamp", this).put("previousTimestamp", before);
        });
    } else if this.saturating_sub(before) > INTERVAL_MAX_S {
        out.add(&LATE, |sample| {
            sample.put("headerTimestamp", this).put("previousTimestamp", before);
            sample.put("interval", this.saturating_sub(before));
        });
    }
}
