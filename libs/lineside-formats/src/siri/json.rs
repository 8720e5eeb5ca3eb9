//! Reads JSON as named elements: a key is a name, a list repeats its key, null is absent, and a text may be in an
//! object with its language. serde_json parses small values (texts, numbers, skipped values); this module walks objects
//! and lists, so no tree is built.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, Visitor},
};
use serde_json::value::RawValue;

use super::{MessageLimits, source::MessageSource};
use crate::{Error, ErrorKind};

/// A reader of one message.
pub(super) struct JsonSource<'a> {
    text: &'a str,
    at: usize,
    /// The open elements, beginning with the message itself.
    open: Vec<OpenJsonElement<'a>>,
}

struct OpenJsonElement<'a> {
    value: ElementProgress,
    /// The key of the open list.
    list: Option<&'a str>,
    /// True if nothing has been read yet of the list, or of the object if no list is open.
    is_first: bool,
}

/// The progress in the value of an element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ElementProgress {
    Unread,
    Object,
}

const UNREAD: OpenJsonElement<'static> =
    OpenJsonElement { value: ElementProgress::Unread, list: None, is_first: true };

impl<'a> JsonSource<'a> {
    pub(super) fn new(text: &'a str) -> JsonSource<'a> {
        JsonSource { text, at: 0, open: vec![UNREAD] }
    }

    /// Returns the next byte that is not white space.
    fn peek_byte(&mut self) -> Result<u8, Error> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let n_white = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.at += n_white;
        rest.get(n_white).copied().ok_or_else(truncated_error)
    }

    fn consume_expected_byte(&mut self, byte: u8) -> Result<(), Error> {
        if self.peek_byte()? != byte {
            return Err(self.malformed_error(&format!("expected {:?}", char::from(byte))));
        }
        self.at += 1;
        Ok(())
    }

    /// Parses one value with serde_json.
    fn parse_json_value<T: Deserialize<'a>>(&mut self) -> Result<T, Error> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<T>();
        match values.next() {
            Some(Ok(value)) => {
                self.at += values.byte_offset();
                Ok(value)
            }
            Some(Err(error)) if !error.is_eof() => Err(self.malformed_error(&error.to_string())),
            _ => Err(truncated_error()),
        }
    }

    #[cold]
    fn malformed_error(&self, detail: &str) -> Error {
        let before = self.text.as_bytes().get(..self.at).unwrap_or_default();
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let detail = format!("the JSON is malformed after line {line}: {detail}");
        Error::new(ErrorKind::Decode, detail)
    }

    fn push_open_element(&mut self, name: &'a str) -> Result<Option<&'a str>, Error> {
        if self.open.len() > MessageLimits::DEPTH {
            let detail =
                format!("the JSON is nested more than {} levels deep", MessageLimits::DEPTH);
            return Err(Error::new(ErrorKind::TooLarge, detail));
        }
        self.open.push(UNREAD);
        Ok(Some(name))
    }

    /// Returns true if another item precedes `end`; else consumes `end`.
    fn advance_to_next_item(&mut self, end: u8, is_first: bool) -> Result<bool, Error> {
        if self.peek_byte()? == end {
            self.at += 1;
            return Ok(false);
        }
        if !is_first {
            self.consume_expected_byte(b',')?;
        }
        Ok(true)
    }

    fn open_next_list_item(&mut self) -> Result<Option<&'a str>, Error> {
        let Some(OpenJsonElement { list: Some(name), is_first, .. }) = self.open.last() else {
            return Ok(None);
        };
        let (name, mut is_first) = (*name, *is_first);
        while self.advance_to_next_item(b']', is_first)? {
            is_first = false;
            if self.peek_byte()? == b'n' {
                self.parse_json_value::<IgnoredAny>()?;
                continue;
            }
            if let Some(top) = self.open.last_mut() {
                top.is_first = false;
            }
            return self.push_open_element(name);
        }
        if let Some(top) = self.open.last_mut() {
            (top.list, top.is_first) = (None, false);
        }
        Ok(None)
    }

    /// Returns the next key of the object, or the first item of its list.
    fn open_next_object_key(&mut self) -> Result<Option<&'a str>, Error> {
        loop {
            let is_first = self.open.last().is_some_and(|top| top.is_first);
            if !self.advance_to_next_item(b'}', is_first)? {
                self.open.pop();
                return Ok(None);
            }
            if let Some(top) = self.open.last_mut() {
                top.is_first = false;
            }
            self.peek_byte()?;
            // No SIRI name needs an escape, so a key with one is unknown.
            let name = match self.parse_json_value::<JsonText<'a>>()?.0 {
                Cow::Borrowed(name) => name,
                Cow::Owned(_) => "",
            };
            self.consume_expected_byte(b':')?;
            match self.peek_byte()? {
                b'[' => {
                    self.at += 1;
                    if let Some(top) = self.open.last_mut() {
                        (top.list, top.is_first) = (Some(name), true);
                    }
                    if let Some(item) = self.open_next_list_item()? {
                        return Ok(Some(item));
                    }
                }
                b'n' => drop(self.parse_json_value::<IgnoredAny>()?),
                _ => return self.push_open_element(name),
            }
        }
    }
}

