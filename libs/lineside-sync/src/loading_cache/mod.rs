//! A keyed table whose readers never write, with loads that happen once.
//!
//! Readers go through [papaya](https://docs.rs/papaya), which measured as the best map of its kind, and
//! borrow what they read: no lock, no count of references, nothing that another reader's core would have to
//! hear of. Everything else (which loads are under way, what is oldest, how heavy the whole is) is kept in
//! books that only writers open, under one short lock. That makes three promises cheap: a missing
//! value is loaded once however many ask, the table is bounded, and what is too old goes by a sweep
//! instead of by a look at the clock on every read.
//!
//! The price: nobody notes what is read, so what goes first is what was loaded first, not what was used
//! least. Where that matters, use a cache that writes on reads (moka, quick_cache) behind a hot front.

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

/// How much a [`LoadingCache`] holds, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// The most entries; one more drops the oldest.
    pub entries: usize,
    /// The most that all entries weigh together, in the unit of the function that weighs them (bytes,
    /// mostly). What is heavier by itself is not kept.
    pub weight: usize,
    /// How old an entry gets, counted from the first [`sweep`](LoadingCache::sweep_aged) that meets it.
    pub age: Option<Duration>,
}

/// A concurrent map from keys to values, for values that are read much more often than they change.
///
/// Guarantees:
/// - Reading ([`pin`](Self::pin)) neither waits nor writes to memory that others read, whatever writers do.
/// - [`load`](Self::load): among all who ask for a missing key at the same time exactly one loads. If
///   it is canceled or panics, another of those who wait begins anew with its own loader; nobody waits for ever.
///   A failure is told to all who waited and is not kept: the next to ask tries again.
/// - [`insert`](Self::insert) and [`remove`](Self::remove) win over a load that began before them: what it
///   brings is told to those who waited for it, and not kept.
/// - Never more entries or weight than the [`CacheLimits`] say; the oldest go first, at an insertion.
/// - Cost: reading is one lookup in papaya (about 15 ns). A miss, a load, an insertion or a removal take a
///   lock for a few map operations; loaders run outside it.
///
/// Keys are cloned into the books: make that cheap. Values are cloned for those who wait: `Arc` or `Bytes`.
///
/// ```
/// use lineside_sync::loading_cache::{CacheLimits, LoadingCache};
///
/// let limits = CacheLimits { entries: 100, weight: 1 << 20, age: None };
/// let pages: LoadingCache<u32, String> = LoadingCache::new(limits, |_, page| page.len());
/// let Ok(page) = pages.load_blocking(7, || Ok("seven".to_owned()));
/// assert_eq!(page, "seven");
/// assert_eq!(pages.pin().get(&7).map(|page| page.len()), Some(5), "borrowed, not cloned");
/// assert_eq!((pages.len(), pages.total_weight()), (1, 5));
/// ```
pub struct LoadingCache<K, V, E = Infallible, S = RandomState> {
    entries: papaya::HashMap<K, CacheEntry<V>, S>,
    /// Taken by writers only, and never while somebody else's code runs, save for weighing and cloning.
    books: Mutex<CacheBookkeeping<K, V, E>>,
    limits: CacheLimits,
    weigh: fn(&K, &V) -> usize,
    #[cfg(all(test, any(loom, shuttle)))]
    mistake: Option<model::Mistake>,
    /// Touched beside the entries, which a model checker cannot see.
    #[cfg(all(test, any(loom, shuttle)))]
    touched: crate::primitive::atomic::AtomicUsize,
}

struct CacheEntry<V> {
    value: V,
    /// Of its line in the books.
    stamp: u64,
}

impl<K: Hash + Eq, V, E> LoadingCache<K, V, E> {
    /// An empty table. `weigh` says how much an entry counts toward [`CacheLimits::weight`]; it is called once for
    /// each that is put in.
    pub fn new(limits: CacheLimits, weigh: fn(&K, &V) -> usize) -> Self {
        Self::with_hasher(limits, weigh, RandomState::new())
    }
}

impl<K: Hash + Eq, V, E, S: BuildHasher> LoadingCache<K, V, E, S> {
    /// An empty table that hashes its keys by `hasher`; for keys that nobody else chooses.
    pub fn with_hasher(limits: CacheLimits, weigh: fn(&K, &V) -> usize, hasher: S) -> Self {
        Self {
            entries: papaya::HashMap::with_hasher(hasher),
            books: Mutex::new(CacheBookkeeping::new()),
            limits,
            weigh,
            #[cfg(all(test, any(loom, shuttle)))]
            mistake: None,
            #[cfg(all(test, any(loom, shuttle)))]
            touched: crate::primitive::atomic::AtomicUsize::new(0),
        }
    }

