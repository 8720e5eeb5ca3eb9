//! Notices to passengers: the day's events in words, and planned changes.

use jiff::civil::Weekday;
use lineside_formats::gtfs_rt::proto;
use lineside_sync::UnixMillis;
use proto::alert::{Cause, Effect, SeverityLevel};

use super::events::{Incident, StopClosure};
use super::runs::ServiceDayWithDisruptions;
use super::texts::{self, HeaderAndDescription};
use super::{build_feed_header, to_unix_seconds};
use crate::city::City;
use crate::network::TransportMode;
use crate::network::plan::MAIN_STATION;
use crate::noise;
use crate::time::{HOUR, ServiceDayNumber, format_clock_time};
use crate::timetable::services::{Service, list_service_exceptions};

/// The delays, in seconds, after which passengers hear of the start and of the end of an incident.
const ANNOUNCED_AFTER: i32 = 90;
const CLEARED_AFTER: i32 = 10 * 60;
/// The days by which planned changes are announced ahead.
const PLANNED_AHEAD: ServiceDayNumber = 12;
/// The period ahead, in seconds, for which cancellations are summarized.
const CANCELLED_AHEAD: f64 = 3_600.0;
/// The start and end of the city's day for all-day notices, in seconds.
const DAY_BEGINS: i32 = 4 * HOUR;
const DAY_ENDS: i32 = 26 * HOUR;
/// The number of stations whose lift is out of order on a day.
const BROKEN_LIFTS: u64 = 2;

/// An alert, independent of the format.
pub(super) struct AlertNotice {
    pub(super) id: String,
    /// The start and end, in Unix seconds.
    pub(super) period: (i64, i64),
    pub(super) cause: Cause,
    pub(super) effect: Effect,
    pub(super) severity: SeverityLevel,
    pub(super) informed_entities: Vec<proto::EntitySelector>,
    pub(super) header: proto::TranslatedString,
    pub(super) description: proto::TranslatedString,
}

impl City {
    /// Returns the feed of alerts at an instant.
    pub fn alerts_feed(&self, now: UnixMillis) -> proto::FeedMessage {
        let now = to_unix_seconds(now);
        let entity = self.active_alert_notices(now).into_iter().map(alert_entity).collect();
        proto::FeedMessage { header: build_feed_header(now, self.feed_version()), entity }
    }

    /// Returns the active notices at an instant in Unix seconds.
    pub(super) fn active_alert_notices(&self, now: i64) -> Vec<AlertNotice> {
        let mut notices = Vec::new();
        for at in self.service_days_at(now) {
            notices.extend(
                at.events
                    .incidents
                    .iter()
                    .filter_map(|incident| self.incident_notice(&at, incident)),
            );
            notices.extend(self.cancellation_notices(&at));
        }
        let today = self.city_time().service_day_at(now);
        if let Some(at) = self.service_days_at(now).into_iter().find(|at| at.day == today) {
            notices.extend(
                at.events.closures.iter().map(|closure| self.stop_closure_notice(today, closure)),
            );
        }
        notices.extend(self.broken_lift_notices(today));
        notices.extend(self.wind_notice(today));
        notices.extend(self.planned_change_notices(today));
        notices
    }

    fn notice_period_unix(
        &self,
        from: (ServiceDayNumber, i32),
        until: (ServiceDayNumber, i32),
    ) -> (i64, i64) {
        let instant = |(day, seconds): (ServiceDayNumber, i32)| {
            self.city_time().instant_on_day(day, f64::from(seconds)) as i64
        };
        (instant(from), instant(until))
    }

