//! The fixed limits of the HTTP server. Limits that the operator may change are in the configuration.

use std::time::Duration;

/// Longest path and query together, in bytes; 64 channels of 200 characters fit.
pub const URI_BYTES_MAX: usize = 16 * 1024;
/// Longest request head that hyper reads before it refuses: the longest URI and some headers.
pub const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Largest number of headers of a request.
pub const HEADERS_MAX: usize = 64;
/// Largest body of a request; only forms are accepted.
pub const REQUEST_BODY_BYTES_MAX: usize = 16 * 1024;
/// Largest body of a server API call: a publication in base 64, and the channels of a broadcast.
pub const CALL_BYTES_MAX: usize = 1024 * 1024;
/// Longest time that a caller of the server API may take to send its body.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest size of the data in one reply with a channel's history, in bytes.
pub const HISTORY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Largest number of clients in one presence reply.
pub const MEMBERS_MAX: usize = 10_000;
/// Longest time that a client may take to send a request's head, or stay idle between two requests.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause before an incomplete HTTP/2 preface is checked again.
pub const PREFACE_PAUSE: Duration = Duration::from_millis(20);
/// Slowest rate at which a client may read its replies while bytes wait for it, in bytes per second on average over
/// twice `limits.send_timeout`. The slowest phone is faster.
pub const SEND_RATE_MIN: u128 = 1024;
/// Divisors of `limits.unsent_bytes` for the share of one connection and of one address.
pub const UNSENT_CONNECTION_DIVISOR: usize = 16;
/// The same for an address: see [`UNSENT_CONNECTION_DIVISOR`].
pub const UNSENT_ADDRESS_DIVISOR: usize = 4;
/// Replies larger than this may fill `limits.unsent_bytes` only up to half.
pub const UNSENT_LARGE_BYTES: usize = 1024 * 1024;
/// Replies up to this size may exceed `limits.unsent_bytes` by a quarter.
pub const UNSENT_SMALL_BYTES: usize = 4 * 1024;
/// Divisor of `limits.unsent_bytes` for shared bodies that only unread replies hold; beyond this share each reply with
/// a shared body is counted.
pub const UNSENT_SHARED_DIVISOR: usize = 4;
/// Interval at which a reader's rate is checked while more than three quarters of `limits.unsent_bytes` wait to be
/// sent. [`PRESSURE_RATE_MIN`] is the lowest rate allowed then, in bytes per second.
pub const PRESSURE_INTERVAL: Duration = Duration::from_secs(2);
/// See [`PRESSURE_INTERVAL`].
pub const PRESSURE_RATE_MIN: u64 = 32 * 1024;
/// Largest piece of a reply that an HTTP/2 stream passes on at a time, in bytes.
pub const PIECE_BYTES_MAX: usize = 16 * 1024;
/// Bytes that an HTTP/2 stream may buffer before they are written to the socket.
pub const STREAM_BUFFER_BYTES: usize = 64 * 1024;
/// Number of times that a stream without window may wait once more because the whole connection is slow.
pub const STREAM_EXTENSIONS_MAX: u32 = 10;
/// HTTP/2 frames without a request that a client may send at once. [`CONTROL_FRAMES_PER_SECOND`] more are granted each
/// second, and one for each KiB sent to the client, so that it can open its windows.
pub const CONTROL_FRAMES_BURST: u64 = 20_000;
/// See [`CONTROL_FRAMES_BURST`].
pub const CONTROL_FRAMES_PER_SECOND: u64 = 500;
/// Largest number of concurrent requests on one HTTP/2 connection.
pub const STREAMS_PER_CONNECTION_MAX: u32 = 128;
/// Refused connections that are sent the reason at the same time; more are closed silently.
pub const REFUSALS_MAX: u32 = 64;
/// Longest time that a refused connection may take to read the reason.
pub const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Connections accepted in a row before other tasks run.
pub const ACCEPT_BATCH_MAX: u32 = 8;
/// Pause after the system could not accept a connection for lack of file descriptors.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Longest time that running requests may continue after a stopping server has closed its sessions.
pub const CLOSE_TIMEOUT: Duration = Duration::from_millis(800);

/// Largest offset into a list that a request may ask for.
pub const OFFSET_MAX: usize = 1_000_000;
/// Longest search text, in characters.
pub const SEARCH_CHARS_MAX: usize = 200;
/// Largest number of items on one page of a list; [`PAGE_ITEMS_DEFAULT`] if the request gives none.
pub const PAGE_ITEMS_MAX: usize = 500;
/// Largest size of the items on one page of search results, in bytes.
pub const PAGE_ITEMS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// See [`PAGE_ITEMS_MAX`].
pub const PAGE_ITEMS_DEFAULT: usize = 50;
/// Largest number of vehicles in one reply; a whole country's fit, and the reply stays below 64 MiB.
pub const VEHICLES_MAX: usize = 50_000;
/// Largest number of departures in one reply, as on a stop's channel.
pub const DEPARTURES_MAX: usize = 40;

