//! Limits of a run.

use std::time::Duration;

/// Most sessions of one process, even if its descriptors allow more.
pub(crate) const SESSIONS_PER_PROCESS_MAX: usize = 200_000;
/// Most processes of one run.
pub(crate) const PROCESSES_MAX: usize = 64;
/// Most channels of each session.
pub(crate) const CHANNELS_MAX: usize = 512;
/// Longest own publication, in bytes of JSON.
pub(crate) const PUBLICATION_BYTES_MAX: usize = 64 << 10;
/// Most own publications of one run.
pub(crate) const PUBLICATIONS_MAX: u64 = 1 << 20;
/// Longest run.
pub(crate) const DURATION_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Number of descriptors of a process that are not sessions: the terminal, the poll, pipes, the publisher, /proc.
pub(crate) const RESERVED_DESCRIPTORS: u64 = 64;
/// Sessions from one loopback address: Linux has 28,000 ephemeral ports by default.
pub(crate) const SESSIONS_PER_ADDRESS: usize = 10_000;
/// Maximum number of opened connections without an answer: fewer than the smallest usual backlog of a listener, 128,
/// beyond which a connection is retried only after a second.
pub(crate) const UNANSWERED_MAX: usize = 100;
/// Maximum number of connections opened between two polls of the sockets.
pub(crate) const OPENING_MAX: usize = 32;
/// Timeout without any progress while sessions are opened.
pub(crate) const STALL_MAX: Duration = Duration::from_secs(15);
/// Timeout for the answer to a publication.
pub(crate) const PUBLISH_ANSWER_MAX: Duration = Duration::from_secs(10);
/// Minimum wait for publications in transit after the last one was due.
pub(crate) const SETTLE_MIN: Duration = Duration::from_millis(500);
/// Maximum wait for publications in transit while sessions lack some.
pub(crate) const SETTLE_MAX: Duration = Duration::from_secs(20);
/// Time without any bytes after which nothing is in transit.
pub(crate) const QUIET_MAX: Duration = Duration::from_secs(2);
/// Size of the read buffer that all sessions of a process share.
pub(crate) const READ_BYTES: usize = 64 << 10;
/// Number of stored bytes at the beginning and at the end of an unfinished message.
pub(crate) const HEAD_BYTES: usize = 1_024;
pub(crate) const TAIL_BYTES: usize = 256;
/// Maximum number of unused pieces for unfinished messages that are retained for reuse.
pub(crate) const SPARE_PIECES_MAX: usize = 1_024;
/// Maximum number of distinguished publications of one channel; later ones are only counted.
pub(crate) const DISTINCT_PUBLICATIONS_MAX: usize = 1 << 20;
/// Maximum number of slices of a graph, and their minimum duration.
pub(crate) const SLICES_MAX: u32 = 120;
pub(crate) const SLICE_MIN: Duration = Duration::from_millis(100);
/// Maximum number of distinct reasons for failures.
pub(crate) const REASONS_MAX: usize = 32;
/// Longest reason, in characters.
pub(crate) const REASON_CHARS_MAX: usize = 160;
/// Largest answer to a publication, in bytes.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Longest line between the processes of a run, mostly the list of publications.
pub(crate) const REPORT_BYTES_MAX: u64 = 256 << 20;
