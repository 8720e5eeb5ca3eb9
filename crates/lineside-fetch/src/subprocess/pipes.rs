//! The pipes of a program, with limits.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use super::OutputTooLarge;
use crate::fetch::SecretRedactor;
use crate::limits::{STDERR_HEAD_BYTES_MAX, STDERR_TAIL_BYTES_MAX};

/// Bytes per read.
const CHUNK_BYTES: usize = 64 << 10;

/// The beginning and end of a program's standard error output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StderrCapture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// The number of bytes dropped between the two.
    n_dropped: u64,
}

impl StderrCapture {
    fn push_bytes(&mut self, bytes: &[u8]) {
        let n_left = STDERR_HEAD_BYTES_MAX - self.head.len();
        let (head, rest) = bytes.split_at(n_left.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let beyond = self.tail.len().saturating_sub(STDERR_TAIL_BYTES_MAX);
        self.tail.drain(..beyond);
        self.n_dropped += beyond as u64;
    }

    /// Returns the captured text redacted, with a line where bytes were dropped. A secret may have been cut in two
    /// there.
    pub fn to_redacted_text(&self, hidden: &SecretRedactor) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.n_dropped == 0 {
            return hidden.redact_reply_prefix(&[&self.head[..], &tail].concat());
        }
        let (head, tail) = (hidden.redact_reply_prefix(&self.head), hidden.redact_after_cut(&tail));
        format!("{head}\n… {} bytes …\n{tail}", self.n_dropped)
    }
}

/// Writes the input, as far as the program reads it.
pub(super) async fn write_stdin(pipe: Option<impl tokio::io::AsyncWrite + Unpin>, input: &[u8]) {
    if let Some(mut pipe) = pipe {
        // A program need not read all input: its result shows if that was right.
        let _ = pipe.write_all(input).await;
        let _ = pipe.shutdown().await;
    }
}

/// Reads the output to its end, or until it exceeds the limit.
pub(super) async fn read_stdout(
    pipe: Option<impl AsyncRead + Unpin>,
    max: u64,
) -> Result<Vec<u8>, OutputTooLarge> {
    let mut output = Vec::new();
    if let Some(pipe) = pipe {
        // A read error counts as the end: the exit status is more specific.
        let _ = pipe.take(max.saturating_add(1)).read_to_end(&mut output).await;
    }
    if output.len() as u64 > max { Err(OutputTooLarge) } else { Ok(output) }
}

/// Reads all standard error output and stores its beginning and end.
pub(super) async fn read_stderr(pipe: Option<impl AsyncRead + Unpin>, capture: &mut StderrCapture) {
    let Some(mut pipe) = pipe else { return };
    let mut piece = vec![0; CHUNK_BYTES];
    while let Ok(n @ 1..) = pipe.read(&mut piece).await {
        capture.push_bytes(&piece[..n]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed_config::FeedConfig;
    use crate::feed_id::FeedId;
    use crate::source::{Secret, SourceLocation};

    #[test]
    fn long_stderr_output_keeps_its_beginning_and_end() {
        let mut capture = StderrCapture::default();
        capture.push_bytes(b"first\n");
        let hidden = SecretRedactor::default();
        assert_eq!(capture.to_redacted_text(&hidden), "first\n");
        for _ in 0..1_000 {
            capture.push_bytes(&[b'x'; 100]);
        }
        capture.push_bytes(b"\nlast\n");
        let text = capture.to_redacted_text(&hidden);
        assert!(text.starts_with("first\nx") && text.ends_with("x\nlast\n"), "{text}");
        let left_out = 100_012 - STDERR_HEAD_BYTES_MAX - STDERR_TAIL_BYTES_MAX;
        assert!(text.contains(&format!("\n… {left_out} bytes …\n")), "{text}");
    }

    #[test]
    fn a_secret_cut_in_two_is_redacted() {
        let url = SourceLocation::parse("https://a.example/").unwrap();
        let feed = FeedConfig::new(FeedId::new("a").unwrap(), url);
        let secret = Secret::new("s3cr3t-w0rd");
        let hidden = SecretRedactor::for_feed(&feed, &[&secret]);
        for at in STDERR_HEAD_BYTES_MAX - 12..STDERR_HEAD_BYTES_MAX + 2 {
            for from_end in STDERR_TAIL_BYTES_MAX - 2..STDERR_TAIL_BYTES_MAX + 12 {
                let mut capture = StderrCapture::default();
                let after = "x".repeat(from_end - secret.reveal().len().min(from_end));
                let between = "y".repeat(1_000);
                let secret_text = secret.reveal();
                capture.push_bytes(
                    format!("{}{secret_text}{between}{secret_text}{after}", "x".repeat(at))
                        .as_bytes(),
                );
                let shown = capture.to_redacted_text(&hidden);
                let is_seen = |part: &str| shown.contains(part);
                assert!(!is_seen("s3cr") && !is_seen("w0rd"), "{at} {from_end}: {shown}");
            }
        }
        let mut capture = StderrCapture::default();
        capture.push_bytes(&[b'x'; STDERR_HEAD_BYTES_MAX - 5]);
        capture.push_bytes(secret.reveal().as_bytes());
        assert!(capture.to_redacted_text(&hidden).ends_with("x***"));
    }
}
