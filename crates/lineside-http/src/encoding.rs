//! Content codings: their negotiation, and a cache of compressed bodies.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use lineside_sync::loading_cache::{self, LoadingCache};

use super::limits;
use super::shared_bytes::{SharedBodyCounter, SharedBodyMarker};

/// A content coding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContentCoding {
    /// The body unchanged.
    Identity,
    Gzip,
    Brotli,
    Zstd,
}

/// Compression levels: about as small as gzip's default, in a few milliseconds per MB.
const GZIP_LEVEL: u32 = 5;
const BROTLI_QUALITY: u32 = 4;
const BROTLI_WINDOW: u32 = 22;
const ZSTD_LEVEL: i32 = 3;

impl ContentCoding {
    /// All codings in ascending order of preference: zstd is the cheapest for both ends.
    pub const ALL: [Self; Self::COUNT] = [Self::Identity, Self::Gzip, Self::Brotli, Self::Zstd];
    /// Number of codings.
    pub const COUNT: usize = 4;

    /// Returns the name in `Content-Encoding`; `None` for an unchanged body.
    pub fn content_encoding_value(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gzip"),
            Self::Brotli => Some("br"),
            Self::Zstd => Some("zstd"),
        }
    }

    fn compress_bytes(self, body: &[u8]) -> io::Result<Vec<u8>> {
        let out = Vec::with_capacity(body.len() / 3);
        match self {
            Self::Identity => Ok(body.to_vec()),
            Self::Gzip => {
                let level = flate2::Compression::new(GZIP_LEVEL);
                let mut encoder = flate2::write::GzEncoder::new(out, level);
                encoder.write_all(body)?;
                encoder.finish()
            }
            Self::Brotli => {
                let mut encoder =
                    brotli::CompressorWriter::new(out, 32 * 1024, BROTLI_QUALITY, BROTLI_WINDOW);
                encoder.write_all(body)?;
                encoder.flush()?;
                Ok(encoder.into_inner())
            }
            Self::Zstd => zstd::bulk::compress(body, ZSTD_LEVEL),
        }
    }
}

/// Returns the coding that a request prefers; among equals, the one that the server prefers (RFC 9110 §12.5.3).
pub fn negotiate_coding(headers: &HeaderMap) -> ContentCoding {
    let mut weights = [None; ContentCoding::COUNT];
    let mut others = 0;
    for value in headers.get_all(header::ACCEPT_ENCODING) {
        for item in value.to_str().unwrap_or_default().split(',') {
            let (name, weight) = parse_coding(item);
            let is_named = |coding: &ContentCoding| {
                name.eq_ignore_ascii_case(coding.content_encoding_value().unwrap_or("identity"))
            };
            if let Some(coding) = ContentCoding::ALL.into_iter().find(is_named) {
                weights[coding as usize] = Some(weight);
            } else if name == "*" {
                others = weight;
            }
        }
    }
    let weight = |coding: ContentCoding| match weights[coding as usize] {
        Some(weight) => weight,
        // An unchanged body is always acceptable, but preferred only if the request names it.
        None if coding == ContentCoding::Identity => 0,
        None => others,
    };
    let liked = ContentCoding::ALL.into_iter().filter(|coding| weight(*coding) > 0);
    liked.max_by_key(|coding| weight(*coding)).unwrap_or(ContentCoding::Identity)
}

/// Parses one item of `Accept-Encoding` into a coding's name and its weight in thousandths.
fn parse_coding(item: &str) -> (&str, u16) {
    let mut parts = item.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    let weight = weight.map_or(1.0, |weight| weight.parse::<f32>().unwrap_or(0.0));
    (name, (weight.clamp(0.0, 1.0) * 1000.0) as u16)
}

/// Returns true if compression makes a body of this kind smaller: text and protobuf yes, archives and pictures no.
pub fn is_worth_compressing(content_type: &HeaderValue, body: &[u8]) -> bool {
    if !(limits::COMPRESS_BYTES_MIN..=limits::COMPRESS_BYTES_MAX).contains(&body.len()) {
        return false;
    }
    let compressed = [b"PK\x03\x04".as_slice(), b"\x1f\x8b", b"\x28\xb5\x2f\xfd"];
    if compressed.iter().any(|magic| body.starts_with(magic)) {
        return false;
    }
    let kind = content_type.to_str().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind.starts_with("text/")
        || ["json", "xml", "javascript", "protobuf", "openmetrics"]
            .iter()
            .any(|mark| kind.contains(mark))
        || kind == "application/octet-stream"
}

/// Returns the body in this coding; a large body is compressed off the socket threads.
pub async fn encode_body(body: &Bytes, coding: ContentCoding) -> Bytes {
    let encoded = if body.len() <= limits::COMPRESS_INLINE_BYTES_MAX {
        coding.compress_bytes(body)
    } else {
        let body = body.clone();
        let work = tokio::task::spawn_blocking(move || coding.compress_bytes(&body));
        work.await.unwrap_or_else(|error| Err(io::Error::other(error)))
    };
    encoded.expect("writing to memory cannot fail").into()
}

/// A cache of compressed bodies, by the hash of the uncompressed body. Only bodies that many clients request belong
/// here: the oldest entry is evicted first, however often it was read.
#[derive(Debug)]
pub struct CompressedBodies {
    bodies: LoadingCache<(u128, ContentCoding), CachedCompressedBody>,
}

/// A cached body, shared by replies.
#[derive(Debug, Clone)]
struct CachedCompressedBody {
    bytes: Bytes,
    shared: Arc<SharedBodyCounter>,
}

