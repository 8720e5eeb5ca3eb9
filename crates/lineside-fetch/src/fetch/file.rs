//! Fetching a file from disk.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use lineside_sync::UnixMillis;

use super::{FetchOutcome, FetchedBody, run_blocking};
use crate::fetch_failure::FetchError;

/// Reads a file again when its size or modification time has changed.
#[derive(Debug)]
pub(crate) struct FileFetcher {
    path: PathBuf,
    pub(super) max: u64,
    seen: Option<FileStamp>,
}

/// Size and modification time, which distinguish versions of a file without reading it.
pub(super) type FileStamp = (u64, Option<SystemTime>);

impl FileFetcher {
    pub(super) fn new(path: PathBuf, max: u64) -> FileFetcher {
        FileFetcher { path, max, seen: None }
    }

    pub(super) fn forget_fetched_version(&mut self) {
        self.seen = None;
    }

    pub(super) async fn fetch_file(&mut self) -> Result<FetchOutcome, FetchError> {
        let (path, max, seen) = (self.path.clone(), self.max, self.seen);
        let (fetched, stamp) = run_blocking(move || {
            let stamp = read_file_stamp(&path)?;
            if seen == Some(stamp) {
                return Ok((FetchOutcome::NotModified, stamp));
            }
            let body = FetchedBody {
                bytes: read_file(&path, max)?,
                content_type: None,
                last_modified: stamp.1.and_then(to_unix_millis),
                file_name: path.file_name().and_then(|name| name.to_str()).map(str::to_owned),
                status: None,
            };
            Ok((FetchOutcome::Body(body), stamp))
        })
        .await?;
        self.seen = Some(stamp);
        Ok(fetched)
    }
}

pub(super) fn read_file_stamp(path: &Path) -> Result<FileStamp, FetchError> {
    let metadata =
        fs::metadata(path).map_err(|error| FetchError::from_io(&display_path(path), &error))?;
    Ok((metadata.len(), metadata.modified().ok()))
}

/// Reads a whole file, unless it is too large.
pub(super) fn read_file(path: &Path, max: u64) -> Result<Bytes, FetchError> {
    let fail = |error: std::io::Error| FetchError::from_io(&display_path(path), &error);
    let file = File::open(path).map_err(fail)?;
    // Reading one byte more than allowed distinguishes a file at the limit from a larger one, even while it grows.
    let size_max = max.saturating_add(1);
    // Reserve the whole file and the byte that finds its end: a growing buffer is copied repeatedly, into memory that
    // the system has to clear first.
    let size = file.metadata().map_err(fail)?.len();
    if size > max {
        return Err(FetchError::body_too_large(max));
    }
    let size = size.saturating_add(1);
    let mut bytes = Vec::new();
    let n_bytes_left = usize::try_from(size)
        .ok()
        .and_then(|n_bytes_left| bytes.try_reserve_exact(n_bytes_left).ok());
    n_bytes_left.ok_or_else(|| fail(io::ErrorKind::OutOfMemory.into()))?;
    file.take(size_max).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > max {
        return Err(FetchError::body_too_large(max));
    }
    Ok(bytes.into())
}

pub(super) fn to_unix_millis(time: SystemTime) -> Option<UnixMillis> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(UnixMillis)
}

pub(super) fn display_path(path: &Path) -> String {
    path.display().to_string()
}
