//! Ids and references as hashes: a national publication has millions of both.

use std::collections::{HashMap, HashSet};

use xxhash_rust::xxh3::xxh3_64;

use super::kinds;
use crate::notice::Notices;

/// The largest number of unresolved references. If there are more, the total is marked as
/// incomplete.
const OPEN_MAX: usize = 1_000_000;

/// A reference without an object so far.
#[derive(Debug)]
struct UnresolvedReference {
    reference: Box<str>,
    file: u32,
    element: Box<str>,
    count: u64,
}

/// The ids of objects, and the references to them.
#[derive(Debug, Default)]
pub(super) struct IdsAndReferences {
    ids: HashSet<u64>,
    /// Hashes of element, id, version and order of the objects in the current file.
    in_file: HashSet<u64>,
    references: HashMap<u64, UnresolvedReference>,
    assigned: HashSet<u64>,
    in_patterns: HashMap<u64, (Box<str>, u64)>,
    has_dropped_name: bool,
    has_dropped_stop: bool,
}

pub(super) fn hash_text(text: &str) -> u64 {
    xxh3_64(text.as_bytes())
}

impl IdsAndReferences {
    /// Starts a new file.
    pub(super) fn clear_ids_of_file(&mut self) {
        self.in_file.clear();
    }

    /// Adds an object. Returns false if the current file already has the object in this version.
    pub(super) fn add_object_id(
        &mut self,
        element: &str,
        id: &str,
        version: &str,
        order: &str,
    ) -> bool {
        self.ids.insert(hash_text(id));
        self.in_file.insert(hash_text(&format!("{element}\n{id}\n{version}\n{order}")))
    }

    pub(super) fn add_reference(&mut self, element: &str, reference: &str, file: u32) {
        let key = hash_text(reference);
        if let Some(named) = self.references.get_mut(&key) {
            named.count += 1;
        } else if self.ids.contains(&key) {
            // The reference is resolved.
        } else if self.references.len() >= OPEN_MAX {
            self.has_dropped_name = true;
        } else {
            let named = UnresolvedReference {
                reference: reference.into(),
                file,
                element: element.into(),
                count: 1,
            };
            self.references.insert(key, named);
        }
    }

    /// Records that a stop point is assigned to a stop place or quay.
    pub(super) fn record_assigned_stop_point(&mut self, stop_point: &str) {
        self.assigned.insert(hash_text(stop_point));
    }

    /// Records that a pattern uses a stop point.
    pub(super) fn record_pattern_stop_point(&mut self, stop_point: &str) {
        let full = self.in_patterns.len() >= OPEN_MAX;
        match self.in_patterns.get_mut(&hash_text(stop_point)) {
            Some((_, count)) => *count += 1,
            None if full => self.has_dropped_stop = true,
            None => _ = self.in_patterns.insert(hash_text(stop_point), (stop_point.into(), 1)),
        }
    }

    /// Reports unresolved references, once all files are read.
    pub(super) fn report_unresolved_references(self, files: &[String], out: &mut Notices) {
        let IdsAndReferences { ids, references: named, assigned, in_patterns, .. } = self;
        if self.has_dropped_name {
            out.mark_total_as_lower_bound(&kinds::UNRESOLVED);
        }
        let mut lost: Vec<UnresolvedReference> = named
            .into_iter()
            .filter(|(key, _)| !ids.contains(key))
            .map(|(_, named)| named)
            .collect();
        lost.sort_by(|a, b| (a.file, &a.reference).cmp(&(b.file, &b.reference)));
        for named in lost {
            out.count_notice_with_sample(&kinds::UNRESOLVED, |sample| {
                sample.set_field("filename", files.get(named.file as usize).map(String::as_str));
                sample
                    .set_field("element", &*named.element)
                    .set_field("reference", &*named.reference);
                sample.set_field("count", named.count);
            });
        }
        // Without any assignment, another publication has them.
        if assigned.is_empty() {
            return;
        }
        if self.has_dropped_stop {
            out.mark_total_as_lower_bound(&kinds::UNASSIGNED);
        }
        let mut alone: Vec<(Box<str>, u64)> = in_patterns
            .into_iter()
            .filter(|(key, _)| !assigned.contains(key))
            .map(|(_, named)| named)
            .collect();
        alone.sort();
        for (reference, count) in alone {
            out.count_notice_with_sample(&kinds::UNASSIGNED, |sample| {
                sample.set_field("reference", &*reference).set_field("count", count);
            });
        }
    }
}
