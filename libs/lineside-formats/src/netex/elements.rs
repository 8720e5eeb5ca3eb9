//! All elements of a publication, one after the other, for those who look at more than a timetable needs.

use std::borrow::Cow;

use super::{
    PublicationLimits,
    reader::{check_body_start, is_xml_file_name, read_file_into},
};
use crate::{
    Error,
    gtfs::FileSet,
    xml::{self, XmlReader},
};

/// What is done about an element that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitAction {
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
pub trait PublicationVisitor {
    /// A file begins.
    fn begin_file(&mut self, name: &str);

    /// An element opens.
    fn open_element(&mut self, name: &str, attributes: &Attributes<'_>) -> VisitAction;

    /// The text of an element that was asked for.
    fn visit_text(&mut self, name: &str, text: &str);

    /// An element whose inside was walked through closes.
    fn close_element(&mut self, name: &str);
}

/// Goes through all XML files of a publication, whatever their root elements are. One file is in memory at a time.
///
/// # Errors
///
/// As [`decode`](super::decode_publication), but for limits of records.
pub fn visit_elements(
    files: &mut dyn FileSet,
    limits: &PublicationLimits,
    visit: &mut dyn PublicationVisitor,
) -> Result<(), Error> {
    let mut names = files.file_names();
    names.retain(|name| is_xml_file_name(name));
    names.sort_unstable();
    let mut left = limits.files.total_bytes;
    let mut body = Vec::new();
    for name in &names {
        read_file_into(files, name, limits.files.entry_bytes.min(left), &mut body)?;
        left = left.saturating_sub(body.len() as u64);
        check_body_start(&body).map_err(|error| error.with_file(name))?;
        let text = xml::decode_document(&body).map_err(|error| error.with_file(name))?;
        let bounds =
            xml::XmlLimits { depth: PublicationLimits::DEPTH, ..xml::XmlLimits::default() };
        visit.begin_file(name);
        visit_children(&mut XmlReader::new(&text, bounds), visit)
            .map_err(|error| error.with_file(name))?;
    }
    Ok(())
}

/// As deep as the reader lets elements be.
fn visit_children(
    xml: &mut XmlReader<'_>,
    visit: &mut dyn PublicationVisitor,
) -> Result<(), Error> {
    while let Some(name) = xml.next_child()? {
        match visit.open_element(name, &|attribute| xml.attribute(attribute)) {
            VisitAction::Inside => {
                visit_children(xml, visit)?;
                visit.close_element(name);
            }
            VisitAction::Text => visit.visit_text(name, xml.element_or_inner_text()?.trim()),
            VisitAction::PassOver => xml.skip_element()?,
        }
    }
    Ok(())
}
