//! The outer format of the handoff file: a head, frames with kind and length, and a digest of everything before it at
//! the end.
//!
//! A reader verifies the digest first, so that nothing of an incomplete file is used.

use std::{
    fmt,
    io::{self, Read, Seek, SeekFrom, Write},
};

use bytes::Bytes;
use xxhash_rust::xxh3::Xxh3;

use super::HandoffError;
use crate::limits::HANDOFF_BYTES_MAX;

const MAGIC: [u8; 8] = *b"LINEKEPT";
/// The version of the file format. Other versions are rejected.
const VERSION: u32 = 1;
const HEAD_BYTES: u64 = 12;
/// Bytes of a frame's kind and length.
const FRAME_HEAD_BYTES: usize = 9;
/// The kind of the last frame, which contains the digest.
const END: u8 = 0;
const DIGEST_BYTES: usize = 16;
/// Bytes verified at a time.
const CHECK_BYTES: usize = 256 << 10;

pub(super) struct FrameWriter<W> {
    inner: W,
    digest: Box<Xxh3>,
    written: u64,
}

impl<W: Write> FrameWriter<W> {
    pub(super) fn write_file_header(inner: W) -> io::Result<Self> {
        let mut writer = Self { inner, digest: Box::new(Xxh3::new()), written: 0 };
        writer.write_and_hash(&MAGIC)?;
        writer.write_and_hash(&VERSION.to_le_bytes())?;
        Ok(writer)
    }

    /// Writes a frame; `kind` must not be 0.
    pub(super) fn write_frame(&mut self, kind: u8, content: &[u8]) -> io::Result<()> {
        debug_assert_ne!(kind, END, "finish_file writes the end frame");
        let more = (FRAME_HEAD_BYTES + content.len()) as u64;
        if self.written.saturating_add(more) > HANDOFF_BYTES_MAX {
            let detail = format!("the file would exceed {HANDOFF_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, detail));
        }
        self.write_frame_head(kind, content.len())?;
        self.write_and_hash(content)
    }

    /// Writes the digest as the last frame.
    pub(super) fn write_digest_and_flush(mut self) -> io::Result<W> {
        self.write_frame_head(END, DIGEST_BYTES)?;
        let digest = self.digest.digest128();
        self.write_and_hash(&digest.to_le_bytes())?;
        self.inner.flush()?;
        Ok(self.inner)
    }

    fn write_frame_head(&mut self, kind: u8, length: usize) -> io::Result<()> {
        self.write_and_hash(&[kind])?;
        self.write_and_hash(&(length as u64).to_le_bytes())
    }

    fn write_and_hash(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.digest.update(bytes);
        self.written += bytes.len() as u64;
        self.inner.write_all(bytes)
    }
}

impl<W> fmt::Debug for FrameWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameWriter").field("written", &self.written).finish_non_exhaustive()
    }
}

/// Reads the frames of a verified file.
#[derive(Debug)]
pub(super) struct FrameReader<R> {
    inner: R,
    remaining: u64,
}

