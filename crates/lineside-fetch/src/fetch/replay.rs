//! Replay: a folder of successive snapshots, played in time order like a live source.
//!
//! Every snapshot is played once, none is skipped, and the last one remains. A gap in the recording takes at most
//! [`HOLE_MAX`] of recorded time. The recording ends as long after its last snapshot, and its clock stops.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use lineside_formats::gtfs_rt::read_header_timestamp;
use lineside_sync::{Clock, UnixMillis};

use super::{
    FetchOutcome, FetchedBody,
    file::{display_path, read_file, read_file_stamp, to_unix_millis},
    run_blocking,
};
use crate::fetch_failure::{FailureCode, FetchError};
use crate::limits::REPLAY_FILES_MAX;

/// The longest gap of a recording that is played in full.
const HOLE_MAX: Duration = Duration::from_secs(10 * 60);

/// Plays a folder.
#[derive(Debug)]
pub struct ReplayFetcher {
    dir: PathBuf,
    speed: f64,
    pub(super) max: u64,
    clock: Arc<dyn Clock>,
    tape: OnceLock<ReplayClock>,
    /// The number of frames played.
    played: usize,
}

/// The recorded time of a folder that is being played.
#[derive(Clone, Debug)]
pub struct ReplayClock(Arc<ReplayRecording>);

#[derive(Debug)]
struct ReplayRecording {
    started: Duration,
    speed: f64,
    frames: Vec<ReplayFrame>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ReplayFrame {
    /// The time of the recording.
    at: UnixMillis,
    path: PathBuf,
    /// Recorded time from the first frame to this one, with gaps shortened.
    offset: Duration,
}

impl ReplayClock {
    /// Returns the recorded time at `monotonic` of the playing clock.
    pub fn recorded_time(&self, monotonic: Duration) -> UnixMillis {
        let elapsed = self.elapsed_replay_time(monotonic).min(self.end_offset());
        let frames = &self.0.frames;
        let next = frames.partition_point(|frame| frame.offset <= elapsed);
        let Some(frame) = frames.get(next.saturating_sub(1)) else { return UnixMillis(0) };
        frame.at + elapsed.saturating_sub(frame.offset)
    }

    /// Returns the time of the last snapshot if the recording has ended at `monotonic` of the playing clock.
    pub fn ended_at(&self, monotonic: Duration) -> Option<UnixMillis> {
        let last = self.0.frames.last()?;
        (self.elapsed_replay_time(monotonic) >= self.end_offset()).then_some(last.at)
    }

    /// Returns the recorded seconds per second at `monotonic` of the playing clock: 0 once the recording has ended.
    pub fn rate(&self, monotonic: Duration) -> f64 {
        if self.ended_at(monotonic).is_some() { 0.0 } else { self.0.speed }
    }

    /// Returns the recorded time from the first snapshot to the end, with gaps shortened.
    fn end_offset(&self) -> Duration {
        self.0.frames.last().map_or(Duration::ZERO, |last| last.offset + HOLE_MAX)
    }

    fn elapsed_replay_time(&self, monotonic: Duration) -> Duration {
        monotonic.saturating_sub(self.0.started).mul_f64(self.0.speed)
    }
}

impl ReplayFetcher {
    pub(super) fn new(dir: PathBuf, speed: f64, max: u64, clock: Arc<dyn Clock>) -> ReplayFetcher {
        ReplayFetcher { dir, speed, max, clock, tape: OnceLock::new(), played: 0 }
    }

    pub(super) fn replay_clock(&self) -> Option<ReplayClock> {
        self.tape.get().cloned()
    }

    /// Returns the time until the next frame; `None` if all have been played.
    pub(super) fn time_until_next_frame(&self) -> Option<Duration> {
        let tape = self.tape.get()?;
        let next = tape.0.frames.get(self.played)?;
        let wait = next.offset.saturating_sub(tape.elapsed_replay_time(self.clock.monotonic()));
        Some(wait.div_f64(self.speed))
    }

    pub(super) async fn fetch_due_frame(&mut self) -> Result<FetchOutcome, FetchError> {
        if self.tape.get().is_none() {
            let (dir, max) = (self.dir.clone(), self.max);
            let frames = run_blocking(move || list_replay_frames(&dir, max)).await?;
            let tape =
                ReplayRecording { started: self.clock.monotonic(), speed: self.speed, frames };
            self.tape.get_or_init(|| ReplayClock(Arc::new(tape)));
        }
        let due = self.time_until_next_frame() == Some(Duration::ZERO);
        let frame = self.tape.get().and_then(|tape| tape.0.frames.get(self.played)).cloned();
        let Some(frame) = frame.filter(|_| due) else { return Ok(FetchOutcome::NotModified) };
        // An unreadable frame is skipped: otherwise it would stop the replay.
        self.played += 1;
        let max = self.max;
        run_blocking(move || {
            Ok(FetchOutcome::Body(FetchedBody {
                bytes: read_file(&frame.path, max)?,
                content_type: None,
                last_modified: Some(frame.at),
                file_name: frame.path.file_name().and_then(|name| name.to_str()).map(str::to_owned),
                status: None,
            }))
        })
        .await
    }
}

/// Lists the folder's snapshots in time order.
fn list_replay_frames(dir: &Path, max: u64) -> Result<Vec<ReplayFrame>, FetchError> {
    let fail = |error: std::io::Error| FetchError::from_io(&display_path(dir), &error);
    let mut frames = Vec::new();
    for entry in fs::read_dir(dir).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let hidden =
            path.file_name().and_then(|name| name.to_str()).is_none_or(|n| n.starts_with('.'));
        if hidden || !path.is_file() {
            continue;
        }
        if frames.len() == REPLAY_FILES_MAX {
            let detail =
                format!("{} contains more than {REPLAY_FILES_MAX} files", display_path(dir));
            return Err(FetchError::new(FailureCode::TooLarge, detail));
        }
        let at = read_recording_time(&path, max)?;
        frames.push(ReplayFrame { at, path, offset: Duration::ZERO });
    }
    if frames.is_empty() {
        let detail = format!("{} contains no snapshots", display_path(dir));
        return Err(FetchError::new(FailureCode::Empty, detail));
    }
    frames.sort();
    for i in 1..frames.len() {
        let hole = frames[i].at.duration_since(frames[i - 1].at);
        frames[i].offset = frames[i - 1].offset + hole.min(HOLE_MAX);
    }
    Ok(frames)
}

