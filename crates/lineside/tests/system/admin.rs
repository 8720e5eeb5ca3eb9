//! Admin access: the token, sessions, and protection against attacks.

use lineside::{Config, RunningServer};
use reqwest::Method;
use serde_json::json;

use crate::support::admin::{self, BEARER, FROM_HERE, TOKEN, cookie, log_in};
use crate::support::http::{
    assert_problem, get, get_with, header, json as json_of, problem, refusal, send,
};
use crate::support::process::{ServerProcess, lineside};
use crate::support::serve;

const SESSION: &str = "/api/v1/admin/session";
/// More wrong tokens than the limit of any address.
const MANY: usize = 100;

async fn server(more: &str) -> (RunningServer, String) {
    let text = format!("[server]\nlisten = \"127.0.0.1:0\"\n{more}\n{}", admin::table());
    let config = Config::parse(std::path::Path::new("lineside.toml"), &text).unwrap();
    let running = serve(config).await;
    let url = format!("http://{}", running.listen_address());
    (running, url)
}

#[tokio::test]
async fn only_the_admin_token_grants_access() {
    let (_running, server) = server("").await;
    let url = format!("{server}{SESSION}");
    assert_problem(401, "not_admin", problem(&url).await);
    for wrong in ["Bearer", "Bearer ", "Bearer another token", "Basic YTpi", "bearer"] {
        let response = get_with(&url, &[("authorization", wrong)]).await;
        assert_problem(401, "not_admin", refusal(response).await);
    }
    let good = get_with(&url, &[BEARER]).await;
    assert_eq!(good.status(), 200);
    assert_eq!(header(&good, "cache-control"), "no-store");
    assert_eq!(header(&good, "access-control-allow-origin"), "", "no page elsewhere reads it");
    assert_eq!(json_of(good).await, json!({"by": "token", "seconds_left": null}));
}

#[tokio::test]
async fn a_browser_logs_in_and_out() {
    let (_running, server) = server("").await;
    let form = get(&format!("{server}/login?next=/map")).await;
    assert_eq!(form.status(), 200);
    assert_eq!(header(&form, "cache-control"), "no-store");
    assert!(header(&form, "content-security-policy").contains("frame-ancestors 'none'"));
    assert!(form.text().await.unwrap().contains("value=\"/map\""));

    let wrong = log_in(&server, "another token", "/map", &[FROM_HERE]).await;
    assert_eq!((wrong.status().as_u16(), cookie(&wrong)), (401, String::new()));
    assert!(wrong.text().await.unwrap().contains("role=\"alert\""));

    let entered = log_in(&server, TOKEN, "/map?feed=a", &[FROM_HERE]).await;
    assert_eq!((entered.status().as_u16(), header(&entered, "location")), (303, "/map?feed=a"));
    let set_cookie = header(&entered, "set-cookie");
    for attribute in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=43200"] {
        assert!(set_cookie.split("; ").any(|it| it == attribute), "{attribute} in {set_cookie}");
    }
    assert!(!set_cookie.contains("Secure"), "it would not come back over plain HTTP: {set_cookie}");
    let cookie = cookie(&entered);
    let session = get_with(&format!("{server}{SESSION}"), &[("cookie", &cookie)]).await;
    assert_eq!(json_of(session).await["by"], "session");

    let out = [("cookie", cookie.as_str()), FROM_HERE];
    let left = send(Method::POST, &format!("{server}/logout"), &out).await;
    assert_eq!((left.status().as_u16(), header(&left, "location")), (303, "/login"));
    assert!(header(&left, "set-cookie").contains("Max-Age=0"));
    let ended = get_with(&format!("{server}{SESSION}"), &[("cookie", &cookie)]).await;
    assert_problem(401, "not_admin", refusal(ended).await);
}

#[tokio::test]
async fn pages_of_other_origins_cannot_use_a_session() {
    let (_running, server) = server("").await;
    let host = server.trim_start_matches("http://").to_owned();
    let cookie = cookie(&log_in(&server, TOKEN, "/", &[]).await);
    let own_origin = format!("http://{host}");
    let url = format!("{server}{SESSION}");
    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("sec-fetch-site", "none"),
        ("origin", "https://example.org"),
        ("origin", "null"),
        ("accept", "*/*"),
    ] {
        let headers = [("cookie", cookie.as_str()), (name, value)];
        let ended = send(Method::DELETE, &url, &headers).await;
        assert_problem(403, "other_origin", refusal(ended).await);
    }
    let ended = send(Method::DELETE, &url, &[BEARER]).await;
    assert_eq!(ended.status(), 204, "a program with the token needs no page");
    for (name, value) in [("sec-fetch-site", "cross-site"), ("origin", "https://example.org")] {
        let entered = log_in(&server, TOKEN, "/", &[(name, value)]).await;
        assert_eq!((entered.status().as_u16(), header(&entered, "set-cookie")), (403, ""));
        let headers = [("cookie", cookie.as_str()), (name, value)];
        let left = send(Method::POST, &format!("{server}/logout"), &headers).await;
        assert_problem(403, "other_origin", refusal(left).await);
    }
    let session = get_with(&url, &[("cookie", &cookie)]).await;
    assert_eq!(session.status(), 200, "other clients did not end the session");
    for (name, value) in [FROM_HERE, ("origin", own_origin.as_str())] {
        let login = log_in(&server, TOKEN, "/", &[]).await;
        let cookie = admin::cookie(&login);
        let headers = [("cookie", cookie.as_str()), (name, value)];
        assert_eq!(send(Method::DELETE, &url, &headers).await.status(), 204, "{name}");
        let ended = get_with(&url, &[("cookie", &cookie)]).await;
        assert_problem(401, "not_admin", refusal(ended).await);
    }
}

