//! The sampling profiler of the running server.
//!
//! A timer of processor time interrupts the running thread (`interrupt`), which stores its name, its stage and its call
//! stack (`stack_walk`) in a buffer (`sample_buffer`). Names are resolved afterwards (`symbols`), and the profile is
//! written in one of four formats (`symbolized_profile`, `pprof_messages`, `flame`). The timer belongs to the process,
//! so only one recording runs at a time.

mod flame;
mod profile_format;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod interrupt;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[path = "interrupt_fallback.rs"]
mod interrupt;
mod pprof_messages;
mod symbolized_profile;
mod sample_buffer;
mod symbols;
mod stack_walk;

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use lineside_sync::UnixMillis;
use lineside_sync::real_time::{RealTimeStopwatch, sleep_real_time};
use parking_lot::Mutex;

use self::sample_buffer::{SampleBuffer, StackSample};
use self::symbols::SymbolCache;

pub use self::flame::{render_page_section, server_page_csp};
pub use self::profile_format::ProfileFormat;
pub use self::symbolized_profile::SymbolizedProfile;

/// The range of a recording's duration, in seconds.
pub const SECONDS: RangeInclusive<u64> = 1..=60;
/// The default duration of a recording, in seconds.
pub const SECONDS_DEFAULT: u64 = 10;

/// Samples per second of processor time. The odd number avoids lockstep with periodic work.
const HERTZ: u32 = 99;
/// Interval at which the buffer is drained.
const DRAIN_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of distinct stacks in a recording; samples of further ones count as lost.
const STACKS_MAX: usize = 200_000;

/// The start and the duration of the recording in progress.
static ACTIVE_RECORDING: Mutex<Option<(RealTimeStopwatch, Duration)>> = Mutex::new(None);

/// The reason why a recording did not start.
#[derive(Debug)]
pub enum RecordingError {
    /// Another recording is in progress, for this much longer.
    Busy(Duration),
    /// The system does not support the profiler.
    Unable(std::io::Error),
}

/// Returns the remaining time of the recording in progress, if there is one.
pub fn recording_time_left() -> Option<Duration> {
    ACTIVE_RECORDING.lock().map(|(since, length)| length.saturating_sub(since.elapsed()))
}

/// Samples all threads for `length`.
///
/// Cancel safety: dropping the future ends the recording, and another can begin.
///
/// # Errors
/// Returns an error if another recording is in progress, or the system does not support the profiler.
pub async fn record_samples(
    length: Duration,
    now: UnixMillis,
) -> Result<RawProfile, RecordingError> {
    let recording = ActiveRecording::start_recording(length)?;
    let mut seen = RawProfile { began: now, length, lost: 0, stacks: HashMap::new() };
    loop {
        let left = length.saturating_sub(recording.since.elapsed());
        if left.is_zero() {
            break;
        }
        sleep_real_time(left.min(DRAIN_INTERVAL)).await;
        recording.slots.drain_samples(|sample| seen.add_sample(sample));
    }
    interrupt::stop_sampling_timer();
    seen.length = recording.since.elapsed();
    recording.slots.drain_samples(|sample| seen.add_sample(sample));
    seen.lost += recording.slots.take_lost_count();
    Ok(seen)
}

/// A recording in progress. It ends on drop.
struct ActiveRecording {
    since: RealTimeStopwatch,
    slots: &'static SampleBuffer,
}

impl ActiveRecording {
    fn start_recording(length: Duration) -> Result<Self, RecordingError> {
        let mut recording = ACTIVE_RECORDING.lock();
        if let Some((since, length)) = *recording {
            return Err(RecordingError::Busy(length.saturating_sub(since.elapsed())));
        }
        let slots = interrupt::start_sampling_timer(HERTZ).map_err(RecordingError::Unable)?;
        let since = RealTimeStopwatch::start_stopwatch();
        *recording = Some((since, length));
        Ok(Self { since, slots })
    }
}

impl Drop for ActiveRecording {
    fn drop(&mut self) {
        let mut recording = ACTIVE_RECORDING.lock();
        interrupt::stop_sampling_timer();
        *recording = None;
    }
}

/// The samples of a recording, with unresolved addresses.
#[derive(Debug)]
pub struct RawProfile {
    began: UnixMillis,
    length: Duration,
    lost: u64,
    stacks: HashMap<StackSample, u64>,
}

impl RawProfile {
    fn add_sample(&mut self, sample: StackSample) {
        let is_full = self.stacks.len() >= STACKS_MAX;
        match self.stacks.get_mut(&sample) {
            Some(count) => *count += 1,
            None if is_full => self.lost += 1,
            None => _ = self.stacks.insert(sample, 1),
        }
    }

