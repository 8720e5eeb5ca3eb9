//! Refusals, and the reply of each: `application/problem+json` (RFC 9457) with a stable `code` for programs. Modules
//! with errors of their own convert them to a refusal next to the error.

use std::borrow::Cow;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use lineside_hub::BadChannelName;
use lineside_model::ArchiveError;
use lineside_quality::archive_reader::ArchiveReadError;
use lineside_quality::validation_tasks::FindReportError;
use lineside_wire::sse::SseOpenError;
use lineside_wire::websocket::handshake::HandshakeError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::AccessDenied;

/// Seconds after which a client may retry after a temporary failure.
const RETRY_AFTER_S: u32 = 5;

/// The reason why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// No feed has this id.
    UnknownFeed(String),
    /// No feed with this id names a network.
    UnknownNetwork(String),
    /// The feed has no stop with this id.
    UnknownStop {
        /// The feed's id.
        feed: String,
        /// The stop's id.
        stop: String,
    },
    /// The feed has no route with this id.
    UnknownRoute {
        /// The feed's id.
        feed: String,
        /// The route's id.
        route: String,
    },
    /// The feed has no trip with this id.
    UnknownTrip {
        /// The feed's id.
        feed: String,
        /// The trip's id.
        trip: String,
    },
    /// The trip does not run on this date.
    TripNotOnDate {
        /// The feed's id.
        feed: String,
        /// The trip's id.
        trip: String,
        /// The date, as requested.
        date: String,
    },
    /// The GBFS system has no such file in this version.
    UnknownFile {
        /// The system's id.
        feed: String,
        /// The version, as requested.
        version: String,
        /// The file's name.
        file: String,
    },
    /// Nothing is served at this address.
    UnknownPath,
    /// The feed has no such report, or none was made yet.
    UnknownReport,
    /// The address does not support this method.
    MethodNotAllowed,
    /// A stream cannot be opened on these channels, or a channel's state cannot be read.
    Channels(SseOpenError),
    /// A query parameter or form field is missing or malformed.
    BadParameter {
        /// The parameter's name.
        name: &'static str,
        /// The expected value.
        reason: Cow<'static, str>,
    },
    /// The address has no such query parameter.
    UnknownParameter {
        /// The parameter's name, as sent.
        name: String,
        /// The parameter with the most similar name.
        nearest: Option<String>,
        /// The parameters that the address takes.
        known: Vec<String>,
    },
    /// A query parameter that takes one value was given more than one.
    RepeatedParameter(String),
    /// The feed has another format than the address serves.
    OtherFormat {
        /// The feed's id.
        feed: String,
        /// The feed's format.
        actual: &'static str,
        /// The formats that the address serves.
        expected: &'static str,
    },
    /// The feed was never fetched successfully.
    NoData {
        /// The feed's id.
        feed: String,
        /// The feed's status, in words.
        reason: String,
    },
    /// The last good bytes are older than the feed's `max_age`.
    Stale {
        /// The feed's id.
        feed: String,
        /// The feed's status, in words.
        reason: String,
    },
    /// `If-Match` names another version than the one that is served.
    PreconditionFailed,
    /// The requested range is not in the body.
    BadRange {
        /// Length of the whole body in bytes.
        length: usize,
    },
    /// The archive cannot be read at the moment.
    StorageUnavailable,
    /// The server builds or sends as many replies as its limits allow.
    Busy,
    /// The request does not open a WebSocket.
    Handshake(HandshakeError),
    /// The path and query are too long.
    UriTooLong,
    /// The decoded path is not UTF-8.
    InvalidUtf8,
    /// The request names no host, or several.
    BadHost,
    /// The request has no valid key of the server API.
    NoKey,
    /// The client may not use the channel.
    Denied(AccessDenied),
    /// Only admins may do this.
    NotAdmin,
    /// A page of another origin made an admin's browser send this request.
    OtherOrigin,
    /// The address showed too many wrong tokens or keys, and has to wait for this long.
    TooManyAttempts(Duration),
    /// Another recording runs for this much longer.
    ProfileRunning(Duration),
    /// The operating system does not allow recordings, with the reason.
    CannotProfile(String),
    /// An admin's edit or command was not carried out.
    NotEdited {
        /// The HTTP status.
        status: StatusCode,
        code: &'static str,
        /// The reason, in words.
        reason: String,
    },
    /// The rate limit of the source allows no request for this long.
    RateLimited(Duration),
    /// An uploaded file has no report, with the reason.
    NotValidated(String),
    /// The server is stopping.
    ShuttingDown,
    /// An error of the server itself.
    Internal,
}

