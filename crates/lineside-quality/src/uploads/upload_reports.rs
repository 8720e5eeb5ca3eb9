//! The stored reports of uploads: one file each, named by its link, with a configured lifetime.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use lineside_sync::UnixMillis;

/// Maximum number of stored reports.
const REPORTS_MAX: usize = 2_000;
/// Maximum size of all reports, in bytes.
const BYTES_MAX: u64 = 1 << 30;
/// The extension of their files.
const ENDING: &str = "json";

/// The folder of reports.
#[derive(Debug)]
pub(super) struct UploadReportStore {
    folder: PathBuf,
}

/// The file of a report.
#[derive(Debug)]
struct StoredReportFile {
    path: PathBuf,
    bytes: u64,
    at: UnixMillis,
}

impl UploadReportStore {
    pub(super) fn open(folder: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        // The file names are links, and a link is enough to read a report.
        #[cfg(unix)]
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        Ok(Self { folder })
    }

    /// Returns the report of a link, which contains only letters, digits, `-` and `_`; `None` if it is expired.
    pub(super) fn read_report(
        &self,
        link: &str,
        now: UnixMillis,
        retention: Duration,
    ) -> Option<Vec<u8>> {
        let path = self.report_path(link);
        let at = file_modified_at(&fs::metadata(&path).ok()?);
        if is_expired(at, now, retention) { None } else { fs::read(path).ok() }
    }

    /// Stores a report, and deletes expired and surplus ones.
    ///
    /// # Errors
    /// Returns an error if the report cannot be written. Then no part of it remains.
    pub(super) fn write_report(
        &self,
        link: &str,
        report: &[u8],
        now: UnixMillis,
        retention: Duration,
    ) -> io::Result<()> {
        self.delete_expired_and_surplus(report.len() as u64, now, retention);
        let path = self.report_path(link);
        let part_path = path.with_extension("part");
        let written = fs::write(&part_path, report).and_then(|()| fs::rename(&part_path, &path));
        if written.is_err() {
            // The partial file may not exist either.
            _ = fs::remove_file(&part_path);
        }
        written
    }

    /// Deletes expired reports, and the oldest ones until `bytes_to_free` bytes fit.
    fn delete_expired_and_surplus(&self, bytes_to_free: u64, now: UnixMillis, retention: Duration) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut reports: Vec<StoredReportFile> = entries
            .flatten()
            .filter_map(|entry| {
                let found = entry.metadata().ok()?;
                Some(StoredReportFile {
                    path: entry.path(),
                    bytes: found.len(),
                    at: file_modified_at(&found),
                })
            })
            .collect();
        reports.sort_by_key(|report| std::cmp::Reverse(report.at));
        let (mut count, mut bytes) = (1, bytes_to_free);
        for report in reports {
            let is_ours = report.path.extension().is_some_and(|it| it == ENDING || it == "part");
            (count, bytes) = (count + 1, bytes + report.bytes);
            let is_too_much = count > REPORTS_MAX || bytes > BYTES_MAX;
            if is_ours && (is_too_much || is_expired(report.at, now, retention)) {
                // The next sweep tries a failed deletion again.
                _ = fs::remove_file(&report.path);
            }
        }
    }

    fn report_path(&self, link: &str) -> PathBuf {
        self.folder.join(link).with_extension(ENDING)
    }
}

fn file_modified_at(found: &fs::Metadata) -> UnixMillis {
    let since = found.modified().ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    UnixMillis(since.and_then(|it| i64::try_from(it.as_millis()).ok()).unwrap_or(0))
}

fn is_expired(at: UnixMillis, now: UnixMillis, retention: Duration) -> bool {
    let age = now.0.saturating_sub(at.0);
    u128::try_from(age).is_ok_and(|age| age > retention.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETENTION: Duration = Duration::from_secs(60);

    #[cfg(unix)]
    #[test]
    fn the_report_folder_is_accessible_to_its_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let _store = UploadReportStore::open(path.clone()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_report_is_available_until_it_expires() {
        let folder = tempfile::tempdir().unwrap();
        let store = UploadReportStore::open(folder.path().join("a")).unwrap();
        let now = UnixMillis::from_seconds(0);
        store.write_report("one", b"{}", now, RETENTION).unwrap();
        let at = file_modified_at(&fs::metadata(store.report_path("one")).unwrap());
        assert_eq!(store.read_report("one", at, RETENTION).as_deref(), Some(&b"{}"[..]));
        let later = UnixMillis(at.0 + 60_001);
        assert_eq!(store.read_report("one", later, RETENTION), None);
        assert_eq!(store.read_report("other", at, RETENTION), None);
        store.write_report("two", b"{}", later, RETENTION).unwrap();
        assert!(!store.report_path("one").exists() && store.report_path("two").exists());
    }

    #[test]
    fn the_oldest_reports_are_deleted_beyond_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let store = UploadReportStore::open(folder.path().to_owned()).unwrap();
        for n in 0..REPORTS_MAX + 5 {
            fs::write(store.report_path(&format!("r{n}")), b"{}").unwrap();
        }
        fs::write(folder.path().join("of another user"), b"").unwrap();
        store.write_report("last", b"{}", UnixMillis(0), RETENTION).unwrap();
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert!(left <= REPORTS_MAX + 1, "{left}");
        assert!(
            store.report_path("last").exists() && folder.path().join("of another user").exists()
        );
    }
}
