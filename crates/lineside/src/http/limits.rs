//! The bounds of the HTTP room. Bounds that the operator may move are in the configuration.

use std::time::Duration;

/// The longest path and query together; 64 channels of 200 characters fit.
pub(crate) const URI_BYTES_MAX: usize = 16 * 1024;
/// What hyper reads of a request's head before it refuses it: the longest URI and some headers.
pub(crate) const HEAD_BYTES_MAX: usize = 32 * 1024;
/// A request's headers.
pub(crate) const HEADERS_MAX: usize = 64;
/// The largest body that a request may bring; only forms are taken.
pub(crate) const REQUEST_BODY_BYTES_MAX: usize = 16 * 1024;
/// The largest body of a call of the server API: a publication in base 64, and the channels of a broadcast.
pub(crate) const CALL_BYTES_MAX: usize = 1024 * 1024;
/// How long a caller of the server API may take to send its body.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of data in one reply of a channel's history.
pub(crate) const HISTORY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Clients in one reply of who is in a channel.
pub(crate) const MEMBERS_MAX: usize = 10_000;
/// How long a client may take to send a request's head, or to stay silent between two requests.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause before a torn first line of HTTP/2 is looked at again.
pub(crate) const PREFACE_PAUSE: Duration = Duration::from_millis(20);
/// How fast a client has to take its replies while bytes wait for it, in bytes per second on average over twice
/// `limits.send_timeout`. The slowest phone is faster.
pub(crate) const SEND_RATE_MIN: u128 = 1024;
/// The parts of `limits.unsent_bytes` that one connection and one address may have.
pub(crate) const UNSENT_CONNECTION_PART: usize = 16;
/// See [`UNSENT_CONNECTION_PART`].
pub(crate) const UNSENT_ADDRESS_PART: usize = 4;
/// Replies larger than this may have half of `limits.unsent_bytes`.
pub(crate) const UNSENT_LARGE_BYTES: usize = 1024 * 1024;
/// Replies up to this size have room of their own beyond `limits.unsent_bytes`.
pub(crate) const UNSENT_SMALL_BYTES: usize = 4 * 1024;
/// The part of `limits.unsent_bytes` that shared bodies may take which only unread replies hold; beyond it each reply with a
/// shared body is counted.
pub(crate) const UNSENT_SHARED_PART: usize = 4;
/// How often a reader is looked at while more than three quarters of `limits.unsent_bytes` wait to be sent, and how fast it has to
/// be then, in bytes per second.
pub(crate) const PRESSURE_INTERVAL: Duration = Duration::from_secs(2);
/// See [`PRESSURE_INTERVAL`].
pub(crate) const PRESSURE_RATE_MIN: u64 = 32 * 1024;
/// Bytes of a reply that a stream of HTTP/2 gives out at a time.
pub(crate) const PIECE_BYTES_MAX: usize = 16 * 1024;
/// Bytes that a stream of HTTP/2 may give out before they are in the socket.
pub(crate) const STREAM_BUFFER_BYTES: usize = 64 * 1024;
/// How often a stream that gets no room may wait once more because the whole connection is slow.
pub(crate) const STREAM_EXCUSES_MAX: u32 = 10;
/// Frames of HTTP/2 without a request that a client may send at once, and per second. It has one more for each KiB that it
/// is sent, to open its windows.
pub(crate) const CONTROL_FRAMES_BURST: u64 = 20_000;
/// See [`CONTROL_FRAMES_BURST`].
pub(crate) const CONTROL_FRAMES_PER_SECOND: u64 = 500;
/// Requests under way at once on one HTTP/2 connection.
pub(crate) const STREAMS_PER_CONNECTION_MAX: u32 = 128;
/// Connections beyond the limit that are being told so; more are closed without a word.
pub(crate) const REFUSALS_MAX: u32 = 64;
/// How long a refused connection may take to read why.
pub(crate) const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Connections accepted before others have their turn.
pub(crate) const ACCEPTED_IN_A_ROW: u32 = 8;
/// Pause after the system could not give us a connection, for want of file descriptors.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long requests under way may go on once a stopping server has let go of its sessions.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_millis(800);

/// Readers of what is remembered, at once: some for each connection that reads the file.
pub(crate) const ARCHIVE_READERS_MAX: u32 = 32;
/// The furthest into a list that a request may ask to begin.
pub(crate) const OFFSET_MAX: usize = 1_000_000;
/// Characters of a search text.
pub(crate) const SEARCH_CHARS_MAX: usize = 200;
/// Items on one page of a list, and when the request does not say.
pub(crate) const PAGE_ITEMS_MAX: usize = 500;
/// Bytes of the items on one page of a list of search results.
pub(crate) const PAGE_ITEMS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// See [`PAGE_ITEMS_MAX`].
pub(crate) const PAGE_ITEMS_DEFAULT: usize = 50;
/// Vehicles in one reply; a whole country's fit, and the reply stays below 64 MiB.
pub(crate) const VEHICLES_MAX: usize = 50_000;
/// Departures in one reply, and how far they look ahead: those of a stop's channel.
pub(crate) const DEPARTURES_MAX: usize = 40;