    fn incident_notice(
        &self,
        at: &ServiceDayWithDisruptions,
        incident: &Incident,
    ) -> Option<AlertNotice> {
        let now = at.seconds as i32;
        let is_announced =
            (incident.from + ANNOUNCED_AFTER..incident.until + CLEARED_AFTER).contains(&now);
        let route = &self.network().routes[incident.route as usize];
        if !is_announced || !self.does_route_run_on_day(at.day, incident.route) {
            return None;
        }
        let street = matches!(route.mode, TransportMode::Bus | TransportMode::Tram);
        let (cause, texts): (Cause, &HeaderAndDescription) =
            match (noise::pseudo_random_share(noise::hash_two_numbers(incident.key, 9)) * 4.0)
                as u32
            {
                0 if street => (Cause::Accident, &texts::ACCIDENT),
                1 => (Cause::PoliceActivity, &texts::POLICE),
                2 => (Cause::MedicalEmergency, &texts::MEDICAL),
                _ => (Cause::TechnicalProblem, &texts::TECHNICAL),
            };
        let (from, to) = self.incident_section_stop_names(incident);
        // Rounded up to five minutes, as real announcements are.
        let minutes = (((incident.severity / 60.0).ceil() as u32).div_ceil(5) * 5).to_string();
        let values = [
            ("line", route.short_name.as_str()),
            ("from", from),
            ("to", to),
            ("minutes", &minutes),
        ];
        let severe = incident.severity > 360.0;
        Some(AlertNotice {
            id: format!("incident-{}-{}", at.date, incident.number),
            period: self.notice_period_unix(
                (at.day, incident.from),
                (at.day, incident.until + CLEARED_AFTER),
            ),
            cause,
            effect: Effect::SignificantDelays,
            severity: if severe { SeverityLevel::Severe } else { SeverityLevel::Warning },
            informed_entities: vec![self.alert_selector_for_route(incident.route)],
            header: texts.0.fill_placeholders(&values),
            description: texts.1.fill_placeholders(&values),
        })
    }

    /// Returns the names of the first and last stop of an incident's section.
    fn incident_section_stop_names(&self, incident: &Incident) -> (&str, &str) {
        let network = self.network();
        let pattern =
            &network.patterns[network.routes[incident.route as usize].patterns[0] as usize];
        let last = pattern.calls.len() - 1;
        let name = |share: f64| {
            let call = ((share * last as f64).round() as usize).min(last);
            network.places[network.stops[pattern.calls[call].stop as usize].place as usize]
                .name
                .as_str()
        };
        (name(incident.section.0), name(incident.section.1))
    }

    fn does_route_run_on_day(&self, day: ServiceDayNumber, route: u32) -> bool {
        let basic = [Service::Weekday, Service::Saturday, Service::Sunday];
        let route = &self.network().routes[route as usize];
        basic.into_iter().any(|s| {
            s.is_active_on(self.city_time(), day)
                && crate::timetable::demand::demand_curve_and_headway(route, s).is_some()
        })
    }

    fn alert_selector_for_route(&self, route: u32) -> proto::EntitySelector {
        let route = &self.network().routes[route as usize];
        proto::EntitySelector {
            agency_id: Some(crate::city::gtfs::agency_id_of_mode(route.mode).to_owned()),
            route_id: Some(route.id.clone()),
            ..Default::default()
        }
    }

    /// Returns one notice for each route with cancelled trips within the hour.
    fn cancellation_notices(&self, at: &ServiceDayWithDisruptions) -> Vec<AlertNotice> {
        let soon = at.seconds..at.seconds + CANCELLED_AHEAD;
        let mut runs: Vec<_> = self
            .list_relevant_runs_at(at)
            .into_iter()
            .filter(|run| {
                soon.contains(&f64::from(run.trip.start)) && self.is_run_cancelled(run, &at.events)
            })
            .collect();
        let route_of = |pattern: u32| self.network().patterns[pattern as usize].route;
        runs.sort_by_key(|run| (route_of(run.trip.pattern), run.trip.start, run.trip.number));
        runs.chunk_by(|a, b| route_of(a.trip.pattern) == route_of(b.trip.pattern))
            .map(|runs| {
                let route = route_of(runs[0].trip.pattern);
                let line = &self.network().routes[route as usize].short_name;
                let feed_time = |start: i32| {
                    format_clock_time(self.city_time().to_feed_time(start) % (24 * HOUR))
                };
                let times: Vec<String> =
                    runs.iter().map(|run| feed_time(run.trip.start)[..5].to_owned()).collect();
                let (count, times) = (runs.len().to_string(), times.join(", "));
                let values = [("line", line.as_str()), ("count", &count), ("times", &times)];
                let trip = |run: &super::runs::TripRun| proto::EntitySelector {
                    trip: Some(self.trip_descriptor(run, &at.date, true)),
                    ..Default::default()
                };
                let last = runs[runs.len() - 1].trip.start;
                let is_one = runs.len() == 1;
                let description = if is_one { texts::ONE_CANCELLED } else { texts::CANCELLED.1 };
                AlertNotice {
                    id: format!(
                        "cancelled-{}-{}",
                        at.date,
                        self.network().routes[route as usize].id
                    ),
                    period: self
                        .notice_period_unix((at.day, runs[0].trip.start - HOUR), (at.day, last)),
                    cause: Cause::OtherCause,
                    effect: Effect::ReducedService,
                    severity: SeverityLevel::Warning,
                    informed_entities: runs.iter().map(trip).collect(),
                    header: texts::CANCELLED.0.fill_placeholders(&values),
                    description: description.fill_placeholders(&values),
                }
            })
            .collect()
    }

