//! Converts the opening hours of version 1 and 2, which are lists of hours and of days of the year, to the text of
//! version 3 in OpenStreetMap's format.

use std::fmt::Write as _;

use super::records::{Calendar, RentalHours};

/// Day names of producers and of OpenStreetMap.
const DAYS: [(&str, &str); 7] = [
    ("mon", "Mo"),
    ("tue", "Tu"),
    ("wed", "We"),
    ("thu", "Th"),
    ("fri", "Fr"),
    ("sat", "Sa"),
    ("sun", "Su"),
];

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Formats the hours for nonmembers, on each day and in each part of the year; members may have longer ones. As in the
/// specification, a system without hours never closes, and one without a calendar runs all year. Returns `None` if
/// hours or a calendar are given but none can be read, because the hours are then unknown.
pub(crate) fn format_opening_hours(hours: &[RentalHours], calendar: &[Calendar]) -> Option<String> {
    let weekly = format_weekly_hours(hours);
    let parts: Vec<String> = calendar.iter().filter_map(format_calendar_range).collect();
    if weekly.is_empty() && !hours.is_empty() || parts.is_empty() && !calendar.is_empty() {
        return None;
    }
    Some(match (parts.is_empty(), weekly.is_empty()) {
        (true, true) => "24/7".to_owned(),
        (true, false) => weekly.join("; "),
        (false, true) => {
            let all: Vec<String> = parts.iter().map(|part| format!("{part} 00:00-24:00")).collect();
            all.join("; ")
        }
        (false, false) => {
            let each = parts
                .iter()
                .flat_map(|part| weekly.iter().map(move |days| format!("{part} {days}")));
            each.collect::<Vec<_>>().join("; ")
        }
    })
}

/// Formats each set of days with equal hours, such as `Mo,Tu 05:00-23:00`.
fn format_weekly_hours(hours: &[RentalHours]) -> Vec<String> {
    let is_for_all = |it: &&RentalHours| {
        it.user_types.is_empty() || it.user_types.iter().any(|kind| kind.0 == "nonmember")
    };
    let for_all: Vec<&RentalHours> = hours.iter().filter(is_for_all).collect();
    let for_all = if for_all.is_empty() { hours.iter().collect() } else { for_all };
    let mut day_groups: Vec<(Vec<&str>, String)> = Vec::new();
    for (word, day) in DAYS {
        let of_day = for_all.iter().filter(|it| it.days.iter().any(|day| day.0 == word));
        let mut spans: Vec<String> = of_day.filter_map(|it| format_time_span(it)).collect();
        spans.sort();
        spans.dedup();
        if spans.is_empty() {
            continue;
        }
        let spans = spans.join(",");
        match day_groups.iter_mut().find(|(_, known)| *known == spans) {
            Some((days, _)) => days.push(day),
            None => day_groups.push((vec![day], spans)),
        }
    }
    day_groups.into_iter().map(|(days, spans)| format!("{} {spans}", days.join(","))).collect()
}

/// Formats a time span, such as `05:00-23:00`; an end in the last minute of a day becomes 24:00.
fn format_time_span(hours: &RentalHours) -> Option<String> {
    let (from, _) = format_hours_and_minutes(hours.start_time.as_deref()?)?;
    let (until, is_last_minute) = format_hours_and_minutes(hours.end_time.as_deref()?)?;
    let until = if is_last_minute { "24:00" } else { &until };
    Some(format!("{from}-{until}"))
}

/// Returns hours and minutes, and true if it is the last minute of a day.
fn format_hours_and_minutes(text: &str) -> Option<(String, bool)> {
    let mut parts = text.split(':').map(|part| part.trim().parse::<u8>().ok());
    let (hours, minutes) = (parts.next()??, parts.next()??);
    // Hours past midnight run to 47:59.
    let is_time = hours < 48 && minutes < 60;
    is_time.then(|| (format!("{hours:02}:{minutes:02}"), (hours, minutes) == (23, 59)))
}

/// Formats a range such as `Apr 01-Nov 03`, with its years if it has them.
fn format_calendar_range(calendar: &Calendar) -> Option<String> {
    let day = |year: Option<u32>, month: Option<u32>, day: Option<u32>| {
        let month = MONTHS.get(usize::try_from(month?.checked_sub(1)?).ok()?)?;
        let day = day.filter(|day| (1..=31).contains(day))?;
        let mut text = year.map(|year| format!("{year} ")).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = write!(text, "{month} {day:02}");
        Some(text)
    };
    let years = calendar.start_year.zip(calendar.end_year);
    let first = day(years.map(|it| it.0), calendar.start_month, calendar.start_day)?;
    let last = day(years.map(|it| it.1), calendar.end_month, calendar.end_day)?;
    Some(format!("{first}-{last}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::LowercaseEnumValue;

    fn hours(users: &[&str], days: &[&str], from: &str, until: &str) -> RentalHours {
        let words =
            |words: &[&str]| words.iter().map(|word| LowercaseEnumValue((*word).into())).collect();
        RentalHours {
            user_types: words(users),
            days: words(days),
            start_time: Some(from.into()),
            end_time: Some(until.into()),
        }
    }

    fn calendar(from: (u32, u32), until: (u32, u32), years: Option<(u32, u32)>) -> Calendar {
        Calendar {
            start_month: Some(from.0),
            start_day: Some(from.1),
            start_year: years.map(|it| it.0),
            end_month: Some(until.0),
            end_day: Some(until.1),
            end_year: years.map(|it| it.1),
        }
    }

    #[test]
    fn a_system_without_hours_is_open_all_the_time() {
        assert_eq!(format_opening_hours(&[], &[]).as_deref(), Some("24/7"));
        let summer = [calendar((4, 1), (11, 3), None)];
        let text = format_opening_hours(&[], &summer);
        assert_eq!(text.as_deref(), Some("Apr 01-Nov 03 00:00-24:00"));
    }

    #[test]
    fn days_with_equal_hours_are_grouped_across_user_types() {
        let all = [
            hours(&["member"], &["sat", "sun"], "00:00:00", "23:59:59"),
            hours(&["nonmember"], &["sat", "sun"], "05:00:00", "23:59:59"),
            hours(&["member", "nonmember"], &["mon", "tue"], "00:00:00", "25:30:00"),
        ];
        let check = |hours: &[RentalHours], calendar: &[Calendar], expected: &str| {
            assert_eq!(format_opening_hours(hours, calendar).as_deref(), Some(expected));
        };
        check(&all, &[], "Mo,Tu 00:00-25:30; Sa,Su 05:00-24:00");
        check(&all[..1], &[], "Sa,Su 00:00-24:00");
        let years = [calendar((4, 1), (11, 5), Some((2020, 2021)))];
        check(&all[1..2], &years, "2020 Apr 01-2021 Nov 05 Sa,Su 05:00-24:00");
    }

    #[test]
    fn unreadable_hours_are_omitted() {
        let odd = [hours(&[], &["mon"], "soon", "24:00:00"), hours(&[], &["?"], "1:00", "2:00")];
        assert_eq!(format_opening_hours(&odd, &[]), None);
        assert_eq!(format_opening_hours(&[], &[calendar((13, 1), (1, 32), None)]), None);
    }
}
