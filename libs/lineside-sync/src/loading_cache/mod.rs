//! A bounded cache whose readers never write, and which loads each missing value once.
//!
//! Readers use [papaya](https://docs.rs/papaya), which measured best among the concurrent maps, and borrow values: no
//! lock, no reference count, no write that another core would have to see. All else (the loads in progress, the order
//! of the entries, their total weight) is bookkeeping that only writers access, under one short lock. That makes three
//! guarantees cheap: a missing value is loaded once for all concurrent callers, the cache is bounded, and a sweep
//! removes old entries, so that reads need no clock.
//!
//! The price: reads are not recorded, so the cache evicts the entry that was loaded first, not the one that was used
//! least. Where that matters, put a cache that writes on reads (moka, quick_cache) behind a hot front.

mod bookkeeping;
mod in_flight;
#[cfg(all(test, any(loom, shuttle)))]
mod model;

use std::borrow::Borrow;
use std::convert::Infallible;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;
use std::time::Duration;

use papaya::LocalGuard;

use self::bookkeeping::CacheBookkeeping;
use self::in_flight::{InFlightLoad, LoadOutcome};
use crate::primitive::Mutex;

/// The bounds of a [`LoadingCache`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// The largest number of entries; one more evicts the oldest.
    pub entries: usize,
    /// The largest total weight of all entries, in the unit of the weighing function (mostly bytes). An entry that
    /// exceeds it alone is not stored.
    pub weight: usize,
    /// The age at which an entry expires, counted from the first [`sweep`](LoadingCache::remove_aged_entries) that
    /// meets it.
    pub age: Option<Duration>,
}

/// A concurrent map from keys to values, for values that are read much more often than they change.
///
/// Guarantees:
/// - Reading ([`pin_for_reading`](Self::pin_for_reading)) neither waits nor writes to memory that others read, even while writers run.
/// - [`get_or_load`](Self::get_or_load): of all concurrent callers for a missing key, exactly one loads. If it is canceled or
///   panics, a waiter starts again with its own loader; no caller waits forever. All waiters get a failure, and a
///   failure is not stored: the next caller tries again.
/// - [`insert`](Self::insert) and [`remove`](Self::remove) override a load that began before them: its waiters get the
///   loaded value, but it is not stored.
/// - The cache never exceeds the entries or weight of its [`CacheLimits`]; an insertion evicts the oldest entries.
/// - Cost: a read is one lookup in papaya (about 15 ns). A miss, a load, an insertion or a removal takes a lock for a
///   few map operations; loaders run outside it.
///
/// Keys are cloned into the bookkeeping, so make that cheap. Values are cloned for waiters: use `Arc` or `Bytes`.
///
/// ```
/// use lineside_sync::loading_cache::{CacheLimits, LoadingCache};
///
/// let limits = CacheLimits { entries: 100, weight: 1 << 20, age: None };
/// let pages: LoadingCache<u32, String> = LoadingCache::new(limits, |_, page| page.len());
/// let Ok(page) = pages.get_or_load_blocking(7, || Ok("seven".to_owned()));
/// assert_eq!(page, "seven");
/// assert_eq!(pages.pin_for_reading().get(&7).map(|page| page.len()), Some(5), "borrowed, not cloned");
/// assert_eq!((pages.len(), pages.total_weight()), (1, 5));
/// ```
pub struct LoadingCache<K, V, E = Infallible, S = RandomState> {
    entries: papaya::HashMap<K, CacheEntry<V>, S>,
    /// Locked by writers only, and never while foreign code runs, except for weighing and cloning.
    bookkeeping: Mutex<CacheBookkeeping<K, V, E>>,
    limits: CacheLimits,
    weigh: fn(&K, &V) -> usize,
    #[cfg(all(test, any(loom, shuttle)))]
    fault: Option<model::CacheFault>,
    /// Accessed with every operation on `entries`, which a model checker cannot see.
    #[cfg(all(test, any(loom, shuttle)))]
    touched: crate::primitive::atomic::AtomicUsize,
}

