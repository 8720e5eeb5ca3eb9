//! A producer on a loopback socket that answers as it is told.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the producer does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// These bytes, head and all, then the end of the connection.
    Bytes(Vec<u8>),
    /// These bytes, then silence.
    ThenHang(Vec<u8>),
    /// 304 where the request has this entity tag, else the bytes.
    Conditional(&'static str, Vec<u8>),
}

/// A running producer.
#[derive(Clone, Debug)]
pub(crate) struct Producer {
    address: SocketAddr,
    answer: Arc<Mutex<Answer>>,
    /// The heads of the requests so far, in lower case.
    requests: Arc<Mutex<Vec<String>>>,
}

impl Producer {
    pub(crate) async fn start(answer: Answer) -> Producer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let producer =
            Producer { address, answer: Arc::new(Mutex::new(answer)), requests: Arc::default() };
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

    pub(crate) fn set(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
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
        // Who asks has no answer before the request is counted.
        let answer = self.answer.lock().unwrap().clone();
        self.requests.lock().unwrap().push(head.clone());
        // The server may have given up already; that is its right.
        match answer {
            Answer::Bytes(bytes) => {
                _ = socket.write_all(&bytes).await;
            }
            Answer::ThenHang(bytes) => {
                _ = socket.write_all(&bytes).await;
                _ = socket.read_u8().await;
            }
            Answer::Conditional(tag, bytes) => {
                let is_known = head.contains(&format!("if-none-match: {tag}"));
                let reply =
                    if is_known { b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec() } else { bytes };
                _ = socket.write_all(&reply).await;
            }
        }
    }
}

/// A whole answer with its length, after which the connection ends.
pub(crate) fn answer(status: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let length = format!("content-length: {}", body.len());
    [head(status, &[&[length.as_str()], headers].concat()).as_bytes(), body].concat()
}

/// An answer whose body ends with the connection.
pub(crate) fn unmeasured(headers: &[&str], body: &[u8]) -> Vec<u8> {
    [head("200 OK", headers).as_bytes(), body].concat()
}

fn head(status: &str, headers: &[&str]) -> String {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n")
}
