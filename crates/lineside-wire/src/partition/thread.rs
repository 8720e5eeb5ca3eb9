//! A partition's thread: its event loop and the steps of a turn.

mod arrival;

use std::collections::VecDeque;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Duration;

use lineside_hub::{Hub, PartitionListener, PartitionSubscription, WorkerPool as _};
use lineside_sync::Clock;
use lineside_sync::mailbox::Receiver;
use lineside_sync::stage::{self, ThreadWorkStage};
use mio::{Events, Poll};
use slab::Slab;

use super::PendingConnection;
use super::connection::{ConnectionScratch, FlushOutcome, PartitionConnection};
use super::drain::DrainSchedule;
use super::fanout_scheduler::RoomFanoutScheduler;
use super::limits::{
    BUSY_PER_TURN, EVENTS_AT_ONCE, READ_SLICE_BYTES, SLICES_PER_TURN, STATES_AT_ONCE,
};
use super::metrics::PartitionMetrics;
use super::timer_wheel::TimerWheel;
use super::waker::{CheckedTokens, PartitionWaker, WAKER_TOKEN};
use super::workers::WorkerThreads;
use crate::auth::Authorizer;
use crate::close_reason::ConnectionCloseReason;

/// The parameters of a partition.
pub(super) struct PartitionThreadConfig {
    pub(super) hub: Arc<Hub>,
    pub(super) authorizer: Arc<dyn Authorizer>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) inbox: Receiver<Box<PendingConnection>>,
    pub(super) workers: Arc<WorkerThreads>,
    pub(super) metrics: Arc<PartitionMetrics>,
    pub(super) drain: Arc<OnceLock<Duration>>,
    pub(super) seed: u64,
}

pub(super) struct PartitionThread {
    clock: Arc<dyn Clock>,
    inbox: Receiver<Box<PendingConnection>>,
    metrics: Arc<PartitionMetrics>,
    drain: Arc<OnceLock<Duration>>,
    draining: Option<DrainSchedule>,
    partition_waker: Arc<PartitionWaker>,
    waker: Waker,
    poll: Poll,
    listener: PartitionListener,
    rows: Slab<PartitionConnection>,
    scheduler: RoomFanoutScheduler,
    /// The connections with more to write than one slice. Bound: each row once.
    busy: VecDeque<u32>,
    /// The connections to resume. Bound: each row once per turn.
    resuming: Vec<u32>,
    /// The connections to read further, and true if the other side has closed. Bound: each row once per turn.
    unread: Vec<(u32, bool)>,
    /// The connections that wait for a place to receive a state. Bound: each row once.
    state_queue: VecDeque<u32>,
    /// The number of connections that receive a state.
    n_states: usize,
    wheel: TimerWheel,
    rng: fastrand::Rng,
    scratch: ConnectionScratch,
    workers: Arc<WorkerThreads>,
    /// The rows whose tokens have been checked.
    checked_tokens: Arc<CheckedTokens>,
    authorizer: Arc<dyn Authorizer>,
    /// The read buffer, shared by all rows.
    read_buffer: Box<[u8]>,
}

impl PartitionThread {
    pub(super) fn new(config: PartitionThreadConfig) -> io::Result<Self> {
        let PartitionThreadConfig { hub, authorizer, clock, inbox, workers, metrics, drain, seed } =
            config;
        let poll = Poll::new()?;
        let partition_waker = Arc::new(PartitionWaker::new(&poll)?);
        let checked_tokens = Arc::new(CheckedTokens::new(partition_waker.clone()));
        let now = clock.monotonic();
        Ok(Self {
            listener: PartitionListener::new(&hub, partition_waker.clone(), workers.clone()),
            clock,
            inbox,
            metrics,
            drain,
            draining: None,
            waker: Waker::from(partition_waker.clone()),
            partition_waker,
            poll,
            rows: Slab::new(),
            scheduler: RoomFanoutScheduler::default(),
            busy: VecDeque::new(),
            resuming: Vec::new(),
            unread: Vec::new(),
            state_queue: VecDeque::new(),
            n_states: 0,
            wheel: TimerWheel::new(now),
            rng: fastrand::Rng::with_seed(seed),
            scratch: ConnectionScratch::default(),
            workers,
            checked_tokens,
            authorizer,
            read_buffer: vec![0; READ_SLICE_BYTES].into(),
        })
    }

