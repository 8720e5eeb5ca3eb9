//! What servers send but for the many: written by the server, read by the client role.

use bytes::{BufMut as _, BytesMut};
use prost::Message as _;

use super::Format;
use super::message::{
    ClientInfo, ConnectResult, Movement, Publication, Push, Reply, ReplyError, ServerSub,
    SubscribeResult,
};
use super::object::Object;

impl Reply {
    /// Appends the reply to the message in `into`.
    pub fn write(&self, format: Format, into: &mut BytesMut) {
        match format {
            Format::Json => {
                if !into.is_empty() {
                    into.put_u8(b'\n');
                }
                self.write_json(into);
            }
            Format::Protobuf => {
                let length = self.encoded_len();
                into.reserve(length + prost::length_delimiter_len(length));
                // There is room for it.
                let _ = self.encode_length_delimited(into);
            }
        }
    }

    /// The replies in a message; a reply of nothing is a ping. `None` stands for bytes that are no reply, and is the last.
    pub fn read_all(format: Format, message: &[u8]) -> impl Iterator<Item = Option<Self>> {
        let mut rest = message;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (piece, after) = split(format, rest);
            let reply = piece.and_then(|piece| match format {
                Format::Json => serde_json::from_slice(piece).ok(),
                Format::Protobuf => Self::decode(piece).ok(),
            });
            rest = if reply.is_some() { after } else { &[] };
            Some(reply)
        })
    }

    fn write_json(&self, into: &mut BytesMut) {
        let mut reply = Object::open(into);
        reply.number("id", self.id.into());
        if let Some(ReplyError { code, message, temporary }) = &self.error {
            reply.object("error", |error| {
                error.number("code", (*code).into());
                error.text("message", message);
                error.flag("temporary", *temporary);
            });
        }
        if let Some(push) = &self.push {
            reply.object("push", |object| push.write_json(object));
        }
        if let Some(connect) = &self.connect {
            reply.object("connect", |object| connect.write_json(object));
        }
        if let Some(subscribe) = &self.subscribe {
            reply.object("subscribe", |object| subscribe.write_json(object));
        }
        self.write_json_of_others(&mut reply);
        reply.close();
    }

    fn write_json_of_others(&self, reply: &mut Object<'_>) {
        for (name, empty) in
            [("unsubscribe", self.unsubscribe), ("publish", self.publish), ("ping", self.ping)]
        {
            if empty.is_some() {
                reply.object(name, |_| {});
            }
        }
        if let Some(presence) = &self.presence {
            reply.object("presence", |result| {
                result.object("presence", |clients| {
                    for (client, info) in &presence.presence {
                        clients.object(client, |object| info.write_json(object));
                    }
                });
            });
        }
        if let Some(stats) = &self.presence_stats {
            reply.object("presence_stats", |result| {
                result.number("num_clients", stats.num_clients.into());
                result.number("num_users", stats.num_users.into());
            });
        }
        if let Some(history) = &self.history {
            reply.object("history", |result| {
                write_publications(result, &history.publications);
                result.text("epoch", &history.epoch);
                result.number("offset", history.offset);
            });
        }
        if let Some(refresh) = &self.refresh {
            reply.object("refresh", |result| {
                result.text("client", &refresh.client);
                result.text("version", &refresh.version);
                write_expiry(result, refresh.expires, refresh.ttl);
            });
        }
        if let Some(refresh) = &self.sub_refresh {
            reply
                .object("sub_refresh", |result| write_expiry(result, refresh.expires, refresh.ttl));
        }
    }
}

/// One reply's bytes, where they are all there, and what comes after it.
fn split(format: Format, message: &[u8]) -> (Option<&[u8]>, &[u8]) {
    match format {
        Format::Json => {
            let end = message.iter().position(|byte| *byte == b'\n').unwrap_or(message.len());
            (Some(&message[..end]), message.get(end + 1..).unwrap_or_default())
        }
        Format::Protobuf => {
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
    fn write_json(&self, push: &mut Object<'_>) {
        push.text("channel", &self.channel);
        if let Some(publication) = &self.publication {
            push.object("pub", |object| publication.write_json(object));
        }
        for (name, movement) in [("join", &self.join), ("leave", &self.leave)] {
            if let Some(Movement { info }) = movement {
                push.object(name, |object| write_info(object, "info", info.as_ref()));
            }
        }
        if let Some(unsubscribe) = &self.unsubscribe {
            push.object("unsubscribe", |object| {
                object.number("code", unsubscribe.code.into());
                object.text("reason", &unsubscribe.reason);
            });
        }
        if let Some(subscribe) = &self.subscribe {
            push.object("subscribe", |object| {
                object.flag("recoverable", subscribe.recoverable);
                object.text("epoch", &subscribe.epoch);
                object.number("offset", subscribe.offset);
                object.flag("positioned", subscribe.positioned);
            });
        }
        if let Some(refresh) = &self.refresh {
            push.object("refresh", |object| write_expiry(object, refresh.expires, refresh.ttl));
        }
    }
}

impl ConnectResult {
    fn write_json(&self, connect: &mut Object<'_>) {
        connect.text("client", &self.client);
        connect.text("version", &self.version);
        write_expiry(connect, self.expires, self.ttl);
        if !self.subs.is_empty() {
            connect.object("subs", |subs| {
                for ServerSub { channel, result } in &self.subs {
                    subs.object(channel, |object| result.write_json(object));
                }
            });
        }
        connect.number("ping", self.ping.into());
        connect.flag("pong", self.pong);
    }
}

impl SubscribeResult {
    fn write_json(&self, subscribe: &mut Object<'_>) {
        write_expiry(subscribe, self.expires, self.ttl);
        subscribe.flag("recoverable", self.recoverable);
        subscribe.text("epoch", &self.epoch);
        write_publications(subscribe, &self.publications);
        subscribe.flag("recovered", self.recovered);
        subscribe.number("offset", self.offset);
        subscribe.flag("positioned", self.positioned);
        subscribe.flag("was_recovering", self.was_recovering);
    }
}

impl Publication {
    fn write_json(&self, publication: &mut Object<'_>) {
        publication.raw("data", &self.data);
        self.write_json_after_data(publication);
    }

    pub(super) fn write_json_after_data(&self, publication: &mut Object<'_>) {
        write_info(publication, "info", self.info.as_ref());
        publication.number("offset", self.offset);
        if !self.tags.is_empty() {
            publication.object("tags", |tags| {
                for (name, value) in &self.tags {
                    tags.text_or_empty(name, value);
                }
            });
        }
        publication.text("epoch", &self.epoch);
    }
}

impl ClientInfo {
    pub(super) fn write_json(&self, info: &mut Object<'_>) {
        info.text("user", &self.user);
        info.text("client", &self.client);
        for (name, data) in [("conn_info", &self.conn_info), ("chan_info", &self.chan_info)] {
            if !data.is_empty() {
                info.raw(name, data);
            }
        }
    }
}

fn write_info(object: &mut Object<'_>, name: &str, info: Option<&ClientInfo>) {
    if let Some(info) = info {
        object.object(name, |object| info.write_json(object));
    }
}

fn write_expiry(object: &mut Object<'_>, expires: bool, ttl: u32) {
    object.flag("expires", expires);
    object.number("ttl", ttl.into());
}

fn write_publications(object: &mut Object<'_>, publications: &[Publication]) {
    if !publications.is_empty() {
        object.list("publications", publications, Publication::write_json);
    }
}
