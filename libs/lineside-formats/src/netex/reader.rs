//! Reads the files: visits frames of any kind and depth, and reads each record in place.

use std::{
    borrow::Cow,
    hash::{BuildHasher, RandomState},
    io::Read,
    ops::Range,
};

use super::{PublicationLimits, record::Publication};
use crate::{
    Error, ErrorKind, Problem, Problems,
    body_prefix::looks_like_html,
    gtfs::{FileSet, TextId},
    xml::{self, StartTag, XmlReader},
};

const NAMESPACE: &str = "http://www.netex.org.uk/netex";

/// Elements that are skipped as a whole: large, and without records inside.
const SKIPPED_ELEMENTS: [&str; 18] = [
    "PublicationRequest",
    "ServiceLink",
    "RoutePoint",
    "RouteLink",
    "PointProjection",
    "PointOnRoute",
    "TopographicPlace",
    "TariffZone",
    "FareZone",
    "FareFrame",
    "SalesTransactionFrame",
    "InfrastructureFrame",
    "DriverScheduleFrame",
    "Notice",
    "NoticeAssignment",
    "keyList",
    "Extensions",
    "typesOfValue",
];

/// Rider-facing elements that are not converted, with the reason.
const UNTRANSLATED: [(&str, &str); 9] = [
    ("Notice", "GTFS has no notes for trips"),
    ("ServiceLink", "the geometry is not converted"),
    ("FlexibleStopPlace", "demand-responsive stops are not converted"),
    ("ServiceJourneyInterchange", "transfers between trips are not converted"),
    ("TariffZone", "fares are not converted"),
    ("FareZone", "fares are not converted"),
    ("FareFrame", "fares are not converted"),
    ("SitePathLink", "pathways inside stations are not converted"),
    ("StopPlaceEntrance", "entrances are not converted"),
];

/// Decodes all XML files, as long as `should_continue` returns true. The error of an unreadable file is returned; if
/// `refused` is given, it is added there, and the other files are still read.
pub(super) fn decode_xml_files(
    files: &mut dyn FileSet,
    limits: &PublicationLimits,
    should_continue: &dyn Fn() -> bool,
    mut refused: Option<&mut Vec<Error>>,
) -> Result<(Publication, Problems), Error> {
    let mut publication = new_publication();
    let mut problems = files.take_problems();
    let mut names = files.file_names();
    names.retain(|name| is_xml_file_name(name));
    names.sort_unstable();
    let mut left = limits.files.total_bytes;
    let (mut record_bytes, mut n_read) = (0, 0);
    // One buffer for all files, which grows to the size of the largest.
    let mut body = Vec::new();
    for name in &names {
        let mut read = || -> Result<bool, Error> {
            let read = read_file_into(files, name, limits.files.entry_bytes.min(left), &mut body);
            left = left.saturating_sub(body.len() as u64);
            read?;
            reject_empty_or_html_body(&body)?;
            let text = xml::decode_document(&body)?;
            let bounds =
                xml::XmlLimits { depth: PublicationLimits::DEPTH, ..xml::XmlLimits::default() };
            let mut reader = PublicationReader {
                xml: XmlReader::new(&text, bounds).with_cancel_check(should_continue),
                file: publication.files.len() as u32,
                name,
                out: &mut publication,
                problems: &mut problems,
                limits,
                record_bytes,
                within: ElementContext::Other,
                object: StartTag::default(),
                n_unread: 0,
            };
            let is_netex = reader.read_xml_document();
            record_bytes = reader.record_bytes;
            is_netex
        };
        match (read().map_err(|error| error.with_file(name)), &mut refused) {
            (Ok(is_netex), _) => n_read += usize::from(is_netex),
            (Err(error), Some(refused)) if is_single_file_error(error.kind()) => {
                refused.push(error)
            }
            (Err(error), _) => return Err(error),
        }
        publication.files.push(name.as_str().into());
    }
    if n_read == 0 {
        if let Some(refusal) = refused.and_then(|refused| join_file_errors(std::mem::take(refused)))
        {
            return Err(refusal);
        }
        let detail = "has no PublicationDelivery, so it is not NeTEx";
        return Err(Error::new(ErrorKind::Decode, detail));
    }
    if publication.texts.is_full() {
        let detail = "the publication has more text than the limit";
        return Err(Error::new(ErrorKind::TooLarge, detail));
    }
    publication.bytes_left = limits.record_bytes.saturating_sub(record_bytes);
    Ok((publication, problems))
}

