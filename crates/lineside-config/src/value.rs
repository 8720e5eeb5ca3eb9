//! The values inside a configuration: durations, sizes and secrets.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{Span, SpanRelativeTo};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

/// Maximum size of a file that holds a secret, in bytes.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// A duration written as text: `"15s"`, `"5m"`, `"1h30m"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DurationText(pub(super) Duration);

impl<'de> Deserialize<'de> for DurationText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DurationVisitor).map(Self)
    }
}

struct DurationVisitor;

impl Visitor<'_> for DurationVisitor {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration as text, such as \"15s\", \"5m\" or \"1h30m\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
        parse_duration(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

fn parse_duration(text: &str) -> Option<Duration> {
    let span: Span = text.parse().ok()?;
    let signed = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    Duration::try_from(signed).ok()
}

/// Writes a duration as it can be read back: `7d`, `1h30m`, `0s`.
impl fmt::Display for DurationText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0.as_nanos();
        if left == 0 {
            return f.write_str("0s");
        }
        for (nanos, unit) in DURATION_UNITS {
            if left >= nanos {
                write!(f, "{}{unit}", left / nanos)?;
                left %= nanos;
            }
        }
        Ok(())
    }
}

/// The units in which durations are written, in nanoseconds.
const DURATION_UNITS: [(u128, &str); 7] = [
    (86_400_000_000_000, "d"),
    (3_600_000_000_000, "h"),
    (60_000_000_000, "m"),
    (1_000_000_000, "s"),
    (1_000_000, "ms"),
    (1_000, "us"),
    (1, "ns"),
];

/// Formats a duration as in a configuration.
pub fn format_duration(duration: Duration) -> String {
    DurationText(duration).to_string()
}

/// Formats a number of bytes as in a configuration, in the largest unit that needs no decimals.
pub fn format_size(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let fits = |(factor, _): &&(u64, &str)| bytes > 0 && bytes.is_multiple_of(*factor);
    match units.iter().find(fits) {
        Some((factor, unit)) => format!("{}{unit}", bytes / factor),
        None => bytes.to_string(),
    }
}

/// An address to listen on, not yet parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListenAddressText(pub(super) String);

/// The expected form of an address to listen on.
pub(super) const ADDRESS: &str = "an address and port, such as \"127.0.0.1:8080\"";

impl<'de> Deserialize<'de> for ListenAddressText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListenAddressVisitor).map(Self)
    }
}

struct ListenAddressVisitor;

impl Visitor<'_> for ListenAddressVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ADDRESS)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }
}

/// The range of counts, such as the number of connections.
pub(super) const COUNT: RangeInclusive<u64> = 1..=10_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CountText(pub(super) u64);

impl<'de> Deserialize<'de> for CountText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor).map(Self)
    }
}

struct CountVisitor;

impl Visitor<'_> for CountVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {} to {}", COUNT.start(), COUNT.end())
    }

    fn visit_i64<E: de::Error>(self, count: i64) -> Result<u64, E> {
        u64::try_from(count).map_err(|_| E::invalid_value(de::Unexpected::Signed(count), &self))
    }

    fn visit_u64<E: de::Error>(self, count: u64) -> Result<u64, E> {
        Ok(count)
    }
}

/// A number of bytes: `1048576`, `"256KiB"`, `"64 MiB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SizeText(pub(super) u64);

impl<'de> Deserialize<'de> for SizeText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor).map(Self)
    }
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size, such as 65536, \"256KiB\" or \"64MiB\"")
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<u64, E> {
        u64::try_from(bytes).map_err(|_| E::invalid_value(de::Unexpected::Signed(bytes), &self))
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<u64, E> {
        Ok(bytes)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
        parse_size(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

/// Parses a size with its unit, such as `8GiB`, into bytes; `None` if it is invalid.
pub fn parse_size(text: &str) -> Option<u64> {
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits_end);
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "kB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// A secret: the text itself, or the place to read it from.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum SecretText {
    Plain(String),
    Env(String),
    File(PathBuf),
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("***"),
            Self::Env(name) => write!(f, "env {name}"),
            Self::File(path) => write!(f, "file {}", path.display()),
        }
    }
}

