//! An entity in the network's writer: its hash and the items that it contained.

use lineside_formats::Problem;

/// The last version of an entity.
#[derive(Debug)]
pub(super) struct EntitySlot {
    pub(super) hash: u64,
    pub(super) seen: u32,
    pub(super) items: SlotItems,
    pub(super) fault: Option<Box<Problem>>,
}

/// The items of an entity.
#[derive(Debug, Default)]
pub(super) enum SlotItems {
    #[default]
    Nothing,
    One(u32),
    Many(Box<[u32]>),
}

impl SlotItems {
    pub(super) fn items(&self) -> &[u32] {
        match self {
            SlotItems::Nothing => &[],
            SlotItems::One(item) => std::slice::from_ref(item),
            SlotItems::Many(items) => items,
        }
    }

    pub(super) fn push(&mut self, item: u32) {
        *self = match std::mem::take(self) {
            SlotItems::Nothing => SlotItems::One(item),
            SlotItems::One(first) => SlotItems::Many(Box::new([first, item])),
            SlotItems::Many(items) => {
                SlotItems::Many(items.iter().copied().chain([item]).collect())
            }
        };
    }
}
