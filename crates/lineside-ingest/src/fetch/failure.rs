//! Why a fetch brought nothing, in the words that clients see (docs/protocol/http.md).

use std::{error::Error, fmt, io};

use lineside_formats::{ErrorKind, Problems};
use lineside_sync::UnixMillis;

use crate::limits::FAILURE_CHARS_MAX;

/// Why the source's bytes could not be had or used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureCode {
    /// An answer with this status.
    Http(u16),
    /// A phase took longer than the feed's timeout.
    Timeout,
    /// The host's name has no address.
    Dns,
    /// No connection, or no answer on it.
    Connect,
    /// A file or folder here that is missing or cannot be read.
    File,
    /// The encryption could not be agreed on or the certificate not be trusted.
    Tls,
    /// A web page where data were promised.
    Html,
    /// An answer without a body.
    Empty,
    /// The body ends too early.
    Truncated,
    /// The body does not follow its format.
    Decode,
    /// A schedule without a trip came, where one with trips is served.
    NoRows,
    /// The producer answers that it gives nothing, in the words of its format.
    Refused,
    /// The body, or what it inflates to, exceeds `max_bytes`.
    TooLarge,
    /// The operator's own program made nothing of the body that could be used.
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
    /// Where such a failure happens, unless it is known better. What is read from a disk has no phases.
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

/// How far a poll came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FetchPhase {
    /// Finding the host's address.
    Dns,
    /// Reaching the host; a handshake that takes too long is among it.
    Connect,
    /// Agreeing on encryption and trust.
    Tls,
    /// Waiting for the reply to begin; its status says what is wrong, or nothing came.
    Wait,
    /// Taking the body in.
    Body,
    /// Making sense of it.
    Decode,
}

impl FetchPhase {
    /// The phases in their order.
    pub const ALL: [FetchPhase; 6] = [
        FetchPhase::Dns,
        FetchPhase::Connect,
        FetchPhase::Tls,
        FetchPhase::Wait,
        FetchPhase::Body,
        FetchPhase::Decode,
    ];

    /// The phase that a word means.
    pub fn parse(word: &str) -> Option<FetchPhase> {
        FetchPhase::ALL.into_iter().find(|phase| phase.as_str() == word)
    }

    /// The word for it, in messages and pages.
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

/// One failed fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchFailure {
    /// What kind of failure.
    pub code: FailureCode,
    /// What happened, in words; shows no secret.
    pub detail: String,
    /// When.
    pub at: UnixMillis,
    /// How far it came; `None` for what lies on this machine's disk.
    pub phase: Option<FetchPhase>,
    /// The status of the reply, if one came over HTTP.
    pub status: Option<u16>,
    /// Bytes of the body that came.
    pub bytes: u64,
    /// The first of them, at most [`REPLY_HEAD_BYTES`](crate::limits::REPLY_HEAD_BYTES), as text that is safe to show
    /// and in which the feed's secrets are hidden. Of a failed conversion, what its program wrote to its standard error.
    pub head: Option<String>,
}

/// A failure on its way to its [`FetchFailure`], which adds the time.
#[derive(Clone, Debug)]
pub(crate) struct FetchError {
    pub(crate) code: FailureCode,
    pub(crate) detail: String,
    phase: Option<FetchPhase>,
    status: Option<u16>,
    bytes: u64,
    head: Option<String>,
}

impl FetchError {
    pub(crate) fn new(code: FailureCode, detail: impl Into<String>) -> FetchError {
        let mut detail = detail.into();
        if let Some((cut, _)) = detail.char_indices().nth(FAILURE_CHARS_MAX) {
            detail.truncate(cut);
            detail.push('…');
        }
        FetchError { code, detail, phase: code.default_phase(), status: None, bytes: 0, head: None }
    }

    /// The same, known to have happened in this phase.
    pub(crate) fn with_phase(self, phase: FetchPhase) -> FetchError {
        FetchError { phase: Some(phase), ..self }
    }

    /// The same, with the reply that came: its status, how much of its body, and the beginning of that.
    pub(crate) fn with_reply(
        self,
        status: Option<u16>,
        bytes: u64,
        head: Option<String>,
    ) -> FetchError {
        let head = self.head.clone().or(head).filter(|head| !head.is_empty());
        FetchError { status, bytes, head, ..self }
    }

    /// The same, with the words of whoever failed, which are shown instead of the beginning of a reply.
    pub(crate) fn with_head(self, head: String) -> FetchError {
        FetchError { head: Some(head).filter(|head| !head.is_empty()), ..self }
    }

    /// The same, told with what it was about.
    pub(crate) fn with_prefix(self, what: &str) -> FetchError {
        let told = FetchError::new(self.code, format!("{what}{}", self.detail));
        FetchError { detail: told.detail, ..self }
    }

    /// The failure with `detail` in place of the words that it came with.
    pub(crate) fn without_detail(self, detail: &str) -> FetchError {
        FetchError { detail: detail.to_owned(), head: None, ..self }
    }

    pub(crate) fn into_fetch_failure(self, at: UnixMillis) -> FetchFailure {
        let FetchError { code, detail, phase, status, bytes, head } = self;
        FetchFailure { code, detail, at, phase, status, bytes, head }
    }

    pub(crate) fn body_too_large(max: u64) -> FetchError {
        FetchError::new(FailureCode::TooLarge, format!("the body exceeds {max} bytes"))
    }

    pub(crate) fn from_io(what: &str, error: &io::Error) -> FetchError {
        FetchError::new(FailureCode::File, format!("{what} cannot be read: {error}"))
    }

    /// Every entity of a message was refused for one of these problems.
    pub(crate) fn from_entity_problems(problems: &Problems) -> FetchError {
        let first = problems.retained_problems().first().map_or("", |problem| &*problem.detail);
        let detail = format!("every entity of the message was refused; the first {first}");
        FetchError::new(FailureCode::Decode, detail)
    }

    /// A decoder's refusal.
    pub(crate) fn from_decoder_error(error: &lineside_formats::Error) -> FetchError {
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

/// The cause at the bottom of `error`, which says more than the layers above it.
pub(crate) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