/// Combines the errors of all files, of which the first few are quoted.
fn join_file_errors(mut refused: Vec<Error>) -> Option<Error> {
    const ERRORS_LISTED_MAX: usize = 5;
    let [first, _, ..] = refused.as_slice() else { return refused.pop() };
    let messages: Vec<String> =
        refused.iter().take(ERRORS_LISTED_MAX).map(Error::to_string).collect();
    let n = refused.len();
    let more = if n > ERRORS_LISTED_MAX {
        format!("; and {} more", n - ERRORS_LISTED_MAX)
    } else {
        String::new()
    };
    let detail = format!("no file can be read: {}{more}", messages.join("; "));
    Some(Error::new(first.kind(), detail))
}

/// Creates an empty publication. Ids are untrusted input: a random seed keeps lookups fast against crafted collisions.
fn new_publication() -> Publication {
    Publication::new(RandomState::new().hash_one("ids"))
}

/// Returns true if an error concerns one file and not the others.
fn is_single_file_error(kind: ErrorKind) -> bool {
    use ErrorKind::{Decode, Empty, Encoding, Html, Truncated};
    matches!(kind, Decode | Empty | Encoding | Html | Truncated)
}

/// Returns true if the name is that of an XML file.
pub(super) fn is_xml_file_name(name: &str) -> bool {
    name.len() >= 4 && name.as_bytes()[name.len() - 4..].eq_ignore_ascii_case(b".xml")
}

/// Reads a file into `body`, replacing its content.
pub(super) fn read_file_into(
    files: &mut dyn FileSet,
    name: &str,
    bytes_max: u64,
    body: &mut Vec<u8>,
) -> Result<(), Error> {
    body.clear();
    // A buffer allocated at once has the size of the file. A growing one takes up to twice that, and more while it is
    // reallocated.
    let bytes = files.file_size_hint(name).unwrap_or(0).min(bytes_max);
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_add(1);
    if body.capacity() < bytes {
        *body = Vec::new();
        let no_room = || Error::new(ErrorKind::TooLarge, "is larger than the remaining memory");
        body.try_reserve_exact(bytes).map_err(|_| no_room().with_file(name))?;
    }
    let Some(file) = files.open_file(name)? else { return Ok(()) };
    file.take(bytes_max.saturating_add(1))
        .read_to_end(body)
        .map_err(|error| Error::from_io(error).with_file(name))?;
    if body.len() as u64 > bytes_max {
        return Err(Error::new(ErrorKind::TooLarge, "is larger than the limit").with_file(name));
    }
    Ok(())
}

pub(super) fn reject_empty_or_html_body(body: &[u8]) -> Result<(), Error> {
    if body.trim_ascii().is_empty() {
        return Err(Error::new(ErrorKind::Empty, "is empty"));
    }
    if looks_like_html(body) {
        return Err(Error::new(ErrorKind::Html, "expected NeTEx, but got a web page"));
    }
    Ok(())
}

/// A reader of one file.
pub(super) struct PublicationReader<'x, 'o> {
    pub(super) xml: XmlReader<'x>,
    pub(super) file: u32,
    pub(super) name: &'o str,
    pub(super) out: &'o mut Publication,
    pub(super) problems: &'o mut Problems,
    limits: &'o PublicationLimits,
    record_bytes: usize,
    within: ElementContext,
    pub(super) object: StartTag<'x>,
    /// Number of unreadable values so far.
    pub(super) n_unread: u64,
}

