//! What XML and JSON have in common: named elements that hold elements or a text. The records read from here and do not
//! know which of the two it is.

use std::borrow::Cow;

use crate::{Error, xml::XmlReader};

/// A message that is being read. There is always one open element, at first the message itself.
pub(super) trait MessageSource<'a> {
    /// Opens the next child of the open element and tells its name. `None`: there is none any more, and the open
    /// element is closed.
    fn next_child(&mut self) -> Result<Option<&'a str>, Error>;

    /// The text of the open element, which it closes.
    fn element_text(&mut self) -> Result<Cow<'a, str>, Error>;

    /// The text of the open element, which it closes, with the language that it is said to be in.
    fn element_text_in_language(&mut self) -> Result<(Option<Cow<'a, str>>, Cow<'a, str>), Error>;

    /// Passes over what is in the open element, and closes it.
    fn skip_element(&mut self) -> Result<(), Error>;

    /// An attribute of the element that was opened last. JSON has children instead.
    fn attribute(&self, name: &str) -> Option<Cow<'a, str>>;

    /// The namespace of the element that was opened last, empty where it has none; `None` where there is no such thing.
    fn element_namespace(&self) -> Option<&str>;

    /// What careless producers write instead of `&amp;`, counted.
    fn lone_ampersand_count(&self) -> u64;
}

impl<'a> MessageSource<'a> for XmlReader<'a> {
    #[inline]
    fn next_child(&mut self) -> Result<Option<&'a str>, Error> {
        XmlReader::next_child(self)
    }

    #[inline]
    fn element_text(&mut self) -> Result<Cow<'a, str>, Error> {
        XmlReader::element_text(self)
    }

    fn element_text_in_language(&mut self) -> Result<(Option<Cow<'a, str>>, Cow<'a, str>), Error> {
        let language = XmlReader::attribute(self, "lang");
        Ok((language, XmlReader::element_text(self)?))
    }

    fn skip_element(&mut self) -> Result<(), Error> {
        XmlReader::skip_element(self)
    }

    fn attribute(&self, name: &str) -> Option<Cow<'a, str>> {
        XmlReader::attribute(self, name)
    }

    fn element_namespace(&self) -> Option<&str> {
        Some(XmlReader::element_namespace(self).unwrap_or_default())
    }

    fn lone_ampersand_count(&self) -> u64 {
        XmlReader::lone_ampersand_count(self)
    }
}
