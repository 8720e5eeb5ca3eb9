//! Accounting of bytes that wait to be sent. A reply that was made for one request occupies memory until its client has
//! read it, so such replies are counted per connection, per address and in total, from their creation until their bytes
//! are dropped. Bodies that replies share are counted once, and only while nothing else holds them.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header;
use http_body::{Body as _, Frame, SizeHint};

use super::admission::AdmissionControl;
use super::errors::Refusal;
use super::limits;
use super::shared_bytes::{SharedBodyCounter, SharedBodyMarker};
use super::streams::Http2StreamProgress;
use crate::http_date::current_http_date;
use crate::request_count::{UncountedRequest, copy_common_headers};
use crate::unsent_budget::{AddressUnsentBytes, UnsentBudget};

/// The unsent bytes of one connection.
#[derive(Debug)]
struct ConnectionUnsentBytes {
    bytes_max: usize,
    /// Bytes of replies that were made for one request each.
    bytes: AtomicUsize,
    /// Bytes of all replies.
    all_bytes: AtomicUsize,
}

impl ConnectionUnsentBytes {
    /// Creates the counter of one client's connection.
    fn for_client(all: &UnsentBudget) -> Arc<Self> {
        Self::new(all.bytes_max / limits::UNSENT_CONNECTION_DIVISOR)
    }

    /// Creates the counter of a trusted proxy's connection, which carries the replies of many clients.
    fn for_proxy() -> Arc<Self> {
        Self::new(usize::MAX)
    }

    fn new(bytes_max: usize) -> Arc<Self> {
        let [bytes, all_bytes] = [0, 0].map(AtomicUsize::new);
        Arc::new(Self { bytes_max, bytes, all_bytes })
    }

    /// Counts the bytes of a reply, and returns false if too many bytes are unsent already. While none are unsent, a
    /// reply of any size is accepted, or clients could never read it.
    fn try_count_reply(&self, address: &AddressUnsentBytes, bytes: usize) -> bool {
        let all = &address.budget;
        let bytes_max = all.limit_for_reply(bytes);
        let counters = [
            (&self.bytes, self.bytes_max),
            (&address.bytes, address.bytes_max),
            (&all.bytes, bytes_max),
        ];
        for (n, (counter, bytes_max)) in counters.into_iter().enumerate() {
            let add = |used: usize| {
                let sum = used.checked_add(bytes)?;
                (used == 0 || sum <= bytes_max).then_some(sum)
            };
            if counter.fetch_update(Relaxed, Relaxed, add).is_err() {
                for (counter, _) in &counters[..n] {
                    counter.fetch_sub(bytes, Relaxed);
                }
                all.n_refused.fetch_add(1, Relaxed);
                return false;
            }
        }
        true
    }

    /// Returns the reply with its body counted, or a refusal if too many bytes wait to be sent.
    fn count_outgoing_reply(
        self: &Arc<Self>,
        address: &Arc<AddressUnsentBytes>,
        response: Response,
        progress: Option<Arc<Http2StreamProgress>>,
    ) -> Response<OutgoingBody> {
        let mut response = response;
        // Set here and not by hyper, whose cached date stays in the future after the clock was set back.
        response.headers_mut().entry(header::DATE).or_insert_with(current_http_date);
        let shared = response.extensions().get::<SharedBodyMarker>().map(|it| Arc::clone(&it.0));
        // A body without exact length is produced piece by piece while it is sent.
        let length = response.body().size_hint().exact().unwrap_or(0);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length == 0 {
            return response.map(|body| OutgoingBody::new(body, None, progress));
        }
        if let Some(shared) = &shared {
            shared.attach_unsent_budget(&address.budget);
        }
        let is_free = shared.is_some() && address.budget.has_room_for_shared();
        if !is_free && !self.try_count_reply(address, length) {
            let refusal = copy_common_headers(response, Refusal::Busy.into_response());
            return refusal.map(|body| OutgoingBody::new(body, None, progress));
        }
        self.all_bytes.fetch_add(length, Relaxed);
        let counted = (!is_free).then(|| Arc::clone(address));
        let connection = Arc::clone(self);
        let unsent = Arc::new(UnsentReplyBytes {
            bytes: length,
            connection,
            address: counted,
            _shared: shared,
        });
        response.map(|body| OutgoingBody::new(body, Some(unsent), progress))
    }
}

