//! `calendar.txt` and `calendar_dates.txt`: the days on which journeys run, each set of days once.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use xxhash_rust::xxh3::xxh3_128;

use super::{Writer, by_id, unread::Unread};
use crate::{
    Error, ErrorKind,
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
    unread: Unread,
    /// The days of day types, of conditions (none for those that say nothing), and of what journeys name together.
    of_types: HashMap<Text, Rc<Days>>,
    of_conditions: HashMap<(Text, Ends), Option<Rc<Days>>>,
    of_names: HashMap<Names, Rc<Days>>,
    /// Services by a hash of their days.
    by_days: HashMap<u128, u32>,
    pub(super) rows: Vec<Service>,
    /// Memory of the sets of days, in bytes.
    bytes: usize,
}

/// What journeys name: day types and conditions, each once.
type Names = (Vec<Text>, Vec<Text>);

/// What the end of a condition is that does not say it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Ends {
    /// None: a condition that narrows other days takes those away that it says, and no others.
    Open,
    /// That of the frames, where they have one: the condition alone says the days.
    OfFrames,
}

/// A service.
pub(super) struct Service {
    pub(super) id: String,
    days: Days,
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
            unread: Unread::of(publication),
            of_types: HashMap::new(),
            of_conditions: HashMap::new(),
            of_names: HashMap::new(),
            by_days: HashMap::new(),
            rows: Vec::new(),
            bytes: 0,
        }
    }

    /// Whether a day type is in any file.
    pub(super) fn knows(&self, day_type: Text) -> bool {
        self.day_types.contains_key(&day_type)
    }

    /// Whether anything cannot be read of what says on which days a journey runs, whose service was asked for.
    pub(super) fn has_unread_day(&self, journey: &Journey) -> bool {
        let types = self.publication.list(&journey.day_types).iter();
        let mut days = types.filter_map(|id| self.of_types.get(id));
        self.unread.has_days_of(self.publication, journey, days.any(|days| !days.is_empty()))
    }

    /// The service of a journey: the days of its day types on which its conditions hold, and those of its dated
    /// journeys. `None` if it runs on no day.
    ///
    /// # Errors
    /// If the sets of days take more memory than is left for them.
    pub(super) fn of(&mut self, journey: &Journey) -> Result<Option<u32>, Error> {
        let service = self.find_or_make(journey);
        if self.bytes <= self.publication.bytes_left {
            return Ok(service);
        }
        let detail = format!(
            "the days of its journeys take more than the {} bytes of memory that its records leave",
            self.publication.bytes_left
        );
        Err(Error::new(ErrorKind::TooLarge, detail))
    }

    fn find_or_make(&mut self, journey: &Journey) -> Option<u32> {
        let names = (
            each_once(self.publication.list(&journey.day_types)),
            each_once(self.publication.list(&journey.conditions)),
        );
        let named = names.0.first().or(names.1.first()).copied().unwrap_or_default();
        let days = match self.of_names.get(&names) {
            Some(days) => Rc::clone(days),
            None => {
                let days = Rc::new(self.days_of(&names));
                self.bytes += days.bytes() + (names.0.len() + names.1.len()) * size_of::<Text>();
                self.of_names.insert(names, Rc::clone(&days));
                days
            }
        };
        let Some(dated) = self.dated.get(&journey.id) else { return self.service(&days, named) };
        let of = |which: bool| Days::of(dated.iter().filter(|it| it.1 == which).map(|it| it.0));
        let (run, mut cancelled) = (of(true), of(false));
        // A day on which another dated journey of the same journey runs stays.
        cancelled.retain(&run, false);
        let mut all = Days::clone(&days);
        all.add(&run);
        all.retain(&cancelled, false);
        self.service(&all, journey.id)
    }

    /// The service of these days, which goes by the first thing that named it and a hash of its days.
    fn service(&mut self, days: &Days, named: Text) -> Option<u32> {
        if days.is_empty() {
            return None;
        }
        let (publication, rows, bytes) = (self.publication, &mut self.rows, &mut self.bytes);
        Some(*self.by_days.entry(days.hash()).or_insert_with(|| {
            let each: Vec<u8> = days.iter().flat_map(Day::to_le_bytes).collect();
            let hash = xxh3_128(&each);
            let id = format!("{}~{:08x}", publication.text(named), hash as u32);
            *bytes += id.len() + days.bytes();
            rows.push(Service { id, days: days.clone() });
            (rows.len() - 1) as u32
        }))
    }

    /// The days of the day types, or all, on which the conditions hold. A condition that is in no file, or that says
    /// nothing, takes no day away.
    fn days_of(&mut self, (day_types, conditions): &Names) -> Days {
        let mut days = Days::default();
        for &id in day_types {
            days.add(&self.days_of_type(id));
        }
        let (mut holds, mut excluded) = (None::<Days>, Days::default());
        for &id in conditions {
            let Some(&number) = self.conditions.get(&id) else { continue };
            let condition = &self.publication.conditions[number as usize];
            let is_alone = day_types.is_empty() && !condition.excludes;
            let is_open = condition.from.is_none() || condition.to.is_none();
            let ends = if is_alone && is_open { Ends::OfFrames } else { Ends::Open };
            let Some(of_condition) = self.days_of_condition(condition, ends) else { continue };
            if condition.excludes {
                excluded.add(&of_condition);
            } else {
                holds.get_or_insert_default().add(&of_condition);
            }
        }
        match holds {
            Some(holds) if day_types.is_empty() => days = holds,
            Some(holds) => days.retain(&holds, true),
            None => {}
        }
        days.retain(&excluded, false);
        days
    }

    /// The days of a day type: what it is assigned to; where it is assigned to nothing, its weekdays as long as the
    /// frames of its file hold, and also where dates are only taken from it. One whose days are not known by their weekdays has none of
    /// a period.
    fn days_of_type(&mut self, id: Text) -> Rc<Days> {
        if let Some(days) = self.of_types.get(&id) {
            return Rc::clone(days);
        }
        let weekdays = self.weekdays_of(id);
        let days = match (self.assignments.get(&id), self.validity_of(id)) {
            (Some(assignments), validity) => {
                let (mut runs, mut excluded) = (Days::default(), Days::default());
                let only_excludes = assignments
                    .iter()
                    .all(|&number| self.publication.day_assignments[number as usize].excludes);
                if let Some((from, to)) = validity.filter(|_| only_excludes) {
                    runs = Days::of_week(from, to, weekdays.unwrap_or(0));
                }
                // What is excluded is so on each day of a period.
                let weekdays = weekdays.unwrap_or(ALL_WEEK);
                for &number in assignments {
                    let assignment = &self.publication.day_assignments[number as usize];
                    let place = if assignment.excludes { &mut excluded } else { &mut runs };
                    place.add(&self.days_of_assignment(assignment, weekdays));
                }
                runs.retain(&excluded, false);
                runs
            }
            (None, Some((from, to))) => Days::of_week(from, to, weekdays.unwrap_or(0)),
            (None, _) => Days::default(),
        };
        let days = Rc::new(days);
        self.bytes += days.bytes();
        self.of_types.insert(id, Rc::clone(&days));
        days
    }

    /// The weekdays of a day type, none of one whose days are known otherwise; `None` where it says nothing of its days.
    fn weekdays_of(&self, day_type: Text) -> Option<u8> {
        let day_type = super::find(&self.publication.day_types, &self.day_types, day_type)?;
        Some(day_type.weekdays).filter(|weekdays| *weekdays != 0 || day_type.is_otherwise)
    }

    /// The first and the last day for which a day type holds: those of its file's frames, or of all where those say none.
    fn validity_of(&self, day_type: Text) -> Option<(Day, Day)> {
        let day_type = super::find(&self.publication.day_types, &self.day_types, day_type);
        let of_file = day_type.and_then(|it| self.publication.validity_of_file.get(&it.file));
        of_file.copied().or(self.publication.validity)
    }

    fn days_of_assignment(&self, assignment: &DayAssignment, weekdays: u8) -> Days {
        let operating_day = self.date_of(assignment.operating_day);
        if let Some(date) = assignment.date.or(operating_day) {
            return Days::of([date]);
        }
        let period = super::find(&self.publication.periods, &self.periods, assignment.period);
        let Some(period) = period else { return Days::default() };
        let from = period.from.or(self.date_of(period.from_day));
        let to = period.to.or(self.date_of(period.to_day));
        self.days_between(from, to, period.bits, weekdays)
    }

    /// The days on which a condition holds; `None` of one that says nothing about days.
    fn days_of_condition(&mut self, condition: &Condition, ends: Ends) -> Option<Rc<Days>> {
        let key = (condition.id, ends);
        if let Some(known) = self.of_conditions.get(&key) {
            return known.clone();
        }
        let days = self.new_days_of_condition(condition, ends).map(Rc::new);
        self.bytes += days.as_ref().map_or(0, |days| days.bytes());
        self.of_conditions.insert(key, days.clone());
        days
    }

    fn new_days_of_condition(&mut self, condition: &Condition, ends: Ends) -> Option<Days> {
        let &Condition { from, to, bits, .. } = condition;
        let validity = self.publication.validity.filter(|_| ends == Ends::OfFrames);
        let first = from.or(validity.map(|(first, _)| first)).unwrap_or(*days::OPEN.start());
        let last = to.or(validity.map(|(_, last)| last)).unwrap_or(*days::OPEN.end());
        let day_types = self.publication.list(&condition.day_types);
        let operating_days = self.publication.list(&condition.operating_days);
        let mut days = if !operating_days.is_empty() {
            Days::of(operating_days.iter().filter_map(|&day| self.date_of(day)))
        } else if !day_types.is_empty() {
            let mut days = Days::default();
            for &id in day_types {
                // The weekdays of a type that is assigned to nothing hold for the condition's time.
                if self.assignments.contains_key(&id) {
                    days.add(&self.days_of_type(id));
                } else {
                    days.add(&Days::of_week(first, last, self.weekdays_of(id).unwrap_or(0)));
                }
            }
            days
        } else if from.is_none() && to.is_none() && bits == Text::EMPTY {
            return None;
        } else if bits == Text::EMPTY {
            return Some(Days::of_week(first, last, ALL_WEEK));
        } else {
            return Some(self.days_between(from, to, bits, ALL_WEEK));
        };
        if from.is_some() || to.is_some() {
            let (from, to) = (from.unwrap_or(Day::MIN), to.unwrap_or(Day::MAX));
            days.retain(&Days::of_week(from, to, ALL_WEEK), true);
        }
        Some(days)
    }

    fn date_of(&self, operating_day: Text) -> Option<Day> {
        super::find(&self.publication.operating_days, &self.operating_days, operating_day)?.date
    }

    /// The days of a period: those whose digit is 1, or all, that are of these weekdays; digits know better where the weekdays
    /// are not known. Where only one end is said, the
    /// other is that of the frames.
    fn days_between(&self, from: Option<Day>, to: Option<Day>, bits: Text, weekdays: u8) -> Days {
        let validity = self.publication.validity;
        let Some(from) = from.or(validity.map(|(from, _)| from)) else { return Days::default() };
        if bits == Text::EMPTY {
            let to = to.or(validity.map(|(_, to)| to)).unwrap_or(from);
            return Days::of_week(from, to, weekdays);
        }
        let digits = self.publication.text(bits).bytes();
        let days = (from..).zip(digits).filter(|&(day, digit)| {
            digit == b'1'
                && to.is_none_or(|to| day <= to)
                && (weekdays == 0 || days::weekday_bit(day) & weekdays != 0)
        });
        Days::of(days.map(|(day, _)| day))
    }
}

