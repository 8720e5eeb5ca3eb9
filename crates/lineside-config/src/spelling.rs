//! Suggests the known word that a misspelt one most likely means.

/// Longer words are not compared, which bounds the cost of an untrusted request.
const WORD_BYTES_MAX: usize = 64;

/// Shorter words are not completed.
const PREFIX_CHARS_MIN: usize = 3;

/// Returns the known word nearest to `word`, else one that starts with it, unless too many letters differ. Ignores
/// case.
pub fn find_nearest_word<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if word.is_empty() || word.len() > WORD_BYTES_MAX {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    let known = known.into_iter().filter(|known| known.len() <= WORD_BYTES_MAX);
    let known: Vec<&str> = known.collect();
    let begins =
        |it: &&&str| word.len() >= PREFIX_CHARS_MIN && it.to_ascii_lowercase().starts_with(&lower);
    let completed = known.iter().find(begins).copied();
    let measured =
        known.iter().map(|known| (edit_distance(&lower, &known.to_ascii_lowercase()), *known));
    let (distance, nearest) = measured.min()?;
    // A third of the letters may differ, and two letters of a short word.
    let distance_max = (word.len() / 3).max(2).min(word.len() - 1);
    if distance <= distance_max { Some(nearest) } else { completed }
}

/// Replaces the list of fields in serde's error about an unknown field by the nearest one, if there is one.
pub fn with_suggestion(message: String) -> String {
    let suggestion = message.split_once(", expected ").and_then(|(complaint, expected)| {
        let name = complaint.strip_prefix("unknown field `")?.strip_suffix('`')?;
        let known = find_nearest_word(name, expected.split('`').skip(1).step_by(2))?;
        Some(format!("{complaint}, did you mean `{known}`?"))
    });
    suggestion.unwrap_or(message)
}

/// Returns the number of bytes to insert, remove or replace to turn one word into the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let mut costs: Vec<usize> = (0..=to.len()).collect();
    for (row, a) in from.bytes().enumerate() {
        let mut corner = row;
        let mut left = row + 1;
        for (cost, b) in costs.iter_mut().skip(1).zip(to.bytes()) {
            let above = *cost;
            left = (corner + usize::from(a != b)).min(above + 1).min(left + 1);
            corner = above;
            *cost = left;
        }
    }
    costs.last().copied().map_or(0, |cost| if to.is_empty() { from.len() } else { cost })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_known_word_is_found() {
        let known = ["city", "city-trips", "seattle"];
        assert_eq!(find_nearest_word("cites", known), Some("city"));
        assert_eq!(find_nearest_word("CITY-TRIP", known), Some("city-trips"));
        for far in ["", "oslo", "x", &"c".repeat(200)] {
            assert_eq!(find_nearest_word(far, known), None, "{far}");
        }
    }

    #[test]
    fn the_edit_distance_counts_differing_letters() {
        let pairs = [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0)];
        for (from, to, expected) in pairs.into_iter().chain([
            ("kitten", "sitting", 3),
            ("unkown", "unknown", 1),
            ("ab", "ba", 2),
        ]) {
            assert_eq!(edit_distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn a_near_field_is_suggested_and_a_distant_one_is_not() {
        let known = ["poll", "url", "timeout", "requestor_ref"];
        assert_eq!(find_nearest_word("requestor", known), Some("requestor_ref"));
        assert_eq!(find_nearest_word("judge", known), None);
        let message = "unknown field `pol`, expected one of `id`, `poll`";
        assert_eq!(
            with_suggestion(message.to_owned()),
            "unknown field `pol`, did you mean `poll`?"
        );
        for name in [
            "unknown field `judge`, expected `id` or `poll`",
            "invalid type: integer",
            "x, expected `y`",
        ] {
            assert_eq!(with_suggestion(name.to_owned()), name);
        }
    }
}
