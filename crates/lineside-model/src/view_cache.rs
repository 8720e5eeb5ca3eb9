//! Views of an immutable value, computed on first use and then shared.

use std::{
    any::{Any, TypeId},
    sync::OnceLock,
};

/// A cache of views, one of each type. Readers hold no lock: the views are a list that only grows.
#[derive(Debug, Default)]
pub struct DerivedValueCache {
    first: OnceLock<Box<DerivedValueEntry>>,
}

/// The entry of one type. It exists before its view is computed, so that different views are computed concurrently and
/// each of them once.
#[derive(Debug)]
struct DerivedValueEntry {
    type_id: TypeId,
    view: OnceLock<Box<dyn Any + Send + Sync>>,
    next: OnceLock<Box<DerivedValueEntry>>,
}

impl DerivedValueCache {
    /// Returns the view of type `T`; `make` computes it on first use.
    pub fn get_or_init<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> &T {
        let type_id = TypeId::of::<T>();
        let new_entry = || {
            Box::new(DerivedValueEntry { type_id, view: OnceLock::new(), next: OnceLock::new() })
        };
        let mut entry = self.first.get_or_init(new_entry);
        while entry.type_id != type_id {
            entry = entry.next.get_or_init(new_entry);
        }
        let view = entry.view.get_or_init(|| Box::new(make()));
        view.downcast_ref().expect("the entry's type is that of its view")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_view_is_computed_once() {
        let cache = DerivedValueCache::default();
        assert_eq!(*cache.get_or_init(|| 7_u32), 7);
        assert_eq!(*cache.get_or_init(|| "text"), "text");
        assert_eq!(*cache.get_or_init::<u32>(|| unreachable!("the view exists")), 7);
        assert_eq!(*cache.get_or_init::<&str>(|| unreachable!("the view exists")), "text");
    }

    #[test]
    fn a_view_may_use_another_view_of_the_same_value() {
        let cache = DerivedValueCache::default();
        let sum: &u64 = cache.get_or_init(|| u64::from(*cache.get_or_init(|| 20_u32)) + 1);
        assert_eq!(*sum, 21);
    }
}
