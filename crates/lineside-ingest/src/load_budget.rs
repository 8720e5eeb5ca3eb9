//! Admits loads of schedules: few at a time, and together within the memory that loads may take.

use std::{io::Cursor, sync::Arc};

use bytes::Bytes;
use lineside_formats::gtfs::{DatasetLimits, ZipFiles};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::LOADS_AT_ONCE;

/// Memory that a byte of XML comes to while it is decoded and converted, at most: short elements take the most.
const MEMORY_PER_XML_BYTE: u64 = 4;
/// What one permit of memory stands for.
const PERMIT_BYTES: u64 = 1 << 20;

/// The loads that may run now.
#[derive(Debug)]
pub(crate) struct LoadBudget {
    slots: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    memory_permits: u32,
}

/// One admitted load, until it is dropped.
#[derive(Debug)]
pub(crate) struct LoadPermit {
    _slot: Option<OwnedSemaphorePermit>,
    _memory: Option<OwnedSemaphorePermit>,
}

impl LoadBudget {
    /// A budget of this many bytes for all loads together.
    pub(crate) fn new(memory: u64) -> LoadBudget {
        let memory_permits = count_permits(memory);
        LoadBudget {
            slots: Arc::new(Semaphore::new(LOADS_AT_ONCE)),
            memory: Arc::new(Semaphore::new(memory_permits as usize)),
            memory_permits,
        }
    }

    /// Waits until the budget has room for a load with this estimate in bytes. A load with an estimate above the whole budget
    /// runs alone.
    pub(crate) async fn admit(&self, bytes: u64) -> LoadPermit {
        let permits = count_permits(bytes).min(self.memory_permits);
        // The slot comes first: whoever waits for memory then waits only for loads that run and end.
        let slot = Arc::clone(&self.slots).acquire_owned().await.ok();
        let memory = Arc::clone(&self.memory).acquire_many_owned(permits).await.ok();
        LoadPermit { _slot: slot, _memory: memory }
    }
}

fn count_permits(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX).max(1)
}

/// Estimates the memory that loading a schedule takes, by the inflated sizes of its files. A zip whose files are larger
/// than its list says is refused by its reader.
pub(crate) fn estimate_load_bytes(body: &Bytes) -> u64 {
    let limits = DatasetLimits { entries: usize::MAX, ..DatasetLimits::default() };
    let Ok(files) = ZipFiles::list_paths(Cursor::new(body), &limits) else {
        return (body.len() as u64).saturating_mul(MEMORY_PER_XML_BYTE);
    };
    let estimate = |(path, bytes): (String, u64)| match path.to_ascii_lowercase().ends_with(".xml")
    {
        true => bytes.saturating_mul(MEMORY_PER_XML_BYTE),
        false => bytes,
    };
    files.into_iter().map(estimate).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::{future::Future, pin::pin, task::Poll};

    use super::*;

    const MIB: u64 = 1 << 20;

    /// Polls once.
    async fn poll_now<F: Future + Unpin>(mut future: F) -> Poll<F::Output> {
        std::future::poll_fn(|context| Poll::Ready(pin!(&mut future).poll(context))).await
    }

    #[tokio::test]
    async fn loads_run_together_as_far_as_they_fit_into_the_memory() {
        let budget = LoadBudget::new(100 * MIB);
        let first = budget.admit(60 * MIB).await;
        let mut second = Box::pin(budget.admit(41 * MIB));
        assert!(poll_now(&mut second).await.is_pending(), "both together exceed the memory");
        drop(first);
        let second = second.await;
        let third = budget.admit(59 * MIB).await;
        drop((second, third));
        // One above the whole budget runs alone.
        let large = budget.admit(1_000 * MIB).await;
        let mut small = Box::pin(budget.admit(1));
        assert!(poll_now(&mut small).await.is_pending());
        drop(large);
        small.await;
    }

    #[tokio::test]
    async fn no_more_loads_run_than_there_are_slots() {
        let budget = LoadBudget::new(100 * MIB);
        let _first = budget.admit(1).await;
        let second = budget.admit(1).await;
        let mut third = Box::pin(budget.admit(1));
        assert!(poll_now(&mut third).await.is_pending());
        drop(second);
        third.await;
    }

    #[test]
    fn a_schedule_is_estimated_by_what_it_inflates_to() {
        let xml = Bytes::from_static(b"<PublicationDelivery/>");
        assert_eq!(estimate_load_bytes(&xml), 4 * xml.len() as u64);
    }
}
