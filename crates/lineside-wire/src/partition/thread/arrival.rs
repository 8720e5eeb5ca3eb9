//! How a connection that somebody else accepted becomes a row.

use std::time::Duration;

use bytes::Bytes;
use mio::Token;

use super::Partition;
use crate::centrifuge::{Client, Connection};
use crate::partition::limits::{NEWCOMERS_PER_TURN, PING_INTERVAL};
use crate::partition::row::Row;
use crate::partition::socket::Socket;
use crate::partition::transport::Transport;
use crate::partition::{Asks, Newcomer};
use crate::sse::{LastEventId, SseRow};

impl Partition {
    /// Takes in who was brought.
    pub(super) fn take_newcomers(&mut self) {
        // Some at a time, so that those who are here are not kept waiting.
        let newcomers: Vec<_> = self.inbox.drain().take(NEWCOMERS_PER_TURN).collect();
        self.metrics.newcomers_waiting.subtract(newcomers.len() as u64);
        let now = self.now();
        for newcomer in newcomers {
            self.take_in(*newcomer, now);
        }
    }

    fn take_in(&mut self, newcomer: Newcomer, now: Duration) {
        let Newcomer { socket, tls, unread, head, refusal, asks, place } = newcomer;
        let entry = self.rows.vacant_key();
        let row = entry as u32;
        let mut socket = Socket::new(socket, tls);
        let may_hold = socket.may_hold();
        let opened = match asks {
            Asks::Sse { channels, last_event_id, reader } => {
                let last = LastEventId::parse(last_event_id.as_deref().unwrap_or_default());
                let reader = (&reader, now);
                SseRow::open(&self.audience, row, &channels, &last, reader, &mut self.rng)
                    .map(|(sse, first)| (Transport::Sse(sse), first))
            }
            Asks::WebSocket { format, deflate } => {
                let session = self.audience.session(row, self.sessions);
                let id = self.rng.u128(..);
                let client = Client::new(self.service.clone(), session, format, deflate, id, now);
                let connection = Connection::new(client, deflate);
                Ok((Transport::WebSocket(Box::new(connection)), Bytes::new()))
            }
        };
        let (transport, first) = match opened {
            Ok(opened) => opened,
            Err(_) => {
                // It fits into a socket that nothing was written to; one that is broken needs no reply.
                _ = socket.write(&mut vec![refusal]).and_then(|_| socket.flush());
                return;
            }
        };
        if socket.register(self.poll.registry(), Token(entry)).is_err() {
            return;
        }
        // Connections made together must not be pinged together for ever.
        let ping_at = now + PING_INTERVAL.mul_f64(self.rng.f64().mul_add(0.5, 0.5));
        let mut opened = Row::new(socket, transport, [head, first], ping_at, place);
        opened.due = self.wheel.enter(row, opened.next_due());
        self.rows.insert(opened);
        self.metrics.rows.add(1);
        if !unread.is_empty() {
            self.receive(row, &mut unread.to_vec(), now);
        }
        if may_hold {
            self.unread.push((row, false));
        }
        self.write(row, now);
    }
}
