//! Fetching a path: a file, or a folder with the files of a schedule.

use std::path::PathBuf;

use super::{FetchOutcome, file::FileFetcher, folder::FolderFetcher, run_blocking};
use crate::fetch_failure::FetchError;

/// Checks the path at each fetch: a folder may appear after the server has started, for example when it is mounted or
/// unpacked later, and a zip may replace it.
#[derive(Debug)]
pub struct PathFetcher {
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

    pub(super) fn set_max_bytes(&mut self, max: u64) {
        self.file.max = max;
        self.folder.max = max;
    }

    pub(super) fn forget_fetched_version(&mut self) {
        self.file.forget_fetched_version();
        self.folder.forget_fetched_version();
    }

    pub(super) async fn fetch_path(&mut self) -> Result<FetchOutcome, FetchError> {
        let path = self.path.clone();
        // The version seen of a file says nothing about a later folder, and vice versa.
        if run_blocking(move || Ok(path.is_dir())).await? {
            self.file.forget_fetched_version();
            self.folder.fetch_folder().await
        } else {
            self.folder.forget_fetched_version();
            self.file.fetch_file().await
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn a_folder_that_appears_later_is_read_and_may_become_a_zip() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("plan");
        let mut fetcher = PathFetcher::new(path.clone(), 1_000);
        assert!(fetcher.fetch_path().await.is_err());

        fs::create_dir(&path).unwrap();
        fs::write(path.join("stops.txt"), "stop_id\nS\n").unwrap();
        let Ok(FetchOutcome::Body(folder)) = fetcher.fetch_path().await else {
            panic!("the folder is not read")
        };
        assert_eq!(folder.file_name.as_deref(), Some("plan.zip"));
        assert!(matches!(fetcher.fetch_path().await, Ok(FetchOutcome::NotModified)));

        fs::rename(&path, home.path().join("old")).unwrap();
        fs::write(&path, &folder.bytes).unwrap();
        let Ok(FetchOutcome::Body(file)) = fetcher.fetch_path().await else {
            panic!("the zip is not read")
        };
        assert_eq!(file.bytes, folder.bytes);
        assert!(matches!(fetcher.fetch_path().await, Ok(FetchOutcome::NotModified)));

        // The unchanged folder is new after the zip.
        fs::remove_file(&path).unwrap();
        fs::rename(home.path().join("old"), &path).unwrap();
        assert!(matches!(fetcher.fetch_path().await, Ok(FetchOutcome::Body(_))));
    }
}
