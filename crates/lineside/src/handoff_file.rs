//! The file in the data folder with which a clean stop hands the networks and channel logs over to the next start, so
//! that subscribers can resume.
//!
//! It is written under a temporary name and renamed when complete, and it is deleted before any of it is used. So a
//! crashed process leaves no file, and no position has two meanings.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use lineside_ingest::{HandoffFileContent, HandoffWriter, Ingest, WrittenNetworkGroups};
use lineside_sync::UnixMillis;

/// Name of the file in the data folder.
const HANDOFF_FILE: &str = "handoff.bin";
/// Name of the file while it is being written.
const PART_FILE: &str = "handoff.bin.part";
/// Readable for its owner only: it holds publications of channels that are not public.
const MODE: u32 = 0o600;
const BUFFER_BYTES: usize = 256 << 10;

/// Loads the state that an earlier process left, and deletes the file. An unusable file is logged and stays until the
/// next clean stop replaces it.
pub(crate) fn load_and_delete_handoff(folder: &Path) -> Option<HandoffFileContent> {
    // A leftover of an interrupted stop.
    let _ = fs::remove_file(folder.join(PART_FILE));
    let path = folder.join(HANDOFF_FILE);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => return log_unusable_file(&path, &error),
    };
    let state = match HandoffFileContent::from_reader(BufReader::with_capacity(BUFFER_BYTES, file))
    {
        Ok(state) => state,
        Err(error) => return log_unusable_file(&path, &error),
    };
    // The state may be used only if no later start can load it again.
    match fs::remove_file(&path).and_then(|()| fsync_folder(folder)) {
        Ok(()) => Some(state),
        Err(error) => log_unusable_file(&path, &format_args!("it cannot be deleted: {error}")),
    }
}

fn log_unusable_file(path: &Path, error: &dyn std::fmt::Display) -> Option<HandoffFileContent> {
    tracing::warn!(
        file = %path.display(), %error,
        "the state of the last stop cannot be used: every channel starts with a new epoch, and clients that reconnect receive a full state, marked as a gap"
    );
    None
}

/// Deletes a file that could not be completed, for example on a full disk.
fn delete_part_file(folder: &Path) {
    let _ = fs::remove_file(folder.join(PART_FILE));
}

/// Syncs the folder: only then is a removal or a new name durable.
fn fsync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A handoff file that is being written.
#[derive(Debug)]
pub(crate) struct HandoffFileWriter {
    folder: PathBuf,
    writer: HandoffWriter<BufWriter<File>>,
    networks: WrittenNetworkGroups,
}

impl HandoffFileWriter {
    /// Creates the file and writes the networks, which have stopped polling.
    pub(crate) fn create_with_networks(
        folder: PathBuf,
        ingest: &Ingest,
        now: UnixMillis,
    ) -> io::Result<Self> {
        let part = folder.join(PART_FILE);
        match fs::remove_file(&part) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(part)?;
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        let written = HandoffWriter::begin_handoff_file(file, now).and_then(|mut writer| {
            let networks = ingest.write_networks_to_handoff(&mut writer)?;
            Ok((writer, networks))
        });
        let (writer, networks) = written.inspect_err(|_| delete_part_file(&folder))?;
        Ok(Self { folder, writer, networks })
    }

    /// Writes the logs of channels, into which nothing is published any more, and renames the file to its final name.
    pub(crate) fn write_logs_and_publish(self, ingest: &Ingest) -> io::Result<()> {
        let folder = self.folder.clone();
        self.write_logs_and_rename(ingest).inspect_err(|_| delete_part_file(&folder))
    }

