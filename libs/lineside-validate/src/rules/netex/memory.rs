//! An upper bound of the memory that a check of a publication takes, computed in advance.
//!
//! The bound follows from counts of markup: elements that are records, ids, references and texts. They are counted
//! without parsing the XML. `tests/memory_netex.rs` compares it with publications generated to take the most memory.

use std::io::Read;

use lineside_formats::{Error, ErrorKind, gtfs::FileSet};
use memchr::memchr2_iter;

/// For each byte: texts in a list that has just grown.
const PER_BYTE: u64 = 2;
/// For each byte of the largest file, which is in memory while it is read: unchanged, or also decoded to UTF-8.
const PER_BYTE_OF_LARGEST: u64 = 1;
const PER_BYTE_DECODED: u64 = 4;
/// For a journey, or a condition about when one runs, with its own days.
const PER_JOURNEY: u64 = 480;
/// For any other record, with the index entry of its id.
const PER_RECORD: u64 = 256;
/// For a passing time of a journey.
const PER_CALL: u64 = 96;
/// For an `id`, in hash tables that have just grown.
const PER_ID: u64 = 72;
/// For a `ref` and its text.
const PER_REFERENCE: u64 = 80;
/// For an unresolved `ref` in addition; the number of these is limited.
const PER_OPEN: u64 = 250;
const OPEN_MAX: u64 = 1_000_000;
/// For an element not of the form `<name/>`: its text may be retained.
const PER_END: u64 = 30;

/// The largest bound for a byte of any publication: a record may be as short as `<Quay/>`.
pub const MEMORY_PER_BYTE_MAX: u64 = 44;

/// The bytes in which the end of an element's name is searched for: enough for any counted name and a prefix of that
/// length.
const NAME_BYTES: usize = 64;

/// The size of the read buffer, in bytes.
const READ_BYTES: usize = 1 << 16;

/// Returns an upper bound of the memory in bytes that a check of these files takes: 2 for each byte, 1 for each byte of
/// the largest file, or 4 if it has a single-byte encoding, 480 for each journey and each condition of days, 96 for
/// each passing time, 256 for each other record, 72 for each id, 80 for each reference and 250 more for each of the
/// first million, and 30 for each end of an element; at most [`MEMORY_PER_BYTE_MAX`] for each byte. Unpacks the files
/// to count them. The bound does not include sets of days that span many years, which `Limits::record_bytes` limits.
///
/// # Errors
///
/// Returns an error if a file cannot be opened or cannot be read to its end. Corrupt files count as far as they can be
/// read.
pub fn estimate_max_memory(files: &mut dyn FileSet) -> Result<u64, Error> {
    let (mut signs, mut all, mut largest, mut undecoded) =
        (XmlMarkupCounts::default(), 0_u64, 0, 0_u64);
    let mut buffer = vec![0; READ_BYTES];
    for name in files.file_names() {
        let size = files.file_size_hint(&name).unwrap_or(0);
        let counted = match files.open_file(&name) {
            Ok(Some(mut file)) => signs.count_markup_in_file(&mut file, &mut buffer),
            Ok(None) => continue,
            Err(refused) => Err(refused),
        };
        let per_byte = match counted {
            Ok(XmlFileEncoding::Utf8) => PER_BYTE_OF_LARGEST,
            Ok(XmlFileEncoding::SingleBytes) => PER_BYTE_DECODED,
            // Corrupt files are skipped, and the other files are checked.
            Err(refused) if is_corrupt_data_error(refused.kind()) => PER_BYTE_OF_LARGEST,
            Ok(XmlFileEncoding::Other) => {
                undecoded = size.saturating_mul(MEMORY_PER_BYTE_MAX).saturating_add(undecoded);
                PER_BYTE_DECODED
            }
            Err(refused) => return Err(refused.with_file(&name)),
        };
        all = all.saturating_add(size);
        largest = size.saturating_mul(per_byte).max(largest);
    }
    let texts = all.saturating_mul(PER_BYTE).saturating_add(largest);
    let counted = texts.saturating_add(signs.estimated_bytes()).saturating_add(undecoded);
    Ok(counted.min(all.saturating_mul(MEMORY_PER_BYTE_MAX)))
}

fn is_corrupt_data_error(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Decode | ErrorKind::Truncated)
}

/// The counts of markup in the files read so far.
#[derive(Debug, Default)]
struct XmlMarkupCounts {
    journeys: u64,
    records: u64,
    calls: u64,
    ids: u64,
    references: u64,
    ends: u64,
}

impl XmlMarkupCounts {
    fn estimated_bytes(&self) -> u64 {
        let counted = [
            (self.journeys, PER_JOURNEY),
            (self.records, PER_RECORD),
            (self.calls, PER_CALL),
            (self.ids, PER_ID),
            (self.references, PER_REFERENCE),
            (self.references.min(OPEN_MAX), PER_OPEN),
            (self.ends, PER_END),
        ];
        counted.into_iter().fold(0, |sum, (n, bytes)| sum.saturating_add(n.saturating_mul(bytes)))
    }

