//! Tests of the hosts that a feed may reach: with a URL of an untrusted user, and with redirects.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use lineside_sync::{Clock, RealClock, UnixMillis};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::{
    FetchOutcome, PostRequest, SharedFetchContext, SourceFetcher, SourceRequest, client::HttpClient,
};
use crate::{
    feed_config::FeedConfig,
    feed_id::FeedId,
    fetch_failure::{FailureCode, FetchError},
    limits::REDIRECTS_MAX,
    public_only::AddressPolicy,
    source::SourceLocation,
};

/// The only address that counts as public here, and a private one.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
const PRIVATE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

fn is_public(address: IpAddr) -> bool {
    address == IpAddr::V4(PUBLIC)
}

/// Starts a server that answers every request alike. Returns its port and the number of requests.
async fn server(address: Ipv4Addr, status: &str, headers: &str) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let n_requests = Arc::new(AtomicUsize::new(0));
    let reply =
        format!("HTTP/1.1 {status}\r\n{headers}content-length: 2\r\nconnection: close\r\n\r\n{{}}");
    let count = Arc::clone(&n_requests);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let mut request = [0; 4_096];
            _ = socket.read(&mut request).await;
            _ = socket.write_all(reply.as_bytes()).await;
        }
    });
    (port, n_requests)
}

/// Fetches a URL of an untrusted user.
async fn fetch(url: &str) -> Result<FetchOutcome, FetchError> {
    fetch_as(true, url).await
}

async fn fetch_for_operator(url: &str) -> Result<FetchOutcome, FetchError> {
    fetch_as(false, url).await
}

async fn fetch_as(public_only: bool, url: &str) -> Result<FetchOutcome, FetchError> {
    let client = |client: HttpClient| {
        client.with_address_policy(AddressPolicy::with_address_check(is_public))
    };
    Source::new(public_only, url, client).fetch(SourceRequest::Plain).await
}

/// A feed's source, fetched several times.
struct Source {
    sources: SharedFetchContext,
    config: Arc<FeedConfig>,
    fetcher: SourceFetcher,
}

impl Source {
    fn new(public_only: bool, url: &str, client: impl Fn(HttpClient) -> HttpClient) -> Source {
        let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
        let mut sources = SharedFetchContext::new("", clock, Arc::default());
        sources.client = client(sources.client);
        let url = SourceLocation::parse(url).unwrap();
        let config = FeedConfig { public_only, ..FeedConfig::new(FeedId::new("a").unwrap(), url) };
        let config = Arc::new(config);
        let fetcher = SourceFetcher::new(&config, &sources);
        Source { sources, config, fetcher }
    }

    async fn fetch(&mut self, question: SourceRequest) -> Result<FetchOutcome, FetchError> {
        let clock = Arc::clone(&self.sources.clock);
        let now = clock.monotonic();
        let permit = self
            .sources
            .rate_limit_bucket_for_feed(&self.config)
            .reserve_request_time(now, now)
            .wait_for_permit(clock)
            .await;
        self.fetcher.fetch_source(permit, question).await
    }
}

/// Returns a source whose name resolves to the public address first and to the private one from the second lookup on.
fn rebound(port: u16) -> Source {
    let address_policy = AddressPolicy::with_address_check(is_public)
        .with_fixed_resolved_address(IpAddr::V4(PRIVATE));
    Source::new(false, &format!("http://localhost:{port}/"), move |client| {
        client.with_address_policy(address_policy.clone())
    })
}

#[track_caller]
fn assert_refused(fetched: Result<FetchOutcome, FetchError>) {
    let failure = fetched.unwrap_err();
    assert_eq!(failure.code, FailureCode::Connect);
    assert_eq!(failure.detail, "not requested: the host is not on the public internet");
}

