//! Connections: what clients send over a WebSocket.

use bytes::BytesMut;
use lineside_wire::centrifuge::{Command, Commands, Format, Reply};
use lineside_wire::websocket::{Deflater, Event, Inflater, ReadError, Reader, Role};

/// Largest message in these checks.
const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// What a reader holds beside a message.
const READER_BYTES_MAX: usize = 512;

/// A connection: the first byte says in which pieces it comes, and whether it is a client's and compressed.
pub fn websocket(bytes: &[u8]) {
    let Some((&how, bytes)) = bytes.split_first() else { return };
    let role = if how & 1 == 0 { Role::Server } else { Role::Client };
    let deflate = how & 2 == 0;
    let piece = usize::from(how >> 2) + 1;
    let whole = read(role, deflate, [bytes]);
    let in_pieces = read(role, deflate, bytes.chunks(piece));
    assert_eq!(whole, in_pieces, "in pieces of {piece} bytes the same is read");
    // What was inflated deflates, and inflates to the same.
    let (mut deflater, mut inflater) = (Deflater::default(), Inflater::default());
    for event in whole.into_iter().flatten() {
        if let Event::Text(text) = event {
            let mut payload = Default::default();
            deflater.deflate(text.as_bytes(), &mut payload);
            let again = inflater.inflate(&payload, text.len());
            assert_eq!(again.as_deref(), Ok(text.as_bytes()));
        }
    }
}

/// A message of commands or replies in JSON.
pub fn centrifuge_json(bytes: &[u8]) {
    messages(Format::Json, bytes);
}

/// A message of commands or replies in protobuf.
pub fn centrifuge_protobuf(bytes: &[u8]) {
    messages(Format::Protobuf, bytes);
}

/// What was read once is written so that it is read again, in either format.
fn messages(format: Format, bytes: &[u8]) {
    for command in Commands::new(format, bytes).flatten() {
        if format == Format::Protobuf {
            assert_eq!(through(&command, format), command);
        }
        let mut json = BytesMut::new();
        if command.write(Format::Json, &mut json).is_err() {
            // In protobuf data may be anything.
            continue;
        }
        let command = through(&command, Format::Json);
        assert_eq!(through(&command, Format::Protobuf), command);
        assert_eq!(through(&command, Format::Json), command);
    }
    for reply in Reply::read_all(format, bytes).flatten() {
        let mut again = BytesMut::new();
        reply.write(Format::Protobuf, &mut again);
        let again: Option<Vec<_>> = Reply::read_all(Format::Protobuf, &again).collect();
        assert_eq!(again, Some(vec![reply]));
    }
}

fn through(command: &Command, format: Format) -> Command {
    let mut message = BytesMut::new();
    command.write(format, &mut message).expect("it was written before");
    let mut commands = Commands::new(format, &message[..]);
    let again = commands.next().expect("a command").expect("well-formed");
    assert!(commands.next().is_none(), "one command is one command");
    again
}

/// The events of a connection, and the error that ended it.
pub fn read<'a>(
    role: Role,
    deflate: bool,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Result<Event<'static>, ReadError>> {
    let (mut reader, mut inflater) =
        (Reader::new(role, MESSAGE_BYTES_MAX, deflate), Inflater::default());
    let mut events = Vec::new();
    for piece in pieces {
        let mut piece = piece.to_vec();
        let mut input = piece.as_mut_slice();
        while let Some(event) = reader.read(&mut input, &mut inflater) {
            events.push(event.map(owned));
        }
        assert!(input.is_empty(), "a reader takes all it is given");
        assert!(reader.held_bytes() <= MESSAGE_BYTES_MAX + READER_BYTES_MAX, "a reader is bounded");
    }
    events
}

fn owned(event: Event<'_>) -> Event<'static> {
    match event {
        Event::Text(text) => {
            assert!(text.len() <= MESSAGE_BYTES_MAX);
            Event::Text(text.into_owned().into())
        }
        Event::Binary(bytes) => {
            assert!(bytes.len() <= MESSAGE_BYTES_MAX);
            Event::Binary(bytes.into_owned().into())
        }
        Event::Ping(payload) => Event::Ping(payload.into_owned().into()),
        Event::Pong(payload) => Event::Pong(payload.into_owned().into()),
        Event::Close { code, reason } => Event::Close { code, reason: reason.into_owned().into() },
    }
}
