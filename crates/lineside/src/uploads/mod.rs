//! What visitors bring to `/validate`: a file or an address, looked at once, with a report that is kept for a while.
//!
//! A visitor's file may be anything, so no thread of the server reads it. It lies in a folder of its own until a process of this
//! same program (`lineside check`) has looked at it within its time and memory: what breaks that process breaks nothing here. One
//! runs at a time, below whoever serves; the others wait, a bounded number of them, and who comes then is told to come again.
//! Where the server stops, the process ends and the folders go.

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
use lineside_sync::{Clock, RealClock, UnixMillis};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use self::upload_folders::delete_orphans;
use self::upload_folders::{OwnedFolder, UploadFolders};
pub(crate) use self::upload_job::UploadSource;
use self::upload_reports::UploadReportStore;
use self::upload_transfer::UploadTransfer;
use crate::admin::random_text;
use crate::client_network::client_network;
use crate::config;
use crate::timeout::sleep_for;

/// Files that wait or are looked at, at once.
const PLACES_MAX: usize = 8;
/// Files that are on their way here, at once. They take no place, so that slow uploads shut nobody out.
const COMING_MAX: usize = 32;
/// Files of one address, or of one /64 network of IPv6, on their way or here.
const FILES_PER_ADDRESS_MAX: usize = 2;
/// Words of why a file has no report that are kept, each until its time has come.
const FAILED_MAX: usize = 1_000;
/// Why a file that came slowly was given up.
const TOO_SLOW: &str = "it came too slowly while others waited; try again later";
/// Characters of a link: 256 bits in base 64.
const LINK_CHARS: usize = 43;
/// How often it is tried to take away what visitors brought, while a program that was killed is still about to end.
const CLEARINGS_MAX: usize = 20;
const CLEARING_PAUSE: Duration = Duration::from_millis(10);
/// Characters of what a file is called.
const NAME_CHARS_MAX: usize = 100;

/// Why nothing more is taken at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UploadLimit {
    /// The server has as much to do as it may.
    All,
    /// This address has.
    Address,
}

/// What has become of what a visitor brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UploadStatus {
    /// It is on its way here.
    Coming,
    /// So many are before it.
    Waiting(usize),
    /// It is looked at.
    Running,
    /// There is no report of what is called so, and why.
    Failed { name: String, why: String },
    /// The report, as `report.json`.
    Done(Vec<u8>),
}

/// One that is not done.
#[derive(Debug, Clone)]
struct UploadJob {
    /// In the order in which they came.
    number: u64,
    /// One, or the network of one, whose hosts count as one.
    address: IpAddr,
    stage: UploadStage,
    since: UnixMillis,
    /// What it is called, once it was brought.
    name: String,
    arrival: Arc<UploadTransfer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum UploadStage {
    Coming,
    Waiting,
    Running,
    Failed(String),
}

#[derive(Debug, Default)]
struct UploadJobs {
    /// By link.
    all: BTreeMap<String, UploadJob>,
    n_seen: u64,
}

impl UploadJobs {
    fn active_jobs(&self) -> impl Iterator<Item = &UploadJob> {
        self.all.values().filter(|job| !matches!(job.stage, UploadStage::Failed(_)))
    }

    fn count_incoming(&self) -> usize {
        self.active_jobs().filter(|job| job.stage == UploadStage::Coming).count()
    }

    /// Files that have a place.
    fn count_received(&self) -> usize {
        self.active_jobs().filter(|job| job.stage != UploadStage::Coming).count()
    }

    /// Gives up the slowest file that is on its way, if it is slow enough, so that another may come.
    fn abort_slowest(&mut self, now: UnixMillis) -> bool {
        let coming = self.all.values_mut().filter(|job| job.stage == UploadStage::Coming);
        let slow = coming.filter_map(|job| {
            let rate = job.arrival.rate_if_slow(now.duration_since(job.since))?;
            Some((rate, job))
        });
        let Some((_, job)) = slow.min_by_key(|(rate, _)| *rate) else { return false };
        job.arrival.abort_transfer();
        job.stage = UploadStage::Failed(TOO_SLOW.to_owned());
        true
    }

