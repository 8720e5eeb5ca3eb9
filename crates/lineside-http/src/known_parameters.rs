//! Refuses query parameters that an address does not have, repeated values, and unknown values of pages, before any
//! handler runs.
//!
//! If a misspelt filter were ignored, the reply would answer another question; a misspelt `dry_run` would apply an
//! edit. The parameters of an address come from the API description, so the two cannot differ; those of pages and their
//! files from [`page_parameters::PAGES`] and [`page_parameters::FILES`]; the API's handlers check their values
//! themselves.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::Method;
use lineside_config::spelling::find_nearest_word;
use serde_json::Value;

use super::errors::Refusal;
use super::parameter_values::PageParameterValues;
use super::{openapi, page_parameters, websocket};

/// Parameter names of other APIs, each with the name used here.
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
/// Longest name that a refusal repeats, in characters.
const NAME_CHARS_MAX: usize = 100;

/// The HTTP methods that the API description may list for an address.
const METHODS: [(&str, Method); 5] = [
    ("get", Method::GET),
    ("post", Method::POST),
    ("put", Method::PUT),
    ("patch", Method::PATCH),
    ("delete", Method::DELETE),
];

/// Replies to a refused request of a page.
type RefusalPageFn = fn(&Uri, &HeaderMap, Refusal) -> Response;

/// The query parameters of every address.
#[derive(Debug)]
pub struct KnownParameters {
    /// Addresses with the most literal segments first.
    addresses: Vec<EndpointParameters>,
    page_values: Vec<PageParameterValues>,
    refuse_page: RefusalPageFn,
}

#[derive(Debug)]
struct EndpointParameters {
    /// A path template such as `/gtfs/{feed}.zip`.
    template: Box<str>,
    /// `None` for all methods.
    method: Option<Method>,
    parameters: Vec<KnownParameter>,
    /// True for SIRI, whose parameter names are case-insensitive.
    ignores_case: bool,
    /// True for pages, which accept tracking parameters and show refusals as a page.
    is_page: bool,
}

#[derive(Debug)]
struct KnownParameter {
    name: Box<str>,
    is_list: bool,
}

impl KnownParameters {
    /// Collects the parameters from the finished API description, and from the tables of addresses that it does not
    /// describe. `refuse_page` replies to a refused request of a page, and `page_values` are the known values of pages'
    /// parameters.
    pub fn new(
        document: &Value,
        page_values: Vec<PageParameterValues>,
        refuse_page: RefusalPageFn,
    ) -> Self {
        let paths = document["paths"].as_object().into_iter().flatten();
        // Clients of the Centrifuge protocol append parameters of their own.
        let described = paths.filter(|(path, _)| path.as_str() != websocket::PATH);
        let described = described.flat_map(|(path, item)| {
            METHODS.iter().filter_map(move |(name, method)| {
                Some(EndpointParameters::from_operation(path, method.clone(), item.get(name)?))
            })
        });
        let page = |(template, names): &(&str, &[&str])| {
            EndpointParameters::from_names(template, names, true)
        };
        let file = |(template, names): &(&str, &[&str])| {
            EndpointParameters::from_names(template, names, false)
        };
        let mut addresses: Vec<EndpointParameters> = described
            .chain(page_parameters::PAGES.iter().map(page))
            .chain(page_parameters::FILES.iter().map(file))
            .chain([EndpointParameters::from_names(openapi::PATH, &[], false)])
            .collect();
        addresses.sort_by_key(|address| address.template.matches('{').count());
        Self { addresses, page_values, refuse_page }
    }

    /// Checks the query of a request for an address.
    ///
    /// # Errors
    /// Returns the refusal of the first invalid parameter, or of the first unknown value on a page.
    fn check_query(&self, address: &EndpointParameters, query: &str) -> Result<(), Refusal> {
        address.check_query(query)?;
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let is_same =
                |it: &&PageParameterValues| it.template == &*address.template && it.name == &*name;
            if let Some(known) = self.page_values.iter().find(is_same) {
                known.check_value(&value)?;
            }
        }
        Ok(())
    }

    /// Returns the address that a request is for; `None` if the address takes any parameters.
    fn find_endpoint_parameters(&self, method: &Method, path: &str) -> Option<&EndpointParameters> {
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        let has_method = |address: &&EndpointParameters| {
            address.method.as_ref().is_none_or(|known| known == method)
        };
        self.addresses.iter().filter(has_method).find(|address| address.matches_path(path))
    }
}

