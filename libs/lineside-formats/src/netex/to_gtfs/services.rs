//! `calendar.txt` and `calendar_dates.txt`: the days on which journeys run, each set of days once.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_128;

use super::{Writer, by_id};
use crate::{
    Error,
    gtfs::Text,
    netex::{
        Limits,
        days::{self, ALL_WEEK, Day, Days, Weekly},
        record::{Condition, DayAssignment, Journey, Publication},
    },
};

/// The services of a publication, as journeys ask for them.
pub(super) struct Services<'p> {
    publication: &'p Publication,
    operating_days: HashMap<Text, u32>,
    periods: HashMap<Text, u32>,
    day_types: HashMap<Text, u32>,
    conditions: HashMap<Text, u32>,
    /// The assignments of each day type.
    assignments: HashMap<Text, Vec<u32>>,
    /// The days of dated journeys, and whether they run, by journey.
    dated: HashMap<Text, Vec<(Day, bool)>>,
    /// Services by what journeys name: day types and conditions.
    by_names: HashMap<(Vec<Text>, Vec<Text>), Option<u32>>,
    /// Services by a hash of their days.
    by_days: HashMap<u128, u32>,
    pub(super) rows: Vec<Service>,
    /// Periods that were cut.
    pub(super) n_cut: u64,
}

/// A service.
pub(super) struct Service {
    pub(super) id: String,
    days: Weekly,
}

