//! Where records are written to: XML or JSON, the mirror of a [source](super::source).

use std::fmt::Write as _;

use super::{record::SiriRecord, values::TextForm};

/// A message that is being written. There is always one open element.
pub(super) trait MessageSink: Sized {
    /// Opens an element.
    fn begin_element(&mut self, name: &str);

    /// Closes it.
    fn end_element(&mut self, name: &str);

    /// Writes an attribute of the element that was opened last, before anything is in it.
    fn write_attribute(&mut self, name: &str, value: &str);

    /// Writes an element with a text.
    fn write_leaf(&mut self, name: &str, text: &str, form: TextForm);

    /// Writes a text that may say its language.
    fn write_localized_text(&mut self, name: &str, lang: Option<&str>, text: &str);

    /// Writes an element that only has to be there.
    fn write_flag(&mut self, name: &str);

    /// Writes elements of one name, each by `write`.
    fn write_list<T>(&mut self, name: &str, items: &[T], write: impl FnMut(&mut Self, &T));

    /// Writes an element with a record in it.
    fn write_record<R: SiriRecord>(&mut self, name: &str, record: &R) {
        self.begin_element(name);
        record.write_children_of(name, self);
        self.end_element(name);
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

    fn close_start_tag(&mut self) {
        if self.in_tag {
            self.text.push('>');
            self.in_tag = false;
        }
    }

    fn push_escaped(&mut self, text: &str) {
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

impl MessageSink for XmlSink {
    fn begin_element(&mut self, name: &str) {
        self.close_start_tag();
        self.text.push('<');
        self.text.push_str(self.prefix);
        self.text.push_str(name);
        self.in_tag = true;
    }

    fn end_element(&mut self, name: &str) {
        if std::mem::take(&mut self.in_tag) {
            self.text.push_str("/>");
        } else {
            self.text.push_str("</");
            self.text.push_str(self.prefix);
            self.text.push_str(name);
            self.text.push('>');
        }
    }

    fn write_attribute(&mut self, name: &str, value: &str) {
        self.text.push(' ');
        self.text.push_str(name);
        self.text.push_str("=\"");
        self.push_escaped(value);
        self.text.push('"');
    }

    fn write_leaf(&mut self, name: &str, text: &str, _: TextForm) {
        // The version of a delivery is what its tag says.
        if name == "version" && self.in_tag {
            self.write_attribute(name, text);
        } else {
            self.write_localized_text(name, None, text);
        }
    }

    fn write_localized_text(&mut self, name: &str, lang: Option<&str>, text: &str) {
        self.begin_element(name);
        if let Some(lang) = lang {
            self.write_attribute("xml:lang", lang);
        }
        self.close_start_tag();
        self.push_escaped(text);
        self.end_element(name);
    }

    fn write_flag(&mut self, name: &str) {
        self.begin_element(name);
        self.end_element(name);
    }

    fn write_list<T>(&mut self, _: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
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
    fn write_key(&mut self, name: &str) {
        if std::mem::replace(&mut self.has_before, true) {
            self.text.push(',');
        }
        if !std::mem::take(&mut self.in_list) {
            self.write_string(name);
            self.text.push(':');
        }
    }

    fn is_reference_element(&self, name: &str) -> bool {
        let is_of_frame = self.in_framed && name == "DatedVehicleJourneyRef";
        let is_reference = name.ends_with("Ref") && !PLAIN_REFS.contains(&name) && !is_of_frame;
        is_reference || IDENTIFIERS.contains(&name)
    }

    /// A moment in UTC, always with three digits after the second.
    fn write_utc_moment(&mut self, text: &str) {
        let moment = text.strip_suffix('Z').unwrap_or(text);
        let (seconds, fraction) = moment.split_once('.').unwrap_or((moment, ""));
        // Writing to a text cannot fail.
        _ = write!(self.text, "\"{seconds}.{fraction:0<3}Z\"");
    }

    fn write_string(&mut self, text: &str) {
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

impl MessageSink for JsonSink {
    fn begin_element(&mut self, name: &str) {
        self.write_key(name);
        self.text.push('{');
        self.has_before = false;
        self.in_framed = name == FRAMED;
    }

    fn end_element(&mut self, _: &str) {
        self.text.push('}');
        self.has_before = true;
        self.in_framed = false;
    }

    fn write_attribute(&mut self, name: &str, value: &str) {
        self.write_leaf(name, value, TextForm::Quoted);
    }

    fn write_leaf(&mut self, name: &str, text: &str, form: TextForm) {
        self.write_key(name);
        let is_reference = form == TextForm::Quoted && self.is_reference_element(name);
        if is_reference {
            self.text.push_str("{\"value\":");
        }
        match form {
            TextForm::Quoted => self.write_string(text),
            TextForm::Bare => self.text.push_str(text),
            TextForm::Moment => self.write_utc_moment(text),
        }
        if is_reference {
            self.text.push('}');
        }
    }

    fn write_localized_text(&mut self, name: &str, lang: Option<&str>, text: &str) {
        self.begin_element(name);
        self.write_leaf("value", text, TextForm::Quoted);
        if let Some(lang) = lang {
            self.write_leaf("lang", lang, TextForm::Quoted);
        }
        self.end_element(name);
    }

    fn write_flag(&mut self, name: &str) {
        self.write_leaf(name, "true", TextForm::Bare);
    }

    fn write_list<T>(&mut self, name: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        if let [item] = items
            && SINGLE_TEXTS.contains(&name)
        {
            return write(self, item);
        }
        if items.is_empty() {
            return;
        }
        self.write_key(name);
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
