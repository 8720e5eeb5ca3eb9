//! The encoding of a delivery as an event: a publication is framed once, a state's part is sent without a copy.

use std::fmt::Write as _;

use bytes::{BufMut as _, Bytes, BytesMut};
use lineside_hub::{
    ClientDelivery, EncodedChannelName, EncodedState, Epoch, FramedPayload,
    JoinedPublicationsCache, Position, Publication, PublicationToFrame, Session,
    SubscriptionEndReason,
};

use crate::close_reason::ConnectionCloseReason;
use crate::frames::{SSE_DATA, SSE_EVENT};
use crate::json;

/// The pieces of one event, in order. Bound: head, data and tail.
pub(super) type EventPieces = [Bytes; 3];

/// Returns the `retry:` line with the client's reconnect delay. The line starts the block of the first event: alone it
/// would be a block without data, which some clients report as an empty event.
pub(super) fn encode_retry_line(millis: u64) -> Bytes {
    format!("retry: {millis}\n").into()
}

/// Returns a comment line, with the id if it has changed without an event: a client whose channels were quiet then
/// resumes from its network's current position, not from its last event.
///
/// Only the id ends a block, because `EventSource` takes it at the end of one. Some clients report each block as an
/// event, so a comment alone does not end one.
pub(super) fn encode_heartbeat(id: Option<&str>) -> Bytes {
    match id {
        Some(id) => format!(":\nid: {id}\n\n").into(),
        None => Bytes::from_static(b":\n"),
    }
}

/// The last comment to a subscriber whose token has expired, for people who read the stream.
pub(super) const EXPIRED: Bytes = Bytes::from_static(b": expired: the token has expired\n");

/// Returns the reason and a comment for people who read the stream, if the delivery ends the stream.
pub(super) fn encode_stream_end(
    delivery: &ClientDelivery,
) -> Option<(ConnectionCloseReason, Bytes)> {
    match delivery {
        ClientDelivery::Ended { why: SubscriptionEndReason::Slow, .. } => Some((
            ConnectionCloseReason::Slow,
            Bytes::from_static(b": slow: the client fell behind repeatedly\n"),
        )),
        ClientDelivery::Ended { why: SubscriptionEndReason::Lost, .. } => {
            let said = b": lost: the missed publications are no longer stored\n";
            Some((ConnectionCloseReason::Slow, Bytes::from_static(said)))
        }
        ClientDelivery::Ended { why: SubscriptionEndReason::GroupEnded, .. } => {
            let said = b": changed: the operator changed the configured feeds\n";
            Some((ConnectionCloseReason::Changed, Bytes::from_static(said)))
        }
        // A stream has no client id that an order could name or exclude.
        ClientDelivery::Disconnect { order, .. } if order.applies_to_client("") => {
            let reason = order.reason.replace(['\n', '\r'], " ");
            Some((
                ConnectionCloseReason::Disconnected,
                format!(": disconnected: {reason}\n").into(),
            ))
        }
        _ => None,
    }
}

/// Returns the client's positions as an id; `None` if there are none.
pub(super) fn encode_event_id(session: &mut Session) -> Option<String> {
    let mut id = String::new();
    for (name, position) in session.client_positions() {
        let comma = if id.is_empty() { "" } else { "," };
        let _ = write!(id, "{comma}{name}@{position}");
    }
    (!id.is_empty()).then_some(id)
}

/// Encodes the session's last delivery; returns `None` for an end, or for a delivery that SSE has no event for.
pub(super) fn encode_delivery_event(
    delivery: &ClientDelivery,
    session: &mut Session,
) -> Option<EventPieces> {
    match delivery {
        ClientDelivery::Publication { channel, epoch, publication }
            if session.subscription_count() == 1 =>
        {
            let position = Position { epoch: *epoch, offset: publication.offset };
            let sequence = session.sequence_name_of_channel(channel).unwrap_or_default();
            let event = encode_shared_publication_event(&PublicationToFrame {
                channel,
                sequence,
                position,
                publication,
            });
            Some([event, Bytes::new(), Bytes::new()])
        }
        ClientDelivery::Publication { channel, epoch, publication } => {
            let data = publication.payload.get_or_encode_frame(SSE_DATA, |data| {
                encode_publication_event(channel, *epoch, publication, data)
            });
            Some([data.clone(), event_tail(encode_event_id(session).as_deref()), Bytes::new()])
        }
        ClientDelivery::State { channel, state, part, gap } => {
            Some(encode_state_part_event(channel, state, *part, *gap, session))
        }
        ClientDelivery::Member { .. }
        | ClientDelivery::Disconnect { .. }
        | ClientDelivery::Ended { .. } => None,
    }
}

