//! An entity in the network's writer: its hash and the items that it contained.

use lineside_formats::Problem;

/// The last version of an entity.
#[derive(Debug)]
pub(super) struct EntitySlot {
    pub(super) hash: u64,
    pub(super) seen: u32,
    pub(super) items: RecordNumbers,
    pub(super) fault: Option<Box<Problem>>,
}

/// The items of an entity.
#[derive(Debug, Default)]
pub(super) enum RecordNumbers {
    #[default]
    Nothing,
    One(u32),
    Many(Box<[u32]>),
}

impl RecordNumbers {
    pub(super) fn record_numbers(&self) -> &[u32] {
        match self {
            RecordNumbers::Nothing => &[],
            RecordNumbers::One(item) => std::slice::from_ref(item),
            RecordNumbers::Many(items) => items,
        }
    }

    pub(super) fn push(&mut self, item: u32) {
        *self = match std::mem::take(self) {
            RecordNumbers::Nothing => RecordNumbers::One(item),
            RecordNumbers::One(first) => RecordNumbers::Many(Box::new([first, item])),
            RecordNumbers::Many(items) => {
                RecordNumbers::Many(items.iter().copied().chain([item]).collect())
            }
        };
    }
}
