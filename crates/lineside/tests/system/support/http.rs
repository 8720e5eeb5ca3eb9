//! Requests without the client's conveniences: no redirects, no decompression, no cookies.

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

/// Returns the text of a reply, which must have status 200.
pub(crate) async fn get_text(url: &str) -> String {
    let reply = get(url).await;
    assert_eq!(reply.status(), 200, "{url}");
    reply.text().await.unwrap()
}

pub(crate) async fn get_json(url: &str) -> Value {
    json_of(url, get(url).await).await
}

/// Returns the JSON of a reply, which must be a success.
pub(crate) async fn json_of(url: &str, response: Response) -> Value {
    let status = response.status();
    let text = response.text().await.unwrap();
    assert!(status.is_success(), "{url}: {status} {text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{url}: {error}: {text}"))
}

/// Asserts that a request is refused according to the contract.
#[track_caller]
pub(crate) fn assert_problem(status: u16, code: &str, response: (u16, String, Value)) {
    let (got, kind, problem) = response;
    assert_eq!(got, status, "{problem}");
    assert_eq!(kind, "application/problem+json");
    assert_eq!(problem["code"], code, "{problem}");
    assert_eq!(problem["status"], status);
    assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
}

/// Returns the body as JSON.
pub(crate) async fn json(response: Response) -> Value {
    let text = response.text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns a header of a reply; empty if it is missing.
pub(crate) fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

/// Returns status, media type and JSON body of a reply.
pub(crate) async fn refusal(response: Response) -> (u16, String, Value) {
    let kind = header(&response, "content-type").to_owned();
    (response.status().as_u16(), kind, json(response).await)
}

/// Returns status, media type and JSON body of the reply from an address.
pub(crate) async fn problem(url: &str) -> (u16, String, Value) {
    refusal(get(url).await).await
}
