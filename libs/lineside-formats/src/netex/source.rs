//! The container of a publication: one XML file, or a zip of several.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

use crate::{
    Error, Problems,
    gtfs::{DatasetLimits, FileSet, ZipFiles},
};

/// Number of leading bytes of a file that are searched for its root element; declarations and comments precede it.
const PREFIX_BYTES: usize = 8 << 10;
/// Maximum number of files of a zip that are opened to detect the format.
const FILES_OPENED_MAX: usize = 3;
/// The name of a single file in problems.
const SINGLE: &str = "publication.xml";

/// A publication in memory or in a file: a zip, or one XML file.
#[derive(Debug)]
pub struct PublicationSource<R>(SourceContainer<R>);

#[derive(Debug)]
enum SourceContainer<R> {
    Zip(Box<ZipFiles<R>>),
    Single(R),
}

impl<'a> PublicationSource<Cursor<&'a [u8]>> {
    /// Opens a body in memory and detects its container.
    ///
    /// # Errors
    ///
    /// Returns an error if the body begins like a zip and is damaged, too large, or without an XML file.
    pub fn new(
        body: &'a [u8],
        limits: &DatasetLimits,
    ) -> Result<PublicationSource<Cursor<&'a [u8]>>, Error> {
        PublicationSource::from_reader(Cursor::new(body), limits)
    }
}

impl<R: Read + Seek> PublicationSource<R> {
    /// Detects the container at the beginning of a reader; of a zip it reads the directory.
    ///
    /// # Errors
    ///
    /// Returns an error if the reader fails, or if it begins like a zip and is damaged, too large, or without an XML
    /// file.
    pub fn from_reader(
        mut reader: R,
        limits: &DatasetLimits,
    ) -> Result<PublicationSource<R>, Error> {
        let start = read_first_bytes(&mut reader).map_err(Error::from_io)?;
        Ok(PublicationSource(if starts_with_zip_signature(&start) {
            SourceContainer::Zip(Box::new(ZipFiles::open_xml_archive(reader, limits)?))
        } else {
            SourceContainer::Single(reader)
        }))
    }
}

impl<R: Read + Seek> FileSet for PublicationSource<R> {
    fn file_names(&mut self) -> Vec<String> {
        match &mut self.0 {
            SourceContainer::Zip(zip) => zip.file_names(),
            SourceContainer::Single(_) => vec![SINGLE.to_owned()],
        }
    }

    fn open_file<'b>(&'b mut self, name: &str) -> Result<Option<Box<dyn Read + 'b>>, Error> {
        match &mut self.0 {
            SourceContainer::Zip(zip) => zip.open_file(name),
            SourceContainer::Single(_) if name != SINGLE => Ok(None),
            SourceContainer::Single(reader) => {
                reader.rewind().map_err(Error::from_io)?;
                Ok(Some(Box::new(reader)))
            }
        }
    }

    fn file_size_hint(&mut self, name: &str) -> Option<u64> {
        match &mut self.0 {
            SourceContainer::Zip(zip) => zip.file_size_hint(name),
            SourceContainer::Single(reader) => reader.seek(SeekFrom::End(0)).ok(),
        }
    }

    fn take_problems(&mut self) -> Problems {
        match &mut self.0 {
            SourceContainer::Zip(zip) => zip.take_problems(),
            SourceContainer::Single(_) => Problems::new(),
        }
    }
}

fn starts_with_zip_signature(body: &[u8]) -> bool {
    body.starts_with(b"PK\x03\x04") || body.starts_with(b"PK\x05\x06")
}

fn read_first_bytes(reader: &mut (impl Read + Seek)) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    reader.rewind()?;
    reader.by_ref().take(PREFIX_BYTES as u64).read_to_end(&mut start)?;
    reader.rewind()?;
    Ok(start)
}

/// Returns true if the content is NeTEx: an XML file whose root is a `PublicationDelivery`, or a zip with such files.
///
/// Cost: reads the first bytes of an XML file; of a zip its directory and the first bytes of a few files.
///
/// # Errors
///
/// Returns an error if the reader fails.
pub fn looks_like_netex(mut reader: impl Read + Seek) -> io::Result<bool> {
    let start = read_first_bytes(&mut reader)?;
    if !starts_with_zip_signature(&start) {
        return Ok(is_publication_delivery(&start));
    }
    let Ok(mut files) =
        ZipFiles::open_xml_archive(reader, &super::PublicationLimits::default().files)
    else {
        return Ok(false);
    };
    let names = files.file_names();
    Ok(names.iter().take(FILES_OPENED_MAX).any(|name| {
        let mut start = Vec::new();
        let Ok(Some(file)) = files.open_file(name) else { return false };
        file.take(PREFIX_BYTES as u64).read_to_end(&mut start).is_ok()
            && is_publication_delivery(&start)
    }))
}

/// Returns true if an XML file with this beginning has a `PublicationDelivery` as its root.
pub(crate) fn is_publication_delivery(start: &[u8]) -> bool {
    let text = crate::xml::decode_document_start(start);
    let mut rest = text.trim_start();
    loop {
        let end = match rest {
            _ if rest.starts_with("<?") => "?>",
            _ if rest.starts_with("<!--") => "-->",
            _ => break,
        };
        let Some(at) = rest.find(end) else { return false };
        rest = rest[at + end.len()..].trim_start();
    }
    let Some(tag) = rest.strip_prefix('<') else { return false };
    let name = tag.split(|c: char| c.is_whitespace() || c == '>' || c == '/').next();
    name.is_some_and(|name| name.rsplit(':').next() == Some("PublicationDelivery"))
}

#[cfg(test)]
mod tests {
    use super::is_publication_delivery;

    #[test]
    fn a_publication_is_recognized_by_its_root_element() {
        for text in [
            "<PublicationDelivery version=\"1\">",
            "\u{FEFF}<?xml version=\"1.0\"?>\n<!-- <Siri> -->\r\n<netex:PublicationDelivery>",
            "<PublicationDelivery/>",
        ] {
            assert!(is_publication_delivery(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "<Siri/>",
            "<html>PublicationDelivery",
            "PublicationDelivery",
            "<!-- PublicationDelivery",
            "{}",
        ] {
            assert!(!is_publication_delivery(text.as_bytes()), "{text}");
        }
    }
}
