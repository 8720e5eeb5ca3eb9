//! Replies to single connections: written by the server, read by the client role.

use bytes::{BufMut as _, BytesMut};
use prost::Message as _;

use super::ProtocolFormat;
use super::json_object::JsonObject;
use super::message::{
    ClientInfo, ConnectResult, JoinLeave, Publication, Push, Reply, ReplyError, ServerSub,
    SubscribeResult,
};

impl Reply {
    /// Appends the reply to the message in `into`.
    pub fn write_message(&self, format: ProtocolFormat, into: &mut BytesMut) {
        match format {
            ProtocolFormat::Json => {
                if !into.is_empty() {
                    into.put_u8(b'\n');
                }
                self.write_json(into);
            }
            ProtocolFormat::Protobuf => {
                let length = self.encoded_len();
                into.reserve(length + prost::length_delimiter_len(length));
                // Cannot fail: the buffer has room.
                let _ = self.encode_length_delimited(into);
            }
        }
    }

    /// Returns the replies in a message; an empty reply is a ping. `None` means that the bytes are not a reply, and is
    /// the last item.
    pub fn read_replies(
        format: ProtocolFormat,
        message: &[u8],
    ) -> impl Iterator<Item = Option<Self>> {
        let mut rest = message;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (piece, after) = split_reply(format, rest);
            let reply = piece.and_then(|piece| match format {
                ProtocolFormat::Json => serde_json::from_slice(piece).ok(),
                ProtocolFormat::Protobuf => Self::decode(piece).ok(),
            });
            rest = if reply.is_some() { after } else { &[] };
            Some(reply)
        })
    }

    fn write_json(&self, into: &mut BytesMut) {
        let mut reply = JsonObject::open(into);
        reply.write_number("id", self.id.into());
        if let Some(ReplyError { code, message, temporary }) = &self.error {
            reply.write_object("error", |error| {
                error.write_number("code", (*code).into());
                error.write_text("message", message);
                error.write_flag("temporary", *temporary);
            });
        }
        if let Some(push) = &self.push {
            reply.write_object("push", |object| push.write_json(object));
        }
        if let Some(connect) = &self.connect {
            reply.write_object("connect", |object| connect.write_json(object));
        }
        if let Some(subscribe) = &self.subscribe {
            reply.write_object("subscribe", |object| subscribe.write_json(object));
        }
        self.write_json_results(&mut reply);
        reply.close_object();
    }

    fn write_json_results(&self, reply: &mut JsonObject<'_>) {
        for (name, empty) in
            [("unsubscribe", self.unsubscribe), ("publish", self.publish), ("ping", self.ping)]
        {
            if empty.is_some() {
                reply.write_object(name, |_| {});
            }
        }
        if let Some(presence) = &self.presence {
            reply.write_object("presence", |result| {
                result.write_object("presence", |clients| {
                    for (client, info) in &presence.presence {
                        clients.write_object(client, |object| info.write_json(object));
                    }
                });
            });
        }
        if let Some(stats) = &self.presence_stats {
            reply.write_object("presence_stats", |result| {
                result.write_number("num_clients", stats.num_clients.into());
                result.write_number("num_users", stats.num_users.into());
            });
        }
        if let Some(history) = &self.history {
            reply.write_object("history", |result| {
                write_publications(result, &history.publications);
                result.write_text("epoch", &history.epoch);
                result.write_number("offset", history.offset);
            });
        }
        if let Some(refresh) = &self.refresh {
            reply.write_object("refresh", |result| {
                result.write_text("client", &refresh.client);
                result.write_text("version", &refresh.version);
                write_expiry(result, refresh.expires, refresh.ttl);
            });
        }
        if let Some(refresh) = &self.sub_refresh {
            reply.write_object("sub_refresh", |result| {
                write_expiry(result, refresh.expires, refresh.ttl)
            });
        }
    }
}

/// Returns the first reply's bytes, if they are complete, and the bytes after it.
fn split_reply(format: ProtocolFormat, message: &[u8]) -> (Option<&[u8]>, &[u8]) {
    match format {
        ProtocolFormat::Json => {
            let end = message.iter().position(|byte| *byte == b'\n').unwrap_or(message.len());
            (Some(&message[..end]), message.get(end + 1..).unwrap_or_default())
        }
        ProtocolFormat::Protobuf => {
            let mut rest = message;
            let length = prost::decode_length_delimiter(&mut rest).ok();
            match length.and_then(|length| rest.split_at_checked(length)) {
                Some((reply, after)) => (Some(reply), after),
                None => (None, &[]),
            }
        }
    }
}

