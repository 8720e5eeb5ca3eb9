//! Streaming gzip decompression with a limit on the output.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;

use crate::fetch_failure::{FailureCode, FetchError};

/// Maximum decompression ratio; gzip's own limit is about 1,030, text and protobuf stay below 50.
const RATIO_MAX: u64 = 200;
/// Output size below which no ratio is suspicious.
const RATIO_FREE_BYTES: u64 = 4 << 20;

/// Capacity of a segment of a collected body, in bytes.
const SEGMENT_BYTES: usize = 1 << 20;

/// Collects a body, decompressing it if needed. The collected part can be [drained](BodyCollector::drain_body)
/// meanwhile.
#[derive(Debug)]
pub(super) enum BodyCollector {
    Plain { buffer: SegmentedBodyBuffer, max: u64 },
    Gzip { decoder: Box<MultiGzDecoder<CappedBuffer>>, received: u64, max: u64 },
}

/// The collected part of a body, in segments: one growing buffer would be copied each time that it doubles, and a body
/// of 500 MB would leave as much behind in freed buffers.
#[derive(Debug, Default)]
pub(super) struct SegmentedBodyBuffer {
    segments: Vec<Vec<u8>>,
    /// Length of the body so far, in bytes, with the drained part.
    length: u64,
}

impl SegmentedBodyBuffer {
    fn push_piece(&mut self, piece: &[u8]) {
        self.length += piece.len() as u64;
        let mut rest = piece;
        while !rest.is_empty() {
            let is_full = self.segments.last().is_none_or(|last| last.len() == SEGMENT_BYTES);
            if is_full {
                // The first segment grows with the body, because most bodies are small.
                let capacity = if self.segments.is_empty() { 0 } else { SEGMENT_BYTES };
                self.segments.push(Vec::with_capacity(capacity));
            }
            let Some(last) = self.segments.last_mut() else { return };
            let (fitting, more) = rest.split_at(rest.len().min(SEGMENT_BYTES - last.len()));
            last.extend_from_slice(fitting);
            rest = more;
        }
    }

    /// Returns the beginning of the undrained part.
    fn undrained_start(&self) -> &[u8] {
        self.segments.first().map_or(&[], Vec::as_slice)
    }

    /// Removes and returns the undrained part. Each segment is freed as soon as it is copied.
    fn take_undrained_bytes(&mut self) -> Vec<u8> {
        let mut segments = std::mem::take(&mut self.segments);
        if segments.len() <= 1 {
            return segments.pop().unwrap_or_default();
        }
        let mut bytes = Vec::with_capacity(segments.iter().map(Vec::len).sum());
        for segment in segments {
            bytes.extend_from_slice(&segment);
        }
        bytes
    }
}

/// A buffer that rejects writes beyond its limit.
#[derive(Debug, Default)]
pub(super) struct CappedBuffer {
    buffer: SegmentedBodyBuffer,
    limit: u64,
    has_overflowed: bool,
}

