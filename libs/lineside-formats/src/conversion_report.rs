//! The report of what a conversion dropped: a bounded number of examples, exact counts.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::problem::truncate_value;

/// The fields and objects that a conversion from one format to another dropped, with counts and reasons.
///
/// A drop is no fault of the data, which would be a [`Problem`](crate::Problem). It is something that the other format
/// cannot express or that is not converted. As JSON: `{"total", "losses": [{"kind", "why", "count", "examples"}]}`,
/// ordered by kind and reason.
///
/// Bounds: kinds are constants or names of elements, of which a decoder reports a bounded number of bounded length.
/// Reasons are constants. Each pair has at most [`ConversionReport::EXAMPLES_MAX`] ids. Totals are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversionReport {
    by_reason: BTreeMap<(Cow<'static, str>, &'static str), DropCountWithExamples>,
    total: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct DropCountWithExamples {
    count: u64,
    examples: Vec<Box<str>>,
}

/// The objects of one kind that were dropped for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DroppedObjectsByReason<'a> {
    /// The kind, in the terms of the source format, such as `FlexibleLine`.
    pub kind: &'a str,
    /// The reason, in lower case and without a full stop.
    pub why: &'static str,
    /// The number of dropped objects.
    pub count: u64,
    /// The first few ids.
    pub examples: &'a [Box<str>],
}

impl ConversionReport {
    /// Maximum number of example ids of one kind and reason; further ones are only counted.
    pub const EXAMPLES_MAX: usize = 5;

    /// Creates an empty report.
    pub fn new() -> ConversionReport {
        ConversionReport::default()
    }

    /// Counts one dropped object of `kind`, with its `id` if it has one.
    pub fn record_dropped_object(
        &mut self,
        kind: impl Into<Cow<'static, str>>,
        why: &'static str,
        id: Option<&str>,
    ) {
        self.total += 1;
        let counted = self.by_reason.entry((kind.into(), why)).or_default();
        counted.count += 1;
        if let Some(id) = id.filter(|_| counted.examples.len() < ConversionReport::EXAMPLES_MAX) {
            counted.examples.push(truncate_value(id));
        }
    }

    /// Counts `n` dropped objects of `kind`; zero adds no entry.
    pub fn record_dropped_objects(
        &mut self,
        kind: impl Into<Cow<'static, str>>,
        why: &'static str,
        n: u64,
    ) {
        if n > 0 {
            self.total += n;
            self.by_reason.entry((kind.into(), why)).or_default().count += n;
        }
    }

    /// Returns the number of dropped objects.
    pub fn dropped_object_count(&self) -> u64 {
        self.total
    }

    /// Returns true if nothing was dropped.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Returns the drops, ordered by kind and reason.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = DroppedObjectsByReason<'_>> {
        self.by_reason.iter().map(|((kind, why), counted)| DroppedObjectsByReason {
            kind,
            why,
            count: counted.count,
            examples: &counted.examples,
        })
    }

    /// Adds the drops of another step of the conversion, within the same limits.
    pub fn merge(&mut self, other: ConversionReport) {
        self.total += other.total;
        for (key, more) in other.by_reason {
            let counted = self.by_reason.entry(key).or_default();
            counted.count += more.count;
            let room = ConversionReport::EXAMPLES_MAX - counted.examples.len();
            counted.examples.extend(more.examples.into_iter().take(room));
        }
    }
}

impl Serialize for ConversionReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut report = serializer.serialize_struct("Losses", 2)?;
        report.serialize_field("total", &self.total)?;
        report.serialize_field("losses", &self.iter().collect::<Vec<_>>())?;
        report.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;

    #[test]
    fn every_loss_is_counted_and_a_few_are_named() {
        let mut losses = ConversionReport::new();
        for number in 0..1_000 {
            losses.record_dropped_object(
                "Notice",
                "GTFS has no notes",
                Some(&format!("N:{number}")),
            );
        }
        losses.record_dropped_objects("Notice", "GTFS has no notes", 10);
        losses.record_dropped_objects("Vehicle", "never there", 0);
        losses.record_dropped_object("Line", "is flexible", None);
        assert_eq!(losses.dropped_object_count(), 1_011);
        let all: Vec<DroppedObjectsByReason<'_>> = losses.iter().collect();
        assert_eq!(
            all.iter().map(|loss| (loss.kind, loss.count)).collect::<Vec<_>>(),
            [("Line", 1), ("Notice", 1_010)]
        );
        assert_eq!(all[1].examples.len(), ConversionReport::EXAMPLES_MAX);
        assert!(all[0].examples.is_empty());
    }

    #[test]
    fn the_report_serializes_to_json() {
        let mut losses = ConversionReport::new();
        losses.record_dropped_object("Line", "is \"flexible\"", Some("a:Line:1"));
        assert_eq!(
            serde_json::to_string(&losses).unwrap(),
            r#"{"total":1,"losses":[{"kind":"Line","why":"is \"flexible\"","count":1,"examples":["a:Line:1"]}]}"#
        );
    }

    #[test]
    fn long_ids_are_cut() {
        let mut losses = ConversionReport::new();
        losses.record_dropped_object("Line", "too long", Some(&"ü".repeat(1_000)));
        let loss = losses.iter().next().unwrap();
        assert_eq!(loss.examples[0].chars().count(), Problem::VALUE_CHARS_MAX);
    }

    #[test]
    fn merging_adds_the_counts() {
        let mut all = ConversionReport::new();
        for round in 0..4 {
            let mut one = ConversionReport::new();
            for number in 0..3 {
                one.record_dropped_object(
                    "Line",
                    "is flexible",
                    Some(&format!("{round}:{number}")),
                );
            }
            one.record_dropped_object("Route", "has no line", None);
            all.merge(one);
        }
        assert_eq!(all.dropped_object_count(), 16);
        let lines = all.iter().find(|loss| loss.kind == "Line").unwrap();
        assert_eq!((lines.count, lines.examples.len()), (12, ConversionReport::EXAMPLES_MAX));
    }
}
