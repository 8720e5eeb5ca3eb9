//! All codes that the server itself sends, in one table: [`codes_as_markdown_tables`] prints it,
//! docs/protocol/websocket.md shows it.
//!
//! The server never sends 3500 to 3999, or a permanent error for a temporary condition: on those a client stops
//! permanently, which only the operator's back end may decide.

use std::fmt::Write as _;

/// An error in the reply to a command.
#[derive(Debug, PartialEq, Eq)]
pub struct ErrorCode {
    /// Centrifuge's number.
    pub code: u32,
    /// Its text, in lower case.
    pub text: &'static str,
    /// True if the client should retry later.
    pub temporary: bool,
    /// The condition under which it is sent.
    pub when: &'static str,
}

/// A close of the connection, with its close code.
#[derive(Debug, PartialEq, Eq)]
pub struct DisconnectCode {
    /// The close code; below 3500, so every client reconnects after a while.
    pub code: u16,
    /// The close reason.
    pub reason: &'static str,
    /// The condition under which it is sent.
    pub when: &'static str,
}

/// An end of one subscription, pushed by the server.
#[derive(Debug, PartialEq, Eq)]
pub struct UnsubscribeCode {
    /// The code; from 2500 on the client subscribes again by itself.
    pub code: u32,
    pub reason: &'static str,
    /// The condition under which it is sent.
    pub when: &'static str,
}

macro_rules! table {
    ($list:ident: $type:ident { $($name:ident = $code:literal $text:literal $($temporary:literal)?, $when:literal;)* }) => {
        $(
            #[doc = $when]
            pub const $name: $type = table!(@ $type $code $text $($temporary)?, $when);
        )*
        /// All codes, in ascending order.
        pub const $list: &[&$type] = &[$(&$name),*];
    };
    (@ ErrorCode $code:literal $text:literal $temporary:literal, $when:literal) => {
        ErrorCode { code: $code, text: $text, temporary: $temporary, when: $when }
    };
    (@ $type:ident $code:literal $reason:literal, $when:literal) => {
        $type { code: $code, reason: $reason, when: $when }
    };
}

table! { ERRORS: ErrorCode {
    INTERNAL = 100 "internal server error" true, "the server failed to process the command";
    UNAUTHORIZED = 101 "unauthorized" false, "the token is missing or invalid";
    UNKNOWN_CHANNEL = 102 "unknown channel" false, "the feed, stop, route, trip or kind of channel does not exist";
    PERMISSION_DENIED = 103 "permission denied" false, "the client may not do this";
    METHOD_NOT_FOUND = 104 "method not found" false, "the server does not know this command";
    ALREADY_SUBSCRIBED = 105 "already subscribed" false, "the connection is already subscribed to this channel";
    LIMIT_EXCEEDED = 106 "limit exceeded" false, "the connection has reached its limit of channels";
    BAD_REQUEST = 107 "bad request" false, "the channel name or another field is malformed";
    NOT_AVAILABLE = 108 "not available" false, "the channel or the server does not offer this";
    TOKEN_EXPIRED = 109 "token expired" false, "the token has expired; get a new one and retry";
    TOO_MANY_REQUESTS = 111 "too many requests" true, "the server is busy; retry later";
    UNRECOVERABLE_POSITION = 112 "unrecoverable position" false, "the history no longer contains the requested position";
}}

table! { DISCONNECTS: DisconnectCode {
    CONNECTION_CLOSED = 3000 "connection closed", "the client or the operator's back end closed the connection";
    SHUTDOWN = 3001 "shutdown", "the server is stopping or restarting";
    BAD_MESSAGE = 3003 "bad request", "the client sent an invalid command, did not send `connect` first, or not in time";
    EXPIRED = 3005 "connection expired", "the token of the connection expired and was not refreshed";
    SLOW = 3008 "slow", "the client stopped reading, or fell behind repeatedly";
    NO_PONG = 3012 "no pong", "the client did not answer a ping in time";
    FLOOD = 3013 "too many requests", "the client exceeded the command rate limit";
}}

table! { UNSUBSCRIBES: UnsubscribeCode {
    INSUFFICIENT_STATE = 2500 "insufficient state", "the client missed publications of a channel that has no state";
    SUBSCRIPTION_EXPIRED = 2501 "subscription expired", "the token of the subscription expired and was not refreshed";
    FEED_CHANGED = 2502 "feed changed", "the operator removed the feed or changed the feeds of its network";
}}

/// Returns the tables of docs/protocol/websocket.md.
pub fn codes_as_markdown_tables() -> String {
    let mut text = String::from("| error | text | temporary | when |\n|---|---|---|---|\n");
    for ErrorCode { code, text: name, temporary, when } in ERRORS {
        let temporary = if *temporary { "yes" } else { "no" };
        let _ = writeln!(text, "| {code} | {name} | {temporary} | {when} |");
    }
    text.push_str("\n| close code | reason | when |\n|---|---|---|\n");
    for DisconnectCode { code, reason, when } in DISCONNECTS {
        let _ = writeln!(text, "| {code} | {reason} | {when} |");
    }
    text.push_str("\n| unsubscribe code | reason | when |\n|---|---|---|\n");
    for UnsubscribeCode { code, reason, when } in UNSUBSCRIBES {
        let _ = writeln!(text, "| {code} | {reason} | {when} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_disconnect_code_allows_reconnecting() {
        assert!(DISCONNECTS.iter().all(|it| (3000..3500).contains(&it.code)));
        assert!(DISCONNECTS.iter().all(|it| it.reason.len() <= 123));
        assert!(UNSUBSCRIBES.iter().all(|it| (2000..3000).contains(&it.code)));
    }

    #[test]
    fn codes_are_unique_and_sorted() {
        assert!(ERRORS.is_sorted_by(|a, b| a.code < b.code));
        assert!(DISCONNECTS.is_sorted_by(|a, b| a.code < b.code));
        assert!(UNSUBSCRIBES.is_sorted_by(|a, b| a.code < b.code));
    }
}
