//! Checks of the header's timestamp against the message before.

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{HEADER, NoticeFieldMeaning, new_error_kind, new_warning_kind},
        time::timestamp_unless_zero,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&SAME, &BACKWARDS, &LATE],
    on_update: None,
    on_message: Some(check_timestamp_progress),
};

const PREVIOUS: NoticeFieldMeaning =
    ("previousTimestamp", "The timestamp of the previous message, in seconds since 1970.");

static SAME: NoticeKind = new_error_kind("E017", &[HEADER], include_str!("E017.md"));

static BACKWARDS: NoticeKind = new_error_kind("E018", &[HEADER, PREVIOUS], include_str!("E018.md"));

static LATE: NoticeKind = new_warning_kind(
    "W007",
    &[HEADER, PREVIOUS, ("interval", "The difference, in seconds.")],
    include_str!("W007.md"),
);

/// The longest accepted interval between two messages, in seconds: half a minute, as the best
/// practices recommend, and some time for the transfer.
const INTERVAL_MAX_S: i64 = 35;

/// O(1), or O(message) where both have the same timestamp.
fn check_timestamp_progress(subject: &MessageWithContext<'_>, out: &mut Notices) {
    let (Some(this), Some(previous)) = (subject.header_timestamp(), subject.previous) else {
        return;
    };
    let Some(previous_timestamp) = timestamp_unless_zero(previous.header.timestamp) else { return };
    if this == previous_timestamp {
        if previous != subject.message {
            out.count_notice_with_sample(&SAME, |sample| {
                sample.set_field("headerTimestamp", this);
            });
        }
    } else if this < previous_timestamp {
        out.count_notice_with_sample(&BACKWARDS, |sample| {
            sample
                .set_field("headerTimestamp", this)
                .set_field("previousTimestamp", previous_timestamp);
        });
    } else if this.saturating_sub(previous_timestamp) > INTERVAL_MAX_S {
        out.count_notice_with_sample(&LATE, |sample| {
            sample
                .set_field("headerTimestamp", this)
                .set_field("previousTimestamp", previous_timestamp);
            sample.set_field("interval", this.saturating_sub(previous_timestamp));
        });
    }
}
