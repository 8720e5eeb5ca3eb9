//! Streaming gzip decompression with a limit on the output.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;

use crate::fetch_failure::{FailureCode, FetchError};

/// Maximum decompression ratio; gzip's own limit is about 1,030, text and protobuf stay below 50.
const RATIO_MAX: u64 = 200;
/// Output size below which no ratio is suspicious.
const RATIO_FREE_BYTES: u64 = 4 << 20;

/// Collects a body, decompressing it if needed. The collected part can be [drained](BodyCollector::drain_body)
/// meanwhile.
#[derive(Debug)]
pub(super) enum BodyCollector {
    Plain { bytes: Vec<u8>, drained: u64, max: u64 },
    Gzip { decoder: Box<MultiGzDecoder<CappedBuffer>>, received: u64, max: u64 },
}

/// A buffer that rejects writes beyond its limit.
#[derive(Debug)]
pub(super) struct CappedBuffer {
    bytes: Vec<u8>,
    /// The number of bytes drained.
    drained: u64,
    limit: u64,
    has_overflowed: bool,
}

impl Write for CappedBuffer {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.drained + self.bytes.len() as u64 + piece.len() as u64 > self.limit {
            self.has_overflowed = true;
            return Err(io::Error::other("beyond the limit"));
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BodyCollector {
    pub(super) fn new(gzip: bool, max: u64) -> BodyCollector {
        if gzip {
            let capped =
                CappedBuffer { bytes: Vec::new(), drained: 0, limit: 0, has_overflowed: false };
            BodyCollector::Gzip { decoder: Box::new(MultiGzDecoder::new(capped)), received: 0, max }
        } else {
            BodyCollector::Plain { bytes: Vec::new(), drained: 0, max }
        }
    }

    /// Adds the next piece of the body.
    pub(super) fn push_piece(&mut self, piece: &[u8]) -> Result<(), FetchError> {
        match self {
            BodyCollector::Plain { bytes, drained, max } => {
                if *drained + bytes.len() as u64 + piece.len() as u64 > *max {
                    return Err(FetchError::body_too_large(*max));
                }
                bytes.extend_from_slice(piece);
                Ok(())
            }
            BodyCollector::Gzip { decoder, received, max } => {
                *received += piece.len() as u64;
                if *received > *max {
                    return Err(FetchError::body_too_large(*max));
                }
                decoder.get_mut().limit = inflated_max(*received, *max);
                match decoder.write_all(piece) {
                    Ok(()) => Ok(()),
                    Err(error) => Err(inflate_failure(decoder.get_ref(), *max, &error)),
                }
            }
        }
    }

    /// Lowers the limit to `lower` bytes for the rest of the body.
    pub(super) fn lower_max(&mut self, lower: u64) {
        let (BodyCollector::Plain { max, .. } | BodyCollector::Gzip { max, .. }) = self;
        *max = lower.min(*max);
    }

    /// Returns the number of bytes received.
    pub(super) fn bytes_taken(&self) -> u64 {
        match self {
            BodyCollector::Plain { bytes, drained, .. } => *drained + bytes.len() as u64,
            BodyCollector::Gzip { received, .. } => *received,
        }
    }

    /// Removes and returns the part collected so far, decompressed. The limits still count it.
    pub(super) fn drain_body(&mut self) -> Vec<u8> {
        let (bytes, drained) = match self {
            BodyCollector::Plain { bytes, drained, .. } => (bytes, drained),
            BodyCollector::Gzip { decoder, .. } => {
                let CappedBuffer { bytes, drained, .. } = decoder.get_mut();
                (bytes, drained)
            }
        };
        *drained += bytes.len() as u64;
        std::mem::take(bytes)
    }

    /// Returns the part collected and not drained, at least the beginning of an undrained body.
    pub(super) fn body_head(&self) -> &[u8] {
        match self {
            BodyCollector::Plain { bytes, .. } => bytes,
            BodyCollector::Gzip { decoder, .. } => &decoder.get_ref().bytes,
        }
    }

    /// Returns the body, without the drained part.
    pub(super) fn finish_body(&mut self) -> Result<Vec<u8>, FetchError> {
        match self {
            BodyCollector::Plain { bytes, .. } => Ok(std::mem::take(bytes)),
            BodyCollector::Gzip { received: 0, .. } => Ok(Vec::new()),
            BodyCollector::Gzip { decoder, max, .. } => match decoder.try_finish() {
                Ok(()) => Ok(std::mem::take(&mut decoder.get_mut().bytes)),
                Err(error) if decoder.get_ref().has_overflowed => {
                    Err(inflate_failure(decoder.get_ref(), *max, &error))
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

fn inflated_max(n_received: u64, max: u64) -> u64 {
    max.min(n_received.saturating_mul(RATIO_MAX).max(RATIO_FREE_BYTES))
}

fn inflate_failure(capped: &CappedBuffer, max: u64, error: &io::Error) -> FetchError {
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
        collector.finish_body().map_err(|failure| failure.code)
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
                all.extend(collector.drain_body());
            }
            all.extend(collector.finish_body().map_err(|failure| failure.code)?);
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
