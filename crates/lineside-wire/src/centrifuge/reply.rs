//! Replies to single connections: written by the server, read by the client role.

use bytes::{BufMut as _, BytesMut};
use prost::Message as _;

use super::ProtocolFormat;
use super::json_object::JsonObjectWriter;
use super::message::{
    ClientInfo, ConnectResult, JoinLeave, Publication, Push, Reply, ReplyError, ServerSub,
    SubscribeResult,
};

impl Reply {
    /// Appends the reply to the message in `into`.
    pub fn append_to_message(&self, format: ProtocolFormat, into: &mut BytesMut) {
        match format {
            ProtocolFormat::Json => {
                if !into.is_empty() {
                    into.put_u8(b'\n');
                }
                self.write_reply_json(into);
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
    pub fn read_replies_of_message(
        format: ProtocolFormat,
        message: &[u8],
    ) -> impl Iterator<Item = Option<Self>> {
        let mut rest = message;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (piece, after) = split_first_reply(format, rest);
            let reply = piece.and_then(|piece| match format {
                ProtocolFormat::Json => serde_json::from_slice(piece).ok(),
                ProtocolFormat::Protobuf => Self::decode(piece).ok(),
            });
            rest = if reply.is_some() { after } else { &[] };
            Some(reply)
        })
    }

    fn write_reply_json(&self, into: &mut BytesMut) {
        let mut reply = JsonObjectWriter::begin_object(into);
        reply.write_number_unless_zero("id", self.id.into());
        if let Some(ReplyError { code, message, temporary }) = &self.error {
            reply.write_object_member("error", |error| {
                error.write_number_unless_zero("code", (*code).into());
                error.write_text_unless_empty("message", message);
                error.write_flag_if_true("temporary", *temporary);
            });
        }
        if let Some(push) = &self.push {
            reply.write_object_member("push", |object| push.write_push_json(object));
        }
        if let Some(connect) = &self.connect {
            reply
                .write_object_member("connect", |object| connect.write_connect_result_json(object));
        }
        if let Some(subscribe) = &self.subscribe {
            reply.write_object_member("subscribe", |object| {
                subscribe.write_subscribe_result_json(object)
            });
        }
        self.write_result_json(&mut reply);
        reply.close_object();
    }

    fn write_result_json(&self, reply: &mut JsonObjectWriter<'_>) {
        for (name, empty) in
            [("unsubscribe", self.unsubscribe), ("publish", self.publish), ("ping", self.ping)]
        {
            if empty.is_some() {
                reply.write_object_member(name, |_| {});
            }
        }
        if let Some(presence) = &self.presence {
            reply.write_object_member("presence", |result| {
                result.write_object_member("presence", |clients| {
                    for (client, info) in &presence.presence {
                        clients.write_object_member(client, |object| {
                            info.write_client_info_json(object)
                        });
                    }
                });
            });
        }
        if let Some(stats) = &self.presence_stats {
            reply.write_object_member("presence_stats", |result| {
                result.write_number_unless_zero("num_clients", stats.num_clients.into());
                result.write_number_unless_zero("num_users", stats.num_users.into());
            });
        }
        if let Some(history) = &self.history {
            reply.write_object_member("history", |result| {
                write_publications_member(result, &history.publications);
                result.write_text_unless_empty("epoch", &history.epoch);
                result.write_number_unless_zero("offset", history.offset);
            });
        }
        if let Some(refresh) = &self.refresh {
            reply.write_object_member("refresh", |result| {
                result.write_text_unless_empty("client", &refresh.client);
                result.write_text_unless_empty("version", &refresh.version);
                write_expiry_members(result, refresh.expires, refresh.ttl);
            });
        }
        if let Some(refresh) = &self.sub_refresh {
            reply.write_object_member("sub_refresh", |result| {
                write_expiry_members(result, refresh.expires, refresh.ttl)
            });
        }
    }
}

/// Returns the first reply's bytes, if they are complete, and the bytes after it.
fn split_first_reply(format: ProtocolFormat, message: &[u8]) -> (Option<&[u8]>, &[u8]) {
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
    fn write_push_json(&self, push: &mut JsonObjectWriter<'_>) {
        push.write_text_unless_empty("channel", &self.channel);
        if let Some(publication) = &self.publication {
            push.write_object_member("pub", |object| publication.write_publication_json(object));
        }
        for (name, movement) in [("join", &self.join), ("leave", &self.leave)] {
            if let Some(JoinLeave { info }) = movement {
                push.write_object_member(name, |object| {
                    write_client_info_member(object, "info", info.as_ref())
                });
            }
        }
        if let Some(unsubscribe) = &self.unsubscribe {
            push.write_object_member("unsubscribe", |object| {
                object.write_number_unless_zero("code", unsubscribe.code.into());
                object.write_text_unless_empty("reason", &unsubscribe.reason);
            });
        }
        if let Some(subscribe) = &self.subscribe {
            push.write_object_member("subscribe", |object| {
                object.write_flag_if_true("recoverable", subscribe.recoverable);
                object.write_text_unless_empty("epoch", &subscribe.epoch);
                object.write_number_unless_zero("offset", subscribe.offset);
                object.write_flag_if_true("positioned", subscribe.positioned);
            });
        }
        if let Some(refresh) = &self.refresh {
            push.write_object_member("refresh", |object| {
                write_expiry_members(object, refresh.expires, refresh.ttl)
            });
        }
    }
}

impl ConnectResult {
    fn write_connect_result_json(&self, connect: &mut JsonObjectWriter<'_>) {
        connect.write_text_unless_empty("client", &self.client);
        connect.write_text_unless_empty("version", &self.version);
        write_expiry_members(connect, self.expires, self.ttl);
        if !self.subs.is_empty() {
            connect.write_object_member("subs", |subs| {
                for ServerSub { channel, result } in &self.subs {
                    subs.write_object_member(channel, |object| {
                        result.write_subscribe_result_json(object)
                    });
                }
            });
        }
        connect.write_number_unless_zero("ping", self.ping.into());
        connect.write_flag_if_true("pong", self.pong);
    }
}

impl SubscribeResult {
    fn write_subscribe_result_json(&self, subscribe: &mut JsonObjectWriter<'_>) {
        write_expiry_members(subscribe, self.expires, self.ttl);
        subscribe.write_flag_if_true("recoverable", self.recoverable);
        subscribe.write_text_unless_empty("epoch", &self.epoch);
        write_publications_member(subscribe, &self.publications);
        subscribe.write_flag_if_true("recovered", self.recovered);
        subscribe.write_number_unless_zero("offset", self.offset);
        subscribe.write_flag_if_true("positioned", self.positioned);
        subscribe.write_flag_if_true("was_recovering", self.was_recovering);
    }
}

impl Publication {
    fn write_publication_json(&self, publication: &mut JsonObjectWriter<'_>) {
        publication.write_raw_json("data", &self.data);
        self.write_publication_json_after_data(publication);
    }

