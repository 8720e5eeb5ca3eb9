//! Writes `calendar.txt` and `calendar_dates.txt`: the distinct sets of days on which journeys run.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use xxhash_rust::xxh3::xxh3_128;

use super::{GtfsWriter, index_by_id, unread_days::UnreadableDays};
use crate::{
    Error, ErrorKind,
    gtfs::TextId,
    netex::{
        PublicationLimits,
        days::{self, ALL_WEEK, DaySet, EpochDay, GtfsCalendarRows},
        record::{AvailabilityCondition, DayTypeAssignment, Publication, ServiceJourney},
    },
};

/// The services of a publication, computed on demand for journeys.
pub(super) struct JourneyServices<'p> {
    publication: &'p Publication,
    operating_days: HashMap<TextId, u32>,
    periods: HashMap<TextId, u32>,
    day_types: HashMap<TextId, u32>,
    conditions: HashMap<TextId, u32>,
    /// The assignments of each day type.
    assignments: HashMap<TextId, Vec<u32>>,
    /// The days of dated journeys by journey; true if they run, false if they are cancelled.
    dated: HashMap<TextId, Vec<(EpochDay, bool)>>,
    unread: UnreadableDays,
    /// Cached days of day types, of conditions (`None` if they state no days), and of combinations that journeys refer
    /// to.
    of_types: HashMap<TextId, Rc<DaySet>>,
    of_conditions: HashMap<(TextId, MissingEndMeaning), Option<Rc<DaySet>>>,
    of_names: HashMap<DayTypesAndConditions, Rc<DaySet>>,
    by_days: HashMap<u128, u32>,
    pub(super) rows: Vec<GtfsService>,
    /// Memory of the sets of days, in bytes.
    bytes: usize,
}

/// The distinct day types and conditions that a journey refers to.
type DayTypesAndConditions = (Vec<TextId>, Vec<TextId>);

/// The meaning of a missing start or end of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum MissingEndMeaning {
    /// Unlimited: a condition that restricts other days only removes the days that it states.
    Open,
    /// The end of the frames, if they have one, because the condition alone determines the days.
    OfFrames,
}

pub(super) struct GtfsService {
    pub(super) id: String,
    days: DaySet,
}