struct CacheEntry<V> {
    value: V,
    /// The stamp of its record in the bookkeeping.
    stamp: u64,
}

impl<K: Hash + Eq, V, E> LoadingCache<K, V, E> {
    /// Creates an empty cache. `weigh` returns an entry's share of [`CacheLimits::weight`]; it is called once per
    /// inserted entry.
    pub fn new(limits: CacheLimits, weigh: fn(&K, &V) -> usize) -> Self {
        Self::with_hasher(limits, weigh, RandomState::new())
    }
}

impl<K: Hash + Eq, V, E, S: BuildHasher> LoadingCache<K, V, E, S> {
    /// Creates an empty cache that hashes its keys with `hasher`; for keys that outsiders do not choose.
    pub fn with_hasher(limits: CacheLimits, weigh: fn(&K, &V) -> usize, hasher: S) -> Self {
        Self {
            entries: papaya::HashMap::with_hasher(hasher),
            bookkeeping: Mutex::new(CacheBookkeeping::new()),
            limits,
            weigh,
            #[cfg(all(test, any(loom, shuttle)))]
            fault: None,
            #[cfg(all(test, any(loom, shuttle)))]
            touched: crate::primitive::atomic::AtomicUsize::new(0),
        }
    }

    /// Returns a view for reading. While the view lives, no replaced or removed value is freed: use it for a few
    /// reads, and not across an `await` (it is not `Send`).
    pub fn pin_for_reading(&self) -> CacheView<'_, K, V, S> {
        #[cfg(all(test, any(loom, shuttle)))]
        self.touched.load(crate::primitive::atomic::Ordering::Acquire);
        CacheView { entries: self.entries.pin() }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the total weight of the entries.
    pub fn total_weight(&self) -> usize {
        self.bookkeeping.lock().total_weight()
    }

    /// Removes the entry, if present; a load in progress for this key will not store its value.
    pub fn remove(&self, key: &K) {
        let mut bookkeeping = self.bookkeeping.lock();
        #[cfg(all(test, any(loom, shuttle)))]
        let keep_load = self.fault == Some(model::CacheFault::LoadWinsOverRemoval);
        #[cfg(not(all(test, any(loom, shuttle))))]
        let keep_load = false;
        if !keep_load {
            bookkeeping.in_flight.remove(key);
        }
        if let Some(entry) = self.pin_entries_for_writing().remove(key) {
            bookkeeping.remove_entry_record(entry.stamp);
        }
    }

    /// Removes the entries that have reached the age limit. `now` must not go back from one sweep to the next
    /// ([`Clock::monotonic`](crate::Clock::monotonic)).
    ///
    /// Age counts from the first sweep that meets an entry, so an entry lives at least [`CacheLimits::age`] and at
    /// most two sweeps longer; without sweeps no entry expires. Cost: linear in the entries added since the last sweep
    /// and those removed, independent of those that stay.
    pub fn remove_aged_entries(&self, now: Duration) {
        let Some(age) = self.limits.age else { return };
        let mut bookkeeping = self.bookkeeping.lock();
        let entries = self.pin_entries_for_writing();
        while let Some(key) = bookkeeping.evict_oldest_if_aged(now, age) {
            entries.remove(&key);
        }
        bookkeeping.set_first_sweep_time(now);
    }

    /// Returns the entries for writing; the caller holds the bookkeeping lock.
    fn pin_entries_for_writing(
        &self,
    ) -> papaya::HashMapRef<'_, K, CacheEntry<V>, S, LocalGuard<'_>> {
        #[cfg(all(test, any(loom, shuttle)))]
        self.touched.fetch_add(1, crate::primitive::atomic::Ordering::AcqRel);
        self.entries.pin()
    }

