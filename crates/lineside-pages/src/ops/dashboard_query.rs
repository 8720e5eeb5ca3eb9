//! The query parameters of `/ops`.

use lineside_http::QueryParameters;
use lineside_http::ops::{DashboardSnapshot, FeedOverview};
use lineside_model::FeedState;
use lineside_sync::UnixMillis;

use super::columns::DashboardColumn;
use super::range::TileRange;

/// The most characters of the search words.
const TEXT_CHARS_MAX: usize = 100;

/// The query of the dashboard. The server refuses unknown values before they are parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DashboardQuery {
    pub(super) text: String,
    pub(super) state: Option<FeedState>,
    /// The column, and true for descending. By default feeds in trouble are first.
    pub(super) sort: Option<(DashboardColumn, bool)>,
    /// The page of the list, from 1.
    pub(super) page: usize,
    /// The time range of the tiles.
    pub(super) range: TileRange,
    /// The feed whose row is opened.
    pub(super) open: Option<String>,
}

impl DashboardQuery {
    pub(super) fn from_parameters(parameters: &QueryParameters) -> Self {
        let search_text = parameters.find_value("q").unwrap_or_default();
        Self {
            text: search_text.chars().take(TEXT_CHARS_MAX).collect(),
            state: parameters.find_value("state").and_then(FeedState::parse),
            sort: parameters
                .find_value("sort")
                .and_then(parse_sort_parameter)
                .filter(|it| *it != TROUBLE_FIRST),
            page: parameters
                .find_value("page")
                .and_then(|page| page.parse().ok())
                .unwrap_or(1)
                .max(1),
            range: parameters
                .find_value("range")
                .and_then(TileRange::parse_query_value)
                .unwrap_or_default(),
            open: parameters.find_value("open").map(str::to_owned),
        }
    }

    /// Returns the sort parameter: `lag` for ascending, `-lag` for descending.
    pub(super) fn sort_parameter(&self) -> Option<String> {
        let (column, is_down) = self.sort?;
        Some(format!("{}{}", if is_down { "-" } else { "" }, column.query_value()))
    }

    /// Returns `Some` if the list is sorted by this column: true for descending.
    pub(super) fn sort_direction_for(&self, column: DashboardColumn) -> Option<bool> {
        let (sorted, is_down) = self.sort.unwrap_or(TROUBLE_FIRST);
        (sorted == column).then_some(is_down)
    }

    /// Returns the address of the list sorted by a column; if it already is, in the opposite direction. Numbers are
    /// first sorted descending.
    pub(super) fn sorted_list_url(&self, column: DashboardColumn) -> String {
        let is_descending = column.is_numeric() || column == DashboardColumn::State;
        let is_down = self.sort_direction_for(column).map_or(is_descending, |is_down| !is_down);
        let sort = Some((column, is_down)).filter(|it| *it != TROUBLE_FIRST);
        Self { sort, page: 1, ..self.clone() }.dashboard_url()
    }

    /// Returns the address of the list with this row opened, or closed if it is open.
    pub(super) fn row_toggle_url(&self, feed: &str, is_open: bool) -> String {
        let open = (!is_open).then(|| feed.to_owned());
        format!("{}#feed-{feed}", Self { open, ..self.clone() }.dashboard_url())
    }

    /// Returns the query for another page of the list.
    pub(super) fn with_page(&self, page: usize) -> Self {
        Self { page, open: None, ..self.clone() }
    }

    /// Returns the query for another range of the tiles.
    pub(super) fn with_range(&self, range: TileRange) -> Self {
        Self { range, ..self.clone() }
    }

    /// Returns the query for the feeds in this state.
    pub(super) fn with_state(&self, state: FeedState) -> Self {
        Self { state: Some(state), page: 1, open: None, ..self.clone() }
    }

