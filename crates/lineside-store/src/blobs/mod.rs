//! A folder of bodies, each named by its SHA-256: written completely or not at all, and never changed.
//!
//! `ab/cdef…` is the blob whose hash begins with `ab`. This module writes, reads and deletes blobs; references to them
//! are stored elsewhere.

pub(crate) mod snapshot_saver;

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use bytes::Bytes;

use crate::{blob_hash::BlobHash, limits::BLOB_BYTES_MAX};

/// Only the owner has access, as to all files of the data folder.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
/// The folder of unfinished blobs.
const UNFINISHED: &str = "tmp";

#[derive(Debug)]
pub(crate) struct BlobFolder {
    folder: PathBuf,
    n_begun: AtomicU64,
    /// True if the folder's own name has been synced to the disk.
    is_named: AtomicBool,
    /// Total size of all blobs in bytes, as far as known.
    bytes: AtomicU64,
}

/// A blob that is not at its final path yet.
#[derive(Debug)]
pub(crate) struct TemporaryBlob {
    pub(crate) hash: BlobHash,
    size: u64,
    /// The temporary file; `None` if the blob already exists.
    file: Option<(PathBuf, File)>,
}

/// The reason why a blob cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BlobReadError {
    #[error("the file cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("the file is damaged: its hash does not match its name")]
    Damaged,
}

impl BlobFolder {
    /// Opens the folder and deletes unfinished blobs of an earlier process. The first blob creates the folder.
    pub(crate) fn open_and_delete_unfinished(folder: PathBuf) -> BlobFolder {
        // A failure is reported by the next write.
        let _ = fs::remove_dir_all(folder.join(UNFINISHED));
        BlobFolder {
            folder,
            n_begun: AtomicU64::new(0),
            is_named: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
        }
    }

    /// Renames the folder if it has blobs. Returns the new path.
    pub(crate) fn rename_folder_if_not_empty(folder: &Path) -> io::Result<Option<PathBuf>> {
        match BlobFolder::open_and_delete_unfinished(folder.to_owned()).list_blobs() {
            Ok(blobs) if blobs.is_empty() => return Ok(None),
            // A path that is not a folder has no blobs; the next write reports it.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
            listed => drop(listed?),
        }
        let names = (1_u64..).map(|n| {
            let mut name = folder.as_os_str().to_owned();
            name.push(format!("-{n}"));
            PathBuf::from(name)
        });
        for new_folder in names {
            if !fs::exists(&new_folder)? {
                fs::rename(folder, &new_folder)?;
                fsync_folder(folder.parent().unwrap_or(folder))?;
                return Ok(Some(new_folder));
            }
        }
        Ok(None)
    }

    /// Returns the total size of all blobs in bytes.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn blob_path(&self, hash: &BlobHash) -> PathBuf {
        let digits = hash.to_string();
        let (first, rest) = digits.split_at(2);
        self.folder.join(first).join(rest)
    }

    /// Writes the bytes with this hash to a temporary file, which is not synced yet.
    pub(crate) fn write_temporary_blob(
        &self,
        hash: BlobHash,
        bytes: &[u8],
    ) -> io::Result<TemporaryBlob> {
        let size = bytes.len() as u64;
        if fs::metadata(self.blob_path(&hash)).is_ok_and(|metadata| metadata.len() == size) {
            return Ok(TemporaryBlob { hash, size, file: None });
        }
        let folder = self.folder.join(UNFINISHED);
        create_private_folder(&folder)?;
        let number = self.n_begun.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(number.to_string());
        let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path)?;
        let mut unfinished = TemporaryBlob { hash, size, file: Some((path, file)) };
        match unfinished.file.as_mut().map_or(Ok(()), |(_, file)| file.write_all(bytes)) {
            Ok(()) => Ok(unfinished),
            Err(error) => {
                unfinished.delete_temporary_file();
                Err(error)
            }
        }
    }

    /// Syncs a blob and moves it to its final path. Its name is durable after
    /// [`fsync_blob_folders`](BlobFolder::sync_names).
    pub(crate) fn commit_temporary_blob(&self, unfinished: TemporaryBlob) -> io::Result<BlobHash> {
        let TemporaryBlob { hash, size, file } = unfinished;
        let Some((from, file)) = file else { return Ok(hash) };
        let to = self.blob_path(&hash);
        let placed = file.sync_all().and_then(|()| {
            create_private_folder(to.parent().unwrap_or(&self.folder))?;
            fs::rename(&from, &to)
        });
        if let Err(error) = placed {
            // A file that cannot be deleted now is deleted at the next start.
            let _ = fs::remove_file(&from);
            return Err(error);
        }
        self.bytes.fetch_add(size, Ordering::Relaxed);
        Ok(hash)
    }

    /// Syncs the folders of these blobs, so that their names are durable.
    pub(crate) fn fsync_blob_folders(
        &self,
        hashes: impl Iterator<Item = BlobHash>,
    ) -> io::Result<()> {
        let mut folders: Vec<PathBuf> =
            hashes.filter_map(|hash| Some(self.blob_path(&hash).parent()?.to_owned())).collect();
        folders.sort_unstable();
        folders.dedup();
        for folder in &folders {
            fsync_folder(folder)?;
        }
        if folders.is_empty() {
            return Ok(());
        }
        // The names of new subfolders and of the folder itself have to be durable, too.
        fsync_folder(&self.folder)?;
        if !self.is_named.load(Ordering::Relaxed) {
            fsync_folder(self.folder.parent().unwrap_or(&self.folder))?;
            self.is_named.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Reads a blob and verifies its hash.
    pub(crate) fn read_blob(&self, hash: &BlobHash) -> Result<Bytes, BlobReadError> {
        let file = File::open(self.blob_path(hash))?;
        let mut bytes = Vec::new();
        let size = file.metadata()?.len().min(BLOB_BYTES_MAX);
        bytes.reserve_exact(usize::try_from(size).unwrap_or(0));
        file.take(BLOB_BYTES_MAX).read_to_end(&mut bytes)?;
        if BlobHash::from_content(&bytes) == *hash {
            Ok(bytes.into())
        } else {
            Err(BlobReadError::Damaged)
        }
    }

    /// Deletes a blob.
    pub(crate) fn delete_blob(&self, hash: &BlobHash) -> io::Result<()> {
        let path = self.blob_path(hash);
        let size = fs::metadata(&path)?.len();
        fs::remove_file(&path)?;
        self.subtract_from_total_bytes(size);
        Ok(())
    }

    fn subtract_from_total_bytes(&self, size: u64) {
        let fewer = |bytes: u64| Some(bytes.saturating_sub(size));
        let _ = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
    }

    /// Lists all blobs with their sizes.
    pub(crate) fn list_blobs(&self) -> io::Result<Vec<(BlobHash, u64)>> {
        let mut all = Vec::new();
        let folders = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(all),
            folders => folders?,
        };
        for folder in folders {
            let folder = folder?;
            let name = folder.file_name();
            let Some(first) = name.to_str().filter(|name| name.len() == 2) else { continue };
            for file in fs::read_dir(folder.path())? {
                let file = file?;
                let rest = file.file_name();
                let hash =
                    rest.to_str().and_then(|rest| BlobHash::parse_hex(&format!("{first}{rest}")));
                if let (Some(hash), Ok(metadata)) = (hash, file.metadata()) {
                    all.push((hash, metadata.len()));
                }
            }
        }
        Ok(all)
    }

    /// Sets the total size of all blobs.
    pub(crate) fn set_total_bytes(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}

impl TemporaryBlob {
    /// Deletes the temporary file of an abandoned blob.
    pub(crate) fn delete_temporary_file(self) {
        if let Some((path, _)) = self.file {
            // A file that cannot be deleted now is deleted at the next start.
            let _ = fs::remove_file(path);
        }
    }
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)
}