/// Marks a response in its extensions as the server's fault, so that it is logged.
#[derive(Debug, Clone, Copy)]
pub struct ServerFaultMarker;

/// The body of an error reply.
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem {
    /// Always `about:blank`: the code says more than a page would.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The name of the HTTP status.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// The error code for programs: snake_case, never reworded.
    code: &'static str,
    /// The error in words.
    detail: String,
}

impl Refusal {
    /// Returns the status and the code; clients rely on both.
    fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::UnknownFeed(_) | Self::UnknownNetwork(_) => {
                (StatusCode::NOT_FOUND, "unknown_feed")
            }
            Self::UnknownStop { .. } => (StatusCode::NOT_FOUND, "unknown_stop"),
            Self::UnknownRoute { .. } => (StatusCode::NOT_FOUND, "unknown_route"),
            Self::UnknownTrip { .. } => (StatusCode::NOT_FOUND, "unknown_trip"),
            Self::TripNotOnDate { .. } => (StatusCode::NOT_FOUND, "trip_not_on_date"),
            Self::UnknownFile { .. } => (StatusCode::NOT_FOUND, "unknown_file"),
            Self::UnknownPath | Self::UnknownReport => (StatusCode::NOT_FOUND, "not_found"),
            Self::OtherFormat { .. } => (StatusCode::NOT_FOUND, "other_format"),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::Channels(error) => {
                let status = StatusCode::from_u16(error.http_status());
                (status.unwrap_or(StatusCode::BAD_REQUEST), error.problem_code())
            }
            Self::BadParameter { .. } | Self::RepeatedParameter(_) => {
                (StatusCode::BAD_REQUEST, "bad_parameter")
            }
            Self::UnknownParameter { .. } => (StatusCode::BAD_REQUEST, "unknown_parameter"),
            Self::PreconditionFailed => (StatusCode::PRECONDITION_FAILED, "precondition_failed"),
            Self::Handshake(error) => {
                let status = StatusCode::from_u16(error.status);
                (status.unwrap_or(StatusCode::BAD_REQUEST), "bad_handshake")
            }
            Self::BadRange { .. } => (StatusCode::RANGE_NOT_SATISFIABLE, "bad_range"),
            Self::UriTooLong => (StatusCode::URI_TOO_LONG, "uri_too_long"),
            Self::InvalidUtf8 => (StatusCode::BAD_REQUEST, "invalid_utf8"),
            Self::BadHost => (StatusCode::BAD_REQUEST, "bad_host"),
            Self::NoData { .. } => (StatusCode::SERVICE_UNAVAILABLE, "no_data"),
            Self::Stale { .. } => (StatusCode::SERVICE_UNAVAILABLE, "stale"),
            Self::StorageUnavailable => (StatusCode::SERVICE_UNAVAILABLE, "storage_unavailable"),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
            Self::NoKey => (StatusCode::UNAUTHORIZED, "no_key"),
            Self::Denied(AccessDenied::Unauthorized) => (StatusCode::UNAUTHORIZED, "unauthorized"),
            Self::Denied(AccessDenied::Expired) => (StatusCode::UNAUTHORIZED, "token_expired"),
            Self::Denied(AccessDenied::Forbidden) => (StatusCode::FORBIDDEN, "permission_denied"),
            Self::NotAdmin => (StatusCode::UNAUTHORIZED, "not_admin"),
            Self::OtherOrigin => (StatusCode::FORBIDDEN, "other_origin"),
            Self::TooManyAttempts(_) => (StatusCode::TOO_MANY_REQUESTS, "too_many_attempts"),
            Self::ProfileRunning(_) => (StatusCode::CONFLICT, "profile_running"),
            Self::CannotProfile(_) => (StatusCode::NOT_IMPLEMENTED, "cannot_profile"),
            Self::NotEdited { status, code, .. } => (*status, code),
            Self::RateLimited(_) => (StatusCode::TOO_MANY_REQUESTS, "rate_limited"),
            Self::NotValidated(_) => (StatusCode::UNPROCESSABLE_ENTITY, "not_validated"),
            Self::ShuttingDown => (StatusCode::SERVICE_UNAVAILABLE, "shutting_down"),
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        }
    }

    pub fn status(&self) -> StatusCode {
        self.status_and_code().0
    }

    /// Returns the error as a sentence for a page.
    pub fn message(&self) -> String {
        let detail = self.error_detail();
        let mut letters = detail.chars();
        match letters.next() {
            Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
            None => detail,
        }
    }

    fn error_detail(&self) -> String {
        match self {
            Self::UnknownFeed(_)
            | Self::UnknownNetwork(_)
            | Self::UnknownStop { .. }
            | Self::UnknownRoute { .. }
            | Self::UnknownTrip { .. }
            | Self::TripNotOnDate { .. }
            | Self::UnknownFile { .. }
            | Self::UnknownPath
            | Self::UnknownReport => self.not_found_detail(),
            Self::MethodNotAllowed => "this address does not support the method".to_owned(),
            Self::Channels(error) => channel_error_detail(error),
            Self::BadParameter { name, reason } => format!("{name}: {reason}"),
            Self::UnknownParameter { name, nearest, known } => {
                unknown_parameter_detail(name, nearest.as_deref(), known)
            }
            Self::RepeatedParameter(name) => format!("{name}: expected one value, not several"),
            Self::OtherFormat { feed, actual, expected } => {
                format!("feed {feed} is {actual}, but this address serves {expected}")
            }
            Self::NoData { feed, reason } => format!("feed {feed} has no data yet: {reason}"),
            Self::Stale { feed, reason } => format!("the data of feed {feed} are older than its max_age: {reason}"),
            Self::PreconditionFailed => "If-Match does not match the current version".to_owned(),
            Self::BadRange { length } => format!("Range is outside the {length} bytes"),
            Self::StorageUnavailable => "the stored data cannot be read right now: try again later".to_owned(),
            Self::Busy => {
                "the server has reached its limit of concurrent replies: try again".to_owned()
            }
            Self::Handshake(error) => error.to_string(),
            Self::UriTooLong => "the address is too long".to_owned(),
            Self::InvalidUtf8 => "the decoded address is not UTF-8".to_owned(),
            Self::BadHost => "expected exactly one Host header".to_owned(),
            Self::NoKey => "expected the key of [api] in X-API-Key".to_owned(),
            Self::Denied(why) => why.to_string(),
            Self::NotAdmin => {
                "only for admins: send the admin token in Authorization: Bearer, or log in at /login"
                    .to_owned()
            }
            Self::OtherOrigin => "only pages of this server can send this request from a browser".to_owned(),
            Self::TooManyAttempts(wait) => {
                format!(
                    "too many wrong tokens or keys: try again in {} s",
                    retry_after_seconds(*wait)
                )
            }
            Self::ProfileRunning(wait) => {
                format!("another recording is running for {} s more", retry_after_seconds(*wait))
            }
            Self::CannotProfile(reason) => format!("a profile cannot be recorded: {reason}"),
            Self::NotEdited { reason, .. } => reason.clone(),
            Self::RateLimited(wait) => {
                format!(
                    "the rate limit of the source allows no request for {} s",
                    retry_after_seconds(*wait)
                )
            }
            Self::NotValidated(why) => why.clone(),
            Self::ShuttingDown => "the server is stopping".to_owned(),
            Self::Internal => "internal error; the server's log has the details".to_owned(),
        }
    }

    /// Returns the detail of a refusal with status 404.
    fn not_found_detail(&self) -> String {
        match self {
            Self::UnknownFeed(id) => format!("feed {id:?} does not exist"),
            Self::UnknownNetwork(id) => format!("network {id:?} does not exist"),
            Self::UnknownStop { feed, stop } => format!("feed {feed} has no stop {stop:?}"),
            Self::UnknownRoute { feed, route } => format!("feed {feed} has no route {route:?}"),
            Self::UnknownTrip { feed, trip } => format!("feed {feed} has no trip {trip:?}"),
            Self::TripNotOnDate { feed, trip, date } => {
                format!("trip {trip:?} of feed {feed} does not run on {date}")
            }
            Self::UnknownFile { feed, version, file } => {
                format!(
                    "system {feed} has no file {file:?} in version {version:?}: see its gbfs.json"
                )
            }
            Self::UnknownPath => "this address has no page or endpoint".to_owned(),
            Self::UnknownReport => {
                "the report does not exist: no validation has finished yet, or the report was deleted"
                    .to_owned()
            }
            _ => String::new(),
        }
    }

    fn problem_details(&self) -> (StatusCode, Problem) {
        let (status, code) = self.status_and_code();
        let title = status.canonical_reason().unwrap_or("Refused");
        let kind = "about:blank";
        (
            status,
            Problem { kind, title, status: status.as_u16(), code, detail: self.error_detail() },
        )
    }
}