    /// Lets go of what failed long ago, and of the oldest where there are too many.
    fn forget_failed(&mut self, before: UnixMillis) {
        self.all
            .retain(|_, job| !matches!(job.stage, UploadStage::Failed(_)) || job.since >= before);
        while self.all.len() > FAILED_MAX + PLACES_MAX {
            let failed =
                self.all.iter().filter(|(_, job)| matches!(job.stage, UploadStage::Failed(_)));
            let Some(oldest) = failed.min_by_key(|(_, job)| job.number) else { return };
            let link = oldest.0.clone();
            self.all.remove(&link);
        }
    }
}

/// Takes what visitors bring, and knows what became of it.
#[derive(Debug)]
pub(crate) struct UploadService {
    jobs: Mutex<UploadJobs>,
    /// Who is looked at now.
    turn: Semaphore,
    /// Where files lie until they were looked at.
    rooms: UploadFolders,
    /// Those that wait or are looked at, until they are told to stop.
    looks: TaskTracker,
    stopping: CancellationToken,
    kept: UploadReportStore,
    /// This program.
    program: PathBuf,
    clock: Arc<dyn Clock>,
    /// Where reports lie that no data folder keeps.
    temporary: Option<OwnedFolder>,
}

impl UploadService {
    /// Keeps reports in the data folder, or until the server stops where there is none.
    ///
    /// # Errors
    /// If the folder cannot be made, or this program does not know where it lies.
    pub(crate) fn open(data_dir: Option<&Path>) -> anyhow::Result<Arc<Self>> {
        let opened =
            std::env::current_exe().and_then(|program| Self::with_program(data_dir, program));
        opened.context("cannot keep reports for visitors")
    }

    fn with_program(data_dir: Option<&Path>, program: PathBuf) -> io::Result<Arc<Self>> {
        let temporary = if data_dir.is_some() { None } else { Some(OwnedFolder::create()?) };
        let folder = match (&temporary, data_dir) {
            (Some(temporary), _) => temporary.path().join("reports"),
            (None, data_dir) => data_dir.unwrap_or(Path::new(".")).join("visitors"),
        };
        Ok(Arc::new(Self {
            jobs: Mutex::default(),
            turn: Semaphore::new(1),
            rooms: UploadFolders::default(),
            looks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            kept: UploadReportStore::open(folder)?,
            program,
            clock: Arc::new(RealClock::new()),
            temporary,
        }))
    }

    /// A folder, and the file in it that is to be filled.
    ///
    /// # Errors
    /// If the disk has no room for it, or the server stops.
    pub(crate) fn create_folder(&self) -> io::Result<(TempDir, File)> {
        self.rooms.create_folder()
    }

    /// Ends what is looked at, and takes away all that visitors brought.
    pub(crate) async fn stop_jobs(self: &Arc<Self>) {
        self.looks.close();
        self.stopping.cancel();
        // Each is dropped where it is, and with it the program that looks.
        self.looks.wait().await;
        for _ in 0..CLEARINGS_MAX {
            let desk = Arc::clone(self);
            let clearing = tokio::task::spawn_blocking(move || desk.delete_files());
            if matches!(clearing.await, Ok(Ok(()))) {
                return;
            }
            sleep_for(CLEARING_PAUSE).await;
        }
        tracing::warn!("the next start deletes the uploaded files");
    }

    fn delete_files(&self) -> io::Result<()> {
        self.rooms.delete_and_close()?;
        self.temporary.as_ref().map_or(Ok(()), OwnedFolder::delete)
    }

