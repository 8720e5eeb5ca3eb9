//! The destination of a conversion: a file that appears when it is complete, or standard output.

use std::fs::{self, File};
use std::io::{self, Seek as _, Write};
use std::path::{Path, PathBuf};

use super::CommandFailure;

/// A file being written, and its destination.
#[derive(Debug)]
pub(super) struct ConversionOutputFile {
    file: File,
    end: OutputDestination,
}

#[derive(Debug)]
enum OutputDestination {
    /// The file is copied to standard output.
    Standard,
    /// The file is copied into a path that is not a regular file, such as a pipe.
    Into(PathBuf),
    /// The file is renamed to its final name.
    Named(PartFile),
    /// The file is discarded.
    Discard,
}

/// A `.part` file next to its final name. It is deleted on drop unless it is complete.
#[derive(Debug)]
struct PartFile {
    path: PathBuf,
    name: PathBuf,
    is_whole: bool,
}

impl ConversionOutputFile {
    /// Opens an output with this final name, or for standard output. Until it is published only `<name>.part` is
    /// visible.
    pub(super) fn create_for_destination(
        name: Option<&Path>,
    ) -> Result<ConversionOutputFile, CommandFailure> {
        let Some(name) = name else {
            return ConversionOutputFile::create_temporary(OutputDestination::Standard);
        };
        match fs::metadata(name) {
            Ok(known) if known.is_file() => {
                // A symbolic link stays a link: its target is written.
                ConversionOutputFile::create_part_file(
                    &fs::canonicalize(name).unwrap_or_else(|_| name.to_owned()),
                )
            }
            Ok(known) if known.is_dir() => Err(write_failure(name, &"it is a folder")),
            Ok(_) => {
                ConversionOutputFile::create_temporary(OutputDestination::Into(name.to_owned()))
            }
            Err(_) => ConversionOutputFile::create_part_file(name),
        }
    }

    /// Opens a temporary file without a name that is discarded at the end.
    pub(super) fn create_discarded() -> Result<ConversionOutputFile, CommandFailure> {
        ConversionOutputFile::create_temporary(OutputDestination::Discard)
    }

    fn create_temporary(end: OutputDestination) -> Result<ConversionOutputFile, CommandFailure> {
        let file = tempfile::tempfile();
        let file = file.map_err(|error| write_failure(Path::new("a temporary file"), &error))?;
        Ok(ConversionOutputFile { file, end })
    }

    fn create_part_file(name: &Path) -> Result<ConversionOutputFile, CommandFailure> {
        let mut path = name.as_os_str().to_owned();
        path.push(".part");
        let path = PathBuf::from(path);
        let options =
            File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = options.map_err(|error| write_failure(&path, &error))?;
        let part = PartFile { path, name: name.to_owned(), is_whole: false };
        Ok(ConversionOutputFile { file, end: OutputDestination::Named(part) })
    }

    /// Returns the file to write into.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Publishes the written content at its destination.
    pub(super) fn publish_to_destination(self) -> Result<(), CommandFailure> {
        let ConversionOutputFile { file, end } = self;
        match end {
            OutputDestination::Discard => Ok(()),
            OutputDestination::Standard => {
                let copied = copy_file_to_writer(file, &mut io::stdout().lock());
                copied.map_err(|error| write_failure(Path::new("standard output"), &error))
            }
            OutputDestination::Into(name) => {
                let target = File::options().write(true).open(&name);
                let copied = target.and_then(|mut target| copy_file_to_writer(file, &mut target));
                copied.map_err(|error| write_failure(&name, &error))
            }
            OutputDestination::Named(mut part) => {
                let renamed = fs::rename(&part.path, &part.name);
                renamed.map_err(|error| write_failure(&part.name, &error))?;
                part.is_whole = true;
                Ok(())
            }
        }
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_whole {
            // If the file cannot be deleted, its name still ends in `.part`.
            _ = fs::remove_file(&self.path);
        }
    }
}

fn copy_file_to_writer(mut from: File, to: &mut impl Write) -> io::Result<()> {
    from.rewind()?;
    io::copy(&mut from, to)?;
    to.flush()
}

/// Creates a folder and writes its files. None appears under its final name before all are written.
pub(super) fn write_folder_atomically(
    folder: &Path,
    files: &[(String, bytes::Bytes)],
) -> Result<(), CommandFailure> {
    fs::create_dir_all(folder).map_err(|error| write_failure(folder, &error))?;
    let mut written = Vec::with_capacity(files.len());
    for (name, bytes) in files {
        written.push(write_unpublished_file(&folder.join(name), bytes)?);
    }
    written.into_iter().try_for_each(ConversionOutputFile::publish_to_destination)
}

/// Writes a file that appears when it is complete.
pub(super) fn write_file_atomically(file: &Path, bytes: &[u8]) -> Result<(), CommandFailure> {
    write_unpublished_file(file, bytes)?.publish_to_destination()
}

fn write_unpublished_file(
    file: &Path,
    bytes: &[u8],
) -> Result<ConversionOutputFile, CommandFailure> {
    let output = ConversionOutputFile::create_for_destination(Some(file))?;
    output.file().write_all(bytes).map_err(|error| write_failure(file, &error))?;
    Ok(output)
}

fn write_failure(file: &Path, why: &dyn std::fmt::Display) -> CommandFailure {
    CommandFailure::Unfinished(format!("{} cannot be written: {why}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_output_file_appears_only_when_complete() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("a.zip");
        fs::write(&name, "before").unwrap();
        let output = ConversionOutputFile::create_for_destination(Some(&name)).unwrap();
        output.file().write_all(b"after").unwrap();
        assert_eq!(fs::read(&name).unwrap(), b"before");
        assert_eq!(names(folder.path()), ["a.zip", "a.zip.part"]);
        output.publish_to_destination().unwrap();
        assert_eq!(fs::read(&name).unwrap(), b"after");
        assert_eq!(names(folder.path()), ["a.zip"]);
    }

    #[test]
    fn abandoned_output_leaves_no_files() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("a.zip");
        let output = ConversionOutputFile::create_for_destination(Some(&name)).unwrap();
        output.file().write_all(b"half").unwrap();
        drop(output);
        assert!(names(folder.path()).is_empty());
        fs::create_dir(folder.path().join("b.json")).unwrap();
        let files = ["a.json", "b.json"].map(|name| (name.to_owned(), bytes::Bytes::new()));
        assert!(write_folder_atomically(folder.path(), &files).is_err(), "b.json is a folder");
        assert_eq!(names(folder.path()), ["b.json"]);
    }

    #[cfg(unix)]
    #[test]
    fn symlinks_are_preserved_and_devices_are_written_to_directly() {
        let folder = tempfile::tempdir().unwrap();
        let (name, link) = (folder.path().join("a"), folder.path().join("link"));
        fs::write(&name, "before").unwrap();
        std::os::unix::fs::symlink(&name, &link).unwrap();
        write_file_atomically(&link, b"after").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&name).unwrap(), b"after");
        write_file_atomically(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
