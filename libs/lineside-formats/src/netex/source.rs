//! What a publication comes as: one XML file, or a zip of them.

use std::io::{Cursor, Read};

use crate::{
    Error, Problems,
    gtfs::{Files, Limits, ZipFiles},
};

/// The bytes at a file's start in which its root element is looked for: declarations and comments stand before it.
const LOOK_BYTES: usize = 8 << 10;
/// How many files of a zip are looked into to say what they are.
const FILES_LOOK_MAX: usize = 3;
/// The name that a single file goes by in problems.
const SINGLE: &str = "publication.xml";

/// A publication in memory: a zip, or one XML file.
#[derive(Debug)]
pub struct Source<'a>(Kind<'a>);

#[derive(Debug)]
enum Kind<'a> {
    Zip(Box<ZipFiles<Cursor<&'a [u8]>>>),
    Single(&'a [u8]),
}

impl<'a> Source<'a> {
    /// Takes a body for what it is.
    ///
    /// # Errors
    ///
    /// If it begins as a zip and is damaged, too large, or holds no XML file.
    pub fn new(body: &'a [u8], limits: &Limits) -> Result<Source<'a>, Error> {
        Ok(Source(if is_zip(body) {
            Kind::Zip(Box::new(ZipFiles::of_xml(Cursor::new(body), limits)?))
        } else {
            Kind::Single(body)
        }))
    }
}

impl Files for Source<'_> {
    fn names(&mut self) -> Vec<String> {
        match &mut self.0 {
            Kind::Zip(zip) => zip.names(),
            Kind::Single(_) => vec![SINGLE.to_owned()],
        }
    }

    fn open<'b>(&'b mut self, name: &str) -> Result<Option<Box<dyn Read + 'b>>, Error> {
        match &mut self.0 {
            Kind::Zip(zip) => zip.open(name),
            Kind::Single(body) => Ok((name == SINGLE).then_some(Box::new(*body) as Box<dyn Read>)),
        }
    }

    fn take_problems(&mut self) -> Problems {
        match &mut self.0 {
            Kind::Zip(zip) => zip.take_problems(),
            Kind::Single(_) => Problems::new(),
        }
    }
}

fn is_zip(body: &[u8]) -> bool {
    body.starts_with(b"PK\x03\x04") || body.starts_with(b"PK\x05\x06")
}

/// Whether a body is NeTEx by its content: an XML file whose root is a `PublicationDelivery`, or a zip of such.
///
/// Cost: of an XML file its first bytes, of a zip its list of names and the first bytes of a few files.
pub fn looks_like_netex(body: &[u8]) -> bool {
    if !is_zip(body) {
        return is_publication(&body[..body.len().min(LOOK_BYTES)]);
    }
    let Ok(mut files) = ZipFiles::of_xml(Cursor::new(body), &super::Limits::default().files) else {
        return false;
    };
    let names = files.names();
    names.iter().take(FILES_LOOK_MAX).any(|name| {
        let mut start = Vec::new();
        let Ok(Some(file)) = files.open(name) else { return false };
        file.take(LOOK_BYTES as u64).read_to_end(&mut start).is_ok() && is_publication(&start)
    })
}

/// Whether an XML file that begins so has a `PublicationDelivery` as its root.
fn is_publication(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start));
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
    use super::is_publication;

    #[test]
    fn the_root_tells() {
        for text in [
            "<PublicationDelivery version=\"1\">",
            "\u{FEFF}<?xml version=\"1.0\"?>\n<!-- <Siri> -->\r\n<netex:PublicationDelivery>",
            "<PublicationDelivery/>",
        ] {
            assert!(is_publication(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "<Siri/>",
            "<html>PublicationDelivery",
            "PublicationDelivery",
            "<!-- PublicationDelivery",
            "{}",
        ] {
            assert!(!is_publication(text.as_bytes()), "{text}");
        }
    }
}