    /// Removes the load from the bookkeeping, unless it has been removed or replaced already. Returns true if it was
    /// there.
    fn unregister_load(
        bookkeeping: &mut CacheBookkeeping<K, V, E>,
        key: &K,
        in_flight: &Arc<InFlightLoad<V, E>>,
    ) -> bool {
        let is_ours =
            bookkeeping.in_flight.get(key).is_some_and(|found| Arc::ptr_eq(found, in_flight));
        if is_ours {
            bookkeeping.in_flight.remove(key);
        }
        is_ours
    }
}

impl<K: Hash + Eq + Clone, V, E, S: BuildHasher> LoadingCache<K, V, E, S> {
    /// Inserts an entry; replaces the present entry, and overrides a load in progress.
    pub fn insert(&self, key: K, value: V) {
        let mut bookkeeping = self.bookkeeping.lock();
        bookkeeping.in_flight.remove(&key);
        self.insert_entry_evicting(&mut bookkeeping, key, value);
    }

    fn insert_entry_evicting(&self, bookkeeping: &mut CacheBookkeeping<K, V, E>, key: K, value: V) {
        let weight = (self.weigh)(&key, &value);
        let entries = self.pin_entries_for_writing();
        if let Some(old) = entries.get(&key) {
            bookkeeping.remove_entry_record(old.stamp);
        }
        if weight > self.limits.weight || self.limits.entries == 0 {
            entries.remove(&key);
            return;
        }
        while let Some(oldest) = bookkeeping.evict_oldest_if_full(&self.limits, weight) {
            entries.remove(&oldest);
        }
        let stamp = bookkeeping.add_entry_record(key.clone(), weight);
        entries.insert(key, CacheEntry { value, stamp });
    }
}

impl<K, V, E, S> LoadingCache<K, V, E, S>
where
    K: Hash + Eq + Clone,
    V: Clone,
    E: Clone,
    S: BuildHasher,
{
    /// Returns the value; if it is missing, one of the concurrent callers loads it with its `loader`.
    ///
    /// Cancel safety: dropping the future while it loads hands the load over to a waiter. A hit clones the value: where
    /// that is too expensive, read by [`pin_for_reading`](Self::pin_for_reading) first. A loader that loads its own key
    /// waits for itself.
    ///
    /// # Errors
    /// Returns the error of the loader that ran.
    pub async fn get_or_load<L>(&self, key: K, loader: impl FnOnce() -> L) -> Result<V, E>
    where
        L: Future<Output = Result<V, E>>,
    {
        loop {
            match self.find_join_or_start_load(&key) {
                CallerLoadRole::Found(value) => return Ok(value),
                CallerLoadRole::Wait(in_flight) => match in_flight.wait_for_load().await {
                    LoadOutcome::Loaded(result) => return result,
                    LoadOutcome::Abandoned => {}
                },
                CallerLoadRole::Lead(in_flight) => {
                    let duty = LoadCompletionGuard { table: self, key: &key, in_flight };
                    return duty.store_and_end_load(loader().await);
                }
            }
        }
    }

    /// Loads like [`get_or_load`](Self::get_or_load), for threads that may block: waiting threads park.
    ///
    /// # Errors
    /// Returns the error of the loader that ran.
    pub fn get_or_load_blocking(
        &self,
        key: K,
        loader: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, E> {
        loop {
            match self.find_join_or_start_load(&key) {
                CallerLoadRole::Found(value) => return Ok(value),
                CallerLoadRole::Wait(in_flight) => match in_flight.block_until_load_ends() {
                    LoadOutcome::Loaded(result) => return result,
                    LoadOutcome::Abandoned => {}
                },
                CallerLoadRole::Lead(in_flight) => {
                    let duty = LoadCompletionGuard { table: self, key: &key, in_flight };
                    return duty.store_and_end_load(loader());
                }
            }
        }
    }

    fn find_join_or_start_load(&self, key: &K) -> CallerLoadRole<V, E> {
        let find = || self.pin_for_reading().get(key).cloned();
        if let Some(value) = find() {
            return CallerLoadRole::Found(value);
        }
        let mut bookkeeping = self.bookkeeping.lock();
        #[cfg(all(test, any(loom, shuttle)))]
        let find = || if self.fault == Some(model::CacheFault::ChecksOnce) { None } else { find() };
        // A load may have ended between the first lookup and the lock.
        if let Some(value) = find() {
            return CallerLoadRole::Found(value);
        }
        if let Some(in_flight) = bookkeeping.in_flight.get(key) {
            return CallerLoadRole::Wait(Arc::clone(in_flight));
        }
        let in_flight = InFlightLoad::new();
        #[cfg(all(test, any(loom, shuttle)))]
        let in_flight = in_flight.with(self.fault);
        let in_flight = Arc::new(in_flight);
        bookkeeping.in_flight.insert(key.clone(), Arc::clone(&in_flight));
        CallerLoadRole::Lead(in_flight)
    }
}

/// The part of a caller that wants a key's value.
enum CallerLoadRole<V, E> {
    Found(V),
    Wait(Arc<InFlightLoad<V, E>>),
    Lead(Arc<InFlightLoad<V, E>>),
}

/// The duty to end a load: with a result, or as abandoned when dropped without one.
struct LoadCompletionGuard<'a, K: Hash + Eq, V, E, S: BuildHasher> {
    table: &'a LoadingCache<K, V, E, S>,
    key: &'a K,
    in_flight: Arc<InFlightLoad<V, E>>,
}