    /// A view for reading. While it lives, nothing that was replaced or removed meanwhile is freed: keep it for
    /// some reads, not for a while, and not across an `await` (it cannot be sent).
    pub fn pin(&self) -> CacheView<'_, K, V, S> {
        #[cfg(all(test, any(loom, shuttle)))]
        self.touched.load(crate::primitive::atomic::Ordering::Acquire);
        CacheView { entries: self.entries.pin() }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How much the entries weigh together.
    pub fn total_weight(&self) -> usize {
        self.books.lock().total_weight()
    }

    /// Removes an entry, if it is there, and keeps nothing that a load under way brings for this key.
    pub fn remove(&self, key: &K) {
        let mut books = self.books.lock();
        #[cfg(all(test, any(loom, shuttle)))]
        let keeps = self.mistake == Some(model::Mistake::LoadWinsOverRemoval);
        #[cfg(not(all(test, any(loom, shuttle))))]
        let keeps = false;
        if !keeps {
            books.flights.remove(key);
        }
        if let Some(entry) = self.pin_entries().remove(key) {
            books.remove_record(entry.stamp);
        }
    }

    /// Drops the entries that have come of age. `now` never goes back from one sweep to the next
    /// ([`Clock::monotonic`](crate::Clock::monotonic)).
    ///
    /// Age counts from the first sweep that meets an entry, so an entry lives at least [`CacheLimits::age`] and
    /// at most two sweeps longer; without sweeps none expires. Cost: the entries that are new since the
    /// last sweep and those that go, not those that stay.
    pub fn sweep_aged(&self, now: Duration) {
        let Some(age) = self.limits.age else { return };
        let mut books = self.books.lock();
        let entries = self.pin_entries();
        while let Some(key) = books.evict_aged(now, age) {
            entries.remove(&key);
        }
        books.note_sweep(now);
    }

    /// The entries, for whoever has the books open.
    fn pin_entries(&self) -> papaya::HashMapRef<'_, K, CacheEntry<V>, S, LocalGuard<'_>> {
        #[cfg(all(test, any(loom, shuttle)))]
        self.touched.fetch_add(1, crate::primitive::atomic::Ordering::AcqRel);
        self.entries.pin()
    }

    /// Forgets the flight, unless somebody else did and began another. Whether it was still there.
    fn forget_load(
        books: &mut CacheBookkeeping<K, V, E>,
        key: &K,
        flight: &Arc<InFlightLoad<V, E>>,
    ) -> bool {
        let is_ours = books.flights.get(key).is_some_and(|found| Arc::ptr_eq(found, flight));
        if is_ours {
            books.flights.remove(key);
        }
        is_ours
    }
}

impl<K: Hash + Eq + Clone, V, E, S: BuildHasher> LoadingCache<K, V, E, S> {
    /// Puts an entry in, in place of what was there and of what a load under way brings.
    pub fn insert(&self, key: K, value: V) {
        let mut books = self.books.lock();
        books.flights.remove(&key);
        self.put_entry(&mut books, key, value);
    }