    fn write_logs_and_rename(mut self, ingest: &Ingest) -> io::Result<()> {
        ingest.write_channel_logs_to_handoff(&self.networks, &mut self.writer)?;
        let file = self
            .writer
            .finish_handoff_file()?
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        fs::rename(self.folder.join(PART_FILE), self.folder.join(HANDOFF_FILE))?;
        fsync_folder(&self.folder)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;

    use bytes::Bytes;
    use lineside_hub::{EncodedChannelName, HistoryQuery, HubConfig, Namespace, PublicationExtras};
    use lineside_ingest::{InboxSettings, IngestOptions};
    use lineside_model::{MemoryArchive, Secret};
    use lineside_sync::RealClock;

    use super::*;

    fn ingest(handoff: Option<HandoffFileContent>) -> Arc<Ingest> {
        let history =
            lineside_hub::HistoryOptions { size: 9, ttl: std::time::Duration::from_secs(600) };
        let namespace = Namespace { history: Some(history), ..Namespace::default() };
        let options = IngestOptions {
            feeds: Vec::new(),
            clock: Arc::new(RealClock::new()),
            seed: fastrand::u64(..),
            hub: HubConfig { namespaces: vec![namespace], ..HubConfig::default() },
            user_agent: String::new(),
            load_limits: lineside_model::DecodingLimits::default(),
            archive: Arc::new(MemoryArchive::new(Arc::new(RealClock::new()))),
            snapshots: Arc::new(lineside_model::MemorySnapshotStore::default()),
            extra_channels: None,
            message_observer: None,
            inboxes: InboxSettings {
                address: None,
                subscriber: "lineside-1".into(),
                keys: Arc::new(|| Secret::new("key")),
            },
        };
        Ingest::start_polling_with_handoff(options, handoff)
    }

    fn publish_one(ingest: &Ingest) {
        let channel = EncodedChannelName::parse_channel_name("app/x").unwrap();
        let data = Bytes::from_static(b"{\"said\":1}");
        ingest.hub().publish_to_app_channel(&channel, data, PublicationExtras::default()).unwrap();
    }

    fn count_publications(ingest: &Ingest) -> usize {
        let all = HistoryQuery { limit: 9, since: None, reverse: false };
        let channel = EncodedChannelName::parse_channel_name("app/x").unwrap();
        ingest.hub().read_history(&channel, all).unwrap().publications.len()
    }

    async fn stop(ingest: &Ingest, folder: &Path) {
        ingest.stop_polling().await;
        let handoff =
            HandoffFileWriter::create_with_networks(folder.to_owned(), ingest, UnixMillis(0))
                .unwrap();
        handoff.write_logs_and_publish(ingest).unwrap();
    }

    #[tokio::test]
    async fn a_handoff_file_is_loaded_once() {
        let folder = tempfile::tempdir().unwrap();
        let now = ingest(load_and_delete_handoff(folder.path()));
        publish_one(&now);
        stop(&now, folder.path()).await;
        let file = folder.path().join(HANDOFF_FILE);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, MODE);
        assert!(!folder.path().join(PART_FILE).exists());
        let next = load_and_delete_handoff(folder.path());
        assert!(next.is_some() && !file.exists());
        assert!(
            load_and_delete_handoff(folder.path()).is_none(),
            "after a crash, the state is not loaded again"
        );
    }

    #[tokio::test]
    async fn an_unusable_handoff_file_stays_until_the_next_stop_replaces_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(HANDOFF_FILE);
        fs::write(&file, b"LINEKEPT and then something else, long enough for a head").unwrap();
        fs::write(folder.path().join(PART_FILE), b"half").unwrap();
        let now = ingest(load_and_delete_handoff(folder.path()));
        assert!(file.exists());
        assert_eq!(count_publications(&now), 0);
        stop(&now, folder.path()).await;
        assert!(load_and_delete_handoff(folder.path()).is_some());
        // A folder under that name can be neither read nor deleted as a file.
        fs::create_dir(&file).unwrap();
        assert!(load_and_delete_handoff(folder.path()).is_none());
    }

    #[tokio::test]
    async fn the_history_of_an_app_channel_survives_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let first = ingest(None);
        publish_one(&first);
        first.stop_polling().await;
        let now = first.hub().clock().wall_time();
        let handoff =
            HandoffFileWriter::create_with_networks(folder.path().to_owned(), &first, now).unwrap();
        // A publication just before the end is included.
        publish_one(&first);
        handoff.write_logs_and_publish(&first).unwrap();
        let next = ingest(load_and_delete_handoff(folder.path()));
        assert_eq!(count_publications(&next), 2);
    }
}
