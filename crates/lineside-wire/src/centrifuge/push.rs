//! A session's deliveries as WebSocket frames. A publication's frame is encoded once and shared by all receivers. A
//! state's part is sent unchanged; only the bytes around it are made for the connection.

use bytes::{BufMut as _, Bytes, BytesMut};
use lineside_hub::{
    ClientDelivery, EncodedChannelName, EncodedState, FramedPayload, PresenceMember, Publication,
    PublicationExtras,
};
use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

use super::ProtocolFormat;
use super::json_object::JsonObjectWriter;
use super::message::{self, ClientInfo, JoinLeave, Push, Reply, UnsubscribePush};
use crate::codes;
use crate::frames::{WS_JSON, WS_JSON_DEFLATED, WS_PROTOBUF, WS_PROTOBUF_DEFLATED};
use crate::json;
use crate::websocket::frame::Opcode;
use crate::websocket::{
    DEFLATE_BYTES_MIN, Deflater, end_message_after_uncompressed, frame, write_uncompressed_blocks,
};

/// The pieces of one frame, in order; some may be empty.
pub type FramePieces = [Bytes; 3];

/// The protobuf fields on the path to a publication's data.
const REPLY_PUSH: u32 = 4;
const PUSH_CHANNEL: u32 = 2;
const PUSH_PUBLICATION: u32 = 4;
const PUBLICATION_DATA: u32 = 4;

/// The bytes of a push around its channel and its data, without metadata.
const ENVELOPE_BYTES: usize = 96;

/// Encodes a delivery as a frame; compressed by `deflater`, if given and worthwhile. Returns `None` for deliveries
/// that end the connection or a subscription.
pub fn encode_delivery_frame(
    delivery: &ClientDelivery,
    format: ProtocolFormat,
    deflater: Option<&mut Deflater>,
) -> Option<FramePieces> {
    let one = |frame: Bytes| [frame, Bytes::new(), Bytes::new()];
    match delivery {
        ClientDelivery::Publication { channel, publication, .. } => {
            Some(one(encode_publication_frame(channel, publication, format, deflater)))
        }
        ClientDelivery::State { channel, state, part, gap } => {
            Some(encode_state_part_frame(channel, state, *part, *gap, format, deflater))
        }
        ClientDelivery::Member { channel, joined, member, publication } => {
            let make = |_: &Bytes| encode_join_leave_frame(channel, *joined, member, format);
            Some(one(publication
                .payload
                .get_or_encode_frame(frame_slot_for_format(format, false), make)
                .clone()))
        }
        ClientDelivery::Ended { .. } | ClientDelivery::Disconnect { .. } => None,
    }
}

/// Returns the frame slot of a format, with or without compression.
pub(super) fn frame_slot_for_format(format: ProtocolFormat, deflate: bool) -> usize {
    match (format, deflate) {
        (ProtocolFormat::Json, false) => WS_JSON,
        (ProtocolFormat::Json, true) => WS_JSON_DEFLATED,
        (ProtocolFormat::Protobuf, false) => WS_PROTOBUF,
        (ProtocolFormat::Protobuf, true) => WS_PROTOBUF_DEFLATED,
    }
}

/// Compresses a state's part before it is sent, for callers that want to do so on another thread. Does nothing if it
/// is already compressed or not worth compressing.
pub fn compress_state_part(part: &FramedPayload, deflater: &mut Deflater) {
    if can_share_compressed_middle(part.data()) {
        compressed_shared_middle(part, deflater);
    }
}

/// Returns the opcode of a format's messages.
pub(super) fn frame_opcode(format: ProtocolFormat) -> Opcode {
    match format {
        ProtocolFormat::Json => Opcode::Text,
        ProtocolFormat::Protobuf => Opcode::Binary,
    }
}

/// Returns a ping as a frame: an empty reply.
pub fn encode_ping_frame(format: ProtocolFormat) -> Bytes {
    match format {
        ProtocolFormat::Json => Bytes::from_static(b"\x81\x02{}"),
        ProtocolFormat::Protobuf => Bytes::from_static(&[0x82, 1, 0]),
    }
}

/// Returns the end of one subscription as a frame.
pub fn encode_unsubscribe_frame(
    channel: &EncodedChannelName,
    why: &codes::UnsubscribeCode,
    format: ProtocolFormat,
) -> Bytes {
    let unsubscribe = UnsubscribePush { code: why.code, reason: why.reason.into() };
    encode_push_frame(
        Push {
            channel: channel.as_str().into(),
            unsubscribe: Some(unsubscribe),
            ..Push::default()
        },
        format,
    )
}

