//! Booking rules whose fields do not go together.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{self, Feed, File, Numbers, Table},
    notice::{Kind, Sample, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[
        &FORBIDDEN_REAL_TIME,
        &FORBIDDEN_SAME_DAY,
        &FORBIDDEN_PRIOR_DAY,
        &DURATION_MIN,
        &NO_DURATION_MIN,
        &START_DAY,
        &START_TIME,
        &NO_START_TIME,
        &LAST_DAY_AFTER_START_DAY,
        &NO_LAST_DAY,
        &NO_LAST_TIME,
    ],
    files: &[],
    check,
};

const ROW: (&str, &str) = ("csvRowNumber", "The line of the booking rule.");
const ID: (&str, &str) = ("bookingRuleId", "The booking rule.");
const NAMES: (&str, &str) = ("fieldNames", "The fields that may not be there.");
const MIN: (&str, &str) =
    ("priorNoticeDurationMin", "Minutes before travel until which one books.");
const MAX: (&str, &str) =
    ("priorNoticeDurationMax", "Minutes before travel from which on one books.");
const FIRST: (&str, &str) = ("priorNoticeStartDay", "Days before travel from which on one books.");
const LAST: (&str, &str) = ("priorNoticeLastDay", "Days before travel until which one books.");
const FROM: (&str, &str) =
    ("priorNoticeStartTime", "The time of the first day on which one books.");

static FORBIDDEN_REAL_TIME: Kind = Kind {
    code: "forbidden_real_time_booking_field_value",
    severity: Severity::Error,
    fields: &[ROW, ID, NAMES],
    page: include_str!("forbidden_real_time_booking_field_value.md"),
};

static FORBIDDEN_SAME_DAY: Kind = Kind {
    code: "forbidden_same_day_booking_field_value",
    severity: Severity::Error,
    fields: &[ROW, ID, NAMES],
    page: include_str!("forbidden_same_day_booking_field_value.md"),
};

static FORBIDDEN_PRIOR_DAY: Kind = Kind {
    code: "forbidden_prior_day_booking_field_value",
    severity: Severity::Error,
    fields: &[ROW, ID, NAMES],
    page: include_str!("forbidden_prior_day_booking_field_value.md"),
};

static DURATION_MIN: Kind = Kind {
    code: "invalid_prior_notice_duration_min",
    severity: Severity::Error,
    fields: &[ROW, ID, MIN, MAX],
    page: include_str!("invalid_prior_notice_duration_min.md"),
};

static NO_DURATION_MIN: Kind = Kind {
    code: "missing_prior_notice_duration_min",
    severity: Severity::Error,
    fields: &[ROW, ID],
    page: include_str!("missing_prior_notice_duration_min.md"),
};

static START_DAY: Kind = Kind {
    code: "forbidden_prior_notice_start_day",
    severity: Severity::Error,
    fields: &[ROW, ID, FIRST, MAX],
    page: include_str!("forbidden_prior_notice_start_day.md"),
};

static START_TIME: Kind = Kind {
    code: "forbidden_prior_notice_start_time",
    severity: Severity::Error,
    fields: &[ROW, ID, FROM],
    page: include_str!("forbidden_prior_notice_start_time.md"),
};

static NO_START_TIME: Kind = Kind {
    code: "missing_prior_notice_start_time",
    severity: Severity::Error,
    fields: &[ROW, ID, FIRST],
    page: include_str!("missing_prior_notice_start_time.md"),
};

static LAST_DAY_AFTER_START_DAY: Kind = Kind {
    code: "prior_notice_last_day_after_start_day",
    severity: Severity::Error,
    fields: &[ROW, LAST, FIRST],
    page: include_str!("prior_notice_last_day_after_start_day.md"),
};

static NO_LAST_DAY: Kind = Kind {
    code: "missing_prior_notice_last_day",
    severity: Severity::Error,
    fields: &[ROW, ID],
    page: include_str!("missing_prior_notice_last_day.md"),
};

static NO_LAST_TIME: Kind = Kind {
    code: "missing_prior_notice_last_time",
    severity: Severity::Error,
    fields: &[ROW, ID],
    page: include_str!("missing_prior_notice_last_time.md"),
};

/// `booking_type`: at the time of travel, on the same day, on days before.
const REAL_TIME: i32 = 0;
const SAME_DAY: i32 = 1;
const PRIOR_DAY: i32 = 2;

const DURATION_FIELDS: [&str; 2] = ["prior_notice_duration_min", "prior_notice_duration_max"];
const LAST_FIELDS: [&str; 3] =
    ["prior_notice_last_day", "prior_notice_last_time", "prior_notice_service_id"];