    fn stop_closure_notice(&self, today: ServiceDayNumber, closure: &StopClosure) -> AlertNotice {
        let network = self.network();
        let stop = &network.stops[closure.stop as usize];
        let name = network.places[stop.place as usize].name.as_str();
        let line = network.routes[closure.route as usize].short_name.as_str();
        let values = [("stop", name), ("line", line)];
        let first = today.div_euclid(3) * 3;
        AlertNotice {
            id: format!(
                "works-{}-{}",
                crate::time::format_compact_date(self.city_time().calendar_date(first)),
                stop.id
            ),
            period: self.notice_period_unix((first, DAY_BEGINS), (first + 2, DAY_ENDS)),
            cause: Cause::Construction,
            effect: Effect::NoService,
            severity: SeverityLevel::Warning,
            informed_entities: vec![proto::EntitySelector {
                stop_id: Some(stop.id.clone()),
                ..Default::default()
            }],
            header: texts::CLOSED_STOP.0.fill_placeholders(&values),
            description: texts::CLOSED_STOP.1.fill_placeholders(&values),
        }
    }

    fn broken_lift_notices(&self, today: ServiceDayNumber) -> Vec<AlertNotice> {
        let network = self.network();
        let metro = network.routes.iter().filter(|r| r.mode == TransportMode::Metro);
        let calls: Vec<u32> = metro
            .flat_map(|r| &network.patterns[r.patterns[0] as usize].calls)
            .map(|call| network.stops[call.stop as usize].place)
            .collect();
        let key = noise::hash_two_numbers(
            noise::random_key_for_purpose(self.realtime_model().seed, "lifts"),
            today as u64,
        );
        let mut broken: Vec<u32> = (0..BROKEN_LIFTS)
            .filter_map(|n| {
                calls
                    .get(
                        (noise::pseudo_random_share(noise::hash_two_numbers(key, n))
                            * calls.len() as f64) as usize,
                    )
                    .copied()
            })
            .collect();
        broken.sort_unstable();
        broken.dedup();
        broken
            .into_iter()
            .map(|place| {
                let place = &network.places[place as usize];
                let values = [("stop", place.name.as_str())];
                AlertNotice {
                    id: format!(
                        "lift-{}-{}",
                        crate::time::format_compact_date(self.city_time().calendar_date(today)),
                        place.id
                    ),
                    period: self.notice_period_unix((today, DAY_BEGINS), (today, DAY_ENDS)),
                    cause: Cause::Maintenance,
                    effect: Effect::AccessibilityIssue,
                    severity: SeverityLevel::Info,
                    informed_entities: vec![proto::EntitySelector {
                        stop_id: Some(place.id.clone()),
                        ..Default::default()
                    }],
                    header: texts::LIFT.0.fill_placeholders(&values),
                    description: texts::LIFT.1.fill_placeholders(&values),
                }
            })
            .collect()
    }

    /// Returns a notice about wind, on about every third day.
    fn wind_notice(&self, today: ServiceDayNumber) -> Option<AlertNotice> {
        let key = noise::hash_two_numbers(
            noise::random_key_for_purpose(self.realtime_model().seed, "wind"),
            today as u64,
        );
        (noise::pseudo_random_share(key) < 0.35).then(|| {
            let ferries = (0..self.network().routes.len() as u32)
                .filter(|r| self.network().routes[*r as usize].mode == TransportMode::Ferry);
            AlertNotice {
                id: format!(
                    "wind-{}",
                    crate::time::format_compact_date(self.city_time().calendar_date(today))
                ),
                period: self.notice_period_unix((today, DAY_BEGINS), (today, DAY_ENDS)),
                cause: Cause::Weather,
                effect: Effect::SignificantDelays,
                severity: SeverityLevel::Info,
                informed_entities: ferries.map(|r| self.alert_selector_for_route(r)).collect(),
                header: texts::WIND.0.fill_placeholders(&[]),
                description: texts::WIND.1.fill_placeholders(&[]),
            }
        })
    }

