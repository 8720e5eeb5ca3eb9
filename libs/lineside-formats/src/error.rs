//! Refusals: what makes a whole body unusable. A fault in one row or entity is a
//! [`Problem`](crate::Problem) instead.

use std::{error, fmt, io};

/// Why a body was refused as a whole.
///
/// Opaque: look at [`kind`](Error::kind) to decide, show [`Display`](fmt::Display) to people. The
/// text is one sentence without a full stop that names the file inside the archive where there is
/// one.
#[derive(Debug)]
pub struct Error(Box<ErrorInner>);

#[derive(Debug)]
struct ErrorInner {
    kind: ErrorKind,
    file: Option<Box<str>>,
    detail: Box<str>,
    source: Option<io::Error>,
}

/// The kinds of refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are no zip archive, or its directory is damaged.
    NotAZip,
    /// There are no bytes, or nothing in them.
    Empty,
    /// A web page came where data were promised.
    Html,
    /// Something exceeds a stated limit.
    TooLarge,
    /// An archive that inflates far beyond its size, or whose entries overlap.
    Bomb,
    /// A file that the format cannot do without is absent.
    MissingFile,
    /// A file's first row does not name the columns that it needs.
    BadHeader,
    /// The text is in an encoding that cannot be read, such as UTF-16.
    Encoding,
    /// The bytes end too early.
    Truncated,
    /// The bytes do not follow the format.
    Decode,
    /// Reading failed underneath.
    Io,
}

impl ErrorKind {
    /// The kind as a snake_case code, as used in metrics and reasons.
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
    /// A refusal of `kind`; `detail` says what is wrong, lower case and without a full stop.
    pub fn new(kind: ErrorKind, detail: impl Into<Box<str>>) -> Error {
        Error(Box::new(ErrorInner { kind, file: None, detail: detail.into(), source: None }))
    }

    /// A failure of the reader underneath. An unexpected end counts as [`ErrorKind::Truncated`],
    /// data that the reader calls invalid (a damaged deflate stream) as [`ErrorKind::Decode`]. A
    /// refusal that a reader passed on inside an I/O error comes out as it went in.
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

    /// The same refusal, naming the file that it concerns.
    #[must_use]
    pub fn with_file(mut self, file: &str) -> Error {
        self.0.file = Some(file.into());
        self
    }

    /// What kind of refusal this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The file inside the archive that the refusal concerns.
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
