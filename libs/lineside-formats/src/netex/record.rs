//! The records of a publication, in NeTEx's own terms. Ids, names and references are texts of one arena; what names what
//! is looked up when all files are read.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
};

use serde::Serialize;

use super::days::Day;
use crate::{
    ConversionReport,
    gtfs::{StringInterner, TextId},
};

/// Stands for a time that is not given.
pub(super) const NO_TIME: i32 = i32::MIN;

/// A publication that was read: all records of all its files.
#[derive(Debug)]
pub struct Publication {
    pub(super) texts: StringInterner,
    /// The names of the files, by the numbers that records carry.
    pub(super) files: Vec<Box<str>>,
    /// The time zone that the frames name first, or that their profile is at home in.
    pub(super) timezone: Option<Box<str>>,
    /// The language that the frames name first.
    pub(super) language: Option<Box<str>>,
    /// Who published it.
    pub(super) participant: TextId,
    /// The days for which the frames of all files say that they hold, first and last.
    pub(super) validity: Option<(Day, Day)>,
    /// The same of each file that says it, by its number.
    pub(super) validity_of_file: BTreeMap<u32, (Day, Day)>,
    pub(super) organisations: Vec<Organisation>,
    pub(super) networks: Vec<LineNetwork>,
    pub(super) lines: Vec<Line>,
    pub(super) routes: Vec<LineRoute>,
    pub(super) displays: Vec<NamedRecord>,
    pub(super) train_numbers: Vec<NamedRecord>,
    pub(super) stop_places: Vec<StopSite>,
    pub(super) quays: Vec<StopSite>,
    /// Quays that stop places list, and the stop places; and zones that quays say they are in, which may be stop places.
    pub(super) place_of_quay: Vec<(TextId, TextId)>,
    pub(super) stop_points: Vec<StopPoint>,
    pub(super) stop_assignments: Vec<PassengerStopAssignment>,
    pub(super) patterns: Vec<JourneyPattern>,
    pub(super) pattern_points: Vec<PatternPoint>,
    pub(super) demand_types: Vec<TimeDemandType>,
    pub(super) timing_links: Vec<TimingLink>,
    /// Routes that lines list, and the lines.
    pub(super) line_of_route: Vec<(TextId, TextId)>,
    /// Links and how long they take, points and how long one waits there; [`NO_TIME`] where that cannot be read.
    pub(super) durations: Vec<(TextId, i32)>,
    pub(super) day_types: Vec<DayType>,
    pub(super) day_assignments: Vec<DayTypeAssignment>,
    pub(super) periods: Vec<OperatingPeriod>,
    pub(super) operating_days: Vec<OperatingDay>,
    pub(super) conditions: Vec<AvailabilityCondition>,
    pub(super) journeys: Vec<ServiceJourney>,
    pub(super) passing_times: Vec<PassingTime>,
    pub(super) dated_journeys: Vec<DatedServiceJourney>,
    /// References that records have several of, by their ranges.
    pub(super) references: Vec<TextId>,
    /// Day types, periods, operating days and conditions with a value that is there and cannot be read, day types with such an
    /// assignment, and stops with such coordinates.
    pub(super) unread: HashSet<TextId>,
    /// Files with a frame of which that is so of the days for which it holds.
    pub(super) unread_validity: HashSet<u32>,
    /// Whether a frame names a time zone that is none.
    pub(super) has_unread_timezone: bool,
    /// What was passed over on the way and is of use to riders.
    pub(super) untranslated: ConversionReport,
    /// How much memory what is made of the records may take, besides the tables, in bytes.
    pub(super) bytes_left: usize,
}

/// How many records were read of the kinds that one counts.
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

    /// How many records there are of each kind.
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

    /// References of a record.
    pub(super) fn references_in(&self, range: &Range<u32>) -> &[TextId] {
        self.references.get(range.start as usize..range.end as usize).unwrap_or_default()
    }
}

/// A point on the earth in degrees, latitude first.
pub(super) type Degrees = (f64, f64);

