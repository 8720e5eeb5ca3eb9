//! Check of entities marked as deleted in a message that is the whole dataset.

use lineside_formats::gtfs_rt::proto::feed_header::Incrementality;

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageSubject, RealtimeRule,
        fields::{ENTITY, error_kind},
    },
};

pub(super) static RULE: RealtimeRule =
    RealtimeRule { kinds: &[&DELETED], on_update: None, on_message: Some(check_is_deleted) };

static DELETED: NoticeKind = error_kind(
    "E039",
    &[ENTITY, ("isDeleted", "The value of the field.")],
    include_str!("E039.md"),
);

/// O(entities).
fn check_is_deleted(subject: &MessageSubject<'_>, out: &mut Notices) {
    if subject.message.header.incrementality() != Incrementality::FullDataset {
        return;
    }
    for entity in &subject.message.entity {
        if let Some(is_deleted) = entity.is_deleted {
            out.add_notice(&DELETED, |sample| {
                sample.set_field("entityId", entity.id.as_str()).set_field("isDeleted", is_deleted);
            });
        }
    }
}
