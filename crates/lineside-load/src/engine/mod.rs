//! Thousands of sessions on one thread, with one poll, rows in a slab, and a shared read buffer.
//!
//! A delivery costs one `read(2)` and a parse of the beginning of its bytes. Nothing is allocated for it.

mod open;
mod session_row;
mod stream;
mod event_loop;

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use bytes::BytesMut;
use mio::{Events, Poll};
use serde::{Deserialize, Serialize};

pub(crate) use stream::TlsClient;

use self::session_row::{SessionRow, UnfinishedMessage};
use crate::LoadTestError;
use crate::clock::{self, MonotonicNanos, SECOND};
use crate::distribution::{ValueDistribution, histogram_bucket_upper_bounds};
use crate::framing::ControlFrame;
use crate::limits::{QUIET_MAX, READ_BYTES, SETTLE_MAX, SETTLE_MIN, STALL_MAX};
use crate::message::MessageCodec;
use crate::plan::{LoadTestPlan, ProcessPlanShare, last_publication_number};
use crate::process::{ProcessHandle, ProcessUsage};
use crate::reasons::count_failure_reason;
use crate::tally::{ChannelReport, DeliverySlice, DeliveryTally};
use lineside_sync::histogram::{Histogram, LocalHistogram};

/// The result of opening the sessions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ConnectPhaseOutcome {
    /// Number of sessions that have received the state of all their channels.
    pub(crate) ready: u64,
    /// Number of failed sessions, by reason.
    pub(crate) failed: Vec<(String, u64)>,
    pub(crate) began: MonotonicNanos,
    pub(crate) ended: MonotonicNanos,
    /// Time from opening a connection to the server's acceptance, to the first byte of state, and to the last.
    pub(crate) accepted: ValueDistribution,
    pub(crate) first_byte: ValueDistribution,
    pub(crate) complete: ValueDistribution,
    pub(crate) bytes: u64,
    /// Usage of this process before there were sessions, and with them.
    pub(crate) before: Option<ProcessUsage>,
    pub(crate) usage: Option<ProcessUsage>,
}

/// The result of the measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct MeasurementOutcome {
    pub(crate) channels: Vec<ChannelReport>,
    pub(crate) slices: Vec<DeliverySlice>,
    /// Sessions that ended before the run, by reason.
    pub(crate) closed: Vec<(String, u64)>,
    pub(crate) bytes: u64,
    pub(crate) usage: Option<ProcessUsage>,
}

/// The sessions of a finished process: closing them would cost the server CPU time that belongs to no delivery.
pub(crate) struct OpenConnections {
    _rows: Vec<Option<SessionRow>>,
}

pub(crate) struct LoadTestEngine {
    plan: LoadTestPlan,
    first: usize,
    loopback: Ipv4Addr,
    codec: MessageCodec,
    tls: Option<TlsClient>,
    poll: Poll,
    events: Events,
    rows: Vec<Option<SessionRow>>,
    /// Number of sessions that are opened, not answered yet, and not ready yet.
    opened: usize,
    unanswered: usize,
    unready: usize,
    /// The first message of a session after acceptance; empty if the request contains all.
    commands: BytesMut,
    random: fastrand::Rng,
    buffer: Box<[u8]>,
    controls: Vec<ControlFrame>,
    spare: Vec<UnfinishedMessage>,
    tally: DeliveryTally,
    bytes: u64,
    ended: Vec<(String, u64)>,
    accepted: LocalHistogram,
    first_byte: LocalHistogram,
    complete: LocalHistogram,
    ready: u64,
    last_progress: MonotonicNanos,
    before: Option<ProcessUsage>,
}