/// Anything of which only a name is kept.
#[derive(Debug)]
pub(super) struct NamedRecord {
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

/// A `LineNetwork` or a `GroupOfLines`.
#[derive(Debug, Default)]
pub(super) struct LineNetwork {
    pub(super) id: TextId,
    pub(super) authority: TextId,
    /// The lines that it lists itself.
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

/// A `LineRoute`: which way a line goes.
#[derive(Debug, Default)]
pub(super) struct LineRoute {
    pub(super) id: TextId,
    pub(super) line: TextId,
    pub(super) direction: Option<u8>,
}

/// A `StopPlace` or a `Quay`.
#[derive(Debug, Default)]
pub(super) struct StopSite {
    pub(super) id: TextId,
    pub(super) name: TextId,
    /// What stands on a sign at a quay.
    pub(super) label: TextId,
    pub(super) public_code: TextId,
    pub(super) point: Option<Degrees>,
    /// The place that it is in.
    pub(super) parent: TextId,
    pub(super) wheelchair: Option<bool>,
    pub(super) file: u32,
}

/// A `ScheduledStopPoint`.
#[derive(Debug, Default)]
pub(super) struct StopPoint {
    pub(super) id: TextId,
    pub(super) name: TextId,
    pub(super) public_code: TextId,
    pub(super) point: Option<Degrees>,
    pub(super) file: u32,
}

/// A `PassengerStopAssignment`: at which place the stop point is.
#[derive(Debug, Default)]
pub(super) struct PassengerStopAssignment {
    pub(super) stop_point: TextId,
    pub(super) quay: TextId,
    pub(super) stop_place: TextId,
    pub(super) file: u32,
}

/// A pattern of a journey, by any of its names.
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
    pub(super) use_of: StopUse,
}

/// What riders may do at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StopUse {
    pub(super) may_board: bool,
    pub(super) may_alight: bool,
    pub(super) on_request: bool,
    /// The vehicle does not stop.
    pub(super) passes: bool,
}

impl Default for StopUse {
    fn default() -> StopUse {
        StopUse { may_board: true, may_alight: true, on_request: false, passes: false }
    }
}

/// A `TimingLink`: from which point to which.
#[derive(Debug, Default)]
pub(super) struct TimingLink {
    pub(super) id: TextId,
    pub(super) from: TextId,
    pub(super) to: TextId,
}

/// A `TimeDemandType`: how long links take, and how long one waits at points.
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
    /// The days of the week, bit 0 is Monday; none are given where it is 0.
    pub(super) weekdays: u8,
    /// Whether something narrows its days that is not read, such as holidays.
    pub(super) is_otherwise: bool,
}

/// What a `DayTypeAssignment` makes a day type hold for.
#[derive(Debug, Default)]
pub(super) struct DayTypeAssignment {
    pub(super) day_type: TextId,
    pub(super) date: Option<Day>,
    pub(super) period: TextId,
    pub(super) operating_day: TextId,
    pub(super) excludes: bool,
    pub(super) file: u32,
}

/// An `OperatingPeriod` or a `UicOperatingPeriod`.
#[derive(Debug, Default)]
pub(super) struct OperatingPeriod {
    pub(super) id: TextId,
    pub(super) from: Option<Day>,
    pub(super) to: Option<Day>,
    pub(super) from_day: TextId,
    pub(super) to_day: TextId,
    /// A digit per day from the first on, where it is given.
    pub(super) bits: TextId,
}

impl OperatingPeriod {
    /// Whether it says only one of its ends, so that the other is that of the frames.
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
    pub(super) date: Option<Day>,
}

/// An `AvailabilityCondition` of journeys.
#[derive(Debug, Default)]
pub(super) struct AvailabilityCondition {
    pub(super) id: TextId,
    pub(super) from: Option<Day>,
    pub(super) to: Option<Day>,
    pub(super) bits: TextId,
    pub(super) day_types: Range<u32>,
    pub(super) operating_days: Range<u32>,
    pub(super) excludes: bool,
}

/// A `ServiceJourney`, or a template of such.
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
    /// Whether it says when it begins, or how often it runs, and that cannot be read.
    pub(super) has_unread_start: bool,
    /// First and last departure and the seconds between, where it runs again and again.
    pub(super) headways: Vec<(i32, i32, i32)>,
    pub(super) is_cancelled: bool,
    pub(super) file: u32,
}

/// A `TimetabledPassingTime` or a `Call`.
#[derive(Debug)]
pub(super) struct PassingTime {
    /// The point of the pattern, where it is named.
    pub(super) point: TextId,
    /// The stop point, where a call names it itself.
    pub(super) stop_point: TextId,
    pub(super) arrival: i32,
    pub(super) departure: i32,
    /// Whether a time is there and cannot be read.
    pub(super) has_unread_time: bool,
    /// Whether it says on which day its times are.
    pub(super) has_offset: bool,
    /// Whether it only says between which times the vehicle comes.
    pub(super) is_window: bool,
    pub(super) use_of: Option<StopUse>,
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
