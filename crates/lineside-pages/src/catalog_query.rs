//! The query of the catalog's address: search words, filters and page.

use lineside_formats::Format;
use lineside_http::QueryParameters;
use lineside_model::FeedState;
use lineside_quality::reports::ReportVerdict;

/// The most characters of the search words that are used.
const QUESTION_CHARS_MAX: usize = 100;

/// A query of the catalog. The server refuses unknown values before they are parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CatalogQuery {
    pub(super) text: String,
    pub(super) format: Option<Format>,
    pub(super) theme: Option<String>,
    pub(super) publisher: Option<String>,
    pub(super) state: Option<FeedState>,
    /// Only timetables that end within days.
    pub(super) expires_soon: bool,
    /// The verdict of the latest report.
    pub(super) report: Option<ReportVerdict>,
    /// True for all stops and lines that the words find, and not only the first.
    pub(super) lists_all_names: bool,
    /// Counted from 1.
    pub(super) page: usize,
}

impl CatalogQuery {
    pub(super) fn from_parameters(parameters: &QueryParameters) -> Self {
        let text = |name| parameters.find_value(name).map(str::to_owned);
        let search_text = parameters.find_value("q").unwrap_or_default();
        Self {
            text: search_text.chars().take(QUESTION_CHARS_MAX).collect(),
            format: parameters.find_value("format").and_then(Format::from_name),
            theme: text("theme"),
            publisher: text("publisher"),
            state: parameters.find_value("state").and_then(FeedState::parse),
            expires_soon: parameters.find_value("expires") == Some("soon"),
            report: parameters.find_value("report").and_then(ReportVerdict::parse_word),
            lists_all_names: parameters.find_value("all") == Some("1"),
            page: parameters
                .find_value("page")
                .and_then(|page| page.parse().ok())
                .unwrap_or(1)
                .max(1),
        }
    }

    /// Returns true if words or a filter narrow the list.
    pub(super) fn has_search_or_filter(&self) -> bool {
        !self.text.is_empty() || self.has_filter()
    }

    /// Returns true if a filter narrows the list.
    pub(super) fn has_filter(&self) -> bool {
        let Self { format, theme, publisher, state, expires_soon, report, .. } = self;
        format.is_some()
            || theme.is_some()
            || publisher.is_some()
            || state.is_some()
            || *expires_soon
            || report.is_some()
    }

    pub(super) fn catalog_page_url(&self, page: usize) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let query_pairs = [
            ("q", Some(self.text.as_str()).filter(|words| !words.is_empty())),
            ("format", self.format.map(Format::as_str)),
            ("theme", self.theme.as_deref()),
            ("publisher", self.publisher.as_deref()),
            ("state", self.state.map(FeedState::as_str)),
            ("expires", self.expires_soon.then_some("soon")),
            ("report", self.report.map(ReportVerdict::as_str)),
        ];
        for (name, value) in query_pairs {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        if page > 1 {
            query.append_pair("page", &page.to_string());
        }
        match query.finish() {
            empty if empty.is_empty() => "/".to_owned(),
            query => format!("/?{query}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_survives_its_address() {
        let text = "q=gare+de+l%27Est&format=gtfs-rt&publisher=A+%26+B&state=late&expires=soon&report=errors&page=3";
        let query = CatalogQuery::from_parameters(&QueryParameters::parse_query(text));
        assert_eq!(query.text, "gare de l'Est");
        assert_eq!(
            (query.state, query.report),
            (Some(FeedState::Late), Some(ReportVerdict::Errors))
        );
        let address = query.catalog_page_url(query.page);
        let second = CatalogQuery::from_parameters(&QueryParameters::parse_query(
            address.trim_start_matches("/?"),
        ));
        assert_eq!(second, query);
    }

    #[test]
    fn invalid_parameters_are_ignored() {
        let query = CatalogQuery::from_parameters(&QueryParameters::parse_query(
            "q=++&format=pdf&state=good&report=bad&expires=never&page=-1",
        ));
        assert!(!query.has_search_or_filter());
        assert_eq!(query.catalog_page_url(query.page), "/");
    }
}