impl<K, V, E, S> LoadCompletionGuard<'_, K, V, E, S>
where
    K: Hash + Eq + Clone,
    V: Clone,
    E: Clone,
    S: BuildHasher,
{
    fn store_and_end_load(self, result: Result<V, E>) -> Result<V, E> {
        let mut bookkeeping = self.table.bookkeeping.lock();
        if LoadingCache::<K, V, E, S>::unregister_load(&mut bookkeeping, self.key, &self.in_flight)
            && let Ok(value) = &result
        {
            self.table.insert_entry_evicting(&mut bookkeeping, self.key.clone(), value.clone());
        }
        drop(bookkeeping);
        self.in_flight.end_load_and_wake(LoadOutcome::Loaded(result.clone()));
        result
    }
}

impl<K: Hash + Eq, V, E, S: BuildHasher> Drop for LoadCompletionGuard<'_, K, V, E, S> {
    fn drop(&mut self) {
        #[cfg(all(test, any(loom, shuttle)))]
        if self.table.fault == Some(model::CacheFault::LeavesWithoutWake) {
            return;
        }
        if self.in_flight.has_ended() {
            return;
        }
        // Remove the load first: a woken waiter must not find the abandoned load in the bookkeeping.
        LoadingCache::<K, V, E, S>::unregister_load(
            &mut self.table.bookkeeping.lock(),
            self.key,
            &self.in_flight,
        );
        self.in_flight.end_load_and_wake(LoadOutcome::Abandoned);
    }
}

/// A view of a [`LoadingCache`] for reading, which lends its values.
pub struct CacheView<'a, K, V, S> {
    entries: papaya::HashMapRef<'a, K, CacheEntry<V>, S, LocalGuard<'a>>,
}

impl<K: Hash + Eq, V, S: BuildHasher> CacheView<'_, K, V, S> {
    /// Returns the value, if present. Neither waits nor writes.
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.entries.get(key).map(|entry| &entry.value)
    }
}

impl<K, V, S> fmt::Debug for CacheView<'_, K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheView").finish_non_exhaustive()
    }
}

impl<K: Hash + Eq, V, E, S: BuildHasher> fmt::Debug for LoadingCache<K, V, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, weight) = (self.len(), self.total_weight());
        f.debug_struct("LoadingCache")
            .field("len", &len)
            .field("weight", &weight)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
