//! Route search by the names that riders use: "1", "line 1", "tram 1", "T1".

use super::fold::has_words_by_prefix;
use crate::route_mode::RouteMode;

/// Generic words before a line's name.
const GENERIC_WORDS: [&str; 6] = ["line", "route", "linie", "ligne", "linje", "linea"];

/// A search for routes.
#[derive(Debug)]
pub struct RouteQuery {
    words: Vec<String>,
    /// The words that are neither generic nor the name of a mode.
    name: Vec<String>,
    mode: Option<RouteMode>,
    /// A number after a letter for a mode, as in T1.
    number: Option<(RouteMode, String)>,
}

/// Returns true if a folded word is generic or names a mode.
pub fn is_generic_word(word: &str) -> bool {
    GENERIC_WORDS.contains(&word) || RouteMode::from_search_word(word).is_some()
}

impl RouteQuery {
    pub fn new(words: Vec<String>) -> RouteQuery {
        let is_name = |word: &&String| !is_generic_word(word);
        let name: Vec<String> = words.iter().filter(is_name).cloned().collect();
        let mode = words.iter().find_map(|word| RouteMode::from_search_word(word));
        let number = match &name[..] {
            [one] => parse_mode_and_number(one),
            _ => None,
        };
        RouteQuery { name, mode, number, words }
    }

    /// Returns the rank of a route, 0 is best; `None` if it does not match. `folded` is its short and long name.
    pub fn rank_route(&self, folded: &str, short_name: &str, route_type: u16) -> Option<u8> {
        let mode = RouteMode::from_route_type(route_type);
        let fits_mode = self.mode.is_none_or(|requested_mode| requested_mode == mode);
        if !self.name.is_empty() && fits_mode && has_words_by_prefix(folded, &self.name) {
            let is_exact = self.name.join(" ") == short_name;
            return Some(if is_exact { 0 } else { 3 });
        }
        if has_words_by_prefix(folded, &self.words) {
            return Some(2);
        }
        let is_number = |(requested_mode, number): &(RouteMode, String)| {
            *requested_mode == mode && fits_mode && number == short_name
        };
        self.number.as_ref().is_some_and(is_number).then_some(1)
    }
}

/// Parses a letter for a mode followed by a number.
fn parse_mode_and_number(word: &str) -> Option<(RouteMode, String)> {
    let mut letters = word.chars();
    let mode = RouteMode::from_line_letter(letters.next()?)?;
    let number = letters.as_str();
    number.starts_with(|first: char| first.is_ascii_digit()).then(|| (mode, number.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::fold::parse_query_words;
    use super::*;

    #[test]
    fn a_line_is_found_by_name_mode_and_mode_letter() {
        let rank = |query: &str, short_name: &str, long_name: &str, route_type: u16| {
            let folded = format!("{short_name} {long_name}");
            RouteQuery::new(parse_query_words(query)).rank_route(&folded, short_name, route_type)
        };
        for query in ["1", "line 1", "Linie 1", "tram 1", "Tram line 1"] {
            assert_eq!(rank(query, "1", "harbour", 0), Some(0), "{query}");
            assert!(rank(query, "10", "harbour", 0) > Some(0), "{query}");
            assert_eq!(rank(query, "2", "harbour", 0), None, "{query}");
        }
        assert_eq!(rank("T1", "1", "harbour", 0), Some(1));
        assert_eq!(rank("T1", "1", "harbour", 3), None, "a bus does not match");
        assert_eq!(rank("T1", "t1", "harbour", 3), Some(0), "the name matches");
        assert_eq!(rank("bus 1", "1", "harbour", 0), None);
        assert_eq!(rank("tram museum", "9", "tram museum", 3), Some(2));
        assert_eq!(rank("tram", "9", "harbour", 0), None, "a mode alone does not match");
    }
}