    /// Lets one more file of this address come. It is counted until [`UploadSlot`] is dropped or done.
    ///
    /// # Errors
    /// If too many are on their way, or the file would find no place now.
    pub(crate) fn reserve_slot(
        self: &Arc<Self>,
        address: IpAddr,
    ) -> Result<UploadSlot, UploadLimit> {
        let address = client_network(address);
        let mut jobs = self.jobs.lock();
        if jobs.count_received() >= PLACES_MAX {
            return Err(UploadLimit::All);
        }
        if jobs.active_jobs().filter(|job| job.address == address).count() >= FILES_PER_ADDRESS_MAX
        {
            return Err(UploadLimit::Address);
        }
        let since = self.clock.wall_time();
        if jobs.count_incoming() >= COMING_MAX && !jobs.abort_slowest(since) {
            return Err(UploadLimit::All);
        }
        jobs.n_seen += 1;
        let (number, link, arrival) =
            (jobs.n_seen, random_text(), Arc::<UploadTransfer>::default());
        let job = UploadJob {
            number,
            address,
            stage: UploadStage::Coming,
            since,
            name: String::new(),
            arrival: Arc::clone(&arrival),
        };
        jobs.all.insert(link.clone(), job);
        drop(jobs);
        Ok(UploadSlot { desk: Arc::clone(self), link, arrival, is_kept: false })
    }

    /// What has become of what stands behind a link; none if there is nothing. Reads the disk.
    pub(crate) fn upload_status(
        &self,
        link: &str,
        rules: &config::UploadsConfig,
    ) -> Option<UploadStatus> {
        if link.len() != LINK_CHARS || !link.bytes().all(is_link_byte) {
            return None;
        }
        let jobs = self.jobs.lock();
        let Some(job) = jobs.all.get(link) else {
            drop(jobs);
            return self
                .kept
                .read_report(link, self.clock.wall_time(), rules.keep)
                .map(UploadStatus::Done);
        };
        let is_before = |other: &&UploadJob| {
            other.number < job.number
                && matches!(other.stage, UploadStage::Waiting | UploadStage::Running)
        };
        Some(match &job.stage {
            UploadStage::Coming => UploadStatus::Coming,
            UploadStage::Waiting => {
                UploadStatus::Waiting(jobs.active_jobs().filter(is_before).count())
            }
            UploadStage::Running => UploadStatus::Running,
            UploadStage::Failed(why) => {
                UploadStatus::Failed { name: job.name.clone(), why: why.clone() }
            }
        })
    }

    /// What has a place at the moment.
    pub(crate) fn count_active(&self) -> usize {
        self.jobs.lock().active_jobs().count()
    }

    /// Gives a file that has come a place, where it waits for its turn.
    ///
    /// # Errors
    /// If all places are taken.
    fn queue_upload(&self, link: &str) -> Result<(), UploadLimit> {
        let now = self.clock.wall_time();
        let mut jobs = self.jobs.lock();
        let n_here = jobs.count_received();
        let Some(job) = jobs.all.get_mut(link) else { return Err(UploadLimit::All) };
        if job.stage == UploadStage::Coming {
            if n_here >= PLACES_MAX {
                return Err(UploadLimit::All);
            }
            (job.stage, job.since) = (UploadStage::Waiting, now);
        }
        Ok(())
    }

    fn set_stage(&self, link: &str, stage: UploadStage) {
        let now = self.clock.wall_time();
        if let Some(job) = self.jobs.lock().all.get_mut(link) {
            (job.stage, job.since) = (stage, now);
        }
    }
}

fn is_link_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// A place that somebody has. Where it is dropped before it was [kept](UploadSlot::submit_upload), nothing was brought.
#[derive(Debug)]
pub(crate) struct UploadSlot {
    desk: Arc<UploadService>,
    link: String,
    arrival: Arc<UploadTransfer>,
    is_kept: bool,
}

impl UploadSlot {
    /// The file that comes to it.
    pub(crate) fn transfer(&self) -> &Arc<UploadTransfer> {
        &self.arrival
    }