    fn put_entry(&self, books: &mut CacheBookkeeping<K, V, E>, key: K, value: V) {
        let weight = (self.weigh)(&key, &value);
        let entries = self.pin_entries();
        if let Some(old) = entries.get(&key) {
            books.remove_record(old.stamp);
        }
        if weight > self.limits.weight || self.limits.entries == 0 {
            entries.remove(&key);
            return;
        }
        while let Some(oldest) = books.evict_for_room(&self.limits, weight) {
            entries.remove(&oldest);
        }
        let stamp = books.add_record(key.clone(), weight);
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
    /// The value; if it is missing, `loader` brings it, once for all who ask at the same time.
    ///
    /// Cancel safety: dropping it while it loads hands the load over to one of those who wait. A hit
    /// clones the value: where that is too dear, look by [`pin`](Self::pin) first. A loader that asks for the key
    /// that it loads waits for itself.
    ///
    /// # Errors
    /// What the loader of the one who loaded returned.
    pub async fn load<L>(&self, key: K, loader: impl FnOnce() -> L) -> Result<V, E>
    where
        L: Future<Output = Result<V, E>>,
    {
        loop {
            match self.join_load(&key) {
                LoadRole::Found(value) => return Ok(value),
                LoadRole::Wait(flight) => match flight.wait_async().await {
                    LoadOutcome::Loaded(result) => return result,
                    LoadOutcome::Abandoned => {}
                },
                LoadRole::Lead(flight) => {
                    let lead = LoadDuty { table: self, key: &key, flight };
                    return lead.finish_load(loader().await);
                }
            }
        }
    }

    /// As [`load`](Self::load), for threads that may wait: those who wait park.
    ///
    /// # Errors
    /// What the loader of the one who loaded returned.
    pub fn load_blocking(&self, key: K, loader: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        loop {
            match self.join_load(&key) {
                LoadRole::Found(value) => return Ok(value),
                LoadRole::Wait(flight) => match flight.wait_blocking() {
                    LoadOutcome::Loaded(result) => return result,
                    LoadOutcome::Abandoned => {}
                },
                LoadRole::Lead(flight) => {
                    let lead = LoadDuty { table: self, key: &key, flight };
                    return lead.finish_load(loader());
                }
            }
        }
    }

    fn join_load(&self, key: &K) -> LoadRole<V, E> {
        let find = || self.pin().get(key).cloned();
        if let Some(value) = find() {
            return LoadRole::Found(value);
        }
        let mut books = self.books.lock();
        #[cfg(all(test, any(loom, shuttle)))]
        let find = || if self.mistake == Some(model::Mistake::LooksOnce) { None } else { find() };
        // A load may have ended between the look and the lock.
        if let Some(value) = find() {
            return LoadRole::Found(value);
        }
        if let Some(flight) = books.flights.get(key) {
            return LoadRole::Wait(Arc::clone(flight));
        }
        let flight = InFlightLoad::new();
        #[cfg(all(test, any(loom, shuttle)))]
        let flight = flight.with(self.mistake);
        let flight = Arc::new(flight);
        books.flights.insert(key.clone(), Arc::clone(&flight));
        LoadRole::Lead(flight)
    }
}

/// What somebody who asks for a key has to do.
enum LoadRole<V, E> {
    Found(V),
    Wait(Arc<InFlightLoad<V, E>>),
    Lead(Arc<InFlightLoad<V, E>>),
}

/// The duty to end a flight: with a result, or, when dropped without one, by giving it up.
struct LoadDuty<'a, K: Hash + Eq, V, E, S: BuildHasher> {
    table: &'a LoadingCache<K, V, E, S>,
    key: &'a K,
    flight: Arc<InFlightLoad<V, E>>,
}

impl<K, V, E, S> LoadDuty<'_, K, V, E, S>
where
    K: Hash + Eq + Clone,
    V: Clone,
    E: Clone,
    S: BuildHasher,
{
    fn finish_load(self, result: Result<V, E>) -> Result<V, E> {
        let mut books = self.table.books.lock();
        if LoadingCache::<K, V, E, S>::forget_load(&mut books, self.key, &self.flight)
            && let Ok(value) = &result
        {
            self.table.put_entry(&mut books, self.key.clone(), value.clone());
        }
        drop(books);
        self.flight.end_load(LoadOutcome::Loaded(result.clone()));
        result
    }
}

impl<K: Hash + Eq, V, E, S: BuildHasher> Drop for LoadDuty<'_, K, V, E, S> {
    fn drop(&mut self) {
        #[cfg(all(test, any(loom, shuttle)))]
        if self.table.mistake == Some(model::Mistake::LeavesSilently) {
            return;
        }
        if self.flight.has_ended() {
            return;
        }
        // First out of the books: whoever is told that it was given up must not find it there again.
        LoadingCache::<K, V, E, S>::forget_load(
            &mut self.table.books.lock(),
            self.key,
            &self.flight,
        );
        self.flight.end_load(LoadOutcome::Abandoned);
    }
}

/// A view of a [`LoadingCache`] for reading: what it returns is borrowed.
pub struct CacheView<'a, K, V, S> {
    entries: papaya::HashMapRef<'a, K, CacheEntry<V>, S, LocalGuard<'a>>,
}

impl<K: Hash + Eq, V, S: BuildHasher> CacheView<'_, K, V, S> {
    /// The value, if it is there. Neither waits nor writes.
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
        f.debug_struct("Pinned").finish_non_exhaustive()
    }
}

impl<K: Hash + Eq, V, E, S: BuildHasher> fmt::Debug for LoadingCache<K, V, E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, weight) = (self.len(), self.total_weight());
        f.debug_struct("Table")
            .field("len", &len)
            .field("weight", &weight)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
