//! The page for a request with query parameters, or values of them, that its address does not have.

use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use lineside_http::{EmbeddableReplyMarker, QueryParameters, Refusal};
use maud::html;

use super::layout::{self, NavSection, PageLayout};

/// Responds to rejected parameters: with a page that suggests a link, or with the plain error if the client does not
/// accept HTML.
pub fn reply_to_rejected_parameters(
    uri: &Uri,
    accepted: &axum::http::HeaderMap,
    refusal: Refusal,
) -> Response {
    let accepted = accepted.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok());
    if !accepted.is_some_and(|kinds| kinds.contains("text/html")) {
        return refusal.into_response();
    }
    let query = uri.query().unwrap_or_default();
    let is_embedded = QueryParameters::parse_query(query).asks_for_embedded_page();
    let mut page = PageLayout::new("Check the link", NavSection::Other);
    page.is_embedded = is_embedded;
    page.is_indexed = false;
    let (without, corrected) = suggest_corrected_url(uri.path(), query, &refusal);
    let main = html! {
        div.page {
            div.page-head {
                h1 { "Check the link" }
                p role="alert" {
                    @match &refusal {
                        // A sentence would begin with the name in upper case.
                        Refusal::BadParameter { name, reason } => { "The parameter " code { (name) } ": " (reason) "." },
                        _ => (refusal.message()),
                    }
                }
            }
            ul.links-in-line {
                @if let Some(corrected) = corrected { li { a.corrected href=(corrected) { (corrected) } } }
                li { a.without href=(without) { "Open the page without it" } }
            }
        }
    };
    let mut response =
        layout::reply_with_page(StatusCode::BAD_REQUEST, page.render_document(&main));
    if is_embedded {
        response.extensions_mut().insert(EmbeddableReplyMarker);
    }
    response
}

/// Returns the address without the rejected parameter, and one with the most similar name if there is one.
fn suggest_corrected_url(path: &str, query: &str, refusal: &Refusal) -> (String, Option<String>) {
    let (refused, nearest) = match refusal {
        Refusal::UnknownParameter { name, nearest, .. } => (name.as_str(), nearest.as_deref()),
        Refusal::RepeatedParameter(name) => (name.as_str(), None),
        Refusal::BadParameter { name, .. } => (*name, None),
        _ => ("", None),
    };
    let pairs: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).collect();
    let address = |replacement: Option<&str>| {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in &pairs {
            match replacement.filter(|_| name == refused) {
                Some(replacement) => drop(query.append_pair(replacement, value)),
                None if name == refused => {}
                None => drop(query.append_pair(name, value)),
            }
        }
        match query.finish() {
            empty if empty.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    };
    (address(None), nearest.map(|nearest| address(Some(nearest))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrected_links_preserve_the_other_parameters() {
        let refusal = Refusal::UnknownParameter {
            name: "rute".to_owned(),
            nearest: Some("route".to_owned()),
            known: Vec::new(),
        };
        let links = suggest_corrected_url("/delays/city", "stop=a%26b&rute=1", &refusal);
        let corrected = Some("/delays/city?stop=a%26b&route=1".to_owned());
        assert_eq!(links, ("/delays/city?stop=a%26b".to_owned(), corrected));
        assert_eq!(suggest_corrected_url("/map", "rute=1", &refusal).0, "/map");
    }
}