/// Journeys or situations in one part of an answer of SIRI; some kilobytes each.
pub(crate) const SIRI_ELEMENTS_MAX: usize = 3_000;
/// Bytes of one answer of SIRI that has no parts, because the client does not say its name: some 9,000 journeys of 25 calls.
pub(crate) const SIRI_WHOLE_BYTES_MAX: usize = 128 << 20;
/// Vehicles in one answer of SIRI; a country's fit.
pub(crate) const SIRI_VEHICLES_MAX: usize = 15_000;
/// Records in one part of the Nordic form where `maxSize` does not say how many.
pub(crate) const SIRI_NORDIC_USUAL: u32 = 1_500;
/// Lines or stops in one answer of SIRI.
pub(crate) const SIRI_DISCOVERED_MAX: usize = 50_000;
/// Visits in one answer of SIRI.
pub(crate) const SIRI_VISITS_MAX: usize = 1_000;
/// How far ahead visits may be asked for.
pub(crate) const SIRI_PREVIEW_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// References of one kind in one question.
pub(crate) const SIRI_REFS_MAX: usize = 100;
/// Bytes of a reference or another text in a question.
pub(crate) const SIRI_REF_BYTES_MAX: usize = 500;
/// The largest request that is posted.
pub(crate) const SIRI_REQUEST_BYTES_MAX: usize = 256 * 1024;
/// Most bytes of one message that a producer of SIRI brings by itself.
pub(crate) const SIRI_DELIVERY_BYTES_MAX: usize = 64 << 20;
/// How long a producer may take to bring one: 1 Mbit/s brings the largest.
pub(crate) const SIRI_DELIVERY_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Requests for one service each in one that is posted.
pub(crate) const SIRI_QUESTIONS_MAX: usize = 20;
/// Subscriptions to SIRI, in all, to one host, and by one client.
pub(crate) const SIRI_SUBSCRIPTIONS_MAX: usize = 500;
/// See [`SIRI_SUBSCRIPTIONS_MAX`].
pub(crate) const SIRI_SUBSCRIPTIONS_PER_HOST_MAX: usize = 50;
/// See [`SIRI_SUBSCRIPTIONS_MAX`].
pub(crate) const SIRI_SUBSCRIPTIONS_PER_CLIENT_MAX: usize = 50;
/// How long a subscription may last until it is renewed, to a consumer that is trusted,
pub(crate) const SIRI_SUBSCRIPTION_LIFE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// and to one that anybody may have named.
pub(crate) const SIRI_SUBSCRIPTION_LIFE_OF_STRANGERS: Duration = Duration::from_secs(24 * 60 * 60);
/// Records in one delivery to a subscriber.
pub(crate) const SIRI_DELIVERY_ELEMENTS: u32 = 1_000;
/// How often it is looked whether there is something to tell a subscriber.
pub(crate) const SIRI_CYCLE: Duration = Duration::from_secs(5);
/// Answers that are made at once; a large one takes some hundred megabytes while it is made.
pub(crate) const SIRI_MAKERS_MAX: u32 = 4;

/// The largest page; a list's length is bounded, so pages stay far below.
pub(crate) const PAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bodies shorter than this are not worth compressing.
pub(crate) const COMPRESS_BYTES_MIN: usize = 1024;
/// Bodies longer than this are compressed away from the threads that serve sockets.
pub(crate) const COMPRESS_INLINE_BYTES_MAX: usize = 32 * 1024;
/// Bodies longer than this go out as they are: compressing them would take seconds.
pub(crate) const COMPRESS_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Bytes of the compressed bodies that are kept for the next client, and how many those are.
pub(crate) const COMPRESSED_KEPT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// See [`COMPRESSED_KEPT_BYTES_MAX`].
pub(crate) const COMPRESSED_KEPT_MAX: usize = 16 * 1024;
/// How long a compressed body is kept. Most are of a state that the next poll replaces.
pub(crate) const COMPRESSED_KEPT_FOR: Duration = Duration::from_secs(600);

/// How long a cache may at most give out a feed's last good bytes while this server is not there.
pub(crate) const STALE_IF_ERROR_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Headers of a reply that are made anew for each; there is room for them from the start.
pub(crate) const REPLY_HEADERS: usize = 8;

/// How long a list of GBFS systems need not be asked for again: the operator adds some seldom.
pub(crate) const MANIFEST_FRESH_FOR: Duration = Duration::from_secs(300);
