//! A GBFS system: its discovery file is polled like any feed and lists the other files. Each of them has its own
//! poller, which follows the file's `ttl`; the rate limit of their host counts all of them together.
//!
//! The operator has configured the host of the discovery file and no other. The author of that file could otherwise
//! make this server contact any machine in its reach, so files on other hosts are treated like URLs of untrusted users:
//! only on the public internet, and without credentials.

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;
use lineside_fetch::PublicOnlyHttpClient;
use lineside_formats::{Format, Problem, Problems};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;
use tokio::sync::oneshot;
use tokio_util::sync::DropGuard;
use url::Url;

use super::{GbfsFileProtocol, gbfs_file::GbfsNetworkLink};
use crate::{
    catalog::{Feed, GbfsFeedFile, RestoredSnapshotInfo, prefix_with_language},
    feed_config::FeedConfig,
    fetch_failure::{FailureCode, FetchError},
    limits::{
        GBFS_FILE_BYTES_MAX, GBFS_OTHER_HOSTS_MAX, GBFS_TTL_DEFAULT, GBFS_TTL_LONGEST,
        GBFS_TTL_SHORTEST, HOST_START_GAP,
    },
    normalize::GbfsRecordFileKind,
    poll::{
        FeedPoller, SharedPollerContext,
        observe::MessageToObserve,
        polled_feed::PolledFeed,
        protocol::{BoxFuture, SourceProtocol},
    },
    snapshot::FeedBodySnapshot,
    snapshot_writer::redacted_source_with_hash,
    source::{SourceLocation, url_host},
    status::FeedStatus,
};

/// The protocol of a GBFS system: its discovery file, and the pollers of the files that it lists.
#[derive(Debug)]
pub(in crate::poll) struct GbfsProtocol {
    shared: SharedPollerContext,
    /// The system's network.
    network_link: Option<GbfsNetworkLink>,
    running: HashMap<SmolStr, PolledGbfsFile>,
    /// True once the files of a discovery file are polled.
    is_following: bool,
}

/// A file that is polled until this value is dropped.
#[derive(Debug)]
struct PolledGbfsFile {
    part: GbfsFeedFile,
    /// True if the network receives the file's records.
    has_network_link: bool,
    _stop: DropGuard,
}

/// A file listed in the discovery file.
#[derive(Debug)]
struct ListedFile {
    /// The name with its language, unique within the system.
    key: SmolStr,
    language: Option<SmolStr>,
    name: SmolStr,
    url: Url,
    /// True if the file is not on the configured host.
    is_elsewhere: bool,
    /// True if no earlier file in the list is of the same kind, in another language or by another name.
    is_first: bool,
}

impl SourceProtocol for GbfsProtocol {
    fn can_decode_format(&self, format: Format) -> bool {
        format.is_shared_mobility()
    }

    fn as_dyn_protocol(&mut self) -> &mut dyn SourceProtocol {
        self
    }

    fn decode_and_apply_body<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        body: Bytes,
        _format: Format,
        _now: UnixMillis,
    ) -> BoxFuture<'a, Result<Option<MessageToObserve>, FetchError>> {
        Box::pin(async move { self.accept_discovery_file(polled, &body).await.map(|()| None) })
    }

    fn must_decode_unchanged_body(&self, _polled: &PolledFeed) -> bool {
        !self.is_following
    }

    /// The list of files exists only in the bytes.
    fn is_body_needed_at_start(&self) -> bool {
        true
    }

    fn decode_restored_body<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        snapshot: &'a FeedBodySnapshot,
        _is_too_old: bool,
    ) -> BoxFuture<'a, Result<(), FetchError>> {
        Box::pin(self.accept_discovery_file(polled, &snapshot.bytes))
    }

    fn poll_listed_files_now(&self) {
        for file in self.running.values() {
            if let Some(poll_requests) = file.part.feed.poll_request_sender() {
                // A failed send means that a poll is already requested.
                let _ = poll_requests.try_send(oneshot::channel().0);
            }
        }
    }
}

