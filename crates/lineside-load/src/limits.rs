//! What bounds a run.

use std::time::Duration;

/// Most sessions that one process holds, whatever its descriptors allow.
pub(crate) const SESSIONS_PER_PROCESS_MAX: usize = 200_000;
/// Most processes of one run.
pub(crate) const PROCESSES_MAX: usize = 64;
/// Most channels that each session subscribes to.
pub(crate) const CHANNELS_MAX: usize = 512;
/// Longest publication of ours, in bytes of JSON.
pub(crate) const PUBLICATION_BYTES_MAX: usize = 64 << 10;
/// Most publications of ours in one run.
pub(crate) const PUBLICATIONS_MAX: u64 = 1 << 20;
/// Longest run.
pub(crate) const DURATION_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Descriptors of a process that are no sessions: the terminal, the poll, pipes, the publisher, /proc.
pub(crate) const DESCRIPTORS_KEPT: u64 = 64;
/// Sessions from one loopback address: its ephemeral ports are 28,000 on an untouched Linux.
pub(crate) const SESSIONS_PER_ADDRESS: usize = 10_000;
/// Connections that are opened and not yet answered: fewer than the smallest usual backlog of a listener, 128, beyond
/// which a connection is tried again only after a second.
pub(crate) const UNANSWERED_MAX: usize = 100;
/// Connections opened between two looks at the sockets.
pub(crate) const OPENED_AT_ONCE: usize = 32;
/// For so long nothing may move at all while sessions are opened.
pub(crate) const STALL_MAX: Duration = Duration::from_secs(15);
/// How long one connection of ours may take to answer a publication.
pub(crate) const PUBLISH_ANSWER_MAX: Duration = Duration::from_secs(10);
/// After the last publication was due, what is under way may still arrive for so long at least,
pub(crate) const SETTLE_MIN: Duration = Duration::from_millis(500);
/// and at most, if somebody still waits for something,
pub(crate) const SETTLE_MAX: Duration = Duration::from_secs(20);
/// unless nothing at all has come for so long: then nothing is under way.
pub(crate) const QUIET_MAX: Duration = Duration::from_secs(2);
/// The buffer that all sessions of a process read through.
pub(crate) const READ_BYTES: usize = 64 << 10;
/// What is kept of the beginning and of the end of a message that is not whole yet.
pub(crate) const HEAD_BYTES: usize = 1_024;
pub(crate) const TAIL_BYTES: usize = 256;
/// Kept pieces of unfinished messages that wait for their next use.
pub(crate) const SPARE_PIECES_MAX: usize = 1_024;
/// Publications of one channel that are told apart; later ones are only counted.
pub(crate) const PUBLICATIONS_TOLD_APART_MAX: usize = 1 << 20;
/// Slices of a graph, and the shortest of them.
pub(crate) const SLICES_MAX: u32 = 120;
pub(crate) const SLICE_MIN: Duration = Duration::from_millis(100);
/// Different reasons for failures that are counted apart.
pub(crate) const REASONS_MAX: usize = 32;
/// Longest reason, in characters.
pub(crate) const REASON_CHARS_MAX: usize = 160;
/// Largest answer to a publication.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Longest line between the processes of a run: mostly the list of publications.
pub(crate) const REPORT_BYTES_MAX: u64 = 256 << 20;
