//! Refuses query parameters that an address does not have, and values given twice, before any handler runs.
//!
//! A misspelt filter that is ignored answers another question than the one that was asked. Which parameters an address has
//! is read from the description of the API, so the two cannot differ.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::Method;
use serde_json::Value;

use super::errors::Refusal;
use super::websocket;
use crate::spelling::find_nearest;

/// Names of other APIs for what a parameter here is called.
const SYNONYMS: [(&str, &str); 18] = [
    ("box", "bbox"),
    ("bounds", "bbox"),
    ("count", "limit"),
    ("cursor", "offset"),
    ("lat", "near"),
    ("latitude", "near"),
    ("lng", "near"),
    ("lon", "near"),
    ("longitude", "near"),
    ("max", "limit"),
    ("name", "q"),
    ("page", "offset"),
    ("per_page", "limit"),
    ("query", "q"),
    ("search", "q"),
    ("size", "limit"),
    ("skip", "offset"),
    ("text", "q"),
];
/// The longest name that a refusal repeats.
const NAME_CHARS_MAX: usize = 100;

/// The query parameters of every address that is read.
#[derive(Debug, Default)]
pub(super) struct KnownParameters {
    /// Addresses with the most literal segments first.
    addresses: Vec<Address>,
}

#[derive(Debug)]
struct Address {
    /// Such as `/gtfs/{feed}.zip`.
    template: Box<str>,
    parameters: Vec<Parameter>,
    /// SIRI's names are written in any case.
    ignores_case: bool,
}

#[derive(Debug)]
struct Parameter {
    name: Box<str>,
    is_list: bool,
}

impl KnownParameters {
    /// Reads them from the finished description.
    pub(super) fn from_description(document: &Value) -> Self {
        let paths = document["paths"].as_object().into_iter().flatten();
        let mut addresses: Vec<Address> = paths
            // Clients of the Centrifuge protocol append parameters of their own.
            .filter(|(path, _)| path.as_str() != websocket::PATH)
            .filter_map(|(path, item)| Some(Address::new(path, item.get("get")?)))
            .collect();
        let placeholders = |address: &Address| address.template.matches('{').count();
        addresses.sort_by_key(placeholders);
        Self { addresses }
    }

    /// Checks the query of a request for `path`.
    ///
    /// # Errors
    /// [`Refusal::UnknownParameter`] or [`Refusal::RepeatedParameter`] for the first one that is wrong.
    fn check(&self, path: &str, query: &str) -> Result<(), Refusal> {
        let Some(address) = self.addresses.iter().find(|address| address.fits(path)) else {
            return Ok(());
        };
        let mut seen: Vec<&str> = Vec::new();
        for (name, _) in url::form_urlencoded::parse(query.as_bytes()) {
            let Some(known) = address.find(&name) else { return Err(address.refuse(&name)) };
            if !known.is_list && seen.contains(&&*known.name) {
                return Err(Refusal::RepeatedParameter(known.name.to_string()));
            }
            seen.push(&known.name);
        }
        Ok(())
    }
}

impl Address {
    fn new(template: &str, operation: &Value) -> Self {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let parameters = parameters.filter(|parameter| parameter["in"] == "query");
        let parameter = |parameter: &Value| Parameter {
            name: parameter["name"].as_str().unwrap_or_default().into(),
            is_list: is_list(&parameter["schema"]["type"]),
        };
        Self {
            template: template.into(),
            parameters: parameters.map(parameter).collect(),
            ignores_case: template.starts_with("/siri/"),
        }
    }

    /// Whether `path` is one of the addresses that the template stands for.
    fn fits(&self, path: &str) -> bool {
        let (mut wanted, mut given) = (self.template.split('/'), path.split('/'));
        loop {
            match (wanted.next(), given.next()) {
                (None, None) => return true,
                (Some(wanted), Some(given)) if segment_fits(wanted, given) => {}
                _ => return false,
            }
        }
    }

