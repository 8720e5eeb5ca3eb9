//! Checks of booking rules with contradictory fields.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{self, GtfsFeed, GtfsFile, GtfsTable, NumberColumn},
    notice::{NoticeKind, NoticeSample, Severity},
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
    check: check_booking_rules,
};

const ROW: (&str, &str) = ("csvRowNumber", "The line of the booking rule.");
const ID: (&str, &str) = ("bookingRuleId", "The booking rule.");
const NAMES: (&str, &str) = ("fieldNames", "The fields that must be empty.");
const MIN: (&str, &str) =
    ("priorNoticeDurationMin", "The latest time for booking, in minutes before travel.");
const MAX: (&str, &str) =
    ("priorNoticeDurationMax", "The earliest time for booking, in minutes before travel.");
const FIRST: (&str, &str) =
    ("priorNoticeStartDay", "The first day for booking, in days before travel.");
const LAST: (&str, &str) =
    ("priorNoticeLastDay", "The last day for booking, in days before travel.");
const FROM: (&str, &str) = ("priorNoticeStartTime", "The time on the first day for booking.");

static FORBIDDEN_REAL_TIME: NoticeKind = NoticeKind {
    code: "forbidden_real_time_booking_field_value",
    severity: Severity::Error,
    fields: &[ROW, ID, NAMES],
    page: include_str!("forbidden_real_time_booking_field_value.md"),
};

static FORBIDDEN_SAME_DAY: NoticeKind = NoticeKind {
    code: "forbidden_same_day_booking_field_value",
    severity: Severity::Error,
    fields: &[ROW, ID, NAMES],
    page: include_str!("forbidden_same_day_booking_field_value.md"),
};

static FORBIDDEN_PRIOR_DAY: NoticeKind = NoticeKind {
    code: "forbidden_prior_day_booking_field_value",
    severity: Severity::Error,
    fields: &[ROW, ID, NAMES],
    page: include_str!("forbidden_prior_day_booking_field_value.md"),
};

static DURATION_MIN: NoticeKind = NoticeKind {
    code: "invalid_prior_notice_duration_min",
    severity: Severity::Error,
    fields: &[ROW, ID, MIN, MAX],
    page: include_str!("invalid_prior_notice_duration_min.md"),
};

static NO_DURATION_MIN: NoticeKind = NoticeKind {
    code: "missing_prior_notice_duration_min",
    severity: Severity::Error,
    fields: &[ROW, ID],
    page: include_str!("missing_prior_notice_duration_min.md"),
};

static START_DAY: NoticeKind = NoticeKind {
    code: "forbidden_prior_notice_start_day",
    severity: Severity::Error,
    fields: &[ROW, ID, FIRST, MAX],
    page: include_str!("forbidden_prior_notice_start_day.md"),
};

static START_TIME: NoticeKind = NoticeKind {
    code: "forbidden_prior_notice_start_time",
    severity: Severity::Error,
    fields: &[ROW, ID, FROM],
    page: include_str!("forbidden_prior_notice_start_time.md"),
};

static NO_START_TIME: NoticeKind = NoticeKind {
    code: "missing_prior_notice_start_time",
    severity: Severity::Error,
    fields: &[ROW, ID, FIRST],
    page: include_str!("missing_prior_notice_start_time.md"),
};

static LAST_DAY_AFTER_START_DAY: NoticeKind = NoticeKind {
    code: "prior_notice_last_day_after_start_day",
    severity: Severity::Error,
    fields: &[ROW, LAST, FIRST],
    page: include_str!("prior_notice_last_day_after_start_day.md"),
};

static NO_LAST_DAY: NoticeKind = NoticeKind {
    code: "missing_prior_notice_last_day",
    severity: Severity::Error,
    fields: &[ROW, ID],
    page: include_str!("missing_prior_notice_last_day.md"),
};

static NO_LAST_TIME: NoticeKind = NoticeKind {
    code: "missing_prior_notice_last_time",
    severity: Severity::Error,
    fields: &[ROW, ID],
    page: include_str!("missing_prior_notice_last_time.md"),
};

/// The values of `booking_type`: real time, same day, prior days.
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
fn check_booking_rules(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let rules = BookingRuleColumns::columns_of_rules_table(feed.table(GtfsFile::BookingRules));
    for row in rules.table.row_numbers() {
        rules.check_booking_type(row, out);
        rules.check_notice_duration_order(row, out);
        rules.check_prior_notice_start(row, out);
    }
}

struct BookingRuleColumns<'a> {
    table: &'a GtfsTable,
    types: NumberColumn<'a>,
    min: NumberColumn<'a>,
    max: NumberColumn<'a>,
    last_day: NumberColumn<'a>,
    last_time: NumberColumn<'a>,
    start_day: NumberColumn<'a>,
    start_time: NumberColumn<'a>,
}