impl GbfsProtocol {
    /// Creates the protocol of a system; its files are polled once its discovery file has been read.
    pub(in crate::poll) fn new(
        polled: &mut PolledFeed,
        shared: &SharedPollerContext,
    ) -> GbfsProtocol {
        polled.set_interval_from_ttl(None);
        let network_link = GbfsNetworkLink::for_feed(polled);
        GbfsProtocol {
            shared: shared.clone(),
            network_link,
            running: HashMap::new(),
            is_following: false,
        }
    }

    /// Accepts the discovery file.
    async fn accept_discovery_file(
        &mut self,
        polled: &mut PolledFeed,
        body: &Bytes,
    ) -> Result<(), FetchError> {
        let refused = |error: lineside_formats::Error| FetchError::from_decoder_error(&error);
        polled.set_interval_from_ttl(lineside_gbfs::parse_file_ttl(body).map_err(refused)?);
        if polled.feed.config().url.is_local_path() {
            let detail = "the URL of a GBFS system must begin with http or https";
            return Err(FetchError::new(FailureCode::Decode, detail));
        }
        let (discovery, mut problems) =
            lineside_gbfs::decode_discovery_file(body, &lineside_gbfs::DiscoveryLimits::default())
                .map_err(refused)?;
        if discovery.entries.is_empty() {
            // A temporarily empty list would remove all data of the system.
            return Err(FetchError::new(FailureCode::Empty, "the discovery file lists no files"));
        }
        let own = (&mut polled.status, &mut polled.rng);
        self.start_and_stop_file_pollers(&polled.feed, &discovery, &mut problems, own).await;
        polled.status.entities = polled.feed.gbfs_files().len() as u64;
        polled.status.problems = Arc::new(problems);
        polled.record_success();
        Ok(())
    }

    /// Polls exactly the listed files. Adds problems of the list, and adds the counters of removed files to `status`.
    async fn start_and_stop_file_pollers(
        &mut self,
        feed: &Arc<Feed>,
        discovery: &lineside_gbfs::DiscoveryFile,
        problems: &mut Problems,
        (status, rng): (&mut FeedStatus, &mut fastrand::Rng),
    ) {
        let SourceLocation::Http(base) = &feed.config().url else { return };
        let mut running = std::mem::take(&mut self.running);
        // Files of the system's former configuration are visible too, but no longer polled.
        let parts = feed.gbfs_files();
        let mut shown: HashMap<&SmolStr, &Arc<Feed>> =
            parts.iter().map(|part| (part.feed.gbfs_file_name(), &part.feed)).collect();
        let mut now: Vec<GbfsFeedFile> = Vec::new();
        let mut missing_kinds = GbfsRecordFileKind::ALL.to_vec();
        for file in list_files_to_poll(base, discovery, problems) {
            missing_kinds
                .retain(|kind| GbfsRecordFileKind::from_file_name(&file.name) != Some(*kind));
            if let Some(shared) = now.iter().find(|part| file.is_same_file(part)) {
                // A file shared by languages is polled once.
                let part = GbfsFeedFile { language: file.language, ..GbfsFeedFile::clone(shared) };
                now.push(part);
                continue;
            }
            let known = shown.remove(&file.key).or_else(|| {
                // A file shared by languages is named after the first of them, which may have changed.
                let same = parts.iter().find(|part| file.is_same_file(part))?;
                let known = shown.remove(same.feed.gbfs_file_name())?;
                self.shared.snapshots.delete_snapshot(&known.snapshot_key());
                Some(known)
            });
            let is_same =
                |it: &PolledGbfsFile| it.has_url(&file.url) && it.has_network_link == file.is_first;
            let running = running.remove(&file.key).filter(is_same);
            let running = match running {
                Some(running) => running,
                None => self.start_file_poller(feed, base, &file, known, (now.len(), rng)).await,
            };
            now.push(running.part.clone());
            self.running.insert(file.key, running);
        }
        feed.set_gbfs_files(now);
        // Pollers end before their file is reported as missing: they must not send anything afterwards.
        drop(running);
        if let Some(link) = &self.network_link {
            for kind in missing_kinds {
                link.remove_records_from_network(kind, self.shared.clock.wall_time()).await;
            }
        }
        for removed in shown.into_values() {
            status.add_poll_counters(&removed.status());
            self.shared.snapshots.delete_snapshot(&removed.snapshot_key());
        }
        self.is_following = true;
    }