/// The start of reads in the buffer: the space before it holds the stored part of an unfinished message, and one more
/// byte.
const READ_FROM: usize = UnfinishedMessage::BYTES_MAX + 1;
/// Maximum number of events per poll.
const EVENTS_MAX: usize = 1_024;
/// Number of failures without a success after which the other sessions are not tried.
const FAILURES_MAX: u64 = 64;
/// Interval at which a waiting engine checks its condition.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl LoadTestEngine {
    pub(crate) fn new(share: ProcessPlanShare) -> Result<Self, LoadTestError> {
        let before = ProcessHandle::this_process().read_usage();
        let ProcessPlanShare { plan, first, sessions, loopback } = share;
        let tls = plan
            .target
            .tls
            .then(|| TlsClient::tls_client_for_host(&plan.target.host))
            .transpose()?;
        let poll = Poll::new().map_err(|error| {
            LoadTestError::Unreachable(format!("creating an epoll instance failed: {error}"))
        })?;
        let language = MessageCodec::codec_for_transport(plan.transport, plan.format);
        let tally = DeliveryTally::new(&plan, sessions);
        Ok(Self {
            commands: language.encode_connect_and_subscribes(&plan),
            rows: (0..sessions).map(|_| None).collect(),
            plan,
            first,
            loopback,
            codec: language,
            tls,
            poll,
            events: Events::with_capacity(EVENTS_MAX),
            opened: 0,
            unanswered: 0,
            unready: 0,
            random: fastrand::Rng::with_seed(first as u64),
            buffer: vec![0; READ_FROM + READ_BYTES].into(),
            controls: Vec::new(),
            spare: Vec::new(),
            tally,
            bytes: 0,
            ended: Vec::new(),
            accepted: Histogram::new().handle_for_this_thread(),
            first_byte: Histogram::new().handle_for_this_thread(),
            complete: Histogram::new().handle_for_this_thread(),
            ready: 0,
            last_progress: clock::now_nanos(),
            before,
        })
    }

    /// Opens all sessions and waits until each is ready or has failed.
    pub(crate) fn connect_sessions(&mut self) -> Result<ConnectPhaseOutcome, LoadTestError> {
        let began = clock::now_nanos();
        self.last_progress = began;
        while self.opened < self.rows.len() || self.unready > 0 {
            self.open_due_sessions(began);
            self.wait_for_and_serve_sockets(self.poll_wait_until_opening(began))
                .map_err(polling_error)?;
            if clock::now_nanos().saturating_sub(self.last_progress)
                > clock::duration_to_nanos(STALL_MAX)
            {
                self.fail_waiting_sessions(&format!(
                    "timeout: no reply within {} s",
                    STALL_MAX.as_secs()
                ));
            } else if self.ready == 0 && self.failure_count() >= FAILURES_MAX {
                self.fail_waiting_sessions("cancelled because the other sessions failed");
            }
        }
        let bounds = histogram_bucket_upper_bounds();
        let of = |histogram: &LocalHistogram| {
            ValueDistribution::from_snapshot(&histogram.histogram().snapshot(), &bounds)
        };
        Ok(ConnectPhaseOutcome {
            ready: self.ready,
            failed: std::mem::take(&mut self.ended),
            began,
            ended: clock::now_nanos(),
            accepted: of(&self.accepted),
            first_byte: of(&self.first_byte),
            complete: of(&self.complete),
            bytes: std::mem::take(&mut self.bytes),
            before: self.before,
            usage: ProcessHandle::this_process().read_usage(),
        })
    }

    /// Ends all waiting sessions, because nothing has arrived for long, or because none ever succeeded.
    fn fail_waiting_sessions(&mut self, reason: &str) {
        let late: Vec<usize> =
            (0..self.rows.len()).filter(|index| self.is_session_not_ready(*index)).collect();
        for index in late {
            self.end_session(index, reason);
        }
        // Sessions that were never opened count as failed for the same reason.
        let never = self.rows.len() - self.opened;
        count_failure_reason(&mut self.ended, reason, never as u64);
        self.opened = self.rows.len();
    }

    fn failure_count(&self) -> u64 {
        self.ended.iter().map(|(_, count)| count).sum()
    }

    /// Measures deliveries from `start` on for the planned duration, and until those in transit have arrived. Dropping
    /// the returned [`OpenConnections`] ends the sessions.
    pub(crate) fn measure_deliveries(
        mut self,
        start: MonotonicNanos,
    ) -> Result<(MeasurementOutcome, OpenConnections), LoadTestError> {
        self.tally.begin_measuring();
        let duration = clock::duration_to_nanos(self.plan.duration);
        let slice = self.plan.slice_duration_nanos();
        let mut slices = Vec::new();
        let end = start.saturating_add(duration);
        let mut cut = false;
        let mut arrived = (self.bytes, end);
        let wait = if self.plan.awake { Duration::ZERO } else { POLL_INTERVAL };
        loop {
            self.wait_for_and_serve_sockets(Some(wait)).map_err(polling_error)?;
            let now = clock::now_nanos();
            if self.bytes != arrived.0 {
                arrived = (self.bytes, now.max(end));
            }
            if now >= start + slice * (slices.len() as u64 + 1) {
                slices.push(self.tally.take_slice());
            }
            if now < end {
                continue;
            }
            let quiet = now.saturating_sub(arrived.1) > clock::duration_to_nanos(QUIET_MAX);
            let is_over = quiet || now - end > clock::duration_to_nanos(SETTLE_MAX);
            if !cut && (is_over || self.has_last_own_publication_arrived(now - end)) {
                self.tally.end_measurement();
                cut = true;
            }
            if is_over || (cut && self.have_all_publications_arrived()) {
                break;
            }
        }
        slices.push(self.tally.take_slice());
        let usage = ProcessHandle::this_process().read_usage();
        let Self { tally, rows, ended, bytes, .. } = self;
        let channels = tally.into_channel_reports(|index| rows[index].is_some());
        Ok((
            MeasurementOutcome { channels, slices, closed: ended, bytes, usage },
            OpenConnections { _rows: rows },
        ))
    }

    /// Returns true if the last own publication has reached a session; for channels of others only the time counts.
    fn has_last_own_publication_arrived(&self, waited: MonotonicNanos) -> bool {
        let wanted = self.plan.publications_per_channel();
        let ours: Vec<usize> =
            self.plan.channels_published_by_run().map(|(index, _)| index).collect();
        let width = ours.len() as u64;
        let arrived = |(place, index): (usize, &usize)| {
            self.tally.has_seen_own_publication(
                *index,
                last_publication_number(wanted, width, place as u64),
            )
        };
        waited >= clock::duration_to_nanos(SETTLE_MIN) && ours.iter().enumerate().all(arrived)
    }

    fn have_all_publications_arrived(&self) -> bool {
        let mut open = (0..self.rows.len()).filter(|index| self.rows[*index].is_some());
        open.all(|index| self.tally.is_session_complete(index))
    }

    /// Ends a session before the run does.
    fn end_session(&mut self, index: usize, reason: &str) {
        let Some(mut row) = self.rows[index].take() else { return };
        _ = self.poll.registry().deregister(row.stream.tcp_socket());
        self.recycle_message_buffer(row.unfinished.take());
        if matches!(
            row.phase,
            session_row::SessionPhase::Opening | session_row::SessionPhase::Requested
        ) {
            self.unanswered -= 1;
        }
        if row.phase != session_row::SessionPhase::Ready {
            self.unready -= 1;
        }
        self.last_progress = clock::now_nanos();
        count_failure_reason(&mut self.ended, reason, 1);
    }

    fn is_session_not_ready(&self, index: usize) -> bool {
        self.rows[index].as_ref().is_some_and(|row| row.phase != session_row::SessionPhase::Ready)
    }
}

fn polling_error(error: io::Error) -> LoadTestError {
    LoadTestError::Unreachable(format!("waiting for sockets failed: {error}"))
}

/// Returns the interval of a rate in nanoseconds.
fn rate_to_interval_nanos(per_second: f64) -> MonotonicNanos {
    (SECOND as f64 / per_second) as MonotonicNanos
}