impl<'p> Services<'p> {
    pub(super) fn new(publication: &'p Publication) -> Services<'p> {
        let operating_days = by_id(&publication.operating_days, |it| it.id);
        let mut assignments: HashMap<Text, Vec<u32>> = HashMap::new();
        for (number, assignment) in (0..).zip(&publication.day_assignments) {
            assignments.entry(assignment.day_type).or_default().push(number);
        }
        let mut dated: HashMap<Text, Vec<(Day, bool)>> = HashMap::new();
        for journey in &publication.dated_journeys {
            let day = super::find(&publication.operating_days, &operating_days, journey.day);
            if let Some(date) = day.and_then(|day| day.date) {
                dated.entry(journey.journey).or_default().push((date, !journey.is_cancelled));
            }
        }
        Services {
            publication,
            operating_days,
            periods: by_id(&publication.periods, |it| it.id),
            day_types: by_id(&publication.day_types, |it| it.id),
            conditions: by_id(&publication.conditions, |it| it.id),
            assignments,
            dated,
            by_names: HashMap::new(),
            by_days: HashMap::new(),
            rows: Vec::new(),
            n_cut: 0,
        }
    }

    /// Whether a day type is in any file.
    pub(super) fn knows(&self, day_type: Text) -> bool {
        self.day_types.contains_key(&day_type)
    }

    /// The service of a journey: the days of its day types on which its conditions hold, and those of its dated
    /// journeys. `None` if it runs on no day.
    pub(super) fn of(&mut self, journey: &Journey) -> Option<u32> {
        let day_types = self.publication.list(&journey.day_types);
        let conditions = self.publication.list(&journey.conditions);
        if let Some(dated) = self.dated.get(&journey.id) {
            let (run, not): (Vec<_>, Vec<_>) = dated.iter().partition(|(_, runs)| *runs);
            let plain = |days: Vec<(Day, bool)>| days.into_iter().map(|(day, _)| day).collect();
            let mut all = self.days_of(day_types, conditions).as_slice().to_vec();
            all.extend::<Vec<Day>>(plain(run.clone()));
            let mut all = Days::from_unordered(all);
            let mut cancelled = Days::from_unordered(plain(not));
            // A day on which another dated journey of the same journey runs stays.
            cancelled.retain(&Days::from_unordered(plain(run)), false);
            all.retain(&cancelled, false);
            return self.service(&all, journey.id);
        }
        let key = (day_types.to_vec(), conditions.to_vec());
        if let Some(&known) = self.by_names.get(&key) {
            return known;
        }
        let days = self.days_of(day_types, conditions);
        let named = day_types.first().or(conditions.first()).copied().unwrap_or_default();
        let service = self.service(&days, named);
        self.by_names.insert(key, service);
        service
    }

    /// The service of these days, which goes by the first thing that named it and a hash of its days.
    fn service(&mut self, days: &Days, named: Text) -> Option<u32> {
        if days.is_empty() {
            return None;
        }
        let bytes: Vec<u8> = days.as_slice().iter().flat_map(|day| day.to_le_bytes()).collect();
        let hash = xxh3_128(&bytes);
        let (publication, rows) = (self.publication, &mut self.rows);
        Some(*self.by_days.entry(hash).or_insert_with(|| {
            let id = format!("{}~{:08x}", publication.text(named), hash as u32);
            rows.push(Service { id, days: Weekly::of(days) });
            (rows.len() - 1) as u32
        }))
    }

    fn days_of(&mut self, day_types: &[Text], conditions: &[Text]) -> Days {
        let of_types = Days::union(day_types.iter().map(|&id| self.days_of_type(id)));
        if conditions.is_empty() {
            return of_types;
        }
        let (mut holds, mut excluded) = (Vec::new(), Vec::new());
        for &id in conditions {
            let Some(&number) = self.conditions.get(&id) else { continue };
            let condition = &self.publication.conditions[number as usize];
            let days = self.days_of_condition(condition);
            let place = if condition.excludes { &mut excluded } else { &mut holds };
            place.extend_from_slice(days.as_slice());
        }
        let holds = Days::from_unordered(holds);
        let mut days = if day_types.is_empty() { holds.clone() } else { of_types };
        if !holds.is_empty() {
            days.retain(&holds, true);
        }
        days.retain(&Days::from_unordered(excluded), false);
        days
    }

    /// The days of a day type: what it is assigned to; where it is assigned to nothing, its weekdays as long as the
    /// frames hold.
    fn days_of_type(&mut self, id: Text) -> Days {
        let day_type = super::find(&self.publication.day_types, &self.day_types, id);
        let weekdays = day_type.map_or(0, |day_type| day_type.weekdays);
        let Some(assignments) = self.assignments.get(&id).cloned() else {
            return match self.publication.validity {
                Some((from, to)) if weekdays != 0 => self.span(from, to, weekdays),
                _ => Days::default(),
            };
        };
        let weekdays = if weekdays == 0 { ALL_WEEK } else { weekdays };
        let (mut runs, mut excluded) = (Vec::new(), Vec::new());
        for number in assignments {
            let assignment = &self.publication.day_assignments[number as usize];
            let days = self.days_of_assignment(assignment, weekdays);
            let place = if assignment.excludes { &mut excluded } else { &mut runs };
            place.extend_from_slice(days.as_slice());
        }
        let mut days = Days::from_unordered(runs);
        days.retain(&Days::from_unordered(excluded), false);
        days
    }

    fn days_of_assignment(&mut self, assignment: &DayAssignment, weekdays: u8) -> Days {
        let operating_day = self.date_of(assignment.operating_day);
        if let Some(date) = assignment.date.or(operating_day) {
            return Days::from_unordered(vec![date]);
        }
        let period = super::find(&self.publication.periods, &self.periods, assignment.period);
        let Some(period) = period else { return Days::default() };
        let from = period.from.or(self.date_of(period.from_day));
        let to = period.to.or(self.date_of(period.to_day));
        self.days_between(from, to, period.bits, weekdays)
    }

    fn days_of_condition(&mut self, condition: &Condition) -> Days {
        let (day_types, operating_days) = (
            self.publication.list(&condition.day_types),
            self.publication.list(&condition.operating_days),
        );
        let mut days = if !operating_days.is_empty() {
            let dates = operating_days.iter().filter_map(|&day| self.date_of(day)).collect();
            Days::from_unordered(dates)
        } else if day_types.is_empty() {
            return self.days_between(condition.from, condition.to, condition.bits, ALL_WEEK);
        } else {
            let types = &self.publication.day_types;
            let weekdays =
                |id: &Text| super::find(types, &self.day_types, *id).map_or(0, |it| it.weekdays);
            let weekdays = day_types.iter().map(weekdays).fold(0, |all, bits| all | bits);
            let of_week = self.days_between(condition.from, condition.to, Text::EMPTY, weekdays);
            let assigned = day_types.iter().map(|&id| self.days_of_type(id));
            Days::union(std::iter::once(of_week).chain(assigned))
        };
        if let (Some(from), Some(to)) = (condition.from, condition.to) {
            let span = self.span(from, to, ALL_WEEK);
            days.retain(&span, true);
        }
        days
    }

    fn date_of(&self, operating_day: Text) -> Option<Day> {
        super::find(&self.publication.operating_days, &self.operating_days, operating_day)?.date
    }

    /// The days of a period: those whose digit is 1, or all, that are of these weekdays.
    fn days_between(
        &mut self,
        from: Option<Day>,
        to: Option<Day>,
        bits: Text,
        weekdays: u8,
    ) -> Days {
        let Some(from) = from else { return Days::default() };
        if bits == Text::EMPTY {
            let to = to.or(self.publication.validity.map(|(_, to)| to)).unwrap_or(from);
            return self.span(from, to, weekdays);
        }
        let digits = self.publication.text(bits).bytes().take(Limits::PERIOD_DAYS as usize);
        let days = (from..).zip(digits).filter(|&(day, digit)| {
            digit == b'1' && to.is_none_or(|to| day <= to) && days::weekday_bit(day) & weekdays != 0
        });
        Days::from_unordered(days.map(|(day, _)| day).collect())
    }

    /// The days between two, cut to the longest period that is taken.
    fn span(&mut self, from: Day, to: Day, weekdays: u8) -> Days {
        let last = from.saturating_add(Limits::PERIOD_DAYS);
        if to > last {
            self.n_cut += 1;
        }
        Days::of_week(from, to.min(last), weekdays)
    }
}

impl Writer<'_, '_> {
    /// Tells of days and periods that are named and in no file.
    pub(super) fn check_days(&mut self, services: &Services<'_>) {
        let publication = self.publication;
        for assignment in &publication.day_assignments {
            let named = [
                ("OperatingPeriodRef", assignment.period, &services.periods),
                ("OperatingDayRef", assignment.operating_day, &services.operating_days),
            ];
            for (field, id, known) in named {
                if id != Text::EMPTY && !known.contains_key(&id) {
                    self.leads_nowhere(assignment.file, field, assignment.day_type, id);
                }
            }
        }
        for journey in &publication.dated_journeys {
            if !services.operating_days.contains_key(&journey.day) {
                self.leads_nowhere(journey.file, "OperatingDayRef", journey.id, journey.day);
            }
        }
    }

