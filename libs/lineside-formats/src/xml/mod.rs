//! A pull reader for XML: elements, their texts and attributes, one after the other, never a tree.
//!
//! quick-xml parses; this module adds limits. Document types are refused, as are all entities but XML's five and
//! numeric characters, so nothing is ever expanded. Names are reported without their prefix, because producers agree on
//! names more than on namespaces; the [namespace](XmlReader::element_namespace) is available on demand.

mod encoding;

use std::{borrow::Cow, fmt};

use memchr::memchr;
use quick_xml::{
    Reader,
    errors::{Error as XmlError, IllFormedError},
    events::{BytesRef, BytesStart, Event, attributes::Attributes},
    name::{NamespaceResolver, QName, ResolveResult},
};

/// The name, with prefix, and the attributes of an element, as written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StartTag<'a>(&'a str, &'a str);

impl<'a> StartTag<'a> {
    /// Returns the name without prefix.
    pub(crate) fn local_name(self) -> &'a str {
        memchr(b':', self.0.as_bytes()).map_or(self.0, |colon| &self.0[colon + 1..])
    }

    /// Returns the attribute with that name, without prefix.
    pub(crate) fn attribute(self, name: &str) -> Option<Cow<'a, str>> {
        if self.1.is_empty() {
            return None;
        }
        let mut all = Attributes::new(self.1, 0);
        let found =
            all.with_checks(false).flatten().find(|it| it.key.local_name().as_ref() == name)?;
        match found.value {
            Cow::Borrowed(value) => quick_xml::escape::unescape(value).ok(),
            Cow::Owned(value) => {
                quick_xml::escape::unescape(&value).ok().map(|it| Cow::Owned(it.into_owned()))
            }
        }
    }
}

pub(crate) use encoding::{decode_document, decode_document_start};

use crate::{Error, ErrorKind};

/// Limits on a document.
#[derive(Clone, Debug)]
pub(crate) struct XmlLimits {
    /// Deepest nesting of elements.
    pub(crate) depth: usize,
    /// Longest list of attributes of one element, in bytes.
    pub(crate) attribute_bytes: usize,
    /// Most attributes of one element.
    pub(crate) attributes: usize,
    /// Most namespaces declared by one element.
    pub(crate) namespaces: usize,
}

impl Default for XmlLimits {
    fn default() -> XmlLimits {
        XmlLimits { depth: 100, attribute_bytes: 16 * 1_024, attributes: 64, namespaces: 64 }
    }
}

/// The result of an event that is neither a tag nor plain text.
enum NonTagEvent {
    /// A comment or another event that is ignored.
    Nothing,
    /// A character that was written as a reference.
    Character(char),
    /// The end of the document.
    End,
}

/// Attributes shorter than this cannot exceed [`XmlLimits::attributes`], so they are not counted.
const UNCOUNTED_BYTES: usize = 256;

/// Number of elements between two cancel checks: a millisecond or less.
const ELEMENTS_PER_CANCEL_CHECK: u64 = 1_024;

/// A reader of one document. There is always one open element, at first the document itself.
pub(crate) struct XmlReader<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    resolver: NamespaceResolver,
    limits: XmlLimits,
    depth: usize,
    /// True if the open element has the form `<name/>`, so that no end event follows.
    is_empty: bool,
    /// The most recently opened element.
    tag: StartTag<'a>,
    lone_ampersands: u64,
    /// Number of elements opened so far.
    n_opened: u64,
    should_continue: Option<&'a dyn Fn() -> bool>,
}

impl fmt::Debug for XmlReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.reader.buffer_position();
        f.debug_struct("XmlReader")
            .field("depth", &self.depth)
            .field("at", &at)
            .finish_non_exhaustive()
    }
}

impl<'a> XmlReader<'a> {
    /// Creates a reader of a document without byte order mark.
    pub(crate) fn new(text: &'a str, limits: XmlLimits) -> XmlReader<'a> {
        let mut reader = Reader::from_str(text);
        // Careless producers write names such as "A & B" with a lone ampersand.
        reader.config_mut().allow_dangling_amp = true;
        let mut resolver = NamespaceResolver::default();
        resolver.set_max_namespace_bindings(limits.namespaces);
        XmlReader {
            text,
            reader,
            resolver,
            limits,
            depth: 0,
            is_empty: false,
            tag: StartTag::default(),
            lone_ampersands: 0,
            n_opened: 0,
            should_continue: None,
        }
    }

    /// Sets a cancel check, which is called every few elements, also for skipped ones. Once it returns false, reading
    /// returns an error.
    #[cfg(feature = "netex")]
    pub(crate) fn with_cancel_check(
        mut self,
        should_continue: &'a dyn Fn() -> bool,
    ) -> XmlReader<'a> {
        self.should_continue = Some(should_continue);
        self
    }

