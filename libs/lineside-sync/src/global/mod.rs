//! Read-mostly values: the reason why this crate has no type for them.
//!
//! Erlang's `persistent_term` and Discord's FastGlobal hold values that all threads read all the time and that are now
//! and then replaced as a whole: a configuration, a ring of nodes, the state of a network.
//! [`arc_swap`](https://docs.rs/arc-swap) does that at the speed of the machine: a read costs about 13 ns on each
//! core, with any number of readers, and about 4 ns through a cached reader. A type of our own would not be faster, and
//! a wrapper would only hide the documentation of `arc_swap`. So this module only documents the choice.
//!
//! # What to use
//!
//! | the reader | uses | cost |
//! |---|---|---|
//! | reads the value once | [`ArcSwap::load`], and borrows from the guard | ~13 ns, scales with cores |
//! | holds the value for a while: across an `await`, or in its own result | [`ArcSwap::load_full`] | an `Arc` clone: all cores write one count, ~100 ns under contention |
//! | is a thread that reads again and again | [`arc_swap::Cache`], one for each reader | ~4 ns: one load and a comparison while nothing has changed |
//!
//! Avoid `load_full` on a hot path: it measured 10 M/s on two cores where borrowing gave 130 M/s. Do not hold a guard
//! for long or across an `await`: a thread has only a few cheap guards, and a guard keeps its value alive. A `Cache`
//! also keeps the value that it saw last, so a rarely used cache keeps an old value alive.
//!
//! # Guarantees
//!
//! - A reader never waits, not even for a writer, and sees one whole value.
//! - A thread's reads never go back to a value that was replaced before the one it has read. A store is visible to
//!   everything that happens after it; so the engine swaps a state first and signals the change afterwards.
//! - Replacing a value neither stops nor scans the readers: the old value is freed when its last reader drops it. (OTP
//!   scans every process when a persistent term is replaced: 10,000 erasures kept both cores busy for 22 s.)
//! - Changes that depend on the old value need [`ArcSwap::rcu`] or a single writer; the engine has one writer for each
//!   value.
//!
//! ```
//! use std::sync::Arc;
//! use arc_swap::{ArcSwap, Cache};
//!
//! let limits = Arc::new(ArcSwap::from_pointee(vec![10, 20]));
//!
//! // Here and there: borrow.
//! assert_eq!(limits.load().len(), 2);
//!
//! // A thread of its own: a cached reader. It sees the change at its next look.
//! let mut cached = Cache::new(Arc::clone(&limits));
//! assert_eq!(cached.load()[0], 10);
//! limits.store(Arc::new(vec![11]));
//! assert_eq!(cached.load()[0], 11);
//! ```
//!
//! [`ArcSwap::load`]: arc_swap::ArcSwapAny::load
//! [`ArcSwap::load_full`]: arc_swap::ArcSwapAny::load_full
//! [`ArcSwap::rcu`]: arc_swap::ArcSwapAny::rcu