/// The types of channels, listed in the error about an unknown type.
const CHANNEL_TYPES: &str = "feed/…, route/…, stop/…, vehicle/…, trip/…, alerts/…, station/…, area/…, report/…, ops/… or app/…";

fn channel_error_detail(error: &SseOpenError) -> String {
    match error {
        SseOpenError::BadChannel { why: BadChannelName::UnknownForm, .. } => {
            format!("{error}; use {CHANNEL_TYPES}")
        }
        error => error.to_string(),
    }
}

fn unknown_parameter_detail(name: &str, nearest: Option<&str>, known: &[String]) -> String {
    let suggestion = nearest.map(|nearest| format!("; did you mean `{nearest}`?"));
    let known = match known {
        [] => "this address has no parameters".to_owned(),
        known => format!("this address has {}", known.join(", ")),
    };
    format!("unknown parameter {name:?}{}; {known}", suggestion.unwrap_or_default())
}

impl From<ArchiveError> for Refusal {
    fn from(error: ArchiveError) -> Self {
        tracing::warn!(%error, "the stored data for a request cannot be read");
        Self::StorageUnavailable
    }
}

impl From<ArchiveReadError> for Refusal {
    fn from(error: ArchiveReadError) -> Self {
        match error {
            ArchiveReadError::Busy => Self::StorageUnavailable,
            ArchiveReadError::Failed(error) => error.into(),
            ArchiveReadError::Crashed => Self::Internal,
        }
    }
}

