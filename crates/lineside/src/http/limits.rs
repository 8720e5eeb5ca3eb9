//! The fixed limits of the HTTP server. Limits that the operator may change are in the configuration.

use std::time::Duration;

/// Longest path and query together, in bytes; 64 channels of 200 characters fit.
pub(crate) const URI_BYTES_MAX: usize = 16 * 1024;
/// Longest request head that hyper reads before it refuses: the longest URI and some headers.
pub(crate) const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Largest number of headers of a request.
pub(crate) const HEADERS_MAX: usize = 64;
/// Largest body of a request; only forms are accepted.
pub(crate) const REQUEST_BODY_BYTES_MAX: usize = 16 * 1024;
/// Largest body of a server API call: a publication in base 64, and the channels of a broadcast.
pub(crate) const CALL_BYTES_MAX: usize = 1024 * 1024;
/// Longest time that a caller of the server API may take to send its body.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest size of the data in one reply with a channel's history, in bytes.
pub(crate) const HISTORY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Largest number of clients in one presence reply.
pub(crate) const MEMBERS_MAX: usize = 10_000;
/// Longest time that a client may take to send a request's head, or stay idle between two requests.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause before an incomplete HTTP/2 preface is checked again.
pub(crate) const PREFACE_PAUSE: Duration = Duration::from_millis(20);
/// Slowest rate at which a client may read its replies while bytes wait for it, in bytes per second on average over
/// twice `limits.send_timeout`. The slowest phone is faster.
pub(crate) const SEND_RATE_MIN: u128 = 1024;
/// Divisors of `limits.unsent_bytes` for the share of one connection and of one address.
pub(crate) const UNSENT_CONNECTION_DIVISOR: usize = 16;
/// See [`UNSENT_CONNECTION_PART`].
pub(crate) const UNSENT_ADDRESS_DIVISOR: usize = 4;
/// Replies larger than this may fill `limits.unsent_bytes` only up to half.
pub(crate) const UNSENT_LARGE_BYTES: usize = 1024 * 1024;
/// Replies up to this size may exceed `limits.unsent_bytes` by a quarter.
pub(crate) const UNSENT_SMALL_BYTES: usize = 4 * 1024;
/// Divisor of `limits.unsent_bytes` for shared bodies that only unread replies hold; beyond this share each reply with
/// a shared body is counted.
pub(crate) const UNSENT_SHARED_DIVISOR: usize = 4;
/// Interval at which a reader's rate is checked while more than three quarters of `limits.unsent_bytes` wait to be
/// sent. [`PRESSURE_RATE_MIN`] is the lowest rate allowed then, in bytes per second.
pub(crate) const PRESSURE_INTERVAL: Duration = Duration::from_secs(2);
/// See [`PRESSURE_INTERVAL`].
pub(crate) const PRESSURE_RATE_MIN: u64 = 32 * 1024;
/// Largest piece of a reply that an HTTP/2 stream passes on at a time, in bytes.
pub(crate) const PIECE_BYTES_MAX: usize = 16 * 1024;
/// Bytes that an HTTP/2 stream may buffer before they are written to the socket.
pub(crate) const STREAM_BUFFER_BYTES: usize = 64 * 1024;
/// Number of times that a stream without window may wait once more because the whole connection is slow.
pub(crate) const STREAM_EXTENSIONS_MAX: u32 = 10;
/// HTTP/2 frames without a request that a client may send at once. [`CONTROL_FRAMES_PER_SECOND`] more are granted each
/// second, and one for each KiB sent to the client, so that it can open its windows.
pub(crate) const CONTROL_FRAMES_BURST: u64 = 20_000;
/// See [`CONTROL_FRAMES_BURST`].
pub(crate) const CONTROL_FRAMES_PER_SECOND: u64 = 500;
/// Largest number of concurrent requests on one HTTP/2 connection.
pub(crate) const STREAMS_PER_CONNECTION_MAX: u32 = 128;
/// Refused connections that are sent the reason at the same time; more are closed silently.
pub(crate) const REFUSALS_MAX: u32 = 64;
/// Longest time that a refused connection may take to read the reason.
pub(crate) const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Connections accepted in a row before other tasks run.
pub(crate) const ACCEPT_BATCH_MAX: u32 = 8;
/// Pause after the system could not accept a connection for lack of file descriptors.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Longest time that running requests may continue after a stopping server has closed its sessions.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_millis(800);

/// Largest offset into a list that a request may ask for.
pub(crate) const OFFSET_MAX: usize = 1_000_000;
/// Longest search text, in characters.
pub(crate) const SEARCH_CHARS_MAX: usize = 200;
/// Largest number of items on one page of a list; [`PAGE_ITEMS_DEFAULT`] if the request gives none.
pub(crate) const PAGE_ITEMS_MAX: usize = 500;
/// Largest size of the items on one page of search results, in bytes.
pub(crate) const PAGE_ITEMS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// See [`PAGE_ITEMS_MAX`].
pub(crate) const PAGE_ITEMS_DEFAULT: usize = 50;
/// Largest number of vehicles in one reply; a whole country's fit, and the reply stays below 64 MiB.
pub(crate) const VEHICLES_MAX: usize = 50_000;
/// Largest number of departures in one reply, as on a stop's channel.
pub(crate) const DEPARTURES_MAX: usize = 40;