/// The bytes of a reply, counted until this is dropped.
#[derive(Debug)]
struct UnsentReplyBytes {
    bytes: usize,
    connection: Arc<ConnectionUnsentBytes>,
    /// The address that counts the bytes; `None` for a shared body that is not counted.
    address: Option<Arc<AddressUnsentBytes>>,
    _shared: Option<Arc<SharedBodyCounter>>,
}

impl Drop for UnsentReplyBytes {
    fn drop(&mut self) {
        self.connection.all_bytes.fetch_sub(self.bytes, Relaxed);
        if let Some(address) = &self.address {
            self.connection.bytes.fetch_sub(self.bytes, Relaxed);
            address.bytes.fetch_sub(self.bytes, Relaxed);
            address.budget.bytes.fetch_sub(self.bytes, Relaxed);
        }
    }
}

/// A chunk of a body that stays counted for as long as hyper holds any of it.
struct CountedChunk {
    bytes: Bytes,
    _unsent: Arc<UnsentReplyBytes>,
}

impl AsRef<[u8]> for CountedChunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A reply's body while it is sent.
pub(crate) struct OutgoingBody {
    body: Body,
    unsent: Option<Arc<UnsentReplyBytes>>,
    /// The progress of an HTTP/2 stream, whose body is sent in small pieces.
    progress: Option<Arc<Http2StreamProgress>>,
    /// The rest of the chunk that is being split into pieces.
    rest: Bytes,
}

impl OutgoingBody {
    fn new(
        body: Body,
        unsent: Option<Arc<UnsentReplyBytes>>,
        progress: Option<Arc<Http2StreamProgress>>,
    ) -> Self {
        Self { body, unsent, progress, rest: Bytes::new() }
    }

    /// Returns the next piece. hyper is done with a stream once it has given the last piece to h2, and h2 accepts a
    /// whole piece as soon as the client has window for one byte of it. So the last piece is one byte: when h2 has it,
    /// the client has window for the whole body.
    fn next_body_piece(&mut self) -> Bytes {
        let chunk_max = limits::PIECE_BYTES_MAX;
        let length = match self.rest.len() {
            length if length > chunk_max => chunk_max,
            length if length > 1 && self.body.is_end_stream() => length - 1,
            length => length,
        };
        self.rest.split_to(length)
    }
}

