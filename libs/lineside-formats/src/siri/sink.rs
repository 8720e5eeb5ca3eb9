//! The output of records: XML or JSON, the counterpart of a [source](super::source).

use std::fmt::Write as _;

use super::{record::SiriRecord, values::JsonValueForm};

/// A writer of one message. There is always one open element.
pub(super) trait MessageSink: Sized {
    /// Opens an element.
    fn begin_element(&mut self, name: &str);

    /// Closes the element with that name.
    fn end_element(&mut self, name: &str);

    /// Writes an attribute of the most recently opened element, before any content.
    fn write_attribute(&mut self, name: &str, value: &str);

    /// Writes an element with a text.
    fn write_leaf(&mut self, name: &str, text: &str, form: JsonValueForm);

    /// Writes a text with an optional language.
    fn write_localized_text(&mut self, name: &str, lang: Option<&str>, text: &str);

    /// Writes an element whose presence is its meaning.
    fn write_presence_element(&mut self, name: &str);

    /// Writes elements with one name, each with `write`.
    fn write_list<T>(&mut self, name: &str, items: &[T], write: impl FnMut(&mut Self, &T));

    /// Writes a record as an element.
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
    /// True if the most recent tag is still open for attributes.
    in_tag: bool,
    prefix: &'static str,
}

impl XmlSink {
    /// Sets the prefix of further elements; empty for none.
    pub(super) fn set_namespace_prefix(&mut self, prefix: &'static str) {
        self.prefix = prefix;
    }

    fn close_start_tag(&mut self) {
        if self.in_tag {
            self.text.push('>');
            self.in_tag = false;
        }
    }

    fn push_escaped_xml(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                // A parser would convert it to a line feed.
                '\r' => self.text.push_str("&#13;"),
                '\n' | '\t' => self.text.push(character),
                // XML cannot express these characters.
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
        self.push_escaped_xml(value);
        self.text.push('"');
    }

    fn write_leaf(&mut self, name: &str, text: &str, _: JsonValueForm) {
        // The version of a delivery is an attribute.
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
        self.push_escaped_xml(text);
        self.end_element(name);
    }

    fn write_presence_element(&mut self, name: &str) {
        self.begin_element(name);
        self.end_element(name);
    }

    fn write_list<T>(&mut self, _: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        for item in items {
            write(self, item);
        }
    }
}

/// References that are plain strings in JSON: those of messages and their answers, and that of a journey within its day.
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
/// Identifiers that are written like references.
const IDENTIFIERS: [&str; 1] = ["SituationNumber"];
/// Texts that occur only once in the schema, so they are not lists.
const SINGLE_TEXTS: [&str; 2] = ["ArrivalPlatformName", "DeparturePlatformName"];
/// A framed journey reference, in which the id of the journey is a plain string.
const FRAMED: &str = "FramedVehicleJourneyRef";

/// A writer of JSON as in France's SIRI Lite (PRIM of Île-de-France Mobilités): `{"value": …}` for references, and
/// lists of such objects for texts.
#[derive(Debug, Default)]
pub(super) struct JsonSink {
    pub(super) text: String,
    /// True if a comma is due because an item precedes.
    has_preceding_item: bool,
    /// True if the next element is an item of a list, which has no key.
    in_list: bool,
    /// True if the open element is [`FRAMED`].
    in_framed: bool,
}

impl JsonSink {
    fn write_json_key(&mut self, name: &str) {
        if std::mem::replace(&mut self.has_preceding_item, true) {
            self.text.push(',');
        }
        if !std::mem::take(&mut self.in_list) {
            self.write_json_string(name);
            self.text.push(':');
        }
    }

    fn is_reference_element(&self, name: &str) -> bool {
        let is_of_frame = self.in_framed && name == "DatedVehicleJourneyRef";
        let is_reference = name.ends_with("Ref") && !PLAIN_REFS.contains(&name) && !is_of_frame;
        is_reference || IDENTIFIERS.contains(&name)
    }

    /// Writes a time in UTC, always with three fractional digits.
    fn write_utc_timestamp(&mut self, text: &str) {
        let moment = text.strip_suffix('Z').unwrap_or(text);
        let (seconds, fraction) = moment.split_once('.').unwrap_or((moment, ""));
        // Writing to a string cannot fail.
        _ = write!(self.text, "\"{seconds}.{fraction:0<3}Z\"");
    }

    fn write_json_string(&mut self, text: &str) {
        self.text.push('"');
        for character in text.chars() {
            match character {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                // JSON has no other form for control characters.
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
        self.write_json_key(name);
        self.text.push('{');
        self.has_preceding_item = false;
        self.in_framed = name == FRAMED;
    }

    fn end_element(&mut self, _: &str) {
        self.text.push('}');
        self.has_preceding_item = true;
        self.in_framed = false;
    }

    fn write_attribute(&mut self, name: &str, value: &str) {
        self.write_leaf(name, value, JsonValueForm::Quoted);
    }

    fn write_leaf(&mut self, name: &str, text: &str, form: JsonValueForm) {
        self.write_json_key(name);
        let is_reference = form == JsonValueForm::Quoted && self.is_reference_element(name);
        if is_reference {
            self.text.push_str("{\"value\":");
        }
        match form {
            JsonValueForm::Quoted => self.write_json_string(text),
            JsonValueForm::Bare => self.text.push_str(text),
            JsonValueForm::Moment => self.write_utc_timestamp(text),
        }
        if is_reference {
            self.text.push('}');
        }
    }

    fn write_localized_text(&mut self, name: &str, lang: Option<&str>, text: &str) {
        self.begin_element(name);
        self.write_leaf("value", text, JsonValueForm::Quoted);
        if let Some(lang) = lang {
            self.write_leaf("lang", lang, JsonValueForm::Quoted);
        }
        self.end_element(name);
    }

    fn write_presence_element(&mut self, name: &str) {
        self.write_leaf(name, "true", JsonValueForm::Bare);
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
        self.write_json_key(name);
        self.text.push('[');
        self.has_preceding_item = false;
        for item in items {
            self.in_list = true;
            write(self, item);
        }
        self.in_list = false;
        self.text.push(']');
        self.has_preceding_item = true;
    }
}
