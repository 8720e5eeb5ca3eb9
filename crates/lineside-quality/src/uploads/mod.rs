//! Uploads to `/validate`: a file or an address that is validated once, with a report that is stored for a while.
//!
//! An uploaded file may contain anything, so no thread of the server parses it. It stays in a folder of its own until a
//! child process (`lineside check`) has validated it within limits of time and memory: a crash of that process does not
//! affect the server. One process runs at a time, with a lower priority than the server; a bounded number of uploads
//! wait, and further ones are refused. When the server stops, the process ends and the folders are deleted.

mod upload_transfer;
mod upload_reports;
mod upload_folders;
mod upload_job;
mod joined_report;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use lineside_config::client_network::client_limit_key;
use lineside_config::secrets::random_secret;
use lineside_sync::real_time::sleep_real_time;
use lineside_sync::{Clock, RealClock, UnixMillis};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::upload_folders::delete_orphaned_folders;
use self::upload_folders::{LockedServerFolder, UploadFolderRoot};
pub use self::upload_job::UploadSource;
use self::upload_reports::UploadReportStore;
use self::upload_transfer::UploadTransfer;

/// Maximum number of uploads that wait or run.
const QUEUE_MAX: usize = 8;
/// Maximum number of uploads in transfer. They do not count as waiting, so that slow uploads do not block others.
const TRANSFERS_MAX: usize = 32;
/// Maximum number of uploads of one address, or of one /64 network of IPv6, in transfer, waiting or running.
const FILES_PER_ADDRESS_MAX: usize = 2;
/// Maximum number of failure reasons in memory, each until it expires.
const FAILED_MAX: usize = 1_000;
/// The reason why a slow upload was aborted.
const TOO_SLOW: &str = "the upload was too slow while others waited; try again later";
/// Number of characters of a link: 256 bits in base 64.
const LINK_CHARS: usize = 43;
/// Number of attempts to delete the uploaded files, while a killed program is still about to end.
const CLEANUP_ATTEMPTS_MAX: usize = 20;
const CLEANUP_PAUSE: Duration = Duration::from_millis(10);
/// Maximum number of characters of a file's name.
const NAME_CHARS_MAX: usize = 100;

/// The limit that refuses an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReachedUploadLimit {
    /// The limit of the server.
    Total,
    /// The limit of the client's address.
    Address,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadStatus {
    /// The transfer is in progress.
    Transferring,
    /// The upload waits behind this many others.
    Waiting(usize),
    /// The validation is in progress.
    Running,
    /// There is no report for the upload of this name, with the reason.
    Failed { name: String, reason: String },
    /// The report, as `report.json`.
    Done(Vec<u8>),
}

/// An upload without a report.
#[derive(Debug, Clone)]
struct PendingUpload {
    /// A number in the order of arrival.
    number: u64,
    /// The client's address, or its network, whose hosts count as one.
    address: IpAddr,
    stage: UploadStage,
    since: UnixMillis,
    /// The name of the file, once it is transferred.
    name: String,
    transfer: Arc<UploadTransfer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum UploadStage {
    Transferring,
    Waiting,
    Running,
    Failed(String),
}

#[derive(Debug, Default)]
struct PendingUploads {
    by_link: BTreeMap<String, PendingUpload>,
    n_total: u64,
}

impl PendingUploads {
    fn unfailed_uploads(&self) -> impl Iterator<Item = &PendingUpload> {
        self.by_link.values().filter(|job| !matches!(job.stage, UploadStage::Failed(_)))
    }

    fn count_transferring(&self) -> usize {
        self.unfailed_uploads().filter(|job| job.stage == UploadStage::Transferring).count()
    }

    /// Returns the number of uploads that wait or run.
    fn count_waiting_or_running(&self) -> usize {
        self.unfailed_uploads().filter(|job| job.stage != UploadStage::Transferring).count()
    }