/// Those of a list, in its order.
fn each_once(list: &[Text]) -> Vec<Text> {
    let mut seen = HashSet::new();
    list.iter().copied().filter(|&text| list.len() < 2 || seen.insert(text)).collect()
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
            let Some((weekdays, first, last)) = Weekly::of(&service.days).week else { continue };
            let runs = |weekday: u8| if weekdays & (1 << weekday) == 0 { "0" } else { "1" };
            let (first, last) = (days::format(first), days::format(last));
            let week: [&str; 7] = std::array::from_fn(|weekday| runs(weekday as u8));
            let mut row = vec![service.id.as_str()];
            row.extend(week);
            row.extend([first.as_str(), last.as_str()]);
            self.tables.row(&row)?;
        }
        self.tables.begin("calendar_dates.txt", &["service_id", "date", "exception_type"])?;
        let mut n_exceptions = 0;
        for service in &services.rows {
            let exceptions = Weekly::of(&service.days).exceptions;
            n_exceptions += exceptions.len() as u64;
            if n_exceptions > Limits::EXCEPTIONS {
                let detail =
                    format!("its calendars name more than {} days one by one", Limits::EXCEPTIONS);
                return Err(Error::new(ErrorKind::TooLarge, detail));
            }
            for (day, runs) in exceptions {
                let kind = if runs { "1" } else { "2" };
                self.tables.row(&[&service.id, &days::format(day), kind])?;
            }
        }
        Ok(())
    }
}
