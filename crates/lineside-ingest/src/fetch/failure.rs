//! Why a fetch brought nothing, in the words that clients see (docs/protocol/http.md).

use std::{error::Error, fmt, io};

use lineside_formats::ErrorKind;
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
    /// The body, or what it inflates to, exceeds `max_bytes`.
    TooLarge,
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
            FailureCode::TooLarge => "too_large",
        })
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
}

/// A failure on its way to its [`FetchFailure`], which adds the time.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: FailureCode,
    pub(crate) detail: String,
}

impl Failure {
    pub(crate) fn new(code: FailureCode, detail: impl Into<String>) -> Failure {
        let mut detail = detail.into();
        if let Some((cut, _)) = detail.char_indices().nth(FAILURE_CHARS_MAX) {
            detail.truncate(cut);
            detail.push('…');
        }
        Failure { code, detail }
    }

    pub(crate) fn at(self, at: UnixMillis) -> FetchFailure {
        FetchFailure { code: self.code, detail: self.detail, at }
    }

    pub(crate) fn too_large(max: u64) -> Failure {
        Failure::new(FailureCode::TooLarge, format!("the body exceeds {max} bytes"))
    }

    pub(crate) fn io(what: &str, error: &io::Error) -> Failure {
        Failure::new(FailureCode::File, format!("{what} cannot be read: {error}"))
    }

    /// A decoder's refusal.
    pub(crate) fn refused(error: &lineside_formats::Error) -> Failure {
        let code = match error.kind() {
            ErrorKind::Empty => FailureCode::Empty,
            ErrorKind::Html => FailureCode::Html,
            ErrorKind::TooLarge | ErrorKind::Bomb => FailureCode::TooLarge,
            ErrorKind::Truncated => FailureCode::Truncated,
            _ => FailureCode::Decode,
        };
        Failure::new(code, error.to_string())
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
