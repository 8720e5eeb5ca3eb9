//! Text folding for search: removes case, diacritics and punctuation.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::limits::{SEARCH_CHARS_MAX, SEARCH_WORDS_MAX};

/// Maximum number of characters of a text that are searched; a name has a hundred.
const FOLDED_CHARS_MAX: usize = 1_000;
/// Letters without a Unicode decomposition, as people without them type them.
const SPELLED_OUT: [(char, &str); 9] = [
    ('ß', "ss"),
    ('æ', "ae"),
    ('œ', "oe"),
    ('ø', "o"),
    ('đ', "d"),
    ('ð', "d"),
    ('ł', "l"),
    ('þ', "th"),
    ('ı', "i"),
];

/// Returns the folded words of a text, separated by single spaces.
pub fn fold_text(text: &str) -> String {
    let mut folded = String::with_capacity(text.len().min(FOLDED_CHARS_MAX));
    let letters = text.chars().take(FOLDED_CHARS_MAX).nfkd();
    for letter in letters.filter(|&letter| !is_combining_mark(letter)) {
        for letter in letter.to_lowercase().filter(|&letter| !is_combining_mark(letter)) {
            if let Some((_, spelled)) = SPELLED_OUT.iter().find(|(special, _)| *special == letter) {
                folded.push_str(spelled);
            } else if letter.is_alphanumeric() {
                folded.push(letter);
            } else if !matches!(letter, '\'' | '’' | '.')
                && !folded.is_empty()
                && !folded.ends_with(' ')
            {
                folded.push(' ');
            }
        }
    }
    folded.truncate(folded.trim_end().len());
    folded
}

/// Returns the folded words of a query.
pub fn query_words(query: &str) -> Vec<String> {
    let query: String = query.chars().take(SEARCH_CHARS_MAX).collect();
    fold_text(&query)
        .split(' ')
        .filter(|word| !word.is_empty())
        .take(SEARCH_WORDS_MAX)
        .map(str::to_owned)
        .collect()
}

/// Returns true if each word begins a word of the folded text.
pub fn has_words(folded: &str, words: &[String]) -> bool {
    words.iter().all(|word| folded.split(' ').any(|other| other.starts_with(word.as_str())))
}

/// Returns true if each word of a query begins a word of a text, regardless of case and diacritics. False for a query
/// without words.
pub fn matches_query(text: &str, query: &str) -> bool {
    let words = query_words(query);
    !words.is_empty() && has_words(&fold_text(text), &words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_diacritics_and_punctuation_are_ignored() {
        for (text, folded) in [
            ("Gare de l’Est", "gare de lest"),
            ("Zürich HB / Süd", "zurich hb sud"),
            ("ŁÓDŹ-Fabryczna", "lodz fabryczna"),
            ("  Straße 12 (Nord) ", "strasse 12 nord"),
            ("Ørsted", "orsted"),
            ("St. Denis", "st denis"),
            ("東京", "東京"),
            ("İstanbul", "istanbul"),
        ] {
            assert_eq!(fold_text(text), folded);
        }
    }

    #[test]
    fn only_the_first_characters_of_a_long_text_are_searched() {
        assert_eq!(fold_text(&"é".repeat(70_000)), "e".repeat(FOLDED_CHARS_MAX));
    }

    #[test]
    fn every_query_word_must_begin_a_word() {
        let folded = fold_text("Place de la République");
        assert!(has_words(&folded, &query_words("repu pla")));
        assert!(!has_words(&folded, &query_words("publique")));
    }
}
