//! Tests of commands and replies: each side reads what the other writes, in both formats.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use lineside_wire::centrifuge::message::*;
use lineside_wire::centrifuge::{
    ClientLimits, Command, CommandReadError, CommandReader, CommandRequest, ProtocolFormat, Reply,
};
use lineside_wire::codes;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use prost::Message as _;

use crate::checks;

const FORMATS: [ProtocolFormat; 2] = [ProtocolFormat::Json, ProtocolFormat::Protobuf];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), ".{0,12}", Just("feed/city".to_owned())]
}

fn data() -> impl Strategy<Value = Bytes> {
    let texts =
        ["", "{}", "[1,\"a\\nb\"]", "{\"at\":1,\"changes\":[{\"op\":\"upsert\"}]}", "17", "\"é\""];
    prop::sample::select(texts.to_vec()).prop_map(|text| Bytes::from_static(text.as_bytes()))
}

fn resume() -> impl Strategy<Value = ResumePoint> {
    (any::<bool>(), text(), any::<u64>()).prop_map(|(recover, epoch, offset)| ResumePoint {
        recover,
        epoch,
        offset,
    })
}

fn request() -> impl Strategy<Value = CommandRequest> {
    let channel = || text().prop_map(|channel| ChannelRequest { channel });
    let connect = (text(), btree_map(text(), resume(), 0..4), text(), text()).prop_map(
        |(token, subs, name, version)| {
            CommandRequest::Connect(ConnectRequest { token, subs, name, version })
        },
    );
    let subscribe = (text(), text(), resume(), any::<bool>()).prop_map(
        |(channel, token, ResumePoint { recover, epoch, offset }, join_leave)| {
            CommandRequest::Subscribe(SubscribeRequest {
                channel,
                token,
                recover,
                epoch,
                offset,
                join_leave,
            })
        },
    );
    let history = (text(), any::<i32>(), option::of((any::<u64>(), text())), any::<bool>())
        .prop_map(|(channel, limit, since, reverse)| {
            let since = since.map(|(offset, epoch)| StreamPosition { offset, epoch });
            CommandRequest::History(HistoryRequest { channel, limit, since, reverse })
        });
    prop_oneof![
        connect,
        subscribe,
        channel().prop_map(CommandRequest::Unsubscribe),
        (text(), data())
            .prop_map(|(channel, data)| CommandRequest::Publish(PublishRequest { channel, data })),
        channel().prop_map(CommandRequest::Presence),
        channel().prop_map(CommandRequest::PresenceStats),
        history,
        Just(CommandRequest::Ping),
        Just(CommandRequest::Send),
        Just(CommandRequest::Rpc),
        text().prop_map(|token| CommandRequest::Refresh(RefreshRequest { token })),
        (text(), text()).prop_map(|(channel, token)| {
            CommandRequest::SubRefresh(SubRefreshRequest { channel, token })
        }),
        Just(CommandRequest::Unknown),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    let pong = Command { id: 0, request: CommandRequest::Pong };
    prop_oneof![
        (1..u32::MAX, request()).prop_map(|(id, request)| Command { id, request }),
        Just(pong),
    ]
}

fn info() -> impl Strategy<Value = ClientInfo> {
    (text(), text(), data(), data()).prop_map(|(user, client, conn_info, chan_info)| ClientInfo {
        user,
        client,
        conn_info,
        chan_info,
    })
}

fn publication() -> impl Strategy<Value = Publication> {
    let tags = btree_map(text(), text(), 0..3);
    (data(), option::of(info()), any::<u64>(), tags, text()).prop_map(
        |(data, info, offset, tags, epoch)| Publication { data, info, offset, tags, epoch },
    )
}

fn subscribed() -> impl Strategy<Value = SubscribeResult> {
    let flags = any::<[bool; 5]>();
    (flags, any::<u32>(), text(), vec(publication(), 0..4), any::<u64>()).prop_map(
        |([expires, recoverable, recovered, positioned, was], ttl, epoch, publications, offset)| {
            SubscribeResult {
                expires,
                ttl,
                recoverable,
                epoch,
                publications,
                recovered,
                offset,
                positioned,
                was_recovering: was,
            }
        },
    )
}

fn push() -> impl Strategy<Value = Push> {
    let movement = || info().prop_map(|info| JoinLeave { info: Some(info) });
    let of = |push: Push| move |channel: String| Push { channel, ..push.clone() };
    let push = prop_oneof![
        publication().prop_map(|it| Push { publication: Some(it), ..Push::default() }),
        movement().prop_map(|it| Push { join: Some(it), ..Push::default() }),
        movement().prop_map(|it| Push { leave: Some(it), ..Push::default() }),
        (any::<u32>(), text()).prop_map(|(code, reason)| Push {
            unsubscribe: Some(UnsubscribePush { code, reason }),
            ..Push::default()
        }),
        (any::<[bool; 2]>(), text(), any::<u64>()).prop_map(
            |([recoverable, positioned], epoch, offset)| Push {
                subscribe: Some(SubscribePush { recoverable, epoch, offset, positioned }),
                ..Push::default()
            }
        ),
        any::<u32>().prop_map(|ttl| Push {
            refresh: Some(SubRefreshResult { expires: ttl > 0, ttl }),
            ..Push::default()
        }),
    ];
    (push, text()).prop_map(move |(push, channel)| of(push)(channel))
}

fn reply() -> impl Strategy<Value = Reply> {
    let connect = (text(), any::<u32>(), btree_map(text(), subscribed(), 0..3)).prop_map(
        |(client, ttl, subs)| Reply {
            connect: Some(ConnectResult {
                subs: subs
                    .into_iter()
                    .map(|(channel, result)| ServerSub { channel, result })
                    .collect(),
                client,
                version: "1".into(),
                expires: ttl > 7,
                ttl,
                ping: 25,
                pong: true,
            }),
            ..Reply::default()
        },
    );
    let presence = btree_map(text(), info(), 0..4).prop_map(|presence| Reply {
        presence: Some(PresenceResult { presence }),
        ..Reply::default()
    });
    let history = (vec(publication(), 0..4), text(), any::<u64>()).prop_map(
        |(publications, epoch, offset)| Reply {
            history: Some(HistoryResult { publications, epoch, offset }),
            ..Reply::default()
        },
    );
    let empty = Some(EmptyMessage {});
    let body = prop_oneof![
        push().prop_map(|push| Reply { push: Some(push), ..Reply::default() }),
        connect,
        subscribed().prop_map(|it| Reply { subscribe: Some(it), ..Reply::default() }),
        presence,
        history,
        (text(), any::<u32>(), any::<bool>()).prop_map(|(message, code, temporary)| Reply {
            error: Some(ReplyError { code, message, temporary }),
            ..Reply::default()
        }),
        (any::<u32>(), any::<u32>()).prop_map(|(num_clients, num_users)| Reply {
            presence_stats: Some(PresenceStatsResult { num_clients, num_users }),
            ..Reply::default()
        }),
        (text(), any::<u32>()).prop_map(|(client, ttl)| Reply {
            refresh: Some(RefreshResult { client, version: "1".into(), expires: true, ttl }),
            ..Reply::default()
        }),
        any::<u32>().prop_map(|ttl| Reply {
            sub_refresh: Some(SubRefreshResult { expires: ttl > 0, ttl }),
            ..Reply::default()
        }),
        Just(Reply { unsubscribe: empty, ..Reply::default() }),
        Just(Reply { publish: empty, ..Reply::default() }),
        Just(Reply { ping: empty, ..Reply::default() }),
        Just(Reply::default()),
    ];
    (any::<u32>(), body).prop_map(|(id, reply)| Reply { id, ..reply })
}

fn parse(format: ProtocolFormat, message: &[u8]) -> Vec<Result<Command, CommandReadError>> {
    CommandReader::new(format, message).collect()
}

proptest! {
    #[test]
    fn commands_round_trip_in_both_formats(commands in vec(command(), 0..6)) {
        for format in FORMATS {
            let mut message = BytesMut::new();
            for command in &commands {
                command.append_to_message(format, &mut message).expect("its data is JSON");
            }
            let parsed: Result<Vec<_>, _> = CommandReader::new(format, &message[..]).collect();
            prop_assert_eq!(parsed.as_ref(), Ok(&commands));
        }
    }

    #[test]
    fn replies_round_trip_in_both_formats(replies in vec(reply(), 0..5)) {
        for format in FORMATS {
            let mut message = BytesMut::new();
            for reply in &replies {
                reply.append_to_message(format, &mut message);
            }
            let parsed: Option<Vec<_>> = Reply::read_replies_of_message(format, &message).collect();
            prop_assert_eq!(parsed.as_ref(), Some(&replies));
        }
    }

    #[test]
    fn parsing_any_bytes_does_not_panic(bytes in vec(any::<u8>(), 0..200)) {
        checks::centrifuge_json(&bytes);
        checks::centrifuge_protobuf(&bytes);
    }

    #[test]
    fn parsing_commands_with_a_changed_byte_does_not_panic(
        commands in vec(command(), 1..4), at in any::<usize>(), to in any::<u8>(),
    ) {
        for (format, check) in FORMATS.into_iter().zip([checks::centrifuge_json as fn(&[u8]), checks::centrifuge_protobuf]) {
            let mut message = BytesMut::new();
            for command in &commands {
                command.append_to_message(format, &mut message).expect("its data is JSON");
            }
            let at = at % message.len();
            message[at] = to;
            check(&message);
        }
    }

    #[test]
    fn postponed_commands_are_read_later(commands in vec(command(), 0..6), first in 0..6_usize) {
        for format in FORMATS {
            let mut message = BytesMut::new();
            for command in &commands {
                command.append_to_message(format, &mut message).expect("its data is JSON");
            }
            let mut now = CommandReader::new(format, &message[..]);
            let mut parsed: Vec<_> = now.by_ref().take(first).collect();
            parsed.extend(now.into_owned());
            prop_assert_eq!(parsed, parse(format, &message));
        }
    }
}

#[test]
fn commands_of_other_client_libraries_are_read() {
    let message = b"{\"id\":1,\"connect\":{\"name\":\"js\",\"data\":{\"x\":[1]},\"headers\":{}}}\n\
        \n {\"subscribe\":{\"channel\":\"feed/city\",\"recover\":true,\"epoch\":\"k3v9q2mh\",\"offset\":7,\"flag\":1},\"id\":2}\r\n{}\n";
    let commands = parse(ProtocolFormat::Json, message);
    let connect = ConnectRequest { name: "js".into(), ..ConnectRequest::default() };
    let subscribe = SubscribeRequest {
        channel: "feed/city".into(),
        recover: true,
        epoch: "k3v9q2mh".into(),
        offset: 7,
        ..SubscribeRequest::default()
    };
    assert_eq!(
        commands,
        [
            Ok(Command { id: 1, request: CommandRequest::Connect(connect) }),
            Ok(Command { id: 2, request: CommandRequest::Subscribe(subscribe) }),
            Ok(Command { id: 0, request: CommandRequest::Pong }),
        ]
    );
}

#[test]
fn malformed_commands_are_refused() {
    for bad in ["x", "[]", "{\"id\":-1}", "{\"id\":1,\"connect\":[1]}", "{\"id\":1,\"id\":2}", "{"]
    {
        assert_eq!(
            parse(ProtocolFormat::Json, bad.as_bytes()),
            [Err(CommandReadError::Malformed)],
            "{bad}"
        );
    }
    assert_eq!(parse(ProtocolFormat::Json, b"{\"connect\":{}}"), [Err(CommandReadError::NoId)]);
    assert_eq!(parse(ProtocolFormat::Json, b"{\"send\":{\"data\":1}}").len(), 1);
    // A length beyond the input, an endless varint, and a string that is not UTF-8.
    for bad in [&[5, 8, 1][..], &[0xff; 11], &[6, 8, 1, 0x2a, 3, 0x0a, 1]] {
        assert_eq!(parse(ProtocolFormat::Protobuf, bad), [Err(CommandReadError::Malformed)]);
    }
    assert_eq!(parse(ProtocolFormat::Protobuf, &[0, 0]).len(), 2, "two pongs");
}

#[test]
fn a_connect_with_20_000_channels_round_trips_within_256_kib() {
    let subs = (0..20_000).map(|n| (format!("{n}"), ResumePoint::default()));
    let connect =
        ConnectRequest { subs: subs.collect::<BTreeMap<_, _>>(), ..ConnectRequest::default() };
    let command = Command { id: 1, request: CommandRequest::Connect(connect) };
    for format in FORMATS {
        let mut message = BytesMut::new();
        command.append_to_message(format, &mut message).expect("written");
        assert!(message.len() < 256 << 10);
        assert_eq!(parse(format, &message), [Ok(command.clone())]);
    }
}

#[test]
fn the_documentation_lists_the_codes_and_the_rate_limit() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol/websocket.md");
    let page = std::fs::read_to_string(page).expect("docs/protocol/websocket.md");
    for line in codes::codes_as_markdown_tables().lines() {
        assert!(page.contains(line), "docs/protocol/websocket.md lacks: {line}");
    }
    let ClientLimits { commands_burst, commands_per_second, .. } = ClientLimits::default();
    let (thousands, rest) = (commands_burst / 1_000, commands_burst % 1_000);
    let rate = format!("{thousands},{rest:03} at once and {commands_per_second} a second");
    assert!(page.contains(&rate), "docs/protocol/websocket.md lacks: {rate}");
}

#[test]
fn an_empty_result_of_a_server_side_subscription_is_encoded() {
    let subs = vec![ServerSub { channel: "a".into(), result: SubscribeResult::default() }];
    let connect = ConnectResult { subs, ..ConnectResult::default() };
    // The map's entry (field 6): its key (1), and its value (2), which is empty but present.
    assert_eq!(connect.encode_to_vec(), [0x32, 5, 0x0a, 1, b'a', 0x12, 0]);
}

#[test]
fn a_token_is_never_printed() {
    let token = || "eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl".to_owned();
    let requests = [
        CommandRequest::Connect(ConnectRequest { token: token(), ..ConnectRequest::default() }),
        CommandRequest::Subscribe(SubscribeRequest {
            token: token(),
            ..SubscribeRequest::default()
        }),
        CommandRequest::Refresh(RefreshRequest { token: token() }),
        CommandRequest::SubRefresh(SubRefreshRequest {
            token: token(),
            ..SubRefreshRequest::default()
        }),
    ];
    for request in requests {
        let printed = format!("{:?}", Command { id: 1, request });
        assert!(printed.contains("token: hidden") && !printed.contains("eyJ"), "{printed}");
    }
}
