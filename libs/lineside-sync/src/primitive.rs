//! The building blocks of the primitives: those of `std` and `parking_lot`, or a model checker's.
//!
//! `--cfg loom` tries every interleaving of a model, `--cfg shuttle` very many random ones. Locks do not poison: a
//! thread that panics while holding one leaves the value as it is.

#[cfg(not(any(loom, shuttle)))]
mod chosen {
    pub(crate) use std::sync::{Arc, atomic};

    pub(crate) use parking_lot::{Mutex, MutexGuard};

    pub(crate) mod thread {
        pub(crate) use std::thread::{Thread, current, park, park_timeout, yield_now};
    }
    pub(crate) mod hint {
        pub(crate) use std::hint::spin_loop;
    }
}

#[cfg(any(loom, shuttle))]
mod chosen {
    #[cfg(loom)]
    use loom as checker;
    #[cfg(all(shuttle, not(loom)))]
    use shuttle as checker;

    pub(crate) use checker::{
        hint,
        sync::{Arc, MutexGuard, atomic},
        thread,
    };

    /// The checker's mutex with the interface of the real one.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(checker::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(checker::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }
}

pub(crate) use chosen::*;
