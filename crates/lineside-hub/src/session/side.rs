//! How a session is told of its rooms' news: by itself, or with its partition.

use std::sync::Arc;

use crate::audience::{Chair, Member};
use crate::listener::{Ear, Signal};
use crate::room::Taken;
use crate::{Hub, Position, Room};

pub(super) enum Side {
    /// It has a listener of its own, and reads states itself.
    Alone(Arc<Signal>),
    /// It is one of a partition's rows; workers read its states.
    Seated(Member),
}

impl Side {
    /// Lets the session sit in a room; `None` when the room has been closed and another is to be found.
    pub(super) fn join(&self, room: &Arc<Room>, subscription: u32) -> Option<Option<Chair>> {
        match self {
            Self::Alone(signal) => room.join(Ear::Alone(signal.clone())).then_some(None),
            Self::Seated(member) => member.join(room, subscription).map(Some),
        }
    }

    pub(super) fn leave(&self, room: &Room, chair: Option<Chair>, hub: &Hub) {
        match (self, chair) {
            (Self::Alone(signal), _) => room.leave(signal.number(), hub.clock().monotonic()),
            (Self::Seated(member), Some(chair)) => member.leave(room, chair, hub),
            (Self::Seated(_), None) => {}
        }
    }

    /// The room's state for a session that holds `held`; `None` when it will be told that it is there.
    pub(super) fn state(
        &self,
        hub: &Arc<Hub>,
        room: &Arc<Room>,
        chair: Option<Chair>,
        held: Option<Position>,
    ) -> Option<Taken> {
        let now = hub.clock().monotonic();
        match (self, chair) {
            (Self::Seated(member), Some(chair)) => {
                room.ask_state(hub, &*member.workers, held, &member.ear(chair), now)
            }
            (Self::Alone(signal), _) => {
                room.take_state(hub.source(), held, &Ear::Alone(signal.clone()), now)
            }
            (Self::Seated(_), None) => None,
        }
    }
}