    /// Returns notices about planned changes some days ahead.
    fn planned_change_notices(&self, today: ServiceDayNumber) -> Vec<AlertNotice> {
        let mut notices = vec![self.track_works_notice(today)];
        for exception in list_service_exceptions(self.city_time()).iter().filter(|e| e.added) {
            if !(today..=today + PLANNED_AHEAD).contains(&exception.day) {
                continue;
            }
            let date = self.city_time().calendar_date(exception.day);
            let dates = texts::date_placeholder_values(date);
            let values = dates.each_ref().map(|(name, text)| (*name, text.as_str()));
            let festival = exception.service == Service::Festival;
            let (texts, begin) = if festival {
                (&texts::FESTIVAL, 18 * HOUR)
            } else {
                (&texts::HOLIDAY, DAY_BEGINS)
            };
            let of_ferries = (0..self.network().routes.len() as u32)
                .filter(|r| self.network().routes[*r as usize].mode == TransportMode::Ferry)
                .map(|r| self.alert_selector_for_route(r));
            let of_all = crate::city::gtfs::AGENCIES.iter().map(|a| proto::EntitySelector {
                agency_id: Some(a.id.to_owned()),
                ..Default::default()
            });
            notices.push(AlertNotice {
                id: format!(
                    "{}-{}",
                    exception.service.service_id(),
                    crate::time::format_compact_date(date)
                ),
                period: self.notice_period_unix((exception.day, begin), (exception.day, DAY_ENDS)),
                cause: Cause::Holiday,
                effect: if festival { Effect::AdditionalService } else { Effect::ReducedService },
                severity: SeverityLevel::Info,
                informed_entities: if festival { of_ferries.collect() } else { of_all.collect() },
                header: texts.0.fill_placeholders(&values),
                description: texts.1.fill_placeholders(&values),
            });
        }
        notices
    }

    /// Returns a notice about track works on the next weekend.
    fn track_works_notice(&self, today: ServiceDayNumber) -> AlertNotice {
        let sunday = (today..today + 7)
            .find(|day| self.city_time().city_weekday(*day) == Weekday::Sunday)
            .unwrap_or(today);
        let station = self.geography().districts[MAIN_STATION].name;
        let place = self.network().places.iter().find(|place| place.name == station);
        let values = [("stop", station), ("line", "R1")];
        let mut concerns = vec![self.alert_selector_for_route(0)];
        concerns.extend(
            place.map(|p| proto::EntitySelector {
                stop_id: Some(p.id.clone()),
                ..Default::default()
            }),
        );
        AlertNotice {
            id: format!(
                "tracks-{}",
                crate::time::format_compact_date(self.city_time().calendar_date(sunday))
            ),
            period: self.notice_period_unix((sunday - 1, DAY_BEGINS), (sunday, DAY_ENDS)),
            cause: Cause::Construction,
            effect: Effect::ModifiedService,
            severity: SeverityLevel::Info,
            informed_entities: concerns,
            header: texts::PLATFORMS.0.fill_placeholders(&values),
            description: texts::PLATFORMS.1.fill_placeholders(&values),
        }
    }
}

/// Returns the URL of the notice's page.
pub(super) fn notice_page_url(notice: &AlertNotice) -> String {
    format!("{}/alerts/{}", crate::city::gtfs::SITE, notice.id)
}

fn alert_entity(notice: AlertNotice) -> proto::FeedEntity {
    let url = notice_page_url(&notice);
    let url = proto::translated_string::Translation { text: url, language: None };
    let alert = proto::Alert {
        active_period: vec![proto::TimeRange {
            start: Some(notice.period.0.max(0) as u64),
            end: Some(notice.period.1.max(0) as u64),
        }],
        informed_entity: notice.informed_entities,
        cause: Some(notice.cause as i32),
        effect: Some(notice.effect as i32),
        severity_level: Some(notice.severity as i32),
        url: Some(proto::TranslatedString { translation: vec![url] }),
        header_text: Some(notice.header),
        description_text: Some(notice.description),
        ..Default::default()
    };
    proto::FeedEntity { id: notice.id, alert: Some(alert), ..Default::default() }
}
