//! The writers' bookkeeping of a cache, which readers never touch: order, weight and age of the entries, and the loads
//! in progress.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use super::CacheLimits;
use super::in_flight::InFlightLoad;

pub(super) struct CacheBookkeeping<K, V, E> {
    /// Bound: one per key that is being loaded.
    pub(super) in_flight: HashMap<K, Arc<InFlightLoad<V, E>>>,
    /// One record per entry, the oldest first: each stamp is higher than all earlier ones.
    ages: BTreeMap<u64, CacheEntryAge<K>>,
    weight: usize,
    next_stamp: u64,
    /// Records from this stamp on were added since the last sweep.
    unseen: u64,
}

struct CacheEntryAge<K> {
    key: K,
    weight: usize,
    /// The time of the first sweep that met the entry.
    seen: Option<Duration>,
}

impl<K: Hash + Eq, V, E> CacheBookkeeping<K, V, E> {
    pub(super) fn new() -> Self {
        let (in_flight, ages) = (HashMap::new(), BTreeMap::new());
        Self { in_flight, ages, weight: 0, next_stamp: 0, unseen: 0 }
    }

    pub(super) fn total_weight(&self) -> usize {
        self.weight
    }

    pub(super) fn add_entry_record(&mut self, key: K, weight: usize) -> u64 {
        let stamp = self.next_stamp;
        self.next_stamp += 1;
        self.weight += weight;
        self.ages.insert(stamp, CacheEntryAge { key, weight, seen: None });
        stamp
    }

    pub(super) fn remove_entry_record(&mut self, stamp: u64) {
        if let Some(line) = self.ages.remove(&stamp) {
            self.weight -= line.weight;
        }
    }

    /// Removes the oldest record if one more entry of this weight would not fit.
    pub(super) fn evict_oldest_if_full(
        &mut self,
        limits: &CacheLimits,
        weight: usize,
    ) -> Option<K> {
        let fits = self.ages.len() < limits.entries && self.weight + weight <= limits.weight;
        if fits { None } else { self.evict_oldest() }
    }

    /// Removes the oldest record if the first sweep that met it was at least `age` ago.
    pub(super) fn evict_oldest_if_aged(&mut self, now: Duration, age: Duration) -> Option<K> {
        let (_, oldest) = self.ages.first_key_value()?;
        let aged = now.saturating_sub(oldest.seen?) >= age;
        if aged { self.evict_oldest() } else { None }
    }

    /// Sets the time of the first sweep on all records added since the last one.
    pub(super) fn set_first_sweep_time(&mut self, now: Duration) {
        for line in self.ages.range_mut(self.unseen..).map(|(_, line)| line) {
            line.seen = Some(now);
        }
        self.unseen = self.next_stamp;
    }

    fn evict_oldest(&mut self) -> Option<K> {
        let (_, line) = self.ages.pop_first()?;
        self.weight -= line.weight;
        Some(line.key)
    }
}
