//! One turn of the event loop: reads the ready sockets and counts their messages.

use std::io;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use lineside_wire::websocket::frame::{self, Opcode};

use super::open::describe_socket_error;
use super::session_row::{SessionPhase, UnfinishedMessage};
use super::{LoadEngine, READ_FROM};
use crate::clock::{self, Nanos};
use crate::framing::{
    ChunkDecoder, ControlFrame, FrameDecoder, PayloadFraming, ServerResponse, parse_response,
};
use crate::limits::{READ_BYTES, SPARE_PIECES_MAX};
use crate::message::{FIRST_SUBSCRIBE, ServerMessage, TruncatedMessage, code_text};
use crate::tally::DeliveryEffect;

/// The reason for the end of a session, as a sentence for the report.
type Ended = String;

const CLOSED: &str = "the server closed the connection";

impl LoadEngine {
    /// Waits for ready sockets, at most `wait`, and serves them.
    pub(super) fn poll_sockets(&mut self, wait: Option<Duration>) -> io::Result<()> {
        match self.poll.poll(&mut self.events, wait) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let mut events = std::mem::replace(&mut self.events, mio::Events::with_capacity(0));
        for event in &events {
            let index = event.token().0;
            if let Err(why) = self.serve_session(index, event.is_writable(), event.is_readable()) {
                self.end_session(index, &why);
            }
        }
        events.clear();
        self.events = events;
        Ok(())
    }

    fn serve_session(&mut self, index: usize, writable: bool, readable: bool) -> Result<(), Ended> {
        if writable {
            self.write_pending(index)?;
        }
        if readable {
            self.read_socket(index)?;
        }
        Ok(())
    }

