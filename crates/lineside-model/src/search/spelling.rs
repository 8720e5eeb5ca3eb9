//! Correction of misspelled search words by known ones.

/// Minimum length of a corrected word in characters: too many words are similar to shorter ones.
const CORRECTED_CHARS_MIN: usize = 4;
/// Length in characters from which two errors are allowed, else one.
const TWO_ERRORS_CHARS_MIN: usize = 8;
/// Maximum length of a compared word.
const COMPARED_CHARS_MAX: usize = 40;

/// Searches for the known word nearest to a misspelled one.
#[derive(Debug)]
pub struct SpellingCorrector {
    word: Vec<char>,
    errors_max: usize,
    best: Option<SpellingCandidate>,
}

/// A known word. The least is the best.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SpellingCandidate {
    /// Errors up to the end of the misspelled word, which may be incomplete.
    prefix_errors: usize,
    /// Errors in the whole word.
    errors: usize,
    text: String,
}

impl SpellingCorrector {
    /// Returns `None` for a word that is not corrected: a short one, or a number.
    pub fn new(word: &str) -> Option<SpellingCorrector> {
        let letters: Vec<char> = word.chars().collect();
        let is_corrected = (CORRECTED_CHARS_MIN..=COMPARED_CHARS_MAX).contains(&letters.len())
            && !letters.iter().any(char::is_ascii_digit);
        let errors_max = if letters.len() < TWO_ERRORS_CHARS_MIN { 1 } else { 2 };
        is_corrected.then_some(SpellingCorrector { word: letters, errors_max, best: None })
    }

    /// Returns the letter with which corrections begin: first letters are rarely wrong, and so few words are compared.
    pub fn initial_of_candidates(&self) -> char {
        self.word[0]
    }

    pub fn consider_known_word(&mut self, known: &str) {
        let n_chars = known.chars().count();
        if n_chars + self.errors_max < self.word.len() || n_chars > COMPARED_CHARS_MAX {
            return;
        }
        let known_chars: Vec<char> = known.chars().collect();
        let Some((prefix_errors, errors)) = count_errors(&self.word, &known_chars, self.errors_max)
        else {
            return;
        };
        let is_better =
            self.best.as_ref().is_none_or(|best| (prefix_errors, errors, known) < best.sort_key());
        if is_better {
            self.best = Some(SpellingCandidate { prefix_errors, errors, text: known.to_owned() });
        }
    }

    /// Returns the nearest known word.
    pub fn into_best(self) -> Option<String> {
        self.best.map(|best| best.text)
    }
}

impl SpellingCandidate {
    fn sort_key(&self) -> (usize, usize, &str) {
        (self.prefix_errors, self.errors, &self.text)
    }
}

/// Counts insertions, deletions, substitutions and swaps of neighbours between a word and a known one: up to the word's
/// end, and in total. `None` if there are more than `errors_max` up to the word's end.
fn count_errors(word: &[char], known: &[char], errors_max: usize) -> Option<(usize, usize)> {
    let width = known.len() + 1;
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..width).collect();
    for (row, letter) in word.iter().enumerate() {
        let mut current = vec![row + 1; width];
        for column in 1..width {
            let differs = usize::from(known[column - 1] != *letter);
            let mut errors =
                (last[column - 1] + differs).min(last[column] + 1).min(current[column - 1] + 1);
            let is_swap = row > 0
                && column > 1
                && known[column - 2] == *letter
                && known[column - 1] == word[row - 1];
            if is_swap {
                errors = errors.min(before[column - 2] + 1);
            }
            current[column] = errors;
        }
        if current.iter().all(|errors| *errors > errors_max) {
            return None;
        }
        before = std::mem::replace(&mut last, current);
    }
    let prefix_errors = *last.iter().min()?;
    (prefix_errors <= errors_max).then_some((prefix_errors, last[width - 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, known: &[&str], expect: Option<&str>) {
        let best = SpellingCorrector::new(word).and_then(|mut matcher| {
            known.iter().for_each(|known| matcher.consider_known_word(known));
            matcher.into_best()
        });
        assert_eq!(best.as_deref(), expect, "{word}");
    }

    #[test]
    fn one_wrong_letter_and_two_in_a_long_word_are_corrected() {
        check("centrl", &["castle", "central", "cemetery"], Some("central"));
        check("cenrtal", &["central"], Some("central"));
        check("hauptbanhof", &["hauptbahnhof", "hauptstrasse"], Some("hauptbahnhof"));
        check("schtten", &["schottenring"], Some("schottenring"));
        check("cxxtrl", &["central"], None);
    }

    #[test]
    fn short_words_and_numbers_are_not_corrected() {
        check("est", &["east"], None);
        check("1042", &["1043"], None);
        check("", &["east"], None);
        check(&"a".repeat(100), &[&"a".repeat(99)], None);
    }
}
