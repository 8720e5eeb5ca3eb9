//! Requests, without any of the client's own cleverness: no redirects, no decompression, no cookies.

use reqwest::{Client, Method, Response, redirect};
use serde_json::Value;

pub(crate) fn client() -> Client {
    Client::builder().redirect(redirect::Policy::none()).build().unwrap()
}

pub(crate) async fn get(url: &str) -> Response {
    client().get(url).send().await.unwrap_or_else(|error| panic!("{url}: {error}"))
}

pub(crate) async fn get_with(url: &str, headers: &[(&str, &str)]) -> Response {
    send(Method::GET, url, headers).await
}

pub(crate) async fn send(method: Method, url: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = client().request(method, url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap_or_else(|error| panic!("{url}: {error}"))
}

pub(crate) async fn get_json(url: &str) -> Value {
    json_of(url, get(url).await).await
}

/// The JSON of a reply that has to be a success.
pub(crate) async fn json_of(url: &str, response: Response) -> Value {
    let status = response.status();
    let text = response.text().await.unwrap();
    assert!(status.is_success(), "{url}: {status} {text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{url}: {error}: {text}"))
}

/// Checks that a request is refused as the contract says, and gives the problem.
#[track_caller]
pub(crate) fn assert_problem(status: u16, code: &str, response: (u16, String, Value)) {
    let (got, kind, problem) = response;
    assert_eq!(got, status, "{problem}");
    assert_eq!(kind, "application/problem+json");
    assert_eq!(problem["code"], code, "{problem}");
    assert_eq!(problem["status"], status);
    assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
}

/// The body as JSON.
pub(crate) async fn json(response: Response) -> Value {
    let text = response.text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A header of a reply; nothing where there is none.
pub(crate) fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

/// Status, media type and JSON body of a reply.
pub(crate) async fn refusal(response: Response) -> (u16, String, Value) {
    let kind = header(&response, "content-type").to_owned();
    (response.status().as_u16(), kind, json(response).await)
}

/// The same of what is at an address.
pub(crate) async fn problem(url: &str) -> (u16, String, Value) {
    refusal(get(url).await).await
}