    /// Aborts the slowest upload in transfer, if it is slow enough, to admit another.
    fn abort_slowest_transfer(&mut self, now: UnixMillis) -> bool {
        let coming = self.by_link.values_mut().filter(|job| job.stage == UploadStage::Transferring);
        let slow = coming.filter_map(|job| {
            let rate = job.transfer.rate_if_slow(now.duration_since(job.since))?;
            Some((rate, job))
        });
        let Some((_, job)) = slow.min_by_key(|(rate, _)| *rate) else { return false };
        job.transfer.abort_transfer();
        job.stage = UploadStage::Failed(TOO_SLOW.to_owned());
        true
    }

    /// Removes old failures, and the oldest ones if there are too many.
    fn remove_old_failures(&mut self, before: UnixMillis) {
        self.by_link
            .retain(|_, job| !matches!(job.stage, UploadStage::Failed(_)) || job.since >= before);
        while self.by_link.len() > FAILED_MAX + QUEUE_MAX {
            let failed =
                self.by_link.iter().filter(|(_, job)| matches!(job.stage, UploadStage::Failed(_)));
            let Some(oldest) = failed.min_by_key(|(_, job)| job.number) else { return };
            let link = oldest.0.clone();
            self.by_link.remove(&link);
        }
    }
}

/// Accepts uploads, and knows their status.
#[derive(Debug)]
pub struct UploadService {
    jobs: Mutex<PendingUploads>,
    /// Admits one validation at a time.
    validation_slot: Semaphore,
    /// The folders of files that are not validated yet.
    folders: UploadFolderRoot,
    /// The waiting and running validations, until they are cancelled.
    validations: TaskTracker,
    stopping: CancellationToken,
    reports: UploadReportStore,
    program: PathBuf,
    clock: Arc<dyn Clock>,
    /// The folder of reports if there is no data folder.
    temporary: Option<LockedServerFolder>,
}

impl UploadService {
    /// Opens the service. Reports are stored in the data folder, or without one until the server stops.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created, or the path of this program is unknown.
    pub fn open(data_dir: Option<&Path>) -> anyhow::Result<Arc<Self>> {
        let opened = std::env::current_exe()
            .and_then(|program| Self::open_with_validator_program(data_dir, program));
        opened.context("cannot open the folder for reports on uploads")
    }

    fn open_with_validator_program(
        data_dir: Option<&Path>,
        program: PathBuf,
    ) -> io::Result<Arc<Self>> {
        let temporary =
            if data_dir.is_some() { None } else { Some(LockedServerFolder::create_in_temp_dir()?) };
        let folder = match (&temporary, data_dir) {
            (Some(temporary), _) => temporary.path().join("reports"),
            (None, data_dir) => data_dir.unwrap_or(Path::new(".")).join("visitors"),
        };
        Ok(Arc::new(Self {
            jobs: Mutex::default(),
            validation_slot: Semaphore::new(1),
            folders: UploadFolderRoot::default(),
            validations: TaskTracker::new(),
            stopping: CancellationToken::new(),
            reports: UploadReportStore::open(folder)?,
            program,
            clock: Arc::new(RealClock::new()),
            temporary,
        }))
    }

    /// Creates a folder for an upload and the empty file in it.
    ///
    /// # Errors
    /// Returns an error if the disk is full, or the server stops.
    pub fn create_upload_folder(&self) -> io::Result<(TempDir, File)> {
        self.folders.create_upload_folder()
    }

    /// Cancels all validations, and deletes all uploaded files.
    pub async fn stop_and_delete_files(self: &Arc<Self>) {
        self.validations.close();
        self.stopping.cancel();
        // Dropping a validation ends its program.
        self.validations.wait().await;
        for _ in 0..CLEANUP_ATTEMPTS_MAX {
            let service = Arc::clone(self);
            let clearing = tokio::task::spawn_blocking(move || service.delete_uploaded_files());
            if matches!(clearing.await, Ok(Ok(()))) {
                return;
            }
            sleep_real_time(CLEANUP_PAUSE).await;
        }
        tracing::warn!("uploaded files could not be deleted: the next start deletes them");
    }

    fn delete_uploaded_files(&self) -> io::Result<()> {
        self.folders.delete_all_and_close()?;
        self.temporary.as_ref().map_or(Ok(()), LockedServerFolder::delete)
    }

