//! The timer that interrupts threads, and the signal handler that samples them.
//!
//! The kernel sends SIGPROF to the running thread after each interval of the process's processor time. The handler
//! stays installed forever, because a signal may still be pending after the timer has stopped; then it does nothing.
//! This file contains all unsafe code of the profiler.
#![expect(unsafe_code, reason = "a signal handler, its timer and its registers")]

use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, ptr};

use lineside_sync::stage;
use nix::errno::Errno;
use nix::libc::{self, c_int, c_void, siginfo_t, ucontext_t};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

use super::sample_buffer::{DEPTH_MAX, NAME_BYTES, SampleBuffer};
use super::stack_walk::{Registers, walk_stack};

/// Bytes of the stack per read: no page is smaller, so a read succeeds or fails as a whole.
const PAGE_BYTES: usize = 4_096;
const WORD_BYTES: usize = size_of::<usize>();

/// The buffer for samples. It is never freed, because a handler may use it at any time.
static SLOTS: OnceLock<SampleBuffer> = OnceLock::new();
/// The address range of the program's own code.
static TEXT: OnceLock<Range<usize>> = OnceLock::new();
static IS_RUNNING: AtomicBool = AtomicBool::new(false);

/// Starts interrupting threads `hertz` times per second of processor time until [`stop`], and returns the buffer of
/// their samples.
///
/// # Errors
/// Returns an error if the system has no such timer, or does not let a process read its own memory.
pub(super) fn start_sampling_timer(hertz: u32) -> io::Result<&'static SampleBuffer> {
    // Memory that is unreadable here is unreadable in a handler too.
    let here = 0_usize;
    StackReader::new().read_stack_word(ptr::from_ref(&here).addr()).ok_or_else(|| {
        io::Error::other("the system does not allow the process to read its own stack")
    })?;
    if TEXT.get().is_none() {
        let found = find_text_segment(
            &fs::read_to_string("/proc/self/maps")?,
            &fs::read_link("/proc/self/exe")?,
        );
        _ = TEXT
            .set(found.ok_or_else(|| io::Error::other("the code of the program is not mapped"))?);
    }
    let slots = SLOTS.get_or_init(SampleBuffer::new);
    slots.drain_samples(drop);
    slots.take_lost_count();
    install_handler()?;
    IS_RUNNING.store(true, Ordering::Release);
    if let Err(error) = set_profiling_timer(1_000_000 / i64::from(hertz.max(1))) {
        stop_sampling_timer();
        return Err(error);
    }
    Ok(slots)
}

pub(super) fn stop_sampling_timer() {
    // Stopping a timer cannot fail.
    _ = set_profiling_timer(0);
    IS_RUNNING.store(false, Ordering::Release);
}

/// Returns the address range of a program's executable segments in the kernel's list of mappings.
fn find_text_segment(maps: &str, program: &Path) -> Option<Range<usize>> {
    let code = maps.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next()?, words.next()?);
        let is_ours = rights.contains('x') && Path::new(words.nth(3)?) == program;
        let (start, end) = range.split_once('-').filter(|_| is_ours)?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        Some(number(start)?..number(end)?)
    });
    code.reduce(|all, part| all.start.min(part.start)..all.end.max(part.end))
}

fn install_handler() -> io::Result<()> {
    let handler = SigHandler::SigAction(interrupted);
    // SA_RESTART resumes interrupted system calls where the kernel can.
    let flags = SaFlags::SA_SIGINFO | SaFlags::SA_RESTART;
    let action = SigAction::new(handler, flags, SigSet::empty());
    // SAFETY: the handler uses only async-signal-safe operations: atomics, system calls, and local memory.
    unsafe { sigaction(Signal::SIGPROF, &action) }?;
    Ok(())
}

fn set_profiling_timer(micros: i64) -> io::Result<()> {
    let every = libc::timeval { tv_sec: micros / 1_000_000, tv_usec: micros % 1_000_000 };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: both pointers are valid for the call, which does not retain them.
    let done = unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, ptr::null_mut()) };
    Errno::result(done)?;
    Ok(())
}

