//! Texts to values: what is none is told by the id of its object, and kept in mind, so that nobody takes it for missing.

use super::{
    days::{self, Day},
    reader::Reader,
    record::NO_TIME,
};
use crate::{
    Error, Problem,
    gtfs::{Text, values},
    span,
};

/// Seconds of a day.
pub(super) const DAY_SECONDS: i32 = 24 * 3_600;

impl Reader<'_, '_> {
    pub(super) fn flag(&mut self) -> Result<Option<bool>, Error> {
        let detail = "is neither true nor false and is left out";
        self.value("invalid_boolean", detail, |text| match text {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        })
    }

    pub(super) fn day(&mut self) -> Result<Option<Day>, Error> {
        self.value("invalid_date", "is no date and is left out", days::parse)
    }

    /// A whole number.
    pub(super) fn integer(&mut self) -> Result<Option<i32>, Error> {
        let detail = "is no whole number and is left out";
        self.value("invalid_integer", detail, |text| text.parse().ok())
    }

    /// A decimal number.
    pub(super) fn number(&mut self) -> Result<Option<f64>, Error> {
        let detail = "is no number and is left out";
        // `parse` also takes `inf` and `nan`.
        let parse = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
        self.value("invalid_float", detail, parse)
    }

    /// The same as [`Reader::time`]; `is_unread` becomes true of one that is there and cannot be read.
    pub(super) fn time_or(&mut self, is_unread: &mut bool) -> Result<i32, Error> {
        let n_unread = self.n_unread();
        let time = self.time()?;
        *is_unread |= self.n_unread() > n_unread;
        Ok(time)
    }

    /// A time of day in seconds.
    pub(super) fn time(&mut self) -> Result<i32, Error> {
        let (name, text) = self.named_text()?;
        // Fractions and time zones may follow; timetables are in local time.
        let clock = text.as_bytes().get(..8).unwrap_or(text.as_bytes());
        match values::time(clock) {
            Ok(time) => {
                if time > DAY_SECONDS || clock.get(2) != Some(&b':') {
                    let detail = "is not written as a time of day, and is taken as GTFS has it";
                    self.complain(name, "invalid_time", detail, &text);
                }
                Ok(time)
            }
            Err(_) if text.is_empty() => Ok(NO_TIME),
            Err(_) => {
                let detail = "is no time of day and is left out";
                self.cannot_read(name, "invalid_time", detail, &text);
                Ok(NO_TIME)
            }
        }
    }

    /// A duration such as `PT1M30S` in seconds.
    pub(super) fn duration(&mut self) -> Result<Option<i32>, Error> {
        self.value("invalid_duration", "is no duration and is left out", |text| {
            span::seconds(text).filter(|seconds| (0..=values::TIME_MAX).contains(seconds))
        })
    }

    /// The value of the open element; none, which is told, of a text that is no such value.
    fn value<T>(
        &mut self,
        code: &'static str,
        detail: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let (name, text) = self.named_text()?;
        let value = parse(&text);
        if value.is_none() && !text.is_empty() {
            self.cannot_read(name, code, detail, &text);
        }
        Ok(value)
    }

    /// Tells of an element that has no value, whatever is said of what it is in.
    #[cold]
    pub(super) fn cannot_read(
        &mut self,
        name: &str,
        code: &'static str,
        detail: &str,
        value: &str,
    ) {
        self.n_unread += 1;
        self.complain(name, code, detail, value);
    }

    /// Tells what is wrong with an element of the object that is being read.
    #[cold]
    pub(super) fn complain(&mut self, field: &str, code: &'static str, detail: &str, value: &str) {
        let (name, of) = (self.name, self.of);
        self.problems.push_with(name, code, || {
            let problem = Problem::new(name, code, detail).in_field(field).with_value(value);
            match of.attribute("id") {
                Some(id) => problem.in_record(&id),
                None => problem,
            }
        });
    }

    /// Values so far that could not be read.
    pub(super) fn n_unread(&self) -> u64 {
        self.n_unread
    }

    /// Keeps in mind that what a record says of days cannot be read, if there were more such values since `n`.
    pub(super) fn keep_unread(&mut self, record: Text, n: u64) -> Result<(), Error> {
        let is_new = self.n_unread > n && record != Text::EMPTY;
        if is_new && self.out.unread.insert(record) {
            self.count_bytes(2 * size_of::<Text>())?;
        }
        Ok(())
    }
}