    /// Admits an upload of this address. It counts until the [`AdmittedUpload`] is dropped or the upload is done.
    ///
    /// # Errors
    /// Returns an error if too many uploads are in transfer, or if it could not wait now.
    pub fn admit_upload(
        self: &Arc<Self>,
        address: IpAddr,
    ) -> Result<AdmittedUpload, ReachedUploadLimit> {
        let address = client_limit_key(address);
        let mut jobs = self.jobs.lock();
        if jobs.count_waiting_or_running() >= QUEUE_MAX {
            return Err(ReachedUploadLimit::Total);
        }
        if jobs.unfailed_uploads().filter(|job| job.address == address).count()
            >= FILES_PER_ADDRESS_MAX
        {
            return Err(ReachedUploadLimit::Address);
        }
        let since = self.clock.wall_time();
        if jobs.count_transferring() >= TRANSFERS_MAX && !jobs.abort_slowest_transfer(since) {
            return Err(ReachedUploadLimit::Total);
        }
        jobs.n_total += 1;
        let (number, link, transfer) =
            (jobs.n_total, random_secret(), Arc::<UploadTransfer>::default());
        let job = PendingUpload {
            number,
            address,
            stage: UploadStage::Transferring,
            since,
            name: String::new(),
            transfer: Arc::clone(&transfer),
        };
        jobs.by_link.insert(link.clone(), job);
        drop(jobs);
        Ok(AdmittedUpload { service: Arc::clone(self), link, transfer, is_submitted: false })
    }

    /// Returns the status of the upload with this link; `None` if there is none. Reads from the disk.
    pub fn find_upload_status(
        &self,
        link: &str,
        rules: &lineside_config::UploadsConfig,
    ) -> Option<UploadStatus> {
        if link.len() != LINK_CHARS || !link.bytes().all(is_upload_link_byte) {
            return None;
        }
        let jobs = self.jobs.lock();
        let Some(job) = jobs.by_link.get(link) else {
            drop(jobs);
            return self
                .reports
                .read_report(link, self.clock.wall_time(), rules.retention)
                .map(UploadStatus::Done);
        };
        let is_before = |other: &&PendingUpload| {
            other.number < job.number
                && matches!(other.stage, UploadStage::Waiting | UploadStage::Running)
        };
        Some(match &job.stage {
            UploadStage::Transferring => UploadStatus::Transferring,
            UploadStage::Waiting => {
                UploadStatus::Waiting(jobs.unfailed_uploads().filter(is_before).count())
            }
            UploadStage::Running => UploadStatus::Running,
            UploadStage::Failed(why) => {
                UploadStatus::Failed { name: job.name.clone(), reason: why.clone() }
            }
        })
    }

    /// Returns the number of uploads in transfer, waiting or running.
    pub fn count_active(&self) -> usize {
        self.jobs.lock().unfailed_uploads().count()
    }

    /// Queues a transferred file for validation.
    ///
    /// # Errors
    /// Returns an error if the queue is full.
    fn mark_waiting_for_validation(&self, link: &str) -> Result<(), ReachedUploadLimit> {
        let now = self.clock.wall_time();
        let mut jobs = self.jobs.lock();
        let n_here = jobs.count_waiting_or_running();
        let Some(job) = jobs.by_link.get_mut(link) else { return Err(ReachedUploadLimit::Total) };
        if job.stage == UploadStage::Transferring {
            if n_here >= QUEUE_MAX {
                return Err(ReachedUploadLimit::Total);
            }
            (job.stage, job.since) = (UploadStage::Waiting, now);
        }
        Ok(())
    }

    fn set_upload_stage(&self, link: &str, stage: UploadStage) {
        let now = self.clock.wall_time();
        if let Some(job) = self.jobs.lock().by_link.get_mut(link) {
            (job.stage, job.since) = (stage, now);
        }
    }
}

fn is_upload_link_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// An admitted upload. If it is dropped before it is [submitted](AdmittedUpload::submit_for_validation), it no longer
/// counts.
#[derive(Debug)]
pub struct AdmittedUpload {
    service: Arc<UploadService>,
    link: String,
    transfer: Arc<UploadTransfer>,
    is_submitted: bool,
}

impl AdmittedUpload {
    /// Returns the transfer of the file.
    pub fn transfer(&self) -> &Arc<UploadTransfer> {
        &self.transfer
    }

