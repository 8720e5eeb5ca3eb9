//! A producer on a loopback socket that answers as a test wants, and remembers how it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What a request is answered with.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: &'static str,
    pub(crate) headers: Vec<&'static str>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn ok(body: &str) -> Self {
        Self { status: "200 OK", headers: Vec::new(), body: body.to_owned() }
    }

    pub(crate) fn with(mut self, header: &'static str) -> Self {
        self.headers.push(header);
        self
    }

    pub(crate) fn refused(status: &'static str, body: &str) -> Self {
        Self { status, ..Self::ok(body) }
    }
}

/// Answers a request, of which it sees all there is.
type Answer = dyn Fn(&str) -> Reply + Send + Sync;

/// A running producer.
#[derive(Clone)]
pub(crate) struct Producer {
    address: SocketAddr,
    answer: Arc<Answer>,
    /// How long it thinks about each request.
    slowness: Duration,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    requests: Vec<String>,
    n_open: usize,
    n_open_most: usize,
}

impl Producer {
    pub(crate) async fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        Self::slow(Duration::ZERO, answer).await
    }

    pub(crate) async fn slow(
        slowness: Duration,
        answer: impl Fn(&str) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let producer = Self { address, answer: Arc::new(answer), slowness, seen: Arc::default() };
        let serving = producer.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let producer = serving.clone();
                tokio::spawn(async move { producer.serve(socket).await });
            }
        });
        producer
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Every request so far: line, head, and body where there is one.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().requests.clone()
    }

    /// How many requests so far were for this path.
    pub(crate) fn n_asked(&self, path: &str) -> usize {
        let is_for = |request: &&String| request.split(' ').nth(1) == Some(path);
        self.seen.lock().unwrap().requests.iter().filter(is_for).count()
    }

    /// How many requests it had at once, at most.
    pub(crate) fn n_open_most(&self) -> usize {
        self.seen.lock().unwrap().n_open_most
    }

    async fn serve(&self, mut socket: TcpStream) {
        let Some(request) = read_request(&mut socket).await else { return };
        {
            let mut seen = self.seen.lock().unwrap();
            seen.n_open += 1;
            seen.n_open_most = seen.n_open_most.max(seen.n_open);
            seen.requests.push(request.clone());
        }
        let reply = (self.answer)(&request);
        tokio::time::sleep(self.slowness).await;
        let mut out = format!("HTTP/1.1 {}\r\nconnection: close\r\n", reply.status);
        out.push_str(&format!("content-length: {}\r\n", reply.body.len()));
        reply.headers.iter().for_each(|header| out.push_str(&format!("{header}\r\n")));
        out.push_str(&format!("\r\n{}", reply.body));
        // Whoever has the reply may ask again before this goes on.
        self.seen.lock().unwrap().n_open -= 1;
        // The client may have given up already; that is its right.
        let _ = socket.write_all(out.as_bytes()).await;
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.ok()?);
    }
    let mut request = String::from_utf8(head).unwrap();
    let length = request
        .to_ascii_lowercase()
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    socket.read_exact(&mut body).await.ok()?;
    request.push_str(&String::from_utf8(body).unwrap());
    Some(request)
}
