//! The checks that the tables of the configuration share, and the collected errors.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lineside_model::{FeedConfig, FormatConverter};
use toml::Spanned;
use url::Url;

use super::error::ConfigError;
use super::value::{CountText, DurationText, SizeText};

/// Texts such as a feed's name appear on every page, so they are short.
const TEXT_CHARS_MAX: usize = 500;
/// Maximum number of headers, and of query parameters, of one feed.
pub(super) const PAIRS_MAX: usize = 64;

/// Checks the values of a configuration file, and collects all errors.
pub(super) struct ConfigChecker<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
    /// The folder of the configuration: relative paths start there.
    pub(super) base: &'a Path,
    /// The feeds that are defined elsewhere.
    pub(super) external_feeds: &'a [FeedConfig],
    /// The converters that feeds may name.
    pub(super) converters: Vec<Arc<FormatConverter>>,
    pub(super) has_all_converters: bool,
    /// True if producers may know this server's address.
    pub(super) is_public: bool,
    pub(super) errors: Vec<ConfigError>,
}

impl<'a> ConfigChecker<'a> {
    pub(super) fn new(path: &'a Path, text: &'a str) -> Self {
        let base = path.parent().unwrap_or(Path::new(""));
        let (others, converters, errors) = (&[], Vec::new(), Vec::new());
        let (has_all_converters, is_reached) = (true, true);
        Self {
            path,
            text,
            base,
            external_feeds: others,
            converters,
            has_all_converters,
            is_public: is_reached,
            errors,
        }
    }

    pub(super) fn add_error<T>(&mut self, span: &Spanned<T>, key: &str, reason: impl Into<String>) {
        let error = ConfigError::at_span(self.path, self.text, Some(span.span()), key, reason);
        self.errors.push(error);
    }

    pub(super) fn check_web_url(&mut self, key: &str, text: &Spanned<String>) -> Option<Url> {
        let url = Url::parse(text.get_ref()).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if url.is_none() {
            self.add_error(text, key, expected_message("an http(s) URL", text.get_ref()));
        }
        url
    }

    pub(super) fn check_short_text(
        &mut self,
        key: &str,
        text: Option<Spanned<String>>,
    ) -> Option<String> {
        let text = text?;
        if text.get_ref().chars().count() > TEXT_CHARS_MAX {
            self.add_error(&text, key, format!("longer than {TEXT_CHARS_MAX} characters"));
        }
        Some(text.into_inner())
    }

    pub(super) fn check_duration(
        &mut self,
        key: &str,
        text: Option<Spanned<DurationText>>,
        range: RangeInclusive<Duration>,
    ) -> Option<Duration> {
        let text = text?;
        let duration = text.get_ref().0;
        if !range.contains(&duration) {
            let (min, max) = (DurationText(*range.start()), DurationText(*range.end()));
            let reason = format!("{} is out of range: expected {min} to {max}", text.get_ref());
            self.add_error(&text, key, reason);
        }
        Some(duration)
    }

    pub(super) fn check_size(
        &mut self,
        key: &str,
        text: &Option<Spanned<SizeText>>,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        let text = text.as_ref()?;
        let bytes = text.get_ref().0;
        if !range.contains(&bytes) {
            let reason = format!("expected {} to {} bytes", range.start(), range.end());
            self.add_error(text, key, format!("{bytes} is out of range: {reason}"));
        }
        Some(bytes)
    }

    pub(super) fn check_memory_size(
        &mut self,
        key: &str,
        text: &Option<Spanned<SizeText>>,
        range: RangeInclusive<u64>,
    ) -> Option<usize> {
        self.check_size(key, text, range).and_then(|bytes| usize::try_from(bytes).ok())
    }

    pub(super) fn check_count(
        &mut self,
        key: &str,
        number: &Option<Spanned<CountText>>,
        range: RangeInclusive<u64>,
    ) -> Option<usize> {
        let number = number.as_ref()?;
        let count = number.get_ref().0;
        if !range.contains(&count) {
            let (min, max) = (range.start(), range.end());
            let reason = format!("{count} is out of range: expected {min} to {max}");
            self.add_error(number, key, reason);
        }
        usize::try_from(count).ok()
    }
}

pub(super) fn expected_message(what: &str, alternative: &str) -> String {
    format!("expected {what}, not {alternative:?}")
}
