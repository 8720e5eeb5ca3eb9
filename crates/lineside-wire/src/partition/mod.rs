//! Partitions: threads that own the sockets of sessions, and write what the hub has for them.
//!
//! A partition is one thread with one epoll. It has no task, no timer and no buffer for a connection that is
//! idle; a row is a socket, a session and some words. Connections are brought to it, by mailbox, by whoever accepted
//! them and read their requests. Its turn: newcomers; rooms with news, each in slices, in turn; sockets that
//! can be read or take more; states, so many at a time; what is due.
//!
//! - [`PartitionSet`]: all of them, and the workers that read states and check tokens
//! - [`PendingConnection`]: a connection that is handed over
//! - [`PartitionMetrics`], [`CloseReason`]: what became of them

mod waker;
mod drain;
pub mod limits;
mod metrics;
mod fanout_scheduler;
mod connection;
mod socket;
mod thread;
mod transport;
mod timer_wheel;
mod workers;

use std::fmt;
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::SessionLimits;
use lineside_sync::Clock;
use lineside_sync::mailbox::{self, MailboxOptions, Sender, TrySendError};
use parking_lot::Mutex;

use crate::centrifuge::{CentrifugeService, ProtocolFormat};
use crate::sse::SseSubscriber;

pub use self::metrics::{CloseReason, PartitionMetrics};

use self::limits::NEWCOMERS_MAX;
use self::thread::{PartitionConfig, PartitionThread};
use self::waker::PartitionWaker;
use self::workers::WorkerThreads;

/// A connection whose request has been read by somebody else, and what it asked for.
pub struct PendingConnection {
    /// The socket, which must not block.
    pub socket: TcpStream,
    /// What encrypts it, where hands were shaken.
    pub tls: Option<Box<rustls::ServerConnection>>,
    /// What was read from it beyond the request, and decrypted.
    pub unread: Bytes,
    /// The reply's head, written before anything else.
    pub head: Bytes,
    /// The whole reply where the node turns out to be full; then the connection is closed.
    pub refusal: Bytes,
    /// What it asked for.
    pub asks: TransportRequest,
    /// Dropped when the connection is over: its place among those allowed.
    pub place: Box<dyn std::any::Any + Send>,
}

/// What a connection asked for.
#[derive(Debug)]
pub enum TransportRequest {
    /// Server-sent events of these channels, which [`check`](crate::sse::check) has let pass.
    Sse {
        /// As the request names them.
        channels: Vec<Box<str>>,
        /// As the client sent it.
        last_event_id: Option<Box<str>>,
        /// Who it is.
        reader: SseSubscriber,
    },
    /// The Centrifuge protocol over WebSocket; the head says 101.
    WebSocket {
        /// How messages are written.
        format: ProtocolFormat,
        /// Messages may be compressed.
        deflate: bool,
    },
}

/// How many threads there are.
#[derive(Debug, Clone, Copy)]
pub struct PartitionSetConfig {
    /// Threads with sockets; at least one.
    pub partitions: usize,
    /// Threads that read states and check tokens; at least one.
    pub workers: usize,
    /// What a session over WebSocket may do.
    pub sessions: SessionLimits,
}

/// All partitions of a node. Dropped, they close their connections and end.
pub struct PartitionSet {
    inboxes: Vec<Sender<Box<PendingConnection>>>,
    alarms: Vec<Arc<PartitionWaker>>,
    drain: Arc<OnceLock<Duration>>,
    next: AtomicUsize,
    threads: Mutex<Vec<JoinHandle<()>>>,
    metrics: Arc<PartitionMetrics>,
    _workers: Arc<WorkerThreads>,
}

impl PartitionSet {
    /// Starts the threads for the service's hub. `clock` tells the time by which sockets are judged: real time, whatever the hub's is.
    /// `seed` decides what is random: pauses before a return, the phase of pings.
    ///
    /// # Errors
    /// When the system has no thread or no poller left.
    pub fn start_threads(
        service: &Arc<CentrifugeService>,
        clock: Arc<dyn Clock>,
        config: PartitionSetConfig,
        seed: u64,
    ) -> io::Result<Self> {
        let workers = Arc::new(WorkerThreads::start_threads(config.workers)?);
        let metrics: Arc<PartitionMetrics> = Arc::default();
        let mut rng = fastrand::Rng::with_seed(seed);
        let drain: Arc<OnceLock<Duration>> = Arc::default();
        let (mut inboxes, mut alarms, mut threads) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..config.partitions.max(1) {
            let (sender, inbox) = mailbox::new(MailboxOptions::with_credits(NEWCOMERS_MAX));
            let given = PartitionConfig {
                service: service.clone(),
                sessions: config.sessions,
                clock: clock.clone(),
                inbox,
                workers: workers.clone(),
                metrics: metrics.clone(),
                drain: drain.clone(),
                seed: rng.u64(..),
            };
            let partition = PartitionThread::new(given)?;
            alarms.push(partition.partition_waker());
            let builder = std::thread::Builder::new().name(format!("partition-{n}"));
            threads.push(builder.spawn(move || partition.run_until_drained())?);
            inboxes.push(sender);
        }
        let threads = Mutex::new(threads);
        let next = AtomicUsize::new(0);
        Ok(Self { inboxes, alarms, drain, next, threads, metrics, _workers: workers })
    }

    /// Hands a connection to the partition whose turn it is.
    ///
    /// # Errors
    /// The connection again, when its partition has more newcomers than it can take in, or has ended.
    pub fn adopt_connection(
        &self,
        newcomer: Box<PendingConnection>,
    ) -> Result<(), Box<PendingConnection>> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.inboxes.len();
        self.inboxes[turn].try_send(newcomer).map_err(TrySendError::into_message)?;
        self.metrics.newcomers_waiting.add(1);
        Ok(())
    }

    /// Lets all connections go, evenly over this time, and takes no new ones. Only the first call counts.
    pub fn drain_connections(&self, over: Duration) {
        // A second word changes nothing.
        _ = self.drain.set(over);
        self.alarms.iter().for_each(|alarm| alarm.wake_poll());
    }

    /// Waits until the partitions have ended, which they do when they are [drained](Self::drain). Blocks.
    pub fn join_threads(&self) {
        for thread in self.threads.lock().drain(..) {
            // It has told of its panic itself.
            _ = thread.join();
        }
    }

    /// What they have done.
    pub fn metrics(&self) -> &PartitionMetrics {
        &self.metrics
    }
}

impl Drop for PartitionSet {
    fn drop(&mut self) {
        self.drain_connections(Duration::ZERO);
    }
}

impl fmt::Debug for PartitionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partitions").field("n", &self.inboxes.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for PendingConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Newcomer")
            .field("socket", &self.socket)
            .field("asks", &self.asks)
            .finish_non_exhaustive()
    }
}
