//! The formats of feeds, and the facts that follow from the format alone.

use std::time::Duration;

use crate::{limits::MESSAGE_BYTES_MAX, sniff};

/// The formats of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// A GTFS schedule: a zip of text tables.
    Gtfs,
    /// GTFS-Realtime: a protobuf message or its JSON form.
    GtfsRt,
    /// A GBFS system: a discovery file and the files that it lists, in JSON. It cannot be detected by content.
    Gbfs,
    /// NeTEx: a schedule in XML, as one file or a zip of many.
    Netex,
    /// SIRI: a message in XML, in a SOAP envelope, or in JSON.
    Siri,
    /// Anything else: stored and served unchanged.
    Raw,
}

/// What a format describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatKind {
    /// Planned service: stops, lines, trips, days.
    Schedule,
    /// Current service: vehicles, journeys, alerts.
    Realtime,
    /// Vehicles for rent, in many files.
    System,
    /// Bytes that are not decoded.
    Raw,
}

struct FormatProperties {
    #[cfg(test)]
    format: Format,
    kind: FormatKind,
    name: &'static str,
    label: &'static str,
    media_type: &'static str,
    /// Empty if files of the format have none in common.
    extension: &'static str,
    poll_interval: Duration,
    body_bytes_max: Option<u64>,
    /// True for a schedule that is converted to GTFS before it is loaded.
    is_converted_to_gtfs: bool,
    /// True if ids may be those of the producer's systems, which a mapping translates to those of the schedule.
    has_mapped_ids: bool,
    matches_content: fn(&[u8]) -> bool,
}

/// The formats in the order of [`Format`], which is also the order of detection.
static FORMATS: [FormatProperties; 6] = [
    FormatProperties {
        #[cfg(test)]
        format: Format::Gtfs,
        kind: FormatKind::Schedule,
        name: "gtfs",
        label: "GTFS",
        media_type: "application/zip",
        extension: "zip",
        poll_interval: Duration::from_secs(60 * 60),
        body_bytes_max: None,
        is_converted_to_gtfs: false,
        has_mapped_ids: false,
        matches_content: sniff::is_gtfs_zip,
    },
    FormatProperties {
        #[cfg(test)]
        format: Format::GtfsRt,
        kind: FormatKind::Realtime,
        name: "gtfs-rt",
        label: "GTFS-Realtime",
        media_type: "application/x-protobuf",
        extension: "pb",
        poll_interval: Duration::from_secs(15),
        body_bytes_max: Some(MESSAGE_BYTES_MAX),
        is_converted_to_gtfs: false,
        has_mapped_ids: false,
        matches_content: sniff::is_gtfs_rt_body,
    },
    FormatProperties {
        #[cfg(test)]
        format: Format::Gbfs,
        kind: FormatKind::System,
        name: "gbfs",
        label: "GBFS",
        media_type: "application/json",
        extension: "json",
        poll_interval: Duration::from_secs(60),
        body_bytes_max: None,
        is_converted_to_gtfs: false,
        has_mapped_ids: false,
        matches_content: |_| false,
    },
    FormatProperties {
        #[cfg(test)]
        format: Format::Netex,
        kind: FormatKind::Schedule,
        name: "netex",
        label: "NeTEx",
        media_type: "application/xml",
        extension: "xml",
        poll_interval: Duration::from_secs(60 * 60),
        body_bytes_max: None,
        is_converted_to_gtfs: true,
        has_mapped_ids: false,
        matches_content: sniff::is_netex_body,
    },
    FormatProperties {
        #[cfg(test)]
        format: Format::Siri,
        kind: FormatKind::Realtime,
        name: "siri",
        label: "SIRI",
        media_type: "application/xml",
        extension: "xml",
        poll_interval: Duration::from_secs(30),
        body_bytes_max: Some(MESSAGE_BYTES_MAX),
        is_converted_to_gtfs: false,
        has_mapped_ids: true,
        matches_content: sniff::is_siri_body,
    },
    FormatProperties {
        #[cfg(test)]
        format: Format::Raw,
        kind: FormatKind::Raw,
        name: "raw",
        label: "Raw",
        media_type: "application/octet-stream",
        extension: "",
        poll_interval: Duration::from_secs(5 * 60),
        body_bytes_max: None,
        is_converted_to_gtfs: false,
        has_mapped_ids: false,
        matches_content: |_| true,
    },
];

