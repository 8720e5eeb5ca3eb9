//! Walks the call stack from a thread's registers along frame pointers.
//!
//! The whole program is compiled with frame pointers (`.cargo/config.toml`). System libraries often are not: they use
//! the register for something else, and save its value on the stack. So every value is validated: a frame must lie on
//! the stack, above the previous frame, and return into the program's own code. If the register is not a frame pointer,
//! the saved one is searched for near the top of the stack. Memory is read by a system call, which fails without a
//! fault. Unwinding by tables is unsuitable in a signal handler: it locks and allocates, and assembly in TLS libraries
//! has misled it.

use std::ops::Range;

/// Maximum distance between two frames: the usual size of a stack.
const FRAME_BYTES_MAX: usize = 8 << 20;
/// Bytes at the top of the stack that are searched for a frame pointer saved by code without frame pointers.
const SAVED_BYTES_MAX: usize = 512;
const WORD_BYTES: usize = size_of::<usize>();

/// The registers of an interrupted thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    /// The instruction pointer.
    pub(super) instruction: usize,
    /// The stack pointer.
    pub(super) stack: usize,
    /// The frame pointer, if the code keeps one.
    pub(super) frame: usize,
}

/// Writes the return addresses into `calls`, innermost first, and returns their number. The first one is the address of
/// the interrupted instruction. `text` is the program's own code; `read_word` reads memory, and returns `None` for
/// unmapped addresses.
pub(super) fn walk_stack(
    registers: Registers,
    text: &Range<usize>,
    read_word: impl FnMut(usize) -> Option<usize>,
    calls: &mut [usize],
) -> usize {
    let mut walk = StackWalk { text, read_word, calls: calls.iter_mut(), depth: 0 };
    // One byte further, like a return address after its call.
    walk.push_return_address(registers.instruction.wrapping_add(1));
    let Registers { instruction, stack, frame } = registers;
    if walk.read_stack_frame(frame, stack).is_none() {
        walk.follow_saved_frame(stack);
    } else {
        if !text.contains(&instruction) {
            // The frame belongs to the library's caller, whose return address lies below it.
            walk.find_and_push_caller(stack..frame.min(stack.saturating_add(SAVED_BYTES_MAX)));
        }
        walk.follow_frame_pointers(frame, stack);
    }
    walk.depth
}

struct StackWalk<'a, W> {
    text: &'a Range<usize>,
    read_word: W,
    calls: std::slice::IterMut<'a, usize>,
    depth: usize,
}

impl<W: FnMut(usize) -> Option<usize>> StackWalk<'_, W> {
    fn push_return_address(&mut self, address: usize) -> bool {
        let Some(call) = self.calls.next() else { return false };
        *call = address;
        self.depth += 1;
        true
    }

    /// Adds the calls from this frame outwards.
    fn follow_frame_pointers(&mut self, mut frame: usize, mut address_min: usize) {
        while let Some((outer, back)) = self.read_stack_frame(frame, address_min)
            && self.push_return_address(back)
        {
            (address_min, frame) = (frame + WORD_BYTES, outer);
        }
    }

    /// Returns the outer frame and the return address of a frame at `address`, if it can be one above `address_min`.
    fn read_stack_frame(&mut self, address: usize, address_min: usize) -> Option<(usize, usize)> {
        let is_frame = address.is_multiple_of(WORD_BYTES)
            && address >= address_min
            && address - address_min <= FRAME_BYTES_MAX;
        if !is_frame {
            return None;
        }
        let outer = (self.read_word)(address)?;
        let back = (self.read_word)(address.checked_add(WORD_BYTES)?)?;
        self.text.contains(&back).then_some((outer, back))
    }

    /// Continues from the frame pointer that the interrupted code has saved, if it is found.
    fn follow_saved_frame(&mut self, stack: usize) {
        let end = stack.saturating_add(SAVED_BYTES_MAX);
        for at in (stack..end).step_by(WORD_BYTES) {
            let Some(frame) = (self.read_word)(at) else { return };
            if self.read_stack_frame(frame, at + WORD_BYTES).is_some() {
                self.find_and_push_caller(at + WORD_BYTES..frame.min(end));
                return self.follow_frame_pointers(frame, at + WORD_BYTES);
            }
        }
    }

    /// Adds the first return address into the program in this part of the stack.
    fn find_and_push_caller(&mut self, part: Range<usize>) {
        for at in part.step_by(WORD_BYTES) {
            let Some(back) = (self.read_word)(at) else { return };
            if self.text.contains(&back) && self.is_return_address(back) {
                self.push_return_address(back);
                return;
            }
        }
    }

    /// Returns true if a call precedes this address. Otherwise the address is a function pointer, not a return address.
    fn is_return_address(&mut self, address: usize) -> bool {
        let code = address.checked_sub(WORD_BYTES).and_then(&mut self.read_word);
        code.is_some_and(|code| ends_with_call_instruction(code.to_ne_bytes()))
    }
}

