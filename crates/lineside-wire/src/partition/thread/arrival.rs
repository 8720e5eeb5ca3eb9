//! The arrival of a connection that was accepted elsewhere.

use std::time::Duration;

use bytes::Bytes;
use mio::Token;

use super::PartitionThread;
use crate::centrifuge::{CentrifugeConnection, ClientHandler};
use crate::partition::connection::Connection;
use crate::partition::limits::{ACCEPTS_PER_TURN, PING_INTERVAL};
use crate::partition::socket::ConnectionSocket;
use crate::partition::transport::ConnectionTransport;
use crate::partition::{PendingConnection, TransportRequest};
use crate::sse::{LastEventId, SseConnection};

impl PartitionThread {
    /// Accepts the connections in the mailbox.
    pub(super) fn accept_pending(&mut self) {
        // A limited number at a time, so that existing connections do not wait long.
        let pending_connections: Vec<_> = self.inbox.drain().take(ACCEPTS_PER_TURN).collect();
        self.metrics.pending_connections.subtract(pending_connections.len() as u64);
        let now = self.monotonic_now();
        for pending in pending_connections {
            self.accept_connection(*pending, now);
        }
    }

    fn accept_connection(&mut self, pending: PendingConnection, now: Duration) {
        let PendingConnection { socket, tls, unread, head, refusal, transport: requested, permit } =
            pending;
        let entry = self.rows.vacant_key();
        let row = entry as u32;
        let mut socket = ConnectionSocket::new(socket, tls);
        let has_buffered_input = socket.may_have_buffered();
        let opened = match requested {
            TransportRequest::Sse { channels, last_event_id, reader } => {
                let last = LastEventId::parse_header(last_event_id.as_deref().unwrap_or_default());
                let reader = (&reader, now);
                SseConnection::open_connection(
                    &self.listener,
                    row,
                    &channels,
                    &last,
                    reader,
                    &mut self.rng,
                )
                .map(|(sse, first)| (ConnectionTransport::Sse(sse), first))
            }
            TransportRequest::WebSocket { format, deflate } => {
                let session = self.listener.open_session(row, self.sessions);
                let id = self.rng.u128(..);
                let client =
                    ClientHandler::new(self.service.clone(), session, format, deflate, id, now);
                let connection = CentrifugeConnection::new(client, deflate);
                Ok((ConnectionTransport::WebSocket(Box::new(connection)), Bytes::new()))
            }
        };
        let (transport, first) = match opened {
            Ok(opened) => opened,
            Err(_) => {
                // The refusal fits into an unused socket; a broken one needs no reply.
                _ = socket.write_pieces(&mut vec![refusal]).and_then(|_| socket.flush_tls());
                return;
            }
        };
        if socket.register_socket(self.poll.registry(), Token(entry)).is_err() {
            return;
        }
        // Connections opened together must not be pinged together forever.
        let ping_at = now + PING_INTERVAL.mul_f64(self.rng.f64().mul_add(0.5, 0.5));
        let mut opened = Connection::new(socket, transport, [head, first], ping_at, permit);
        opened.due = self.wheel.schedule_row(row, opened.next_due());
        self.rows.insert(opened);
        self.metrics.rows.add(1);
        if !unread.is_empty() {
            self.receive_bytes(row, &mut unread.to_vec(), now);
        }
        if has_buffered_input {
            self.unread.push((row, false));
        }
        self.write_connection(row, now);
    }
}