/// Journeys or situations in one part of a SIRI reply; some kilobytes each.
pub(crate) const SIRI_ELEMENTS_MAX: usize = 3_000;
/// Largest SIRI reply that has no parts, because the client does not give its name, in bytes: some 9,000 journeys of 25
/// calls.
pub(crate) const SIRI_WHOLE_BYTES_MAX: usize = 128 << 20;
/// Largest number of vehicles in one SIRI reply; a country's fit.
pub(crate) const SIRI_VEHICLES_MAX: usize = 15_000;
/// Records in one part of the Nordic form if the request has no `maxSize`.
pub(crate) const SIRI_NORDIC_DEFAULT: u32 = 1_500;
/// Largest number of lines or stops in one SIRI reply.
pub(crate) const SIRI_DISCOVERED_MAX: usize = 50_000;
/// Largest number of visits in one SIRI reply.
pub(crate) const SIRI_VISITS_MAX: usize = 1_000;
/// Furthest preview that a request for visits may ask for.
pub(crate) const SIRI_PREVIEW_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// References of one kind in one SIRI request.
pub(crate) const SIRI_REFS_MAX: usize = 100;
/// Longest reference or other text in a SIRI request, in bytes.
pub(crate) const SIRI_REF_BYTES_MAX: usize = 500;
/// Largest posted SIRI request, in bytes.
pub(crate) const SIRI_REQUEST_BYTES_MAX: usize = 256 * 1024;
/// Largest message that a SIRI producer may deliver, in bytes.
pub(crate) const SIRI_DELIVERY_BYTES_MAX: usize = 64 << 20;
/// Longest time that a SIRI producer may take to deliver a message: 1 Mbit/s suffices for the largest.
pub(crate) const SIRI_DELIVERY_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Service requests in one posted SIRI request.
pub(crate) const SIRI_QUERIES_MAX: usize = 20;
/// Largest number of SIRI subscriptions in total; the next two limits are per host and per client.
pub(crate) const SIRI_SUBSCRIPTIONS_MAX: usize = 500;
/// See [`SIRI_SUBSCRIPTIONS_MAX`].
pub(crate) const SIRI_SUBSCRIPTIONS_PER_HOST_MAX: usize = 50;
/// See [`SIRI_SUBSCRIPTIONS_MAX`].
pub(crate) const SIRI_SUBSCRIPTIONS_PER_CLIENT_MAX: usize = 50;
/// Longest lifetime of a subscription of a trusted consumer, until it is renewed.
pub(crate) const SIRI_SUBSCRIPTION_LIFETIME_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Longest lifetime of a subscription whose consumer may be anyone's address.
pub(crate) const SIRI_UNTRUSTED_SUBSCRIPTION_LIFETIME_MAX: Duration =
    Duration::from_secs(24 * 60 * 60);
/// Records in one delivery to a SIRI subscriber.
pub(crate) const SIRI_DELIVERY_ELEMENTS: u32 = 1_000;
/// Interval at which subscriptions are checked for updates.
pub(crate) const SIRI_CYCLE: Duration = Duration::from_secs(5);
/// SIRI replies that are built at the same time; a large one takes some hundred megabytes.
pub(crate) const SIRI_CONCURRENT_REPLIES_MAX: u32 = 4;

/// Largest page, in bytes; a list's length is bounded, so pages stay far below.
pub(crate) const PAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bodies shorter than this are not worth compressing.
pub(crate) const COMPRESS_BYTES_MIN: usize = 1024;
/// Bodies longer than this are compressed off the socket threads.
pub(crate) const COMPRESS_INLINE_BYTES_MAX: usize = 32 * 1024;
/// Bodies longer than this are sent uncompressed: compressing them would take seconds.
pub(crate) const COMPRESS_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Largest total size of cached compressed bodies, in bytes; [`COMPRESSED_KEPT_MAX`] limits their number.
pub(crate) const COMPRESSED_CACHE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// See [`COMPRESSED_KEPT_BYTES_MAX`].
pub(crate) const COMPRESSED_CACHE_ENTRIES_MAX: usize = 16 * 1024;
/// Longest time that a compressed body stays in the cache. Most are of a state that the next poll replaces.
pub(crate) const COMPRESSED_CACHE_TTL: Duration = Duration::from_secs(600);

/// Longest time that a cache may serve a feed's last good bytes while this server is down.
pub(crate) const STALE_IF_ERROR_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Number of headers that are computed for each reply; space for them is reserved.
pub(crate) const REPLY_HEADERS: usize = 8;

/// Cache lifetime of the list of GBFS systems: the operator rarely adds one.
pub(crate) const MANIFEST_FRESH_FOR: Duration = Duration::from_secs(300);
