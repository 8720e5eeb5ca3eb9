//! A producer on a loopback socket that replies as a test requires, and records the requests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The producer's reply to a request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// These bytes, including the head, then the end of the connection.
    Bytes(Vec<u8>),
    /// These bytes, then silence.
    ThenHang(Vec<u8>),
    /// 304 if the request has this entity tag, else the bytes.
    Conditional(&'static str, Vec<u8>),
}

/// The parts of a complete reply.
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

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self::Bytes(answer(reply.status, &reply.headers, reply.body.as_bytes()))
    }
}

/// Returns the reply to a request, which is passed as a whole.
type Answers = dyn Fn(&str) -> Answer + Send + Sync;

/// A running producer.
#[derive(Clone)]
pub(crate) struct Producer {
    address: SocketAddr,
    answers: Arc<Mutex<Arc<Answers>>>,
    /// The delay of each reply.
    delay: Duration,
    request_log: Arc<Mutex<RequestLog>>,
}

#[derive(Default)]
struct RequestLog {
    requests: Vec<String>,
    n_open: usize,
    n_open_max: usize,
}

impl Producer {
    /// Starts a producer that replies to every request alike.
    pub(crate) async fn start(answer: Answer) -> Self {
        Self::slow(Duration::ZERO, move |_| answer.clone()).await
    }

    /// Starts a producer whose reply depends on the request.
    pub(crate) async fn answering<A: Into<Answer>>(
        answer: impl Fn(&str) -> A + Send + Sync + 'static,
    ) -> Self {
        Self::slow(Duration::ZERO, answer).await
    }

    /// Starts a producer with delayed replies.
    pub(crate) async fn slow<A: Into<Answer>>(
        slowness: Duration,
        answer: impl Fn(&str) -> A + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let answers: Arc<Answers> = Arc::new(move |request| answer(request).into());
        let answers = Arc::new(Mutex::new(answers));
        let producer = Self { address, answers, delay: slowness, request_log: Arc::default() };
        let serving = producer.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let producer = serving.clone();
                tokio::spawn(async move { producer.serve(socket).await });
            }
        });
        producer
    }

    /// Sets the reply to all further requests.
    pub(crate) fn set(&self, answer: Answer) {
        *self.answers.lock().unwrap() = Arc::new(move |_| answer.clone());
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns all requests so far: line, head, and body if there is one.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.request_log.lock().unwrap().requests.clone()
    }

    /// Returns all requests in lower case, because header names are case-insensitive.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.requests().iter().map(|request| request.to_lowercase()).collect()
    }

    /// Returns the number of requests for a path so far.
    pub(crate) fn count_requests(&self, path: &str) -> usize {
        let is_for = |request: &&String| request.split(' ').nth(1) == Some(path);
        self.request_log.lock().unwrap().requests.iter().filter(is_for).count()
    }

    /// Returns the maximum number of concurrent requests.
    pub(crate) fn n_open_most(&self) -> usize {
        self.request_log.lock().unwrap().n_open_max
    }

    async fn serve(&self, mut socket: TcpStream) {
        let Some(request) = read_request(&mut socket).await else { return };
        // The request is counted before the client gets a reply.
        let answers = Arc::clone(&self.answers.lock().unwrap());
        {
            let mut seen = self.request_log.lock().unwrap();
            seen.n_open += 1;
            seen.n_open_max = seen.n_open_max.max(seen.n_open);
            seen.requests.push(request.clone());
        }
        let answer = answers(&request);
        tokio::time::sleep(self.delay).await;
        // The client may send its next request before this task continues.
        self.request_log.lock().unwrap().n_open -= 1;
        // The server may have closed the connection already.
        match answer {
            Answer::Bytes(bytes) => {
                _ = socket.write_all(&bytes).await;
            }
            Answer::ThenHang(bytes) => {
                _ = socket.write_all(&bytes).await;
                _ = socket.read_u8().await;
            }
            Answer::Conditional(tag, bytes) => {
                let condition = format!("if-none-match: {tag}");
                let is_known = request.to_lowercase().contains(&condition);
                let reply =
                    if is_known { b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec() } else { bytes };
                _ = socket.write_all(&reply).await;
            }
        }
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

/// Encodes a complete reply with its length, after which the connection ends.
pub(crate) fn answer(status: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let length = format!("content-length: {}", body.len());
    [head(status, &[&[length.as_str()], headers].concat()).as_bytes(), body].concat()
}

/// Encodes a reply whose body ends with the connection.
pub(crate) fn unmeasured(headers: &[&str], body: &[u8]) -> Vec<u8> {
    [head("200 OK", headers).as_bytes(), body].concat()
}

fn head(status: &str, headers: &[&str]) -> String {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n")
}
