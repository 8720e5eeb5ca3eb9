//! Undoes a single edit of a feed: only the parts that this edit changed are reset.

use std::collections::BTreeSet;

use lineside_config::overrides::FeedOverride;
use lineside_store::NumberedOverrideEdit;

use crate::settings::edit_log::parse_before_and_after;

/// A later change of a part that an edit changed, so that the edit cannot be undone alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoConflict {
    /// The key, or `added`, `removed`, `paused`.
    pub part: String,
    /// The newest later edit that changed it; `None` if the history no longer has it.
    pub edit_number: Option<i64>,
}

/// The parts of an override that can change separately.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum OverridePart {
    Added,
    Removed,
    Paused,
    Key(String),
}

impl OverridePart {
    fn part_name(&self) -> &str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Paused => "paused",
            Self::Key(key) => key,
        }
    }

    fn is_part_same(&self, one: &FeedOverride, other: &FeedOverride) -> bool {
        match self {
            Self::Added => one.added == other.added,
            Self::Removed => one.removed == other.removed,
            Self::Paused => one.paused == other.paused,
            Self::Key(key) => one.keys.get(key) == other.keys.get(key),
        }
    }

    fn copy_part(&self, from: &FeedOverride, to: &mut FeedOverride) {
        match self {
            Self::Added => to.added = from.added,
            Self::Removed => to.removed = from.removed,
            Self::Paused => to.paused = from.paused,
            Self::Key(key) => match from.keys.get(key) {
                Some(value) => drop(to.keys.insert(key.clone(), value.clone())),
                None => drop(to.keys.remove(key)),
            },
        }
    }
}

/// Returns the parts that differ between two overrides.
fn changed_parts(before: &FeedOverride, after: &FeedOverride) -> BTreeSet<OverridePart> {
    let keys: BTreeSet<&String> = before.keys.keys().chain(after.keys.keys()).collect();
    let keys = keys.into_iter().map(|key| OverridePart::Key(key.clone()));
    let parts =
        [OverridePart::Added, OverridePart::Removed, OverridePart::Paused].into_iter().chain(keys);
    parts.filter(|part| !part.is_part_same(before, after)).collect()
}

/// Returns the override of a feed without one of its edits. `now` is the present override; `edits` are edits of the
/// feed, in any order, to find the conflicting one.
///
/// An edit that added or removed a feed which no file has is undone only if nothing else changed since. Otherwise keys
/// of a deleted feed would remain.
///
/// # Errors
/// Returns the part that was changed again, and the edit that did so.
pub fn override_without_edit(
    edit: &NumberedOverrideEdit,
    now: Option<&FeedOverride>,
    edits: &[NumberedOverrideEdit],
) -> Result<Option<FeedOverride>, UndoConflict> {
    let (number, edit) = edit;
    let (before, after) = parse_before_and_after(edit);
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let now = now.cloned().unwrap_or_default();
    let touched = changed_parts(&before, &after);
    let changed_since = changed_parts(&after, &now);
    let is_about_existence = touched.contains(&OverridePart::Added);
    if let Some(part) =
        changed_since.iter().find(|part| is_about_existence || touched.contains(part))
    {
        let edit_number = edits
            .iter()
            .filter(|(n, later)| n > number && later.feed == edit.feed)
            .filter(|(_, later)| {
                let (before, after) = parse_before_and_after(later);
                let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
                changed_parts(&before, &after).contains(part)
            })
            .map(|(n, _)| *n)
            .max();
        return Err(UndoConflict { part: part.part_name().to_owned(), edit_number });
    }
    let mut next = now;
    for part in &touched {
        part.copy_part(&before, &mut next);
    }
    Ok(next.none_if_empty())
}

/// Returns the override of a feed with all parts that an edit changed reset to their values before it, even if later
/// edits changed them again. An edit that added or removed a feed which no file has is reverted as a whole.
pub fn override_restored_before_edit(
    edit: &NumberedOverrideEdit,
    now: Option<&FeedOverride>,
) -> Option<FeedOverride> {
    let (before, after) = parse_before_and_after(&edit.1);
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let touched = changed_parts(&before, &after);
    if touched.contains(&OverridePart::Added) {
        return before.none_if_empty();
    }
    let mut next = now.cloned().unwrap_or_default();
    for part in &touched {
        part.copy_part(&before, &mut next);
    }
    next.none_if_empty()
}

