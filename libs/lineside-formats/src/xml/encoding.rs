//! Decodes the bytes of an XML document to text.

use std::{borrow::Cow, str::Utf8Error};

use quick_xml::{
    Reader,
    encoding::{DetectedEncoding, decode, detect_encoding},
    events::Event,
};

use super::truncated_error;
use crate::{Error, ErrorKind};

/// Number of leading bytes that are searched for the encoding declaration.
const DECLARATION_BYTES: usize = 1_024;

/// Decodes a document and removes its byte order mark. UTF-16 is detected; other encodings are those of the
/// declaration, UTF-8 by default. A declaration of UTF-16 in a single-byte document is ignored, because .NET writes
/// such.
///
/// # Errors
/// Returns an error if the encoding is unknown, or if the bytes are not valid in it.
pub(crate) fn decode_document(body: &[u8]) -> Result<Cow<'_, str>, Error> {
    match detect_encoding(body) {
        Some(DetectedEncoding::Utf8Bom) => decode_utf8(&body[3..]),
        Some(
            wide @ (DetectedEncoding::Utf16BeBom
            | DetectedEncoding::Utf16LeBom
            | DetectedEncoding::Utf16BeLike
            | DetectedEncoding::Utf16LeLike),
        ) => {
            let content = &body[wide.bom_len()..];
            decode(content, wide.encoding()).map_err(|_| encoding_error("UTF-16"))
        }
        Some(DetectedEncoding::AsciiCompatible) | None => decode_declared_encoding(body),
    }
}

/// Decodes the beginning of a document, which may be cut anywhere: UTF-16 if its first bytes show that.
pub(crate) fn decode_document_start(start: &[u8]) -> Cow<'_, str> {
    let unit: fn([u8; 2]) -> u16 = match detect_encoding(start) {
        Some(DetectedEncoding::Utf16BeBom | DetectedEncoding::Utf16BeLike) => u16::from_be_bytes,
        Some(DetectedEncoding::Utf16LeBom | DetectedEncoding::Utf16LeLike) => u16::from_le_bytes,
        _ => return String::from_utf8_lossy(start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start)),
    };
    let units = start.chunks_exact(2).filter_map(|pair| Some(unit(pair.try_into().ok()?)));
    let text = char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER));
    let text: String = text.collect();
    text.trim_start_matches('\u{FEFF}').to_owned().into()
}

fn decode_declared_encoding(body: &[u8]) -> Result<Cow<'_, str>, Error> {
    let head = body.get(..DECLARATION_BYTES).unwrap_or(body).trim_ascii_start();
    let Ok(Event::Decl(declaration)) = Reader::from_reader(head).read_event() else {
        return decode_utf8(body);
    };
    let Some(Ok(name)) = declaration.encoding() else { return decode_utf8(body) };
    if ["utf-8", "utf8", "us-ascii", "utf-16"].iter().any(|it| name.eq_ignore_ascii_case(it)) {
        return decode_utf8(body);
    }
    let encoding = declaration.encoder().ok_or_else(|| {
        let short: String = name.chars().take(40).collect();
        Error::new(ErrorKind::Encoding, format!("the XML encoding {short} is unknown"))
    })?;
    decode(body, encoding).map_err(|_| encoding_error(&name))
}

fn decode_utf8(body: &[u8]) -> Result<Cow<'_, str>, Error> {
    std::str::from_utf8(body).map(Cow::Borrowed).map_err(|error: Utf8Error| {
        match error.error_len() {
            None => truncated_error(),
            Some(_) => encoding_error("UTF-8"),
        }
    })
}

fn encoding_error(encoding: &str) -> Error {
    Error::new(ErrorKind::Encoding, format!("the XML is not in the declared encoding {encoding}"))
}
