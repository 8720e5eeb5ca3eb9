//! Detects the format of a body by its content, because file names and media types are often wrong.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

use crate::Format;

/// The beginning of some texts in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// Number of leading bytes that are searched for text marks.
const TEXT_SEARCH_BYTES: usize = 1_024;
/// Number of bytes at the end of a zip that are searched for file names.
const TAIL_BYTES: usize = 64 << 10;
/// Maximum number of protobuf fields that are skipped in search of a feed header.
const FIELDS_SKIPPED_MAX: usize = 100_000;
/// Maximum length of a GTFS-Realtime header, in bytes.
const HEADER_BYTES_MAX: usize = 64 * 1_024;

/// Detects the format of `body`: always right for a valid feed, `None` only if there is no content.
///
/// Cost: reads a few hundred bytes, of a zip its tail, and of a zip of XML files also the list of its files and the
/// beginning of a few. A zip is GTFS if it holds a name such as `stops.txt`.
pub fn sniff_format(body: &[u8]) -> Option<Format> {
    let content = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    match content.iter().all(u8::is_ascii_whitespace) {
        true => None,
        false => Format::ALL.into_iter().find(|format| format.matches_content(body)),
    }
}

/// Detects the format of a schedule in a file or another reader, as [`sniff_format`] does for bytes in memory. Returns
/// `None` if it is not a schedule.
///
/// Cost: as for [`sniff_format`]; at most some tens of KiB are in memory.
///
/// # Errors
///
/// Returns an error if the reader fails.
pub fn sniff_schedule_format(mut reader: impl Read + Seek) -> io::Result<Option<Format>> {
    let length = reader.seek(SeekFrom::End(0))?;
    let mut read_range = |from: u64, bytes: usize| {
        let mut seen = Vec::new();
        reader.seek(SeekFrom::Start(from))?;
        reader.by_ref().take(bytes as u64).read_to_end(&mut seen).map(|_| seen)
    };
    let head = read_range(0, TEXT_SEARCH_BYTES)?;
    if is_zip(&head) {
        let tail = read_range(length.saturating_sub(TAIL_BYTES as u64), TAIL_BYTES)?;
        if mentions_gtfs_tables(&head, &tail) {
            return Ok(Some(Format::Gtfs));
        }
    }
    Ok(is_netex_file_or_zip(reader)?.then_some(Format::Netex))
}

/// Returns the format of a schedule by the name of its first file, for a zip or a folder whose content is unknown.
pub fn schedule_format_by_file(name: &str) -> Format {
    match name.to_ascii_lowercase().ends_with(".xml") {
        true => Format::Netex,
        false => Format::Gtfs,
    }
}

/// Returns the likely format of a source that does not answer, by the file name in its address.
pub fn guess_format_by_name(name: &str) -> Format {
    match name.to_ascii_lowercase().ends_with(".zip") {
        true => Format::Gtfs,
        false => Format::GtfsRt,
    }
}

/// Returns true if a body with this beginning may be a schedule: a zip, or one XML file of NeTEx.
pub fn may_be_schedule(start: &[u8]) -> bool {
    is_zip(start) || is_netex_xml_start(start)
}

/// Returns true if a whole body is a GTFS-Realtime message, in protobuf or JSON.
pub(crate) fn is_gtfs_rt_body(body: &[u8]) -> bool {
    is_protobuf_feed_message(body)
        || is_feed_message_json(body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body))
}

/// Returns true if a whole body is a NeTEx publication, as one file or a zip.
pub(crate) fn is_netex_body(body: &[u8]) -> bool {
    is_netex_file_or_zip(Cursor::new(body)).unwrap_or(false)
}

#[cfg(feature = "netex")]
fn is_netex_file_or_zip(reader: impl Read + Seek) -> io::Result<bool> {
    crate::netex::looks_like_netex(reader)
}

/// NeTEx is not detected without its decoder.
#[cfg(not(feature = "netex"))]
fn is_netex_file_or_zip(_: impl Read + Seek) -> io::Result<bool> {
    Ok(false)
}

#[cfg(feature = "netex")]
fn is_netex_xml_start(start: &[u8]) -> bool {
    crate::netex::is_publication_delivery(start)
}

/// NeTEx is not detected without its decoder.
#[cfg(not(feature = "netex"))]
fn is_netex_xml_start(_: &[u8]) -> bool {
    false
}

#[cfg(feature = "siri")]
pub(crate) fn is_siri_body(body: &[u8]) -> bool {
    crate::siri::looks_like_siri(body)
}

/// SIRI is not detected without its decoder.
#[cfg(not(feature = "siri"))]
pub(crate) fn is_siri_body(_: &[u8]) -> bool {
    false
}

/// The tables whose names mark a zip as GTFS.
const TABLE_NAMES: [&[u8]; 5] =
    [b"stops.txt", b"stop_times.txt", b"trips.txt", b"routes.txt", b"agency.txt"];

pub(crate) fn is_gtfs_zip(body: &[u8]) -> bool {
    let tail = &body[body.len().saturating_sub(TAIL_BYTES)..];
    let head = &body[..body.len().min(TEXT_SEARCH_BYTES)];
    is_zip(body) && mentions_gtfs_tables(head, tail)
}

pub(crate) fn is_zip(body: &[u8]) -> bool {
    body.starts_with(b"PK\x03\x04") || body.starts_with(b"PK\x05\x06")
}

