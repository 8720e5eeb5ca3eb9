//! The records of a publication, in NeTEx's terms. Ids, names and references are texts in one arena; references are
//! resolved after all files are read.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
};

use serde::Serialize;

use super::days::EpochDay;
use crate::{
    ConversionReport,
    gtfs::{StringInterner, TextId},
};

/// The value for a missing time.
pub(super) const NO_TIME: i32 = i32::MIN;

/// A decoded publication: the records of all its files.
#[derive(Debug)]
pub struct Publication {
    pub(super) texts: StringInterner,
    /// The names of the files, indexed by the file numbers of records.
    pub(super) files: Vec<Box<str>>,
    /// The first time zone of the frames, or that of the profile's country.
    pub(super) timezone: Option<Box<str>>,
    /// The first language of the frames.
    pub(super) language: Option<Box<str>>,
    /// The publisher.
    pub(super) participant: TextId,
    /// The validity of the frames of all files: first and last day.
    pub(super) validity: Option<(EpochDay, EpochDay)>,
    /// The validity of the frames of each file that states one, by its number.
    pub(super) validity_of_file: BTreeMap<u32, (EpochDay, EpochDay)>,
    pub(super) organisations: Vec<Organisation>,
    pub(super) networks: Vec<LineNetwork>,
    pub(super) lines: Vec<Line>,
    pub(super) routes: Vec<LineRoute>,
    pub(super) displays: Vec<IdAndName>,
    pub(super) train_numbers: Vec<IdAndName>,
    pub(super) stop_places: Vec<StopPlaceOrQuay>,
    pub(super) quays: Vec<StopPlaceOrQuay>,
    /// Pairs of a quay and a stop place that refers to it, and of a quay and a zone that it refers to, which may be a
    /// stop place.
    pub(super) place_of_quay: Vec<(TextId, TextId)>,
    pub(super) stop_points: Vec<ScheduledStopPoint>,
    pub(super) stop_assignments: Vec<PassengerStopAssignment>,
    pub(super) patterns: Vec<JourneyPattern>,
    pub(super) pattern_points: Vec<PatternPoint>,
    pub(super) demand_types: Vec<TimeDemandType>,
    pub(super) timing_links: Vec<TimingLink>,
    /// Pairs of a route that a line refers to, and that line.
    pub(super) line_of_route: Vec<(TextId, TextId)>,
    /// Links with their run times, and points with their wait times; [`NO_TIME`] if unreadable.
    pub(super) durations: Vec<(TextId, i32)>,
    pub(super) day_types: Vec<DayType>,
    pub(super) day_assignments: Vec<DayTypeAssignment>,
    pub(super) periods: Vec<OperatingPeriod>,
    pub(super) operating_days: Vec<OperatingDay>,
    pub(super) conditions: Vec<AvailabilityCondition>,
    pub(super) journeys: Vec<ServiceJourney>,
    pub(super) passing_times: Vec<PassingTime>,
    pub(super) dated_journeys: Vec<DatedServiceJourney>,
    /// The lists of references of all records, addressed by ranges.
    pub(super) references: Vec<TextId>,
    /// Ids of day types, periods, operating days, conditions and stops that have an unreadable value, and of day types
    /// with an unreadable assignment.
    pub(super) unread: HashSet<TextId>,
    /// Files with a frame whose validity is unreadable.
    pub(super) unread_validity: HashSet<u32>,
    /// True if a frame has an invalid time zone.
    pub(super) has_unread_timezone: bool,
    /// Skipped elements that matter to riders.
    pub(super) untranslated: ConversionReport,
    /// Memory left for data derived from the records, except the tables, in bytes.
    pub(super) bytes_left: usize,
}

/// The number of records by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordCounts {
    /// `Line` and `FlexibleLine`.
    pub lines: usize,
    /// `ServiceJourney` and `TemplateServiceJourney`.
    pub service_journeys: usize,
    /// `DatedServiceJourney`.
    pub dated_service_journeys: usize,
    /// `JourneyPattern`, `ServiceJourneyPattern` and `ServicePattern`.
    pub journey_patterns: usize,
    /// `ScheduledStopPoint`.
    pub scheduled_stop_points: usize,
    /// `StopPlace`.
    pub stop_places: usize,
    /// `Quay`.
    pub quays: usize,
    /// `PassengerStopAssignment`.
    pub passenger_stop_assignments: usize,
    /// `DayType`.
    pub day_types: usize,
}

