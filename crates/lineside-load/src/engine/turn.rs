//! A turn of the engine: what the sockets have, read and counted.

use std::io;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use lineside_wire::websocket::frame::{self, Opcode};

use super::open::sentence;
use super::row::{Phase, Unfinished};
use super::{Engine, READ_FROM};
use crate::clock::{self, Nanos};
use crate::framing::{Answer, Chunked, Control, Frames, Framing, answer};
use crate::limits::{READ_BYTES, SPARE_PIECES_MAX};
use crate::message::{FIRST_SUBSCRIBE, Message, Said, words};
use crate::tally::Effect;

/// Why a session ends: a sentence for whoever reads the result.
type Ended = String;

const CLOSED: &str = "the server closed the connection";

impl Engine {
    /// Waits for sockets, at most so long, and reads what they have.
    pub(super) fn turn(&mut self, wait: Option<Duration>) -> io::Result<()> {
        match self.poll.poll(&mut self.events, wait) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let mut events = std::mem::replace(&mut self.events, mio::Events::with_capacity(0));
        for event in &events {
            let index = event.token().0;
            if let Err(why) = self.serve(index, event.is_writable(), event.is_readable()) {
                self.end(index, &why);
            }
        }
        events.clear();
        self.events = events;
        Ok(())
    }

    fn serve(&mut self, index: usize, writable: bool, readable: bool) -> Result<(), Ended> {
        if writable {
            self.write(index)?;
        }
        if readable {
            self.read(index)?;
        }
        Ok(())
    }

    /// Writes what waits to be written, if anything does.
    fn write(&mut self, index: usize) -> Result<(), Ended> {
        let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
        row.stream.flush().map_err(|error| sentence(&error))?;
        while !row.to_write.is_empty() {
            match row.stream.write(&row.to_write) {
                Ok(taken) => row.to_write.advance(taken),
                Err(error) if is_not_now(&error) => return Ok(()),
                Err(error) => return Err(sentence(&error)),
            }
        }
        // An idle session has no buffer.
        row.to_write = BytesMut::new();
        if row.phase == Phase::Opening {
            row.phase = Phase::Asked;
        }
        Ok(())
    }

    fn read(&mut self, index: usize) -> Result<(), Ended> {
        loop {
            let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
            let read = match row.stream.read(&mut self.buffer[READ_FROM..]) {
                Ok(0) => return Err(CLOSED.to_owned()),
                Ok(read) => read,
                Err(error) if is_not_now(&error) => return Ok(()),
                Err(error) => return Err(sentence(&error)),
            };
            let drained = row.stream.is_drained_by(read, READ_BYTES);
            self.bytes += read as u64;
            self.take(index, READ_FROM, READ_FROM + read, clock::now())?;
            if drained {
                return Ok(());
            }
        }
    }

    /// What was read: an answer, or messages.
    fn take(&mut self, index: usize, from: usize, to: usize, now: Nanos) -> Result<(), Ended> {
        let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
        if matches!(row.phase, Phase::Opening | Phase::Asked) {
            return self.take_answer(index, from, to, now);
        }
        let kept = row.unfinished.take();
        let into = READ_FROM - 1;
        let end = row.unframe(&mut self.buffer, from, to, into, &mut self.controls);
        let end = end.map_err(|error| error.to_string())?;
        let (begin, dropped) = self.put_before(into, kept);
        self.read_messages(index, begin, end, dropped, now)?;
        self.answer_controls(index)
    }

    /// Puts what was kept of an unfinished message before the new bytes.
    fn put_before(&mut self, into: usize, kept: Option<Unfinished>) -> (usize, usize) {
        let Some(kept) = kept else { return (into, 0) };
        let begin = into - kept.bytes().len();
        self.buffer[begin..into].copy_from_slice(kept.bytes());
        let dropped = kept.dropped();
        self.keep_for_later(Some(kept));
        (begin, dropped)
    }

    pub(super) fn keep_for_later(&mut self, piece: Option<Unfinished>) {
        self.spare.extend(piece.filter(|_| self.spare.len() < SPARE_PIECES_MAX));
    }

    fn keep(&mut self, index: usize, from: usize, to: usize, dropped: usize) {
        let Some(row) = self.rows[index].as_mut().filter(|_| from < to) else { return };
        let mut piece = self.spare.pop().unwrap_or_else(Unfinished::new);
        piece.keep(&self.buffer[from..to], dropped);
        row.unfinished = Some(piece);
    }

    fn take_answer(
        &mut self,
        index: usize,
        from: usize,
        to: usize,
        now: Nanos,
    ) -> Result<(), Ended> {
        let kept = self.rows[index].as_mut().and_then(|row| row.unfinished.take());
        let (begin, dropped) = self.put_before(from, kept);
        let Some(length) = memchr::memmem::find(&self.buffer[begin..to], b"\r\n\r\n") else {
            self.keep(index, begin, to, dropped);
            return Ok(());
        };
        let body = begin + length + 4;
        let said = answer(&self.buffer[begin..begin + length], &self.buffer[body..to]);
        self.accept(index, said, now)?;
        if body < to { self.take(index, body, to, now) } else { Ok(()) }
    }