    /// Queues the upload for validation. The returned link is valid from here on.
    ///
    /// # Errors
    /// Returns an error if the upload is a file and the queue is full meanwhile.
    pub fn submit_for_validation(
        mut self,
        source: UploadSource,
        rules: lineside_config::UploadsConfig,
    ) -> Result<String, ReachedUploadLimit> {
        let (service, link) = (Arc::clone(&self.service), self.link.clone());
        if matches!(source, UploadSource::File { .. }) {
            service.mark_waiting_for_validation(&link)?;
        }
        self.is_submitted = true;
        if let Some(job) = service.jobs.lock().by_link.get_mut(&link) {
            job.name = source.file_name().to_owned();
        }
        let (validations, stopping) = (service.validations.clone(), service.stopping.clone());
        let transfer = Arc::clone(&self.transfer);
        let validation =
            upload_job::validate_and_store_upload(service, link.clone(), source, transfer, rules);
        validations.spawn(stopping.run_until_cancelled_owned(validation));
        Ok(link)
    }
}

impl Drop for AdmittedUpload {
    fn drop(&mut self) {
        if !self.is_submitted {
            self.service.jobs.lock().by_link.remove(&self.link);
        }
    }
}

/// Returns the name of a file in its report: the last part of the visitor's name, in harmless characters only.
pub fn sanitize_file_name(given_name: &str) -> String {
    let last = given_name.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or_default();
    let is_plain = |c: &char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ' | '(' | ')');
    let name: String = last.chars().filter(is_plain).take(NAME_CHARS_MAX).collect();
    match name.trim() {
        "" => "a file without a name".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_service() -> Arc<UploadService> {
        UploadService::open(None).unwrap()
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([203, 0, 113, last])
    }

    #[test]
    fn uploads_are_limited_in_total_and_per_address() {
        let service = sample_service();
        let first: Vec<AdmittedUpload> =
            (0..2).map(|_| service.admit_upload(address(1)).unwrap()).collect();
        assert_eq!(service.admit_upload(address(1)).unwrap_err(), ReachedUploadLimit::Address);
        let rest = 2..TRANSFERS_MAX as u8;
        let more: Vec<AdmittedUpload> =
            rest.map(|n| service.admit_upload(address(n)).unwrap()).collect();
        assert_eq!(service.admit_upload(address(99)).unwrap_err(), ReachedUploadLimit::Total);
        drop(first);
        assert_eq!(service.count_active(), TRANSFERS_MAX - 2);
        assert!(service.admit_upload(address(1)).is_ok());
        drop(more);
        assert_eq!(service.count_active(), 0);
    }

    #[tokio::test]
    async fn the_slowest_upload_is_dropped_when_too_many_are_arriving() {
        let service = sample_service();
        let take = |n: usize| service.admit_upload(address(n as u8));
        let coming: Vec<AdmittedUpload> = (0..TRANSFERS_MAX).map(|n| take(n).unwrap()).collect();
        assert_eq!(
            take(100).unwrap_err(),
            ReachedUploadLimit::Total,
            "each upload has time to start"
        );
        for job in service.jobs.lock().by_link.values_mut() {
            job.since = UnixMillis(job.since.0 - 60_000);
        }
        for upload in &coming[2..] {
            upload.transfer.count_received_bytes(60 << 20);
        }
        coming[0].transfer.count_received_bytes(1_000);
        let mut new_slots = Vec::new();
        for slow in [1, 0] {
            let new_slot = take(100 + slow).unwrap();
            assert_eq!(
                coming[slow].transfer.run_until_aborted(std::future::pending::<()>()).await,
                None
            );
            new_slot.transfer.count_received_bytes(60 << 20);
            new_slots.push(new_slot);
        }
        assert_eq!(
            take(110).unwrap_err(),
            ReachedUploadLimit::Total,
            "the other uploads are fast enough"
        );
    }

    #[test]
    fn arriving_uploads_occupy_no_slot_in_the_queue() {
        let service = sample_service();
        let slow: Vec<AdmittedUpload> =
            (0..20).map(|n| service.admit_upload(address(n)).unwrap()).collect();
        let here = 100..100 + QUEUE_MAX as u8;
        let here: Vec<AdmittedUpload> =
            here.map(|n| service.admit_upload(address(n)).unwrap()).collect();
        assert!(here.iter().all(|slot| service.mark_waiting_for_validation(&slot.link).is_ok()));
        assert!(
            service.mark_waiting_for_validation(&here[0].link).is_ok(),
            "it already has a slot"
        );
        assert_eq!(
            service.mark_waiting_for_validation(&slow[0].link),
            Err(ReachedUploadLimit::Total)
        );
        assert_eq!(service.admit_upload(address(200)).unwrap_err(), ReachedUploadLimit::Total);
        drop(here);
        assert_eq!(service.mark_waiting_for_validation(&slow[0].link), Ok(()));
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_as_one() {
        let service = sample_service();
        let reserve = |text: &str| service.admit_upload(text.parse().unwrap());
        let _uploads =
            [reserve("2001:db8:1:2::1").unwrap(), reserve("2001:db8:1:2:ffff::9").unwrap()];
        assert_eq!(reserve("2001:db8:1:2:3:4:5:6").unwrap_err(), ReachedUploadLimit::Address);
        let _others = [reserve("2001:db8:1:3::1").unwrap(), reserve("::ffff:203.0.113.7").unwrap()];
        let _more = reserve("203.0.113.7").unwrap();
        assert_eq!(reserve("::ffff:203.0.113.7").unwrap_err(), ReachedUploadLimit::Address);
        assert!(reserve("::ffff:203.0.113.8").is_ok(), "IPv4 addresses count separately");
    }

    #[test]
    fn a_link_gives_the_status_of_its_upload_and_unknown_links_none() {
        let (service, rules) = (sample_service(), lineside_config::UploadsConfig::default());
        let slot = service.admit_upload(address(1)).unwrap();
        assert_eq!(
            service.find_upload_status(&slot.link, &rules),
            Some(UploadStatus::Transferring)
        );
        service.set_upload_stage(&slot.link, UploadStage::Waiting);
        assert_eq!(service.find_upload_status(&slot.link, &rules), Some(UploadStatus::Waiting(0)));
        let next = service.admit_upload(address(1)).unwrap();
        service.set_upload_stage(&next.link, UploadStage::Waiting);
        assert_eq!(service.find_upload_status(&next.link, &rules), Some(UploadStatus::Waiting(1)));
        for link in ["", "x", "../../etc/passwd", &"a".repeat(LINK_CHARS)] {
            assert_eq!(service.find_upload_status(link, &rules), None, "{link}");
        }
    }

    #[test]
    fn remembered_failures_are_limited() {
        let service = sample_service();
        for n in 0..FAILED_MAX + 50 {
            let mut slot = service.admit_upload(address(1)).unwrap();
            slot.is_submitted = true;
            service.set_upload_stage(&slot.link, UploadStage::Failed(n.to_string()));
            service.jobs.lock().remove_old_failures(UnixMillis(0));
        }
        let jobs = service.jobs.lock();
        assert_eq!(jobs.by_link.len(), FAILED_MAX + QUEUE_MAX);
        assert!(
            jobs.by_link
                .values()
                .any(|job| job.stage == UploadStage::Failed((FAILED_MAX + 49).to_string()))
        );
        drop(jobs);
        service.jobs.lock().remove_old_failures(UnixMillis(i64::MAX));
        assert!(service.jobs.lock().by_link.is_empty());
    }

    #[test]
    fn file_names_are_sanitized() {
        for (given_name, name) in [
            ("gtfs.zip", "gtfs.zip"),
            ("C:\\feeds\\my gtfs (2).zip", "my gtfs (2).zip"),
            ("https://a.example/b/gtfs.zip?key=s3cret", "gtfs.zipkeys3cret"),
            ("../{input}", "input"),
            ("--output=x", "--outputx"),
            ("//", "a file without a name"),
            ("\u{1b}[2J", "2J"),
        ] {
            assert_eq!(sanitize_file_name(given_name), name, "{given_name}");
        }
        assert_eq!(sanitize_file_name(&"x".repeat(1_000)).len(), NAME_CHARS_MAX);
    }
}
