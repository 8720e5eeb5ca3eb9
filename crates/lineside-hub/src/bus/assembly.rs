//! Assembly of a message from its parts, which arrive in any order.

use bytes::Bytes;

use super::message::MessagePart;

/// The parts received so far. Bound: `PARTS_MAX` parts of `PART_BYTES_MAX`, checked before a part is added.
#[derive(Debug)]
pub(super) struct MessagePartAssembly {
    parts: Vec<Option<Bytes>>,
    missing: usize,
    bytes: usize,
}

impl MessagePartAssembly {
    pub(super) fn new(count: u32) -> Self {
        Self { parts: vec![None; count as usize], missing: count as usize, bytes: 0 }
    }

    /// Adds a part; returns true if it was missing.
    pub(super) fn add_part(&mut self, part: MessagePart) -> bool {
        if part.count as usize != self.parts.len() {
            return false;
        }
        let Some(slot @ None) = self.parts.get_mut(part.index as usize) else { return false };
        self.bytes += part.data.len();
        self.missing -= 1;
        *slot = Some(part.data);
        true
    }

    pub(super) fn is_complete(&self) -> bool {
        self.missing == 0
    }

    pub(super) fn byte_size(&self) -> usize {
        self.bytes
    }

    /// Returns the index of the first missing part.
    pub(super) fn first_missing_part(&self) -> u32 {
        self.parts.iter().take_while(|part| part.is_some()).count() as u32
    }

    /// Returns all parts, in order; call this once the assembly is complete.
    pub(super) fn into_parts(self) -> Vec<Bytes> {
        self.parts.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_may_arrive_in_any_order_and_repeatedly() {
        let part = |index, data: &'static [u8]| MessagePart {
            index,
            count: 3,
            data: Bytes::from_static(data),
        };
        let mut assembly = MessagePartAssembly::new(3);
        assert!(assembly.add_part(part(2, b"c")) && assembly.add_part(part(0, b"a")));
        assert!(!assembly.add_part(part(2, b"c")), "the part arrived before");
        assert!(
            !assembly.add_part(MessagePart { count: 2, ..part(1, b"b") }),
            "the part belongs to another message"
        );
        assert_eq!((assembly.first_missing_part(), assembly.is_complete()), (1, false));
        assert!(assembly.add_part(part(1, b"b")) && assembly.is_complete());
        assert_eq!(assembly.byte_size(), 3);
        assert_eq!(assembly.into_parts(), ["a", "b", "c"]);
    }
}
