//! Detects a change of a file without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

/// The identity, size and modification time of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamp {
    /// The inode, size and modification time; `None` if the file does not exist.
    seen: Option<(u64, u64, Option<SystemTime>)>,
}

impl FileStamp {
    /// Returns the current stamp of the file at `path`.
    pub fn for_path(path: &Path) -> Self {
        let stamp = |it: Metadata| (it.ino(), it.len(), it.modified().ok());
        Self { seen: std::fs::metadata(path).ok().map(stamp) }
    }
}
