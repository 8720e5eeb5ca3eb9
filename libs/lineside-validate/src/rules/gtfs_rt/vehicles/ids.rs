//! Checks of vehicle ids.

use crate::{
    Notices,
    gtfs::DistinctTexts,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{ENTITY, TRIP, VEHICLE, new_error_kind, new_warning_kind},
        schedule_index::random_hash_seed,
    },
};

pub(super) static RULE: RealtimeRule =
    RealtimeRule { kinds: &[&TWICE, &NO_ID], on_update: None, on_message: Some(check_vehicle_ids) };

static TWICE: NoticeKind = new_error_kind("E052", &[ENTITY, VEHICLE], include_str!("E052.md"));

static NO_ID: NoticeKind = new_warning_kind("W002", &[ENTITY, TRIP], include_str!("W002.md"));

/// O(entities).
fn check_vehicle_ids(subject: &MessageWithContext<'_>, out: &mut Notices) {
    for update in &subject.updates {
        if update.trip_reference().vehicle_id().unwrap_or_default().is_empty() {
            out.count_notice_with_sample(&NO_ID, |sample| {
                sample.set_field("entityId", update.entity.id.as_str());
                sample.set_field("tripId", update.update.trip.trip_id.as_deref());
            });
        }
    }
    let mut seen = DistinctTexts::new(random_hash_seed());
    for vehicle in &subject.vehicles {
        match vehicle.vehicle_id().filter(|id| !id.is_empty()) {
            None => out.count_notice_with_sample(&NO_ID, |sample| {
                sample.set_field("entityId", vehicle.entity.id.as_str());
            }),
            Some(id) => {
                let n_before = seen.len();
                if (seen.intern_text(id) as usize) < n_before {
                    out.count_notice_with_sample(&TWICE, |sample| {
                        sample
                            .set_field("entityId", vehicle.entity.id.as_str())
                            .set_field("vehicleId", id);
                    });
                }
            }
        }
    }
}