impl http_body::Body for OutgoingBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        if let Some(progress) = &this.progress {
            progress.mark_no_bytes_waiting();
        }
        if this.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            let bytes = match frame.into_data() {
                Ok(bytes) => bytes,
                Err(frame) => return Poll::Ready(Some(Ok(frame))),
            };
            let bytes = match &this.unsent {
                Some(unsent) => {
                    Bytes::from_owner(CountedChunk { bytes, _unsent: Arc::clone(unsent) })
                }
                None => bytes,
            };
            if this.progress.is_none() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            this.rest = bytes;
        }
        let piece = this.next_body_piece();
        if let Some(progress) = &this.progress {
            progress.count_passed_bytes(piece.len());
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

/// The limits on the replies of one connection: unsent bytes and a timeout.
#[derive(Clone)]
pub(crate) struct ConnectionSendLimits {
    /// Longest time that the client may read nothing of a reply.
    pub timeout: Duration,
    connection: Arc<ConnectionUnsentBytes>,
    owner: UnsentOwner,
    budget: Arc<UnsentBudget>,
}

/// The client that a connection's requests are counted for.
#[derive(Clone)]
enum UnsentOwner {
    Client(Arc<AddressUnsentBytes>),
    /// Each request may come from another client.
    BehindProxy,
}

impl ConnectionSendLimits {
    /// Returns the limits of a client's own connection.
    pub(crate) fn for_client(admission: &AdmissionControl, client: IpAddr) -> Self {
        let all = Arc::clone(admission.unsent_budget());
        let connection = ConnectionUnsentBytes::for_client(&all);
        let owner = UnsentOwner::Client(all.for_address(client));
        Self { timeout: admission.send_timeout(), connection, owner, budget: all }
    }

    /// Returns the limits of a trusted proxy's connection.
    pub(crate) fn for_proxy(admission: &AdmissionControl) -> Self {
        let (connection, owner) = (ConnectionUnsentBytes::for_proxy(), UnsentOwner::BehindProxy);
        let all = Arc::clone(admission.unsent_budget());
        Self { timeout: admission.send_timeout(), connection, owner, budget: all }
    }

    /// Returns the number of unsent bytes on this connection, shared bodies included.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.connection.all_bytes.load(Relaxed)
    }

    /// Returns the budget of all connections.
    pub(crate) fn unsent_budget(&self) -> &Arc<UnsentBudget> {
        &self.budget
    }

    /// Returns the address that a request is counted for; `client` resolves it if a proxy forwarded the request.
    pub(crate) fn find_counted_address(
        &self,
        client: impl FnOnce() -> IpAddr,
    ) -> Arc<AddressUnsentBytes> {
        match &self.owner {
            UnsentOwner::Client(address) => Arc::clone(address),
            UnsentOwner::BehindProxy => self.budget.for_address(client()),
        }
    }

    pub(crate) fn limit_outgoing_reply(
        &self,
        owner: &Arc<AddressUnsentBytes>,
        response: Response,
        count: Option<UncountedRequest>,
    ) -> Response<OutgoingBody> {
        let progress = Http2StreamProgress::for_current_task();
        let reply = self.connection.count_outgoing_reply(owner, response, progress);
        if let Some(count) = count {
            count.count_with_status(reply.status());
        }
        reply
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use http::StatusCode;

    use super::*;

    fn owner(all: &Arc<UnsentBudget>, address: &str) -> Arc<AddressUnsentBytes> {
        all.for_address(address.parse().unwrap())
    }

    fn reply(length: usize) -> Response {
        Body::from(vec![b'x'; length]).into_response()
    }

    async fn next(body: &mut OutgoingBody) -> Option<Bytes> {
        let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await?;
        Some(frame.unwrap().into_data().unwrap())
    }

    #[tokio::test]
    async fn a_reply_is_counted_until_its_last_byte_is_dropped() {
        let all = UnsentBudget::new(1 << 20);
        let connection = ConnectionUnsentBytes::for_client(&all);
        let response =
            connection.count_outgoing_reply(&owner(&all, "192.0.2.1"), reply(5_000), None);
        assert_eq!(all.unsent_bytes(), 5_000);
        let mut body = response.into_body();
        let mut bytes = next(&mut body).await.unwrap();
        drop(body);
        let last = bytes.split_off(4_999);
        drop(bytes);
        assert_eq!(all.unsent_bytes(), 5_000, "one byte keeps the whole buffer in memory");
        drop(last);
        assert_eq!(all.unsent_bytes(), 0);
        assert!(all.addresses.lock().is_empty());
    }

    #[test]
    fn unsent_bytes_are_limited_per_connection_per_address_and_in_total() {
        const KIB: usize = 1 << 10;
        let all = UnsentBudget::new(1600 * KIB);
        let one = owner(&all, "2001:db8::1");
        let connections: Vec<_> =
            (0..40).map(|_| ConnectionUnsentBytes::for_client(&all)).collect();
        let reserve = |n: usize, owner: &Arc<AddressUnsentBytes>, length| {
            connections[n].count_outgoing_reply(owner, reply(length * KIB), None)
        };
        let is_busy = |response: &Response<OutgoingBody>| {
            response.status() == StatusCode::SERVICE_UNAVAILABLE
                && response.headers().contains_key(http::header::RETRY_AFTER)
        };
        let mut replies = vec![reserve(0, &one, 90)];
        assert!(is_busy(&reserve(0, &one, 11)), "a connection is limited to a sixteenth");
        replies.extend((1..4).map(|n| reserve(n, &one, 100)));
        assert!(!replies.iter().any(is_busy));
        assert!(
            is_busy(&reserve(4, &owner(&all, "2001:db8::2"), 11)),
            "an address is limited to a quarter"
        );
        let others = (1..=12).map(|n| owner(&all, &format!("192.0.2.{n}")));
        replies.extend(others.enumerate().map(|(n, other)| reserve(5 + n, &other, 100)));
        assert!(!replies.iter().any(is_busy));
        assert!(
            is_busy(&reserve(20, &owner(&all, "192.0.2.99"), 11)),
            "the server's limit is reached"
        );
        assert!(all.is_under_pressure());
        replies.push(reserve(20, &owner(&all, "192.0.2.99"), 1));
        assert!(!replies.iter().any(is_busy), "small replies have a separate reserve");
        drop(replies);
        assert!(!all.is_under_pressure());
        assert_eq!((all.unsent_bytes(), all.refused_reply_count()), (0, 3));
        assert!(
            !is_busy(&reserve(0, &one, 5_000)),
            "one reply of any size is allowed while no others wait"
        );
    }

    #[test]
    fn shared_bodies_are_counted_for_readers_beyond_the_shared_limit() {
        let all = UnsentBudget::new(1600);
        let (connection, one) = (ConnectionUnsentBytes::for_client(&all), owner(&all, "192.0.2.1"));
        let share = SharedBodyCounter::for_feed(300);
        let reserve = || {
            let mut shared = reply(300);
            shared.extensions_mut().insert(SharedBodyMarker(Arc::clone(&share)));
            connection.count_outgoing_reply(&one, shared, None)
        };
        let mut replies = vec![reserve(), reserve()];
        share.mark_released_by_holder();
        replies.push(reserve());
        assert!(replies.iter().all(|it| it.status() == StatusCode::OK));
        assert_eq!((all.unsent_bytes(), all.unread_shared_bytes()), (0, 300));
        assert_eq!(connection.all_bytes.load(Relaxed), 900);
        all.shared_body_counter(false).fetch_add(101, Relaxed);
        assert!(all.is_under_pressure());
        replies.push(reserve());
        assert_eq!(all.unsent_bytes(), 300);
        let refused = reserve();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        all.shared_body_counter(false).fetch_sub(101, Relaxed);
        drop((replies, share));
        assert_eq!((all.unsent_bytes(), all.unread_shared_bytes()), (0, 0));
        assert_eq!(connection.all_bytes.load(Relaxed), 0);
        // Compressed bodies up to the size of the cache do not count.
        let compressed =
            SharedBodyCounter::for_compressed(limits::COMPRESSED_CACHE_BYTES_MAX + 401);
        assert!(!all.is_under_pressure());
        compressed.attach_unsent_budget(&all);
        assert!(all.is_under_pressure());
        drop(compressed);
        assert!(!all.is_under_pressure());
    }

    #[test]
    fn connections_of_proxies_are_not_limited() {
        let all = UnsentBudget::new(1600);
        let proxied = ConnectionUnsentBytes::for_proxy();
        let replies: Vec<_> = (1..=4)
            .map(|n| {
                proxied.count_outgoing_reply(
                    &owner(&all, &format!("192.0.2.{n}")),
                    reply(300),
                    None,
                )
            })
            .collect();
        assert!(replies.iter().all(|it| it.status() == StatusCode::OK));
    }

    #[tokio::test]
    async fn a_stream_receives_small_pieces_with_a_final_piece_of_one_byte() {
        let all = UnsentBudget::new(1 << 30);
        let connection = ConnectionUnsentBytes::for_client(&all);
        let progress = Arc::<Http2StreamProgress>::default();
        let one = owner(&all, "192.0.2.1");
        for length in [0, 1, 2, limits::PIECE_BYTES_MAX + 1, 100_000] {
            let progress = Some(Arc::clone(&progress));
            let response = connection.count_outgoing_reply(&one, reply(length), progress);
            let mut body = response.into_body();
            assert_eq!(body.size_hint().exact(), Some(length as u64));
            let mut pieces = Vec::new();
            while !body.is_end_stream() {
                pieces.push(next(&mut body).await.unwrap());
            }
            assert_eq!(pieces.iter().map(Bytes::len).sum::<usize>(), length);
            assert!(pieces.iter().all(|piece| piece.len() <= limits::PIECE_BYTES_MAX));
            assert_eq!(pieces.last().map(Bytes::len), (length > 0).then_some(1));
        }
    }
}
