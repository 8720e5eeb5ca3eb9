//! A scripted server with real sockets: it accepts sessions, forwards publications, and injects the faults of its
//! script.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use bytes::{Bytes, BytesMut};
use lineside_wire::centrifuge::message::{
    ConnectResult, Publication, Push, Reply, SubscribeResult,
};
use lineside_wire::centrifuge::{CommandReader, CommandRequest, ProtocolFormat};
use lineside_wire::websocket::frame::{self, Opcode};
use lineside_wire::websocket::{
    EndpointRole, Inflater, MESSAGE_BYTES_MAX, WebSocketEvent, WebSocketReader, handshake,
};

/// The injected faults. Sessions are counted from 0 in the order of arrival, offsets from 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// All sessions are refused.
    pub(crate) full: bool,
    /// This session does not receive this publication.
    pub(crate) forgets: Option<(usize, u64)>,
    /// This session receives this publication twice.
    pub(crate) repeats: Option<(usize, u64)>,
    /// This session is closed at this publication, as too slow.
    pub(crate) closes: Option<(usize, u64)>,
    /// All sessions are pinged before each publication, in both forms.
    pub(crate) pings: bool,
    /// Frames are sent in two writes.
    pub(crate) splits_frames: bool,
}

pub(crate) struct Server {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    script: Script,
    sessions: Mutex<Vec<Session>>,
    offset: AtomicU64,
    pongs: AtomicUsize,
}

struct Session {
    socket: TcpStream,
    /// The message format; `None` for an event stream.
    format: Option<ProtocolFormat>,
}