    /// Starts polling a file. A known file keeps its last good bytes until there are newer ones.
    async fn start_file_poller(
        &self,
        feed: &Arc<Feed>,
        base: &Url,
        file: &ListedFile,
        known: Option<&Arc<Feed>>,
        (number, rng): (usize, &mut fastrand::Rng),
    ) -> PolledGbfsFile {
        let config = Arc::new(config_for_file(feed.config(), base, file));
        let its = Arc::new(feed.new_gbfs_file_feed(config, file.key.clone()));
        if let Some(known) = known {
            its.copy_status_and_snapshot_from(known);
        }
        self.restore_stored_file(&its).await;
        let gap = HOST_START_GAP.saturating_mul(u32::try_from(number).unwrap_or(u32::MAX));
        let stop = self.shared.tasks.stop.child_token();
        let link = self.network_link.clone().filter(|_| file.is_first);
        let link = link.map(|link| GbfsNetworkLink { language: file.language.clone(), ..link });
        let poller = FeedPoller::new_outside_network(
            Arc::clone(&its),
            &self.shared,
            rng.u64(..),
            gap,
            |polled| Box::new(GbfsFileProtocol::new(polled, link)),
        );
        self.shared.tasks.tracker.spawn(poller.run_as_boxed_future(stop.clone()));
        let part = GbfsFeedFile {
            language: file.language.clone(),
            name: file.name.clone(),
            sibling_name: file_name_beside_discovery(base, &file.url),
            feed: its,
        };
        PolledGbfsFile { part, has_network_link: file.is_first, _stop: stop.drop_guard() }
    }

    /// Restores a file's stored bytes and validators; only the validators if it has its bytes already.
    async fn restore_stored_file(&self, part: &Feed) {
        let (snapshots, key) = (Arc::clone(&self.shared.snapshots), part.snapshot_key());
        let read = tokio::task::spawn_blocking(move || snapshots.read_snapshot(&key)).await;
        let Ok(Some((head, bytes))) = read else { return };
        if head.source != redacted_source_with_hash(part.config())
            || !head.format.is_shared_mobility()
        {
            return;
        }
        match part.snapshot() {
            None => part.restore_snapshot(head, bytes, self.shared.clock.wall_time()),
            Some(stored_snapshot) if stored_snapshot.hash == head.hash => {
                part.set_restored_snapshot_info(RestoredSnapshotInfo { head, is_undecoded: true });
            }
            Some(_) => {}
        }
    }
}

impl PolledGbfsFile {
    fn has_url(&self, url: &Url) -> bool {
        is_file_at_url(&self.part, url)
    }
}

impl ListedFile {
    /// Returns true if both are the same file, possibly in different languages.
    fn is_same_file(&self, part: &GbfsFeedFile) -> bool {
        self.name == part.name && is_file_at_url(part, &self.url)
    }
}

fn is_file_at_url(part: &GbfsFeedFile, url: &Url) -> bool {
    matches!(&part.feed.config().url, SourceLocation::Http(its) if its == url)
}