impl<'a> BookingRuleColumns<'a> {
    fn columns_of_rules_table(table: &'a GtfsTable) -> BookingRuleColumns<'a> {
        BookingRuleColumns {
            table,
            types: table.number_column("booking_type"),
            min: table.number_column("prior_notice_duration_min"),
            max: table.number_column("prior_notice_duration_max"),
            last_day: table.number_column("prior_notice_last_day"),
            last_time: table.number_column("prior_notice_last_time"),
            start_day: table.number_column("prior_notice_start_day"),
            start_time: table.number_column("prior_notice_start_time"),
        }
    }

    fn report_booking_rule_notice(
        &self,
        kind: &'static NoticeKind,
        row: u32,
        out: &mut Notices,
        more: impl FnOnce(&mut NoticeSample),
    ) {
        out.count_notice_with_sample(kind, |sample| {
            sample.set_field("csvRowNumber", self.table.line_number(row));
            sample.set_field("bookingRuleId", self.table.text_column("booking_rule_id").get(row));
            more(sample);
        });
    }

    /// Checks the forbidden and the required fields of each booking type.
    fn check_booking_type(&self, row: u32, out: &mut Notices) {
        let (kind, fields): (_, &[&str]) = match self.types.get(row) {
            Some(REAL_TIME) => (&FORBIDDEN_REAL_TIME, &REAL_TIME_FIELDS),
            Some(SAME_DAY) => (&FORBIDDEN_SAME_DAY, &LAST_FIELDS),
            Some(PRIOR_DAY) => (&FORBIDDEN_PRIOR_DAY, &DURATION_FIELDS),
            _ => return,
        };
        let present: Vec<&str> =
            fields.iter().copied().filter(|field| self.has_value(field, row)).collect();
        if !present.is_empty() {
            self.report_booking_rule_notice(kind, row, out, |sample| {
                sample.set_field("fieldNames", present.join(", "));
            });
        }
        let type_ = self.types.get(row);
        if type_ == Some(SAME_DAY) && self.min.get(row).is_none() {
            self.report_booking_rule_notice(&NO_DURATION_MIN, row, out, |_| {});
        }
        if type_ == Some(PRIOR_DAY) && self.last_day.get(row).is_none() {
            self.report_booking_rule_notice(&NO_LAST_DAY, row, out, |_| {});
        }
        if type_ == Some(PRIOR_DAY) && self.last_time.get(row).is_none() {
            self.report_booking_rule_notice(&NO_LAST_TIME, row, out, |_| {});
        }
    }

    fn has_value(&self, field: &str, row: u32) -> bool {
        match field {
            "prior_notice_service_id" => self.table.text_column(field).get(row).is_some(),
            field => self.table.number_column(field).get(row).is_some(),
        }
    }

    fn check_notice_duration_order(&self, row: u32, out: &mut Notices) {
        if let (Some(min), Some(max)) = (self.min.get(row), self.max.get(row))
            && max < min
        {
            self.report_booking_rule_notice(&DURATION_MIN, row, out, |sample| {
                sample
                    .set_field("priorNoticeDurationMin", min)
                    .set_field("priorNoticeDurationMax", max);
            });
        }
    }

    fn check_prior_notice_start(&self, row: u32, out: &mut Notices) {
        let (day, time) = (self.start_day.get(row), self.start_time.get(row));
        if let (Some(day), Some(max)) = (day, self.max.get(row)) {
            self.report_booking_rule_notice(&START_DAY, row, out, |sample| {
                sample
                    .set_field("priorNoticeStartDay", day)
                    .set_field("priorNoticeDurationMax", max);
            });
        }
        if let (Some(last), Some(first)) = (self.last_day.get(row), day)
            && last > first
        {
            out.count_notice_with_sample(&LAST_DAY_AFTER_START_DAY, |sample| {
                sample.set_field("csvRowNumber", self.table.line_number(row));
                sample
                    .set_field("priorNoticeLastDay", last)
                    .set_field("priorNoticeStartDay", first);
            });
        }
        match (day, time) {
            (None, Some(time)) => {
                self.report_booking_rule_notice(&START_TIME, row, out, |sample| {
                    sample.set_field("priorNoticeStartTime", gtfs::format_gtfs_time(time));
                })
            }
            (Some(day), None) => {
                self.report_booking_rule_notice(&NO_START_TIME, row, out, |sample| {
                    sample.set_field("priorNoticeStartDay", day);
                })
            }
            _ => {}
        }
    }
}
