//! How a session learns of news in its rooms: directly, or through its partition.

use std::sync::Arc;

use crate::listener::{ListenerHandle, Signal};
use crate::partition_listener::{PartitionMember, SlotId};
use crate::room::DeliverableState;
use crate::{Hub, Position, Room};

pub(super) enum ListenMode {
    /// It has a listener of its own, and reads states itself.
    Alone(Arc<Signal>),
    /// It is one of a partition's rows; workers read its states.
    Seated(PartitionMember),
}

impl ListenMode {
    /// Lets the session sit in a room; `None` when the room has been closed and another is to be found.
    pub(super) fn join_room(&self, room: &Arc<Room>, subscription: u32) -> Option<Option<SlotId>> {
        match self {
            Self::Alone(signal) => {
                room.add_listener(ListenerHandle::Alone(signal.clone())).then_some(None)
            }
            Self::Seated(member) => member.join_room(room, subscription).map(Some),
        }
    }

    pub(super) fn leave_room(&self, room: &Room, chair: Option<SlotId>, hub: &Hub) {
        match (self, chair) {
            (Self::Alone(signal), _) => {
                room.remove_listener(signal.number(), hub.clock().monotonic())
            }
            (Self::Seated(member), Some(chair)) => member.leave_room(room, chair, hub),
            (Self::Seated(_), None) => {}
        }
    }

    /// The room's state for a session that holds `held`; `None` when it will be told that it is there.
    pub(super) fn request_state(
        &self,
        hub: &Arc<Hub>,
        room: &Arc<Room>,
        chair: Option<SlotId>,
        held: Option<Position>,
    ) -> Option<DeliverableState> {
        let now = hub.clock().monotonic();
        match (self, chair) {
            (Self::Seated(member), Some(chair)) => {
                room.request_state(hub, &*member.workers, held, &member.listener_handle(chair), now)
            }
            (Self::Alone(signal), _) => room.read_state_now(
                hub.state_source(),
                held,
                &ListenerHandle::Alone(signal.clone()),
                now,
            ),
            (Self::Seated(_), None) => None,
        }
    }
}