    /// Opens the next child of the open element and returns its name without prefix. After the last child it closes the
    /// open element and returns `None`.
    pub(crate) fn open_next_child(&mut self) -> Result<Option<&'a str>, Error> {
        if self.is_empty {
            self.close_element();
            return Ok(None);
        }
        loop {
            match self.reader.read_event() {
                Ok(Event::Start(start)) => return self.open_element(&start, false).map(Some),
                Ok(Event::Empty(start)) => return self.open_element(&start, true).map(Some),
                Ok(Event::End(_)) => {
                    self.close_element();
                    return Ok(None);
                }
                Ok(Event::Text(_)) => {}
                other => match self.handle_non_tag_event(other)? {
                    NonTagEvent::Nothing | NonTagEvent::Character(_) => {}
                    NonTagEvent::End => return Ok(None),
                },
            }
        }
    }

    /// Returns the text of the open element and closes it. Elements inside it are skipped.
    pub(crate) fn read_element_text(&mut self) -> Result<Cow<'a, str>, Error> {
        self.collect_element_text(false)
    }

    /// Returns the text of the open element and closes it. If it has no text, returns that of the first element inside
    /// it with text: `<Name><Text lang="de">Bern</Text></Name>`.
    #[cfg(feature = "netex")]
    pub(crate) fn read_element_or_inner_text(&mut self) -> Result<Cow<'a, str>, Error> {
        self.collect_element_text(true)
    }

    fn collect_element_text(&mut self, or_inner: bool) -> Result<Cow<'a, str>, Error> {
        if self.is_empty {
            self.close_element();
            return Ok(Cow::Borrowed(""));
        }
        let mut text = Cow::Borrowed("");
        loop {
            match self.reader.read_event() {
                Ok(Event::Text(piece)) => {
                    let piece = piece.xml10_content();
                    self.lone_ampersands += u64::from(piece.starts_with('&'));
                    append_text(&mut text, piece);
                }
                Ok(Event::End(_)) => {
                    self.close_element();
                    return Ok(text);
                }
                Ok(Event::CData(piece)) => append_text(&mut text, piece.xml10_content()),
                Ok(Event::Start(start)) => {
                    self.open_element(&start, false)?;
                    if or_inner && text.trim_ascii().is_empty() {
                        text = self.read_element_text()?;
                    } else {
                        self.skip_element()?;
                    }
                }
                Ok(Event::Empty(start)) => {
                    self.open_element(&start, true)?;
                    self.close_element();
                }
                other => match self.handle_non_tag_event(other)? {
                    NonTagEvent::Nothing => {}
                    NonTagEvent::Character(character) => text.to_mut().push(character),
                    NonTagEvent::End => return Ok(text),
                },
            }
        }
    }

    /// Skips the rest of the open element and closes it.
    pub(crate) fn skip_element(&mut self) -> Result<(), Error> {
        let outer_depth = self.depth.saturating_sub(1);
        if self.is_empty {
            self.close_element();
        }
        while self.depth > outer_depth {
            match self.reader.read_event() {
                Ok(Event::Start(start)) => drop(self.open_element(&start, false)?),
                Ok(Event::Empty(start)) => {
                    self.open_element(&start, true)?;
                    self.close_element();
                }
                Ok(Event::End(_)) => self.close_element(),
                Ok(Event::Text(_)) => {}
                other => {
                    self.handle_non_tag_event(other)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the attribute with that name, without prefix, of the most recently opened element.
    pub(crate) fn attribute(&self, name: &str) -> Option<Cow<'a, str>> {
        self.tag.attribute(name)
    }

    /// Returns the most recently opened element.
    #[cfg(feature = "netex")]
    pub(crate) fn start_tag(&self) -> StartTag<'a> {
        self.tag
    }

    /// Returns the namespace of the most recently opened element, if any.
    pub(crate) fn element_namespace(&self) -> Option<&str> {
        match self.resolver.resolve_element(QName(self.tag.0)).0 {
            ResolveResult::Bound(namespace) => Some(namespace.0),
            ResolveResult::Unbound | ResolveResult::Unknown(_) => None,
        }
    }

    /// Returns the number of lone ampersands in the texts read so far.
    pub(crate) fn lone_ampersand_count(&self) -> u64 {
        self.lone_ampersands
    }

    /// Handles events that are rare in most documents. Events are large, so the frequent ones do not pass through here.
    fn handle_non_tag_event(
        &self,
        event: Result<Event<'a>, XmlError>,
    ) -> Result<NonTagEvent, Error> {
        match event {
            Ok(Event::GeneralRef(reference)) => {
                resolve_character_reference(&reference).map(NonTagEvent::Character)
            }
            Ok(Event::Eof) if self.depth > 0 => Err(truncated_error()),
            Ok(Event::Eof) => Ok(NonTagEvent::End),
            Ok(Event::DocType(_)) => Err(Error::new(
                ErrorKind::Decode,
                "the XML has a document type declaration, which is not allowed",
            )),
            Ok(_) => Ok(NonTagEvent::Nothing),
            Err(error) => Err(self.error_from_xml(&error)),
        }
    }

    fn open_element(&mut self, start: &BytesStart<'a>, is_empty: bool) -> Result<&'a str, Error> {
        // The name borrowed from the event lives too short, so it is taken from the document. The content of the event
        // ends before `>` or `/>`.
        let end = self.reader.buffer_position() as usize - 1 - usize::from(is_empty);
        let tag = self.text.get(end - start.len()..end).unwrap_or_default();
        let (name, attributes) = tag.split_at(start.name().as_ref().len());
        self.depth += 1;
        self.is_empty = is_empty;
        self.tag = StartTag(name, attributes);
        self.n_opened += 1;
        if self.n_opened.is_multiple_of(ELEMENTS_PER_CANCEL_CHECK)
            && self.should_continue.is_some_and(|goes_on| !goes_on())
        {
            return Err(Error::new(ErrorKind::Io, "reading was cancelled"));
        }
        if self.depth > self.limits.depth {
            let detail = format!("the XML is nested more than {} levels deep", self.limits.depth);
            return Err(Error::new(ErrorKind::TooLarge, detail));
        }
        if !attributes.is_empty() {
            self.reject_excessive_attributes(start)?;
        }
        Ok(self.tag.local_name())
    }

    fn close_element(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.is_empty = false;
        // Most elements declare no namespace, so only levels that declare one are passed to the resolver.
        if usize::from(self.resolver.level()) > self.depth {
            self.resolver.set_level(self.nesting_level());
        }
    }

    /// Returns the depth of the open element as a level of the namespace resolver.
    fn nesting_level(&self) -> u16 {
        u16::try_from(self.depth).unwrap_or(u16::MAX)
    }

    fn reject_excessive_attributes(&mut self, start: &BytesStart<'a>) -> Result<(), Error> {
        let StartTag(name, attributes) = self.tag;
        if attributes.len() > UNCOUNTED_BYTES {
            let too_long = attributes.len() > self.limits.attribute_bytes;
            let mut all = start.attributes();
            let n = all.with_checks(false).take(self.limits.attributes + 1).count();
            if too_long || n > self.limits.attributes {
                let detail = format!("<{name}> has more attributes than the limit");
                return Err(Error::new(ErrorKind::TooLarge, detail));
            }
        }
        if attributes.contains("xmlns") {
            self.resolver.set_level(self.nesting_level() - 1);
            self.resolver
                .push(start)
                .map_err(|error| Error::new(ErrorKind::Decode, format!("<{name}>: {error}")))?;
        }
        Ok(())
    }

    fn error_from_xml(&self, error: &XmlError) -> Error {
        match error {
            // quick-xml reports markup without an end as a syntax error.
            XmlError::Syntax(_) | XmlError::IllFormed(IllFormedError::MissingEndTag(_)) => {
                truncated_error()
            }
            XmlError::Encoding(error) => Error::new(ErrorKind::Encoding, format!("{error}")),
            error => {
                let at = self.reader.error_position() as usize;
                let before = self.text.as_bytes().get(..at).unwrap_or_default();
                let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
                let detail = format!("the XML is malformed at line {line}: {error}");
                Error::new(ErrorKind::Decode, detail)
            }
        }
    }
}

fn append_text<'a>(text: &mut Cow<'a, str>, piece: Cow<'a, str>) {
    if text.is_empty() {
        *text = piece;
    } else if !piece.is_empty() {
        text.to_mut().push_str(&piece);
    }
}

fn resolve_character_reference(reference: &BytesRef<'_>) -> Result<char, Error> {
    let name: &str = reference.as_ref();
    let character = match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => reference.resolve_char_ref().ok().flatten(),
    };
    character.ok_or_else(|| {
        let short: String = name.chars().take(40).collect();
        let detail = format!(
            "the XML uses the entity &{short}; but only XML's five predefined entities are allowed"
        );
        Error::new(ErrorKind::Decode, detail)
    })
}

/// Returns the message for lone ampersands.
pub(crate) fn describe_lone_ampersands(n: u64) -> String {
    match n {
        1 => "an ampersand is not escaped as &amp;".to_owned(),
        n => format!("{n} ampersands are not escaped as &amp;"),
    }
}

fn truncated_error() -> Error {
    Error::new(ErrorKind::Truncated, "the XML is truncated")
}

#[cfg(test)]
mod tests;
