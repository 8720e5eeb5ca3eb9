//! The buffer in which interrupted threads store their samples until it is drained.
//!
//! It uses only atomics: a signal handler that interrupts an allocation or a lock may neither allocate nor lock.

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use lineside_sync::stage::ThreadWorkStage;

/// The maximum depth of a recorded stack; a deeper one loses its outermost calls.
pub(super) const DEPTH_MAX: usize = 128;
/// Capacity in samples: a tenth of a second of 200 busy cores.
const SLOTS: usize = 2_048;
/// Maximum size of a thread's name on Linux, in bytes, including the final zero.
pub(super) const NAME_BYTES: usize = 16;

const FREE: u8 = 0;
const WRITING: u8 = 1;
const FULL: u8 = 2;

/// A sample of one thread.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct StackSample {
    /// The thread's name.
    pub(super) thread: Box<str>,
    /// The thread's stage.
    pub(super) stage: ThreadWorkStage,
    /// The return addresses, innermost first.
    pub(super) stack: Box<[usize]>,
}

struct SampleSlot {
    state: AtomicU8,
    stage: AtomicU8,
    depth: AtomicUsize,
    name: [AtomicU64; NAME_BYTES / 8],
    stack: [AtomicUsize; DEPTH_MAX],
}

/// A bounded buffer of samples. Samples that find it full are counted.
pub(super) struct SampleBuffer {
    slots: Box<[SampleSlot]>,
    next: AtomicUsize,
    lost: AtomicU64,
}

impl SampleBuffer {
    pub(super) fn new() -> Self {
        let slot = || SampleSlot {
            state: AtomicU8::new(FREE),
            stage: AtomicU8::new(0),
            depth: AtomicUsize::new(0),
            name: std::array::from_fn(|_| AtomicU64::new(0)),
            stack: std::array::from_fn(|_| AtomicUsize::new(0)),
        };
        let slots = std::iter::repeat_with(slot).take(SLOTS).collect();
        Self { slots, next: AtomicUsize::new(0), lost: AtomicU64::new(0) }
    }

    /// Stores a sample. Wait-free, without allocation or panic.
    pub(super) fn store_sample(
        &self,
        name: [u8; NAME_BYTES],
        stage: ThreadWorkStage,
        stack: &[usize],
    ) {
        let slot_number = self.next.fetch_add(1, Ordering::Relaxed);
        let free = self.slots.get(slot_number % SLOTS).filter(|slot| {
            let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
            slot.state.compare_exchange(FREE, WRITING, success, failure).is_ok()
        });
        let Some(slot) = free else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let words = name.as_chunks::<8>().0;
        for (cell, word) in slot.name.iter().zip(words) {
            cell.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
        }
        for (cell, address) in slot.stack.iter().zip(stack) {
            cell.store(*address, Ordering::Relaxed);
        }
        slot.depth.store(stack.len().min(DEPTH_MAX), Ordering::Relaxed);
        slot.stage.store(stage as u8, Ordering::Relaxed);
        slot.state.store(FULL, Ordering::Release);
    }

    /// Removes all complete samples and passes them to `with`.
    pub(super) fn drain_samples(&self, mut with: impl FnMut(StackSample)) {
        for slot in &self.slots {
            if slot.state.load(Ordering::Acquire) == FULL {
                with(slot.read_sample());
                slot.state.store(FREE, Ordering::Release);
            }
        }
    }

    /// Returns the number of lost samples since the last call.
    pub(super) fn take_lost_count(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }
}

impl SampleSlot {
    fn read_sample(&self) -> StackSample {
        let name: Vec<u8> =
            self.name.iter().flat_map(|cell| cell.load(Ordering::Relaxed).to_ne_bytes()).collect();
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let depth = self.depth.load(Ordering::Relaxed).min(DEPTH_MAX);
        let stack = self.stack[..depth].iter().map(|cell| cell.load(Ordering::Relaxed));
        StackSample {
            thread: String::from_utf8_lossy(name).into(),
            stage: ThreadWorkStage::stage_from_number(self.stage.load(Ordering::Relaxed)),
            stack: stack.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> [u8; NAME_BYTES] {
        let mut name = [0; NAME_BYTES];
        name[..text.len()].copy_from_slice(text.as_bytes());
        name
    }

    #[test]
    fn a_stored_sample_is_drained_once() {
        let slots = SampleBuffer::new();
        slots.store_sample(name("partition-0"), ThreadWorkStage::Deliver, &[1, 2, 3]);
        slots.store_sample(name(""), ThreadWorkStage::Other, &[]);
        let mut samples_taken = Vec::new();
        slots.drain_samples(|sample| samples_taken.push(sample));
        slots.drain_samples(|sample| samples_taken.push(sample));
        let stack: Box<[usize]> = Box::new([1, 2, 3]);
        assert_eq!(
            samples_taken[0],
            StackSample { thread: "partition-0".into(), stage: ThreadWorkStage::Deliver, stack }
        );
        assert_eq!(
            (samples_taken.len(), &*samples_taken[1].thread, samples_taken[1].stack.len()),
            (2, "", 0)
        );
    }

    #[test]
    fn lost_samples_are_counted_and_deep_stacks_truncated() {
        let slots = SampleBuffer::new();
        let deep = [7; DEPTH_MAX + 1];
        for _ in 0..SLOTS + 3 {
            slots.store_sample(name("sixteen-or-more"), ThreadWorkStage::Http, &deep);
        }
        assert_eq!((slots.take_lost_count(), slots.take_lost_count()), (3, 0));
        let mut n = 0;
        slots.drain_samples(|sample| {
            assert_eq!(sample.stack.len(), DEPTH_MAX);
            n += 1;
        });
        assert_eq!(n, SLOTS);
    }

    #[test]
    fn concurrent_writers_and_a_reader_lose_no_sample_uncounted() {
        const EACH: u64 = 20_000;
        let slots = SampleBuffer::new();
        let mut n_samples = 0;
        std::thread::scope(|scope| {
            let writers: Vec<_> = (1..=4_usize)
                .map(|n| {
                    let slots = &slots;
                    scope.spawn(move || {
                        (0..EACH).for_each(|_| {
                            slots.store_sample(name("w"), ThreadWorkStage::Apply, &[n; 9])
                        })
                    })
                })
                .collect();
            let mut count_sample = |sample: StackSample| {
                assert!(sample.stack.iter().all(|it| *it == sample.stack[0]), "torn: {sample:?}");
                n_samples += 1;
            };
            while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                slots.drain_samples(&mut count_sample);
            }
            slots.drain_samples(&mut count_sample);
        });
        assert_eq!(n_samples + slots.take_lost_count(), 4 * EACH);
    }
}
