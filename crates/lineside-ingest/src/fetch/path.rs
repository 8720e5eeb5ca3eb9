//! What stands at a path: a file, or a folder with the files of a schedule.

use std::path::PathBuf;

use super::{Failure, Fetched, blocking, file::FileFetcher, folder::FolderFetcher};

/// Looks anew each time at what stands there: a folder may come after the server, as one that is mounted or unpacked
/// later does, and a zip may take its place.
#[derive(Debug)]
pub(crate) struct PathFetcher {
    path: PathBuf,
    file: FileFetcher,
    folder: FolderFetcher,
}

impl PathFetcher {
    pub(super) fn new(path: PathBuf, max: u64) -> PathFetcher {
        let file = FileFetcher::new(path.clone(), max);
        let folder = FolderFetcher::new(path.clone(), max);
        PathFetcher { path, file, folder }
    }

    pub(super) fn bound(&mut self, max: u64) {
        self.file.max = max;
        self.folder.max = max;
    }

    pub(super) fn forget(&mut self) {
        self.file.forget();
        self.folder.forget();
    }

    pub(super) async fn fetch(&mut self) -> Result<Fetched, Failure> {
        let path = self.path.clone();
        // What was seen of the one says nothing of what stands there after the other.
        if blocking(move || Ok(path.is_dir())).await? {
            self.file.forget();
            self.folder.fetch().await
        } else {
            self.folder.forget();
            self.file.fetch().await
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn a_folder_that_comes_later_is_read_and_so_is_a_zip_in_its_place() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("plan");
        let mut fetcher = PathFetcher::new(path.clone(), 1_000);
        assert!(fetcher.fetch().await.is_err());

        fs::create_dir(&path).unwrap();
        fs::write(path.join("stops.txt"), "stop_id\nS\n").unwrap();
        let Ok(Fetched::Body(folder)) = fetcher.fetch().await else { panic!("the folder is read") };
        assert_eq!(folder.file_name.as_deref(), Some("plan.zip"));
        assert!(matches!(fetcher.fetch().await, Ok(Fetched::NotModified)));

        fs::rename(&path, home.path().join("old")).unwrap();
        fs::write(&path, &folder.bytes).unwrap();
        let Ok(Fetched::Body(file)) = fetcher.fetch().await else { panic!("the zip is read") };
        assert_eq!(file.bytes, folder.bytes);
        assert!(matches!(fetcher.fetch().await, Ok(Fetched::NotModified)));

        // The same folder as before is news after the zip.
        fs::remove_file(&path).unwrap();
        fs::rename(home.path().join("old"), &path).unwrap();
        assert!(matches!(fetcher.fetch().await, Ok(Fetched::Body(_))));
    }
}