/// Returns the next events on a connection with one channel, as one shared piece.
pub(super) fn next_shared_events(
    session: &mut Session,
    runs: &mut JoinedPublicationsCache,
) -> Option<Bytes> {
    let is_only_subscription = session.subscription_count() == 1;
    is_only_subscription
        .then(|| {
            session.next_joined_publications(SSE_EVENT, runs, |it| {
                encode_shared_publication_event(&it)
            })
        })
        .flatten()
}

/// Encodes a publication for connections with only this channel: they have equal ids, and so equal events.
fn encode_shared_publication_event(framing: &PublicationToFrame<'_>) -> Bytes {
    let PublicationToFrame { channel, sequence, position, publication } = framing;
    let make = |data: &Bytes| {
        let event = encode_publication_event(channel, position.epoch, publication, data);
        let id = (!sequence.is_empty()).then(|| format!("{sequence}@{position}"));
        [event, event_tail(id.as_deref())].concat().into()
    };
    publication.payload.get_or_encode_frame(SSE_EVENT, make).clone()
}

fn encode_publication_event(
    channel: &EncodedChannelName,
    epoch: Epoch,
    publication: &Publication,
    data: &Bytes,
) -> Bytes {
    let data = json::json_on_single_line(data);
    let mut frame = BytesMut::with_capacity(data.len() + channel.as_str().len() + 80);
    write_event_head(&mut frame, channel, epoch, Some(publication.offset));
    frame.extend_from_slice(&data);
    frame.extend_from_slice(b"}\n");
    frame.freeze()
}

/// Encodes a state's part: its bytes are sent unchanged, and only the bytes around them are made for this connection.
fn encode_state_part_event(
    channel: &EncodedChannelName,
    state: &EncodedState,
    part: usize,
    gap: bool,
    session: &mut Session,
) -> EventPieces {
    let last = part + 1 == state.parts().len();
    let Position { epoch, offset } = state.position();
    let mut head = BytesMut::with_capacity(channel.as_str().len() + 96);
    write_event_head(&mut head, channel, epoch, last.then_some(offset));
    let mut data = single_line_part(&state.parts()[part]);
    if gap && data.starts_with(b"{") {
        data = data.slice(1..);
        // An empty object takes no comma.
        let empty = data.first().is_some_and(|byte| *byte == b'}');
        head.extend_from_slice(if empty { b"{\"gap\":true" } else { b"{\"gap\":true," });
    }
    let mut end = BytesMut::from(&b"}\n"[..]);
    end.extend_from_slice(&event_tail(encode_event_id(session).as_deref()));
    [head.freeze(), data, end.freeze()]
}

/// Returns the part's data on one line; the slot shares the bytes if they need no change.
fn single_line_part(part: &FramedPayload) -> Bytes {
    part.get_or_encode_frame(SSE_DATA, json::json_on_single_line).clone()
}

fn write_event_head(
    into: &mut BytesMut,
    channel: &EncodedChannelName,
    epoch: Epoch,
    offset: Option<u64>,
) {
    into.extend_from_slice(b"data: {\"channel\":");
    json::write_json_string(channel.as_str(), into);
    let _ = write!(into, ",\"epoch\":\"{epoch}\"");
    if let Some(offset) = offset {
        let _ = write!(into, ",\"offset\":{offset}");
    }
    into.extend_from_slice(b",\"data\":");
}

fn event_tail(id: Option<&str>) -> Bytes {
    let Some(id) = id else { return Bytes::from_static(b"\n") };
    let mut tail = BytesMut::with_capacity(id.len() + 6);
    tail.put_slice(b"id: ");
    tail.put_slice(id.as_bytes());
    tail.put_slice(b"\n\n");
    tail.freeze()
}