#[tokio::test]
async fn a_public_host_is_fetched() {
    let (port, n_requests) = server(PUBLIC, "200 OK", "").await;
    let fetched = fetch(&format!("http://{PUBLIC}:{port}/")).await.unwrap();
    assert!(matches!(fetched, FetchOutcome::Body(body) if body.bytes == "{}"));
    assert_eq!(n_requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_private_host_is_never_contacted() {
    let (port, n_requests) = server(PRIVATE, "200 OK", "").await;
    assert_refused(fetch(&format!("http://{PRIVATE}:{port}/")).await);
    let to = format!("location: http://{PRIVATE}:{port}/\r\n");
    let (public, redirected) = server(PUBLIC, "302 Found", &to).await;
    assert_refused(fetch(&format!("http://{PUBLIC}:{public}/")).await);
    assert_eq!((redirected.load(Ordering::SeqCst), n_requests.load(Ordering::SeqCst)), (1, 0));
}

#[tokio::test]
async fn an_unknown_host_name_is_a_dns_failure() {
    let failure = fetch("http://nobody.invalid/").await.unwrap_err();
    assert_eq!(failure.code, FailureCode::Dns, "{}", failure.detail);
}

#[tokio::test]
async fn redirects_of_untrusted_urls_are_limited() {
    let (port, n_requests) = server(PUBLIC, "302 Found", "location: /again\r\n").await;
    let failure = fetch(&format!("http://{PUBLIC}:{port}/")).await.unwrap_err();
    assert!(failure.detail.contains("redirects"), "{}", failure.detail);
    assert_eq!(n_requests.load(Ordering::SeqCst), REDIRECTS_MAX + 1);
}

#[tokio::test]
async fn a_public_producer_may_redirect_to_public_hosts_only() {
    let (port, requests) = server(PRIVATE, "200 OK", "").await;
    let location = format!("location: http://{PRIVATE}:{port}/\r\n");
    let (public, _) = server(PUBLIC, "302 Found", &location).await;
    let url = format!("http://{PUBLIC}:{public}/");
    assert_refused(fetch_for_operator(&url).await);
    // A second public host does not help either.
    let (second, _) = server(PUBLIC, "302 Found", &format!("location: {url}\r\n")).await;
    assert_refused(fetch_for_operator(&format!("http://{PUBLIC}:{second}/")).await);
    assert_eq!(requests.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_private_producer_may_redirect_to_a_private_host() {
    let (port, requests) = server(PRIVATE, "200 OK", "").await;
    let location = format!("location: http://{PRIVATE}:{port}/\r\n");
    let (first, _) = server(PRIVATE, "302 Found", &location).await;
    let fetched = fetch_for_operator(&format!("http://{PRIVATE}:{first}/")).await.unwrap();
    assert!(matches!(fetched, FetchOutcome::Body(body) if body.bytes == "{}"));
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_public_name_that_becomes_private_is_rejected() {
    let (port, n_requests) = server(PUBLIC, "302 Found", "location: /again\r\n").await;
    assert_refused(rebound(port).fetch(SourceRequest::Plain).await);
    assert_eq!(n_requests.load(Ordering::SeqCst), 1);
    // The next poll fails too, whatever the request.
    let (port, n_requests) = server(PUBLIC, "200 OK", "").await;
    let mut source = rebound(port);
    source.fetch(SourceRequest::Plain).await.unwrap();
    assert_refused(source.fetch(SourceRequest::Plain).await);
    let (body, content_type) = (bytes::Bytes::from_static(b"{}"), "application/json");
    let post = PostRequest { body, content_type, action: None, secret: None };
    assert_refused(source.fetch(SourceRequest::Post(post)).await);
    assert_eq!(n_requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn behind_a_proxy_the_host_of_the_url_is_checked() {
    let (port, n_requests) = server(PRIVATE, "200 OK", "").await;
    let location = format!("location: http://{PRIVATE}:{port}/\r\n");
    let (public, _) = server(PUBLIC, "302 Found", &location).await;
    let proxied = |url: &str| {
        let client = |client: HttpClient| {
            client
                .with_address_policy(AddressPolicy::with_address_check(is_public))
                .assume_environment_proxy()
        };
        Source::new(false, url, client)
    };
    let url = format!("http://{PUBLIC}:{public}/");
    assert_refused(proxied(&url).fetch(SourceRequest::Plain).await);
    assert_eq!(n_requests.load(Ordering::SeqCst), 0);
    let (first, _) = server(PRIVATE, "302 Found", &location).await;
    let url = format!("http://{PRIVATE}:{first}/");
    proxied(&url).fetch(SourceRequest::Plain).await.unwrap();
    assert_eq!(n_requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn credentials_in_the_url_are_sent_to_a_public_host_at_every_poll() {
    let listener = TcpListener::bind((PUBLIC, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = |client: HttpClient| {
        client.with_address_policy(AddressPolicy::with_address_check(is_public))
    };
    let url = format!("http://me:a%20key@{PUBLIC}:{port}/");
    let mut source = Source::new(false, &url, client);
    for _ in 0..2 {
        let answering = async {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 4_096];
            let length = socket.read(&mut request).await.unwrap();
            let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            socket.write_all(reply).await.unwrap();
            String::from_utf8_lossy(&request[..length]).to_lowercase()
        };
        let (fetched, request) = tokio::join!(source.fetch(SourceRequest::Plain), answering);
        fetched.unwrap();
        // User and password in base64, lower-cased here.
        let sent: Vec<_> =
            request.lines().filter(|line| line.starts_with("authorization")).collect();
        assert_eq!(sent, ["authorization: basic bwu6ysbrzxk="], "{request}");
    }
}

#[tokio::test]
async fn bytes_of_another_host_are_not_shown() {
    let (port, _) = server(PUBLIC, "404 Not Found", "").await;
    let own = fetch_for_operator(&format!("http://{PUBLIC}:{port}/")).await.unwrap_err();
    assert_eq!(own.into_fetch_failure(UnixMillis(0)).head.as_deref(), Some("{}"));
    let location = format!("location: http://{PUBLIC}:{port}/\r\n");
    let (first, _) = server(PUBLIC, "302 Found", &location).await;
    let other = fetch_for_operator(&format!("http://{PUBLIC}:{first}/")).await.unwrap_err();
    let other = other.into_fetch_failure(UnixMillis(0));
    assert_eq!((other.code, other.head), (FailureCode::Http(404), None));
}