    /// Writes the pending bytes of a session.
    fn write_pending(&mut self, index: usize) -> Result<(), Ended> {
        let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
        row.stream.flush().map_err(|error| describe_socket_error(&error))?;
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

    fn read_socket(&mut self, index: usize) -> Result<(), Ended> {
        loop {
            let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
            let read = match row.stream.read(&mut self.buffer[READ_FROM..]) {
                Ok(0) => return Err(CLOSED.to_owned()),
                Ok(read) => read,
                Err(error) if would_block(&error) => return Ok(()),
                Err(error) => return Err(describe_socket_error(&error)),
            };
            let drained = row.stream.is_drained_by_read(read, READ_BYTES);
            self.bytes += read as u64;
            self.take_payload(index, READ_FROM, READ_FROM + read, clock::now_nanos())?;
            if drained {
                return Ok(());
            }
        }
    }

    /// Processes the bytes that were read: a response head, or messages.
    fn take_payload(
        &mut self,
        index: usize,
        from: usize,
        to: usize,
        now: Nanos,
    ) -> Result<(), Ended> {
        let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
        if matches!(row.phase, SessionPhase::Opening | SessionPhase::Requested) {
            return self.take_response(index, from, to, now);
        }
        let partial = row.unfinished.take();
        let into = READ_FROM - 1;
        let end = row.unframe_payload(&mut self.buffer, from, to, into, &mut self.controls);
        let end = end.map_err(|error| error.to_string())?;
        let (begin, dropped) = self.prepend_partial(into, partial);
        self.read_messages(index, begin, end, dropped, now)?;
        self.answer_controls(index)
    }

    /// Copies the stored part of an unfinished message before the new bytes.
    fn prepend_partial(
        &mut self,
        into: usize,
        partial: Option<UnfinishedMessage>,
    ) -> (usize, usize) {
        let Some(partial) = partial else { return (into, 0) };
        let begin = into - partial.stored_bytes().len();
        self.buffer[begin..into].copy_from_slice(partial.stored_bytes());
        let dropped = partial.dropped_bytes();
        self.recycle_partial(Some(partial));
        (begin, dropped)
    }

    pub(super) fn recycle_partial(&mut self, piece: Option<UnfinishedMessage>) {
        self.spare.extend(piece.filter(|_| self.spare.len() < SPARE_PIECES_MAX));
    }

    fn store_partial(&mut self, index: usize, from: usize, to: usize, dropped: usize) {
        let Some(row) = self.rows[index].as_mut().filter(|_| from < to) else { return };
        let mut piece = self.spare.pop().unwrap_or_else(UnfinishedMessage::new);
        piece.store_message(&self.buffer[from..to], dropped);
        row.unfinished = Some(piece);
    }

    fn take_response(
        &mut self,
        index: usize,
        from: usize,
        to: usize,
        now: Nanos,
    ) -> Result<(), Ended> {
        let partial = self.rows[index].as_mut().and_then(|row| row.unfinished.take());
        let (begin, dropped) = self.prepend_partial(from, partial);
        let Some(length) = memchr::memmem::find(&self.buffer[begin..to], b"\r\n\r\n") else {
            self.store_partial(index, begin, to, dropped);
            return Ok(());
        };
        let body = begin + length + 4;
        let response = parse_response(&self.buffer[begin..begin + length], &self.buffer[body..to]);
        self.accept_response(index, response, now)?;
        if body < to { self.take_payload(index, body, to, now) } else { Ok(()) }
    }

    fn accept_response(
        &mut self,
        index: usize,
        answer: ServerResponse,
        now: Nanos,
    ) -> Result<(), Ended> {
        let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
        let wants_frames = !self.commands.is_empty();
        row.framing = match answer {
            ServerResponse::Stream { chunked: true } if !wants_frames => {
                PayloadFraming::Chunked(ChunkDecoder::default())
            }
            ServerResponse::Stream { chunked: false } if !wants_frames => PayloadFraming::Plain,
            ServerResponse::Upgraded if wants_frames => {
                PayloadFraming::Frames(FrameDecoder::default())
            }
            ServerResponse::Stream { .. } | ServerResponse::Upgraded => {
                return Err("the server answered with another transport than requested".to_owned());
            }
            ServerResponse::Refused(why) => return Err(why),
        };
        row.phase = SessionPhase::Accepted;
        self.unanswered -= 1;
        self.last_progress = now;
        self.accepted.record(now.saturating_sub(row.opened));
        if wants_frames {
            let commands = self.commands.clone();
            return self.send_frame(index, self.codec.frame_opcode(), &commands);
        }
        // An event stream is subscribed without further messages.
        for channel in 0..self.plan.channels.len() {
            self.note_subscribed(index, channel, None, now);
        }
        Ok(())
    }

    fn send_frame(&mut self, index: usize, opcode: Opcode, payload: &[u8]) -> Result<(), Ended> {
        let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
        let mask = self.random.u32(..).to_ne_bytes();
        frame::write_masked(&mut row.to_write, opcode, false, payload, mask);
        self.write_pending(index)
    }

    fn note_subscribed(&mut self, index: usize, channel: usize, offset: Option<u64>, now: Nanos) {
        if self.tally.note_subscribed(index, channel, offset) {
            self.note_channel_ready(index, now);
        }
    }

    /// Counts one channel less to wait for.
    fn note_channel_ready(&mut self, index: usize, now: Nanos) {
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

    fn read_messages(
        &mut self,
        index: usize,
        mut begin: usize,
        end: usize,
        mut dropped: usize,
        now: Nanos,
    ) -> Result<(), Ended> {
        // The buffer is moved out, because rows change while it is read.
        let buffer = std::mem::take(&mut self.buffer);
        let result = loop {
            let message = match self.codec.next_message(&buffer[begin..end], dropped) {
                Ok(Some((message, next))) => {
                    let bytes = &buffer[begin..end][message];
                    begin += next;
                    TruncatedMessage { bytes, dropped: std::mem::take(&mut dropped) }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error.to_string()),
            };
            let handled = match self.codec.parse_message(message) {
                Ok(parsed) => self.handle_message(index, parsed, now),
                Err(error) => Err(error.to_string()),
            };
            if handled.is_err() {
                break handled;
            }
        };
        self.note_first_byte(index, &buffer[begin..end], now);
        self.buffer = buffer;
        self.store_partial(index, begin, end, dropped);
        result
    }

    /// Notes the beginning of a state whose end has not arrived.
    fn note_first_byte(&mut self, index: usize, unfinished: &[u8], now: Nanos) {
        let Some(row) = self.rows[index].as_ref() else { return };
        if !row.has_state
            && !unfinished.is_empty()
            && row.phase == SessionPhase::Accepted
            && memchr::memmem::find(&unfinished[..unfinished.len().min(512)], b"\"state\":")
                .is_some()
        {
            self.note_state_begun(index, now);
        }
    }

    fn note_state_begun(&mut self, index: usize, now: Nanos) {
        let Some(row) = self.rows[index].as_mut().filter(|row| !row.has_state) else { return };
        row.has_state = true;
        self.first_byte.record(now.saturating_sub(row.opened));
    }

    fn handle_message(
        &mut self,
        index: usize,
        message: ServerMessage<'_>,
        now: Nanos,
    ) -> Result<(), Ended> {
        match message {
            ServerMessage::Publication { channel, offset, data } => {
                if data.state.is_some() {
                    self.note_state_begun(index, now);
                }
                match self.tally.count_delivery(index, channel, offset, data, now) {
                    DeliveryEffect::Ready => self.note_channel_ready(index, now),
                    DeliveryEffect::StatePart => self.last_progress = now,
                    DeliveryEffect::Delivered | DeliveryEffect::Unknown => {}
                }
            }
            ServerMessage::Subscribed { command, offset } => {
                let channel = command.checked_sub(FIRST_SUBSCRIBE).map(|channel| channel as usize);
                if let Some(channel) = channel.filter(|channel| *channel < self.plan.channels.len())
                {
                    self.note_subscribed(index, channel, offset, now);
                }
            }
            ServerMessage::Refused { command, code } => {
                return Err(self.command_refused_reason(command, code));
            }
            ServerMessage::Unsubscribed { code } => {
                let code = describe_code(code, code_text::unsubscribe_text(code));
                return Err(format!("the server ended a subscription with code {code}"));
            }
            ServerMessage::Disconnected { code } => return Err(close_code_reason(code)),
            ServerMessage::Ping => {
                self.send_frame(index, self.codec.frame_opcode(), self.codec.pong_payload())?;
            }
            ServerMessage::Connected => self.last_progress = now,
            ServerMessage::Ignored => {}
        }
        Ok(())
    }

    fn command_refused_reason(&self, command: u32, code: u32) -> Ended {
        let channel = command.checked_sub(FIRST_SUBSCRIBE);
        let code = describe_code(code, code_text::error_text(code));
        match channel.and_then(|channel| self.plan.channels.get(channel as usize)) {
            Some(channel) => format!("the server refused {channel} with code {code}"),
            None => format!("the server refused the connection with code {code}"),
        }
    }

    fn answer_controls(&mut self, index: usize) -> Result<(), Ended> {
        while let Some(control) = self.controls.pop() {
            match control {
                ControlFrame::Ping(payload) => {
                    self.send_frame(index, Opcode::Pong, &payload)?;
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

fn close_code_reason(code: u32) -> Ended {
    format!(
        "the server closed the connection with code {}",
        describe_code(code, code_text::disconnect_text(code))
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