const REAL_TIME_FIELDS: [&str; 7] = [
    "prior_notice_duration_min",
    "prior_notice_duration_max",
    "prior_notice_last_day",
    "prior_notice_last_time",
    "prior_notice_start_day",
    "prior_notice_start_time",
    "prior_notice_service_id",
];

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let rules = Rules::of(feed.table(File::BookingRules));
    for row in rules.table.rows() {
        rules.check_type(row, out);
        rules.check_durations(row, out);
        rules.check_start(row, out);
    }
}

struct Rules<'a> {
    table: &'a Table,
    types: Numbers<'a>,
    min: Numbers<'a>,
    max: Numbers<'a>,
    last_day: Numbers<'a>,
    last_time: Numbers<'a>,
    start_day: Numbers<'a>,
    start_time: Numbers<'a>,
}

impl<'a> Rules<'a> {
    fn of(table: &'a Table) -> Rules<'a> {
        Rules {
            table,
            types: table.numbers("booking_type"),
            min: table.numbers("prior_notice_duration_min"),
            max: table.numbers("prior_notice_duration_max"),
            last_day: table.numbers("prior_notice_last_day"),
            last_time: table.numbers("prior_notice_last_time"),
            start_day: table.numbers("prior_notice_start_day"),
            start_time: table.numbers("prior_notice_start_time"),
        }
    }

    fn say(
        &self,
        kind: &'static Kind,
        row: u32,
        out: &mut Notices,
        more: impl FnOnce(&mut Sample),
    ) {
        out.add(kind, |sample| {
            sample.put("csvRowNumber", self.table.line(row));
            sample.put("bookingRuleId", self.table.texts("booking_rule_id").get(row));
            more(sample);
        });
    }

    /// What may not be there, and what must, for each type of booking.
    fn check_type(&self, row: u32, out: &mut Notices) {
        let (kind, fields): (_, &[&str]) = match self.types.get(row) {
            Some(REAL_TIME) => (&FORBIDDEN_REAL_TIME, &REAL_TIME_FIELDS),
            Some(SAME_DAY) => (&FORBIDDEN_SAME_DAY, &LAST_FIELDS),
            Some(PRIOR_DAY) => (&FORBIDDEN_PRIOR_DAY, &DURATION_FIELDS),
            _ => return,
        };
        let given: Vec<&str> =
            fields.iter().copied().filter(|field| self.has(field, row)).collect();
        if !given.is_empty() {
            self.say(kind, row, out, |sample| {
                sample.put("fieldNames", given.join(", "));
            });
        }
        let type_ = self.types.get(row);
        if type_ == Some(SAME_DAY) && self.min.get(row).is_none() {
            self.say(&NO_DURATION_MIN, row, out, |_| {});
        }
        if type_ == Some(PRIOR_DAY) && self.last_day.get(row).is_none() {
            self.say(&NO_LAST_DAY, row, out, |_| {});
        }
        if type_ == Some(PRIOR_DAY) && self.last_time.get(row).is_none() {
            self.say(&NO_LAST_TIME, row, out, |_| {});
        }
    }

    fn has(&self, field: &str, row: u32) -> bool {
        match field {
            "prior_notice_service_id" => self.table.texts(field).get(row).is_some(),
            field => self.table.numbers(field).get(row).is_some(),
        }
    }

    fn check_durations(&self, row: u32, out: &mut Notices) {
        if let (Some(min), Some(max)) = (self.min.get(row), self.max.get(row))
            && max < min
        {
            self.say(&DURATION_MIN, row, out, |sample| {
                sample.put("priorNoticeDurationMin", min).put("priorNoticeDurationMax", max);
            });
        }
    }

    fn check_start(&self, row: u32, out: &mut Notices) {
        let (day, time) = (self.start_day.get(row), self.start_time.get(row));
        if let (Some(day), Some(max)) = (day, self.max.get(row)) {
            self.say(&START_DAY, row, out, |sample| {
                sample.put("priorNoticeStartDay", day).put("priorNoticeDurationMax", max);
            });
        }
        if let (Some(last), Some(first)) = (self.last_day.get(row), day)
            && last > first
        {
            out.add(&LAST_DAY_AFTER_START_DAY, |sample| {
                sample.put("csvRowNumber", self.table.line(row));
                sample.put("priorNoticeLastDay", last).put("priorNoticeStartDay", first);
            });
        }
        match (day, time) {
            (None, Some(time)) => self.say(&START_TIME, row, out, |sample| {
                sample.put("priorNoticeStartTime", gtfs::time_text(time));
            }),
            (Some(day), None) => self.say(&NO_START_TIME, row, out, |sample| {
                sample.put("priorNoticeStartDay", day);
            }),
            _ => {}
        }
    }
}