fn fsync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn begin(blobs: &BlobFolder, text: &str) -> TemporaryBlob {
        blobs
            .write_temporary_blob(BlobHash::from_content(text.as_bytes()), text.as_bytes())
            .unwrap()
    }

    fn put(blobs: &BlobFolder, text: &str) -> BlobHash {
        let hash = blobs.commit_temporary_blob(begin(blobs, text)).unwrap();
        blobs.fsync_blob_folders([hash].into_iter()).unwrap();
        hash
    }

    #[test]
    fn a_blob_is_stored_under_its_hash_with_private_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = BlobFolder::open_and_delete_unfinished(folder.path().join("blobs"));
        let hash = put(&blobs, "abc");
        // The first test vector of FIPS 180-4.
        let expect = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), expect);
        assert_eq!(BlobHash::parse_hex(expect), Some(hash));
        let path = folder.path().join("blobs/ba").join(&expect[2..]);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let above = path.parent().unwrap();
        assert_eq!(fs::metadata(above).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(blobs.read_blob(&hash).unwrap(), "abc");
        assert_eq!((blobs.total_bytes(), blobs.list_blobs().unwrap()), (3, vec![(hash, 3)]));
        // An existing blob is not written again.
        assert!(begin(&blobs, "abc").file.is_none());
        blobs.delete_blob(&hash).unwrap();
        assert_eq!((blobs.total_bytes(), blobs.list_blobs().unwrap()), (0, vec![]));
    }

    #[test]
    fn a_damaged_blob_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = BlobFolder::open_and_delete_unfinished(folder.path().to_owned());
        let hash = put(&blobs, "abc");
        fs::write(blobs.blob_path(&hash), "abd").unwrap();
        assert!(matches!(blobs.read_blob(&hash), Err(BlobReadError::Damaged)));
        // A truncated blob is written again.
        fs::write(blobs.blob_path(&hash), "ab").unwrap();
        put(&blobs, "abc");
        assert_eq!(blobs.read_blob(&hash).unwrap(), "abc");
        fs::remove_file(blobs.blob_path(&hash)).unwrap();
        assert!(matches!(blobs.read_blob(&hash), Err(BlobReadError::Unreadable(_))));
    }

    #[test]
    fn an_unfinished_blob_is_deleted_at_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = BlobFolder::open_and_delete_unfinished(folder.path().to_owned());
        let unfinished = begin(&blobs, "half");
        assert!(blobs.list_blobs().unwrap().is_empty());
        assert!(unfinished.file.as_ref().unwrap().0.exists());
        let reopened = BlobFolder::open_and_delete_unfinished(folder.path().to_owned());
        assert!(!unfinished.file.as_ref().unwrap().0.exists());
        assert!(reopened.list_blobs().unwrap().is_empty());
    }

    #[test]
    fn only_64_lowercase_hexadecimal_digits_are_a_hash() {
        for bad in ["", "ab", &"g".repeat(64), &"A".repeat(64), &"é".repeat(32), &"0".repeat(65)] {
            assert_eq!(BlobHash::parse_hex(bad), None, "{bad}");
        }
    }
}
