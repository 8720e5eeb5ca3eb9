//! One turn of the event loop: reads the ready sockets and counts their messages.

use std::io;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use lineside_wire::websocket::frame::{self, Opcode};

use super::open::describe_socket_error;
use super::session_row::{SessionPhase, UnfinishedMessage};
use super::{LoadTestEngine, READ_FROM};
use crate::clock::{self, MonotonicNanos};
use crate::framing::{
    ChunkDecoder, ControlFrame, FrameDecoder, PayloadFraming, SessionResponse, parse_response_head,
};
use crate::limits::{READ_BYTES, SPARE_PIECES_MAX};
use crate::message::{FIRST_SUBSCRIBE, MessageWithGap, ServerMessage, code_text};
use crate::tally::CountedDeliveryEffect;

/// The reason for the end of a session, as a sentence for the report.
type SessionEndReason = String;

const CLOSED: &str = "the server closed the connection";

impl LoadTestEngine {
    /// Waits for ready sockets, at most `wait`, and serves them.
    pub(super) fn wait_for_and_serve_sockets(&mut self, wait: Option<Duration>) -> io::Result<()> {
        match self.poll.poll(&mut self.events, wait) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let mut events = std::mem::replace(&mut self.events, mio::Events::with_capacity(0));
        for event in &events {
            let index = event.token().0;
            if let Err(why) =
                self.serve_session_socket(index, event.is_writable(), event.is_readable())
            {
                self.end_session(index, &why);
            }
        }
        events.clear();
        self.events = events;
        Ok(())
    }

    fn serve_session_socket(
        &mut self,
        index: usize,
        writable: bool,
        readable: bool,
    ) -> Result<(), SessionEndReason> {
        if writable {
            self.write_pending_bytes(index)?;
        }
        if readable {
            self.read_session_socket(index)?;
        }
        Ok(())
    }

    fn write_pending_bytes(&mut self, index: usize) -> Result<(), SessionEndReason> {
        let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
        row.stream.flush_tls().map_err(|error| describe_socket_error(&error))?;
        while !row.to_write.is_empty() {
            match row.stream.write(&row.to_write) {
                Ok(taken) => row.to_write.advance(taken),
                Err(error) if would_block(&error) => return Ok(()),
                Err(error) => return Err(describe_socket_error(&error)),
            }
        }
        // The buffer is freed, so that an idle session has none.
        row.to_write = BytesMut::new();
        if row.phase == SessionPhase::Opening {
            row.phase = SessionPhase::Requested;
        }
        Ok(())
    }

    fn read_session_socket(&mut self, index: usize) -> Result<(), SessionEndReason> {
        loop {
            let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
            let read = match row.stream.read(&mut self.buffer[READ_FROM..]) {
                Ok(0) => return Err(CLOSED.to_owned()),
                Ok(read) => read,
                Err(error) if would_block(&error) => return Ok(()),
                Err(error) => return Err(describe_socket_error(&error)),
            };
            let drained = row.stream.did_read_drain_socket(read, READ_BYTES);
            self.bytes += read as u64;
            self.process_received_bytes(index, READ_FROM, READ_FROM + read, clock::now_nanos())?;
            if drained {
                return Ok(());
            }
        }
    }

    /// Processes the bytes that were read: a response head, or messages.
    fn process_received_bytes(
        &mut self,
        index: usize,
        from: usize,
        to: usize,
        now: MonotonicNanos,
    ) -> Result<(), SessionEndReason> {
        let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
        if matches!(row.phase, SessionPhase::Opening | SessionPhase::Requested) {
            return self.read_response_head(index, from, to, now);
        }
        let partial = row.unfinished.take();
        let into = READ_FROM - 1;
        let end = row.unframe_payload(&mut self.buffer, from, to, into, &mut self.controls);
        let end = end.map_err(|error| error.to_string())?;
        let (begin, dropped) = self.prepend_unfinished_message(into, partial);
        self.read_received_messages(index, begin, end, dropped, now)?;
        self.answer_control_frames(index)
    }

    /// Copies the stored part of an unfinished message before the new bytes.
    fn prepend_unfinished_message(
        &mut self,
        into: usize,
        partial: Option<UnfinishedMessage>,
    ) -> (usize, usize) {
        let Some(partial) = partial else { return (into, 0) };
        let begin = into - partial.stored_bytes().len();
        self.buffer[begin..into].copy_from_slice(partial.stored_bytes());
        let dropped = partial.dropped_bytes();
        self.recycle_message_buffer(Some(partial));
        (begin, dropped)
    }

