//! Messages: the JSON of publications and states, assembled from records that are already JSON.

use std::io::Write;

use bytes::Bytes;
use lineside_sync::UnixMillis;

use crate::limits::MESSAGE_BYTES_MAX;

/// Bytes of a message besides its changes.
pub(crate) const MESSAGE_OVERHEAD: usize = 96;

/// Changes collected for one message.
#[derive(Debug, Default)]
pub(crate) struct ChangeMessageBuilder {
    items: Vec<u8>,
}

impl ChangeMessageBuilder {
    /// Adds a change as JSON.
    pub(crate) fn push(&mut self, item: &[u8]) {
        self.push_written_change(|items| items.extend_from_slice(item));
    }

    /// Adds a change that `write` writes.
    pub(crate) fn push_written_change(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if !self.items.is_empty() {
            self.items.push(b',');
        }
        write(&mut self.items);
    }

    /// Returns true if a change of `bytes` would make the message too long.
    pub(crate) fn is_full_for(&self, bytes: usize) -> bool {
        !self.items.is_empty() && MESSAGE_OVERHEAD + self.items.len() + bytes > MESSAGE_BYTES_MAX
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the collected changes as a publication and clears them.
    pub(crate) fn take_publication(&mut self, at: UnixMillis) -> Bytes {
        let message = self.encode_change_message(at, None);
        self.items.clear();
        message
    }

    /// Returns the changes as one part of a state; parts are counted from 1.
    pub(crate) fn encode_state_part(&self, at: UnixMillis, part: usize, parts: usize) -> Bytes {
        self.encode_change_message(at, Some((part, parts)))
    }

    fn encode_change_message(&self, at: UnixMillis, part: Option<(usize, usize)>) -> Bytes {
        let mut out = Vec::with_capacity(MESSAGE_OVERHEAD + self.items.len());
        let head = match part {
            None => write!(out, "{{\"at\":{}", at.0),
            Some((part, parts)) => {
                write!(out, "{{\"at\":{},\"state\":{{\"part\":{part},\"parts\":{parts}}}", at.0)
            }
        };
        head.expect("writing to a Vec cannot fail");
        out.extend_from_slice(b",\"changes\":[");
        out.extend_from_slice(&self.items);
        out.extend_from_slice(b"]}");
        out.into()
    }
}

/// Encodes a state as one or more parts.
pub fn encode_state_parts<'a>(
    at: UnixMillis,
    upserts: impl IntoIterator<Item = &'a Bytes>,
) -> Vec<Bytes> {
    let mut parts = vec![ChangeMessageBuilder::default()];
    for upsert in upserts {
        if parts.last().is_some_and(|part| part.is_full_for(upsert.len() + 1)) {
            parts.push(ChangeMessageBuilder::default());
        }
        if let Some(part) = parts.last_mut() {
            part.push(upsert);
        }
    }
    let n_parts = parts.len();
    parts
        .iter()
        .zip(1..)
        .map(|(part, number)| part.encode_state_part(at, number, n_parts))
        .collect()
}

/// Encodes changes as publications in order; none without changes.
pub fn encode_changes_as_publications(at: UnixMillis, items: &[Bytes]) -> Vec<Bytes> {
    let (mut messages, mut changes) = (Vec::new(), ChangeMessageBuilder::default());
    for item in items {
        if changes.is_full_for(item.len() + 1) {
            messages.push(changes.take_publication(at));
        }
        changes.push(item);
    }
    if !changes.is_empty() {
        messages.push(changes.take_publication(at));
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: UnixMillis = UnixMillis(1_700_000_000_123);

    #[test]
    fn a_publication_has_a_time_and_changes() {
        let mut changes = ChangeMessageBuilder::default();
        changes.push(b"{\"op\":1}");
        changes.push(b"{\"op\":2}");
        assert_eq!(
            changes.take_publication(AT),
            "{\"at\":1700000000123,\"changes\":[{\"op\":1},{\"op\":2}]}"
        );
        assert_eq!(changes.take_publication(AT), "{\"at\":1700000000123,\"changes\":[]}");
    }

    #[test]
    fn an_empty_state_is_one_part_without_changes() {
        assert_eq!(
            encode_state_parts(AT, []),
            ["{\"at\":1700000000123,\"state\":{\"part\":1,\"parts\":1},\"changes\":[]}"]
        );
    }

    #[test]
    fn many_changes_are_split_into_several_publications() {
        let change = Bytes::from(format!("{{\"id\":\"{}\"}}", "x".repeat(50_000)));
        let messages =
            encode_changes_as_publications(AT, &[change.clone(), change.clone(), change]);
        assert_eq!(messages.len(), 2);
        assert!(messages.iter().all(|message| message.len() <= MESSAGE_BYTES_MAX));
        assert!(encode_changes_as_publications(AT, &[]).is_empty());
    }

    #[test]
    fn a_long_state_is_split_below_the_limit() {
        let upsert = Bytes::from(format!("{{\"id\":\"{}\"}}", "x".repeat(50_000)));
        let parts = encode_state_parts(AT, [&upsert; 5]);
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|part| part.len() <= MESSAGE_BYTES_MAX));
        assert!(parts[2].starts_with(b"{\"at\":1700000000123,\"state\":{\"part\":3,\"parts\":3}"));
    }
}