/// Returns the time in the message's header, else the Unix time in the file name, else the modification time.
fn read_recording_time(path: &Path, max: u64) -> Result<UnixMillis, FetchError> {
    if let Some(at) = header_time(path, max) {
        return Ok(at);
    }
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if let Some(at) = parse_time_in_file_name(name) {
        return Ok(at);
    }
    Ok(read_file_stamp(path)?.1.and_then(to_unix_millis).unwrap_or_default())
}

fn header_time(path: &Path, max: u64) -> Option<UnixMillis> {
    let bytes = read_file(path, max).ok()?;
    read_header_timestamp(bytes).map(UnixMillis::from_seconds)
}

/// Returns the first run of exactly ten digits, read as Unix seconds (2001 to 2286).
fn parse_time_in_file_name(name: &str) -> Option<UnixMillis> {
    let digits = name.split(|c: char| !c.is_ascii_digit()).find(|digits| digits.len() == 10)?;
    Some(UnixMillis::from_seconds(digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use lineside_sync::SimulatedClock;

    use super::*;

    fn tape(times: &[i64], speed: f64) -> ReplayClock {
        let mut frames: Vec<ReplayFrame> = times
            .iter()
            .map(|&at| ReplayFrame {
                at: UnixMillis::from_seconds(at),
                path: PathBuf::new(),
                offset: Duration::ZERO,
            })
            .collect();
        for i in 1..frames.len() {
            let hole = frames[i].at.duration_since(frames[i - 1].at).min(HOLE_MAX);
            frames[i].offset = frames[i - 1].offset + hole;
        }
        ReplayClock(Arc::new(ReplayRecording { started: Duration::from_secs(5), speed, frames }))
    }

    #[test]
    fn recorded_time_runs_at_the_replay_speed_and_skips_gaps() {
        let clock = tape(&[1_000, 1_060, 100_000], 10.0);
        let at = |seconds| clock.recorded_time(Duration::from_secs(seconds)).unix_seconds();
        assert_eq!(at(0), 1_000);
        assert_eq!(at(5), 1_000);
        assert_eq!(at(8), 1_030);
        assert_eq!(at(11), 1_060);
        // The gap of more than a day takes ten recorded minutes: one real minute.
        assert_eq!(at(5 + 6 + 60), 100_000);
        assert_eq!(at(5 + 6 + 70), 100_100);
    }

    #[test]
    fn a_file_name_may_contain_the_time() {
        assert_eq!(
            parse_time_in_file_name("1707397157.ace.pb"),
            Some(UnixMillis::from_seconds(1_707_397_157))
        );
        assert_eq!(parse_time_in_file_name("tu-2024.pb"), None);
    }

    #[tokio::test]
    async fn every_frame_is_played_once_at_its_time() {
        let dir = tempfile::tempdir().unwrap();
        for second in [1_700_000_020_u64, 1_700_000_000, 1_700_000_010] {
            fs::write(dir.path().join(format!("{second}.txt")), format!("frame {second}")).unwrap();
        }
        let clock = Arc::new(SimulatedClock::new(UnixMillis(0)));
        let mut fetcher =
            ReplayFetcher::new(dir.path().into(), 10.0, 1 << 20, Arc::clone(&clock) as _);
        let mut played = Vec::new();
        for _ in 0..30 {
            if let FetchOutcome::Body(body) = fetcher.fetch_due_frame().await.unwrap() {
                played.push((
                    clock.monotonic().as_millis(),
                    body.last_modified.unwrap().unix_seconds(),
                ));
            }
            clock.advance_time(Duration::from_millis(100));
        }
        assert_eq!(played, [(0, 1_700_000_000), (1_000, 1_700_000_010), (2_000, 1_700_000_020)]);
        assert_eq!(fetcher.time_until_next_frame(), None);
    }

    #[tokio::test]
    async fn a_folder_without_snapshots_is_an_empty_failure() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(SimulatedClock::new(UnixMillis(0)));
        let mut fetcher = ReplayFetcher::new(dir.path().into(), 1.0, 1, clock);
        assert_eq!(fetcher.fetch_due_frame().await.unwrap_err().code, FailureCode::Empty);
    }
}
