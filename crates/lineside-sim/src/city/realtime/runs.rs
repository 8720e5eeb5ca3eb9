//! The trips that matter at an instant: those running, those whose vehicle waits, and those about to start.

use super::events::DayDisruptions;
use crate::city::City;
use crate::network::TransportMode;
use crate::noise;
use crate::time::{HOUR, ServiceDayNumber};
use crate::timetable::services::Service;
use crate::timetable::{NONE, TEMPLATE_PROFILE, Trip};

/// The seconds by which trips are included ahead: longer than any vehicle waits at the end of its line.
pub(super) const AHEAD: i32 = 30 * 60;
/// The seconds after its scheduled end for which a trip may still run.
const LATE: i32 = 25 * 60;
/// The days that matter: trips run past midnight, so the previous day counts too.
const DAYS: std::ops::RangeInclusive<ServiceDayNumber> = -1..=0;

/// A trip on a day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TripRun {
    pub(crate) day: ServiceDayNumber,
    pub(crate) trip: Trip,
    pub(crate) kind: TripRunKind,
    /// The random key of this run; its vehicle and its neighbours have other keys.
    pub(crate) key: u64,
    /// The city-wide number of the vehicle.
    pub(crate) vehicle: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TripRunKind {
    Scheduled,
    /// A run of a trip in `frequencies.txt`.
    Headway {
        exact: bool,
    },
    /// A run that is not in the timetable.
    Added,
}

#[derive(Debug)]
pub(super) struct ServiceDayWithDisruptions {
    pub(super) day: ServiceDayNumber,
    /// The instant in seconds of the day's timetable.
    pub(super) seconds: f64,
    pub(super) events: DayDisruptions,
    /// The date, as `20261121`.
    pub(super) date: String,
}

impl City {
    /// Returns the days that an instant belongs to.
    pub(super) fn service_days_at(&self, instant: i64) -> Vec<ServiceDayWithDisruptions> {
        let today = self.city_time().service_day_at(instant);
        let day_at = |day: ServiceDayNumber| ServiceDayWithDisruptions {
            day,
            seconds: self.city_time().seconds_of_day(day, instant as f64),
            events: self.disruptions_on_day(day),
            date: crate::time::format_compact_date(self.city_time().calendar_date(day)),
        };
        DAYS.map(|offset| day_at(today + offset)).collect()
    }

    /// Returns every run of a day that may matter at an instant, in a fixed order.
    pub(super) fn list_relevant_runs_at(&self, at: &ServiceDayWithDisruptions) -> Vec<TripRun> {
        let now = at.seconds as i32;
        let span = now - self.timetable().longest_trip_duration() - LATE..now + AHEAD;
        let mut runs = Vec::new();
        for service in Service::ALL {
            if service.is_active_on(self.city_time(), at.day) {
                let indices = self.timetable().trips_starting_in(service, span.clone());
                runs.extend(indices.map(|i| self.run_of_trip(i as u32, at.day)));
            }
        }
        runs.extend(
            self.extra_runs_at(at).into_iter().filter(|run| span.contains(&run.trip.start)),
        );
        runs
    }

    /// Returns the run of a scheduled trip on a day.
    pub(super) fn run_of_trip(&self, trip: u32, day: ServiceDayNumber) -> TripRun {
        let key = noise::hash_two_numbers(
            noise::hash_two_numbers(
                noise::random_key_for_purpose(self.realtime_model().seed, "run"),
                day as u64,
            ),
            u64::from(trip),
        );
        let trip = self.timetable().trips[trip as usize];
        let kind = match self.timetable().templates.get(trip.template as usize) {
            Some(template) => TripRunKind::Headway { exact: template.exact },
            None => TripRunKind::Scheduled,
        };
        TripRun {
            day,
            trip,
            kind,
            key,
            vehicle: self.timetable().vehicle_number(self.network(), &trip),
        }
    }

    /// Returns extra trains and ferries at times of high demand.
    fn extra_runs_at(&self, at: &ServiceDayWithDisruptions) -> Vec<TripRun> {
        let service = [Service::Weekday, Service::Saturday, Service::Sunday]
            .into_iter()
            .find(|service| service.is_active_on(self.city_time(), at.day));
        let Some(service) = service else { return Vec::new() };
        let mut runs = Vec::new();
        let routes = self
            .network()
            .routes
            .iter()
            .filter(|r| matches!(r.mode, TransportMode::Rail | TransportMode::Ferry));
        for (i, route) in routes.enumerate() {
            for hour in 7..21_u64 {
                let purpose = noise::random_key_for_purpose(self.realtime_model().seed, "added");
                let key = noise::hash_two_numbers(
                    noise::hash_two_numbers(purpose, at.day as u64),
                    hour * 64 + i as u64,
                );
                let chance = if matches!(hour, 7 | 8 | 16 | 17) { 0.22 } else { 0.07 };
                if noise::pseudo_random_share(key) < chance {
                    let minute =
                        (noise::pseudo_random_share(noise::hash_two_numbers(key, 1)) * 60.0) as i32;
                    let trip = Trip {
                        pattern: route.patterns[usize::from(
                            noise::pseudo_random_share(noise::hash_two_numbers(key, 2)) < 0.5,
                        )],
                        service,
                        profile: TEMPLATE_PROFILE,
                        start: hour as i32 * HOUR + minute * 60,
                        number: hour as u32,
                        slot: 0,
                        block: 0,
                        previous: NONE,
                        delay_max: 600,
                        template: NONE,
                    };
                    // A trip may last longer than an hour, so two vehicles alternate.
                    let vehicle = self.timetable().fleet_size() + i as u32 * 2 + hour as u32 % 2;
                    runs.push(TripRun {
                        day: at.day,
                        trip,
                        kind: TripRunKind::Added,
                        key,
                        vehicle,
                    });
                }
            }
        }
        runs
    }
}