/// The context of the most recently opened element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ElementContext {
    Frame,
    /// The `validityConditions` of a frame.
    ConditionsOfFrame,
    /// Any other element, such as an object of a frame, whose validity does not concern the timetable.
    Other,
}

impl<'x> PublicationReader<'x, '_> {
    /// Reads a document. Returns true if it is NeTEx.
    fn read_xml_document(&mut self) -> Result<bool, Error> {
        let mut is_netex = false;
        while let Some(name) = self.xml.open_next_child()? {
            if name == "PublicationDelivery" {
                is_netex = true;
                self.read_publication_delivery()?;
            } else {
                let detail =
                    format!("has the root <{name}> instead of PublicationDelivery and is ignored");
                self.problems.push(Problem::new(self.name, "not_netex", detail));
                self.xml.skip_element()?;
            }
        }
        let n = self.xml.lone_ampersand_count();
        if n > 0 {
            let detail = xml::describe_lone_ampersands(n);
            self.problems.push(Problem::new(self.name, "lone_ampersand", detail));
        }
        Ok(is_netex)
    }

    fn read_publication_delivery(&mut self) -> Result<(), Error> {
        if let Some(namespace) = self.xml.element_namespace().filter(|&it| it != NAMESPACE) {
            let detail = "is not in the NeTEx namespace";
            let problem = Problem::new(self.name, "wrong_namespace", detail);
            self.problems.push(problem.with_value(namespace));
        }
        let profile = self.xml.attribute("version").unwrap_or_default();
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "ParticipantRef" => self.out.participant = self.read_interned_text()?,
                name => self.read_member(name)?,
            }
        }
        if self.out.timezone.is_none() {
            self.out.timezone = timezone_for_netex_profile(&profile).map(Box::from);
        }
        Ok(())
    }

    /// Reads the members of the open element, which is not a frame.
    pub(super) fn read_child_members(&mut self) -> Result<(), Error> {
        self.read_members_in_context(ElementContext::Other)
    }

    fn read_members_in_context(&mut self, within: ElementContext) -> Result<(), Error> {
        let outer_context = std::mem::replace(&mut self.within, within);
        while let Some(name) = self.xml.open_next_child()? {
            self.read_member(name)?;
        }
        self.within = outer_context;
        Ok(())
    }

    /// Returns true if the most recently opened element states the validity of a frame.
    pub(super) fn is_frame_validity_element(&self) -> bool {
        self.within != ElementContext::Other
    }

    /// Reads the most recently opened element: a record, or an element that may contain records.
    fn read_member(&mut self, name: &'x str) -> Result<(), Error> {
        let outer_object = std::mem::replace(&mut self.object, self.xml.start_tag());
        self.read_element_by_name(name)?;
        self.object = outer_object;
        Ok(())
    }

    /// Reads an object inside the current object. Its problems name its own id, if it has one.
    pub(super) fn read_nested_object<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (outer_object, tag) = (self.object, self.xml.start_tag());
        if tag.attribute("id").is_some() {
            self.object = tag;
        }
        let found = read(self)?;
        self.object = outer_object;
        Ok(found)
    }

    fn read_element_by_name(&mut self, name: &'x str) -> Result<(), Error> {
        match name {
            "Operator" | "Authority" | "GeneralOrganisation" => self.read_organisation(),
            "Network" | "GroupOfLines" => self.read_network(),
            "Line" | "FlexibleLine" => self.read_line(name),
            "Route" => self.read_route(),
            "DestinationDisplay" => self.read_destination_display(),
            "TrainNumber" => self.read_train_number(),
            "JourneyPattern" | "ServiceJourneyPattern" | "ServicePattern" => {
                self.read_journey_pattern()
            }
            "TimeDemandType" => self.read_time_demand_type(),
            "TimingLink" => self.read_timing_link(),
            "StopPlace" => self.read_stop_place(),
            "Quay" => self.read_quay(TextId::EMPTY),
            "ScheduledStopPoint" => self.read_scheduled_stop_point(),
            "PassengerStopAssignment" => self.read_passenger_stop_assignment(),
            "ServiceJourney" | "TemplateServiceJourney" => self.read_service_journey(),
            "DatedServiceJourney" => self.read_dated_journey(),
            "DayType" => self.read_day_type(),
            "DayTypeAssignment" => self.read_day_type_assignment(),
            "OperatingPeriod" | "UicOperatingPeriod" => self.read_operating_period(),
            "OperatingDay" => self.read_operating_day(),
            "AvailabilityCondition" => self.read_standalone_condition(),
            "ServiceCalendar" => self.read_service_calendar(),
            "ValidBetween" if self.is_frame_validity_element() => self.read_frame_validity(),
            "FrameDefaults" => self.read_frame_defaults(),
            name => self.read_other_element(name),
        }
    }

    fn read_other_element(&mut self, name: &'x str) -> Result<(), Error> {
        if let Some(&(kind, why)) = UNTRANSLATED.iter().find(|(kind, _)| *kind == name) {
            let id = self.xml.attribute("id");
            self.out.untranslated.record_dropped_object(kind, why, id.as_deref());
        }
        match name {
            _ if SKIPPED_ELEMENTS.contains(&name) => self.xml.skip_element(),
            "validityConditions" if self.within == ElementContext::Frame => {
                self.read_members_in_context(ElementContext::ConditionsOfFrame)
            }
            // `TypeOfFrame` is an ordinary object.
            _ if name.ends_with("Frame") && name != "TypeOfFrame" => {
                self.read_members_in_context(ElementContext::Frame)
            }
            _ => self.read_child_members(),
        }
    }

    /// Reads the time zone and the language of a frame; the first ones apply.
    fn read_frame_defaults(&mut self) -> Result<(), Error> {
        while let Some(name) = self.xml.open_next_child()? {
            if name == "DefaultLocale" { self.read_locale()? } else { self.xml.skip_element()? }
        }
        Ok(())
    }

    fn read_locale(&mut self) -> Result<(), Error> {
        let (mut zone, mut winter, mut summer) = (None, None, None);
        let n_unread = self.unreadable_value_count();
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "TimeZone" => zone = Some(self.read_text()?).filter(|it| !it.is_empty()),
                "TimeZoneOffset" => winter = self.read_text()?.parse::<i32>().ok(),
                "SummerTimeZoneOffset" => summer = self.read_text()?.parse::<i32>().ok(),
                "DefaultLanguage" => {
                    let language = self.read_text()?;
                    if self.out.language.is_none() && !language.is_empty() {
                        self.out.language = Some(language.as_ref().into());
                    }
                }
                _ => self.xml.skip_element()?,
            }
        }
        self.out.has_unread_timezone |= zone.is_none() && self.unreadable_value_count() > n_unread;
        let zone = zone.or_else(|| timezone_for_utc_offsets(winter, summer).map(Cow::from));
        if let Some(zone) = zone.filter(|_| self.out.timezone.is_none()) {
            if jiff::tz::TimeZone::get(&zone).is_ok() {
                self.out.timezone = Some(zone.as_ref().into());
            } else {
                self.out.has_unread_timezone = true;
                let detail = "is not a known time zone and is ignored";
                self.report_element_problem("TimeZone", "invalid_timezone", detail, &zone);
            }
        }
        Ok(())
    }

    /// Reads the text of the open element without surrounding white space; empty if it exceeds the limit.
    pub(super) fn read_text(&mut self) -> Result<Cow<'x, str>, Error> {
        Ok(self.read_named_text()?.1)
    }

    /// Reads the text like [`read_text`](Self::read_limited_text), and returns it with the name of the element.
    pub(super) fn read_named_text(&mut self) -> Result<(&'x str, Cow<'x, str>), Error> {
        let name = self.xml.start_tag().local_name();
        let text = self.xml.read_element_or_inner_text()?;
        if text.len() > self.limits.text_bytes {
            let detail = "is longer than the limit and is ignored";
            self.report_unreadable(name, "text_too_long", detail, &text);
            return Ok((name, Cow::Borrowed("")));
        }
        Ok(match text {
            Cow::Borrowed(text) => (name, Cow::Borrowed(text.trim())),
            Cow::Owned(text) => (name, Cow::Owned(text.trim().to_owned())),
        })
    }

    /// Reads the text of the open element into the arena.
    pub(super) fn read_interned_text(&mut self) -> Result<TextId, Error> {
        let text = self.read_text()?;
        Ok(self.out.texts.intern(&text))
    }

    /// Reads the text of the open element into `place` unless that has one already.
    pub(super) fn read_text_if_unset(&mut self, place: &mut TextId) -> Result<(), Error> {
        let text = self.read_interned_text()?;
        if *place == TextId::EMPTY {
            *place = text;
        }
        Ok(())
    }

    /// Returns the `id` of the most recently opened element.
    pub(super) fn intern_element_id(&mut self) -> TextId {
        let id = self.xml.attribute("id").unwrap_or_default();
        self.out.texts.intern(&id)
    }

    /// Reads and closes a reference and returns the id that it refers to.
    pub(super) fn read_reference(&mut self) -> Result<TextId, Error> {
        let id = self.xml.attribute("ref").unwrap_or_default();
        let id = self.out.texts.intern(&id);
        self.xml.skip_element()?;
        Ok(id)
    }

    /// Reads and stores the references in the open element whose names end in `suffix`.
    pub(super) fn read_references(&mut self, suffix: &str) -> Result<Range<u32>, Error> {
        let mut found = Vec::new();
        while let Some(name) = self.xml.open_next_child()? {
            if name.ends_with(suffix) {
                found.push(self.read_reference()?)
            } else {
                self.xml.skip_element()?
            }
        }
        self.store_references(&found)
    }

    /// Stores references contiguously, and returns their range.
    pub(super) fn store_references(&mut self, found: &[TextId]) -> Result<Range<u32>, Error> {
        self.count_record_bytes(size_of_val(found))?;
        let start = self.out.references.len() as u32;
        self.out.references.extend_from_slice(found);
        Ok(start..self.out.references.len() as u32)
    }

    /// Counts the memory of a record before it is stored.
    #[inline]
    pub(super) fn count_record_bytes(&mut self, bytes: usize) -> Result<(), Error> {
        self.record_bytes += bytes;
        if self.record_bytes <= self.limits.record_bytes {
            return Ok(());
        }
        let max = self.limits.record_bytes;
        let detail = format!("the records need more than {max} bytes of memory");
        Err(Error::new(ErrorKind::TooLarge, detail))
    }
}

/// Returns the time zone with these offsets from UTC in winter and in summer, in hours.
fn timezone_for_utc_offsets(winter: Option<i32>, summer: Option<i32>) -> Option<&'static str> {
    match (winter?, summer) {
        (0, Some(1)) => Some("WET"),
        (1, Some(2)) => Some("CET"),
        (2, Some(3)) => Some("EET"),
        (0, None) => Some("UTC"),
        _ => None,
    }
}

/// Returns the time zone of a profile, by the version that a publication states: `1.10:FR-NETEX-2.2`.
fn timezone_for_netex_profile(version: &str) -> Option<&'static str> {
    let is_of = |mark: &str| version.contains(mark);
    if is_of(":FR") {
        Some("Europe/Paris")
    } else if is_of(":NO-") {
        Some("Europe/Oslo")
    } else if is_of(":CH-") {
        Some("Europe/Zurich")
    } else {
        None
    }
}
