//! Goes through the files: frames of any kind and depth are walked through, and what is a record is read where it stands.

use std::{
    borrow::Cow,
    hash::{BuildHasher, RandomState},
    io::Read,
    ops::Range,
};

use super::{Limits, record::Publication};
use crate::{
    Error, ErrorKind, Problem, Problems,
    gtfs::{Files, Text},
    looks_like_html,
    xml::{self, Tag, Xml},
};

/// The namespace of NeTEx.
const NAMESPACE: &str = "http://www.netex.org.uk/netex";

/// Elements that are passed over whole: large, and without records inside.
const PASSED_OVER: [&str; 18] = [
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

/// Things for riders that are not translated, with the reason.
const UNTRANSLATED: [(&str, &str); 9] = [
    ("Notice", "GTFS has no notes on trips"),
    ("ServiceLink", "its line on the map is not translated"),
    ("FlexibleStopPlace", "places that are ordered are not translated"),
    ("ServiceJourneyInterchange", "transfers between trips are not translated"),
    ("TariffZone", "fares are not translated"),
    ("FareZone", "fares are not translated"),
    ("FareFrame", "fares are not translated"),
    ("SitePathLink", "ways inside stations are not translated"),
    ("StopPlaceEntrance", "entrances are not translated"),
];

/// Reads all XML files as long as `goes_on` says so. What cannot be read is refused, or told in `refused` if there is such a
/// list, and the others are read all the same.
pub(super) fn decode(
    files: &mut dyn Files,
    limits: &Limits,
    goes_on: &dyn Fn() -> bool,
    mut refused: Option<&mut Vec<Error>>,
) -> Result<(Publication, Problems), Error> {
    let mut publication = empty();
    let mut problems = files.take_problems();
    let mut names = files.names();
    names.retain(|name| is_xml(name));
    names.sort_unstable();
    let mut left = limits.files.total_bytes;
    let (mut record_bytes, mut n_read) = (0, 0);
    // One room for all files: it grows to the largest, and no more.
    let mut body = Vec::new();
    for name in &names {
        let mut read = || -> Result<bool, Error> {
            let read = read_file(files, name, limits.files.entry_bytes.min(left), &mut body);
            left = left.saturating_sub(body.len() as u64);
            read?;
            refuse_at_sight(&body)?;
            let text = xml::to_text(&body)?;
            let bounds = xml::Limits { depth: Limits::DEPTH, ..xml::Limits::default() };
            let mut reader = Reader {
                xml: Xml::new(&text, bounds).reading_while(goes_on),
                file: publication.files.len() as u32,
                name,
                out: &mut publication,
                problems: &mut problems,
                limits,
                record_bytes,
                within: Within::Other,
                of: Tag::default(),
                n_unread: 0,
            };
            let is_netex = reader.document();
            record_bytes = reader.record_bytes;
            is_netex
        };
        match (read().map_err(|error| error.in_file(name)), &mut refused) {
            (Ok(is_netex), _) => n_read += usize::from(is_netex),
            (Err(error), Some(refused)) if is_about_file(error.kind()) => refused.push(error),
            (Err(error), _) => return Err(error),
        }
        publication.files.push(name.as_str().into());
    }
    if n_read == 0 {
        if let Some(refusal) = refused.and_then(|refused| joined(std::mem::take(refused))) {
            return Err(refusal);
        }
        let detail = "holds no PublicationDelivery, so it is not NeTEx";
        return Err(Error::new(ErrorKind::Decode, detail));
    }
    if publication.texts.is_full() {
        let detail = "the publication holds more text than the limit";
        return Err(Error::new(ErrorKind::TooLarge, detail));
    }
    publication.bytes_left = limits.record_bytes.saturating_sub(record_bytes);
    Ok((publication, problems))
}

/// Why none of these files can be read; of many the first few are told.
fn joined(mut refused: Vec<Error>) -> Option<Error> {
    const TOLD: usize = 5;
    let [first, _, ..] = refused.as_slice() else { return refused.pop() };
    let told: Vec<String> = refused.iter().take(TOLD).map(Error::to_string).collect();
    let n = refused.len();
    let more = if n > TOLD { format!("; and {} more", n - TOLD) } else { String::new() };
    let detail = format!("none of its files can be read: {}{more}", told.join("; "));
    Some(Error::new(first.kind(), detail))
}

/// A publication without records. Ids come from strangers: hashes that nobody can foresee keep lookups fast whatever
/// they send.
fn empty() -> Publication {
    Publication::new(RandomState::new().hash_one("ids"))
}

/// Whether a refusal is about one file, and says nothing of the others.
fn is_about_file(kind: ErrorKind) -> bool {
    use ErrorKind::{Decode, Empty, Encoding, Html, Truncated};
    matches!(kind, Decode | Empty | Encoding | Html | Truncated)
}

/// Whether a file is looked at by its name.
pub(super) fn is_xml(name: &str) -> bool {
    name.len() >= 4 && name.as_bytes()[name.len() - 4..].eq_ignore_ascii_case(b".xml")
}

/// Reads a file into `body`, in place of what is in it.
pub(super) fn read_file(
    files: &mut dyn Files,
    name: &str,
    bytes_max: u64,
    body: &mut Vec<u8>,
) -> Result<(), Error> {
    body.clear();
    // Room that is made at once is as large as the file; room that grows is up to twice that, and there twice while it does.
    let bytes = files.size_hint(name).unwrap_or(0).min(bytes_max);
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_add(1);
    if body.capacity() < bytes {
        *body = Vec::new();
        let no_room = || Error::new(ErrorKind::TooLarge, "is larger than the memory that is left");
        body.try_reserve_exact(bytes).map_err(|_| no_room().in_file(name))?;
    }
    let Some(file) = files.open(name)? else { return Ok(()) };
    file.take(bytes_max.saturating_add(1))
        .read_to_end(body)
        .map_err(|error| Error::io(error).in_file(name))?;
    if body.len() as u64 > bytes_max {
        return Err(Error::new(ErrorKind::TooLarge, "is larger than the limit").in_file(name));
    }
    Ok(())
}

pub(super) fn refuse_at_sight(body: &[u8]) -> Result<(), Error> {
    if body.trim_ascii().is_empty() {
        return Err(Error::new(ErrorKind::Empty, "there is nothing in it"));
    }
    if looks_like_html(body) {
        return Err(Error::new(ErrorKind::Html, "a web page came instead of NeTEx"));
    }
    Ok(())
}

/// One file that is being read.
pub(super) struct Reader<'x, 'o> {
    pub(super) xml: Xml<'x>,
    pub(super) file: u32,
    pub(super) name: &'o str,
    pub(super) out: &'o mut Publication,
    pub(super) problems: &'o mut Problems,
    limits: &'o Limits,
    record_bytes: usize,
    within: Within,
    /// The object that is being read.
    pub(super) of: Tag<'x>,
    /// Values so far that could not be read.
    pub(super) n_unread: u64,
}

/// What the element that was opened last stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    /// A frame.
    Frame,
    /// The `validityConditions` of a frame.
    ConditionsOfFrame,
    /// Something else, such as an object of a frame: how long a car park is there says nothing of the timetable.
    Other,
}

