//! Checks of the interval between messages against the feed's usual interval.

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{HEADER, NoticeFieldMeaning, new_warning_kind},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&PAUSE, &JUMP],
    on_update: None,
    on_message: Some(check_message_interval),
};

const INTERVAL: NoticeFieldMeaning =
    ("interval", "The seconds since the previous message, according to the headers.");

static PAUSE: NoticeKind = new_warning_kind(
    "feed_pause",
    &[HEADER, INTERVAL, ("usualInterval", "The usual interval between two messages, in seconds.")],
    include_str!("feed_pause.md"),
);

static JUMP: NoticeKind = new_warning_kind(
    "timestamp_jump",
    &[
        HEADER,
        INTERVAL,
        ("received", "The interval between the receptions of the two messages, in seconds."),
    ],
    include_str!("timestamp_jump.md"),
);

/// The multiple of the usual interval from which an interval is a pause.
const PAUSE_TIMES: i64 = 3;
/// Shorter intervals are never a pause, in seconds.
const PAUSE_MIN_S: i64 = 60;
/// The largest difference between the intervals of the header's clock and of ours, in seconds.
const JUMP_MIN_S: i64 = 60;

/// O(1).
fn check_message_interval(subject: &MessageWithContext<'_>, out: &mut Notices) {
    let (Some(history), Some(header)) = (subject.history, subject.header_timestamp()) else {
        return;
    };
    let Some(last) = history.last_message() else { return };
    let interval = header.saturating_sub(last.header);
    let received = subject.now.saturating_sub(last.received);
    let usual = history.median_interval();
    if let Some(usual) = usual
        && interval > PAUSE_MIN_S.max(usual.saturating_mul(PAUSE_TIMES))
    {
        out.count_notice_with_sample(&PAUSE, |sample| {
            sample.set_field("headerTimestamp", header).set_field("interval", interval);
            sample.set_field("usualInterval", usual);
        });
    }
    // A source that publishes every few minutes is polled at any time within its interval.
    let slack = JUMP_MIN_S.max(usual.unwrap_or_default());
    if interval.saturating_sub(received).saturating_abs() > slack {
        out.count_notice_with_sample(&JUMP, |sample| {
            sample.set_field("headerTimestamp", header).set_field("interval", interval);
            sample.set_field("received", received);
        });
    }
}
