//! Records unreadable elements, so that they are not considered missing.

/// The unreadable elements of a record, with their counts.
///
/// All values compare as equal, so that records with equal content are equal.
#[derive(Clone, Debug, Default)]
pub struct UnreadableElements(Option<Box<UnreadableElementCounts>>);

/// The names and counts; bounded by the names in the tables of records.
#[derive(Clone, Debug, Default)]
struct UnreadableElementCounts(Vec<(EnclosedElementName, u32)>);

/// The name of the enclosing element, empty for the record itself, and the name of the element.
type EnclosedElementName = (&'static str, &'static str);

impl UnreadableElements {
    /// Maximum memory of the first names, in bytes; a list first grows by four.
    pub(super) const BYTES: usize =
        size_of::<UnreadableElementCounts>() + 4 * size_of::<(EnclosedElementName, u32)>();

    /// Returns true if there are no unreadable elements.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns true if there is such an element: `CreationTime`, or `ValidityPeriod/StartTime` for a nested one.
    pub fn has_unreadable_element(&self, element: &str) -> bool {
        self.unreadable_element_count(element) > 0
    }

    /// Returns the number of such elements.
    pub fn unreadable_element_count(&self, element: &str) -> u32 {
        let Some(names) = &self.0 else { return 0 };
        let name = element.rsplit_once('/').unwrap_or(("", element));
        names.0.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
    }

    /// Adds an element with its enclosing element.
    pub(super) fn add_unreadable_element(&mut self, within: &'static str, name: &'static str) {
        self.add_unreadable_count((within, name), 1);
    }

    /// Moves the elements of `others` here; those enclosed by `record` belong to this record itself.
    pub(super) fn move_elements_from(
        &mut self,
        others: &mut UnreadableElements,
        record: &'static str,
    ) {
        let others = others.0.take().map(|names| names.0).unwrap_or_default();
        for ((within, name), count) in others {
            self.add_unreadable_count((if within == record { "" } else { within }, name), count);
        }
    }

    fn add_unreadable_count(&mut self, name: EnclosedElementName, count: u32) {
        let names = &mut self.0.get_or_insert_default().0;
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = known.saturating_add(count),
            None => names.push((name, count)),
        }
    }
}

impl PartialEq for UnreadableElements {
    fn eq(&self, _: &UnreadableElements) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_elements_are_counted_by_their_path() {
        let (mut unread, mut of_record) =
            (UnreadableElements::default(), UnreadableElements::default());
        assert!(unread.is_empty() && !unread.has_unreadable_element("Order"));
        unread.add_unreadable_element("Call", "Order");
        unread.add_unreadable_element("Period", "StartTime");
        unread.add_unreadable_element("Period", "StartTime");
        of_record.move_elements_from(&mut unread, "Call");
        assert!(unread.is_empty());
        assert_eq!(
            (
                of_record.unreadable_element_count("Order"),
                of_record.unreadable_element_count("Period/StartTime")
            ),
            (1, 2)
        );
        assert!(
            !of_record.has_unreadable_element("Call/Order")
                && !of_record.has_unreadable_element("StartTime")
        );
    }
}
