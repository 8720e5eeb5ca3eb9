//! Checks of the header's timestamp against the message before.

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageSubject, RealtimeRule,
        fields::{Field, HEADER, error_kind, warning_kind},
        time::parse_timestamp,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&SAME, &BACKWARDS, &LATE],
    on_update: None,
    on_message: Some(check_timestamp_progress),
};

const PREVIOUS: Field =
    ("previousTimestamp", "The timestamp of the previous message, in seconds since 1970.");

static SAME: NoticeKind = error_kind("E017", &[HEADER], include_str!("E017.md"));

static BACKWARDS: NoticeKind = error_kind("E018", &[HEADER, PREVIOUS], include_str!("E018.md"));

static LATE: NoticeKind = warning_kind(
    "W007",
    &[HEADER, PREVIOUS, ("interval", "The difference, in seconds.")],
    include_str!("W007.md"),
);

/// The longest accepted interval between two messages, in seconds: half a minute, as the best
/// practices recommend, and some time for the transfer.
const INTERVAL_MAX_S: i64 = 35;

/// O(1), or O(message) where both have the same timestamp.
fn check_timestamp_progress(subject: &MessageSubject<'_>, out: &mut Notices) {
    let (Some(this), Some(previous)) = (subject.header_timestamp(), subject.previous) else {
        return;
    };
    let Some(previous_timestamp) = parse_timestamp(previous.header.timestamp) else { return };
    if this == previous_timestamp {
        if previous != subject.message {
            out.add_notice(&SAME, |sample| {
                sample.set_field("headerTimestamp", this);
            });
        }
    } else if this < previous_timestamp {
        out.add_notice(&BACKWARDS, |sample| {
            sample
                .set_field("headerTimestamp", this)
                .set_field("previousTimestamp", previous_timestamp);
        });
    } else if this.saturating_sub(previous_timestamp) > INTERVAL_MAX_S {
        out.add_notice(&LATE, |sample| {
            sample
                .set_field("headerTimestamp", this)
                .set_field("previousTimestamp", previous_timestamp);
            sample.set_field("interval", this.saturating_sub(previous_timestamp));
        });
    }
}
