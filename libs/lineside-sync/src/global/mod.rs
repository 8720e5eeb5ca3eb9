//! A read-mostly value: why there is no type of ours here.
//!
//! What Erlang's `persistent_term` and Discord's FastGlobal are for (a configuration, a ring of nodes, the
//! state of a network: read by everybody all the time, replaced as a whole now and then) is done by
//! [`arc_swap`](https://docs.rs/arc-swap) at the speed of the machine: a read costs about 13 ns on each core,
//! however many read, and about 4 ns through a cached reader. Nothing that we could write would be better,
//! and a wrapper would only hide its documentation. So this module is the choice, in words.
//!
//! # What to use
//!
//! | the reader | uses | cost |
//! |---|---|---|
//! | looks at the value and goes on | [`ArcSwap::load`], and borrows from the guard | ~13 ns, scales with cores |
//! | keeps the value for a while: across an `await`, or in what it returns | [`ArcSwap::load_full`] | an `Arc` clone: all cores write one count, ~100 ns under contention |
//! | is a thread of its own that looks again and again | [`arc_swap::Cache`], one for each reader | ~4 ns: one load and a comparison while nothing has changed |
//!
//! The mistake to avoid is `load_full` on a hot path: it measured 10 M/s on two cores where borrowing gave 130.
//! Nor should a guard be kept for long or across an `await`: there are only a few cheap ones per thread, and it
//! keeps its value alive. A `Cache` also keeps the value it saw last: one that is seldom asked keeps an old one.
//!
//! # Guarantees
//!
//! - A reader never waits, not even for a writer, and sees one whole value.
//! - What a thread reads never goes back to a value that was replaced before the one it has read. A
//!   store is seen by whatever happens after it; so the engine swaps a state first and tells of it
//!   afterwards.
//! - Replacing a value neither stops nor scans the readers: the old one goes when its last reader lets go. (OTP scans
//!   every process when a persistent term is replaced: 10,000 erasures kept both cores busy for 22 s.)
//! - Changes that depend on the old value need [`ArcSwap::rcu`] or one writer; the engine has one writer for each
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