impl Publication {
    pub(super) fn new(seed: u64) -> Publication {
        Publication {
            texts: StringInterner::new(seed),
            files: Vec::new(),
            timezone: None,
            language: None,
            participant: TextId::EMPTY,
            validity: None,
            validity_of_file: BTreeMap::new(),
            organisations: Vec::new(),
            networks: Vec::new(),
            lines: Vec::new(),
            routes: Vec::new(),
            displays: Vec::new(),
            train_numbers: Vec::new(),
            stop_places: Vec::new(),
            quays: Vec::new(),
            place_of_quay: Vec::new(),
            stop_points: Vec::new(),
            stop_assignments: Vec::new(),
            patterns: Vec::new(),
            pattern_points: Vec::new(),
            demand_types: Vec::new(),
            timing_links: Vec::new(),
            line_of_route: Vec::new(),
            durations: Vec::new(),
            day_types: Vec::new(),
            day_assignments: Vec::new(),
            periods: Vec::new(),
            operating_days: Vec::new(),
            conditions: Vec::new(),
            journeys: Vec::new(),
            passing_times: Vec::new(),
            dated_journeys: Vec::new(),
            references: Vec::new(),
            unread: HashSet::new(),
            unread_validity: HashSet::new(),
            has_unread_timezone: false,
            untranslated: ConversionReport::new(),
            bytes_left: 0,
        }
    }

    /// Returns the number of records by kind.
    pub fn record_counts(&self) -> RecordCounts {
        RecordCounts {
            lines: self.lines.len(),
            service_journeys: self.journeys.len(),
            dated_service_journeys: self.dated_journeys.len(),
            journey_patterns: self.patterns.len(),
            scheduled_stop_points: self.stop_points.len(),
            stop_places: self.stop_places.len(),
            quays: self.quays.len(),
            passenger_stop_assignments: self.stop_assignments.len(),
            day_types: self.day_types.len(),
        }
    }

    pub(super) fn resolve_text(&self, text: TextId) -> &str {
        self.texts.get(text)
    }

    pub(super) fn file_name(&self, number: u32) -> &str {
        self.files.get(number as usize).map_or("publication", |name| name)
    }

    pub(super) fn references_in(&self, range: &Range<u32>) -> &[TextId] {
        self.references.get(range.start as usize..range.end as usize).unwrap_or_default()
    }
}

/// A point on Earth in degrees, latitude first.
pub(super) type LatLonDegrees = (f64, f64);

/// An object of which only the name is stored.
#[derive(Debug)]
pub(super) struct IdAndName {
    pub(super) id: TextId,
    pub(super) name: TextId,
}

/// An `Operator`, an `Authority`, or another organisation.
#[derive(Debug, Default)]
pub(super) struct Organisation {
    pub(super) id: TextId,
    pub(super) name: TextId,
    pub(super) short_name: TextId,
    pub(super) url: TextId,
    pub(super) phone: TextId,
    pub(super) email: TextId,
}

/// A `Network` or a `GroupOfLines`.
#[derive(Debug, Default)]
pub(super) struct LineNetwork {
    pub(super) id: TextId,
    pub(super) authority: TextId,
    /// The lines that it refers to.
    pub(super) lines: Range<u32>,
}

/// A `Line`, flexible or not.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) id: TextId,
    pub(super) name: TextId,
    pub(super) short_name: TextId,
    pub(super) public_code: TextId,
    pub(super) description: TextId,
    pub(super) url: TextId,
    pub(super) mode: TextId,
    pub(super) submode: TextId,
    pub(super) operator: TextId,
    pub(super) authority: TextId,
    pub(super) group: TextId,
    pub(super) colour: TextId,
    pub(super) text_colour: TextId,
    pub(super) file: u32,
}

/// A `Route`: the path and direction of a line.
#[derive(Debug, Default)]
pub(super) struct LineRoute {
    pub(super) id: TextId,
    pub(super) line: TextId,
    pub(super) direction: Option<u8>,
}

/// A `StopPlace` or a `Quay`.
#[derive(Debug, Default)]
pub(super) struct StopPlaceOrQuay {
    pub(super) id: TextId,
    pub(super) name: TextId,
    /// The text on a sign at a quay.
    pub(super) label: TextId,
    pub(super) public_code: TextId,
    pub(super) point: Option<LatLonDegrees>,
    /// The place that contains it.
    pub(super) parent: TextId,
    pub(super) wheelchair: Option<bool>,
    pub(super) file: u32,
}

/// A `ScheduledStopPoint`.
#[derive(Debug, Default)]
pub(super) struct ScheduledStopPoint {
    pub(super) id: TextId,
    pub(super) name: TextId,
    pub(super) public_code: TextId,
    pub(super) point: Option<LatLonDegrees>,
    pub(super) file: u32,
}

/// A `PassengerStopAssignment`: the place of a stop point.
#[derive(Debug, Default)]
pub(super) struct PassengerStopAssignment {
    pub(super) stop_point: TextId,
    pub(super) quay: TextId,
    pub(super) stop_place: TextId,
    pub(super) file: u32,
}

/// A journey pattern, under any of its element names.
#[derive(Debug, Default)]
pub(super) struct JourneyPattern {
    pub(super) id: TextId,
    pub(super) route: TextId,
    pub(super) line: TextId,
    pub(super) display: TextId,
    pub(super) direction: Option<u8>,
    pub(super) points: Range<u32>,
    pub(super) file: u32,
}

/// A `StopPointInJourneyPattern`.
#[derive(Debug)]
pub(super) struct PatternPoint {
    pub(super) id: TextId,
    pub(super) order: u32,
    pub(super) stop_point: TextId,
    pub(super) display: TextId,
    pub(super) link: TextId,
    pub(super) use_of: StopBoardingRules,
}