fn mentions_gtfs_tables(head: &[u8], tail: &[u8]) -> bool {
    // The central directory with all names is the archive's tail; 64 KiB of it hold hundreds of names. A truncated
    // archive has no tail, but its first local header also holds a name. Names of tables are case-insensitive.
    let has = |bytes: &[u8], name: &[u8]| {
        bytes.windows(name.len()).any(|window| window.eq_ignore_ascii_case(name))
    };
    TABLE_NAMES.iter().any(|name| has(tail, name) || has(head, name))
}

fn contains_bytes(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

/// Returns true if a GTFS-Realtime body is JSON and not protobuf. A protobuf body may look similar: its first byte is a
/// line feed, and the length of a header of 123 bytes is a brace.
pub fn is_gtfs_rt_json(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"{") && !is_protobuf_feed_message(body)
}

fn is_feed_message_json(start: &[u8]) -> bool {
    let start = start.trim_ascii_start();
    let prefix = start.get(..TEXT_SEARCH_BYTES).unwrap_or(start);
    let message = prefix.starts_with(b"{") && contains_bytes(prefix, b"\"header\"");
    message
        && (contains_bytes(prefix, b"\"gtfs_realtime_version\"")
            || contains_bytes(prefix, b"\"gtfsRealtimeVersion\""))
}

/// Returns true if the bytes are a protobuf message whose field 1 is a message with a version text in its field 1.
fn is_protobuf_feed_message(body: &[u8]) -> bool {
    let mut rest = body;
    for _ in 0..FIELDS_SKIPPED_MAX {
        match take_protobuf_field(&mut rest) {
            Some((1, Some(header))) => {
                return header.len() <= HEADER_BYTES_MAX && is_protobuf_feed_header(header);
            }
            Some((2, Some(_))) => continue,
            Some((number, _)) if number >= 1_000 => continue,
            _ => return false,
        }
    }
    false
}

fn is_protobuf_feed_header(mut header: &[u8]) -> bool {
    while !header.is_empty() {
        match take_protobuf_field(&mut header) {
            Some((1, Some(version))) => {
                return (1..=16).contains(&version.len())
                    && version[0].is_ascii_digit()
                    && version.iter().all(|b| b.is_ascii_graphic());
            }
            Some(_) => continue,
            None => return false,
        }
    }
    false
}

/// Removes one protobuf field from `rest` and returns its number, and its bytes if it is length-delimited.
fn take_protobuf_field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Option<&'a [u8]>)> {
    let key = take_varint(rest)?;
    let skip = |rest: &mut &'a [u8], n: u64| -> Option<&'a [u8]> {
        let (taken, after) = rest.split_at_checked(usize::try_from(n).ok()?)?;
        *rest = after;
        Some(taken)
    };
    let bytes = match key & 7 {
        0 => take_varint(rest).map(|_| None)?,
        1 => skip(rest, 8).map(|_| None)?,
        2 => {
            let length = take_varint(rest)?;
            Some(skip(rest, length)?)
        }
        5 => skip(rest, 4).map(|_| None)?,
        _ => return None,
    };
    (key >> 3 != 0).then_some((key >> 3, bytes))
}

fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &[u8], expected: Option<Format>) {
        let shown = String::from_utf8_lossy(body);
        assert_eq!(sniff_format(body), expected, "{shown:?}");
        let schedule = expected.filter(|format| format.is_schedule());
        assert_eq!(sniff_schedule_format(Cursor::new(body)).unwrap(), schedule, "{shown:?}");
        assert!(schedule.is_none() || may_be_schedule(body), "{shown:?}");
    }

    #[test]
    fn protobuf_is_not_recognized_as_json() {
        assert!(is_gtfs_rt_json(b"\n {\"header\": {\"gtfs_realtime_version\": \"2.0\"}}"));
        assert!(!is_gtfs_rt_json(b"\x0A\x05\x0A\x032.0"));
        // The length of the header, 123, is the code of a brace.
        let mut message = b"\x0A\x7B\x0A\x032.0\x22\x74".to_vec();
        message.resize(2 + 123, b'v');
        assert_eq!(sniff_format(&message), Some(Format::GtfsRt));
        assert!(!is_gtfs_rt_json(&message));
    }

    #[test]
    fn the_format_is_recognized_from_the_content() {
        check(b"", None);
        check(b" \r\n\t", None);
        check(b"\xEF\xBB\xBF", None);
        check(b"PK\x03\x04......................stops.txt", Some(Format::Gtfs));
        check(b"PK\x03\x04......................Stop_Times.TXT", Some(Format::Gtfs));
        check(b"PK\x03\x04......................readme.md", Some(Format::Raw));
        #[cfg(feature = "netex")]
        check(b"<?xml version=\"1.0\"?>\n<PublicationDelivery/>", Some(Format::Netex));
        check(b"\x0A\x05\x0A\x032.0", Some(Format::GtfsRt));
        check(b"\x0A\x0B\x10\x00\x18\x80\x01\x0A\x032.0\x28\x01", Some(Format::GtfsRt));
        check(b"\x12\x03\x0A\x01a\x0A\x05\x0A\x031.0", Some(Format::GtfsRt));
        check(b"{\"header\": {\"gtfs_realtime_version\": \"2.0\"}}", Some(Format::GtfsRt));
        check(b"{\"header\": {\"gtfsRealtimeVersion\": \"2.0\"}}", Some(Format::GtfsRt));
        check(b"{\"type\": \"FeatureCollection\"}", Some(Format::Raw));
        check(b"\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", Some(Format::Raw));
        check(b"\x0A\x7F\x0A", Some(Format::Raw));
        check(b"<html>", Some(Format::Raw));
    }

    proptest::proptest! {
        #[test]
        fn sniffing_any_bytes_does_not_panic(body: Vec<u8>) {
            sniff_format(&body);
            crate::looks_like_html(&body);
        }
    }
}