/// Samples the interrupted thread, and preserves its errno.
extern "C" fn interrupted(_: c_int, _: *mut siginfo_t, context: *mut c_void) {
    if !IS_RUNNING.load(Ordering::Acquire) {
        return;
    }
    let errno = Errno::last_raw();
    // SAFETY: the kernel passes the context to a handler with SA_SIGINFO, and it lives until the handler returns.
    let context = unsafe { context.cast::<ucontext_t>().as_ref() };
    if let (Some(slots), Some(text), Some(context)) = (SLOTS.get(), TEXT.get(), context) {
        let mut stack = StackReader::new();
        let mut calls = [0; DEPTH_MAX];
        let depth = walk_stack(
            registers_of_context(context),
            text,
            |address| stack.read_stack_word(address),
            &mut calls,
        );
        slots.store_sample(
            current_thread_name(),
            stage::stage_of_this_thread(),
            calls.get(..depth).unwrap_or_default(),
        );
    }
    Errno::set_raw(errno);
}

#[cfg(target_arch = "x86_64")]
fn registers_of_context(context: &ucontext_t) -> Registers {
    let registers = &context.uc_mcontext.gregs;
    let register = |number: c_int| registers[number as usize].cast_unsigned() as usize;
    Registers {
        instruction: register(libc::REG_RIP),
        stack: register(libc::REG_RSP),
        frame: register(libc::REG_RBP),
    }
}

#[cfg(target_arch = "aarch64")]
fn registers(context: &ucontext_t) -> Registers {
    let context = &context.uc_mcontext;
    Registers {
        instruction: context.pc as usize,
        stack: context.sp as usize,
        frame: context.regs[29] as usize,
    }
}

fn current_thread_name() -> [u8; NAME_BYTES] {
    let mut name = [0; NAME_BYTES];
    // SAFETY: the kernel writes at most the size of the buffer, including the zero, and does not retain the pointer.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// Reads the stack of the calling thread by a system call: an unmapped address gives `None` instead of a fault.
struct StackReader {
    bytes: [u8; PAGE_BYTES],
    /// The address of the bytes, once there are any.
    page: Option<usize>,
}

impl StackReader {
    fn new() -> Self {
        Self { bytes: [0; PAGE_BYTES], page: None }
    }

    fn read_stack_word(&mut self, address: usize) -> Option<usize> {
        let page = address & !(PAGE_BYTES - 1);
        if self.page != Some(page) {
            let remote = [RemoteIoVec { base: page, len: PAGE_BYTES }];
            self.page = None;
            let read =
                process_vm_readv(Pid::this(), &mut [IoSliceMut::new(&mut self.bytes)], &remote);
            if read != Ok(PAGE_BYTES) {
                return None;
            }
            self.page = Some(page);
        }
        let bytes = self.bytes.get(address - page..)?.first_chunk::<WORD_BYTES>()?;
        Some(usize::from_ne_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_segment_of_the_program_excludes_libraries() {
        let maps = "\
            55d0-55e0 r--p 00000000 fe:01 1 /bin/lineside\n\
            55e0-5600 r-xp 00010000 fe:01 1 /bin/lineside\n\
            5600-5620 r-xp 00030000 fe:01 1 /bin/lineside\n\
            5620-5630 rw-p 00050000 fe:01 1 /bin/lineside\n\
            7f00-7f10 r-xp 00000000 fe:01 2 /lib/libc.so.6\n\
            7fff-8000 r-xp 00000000 00:00 0 [vdso]\n";
        assert_eq!(find_text_segment(maps, Path::new("/bin/lineside")), Some(0x55e0..0x5620));
        assert_eq!(find_text_segment(maps, Path::new("/bin/another")), None);
    }

    #[test]
    fn mapped_memory_is_read_and_unmapped_memory_is_not() {
        let here = [0x1234_usize, 0x5678];
        let mut stack = StackReader::new();
        assert_eq!(stack.read_stack_word(ptr::from_ref(&here[1]).addr()), Some(0x5678));
        for nowhere in [0, 8, usize::MAX & !7, usize::MAX] {
            assert_eq!(stack.read_stack_word(nowhere), None);
        }
        assert_eq!(stack.read_stack_word(ptr::from_ref(&here[0]).addr()), Some(0x1234));
    }
}