/// The use of a call by riders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StopBoardingRules {
    pub(super) may_board: bool,
    pub(super) may_alight: bool,
    pub(super) on_request: bool,
    /// True if the vehicle does not stop.
    pub(super) passes: bool,
}

impl Default for StopBoardingRules {
    fn default() -> StopBoardingRules {
        StopBoardingRules { may_board: true, may_alight: true, on_request: false, passes: false }
    }
}

/// A `TimingLink` with its end points.
#[derive(Debug, Default)]
pub(super) struct TimingLink {
    pub(super) id: TextId,
    pub(super) from: TextId,
    pub(super) to: TextId,
}

/// A `TimeDemandType`: run times of links, and wait times at points.
#[derive(Debug, Default)]
pub(super) struct TimeDemandType {
    pub(super) id: TextId,
    pub(super) runs: Range<u32>,
    pub(super) waits: Range<u32>,
}

/// A `DayType`.
#[derive(Debug, Default)]
pub(super) struct DayType {
    pub(super) id: TextId,
    /// The number of its file.
    pub(super) file: u32,
    /// The weekdays; bit 0 is Monday. 0 if none are given.
    pub(super) weekdays: u8,
    /// True if unsupported properties, such as holidays, restrict its days.
    pub(super) has_unsupported_properties: bool,
}

/// A `DayTypeAssignment`: days on which a day type applies.
#[derive(Debug, Default)]
pub(super) struct DayTypeAssignment {
    pub(super) day_type: TextId,
    pub(super) date: Option<EpochDay>,
    pub(super) period: TextId,
    pub(super) operating_day: TextId,
    pub(super) excludes: bool,
    pub(super) file: u32,
}

/// An `OperatingPeriod` or a `UicOperatingPeriod`.
#[derive(Debug, Default)]
pub(super) struct OperatingPeriod {
    pub(super) id: TextId,
    pub(super) from: Option<EpochDay>,
    pub(super) to: Option<EpochDay>,
    pub(super) from_day: TextId,
    pub(super) to_day: TextId,
    /// A digit per day from the first on, if given.
    pub(super) bits: TextId,
}

impl OperatingPeriod {
    /// Returns true if an end is missing, which is then that of the frames.
    pub(super) fn has_missing_end(&self) -> bool {
        let has_from = self.from.is_some() || self.from_day != TextId::EMPTY;
        let has_to = self.to.is_some() || self.to_day != TextId::EMPTY;
        !has_from || !has_to && self.bits == TextId::EMPTY
    }
}

/// An `OperatingDay`.
#[derive(Debug)]
pub(super) struct OperatingDay {
    pub(super) id: TextId,
    pub(super) date: Option<EpochDay>,
}

/// An `AvailabilityCondition` of journeys.
#[derive(Debug, Default)]
pub(super) struct AvailabilityCondition {
    pub(super) id: TextId,
    pub(super) from: Option<EpochDay>,
    pub(super) to: Option<EpochDay>,
    pub(super) bits: TextId,
    pub(super) day_types: Range<u32>,
    pub(super) operating_days: Range<u32>,
    pub(super) excludes: bool,
}

/// A `ServiceJourney` or a `TemplateServiceJourney`.
#[derive(Debug)]
pub(super) struct ServiceJourney {
    pub(super) id: TextId,
    pub(super) pattern: TextId,
    pub(super) line: TextId,
    pub(super) route: TextId,
    pub(super) operator: TextId,
    pub(super) mode: TextId,
    pub(super) public_code: TextId,
    pub(super) train_number: TextId,
    pub(super) display: TextId,
    pub(super) direction: Option<u8>,
    pub(super) day_types: Range<u32>,
    pub(super) conditions: Range<u32>,
    pub(super) times: Range<u32>,
    pub(super) demand_type: TextId,
    pub(super) departure: i32,
    /// True if its start or its headway is unreadable.
    pub(super) has_unread_start: bool,
    /// First and last departure and the seconds between departures, for repeated journeys.
    pub(super) headways: Vec<(i32, i32, i32)>,
    pub(super) is_cancelled: bool,
    pub(super) file: u32,
}

/// A `TimetabledPassingTime` or a `Call`.
#[derive(Debug)]
pub(super) struct PassingTime {
    /// The point of the pattern, if named.
    pub(super) point: TextId,
    /// The stop point, if the call names it itself.
    pub(super) stop_point: TextId,
    pub(super) arrival: i32,
    pub(super) departure: i32,
    /// True if it has an unreadable time.
    pub(super) has_unread_time: bool,
    /// True if it states the day of its times.
    pub(super) has_offset: bool,
    /// True if it only states a window of times.
    pub(super) is_window: bool,
    pub(super) use_of: Option<StopBoardingRules>,
}

/// A `DatedServiceJourney`.
#[derive(Debug, Default)]
pub(super) struct DatedServiceJourney {
    pub(super) id: TextId,
    pub(super) journey: TextId,
    pub(super) day: TextId,
    pub(super) is_cancelled: bool,
    pub(super) file: u32,
}