#[cfg(test)]
mod tests {
    use lineside_model::{FeedId, Secret};
    use lineside_store::FeedOverrideEdit;
    use lineside_sync::UnixMillis;
    use serde_json::{Value, json};

    use super::*;

    fn edit(n: i64, before: &Value, after: &Value) -> NumberedOverrideEdit {
        let text = |over: &Value| (!over.is_null()).then(|| Secret::new(over.to_string()));
        let edit = FeedOverrideEdit {
            feed: FeedId::new("a").unwrap(),
            at: UnixMillis(n),
            who: "admin".to_owned(),
            what: "change".to_owned(),
            before: text(before),
            after: text(after),
            undoes: None,
        };
        (n, edit)
    }

    fn override_from(value: &Value) -> Option<FeedOverride> {
        serde_json::from_value(value.clone()).unwrap()
    }

    #[test]
    fn undoing_an_old_edit_preserves_later_ones() {
        let first = edit(1, &json!(null), &json!({"keys": {"poll": "30s", "name": "A"}}));
        let now = json!({"keys": {"poll": "30s", "name": "A", "ttl": "5s"}, "paused": true});
        let later = edit(2, &json!({"keys": {"poll": "30s", "name": "A"}}), &now);
        let undone =
            override_without_edit(&first, override_from(&now).as_ref(), &[later, first.clone()]);
        assert_eq!(undone, Ok(override_from(&json!({"keys": {"ttl": "5s"}, "paused": true}))));
    }

    #[test]
    fn a_later_edit_of_the_same_key_is_named() {
        let one = json!({"keys": {"poll": "30s"}});
        let two = json!({"keys": {"poll": "40s"}});
        let three = json!({"keys": {"poll": "40s", "name": "A"}});
        let edits = [edit(3, &two, &three), edit(2, &one, &two), edit(1, &json!(null), &one)];
        let undo =
            |n: usize| override_without_edit(&edits[n], override_from(&three).as_ref(), &edits);
        assert_eq!(undo(2), Err(UndoConflict { part: "poll".to_owned(), edit_number: Some(2) }));
        assert_eq!(undo(1), Ok(override_from(&json!({"keys": {"poll": "30s", "name": "A"}}))));
        assert_eq!(undo(0), Ok(override_from(&two)));
    }

    #[test]
    fn the_values_before_an_edit_are_restored_over_later_ones() {
        let (one, two) = (json!({"keys": {"poll": "30s"}}), json!({"keys": {"poll": "40s"}}));
        let three = json!({"keys": {"poll": "50s", "name": "A"}});
        let restored =
            override_restored_before_edit(&edit(2, &one, &two), override_from(&three).as_ref());
        assert_eq!(restored, override_from(&json!({"keys": {"poll": "30s", "name": "A"}})));
        let restored = override_restored_before_edit(
            &edit(1, &json!(null), &one),
            override_from(&three).as_ref(),
        );
        assert_eq!(restored, override_from(&json!({"keys": {"name": "A"}})));
        let added = json!({"added": true, "keys": {"url": "https://a.example/"}});
        let named = json!({"added": true, "keys": {"url": "https://a.example/", "name": "A"}});
        let restored = override_restored_before_edit(
            &edit(1, &json!(null), &added),
            override_from(&named).as_ref(),
        );
        assert_eq!(restored, None, "the feed is removed");
        assert_eq!(
            override_restored_before_edit(&edit(3, &named, &json!(null)), None),
            override_from(&named)
        );
    }

    #[test]
    fn adding_a_feed_is_undone_only_without_later_edits() {
        let added = json!({"added": true, "keys": {"url": "https://a.example/"}});
        let named = json!({"added": true, "keys": {"url": "https://a.example/", "name": "A"}});
        let edits = [edit(2, &added, &named), edit(1, &json!(null), &added)];
        let undo =
            |now: &Value| override_without_edit(&edits[1], override_from(now).as_ref(), &edits);
        assert_eq!(
            undo(&named),
            Err(UndoConflict { part: "name".to_owned(), edit_number: Some(2) })
        );
        assert_eq!(undo(&added), Ok(None));
    }

    #[test]
    fn undoing_a_removal_restores_the_feed() {
        let added = json!({"added": true, "keys": {"url": "https://a.example/"}});
        let removed = edit(2, &added, &json!(null));
        assert_eq!(override_without_edit(&removed, None, &[]), Ok(override_from(&added)));
    }
}
