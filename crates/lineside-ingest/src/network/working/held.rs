//! An entity as the writer remembers it: its hash, and the items that came in it.

use lineside_formats::Problem;

/// An entity as it last came.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) hash: u64,
    pub(super) seen: u32,
    pub(super) held: Held,
    pub(super) fault: Option<Box<Problem>>,
}

/// The items that came in an entity.
#[derive(Debug, Default)]
pub(super) enum Held {
    #[default]
    Nothing,
    One(u32),
    Many(Box<[u32]>),
}

impl Held {
    pub(super) fn items(&self) -> &[u32] {
        match self {
            Held::Nothing => &[],
            Held::One(item) => std::slice::from_ref(item),
            Held::Many(items) => items,
        }
    }

    pub(super) fn push(&mut self, item: u32) {
        *self = match std::mem::take(self) {
            Held::Nothing => Held::One(item),
            Held::One(first) => Held::Many(Box::new([first, item])),
            Held::Many(items) => Held::Many(items.iter().copied().chain([item]).collect()),
        };
    }
}
