//! The outer object that all GBFS files share.

use std::{fmt, time::Duration};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use lineside_formats::{Error, ErrorKind};

/// Maximum `ttl` that is returned; a longer one is of no use.
const TTL_MAX: Duration = Duration::from_secs(366 * 86_400);

/// The outer object of a file. All values remain JSON text.
#[derive(Deserialize)]
pub(crate) struct FileEnvelope<'a> {
    #[serde(borrow)]
    pub(crate) last_updated: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) ttl: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) version: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) data: &'a RawValue,
}

/// The keys and values of an object, in the order of the file.
pub(crate) struct JsonObjectPairs<'a>(pub(crate) Vec<(String, &'a RawValue)>);

/// Maximum number of keys that are read of one object, such as the languages of a discovery file; further ones are
/// skipped.
const PAIRS_MAX: usize = 200;

/// Returns the `ttl` of a file in whole seconds, at most a year; `None` if the file has none.
///
/// # Errors
/// Returns an error if the body is not a GBFS file: a JSON object with `data`.
pub fn parse_file_ttl(body: &[u8]) -> Result<Option<Duration>, Error> {
    let document = parse_file_envelope(body)?;
    let Some(ttl) = document.ttl else { return Ok(None) };
    // Some producers write the number as a string.
    let Ok(seconds) = ttl.get().trim_matches('"').parse::<f64>() else { return Ok(None) };
    Ok((seconds >= 0.0).then(|| Duration::from_secs(seconds as u64).min(TTL_MAX)))
}

/// Returns the `data` of a file.
pub(crate) fn parse_file_data(body: &[u8]) -> Result<&RawValue, Error> {
    parse_file_envelope(body).map(|document| document.data)
}

pub(crate) fn parse_file_envelope(body: &[u8]) -> Result<FileEnvelope<'_>, Error> {
    let start = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    if start.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::new(ErrorKind::Empty, "the file is empty"));
    }
    serde_json::from_slice(start).map_err(|error| error_from_json(&error))
}

pub(crate) fn error_from_json(error: &serde_json::Error) -> Error {
    let kind = if error.is_eof() { ErrorKind::Truncated } else { ErrorKind::Decode };
    Error::new(kind, format!("the file is not valid GBFS: {error}"))
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonObjectPairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct JsonObjectPairsVisitor;

        impl<'de> Visitor<'de> for JsonObjectPairsVisitor {
            type Value = JsonObjectPairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry::<String, &RawValue>()? {
                    pairs.push(pair);
                    if pairs.len() > PAIRS_MAX {
                        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                        break;
                    }
                }
                Ok(JsonObjectPairs(pairs))
            }
        }

        deserializer.deserialize_map(JsonObjectPairsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, expect: Option<u64>) {
        let body =
            format!("{{\"last_updated\":1,\"ttl\":{written},\"version\":\"2.3\",\"data\":{{}}}}");
        assert_eq!(
            parse_file_ttl(body.as_bytes()).unwrap(),
            expect.map(Duration::from_secs),
            "{written}"
        );
    }

    #[test]
    fn a_ttl_is_parsed_leniently_and_capped() {
        for (written, expect) in [("60", 60), ("0", 0), ("\"30\"", 30), ("2.9", 2), ("1e2", 100)] {
            check(written, Some(expect));
        }
        for huge in ["99999999999999999999999", "1e300", "31622401"] {
            check(huge, Some(366 * 86_400));
        }
        for odd in ["-1", "null", "true", "\"soon\"", "[60]", "\"NaN\""] {
            check(odd, None);
        }
        assert_eq!(parse_file_ttl(b"{\"data\":{}}").unwrap(), None);
    }

    #[test]
    fn a_body_that_is_not_a_gbfs_file_is_refused() {
        let kind = |body: &[u8]| parse_file_ttl(body).unwrap_err().kind();
        assert_eq!(kind(b" \n"), ErrorKind::Empty);
        assert_eq!(kind(b"{\"data\":{\"stations\":[{\"a\":1"), ErrorKind::Truncated);
        for body in
            ["<html>", "[]", "{}", "{\"ttl\":1}", "{\"data\":1,\"data\":2}", "{\"data\":1}x"]
        {
            assert_eq!(kind(body.as_bytes()), ErrorKind::Decode, "{body}");
        }
        assert!(parse_file_ttl(b"\xEF\xBB\xBF{\"data\":[]}").is_ok());
    }
}
