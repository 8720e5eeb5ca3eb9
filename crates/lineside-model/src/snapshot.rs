//! Snapshots: the last good bytes of a feed with their metadata.

use std::io::{self, Read, Seek};

use bytes::Bytes;
use lineside_formats::Format;
use lineside_sync::UnixMillis;
use smol_str::{SmolStr, format_smolstr};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// One version of a feed's bytes.
#[derive(Clone, Debug)]
pub struct FeedBodySnapshot {
    /// The body as the source sent it, decompressed.
    pub bytes: Bytes,
    /// Hash of the bytes.
    pub hash: u128,
    /// The format of the bytes.
    pub format: Format,
    /// The source's media type, else the default one of the format.
    pub content_type: String,
    /// The file name for downloads.
    pub file_name: String,
    /// The time at which these bytes were first fetched.
    pub fetched_at: UnixMillis,
    /// The time at which the source says the bytes changed, if plausible: see `changed_at`.
    pub last_modified: Option<UnixMillis>,
}

impl FeedBodySnapshot {
    /// Returns the hash by which bodies are compared.
    pub fn hash_body(bytes: &[u8]) -> u128 {
        xxh3_128(bytes)
    }

    /// Hashes a body from the beginning of a reader.
    pub fn hash_body_from_reader(reader: &mut (impl Read + Seek)) -> io::Result<u128> {
        let mut hasher = Xxh3::new();
        let mut buffer = vec![0; 64 << 10];
        reader.rewind()?;
        loop {
            match reader.read(&mut buffer)? {
                0 => break,
                n => hasher.update(&buffer[..n]),
            }
        }
        reader.rewind()?;
        Ok(hasher.digest128())
    }

    /// Returns a strong entity tag, in quotes.
    pub fn etag(&self) -> SmolStr {
        format_smolstr!("\"{:032x}\"", self.hash)
    }

    /// Returns the modification time of bytes received `now`, given the source's `stated_time`; `None` means the time
    /// of receipt.
    ///
    /// A client that requests by date alone would get `304 Not Modified` unless the new bytes have a later date than
    /// those `before`, in whole seconds of HTTP: so a date that stays the same, decreases or is in the future is
    /// ignored.
    pub fn compute_modification_time(
        stated_time: Option<UnixMillis>,
        now: UnixMillis,
        before: Option<&FeedBodySnapshot>,
    ) -> Option<UnixMillis> {
        let stated_time = stated_time.filter(|at| *at <= now);
        let Some(before) = before else { return stated_time };
        let earliest = UnixMillis::from_seconds(before.modified_at().unix_seconds() + 1);
        let stated_time = stated_time.filter(|at| *at >= earliest);
        // The clock went back, or there are two versions within a second.
        stated_time.or((now < earliest).then_some(earliest))
    }

    /// Returns the time at which the content changed: by the source, else when it was first fetched.
    pub fn modified_at(&self) -> UnixMillis {
        self.last_modified.unwrap_or(self.fetched_at)
    }
}

/// Returns a file name for a feed whose URL has none.
pub fn default_download_file_name(feed: &str, format: Format, body: &[u8]) -> String {
    match format.file_extension(body) {
        Some(extension) => format!("{feed}.{extension}"),
        None => feed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> UnixMillis {
        UnixMillis::from_seconds(seconds)
    }

    fn snapshot(fetched_at: i64, last_modified: Option<i64>) -> FeedBodySnapshot {
        FeedBodySnapshot {
            bytes: Bytes::new(),
            hash: 0,
            format: Format::Raw,
            content_type: String::new(),
            file_name: String::new(),
            fetched_at: at(fetched_at),
            last_modified: last_modified.map(at),
        }
    }

    #[track_caller]
    fn check(
        stated_time: Option<i64>,
        now: i64,
        before: Option<&FeedBodySnapshot>,
        expect: Option<i64>,
    ) {
        let changed =
            FeedBodySnapshot::compute_modification_time(stated_time.map(at), at(now), before);
        assert_eq!(changed, expect.map(at));
        let (changed, before) =
            (changed.unwrap_or(at(now)), before.map(FeedBodySnapshot::modified_at));
        assert!(before.is_none_or(|before| before.unix_seconds() < changed.unix_seconds()));
    }

    #[test]
    fn bytes_and_readers_have_the_same_hash() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
        for part in [&bytes[..0], &bytes[..100], &bytes] {
            let read = FeedBodySnapshot::hash_body_from_reader(&mut io::Cursor::new(part)).unwrap();
            assert_eq!(read, FeedBodySnapshot::hash_body(part));
        }
    }

    #[test]
    fn changed_bytes_have_a_later_date() {
        check(None, 100, None, None);
        check(Some(50), 100, None, Some(50));
        check(Some(150), 100, None, None);
        let before = snapshot(60, Some(50));
        check(Some(51), 100, Some(&before), Some(51));
        check(Some(50), 100, Some(&before), None);
        check(Some(49), 100, Some(&before), None);
        check(Some(101), 100, Some(&before), None);
        check(None, 100, Some(&before), None);
        let before = snapshot(100, None);
        check(Some(99), 100, Some(&before), Some(101));
        check(None, 40, Some(&before), Some(101));
    }
}
