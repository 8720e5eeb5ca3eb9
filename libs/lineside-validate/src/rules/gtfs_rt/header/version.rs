//! Checks of the declared version, and of the header fields that the version requires.

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{MessageWithContext, RealtimeRule, fields::new_error_kind},
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&UNKNOWN_VERSION, &NO_INCREMENTALITY],
    on_update: None,
    on_message: Some(check_gtfs_realtime_version),
};

static UNKNOWN_VERSION: NoticeKind =
    new_error_kind("E038", &[("version", "The value of the field.")], include_str!("E038.md"));

static NO_INCREMENTALITY: NoticeKind = new_error_kind(
    "E049",
    &[("version", "The version, which requires the field.")],
    include_str!("E049.md"),
);

/// The valid versions of the specification.
const VERSIONS: [&str; 2] = ["1.0", "2.0"];

pub(super) fn parse_version_number(version: &str) -> Option<f32> {
    version.trim().parse().ok()
}

/// O(1).
fn check_gtfs_realtime_version(subject: &MessageWithContext<'_>, out: &mut Notices) {
    let header = &subject.message.header;
    let version = header.gtfs_realtime_version.as_str();
    if !VERSIONS.contains(&version) {
        out.count_notice_with_sample(&UNKNOWN_VERSION, |sample| {
            sample.set_field("version", version);
        });
    }
    let is_second = parse_version_number(version).is_some_and(|number| number >= 2.0);
    if is_second && header.incrementality.is_none() {
        out.count_notice_with_sample(&NO_INCREMENTALITY, |sample| {
            sample.set_field("version", version);
        });
    }
}
