//! Checks of vehicle ids.

use crate::{
    Notices,
    gtfs::TextDict,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageSubject, RealtimeRule,
        fields::{ENTITY, TRIP, VEHICLE, error_kind, warning_kind},
        schedule_index::random_seed,
    },
};

pub(super) static RULE: RealtimeRule =
    RealtimeRule { kinds: &[&TWICE, &NO_ID], on_update: None, on_message: Some(check_vehicle_ids) };

static TWICE: NoticeKind = error_kind("E052", &[ENTITY, VEHICLE], include_str!("E052.md"));

static NO_ID: NoticeKind = warning_kind("W002", &[ENTITY, TRIP], include_str!("W002.md"));

/// O(entities).
fn check_vehicle_ids(subject: &MessageSubject<'_>, out: &mut Notices) {
    for update in &subject.updates {
        if update.trip_ref().vehicle_id().unwrap_or_default().is_empty() {
            out.add_notice(&NO_ID, |sample| {
                sample.set_field("entityId", update.entity.id.as_str());
                sample.set_field("tripId", update.update.trip.trip_id.as_deref());
            });
        }
    }
    let mut seen = TextDict::new(random_seed());
    for vehicle in &subject.vehicles {
        match vehicle.vehicle_id().filter(|id| !id.is_empty()) {
            None => out.add_notice(&NO_ID, |sample| {
                sample.set_field("entityId", vehicle.entity.id.as_str());
            }),
            Some(id) => {
                let n_before = seen.len();
                if (seen.intern_text(id) as usize) < n_before {
                    out.add_notice(&TWICE, |sample| {
                        sample
                            .set_field("entityId", vehicle.entity.id.as_str())
                            .set_field("vehicleId", id);
                    });
                }
            }
        }
    }
}
