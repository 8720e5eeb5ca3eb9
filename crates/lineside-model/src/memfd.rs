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
const FILES_MAX_DEFAULT: usize = 64;

/// The maximum and current numbers of files: each has a file descriptor.
static FILES_MAX: AtomicUsize = AtomicUsize::new(FILES_MAX_DEFAULT);
static OPEN_FILES: AtomicUsize = AtomicUsize::new(0);

/// Bytes in a memory file.
#[derive(Debug)]
pub struct MemoryFile {
    /// Declared before `_place`, so that the slot is released last.
    map: memmap2::Mmap,
    file: File,
    _slot: MemoryFileSlot,
}

impl MemoryFile {
    /// Copies the bytes into a file. `None` for few bytes, if the maximum number of files exists, and on systems
    /// without memory files.
    pub fn new(bytes: &[u8]) -> Option<Arc<Self>> {
        if bytes.len() < BYTES_MIN {
            return None;
        }
        let slot = MemoryFileSlot::try_reserve_file_slot()?;
        match Self::create_sealed(bytes, slot) {
            Ok(memory_file) => Some(Arc::new(memory_file)),
            Err(error) => {
                tracing::debug!(%error, "no memory file could be created: the bytes stay on the heap");
                None
            }
        }
    }

    /// Sets the maximum number of files in the process: each has a file descriptor.
    pub fn set_max_open_files(n: usize) {
        FILES_MAX.store(n, Relaxed);
    }

    /// Returns all bytes, which keep the file alive.
    pub fn shared_bytes(self: &Arc<Self>) -> Bytes {
        Bytes::from_owner(MemoryFileOwner(Arc::clone(self)))
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
    pub fn offset_of_slice(&self, part: &[u8]) -> Option<usize> {
        let own = self.map.as_ptr_range();
        let part = part.as_ptr_range();
        let is_own = own.start <= part.start && part.end <= own.end;
        is_own.then(|| part.start.addr() - own.start.addr())
    }

    fn create_sealed(bytes: &[u8], slot: MemoryFileSlot) -> io::Result<Self> {
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
        Ok(Self { map, file, _slot: slot })
    }
}

/// Keeps a file alive while its bytes are read.
struct MemoryFileOwner(Arc<MemoryFile>);

impl AsRef<[u8]> for MemoryFileOwner {
    fn as_ref(&self) -> &[u8] {
        &self.0.map
    }
}

/// A reserved slot for a file.
#[derive(Debug)]
struct MemoryFileSlot;

impl MemoryFileSlot {
    fn try_reserve_file_slot() -> Option<Self> {
        let allowed = FILES_MAX.load(Relaxed);
        let take = |n_open: usize| (n_open < allowed).then_some(n_open + 1);
        OPEN_FILES.fetch_update(Relaxed, Relaxed, take).ok().map(|_| Self)
    }
}

impl Drop for MemoryFileSlot {
    fn drop(&mut self) {
        OPEN_FILES.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    /// Slots belong to the process, which the tests share.
    static TEST_LOCK: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

    #[test]
    fn a_memory_file_has_the_given_bytes_and_is_sealed() {
        let _alone = TEST_LOCK.lock();
        let bytes: Vec<u8> = (0..BYTES_MIN + 1).map(|i| (i % 251) as u8).collect();
        let memory_file = MemoryFile::new(&bytes).unwrap();
        let whole = memory_file.shared_bytes();
        assert_eq!(whole, bytes);
        assert!(memory_file.file().write_all_at(b"x", 0).is_err());
        assert!(memory_file.file().set_len(0).is_err());
        assert_eq!(memory_file.offset_of_slice(&whole[1_000..2_000]), Some(1_000));
        assert_eq!(memory_file.offset_of_slice(&bytes), None);
        drop(memory_file);
        assert_eq!(whole, bytes);
    }

    #[test]
    fn memory_files_are_limited_and_not_used_for_small_bodies() {
        let _alone = TEST_LOCK.lock();
        let bytes = vec![7; BYTES_MIN];
        assert!(MemoryFile::new(&bytes[1..]).is_none());
        let n_open = OPEN_FILES.load(Relaxed);
        MemoryFile::set_max_open_files(n_open + 2);
        let mut files: Vec<_> = (0..3).map(|_| MemoryFile::new(&bytes)).collect();
        assert_eq!(files.iter().flatten().count(), 2);
        let still_read = files.swap_remove(0).unwrap().shared_bytes();
        files.clear();
        assert_eq!(OPEN_FILES.load(Relaxed), n_open + 1);
        drop(still_read);
        assert_eq!(OPEN_FILES.load(Relaxed), n_open);
        MemoryFile::set_max_open_files(FILES_MAX_DEFAULT);
    }
}
