//! The folders of uploaded files until they are validated: in a folder of this server among the temporary files. It is
//! deleted when the server stops; the next start deletes that of a killed server.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use parking_lot::Mutex;
use tempfile::TempDir;

/// The prefix of the names of such folders.
const PREFIX: &str = "lineside-upload-";
/// A file in the folder that is locked for as long as the server runs.
const LOCK: &str = "lock";
/// The name of an uploaded file in its own folder.
pub(super) const FILE: &str = "brought";

/// A folder of this server, deleted on drop.
#[derive(Debug)]
pub(super) struct LockedServerFolder {
    folder: TempDir,
    /// The system releases the lock however the server ends.
    _lock: File,
}

impl LockedServerFolder {
    /// Creates a folder among the temporary files.
    ///
    /// # Errors
    /// Returns an error if the disk is full.
    pub(super) fn create_in_temp_dir() -> io::Result<LockedServerFolder> {
        LockedServerFolder::create_in(&std::env::temp_dir())
    }

    fn create_in(temporary: &Path) -> io::Result<LockedServerFolder> {
        let folder = private_tempdir_builder(PREFIX).tempdir_in(temporary)?;
        // The lock file gets its name only once it is locked: other servers delete a folder with an unlocked lock file.
        let (unlocked, path) = (folder.path().join("lock.part"), folder.path().join(LOCK));
        let lock = File::create_new(&unlocked)?;
        lock.try_lock()?;
        fs::rename(unlocked, path)?;
        Ok(LockedServerFolder { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Deletes the folder.
    ///
    /// # Errors
    /// Returns an error if something remains, for example because a killed program was still writing. The call may be
    /// repeated.
    pub(super) fn delete(&self) -> io::Result<()> {
        delete_folder_lock_last(self.path())
    }
}

/// Deletes a folder. The lock file goes last, so that the next start finds a folder that could not be deleted.
fn delete_folder_lock_last(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            ignore_not_found(fs::remove_dir_all(entry.path()))?;
        }
    }
    ignore_not_found(fs::remove_dir_all(folder))
}

/// Ignores a missing file: another process may have deleted it.
fn ignore_not_found(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

/// The folders of uploaded files.
#[derive(Debug, Default)]
pub(super) struct UploadFolderRoot(Mutex<UploadFolderState>);

#[derive(Debug, Default)]
enum UploadFolderState {
    /// Nothing was uploaded yet.
    #[default]
    Unused,
    /// The parent folder exists.
    In(LockedServerFolder),
    /// The server stops.
    Closed,
}

impl UploadFolderRoot {
    /// Creates a folder for an upload and the empty file in it.
    ///
    /// # Errors
    /// Returns an error if the disk is full, or the server stops.
    pub(super) fn create_upload_folder(&self) -> io::Result<(TempDir, File)> {
        let mut state = self.0.lock();
        // A cleanup of temporary files may have deleted the folder meanwhile.
        let is_present = matches!(&*state, UploadFolderState::In(own) if own.path().is_dir());
        if !is_present && !matches!(*state, UploadFolderState::Closed) {
            *state = UploadFolderState::In(LockedServerFolder::create_in_temp_dir()?);
        }
        let UploadFolderState::In(own) = &*state else {
            return Err(io::Error::other("the server is stopping"));
        };
        let folder = private_tempdir_builder("").tempdir_in(own.path())?;
        let file = File::create_new(folder.path().join(FILE))?;
        Ok((folder, file))
    }

    /// Deletes all folders, and creates none from then on.
    ///
    /// # Errors
    /// Returns the errors of [`LockedServerFolder::delete`].
    pub(super) fn delete_all_and_close(&self) -> io::Result<()> {
        let mut state = self.0.lock();
        if let UploadFolderState::In(own) = &*state {
            own.delete()?;
        }
        *state = UploadFolderState::Closed;
        Ok(())
    }
}

/// Returns a builder of folders that other users cannot read.
fn private_tempdir_builder(prefix: &str) -> tempfile::Builder<'_, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).permissions(Permissions::from_mode(0o700));
    builder
}

/// Deletes the folders that earlier servers of this user left when they were killed.
pub fn delete_orphaned_folders() {
    let temporary = std::env::temp_dir();
    if let Err(error) = delete_orphaned_folders_in(&temporary) {
        let temporary = temporary.display();
        tracing::warn!(%error, "{temporary} may still have uploaded files of an earlier server");
    }
}

fn delete_orphaned_folders_in(temporary: &Path) -> io::Result<()> {
    // A new folder shows the effective user id.
    let user =
        private_tempdir_builder(PREFIX).tempdir_in(temporary)?.path().symlink_metadata()?.uid();
    for entry in fs::read_dir(temporary)?.flatten() {
        let has_prefix = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if !has_prefix {
            continue;
        }
        // `metadata` does not follow links.
        let is_own = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == user);
        let path = entry.path();
        if is_own
            && is_owner_gone(&path)
            && let Err(error) = delete_folder_lock_last(&path)
        {
            tracing::warn!(%error, "{} of an earlier server could not be deleted", path.display());
        }
    }
    Ok(())
}

/// Returns true if the server that created the folder is gone. A folder without a lock file is just being created.
fn is_owner_gone(folder: &Path) -> bool {
    File::open(folder.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_earlier_servers_are_deleted() {
        let temporary = tempfile::tempdir().unwrap();
        let at = |name: &str| temporary.path().join(name);
        let own = LockedServerFolder::create_in(temporary.path()).unwrap();
        fs::create_dir_all(at("lineside-upload-new")).unwrap();
        fs::create_dir_all(at("elsewhere")).unwrap();
        fs::write(at("elsewhere/lock"), "").unwrap();
        fs::write(at("lineside-upload-file"), "").unwrap();
        std::os::unix::fs::symlink(at("elsewhere"), at("lineside-upload-link")).unwrap();
        delete_orphaned_folders_in(temporary.path()).unwrap();
        let temporary_names =
            ["lineside-upload-new", "lineside-upload-file", "lineside-upload-link"];
        assert!(own.path().is_dir() && temporary_names.iter().all(|name| at(name).exists()));
        // Simulates a killed process.
        let LockedServerFolder { folder, _lock: lock } = own;
        let left = folder.keep();
        fs::create_dir(left.join("room")).unwrap();
        fs::write(left.join("room").join(FILE), "a schedule").unwrap();
        drop(lock);
        delete_orphaned_folders_in(temporary.path()).unwrap();
        assert!(!left.exists() && temporary_names.iter().all(|name| at(name).exists()));
        assert!(at("elsewhere/lock").is_file());
    }

    #[test]
    fn folders_are_private_and_deleted_when_closed() {
        let folders = UploadFolderRoot::default();
        let (folder, _) = folders.create_upload_folder().unwrap();
        let (other, _) = folders.create_upload_folder().unwrap();
        assert_eq!(folder.path().parent(), other.path().parent());
        let own = folder.path().parent().unwrap();
        assert_eq!(fs::metadata(own).unwrap().permissions().mode() & 0o777, 0o700);
        folders.delete_all_and_close().unwrap();
        assert!(!own.exists() && folders.create_upload_folder().is_err());
        folders.delete_all_and_close().unwrap();
    }

    #[test]
    fn a_deleted_folder_is_created_again() {
        let folders = UploadFolderRoot::default();
        let (folder, _) = folders.create_upload_folder().unwrap();
        fs::remove_dir_all(folder.path().parent().unwrap()).unwrap();
        assert!(folders.create_upload_folder().is_ok());
    }
}
