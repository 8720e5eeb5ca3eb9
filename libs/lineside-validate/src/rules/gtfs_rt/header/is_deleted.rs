//! Check of entities marked as deleted in a message that is the whole dataset.

use lineside_formats::gtfs_rt::proto::feed_header::Incrementality;

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{ENTITY, new_error_kind},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&DELETED],
    on_update: None,
    on_message: Some(check_deleted_in_full_dataset),
};

static DELETED: NoticeKind = new_error_kind(
    "E039",
    &[ENTITY, ("isDeleted", "The value of the field.")],
    include_str!("E039.md"),
);

/// O(entities).
fn check_deleted_in_full_dataset(subject: &MessageWithContext<'_>, out: &mut Notices) {
    if subject.message.header.incrementality() != Incrementality::FullDataset {
        return;
    }
    for entity in &subject.message.entity {
        if let Some(is_deleted) = entity.is_deleted {
            out.count_notice_with_sample(&DELETED, |sample| {
                sample.set_field("entityId", entity.id.as_str()).set_field("isDeleted", is_deleted);
            });
        }
    }
}
