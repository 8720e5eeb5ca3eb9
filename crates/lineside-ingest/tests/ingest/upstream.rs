//! Test helper: a producer on a loopback socket with configurable replies.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use lineside_sync::{Clock as _, RealClock};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const DRIP_INTERVAL: Duration = Duration::from_millis(20);

/// The producer's reaction to a request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Sends these bytes, including the head, and closes the connection.
    Bytes(Vec<u8>),
    /// Sends these bytes, then nothing.
    ThenHang(Vec<u8>),
    /// Sends the first part at once, then one byte of the rest each 20 ms.
    Drip(Vec<u8>, Vec<u8>),
    /// Closes the connection at once.
    HangUp,
    /// Sends the next of these replies, including heads, to each request; repeats the last one.
    InTurn(Vec<Vec<u8>>),
    /// Sends 304 if the request has this entity tag, else the bytes.
    Conditional(&'static str, Vec<u8>),
}

/// A running producer.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    answer: Arc<Mutex<Answer>>,
    /// The requests so far: heads in lower case, followed by bodies.
    requests: Arc<Mutex<Vec<String>>>,
}

impl Upstream {
    pub(crate) async fn start(answer: Answer) -> Upstream {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let upstream = Upstream {
            address: listener.local_addr().unwrap(),
            answer: Arc::new(Mutex::new(answer)),
            requests: Arc::default(),
        };
        let serving = upstream.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let upstream = serving.clone();
                tokio::spawn(async move { upstream.serve(socket).await });
            }
        });
        upstream
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn set(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    fn next(&self) -> Answer {
        let mut answer = self.answer.lock().unwrap();
        match &mut *answer {
            Answer::InTurn(all) if all.len() > 1 => Answer::Bytes(all.remove(0)),
            Answer::InTurn(all) => Answer::Bytes(all[0].clone()),
            other => other.clone(),
        }
    }

    async fn serve(&self, mut socket: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match socket.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut sent = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
        if socket.read_exact(&mut sent).await.is_err() {
            return;
        }
        let sent = head.clone() + std::str::from_utf8(&sent).unwrap();
        self.requests.lock().unwrap().push(sent);
        let answer = self.next();
        // The client may have given up already.
        match answer {
            Answer::Bytes(bytes) => {
                let _ = socket.write_all(&bytes).await;
            }
            Answer::InTurn(_) => unreachable!("next returns one of the replies"),
            Answer::ThenHang(bytes) => {
                let _ = socket.write_all(&bytes).await;
                let _ = socket.read_u8().await;
            }
            Answer::Drip(head, rest) => {
                let _ = socket.write_all(&head).await;
                let clock = RealClock::new();
                for byte in rest {
                    clock.sleep(DRIP_INTERVAL).await;
                    if socket.write_u8(byte).await.is_err() {
                        break;
                    }
                }
            }
            Answer::HangUp => {}
            Answer::Conditional(etag, bytes) => {
                let known = head.contains(&format!("if-none-match: {etag}"));
                let reply =
                    if known { b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec() } else { bytes };
                let _ = socket.write_all(&reply).await;
            }
        }
    }
}

/// Returns a reply with its content length.
pub(crate) fn http(status: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut out = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
    for header in headers {
        out.push_str(header);
        out.push_str("\r\n");
    }
    out.push_str("\r\n");
    let mut out = out.into_bytes();
    out.extend_from_slice(body);
    out
}

/// Returns a reply whose body ends with the connection.
pub(crate) fn unmeasured(headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut out = String::from("HTTP/1.1 200 OK\r\nconnection: close\r\n");
    for header in headers {
        out.push_str(header);
        out.push_str("\r\n");
    }
    out.push_str("\r\n");
    let mut out = out.into_bytes();
    out.extend_from_slice(body);
    out
}