    pub(super) fn partition_waker(&self) -> Arc<PartitionWaker> {
        self.partition_waker.clone()
    }

    /// Runs until it has been drained. After a panic, which the panic hook reports, it continues without its
    /// connections: their clients reconnect.
    pub(super) fn run_until_drained(mut self) {
        while panic::catch_unwind(AssertUnwindSafe(|| self.run_event_loop())).is_err() {
            self.restart_after_panic();
        }
    }

    fn restart_after_panic(&mut self) {
        let rows: Vec<u32> = self.rows.iter().map(|(number, _)| number as u32).collect();
        rows.into_iter()
            .for_each(|number| self.remove_connection(number, ConnectionCloseReason::Fault));
        self.metrics.pending_snapshots.subtract(self.state_queue.len() as u64);
        self.scheduler = RoomFanoutScheduler::default();
        self.scratch = ConnectionScratch::default();
        self.wheel = TimerWheel::new(self.monotonic_now());
        self.busy.clear();
        self.resuming.clear();
        self.unread.clear();
        self.state_queue.clear();
        self.n_states = 0;
        self.read_buffer = vec![0; READ_SLICE_BYTES].into();
    }

    fn run_event_loop(&mut self) {
        let mut events = Events::with_capacity(EVENTS_AT_ONCE);
        while !self.is_drained() {
            let timeout = self.poll_timeout();
            match self.poll.poll(&mut events, Some(timeout)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Only a broken poller returns another error; no connection can be served without it.
                Err(_) => return,
            }
            self.accept_mailbox_connections();
            let now = self.monotonic_now();
            let delivering = stage::set_stage_until_dropped(ThreadWorkStage::Deliver);
            self.write_slices_of_ready_rooms();
            let receiving = stage::set_stage_until_dropped(ThreadWorkStage::Receive);
            for event in &events {
                if event.token() != WAKER_TOKEN {
                    self.handle_poll_event(event, now);
                }
            }
            self.resume_waiting_connections(now);
            self.continue_deferred_reads(now);
            drop(receiving);
            self.continue_queued_writes(now);
            self.grant_state_transfer_slots();
            drop(delivering);
            self.handle_due_connections(now);
            self.close_for_drain(now);
        }
    }

    fn monotonic_now(&self) -> Duration {
        self.clock.monotonic()
    }

    fn is_drained(&self) -> bool {
        self.draining.is_some() && self.rows.is_empty()
    }

    fn poll_timeout(&mut self) -> Duration {
        let has_more = self.scheduler.has_running_pass()
            || !self.busy.is_empty()
            || !self.unread.is_empty()
            || !self.resuming.is_empty();
        if has_more || !self.inbox.register_waker_if_empty(&self.waker) {
            return Duration::ZERO;
        }
        self.scratch.codecs.runs.clear();
        let now = self.monotonic_now();
        let mut timeout = self.wheel.until_next_second(now);
        if let Some(due) = self.scheduler.next_pass_due() {
            timeout = timeout.min(due.saturating_sub(now));
        }
        if self.draining.is_some() {
            timeout = timeout.min(Duration::from_millis(10));
        }
        timeout
    }

    /// Continues with the rooms that have news.
    fn write_slices_of_ready_rooms(&mut self) {
        let mut slots: Vec<PartitionSubscription> = Vec::new();
        for _ in 0..SLICES_PER_TURN {
            let now = self.monotonic_now();
            self.scheduler.start_due_passes(&mut self.listener, now);
            self.scheduler.take_next_slice(&mut slots, now);
            if slots.is_empty() && !self.scheduler.has_running_pass() {
                return;
            }
            // Notes all subscriptions first: one row's memory is fetched while the next row is handled.
            for slot in &slots {
                if let Some(row) = self.rows.get_mut(slot.row as usize) {
                    row.transport.session().mark_subscription_has_news(slot.subscription);
                }
            }
            for slot in slots.drain(..) {
                self.write_or_queue_connection(slot.row, now);
            }
        }
    }

    /// Writes a connection's output: news now, a state in turn with others.
    fn write_or_queue_connection(&mut self, number: u32, now: Duration) {
        let Some(row) = self.rows.get_mut(number as usize) else { return };
        if row.transport.session().is_receiving_state() {
            self.queue_connection_write(number);
        } else {
            self.write_connection_output(number, now);
        }
    }