fn encode_join_leave_frame(
    channel: &EncodedChannelName,
    joined: bool,
    member: &PresenceMember,
    format: ProtocolFormat,
) -> Bytes {
    let movement = Some(JoinLeave { info: Some(to_client_info(member)) });
    let (join, leave) = if joined { (movement, None) } else { (None, movement) };
    let channel = channel.as_str().into();
    encode_push_frame(Push { channel, join, leave, ..Push::default() }, format)
}

fn encode_push_frame(push: Push, format: ProtocolFormat) -> Bytes {
    let mut payload = BytesMut::new();
    Reply { push: Some(push), ..Reply::default() }.append_to_message(format, &mut payload);
    let mut frame = frame::new_frame_buffer(payload.len());
    frame.put_slice(&payload);
    frame::prepend_frame_head(frame, frame_opcode(format), false)
}

pub(super) fn to_client_info(member: &PresenceMember) -> ClientInfo {
    ClientInfo {
        user: (*member.user).into(),
        client: (*member.client).into(),
        conn_info: member.connection_info.clone(),
        chan_info: member.channel_info.clone(),
    }
}

/// Returns the publication's metadata, without its data.
fn publication_metadata(offset: u64, extras: &PublicationExtras) -> message::Publication {
    message::Publication {
        offset,
        info: extras.publisher.as_deref().map(to_client_info),
        tags: extras.tags.iter().map(|(name, value)| ((**name).into(), (**value).into())).collect(),
        ..message::Publication::default()
    }
}

/// Returns the publication as a part of a reply.
pub fn to_reply_publication(publication: &Publication) -> message::Publication {
    let data = publication.payload.data().clone();
    message::Publication { data, ..publication_metadata(publication.offset, publication.extras()) }
}

/// Encodes a publication as a frame, as [`encode_delivery`] does.
pub(super) fn encode_publication_frame(
    channel: &EncodedChannelName,
    publication: &Publication,
    format: ProtocolFormat,
    deflater: Option<&mut Deflater>,
) -> Bytes {
    let payload = &publication.payload;
    let write = |data: &Bytes, into: &mut BytesMut| {
        let metadata = publication_metadata(publication.offset, publication.extras());
        let data = json::json_on_single_line(data);
        write_bytes_before_data(into, channel, data.len(), &metadata, format);
        into.put_slice(&data);
        write_bytes_after_data(into, &metadata, format);
    };
    let bytes = channel.as_str().len() + payload.data().len() + ENVELOPE_BYTES;
    let worth_it = payload.data().len() >= DEFLATE_BYTES_MIN;
    let (plain, deflated) =
        (frame_slot_for_format(format, false), frame_slot_for_format(format, true));
    let shared = match deflater.filter(|_| worth_it) {
        None => payload.get_or_encode_frame(plain, |data| {
            let mut frame = frame::new_frame_buffer(bytes);
            write(data, &mut frame);
            frame::prepend_frame_head(frame, frame_opcode(format), false)
        }),
        Some(deflater) => payload.get_or_encode_frame(deflated, |data| {
            let mut message = BytesMut::with_capacity(bytes);
            write(data, &mut message);
            let mut frame = frame::new_frame_buffer(bytes / 2);
            deflater.deflate_message(&message, &mut frame);
            frame::prepend_frame_head(frame, frame_opcode(format), true)
        }),
    };
    shared.clone()
}

/// Encodes a part of a state. Only the last part has the position and its epoch, which may differ from that at the
/// start of the subscription.
fn encode_state_part_frame(
    channel: &EncodedChannelName,
    state: &EncodedState,
    part: usize,
    gap: bool,
    format: ProtocolFormat,
    deflater: Option<&mut Deflater>,
) -> FramePieces {
    let mut metadata = message::Publication::default();
    if part + 1 == state.parts().len() {
        metadata.offset = state.position().offset;
        metadata.epoch = state.position().epoch.to_string();
    }
    let part = &state.parts()[part];
    // Shares the bytes if they are on one line already.
    let data = part.get_or_encode_frame(WS_JSON, json::json_on_single_line);
    // A member can be inserted after the first brace of a JSON object.
    let (brace, rest) = match data.strip_prefix(b"{") {
        Some(rest) if gap && rest.trim_ascii_start().starts_with(b"}") => ("{\"gap\":true", rest),
        Some(rest) if gap => ("{\"gap\":true,", rest),
        Some(rest) => ("{", rest),
        None => ("", &data[..]),
    };
    let mut prefix = BytesMut::with_capacity(channel.as_str().len() + ENVELOPE_BYTES);
    write_bytes_before_data(&mut prefix, channel, brace.len() + rest.len(), &metadata, format);
    prefix.put_slice(brace.as_bytes());
    let mut after = BytesMut::with_capacity(ENVELOPE_BYTES);
    write_bytes_after_data(&mut after, &metadata, format);
    match deflater.filter(|_| can_share_compressed_middle(data)) {
        Some(deflater) => compressed_frame_pieces(
            &prefix,
            compressed_shared_middle(part, deflater),
            &after,
            format,
        ),
        None => {
            let payload = prefix.len() + rest.len() + after.len();
            let mut head = BytesMut::with_capacity(frame::HEAD_BYTES_MAX + prefix.len());
            frame::write_frame_head(&mut head, frame_opcode(format), false, payload);
            head.put_slice(&prefix);
            [head.freeze(), data.slice_ref(rest), after.freeze()]
        }
    }
}

