//! The check of all files of a publication, element by element.

use jiff::civil::Date;
use lineside_formats::netex::{AttributeLookup, PublicationVisitor, VisitAction};

use super::{
    kinds,
    passing_times::{self, PatternPointCounts, StopPassingTimes},
    references::IdsAndReferences,
    tables::{self, NEEDS},
};
use crate::{
    cancel::CancelUnwindCheck,
    notice::{NoticeKind, NoticeSample, Notices},
};

/// The largest number of calls of a journey that are checked; no line has more stops.
const CALLS_MAX: usize = 10_000;

/// Elements between two checks for cancellation: a millisecond or less.
const ELEMENTS_PER_CHECK: u32 = 1_024;

/// An object whose end tag was not read yet.
#[derive(Debug, Default)]
struct OpenNetexObject {
    name: &'static str,
    id: String,
    depth: usize,
    /// A bit for each met requirement.
    requirements_met: u64,
    from: Option<Date>,
    to: Option<Date>,
    longitude: Option<f64>,
    latitude: Option<f64>,
    call: StopPassingTimes,
    calls: Vec<StopPassingTimes>,
    points: u32,
    /// The timing points of a pattern, at which journeys may have a time.
    timing_points: u32,
    /// The pattern of a journey.
    pattern: String,
    /// True if the object only deletes an earlier one.
    is_deleted: bool,
}

impl OpenNetexObject {
    /// Returns true if this is a journey with neither a pattern nor times, such as the partner of an
    /// interchange.
    fn is_journey_reference_only(&self) -> bool {
        let met = |at: usize| self.requirements_met & (1 << at) != 0;
        let mut needs =
            NEEDS.iter().enumerate().filter(|(_, need)| need.parent == "ServiceJourney");
        self.name == "ServiceJourney" && !needs.any(|(at, _)| met(at))
    }
}

/// The state of a check.
pub(super) struct PublicationCheck<'a> {
    pub(super) out: &'a mut Notices,
    pub(super) files: Vec<String>,
    pub(super) links: IdsAndReferences,
    pub(super) patterns: PatternPointCounts,
    /// The latest end of any frame. Ignored if `is_open_ended`.
    pub(super) last_day: Option<Date>,
    pub(super) is_open_ended: bool,
    open: Vec<OpenNetexObject>,
    depth: usize,
    /// The depths of the open frames.
    frames: Vec<usize>,
    cancel_check: CancelUnwindCheck,
    /// The number of elements so far.
    seen: u32,
    /// The depth of the open `validityConditions` of the innermost frame.
    conditions: Option<usize>,
}

