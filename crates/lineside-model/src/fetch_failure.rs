//! Fetch failures, with the codes and messages that clients see (docs/protocol/http.md).

use std::{error::Error, fmt, io};

use lineside_formats::{ErrorKind, Problems};
use lineside_sync::UnixMillis;

use crate::limits::FAILURE_CHARS_MAX;

/// The reason why a source's bytes could not be fetched or used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureCode {
    /// A reply with this status.
    Http(u16),
    /// A phase took longer than the feed's timeout.
    Timeout,
    /// The host name has no address.
    Dns,
    /// No connection, or no reply on it.
    Connect,
    /// A local file or folder that is missing or cannot be read.
    File,
    /// The TLS handshake failed or the certificate is not trusted.
    Tls,
    /// A web page instead of data.
    Html,
    /// A reply without a body.
    Empty,
    /// The body ends too early.
    Truncated,
    /// The body does not follow its format.
    Decode,
    /// A new schedule has no trips, while the served one has.
    NoRows,
    /// The producer refuses in a message of its format.
    Refused,
    /// The body exceeds `max_bytes`, compressed or decompressed.
    TooLarge,
    /// The configured converter program produced nothing usable.
    Convert,
}

impl fmt::Display for FailureCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FailureCode::Http(status) => return write!(f, "http_{status}"),
            FailureCode::Timeout => "timeout",
            FailureCode::Dns => "dns",
            FailureCode::Connect => "connect",
            FailureCode::File => "file",
            FailureCode::Tls => "tls",
            FailureCode::Html => "html",
            FailureCode::Empty => "empty",
            FailureCode::Truncated => "truncated",
            FailureCode::Decode => "decode",
            FailureCode::NoRows => "no_rows",
            FailureCode::Refused => "refused",
            FailureCode::TooLarge => "too_large",
            FailureCode::Convert => "convert",
        })
    }
}

impl FailureCode {
    /// Returns the phase in which such a failure usually occurs. Reading from a disk has no phases.
    fn default_phase(self) -> Option<FetchPhase> {
        match self {
            FailureCode::Dns => Some(FetchPhase::Dns),
            FailureCode::Connect => Some(FetchPhase::Connect),
            FailureCode::Tls => Some(FetchPhase::Tls),
            FailureCode::Http(_) | FailureCode::Timeout => Some(FetchPhase::Wait),
            FailureCode::Empty | FailureCode::Truncated | FailureCode::TooLarge => {
                Some(FetchPhase::Body)
            }
            FailureCode::Html
            | FailureCode::Decode
            | FailureCode::NoRows
            | FailureCode::Refused
            | FailureCode::Convert => Some(FetchPhase::Decode),
            FailureCode::File => None,
        }
    }
}

/// The phase of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FetchPhase {
    /// Resolving the host name.
    Dns,
    /// Connecting to the host, including a TLS handshake that times out.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Waiting for the reply's head, which may carry an error status.
    Wait,
    /// Receiving the body.
    Body,
    /// Decoding the body.
    Decode,
}

impl FetchPhase {
    /// All phases, in order.
    pub const ALL: [FetchPhase; 6] = [
        FetchPhase::Dns,
        FetchPhase::Connect,
        FetchPhase::Tls,
        FetchPhase::Wait,
        FetchPhase::Body,
        FetchPhase::Decode,
    ];

    pub fn parse(name: &str) -> Option<FetchPhase> {
        FetchPhase::ALL.into_iter().find(|phase| phase.as_str() == name)
    }

    /// Returns the name of the phase in messages and pages.
    pub fn as_str(self) -> &'static str {
        match self {
            FetchPhase::Dns => "dns",
            FetchPhase::Connect => "connect",
            FetchPhase::Tls => "tls",
            FetchPhase::Wait => "wait",
            FetchPhase::Body => "body",
            FetchPhase::Decode => "decode",
        }
    }
}