#[tokio::test]
async fn a_login_never_redirects_to_another_server() {
    let (_running, server) = server("").await;
    for next in ["https://example.org/", "//example.org", "/\\example.org", "/%2e//example.org"] {
        let entered = log_in(&server, TOKEN, next, &[]).await;
        assert_eq!(
            (entered.status().as_u16(), header(&entered, "location")),
            (303, "/ops"),
            "{next}"
        );
    }
}

#[tokio::test]
async fn an_address_that_guesses_tokens_is_blocked_and_others_are_not() {
    let (_running, server) = server("trusted_proxies = [\"127.0.0.1\"]").await;
    let url = format!("{server}{SESSION}");
    let guesser = ("x-forwarded-for", "192.0.2.1");
    let mut refused = None;
    for n in 0..MANY {
        let guess = format!("Bearer guess {n}");
        let response = get_with(&url, &[guesser, ("authorization", &guess)]).await;
        if response.status() == 429 {
            refused = Some(response);
            break;
        }
        assert_eq!(response.status(), 401);
    }
    let refused = refused.expect("an end of guessing");
    let wait: u64 = header(&refused, "retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_problem(429, "too_many_attempts", refusal(refused).await);
    let page = log_in(&server, TOKEN, "/", &[guesser]).await;
    assert_eq!(page.status(), 429, "neither does the form look at a token");
    assert!(!header(&page, "retry-after").is_empty());
    let other = get_with(&url, &[("x-forwarded-for", "192.0.2.2"), BEARER]).await;
    assert_eq!(other.status(), 200);
}

#[tokio::test]
async fn a_session_begun_over_tls_has_a_secure_cookie() {
    let (_running, server) = server("trusted_proxies = [\"127.0.0.1\"]").await;
    let entered = log_in(&server, TOKEN, "/", &[("x-forwarded-proto", "https")]).await;
    assert!(header(&entered, "set-cookie").contains("; Secure"));
    let entered = log_in(&server, TOKEN, "/", &[]).await;
    assert!(!header(&entered, "set-cookie").contains("Secure"));
}

#[tokio::test]
async fn without_a_configured_token_the_start_prints_a_login_link() {
    let arguments = ["serve", "--feed", "nothing.pb", "--config"];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lineside.toml");
    std::fs::write(&file, "[server]\nlisten = \"127.0.0.1:0\"\n").unwrap();
    let arguments = [&arguments[..], &[file.to_str().unwrap()]].concat();

    let process = ServerProcess::start(&arguments);
    let mut words = process.greeting.split_whitespace();
    let link = words.find(|word| word.contains("/login?token=")).expect("a link").to_owned();
    let entered = get(&link).await;
    assert_eq!((entered.status().as_u16(), header(&entered, "location")), (303, "/ops"));
    let (url, logged_in_cookie) = (format!("{}{SESSION}", process.url), cookie(&entered));
    assert_eq!(get_with(&url, &[("cookie", &logged_in_cookie)]).await.status(), 200);
    let wrong = get(&format!("{}/login?token=another", process.url)).await;
    assert_eq!((wrong.status().as_u16(), cookie(&wrong)), (401, String::new()));

    let mut command = lineside(&arguments);
    command.env("LINESIDE_ADMIN_TOKEN", TOKEN);
    let process = ServerProcess::from_command(command);
    assert!(!process.greeting.contains(TOKEN) && !process.greeting.contains("token="));
    let url = format!("{}{SESSION}", process.url);
    assert_eq!(get_with(&url, &[BEARER]).await.status(), 200);
    let query: String = url::form_urlencoded::byte_serialize(TOKEN.as_bytes()).collect();
    let form = get(&format!("{}/login?token={query}", process.url)).await;
    assert_eq!(
        (form.status().as_u16(), cookie(&form)),
        (200, String::new()),
        "it is not looked at"
    );
}