impl<R: Read + Seek> FrameReader<R> {
    /// Verifies the whole file and returns to its first frame.
    pub(super) fn open_verified(mut inner: R) -> Result<Self, HandoffError> {
        let length = inner.seek(SeekFrom::End(0))?;
        if length > HANDOFF_BYTES_MAX {
            return Err(HandoffError::TooLarge);
        }
        let end = (FRAME_HEAD_BYTES + DIGEST_BYTES) as u64;
        let Some(left) = length.checked_sub(HEAD_BYTES + end) else {
            return Err(HandoffError::Damaged);
        };
        inner.seek(SeekFrom::Start(0))?;
        let mut digest = Xxh3::new();
        let mut head = [0; HEAD_BYTES as usize];
        inner.read_exact(&mut head)?;
        let (magic, version) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(HandoffError::Foreign);
        }
        if version != VERSION.to_le_bytes() {
            return Err(HandoffError::OtherVersion);
        }
        digest.update(&head);
        let mut unchecked = length - HEAD_BYTES - DIGEST_BYTES as u64;
        let mut some = vec![0; CHECK_BYTES];
        while unchecked > 0 {
            let n = usize::try_from(unchecked).unwrap_or(usize::MAX).min(some.len());
            inner.read_exact(&mut some[..n])?;
            digest.update(&some[..n]);
            unchecked -= n as u64;
        }
        let mut stored_digest = [0; DIGEST_BYTES];
        inner.read_exact(&mut stored_digest)?;
        if stored_digest != digest.digest128().to_le_bytes() {
            return Err(HandoffError::Damaged);
        }
        inner.seek(SeekFrom::Start(HEAD_BYTES))?;
        Ok(Self { inner, remaining: left })
    }

    /// Returns the next frame's kind and content; `None` at the end.
    pub(super) fn next_frame(&mut self) -> Result<Option<(u8, Bytes)>, HandoffError> {
        if self.remaining == 0 {
            return Ok(None);
        }
        let mut head = [0; FRAME_HEAD_BYTES];
        self.inner.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let length = u64::from_le_bytes(length);
        let used =
            length.checked_add(FRAME_HEAD_BYTES as u64).filter(|used| *used <= self.remaining);
        let (Some(used), Ok(length)) = (used, usize::try_from(length)) else {
            return Err(HandoffError::Damaged);
        };
        self.remaining -= used;
        let mut content = vec![0; length];
        self.inner.read_exact(&mut content)?;
        Ok(Some((kind, content.into())))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    type Frames = Vec<(u8, Vec<u8>)>;

    fn written(frames: &Frames) -> Vec<u8> {
        let mut writer = FrameWriter::write_file_header(Vec::new()).unwrap();
        for (kind, content) in frames {
            writer.write_frame(*kind, content).unwrap();
        }
        writer.write_digest_and_flush().unwrap()
    }

    fn read(file: &[u8]) -> Result<Frames, HandoffError> {
        let mut reader = FrameReader::open_verified(Cursor::new(file))?;
        let mut frames = Vec::new();
        while let Some((kind, content)) = reader.next_frame()? {
            frames.push((kind, content.to_vec()));
        }
        Ok(frames)
    }

    fn frames() -> impl Strategy<Value = Frames> {
        let content = proptest::collection::vec(any::<u8>(), 0..200);
        proptest::collection::vec((1..=u8::MAX, content), 0..8)
    }

    proptest! {
        #[test]
        fn frames_round_trip(frames in frames()) {
            prop_assert_eq!(read(&written(&frames)).unwrap(), frames);
        }

        #[test]
        fn a_truncated_file_is_rejected(frames in frames(), at: prop::sample::Index) {
            let file = written(&frames);
            prop_assert!(read(&file[..at.index(file.len())]).is_err());
        }

        #[test]
        fn a_file_with_a_changed_byte_is_rejected(
            frames in frames(), at: prop::sample::Index, flip in 1..=u8::MAX
        ) {
            let mut file = written(&frames);
            let at = at.index(file.len());
            file[at] ^= flip;
            prop_assert!(read(&file).is_err());
        }

        #[test]
        fn a_file_with_bytes_after_its_end_is_rejected(frames in frames(), more in 1..50_usize) {
            let mut file = written(&frames);
            file.extend(vec![0; more]);
            prop_assert!(read(&file).is_err());
        }

        #[test]
        fn arbitrary_bytes_are_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(read(&bytes).is_err());
        }
    }

    #[test]
    fn each_invalid_file_has_its_own_error() {
        let file = written(&vec![(1, b"content".to_vec())]);
        let mut other = file.clone();
        other[MAGIC.len()] += 1;
        assert!(matches!(read(&other), Err(HandoffError::OtherVersion)));
        assert!(matches!(read(&[b'x'; 60]), Err(HandoffError::Foreign)));
        assert!(matches!(read(&file[..file.len() - 1]), Err(HandoffError::Damaged)));
        assert!(matches!(read(b""), Err(HandoffError::Damaged)));
    }

    /// A file of any length without content.
    struct Huge(u64);

    impl Read for Huge {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            unreachable!("a rejected frame is not read")
        }
    }

    impl Seek for Huge {
        fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
            Ok(self.0)
        }
    }

    #[test]
    fn a_file_over_the_size_limit_is_not_read() {
        assert!(matches!(
            FrameReader::open_verified(Huge(HANDOFF_BYTES_MAX + 1)),
            Err(HandoffError::TooLarge)
        ));
    }
}