    pub(super) fn write_services(&mut self, services: &Services<'_>) -> Result<(), Error> {
        let why = "its days beyond ten years are left out";
        self.losses.push_many("OperatingPeriod", why, services.n_cut);
        let [monday, tuesday, wednesday, thursday, friday] =
            ["monday", "tuesday", "wednesday", "thursday", "friday"];
        let weekend = ["saturday", "sunday", "start_date", "end_date"];
        let [saturday, sunday, start, end] = weekend;
        self.tables.begin(
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
            let Some((weekdays, first, last)) = service.days.week else { continue };
            let runs = |weekday: u8| if weekdays & (1 << weekday) == 0 { "0" } else { "1" };
            let (first, last) = (days::format(first), days::format(last));
            let week: [&str; 7] = std::array::from_fn(|weekday| runs(weekday as u8));
            let mut row = vec![service.id.as_str()];
            row.extend(week);
            row.extend([first.as_str(), last.as_str()]);
            self.tables.row(&row)?;
        }
        self.tables.begin("calendar_dates.txt", &["service_id", "date", "exception_type"])?;
        for service in &services.rows {
            for &(day, runs) in &service.days.exceptions {
                let kind = if runs { "1" } else { "2" };
                self.tables.row(&[&service.id, &days::format(day), kind])?;
            }
        }
        Ok(())
    }
}
