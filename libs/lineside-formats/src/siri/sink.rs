//! Where records are written to: XML or JSON, the mirror of a [source](super::source).

use std::fmt::Write as _;

use super::{record::Record, values::TextForm};

/// A message that is being written. There is always one open element.
pub(super) trait Sink: Sized {
    /// Opens an element.
    fn begin(&mut self, name: &str);

    /// Closes it.
    fn end(&mut self, name: &str);

    /// Writes an attribute of the element that was opened last, before anything is in it.
    fn attribute(&mut self, name: &str, value: &str);

    /// Writes an element with a text.
    fn leaf(&mut self, name: &str, text: &str, form: TextForm);

    /// Writes a text that may say its language.
    fn text_in_language(&mut self, name: &str, lang: Option<&str>, text: &str);

    /// Writes an element that only has to be there.
    fn flag(&mut self, name: &str);

    /// Writes elements of one name, each by `write`.
    fn list<T>(&mut self, name: &str, items: &[T], write: impl FnMut(&mut Self, &T));

    /// Writes an element with a record in it.
    fn record<R: Record>(&mut self, name: &str, record: &R) {
        self.begin(name);
        record.write_children_of(name, self);
        self.end(name);
    }
}

/// Writes XML without indentation.
#[derive(Debug, Default)]
pub(super) struct XmlSink {
    pub(super) text: String,
    /// Whether the tag that was written last still takes attributes.
    in_tag: bool,
    prefix: &'static str,
}

impl XmlSink {
    /// Writes elements with a prefix from here on, or without one.
    pub(super) fn set_prefix(&mut self, prefix: &'static str) {
        self.prefix = prefix;
    }

    fn close_tag(&mut self) {
        if self.in_tag {
            self.text.push('>');
            self.in_tag = false;
        }
    }

    fn escape(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                // A parser would make a line feed of it.
                '\r' => self.text.push_str("&#13;"),
                '\n' | '\t' => self.text.push(character),
                // XML has no way to write these.
                '\0'..'\u{20}' | '\u{FFFE}' | '\u{FFFF}' => {}
                _ => self.text.push(character),
            }
        }
    }
}

impl Sink for XmlSink {
    fn begin(&mut self, name: &str) {
        self.close_tag();
        self.text.push('<');
        self.text.push_str(self.prefix);
        self.text.push_str(name);
        self.in_tag = true;
    }

    fn end(&mut self, name: &str) {
        if std::mem::take(&mut self.in_tag) {
            self.text.push_str("/>");
        } else {
            self.text.push_str("</");
            self.text.push_str(self.prefix);
            self.text.push_str(name);
            self.text.push('>');
        }
    }

    fn attribute(&mut self, name: &str, value: &str) {
        self.text.push(' ');
        self.text.push_str(name);
        self.text.push_str("=\"");
        self.escape(value);
        self.text.push('"');
    }

    fn leaf(&mut self, name: &str, text: &str, _: TextForm) {
        // The version of a delivery is what its tag says.
        if name == "version" && self.in_tag {
            self.attribute(name, text);
        } else {
            self.text_in_language(name, None, text);
        }
    }

    fn text_in_language(&mut self, name: &str, lang: Option<&str>, text: &str) {
        self.begin(name);
        if let Some(lang) = lang {
            self.attribute("xml:lang", lang);
        }
        self.close_tag();
        self.escape(text);
        self.end(name);
    }

    fn flag(&mut self, name: &str) {
        self.begin(name);
        self.end(name);
    }

    fn list<T>(&mut self, _: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        for item in items {
            write(self, item);
        }
    }
}

/// The names of references that are plain texts in JSON: of messages, of what answers them, and of a journey on its day.
const PLAIN_REFS: [&str; 9] = [
    "ProducerRef",
    "RequestorRef",
    "ResponderRef",
    "RequestMessageRef",
    "SubscriberRef",
    "SubscriptionRef",
    "ConsumerRef",
    "ItemRef",
    "ItemIdentifierRef",
];
/// Identifiers that are written as references are.
const IDENTIFIERS: [&str; 1] = ["SituationNumber"];
/// Texts of which the schema has one, so that they are no lists.
const SINGLE_TEXTS: [&str; 2] = ["ArrivalPlatformName", "DeparturePlatformName"];
/// A journey on its day, in which the name of the journey is a plain text.
const FRAMED: &str = "FramedVehicleJourneyRef";

