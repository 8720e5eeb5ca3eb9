//! The ids of vehicles, by which riders and feeds tell them apart.

use crate::{
    Notices,
    gtfs::Dict,
    notice::Kind,
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{ENTITY, TRIP, VEHICLE, error, warning},
        timetable::seed,
    },
};

pub(super) static RULE: RealtimeRule =
    RealtimeRule { kinds: &[&TWICE, &NO_ID], on_update: None, on_message: Some(check) };

static TWICE: Kind = error("E052", &[ENTITY, VEHICLE], include_str!("E052.md"));

static NO_ID: Kind = warning("W002", &[ENTITY, TRIP], include_str!("W002.md"));

/// O(entities).
fn check(subject: &Subject<'_>, out: &mut Notices) {
    for update in &subject.updates {
        if update.run().vehicle_id().unwrap_or_default().is_empty() {
            out.add(&NO_ID, |sample| {
                sample.put("entityId", update.entity.id.as_str());
                sample.put("tripId", update.update.trip.trip_id.as_deref());
            });
        }
    }
    let mut seen = Dict::new(seed());
    for vehicle in &subject.vehicles {
        match vehicle.id().filter(|id| !id.is_empty()) {
            None => out.add(&NO_ID, |sample| {
                sample.put("entityId", vehicle.entity.id.as_str());
            }),
            Some(id) => {
                let n_before = seen.len();
                if (seen.add(id) as usize) < n_before {
                    out.add(&TWICE, |sample| {
                        sample.put("entityId", vehicle.entity.id.as_str()).put("vehicleId", id);
                    });
                }
            }
        }
    }
}
