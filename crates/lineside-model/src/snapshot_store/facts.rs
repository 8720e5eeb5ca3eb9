//! Facts about a version of a schedule, stored with its bytes.

use jiff::civil::Date;
use lineside_formats::gtfs::Timetable;

use crate::limits::VERSION_CHARS_MAX;

/// The facts shown about a dataset in a list of versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleVersionFacts {
    /// The publisher's version name: `feed_version`.
    pub publisher_version: Option<String>,
    /// The first day of validity, such as `2026-03-04`: from the publisher, else the first day of service.
    pub valid_from: Option<String>,
    /// The last day of validity.
    pub valid_until: Option<String>,
    /// The first day of service, such as `2026-03-04`; unknown for versions stored by an earlier release of the
    /// program.
    pub service_start: Option<String>,
    /// The last day of service; unknown likewise.
    pub service_end: Option<String>,
    /// The number of routes.
    pub routes: u64,
    /// The number of stops, including stations.
    pub stops: u64,
    /// The number of trips.
    pub trips: u64,
}

impl ScheduleVersionFacts {
    /// Returns the facts about a timetable.
    pub fn from_timetable(timetable: &Timetable) -> ScheduleVersionFacts {
        let info = timetable.feed_info();
        let (first, last) = timetable.service_date_range().unzip();
        let day =
            |stated: Option<Date>, fallback: Option<Date>| Some(stated.or(fallback)?.to_string());
        let version = info.and_then(|info| info.version.as_deref());
        ScheduleVersionFacts {
            publisher_version: version.map(|it| it.chars().take(VERSION_CHARS_MAX).collect()),
            valid_from: day(info.and_then(|info| info.start_date), first),
            valid_until: day(info.and_then(|info| info.end_date), last),
            service_start: first.map(|day| day.to_string()),
            service_end: last.map(|day| day.to_string()),
            routes: timetable.routes().len() as u64,
            stops: timetable.stops().len() as u64,
            trips: timetable.trips().len() as u64,
        }
    }

    /// Returns true if the last day of validity or of service has passed.
    pub fn has_ended(&self, today: Date) -> bool {
        let mut ends = [&self.valid_until, &self.service_end].into_iter().filter_map(parse_date);
        ends.any(|end| end < today)
    }

    /// Returns true if the first day of validity or of service is in the future.
    pub fn is_not_yet_valid(&self, today: Date) -> bool {
        let mut starts = [&self.valid_from, &self.service_start].into_iter().filter_map(parse_date);
        starts.any(|start| start > today)
    }

    /// Returns the differences from the counts of the previous version.
    pub fn compare_counts(&self, previous: &ScheduleVersionFacts) -> ScheduleCountDifferences {
        let difference = |now: u64, before: u64| {
            let size = i64::try_from(now.abs_diff(before)).unwrap_or(i64::MAX);
            if now < before { -size } else { size }
        };
        ScheduleCountDifferences {
            routes: difference(self.routes, previous.routes),
            stops: difference(self.stops, previous.stops),
            trips: difference(self.trips, previous.trips),
        }
    }
}

fn parse_date(day: &Option<String>) -> Option<Date> {
    day.as_deref()?.parse().ok()
}

/// Differences between the counts of two versions of a schedule; negative if there are fewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleCountDifferences {
    /// The difference of routes.
    pub routes: i64,
    /// The difference of stops.
    pub stops: i64,
    /// The difference of trips.
    pub trips: i64,
}

#[cfg(test)]
mod tests {
    use lineside_testkit::TestSchedule;

    use super::*;

    fn facts(feed_info: &str) -> ScheduleVersionFacts {
        let schedule = TestSchedule::new("Europe/Paris")
            .stop("A", "A", 48.8, 2.3)
            .service("s", "1111111", ["20260105", "20261227"])
            .trip("T", "A 08:00");
        let schedule = if feed_info.is_empty() {
            schedule
        } else {
            schedule.table("feed_info.txt", feed_info)
        };
        ScheduleVersionFacts::from_timetable(&schedule.timetable())
    }

    #[test]
    fn validity_comes_from_the_publisher_or_the_calendar() {
        let plain = facts("");
        assert_eq!(plain.valid_from.as_deref(), Some("2026-01-05"));
        assert_eq!(plain.valid_until.as_deref(), Some("2026-12-27"));
        assert_eq!((plain.routes, plain.stops, plain.trips), (1, 1, 1));
        assert_eq!(plain.publisher_version, None);
        let schedule_facts = facts(
            "feed_publisher_name,feed_publisher_url,feed_lang,feed_end_date,feed_version\n\
             P,https://p.example,fr,20261130,2026-44b\n",
        );
        assert_eq!(schedule_facts.valid_from.as_deref(), Some("2026-01-05"));
        assert_eq!(schedule_facts.valid_until.as_deref(), Some("2026-11-30"));
        assert_eq!(schedule_facts.service_start.as_deref(), Some("2026-01-05"));
        assert_eq!(schedule_facts.service_end.as_deref(), Some("2026-12-27"));
        assert_eq!(schedule_facts.publisher_version.as_deref(), Some("2026-44b"));
    }

    #[test]
    fn a_version_ends_with_its_validity_or_its_service() {
        let facts = |until: Option<&str>, end: Option<&str>| ScheduleVersionFacts {
            valid_until: until.map(str::to_owned),
            service_end: end.map(str::to_owned),
            ..ScheduleVersionFacts::default()
        };
        let today = jiff::civil::date(2026, 11, 27);
        let (past, now) = (Some("2026-11-26"), Some("2026-11-27"));
        assert!(facts(past, now).has_ended(today) && facts(now, past).has_ended(today));
        assert!(!facts(now, now).has_ended(today) && !facts(None, None).has_ended(today));
        assert!(facts(past, None).has_ended(today) && !facts(Some("soon"), now).has_ended(today));
        let starting = |from: &str| ScheduleVersionFacts {
            service_start: Some(from.to_owned()),
            ..ScheduleVersionFacts::default()
        };
        assert!(starting("2026-11-28").is_not_yet_valid(today));
        assert!(!starting("2026-11-27").is_not_yet_valid(today));
    }

    #[test]
    fn count_changes_are_signed() {
        let (now, before) = (facts(""), ScheduleVersionFacts { trips: 5, ..facts("") });
        let fewer = ScheduleCountDifferences { trips: -4, ..ScheduleCountDifferences::default() };
        assert_eq!(now.compare_counts(&before), fewer);
        assert_eq!(before.compare_counts(&now).trips, 4);
    }
}
