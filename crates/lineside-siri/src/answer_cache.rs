//! The caches of SIRI replies: replies for the current state, and the positions of requestors that poll for changes.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_http::Refusal;
use lineside_http::blocking::run_blocking;
use lineside_hub::Epoch;
use lineside_model::siri_output::{ConsumerReadPosition, SiriOutput};
use lineside_sync::UnixMillis;
use lineside_sync::loading_cache::{CacheLimits, LoadingCache};
use xxhash_rust::xxh3::xxh3_128;

use super::deliveries::{self, ConsumerPositions};
use super::encoding::SiriEncoding;
use super::query::{QuerySubject, SiriQuery};
use super::snapshot::SiriSnapshot;
use crate::SiriService;

/// Limits on cached replies to a query at a state.
const ANSWER_LIMITS: CacheLimits =
    CacheLimits { entries: 10_000, weight: 64 << 20, age: Some(Duration::from_secs(60)) };
/// Limits on remembered requestors; the Nordic form promises them ten minutes. A position takes some bytes per network.
const REQUESTOR_LIMITS: CacheLimits =
    CacheLimits { entries: 20_000, weight: 16 << 20, age: Some(Duration::from_secs(600)) };

/// A query at a state of the networks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SiriReplyKey {
    subject: QuerySubject,
    encoding: SiriEncoding,
    query: Arc<SiriQuery>,
    snapshot: (UnixMillis, Vec<(Epoch, u64, UnixMillis)>),
}

/// A requestor of changes, and its query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Requestor {
    pub(super) id: RequestorId,
    pub(super) service: SiriOutput,
    /// The query is part of the key: records that one query excludes may be wanted by another.
    pub(super) query: SiriQuery,
}

/// The identity of a requestor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum RequestorId {
    /// `requestorId` of an address: a name that no other client uses.
    Name(String),
    /// `RequestorRef` of a posted request. Programs send the same one wherever they run, so the client's address is
    /// part of the identity.
    Posted { name: String, client: IpAddr, encoding: SiriEncoding },
}

impl RequestorId {
    fn len(&self) -> usize {
        match self {
            Self::Name(name) | Self::Posted { name, .. } => name.len(),
        }
    }
}

impl Requestor {
    /// Creates the key of a query. The number of records per reply and the message identifier may differ between
    /// requests.
    pub(super) fn new(id: RequestorId, service: SiriOutput, query: &SiriQuery) -> Self {
        let query = SiriQuery { visits_max: None, message_ref: None, ..query.clone() };
        Self { id, service, query }
    }
}

#[derive(Clone, Debug)]
pub(super) struct EncodedSiriReply {
    pub(super) bytes: Bytes,
    pub(super) hash: u128,
    pub(super) is_fault: bool,
}

/// The cached replies and the remembered requestors.
pub(crate) struct SiriReplyCache {
    answers: LoadingCache<Arc<SiriReplyKey>, EncodedSiriReply, Refusal>,
    requestors: LoadingCache<Arc<Requestor>, ConsumerPositions>,
}

impl Default for SiriReplyCache {
    fn default() -> Self {
        const OVERHEAD: usize = 256;
        Self {
            answers: LoadingCache::new(ANSWER_LIMITS, |key, answer| {
                answer.bytes.len()
                    + key.query.size_bytes()
                    + key.snapshot.1.len() * size_of::<(Epoch, u64, UnixMillis)>()
                    + OVERHEAD
            }),
            requestors: LoadingCache::new(REQUESTOR_LIMITS, |requestor, known| {
                requestor.id.len()
                    + requestor.query.size_bytes()
                    + known.len() * size_of::<(Epoch, ConsumerReadPosition)>()
                    + OVERHEAD
            }),
        }
    }
}

impl std::fmt::Debug for SiriReplyCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerCache")
            .field("requestors", &self.requestors.len())
            .finish_non_exhaustive()
    }
}

impl SiriReplyCache {
    /// Evicts expired entries. `now` is the clock's monotonic time.
    pub(crate) fn evict_expired(&self, now: Duration) {
        self.answers.remove_aged_entries(now);
        self.requestors.remove_aged_entries(now);
    }

    /// Returns the reply to a query, built once for all requests at this state, off the socket threads.
    pub(super) async fn find_or_build_reply(
        &self,
        siri: &SiriService,
        snapshot: &SiriSnapshot,
        subject: QuerySubject,
        query: SiriQuery,
        encoding: SiriEncoding,
    ) -> Result<EncodedSiriReply, Refusal> {
        let query = Arc::new(query);
        let key = SiriReplyKey {
            subject,
            encoding,
            query: Arc::clone(&query),
            snapshot: snapshot.reply_cache_key(),
        };
        let make = async || {
            let permit = siri.admission().acquire_large_reply_permit().ok_or(Refusal::Busy)?;
            let snapshot = snapshot.clone();
            run_blocking(move || {
                let _permit = permit;
                let answer = deliveries::build_reply_message(&snapshot, subject, &query);
                let is_fault = answer.is_err();
                let (Ok(message) | Err(message)) = answer;
                let bytes = encoding.encode_message(&message);
                EncodedSiriReply { hash: xxh3_128(&bytes), bytes, is_fault }
            })
            .await
        };
        self.answers.get_or_load(Arc::new(key), make).await
    }

    /// Returns a requestor's position; empty at its first request.
    pub(super) fn find_requestor_position(&self, requestor: &Arc<Requestor>) -> ConsumerPositions {
        self.requestors.pin_for_reading().get(requestor).cloned().unwrap_or_default()
    }

    /// Stores a requestor's position after a reply.
    pub(super) fn store_requestor_position(
        &self,
        requestor: Arc<Requestor>,
        known: ConsumerPositions,
    ) {
        self.requestors.insert(requestor, known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_limit_includes_the_size_of_the_queries() {
        let cache = SiriReplyCache::default();
        let names = |n: usize| (0..100).map(|at| format!("{n}-{at}-{}", "x".repeat(300))).collect();
        for n in 0..1_000 {
            let query = SiriQuery { excluded: names(n), ..SiriQuery::default() };
            let service = SiriOutput::VehicleMonitoring;
            let requestor = Requestor::new(RequestorId::Name("me".to_owned()), service, &query);
            cache.store_requestor_position(Arc::new(requestor), ConsumerPositions::new());
        }
        // The thousand queries have more than 30 KB each.
        assert!((100..600).contains(&cache.requestors.len()), "{}", cache.requestors.len());
    }
}
