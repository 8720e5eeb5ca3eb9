//! Checks of passing times along journeys, and of their number against journey patterns.

use std::collections::HashMap;

use super::{kinds, references::hash_text};
use crate::notice::{NoticeSample, Notices};

/// The largest number of journeys that wait for their pattern. If there are more, the total is marked as incomplete.
const WAITING_MAX: usize = 1_000_000;
const DAY_S: i64 = 86_400;

/// The passing times of a journey at a stop.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StopPassingTimes {
    /// Seconds since midnight.
    pub(super) arrival: Option<i64>,
    pub(super) departure: Option<i64>,
    pub(super) arrival_days: i64,
    pub(super) departure_days: i64,
    /// True if a day offset is given.
    pub(super) has_offset: bool,
    /// True if a time is unreadable; the conversion to a timetable reports it.
    pub(super) has_unread_time: bool,
    /// True if a day offset is unreadable.
    pub(super) has_unread_offset: bool,
    /// True if a time window is given instead.
    pub(super) is_window: bool,
}

/// A journey whose pattern was not read yet.
#[derive(Debug)]
struct JourneyAwaitingPattern {
    id: Box<str>,
    pattern: Box<str>,
    file: u32,
    n: usize,
}

/// The numbers of points in journey patterns.
#[derive(Debug, Default)]
pub(super) struct PatternPointCounts {
    /// The numbers of stop points and of timing points of a pattern.
    points: HashMap<u64, (u32, u32)>,
    waiting: Vec<JourneyAwaitingPattern>,
    has_dropped_journey: bool,
}

impl PatternPointCounts {
    pub(super) fn add_pattern_point_counts(&mut self, id: &str, stops: u32, timing_points: u32) {
        self.points.insert(hash_text(id), (stops, timing_points));
    }

    /// Adds a journey that waits for its pattern, unless the known pattern matches.
    pub(super) fn add_unless_pattern_matches(
        &mut self,
        id: &str,
        pattern: &str,
        file: u32,
        n: usize,
    ) {
        let is_right = self
            .points
            .get(&hash_text(pattern))
            .is_some_and(|points| is_plausible_passing_time_count(*points, n));
        if is_right {
            return;
        }
        self.has_dropped_journey |= self.waiting.len() >= WAITING_MAX;
        if !self.has_dropped_journey {
            self.waiting.push(JourneyAwaitingPattern {
                id: id.into(),
                pattern: pattern.into(),
                file,
                n,
            });
        }
    }

    /// Reports journeys that do not match their patterns, once all files are read.
    pub(super) fn report_pattern_mismatches(self, files: &[String], out: &mut Notices) {
        if self.has_dropped_journey {
            out.mark_total_as_lower_bound(&kinds::UNLIKE_PATTERN);
        }
        for JourneyAwaitingPattern { id, pattern, file, n } in self.waiting {
            let Some(points) = self.points.get(&hash_text(&pattern)).copied() else { continue };
            // A pattern without points defines them in its links.
            if points.0 == 0 || is_plausible_passing_time_count(points, n) {
                continue;
            }
            out.count_notice_with_sample(&kinds::UNLIKE_PATTERN, |sample| {
                sample.set_field("filename", files.get(file as usize).map(String::as_str));
                sample.set_field("id", &*id).set_field("passingTimes", n);
                sample.set_field("pattern", &*pattern).set_field("points", points.0);
            });
        }
    }
}

/// Returns true if a journey of the pattern may have this number of times: each stop has one, timing points may have
/// one.
fn is_plausible_passing_time_count((stops, timing_points): (u32, u32), n: usize) -> bool {
    (u64::from(stops)..=u64::from(stops) + u64::from(timing_points)).contains(&(n as u64))
}

/// Parses `hh:mm:ss`, with or without a zone after it.
pub(super) fn parse_time_of_day_seconds(text: &str) -> Option<i64> {
    let mut parts = text.get(..8)?.split(':').map(|part| part.parse::<u32>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let is_time = hours <= 24 && minutes < 60 && seconds < 60;
    is_time.then(|| i64::from(hours * 3_600 + minutes * 60 + seconds))
}

fn format_time_with_day_offset(seconds: i64) -> String {
    let (days, of_day) = (seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S));
    let plain = format!("{:02}:{:02}:{:02}", of_day / 3_600, of_day / 60 % 60, of_day % 60);
    if days == 0 { plain } else { format!("{plain}{days:+}d") }
}

/// Checks the passing times of a journey, in order.
pub(super) fn check_passing_times(
    file: &str,
    id: &str,
    calls: &[StopPassingTimes],
    out: &mut Notices,
) {
    let has_offsets = calls.iter().any(|call| call.has_offset);
    let mut previous: Option<i64> = None;
    for (at, call) in calls.iter().enumerate() {
        let say = |sample: &mut NoticeSample| {
            _ = sample.set_field("filename", file).set_field("id", id).set_field("call", at + 1)
        };
        // The day of the call is unknown.
        if call.has_unread_offset {
            continue;
        }
        let arrival = call.arrival.map(|time| time + call.arrival_days * DAY_S);
        let departure = call.departure.map(|time| time + call.departure_days * DAY_S);
        let (Some(first), Some(last)) = (arrival.or(departure), departure.or(arrival)) else {
            if !call.is_window && !call.has_unread_time {
                out.count_notice_with_sample(&kinds::NO_TIME, say);
            }
            continue;
        };
        // A step over midnight without day offsets is accepted.
        let is_next_day = |from: i64, to: i64| !has_offsets && from - to > DAY_S / 2;
        if last < first && !is_next_day(first, last) {
            out.count_notice_with_sample(&kinds::BEFORE_ARRIVAL, |sample| {
                say(sample);
                sample
                    .set_field("arrival", format_time_with_day_offset(first))
                    .set_field("departure", format_time_with_day_offset(last));
            });
        }
        if let Some(earlier) = previous
            && first < earlier
        {
            let is_next = is_next_day(earlier, first);
            let kind = if is_next { &kinds::NO_OFFSET } else { &kinds::BACKWARDS };
            out.count_notice_with_sample(kind, |sample| {
                say(sample);
                sample
                    .set_field("time", format_time_with_day_offset(first))
                    .set_field("before", format_time_with_day_offset(earlier));
            });
        }
        previous = Some(last);
    }
}

#[cfg(test)]
mod tests {
    use super::{format_time_with_day_offset, parse_time_of_day_seconds};

    #[test]
    fn times_are_parsed_and_formatted() {
        assert_eq!(parse_time_of_day_seconds("08:30:01"), Some(30_601));
        assert_eq!(parse_time_of_day_seconds("08:30:01+01:00"), Some(30_601));
        for odd in ["", "08:30", "8:30:00", "25:00:00", "08:60:00", "aa:00:00", "ää:00:00"] {
            assert_eq!(parse_time_of_day_seconds(odd), None, "{odd}");
        }
        assert_eq!(
            (format_time_with_day_offset(30_601), format_time_with_day_offset(86_400)),
            ("08:30:01".to_owned(), "00:00:00+1d".to_owned())
        );
    }
}