/// Writes JSON as SIRI Lite has it in France (PRIM of Île-de-France Mobilités): `{"value": …}` for references, and lists of
/// such objects for texts.
#[derive(Debug, Default)]
pub(super) struct JsonSink {
    pub(super) text: String,
    /// Whether something stands before, so that a comma is due.
    has_before: bool,
    /// Whether the next element is an item of a list, which has no key.
    in_list: bool,
    /// Whether the open element is [`FRAMED`].
    in_framed: bool,
}

impl JsonSink {
    fn key(&mut self, name: &str) {
        if std::mem::replace(&mut self.has_before, true) {
            self.text.push(',');
        }
        if !std::mem::take(&mut self.in_list) {
            self.string(name);
            self.text.push(':');
        }
    }

    fn is_reference(&self, name: &str) -> bool {
        let is_of_frame = self.in_framed && name == "DatedVehicleJourneyRef";
        let is_reference = name.ends_with("Ref") && !PLAIN_REFS.contains(&name) && !is_of_frame;
        is_reference || IDENTIFIERS.contains(&name)
    }

    /// A moment in UTC, always with three digits after the second.
    fn moment(&mut self, text: &str) {
        let moment = text.strip_suffix('Z').unwrap_or(text);
        let (seconds, fraction) = moment.split_once('.').unwrap_or((moment, ""));
        // Writing to a text cannot fail.
        _ = write!(self.text, "\"{seconds}.{fraction:0<3}Z\"");
    }

    fn string(&mut self, text: &str) {
        self.text.push('"');
        for character in text.chars() {
            match character {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                // A control character has no other way.
                '\0'..'\u{20}' => {
                    self.text.push_str("\\u00");
                    for digit in [character as u32 / 16, character as u32 % 16] {
                        self.text.extend(char::from_digit(digit, 16));
                    }
                }
                _ => self.text.push(character),
            }
        }
        self.text.push('"');
    }
}

impl Sink for JsonSink {
    fn begin(&mut self, name: &str) {
        self.key(name);
        self.text.push('{');
        self.has_before = false;
        self.in_framed = name == FRAMED;
    }

    fn end(&mut self, _: &str) {
        self.text.push('}');
        self.has_before = true;
        self.in_framed = false;
    }

    fn attribute(&mut self, name: &str, value: &str) {
        self.leaf(name, value, TextForm::Quoted);
    }

    fn leaf(&mut self, name: &str, text: &str, form: TextForm) {
        self.key(name);
        let is_reference = form == TextForm::Quoted && self.is_reference(name);
        if is_reference {
            self.text.push_str("{\"value\":");
        }
        match form {
            TextForm::Quoted => self.string(text),
            TextForm::Bare => self.text.push_str(text),
            TextForm::Moment => self.moment(text),
        }
        if is_reference {
            self.text.push('}');
        }
    }

    fn text_in_language(&mut self, name: &str, lang: Option<&str>, text: &str) {
        self.begin(name);
        self.leaf("value", text, TextForm::Quoted);
        if let Some(lang) = lang {
            self.leaf("lang", lang, TextForm::Quoted);
        }
        self.end(name);
    }

    fn flag(&mut self, name: &str) {
        self.leaf(name, "true", TextForm::Bare);
    }

    fn list<T>(&mut self, name: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        if let [item] = items
            && SINGLE_TEXTS.contains(&name)
        {
            return write(self, item);
        }
        if items.is_empty() {
            return;
        }
        self.key(name);
        self.text.push('[');
        self.has_before = false;
        for item in items {
            self.in_list = true;
            write(self, item);
        }
        self.in_list = false;
        self.text.push(']');
        self.has_before = true;
    }
}