    fn find(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|known| match self.ignores_case {
            true => known.name.eq_ignore_ascii_case(name),
            false => *known.name == *name,
        })
    }

    fn refuse(&self, name: &str) -> Refusal {
        let known: Vec<&str> = self.parameters.iter().map(|known| &*known.name).collect();
        let synonym = SYNONYMS.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        let synonym = synonym.map(|(_, ours)| *ours).filter(|ours| known.contains(ours));
        let nearest = synonym.or_else(|| find_nearest(name, known.iter().copied()));
        Refusal::UnknownParameter {
            name: name.chars().take(NAME_CHARS_MAX).collect(),
            nearest: nearest.map(str::to_owned),
            known: known.into_iter().map(str::to_owned).collect(),
        }
    }
}

fn segment_fits(wanted: &str, given: &str) -> bool {
    match wanted.split_once('{') {
        None => wanted == given,
        Some((start, rest)) => {
            let end = rest.split_once('}').map_or("", |(_, end)| end);
            given.len() > start.len() + end.len()
                && given.starts_with(start)
                && given.ends_with(end)
        }
    }
}

/// A list's parameter is repeated, one value each. An optional one may also be null to the schema.
fn is_list(kind: &Value) -> bool {
    let is_array = |kind: &Value| kind == "array";
    is_array(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is_array))
}

/// Answers a request unless its query has a parameter that the address does not have.
pub(super) async fn refuse_unknown_parameters(
    State(known): State<Arc<KnownParameters>>,
    request: Request,
    next: Next,
) -> Response {
    let is_read = request.method() == Method::GET || request.method() == Method::HEAD;
    if let Some(query) = request.uri().query().filter(|_| is_read)
        && let Err(refusal) = known.check(request.uri().path(), query)
    {
        return refusal.into_response();
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known() -> KnownParameters {
        let text = |name| json!({ "name": name, "in": "query", "schema": { "type": "string" } });
        let list =
            json!({ "name": "channel", "in": "query", "schema": { "type": ["array", "null"] } });
        let feed = json!({ "name": "feed", "in": "path", "schema": { "type": "string" } });
        KnownParameters::from_description(&json!({ "paths": {
            "/stops": { "get": { "parameters": [text("near"), text("limit"), text("q")] } },
            "/events": { "get": { "parameters": [list, text("token")] } },
            "/gtfs/{feed}.zip": { "get": { "parameters": [feed] } },
            "/siri/{service}": { "get": { "parameters": [text("LineRef")] } },
            "/publish": { "post": {} },
        } }))
    }

    #[track_caller]
    fn check_unknown(path: &str, query: &str, name: &str, nearest: Option<&str>) {
        match known().check(path, query) {
            Err(Refusal::UnknownParameter { name: found, nearest: suggested, .. }) => {
                assert_eq!((found.as_str(), suggested.as_deref()), (name, nearest), "{query}");
            }
            other => panic!("{path}?{query}: {other:?}"),
        }
    }

    #[test]
    fn an_unknown_parameter_is_refused_with_the_one_that_may_be_meant() {
        check_unknown("/stops", "limit=1&lat=54", "lat", Some("near"));
        check_unknown("/stops", "limti=1", "limti", Some("limit"));
        check_unknown("/stops", "Near=1,2", "Near", Some("near"));
        check_unknown("/stops", "zzzzzz=1", "zzzzzz", None);
        check_unknown("/gtfs/city.zip", "feed=1", "feed", None);
    }

    #[test]
    fn a_value_is_given_once_and_a_list_as_often_as_it_has_items() {
        let repeated = Err(Refusal::RepeatedParameter("limit".to_owned()));
        assert_eq!(known().check("/stops", "limit=&limit=x"), repeated);
        assert_eq!(known().check("/events", "channel=a&channel=b&token=x"), Ok(()));
    }

    #[test]
    fn names_of_siri_are_written_in_any_case() {
        assert_eq!(known().check("/siri/et", "lineref=1"), Ok(()));
    }

    #[test]
    fn other_addresses_are_left_to_their_handlers() {
        for path in ["/nowhere", "/gtfs/.zip", "/stops/more", "/publish"] {
            assert_eq!(known().check(path, "x=1"), Ok(()), "{path}");
        }
    }
}
