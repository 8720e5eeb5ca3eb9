//! Parses texts to values. An invalid value is a problem of its object, and is recorded, so that it is not reported as
//! missing.

use super::{
    days::{self, EpochDay},
    reader::PublicationReader,
    record::NO_TIME,
};
use crate::{
    Error, Problem,
    gtfs::{TextId, values},
    xsd_duration,
};

pub(super) const DAY_SECONDS: i32 = 24 * 3_600;

impl PublicationReader<'_, '_> {
    pub(super) fn read_boolean(&mut self) -> Result<Option<bool>, Error> {
        let detail = "is neither true nor false and is ignored";
        self.read_parsed_text("invalid_boolean", detail, |text| match text {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        })
    }

    pub(super) fn read_date(&mut self) -> Result<Option<EpochDay>, Error> {
        self.read_parsed_text("invalid_date", "is not a date and is ignored", days::parse_day)
    }

    /// Reads a whole number.
    pub(super) fn read_integer(&mut self) -> Result<Option<i32>, Error> {
        let detail = "is not an integer and is ignored";
        self.read_parsed_text("invalid_integer", detail, |text| text.parse().ok())
    }

    /// Reads a decimal number.
    pub(super) fn read_decimal(&mut self) -> Result<Option<f64>, Error> {
        let detail = "is not a number and is ignored";
        // `parse` also accepts `inf` and `nan`.
        let parse = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
        self.read_parsed_text("invalid_float", detail, parse)
    }

    /// Reads a time like [`read_time`](Self::readable_time_of_row), and sets `is_unread` if it is unreadable.
    pub(super) fn read_time_flagging_unreadable(
        &mut self,
        is_unread: &mut bool,
    ) -> Result<i32, Error> {
        let n_unread = self.unreadable_value_count();
        let time = self.read_time()?;
        *is_unread |= self.unreadable_value_count() > n_unread;
        Ok(time)
    }

    /// Reads a time of day in seconds; [`NO_TIME`] if it is missing or unreadable.
    pub(super) fn read_time(&mut self) -> Result<i32, Error> {
        let (name, text) = self.read_named_text()?;
        // Fractions and time zones may follow; timetables are in local time.
        let clock = text.as_bytes().get(..8).unwrap_or(text.as_bytes());
        match values::parse_gtfs_time(clock) {
            Ok(time) => {
                if time > DAY_SECONDS || clock.get(2) != Some(&b':') {
                    let detail = "is not a time of day; it is read like a GTFS time";
                    self.report_element_problem(name, "invalid_time", detail, &text);
                }
                Ok(time)
            }
            Err(_) if text.is_empty() => Ok(NO_TIME),
            Err(_) => {
                let detail = "is not a time of day and is ignored";
                self.report_unreadable(name, "invalid_time", detail, &text);
                Ok(NO_TIME)
            }
        }
    }

    /// Reads a duration such as `PT1M30S` in seconds.
    pub(super) fn read_duration_seconds(&mut self) -> Result<Option<i32>, Error> {
        self.read_parsed_text("invalid_duration", "is not a duration and is ignored", |text| {
            xsd_duration::parse_duration_seconds(text)
                .filter(|seconds| (0..=values::TIME_MAX).contains(seconds))
        })
    }

    /// Parses the text of the open element; reports a problem and returns `None` if it is invalid.
    fn read_parsed_text<T>(
        &mut self,
        code: &'static str,
        detail: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let (name, text) = self.read_named_text()?;
        let value = parse(&text);
        if value.is_none() && !text.is_empty() {
            self.report_unreadable(name, code, detail, &text);
        }
        Ok(value)
    }

    /// Reports and counts an element with an unreadable value.
    #[cold]
    pub(super) fn report_unreadable(
        &mut self,
        name: &str,
        code: &'static str,
        detail: &str,
        value: &str,
    ) {
        self.n_unread += 1;
        self.report_element_problem(name, code, detail, value);
    }

    /// Reports a problem of an element of the current object.
    #[cold]
    pub(super) fn report_element_problem(
        &mut self,
        field: &str,
        code: &'static str,
        detail: &str,
        value: &str,
    ) {
        let (name, of) = (self.name, self.object);
        self.problems.push_lazily(name, code, || {
            let problem = Problem::new(name, code, detail).with_field(field).with_value(value);
            match of.attribute("id") {
                Some(id) => problem.with_record(&id),
                None => problem,
            }
        });
    }

    /// Returns the number of unreadable values so far.
    pub(super) fn unreadable_value_count(&self) -> u64 {
        self.n_unread
    }

    /// Marks a record as unreadable if there were unreadable values since the count was `n`.
    pub(super) fn mark_unreadable_record(&mut self, record: TextId, n: u64) -> Result<(), Error> {
        let is_new = self.n_unread > n && record != TextId::EMPTY;
        if is_new && self.out.unread.insert(record) {
            self.count_record_bytes(2 * size_of::<TextId>())?;
        }
        Ok(())
    }
}
