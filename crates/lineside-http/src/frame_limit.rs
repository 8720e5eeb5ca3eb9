//! A limit on the HTTP/2 frames that cost the server work and carry no request: SETTINGS, PING, PRIORITY,
//! WINDOW_UPDATE, RST_STREAM beyond one for each request, and unknown ones. h2 itself limits header blocks, empty DATA
//! and resets of streams that it remembers, but answers any number of these.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use lineside_sync::real_time::RealTimeStopwatch;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::limits;

/// Length of the connection preface that each client sends first.
const PREFACE_BYTES: usize = 24;
const HEAD_BYTES: usize = 9;
const HEADERS: u8 = 0x1;
const RST_STREAM: u8 = 0x3;
/// The frames that carry requests: DATA, HEADERS and CONTINUATION.
const REQUEST_KINDS: [u8; 3] = [0x0, HEADERS, 0x9];

/// Parses the headers of a client's frames and counts the frames without a request.
#[derive(Debug)]
struct Http2FrameLimit {
    /// Bytes before the next frame header.
    skip: usize,
    head: [u8; HEAD_BYTES],
    head_bytes: usize,
    /// Frames that the client may send before it is over the limit.
    frames_left: u64,
    /// Requests that the client has not reset, each of which it may reset once for free.
    resets_left: u64,
    /// Frames granted so far, for elapsed time and for sent bytes.
    granted: u64,
    sent: u64,
}

impl Http2FrameLimit {
    fn new() -> Self {
        Self {
            skip: PREFACE_BYTES,
            head: [0; HEAD_BYTES],
            head_bytes: 0,
            frames_left: limits::CONTROL_FRAMES_BURST,
            resets_left: 0,
            granted: 0,
            sent: 0,
        }
    }

    /// Counts bytes sent to the client, which has to open its windows for them.
    fn count_sent_bytes(&mut self, bytes: usize) {
        self.sent += bytes as u64;
    }

    /// Counts the frames in bytes from the client; `elapsed` is the connection's age. Returns false if the client
    /// exceeds the limit.
    fn count_and_check_frames(&mut self, mut bytes: &[u8], elapsed: Duration) -> bool {
        let per_time = elapsed.as_millis() * u128::from(limits::CONTROL_FRAMES_PER_SECOND) / 1000;
        let granted = u64::try_from(per_time).unwrap_or(u64::MAX).saturating_add(self.sent >> 10);
        let new = granted.saturating_sub(self.granted);
        self.granted = granted;
        self.frames_left = self.frames_left.saturating_add(new).min(limits::CONTROL_FRAMES_BURST);
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            let n_copied = (HEAD_BYTES - self.head_bytes).min(bytes.len());
            self.head[self.head_bytes..][..n_copied].copy_from_slice(&bytes[..n_copied]);
            self.head_bytes += n_copied;
            bytes = &bytes[n_copied..];
            if self.head_bytes < HEAD_BYTES {
                continue;
            }
            self.head_bytes = 0;
            let [high, middle, low, kind, ..] = self.head;
            self.skip = u32::from_be_bytes([0, high, middle, low]) as usize;
            if kind == HEADERS {
                self.resets_left += 1;
            }
            if REQUEST_KINDS.contains(&kind) {
                continue;
            }
            if kind == RST_STREAM && self.resets_left > 0 {
                self.resets_left -= 1;
                continue;
            }
            let Some(left) = self.frames_left.checked_sub(1) else { return false };
            self.frames_left = left;
        }
        true
    }
}

/// An HTTP/2 connection that fails when the client sends too many frames without a request.
pub(crate) struct FrameLimitedSocket<C> {
    socket: C,
    limit: Http2FrameLimit,
    age: RealTimeStopwatch,
}

impl<C> FrameLimitedSocket<C> {
    pub(crate) fn new(socket: C) -> Self {
        Self { socket, limit: Http2FrameLimit::new(), age: RealTimeStopwatch::start_stopwatch() }
    }

    fn count_written_bytes(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(n)) = written {
            self.limit.count_sent_bytes(n);
        }
        written
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for FrameLimitedSocket<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(cx, into))?;
        let age = self.age.elapsed();
        if self.limit.count_and_check_frames(&into.filled()[before..], age) {
            return Poll::Ready(Ok(()));
        }
        Poll::Ready(Err(io::Error::other("the client sends too many frames")))
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for FrameLimitedSocket<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.count_written_bytes(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, pieces);
        self.count_written_bytes(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: u8 = 0x6;

    fn frames(kind: u8, count: u64) -> Vec<u8> {
        let frame = [&[0, 0, 8, kind, 0, 0, 0, 0, 0], &[b'x'; 8][..]].concat();
        frame.repeat(usize::try_from(count).unwrap())
    }

    fn sample_limit() -> Http2FrameLimit {
        let mut limit = Http2FrameLimit::new();
        assert!(limit.count_and_check_frames(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Duration::ZERO));
        limit
    }

    #[test]
    fn control_frames_are_limited_however_the_bytes_are_split() {
        for piece in [1, 7, 1 << 20] {
            let mut limit = sample_limit();
            let mut all = |bytes: &[u8], age| {
                bytes.chunks(piece).all(|it| limit.count_and_check_frames(it, age))
            };
            assert!(all(&frames(PING, limits::CONTROL_FRAMES_BURST), Duration::ZERO));
            assert!(all(&frames(HEADERS, 5_000), Duration::ZERO), "requests are not counted");
            let second = Duration::from_secs(1);
            assert!(all(&frames(PING, limits::CONTROL_FRAMES_PER_SECOND), second));
            assert!(!all(&frames(PING, 1), second));
        }
    }

    #[test]
    fn a_client_may_reset_each_request_once() {
        let mut limit = sample_limit();
        let request = [frames(HEADERS, 1), frames(RST_STREAM, 1)].concat();
        assert!(limit.count_and_check_frames(&request.repeat(30_000), Duration::ZERO));
        assert!(limit.count_and_check_frames(
            &frames(RST_STREAM, limits::CONTROL_FRAMES_BURST),
            Duration::ZERO
        ));
        assert!(!limit.count_and_check_frames(&frames(RST_STREAM, 1), Duration::ZERO));
    }

    #[test]
    fn the_frame_limit_grows_with_the_bytes_sent() {
        let mut limit = sample_limit();
        assert!(
            limit.count_and_check_frames(
                &frames(PING, limits::CONTROL_FRAMES_BURST),
                Duration::ZERO
            )
        );
        limit.count_sent_bytes(100 << 10);
        assert!(limit.count_and_check_frames(&frames(PING, 100), Duration::ZERO));
        assert!(!limit.count_and_check_frames(&frames(PING, 1), Duration::ZERO));
    }
}
