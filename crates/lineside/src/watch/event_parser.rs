//! A client-side parser of the event-stream format (WHATWG HTML §9.2).

use std::time::Duration;

/// Longest line in bytes: a message has at most 256 KiB, escapes and envelope included.
const LINE_BYTES_MAX: usize = 1 << 20;
/// Longest event in bytes, over all its `data` lines.
const EVENT_BYTES_MAX: usize = 4 << 20;
/// Longest reconnect delay that a server can request.
const RETRY_MAX: Duration = Duration::from_secs(60);

/// A complete event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamEvent {
    pub(super) data: String,
    /// The id to send as `Last-Event-ID` when reconnecting.
    pub(super) id: String,
}

/// The error of a stream that no Lineside server would send.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the event stream is invalid: {0}")]
pub(super) struct InvalidStream(&'static str);

/// An incremental parser: bytes in, events out. An incomplete event at the end of the stream is discarded.
#[derive(Debug, Default)]
pub(super) struct EventParser {
    line: Vec<u8>,
    /// True after a carriage return: a line feed that follows belongs to the same line ending.
    is_after_return: bool,
    data: String,
    id: String,
    retry: Option<Duration>,
}

impl EventParser {
    /// Parses the next piece of the stream and returns the events that it completes.
    ///
    /// # Errors
    /// Returns an error if the stream is not UTF-8, or if a line or an event is too long.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<Vec<StreamEvent>, InvalidStream> {
        let mut events = Vec::new();
        for &byte in piece {
            let continues_end = byte == b'\n' && std::mem::take(&mut self.is_after_return);
            match byte {
                b'\n' if continues_end => {}
                b'\n' | b'\r' => {
                    self.is_after_return = byte == b'\r';
                    events.extend(self.process_line()?);
                }
                _ if self.line.len() >= LINE_BYTES_MAX => {
                    return Err(InvalidStream("a line is too long"));
                }
                _ => {
                    self.is_after_return = false;
                    self.line.push(byte);
                }
            }
        }
        Ok(events)
    }

    /// Returns the reconnect delay that the server requested.
    pub(super) fn requested_retry_delay(&self) -> Option<Duration> {
        self.retry
    }

    fn process_line(&mut self) -> Result<Option<StreamEvent>, InvalidStream> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8(line).map_err(|_| InvalidStream("it is not UTF-8"))?;
        if line.is_empty() {
            return Ok(self.take_completed_event());
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.data.len() + value.len() > EVENT_BYTES_MAX {
                    return Err(InvalidStream("an event is too long"));
                }
                self.data.push_str(value);
                self.data.push('\n');
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" => {
                let pause = value.parse().ok().map(Duration::from_millis);
                self.retry = pause.map(|pause| pause.min(RETRY_MAX)).or(self.retry);
            }
            _ => {}
        }
        Ok(None)
    }

    fn take_completed_event(&mut self) -> Option<StreamEvent> {
        let mut data = std::mem::take(&mut self.data);
        // The last line feed belongs to the format, not to the data.
        data.pop()?;
        Some(StreamEvent { data, id: self.id.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stream: &str, expect: &[(&str, &str)]) {
        let expect: Vec<_> = expect
            .iter()
            .map(|(data, id)| StreamEvent { data: (*data).to_owned(), id: (*id).to_owned() })
            .collect();
        for piece in [1, 2, 7, stream.len()] {
            let mut parser = EventParser::default();
            let pieces = stream.as_bytes().chunks(piece);
            let events: Vec<_> = pieces.flat_map(|bytes| parser.push(bytes).unwrap()).collect();
            assert_eq!(events, expect, "in pieces of {piece}");
        }
    }

    #[test]
    fn events_do_not_depend_on_the_chunks_of_the_stream() {
        check("data: a\nid: 1\n\n", &[("a", "1")]);
        check("data: a\r\ndata: b\r\n\r\ndata:c\r\r", &[("a\nb", ""), ("c", "")]);
        check(": heartbeat\n\ndata: x\n\n", &[("x", "")]);
    }

    #[test]
    fn an_id_applies_until_the_next_one() {
        check("id: 7\ndata: a\n\ndata: b\n\n", &[("a", "7"), ("b", "7")]);
    }

    #[test]
    fn an_unfinished_event_is_ignored() {
        check("data: a\n", &[]);
    }

    #[test]
    fn the_server_can_set_the_retry_delay() {
        let mut parser = EventParser::default();
        parser.push(b"retry: 2500\n\n").unwrap();
        assert_eq!(parser.requested_retry_delay(), Some(Duration::from_millis(2500)));
        parser.push(b"retry: soon\n\n").unwrap();
        assert_eq!(parser.requested_retry_delay(), Some(Duration::from_millis(2500)));
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut parser = EventParser::default();
        let endless = vec![b'x'; LINE_BYTES_MAX + 1];
        assert_eq!(parser.push(&endless), Err(InvalidStream("a line is too long")));
    }
}