impl fmt::Display for FetchPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failed fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchFailure {
    pub code: FailureCode,
    /// The error message, without secrets.
    pub detail: String,
    /// The time of the failure.
    pub at: UnixMillis,
    /// The phase in which the fetch failed; `None` for a read from the local disk.
    pub phase: Option<FetchPhase>,
    /// The HTTP status of the reply, if there was one.
    pub status: Option<u16>,
    /// Bytes received of the body.
    pub bytes: u64,
    /// The beginning of the body as displayable text with the feed's secrets redacted, at most
    /// [`REPLY_HEAD_BYTES`](crate::limits::REPLY_HEAD_BYTES). For a failed conversion, the converter's standard error.
    pub head: Option<String>,
}

/// A failure without its time, which [`FetchFailure`] adds.
#[derive(Clone, Debug)]
pub struct FetchError {
    pub code: FailureCode,
    pub detail: String,
    phase: Option<FetchPhase>,
    status: Option<u16>,
    bytes: u64,
    head: Option<String>,
}

impl FetchError {
    pub fn new(code: FailureCode, detail: impl Into<String>) -> FetchError {
        let mut detail = detail.into();
        if let Some((cut, _)) = detail.char_indices().nth(FAILURE_CHARS_MAX) {
            detail.truncate(cut);
            detail.push('…');
        }
        FetchError { code, detail, phase: code.default_phase(), status: None, bytes: 0, head: None }
    }

    /// Sets the phase.
    pub fn with_phase(self, phase: FetchPhase) -> FetchError {
        FetchError { phase: Some(phase), ..self }
    }

    /// Adds the reply: its status, the number of body bytes received and the beginning of the body.
    pub fn with_response(
        self,
        status: Option<u16>,
        bytes: u64,
        head: Option<String>,
    ) -> FetchError {
        let head = self.head.clone().or(head).filter(|head| !head.is_empty());
        FetchError { status, bytes, head, ..self }
    }

    /// Sets the failing program's output, which is shown instead of the beginning of a reply.
    pub fn with_program_output(self, head: String) -> FetchError {
        FetchError { head: Some(head).filter(|head| !head.is_empty()), ..self }
    }

    /// Prefixes the detail with `what`.
    pub fn with_detail_prefix(self, what: &str) -> FetchError {
        let error = FetchError::new(self.code, format!("{what}{}", self.detail));
        FetchError { detail: error.detail, ..self }
    }

    /// Replaces the detail and drops the reply's beginning.
    pub fn with_replaced_detail(self, detail: &str) -> FetchError {
        FetchError { detail: detail.to_owned(), head: None, ..self }
    }

    pub fn into_fetch_failure(self, at: UnixMillis) -> FetchFailure {
        let FetchError { code, detail, phase, status, bytes, head } = self;
        FetchFailure { code, detail, at, phase, status, bytes, head }
    }

    pub fn body_too_large(max: u64) -> FetchError {
        FetchError::new(FailureCode::TooLarge, format!("the body exceeds {max} bytes"))
    }

    pub fn from_io(what: &str, error: &io::Error) -> FetchError {
        FetchError::new(FailureCode::File, format!("{what} cannot be read: {error}"))
    }

    /// Returns the failure of a message all of whose entities were rejected.
    pub fn from_entity_problems(problems: &Problems) -> FetchError {
        let first = problems.retained_problems().first().map_or("", |problem| &*problem.detail);
        let detail = format!("all entities of the message were rejected; the first {first}");
        FetchError::new(FailureCode::Decode, detail)
    }

    /// Converts a decoder's error.
    pub fn from_decoder_error(error: &lineside_formats::Error) -> FetchError {
        let code = match error.kind() {
            ErrorKind::Empty => FailureCode::Empty,
            ErrorKind::Html => FailureCode::Html,
            ErrorKind::TooLarge | ErrorKind::Bomb => FailureCode::TooLarge,
            ErrorKind::Truncated => FailureCode::Truncated,
            _ => FailureCode::Decode,
        };
        FetchError::new(code, error.to_string()).with_phase(FetchPhase::Decode)
    }
}

/// Returns the innermost cause of `error`, which is the most specific.
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