fn can_share_compressed_middle(data: &Bytes) -> bool {
    data.len() >= DEFLATE_BYTES_MIN && data.starts_with(b"{")
}

/// Returns the compressed part without its first brace, usable in both formats and with any surrounding bytes.
fn compressed_shared_middle<'a>(part: &'a FramedPayload, deflater: &mut Deflater) -> &'a Bytes {
    part.get_or_encode_frame(WS_JSON_DEFLATED, |data| {
        deflater
            .compress_message_middle(json::json_on_single_line(data).get(1..).unwrap_or_default())
    })
}

/// Returns the pieces of a compressed frame: the compressed data is shared, and the bytes around it are uncompressed
/// blocks.
fn compressed_frame_pieces(
    prefix: &[u8],
    middle: &Bytes,
    after: &[u8],
    format: ProtocolFormat,
) -> FramePieces {
    /// The overhead of a stored block in bytes.
    const BLOCK_BYTES: usize = 5;
    let mut end = BytesMut::with_capacity(after.len() + BLOCK_BYTES + 1);
    write_uncompressed_blocks(&mut end, after);
    end_message_after_uncompressed(&mut end);
    let mut blocks = BytesMut::with_capacity(prefix.len() + BLOCK_BYTES);
    write_uncompressed_blocks(&mut blocks, prefix);
    let payload = blocks.len() + middle.len() + end.len();
    let mut head = BytesMut::with_capacity(frame::HEAD_BYTES_MAX + blocks.len());
    frame::write_frame_head(&mut head, frame_opcode(format), true, payload);
    head.put_slice(&blocks);
    [head.freeze(), middle.clone(), end.freeze()]
}

/// Writes the bytes before a publication's data.
fn write_bytes_before_data(
    into: &mut BytesMut,
    channel: &EncodedChannelName,
    data_bytes: usize,
    metadata: &message::Publication,
    format: ProtocolFormat,
) {
    let name = channel.as_str();
    match format {
        ProtocolFormat::Json => {
            into.put_slice(b"{\"push\":{\"channel\":");
            json::write_json_string(name, into);
            into.put_slice(b",\"pub\":{\"data\":");
        }
        ProtocolFormat::Protobuf => {
            let publication = protobuf_field_size(data_bytes) + metadata.encoded_len();
            let push = protobuf_field_size(name.len()) + protobuf_field_size(publication);
            encode_varint(protobuf_field_size(push) as u64, into);
            write_protobuf_field_header(REPLY_PUSH, push, into);
            write_protobuf_field_header(PUSH_CHANNEL, name.len(), into);
            into.put_slice(name.as_bytes());
            write_protobuf_field_header(PUSH_PUBLICATION, publication, into);
            write_protobuf_field_header(PUBLICATION_DATA, data_bytes, into);
        }
    }
}

/// Returns the bytes of a field of that length, with its one-byte key.
fn protobuf_field_size(length: usize) -> usize {
    1 + encoded_len_varint(length as u64) + length
}

fn write_protobuf_field_header(number: u32, length: usize, into: &mut BytesMut) {
    encode_key(number, WireType::LengthDelimited, into);
    encode_varint(length as u64, into);
}

/// Writes the bytes after a publication's data.
fn write_bytes_after_data(
    into: &mut BytesMut,
    metadata: &message::Publication,
    format: ProtocolFormat,
) {
    match format {
        ProtocolFormat::Json => {
            metadata.write_publication_json_after_data(
                &mut JsonObjectWriter::continue_open_object(into),
            );
            into.put_slice(b"}}}");
        }
        ProtocolFormat::Protobuf => {
            into.reserve(metadata.encoded_len());
            // Cannot fail: the buffer has room.
            let _ = metadata.encode(into);
        }
    }
}
