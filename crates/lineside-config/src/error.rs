//! Errors in a configuration, with the place in the file.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::Utf8Error;

/// An error in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    file: PathBuf,
    /// The line, counted from 1; `None` if the error concerns the whole file.
    line: Option<usize>,
    /// The key as a path, such as `feed[0].poll`; empty if the error concerns no key.
    key: String,
    /// The fault and the expected value.
    reason: String,
}

impl ConfigError {
    pub(super) fn invalid_utf8(file: &Path, bytes: &[u8], error: Utf8Error) -> Self {
        let text_before = &bytes[..error.valid_up_to()];
        let line = 1 + text_before.iter().filter(|byte| **byte == b'\n').count();
        let reason = "not UTF-8: save the configuration as UTF-8".to_owned();
        Self { file: file.to_owned(), line: Some(line), key: String::new(), reason }
    }

    pub(super) fn unreadable_file(file: &Path, error: &std::io::Error) -> Self {
        let reason = format!("cannot be read: {error}");
        Self { file: file.to_owned(), line: None, key: String::new(), reason }
    }

    /// Returns the error that a previously valid file has no list of feeds: it was truncated, or emptied by mistake.
    pub fn missing_feeds_error(file: &Path, feeds: usize) -> Self {
        let reason = format!(
            "has no [[feed]], but {feeds} {} being served: write feed = [] to remove all feeds",
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

    /// Returns the line, counted from 1.
    #[must_use]
    pub fn line_number(&self) -> Option<usize> {
        self.line
    }

    /// Returns the key as a path, such as `feed[0].poll`.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the fault and the expected value.
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

/// All errors in a configuration; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    pub fn from_error(error: ConfigError) -> Self {
        Self(vec![error])
    }

    /// Sorts the errors, of which there is at least one, in the order of the file.
    pub(super) fn from_errors(mut errors: Vec<ConfigError>) -> Self {
        errors.sort_by_key(|error| error.line);
        Self(errors)
    }

    pub(super) fn with_renamed_keys(mut self, name: impl Fn(&str) -> String) -> Self {
        for error in &mut self.0 {
            error.key = name(&error.key);
        }
        self
    }

    /// `Err` unless `errors` is empty.
    pub(super) fn ok_if_empty(errors: Vec<ConfigError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self::from_errors(errors)) }
    }

    /// Returns the errors, in the order of the file.
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