impl EndpointParameters {
    fn from_operation(template: &str, method: Method, operation: &Value) -> Self {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let parameters = parameters.filter(|parameter| parameter["in"] == "query");
        let parameter = |parameter: &Value| KnownParameter {
            name: parameter["name"].as_str().unwrap_or_default().into(),
            is_list: is_list_schema(&parameter["schema"]["type"]),
        };
        Self {
            template: template.into(),
            method: Some(method),
            parameters: parameters.map(parameter).collect(),
            ignores_case: template.starts_with("/siri/"),
            is_page: false,
        }
    }

    fn from_names(template: &str, names: &[&str], is_page: bool) -> Self {
        let parameter = |name: &&str| KnownParameter {
            name: (*name).into(),
            is_list: page_parameters::LISTS.contains(&(template, *name)),
        };
        Self {
            template: template.into(),
            method: None,
            parameters: names.iter().map(parameter).collect(),
            ignores_case: false,
            is_page,
        }
    }

    /// Checks the query of a request.
    ///
    /// # Errors
    /// Returns [`Refusal::UnknownParameter`] or [`Refusal::RepeatedParameter`] for the first invalid parameter.
    fn check_query(&self, query: &str) -> Result<(), Refusal> {
        let mut seen: Vec<&str> = Vec::new();
        for (name, _) in url::form_urlencoded::parse(query.as_bytes()) {
            let Some(known) = self.find_parameter(&name) else {
                if self.is_page && page_parameters::is_tracking_parameter(&name) {
                    continue;
                }
                return Err(self.unknown_parameter_refusal(&name));
            };
            if !known.is_list && seen.contains(&&*known.name) {
                return Err(Refusal::RepeatedParameter(known.name.to_string()));
            }
            seen.push(&known.name);
        }
        Ok(())
    }

    /// Returns true if `path` matches the template.
    fn matches_path(&self, path: &str) -> bool {
        let (mut template_segments, mut given) = (self.template.split('/'), path.split('/'));
        loop {
            match (template_segments.next(), given.next()) {
                (None, None) => return true,
                (Some(rest), Some(_)) if rest.starts_with("{*") => return true,
                (Some(template_segment), Some(given))
                    if matches_template_segment(template_segment, given) => {}
                _ => return false,
            }
        }
    }

    fn find_parameter(&self, name: &str) -> Option<&KnownParameter> {
        self.parameters.iter().find(|known| match self.ignores_case {
            true => known.name.eq_ignore_ascii_case(name),
            false => *known.name == *name,
        })
    }

    fn unknown_parameter_refusal(&self, name: &str) -> Refusal {
        let known: Vec<&str> = self.parameters.iter().map(|known| &*known.name).collect();
        let synonym = SYNONYMS.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        let synonym = synonym
            .map(|(_, canonical_key)| *canonical_key)
            .filter(|canonical_key| known.contains(canonical_key));
        let nearest = synonym.or_else(|| find_nearest_word(name, known.iter().copied()));
        Refusal::UnknownParameter {
            name: name.chars().take(NAME_CHARS_MAX).collect(),
            nearest: nearest.map(str::to_owned),
            known: known.into_iter().map(str::to_owned).collect(),
        }
    }
}

fn matches_template_segment(template_segment: &str, given: &str) -> bool {
    match template_segment.split_once('{') {
        None => template_segment == given,
        Some((start, rest)) => {
            let end = rest.split_once('}').map_or("", |(_, end)| end);
            given.len() > start.len() + end.len()
                && given.starts_with(start)
                && given.ends_with(end)
        }
    }
}

/// Returns true if the schema type is an array: its parameter is repeated, one value each. The type of an optional
/// parameter may be a list with null.
fn is_list_schema(kind: &Value) -> bool {
    let is_array = |kind: &Value| kind == "array";
    is_array(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is_array))
}