impl Write for CappedBuffer {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.buffer.length + piece.len() as u64 > self.limit {
            self.has_overflowed = true;
            return Err(io::Error::other("beyond the limit"));
        }
        self.buffer.push_piece(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BodyCollector {
    pub(super) fn new(gzip: bool, max: u64) -> BodyCollector {
        if gzip {
            let decoder = Box::new(MultiGzDecoder::new(CappedBuffer::default()));
            BodyCollector::Gzip { decoder, received: 0, max }
        } else {
            BodyCollector::Plain { buffer: SegmentedBodyBuffer::default(), max }
        }
    }

    /// Adds the next piece of the body.
    pub(super) fn push_piece(&mut self, piece: &[u8]) -> Result<(), FetchError> {
        match self {
            BodyCollector::Plain { buffer, max } => {
                if buffer.length + piece.len() as u64 > *max {
                    return Err(FetchError::body_too_large(*max));
                }
                buffer.push_piece(piece);
                Ok(())
            }
            BodyCollector::Gzip { decoder, received, max } => {
                *received += piece.len() as u64;
                if *received > *max {
                    return Err(FetchError::body_too_large(*max));
                }
                decoder.get_mut().limit = max_decompressed_bytes(*received, *max);
                match decoder.write_all(piece) {
                    Ok(()) => Ok(()),
                    Err(error) => Err(decompression_failure(decoder.get_ref(), *max, &error)),
                }
            }
        }
    }

    /// Lowers the limit to `lower` bytes for the rest of the body.
    pub(super) fn lower_size_limit(&mut self, lower: u64) {
        let (BodyCollector::Plain { max, .. } | BodyCollector::Gzip { max, .. }) = self;
        *max = lower.min(*max);
    }

    /// Returns the number of bytes received.
    pub(super) fn bytes_received(&self) -> u64 {
        match self {
            BodyCollector::Plain { buffer, .. } => buffer.length,
            BodyCollector::Gzip { received, .. } => *received,
        }
    }

    /// Removes and returns the part collected so far, decompressed. The limits still count it.
    pub(super) fn take_collected_bytes(&mut self) -> Vec<u8> {
        match self {
            BodyCollector::Plain { buffer, .. } => buffer.take_undrained_bytes(),
            BodyCollector::Gzip { decoder, .. } => decoder.get_mut().buffer.take_undrained_bytes(),
        }
    }

    /// Returns the beginning of the part that was collected and not drained: all of it up to 1 MiB.
    pub(super) fn undrained_body_start(&self) -> &[u8] {
        match self {
            BodyCollector::Plain { buffer, .. } => buffer.undrained_start(),
            BodyCollector::Gzip { decoder, .. } => decoder.get_ref().buffer.undrained_start(),
        }
    }

    /// Returns the body, without the drained part.
    pub(super) fn finish_and_take_body(&mut self) -> Result<Vec<u8>, FetchError> {
        match self {
            BodyCollector::Plain { buffer, .. } => Ok(buffer.take_undrained_bytes()),
            BodyCollector::Gzip { received: 0, .. } => Ok(Vec::new()),
            BodyCollector::Gzip { decoder, max, .. } => match decoder.try_finish() {
                Ok(()) => Ok(decoder.get_mut().buffer.take_undrained_bytes()),
                Err(error) if decoder.get_ref().has_overflowed => {
                    Err(decompression_failure(decoder.get_ref(), *max, &error))
                }
                // The received bytes were valid, so the rest is missing.
                Err(_) => Err(FetchError::new(
                    FailureCode::Truncated,
                    "the compressed body ends too early",
                )),
            },
        }
    }
}

fn max_decompressed_bytes(n_received: u64, max: u64) -> u64 {
    max.min(n_received.saturating_mul(RATIO_MAX).max(RATIO_FREE_BYTES))
}

fn decompression_failure(capped: &CappedBuffer, max: u64, error: &io::Error) -> FetchError {
    if capped.has_overflowed {
        let why = if capped.limit < max { "looks like a zip bomb" } else { "is too large" };
        return FetchError::new(
            FailureCode::TooLarge,
            format!("the body {why}: it inflates to more than {} bytes", capped.limit),
        );
    }
    FetchError::new(FailureCode::Decode, format!("the body is not valid gzip: {error}"))
}

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn collect(body: &[u8], gzip: bool, max: u64) -> Result<Vec<u8>, FailureCode> {
        let mut collector = BodyCollector::new(gzip, max);
        for piece in body.chunks(7) {
            collector.push_piece(piece).map_err(|failure| failure.code)?;
        }
        collector.finish_and_take_body().map_err(|failure| failure.code)
    }

    #[test]
    fn a_compressed_body_is_decompressed_unchanged() {
        let body: Vec<u8> = (0..100_000_u32).flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(collect(&gzip(&body), true, 1 << 20), Ok(body.clone()));
        assert_eq!(collect(&body, false, 1 << 20), Ok(body));
    }

    #[test]
    fn drained_bytes_are_part_of_the_body_and_its_size() {
        let body: Vec<u8> = (0..100_000_u32).flat_map(|n| n.to_le_bytes()).collect();
        let drain = |sent: &[u8], is_gzip, max| {
            let mut collector = BodyCollector::new(is_gzip, max);
            let mut all = Vec::new();
            for piece in sent.chunks(1_000) {
                collector.push_piece(piece).map_err(|failure| failure.code)?;
                all.extend(collector.take_collected_bytes());
            }
            all.extend(collector.finish_and_take_body().map_err(|failure| failure.code)?);
            Ok(all)
        };
        let zipped = gzip(&body);
        let max = body.len() as u64;
        for (sent, is_gzip) in [(&body, false), (&zipped, true)] {
            assert_eq!(drain(sent, is_gzip, max), Ok(body.clone()));
            assert_eq!(drain(sent, is_gzip, max - 1), Err(FailureCode::TooLarge));
        }
    }

    #[test]
    fn a_body_of_several_segments_is_returned_whole() {
        let body: Vec<u8> =
            (0..3 * SEGMENT_BYTES as u32 / 4 + 1).flat_map(u32::to_le_bytes).collect();
        let mut collector = BodyCollector::new(false, 1 << 30);
        for piece in body.chunks(SEGMENT_BYTES + 7) {
            collector.push_piece(piece).unwrap();
        }
        assert_eq!(collector.undrained_body_start(), &body[..SEGMENT_BYTES]);
        assert!(collector.finish_and_take_body().unwrap() == body);
    }

    #[test]
    fn the_memory_of_a_large_body_is_at_most_one_segment_more_than_its_length() {
        let mut buffer = SegmentedBodyBuffer::default();
        for _ in 0..9 * SEGMENT_BYTES / 16_000 {
            buffer.push_piece(&[0; 16_000]);
        }
        let allocated: usize = buffer.segments.iter().map(Vec::capacity).sum();
        assert!(allocated as u64 <= buffer.length + SEGMENT_BYTES as u64, "{allocated}");
    }

    #[test]
    fn a_body_over_the_limit_is_rejected_while_it_streams() {
        assert_eq!(collect(&[0; 100], false, 99), Err(FailureCode::TooLarge));
        assert_eq!(collect(&gzip(&[0; 10_000]), true, 9_999), Err(FailureCode::TooLarge));
    }

    #[test]
    fn a_gzip_bomb_is_rejected_long_before_the_size_limit() {
        let bomb = gzip(&vec![0; 64 << 20]);
        let mut collector = BodyCollector::new(true, 1 << 30);
        let mut taken = 0;
        let refused = bomb.chunks(1024).find_map(|piece| {
            taken += piece.len();
            collector.push_piece(piece).err()
        });
        assert_eq!(refused.unwrap().code, FailureCode::TooLarge);
        assert!(taken < bomb.len() / 2, "{taken} of {}", bomb.len());
    }

    #[test]
    fn a_truncated_body_and_a_damaged_body_fail_differently() {
        let whole = gzip(b"hello hello hello");
        assert_eq!(collect(&whole[..whole.len() - 5], true, 100), Err(FailureCode::Truncated));
        assert_eq!(collect(b"this is no gzip at all", true, 100), Err(FailureCode::Decode));
        assert_eq!(collect(b"", true, 100), Ok(Vec::new()));
    }
}
