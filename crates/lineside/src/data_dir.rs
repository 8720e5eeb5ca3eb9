//! The one folder that a server writes to. A second server in it would lose the first one's data, so
//! it is claimed for the life of the process.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use anyhow::{Context as _, bail};

/// The file whose lock is the claim.
const LOCK_FILE: &str = "lineside.lock";

/// A data folder that is ours until this is dropped, or the process ends in whatever way.
#[derive(Debug)]
pub(crate) struct Claim {
    _lock: File,
}

impl Claim {
    /// Makes the folder if it is absent, and claims it.
    ///
    /// # Errors
    /// If it cannot be written to, or another server has it.
    pub(crate) fn take(folder: &Path) -> anyhow::Result<Self> {
        let shown = folder.display();
        fs::create_dir_all(folder).with_context(|| format!("cannot create data folder {shown}"))?;
        let lock = File::create(folder.join(LOCK_FILE))
            .with_context(|| format!("cannot write to data folder {shown}"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                bail!("data folder {shown} belongs to another server that is running")
            }
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock data folder {shown}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_folder_has_one_server_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("data");
        let first = Claim::take(&folder).unwrap();
        let refused = Claim::take(&folder).unwrap_err().to_string();
        assert!(refused.contains("another server"), "{refused}");
        drop(first);
        Claim::take(&folder).unwrap();
    }
}