impl<'a> PublicationCheck<'a> {
    pub(super) fn new(
        out: &'a mut Notices,
        cancel_check: CancelUnwindCheck,
    ) -> PublicationCheck<'a> {
        PublicationCheck {
            out,
            files: Vec::new(),
            links: IdsAndReferences::default(),
            patterns: PatternPointCounts::default(),
            last_day: None,
            is_open_ended: false,
            open: Vec::new(),
            depth: 0,
            frames: Vec::new(),
            cancel_check,
            seen: 0,
            conditions: None,
        }
    }

    fn current_file_index(&self) -> u32 {
        u32::try_from(self.files.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// Reports a notice about an object.
    fn report_object_notice(
        &mut self,
        kind: &'static NoticeKind,
        object: &OpenNetexObject,
        fill: impl FnOnce(&mut NoticeSample),
    ) {
        let file = self.files.last().map_or("", String::as_str);
        self.out.count_notice_with_sample(kind, |sample| {
            sample.set_field("filename", file).set_field("element", object.name);
            if !object.id.is_empty() {
                sample.set_field("id", object.id.as_str());
            }
            fill(sample);
        });
    }

    /// Records a child element of the innermost open object.
    fn record_child_element(&mut self, name: &str, attributes: &AttributeLookup<'_>) {
        let depth = self.depth;
        let Some(open) = self.open.last_mut() else { return };
        if depth == open.depth + 1 {
            for (at, need) in NEEDS.iter().enumerate() {
                if need.parent == open.name && need.any_of.contains(&name) {
                    open.requirements_met |= 1 << at;
                }
            }
        }
        let is_window =
            matches!(name, "EarliestDepartureTime" | "LatestArrivalTime" | "NonstopPassing");
        open.call.is_window |= is_window;
        let Some(reference) = attributes("ref") else { return };
        match (open.name, name) {
            (
                "ServiceJourney",
                "JourneyPatternRef" | "ServiceJourneyPatternRef" | "ServicePatternRef",
            ) if depth == open.depth + 1 => {
                open.pattern = reference.into_owned();
            }
            ("StopPointInJourneyPattern", "ScheduledStopPointRef") => {
                self.links.record_pattern_stop_point(&reference)
            }
            ("PassengerStopAssignment" | "FlexibleStopAssignment", "ScheduledStopPointRef") => {
                self.links.record_assigned_stop_point(&reference);
            }
            _ => {}
        }
    }

    /// Checks an object at its end tag.
    fn check_closed_object(&mut self, object: OpenNetexObject) {
        if !object.is_deleted {
            for (at, need) in NEEDS.iter().enumerate() {
                if need.parent == object.name && object.requirements_met & (1 << at) == 0 {
                    let missing = need.any_of.join(" or ");
                    let kind = if object.is_journey_reference_only() {
                        &kinds::NOT_ADVISED
                    } else {
                        need.kind
                    };
                    self.report_object_notice(kind, &object, |sample| {
                        _ = sample.set_field("missing", missing)
                    });
                }
            }
        }
        match object.name {
            "TimetabledPassingTime" => {
                let Some(journey) = self.open.last_mut() else { return };
                if journey.calls.len() < CALLS_MAX {
                    journey.calls.push(object.call);
                } else {
                    self.out.mark_total_as_lower_bound(&kinds::NO_TIME);
                }
            }
            "StopPointInJourneyPattern" => {
                if let Some(pattern) = self.open.last_mut() {
                    pattern.points += 1;
                }
            }
            "TimingPointInJourneyPattern" => {
                if let Some(pattern) = self.open.last_mut() {
                    pattern.timing_points += 1;
                }
            }
            "JourneyPattern" | "ServiceJourneyPattern" | "ServicePattern" => {
                self.patterns.add_pattern_point_counts(
                    &object.id,
                    object.points,
                    object.timing_points,
                );
            }
            "ServiceJourney" if !object.calls.is_empty() => {
                let file = self.files.last().map_or("", String::as_str);
                passing_times::check_passing_times(file, &object.id, &object.calls, self.out);
                if !object.pattern.is_empty() {
                    let file = self.current_file_index();
                    self.patterns.add_unless_pattern_matches(
                        &object.id,
                        &object.pattern,
                        file,
                        object.calls.len(),
                    );
                }
            }
            _ => {}
        }
        self.check_period_order(&object);
        self.check_coordinate_range(&object);
    }

    fn check_period_order(&mut self, object: &OpenNetexObject) {
        if let (Some(from), Some(to)) = (object.from, object.to)
            && to < from
        {
            self.report_object_notice(&kinds::PERIOD, object, |sample| {
                sample.set_field("from", from.to_string()).set_field("to", to.to_string());
            });
        }
        let is_condition = matches!(object.name, "ValidBetween" | "AvailabilityCondition");
        // Conditions of an object within the frame, such as a network, apply to that object only.
        let parent_depth = Some(object.depth.saturating_sub(1));
        let is_of_frame = [self.frames.last().copied(), self.conditions].contains(&parent_depth);
        if is_condition && is_of_frame {
            match object.to {
                Some(to) => self.last_day = self.last_day.max(Some(to)),
                None => self.is_open_ended = true,
            }
        }
    }

    fn check_coordinate_range(&mut self, object: &OpenNetexObject) {
        let (Some(longitude), Some(latitude)) = (object.longitude, object.latitude) else { return };
        let kind = if longitude.abs() > 180.0 || latitude.abs() > 90.0 {
            &kinds::OUT_OF_RANGE
        } else if longitude.abs() < 1.0 && latitude.abs() < 1.0 {
            &kinds::NEAR_ORIGIN
        } else {
            return;
        };
        self.report_object_notice(kind, object, |sample| {
            sample.set_field("longitude", longitude).set_field("latitude", latitude);
        });
    }
}

impl PublicationVisitor for PublicationCheck<'_> {
    fn begin_file(&mut self, name: &str) {
        self.files.push(name.to_owned());
        self.links.clear_ids_of_file();
        self.open.clear();
        self.depth = 0;
        self.frames.clear();
        self.conditions = None;
    }

    fn open_element(&mut self, name: &str, attributes: &AttributeLookup<'_>) -> VisitAction {
        if self.seen.is_multiple_of(ELEMENTS_PER_CHECK) {
            self.cancel_check.unwind_if_cancelled();
        }
        self.seen = self.seen.wrapping_add(1);
        // The decoder reports other documents and skips them.
        if self.depth == 0 && name != "PublicationDelivery" {
            return VisitAction::Skip;
        }
        self.depth += 1;
        if name == "validityConditions" && self.frames.last() == Some(&(self.depth - 1)) {
            self.conditions = Some(self.depth);
        }
        // `TypeOfFrame` is an object, and `typesOfFrame` a list of them.
        if name.ends_with("Frame") && !name.ends_with("OfFrame") {
            self.frames.push(self.depth);
        }
        self.record_child_element(name, attributes);
        let id = attributes("id");
        if let Some(reference) = attributes("ref") {
            // Only a reference with a version promises that the publication has the object.
            if attributes("version").is_some() && attributes("versionRef").is_none() {
                let file = self.current_file_index();
                self.links.add_reference(name, &reference, file);
            }
        } else if let Some(id) = &id {
            let attribute = |name| attributes(name).unwrap_or_default();
            let (version, order) = (attribute("version"), attribute("order"));
            let is_new = self.links.add_object_id(name, id, &version, &order);
            // Without a version, the object is a part of another, and its id is local.
            if !is_new && !version.is_empty() {
                let file = self.files.last().cloned().unwrap_or_default();
                self.out.count_notice_with_sample(&kinds::DUPLICATE, |sample| {
                    sample
                        .set_field("filename", file)
                        .set_field("element", name)
                        .set_field("id", &**id);
                    sample.set_field("version", &*version);
                });
            }
        }
        if tables::TEXTS.contains(&name) {
            self.depth -= 1;
            return VisitAction::Text;
        }
        if let Some(name) =
            tables::checked_object_name(name).filter(|_| attributes("ref").is_none())
        {
            let id = id.unwrap_or_default().into_owned();
            let is_deleted = attributes("modification").as_deref() == Some("delete");
            let depth = self.depth;
            self.open.push(OpenNetexObject {
                name,
                id,
                depth,
                is_deleted,
                ..OpenNetexObject::default()
            });
        }
        VisitAction::Inside
    }

    fn visit_text(&mut self, name: &str, text: &str) {
        let Some(open) = self.open.last_mut() else { return };
        match name {
            "ArrivalTime" | "DepartureTime" => {
                let time = passing_times::parse_time_of_day_seconds(text);
                open.call.has_unread_time |= time.is_none() && !text.is_empty();
                match name {
                    "ArrivalTime" => open.call.arrival = time,
                    _ => open.call.departure = time,
                }
            }
            "ArrivalDayOffset" | "DepartureDayOffset" => {
                let days = text.parse::<i32>().ok().map(i64::from);
                open.call.has_unread_offset |= days.is_none() && !text.is_empty();
                open.call.has_offset = true;
                let days = days.unwrap_or(0);
                match name {
                    "ArrivalDayOffset" => open.call.arrival_days = days,
                    _ => open.call.departure_days = days,
                }
            }
            "FromDate" => open.from = parse_date_prefix(text),
            "ToDate" => open.to = parse_date_prefix(text),
            "Longitude" => open.longitude = parse_degrees(text),
            "Latitude" => open.latitude = parse_degrees(text),
            _ => {}
        }
    }

    fn close_element(&mut self, _: &str) {
        let is_object = self.open.last().is_some_and(|open| open.depth == self.depth);
        if self.frames.last() == Some(&self.depth) {
            self.frames.pop();
        }
        if self.conditions == Some(self.depth) {
            self.conditions = None;
        }
        self.depth = self.depth.saturating_sub(1);
        if is_object && let Some(open) = self.open.pop() {
            self.check_closed_object(open);
        }
    }
}

/// Parses a number of degrees; infinite numbers are invalid.
fn parse_degrees(text: &str) -> Option<f64> {
    text.parse().ok().filter(|degrees: &f64| degrees.is_finite())
}

/// Parses the day of a date, with or without a time after it.
fn parse_date_prefix(text: &str) -> Option<Date> {
    text.get(..10)?.parse().ok()
}