    pub(super) fn write_publication_json_after_data(&self, publication: &mut JsonObjectWriter<'_>) {
        write_client_info_member(publication, "info", self.info.as_ref());
        publication.write_number_unless_zero("offset", self.offset);
        if !self.tags.is_empty() {
            publication.write_object_member("tags", |tags| {
                for (name, value) in &self.tags {
                    tags.write_text_or_empty(name, value);
                }
            });
        }
        publication.write_text_unless_empty("epoch", &self.epoch);
    }
}

impl ClientInfo {
    pub(super) fn write_client_info_json(&self, info: &mut JsonObjectWriter<'_>) {
        info.write_text_unless_empty("user", &self.user);
        info.write_text_unless_empty("client", &self.client);
        for (name, data) in [("conn_info", &self.conn_info), ("chan_info", &self.chan_info)] {
            if !data.is_empty() {
                info.write_raw_json(name, data);
            }
        }
    }
}

fn write_client_info_member(
    object: &mut JsonObjectWriter<'_>,
    name: &str,
    info: Option<&ClientInfo>,
) {
    if let Some(info) = info {
        object.write_object_member(name, |object| info.write_client_info_json(object));
    }
}

fn write_expiry_members(object: &mut JsonObjectWriter<'_>, expires: bool, ttl: u32) {
    object.write_flag_if_true("expires", expires);
    object.write_number_unless_zero("ttl", ttl.into());
}

fn write_publications_member(object: &mut JsonObjectWriter<'_>, publications: &[Publication]) {
    if !publications.is_empty() {
        object.write_list_member("publications", publications, Publication::write_publication_json);
    }
}