impl Server {
    pub(crate) fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { script, ..Shared::default() });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let shared = Arc::clone(&accepting);
                // The thread ends when the client disconnects.
                thread::spawn(move || _ = shared.serve(socket));
            }
        });
        Self { url: format!("http://{address}"), shared }
    }

    /// Returns the number of received pongs.
    pub(crate) fn pongs(&self) -> usize {
        self.shared.pongs.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn serve(&self, socket: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(socket.try_clone()?);
        loop {
            let head = read_head(&mut reader)?;
            let mut words = head[0].split(' ');
            let (method, path) =
                (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let header = |name: &str| {
                let mut headers = head[1..].iter().filter_map(|line| line.split_once(": "));
                headers
                    .find(|(is_authorized, _)| is_authorized.eq_ignore_ascii_case(name))
                    .map(|(_, value)| value)
            };
            if method == "POST" {
                let length =
                    header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
                let mut body = vec![0; length];
                reader.read_exact(&mut body)?;
                let is_authorized = header("x-api-key") == Some("secret");
                self.answer(&socket, path, is_authorized, &body)?;
                continue;
            }
            if self.script.full {
                return write(&socket, b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 7\r\ncontent-length: 21\r\n\r\n{\"detail\":\"all taken\"}");
            }
            if path.starts_with("/events?channel=") {
                return self.stream(socket, path);
            }
            return self.websocket(socket, method, &head[1..], &mut reader);
        }
    }

    fn answer(
        &self,
        socket: &TcpStream,
        path: &str,
        is_authorized: bool,
        body: &[u8],
    ) -> std::io::Result<()> {
        let (status, answer) = match (is_authorized, path) {
            (false, _) => ("401 Unauthorized", "{}".to_owned()),
            (true, "/api/publish") => {
                let message: serde_json::Value = serde_json::from_slice(body).unwrap();
                let data = Bytes::from(message["data"].to_string());
                let offset = self.publish(message["channel"].as_str().unwrap(), &data)?;
                (
                    "200 OK",
                    serde_json::json!({"result": {"offset": offset, "epoch": "e"}}).to_string(),
                )
            }
            (true, _) => ("200 OK", "{\"result\":{}}".to_owned()),
        };
        let length = answer.len();
        write(
            socket,
            format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{answer}").as_bytes(),
        )
    }

    fn publish(&self, channel: &str, data: &Bytes) -> std::io::Result<u64> {
        let offset = self.offset.fetch_add(1, Ordering::SeqCst) + 1;
        let Script { forgets, repeats, closes, pings, splits_frames: tears, .. } = self.script;
        for (n, session) in self.sessions.lock().unwrap().iter().enumerate() {
            let publication = session.publication(channel, data, offset);
            if pings && let Some(format) = session.format {
                write(&session.socket, &session.reply(&Reply::default(), format))?;
                write(&session.socket, &frame::PING)?;
            }
            if closes == Some((n, offset)) {
                write(&session.socket, &frame::encode_close_frame(3008, "slow"))?;
            } else if forgets != Some((n, offset)) {
                let times = if repeats == Some((n, offset)) { 2 } else { 1 };
                for _ in 0..times {
                    let (first, second) =
                        publication.split_at(if tears { publication.len() / 2 } else { 0 });
                    write(&session.socket, first)?;
                    write(&session.socket, second)?;
                }
            }
        }
        Ok(offset)
    }

    /// Serves an event stream. A feed's state comes first, in two parts.
    fn stream(&self, socket: TcpStream, path: &str) -> std::io::Result<()> {
        let session = Session { socket, format: None };
        write(&session.socket, b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")?;
        write(&session.socket, &chunk(b"retry: 1000\n\n"))?;
        let mut sessions = self.sessions.lock().unwrap();
        if path.contains("feed%2Fcity") {
            let records = "x".repeat(100_000);
            let part = |part: u32| {
                format!(r#"{{"at":1,"state":{{"part":{part},"parts":2}},"changes":["{records}"]}}"#)
            };
            let first = format!(
                "data: {{\"channel\":\"feed/city\",\"epoch\":\"e\",\"data\":{}}}\n\n",
                part(1)
            );
            write(&session.socket, &chunk(first.as_bytes()))?;
            let offset = self.offset.load(Ordering::SeqCst);
            write(&session.socket, &session.publication("feed/city", &part(2).into(), offset))?;
        }
        sessions.push(session);
        Ok(())
    }

    fn websocket(
        &self,
        socket: TcpStream,
        method: &str,
        headers: &[String],
        reader: &mut BufReader<TcpStream>,
    ) -> std::io::Result<()> {
        let headers = headers.iter().filter_map(|line| line.split_once(": "));
        let accepted = handshake::check_handshake_request(
            method,
            headers.map(|(name, value)| (name, value.as_bytes())),
        )
        .unwrap();
        let format = accepted.format.unwrap();
        let mut answer = "HTTP/1.1 101 Switching Protocols\r\n".to_owned();
        accepted
            .reply_headers()
            .for_each(|(name, value)| answer += &format!("{name}: {value}\r\n"));
        write(&socket, format!("{answer}\r\n").as_bytes())?;
        let mut frames = WebSocketReader::new(EndpointRole::Server, MESSAGE_BYTES_MAX, false);
        let mut inflater = Inflater::default();
        loop {
            let length = reader.fill_buf()?.len();
            let mut bytes = reader.buffer().to_vec();
            reader.consume(length);
            if length == 0 {
                return Ok(());
            }
            let mut input = &mut bytes[..];
            while let Some(event) = frames.next_event(&mut input, &mut inflater) {
                match event.unwrap() {
                    WebSocketEvent::Text(text) => self.hear(&socket, format, text.as_bytes())?,
                    WebSocketEvent::Binary(bytes) => self.hear(&socket, format, &bytes)?,
                    WebSocketEvent::Pong(_) => _ = self.pongs.fetch_add(1, Ordering::SeqCst),
                    other => panic!("unexpected message {other:?}"),
                }
            }
        }
    }

    fn hear(
        &self,
        socket: &TcpStream,
        format: ProtocolFormat,
        message: &[u8],
    ) -> std::io::Result<()> {
        for command in CommandReader::new(format, message) {
            let command = command.unwrap();
            let mut reply = Reply { id: command.id, ..Reply::default() };
            let session = Session { socket: socket.try_clone()?, format: Some(format) };
            match command.request {
                CommandRequest::Connect(_) => {
                    reply.connect = Some(ConnectResult {
                        client: "c".to_owned(),
                        ping: 25,
                        pong: true,
                        ..ConnectResult::default()
                    });
                    write(socket, &session.reply(&reply, format))?;
                }
                CommandRequest::Subscribe(_) => {
                    let mut sessions = self.sessions.lock().unwrap();
                    let offset = self.offset.load(Ordering::SeqCst);
                    reply.subscribe = Some(SubscribeResult {
                        recoverable: true,
                        epoch: "e".to_owned(),
                        offset,
                        positioned: true,
                        ..SubscribeResult::default()
                    });
                    write(socket, &session.reply(&reply, format))?;
                    sessions.push(session);
                }
                CommandRequest::Pong => _ = self.pongs.fetch_add(1, Ordering::SeqCst),
                other => panic!("unexpected request {other:?}"),
            }
        }
        Ok(())
    }
}

impl Session {
    fn reply(&self, reply: &Reply, format: ProtocolFormat) -> Bytes {
        let mut message = BytesMut::new();
        reply.append_to_message(format, &mut message);
        let mut framed = BytesMut::new();
        let opcode = if format == ProtocolFormat::Json { Opcode::Text } else { Opcode::Binary };
        frame::write_frame_head(&mut framed, opcode, false, message.len());
        framed.extend_from_slice(&message);
        framed.freeze()
    }

    fn publication(&self, channel: &str, data: &Bytes, offset: u64) -> Bytes {
        let Some(format) = self.format else {
            let data = String::from_utf8_lossy(data);
            let event = format!(
                "data: {{\"channel\":\"{channel}\",\"epoch\":\"e\",\"offset\":{offset},\"data\":{data}}}\nid: e:{offset}\n\n"
            );
            return chunk(event.as_bytes()).into();
        };
        let publication = Publication { data: data.clone(), offset, ..Publication::default() };
        let push =
            Push { channel: channel.to_owned(), publication: Some(publication), ..Push::default() };
        self.reply(&Reply { push: Some(push), ..Reply::default() }, format)
    }
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

fn read_head(reader: &mut BufReader<TcpStream>) -> std::io::Result<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end() {
            "" => return Ok(lines),
            text => lines.push(text.to_owned()),
        }
    }
}

fn write(mut socket: &TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    socket.write_all(bytes)
}