impl<'x> Reader<'x, '_> {
    /// Reads a document. Tells whether it is NeTEx.
    fn document(&mut self) -> Result<bool, Error> {
        let mut is_netex = false;
        while let Some(name) = self.xml.next_child()? {
            if name == "PublicationDelivery" {
                is_netex = true;
                self.delivery()?;
            } else {
                let detail =
                    format!("has a root <{name}>, not PublicationDelivery, and is left out");
                self.problems.push(Problem::new(self.name, "not_netex", detail));
                self.xml.skip()?;
            }
        }
        let n = self.xml.lone_ampersands();
        if n > 0 {
            let detail = xml::standing_alone(n);
            self.problems.push(Problem::new(self.name, "lone_ampersand", detail));
        }
        Ok(is_netex)
    }

    fn delivery(&mut self) -> Result<(), Error> {
        if let Some(namespace) = self.xml.namespace().filter(|&it| it != NAMESPACE) {
            let detail = "is not in the namespace of NeTEx";
            let problem = Problem::new(self.name, "wrong_namespace", detail);
            self.problems.push(problem.with_value(namespace));
        }
        let profile = self.xml.attribute("version").unwrap_or_default();
        while let Some(name) = self.xml.next_child()? {
            match name {
                "ParticipantRef" => self.out.participant = self.text_kept()?,
                name => self.member(name)?,
            }
        }
        if self.out.timezone.is_none() {
            self.out.timezone = zone_of_profile(&profile).map(Box::from);
        }
        Ok(())
    }

    /// Walks through the open element, which is no frame.
    pub(super) fn walk(&mut self) -> Result<(), Error> {
        self.walk_as(Within::Other)
    }

    fn walk_as(&mut self, within: Within) -> Result<(), Error> {
        let outside = std::mem::replace(&mut self.within, within);
        while let Some(name) = self.xml.next_child()? {
            self.member(name)?;
        }
        self.within = outside;
        Ok(())
    }

    /// Whether the element that was opened last says how long a frame holds.
    pub(super) fn is_of_frame(&self) -> bool {
        self.within != Within::Other
    }

    /// Reads the element that was opened last: a record, or something that may hold records.
    fn member(&mut self, name: &'x str) -> Result<(), Error> {
        let outside = std::mem::replace(&mut self.of, self.xml.tag());
        self.object(name)?;
        self.of = outside;
        Ok(())
    }

    /// Reads what stands in the object that is being read and is one itself: what is told of it is told by its id, if it has one.
    pub(super) fn within<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (outside, tag) = (self.of, self.xml.tag());
        if tag.attribute("id").is_some() {
            self.of = tag;
        }
        let found = read(self)?;
        self.of = outside;
        Ok(found)
    }

    fn object(&mut self, name: &'x str) -> Result<(), Error> {
        match name {
            "Operator" | "Authority" | "GeneralOrganisation" => self.organisation(),
            "Network" | "GroupOfLines" => self.network(),
            "Line" | "FlexibleLine" => self.line(name),
            "Route" => self.route(),
            "DestinationDisplay" => self.destination_display(),
            "TrainNumber" => self.train_number(),
            "JourneyPattern" | "ServiceJourneyPattern" | "ServicePattern" => self.pattern(),
            "TimeDemandType" => self.demand_type(),
            "TimingLink" => self.timing_link(),
            "StopPlace" => self.stop_place(),
            "Quay" => self.quay(Text::EMPTY),
            "ScheduledStopPoint" => self.stop_point(),
            "PassengerStopAssignment" => self.stop_assignment(),
            "ServiceJourney" | "TemplateServiceJourney" => self.service_journey(),
            "DatedServiceJourney" => self.dated_journey(),
            "DayType" => self.day_type(),
            "DayTypeAssignment" => self.day_assignment(),
            "OperatingPeriod" | "UicOperatingPeriod" => self.operating_period(),
            "OperatingDay" => self.operating_day(),
            "AvailabilityCondition" => self.lone_condition(),
            "ServiceCalendar" => self.service_calendar(),
            "ValidBetween" if self.is_of_frame() => self.frame_validity(),
            "FrameDefaults" => self.frame_defaults(),
            name => self.other(name),
        }
    }

    fn other(&mut self, name: &'x str) -> Result<(), Error> {
        if let Some(&(kind, why)) = UNTRANSLATED.iter().find(|(kind, _)| *kind == name) {
            let id = self.xml.attribute("id");
            self.out.untranslated.push(kind, why, id.as_deref());
        }
        match name {
            _ if PASSED_OVER.contains(&name) => self.xml.skip(),
            "validityConditions" if self.within == Within::Frame => {
                self.walk_as(Within::ConditionsOfFrame)
            }
            // A type is an object as any other.
            _ if name.ends_with("Frame") && name != "TypeOfFrame" => self.walk_as(Within::Frame),
            _ => self.walk(),
        }
    }

    /// The time zone and the language of a frame; those that stand first count.
    fn frame_defaults(&mut self) -> Result<(), Error> {
        while let Some(name) = self.xml.next_child()? {
            if name == "DefaultLocale" { self.locale()? } else { self.xml.skip()? }
        }
        Ok(())
    }

    fn locale(&mut self) -> Result<(), Error> {
        let (mut zone, mut winter, mut summer) = (None, None, None);
        let n_unread = self.n_unread();
        while let Some(name) = self.xml.next_child()? {
            match name {
                "TimeZone" => zone = Some(self.text()?).filter(|it| !it.is_empty()),
                "TimeZoneOffset" => winter = self.text()?.parse::<i32>().ok(),
                "SummerTimeZoneOffset" => summer = self.text()?.parse::<i32>().ok(),
                "DefaultLanguage" => {
                    let language = self.text()?;
                    if self.out.language.is_none() && !language.is_empty() {
                        self.out.language = Some(language.as_ref().into());
                    }
                }
                _ => self.xml.skip()?,
            }
        }
        self.out.has_unread_timezone |= zone.is_none() && self.n_unread() > n_unread;
        let zone = zone.or_else(|| zone_of_offsets(winter, summer).map(Cow::from));
        if let Some(zone) = zone.filter(|_| self.out.timezone.is_none()) {
            if jiff::tz::TimeZone::get(&zone).is_ok() {
                self.out.timezone = Some(zone.as_ref().into());
            } else {
                self.out.has_unread_timezone = true;
                let detail = "is no known time zone and is left out";
                self.complain("TimeZone", "invalid_timezone", detail, &zone);
            }
        }
        Ok(())
    }

    /// The text of the open element, without white space around it; empty if it is longer than the limit.
    pub(super) fn text(&mut self) -> Result<Cow<'x, str>, Error> {
        Ok(self.named_text()?.1)
    }

    /// The same, with the name of the element.
    pub(super) fn named_text(&mut self) -> Result<(&'x str, Cow<'x, str>), Error> {
        let name = self.xml.tag().name();
        let text = self.xml.text_or_inner()?;
        if text.len() > self.limits.text_bytes {
            let detail = "is longer than is taken and is left out";
            self.cannot_read(name, "text_too_long", detail, &text);
            return Ok((name, Cow::Borrowed("")));
        }
        Ok(match text {
            Cow::Borrowed(text) => (name, Cow::Borrowed(text.trim())),
            Cow::Owned(text) => (name, Cow::Owned(text.trim().to_owned())),
        })
    }

    /// The text of the open element, in the arena.
    pub(super) fn text_kept(&mut self) -> Result<Text, Error> {
        let text = self.text()?;
        Ok(self.out.texts.intern(&text))
    }

    /// The text of the open element, unless `place` has one already.
    pub(super) fn text_if_first(&mut self, place: &mut Text) -> Result<(), Error> {
        let text = self.text_kept()?;
        if *place == Text::EMPTY {
            *place = text;
        }
        Ok(())
    }

    /// The `id` of the element that was opened last.
    pub(super) fn id(&mut self) -> Text {
        let id = self.xml.attribute("id").unwrap_or_default();
        self.out.texts.intern(&id)
    }

    /// What the open element, which it closes, refers to.
    pub(super) fn reference(&mut self) -> Result<Text, Error> {
        let id = self.xml.attribute("ref").unwrap_or_default();
        let id = self.out.texts.intern(&id);
        self.xml.skip()?;
        Ok(id)
    }

    /// The references in the open element whose names end alike, one after the other.
    pub(super) fn references(&mut self, suffix: &str) -> Result<Range<u32>, Error> {
        let mut found = Vec::new();
        while let Some(name) = self.xml.next_child()? {
            if name.ends_with(suffix) { found.push(self.reference()?) } else { self.xml.skip()? }
        }
        self.keep_references(&found)
    }

    /// Keeps references together, and tells where.
    pub(super) fn keep_references(&mut self, found: &[Text]) -> Result<Range<u32>, Error> {
        self.count_bytes(size_of_val(found))?;
        let start = self.out.references.len() as u32;
        self.out.references.extend_from_slice(found);
        Ok(start..self.out.references.len() as u32)
    }

    /// Counts the memory of what is about to be kept.
    #[inline]
    pub(super) fn count_bytes(&mut self, bytes: usize) -> Result<(), Error> {
        self.record_bytes += bytes;
        if self.record_bytes <= self.limits.record_bytes {
            return Ok(());
        }
        let most = self.limits.record_bytes;
        let detail = format!("the records take more than {most} bytes of memory");
        Err(Error::new(ErrorKind::TooLarge, detail))
    }
}

/// The zone that has these offsets from UTC in winter and in summer, in hours.
fn zone_of_offsets(winter: Option<i32>, summer: Option<i32>) -> Option<&'static str> {
    match (winter?, summer) {
        (0, Some(1)) => Some("WET"),
        (1, Some(2)) => Some("CET"),
        (2, Some(3)) => Some("EET"),
        (0, None) => Some("UTC"),
        _ => None,
    }
}

/// Where a profile is at home, by the version that a publication says it is of: `1.10:FR-NETEX-2.2`.
fn zone_of_profile(version: &str) -> Option<&'static str> {
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
