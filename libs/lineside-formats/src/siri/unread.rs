//! What of a record is there and cannot be read, so that nobody takes it for missing.

/// Elements of a record that are there and cannot be read, each with how often.
///
/// Records that say the same are equal, whatever else of them could not be read.
#[derive(Clone, Debug, Default)]
pub struct Unread(Option<Box<Names>>);

/// Bound: the names that the tables of records have.
#[derive(Clone, Debug, Default)]
struct Names(Vec<(Name, u32)>);

/// What an element stands in, empty where that is the record itself, and what it is called.
type Name = (&'static str, &'static str);

impl Unread {
    /// The most that it takes for its first names, in bytes; a list grows by four at first.
    pub(super) const BYTES: usize = size_of::<Names>() + 4 * size_of::<(Name, u32)>();

    /// Whether there is nothing of the kind.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether there is such an element: `CreationTime`, or `ValidityPeriod/StartTime` for one that stands in another.
    pub fn has(&self, element: &str) -> bool {
        self.count(element) > 0
    }

    /// How many such elements there are.
    pub fn count(&self, element: &str) -> u32 {
        let Some(names) = &self.0 else { return 0 };
        let name = element.rsplit_once('/').unwrap_or(("", element));
        names.0.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
    }

    /// Adds an element of that name in another.
    pub(super) fn add(&mut self, within: &'static str, name: &'static str) {
        self.add_many((within, name), 1);
    }

    /// Adds what `others` has, and empties it: what stands in `record` stands in this one itself.
    pub(super) fn take(&mut self, others: &mut Unread, record: &'static str) {
        let others = others.0.take().map(|names| names.0).unwrap_or_default();
        for ((within, name), count) in others {
            self.add_many((if within == record { "" } else { within }, name), count);
        }
    }

    fn add_many(&mut self, name: Name, count: u32) {
        let names = &mut self.0.get_or_insert_default().0;
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = known.saturating_add(count),
            None => names.push((name, count)),
        }
    }
}

impl PartialEq for Unread {
    fn eq(&self, _: &Unread) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_where_they_stand() {
        let (mut unread, mut of_record) = (Unread::default(), Unread::default());
        assert!(unread.is_empty() && !unread.has("Order"));
        unread.add("Call", "Order");
        unread.add("Period", "StartTime");
        unread.add("Period", "StartTime");
        of_record.take(&mut unread, "Call");
        assert!(unread.is_empty());
        assert_eq!((of_record.count("Order"), of_record.count("Period/StartTime")), (1, 2));
        assert!(!of_record.has("Call/Order") && !of_record.has("StartTime"));
    }
}
