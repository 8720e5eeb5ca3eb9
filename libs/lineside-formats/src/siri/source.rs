//! The input of records: named elements that contain elements or a text. Records read from it without knowing if it is
//! XML or JSON.

use std::borrow::Cow;

use crate::{Error, xml::XmlReader};

/// A reader of one message. There is always one open element, at first the message itself.
pub(super) trait MessageSource<'a> {
    /// Opens the next child of the open element and returns its name. After the last child it closes the open element
    /// and returns `None`.
    fn open_next_child(&mut self) -> Result<Option<&'a str>, Error>;

    /// Returns the text of the open element and closes it.
    fn read_element_text(&mut self) -> Result<Cow<'a, str>, Error>;

    /// Returns the text of the open element with its stated language, and closes the element.
    fn read_element_text_and_language(
        &mut self,
    ) -> Result<(Option<Cow<'a, str>>, Cow<'a, str>), Error>;

    /// Skips the rest of the open element and closes it.
    fn skip_element(&mut self) -> Result<(), Error>;

    /// Returns an attribute of the most recently opened element. JSON has children instead.
    fn attribute(&self, name: &str) -> Option<Cow<'a, str>>;

    /// Returns the namespace of the most recently opened element, empty if it has none; `None` if the format has no
    /// namespaces.
    fn element_namespace(&self) -> Option<&str>;

    /// Returns the number of ampersands that should have been `&amp;`.
    fn lone_ampersand_count(&self) -> u64;
}

impl<'a> MessageSource<'a> for XmlReader<'a> {
    #[inline]
    fn open_next_child(&mut self) -> Result<Option<&'a str>, Error> {
        XmlReader::open_next_child(self)
    }

    #[inline]
    fn read_element_text(&mut self) -> Result<Cow<'a, str>, Error> {
        XmlReader::read_element_text(self)
    }

    fn read_element_text_and_language(
        &mut self,
    ) -> Result<(Option<Cow<'a, str>>, Cow<'a, str>), Error> {
        let language = XmlReader::attribute(self, "lang");
        Ok((language, XmlReader::read_element_text(self)?))
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