impl SecretText {
    /// Reads the secret. A relative path of a file starts in `base`, the folder of the configuration.
    ///
    /// # Errors
    /// Returns a sentence that names what is missing and never shows a secret.
    pub(super) fn resolve_secret(&self, base: &Path) -> Result<String, String> {
        match self {
            Self::Plain(text) => Ok(text.clone()),
            Self::Env(name) => match std::env::var(name) {
                Ok(text) if !text.is_empty() => Ok(text),
                Ok(_) => Err(format!("environment variable {name} is empty")),
                Err(_) => Err(format!("environment variable {name} is not set")),
            },
            Self::File(path) => read_secret_file(&base.join(path)),
        }
    }
}

fn read_secret_file(path: &Path) -> Result<String, String> {
    use std::io::Read as _;
    let cannot = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(cannot)?;
    file.take(SECRET_BYTES_MAX).read_to_string(&mut text).map_err(cannot)?;
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.is_empty() {
        return Err(format!("{} is empty", path.display()));
    }
    Ok(secret.to_owned())
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SecretVisitor)
    }
}

struct SecretVisitor;

impl<'de> Visitor<'de> for SecretVisitor {
    type Value = SecretText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, { env = \"NAME\" } or { file = \"path\" }")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<SecretText, E> {
        Ok(SecretText::Plain(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SecretText, A::Error> {
        let Some(key) = map.next_key::<String>()? else {
            return Err(de::Error::invalid_length(0, &self));
        };
        let secret = match key.as_str() {
            "env" => SecretText::Env(map.next_value()?),
            "file" => SecretText::File(map.next_value()?),
            other => return Err(de::Error::unknown_field(other, &["env", "file"])),
        };
        match map.next_key::<String>()? {
            None => Ok(secret),
            Some(_) => Err(de::Error::invalid_length(2, &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_require_a_unit() {
        for (text, expect) in [("15s", 15), ("5m", 300), ("1h", 3600), ("1h30m", 5400)] {
            assert_eq!(parse_duration(text), Some(Duration::from_secs(expect)), "{text}");
        }
        assert_eq!(parse_duration("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(parse_duration("7d"), Some(Duration::from_secs(7 * 86_400)));
        for text in ["", "15", "-5s", "soon", "5 parsecs"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_formatted_in_the_syntax_they_are_parsed_from() {
        for text in ["0s", "100ms", "4s", "10m", "7d", "366d", "1h30m", "1m1s1ms1us1ns"] {
            let read = parse_duration(text);
            assert_eq!(DurationText(read.unwrap()).to_string(), text, "{read:?}");
        }
    }

    #[test]
    fn sizes_are_parsed_to_bytes() {
        for (text, expect) in
            [("12", 12), ("256KiB", 262_144), ("64 MiB", 67_108_864), ("2GB", 2_000_000_000)]
        {
            assert_eq!(parse_size(text), Some(expect), "{text}");
        }
        for text in
            ["", "KiB", "-1", "1.5MiB", "5 apples", "99999999999999999999", "99999999999GiB"]
        {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_formatted_in_the_syntax_they_are_parsed_from() {
        for text in ["0", "1025", "64KiB", "512MiB", "4GiB"] {
            assert_eq!(format_size(parse_size(text).unwrap()), text);
        }
    }

    #[test]
    fn a_secret_may_be_in_a_file_and_is_never_printed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("key"), "s3cret\n").unwrap();
        let secret = SecretText::File(PathBuf::from("key"));
        assert_eq!(secret.resolve_secret(folder.path()).as_deref(), Ok("s3cret"));
        assert_eq!(format!("{:?}", SecretText::Plain("s3cret".to_owned())), "***");
    }

    #[test]
    fn a_missing_secret_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let env = SecretText::Env("LINESIDE_TEST_NOT_SET".to_owned());
        assert_eq!(
            env.resolve_secret(folder.path()),
            Err("environment variable LINESIDE_TEST_NOT_SET is not set".to_owned())
        );
        let file = SecretText::File(PathBuf::from("absent"));
        assert!(file.resolve_secret(folder.path()).unwrap_err().contains("absent"));
    }
}
