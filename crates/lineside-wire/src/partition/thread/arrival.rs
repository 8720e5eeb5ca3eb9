//! The arrival of a connection that was accepted elsewhere.

use std::time::Duration;

use mio::Token;

use super::PartitionThread;
use crate::partition::connection::PartitionConnection;
use crate::partition::limits::{ACCEPTS_PER_TURN, PING_INTERVAL};
use crate::partition::socket::ConnectionSocket;
use crate::partition::{OpenedTransport, PendingConnection, TransportOpening};

impl PartitionThread {
    /// Accepts the connections in the mailbox.
    pub(super) fn accept_mailbox_connections(&mut self) {
        // A limited number at a time, so that existing connections do not wait long.
        let pending_connections: Vec<_> =
            self.inbox.drain_available().take(ACCEPTS_PER_TURN).collect();
        self.metrics.pending_connections.subtract(pending_connections.len() as u64);
        let now = self.monotonic_now();
        for pending in pending_connections {
            self.add_accepted_connection(*pending, now);
        }
    }

    fn add_accepted_connection(&mut self, pending: PendingConnection, now: Duration) {
        let PendingConnection { socket, tls, unread, head, refusal, transport: request, permit } =
            pending;
        let entry = self.rows.vacant_key();
        let row = entry as u32;
        let mut socket = ConnectionSocket::new(socket, tls);
        let has_buffered_input = socket.may_have_buffered_input();
        let opening = TransportOpening { listener: &self.listener, row, now, rng: &mut self.rng };
        let Some(OpenedTransport { transport, first }) = request.open_transport(opening) else {
            // The refusal fits into an unused socket; a broken one needs no reply.
            _ = socket.write_pieces(&mut vec![refusal]).and_then(|_| socket.flush_tls());
            return;
        };
        if socket.register_socket(self.poll.registry(), Token(entry)).is_err() {
            return;
        }
        // Connections opened together must not be pinged together forever.
        let ping_at = now + PING_INTERVAL.mul_f64(self.rng.f64().mul_add(0.5, 0.5));
        let mut opened =
            PartitionConnection::new(socket, transport, [head, first], ping_at, permit);
        opened.due = self.wheel.schedule_row(row, opened.next_deadline());
        self.rows.insert(opened);
        self.metrics.rows.add(1);
        if !unread.is_empty() {
            self.receive_connection_bytes(row, &mut unread.to_vec(), now);
        }
        if has_buffered_input {
            self.unread.push((row, false));
        }
        self.write_connection_output(row, now);
    }
}