impl From<FindReportError> for Refusal {
    fn from(error: FindReportError) -> Self {
        match error {
            FindReportError::Unknown => Self::UnknownReport,
            FindReportError::BadVersion => Self::BadParameter {
                name: "version",
                reason: "expected the SHA-256 of a version, from the list of versions".into(),
            },
            FindReportError::Unreadable(error) => error.into(),
        }
    }
}

impl From<SseOpenError> for Refusal {
    fn from(error: SseOpenError) -> Self {
        Self::Channels(error)
    }
}

impl From<AccessDenied> for Refusal {
    fn from(why: AccessDenied) -> Self {
        Self::Denied(why)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, problem) = self.problem_details();
        let code = problem.code;
        let own = match self {
            Self::BadRange { length } => HeaderValue::try_from(format!("bytes */{length}"))
                .ok()
                .map(|length| (header::CONTENT_RANGE, length)),
            Self::TooManyAttempts(wait) | Self::ProfileRunning(wait) | Self::RateLimited(wait) => {
                Some((header::RETRY_AFTER, HeaderValue::from(retry_after_seconds(wait))))
            }
            _ => None,
        };
        let is_ours = matches!(self, Self::Internal);
        let body = serde_json::to_vec(&problem).expect("text and a number always serialize");
        let mut response = (status, body).into_response();
        if is_ours {
            response.extensions_mut().insert(ServerFaultMarker);
        }
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.extend(own);
        if status == StatusCode::UPGRADE_REQUIRED {
            headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
            headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
        }
        if status == StatusCode::UNAUTHORIZED {
            let scheme = if code == "no_key" { "apikey" } else { "Bearer" };
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(scheme));
        }
        response
    }
}

/// Rounds a wait up to whole seconds for `Retry-After`.
fn retry_after_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_its_code_status_and_detail() {
        let (status, problem) = Refusal::UnknownFeed("oslo".to_owned()).problem_details();
        assert_eq!(status, StatusCode::NOT_FOUND);
        let json = serde_json::to_value(problem).unwrap();
        assert_eq!(json["code"], "unknown_feed");
        assert_eq!(json["status"], 404);
        assert!(json["detail"].as_str().unwrap().contains("oslo"));
    }

    #[test]
    fn a_temporary_refusal_has_retry_after() {
        let response = Refusal::ShuttingDown.into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key(header::RETRY_AFTER));
    }
}
