//! An admin: a program with the token, or a browser that is logged in.

use reqwest::Response;

use super::http::{client, header};

/// The admin token in the tests' configurations.
pub(crate) const TOKEN: &str = "a token of the tests";
/// The header with the token.
pub(crate) const BEARER: (&str, &str) = ("authorization", "Bearer a token of the tests");
/// The header of a browser on requests from our own pages.
pub(crate) const FROM_HERE: (&str, &str) = ("sec-fetch-site", "same-origin");

/// Returns the table for a configuration.
pub(crate) fn table() -> String {
    format!("[admin]\ntoken = \"{TOKEN}\"\n")
}

/// Sends the form of `/login`.
pub(crate) async fn log_in(
    server: &str,
    token: &str,
    next: &str,
    headers: &[(&str, &str)],
) -> Response {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("token", token).append_pair("next", next);
    let request = client().post(format!("{server}/login"));
    let mut request = request.header("content-type", "application/x-www-form-urlencoded");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(form.finish()).send().await.unwrap()
}

/// Returns the cookie that a reply sets, as a browser sends it back.
pub(crate) fn cookie(response: &Response) -> String {
    header(response, "set-cookie").split(';').next().unwrap().to_owned()
}

/// Returns the cookie of a browser that is logged in.
pub(crate) async fn session(server: &str) -> String {
    cookie(&log_in(server, TOKEN, "/", &[]).await)
}
