//! What is wrong with a configuration, so that the operator can go straight to the place.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::Utf8Error;

/// One thing wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    file: PathBuf,
    /// Counted from 1; none when the file as a whole is meant.
    line: Option<usize>,
    /// The key as a path, such as `feed[0].poll`; empty when no key is meant.
    key: String,
    /// What is wrong and what is expected.
    reason: String,
}

impl ConfigError {
    pub(super) fn invalid_utf8(file: &Path, bytes: &[u8], error: Utf8Error) -> Self {
        let text_before = &bytes[..error.valid_up_to()];
        let line = 1 + text_before.iter().filter(|byte| **byte == b'\n').count();
        let reason = "not UTF-8, which a configuration has to be".to_owned();
        Self { file: file.to_owned(), line: Some(line), key: String::new(), reason }
    }

    pub(super) fn unreadable_file(file: &Path, error: &std::io::Error) -> Self {
        let reason = format!("cannot be read: {error}");
        Self { file: file.to_owned(), line: None, key: String::new(), reason }
    }

    /// A file that was good before and now has no list of feeds: it was cut off, or emptied by mistake.
    pub(crate) fn missing_feeds(file: &Path, feeds: usize) -> Self {
        let reason = format!(
            "has no [[feed]], and {feeds} {} in force: write feed = [] to remove all feeds",
            if feeds == 1 { "feed is" } else { "feeds are" }
        );
        Self { file: file.to_owned(), line: None, key: String::new(), reason }
    }

    pub(super) fn at_span(
        file: &Path,
        text: &str,
        span: Option<Range<usize>>,
        key: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        let line = span.map(|span| line_at_offset(text, span.start));
        Self { file: file.to_owned(), line, key: key.into(), reason: reason.into() }
    }

    /// The line, counted from 1.
    #[must_use]
    pub fn line_number(&self) -> Option<usize> {
        self.line
    }

    /// The key as a path, such as `feed[0].poll`.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is wrong and what is expected.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

fn line_at_offset(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, " line {line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ", {}", self.key)?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl std::error::Error for ConfigError {}

/// Everything that is wrong with a configuration; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    pub(crate) fn from_error(error: ConfigError) -> Self {
        Self(vec![error])
    }

    /// These, which are not none, in the order of the file.
    pub(super) fn from_errors(mut errors: Vec<ConfigError>) -> Self {
        errors.sort_by_key(|error| error.line);
        Self(errors)
    }

    /// The same, with other words for the keys.
    pub(super) fn with_renamed_keys(mut self, name: impl Fn(&str) -> String) -> Self {
        for error in &mut self.0 {
            error.key = name(&error.key);
        }
        self
    }

    /// `Err` unless `errors` is empty.
    pub(super) fn ensure_none(errors: Vec<ConfigError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self::from_errors(errors)) }
    }

    /// Each of them, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