    /// Has what was brought looked at, in its turn. The link is known from here on.
    ///
    /// # Errors
    /// If it is a file and all places have been taken meanwhile.
    pub(crate) fn submit_upload(
        mut self,
        brought: UploadSource,
        rules: config::UploadsConfig,
    ) -> Result<String, UploadLimit> {
        let (desk, link) = (Arc::clone(&self.desk), self.link.clone());
        if matches!(brought, UploadSource::File { .. }) {
            desk.queue_upload(&link)?;
        }
        self.is_kept = true;
        if let Some(job) = desk.jobs.lock().all.get_mut(&link) {
            job.name = brought.file_name().to_owned();
        }
        let (looks, stopping) = (desk.looks.clone(), desk.stopping.clone());
        let arrival = Arc::clone(&self.arrival);
        let look = upload_job::validate_upload(desk, link.clone(), brought, arrival, rules);
        looks.spawn(stopping.run_until_cancelled_owned(look));
        Ok(link)
    }
}

impl Drop for UploadSlot {
    fn drop(&mut self) {
        if !self.is_kept {
            self.desk.jobs.lock().all.remove(&self.link);
        }
    }
}

/// What a file is called in its report: the last part of what the visitor says, without what could be taken for something else.
pub(crate) fn sanitize_file_name(said: &str) -> String {
    let last = said.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or_default();
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

    fn desk() -> Arc<UploadService> {
        UploadService::open(None).unwrap()
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([203, 0, 113, last])
    }

    #[test]
    fn uploads_are_bounded_for_all_and_for_each() {
        let desk = desk();
        let first: Vec<UploadSlot> =
            (0..2).map(|_| desk.reserve_slot(address(1)).unwrap()).collect();
        assert_eq!(desk.reserve_slot(address(1)).unwrap_err(), UploadLimit::Address);
        let rest = 2..COMING_MAX as u8;
        let more: Vec<UploadSlot> = rest.map(|n| desk.reserve_slot(address(n)).unwrap()).collect();
        assert_eq!(desk.reserve_slot(address(99)).unwrap_err(), UploadLimit::All);
        drop(first);
        assert_eq!(desk.count_active(), COMING_MAX - 2);
        assert!(desk.reserve_slot(address(1)).is_ok());
        drop(more);
        assert_eq!(desk.count_active(), 0);
    }

    #[tokio::test]
    async fn the_slowest_file_makes_way_where_too_many_are_on_their_way() {
        let desk = desk();
        let take = |n: usize| desk.reserve_slot(address(n as u8));
        let coming: Vec<UploadSlot> = (0..COMING_MAX).map(|n| take(n).unwrap()).collect();
        assert_eq!(take(100).unwrap_err(), UploadLimit::All, "each may take a moment to begin");
        for job in desk.jobs.lock().all.values_mut() {
            job.since = UnixMillis(job.since.0 - 60_000);
        }
        for place in &coming[2..] {
            place.arrival.add_bytes(60 << 20);
        }
        coming[0].arrival.add_bytes(1_000);
        let mut newcomers = Vec::new();
        for slow in [1, 0] {
            let newcomer = take(100 + slow).unwrap();
            assert_eq!(
                coming[slow].arrival.receive_or_abort(std::future::pending::<()>()).await,
                None
            );
            newcomer.arrival.add_bytes(60 << 20);
            newcomers.push(newcomer);
        }
        assert_eq!(take(110).unwrap_err(), UploadLimit::All, "the others are fast enough");
    }

    #[test]
    fn files_that_are_still_coming_take_no_place() {
        let desk = desk();
        let slow: Vec<UploadSlot> =
            (0..20).map(|n| desk.reserve_slot(address(n)).unwrap()).collect();
        let here = 100..100 + PLACES_MAX as u8;
        let here: Vec<UploadSlot> = here.map(|n| desk.reserve_slot(address(n)).unwrap()).collect();
        assert!(here.iter().all(|place| desk.queue_upload(&place.link).is_ok()));
        assert!(desk.queue_upload(&here[0].link).is_ok(), "it has one");
        assert_eq!(desk.queue_upload(&slow[0].link), Err(UploadLimit::All));
        assert_eq!(desk.reserve_slot(address(200)).unwrap_err(), UploadLimit::All);
        drop(here);
        assert_eq!(desk.queue_upload(&slow[0].link), Ok(()));
    }

    #[test]
    fn addresses_of_one_network_of_the_sixth_version_count_as_one() {
        let desk = desk();
        let of = |text: &str| desk.reserve_slot(text.parse().unwrap());
        let _held = [of("2001:db8:1:2::1").unwrap(), of("2001:db8:1:2:ffff::9").unwrap()];
        assert_eq!(of("2001:db8:1:2:3:4:5:6").unwrap_err(), UploadLimit::Address);
        let _others = [of("2001:db8:1:3::1").unwrap(), of("::ffff:203.0.113.7").unwrap()];
        let _more = of("203.0.113.7").unwrap();
        assert_eq!(of("::ffff:203.0.113.7").unwrap_err(), UploadLimit::Address);
        assert!(of("::ffff:203.0.113.8").is_ok(), "two of the fourth version are two");
    }

    #[test]
    fn a_link_leads_to_what_became_of_it_and_others_nowhere() {
        let (desk, rules) = (desk(), config::UploadsConfig::default());
        let place = desk.reserve_slot(address(1)).unwrap();
        assert_eq!(desk.upload_status(&place.link, &rules), Some(UploadStatus::Coming));
        desk.set_stage(&place.link, UploadStage::Waiting);
        assert_eq!(desk.upload_status(&place.link, &rules), Some(UploadStatus::Waiting(0)));
        let next = desk.reserve_slot(address(1)).unwrap();
        desk.set_stage(&next.link, UploadStage::Waiting);
        assert_eq!(desk.upload_status(&next.link, &rules), Some(UploadStatus::Waiting(1)));
        for link in ["", "x", "../../etc/passwd", &"a".repeat(LINK_CHARS)] {
            assert_eq!(desk.upload_status(link, &rules), None, "{link}");
        }
    }

    #[test]
    fn of_what_failed_only_so_much_is_remembered() {
        let desk = desk();
        for n in 0..FAILED_MAX + 50 {
            let mut place = desk.reserve_slot(address(1)).unwrap();
            place.is_kept = true;
            desk.set_stage(&place.link, UploadStage::Failed(n.to_string()));
            desk.jobs.lock().forget_failed(UnixMillis(0));
        }
        let jobs = desk.jobs.lock();
        assert_eq!(jobs.all.len(), FAILED_MAX + PLACES_MAX);
        assert!(
            jobs.all
                .values()
                .any(|job| job.stage == UploadStage::Failed((FAILED_MAX + 49).to_string()))
        );
        drop(jobs);
        desk.jobs.lock().forget_failed(UnixMillis(i64::MAX));
        assert!(desk.jobs.lock().all.is_empty());
    }

    #[test]
    fn names_are_plain() {
        for (said, name) in [
            ("gtfs.zip", "gtfs.zip"),
            ("C:\\feeds\\my gtfs (2).zip", "my gtfs (2).zip"),
            ("https://a.example/b/gtfs.zip?key=s3cret", "gtfs.zipkeys3cret"),
            ("../{input}", "input"),
            ("--output=x", "--outputx"),
            ("//", "a file without a name"),
            ("\u{1b}[2J", "2J"),
        ] {
            assert_eq!(sanitize_file_name(said), name, "{said}");
        }
        assert_eq!(sanitize_file_name(&"x".repeat(1_000)).len(), NAME_CHARS_MAX);
    }
}