impl Push {
    fn write_json(&self, push: &mut JsonObject<'_>) {
        push.write_text("channel", &self.channel);
        if let Some(publication) = &self.publication {
            push.write_object("pub", |object| publication.write_json(object));
        }
        for (name, movement) in [("join", &self.join), ("leave", &self.leave)] {
            if let Some(JoinLeave { info }) = movement {
                push.write_object(name, |object| write_info(object, "info", info.as_ref()));
            }
        }
        if let Some(unsubscribe) = &self.unsubscribe {
            push.write_object("unsubscribe", |object| {
                object.write_number("code", unsubscribe.code.into());
                object.write_text("reason", &unsubscribe.reason);
            });
        }
        if let Some(subscribe) = &self.subscribe {
            push.write_object("subscribe", |object| {
                object.write_flag("recoverable", subscribe.recoverable);
                object.write_text("epoch", &subscribe.epoch);
                object.write_number("offset", subscribe.offset);
                object.write_flag("positioned", subscribe.positioned);
            });
        }
        if let Some(refresh) = &self.refresh {
            push.write_object("refresh", |object| {
                write_expiry(object, refresh.expires, refresh.ttl)
            });
        }
    }
}

impl ConnectResult {
    fn write_json(&self, connect: &mut JsonObject<'_>) {
        connect.write_text("client", &self.client);
        connect.write_text("version", &self.version);
        write_expiry(connect, self.expires, self.ttl);
        if !self.subs.is_empty() {
            connect.write_object("subs", |subs| {
                for ServerSub { channel, result } in &self.subs {
                    subs.write_object(channel, |object| result.write_json(object));
                }
            });
        }
        connect.write_number("ping", self.ping.into());
        connect.write_flag("pong", self.pong);
    }
}

impl SubscribeResult {
    fn write_json(&self, subscribe: &mut JsonObject<'_>) {
        write_expiry(subscribe, self.expires, self.ttl);
        subscribe.write_flag("recoverable", self.recoverable);
        subscribe.write_text("epoch", &self.epoch);
        write_publications(subscribe, &self.publications);
        subscribe.write_flag("recovered", self.recovered);
        subscribe.write_number("offset", self.offset);
        subscribe.write_flag("positioned", self.positioned);
        subscribe.write_flag("was_recovering", self.was_recovering);
    }
}

impl Publication {
    fn write_json(&self, publication: &mut JsonObject<'_>) {
        publication.write_raw("data", &self.data);
        self.write_json_after_data(publication);
    }

    pub(super) fn write_json_after_data(&self, publication: &mut JsonObject<'_>) {
        write_info(publication, "info", self.info.as_ref());
        publication.write_number("offset", self.offset);
        if !self.tags.is_empty() {
            publication.write_object("tags", |tags| {
                for (name, value) in &self.tags {
                    tags.write_text_or_empty(name, value);
                }
            });
        }
        publication.write_text("epoch", &self.epoch);
    }
}

impl ClientInfo {
    pub(super) fn write_json(&self, info: &mut JsonObject<'_>) {
        info.write_text("user", &self.user);
        info.write_text("client", &self.client);
        for (name, data) in [("conn_info", &self.conn_info), ("chan_info", &self.chan_info)] {
            if !data.is_empty() {
                info.write_raw(name, data);
            }
        }
    }
}

fn write_info(object: &mut JsonObject<'_>, name: &str, info: Option<&ClientInfo>) {
    if let Some(info) = info {
        object.write_object(name, |object| info.write_json(object));
    }
}

fn write_expiry(object: &mut JsonObject<'_>, expires: bool, ttl: u32) {
    object.write_flag("expires", expires);
    object.write_number("ttl", ttl.into());
}

fn write_publications(object: &mut JsonObject<'_>, publications: &[Publication]) {
    if !publications.is_empty() {
        object.write_list("publications", publications, Publication::write_json);
    }
}
