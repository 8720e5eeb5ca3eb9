//! The address to which producers post deliveries of this server's subscriptions.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse as _, Response};
use http::{StatusCode, header};
use jiff::tz::TimeZone;
use lineside_formats::siri::{
    DataReadyAcknowledgement, MessageLimits, MessagePayload, SiriTime, decode_xml_message,
    is_soap_envelope,
};
use lineside_http::errors::{Problem, Refusal};
use lineside_http::limits::{self, SIRI_DELIVERY_BYTES_MAX};
use lineside_http::parameters::QueryParameters;
use lineside_ingest::DeliveryError;
use lineside_sync::real_time::run_with_timeout;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::deliveries::{PRODUCER, wrap_payload_in_message};
use super::encoding::SiriEncoding;
use crate::SiriService;

pub(super) fn routes() -> OpenApiRouter<SiriService> {
    OpenApiRouter::new().routes(routes!(receive_delivery))
}

/// Largest notification that is parsed here; larger messages are deliveries.
const ANNOUNCEMENT_BYTES_MAX: usize = 16 * 1024;

/// Returns the reply to a producer that announces data (`DataReadyNotification`) instead of sending them.
fn acknowledge_data_ready(siri: &SiriService, body: &[u8]) -> Option<Response> {
    if body.len() > ANNOUNCEMENT_BYTES_MAX {
        return None;
    }
    let (message, _) = decode_xml_message(body, &TimeZone::UTC, &MessageLimits::default()).ok()?;
    let announcement = message.payloads.iter().find_map(|payload| match payload {
        MessagePayload::DataReadyNotification(it) => Some(it),
        _ => None,
    })?;
    let acknowledged = wrap_payload_in_message(MessagePayload::DataReadyAcknowledgement(
        DataReadyAcknowledgement {
            response_timestamp: SiriTime::from_millis(siri.now().0),
            consumer_ref: Some(PRODUCER.into()),
            request_message_ref: announcement.message_identifier.clone(),
            status: Some(true),
            ..DataReadyAcknowledgement::default()
        },
    ));
    let encoding = if is_soap_envelope(body) { SiriEncoding::Soap } else { SiriEncoding::Xml };
    Some(encoding.build_uncached_reply(StatusCode::OK, encoding.encode_message(&acknowledged)))
}

/// Reads a message into a buffer of its own length. A region's first delivery may take long over a slow line, so there
/// is a timeout for the gap between two pieces, and one for the whole.
async fn read_message_body(
    mut body: Body,
    too_large: impl Fn() -> Refusal,
) -> Result<Bytes, Refusal> {
    let bad = |reason: String| Refusal::BadParameter { name: "body", reason: reason.into() };
    let declared = body.size_hint().exact().and_then(|length| usize::try_from(length).ok());
    let all = async {
        let mut message =
            Vec::with_capacity(declared.unwrap_or_default().min(SIRI_DELIVERY_BYTES_MAX));
        loop {
            let silence = limits::CALL_TIMEOUT;
            let next = poll_fn(|context| Pin::new(&mut body).poll_frame(context));
            let Some(piece) = run_with_timeout(silence, next).await else {
                let silence = silence.as_secs();
                return Err(bad(format!("received nothing more for {silence} s")));
            };
            let Some(piece) = piece else {
                message.shrink_to_fit();
                return Ok(message.into());
            };
            let piece = piece.map_err(|_| {
                bad("the message is incomplete: the connection was closed".to_owned())
            })?;
            let Ok(piece) = piece.into_data() else { continue };
            if message.len() + piece.len() > SIRI_DELIVERY_BYTES_MAX {
                return Err(too_large());
            }
            message.extend_from_slice(&piece);
        }
    };
    let longest = limits::SIRI_DELIVERY_TIMEOUT;
    let too_long =
        || bad(format!("the message was not complete within {} min", longest.as_secs() / 60));
    run_with_timeout(longest, all).await.ok_or_else(too_long)?
}

/// Receives a delivery from a SIRI producer
///
/// The address, with its key, is sent to a producer when a feed subscribes. Deliveries, heartbeats, terminations and
/// announcements are accepted; 200 means that the message is queued, whatever its content. An announcement of new data
/// is answered with a `DataReadyAcknowledgement`, and the data are requested.
#[utoipa::path(
    post, path = "/siri/inbox/{feed}", tag = "formats",
    params(
        ("feed" = String, Path, description = "The feed's id"),
        ("key" = String, Query, description = "The key in the address of the subscription")
    ),
    request_body(content = String, content_type = "application/xml", description = "A SIRI message"),
    responses(
        (status = 200, description = "The message is queued"),
        (status = 400, description = "`bad_parameter`: the message is too large or incomplete", body = Problem),
        (status = 404, description = "`not_found`: no feed expects deliveries at this address", body = Problem),
        (status = 503, description = "`busy`: the queue of deliveries is full", body = Problem)
    )
)]
async fn receive_delivery(
    State(siri): State<SiriService>,
    Path(feed): Path<String>,
    parameters: QueryParameters,
    request: Request,
) -> Result<Response, Refusal> {
    // A request without a valid key learns nothing, not even that a feed exists, and its body is not read.
    let mut keys = parameters.values_of("key");
    let (Some(key), None) = (keys.next(), keys.next()) else { return Err(Refusal::UnknownPath) };
    let inbox = siri.ingest().find_feed(&feed).and_then(|feed| feed.inbox());
    let inbox = inbox.filter(|inbox| inbox.is_inbox_key(key)).ok_or(Refusal::UnknownPath)?;
    let is_encoded =
        |value: &http::HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    if request.headers().get(header::CONTENT_ENCODING).is_some_and(is_encoded) {
        let reason = "expected a message without a content encoding".into();
        return Err(Refusal::BadParameter { name: "body", reason });
    }
    let too_large = || {
        let reason =
            format!("expected a message of at most {SIRI_DELIVERY_BYTES_MAX} bytes").into();
        Refusal::BadParameter { name: "body", reason }
    };
    let declared = request.body().size_hint();
    if declared.lower() > SIRI_DELIVERY_BYTES_MAX as u64 {
        return Err(too_large());
    }
    // A body of unknown length reserves the maximum.
    let reservation =
        inbox.reserve_space(declared.upper().unwrap_or(SIRI_DELIVERY_BYTES_MAX as u64));
    let reservation = reservation.map_err(|_| Refusal::Busy)?;
    let body = read_message_body(request.into_body(), too_large).await?;
    let acknowledged = acknowledge_data_ready(&siri, &body);
    match inbox.queue_delivery_in_space(body, reservation) {
        Ok(()) => Ok(acknowledged.unwrap_or_else(|| StatusCode::OK.into_response())),
        Err(DeliveryError::Full) => Err(Refusal::Busy),
        Err(DeliveryError::WrongKey) => Err(Refusal::UnknownPath),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_message_allocates_no_more_than_its_length() {
        const LENGTH: usize = (1 << 20) + 1;
        let whole = || vec![b'x'; LENGTH];
        let pieces: Vec<Result<Vec<u8>, std::io::Error>> =
            whole().chunks(10_000).map(|piece| Ok(piece.to_vec())).collect();
        let streamed = Body::from_stream(futures_util::stream::iter(pieces));
        for body in [Body::from(whole()), streamed] {
            let message = read_message_body(body, || Refusal::Busy).await.unwrap();
            assert_eq!(message, whole());
            assert_eq!(message.try_into_mut().unwrap().capacity(), LENGTH);
        }
    }
}