    /// Queues a connection to write its output in turn.
    fn queue_connection_write(&mut self, number: u32) {
        if let Some(row) = self.rows.get_mut(number as usize)
            && !row.is_busy
        {
            row.is_busy = true;
            self.busy.push_back(number);
        }
    }

    /// Writes a connection's output.
    fn write_connection_output(&mut self, number: u32, now: Duration) {
        let Some(row) = self.rows.get_mut(number as usize) else { return };
        let had_state = row.has_state_permit;
        let n_states = self.n_states;
        let flushed = row.flush_output(&mut self.scratch, now, || n_states < STATES_AT_ONCE);
        if row.has_state_permit && !had_state {
            self.n_states += 1;
        }
        match flushed {
            FlushOutcome::Drained => self.handle_drained_connection(number),
            FlushOutcome::Blocked => {
                self.metrics.blocked.increment();
                self.schedule_next_deadline(number);
            }
            FlushOutcome::More => self.queue_connection_write(number),
            FlushOutcome::NeedsStatePermit => {
                if !row.is_waiting_for_state {
                    row.is_waiting_for_state = true;
                    self.state_queue.push_back(number);
                    self.metrics.pending_snapshots.add(1);
                }
            }
            FlushOutcome::Gone(why) => self.remove_connection(number, why),
        }
    }

    /// Handles a connection whose socket has accepted everything: frees its place for a state transfer, and reads it
    /// again.
    fn handle_drained_connection(&mut self, number: u32) {
        let Some(row) = self.rows.get_mut(number as usize) else { return };
        if row.has_state_permit && !row.transport.session().is_receiving_state() {
            row.has_state_permit = false;
            self.n_states -= 1;
        }
        if row.is_waiting_for_drain() {
            self.resuming.push(number);
        } else if std::mem::take(&mut row.is_read_deferred) {
            // Reading on shows if the other side has closed meanwhile.
            self.unread.push((number, true));
        }
    }

    /// Schedules the connection for its next deadline.
    fn schedule_next_deadline(&mut self, number: u32) {
        if let Some(row) = self.rows.get_mut(number as usize) {
            let due = row.next_deadline();
            if due.as_secs() + 1 < u64::from(row.due) {
                row.due = self.wheel.schedule_row(number, due);
            }
        }
    }

    fn handle_poll_event(&mut self, event: &mio::event::Event, now: Duration) {
        let number = event.token().0;
        let Some(row) = self.rows.get_mut(number) else { return };
        let number = number as u32;
        if event.is_writable() {
            row.mark_socket_writable();
            self.queue_connection_write(number);
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            // Later input causes another event.
            self.read_connection(number, event.is_read_closed(), now);
        }
    }