/// Returns the files to poll; each other file is a problem.
fn list_files_to_poll(
    base: &Url,
    discovery: &lineside_gbfs::DiscoveryFile,
    problems: &mut Problems,
) -> Vec<ListedFile> {
    let mut all = Vec::new();
    let mut others: Vec<Option<String>> = Vec::new();
    for entry in discovery.entries.iter().filter(|entry| &*entry.name != "gbfs") {
        let mut refuse = |code, why: &str| {
            let detail = format!("the file is not fetched: {why}");
            // The URL is left out: it may contain secrets of the operator.
            problems.push(Problem::new(&*entry.name, code, detail));
        };
        let Ok(url) = base.join(&entry.url) else {
            refuse("bad_url", "the URL is invalid");
            continue;
        };
        let host = url_host(&url);
        let is_elsewhere =
            host != url_host(base) || !matches!(url.scheme(), "http" | "https") || host.is_none();
        if is_elsewhere {
            if let Err(why) = PublicOnlyHttpClient::check_public_url(&url) {
                refuse("not_public", &why.to_string());
                continue;
            }
            if !others.contains(&host) {
                if others.len() >= GBFS_OTHER_HOSTS_MAX {
                    let why =
                        format!("the system uses more than {GBFS_OTHER_HOSTS_MAX} other hosts");
                    refuse("too_many_hosts", &why);
                    continue;
                }
                others.push(host);
            }
        }
        let language = entry.language.as_deref().map(SmolStr::new);
        let name = SmolStr::new(&entry.name);
        let key = prefix_with_language(language.as_deref(), &name);
        // Two names of one kind, of an old and a new GBFS version, would overwrite each other's records.
        let is_same = |other: &SmolStr| match lineside_gbfs::FileKind::kind_from_file_name(&name) {
            Some(kind) => lineside_gbfs::FileKind::kind_from_file_name(other) == Some(kind),
            None => *other == name,
        };
        let is_first = all.iter().all(|it: &ListedFile| !is_same(&it.name));
        all.push(ListedFile { key, language, name, url, is_elsewhere, is_first });
    }
    all
}

/// Returns a file's configuration: like its system's, but secrets are sent only to the configured origin.
fn config_for_file(system: &FeedConfig, base: &Url, file: &ListedFile) -> FeedConfig {
    let mut config = FeedConfig {
        url: SourceLocation::Http(file.url.clone()),
        static_feed: None,
        public_only: system.public_only || file.is_elsewhere,
        max_bytes: system.max_bytes.min(GBFS_FILE_BYTES_MAX),
        ..system.clone()
    };
    if file.url.origin() != base.origin() {
        config.headers.clear();
        config.query.clear();
        (config.basic, config.oauth2) = (None, None);
    }
    config
}

/// Returns a file's name in its URL, if it is in the folder of the discovery file.
fn file_name_beside_discovery(base: &Url, url: &Url) -> Option<SmolStr> {
    let (folder, _) = base.path().rsplit_once('/')?;
    let (its_folder, name) = url.path().rsplit_once('/')?;
    let is_in_folder = base.origin() == url.origin() && folder == its_folder && !name.is_empty();
    is_in_folder.then(|| SmolStr::new(name.strip_suffix(".json").unwrap_or(name)))
}