/// Middleware that refuses a request with a query parameter that the address does not have.
pub async fn refuse_unknown_parameters(
    State(known): State<Arc<KnownParameters>>,
    request: Request,
    next: Next,
) -> Response {
    let (method, uri) = (request.method(), request.uri());
    if let Some(query) = uri.query()
        && let Some(address) = known.find_endpoint_parameters(method, uri.path())
        && let Err(refusal) = known.check_query(address, query)
    {
        return match address.is_page {
            true => (known.refuse_page)(uri, request.headers(), refusal),
            false => refusal.into_response(),
        };
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
        let document = json!({ "paths": {
            "/stops": { "get": { "parameters": [text("near"), text("limit"), text("q")] } },
            "/events": { "get": { "parameters": [list, text("token")] } },
            "/gtfs/{feed}.zip": { "get": { "parameters": [feed] } },
            "/siri/{service}": { "get": { "parameters": [text("LineRef")] } },
            "/publish": { "post": {} },
            "/edit": { "get": {}, "post": { "parameters": [text("dry_run")] } },
        } });
        KnownParameters::new(&document, Vec::new(), |_, _, refusal| refusal.into_response())
    }

    fn check(path: &str, query: &str) -> Result<(), Refusal> {
        check_method(&Method::GET, path, query)
    }

    fn check_method(method: &Method, path: &str, query: &str) -> Result<(), Refusal> {
        known()
            .find_endpoint_parameters(method, path)
            .map_or(Ok(()), |address| address.check_query(query))
    }

    #[track_caller]
    fn check_unknown(path: &str, query: &str, name: &str, nearest: Option<&str>) {
        match check(path, query) {
            Err(Refusal::UnknownParameter { name: found, nearest: suggested, .. }) => {
                assert_eq!((found.as_str(), suggested.as_deref()), (name, nearest), "{query}");
            }
            other => panic!("{path}?{query}: {other:?}"),
        }
    }

    #[test]
    fn an_unknown_parameter_is_refused_with_the_nearest_one() {
        check_unknown("/stops", "limit=1&lat=54", "lat", Some("near"));
        check_unknown("/stops", "limti=1", "limti", Some("limit"));
        check_unknown("/stops", "Near=1,2", "Near", Some("near"));
        check_unknown("/stops", "zzzzzz=1", "zzzzzz", None);
        check_unknown("/gtfs/city.zip", "feed=1", "feed", None);
    }

    #[test]
    fn only_list_parameters_may_be_repeated() {
        let repeated = Err(Refusal::RepeatedParameter("limit".to_owned()));
        assert_eq!(check("/stops", "limit=&limit=x"), repeated);
        assert_eq!(check("/events", "channel=a&channel=b&token=x"), Ok(()));
    }

    #[test]
    fn siri_parameter_names_are_case_insensitive() {
        assert_eq!(check("/siri/et", "lineref=1"), Ok(()));
    }

    #[test]
    fn unknown_addresses_are_not_checked() {
        for path in ["/nowhere", "/gtfs/.zip", "/stops/more", "/publish", "/assets/plain/1/ops.js"]
        {
            assert_eq!(check(path, "x=1"), Ok(()), "{path}");
        }
    }

    #[test]
    fn each_method_has_its_own_parameters() {
        assert_eq!(check_method(&Method::POST, "/edit", "dry_run=true"), Ok(()));
        for (method, query) in
            [(Method::POST, "dryrun=true"), (Method::GET, "dry_run=true"), (Method::HEAD, "x=1")]
        {
            assert!(check_method(&method, "/edit", query).is_err(), "{method} {query}");
        }
        assert_eq!(
            check_method(&Method::DELETE, "/edit", "x=1"),
            Ok(()),
            "the handler replies 405"
        );
    }

    #[test]
    fn pages_accept_tracking_parameters_and_refuse_other_unknown_ones() {
        assert_eq!(check("/docs/operate/monitoring", "utm_source=mail&fbclid=1"), Ok(()));
        assert_eq!(check("/map", "route=a:1&route=a:2&gclid=1"), Ok(()));
        check_unknown("/delays/city", "rute=1", "rute", Some("route"));
        check_unknown("/delays/city/badge.svg", "utm_source=mail", "utm_source", None);
        assert!(check("/map", "stop=a:1&stop=a:2").is_err());
    }
}
