//! Counts the elements that are in no record, by name, during decoding.

use smol_str::SmolStr;

use crate::ConversionReport;

/// Maximum number of distinct names.
const NAMES_MAX: usize = 100;
/// Maximum length of a reported name, in bytes; SIRI's own names are shorter.
pub(super) const NAME_BYTES_MAX: usize = 64;

/// Counts of ignored elements by name. Only the first occurrence of a name takes memory.
#[derive(Debug, Default)]
pub(super) struct IgnoredElements {
    unread: Vec<(SmolStr, u64)>,
    /// Number of unread elements with further names.
    others: u64,
    repeated: Vec<(&'static str, u64)>,
}

impl IgnoredElements {
    /// Counts an element that is in no table.
    pub(super) fn count_unknown_element(&mut self, name: &str) {
        if let Some((_, count)) = self.unread.iter_mut().find(|(known, _)| known == name) {
            *count += 1;
        } else if self.unread.len() < NAMES_MAX && name.len() <= NAME_BYTES_MAX {
            self.unread.push((SmolStr::new(name), 1));
        } else {
            self.others += 1;
        }
    }

    /// Counts a value that a later element of the same name replaced.
    #[cold]
    pub(super) fn count_overwritten_value(&mut self, name: &'static str) {
        match self.repeated.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => self.repeated.push((name, 1)),
        }
    }

    pub(super) fn into_conversion_report(self) -> ConversionReport {
        let mut losses = ConversionReport::new();
        for (name, count) in self.unread {
            losses.record_dropped_objects(name.to_string(), "this element is ignored", count);
        }
        losses.record_dropped_objects(
            "element",
            "elements with other names are ignored",
            self.others,
        );
        for (name, count) in self.repeated {
            losses.record_dropped_objects(
                name,
                "a later element of the same name replaces it",
                count,
            );
        }
        losses
    }
}