    fn accept(&mut self, index: usize, answer: Answer, now: Nanos) -> Result<(), Ended> {
        let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
        let wants_frames = !self.commands.is_empty();
        row.framing = match answer {
            Answer::Stream { chunked: true } if !wants_frames => {
                Framing::Chunked(Chunked::default())
            }
            Answer::Stream { chunked: false } if !wants_frames => Framing::Plain,
            Answer::Upgraded if wants_frames => Framing::Frames(Frames::default()),
            Answer::Stream { .. } | Answer::Upgraded => {
                return Err(
                    "the server answered with another transport than was asked for".to_owned()
                );
            }
            Answer::Refused(why) => return Err(why),
        };
        row.phase = Phase::Accepted;
        self.unanswered -= 1;
        self.moved = now;
        self.accepted.record(now.saturating_sub(row.opened));
        if wants_frames {
            let commands = self.commands.clone();
            return self.send(index, self.language.opcode(), &commands);
        }
        // The stream itself says that it is subscribed.
        for channel in 0..self.plan.channels.len() {
            self.subscribed(index, channel, None, now);
        }
        Ok(())
    }

    fn send(&mut self, index: usize, opcode: Opcode, payload: &[u8]) -> Result<(), Ended> {
        let Some(row) = self.rows[index].as_mut() else { return Ok(()) };
        let mask = self.random.u32(..).to_ne_bytes();
        frame::write_masked(&mut row.to_write, opcode, false, payload, mask);
        self.write(index)
    }

    fn subscribed(&mut self, index: usize, channel: usize, offset: Option<u64>, now: Nanos) {
        if self.tally.subscribed(index, channel, offset) {
            self.one_is_there(index, now);
        }
    }

    /// One channel less to wait for.
    fn one_is_there(&mut self, index: usize, now: Nanos) {
        let Some(row) = self.rows[index].as_mut() else { return };
        row.waits_for = row.waits_for.saturating_sub(1);
        if row.waits_for == 0 && row.phase == Phase::Accepted {
            row.phase = Phase::Ready;
            self.complete.record(now.saturating_sub(row.opened));
            self.unready -= 1;
            self.ready += 1;
            self.moved = now;
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
        // The buffer is read while rows are changed.
        let buffer = std::mem::take(&mut self.buffer);
        let result = loop {
            let message = match self.language.next(&buffer[begin..end], dropped) {
                Ok(Some((message, next))) => {
                    let bytes = &buffer[begin..end][message];
                    begin += next;
                    Message { bytes, dropped: std::mem::take(&mut dropped) }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error.to_string()),
            };
            let heard = match self.language.read(message) {
                Ok(said) => self.hear(index, said, now),
                Err(error) => Err(error.to_string()),
            };
            if heard.is_err() {
                break heard;
            }
        };
        self.note_first_byte(index, &buffer[begin..end], now);
        self.buffer = buffer;
        self.keep(index, begin, end, dropped);
        result
    }

    /// A state whose end has not come has begun all the same.
    fn note_first_byte(&mut self, index: usize, unfinished: &[u8], now: Nanos) {
        let Some(row) = self.rows[index].as_ref() else { return };
        if !row.has_state
            && !unfinished.is_empty()
            && row.phase == Phase::Accepted
            && memchr::memmem::find(&unfinished[..unfinished.len().min(512)], b"\"state\":")
                .is_some()
        {
            self.state_has_begun(index, now);
        }
    }

    fn state_has_begun(&mut self, index: usize, now: Nanos) {
        let Some(row) = self.rows[index].as_mut().filter(|row| !row.has_state) else { return };
        row.has_state = true;
        self.first_byte.record(now.saturating_sub(row.opened));
    }

    fn hear(&mut self, index: usize, said: Said<'_>, now: Nanos) -> Result<(), Ended> {
        match said {
            Said::Publication { channel, offset, data } => {
                if data.state.is_some() {
                    self.state_has_begun(index, now);
                }
                match self.tally.deliver(index, channel, offset, data, now) {
                    Effect::Ready => self.one_is_there(index, now),
                    Effect::StatePart => self.moved = now,
                    Effect::Delivered | Effect::Unknown => {}
                }
            }
            Said::Subscribed { command, offset } => {
                let channel = command.checked_sub(FIRST_SUBSCRIBE).map(|channel| channel as usize);
                if let Some(channel) = channel.filter(|channel| *channel < self.plan.channels.len())
                {
                    self.subscribed(index, channel, offset, now);
                }
            }
            Said::Refused { command, code } => return Err(self.refused(command, code)),
            Said::Unsubscribed { code } => {
                let code = with_words(code, words::of_unsubscribe(code));
                return Err(format!("the server ended a subscription with code {code}"));
            }
            Said::Disconnected { code } => return Err(closed_with(code)),
            Said::Ping => {
                self.send(index, self.language.opcode(), self.language.pong())?;
            }
            Said::Connected => self.moved = now,
            Said::Aside => {}
        }
        Ok(())
    }

    fn refused(&self, command: u32, code: u32) -> Ended {
        let channel = command.checked_sub(FIRST_SUBSCRIBE);
        let code = with_words(code, words::of_error(code));
        match channel.and_then(|channel| self.plan.channels.get(channel as usize)) {
            Some(channel) => format!("the server refused {channel} with code {code}"),
            None => format!("the server refused the connection with code {code}"),
        }
    }

    fn answer_controls(&mut self, index: usize) -> Result<(), Ended> {
        while let Some(control) = self.controls.pop() {
            match control {
                Control::Ping(payload) => {
                    self.send(index, Opcode::Pong, &payload)?;
                }
                Control::Pong => {}
                Control::Close(code) => {
                    self.controls.clear();
                    return Err(code.map_or(CLOSED.to_owned(), |code| closed_with(u32::from(code))));
                }
            }
        }
        Ok(())
    }
}

fn closed_with(code: u32) -> Ended {
    format!(
        "the server closed the connection with code {}",
        with_words(code, words::of_disconnect(code))
    )
}

/// A code, and what it means if this server is ours.
fn with_words(code: u32, words: Option<&str>) -> String {
    words.map_or_else(|| code.to_string(), |words| format!("{code} ({words})"))
}

fn is_not_now(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::NotConnected
    )
}
