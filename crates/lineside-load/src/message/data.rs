//! Parses the beginning of a publication's data: its kind and the time at which it was sent.

use super::{parse_leading_number, parse_number_after};

/// The values at the beginning of a publication's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PublicationData {
    /// For an own publication its number, from 1, and the time at which it was sent.
    pub(crate) ours: Option<(u64, u64)>,
    /// Time at which the server received the data, in milliseconds since 1970.
    pub(crate) at_millis: Option<u64>,
    /// For a part of a channel's state its number, and the number of parts.
    pub(crate) state: Option<(u32, u32)>,
    /// True if the state replaces changes that were not sent.
    pub(crate) gap: bool,
}

const OWN: &[u8] = b"{\"load\":";
const SENT: &[u8] = b",\"sent\":";
/// The key is last in alphabetical order, in case a server re-encodes the object.
const TAIL: &[u8] = b",\"tail\":\"";

impl PublicationData {
    pub(crate) fn parse_publication_data(data: &[u8]) -> Self {
        if let Some(own) = data.strip_prefix(OWN) {
            let sent = parse_number_after(SENT, own.get(..48).unwrap_or(own));
            return Self { ours: parse_leading_number(own).zip(sent), ..Self::default() };
        }
        let Some(mut rest) = data.strip_prefix(b"{") else { return Self::default() };
        let mut gap = false;
        if let Some(after) = rest.strip_prefix(b"\"gap\":true,") {
            (gap, rest) = (true, after);
        }
        let Some(at) = rest.strip_prefix(b"\"at\":") else {
            return Self { gap, ..Self::default() };
        };
        let digits = at.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let state = at[digits..].strip_prefix(b",\"state\":{\"part\":").and_then(|state| {
            let (part, parts) =
                (parse_leading_number(state)?, parse_number_after(b"\"parts\":", state)?);
            Some((u32::try_from(part).ok()?, u32::try_from(parts).ok()?))
        });
        Self { ours: None, at_millis: parse_leading_number(at), state, gap }
    }
}

/// Writes the data of an own publication, padded to `bytes`; never shorter than its fields.
pub(crate) fn write_own_publication_data(number: u64, sent: u64, bytes: usize, into: &mut Vec<u8>) {
    into.clear();
    into.extend_from_slice(OWN);
    into.extend_from_slice(number.to_string().as_bytes());
    into.extend_from_slice(SENT);
    into.extend_from_slice(sent.to_string().as_bytes());
    let needed = into.len() + TAIL.len() + b"\"}".len();
    if let Some(rest) = bytes.checked_sub(needed) {
        into.extend_from_slice(TAIL);
        into.resize(into.len() + rest, b'.');
        into.push(b'"');
    }
    into.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_data_round_trip() {
        let mut data = Vec::new();
        for bytes in [0, 60, 200, 60_000] {
            write_own_publication_data(7, u64::MAX, bytes, &mut data);
            assert!(serde_json::from_slice::<serde_json::Value>(&data).is_ok());
            assert!(data.len() == bytes || bytes < 60, "{} of {bytes}", data.len());
            assert_eq!(
                PublicationData::parse_publication_data(&data),
                PublicationData { ours: Some((7, u64::MAX)), ..PublicationData::default() }
            );
        }
    }

    #[test]
    fn states_and_changes_are_distinguished() {
        let changes = PublicationData::parse_publication_data(
            br#"{"at":1700000000123,"changes":[{"op":"upsert"}]}"#,
        );
        assert_eq!(
            changes,
            PublicationData { at_millis: Some(1_700_000_000_123), ..PublicationData::default() }
        );
        let state = PublicationData::parse_publication_data(
            br#"{"gap":true,"at":5,"state":{"part":2,"parts":3},"changes":[]}"#,
        );
        assert_eq!(
            state,
            PublicationData {
                at_millis: Some(5),
                state: Some((2, 3)),
                gap: true,
                ..PublicationData::default()
            }
        );
    }

    #[test]
    fn foreign_data_are_ignored() {
        for data in [
            &b""[..],
            b"null",
            b"{}",
            b"[1]",
            b"{\"load\":",
            b"{\"load\":x,\"sent\":1}",
            b"{\"at\":",
        ] {
            assert_eq!(
                PublicationData::parse_publication_data(data),
                PublicationData::default(),
                "{data:?}"
            );
        }
    }
}
