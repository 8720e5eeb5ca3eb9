//! Parser of `Last-Event-ID`: `city@0k3v9xq2:57,area/u09t@7zzt04aa:3`.
//!
//! The header comes from clients, so invalid entries are skipped: the client then counts as new for that sequence,
//! which is always correct.

use lineside_hub::Position;

use super::{CHANNELS_MAX, LAST_EVENT_ID_BYTES_MAX};

/// The client's positions, by sequence. Bound: [`CHANNELS_MAX`] entries.
#[derive(Clone, Debug, Default)]
pub struct LastEventId(Vec<(Box<str>, Position)>);

impl LastEventId {
    /// Parses the valid entries. If a sequence has several entries, none counts, because none is certain.
    pub fn parse_header(text: &str) -> Self {
        let end = text.floor_char_boundary(LAST_EVENT_ID_BYTES_MAX);
        let entries = text[..end].split(',').take(CHANNELS_MAX).filter_map(parse_sequence_position);
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let once = entries.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1);
        Self(once.flatten().cloned().collect())
    }

    /// Returns the position listed for a sequence.
    pub fn position_of_sequence(&self, sequence: &str) -> Option<Position> {
        let index = self.0.binary_search_by(|(name, _)| (**name).cmp(sequence)).ok()?;
        Some(self.0[index].1)
    }

    /// Returns true if there are no positions.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn parse_sequence_position(entry: &str) -> Option<(Box<str>, Position)> {
    // Splits at the last `@`: a name may contain one, a position does not.
    let (name, position) = entry.trim().rsplit_once('@')?;
    Some((name.into(), position.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use lineside_hub::Epoch;
    use proptest::prelude::*;

    use super::*;

    fn at(bits: u64, offset: u64) -> Position {
        Position { epoch: Epoch::from_bits(bits), offset }
    }

    #[test]
    fn entries_are_found_by_sequence() {
        let last =
            LastEventId::parse_header("city@00000001:57, area/u09t@00000002:3,app/a@b@00000003:9");
        assert_eq!(last.position_of_sequence("city"), Some(at(1, 57)));
        assert_eq!(last.position_of_sequence("area/u09t"), Some(at(2, 3)));
        assert_eq!(last.position_of_sequence("app/a@b"), Some(at(3, 9)));
        assert_eq!(last.position_of_sequence("cit"), None);
    }

    #[test]
    fn malformed_entries_are_ignored() {
        let last =
            LastEventId::parse_header("57,,@,city@,x@00000001:-1,good@00000001:1,y@1:1,\u{1f68b}");
        assert_eq!(last.position_of_sequence("good"), Some(at(1, 1)));
        assert!(
            ["city", "x", "y", ""].iter().all(|name| last.position_of_sequence(name).is_none())
        );
        assert!(LastEventId::parse_header("").is_empty());
    }

    #[test]
    fn duplicate_entries_of_a_sequence_are_ignored() {
        let last = LastEventId::parse_header("city@00000001:5,tram@00000001:5,city@00000001:9");
        assert_eq!(last.position_of_sequence("city"), None);
        assert_eq!(last.position_of_sequence("tram"), Some(at(1, 5)));
    }

    #[test]
    fn a_long_header_is_read_up_to_the_limit() {
        let long: String = (0..100_000).map(|n| format!("é{n}@00000001:1,")).collect();
        let last = LastEventId::parse_header(&long);
        assert_eq!(last.0.len(), CHANNELS_MAX);
        assert!(LastEventId::parse_header(&"é".repeat(LAST_EVENT_ID_BYTES_MAX)).is_empty());
    }

    proptest! {
        #[test]
        fn parsing_any_text_is_bounded(text in any::<String>()) {
            prop_assert!(LastEventId::parse_header(&text).0.len() <= CHANNELS_MAX);
        }
    }
}
