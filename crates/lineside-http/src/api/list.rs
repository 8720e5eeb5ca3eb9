//! Lists: `{"items": […], "next": url|null}`.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, OriginalUri};
use http::Uri;
use http::request::Parts;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::errors::Refusal;
use crate::limits;
use crate::parameters::QueryParameters;

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ListPage<T> {
    /// The items of this page.
    pub(super) items: Vec<T>,
    /// The next page; null on the last.
    pub(super) next: Option<String>,
}

impl<T> ListPage<T> {
    /// Creates a list of a single page.
    pub(super) fn from_all(items: Vec<T>) -> Self {
        Self { items, next: None }
    }
}

/// The page of a list that a request asks for, by `offset` and `limit`.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageRange {
    pub(super) offset: usize,
    pub(super) limit: usize,
}

impl PageRange {
    /// Parses the page with the usual default and bound.
    pub(super) fn from_parameters(parameters: &QueryParameters) -> Result<Self, Refusal> {
        Self::from_parameters_with_bounds(
            parameters,
            limits::PAGE_ITEMS_DEFAULT,
            limits::PAGE_ITEMS_MAX,
        )
    }

    /// Parses the page; `limit` defaults to `default` and is at most `parameter_max`.
    pub(super) fn from_parameters_with_bounds(
        parameters: &QueryParameters,
        default: usize,
        parameter_max: usize,
    ) -> Result<Self, Refusal> {
        let offset = parameters.parse_number("offset", limits::OFFSET_MAX)?.unwrap_or(0);
        let limit = parameters.parse_positive_number("limit", parameter_max)?.unwrap_or(default);
        Ok(Self { offset, limit })
    }

    /// Returns the number of items to find for this page and to know if there is a next one.
    pub(super) fn count_items_to_fetch(self) -> usize {
        self.offset + self.limit + 1
    }

    /// Takes this page from an iterator of all items.
    pub(super) fn take_page<T>(
        self,
        items: impl IntoIterator<Item = T>,
        link: &NextPageLink,
    ) -> ListPage<T> {
        let mut items = items.into_iter().skip(self.offset);
        let page: Vec<T> = items.by_ref().take(self.limit).collect();
        let next = items.next().map(|_| link.url_with_offset(self.offset + self.limit));
        ListPage { items: page, next }
    }

    /// Takes this page from all items if they may be large: a page ends after [`limits::PAGE_ITEMS_BYTES_MAX`] bytes,
    /// and has at least one item. `weigh` returns the size of an item in bytes.
    pub(super) fn take_page_by_bytes<T>(
        self,
        items: impl IntoIterator<Item = T>,
        link: &NextPageLink,
        weigh: impl Fn(&T) -> usize,
    ) -> ListPage<T> {
        let mut bytes = 0;
        let mut items = items.into_iter().skip(self.offset).take(self.limit + 1).peekable();
        let mut page = Vec::new();
        while let Some(item) = items.next_if(|item| {
            bytes += weigh(item);
            page.is_empty() || page.len() < self.limit && bytes <= limits::PAGE_ITEMS_BYTES_MAX
        }) {
            page.push(item);
        }
        let next = items.next().map(|_| link.url_with_offset(self.offset + page.len()));
        ListPage { items: page, next }
    }

    /// Takes this page from items that start at its offset and extend beyond its end.
    pub(super) fn take_page_of_prefetched<T>(
        self,
        mut items: Vec<T>,
        link: &NextPageLink,
    ) -> ListPage<T> {
        let next =
            (items.len() > self.limit).then(|| link.url_with_offset(self.offset + self.limit));
        items.truncate(self.limit);
        ListPage { items, next }
    }
}

/// The address of a list, without `offset`.
#[derive(Debug)]
pub(super) struct NextPageLink {
    address: String,
    query: Vec<(String, String)>,
}

impl NextPageLink {
    fn for_uri(base: &str, uri: &Uri) -> Self {
        let query = uri.query().unwrap_or_default();
        let query = url::form_urlencoded::parse(query.as_bytes()).into_owned();
        let query = query.filter(|(name, _)| name != "offset").collect();
        Self { address: format!("{base}{}", uri.path()), query }
    }

    fn url_with_offset(&self, offset: usize) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.query).append_pair("offset", &offset.to_string());
        format!("{}?{}", self.address, query.finish())
    }
}

/// The parts of a request for a list.
#[derive(Debug)]
pub(super) struct ListRequest {
    /// The filters and the page.
    pub(super) parameters: QueryParameters,
    /// Address of the list's other pages.
    pub(super) link: NextPageLink,
    /// The base URL that the client uses, without a trailing slash.
    pub(super) base: String,
}

impl FromRequestParts<App> for ListRequest {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let OriginalUri(uri) = OriginalUri::from_request_parts(parts, app).await?;
        let base = app.base_url(&parts.headers);
        let parameters = QueryParameters::parse_query(uri.query().unwrap_or_default());
        Ok(Self { parameters, link: NextPageLink::for_uri(&base, &uri), base })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_page_has_no_next() {
        let query = vec![("q".to_owned(), "a b".to_owned())];
        let link = NextPageLink { address: "http://x/list".to_owned(), query };
        let first = PageRange { offset: 0, limit: 2 }.take_page(1..=3, &link);
        assert_eq!(first.items, [1, 2]);
        assert_eq!(first.next.as_deref(), Some("http://x/list?q=a+b&offset=2"));
        let last = PageRange { offset: 2, limit: 2 }.take_page(1..=3, &link);
        assert_eq!((last.items, last.next), (vec![3], None));
        let exact = PageRange { offset: 0, limit: 3 }.take_page(1..=3, &link);
        assert_eq!(exact.next, None);
        let half = limits::PAGE_ITEMS_BYTES_MAX / 2;
        let large = |n: usize, page: PageRange| page.take_page_by_bytes(0..5, &link, |_| n);
        let two = large(half, PageRange { offset: 1, limit: 4 });
        assert_eq!(two.items, [1, 2]);
        assert_eq!(two.next.as_deref(), Some("http://x/list?q=a+b&offset=3"));
        assert_eq!(large(3 * half, PageRange { offset: 1, limit: 4 }).items, [1]);
        let last = large(1, PageRange { offset: 1, limit: 4 });
        assert_eq!((last.items, last.next), (vec![1, 2, 3, 4], None));
        assert_eq!(large(1, PageRange { offset: 1, limit: 3 }).items, [1, 2, 3]);
        let last_page =
            PageRange { offset: 4, limit: 2 }.take_page_of_prefetched(vec![5, 6, 7], &link);
        assert_eq!(last_page.items, [5, 6]);
        assert_eq!(last_page.next.as_deref(), Some("http://x/list?q=a+b&offset=6"));
        assert_eq!(
            PageRange { offset: 4, limit: 2 }.take_page_of_prefetched(vec![5, 6], &link).next,
            None
        );
    }
}
