//! The error of a body that is unusable as a whole. A fault in one row or entity is a [`Problem`](crate::Problem)
//! instead.

use std::{error, fmt, io};

/// The reason why a whole body was refused.
///
/// Opaque: use [`kind`](Error::kind) to decide, [`Display`](fmt::Display) to show. The text is one sentence without a
/// full stop and names the file inside the archive, if any.
#[derive(Debug)]
pub struct Error(Box<ErrorInner>);

#[derive(Debug)]
struct ErrorInner {
    kind: ErrorKind,
    file: Option<Box<str>>,
    detail: Box<str>,
    source: Option<io::Error>,
}

/// The kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are not a zip archive, or its directory is damaged.
    NotAZip,
    /// There are no bytes, or only whitespace.
    Empty,
    /// The body is a web page instead of data.
    Html,
    /// A limit is exceeded.
    TooLarge,
    /// The archive inflates far beyond its size, or its entries overlap.
    Bomb,
    /// A required file is missing.
    MissingFile,
    /// The first row of a file lacks required columns.
    BadHeader,
    /// The text is in an unsupported encoding.
    Encoding,
    /// The bytes end too early.
    Truncated,
    /// The bytes do not follow the format.
    Decode,
    /// The underlying reader failed.
    Io,
}

impl ErrorKind {
    /// Returns the kind as a snake_case code, as used in metrics and error responses.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::NotAZip => "not_a_zip",
            ErrorKind::Empty => "empty",
            ErrorKind::Html => "html",
            ErrorKind::TooLarge => "too_large",
            ErrorKind::Bomb => "bomb",
            ErrorKind::MissingFile => "missing_file",
            ErrorKind::BadHeader => "bad_header",
            ErrorKind::Encoding => "encoding",
            ErrorKind::Truncated => "truncated",
            ErrorKind::Decode => "decode",
            ErrorKind::Io => "io",
        }
    }
}

impl Error {
    /// Creates an error of `kind`; `detail` says what is wrong, in lower case and without a full stop.
    pub fn new(kind: ErrorKind, detail: impl Into<Box<str>>) -> Error {
        Error(Box::new(ErrorInner { kind, file: None, detail: detail.into(), source: None }))
    }

    /// Converts an error of the underlying reader. An unexpected end becomes [`ErrorKind::Truncated`], and invalid data
    /// (a damaged deflate stream) [`ErrorKind::Decode`]. An [`Error`] wrapped in the I/O error is returned unchanged.
    pub fn from_io(source: io::Error) -> Error {
        let source = match source.downcast::<Error>() {
            Ok(refusal) => return refusal,
            Err(source) => source,
        };
        let kind = match source.kind() {
            io::ErrorKind::UnexpectedEof => ErrorKind::Truncated,
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => ErrorKind::Decode,
            _ => ErrorKind::Io,
        };
        let detail = format!("cannot be read: {source}").into_boxed_str();
        Error(Box::new(ErrorInner { kind, file: None, detail, source: Some(source) }))
    }

    /// Adds the name of the file that the error concerns.
    #[must_use]
    pub fn with_file(mut self, file: &str) -> Error {
        self.0.file = Some(file.into());
        self
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the file inside the archive that the error concerns.
    pub fn file_name(&self) -> Option<&str> {
        self.0.file.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.file {
            Some(file) => write!(f, "{file}: {}", self.0.detail),
            None => f.write_str(&self.0.detail),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}