/// Journeys or situations in one part of a SIRI reply; some kilobytes each.
pub const SIRI_ELEMENTS_MAX: usize = 3_000;
/// Largest SIRI reply that has no parts, because the client does not give its name, in bytes: some 9,000 journeys of 25
/// calls.
pub const SIRI_WHOLE_BYTES_MAX: usize = 128 << 20;
/// Largest number of vehicles in one SIRI reply; a country's fit.
pub const SIRI_VEHICLES_MAX: usize = 15_000;
/// Records in one part of the Nordic form if the request has no `maxSize`.
pub const SIRI_NORDIC_DEFAULT: u32 = 1_500;
/// Largest number of lines or stops in one SIRI reply.
pub const SIRI_DISCOVERED_MAX: usize = 50_000;
/// Largest number of visits in one SIRI reply.
pub const SIRI_VISITS_MAX: usize = 1_000;
/// Furthest preview that a request for visits may ask for.
pub const SIRI_PREVIEW_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// References of one kind in one SIRI request.
pub const SIRI_REFS_MAX: usize = 100;
/// Longest reference or other text in a SIRI request, in bytes.
pub const SIRI_REF_BYTES_MAX: usize = 500;
/// Largest posted SIRI request, in bytes.
pub const SIRI_REQUEST_BYTES_MAX: usize = 256 * 1024;
/// Largest message that a SIRI producer may deliver, in bytes.
pub const SIRI_DELIVERY_BYTES_MAX: usize = 64 << 20;
/// Longest time that a SIRI producer may take to deliver a message: 1 Mbit/s suffices for the largest.
pub const SIRI_DELIVERY_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Service requests in one posted SIRI request.
pub const SIRI_QUERIES_MAX: usize = 20;
/// Largest number of SIRI subscriptions in total; the next two limits are per host and per client.
pub const SIRI_SUBSCRIPTIONS_MAX: usize = 500;
/// See [`SIRI_SUBSCRIPTIONS_MAX`].
pub const SIRI_SUBSCRIPTIONS_PER_HOST_MAX: usize = 50;
/// See [`SIRI_SUBSCRIPTIONS_MAX`].
pub const SIRI_SUBSCRIPTIONS_PER_CLIENT_MAX: usize = 50;
/// Longest lifetime of a subscription of a trusted consumer, until it is renewed.
pub const SIRI_SUBSCRIPTION_LIFETIME_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Longest lifetime of a subscription whose consumer may be anyone's address.
pub const SIRI_UNTRUSTED_SUBSCRIPTION_LIFETIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Records in one delivery to a SIRI subscriber.
pub const SIRI_DELIVERY_ELEMENTS: u32 = 1_000;
/// Interval at which subscriptions are checked for updates.
pub const SIRI_CYCLE: Duration = Duration::from_secs(5);
/// SIRI replies that are built at the same time; a large one takes some hundred megabytes.
pub const SIRI_CONCURRENT_REPLIES_MAX: u32 = 4;

/// Largest page, in bytes; a list's length is bounded, so pages stay far below.
pub const PAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bodies shorter than this are not worth compressing.
pub const COMPRESS_BYTES_MIN: usize = 1024;
/// Bodies longer than this are compressed off the socket threads.
pub const COMPRESS_INLINE_BYTES_MAX: usize = 32 * 1024;
/// Bodies longer than this are sent uncompressed: compressing them would take seconds.
pub const COMPRESS_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Largest total size of cached compressed bodies, in bytes; [`COMPRESSED_CACHE_ENTRIES_MAX`] limits their number.
pub const COMPRESSED_CACHE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Largest number of cached compressed bodies; [`COMPRESSED_CACHE_BYTES_MAX`] limits their size.
pub const COMPRESSED_CACHE_ENTRIES_MAX: usize = 16 * 1024;
/// Longest time that a compressed body stays in the cache. Most are of a state that the next poll replaces.
pub const COMPRESSED_CACHE_TTL: Duration = Duration::from_secs(600);

/// Longest time that a cache may serve a feed's last good bytes while this server is down.
pub const STALE_IF_ERROR_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Number of headers that are computed for each reply; space for them is reserved.
pub const REPLY_HEADERS: usize = 8;

/// Cache lifetime of the list of GBFS systems: the operator rarely adds one.
pub const MANIFEST_FRESH_FOR: Duration = Duration::from_secs(300);