    pub(super) fn dashboard_url(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let query_pairs = [
            ("q", Some(self.text.clone()).filter(|words| !words.is_empty())),
            ("state", self.state.map(|state| state.as_str().to_owned())),
            ("sort", self.sort_parameter()),
            ("page", (self.page > 1).then(|| self.page.to_string())),
            (
                "range",
                (self.range != TileRange::default()).then(|| self.range.query_value().to_owned()),
            ),
            ("open", self.open.clone()),
        ];
        for (name, value) in query_pairs {
            if let Some(value) = value {
                query.append_pair(name, &value);
            }
        }
        match query.finish() {
            empty if empty.is_empty() => "/ops".to_owned(),
            query => format!("/ops?{query}"),
        }
    }

    /// Returns the matching feeds, sorted.
    pub(super) fn select_matching_feeds<'a>(
        &self,
        board: &'a DashboardSnapshot,
        now: UnixMillis,
    ) -> Vec<&'a FeedOverview> {
        let search_text = self.text.to_lowercase();
        let is_found = |feed: &&FeedOverview| {
            let named = feed.name.as_deref().unwrap_or_default().to_lowercase();
            let is_named = named.contains(&search_text)
                || feed.id.as_str().to_lowercase().contains(&search_text);
            is_named && self.state.is_none_or(|state| feed.state == state)
        };
        let mut found: Vec<&FeedOverview> =
            board.feeds.iter().map(|row| &row.overview).filter(is_found).collect();
        let (column, is_down) = self.sort.unwrap_or(TROUBLE_FIRST);
        let by_name = |a: &FeedOverview, b: &FeedOverview| {
            DashboardColumn::Name.cell_text(a, now).cmp(&DashboardColumn::Name.cell_text(b, now))
        };
        found.sort_by(|a, b| {
            let order = match column {
                DashboardColumn::Name => by_name(a, b),
                _ => {
                    column.attention_sort_key(a, now).total_cmp(&column.attention_sort_key(b, now))
                }
            };
            let order = if is_down { order.reverse() } else { order };
            order.then_with(|| by_name(a, b))
        });
        found
    }
}

/// The default order: feeds in trouble first.
const TROUBLE_FIRST: (DashboardColumn, bool) = (DashboardColumn::State, true);

fn parse_sort_parameter(text: &str) -> Option<(DashboardColumn, bool)> {
    let (column_name, is_down) = match text.strip_prefix('-') {
        Some(column_name) => (column_name, true),
        None => (text, false),
    };
    DashboardColumn::parse_query_value(column_name).map(|column| (column, is_down))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> DashboardQuery {
        DashboardQuery::from_parameters(&QueryParameters::parse_query(text))
    }

    #[test]
    fn a_query_survives_its_address() {
        let query = read("q=city+%26+land&state=late&sort=-lag&page=2&range=1d&open=city");
        assert_eq!((query.text.as_str(), query.state), ("city & land", Some(FeedState::Late)));
        assert_eq!(read(query.dashboard_url().trim_start_matches("/ops?")), query);
        assert_eq!(read("q=&state=good&sort=size").dashboard_url(), "/ops");
    }

    #[test]
    fn sorting_by_the_same_column_again_reverses_it() {
        let query = read("");
        assert_eq!(query.sorted_list_url(DashboardColumn::Lag), "/ops?sort=-lag");
        assert_eq!(read("sort=-lag").sorted_list_url(DashboardColumn::Lag), "/ops?sort=lag");
        assert_eq!(read("sort=-lag").sorted_list_url(DashboardColumn::Name), "/ops?sort=name");
        assert_eq!(read("sort=name").sorted_list_url(DashboardColumn::Name), "/ops?sort=-name");
        assert_eq!(
            query.sorted_list_url(DashboardColumn::State),
            "/ops?sort=state",
            "trouble is first by default"
        );
        assert_eq!(read("sort=state&page=3").sorted_list_url(DashboardColumn::State), "/ops");
    }
}