    /// Reads the available input, up to a slice. The rest is read later, and so is the end if the peer `is_closed`.
    fn read_connection(&mut self, number: u32, is_closed: bool, now: Duration) {
        let Some(row) = self.rows.get_mut(number as usize) else { return };
        if row.is_read_paused() {
            row.is_read_deferred = true;
            return;
        }
        match row.socket().read_bytes(&mut self.read_buffer) {
            Ok(0) => {
                let why = row.reason_after_peer_closed();
                return self.remove_connection(number, why);
            }
            Ok(n) => {
                let mut read = std::mem::take(&mut self.read_buffer);
                self.receive_connection_bytes(number, &mut read[..n], now);
                self.read_buffer = read;
                // Fewer bytes than fit were all that was there.
                if n == self.read_buffer.len() || is_closed {
                    self.unread.push((number, is_closed));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => return self.remove_connection(number, ConnectionCloseReason::Client),
        }
        self.write_or_queue_connection(number, now);
        self.schedule_next_deadline(number);
    }

    fn receive_connection_bytes(&mut self, number: u32, bytes: &mut [u8], now: Duration) {
        if let Some(row) = self.rows.get_mut(number as usize) {
            let token = row.receive_bytes(bytes, now, &mut self.scratch);
            self.check_token_on_worker(number, token);
        }
    }

    /// Lets a worker check a token, after which the connection is resumed.
    fn check_token_on_worker(&mut self, number: u32, token: Option<Box<str>>) {
        let row = self.rows.get(number as usize);
        if let Some(token) = token
            && let Some(id) = row.and_then(|row| row.transport.connection_id()).cloned()
        {
            let (authorizer, checked_tokens) =
                (self.authorizer.clone(), self.checked_tokens.clone());
            self.workers.submit_job(Box::new(move || {
                authorizer.verify_and_cache_token(&token);
                checked_tokens.report_checked_token(number, id);
            }));
        }
    }

    /// Resumes connections that waited for their socket or for a worker.
    fn resume_waiting_connections(&mut self, now: Duration) {
        for (number, id) in self.checked_tokens.take_checked_tokens() {
            let row = self.rows.get(number as usize);
            if row.and_then(|row| row.transport.connection_id()).is_some_and(|its| *its == id) {
                self.resuming.push(number);
            }
        }
        for number in std::mem::take(&mut self.resuming) {
            let Some(row) = self.rows.get_mut(number as usize) else { continue };
            let token = row.resume_receiving(now, &mut self.scratch);
            if !row.is_read_paused() && std::mem::take(&mut row.is_read_deferred) {
                self.unread.push((number, true));
            }
            self.check_token_on_worker(number, token);
            self.write_or_queue_connection(number, now);
            self.schedule_next_deadline(number);
        }
    }

    fn continue_deferred_reads(&mut self, now: Duration) {
        for (number, is_closed) in std::mem::take(&mut self.unread) {
            self.read_connection(number, is_closed, now);
        }
    }

    /// Continues with connections that have much to write, or could not write.
    fn continue_queued_writes(&mut self, now: Duration) {
        for _ in 0..self.busy.len().min(BUSY_PER_TURN) {
            let Some(number) = self.busy.pop_front() else { return };
            if let Some(row) = self.rows.get_mut(number as usize) {
                row.is_busy = false;
                self.write_connection_output(number, now);
            }
        }
        if self.n_states > 0 {
            // Publishers' threads may share this one's core.
            std::thread::yield_now();
        }
    }

    /// Gives free places to connections that wait for a state.
    fn grant_state_transfer_slots(&mut self) {
        let free = STATES_AT_ONCE.saturating_sub(self.n_states);
        for _ in 0..self.state_queue.len().min(free) {
            let Some(number) = self.state_queue.pop_front() else { return };
            self.metrics.pending_snapshots.subtract(1);
            if let Some(row) = self.rows.get_mut(number as usize) {
                row.is_waiting_for_state = false;
                self.queue_connection_write(number);
            }
        }
    }

    fn handle_due_connections(&mut self, now: Duration) {
        let mut due = Vec::new();
        self.wheel.take_due_rows(now, &mut due);
        for (number, second) in due {
            // A row that was scheduled for another second has nothing to do in this one.
            let Some(row) = self.rows.get_mut(number as usize).filter(|row| row.due == second)
            else {
                continue;
            };
            if let Some(why) = row.check_connection_deadlines(now) {
                self.remove_connection(number, why);
                continue;
            }
            row.due = self.wheel.schedule_row(number, row.next_deadline());
            self.write_connection_output(number, now);
        }
    }

    /// Closes as many connections as the drain schedule asks for.
    fn close_for_drain(&mut self, now: Duration) {
        if self.draining.is_none()
            && let Some(duration) = self.drain.get()
        {
            self.draining = Some(DrainSchedule::new(now, *duration, self.rows.len()));
            self.inbox.close_mailbox();
        }
        let Some(draining) = self.draining else { return };
        let open = self.rows.iter().filter(|(_, row)| !row.is_closing()).count();
        let n_remaining = draining.connections_to_keep(now);
        let closing: Vec<u32> = self
            .rows
            .iter()
            .filter(|(_, row)| !row.is_closing())
            .map(|(number, _)| number as u32)
            .take(open.saturating_sub(n_remaining))
            .collect();
        for number in closing {
            if let Some(row) = self.rows.get_mut(number as usize) {
                row.close_from_server(ConnectionCloseReason::Shutdown, now);
                self.write_connection_output(number, now);
                self.schedule_next_deadline(number);
            }
        }
    }

    fn remove_connection(&mut self, number: u32, why: ConnectionCloseReason) {
        let row = self.rows.remove(number as usize);
        if row.has_state_permit {
            self.n_states -= 1;
        }
        self.metrics.closed[why as usize].increment();
        self.metrics.rows.subtract(1);
    }
}