    pub(super) fn recycle_message_buffer(&mut self, piece: Option<UnfinishedMessage>) {
        self.spare.extend(piece.filter(|_| self.spare.len() < SPARE_PIECES_MAX));
    }

    fn store_unfinished_message(&mut self, index: usize, from: usize, to: usize, dropped: usize) {
        let Some(row) = self.rows[index].as_mut().filter(|_| from < to) else { return };
        let mut piece = self.spare.pop().unwrap_or_else(UnfinishedMessage::new);
        piece.store_message_ends(&self.buffer[from..to], dropped);
        row.unfinished = Some(piece);
    }

    fn read_response_head(
        &mut self,
        index: usize,
        from: usize,
        to: usize,
        now: MonotonicNanos,
    ) -> Result<(), SessionEndReason> {
        let partial = self.rows[index].as_mut().and_then(|row| row.unfinished.take());
        let (begin, dropped) = self.prepend_unfinished_message(from, partial);
        let Some(length) = memchr::memmem::find(&self.buffer[begin..to], b"\r\n\r\n") else {
            self.store_unfinished_message(index, begin, to, dropped);
            return Ok(());
        };
        let body = begin + length + 4;
        let response =
            parse_response_head(&self.buffer[begin..begin + length], &self.buffer[body..to]);
        self.start_session_after_response(index, response, now)?;
        if body < to { self.process_received_bytes(index, body, to, now) } else { Ok(()) }
    }

    fn start_session_after_response(
        &mut self,
        index: usize,
        answer: SessionResponse,
        now: MonotonicNanos,
    ) -> Result<(), SessionEndReason> {
        let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
        let wants_frames = !self.commands.is_empty();
        row.framing = match answer {
            SessionResponse::Stream { chunked: true } if !wants_frames => {
                PayloadFraming::Chunked(ChunkDecoder::default())
            }
            SessionResponse::Stream { chunked: false } if !wants_frames => PayloadFraming::Plain,
            SessionResponse::Upgraded if wants_frames => {
                PayloadFraming::Frames(FrameDecoder::default())
            }
            SessionResponse::Stream { .. } | SessionResponse::Upgraded => {
                return Err("the server answered with another transport than requested".to_owned());
            }
            SessionResponse::Refused(why) => return Err(why),
        };
        row.phase = SessionPhase::Accepted;
        self.unanswered -= 1;
        self.last_progress = now;
        self.accepted.record(now.saturating_sub(row.opened));
        if wants_frames {
            let commands = self.commands.clone();
            return self.send_websocket_frame(index, self.codec.frame_opcode(), &commands);
        }
        // An event stream is subscribed without further messages.
        for channel in 0..self.plan.channels.len() {
            self.count_subscribed_channel(index, channel, None, now);
        }
        Ok(())
    }

    fn send_websocket_frame(
        &mut self,
        index: usize,
        opcode: Opcode,
        payload: &[u8],
    ) -> Result<(), SessionEndReason> {
        let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
        let mask = self.random.u32(..).to_ne_bytes();
        frame::write_masked_frame(&mut row.to_write, opcode, false, payload, mask);
        self.write_pending_bytes(index)
    }

    fn count_subscribed_channel(
        &mut self,
        index: usize,
        channel: usize,
        offset: Option<u64>,
        now: MonotonicNanos,
    ) {
        if self.tally.record_subscription(index, channel, offset) {
            self.count_ready_channel(index, now);
        }
    }

    /// Counts one channel less to wait for.
    fn count_ready_channel(&mut self, index: usize, now: MonotonicNanos) {
        let Some(row) = self.rows[index].as_mut() else { return };
        row.waits_for = row.waits_for.saturating_sub(1);
        if row.waits_for == 0 && row.phase == SessionPhase::Accepted {
            row.phase = SessionPhase::Ready;
            self.complete.record(now.saturating_sub(row.opened));
            self.unready -= 1;
            self.ready += 1;
            self.last_progress = now;
        }
    }

