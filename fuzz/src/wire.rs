//! Checks of connections: the data that clients send over a WebSocket.

use bytes::BytesMut;
use lineside_wire::centrifuge::{Command, CommandReader, ProtocolFormat, Reply};
use lineside_wire::websocket::{
    Deflater, EndpointRole, Inflater, WebSocketEvent, WebSocketReadError, WebSocketReader,
};

/// Largest message in these checks.
const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// Bytes that a reader may hold besides a message.
const READER_BYTES_MAX: usize = 512;

/// Checks a connection: the first byte determines the size of its pieces, the role of the reader, and compression.
pub fn websocket(bytes: &[u8]) {
    let Some((&how, bytes)) = bytes.split_first() else { return };
    let role = if how & 1 == 0 { EndpointRole::Server } else { EndpointRole::Client };
    let deflate = how & 2 == 0;
    let piece = usize::from(how >> 2) + 1;
    let whole = read(role, deflate, [bytes]);
    let in_pieces = read(role, deflate, bytes.chunks(piece));
    assert_eq!(whole, in_pieces, "in pieces of {piece} bytes the same is read");
    // Inflated text can be deflated, and inflates to the same text.
    let (mut deflater, mut inflater) = (Deflater::default(), Inflater::default());
    for event in whole.into_iter().flatten() {
        if let WebSocketEvent::Text(text) = event {
            let mut payload = Default::default();
            deflater.deflate_message(text.as_bytes(), &mut payload);
            let again = inflater.inflate_message(&payload, text.len());
            assert_eq!(again.as_deref(), Ok(text.as_bytes()));
        }
    }
}

/// Checks a message of commands or replies in JSON.
pub fn centrifuge_json(bytes: &[u8]) {
    messages(ProtocolFormat::Json, bytes);
}

/// Checks a message of commands or replies in protobuf.
pub fn centrifuge_protobuf(bytes: &[u8]) {
    messages(ProtocolFormat::Protobuf, bytes);
}

/// Checks that decoded messages can be written and read again in either format.
fn messages(format: ProtocolFormat, bytes: &[u8]) {
    for command in CommandReader::new(format, bytes).flatten() {
        if format == ProtocolFormat::Protobuf {
            assert_eq!(through(&command, format), command);
        }
        let mut json = BytesMut::new();
        if command.append_to_message(ProtocolFormat::Json, &mut json).is_err() {
            // In protobuf, data may be arbitrary bytes.
            continue;
        }
        let command = through(&command, ProtocolFormat::Json);
        assert_eq!(through(&command, ProtocolFormat::Protobuf), command);
        assert_eq!(through(&command, ProtocolFormat::Json), command);
    }
    for reply in Reply::read_replies_of_message(format, bytes).flatten() {
        let mut again = BytesMut::new();
        reply.append_to_message(ProtocolFormat::Protobuf, &mut again);
        let again: Option<Vec<_>> =
            Reply::read_replies_of_message(ProtocolFormat::Protobuf, &again).collect();
        assert_eq!(again, Some(vec![reply]));
    }
}

fn through(command: &Command, format: ProtocolFormat) -> Command {
    let mut message = BytesMut::new();
    command.append_to_message(format, &mut message).expect("it was written before");
    let mut commands = CommandReader::new(format, &message[..]);
    let again = commands.next().expect("a command").expect("well-formed");
    assert!(commands.next().is_none(), "one command is one command");
    again
}

/// Returns the events of a connection, and the error that ended it.
pub fn read<'a>(
    role: EndpointRole,
    deflate: bool,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Result<WebSocketEvent<'static>, WebSocketReadError>> {
    let (mut reader, mut inflater) =
        (WebSocketReader::new(role, MESSAGE_BYTES_MAX, deflate), Inflater::default());
    let mut events = Vec::new();
    for piece in pieces {
        let mut piece = piece.to_vec();
        let mut input = piece.as_mut_slice();
        while let Some(event) = reader.next_event(&mut input, &mut inflater) {
            events.push(event.map(owned));
        }
        assert!(input.is_empty(), "a reader takes all it is given");
        assert!(
            reader.partial_input_memory() <= MESSAGE_BYTES_MAX + READER_BYTES_MAX,
            "a reader is bounded"
        );
    }
    events
}

fn owned(event: WebSocketEvent<'_>) -> WebSocketEvent<'static> {
    match event {
        WebSocketEvent::Text(text) => {
            assert!(text.len() <= MESSAGE_BYTES_MAX);
            WebSocketEvent::Text(text.into_owned().into())
        }
        WebSocketEvent::Binary(bytes) => {
            assert!(bytes.len() <= MESSAGE_BYTES_MAX);
            WebSocketEvent::Binary(bytes.into_owned().into())
        }
        WebSocketEvent::Ping(payload) => WebSocketEvent::Ping(payload.into_owned().into()),
        WebSocketEvent::Pong(payload) => WebSocketEvent::Pong(payload.into_owned().into()),
        WebSocketEvent::Close { code, reason } => {
            WebSocketEvent::Close { code, reason: reason.into_owned().into() }
        }
    }
}