/// Returns true if the code ends with a call, by address or through a register or memory.
#[cfg(target_arch = "x86_64")]
fn ends_with_call_instruction(code: [u8; WORD_BYTES]) -> bool {
    let [_, _, six, five, _, three, two, one] = code;
    five == 0xe8
        || six == 0xff && matches!(five, 0x15 | 0x90..=0x97)
        || three == 0xff && matches!(two, 0x50..=0x57)
        || two == 0xff && matches!(one, 0x10..=0x17 | 0xd0..=0xd7)
}

/// Returns true if the code ends with a call, by address or through a register.
#[cfg(not(target_arch = "x86_64"))]
fn ends_with_call(code: [u8; WORD_BYTES]) -> bool {
    let last = code.last_chunk::<4>().map_or(0, |last| u32::from_le_bytes(*last));
    last >> 26 == 0b10_0101 || last & 0xffff_fc1f == 0xd63f_0000
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const STACK: usize = 0x7000_0000;
    const TEXT: Range<usize> = 0x5000..0x9000;
    const LIBRARY: usize = 0x10_0000;
    /// The code of a call instruction, just before its return address.
    #[cfg(target_arch = "x86_64")]
    const CALL: usize = usize::from_ne_bytes([0, 0, 0, 0xe8, 1, 2, 3, 4]);
    #[cfg(not(target_arch = "x86_64"))]
    const CALL: usize = usize::from_ne_bytes([0, 0, 0, 0, 1, 2, 3, 0x94]);

    fn check(memory: &[(usize, usize)], instruction: usize, frame: usize, expect: &[usize]) {
        let memory: BTreeMap<usize, usize> = memory.iter().copied().collect();
        let registers = Registers { instruction, stack: STACK, frame };
        let mut calls = [0; 4];
        let depth =
            walk_stack(registers, &TEXT, |address| memory.get(&address).copied(), &mut calls);
        assert_eq!(&calls[..depth], expect);
    }

    #[test]
    fn a_walk_lists_calls_innermost_first_until_it_leaves_the_program() {
        let [one, two] = [STACK + 64, STACK + 256];
        let chain = [(one, two), (one + WORD_BYTES, 0x6000), (two, 0), (two + WORD_BYTES, 0x7000)];
        check(&chain, 0x5000, one, &[0x5001, 0x6000, 0x7000]);
        let out = [(one, two), (one + WORD_BYTES, 0x6000), (two, 0), (two + WORD_BYTES, LIBRARY)];
        check(&out, 0x5000, one, &[0x5001, 0x6000]);
    }

    #[test]
    fn an_invalid_frame_pointer_ends_the_walk() {
        let one = STACK + 64;
        let outside =
            [STACK - WORD_BYTES, STACK + FRAME_BYTES_MAX + WORD_BYTES, usize::MAX, usize::MAX & !7];
        for frame in [0, 1, one + 1].into_iter().chain(outside) {
            check(&[], 0x5000, frame, &[0x5001]);
        }
        // Memory that is unmapped, only half mapped, or leads back.
        check(&[], 0x5000, one, &[0x5001]);
        check(&[(one, one + 64)], 0x5000, one, &[0x5001]);
        check(&[(one, one), (one + WORD_BYTES, 0x6000)], 0x5000, one, &[0x5001, 0x6000]);
        check(&[(one, STACK), (one + WORD_BYTES, 0x6000)], 0x5000, one, &[0x5001, 0x6000]);
    }

    #[test]
    fn a_deep_stack_is_truncated_to_its_innermost_calls() {
        let frames = (0..100).map(|n| (n, STACK + n * 64));
        let memory: Vec<(usize, usize)> =
            frames.flat_map(|(n, at)| [(at, at + 64), (at + WORD_BYTES, 0x6000 + n)]).collect();
        check(&memory, 0x5000, STACK, &[0x5001, 0x6000, 0x6001, 0x6002]);
    }

    #[test]
    fn the_caller_of_a_library_is_found_by_its_return_address() {
        let frame = STACK + 64;
        let memory = [
            // A number, a function's address, and a return address.
            (STACK, 7),
            (STACK + WORD_BYTES, 0x8000),
            (STACK + 2 * WORD_BYTES, 0x6000),
            (0x6000 - WORD_BYTES, CALL),
            (frame, 0),
            (frame + WORD_BYTES, 0x7000),
        ];
        check(&memory, LIBRARY, frame, &[LIBRARY + 1, 0x6000, 0x7000]);
        // Code of the program has a frame, so nothing lies between.
        check(&memory, 0x5000, frame, &[0x5001, 0x7000]);
    }

    #[test]
    fn a_saved_frame_pointer_is_found_if_the_register_has_another_value() {
        let frame = STACK + 128;
        let memory = [
            (STACK, 0x1234),
            (STACK + WORD_BYTES, frame),
            (STACK + 2 * WORD_BYTES, 3),
            (STACK + 3 * WORD_BYTES, 0x6000),
            (0x6000 - WORD_BYTES, CALL),
            (frame, 0),
            (frame + WORD_BYTES, 0x7000),
        ];
        check(&memory, LIBRARY, 42, &[LIBRARY + 1, 0x6000, 0x7000]);
        check(&memory[..2], LIBRARY, 42, &[LIBRARY + 1]);
    }
}
