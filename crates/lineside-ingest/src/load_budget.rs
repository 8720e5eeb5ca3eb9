//! Admission of schedule loads: few at a time, and together within the memory that loads may take.

use std::{io::Cursor, sync::Arc};

use bytes::Bytes;
use lineside_formats::gtfs::{DatasetLimits, ZipFiles};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::CONCURRENT_LOADS_MAX;

/// Maximum memory per byte of XML while it is decoded and converted: short elements take the most.
const MEMORY_PER_XML_BYTE: u64 = 4;
/// Memory per semaphore permit.
const PERMIT_BYTES: u64 = 1 << 20;

/// Limits the concurrent loads.
#[derive(Debug)]
pub(crate) struct ScheduleLoadBudget {
    slots: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    memory_permits: u32,
}

/// An admitted load, until it is dropped.
#[derive(Debug)]
pub(crate) struct ScheduleLoadPermit {
    _slot: Option<OwnedSemaphorePermit>,
    _memory: Option<OwnedSemaphorePermit>,
}

impl ScheduleLoadBudget {
    /// Creates a budget of `memory` bytes for all loads together.
    pub(crate) fn new(memory: u64) -> ScheduleLoadBudget {
        let memory_permits = memory_permits_for_bytes(memory);
        ScheduleLoadBudget {
            slots: Arc::new(Semaphore::new(CONCURRENT_LOADS_MAX)),
            memory: Arc::new(Semaphore::new(memory_permits as usize)),
            memory_permits,
        }
    }

    /// Waits until the budget admits a load with this estimate in bytes. A load with an estimate above the whole budget
    /// runs alone.
    pub(crate) async fn wait_for_load_permit(&self, bytes: u64) -> ScheduleLoadPermit {
        let permits = memory_permits_for_bytes(bytes).min(self.memory_permits);
        // The slot comes first: a load that waits for memory then waits only for running loads.
        let slot = Arc::clone(&self.slots).acquire_owned().await.ok();
        let memory = Arc::clone(&self.memory).acquire_many_owned(permits).await.ok();
        ScheduleLoadPermit { _slot: slot, _memory: memory }
    }
}

fn memory_permits_for_bytes(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX).max(1)
}

/// Estimates the memory for loading a schedule from the decompressed sizes of its files. Its reader rejects a zip whose
/// files are larger than listed.
pub(crate) fn estimate_schedule_load_memory(body: &Bytes) -> u64 {
    let limits = DatasetLimits { entries: usize::MAX, ..DatasetLimits::default() };
    let Ok(files) = ZipFiles::list_file_paths_and_sizes(Cursor::new(body), &limits) else {
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

    /// Polls a future once.
    async fn poll_now<F: Future + Unpin>(mut future: F) -> Poll<F::Output> {
        std::future::poll_fn(|context| Poll::Ready(pin!(&mut future).poll(context))).await
    }

    #[tokio::test]
    async fn loads_run_concurrently_if_they_fit_into_memory() {
        let budget = ScheduleLoadBudget::new(100 * MIB);
        let first = budget.wait_for_load_permit(60 * MIB).await;
        let mut second = Box::pin(budget.wait_for_load_permit(41 * MIB));
        assert!(poll_now(&mut second).await.is_pending(), "both loads together exceed the memory");
        drop(first);
        let second = second.await;
        let third = budget.wait_for_load_permit(59 * MIB).await;
        drop((second, third));
        // A load above the whole budget runs alone.
        let large = budget.wait_for_load_permit(1_000 * MIB).await;
        let mut small = Box::pin(budget.wait_for_load_permit(1));
        assert!(poll_now(&mut small).await.is_pending());
        drop(large);
        small.await;
    }

    #[tokio::test]
    async fn the_number_of_concurrent_loads_is_limited() {
        let budget = ScheduleLoadBudget::new(100 * MIB);
        let _first = budget.wait_for_load_permit(1).await;
        let second = budget.wait_for_load_permit(1).await;
        let mut third = Box::pin(budget.wait_for_load_permit(1));
        assert!(poll_now(&mut third).await.is_pending());
        drop(second);
        third.await;
    }

    #[test]
    fn the_estimate_of_a_schedule_uses_its_decompressed_size() {
        let xml = Bytes::from_static(b"<PublicationDelivery/>");
        assert_eq!(estimate_schedule_load_memory(&xml), 4 * xml.len() as u64);
    }
}
