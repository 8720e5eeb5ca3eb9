//! A client of `/connection/websocket`, written from the protocol's documentation only: JSON, one command at a time.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use lineside_testkit::WAIT_MAX;
use serde_json::{Value, json};

/// A connected client.
pub(crate) struct Socket {
    stream: TcpStream,
    unread: Vec<u8>,
    /// Messages that were received and not requested yet.
    messages: VecDeque<Value>,
    last_id: u64,
}

impl Socket {
    pub(crate) fn open(server: &str) -> Self {
        let address = server.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(WAIT_MAX)).unwrap();
        let head = format!(
            "GET /connection/websocket HTTP/1.1\r\nhost: {address}\r\nupgrade: websocket\r\n\
             connection: upgrade\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut socket = Self { stream, unread: Vec::new(), messages: VecDeque::new(), last_id: 0 };
        let head = socket.head();
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        let welcome = socket.call("connect", json!({}));
        assert!(welcome["connect"]["client"].is_string(), "{welcome}");
        socket
    }

    /// Subscribes, from a position if there is one. Returns the reply, followed by its publications.
    pub(crate) fn subscribe(&mut self, channel: &str, from: Option<(&str, u64)>) -> Value {
        let mut request = json!({ "channel": channel });
        if let Some((epoch, offset)) = from {
            request["recover"] = json!(true);
            request["epoch"] = json!(epoch);
            request["offset"] = json!(offset);
        }
        let reply = self.call("subscribe", request);
        assert!(reply["subscribe"].is_object(), "{reply}");
        reply["subscribe"].clone()
    }

    /// Returns the next publication of a channel.
    pub(crate) fn publication(&mut self, channel: &str) -> Value {
        let mut message = self.message(|message| {
            let push = &message["push"];
            push["channel"] == channel && push["pub"].is_object()
        });
        message["push"]["pub"].take()
    }

    fn call(&mut self, command: &str, request: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.send(json!({ "id": id, command: request }).to_string().as_bytes());
        self.message(|message| message["id"] == id)
    }

    /// Returns the first message that satisfies `is_match`; others stay for later.
    fn message(&mut self, is_match: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(found) = self.messages.iter().position(&is_match) {
                return self.messages.remove(found).unwrap();
            }
            self.read_frame();
        }
    }

    /// Sends a text frame, masked with zeros, as the protocol allows.
    fn send(&mut self, text: &[u8]) {
        let mut frame = vec![0x81];
        match u8::try_from(text.len()) {
            Ok(length) if length < 126 => frame.push(0x80 | length),
            _ => {
                frame.push(0x80 | 126);
                frame.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(text);
        self.stream.write_all(&frame).unwrap();
    }

    /// Reads the messages of the next text frame.
    fn read_frame(&mut self) {
        loop {
            let [first, length] = self.take(2)[..] else { unreachable!("two were taken") };
            let length = match length {
                127 => usize::try_from(u64::from_be_bytes(self.array())).unwrap(),
                126 => u16::from_be_bytes(self.array()).into(),
                length => length.into(),
            };
            let content = self.take(length);
            match first {
                0x81 => {
                    let text = String::from_utf8(content).unwrap();
                    let messages = text.lines().map(|line| serde_json::from_str(line).unwrap());
                    self.messages.extend(messages);
                    return;
                }
                0x88 => panic!("closed: {}", String::from_utf8_lossy(&content)),
                _ => {}
            }
        }
    }

    fn head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.extend(self.take(1));
        }
        String::from_utf8(head).unwrap()
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        self.take(N).try_into().unwrap()
    }

    fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut some = [0; 16 << 10];
        while self.unread.len() < bytes {
            let n = self.stream.read(&mut some).unwrap();
            assert!(n > 0, "the connection ended");
            self.unread.extend(&some[..n]);
        }
        self.unread.drain(..bytes).collect()
    }
}