    fn count_markup_in_file(
        &mut self,
        file: &mut dyn Read,
        buffer: &mut [u8],
    ) -> Result<XmlFileEncoding, Error> {
        // The number of bytes in the buffer, and the number of those already counted. Two bytes before the next tag or
        // `=` stay in the buffer, and a whole name after it.
        let (mut n_buffered, mut counted) = (0, 0);
        let mut encoding = None;
        loop {
            let room = buffer.get_mut(n_buffered..).unwrap_or_default();
            let n = file.read(room).map_err(Error::from_io)?;
            n_buffered += n;
            let text = buffer.get(..n_buffered).unwrap_or_default();
            let is_end = n == 0;
            if encoding.is_none() && (is_end || n_buffered >= HEAD_BYTES) {
                encoding = Some(XmlFileEncoding::detect_declared_encoding(text));
            }
            let until = if is_end {
                n_buffered
            } else {
                n_buffered.saturating_sub(NAME_BYTES).max(counted)
            };
            for at in memchr2_iter(b'<', b'=', text.get(counted..until).unwrap_or_default()) {
                self.count_markup_at(text, counted + at);
            }
            if let Some(encoding) = encoding.filter(|_| is_end) {
                return Ok(encoding);
            }
            counted = until;
            if encoding.is_some() {
                let passed = counted.saturating_sub(2);
                buffer.copy_within(passed..n_buffered, 0);
                (n_buffered, counted) = (n_buffered - passed, counted - passed);
            }
        }
    }

    /// Counts the `<` or `=` at a position.
    fn count_markup_at(&mut self, text: &[u8], at: usize) {
        let (before, from) = text.split_at_checked(at).unwrap_or_default();
        if let Some(tag) = from.strip_prefix(b"<") {
            self.count_element_tag(tag);
        } else if before.ends_with(b"id") {
            self.ids += 1;
        } else if before.ends_with(b"ef") {
            self.references += 1;
        } else if before.last().is_none_or(u8::is_ascii_whitespace) {
            // The attribute's name is further back, so both are counted.
            (self.ids, self.references) = (self.ids + 1, self.references + 1);
        }
    }

    fn count_element_tag(&mut self, tag: &[u8]) {
        if tag.first() == Some(&b'/') {
            self.ends += 1;
            return;
        }
        let start = tag.get(..NAME_BYTES).unwrap_or(tag);
        let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
        let Some(end) = start.iter().position(ends) else {
            self.journeys += 1;
            return;
        };
        let name = start.get(..end).unwrap_or_default();
        let name = memchr::memchr(b':', name).map_or(name, |colon| &name[colon + 1..]);
        match name {
            b"ServiceJourney"
            | b"TemplateServiceJourney"
            | b"AvailabilityCondition"
            | b"ValidBetween"
            | b"TimeDemandType" => self.journeys += 1,
            b"TimetabledPassingTime" | b"Call" => self.calls += 1,
            name if RECORDS.contains(&name) => self.records += 1,
            _ => {}
        }
    }
}

/// Records other than journeys and passing times.
const RECORDS: [&[u8]; 26] = [
    b"Operator",
    b"Authority",
    b"GeneralOrganisation",
    b"Network",
    b"GroupOfLines",
    b"Line",
    b"FlexibleLine",
    b"Route",
    b"DestinationDisplay",
    b"TrainNumber",
    b"JourneyPattern",
    b"ServiceJourneyPattern",
    b"ServicePattern",
    b"StopPointInJourneyPattern",
    b"TimingPointInJourneyPattern",
    b"TimingLink",
    b"StopPlace",
    b"Quay",
    b"ScheduledStopPoint",
    b"PassengerStopAssignment",
    b"DatedServiceJourney",
    b"DayType",
    b"DayTypeAssignment",
    b"OperatingPeriod",
    b"UicOperatingPeriod",
    b"OperatingDay",
];

/// The bytes at a file's start that contain its encoding declaration.
const HEAD_BYTES: usize = 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum XmlFileEncoding {
    Utf8,
    /// A single-byte encoding whose first half is ASCII.
    SingleBytes,
    /// An encoding whose markup cannot be found byte by byte.
    Other,
}