impl<'p> JourneyServices<'p> {
    pub(super) fn new(publication: &'p Publication) -> JourneyServices<'p> {
        let operating_days = index_by_id(&publication.operating_days, |it| it.id);
        let mut assignments: HashMap<TextId, Vec<u32>> = HashMap::new();
        for (number, assignment) in (0..).zip(&publication.day_assignments) {
            assignments.entry(assignment.day_type).or_default().push(number);
        }
        let mut dated: HashMap<TextId, Vec<(EpochDay, bool)>> = HashMap::new();
        for journey in &publication.dated_journeys {
            let day =
                super::find_record_by_id(&publication.operating_days, &operating_days, journey.day);
            if let Some(date) = day.and_then(|day| day.date) {
                dated.entry(journey.journey).or_default().push((date, !journey.is_cancelled));
            }
        }
        JourneyServices {
            publication,
            operating_days,
            periods: index_by_id(&publication.periods, |it| it.id),
            day_types: index_by_id(&publication.day_types, |it| it.id),
            conditions: index_by_id(&publication.conditions, |it| it.id),
            assignments,
            dated,
            unread: UnreadableDays::find_unreadable_days(publication),
            of_types: HashMap::new(),
            of_conditions: HashMap::new(),
            of_names: HashMap::new(),
            by_days: HashMap::new(),
            rows: Vec::new(),
            bytes: 0,
        }
    }

    /// Returns true if any file has the day type.
    pub(super) fn is_day_type_defined(&self, day_type: TextId) -> bool {
        self.day_types.contains_key(&day_type)
    }

    /// Returns true if data about the days of a journey are unreadable. Its service must have been computed before.
    pub(super) fn has_unreadable_days(&self, journey: &ServiceJourney) -> bool {
        let types = self.publication.references_in(&journey.day_types).iter();
        let mut days = types.filter_map(|id| self.of_types.get(id));
        self.unread.are_journey_days_unreadable(
            self.publication,
            journey,
            days.any(|days| !days.is_empty()),
        )
    }

    /// Returns the service of a journey: the days of its day types on which its conditions apply, and those of its
    /// dated journeys. Returns `None` if it runs on no day.
    ///
    /// # Errors
    /// Returns an error if the sets of days exceed the memory limit.
    pub(super) fn service_for_journey(
        &mut self,
        journey: &ServiceJourney,
    ) -> Result<Option<u32>, Error> {
        let service = self.find_or_add_journey_service(journey);
        if self.bytes <= self.publication.bytes_left {
            return Ok(service);
        }
        let detail = format!(
            "the service days of the journeys need more than the remaining {} bytes of memory",
            self.publication.bytes_left
        );
        Err(Error::new(ErrorKind::TooLarge, detail))
    }

    fn find_or_add_journey_service(&mut self, journey: &ServiceJourney) -> Option<u32> {
        let names = (
            dedup_references(self.publication.references_in(&journey.day_types)),
            dedup_references(self.publication.references_in(&journey.conditions)),
        );
        let named = names.0.first().or(names.1.first()).copied().unwrap_or_default();
        let days = match self.of_names.get(&names) {
            Some(days) => Rc::clone(days),
            None => {
                let days = Rc::new(self.days_for_types_and_conditions(&names));
                self.bytes +=
                    days.memory_bytes() + (names.0.len() + names.1.len()) * size_of::<TextId>();
                self.of_names.insert(names, Rc::clone(&days));
                days
            }
        };
        let Some(dated) = self.dated.get(&journey.id) else {
            return self.service_for_days(&days, named);
        };
        let of =
            |which: bool| DaySet::from_days(dated.iter().filter(|it| it.1 == which).map(|it| it.0));
        let (run, mut cancelled) = (of(true), of(false));
        // A day on which another dated journey of the same journey runs is retained.
        cancelled.retain_days(&run, false);
        let mut all = DaySet::clone(&days);
        all.union_with(&run);
        all.retain_days(&cancelled, false);
        self.service_for_days(&all, journey.id)
    }

    /// Returns the service of these days. Its id consists of the first reference to it and a hash of its days.
    fn service_for_days(&mut self, days: &DaySet, named: TextId) -> Option<u32> {
        if days.is_empty() {
            return None;
        }
        let (publication, rows, bytes) = (self.publication, &mut self.rows, &mut self.bytes);
        Some(*self.by_days.entry(days.content_hash()).or_insert_with(|| {
            let each: Vec<u8> = days.iter().flat_map(EpochDay::to_le_bytes).collect();
            let hash = xxh3_128(&each);
            let id = format!("{}~{:08x}", publication.resolve_text(named), hash as u32);
            *bytes += id.len() + days.memory_bytes();
            rows.push(GtfsService { id, days: days.clone() });
            (rows.len() - 1) as u32
        }))
    }

    /// Returns the days of the day types, or all days, on which the conditions apply. A condition that is in no file,
    /// or that states no days, has no effect.
    fn days_for_types_and_conditions(
        &mut self,
        (day_types, conditions): &DayTypesAndConditions,
    ) -> DaySet {
        let mut days = DaySet::default();
        for &id in day_types {
            days.union_with(&self.days_for_day_type(id));
        }
        let (mut valid_days, mut excluded) = (None::<DaySet>, DaySet::default());
        for &id in conditions {
            let Some(&number) = self.conditions.get(&id) else { continue };
            let condition = &self.publication.conditions[number as usize];
            let is_alone = day_types.is_empty() && !condition.excludes;
            let is_open = condition.from.is_none() || condition.to.is_none();
            let ends = if is_alone && is_open {
                MissingEndMeaning::OfFrames
            } else {
                MissingEndMeaning::Open
            };
            let Some(of_condition) = self.days_for_condition(condition, ends) else { continue };
            if condition.excludes {
                excluded.union_with(&of_condition);
            } else {
                valid_days.get_or_insert_default().union_with(&of_condition);
            }
        }
        match valid_days {
            Some(valid_days) if day_types.is_empty() => days = valid_days,
            Some(valid_days) => days.retain_days(&valid_days, true),
            None => {}
        }
        days.retain_days(&excluded, false);
        days
    }

    /// Returns the days of a day type: those of its assignments. Without assignments, or with exclusions only, these
    /// are its weekdays during the validity of its file's frames. A day type with unsupported restrictions and no
    /// weekdays has no days of a period.
    fn days_for_day_type(&mut self, id: TextId) -> Rc<DaySet> {
        if let Some(days) = self.of_types.get(&id) {
            return Rc::clone(days);
        }
        let weekdays = self.day_type_weekdays(id);
        let days = match (self.assignments.get(&id), self.day_type_validity(id)) {
            (Some(assignments), validity) => {
                let (mut runs, mut excluded) = (DaySet::default(), DaySet::default());
                let only_excludes = assignments
                    .iter()
                    .all(|&number| self.publication.day_assignments[number as usize].excludes);
                if let Some((from, to)) = validity.filter(|_| only_excludes) {
                    runs = DaySet::from_weekdays(from, to, weekdays.unwrap_or(0));
                }
                // An exclusion applies to each day of a period.
                let weekdays = weekdays.unwrap_or(ALL_WEEK);
                for &number in assignments {
                    let assignment = &self.publication.day_assignments[number as usize];
                    let place = if assignment.excludes { &mut excluded } else { &mut runs };
                    place.union_with(&self.days_for_assignment(assignment, weekdays));
                }
                runs.retain_days(&excluded, false);
                runs
            }
            (None, Some((from, to))) => DaySet::from_weekdays(from, to, weekdays.unwrap_or(0)),
            (None, _) => DaySet::default(),
        };
        let days = Rc::new(days);
        self.bytes += days.memory_bytes();
        self.of_types.insert(id, Rc::clone(&days));
        days
    }

    /// Returns the weekdays of a day type: 0 if only unsupported properties restrict it, `None` if it states nothing
    /// about days.
    fn day_type_weekdays(&self, day_type: TextId) -> Option<u8> {
        let day_type =
            super::find_record_by_id(&self.publication.day_types, &self.day_types, day_type)?;
        Some(day_type.weekdays)
            .filter(|weekdays| *weekdays != 0 || day_type.has_unsupported_properties)
    }

    /// Returns the first and the last day of a day type: those of its file's frames, or of all frames if its file has
    /// none.
    fn day_type_validity(&self, day_type: TextId) -> Option<(EpochDay, EpochDay)> {
        let day_type =
            super::find_record_by_id(&self.publication.day_types, &self.day_types, day_type);
        let of_file = day_type.and_then(|it| self.publication.validity_of_file.get(&it.file));
        of_file.copied().or(self.publication.validity)
    }

    fn days_for_assignment(&self, assignment: &DayTypeAssignment, weekdays: u8) -> DaySet {
        let operating_day = self.operating_day_date(assignment.operating_day);
        if let Some(date) = assignment.date.or(operating_day) {
            return DaySet::from_days([date]);
        }
        let period =
            super::find_record_by_id(&self.publication.periods, &self.periods, assignment.period);
        let Some(period) = period else { return DaySet::default() };
        let from = period.from.or(self.operating_day_date(period.from_day));
        let to = period.to.or(self.operating_day_date(period.to_day));
        self.days_in_period(from, to, period.bits, weekdays)
    }

    /// Returns the days of a condition; `None` if it states none.
    fn days_for_condition(
        &mut self,
        condition: &AvailabilityCondition,
        ends: MissingEndMeaning,
    ) -> Option<Rc<DaySet>> {
        let key = (condition.id, ends);
        if let Some(known) = self.of_conditions.get(&key) {
            return known.clone();
        }
        let days = self.compute_condition_days(condition, ends).map(Rc::new);
        self.bytes += days.as_ref().map_or(0, |days| days.memory_bytes());
        self.of_conditions.insert(key, days.clone());
        days
    }

    fn compute_condition_days(
        &mut self,
        condition: &AvailabilityCondition,
        ends: MissingEndMeaning,
    ) -> Option<DaySet> {
        let &AvailabilityCondition { from, to, bits, .. } = condition;
        let validity = self.publication.validity.filter(|_| ends == MissingEndMeaning::OfFrames);
        let first = from.or(validity.map(|(first, _)| first)).unwrap_or(*days::OPEN.start());
        let last = to.or(validity.map(|(_, last)| last)).unwrap_or(*days::OPEN.end());
        let day_types = self.publication.references_in(&condition.day_types);
        let operating_days = self.publication.references_in(&condition.operating_days);
        let mut days = if !operating_days.is_empty() {
            DaySet::from_days(operating_days.iter().filter_map(|&day| self.operating_day_date(day)))
        } else if !day_types.is_empty() {
            let mut days = DaySet::default();
            for &id in day_types {
                // The weekdays of a day type without assignments apply for the duration of the condition.
                if self.assignments.contains_key(&id) {
                    days.union_with(&self.days_for_day_type(id));
                } else {
                    days.union_with(&DaySet::from_weekdays(
                        first,
                        last,
                        self.day_type_weekdays(id).unwrap_or(0),
                    ));
                }
            }
            days
        } else if from.is_none() && to.is_none() && bits == TextId::EMPTY {
            return None;
        } else if bits == TextId::EMPTY {
            return Some(DaySet::from_weekdays(first, last, ALL_WEEK));
        } else {
            return Some(self.days_in_period(from, to, bits, ALL_WEEK));
        };
        if from.is_some() || to.is_some() {
            let (from, to) = (from.unwrap_or(EpochDay::MIN), to.unwrap_or(EpochDay::MAX));
            days.retain_days(&DaySet::from_weekdays(from, to, ALL_WEEK), true);
        }
        Some(days)
    }

    fn operating_day_date(&self, operating_day: TextId) -> Option<EpochDay> {
        super::find_record_by_id(
            &self.publication.operating_days,
            &self.operating_days,
            operating_day,
        )?
        .date
    }

    /// Returns the days of a period: those whose digit is 1, or all, restricted to these weekdays. With digits, unknown
    /// weekdays (0) do not restrict. A missing end is that of the frames.
    fn days_in_period(
        &self,
        from: Option<EpochDay>,
        to: Option<EpochDay>,
        bits: TextId,
        weekdays: u8,
    ) -> DaySet {
        let validity = self.publication.validity;
        let Some(from) = from.or(validity.map(|(from, _)| from)) else { return DaySet::default() };
        if bits == TextId::EMPTY {
            let to = to.or(validity.map(|(_, to)| to)).unwrap_or(from);
            return DaySet::from_weekdays(from, to, weekdays);
        }
        let digits = self.publication.resolve_text(bits).bytes();
        let days = (from..).zip(digits).filter(|&(day, digit)| {
            digit == b'1'
                && to.is_none_or(|to| day <= to)
                && (weekdays == 0 || days::weekday_bit(day) & weekdays != 0)
        });
        DaySet::from_days(days.map(|(day, _)| day))
    }
}

/// Returns the distinct references of a list, in its order.
fn dedup_references(list: &[TextId]) -> Vec<TextId> {
    let mut seen = HashSet::new();
    list.iter().copied().filter(|&text| list.len() < 2 || seen.insert(text)).collect()
}

impl GtfsWriter<'_, '_> {
    /// Reports references to days and periods that are in no file.
    pub(super) fn report_dangling_day_references(&mut self, services: &JourneyServices<'_>) {
        let publication = self.publication;
        for assignment in &publication.day_assignments {
            let named = [
                ("OperatingPeriodRef", assignment.period, &services.periods),
                ("OperatingDayRef", assignment.operating_day, &services.operating_days),
            ];
            for (field, id, known) in named {
                if id != TextId::EMPTY && !known.contains_key(&id) {
                    self.report_dangling_reference(assignment.file, field, assignment.day_type, id);
                }
            }
        }
        for journey in &publication.dated_journeys {
            if !services.operating_days.contains_key(&journey.day) {
                self.report_dangling_reference(
                    journey.file,
                    "OperatingDayRef",
                    journey.id,
                    journey.day,
                );
            }
        }
    }

