//! The lowest rate at which a client may read its replies. A client that reads nothing, or next to nothing, is
//! disconnected, because the bytes that wait for it occupy memory.

use std::io::{self, IoSlice};
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use lineside_model::MemoryFile;
use lineside_sync::real_time::sleep_real_time;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::rustls::ServerConnection;

use super::limits;
use super::takeover::HttpSocket;
use crate::unsent_budget::UnsentBudget;

/// Measures how fast a reader reads the bytes that wait for it: once per timeout, and more often in case too many bytes
/// wait for all readers together.
pub(crate) struct ClientReadRate {
    timeout: Duration,
    unsent: Arc<UnsentBudget>,
    wait: Option<ReadRateMeasurement>,
}

/// The measurement while bytes wait for the reader.
struct ReadRateMeasurement {
    next_sample: BoxedTimer,
    samples: ReadRateSamples,
    /// Time of the next check of the rate under pressure.
    next_check: BoxedTimer,
    taken_at_check: u64,
}

type BoxedTimer = Pin<Box<dyn Future<Output = ()> + Send>>;

impl ReadRateMeasurement {
    fn new(timeout: Duration, taken: u64) -> Self {
        Self {
            next_sample: Box::pin(sleep_real_time(timeout)),
            samples: ReadRateSamples::new(taken),
            next_check: Box::pin(sleep_real_time(limits::PRESSURE_INTERVAL)),
            taken_at_check: taken,
        }
    }

    /// Returns true if the reader's rate since the last check is too low for a server under pressure. `taken` counts
    /// all bytes read.
    fn is_slow_under_pressure(&mut self, taken: u64) -> bool {
        let taken_since_check = taken.saturating_sub(mem::replace(&mut self.taken_at_check, taken));
        taken_since_check < limits::PRESSURE_RATE_MIN * limits::PRESSURE_INTERVAL.as_secs()
    }
}

impl ClientReadRate {
    /// Creates the measurement; a reader may read nothing for `timeout`.
    pub(crate) fn new(timeout: Duration, unsent: Arc<UnsentBudget>) -> Self {
        Self { timeout, unsent, wait: None }
    }

    /// Resets the measurement when no bytes wait for the reader.
    pub(crate) fn reset_measurement(&mut self) {
        self.wait = None;
    }

    /// Returns true if the reader is too slow while bytes wait for it: it read no byte for the timeout, or less than
    /// [`limits::SEND_RATE_MIN`] on average over twice the timeout, or less than [`limits::PRESSURE_RATE_MIN`] while
    /// too many bytes wait for all readers. Otherwise wakes the task when the next check is due. `taken` counts the
    /// bytes that the reader has read since the connection began.
    pub(crate) fn is_too_slow(&mut self, cx: &mut Context<'_>, taken: impl Fn() -> u64) -> bool {
        let timeout = self.timeout;
        let wait = self.wait.get_or_insert_with(|| ReadRateMeasurement::new(timeout, taken()));
        while wait.next_sample.as_mut().poll(cx).is_ready() {
            if wait.samples.is_too_slow(taken(), timeout) {
                return true;
            }
            wait.next_sample = Box::pin(sleep_real_time(timeout));
        }
        while wait.next_check.as_mut().poll(cx).is_ready() {
            if wait.is_slow_under_pressure(taken()) && self.unsent.is_under_pressure() {
                return true;
            }
            wait.next_check = Box::pin(sleep_real_time(limits::PRESSURE_INTERVAL));
        }
        false
    }
}

/// Bytes that a reader had read at the last two samples.
#[derive(Debug, Clone, Copy)]
struct ReadRateSamples {
    previous: Option<u64>,
    last: u64,
}

impl ReadRateSamples {
    fn new(taken: u64) -> Self {
        Self { previous: None, last: taken }
    }

    /// Takes the next sample, one timeout after the last; returns true if the reader is too slow.
    fn is_too_slow(&mut self, taken: u64, timeout: Duration) -> bool {
        let window_bytes = timeout.as_millis().saturating_mul(2 * limits::SEND_RATE_MIN) / 1000;
        let is_stalled = taken <= self.last;
        let is_slow = self
            .previous
            .is_some_and(|earlier| u128::from(taken.saturating_sub(earlier)) < window_bytes);
        (self.previous, self.last) = (Some(self.last), taken);
        is_stalled || is_slow
    }
}

/// The state of a connection's socket, shared with the connection's HTTP/2 streams.
#[derive(Debug, Default)]
pub(crate) struct SocketActivity {
    is_blocked: AtomicBool,
    n_blocked: AtomicU64,
    written: AtomicU64,
    n_streams: AtomicUsize,
}

