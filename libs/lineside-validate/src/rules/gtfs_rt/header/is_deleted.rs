//! Entities marked as deleted in a message that is the whole dataset.

use lineside_formats::gtfs_rt::proto::feed_header::Incrementality;

use crate::{
    Notices,
    notice::Kind,
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{ENTITY, error},
    },
};

pub(super) static RULE: RealtimeRule =
    RealtimeRule { kinds: &[&DELETED], on_update: None, on_message: Some(check) };

static DELETED: Kind =
    error("E039", &[ENTITY, ("isDeleted", "What it says.")], include_str!("E039.md"));

/// O(entities).
fn check(subject: &Subject<'_>, out: &mut Notices) {
    if subject.message.header.incrementality() != Incrementality::FullDataset {
        return;
    }
    for entity in &subject.message.entity {
        if let Some(is_deleted) = entity.is_deleted {
            out.add(&DELETED, |sample| {
                sample.put("entityId", entity.id.as_str()).put("isDeleted", is_deleted);
            });
        }
    }
}
