//! What `/ops` is asked for, as it stands in the address.

use lineside_ingest::FeedState;
use lineside_sync::UnixMillis;

use super::columns::Column;
use crate::http::Parameters;
use crate::ops::{Board, FeedFigures};

/// The most characters that are looked for.
const WORDS_CHARS_MAX: usize = 100;

/// Anything that makes no sense counts as not said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) words: String,
    pub(super) state: Option<FeedState>,
    /// The column, and whether the greatest stands first.
    pub(super) sort: Option<(Column, bool)>,
    /// The feed whose row is opened.
    pub(super) open: Option<String>,
}

impl Query {
    pub(super) fn read(parameters: &Parameters) -> Self {
        let words = parameters.one("q").unwrap_or_default();
        Self {
            words: words.chars().take(WORDS_CHARS_MAX).collect(),
            state: parameters.one("state").and_then(FeedState::parse),
            sort: parameters.one("sort").and_then(parse_sort),
            open: parameters.one("open").map(str::to_owned),
        }
    }

    /// The order as it stands in the address: `lag`, or `-lag` for the greatest first.
    pub(super) fn sort_word(&self) -> Option<String> {
        let (column, is_down) = self.sort?;
        Some(format!("{}{}", if is_down { "-" } else { "" }, column.word()))
    }

    /// Whether the list is in a column's order, and then whether the greatest stands first.
    pub(super) fn is_sorted_by(&self, column: Column) -> Option<bool> {
        self.sort.filter(|(it, _)| *it == column).map(|(_, is_down)| is_down)
    }

    /// The address of the list in a column's order; of one in that order already, in the other direction. Figures begin
    /// with the greatest.
    pub(super) fn sorted_by(&self, column: Column) -> String {
        let usual = column.is_figure() || column == Column::State;
        let is_down = self.is_sorted_by(column).map_or(usual, |is_down| !is_down);
        Self { sort: Some((column, is_down)), ..self.clone() }.address()
    }

    /// The address of the list with this row opened, or closed again.
    pub(super) fn opened(&self, feed: &str, is_open: bool) -> String {
        let open = (!is_open).then(|| feed.to_owned());
        format!("{}#feed-{feed}", Self { open, ..self.clone() }.address())
    }

    /// The address of the list as it is.
    pub(super) fn address(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let said = [
            ("q", Some(self.words.clone()).filter(|words| !words.is_empty())),
            ("state", self.state.map(|state| state.as_str().to_owned())),
            ("sort", self.sort_word()),
            ("open", self.open.clone()),
        ];
        for (name, value) in said {
            if let Some(value) = value {
                query.append_pair(name, &value);
            }
        }
        match query.finish() {
            empty if empty.is_empty() => "/ops".to_owned(),
            query => format!("/ops?{query}"),
        }
    }

    /// The feeds asked for, in the order asked for.
    pub(super) fn pick<'a>(&self, board: &'a Board, now: UnixMillis) -> Vec<&'a FeedFigures> {
        let words = self.words.to_lowercase();
        let is_found = |feed: &&FeedFigures| {
            let named = feed.name.as_deref().unwrap_or_default().to_lowercase();
            let is_named =
                named.contains(&words) || feed.id.as_str().to_lowercase().contains(&words);
            is_named && self.state.is_none_or(|state| feed.state == state)
        };
        let mut found: Vec<&FeedFigures> =
            board.feeds.iter().map(|row| &row.figures).filter(is_found).collect();
        if let Some((column, is_down)) = self.sort {
            found.sort_by(|a, b| {
                let order = match column {
                    Column::Name => column.words(a, now).cmp(&column.words(b, now)),
                    _ => column.weight(a, now).total_cmp(&column.weight(b, now)),
                };
                if is_down { order.reverse() } else { order }
            });
        }
        found
    }
}

fn parse_sort(text: &str) -> Option<(Column, bool)> {
    let (word, is_down) = match text.strip_prefix('-') {
        Some(word) => (word, true),
        None => (text, false),
    };
    Column::parse(word).map(|column| (column, is_down))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Query {
        Query::read(&Parameters::parse(text))
    }

    #[test]
    fn a_question_survives_its_address() {
        let query = read("q=city+%26+land&state=late&sort=-lag&open=city");
        assert_eq!((query.words.as_str(), query.state), ("city & land", Some(FeedState::Late)));
        assert_eq!(read(query.address().trim_start_matches("/ops?")), query);
        assert_eq!(read("q=&state=good&sort=size").address(), "/ops");
    }

    #[test]
    fn a_column_is_turned_round_by_asking_for_it_again() {
        let query = read("");
        assert_eq!(query.sorted_by(Column::Lag), "/ops?sort=-lag");
        assert_eq!(read("sort=-lag").sorted_by(Column::Lag), "/ops?sort=lag");
        assert_eq!(read("sort=-lag").sorted_by(Column::Name), "/ops?sort=name");
        assert_eq!(read("sort=name").sorted_by(Column::Name), "/ops?sort=-name");
    }
}