    pub(super) fn write_calendar_tables(
        &mut self,
        services: &JourneyServices<'_>,
    ) -> Result<(), Error> {
        let [monday, tuesday, wednesday, thursday, friday] =
            ["monday", "tuesday", "wednesday", "thursday", "friday"];
        let weekend = ["saturday", "sunday", "start_date", "end_date"];
        let [saturday, sunday, start, end] = weekend;
        self.tables.begin_table(
            "calendar.txt",
            &[
                "service_id",
                monday,
                tuesday,
                wednesday,
                thursday,
                friday,
                saturday,
                sunday,
                start,
                end,
            ],
        )?;
        for service in &services.rows {
            let Some((weekdays, first, last)) = GtfsCalendarRows::from_days(&service.days).week
            else {
                continue;
            };
            let runs = |weekday: u8| if weekdays & (1 << weekday) == 0 { "0" } else { "1" };
            let (first, last) = (days::format_gtfs_date(first), days::format_gtfs_date(last));
            let week: [&str; 7] = std::array::from_fn(|weekday| runs(weekday as u8));
            let mut row = vec![service.id.as_str()];
            row.extend(week);
            row.extend([first.as_str(), last.as_str()]);
            self.tables.write_row(&row)?;
        }
        self.tables.begin_table("calendar_dates.txt", &["service_id", "date", "exception_type"])?;
        let mut n_exceptions = 0;
        for service in &services.rows {
            let exceptions = GtfsCalendarRows::from_days(&service.days).exceptions;
            n_exceptions += exceptions.len() as u64;
            if n_exceptions > PublicationLimits::EXCEPTIONS {
                let detail = format!(
                    "the calendars list more than {} individual days",
                    PublicationLimits::EXCEPTIONS
                );
                return Err(Error::new(ErrorKind::TooLarge, detail));
            }
            for (day, runs) in exceptions {
                let kind = if runs { "1" } else { "2" };
                self.tables.write_row(&[&service.id, &days::format_gtfs_date(day), kind])?;
            }
        }
        Ok(())
    }
}
