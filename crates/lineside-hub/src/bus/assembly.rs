//! Parts on their way to being whole, in whatever order they come.

use bytes::Bytes;

use super::message::Part;

/// Bound: `PARTS_MAX` parts of `PART_BYTES_MAX`, checked before a part comes here.
#[derive(Debug)]
pub(super) struct Assembly {
    parts: Vec<Option<Bytes>>,
    missing: usize,
    bytes: usize,
}

impl Assembly {
    pub(super) fn new(count: u32) -> Self {
        Self { parts: vec![None; count as usize], missing: count as usize, bytes: 0 }
    }

    /// Says whether the part is one that was missing.
    pub(super) fn add(&mut self, part: Part) -> bool {
        if part.count as usize != self.parts.len() {
            return false;
        }
        let Some(place @ None) = self.parts.get_mut(part.index as usize) else { return false };
        self.bytes += part.data.len();
        self.missing -= 1;
        *place = Some(part.data);
        true
    }

    pub(super) fn is_whole(&self) -> bool {
        self.missing == 0
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The first part that has not come.
    pub(super) fn first_missing(&self) -> u32 {
        self.parts.iter().take_while(|part| part.is_some()).count() as u32
    }

    /// All parts, in order; to be asked for when it is whole.
    pub(super) fn into_parts(self) -> Vec<Bytes> {
        self.parts.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_in_any_order_and_more_than_once() {
        let part =
            |index, data: &'static [u8]| Part { index, count: 3, data: Bytes::from_static(data) };
        let mut assembly = Assembly::new(3);
        assert!(assembly.add(part(2, b"c")) && assembly.add(part(0, b"a")));
        assert!(!assembly.add(part(2, b"c")), "it is there");
        assert!(!assembly.add(Part { count: 2, ..part(1, b"b") }), "of something else");
        assert_eq!((assembly.first_missing(), assembly.is_whole()), (1, false));
        assert!(assembly.add(part(1, b"b")) && assembly.is_whole());
        assert_eq!(assembly.bytes(), 3);
        assert_eq!(assembly.into_parts(), ["a", "b", "c"]);
    }
}