impl XmlFileEncoding {
    /// Returns the declared encoding of a file from its first bytes; UTF-8 by default.
    fn detect_declared_encoding(start: &[u8]) -> XmlFileEncoding {
        let first = start.get(..4).unwrap_or(start);
        if first.contains(&0) || first.starts_with(b"\xFE\xFF") || first.starts_with(b"\xFF\xFE") {
            return XmlFileEncoding::Other;
        }
        let head = start.get(..HEAD_BYTES).unwrap_or(start).trim_ascii_start();
        let head = String::from_utf8_lossy(head).to_ascii_lowercase();
        let declaration = head.strip_prefix("<?xml").and_then(|it| it.split_once("?>"));
        let declared = declaration.and_then(|(declaration, _)| declaration.split_once("encoding"));
        let Some((_, declared)) = declared else { return XmlFileEncoding::Utf8 };
        if declared.contains("encoding") {
            return XmlFileEncoding::Other;
        }
        let name = declared.trim_start_matches(|sign: char| sign == '=' || sign.is_whitespace());
        let name =
            name.trim_matches(|sign: char| matches!(sign, '"' | '\'') || sign.is_whitespace());
        match name.split(['"', '\'']).next().unwrap_or_default() {
            // A declaration of UTF-16 in single bytes is wrong and ignored.
            "utf-8" | "utf8" | "us-ascii" | "utf-16" => XmlFileEncoding::Utf8,
            name if name.starts_with("iso-8859-") || name.starts_with("windows-") => {
                XmlFileEncoding::SingleBytes
            }
            _ => XmlFileEncoding::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use lineside_formats::{gtfs::DatasetLimits, netex::PublicationSource};

    use super::*;

    fn reckoned(text: &[u8]) -> u64 {
        estimate_max_memory(
            &mut PublicationSource::from_reader(Cursor::new(text), &DatasetLimits::default())
                .unwrap(),
        )
        .unwrap()
    }

    /// Returns the bound for a text without the part that its bytes account for. The padding keeps the bound per byte
    /// from applying.
    fn of_signs(text: &str) -> u64 {
        let text = format!("<PublicationDelivery>{text}{}", "x".repeat(200_000));
        reckoned(text.as_bytes()) - 3 * text.len() as u64
    }

    #[test]
    fn memory_is_estimated_from_the_markup() {
        for (text, expected) in [
            ("", 0),
            ("<Name/>", 0),
            ("<Name>a</Name>", PER_END),
            ("<Quay/>", PER_RECORD),
            ("<n:Quay\n/>", PER_RECORD),
            ("<Quays/>", 0),
            ("<Call/><TimetabledPassingTime>", 2 * PER_CALL),
            ("<ServiceJourney id='a'>", PER_JOURNEY + PER_ID),
            ("<a version=\"1\" n:id=\"b\"/>", PER_ID),
            ("<LineRef ref=\"a\" version=\"any\"/>", PER_REFERENCE + PER_OPEN),
            ("<a id = \"a\"/>", PER_ID + PER_REFERENCE + PER_OPEN),
        ] {
            assert_eq!(of_signs(text), expected, "{text}");
        }
    }

    #[test]
    fn markup_across_read_boundaries_is_counted() {
        for before in READ_BYTES - 100..READ_BYTES + 10 {
            let text = format!("{}<a:Quay id=\"a\"/>{}", " ".repeat(before), " ".repeat(200));
            let mut signs = XmlMarkupCounts::default();
            let read = signs.count_markup_in_file(&mut text.as_bytes(), &mut vec![0; READ_BYTES]);
            assert_eq!(read.unwrap(), XmlFileEncoding::Utf8);
            assert_eq!((signs.records, signs.ids), (1, 1), "{before}");
            assert_eq!(signs.estimated_bytes(), PER_RECORD + PER_ID, "{before}");
        }
        let long = format!("<{}:Quay/>", "a".repeat(100));
        assert_eq!(of_signs(&long), PER_JOURNEY, "a long prefix hides the element");
    }

    #[test]
    fn the_estimate_depends_on_the_encoding() {
        let body = |encoding: &str| {
            let head = format!("<?xml version=\"1.0\" encoding='{encoding}'?>");
            format!("{head}<PublicationDelivery>{}", "x".repeat(1_000)).into_bytes()
        };
        let max_per_byte = MEMORY_PER_BYTE_MAX;
        for (encoding, per_byte) in
            [("UTF-8", 3), ("Utf8", 3), ("utf-16", 3), ("ISO-8859-1", 6), ("unicode", max_per_byte)]
        {
            let body = body(encoding);
            assert_eq!(reckoned(&body), per_byte * body.len() as u64, "{encoding}");
        }
        let wide: Vec<u8> = "\u{FEFF}<a/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(reckoned(&wide), max_per_byte * wide.len() as u64);
        let spaces = b"<?xml version='1.0' encoding = 'windows-1252' ?><a/>";
        assert_eq!(XmlFileEncoding::detect_declared_encoding(spaces), XmlFileEncoding::SingleBytes);
        assert_eq!(
            XmlFileEncoding::detect_declared_encoding(b"<a encoding='EBCDIC'/>"),
            XmlFileEncoding::Utf8
        );
    }
}
