//! What XML and JSON have in common: named elements that hold elements or a text. The records read from here and do not
//! know which of the two it is.

use std::borrow::Cow;

use crate::{Error, xml::Xml};

/// A message that is being read. There is always one open element, at first the message itself.
pub(super) trait Source<'a> {
    /// Opens the next child of the open element and tells its name. `None`: there is none any more, and the open
    /// element is closed.
    fn next_child(&mut self) -> Result<Option<&'a str>, Error>;

    /// The text of the open element, which it closes.
    fn text(&mut self) -> Result<Cow<'a, str>, Error>;

    /// The text of the open element, which it closes, with the language that it is said to be in.
    fn text_in_language(&mut self) -> Result<(Option<Cow<'a, str>>, Cow<'a, str>), Error>;

    /// Passes over what is in the open element, and closes it.
    fn skip(&mut self) -> Result<(), Error>;

    /// An attribute of the element that was opened last. JSON has children instead.
    fn attribute(&self, name: &str) -> Option<Cow<'a, str>>;

    /// The namespace of the element that was opened last, empty where it has none; `None` where there is no such thing.
    fn namespace(&self) -> Option<&str>;

    /// What careless producers write instead of `&amp;`, counted.
    fn lone_ampersands(&self) -> u64;
}

impl<'a> Source<'a> for Xml<'a> {
    #[inline]
    fn next_child(&mut self) -> Result<Option<&'a str>, Error> {
        Xml::next_child(self)
    }

    #[inline]
    fn text(&mut self) -> Result<Cow<'a, str>, Error> {
        Xml::text(self)
    }

    fn text_in_language(&mut self) -> Result<(Option<Cow<'a, str>>, Cow<'a, str>), Error> {
        let language = Xml::attribute(self, "lang");
        Ok((language, Xml::text(self)?))
    }

    fn skip(&mut self) -> Result<(), Error> {
        Xml::skip(self)
    }

    fn attribute(&self, name: &str) -> Option<Cow<'a, str>> {
        Xml::attribute(self, name)
    }

    fn namespace(&self) -> Option<&str> {
        Some(Xml::namespace(self).unwrap_or_default())
    }

    fn lone_ampersands(&self) -> u64 {
        Xml::lone_ampersands(self)
    }
}
