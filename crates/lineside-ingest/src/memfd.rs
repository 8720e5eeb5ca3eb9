//! Large bodies in memory files, which the kernel sends to a socket without copying them.
//!
//! A full file is sealed: it can be neither written nor resized any more, so its mapping is ordinary read-only memory.
//! It is on no disk and is freed with its last reader.
#![expect(unsafe_code, reason = "maps a sealed file into memory")]

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

/// Smaller bodies are copied as fast as they are sent from a file.
const BYTES_MIN: usize = 64 << 10;

/// The default maximum number of files.
const USUALLY_ALLOWED: usize = 64;

/// The maximum and current numbers of files: each has a file descriptor.
static ALLOWED: AtomicUsize = AtomicUsize::new(USUALLY_ALLOWED);
static HELD: AtomicUsize = AtomicUsize::new(0);

/// Bytes in a memory file.
#[derive(Debug)]
pub struct MemoryFile {
    /// Declared before `_place`, so that the slot is released last.
    map: memmap2::Mmap,
    file: File,
    _place: MemoryFileSlot,
}

impl MemoryFile {
    /// Copies the bytes into a file. `None` for few bytes, if the maximum number of files exists, and on systems
    /// without memory files.
    pub fn new(bytes: &[u8]) -> Option<Arc<Self>> {
        if bytes.len() < BYTES_MIN {
            return None;
        }
        let place = MemoryFileSlot::acquire_slot()?;
        match Self::create_filled(bytes, place) {
            Ok(sealed) => Some(Arc::new(sealed)),
            Err(error) => {
                tracing::debug!(%error, "no memory file could be created: the bytes stay on the heap");
                None
            }
        }
    }

    /// Sets the maximum number of files in the process: each has a file descriptor.
    pub fn set_max_files(n: usize) {
        ALLOWED.store(n, Relaxed);
    }

    /// Returns all bytes, which keep the file alive.
    pub fn shared_bytes(self: &Arc<Self>) -> Bytes {
        Bytes::from_owner(MemoryFileBytes(Arc::clone(self)))
    }

    /// Returns the number of bytes.
    pub fn byte_length(&self) -> usize {
        self.map.len()
    }

    /// Returns the file from which a socket sends the bytes.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the offset of `part` in the file, if it is a slice of the mapping.
    pub fn find_offset(&self, part: &[u8]) -> Option<usize> {
        let own = self.map.as_ptr_range();
        let part = part.as_ptr_range();
        let is_own = own.start <= part.start && part.end <= own.end;
        is_own.then(|| part.start.addr() - own.start.addr())
    }

    fn create_filled(bytes: &[u8], place: MemoryFileSlot) -> io::Result<Self> {
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let mut file = File::from(memfd_create(c"lineside", flags)?);
        file.write_all(bytes)?;
        let seals = SealFlag::F_SEAL_SEAL
            | SealFlag::F_SEAL_SHRINK
            | SealFlag::F_SEAL_GROW
            | SealFlag::F_SEAL_WRITE;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        // SAFETY: a mapping must not change while it is read. The seals are permanent and prevent writes and resizing.
        let map = unsafe { memmap2::MmapOptions::new().populate().map(&file)? };
        Ok(Self { map, file, _place: place })
    }
}

/// Keeps a file alive while its bytes are read.
struct MemoryFileBytes(Arc<MemoryFile>);

impl AsRef<[u8]> for MemoryFileBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0.map
    }
}

/// A reserved slot for a file.
#[derive(Debug)]
struct MemoryFileSlot;

impl MemoryFileSlot {
    fn acquire_slot() -> Option<Self> {
        let allowed = ALLOWED.load(Relaxed);
        let take = |held: usize| (held < allowed).then_some(held + 1);
        HELD.fetch_update(Relaxed, Relaxed, take).ok().map(|_| Self)
    }
}

impl Drop for MemoryFileSlot {
    fn drop(&mut self) {
        HELD.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    /// Slots belong to the process, which the tests share.
    static ALONE: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

    #[test]
    fn a_memory_file_has_the_given_bytes_and_is_sealed() {
        let _alone = ALONE.lock();
        let bytes: Vec<u8> = (0..BYTES_MIN + 1).map(|i| (i % 251) as u8).collect();
        let sealed = MemoryFile::new(&bytes).unwrap();
        let whole = sealed.shared_bytes();
        assert_eq!(whole, bytes);
        assert!(sealed.file().write_all_at(b"x", 0).is_err());
        assert!(sealed.file().set_len(0).is_err());
        assert_eq!(sealed.find_offset(&whole[1_000..2_000]), Some(1_000));
        assert_eq!(sealed.find_offset(&bytes), None);
        drop(sealed);
        assert_eq!(whole, bytes);
    }

    #[test]
    fn memory_files_are_limited_and_not_used_for_small_bodies() {
        let _alone = ALONE.lock();
        let bytes = vec![7; BYTES_MIN];
        assert!(MemoryFile::new(&bytes[1..]).is_none());
        let held = HELD.load(Relaxed);
        MemoryFile::set_max_files(held + 2);
        let mut kept: Vec<_> = (0..3).map(|_| MemoryFile::new(&bytes)).collect();
        assert_eq!(kept.iter().flatten().count(), 2);
        let still_read = kept.swap_remove(0).unwrap().shared_bytes();
        kept.clear();
        assert_eq!(HELD.load(Relaxed), held + 1);
        drop(still_read);
        assert_eq!(HELD.load(Relaxed), held);
        MemoryFile::set_max_files(USUALLY_ALLOWED);
    }
}
