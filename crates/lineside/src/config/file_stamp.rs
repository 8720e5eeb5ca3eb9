//! What tells one version of a file from the next without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

/// How a file looked from outside at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamp {
    /// Which file it is, its size and when it was written; none where there is no file.
    seen: Option<(u64, u64, Option<SystemTime>)>,
}

impl FileStamp {
    /// How the file at `path` looks now.
    pub(crate) fn for_path(path: &Path) -> Self {
        let look = |it: Metadata| (it.ino(), it.len(), it.modified().ok());
        Self { seen: std::fs::metadata(path).ok().map(look) }
    }
}
