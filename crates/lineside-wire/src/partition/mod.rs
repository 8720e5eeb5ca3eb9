//! Partitions: threads that own the sockets of sessions, and write the sessions' deliveries.
//!
//! A partition is one thread with one epoll. An idle connection has no task, no timer and no buffer there: a row is a
//! socket, a session and a few words. The thread that accepted a connection and read its request sends it to the
//! partition's mailbox. A partition's turn: new connections; rooms with news, each in slices, in turn; sockets that
//! can be read or accept more; a limited number of states; due events.
//!
//! - [`PartitionSet`]: all partitions, and the workers that read states and check tokens
//! - [`PendingConnection`]: a connection to be handed over
//! - [`Transport`], [`TransportRequest`]: the protocols of connections, and how they are opened
//! - [`PartitionMetrics`], [`ConnectionCloseReason`]: counts of connections and the reasons of their ends

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
use lineside_hub::Hub;
use lineside_sync::Clock;
use lineside_sync::mailbox::{self, MailboxOptions, Sender, TrySendError};
use parking_lot::Mutex;

use crate::auth::Authorizer;

pub use self::metrics::PartitionMetrics;
pub use self::transport::{
    ConnectionEnding, OpenedTransport, ReceiveStep, Transport, TransportOpening, TransportRequest,
};
pub use crate::close_reason::ConnectionCloseReason;
pub use crate::thread_codecs::ThreadCodecs;

use self::limits::PENDING_CONNECTIONS_MAX;
use self::thread::{PartitionThread, PartitionThreadConfig};
use self::waker::PartitionWaker;
use self::workers::WorkerThreads;

/// A connection whose request has been read elsewhere, and its request.
pub struct PendingConnection {
    /// The socket, which must be non-blocking.
    pub socket: TcpStream,
    /// The TLS state after the handshake, if the connection uses TLS.
    pub tls: Option<Box<rustls::ServerConnection>>,
    /// Decrypted bytes that were read after the request.
    pub unread: Bytes,
    /// The head of the reply, written first.
    pub head: Bytes,
    /// The whole reply to send if the node is full; then the connection is closed.
    pub refusal: Bytes,
    pub transport: Arc<dyn TransportRequest>,
    /// The connection's place among those allowed; dropped when the connection ends.
    pub permit: Box<dyn std::any::Any + Send>,
}

/// The numbers of threads.
#[derive(Debug, Clone, Copy)]
pub struct PartitionSetConfig {
    /// The threads with sockets; at least one.
    pub partitions: usize,
    /// The threads that read states and check tokens; at least one.
    pub workers: usize,
}

/// All partitions of a node. Dropping the set closes the connections and ends the threads.
pub struct PartitionSet {
    inboxes: Vec<Sender<Box<PendingConnection>>>,
    partition_wakers: Vec<Arc<PartitionWaker>>,
    drain: Arc<OnceLock<Duration>>,
    next: AtomicUsize,
    threads: Mutex<Vec<JoinHandle<()>>>,
    metrics: Arc<PartitionMetrics>,
    _workers: Arc<WorkerThreads>,
}

impl PartitionSet {
    /// Starts the threads for the hub's sessions; `authorizer` checks the tokens of their clients. `clock` measures the
    /// sockets' deadlines: real time, even if the hub has another clock. `seed` determines the random values: reconnect
    /// delays and the phase of pings.
    ///
    /// # Errors
    /// Returns an error if the system has no thread or no poller left.
    pub fn start_threads(
        hub: &Arc<Hub>,
        authorizer: &Arc<dyn Authorizer>,
        clock: Arc<dyn Clock>,
        config: PartitionSetConfig,
        seed: u64,
    ) -> io::Result<Self> {
        let workers = Arc::new(WorkerThreads::start_threads(config.workers)?);
        let metrics: Arc<PartitionMetrics> = Arc::default();
        let mut rng = fastrand::Rng::with_seed(seed);
        let drain: Arc<OnceLock<Duration>> = Arc::default();
        let (mut inboxes, mut partition_wakers, mut threads) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..config.partitions.max(1) {
            let (sender, inbox) =
                mailbox::new(MailboxOptions::with_queue_capacity(PENDING_CONNECTIONS_MAX));
            let thread_config = PartitionThreadConfig {
                hub: hub.clone(),
                authorizer: authorizer.clone(),
                clock: clock.clone(),
                inbox,
                workers: workers.clone(),
                metrics: metrics.clone(),
                drain: drain.clone(),
                seed: rng.u64(..),
            };
            let partition = PartitionThread::new(thread_config)?;
            partition_wakers.push(partition.partition_waker());
            let builder = std::thread::Builder::new().name(format!("partition-{n}"));
            threads.push(builder.spawn(move || partition.run_until_drained())?);
            inboxes.push(sender);
        }
        let threads = Mutex::new(threads);
        let next = AtomicUsize::new(0);
        Ok(Self { inboxes, partition_wakers, drain, next, threads, metrics, _workers: workers })
    }

    /// Hands a connection to the next partition in turn.
    ///
    /// # Errors
    /// Returns the connection if the partition's mailbox is full, or if the partition has ended.
    pub fn hand_to_next_partition(
        &self,
        connection: Box<PendingConnection>,
    ) -> Result<(), Box<PendingConnection>> {
        let index = self.next.fetch_add(1, Ordering::Relaxed) % self.inboxes.len();
        self.inboxes[index].try_send(connection).map_err(TrySendError::into_message)?;
        self.metrics.pending_connections.add(1);
        Ok(())
    }

    /// Closes all connections, evenly over this time, and accepts no new ones. Only the first call counts.
    pub fn close_connections_evenly(&self, duration: Duration) {
        // A second call changes nothing.
        _ = self.drain.set(duration);
        self.partition_wakers
            .iter()
            .for_each(|partition_waker| partition_waker.wake_partition_poller());
    }

    /// Waits until the partitions have ended, which they do when [their connections are
    /// closed](Self::close_connections_evenly). Blocks.
    pub fn wait_for_threads(&self) {
        for thread in self.threads.lock().drain(..) {
            // The panic hook has reported a panic already.
            _ = thread.join();
        }
    }

    pub fn metrics(&self) -> &PartitionMetrics {
        &self.metrics
    }
}

impl Drop for PartitionSet {
    fn drop(&mut self) {
        self.close_connections_evenly(Duration::ZERO);
    }
}

impl fmt::Debug for PartitionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionSet").field("n", &self.inboxes.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for PendingConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingConnection")
            .field("socket", &self.socket)
            .field("transport", &self.transport)
            .finish_non_exhaustive()
    }
}
