//! Where visitors' files lie until they were looked at: in a folder of this server's among the temporary files. It goes when the
//! server stops; what a killed one has left, the next one takes away.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use parking_lot::Mutex;
use tempfile::TempDir;

/// How the names of such folders begin.
const PREFIX: &str = "lineside-visitor-";
/// The file in one that is locked for as long as its server is there.
const LOCK: &str = "lock";
/// What a visitor's file is called in the folder that it has for itself.
pub(super) const FILE: &str = "brought";

/// A folder of this server's, which goes with it.
#[derive(Debug)]
pub(super) struct Own {
    folder: TempDir,
    /// The system takes it away in whatever way the server ends.
    _lock: File,
}

impl Own {
    /// Makes one among the temporary files.
    ///
    /// # Errors
    /// If there is no room for it.
    pub(super) fn make() -> io::Result<Own> {
        Own::make_in(&std::env::temp_dir())
    }

    fn make_in(temporary: &Path) -> io::Result<Own> {
        let folder = private(PREFIX).tempdir_in(temporary)?;
        // It has its name only once it is locked: another server that finds it unlocked takes the folder away.
        let (begun, path) = (folder.path().join("lock.part"), folder.path().join(LOCK));
        let lock = File::create_new(&begun)?;
        lock.try_lock()?;
        fs::rename(begun, path)?;
        Ok(Own { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Takes it away.
    ///
    /// # Errors
    /// If something is left, as a program that was killed wrote there until now. It may be tried again.
    pub(super) fn clear(&self) -> io::Result<()> {
        take_away(self.path())
    }
}

/// The lock goes last: by it the next start finds what could not be taken away.
fn take_away(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            unless_gone(fs::remove_dir_all(entry.path()))?;
        }
    }
    unless_gone(fs::remove_dir_all(folder))
}

/// Somebody else may have been faster.
fn unless_gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

/// The folders of visitors' files.
#[derive(Debug, Default)]
pub(super) struct Rooms(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    /// Nobody has brought anything yet.
    #[default]
    Unused,
    /// They lie there.
    In(Own),
    /// The server stops.
    Closed,
}

impl Rooms {
    /// A folder, and the file in it that is to be filled.
    ///
    /// # Errors
    /// If the disk has no room for it, or the server stops.
    pub(super) fn room(&self) -> io::Result<(TempDir, File)> {
        let mut state = self.0.lock();
        // Who keeps the temporary files in order may have taken it away meanwhile.
        let is_there = matches!(&*state, State::In(own) if own.path().is_dir());
        if !is_there && !matches!(*state, State::Closed) {
            *state = State::In(Own::make()?);
        }
        let State::In(own) = &*state else {
            return Err(io::Error::other("the server stops"));
        };
        let room = private("").tempdir_in(own.path())?;
        let file = File::create_new(room.path().join(FILE))?;
        Ok((room, file))
    }

    /// Takes all of them away, and gives none from then on.
    ///
    /// # Errors
    /// As [`Own::clear`].
    pub(super) fn close(&self) -> io::Result<()> {
        let mut state = self.0.lock();
        if let State::In(own) = &*state {
            own.clear()?;
        }
        *state = State::Closed;
        Ok(())
    }
}

/// What others of this machine cannot look into.
fn private(prefix: &str) -> tempfile::Builder<'_, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).permissions(Permissions::from_mode(0o700));
    builder
}

/// Takes away what servers of this user have left that ended without doing so.
pub(crate) fn sweep() {
    let temporary = std::env::temp_dir();
    if let Err(error) = sweep_in(&temporary) {
        let temporary = temporary.display();
        tracing::warn!(%error, "uploaded files of an earlier server may be in {temporary}");
    }
}

fn sweep_in(temporary: &Path) -> io::Result<()> {
    // Whoever we are, this is ours.
    let user = private(PREFIX).tempdir_in(temporary)?.path().symlink_metadata()?.uid();
    for entry in fs::read_dir(temporary)?.flatten() {
        let is_named_so = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if !is_named_so {
            continue;
        }
        // Not by a link, which leads elsewhere.
        let is_own = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == user);
        let path = entry.path();
        if is_own
            && is_left(&path)
            && let Err(error) = take_away(&path)
        {
            tracing::warn!(%error, "{} is left of an earlier server", path.display());
        }
    }
    Ok(())
}

/// Whether the server that made the folder is gone. One without a lock is just being made.
fn is_left(folder: &Path) -> bool {
    File::open(folder.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_server_left_is_swept() {
        let temporary = tempfile::tempdir().unwrap();
        let at = |name: &str| temporary.path().join(name);
        let own = Own::make_in(temporary.path()).unwrap();
        fs::create_dir_all(at("lineside-visitor-new")).unwrap();
        fs::create_dir_all(at("elsewhere")).unwrap();
        fs::write(at("elsewhere/lock"), "").unwrap();
        fs::write(at("lineside-visitor-file"), "").unwrap();
        std::os::unix::fs::symlink(at("elsewhere"), at("lineside-visitor-link")).unwrap();
        sweep_in(temporary.path()).unwrap();
        let kept = ["lineside-visitor-new", "lineside-visitor-file", "lineside-visitor-link"];
        assert!(own.path().is_dir() && kept.iter().all(|name| at(name).exists()));
        // As where the process was killed.
        let Own { folder, _lock: lock } = own;
        let left = folder.keep();
        fs::create_dir(left.join("room")).unwrap();
        fs::write(left.join("room").join(FILE), "a schedule").unwrap();
        drop(lock);
        sweep_in(temporary.path()).unwrap();
        assert!(!left.exists() && kept.iter().all(|name| at(name).exists()));
        assert!(at("elsewhere/lock").is_file());
    }

    #[test]
    fn others_cannot_look_into_them_and_none_is_left_once_they_are_closed() {
        let rooms = Rooms::default();
        let (room, _) = rooms.room().unwrap();
        let (other, _) = rooms.room().unwrap();
        assert_eq!(room.path().parent(), other.path().parent());
        let own = room.path().parent().unwrap();
        assert_eq!(fs::metadata(own).unwrap().permissions().mode() & 0o777, 0o700);
        rooms.close().unwrap();
        assert!(!own.exists() && rooms.room().is_err());
        rooms.close().unwrap();
    }

    #[test]
    fn a_folder_that_was_taken_away_is_made_again() {
        let rooms = Rooms::default();
        let (room, _) = rooms.room().unwrap();
        fs::remove_dir_all(room.path().parent().unwrap()).unwrap();
        assert!(rooms.room().is_ok());
    }
}