impl<'a> MessageSource<'a> for JsonSource<'a> {
    fn open_next_child(&mut self) -> Result<Option<&'a str>, Error> {
        let Some(top) = self.open.last_mut() else { return Ok(None) };
        if top.value == ElementProgress::Unread {
            if self.peek_byte()? != b'{' {
                self.skip_element()?;
                return Ok(None);
            }
            self.at += 1;
            if let Some(top) = self.open.last_mut() {
                top.value = ElementProgress::Object;
            }
        }
        match self.open_next_list_item()? {
            Some(name) => Ok(Some(name)),
            None => self.open_next_object_key(),
        }
    }

    fn read_element_text(&mut self) -> Result<Cow<'a, str>, Error> {
        self.read_element_text_and_language().map(|(_, text)| text)
    }

    fn read_element_text_and_language(
        &mut self,
    ) -> Result<(Option<Cow<'a, str>>, Cow<'a, str>), Error> {
        let text = match self.peek_byte()? {
            b'{' => {
                let (mut language, mut text) = (None, Cow::Borrowed(""));
                while let Some(name) = self.open_next_child()? {
                    match name {
                        "value" | "Value" => text = self.read_element_text()?,
                        "lang" | "Lang" | "xml:lang" | "@lang" => {
                            language = Some(self.read_element_text()?)
                        }
                        _ => self.skip_element()?,
                    }
                }
                return Ok((language, text));
            }
            b'"' => self.parse_json_value::<JsonText<'a>>()?.0,
            b'[' => {
                self.parse_json_value::<IgnoredAny>()?;
                Cow::Borrowed("")
            }
            _ => Cow::Borrowed(self.parse_json_value::<&'a RawValue>()?.get()),
        };
        self.open.pop();
        Ok((None, text))
    }

    fn skip_element(&mut self) -> Result<(), Error> {
        self.peek_byte()?;
        self.parse_json_value::<IgnoredAny>()?;
        self.open.pop();
        Ok(())
    }

    fn attribute(&self, _: &str) -> Option<Cow<'a, str>> {
        None
    }

    fn element_namespace(&self) -> Option<&str> {
        None
    }

    fn lone_ampersand_count(&self) -> u64 {
        0
    }
}

fn truncated_error() -> Error {
    Error::new(ErrorKind::Truncated, "the JSON is truncated")
}

/// A text, borrowed if it has no escapes.
struct JsonText<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for JsonText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(JsonTextVisitor).map(JsonText)
    }
}

struct JsonTextVisitor;

impl<'de> Visitor<'de> for JsonTextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}