impl Format {
    /// All formats, in the order of detection.
    pub const ALL: [Format; 6] =
        [Format::Gtfs, Format::GtfsRt, Format::Gbfs, Format::Netex, Format::Siri, Format::Raw];

    fn properties(self) -> &'static FormatProperties {
        &FORMATS[self as usize]
    }

    /// Returns the name used in configuration and in the API.
    pub fn as_str(self) -> &'static str {
        self.properties().name
    }

    /// Returns the format with that [name](Format::as_str).
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.as_str() == name)
    }

    /// Returns the usual spelling, for people.
    pub fn display_name(self) -> &'static str {
        self.properties().label
    }

    /// Returns what the format describes.
    pub fn kind(self) -> FormatKind {
        self.properties().kind
    }

    /// Returns true if the format describes planned service: stops, lines, trips, days.
    pub fn is_schedule(self) -> bool {
        self.kind() == FormatKind::Schedule
    }

    /// Returns true if the format describes current service: vehicles, journeys, alerts.
    pub fn is_realtime(self) -> bool {
        self.kind() == FormatKind::Realtime
    }

    /// Returns true if the format describes vehicles for rent, in many files.
    pub fn is_shared_mobility(self) -> bool {
        self.kind() == FormatKind::System
    }

    /// Returns true if the bytes are served without being decoded.
    pub fn is_raw(self) -> bool {
        self.kind() == FormatKind::Raw
    }

    /// Returns the media type of a body. A schedule of several files is a zip.
    pub fn media_type(self, body: &[u8]) -> &'static str {
        match self.is_zipped_schedule(body) {
            true => "application/zip",
            false => self.properties().media_type,
        }
    }

    /// Returns the extension of a file with this body; `None` if files of the format have none in common.
    pub fn file_extension(self, body: &[u8]) -> Option<&'static str> {
        let extension =
            if self.is_zipped_schedule(body) { "zip" } else { self.properties().extension };
        Some(extension).filter(|it| !it.is_empty())
    }

    fn is_zipped_schedule(self, body: &[u8]) -> bool {
        self.is_schedule() && sniff::is_zip(body)
    }

    /// Returns the time between polls of a source whose operator sets none: about as often as producers publish.
    pub fn default_poll_interval(self) -> Duration {
        self.properties().poll_interval
    }

    /// Returns the longest body that the decoder accepts, in bytes; `None` if it has no limit of its own.
    pub fn max_body_bytes(self) -> Option<u64> {
        self.properties().body_bytes_max
    }

    /// Returns true for a schedule that is converted to GTFS before it is loaded.
    pub fn is_converted_to_gtfs(self) -> bool {
        self.properties().is_converted_to_gtfs
    }

    /// Returns true if ids may be those of the producer's systems, which a mapping translates to those of the schedule.
    pub fn has_mapped_ids(self) -> bool {
        self.properties().has_mapped_ids
    }

    /// Returns true if a body looks like this format.
    pub(crate) fn matches_content(self, body: &[u8]) -> bool {
        (self.properties().matches_content)(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_its_own_facts() {
        for format in Format::ALL {
            assert_eq!(format.properties().format, format, "the table is in another order");
            assert_eq!(Format::from_name(format.as_str()), Some(format));
        }
        assert_eq!(Format::from_name("hafas"), None);
    }

    #[test]
    fn a_schedule_of_several_files_is_a_zip() {
        let netex = |body| (Format::Netex.media_type(body), Format::Netex.file_extension(body));
        assert_eq!(netex(b"PK\x03\x04"), ("application/zip", Some("zip")));
        assert_eq!(netex(b"<PublicationDelivery/>"), ("application/xml", Some("xml")));
        assert_eq!(Format::Raw.file_extension(b"PK\x03\x04"), None);
    }
}
