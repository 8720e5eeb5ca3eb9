//! Text folding for search: removes case, diacritics and punctuation.

use std::cmp::Ordering;

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
pub fn fold_for_search(text: &str) -> String {
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
pub fn parse_query_words(query: &str) -> Vec<String> {
    let query: String = query.chars().take(SEARCH_CHARS_MAX).collect();
    fold_for_search(&query)
        .split(' ')
        .filter(|word| !word.is_empty())
        .take(SEARCH_WORDS_MAX)
        .map(str::to_owned)
        .collect()
}

/// Returns true if each word begins a word of the folded text.
pub fn has_words_by_prefix(folded: &str, words: &[String]) -> bool {
    words.iter().all(|word| folded.split(' ').any(|other| other.starts_with(word.as_str())))
}

/// Returns true if each word is a word of the folded text.
pub fn has_whole_words(folded: &str, words: &[String]) -> bool {
    words.iter().all(|word| folded.split(' ').any(|other| other == word))
}

/// Compares folded names as people order them: numbers by their value, so that 14 comes before 103.
pub fn compare_names_naturally(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let number = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            (text[..end].trim_start_matches('0').len(), end)
        };
        let ((a_digits, a_end), (b_digits, b_end)) = (number(a), number(b));
        let order = if a_end > 0 && b_end > 0 {
            // Of numbers without leading zeros, the longer one is greater.
            let [a_number, b_number] = [&a[a_end - a_digits..a_end], &b[b_end - b_digits..b_end]];
            a_digits.cmp(&b_digits).then_with(|| a_number.cmp(b_number))
        } else {
            a.chars().next().cmp(&b.chars().next())
        };
        if order.is_ne() || a.is_empty() {
            return order;
        }
        let skip = |text: &str, end: usize| {
            end.max(text.chars().next().filter(|_| end == 0).map_or(0, char::len_utf8))
        };
        let (a_skip, b_skip) = (skip(a, a_end), skip(b, b_end));
        (a, b) = (&a[a_skip..], &b[b_skip..]);
    }
}

/// Returns true if each word of a query begins a word of a text, regardless of case and diacritics. False for a query
/// without words.
pub fn matches_query(text: &str, query: &str) -> bool {
    let words = parse_query_words(query);
    !words.is_empty() && has_words_by_prefix(&fold_for_search(text), &words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_with_their_numbers_by_value() {
        let mut names = ["8 av", "14 st", "103 st", "1 av", "av 2", "av", "14 st b", "014 st", "a"];
        names.sort_by(|a, b| compare_names_naturally(a, b).then_with(|| a.cmp(b)));
        let expected = ["1 av", "8 av", "014 st", "14 st", "14 st b", "103 st", "a", "av", "av 2"];
        assert_eq!(names, expected);
        assert_eq!(compare_names_naturally("zürich", "zürich"), Ordering::Equal);
    }

    #[test]
    fn a_whole_word_is_no_beginning_of_a_word() {
        let words = ["168".to_owned()];
        assert!(has_whole_words("w 168 st", &words));
        assert!(!has_whole_words("av aricanduva 1684", &words));
    }

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
            assert_eq!(fold_for_search(text), folded);
        }
    }

    #[test]
    fn only_the_first_characters_of_a_long_text_are_searched() {
        assert_eq!(fold_for_search(&"é".repeat(70_000)), "e".repeat(FOLDED_CHARS_MAX));
    }

    #[test]
    fn every_query_word_must_begin_a_word() {
        let folded = fold_for_search("Place de la République");
        assert!(has_words_by_prefix(&folded, &parse_query_words("repu pla")));
        assert!(!has_words_by_prefix(&folded, &parse_query_words("publique")));
    }
}
