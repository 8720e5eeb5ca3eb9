//! The encodings of a SIRI message.

use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use lineside_formats::siri::{SiriMessage, SoapMessageKind, encode_json, encode_soap, encode_xml};
use lineside_http::encoding;
use lineside_http::reply::ReplyPreferences;

/// Plain XML, XML in a SOAP envelope, or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SiriEncoding {
    Xml,
    Soap,
    Json,
}

impl SiriEncoding {
    pub(super) fn encode_message(self, message: &SiriMessage) -> Bytes {
        self.encode_for_exchange(message, SoapMessageKind::Answer)
    }

    pub(super) fn encode_for_exchange(
        self,
        message: &SiriMessage,
        exchange: SoapMessageKind,
    ) -> Bytes {
        let text = match self {
            Self::Xml => encode_xml(message),
            Self::Soap => encode_soap(message, exchange),
            Self::Json => encode_json(message),
        };
        text.into()
    }

    /// Encodes a message as a notification for a subscriber.
    pub(super) fn encode_notification(self, message: &SiriMessage) -> Bytes {
        self.encode_for_exchange(message, SoapMessageKind::Notification)
    }

    pub(super) fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Xml => "application/xml",
            // The media type of SOAP 1.1.
            Self::Soap => "text/xml; charset=utf-8",
            Self::Json => "application/json",
        })
    }

    /// Builds a reply in the content coding that the client prefers.
    pub(super) async fn build_compressed_reply(
        self,
        status: StatusCode,
        body: Bytes,
        preferences: &ReplyPreferences,
    ) -> Response {
        let kind = self.content_type();
        let coding = preferences.preferred_coding();
        let name = coding
            .content_encoding_value()
            .filter(|_| encoding::is_worth_compressing(&kind, &body));
        let mut response = match name {
            Some(_) => {
                self.build_uncached_reply(status, encoding::encode_body(&body, coding).await)
            }
            None => self.build_uncached_reply(status, body),
        };
        let headers = response.headers_mut();
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        if let Some(name) = name {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
        }
        response
    }

    /// Builds an uncached reply for one client.
    pub(super) fn build_uncached_reply(self, status: StatusCode, body: Bytes) -> Response {
        let headers = [
            (header::CONTENT_TYPE, self.content_type()),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        ];
        (status, headers, body).into_response()
    }
}