impl PolledFeed {
    /// Polls a GBFS file as often as its `ttl` says, within limits.
    pub(super) fn set_interval_from_ttl(&mut self, ttl: Option<Duration>) {
        self.body_ttl = ttl;
        let interval = ttl.unwrap_or(GBFS_TTL_DEFAULT);
        self.recommended_interval = Some(interval.clamp(GBFS_TTL_SHORTEST, GBFS_TTL_LONGEST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "https://bikes.example/v2/gbfs.json?key=1";

    /// Returns the files polled for these URLs, and the problems of the others.
    fn listed(urls: &[&str]) -> (Vec<ListedFile>, Vec<(&'static str, String)>) {
        let entry = |(n, url): (usize, &&str)| lineside_gbfs::DiscoveryEntry {
            language: None,
            name: format!("f{n}").into(),
            url: (*url).into(),
        };
        let entries = urls.iter().enumerate().map(entry).collect();
        let mut problems = Problems::new();
        let all = list_files_to_poll(
            &url(BASE),
            &lineside_gbfs::DiscoveryFile { entries },
            &mut problems,
        );
        let details =
            problems.retained_problems().iter().map(|it| (it.code, it.detail.to_string()));
        (all, details.collect())
    }

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_file_on_a_private_host_is_rejected_with_a_problem() {
        for private in [
            "http://127.0.0.1/latest",
            "http://169.254.169.254/latest/meta-data",
            "http://[::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://2130706433/",
            "http://bikes.example:8080@192.168.0.1/",
        ] {
            let (all, details) = listed(&[private]);
            assert!(all.is_empty(), "{private}");
            assert_eq!(details[0].0, "not_public", "{private}");
        }
        let (all, details) = listed(&["file:///etc/passwd", "ftp://bikes.example/f", "http://["]);
        assert!(all.is_empty());
        let codes: Vec<_> = details.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, ["not_public", "not_public", "bad_url"]);
        assert!(details[0].1.contains("only http and https"), "{details:?}");
    }

    #[test]
    fn files_on_the_host_of_the_discovery_file_are_allowed() {
        let base = url("http://127.0.0.1:8080/gbfs.json");
        let entry = |url: &str| lineside_gbfs::DiscoveryEntry {
            language: None,
            name: url.into(),
            url: url.into(),
        };
        let entries =
            ["http://127.0.0.1:8080/a", "b", "http://127.0.0.1:22/", "http://127.0.0.2:8080/c"]
                .map(entry);
        let discovery = lineside_gbfs::DiscoveryFile { entries: entries.into() };
        let all = list_files_to_poll(&base, &discovery, &mut Problems::new());
        let paths: Vec<_> = all.iter().map(|it| (it.url.path(), it.is_elsewhere)).collect();
        assert_eq!(paths, [("/a", false), ("/b", false)]);
    }

    #[test]
    fn a_public_file_on_another_host_is_requested_without_credentials() {
        let (all, details) = listed(&["https://cdn.example/status.json", "status.json"]);
        assert!(details.is_empty(), "{details:?}");
        let mut system = FeedConfig::new(
            crate::feed_id::FeedId::new("bikes").unwrap(),
            SourceLocation::parse(BASE).unwrap(),
        );
        system.headers = vec![("key".to_owned(), lineside_model::Secret::new("s3cret"))];
        let configs: Vec<FeedConfig> =
            all.iter().map(|it| config_for_file(&system, &url(BASE), it)).collect();
        assert_eq!((configs[0].public_only, configs[0].headers.len()), (true, 0));
        assert_eq!((configs[1].public_only, configs[1].headers.len()), (false, 1));
        assert_eq!(configs[0].max_bytes, GBFS_FILE_BYTES_MAX);
    }

    #[test]
    fn the_number_of_other_hosts_is_limited() {
        let urls: Vec<String> =
            (0..20).map(|n| format!("https://h{}.example/{n}", n % 10)).collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let (all, details) = listed(&urls);
        assert_eq!(all.len(), 2 * GBFS_OTHER_HOSTS_MAX);
        assert!(details.iter().all(|(code, _)| *code == "too_many_hosts"), "{details:?}");
    }

    #[test]
    fn a_file_next_to_the_discovery_file_has_a_sibling_name() {
        let base = url(BASE);
        let name = |text: &str| file_name_beside_discovery(&base, &base.join(text).unwrap());
        assert_eq!(name("free_bikes.json?x=1").as_deref(), Some("free_bikes"));
        assert_eq!(name("/v2/bikes").as_deref(), Some("bikes"));
        for sibling_path in
            ["fr/status.json", "/status.json", "https://cdn.example/v2/s.json", "./"]
        {
            assert_eq!(name(sibling_path), None, "{sibling_path}");
        }
    }
}