impl CachedCompressedBody {
    fn new(bytes: Bytes) -> Self {
        let shared = SharedBodyCounter::for_compressed(bytes.len());
        Self { bytes, shared }
    }
}

impl Default for CompressedBodies {
    fn default() -> Self {
        let limits = loading_cache::CacheLimits {
            entries: limits::COMPRESSED_CACHE_ENTRIES_MAX,
            weight: limits::COMPRESSED_CACHE_BYTES_MAX,
            age: Some(limits::COMPRESSED_CACHE_TTL),
        };
        Self { bodies: LoadingCache::new(limits, |_, body| body.bytes.len()) }
    }
}

impl CompressedBodies {
    /// Returns the body in this coding from the cache, or compresses it once for all concurrent requests.
    pub async fn encode_with_cache(
        &self,
        hash: u128,
        body: &Bytes,
        coding: ContentCoding,
    ) -> (Bytes, SharedBodyMarker) {
        let load = async || Ok(CachedCompressedBody::new(encode_body(body, coding).await));
        let Ok(cached) = self.bodies.get_or_load((hash, coding), load).await;
        (cached.bytes, SharedBodyMarker(cached.shared))
    }

    /// Evicts expired bodies. `now` is the clock's monotonic time.
    pub fn evict_expired(&self, now: Duration) {
        self.bodies.remove_aged_entries(now);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn check(accept: &str, expect: ContentCoding) {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_str(accept).unwrap());
        assert_eq!(negotiate_coding(&headers), expect, "{accept}");
    }

    #[test]
    fn the_client_chooses_the_coding_and_the_server_breaks_ties() {
        check("gzip, deflate, br, zstd", ContentCoding::Zstd);
        check("gzip;q=1.0, br;q=0.5", ContentCoding::Gzip);
        check("GZIP", ContentCoding::Gzip);
        check("*", ContentCoding::Zstd);
        check("zstd;q=0, *;q=0.1", ContentCoding::Brotli);
        check("deflate", ContentCoding::Identity);
        check("identity", ContentCoding::Identity);
        check("identity, gzip;q=0.5", ContentCoding::Identity);
        check("identity;q=0.5, *;q=0.7, zstd;q=0", ContentCoding::Brotli);
        check("*;q=0", ContentCoding::Identity);
        check("", ContentCoding::Identity);
        check("br;q=nonsense", ContentCoding::Identity);
        assert_eq!(negotiate_coding(&HeaderMap::new()), ContentCoding::Identity);
    }

    #[tokio::test]
    async fn every_coding_decodes_to_the_original_body() {
        let body = Bytes::from("a stop is a stop is a stop. ".repeat(4_000));
        let compressed = CompressedBodies::default();
        for coding in [ContentCoding::Gzip, ContentCoding::Brotli, ContentCoding::Zstd] {
            let (encoded, _) = compressed.encode_with_cache(7, &body, coding).await;
            assert!(encoded.len() < body.len() / 4, "{coding:?}: {}", encoded.len());
            let mut decoded = Vec::new();
            match coding {
                ContentCoding::Gzip => {
                    flate2::read::GzDecoder::new(&encoded[..]).read_to_end(&mut decoded).unwrap();
                }
                ContentCoding::Brotli => {
                    brotli::Decompressor::new(&encoded[..], 4096)
                        .read_to_end(&mut decoded)
                        .unwrap();
                }
                ContentCoding::Zstd => decoded = zstd::stream::decode_all(&encoded[..]).unwrap(),
                ContentCoding::Identity => unreachable!("the encoding is not supported"),
            }
            assert_eq!(decoded, body, "{coding:?}");
        }
    }

    #[tokio::test]
    async fn cached_bodies_are_bounded_and_expire() {
        let compressed = CompressedBodies::default();
        let cache_body = |hash| {
            let body = CachedCompressedBody::new(vec![0; 10 << 20].into());
            compressed.bodies.insert((hash, ContentCoding::Gzip), body);
        };
        (0..20).for_each(cache_body);
        let is_cached =
            |hash| compressed.bodies.pin_for_reading().get(&(hash, ContentCoding::Gzip)).is_some();
        assert!(compressed.bodies.total_weight() <= limits::COMPRESSED_CACHE_BYTES_MAX);
        assert!(is_cached(19) && !is_cached(0));
        compressed.evict_expired(Duration::ZERO);
        compressed.evict_expired(limits::COMPRESSED_CACHE_TTL);
        assert!(!is_cached(19));
    }

    #[tokio::test]
    async fn a_body_is_compressed_once_for_concurrent_requests() {
        let body = Bytes::from("a stop is a stop is a stop. ".repeat(40_000));
        let compressed = CompressedBodies::default();
        let compress = || compressed.encode_with_cache(7, &body, ContentCoding::Zstd);
        let ((one, _), (other, _), (third, _)) = tokio::join!(compress(), compress(), compress());
        assert_eq!((one.as_ptr(), one.as_ptr()), (other.as_ptr(), third.as_ptr()));
    }

    #[test]
    fn archives_and_images_are_not_compressed() {
        let zip = [b"PK\x03\x04".as_slice(), &[0; 4096]].concat();
        let kind = HeaderValue::from_static("application/octet-stream");
        assert!(!is_worth_compressing(&kind, &zip));
        assert!(is_worth_compressing(&kind, &[7; 4096]));
        assert!(!is_worth_compressing(&HeaderValue::from_static("image/png"), &[7; 4096]));
        assert!(!is_worth_compressing(&HeaderValue::from_static("text/html"), b"short"));
    }
}
