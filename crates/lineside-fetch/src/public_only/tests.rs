//! Tests that only allowed addresses are connected to, whatever names and redirects lead to.

use std::{
    error::Error,
    net::Ipv4Addr,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::*;

/// The only address that the tests allow, and a forbidden one.
const ALLOWED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
const FORBIDDEN: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

fn is_allowed(address: IpAddr) -> bool {
    address == IpAddr::V4(ALLOWED)
}

/// Returns a client whose names resolve to `answers` in order, and then always to the last one.
fn client(answers: &'static [&'static [Ipv4Addr]]) -> PublicOnlyHttpClient {
    let n_requests = AtomicUsize::new(0);
    let lookup: Arc<DnsLookupFn> = Arc::new(move |_| {
        let n = n_requests.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1);
        let found = answers[n].iter().map(|address| IpAddr::V4(*address)).collect();
        Box::pin(async move { Ok(found) })
    });
    // Each request resolves the name again.
    let builder = Client::builder().pool_max_idle_per_host(0);
    PublicOnlyHttpClient::with_address_policy(AddressPolicy { is_allowed, lookup }, builder)
        .expect("a client")
}

/// Starts a server on an address that answers every request alike; returns its port.
async fn server(address: Ipv4Addr, reply: String) -> u16 {
    let listener = TcpListener::bind((address, 0)).await.expect("a port");
    let port = listener.local_addr().expect("a valid URL").port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4_096];
            _ = socket.read(&mut request).await;
            _ = socket.write_all(reply.as_bytes()).await;
        }
    });
    port
}

fn reply(status: &str, location: Option<&str>) -> String {
    let location = location.map(|to| format!("location: {to}\r\n")).unwrap_or_default();
    format!("HTTP/1.1 {status}\r\n{location}content-length: 0\r\nconnection: close\r\n\r\n")
}

/// Returns the status, or the reason why nothing was requested.
async fn send(client: &PublicOnlyHttpClient, url: &str) -> Result<u16, UrlRejection> {
    let url = Url::parse(url).expect("a valid URL");
    match client.build_get_request(&url)?.send().await {
        Ok(response) => Ok(response.status().as_u16()),
        Err(error) => Err(cause(&error)),
    }
}

fn cause(error: &(dyn Error + 'static)) -> UrlRejection {
    if let Some(why) = error.downcast_ref::<UrlRejection>() {
        return *why;
    }
    let wrapped = error.downcast_ref::<io::Error>().and_then(|error| error.get_ref());
    match wrapped.map(|error| error as &(dyn Error + 'static)).or_else(|| error.source()) {
        Some(source) => cause(source),
        None => panic!("another failure: {error}"),
    }
}

#[test]
fn an_impossible_url_is_rejected_before_any_request() {
    let client = PublicOnlyHttpClient::new(Client::builder()).expect("a client");
    for (url, why) in [
        ("ftp://example.org/", UrlRejection::Scheme),
        ("file:///etc/passwd", UrlRejection::Scheme),
        ("http://user@example.org/", UrlRejection::Credentials),
        ("http://:secret@example.org/", UrlRejection::Credentials),
        ("http://127.0.0.1/", UrlRejection::Host),
        ("http://[::1]:8080/", UrlRejection::Host),
        ("http://[::ffff:10.0.0.1]/", UrlRejection::Host),
        // Other notations of 127.0.0.1 and 169.254.169.254.
        ("http://2130706433/", UrlRejection::Host),
        ("http://0x7f.1/", UrlRejection::Host),
        ("http://0251.0376.0251.0376/", UrlRejection::Host),
    ] {
        let refused = client.build_get_request(&Url::parse(url).expect("a valid URL")).map(drop);
        assert_eq!(refused, Err(why), "{url}");
    }
    for url in ["https://example.org/", "http://1.1.1.1:8080/a?b"] {
        assert!(client.build_get_request(&Url::parse(url).expect("a valid URL")).is_ok(), "{url}");
    }
}

#[tokio::test]
async fn local_names_are_rejected() {
    let client = PublicOnlyHttpClient::new(Client::builder()).expect("a client");
    let port = server(ALLOWED, reply("200 OK", None)).await;
    let url = Url::parse(&format!("http://localhost:{port}/")).expect("a valid URL");
    let error = client
        .build_get_request(&url)
        .expect("the URL is allowed")
        .send()
        .await
        .expect_err("the request must fail");
    assert_eq!(cause(&error), UrlRejection::Host);
}

#[tokio::test]
async fn a_name_is_checked_by_its_addresses() {
    let port = server(ALLOWED, reply("200 OK", None)).await;
    let url = format!("http://example.test:{port}/");
    assert_eq!(send(&client(&[&[ALLOWED]]), &url).await, Ok(200));
    assert_eq!(send(&client(&[&[FORBIDDEN]]), &url).await, Err(UrlRejection::Host));
    assert_eq!(send(&client(&[&[ALLOWED, FORBIDDEN]]), &url).await, Err(UrlRejection::Host));
    assert_eq!(send(&client(&[&[]]), &url).await, Err(UrlRejection::Host));
}

#[tokio::test]
async fn a_name_is_checked_again_at_each_request() {
    let port = server(ALLOWED, reply("200 OK", None)).await;
    let client = client(&[&[ALLOWED], &[FORBIDDEN]]);
    let url = format!("http://example.test:{port}/");
    assert_eq!(send(&client, &url).await, Ok(200));
    assert_eq!(send(&client, &url).await, Err(UrlRejection::Host));
}

#[tokio::test]
async fn a_redirect_is_checked_like_the_first_url() {
    let hidden = server(FORBIDDEN, reply("200 OK", None)).await;
    let to = format!("http://{FORBIDDEN}:{hidden}/");
    let port = server(ALLOWED, reply("302 Found", Some(&to))).await;
    let found = send(&client(&[&[ALLOWED]]), &format!("http://{ALLOWED}:{port}/")).await;
    assert_eq!(found, Err(UrlRejection::Host), "the redirect leads to a forbidden address");
    let port =
        server(ALLOWED, reply("302 Found", Some(&format!("http://other.test:{hidden}/")))).await;
    let client = client(&[&[ALLOWED], &[FORBIDDEN]]);
    let found = send(&client, &format!("http://example.test:{port}/")).await;
    assert_eq!(found, Err(UrlRejection::Host), "the name resolves to a forbidden address");
}

#[tokio::test]
async fn redirects_are_limited() {
    let port = server(ALLOWED, reply("302 Found", Some("/again"))).await;
    let found = send(&client(&[&[ALLOWED]]), &format!("http://{ALLOWED}:{port}/")).await;
    assert_eq!(found, Err(UrlRejection::Redirects));
}
