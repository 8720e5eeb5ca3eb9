//! Visits all elements of a publication in order, for callers that need more than the timetable.

use std::borrow::Cow;

use super::{
    PublicationLimits,
    reader::{is_xml_file_name, read_file_into, reject_empty_or_html_body},
};
use crate::{
    Error,
    gtfs::FileSet,
    xml::{self, XmlReader},
};

/// The visitor's decision about an opened element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitAction {
    /// Visits the children of the element.
    Inside,
    /// Reads the text of the element and closes it.
    Text,
    /// Skips the element without further calls.
    Skip,
}

/// Returns an attribute of the open element by its name without prefix.
pub type AttributeLookup<'a> = dyn Fn(&str) -> Option<Cow<'a, str>> + 'a;

/// A visitor of elements.
pub trait PublicationVisitor {
    /// Called at the beginning of a file.
    fn begin_file(&mut self, name: &str);

    /// Called for each opened element.
    fn open_element(&mut self, name: &str, attributes: &AttributeLookup<'_>) -> VisitAction;

    /// Called with the text of an element for which the visitor returned [`VisitAction::Text`].
    fn visit_text(&mut self, name: &str, text: &str);

    /// Called at the end of an element whose children were visited.
    fn close_element(&mut self, name: &str);
}

/// Visits all XML files of a publication, with any root element. One file at a time is in memory.
///
/// # Errors
///
/// Returns the errors of [`decode_publication`](super::decode_publication), except for those of record limits.
pub fn visit_publication_elements(
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
        reject_empty_or_html_body(&body).map_err(|error| error.with_file(name))?;
        let text = xml::decode_document(&body).map_err(|error| error.with_file(name))?;
        let bounds =
            xml::XmlLimits { depth: PublicationLimits::DEPTH, ..xml::XmlLimits::default() };
        visit.begin_file(name);
        visit_children(&mut XmlReader::new(&text, bounds), visit)
            .map_err(|error| error.with_file(name))?;
    }
    Ok(())
}

/// Visits the children of the open element. The reader limits the depth.
fn visit_children(
    xml: &mut XmlReader<'_>,
    visit: &mut dyn PublicationVisitor,
) -> Result<(), Error> {
    while let Some(name) = xml.open_next_child()? {
        match visit.open_element(name, &|attribute| xml.attribute(attribute)) {
            VisitAction::Inside => {
                visit_children(xml, visit)?;
                visit.close_element(name);
            }
            VisitAction::Text => visit.visit_text(name, xml.read_element_or_inner_text()?.trim()),
            VisitAction::Skip => xml.skip_element()?,
        }
    }
    Ok(())
}