    fn read_received_messages(
        &mut self,
        index: usize,
        mut begin: usize,
        end: usize,
        mut dropped: usize,
        now: MonotonicNanos,
    ) -> Result<(), SessionEndReason> {
        // The buffer is moved out, because rows change while it is read.
        let buffer = std::mem::take(&mut self.buffer);
        let result = loop {
            let message = match self.codec.find_next_message(&buffer[begin..end], dropped) {
                Ok(Some((message, next))) => {
                    let bytes = &buffer[begin..end][message];
                    begin += next;
                    MessageWithGap { bytes, dropped: std::mem::take(&mut dropped) }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error.to_string()),
            };
            let handled = match self.codec.parse_message(message) {
                Ok(parsed) => self.count_server_message(index, parsed, now),
                Err(error) => Err(error.to_string()),
            };
            if handled.is_err() {
                break handled;
            }
        };
        self.record_first_state_byte(index, &buffer[begin..end], now);
        self.buffer = buffer;
        self.store_unfinished_message(index, begin, end, dropped);
        result
    }

    /// Notes the beginning of a state whose end has not arrived.
    fn record_first_state_byte(&mut self, index: usize, unfinished: &[u8], now: MonotonicNanos) {
        let Some(row) = self.rows[index].as_ref() else { return };
        if !row.has_state
            && !unfinished.is_empty()
            && row.phase == SessionPhase::Accepted
            && memchr::memmem::find(&unfinished[..unfinished.len().min(512)], b"\"state\":")
                .is_some()
        {
            self.record_first_byte_time(index, now);
        }
    }

    fn record_first_byte_time(&mut self, index: usize, now: MonotonicNanos) {
        let Some(row) = self.rows[index].as_mut().filter(|row| !row.has_state) else { return };
        row.has_state = true;
        self.first_byte.record(now.saturating_sub(row.opened));
    }

    fn count_server_message(
        &mut self,
        index: usize,
        message: ServerMessage<'_>,
        now: MonotonicNanos,
    ) -> Result<(), SessionEndReason> {
        match message {
            ServerMessage::Publication { channel, offset, data } => {
                if data.state.is_some() {
                    self.record_first_byte_time(index, now);
                }
                match self.tally.count_delivery(index, channel, offset, data, now) {
                    CountedDeliveryEffect::Ready => self.count_ready_channel(index, now),
                    CountedDeliveryEffect::StatePart => self.last_progress = now,
                    CountedDeliveryEffect::Delivered | CountedDeliveryEffect::Unknown => {}
                }
            }
            ServerMessage::Subscribed { command, offset } => {
                let channel = command.checked_sub(FIRST_SUBSCRIBE).map(|channel| channel as usize);
                if let Some(channel) = channel.filter(|channel| *channel < self.plan.channels.len())
                {
                    self.count_subscribed_channel(index, channel, offset, now);
                }
            }
            ServerMessage::Refused { command, code } => {
                return Err(self.command_refused_reason(command, code));
            }
            ServerMessage::Unsubscribed { code } => {
                let code = describe_code(code, code_text::unsubscribe_code_text(code));
                return Err(format!("the server ended a subscription with code {code}"));
            }
            ServerMessage::Disconnected { code } => return Err(close_code_reason(code)),
            ServerMessage::Ping => {
                self.send_websocket_frame(
                    index,
                    self.codec.frame_opcode(),
                    self.codec.pong_payload(),
                )?;
            }
            ServerMessage::Connected => self.last_progress = now,
            ServerMessage::Ignored => {}
        }
        Ok(())
    }

    fn command_refused_reason(&self, command: u32, code: u32) -> SessionEndReason {
        let channel = command.checked_sub(FIRST_SUBSCRIBE);
        let code = describe_code(code, code_text::error_code_text(code));
        match channel.and_then(|channel| self.plan.channels.get(channel as usize)) {
            Some(channel) => format!("the server refused {channel} with code {code}"),
            None => format!("the server refused the connection with code {code}"),
        }
    }

    fn answer_control_frames(&mut self, index: usize) -> Result<(), SessionEndReason> {
        while let Some(control) = self.controls.pop() {
            match control {
                ControlFrame::Ping(payload) => {
                    self.send_websocket_frame(index, Opcode::Pong, &payload)?;
                }
                ControlFrame::Pong => {}
                ControlFrame::Close(code) => {
                    self.controls.clear();
                    return Err(
                        code.map_or(CLOSED.to_owned(), |code| close_code_reason(u32::from(code)))
                    );
                }
            }
        }
        Ok(())
    }
}

fn close_code_reason(code: u32) -> SessionEndReason {
    format!(
        "the server closed the connection with code {}",
        describe_code(code, code_text::disconnect_code_text(code))
    )
}

/// Formats a code with its meaning in the protocol.
fn describe_code(code: u32, text: Option<&str>) -> String {
    text.map_or_else(|| code.to_string(), |words| format!("{code} ({words})"))
}

fn would_block(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::NotConnected
    )
}