    /// Resolves all names. This takes about a second, so it must not run on a thread that serves sockets.
    pub fn symbolize(self) -> SymbolizedProfile {
        let mut symbols = SymbolCache::default();
        let mut stacks: BTreeMap<Vec<Arc<str>>, u64> = BTreeMap::new();
        for (sample, count) in self.stacks {
            let root = [Arc::from(&*sample.thread), Arc::from(sample.stage.stage_name())];
            let stack = root.into_iter().chain(symbols.resolve_stack(&sample.stack)).collect();
            *stacks.entry(stack).or_default() += count;
        }
        // The cached debug info takes more memory than all else in a small server.
        backtrace::clear_symbol_cache();
        let Self { began, length, lost, .. } = self;
        SymbolizedProfile { began, length, hertz: HERTZ, lost, stacks }
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::sync::atomic::{AtomicBool, Ordering};

    use lineside_sync::stage::{self, ThreadWorkStage};

    use super::*;

    const LENGTH: Duration = Duration::from_secs(1);
    /// Number of recordings to try, because a busy machine may not run the threads.
    const ATTEMPTS: usize = 20;

    #[inline(never)]
    fn innermost(mut x: u64) -> u64 {
        for n in 0..100_000_u64 {
            x = black_box(x.wrapping_mul(31).wrapping_add(n));
        }
        x
    }

    #[inline(never)]
    fn outer(x: u64) -> u64 {
        black_box(innermost(x)) + 1
    }

    /// Returns true if a stack is of this thread and stage and contains these functions, the outermost first.
    fn is(stack: &[Arc<str>], thread: &str, stage: &str, functions: &[&str]) -> bool {
        let mut names = stack.iter();
        names.next().is_some_and(|it| **it == *thread)
            && names.next().is_some_and(|it| **it == *stage)
            && functions.iter().all(|function| names.any(|name| name.ends_with(function)))
    }

    async fn recorded() -> SymbolizedProfile {
        let seen =
            record_samples(LENGTH, UnixMillis(0)).await.expect("no other recording is running");
        seen.symbolize()
    }

    // A single test, because the timer belongs to the process.
    #[tokio::test]
    async fn samples_have_stage_and_function_and_recordings_are_exclusive() {
        static STOP_WORKING: AtomicBool = AtomicBool::new(false);
        let work = |stage: ThreadWorkStage| {
            move || {
                let _at = stage::set_stage_until_dropped(stage);
                while !STOP_WORKING.load(Ordering::Relaxed) {
                    black_box(outer(7));
                }
            }
        };
        for (name, stage) in
            [("a-decoder", ThreadWorkStage::Decode), ("a-publisher", ThreadWorkStage::Publish)]
        {
            std::thread::Builder::new().name(name.to_owned()).spawn(work(stage)).unwrap();
        }
        let mut seen = false;
        for _ in 0..ATTEMPTS {
            let (recorded, other) = tokio::join!(recorded(), record_samples(LENGTH, UnixMillis(0)));
            let Err(RecordingError::Busy(left)) = other else {
                panic!("two recordings: {other:?}")
            };
            assert!(left <= LENGTH);
            assert!(recorded.length >= LENGTH);
            seen = [("a-decoder", "decode"), ("a-publisher", "publish")].iter().all(
                |(thread, stage)| {
                    recorded
                        .stacks
                        .keys()
                        .any(|stack| is(stack, thread, stage, &["outer", "innermost"]))
                },
            );
            if seen {
                break;
            }
        }
        // A dropped recording frees its slot.
        drop(ActiveRecording::start_recording(LENGTH).expect("a place"));
        drop(ActiveRecording::start_recording(LENGTH).expect("a place"));
        STOP_WORKING.store(true, Ordering::Relaxed);
        assert!(seen, "the busy function has no sample in its thread");
    }

    #[test]
    fn stacks_beyond_the_limit_are_dropped_and_counted() {
        let sample = |n: usize| StackSample {
            thread: "t".into(),
            stage: ThreadWorkStage::Other,
            stack: [n].into(),
        };
        let stacks = (0..STACKS_MAX).map(|n| (sample(n), 1)).collect();
        let mut seen = RawProfile { began: UnixMillis(0), length: LENGTH, lost: 0, stacks };
        seen.add_sample(sample(0));
        seen.add_sample(sample(STACKS_MAX));
        assert_eq!((seen.stacks[&sample(0)], seen.lost, seen.stacks.len()), (2, 1, STACKS_MAX));
    }
}
