//! The data folder, the only folder that a server writes to. A second server in it would lose the first one's data, so
//! a server locks it for the life of the process. A file in the folder holds the server's name.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use lineside_config::secrets::random_secret;

const LOCK_FILE: &str = "lineside.lock";
/// The file with the server's name.
const NAME_FILE: &str = "name";
/// Number of random characters in a name.
const NAME_CHARS: usize = 12;

/// The lock on a data folder, held until this is dropped or the process ends in any way.
#[derive(Debug)]
pub(crate) struct DataDirLock {
    _lock: File,
    folder: PathBuf,
}

impl DataDirLock {
    /// Locks the folder, after creating it if it is missing.
    ///
    /// # Errors
    /// Returns an error if the folder is not writable, or if another server holds the lock.
    pub(crate) fn lock_data_folder(folder: &Path) -> anyhow::Result<Self> {
        let shown = folder.display();
        create_private_folder(folder)
            .with_context(|| format!("cannot create data folder {shown}"))?;
        let lock = File::create(folder.join(LOCK_FILE))
            .with_context(|| format!("cannot write to data folder {shown}"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { _lock: lock, folder: folder.to_owned() }),
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "data folder {shown} is in use by another server: stop it, or set another data_dir"
                )
            }
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock data folder {shown}"))
            }
        }
    }

    /// Returns the server's name for other systems, which is generated at the first start.
    ///
    /// # Errors
    /// Returns an error if the name does not exist yet and cannot be written.
    pub(crate) fn get_or_create_server_name(&self) -> anyhow::Result<String> {
        let path = self.folder.join(NAME_FILE);
        let known = fs::read_to_string(&path).unwrap_or_default();
        if is_valid_server_name(known.trim()) {
            return Ok(known.trim().to_owned());
        }
        let name = generate_server_name();
        fs::write(&path, format!("{name}\n"))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(name)
    }
}

/// Generates a random, practically unique name.
pub(crate) fn generate_server_name() -> String {
    let chance = random_secret();
    let chance = chance.chars().filter(char::is_ascii_alphanumeric).take(NAME_CHARS);
    format!("lineside-{}", chance.collect::<String>().to_ascii_lowercase())
}

/// Returns true if a text is a valid name for requests.
fn is_valid_server_name(text: &str) -> bool {
    let rest = text.strip_prefix("lineside-").unwrap_or_default();
    (1..=NAME_CHARS).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Creates a folder that other users of this machine cannot read. An existing folder keeps its mode.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_new_data_folder_is_accessible_to_its_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;

        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a/b");
        let _claim = DataDirLock::lock_data_folder(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_data_folder_is_locked_by_one_server_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("data");
        let first = DataDirLock::lock_data_folder(&folder).unwrap();
        let refused = DataDirLock::lock_data_folder(&folder).unwrap_err().to_string();
        assert!(refused.contains("another server"), "{refused}");
        drop(first);
        DataDirLock::lock_data_folder(&folder).unwrap();
    }

    #[test]
    fn the_server_name_of_a_data_folder_is_stable_and_unique() {
        let parent = tempfile::tempdir().unwrap();
        let name = |folder: &str| {
            DataDirLock::lock_data_folder(&parent.path().join(folder))
                .unwrap()
                .get_or_create_server_name()
                .unwrap()
        };
        let (one, other) = (name("one"), name("other"));
        assert!(is_valid_server_name(&one) && one != other, "{one} {other}");
        assert_eq!(name("one"), one);
        // The file may have been truncated, or replaced by other software.
        for broken in ["", "lineside-", "lineside-<a/>", &"x".repeat(9_999)] {
            fs::write(parent.path().join("one").join(NAME_FILE), broken).unwrap();
            assert!(is_valid_server_name(&name("one")), "{broken}");
        }
    }
}
