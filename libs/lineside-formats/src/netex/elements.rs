//! All elements of a publication, one after the other, for those who look at more than a timetable needs.

use std::borrow::Cow;

use super::{
    Limits,
    reader::{is_xml, read_file, refuse_at_sight},
};
use crate::{
    Error,
    gtfs::Files,
    xml::{self, Xml},
};

/// What is done about an element that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// What is in it is walked through.
    Inside,
    /// Its text is told, and it is closed.
    Text,
    /// It is passed over, and closed without a word.
    PassOver,
}

/// An attribute of the open element by its name without prefix.
pub type Attributes<'a> = dyn Fn(&str) -> Option<Cow<'a, str>> + 'a;

/// Whoever looks at elements.
pub trait Visit {
    /// A file begins.
    fn file(&mut self, name: &str);

    /// An element opens.
    fn opens(&mut self, name: &str, attributes: &Attributes<'_>) -> Then;

    /// The text of an element that was asked for.
    fn text(&mut self, name: &str, text: &str);

    /// An element whose inside was walked through closes.
    fn closes(&mut self, name: &str);
}

/// Goes through all XML files of a publication, whatever their root elements are. One file is in memory at a time.
///
/// # Errors
///
/// As [`decode`](super::decode), but for limits of records.
pub fn walk(files: &mut dyn Files, limits: &Limits, visit: &mut dyn Visit) -> Result<(), Error> {
    let mut names = files.names();
    names.retain(|name| is_xml(name));
    names.sort_unstable();
    let mut left = limits.files.total_bytes;
    let mut body = Vec::new();
    for name in &names {
        read_file(files, name, limits.files.entry_bytes.min(left), &mut body)?;
        left = left.saturating_sub(body.len() as u64);
        refuse_at_sight(&body).map_err(|error| error.in_file(name))?;
        let text = xml::to_text(&body).map_err(|error| error.in_file(name))?;
        let bounds = xml::Limits { depth: Limits::DEPTH, ..xml::Limits::default() };
        visit.file(name);
        inside(&mut Xml::new(&text, bounds), visit).map_err(|error| error.in_file(name))?;
    }
    Ok(())
}

/// As deep as the reader lets elements be.
fn inside(xml: &mut Xml<'_>, visit: &mut dyn Visit) -> Result<(), Error> {
    while let Some(name) = xml.next_child()? {
        match visit.opens(name, &|attribute| xml.attribute(attribute)) {
            Then::Inside => {
                inside(xml, visit)?;
                visit.closes(name);
            }
            Then::Text => visit.text(name, xml.text_or_inner()?.trim()),
            Then::PassOver => xml.skip()?,
        }
    }
    Ok(())
}