impl SocketActivity {
    /// Returns true if the socket accepts no bytes at the moment, and the number of times that it did not.
    pub(crate) fn is_blocked_and_block_count(&self) -> (bool, u64) {
        (self.is_blocked.load(Relaxed), self.n_blocked.load(Relaxed))
    }

    /// Returns the number of bytes written to the kernel.
    pub(crate) fn bytes_written(&self) -> u64 {
        self.written.load(Relaxed)
    }

    /// Returns the counter of open streams.
    pub(crate) fn open_stream_counter(&self) -> &AtomicUsize {
        &self.n_streams
    }
}

/// A connection whose writes fail with [`io::ErrorKind::TimedOut`] if the client is too slow.
pub(crate) struct ReadRateCheckedSocket<C> {
    socket: C,
    pace: ClientReadRate,
    /// Bytes written to the kernel, or to TLS.
    written: u64,
    activity: Arc<SocketActivity>,
}

impl<C: HttpSocket> ReadRateCheckedSocket<C> {
    pub(crate) fn new(socket: C, timeout: Duration, unsent: Arc<UnsentBudget>) -> Self {
        let (pace, activity) = (ClientReadRate::new(timeout, unsent), Arc::default());
        Self { socket, pace, written: 0, activity }
    }

    pub(crate) fn socket_activity(&self) -> &Arc<SocketActivity> {
        &self.activity
    }

    /// Passes on the result of a write or flush; a wait that is too long becomes an error.
    fn fail_if_client_too_slow<T>(
        &mut self,
        cx: &mut Context<'_>,
        done: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.activity.is_blocked.store(false, Relaxed);
            return done;
        }
        self.activity.is_blocked.store(true, Relaxed);
        self.activity.n_blocked.fetch_add(1, Relaxed);
        // The kernel wakes the task in large steps, so bytes that the client has acknowledged in between count as well.
        let taken = || self.written.saturating_sub(self.socket.unacknowledged_bytes());
        if self.pace.is_too_slow(cx, taken) {
            let why = "the client reads too slowly";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)));
        }
        Poll::Pending
    }

    fn record_write(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(n)) = written {
            self.written += n as u64;
            self.activity.written.store(self.written, Relaxed);
        }
        self.fail_if_client_too_slow(cx, written)
    }
}

impl<C: HttpSocket> AsyncRead for ReadRateCheckedSocket<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, into)
    }
}

impl<C: HttpSocket> AsyncWrite for ReadRateCheckedSocket<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.record_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, pieces);
        self.record_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(cx);
        if flushed.is_ready() {
            self.pace.reset_measurement();
        }
        self.fail_if_client_too_slow(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.socket).poll_shutdown(cx);
        self.fail_if_client_too_slow(cx, ended)
    }
}

impl<C: HttpSocket> HttpSocket for ReadRateCheckedSocket<C> {
    fn into_parts(self) -> io::Result<(std::net::TcpStream, Option<Box<ServerConnection>>)> {
        self.socket.into_parts()
    }

    fn tcp_stream(&self) -> &TcpStream {
        self.socket.tcp_stream()
    }

    fn poll_write_file(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
        file: &MemoryFile,
    ) -> Poll<io::Result<usize>> {
        let written = self.socket.poll_write_file(cx, pieces, file);
        self.record_write(cx, written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    /// Returns the number of timeouts after which a reader of this rate is too slow.
    fn timeouts_until_too_slow(bytes_per_timeout: u64) -> Option<u64> {
        let mut samples = ReadRateSamples::new(1_000_000);
        (1..20).find(|n| samples.is_too_slow(1_000_000 + n * bytes_per_timeout, TIMEOUT))
    }

    #[test]
    fn a_reader_slower_than_a_kibibyte_per_second_is_too_slow() {
        assert_eq!(timeouts_until_too_slow(0), Some(1));
        assert_eq!(timeouts_until_too_slow(300), Some(2));
        assert_eq!(timeouts_until_too_slow(29 << 10), Some(2));
        assert_eq!(timeouts_until_too_slow(31 << 10), None);
    }

    #[tokio::test]
    async fn under_pressure_a_reader_must_read_a_minimum_between_checks() {
        let mut wait = ReadRateMeasurement::new(TIMEOUT, 1_000);
        assert!(!wait.is_slow_under_pressure(1_000 + (64 << 10)));
        assert!(wait.is_slow_under_pressure(1_000 + (127 << 10)));
        assert!(wait.is_slow_under_pressure(1_000 + (127 << 10)));
    }
}
