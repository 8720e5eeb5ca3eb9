//! Writes `trips.txt`, `stop_times.txt` and `frequencies.txt`: the journeys.

use std::collections::HashSet;

use super::{
    GtfsWriter,
    calls::{self, MissingCallsReason, ScheduledCall},
    find_record_by_id, first_non_empty,
    services::JourneyServices,
};
use crate::{
    Error, ErrorKind,
    gtfs::{BoardingType, StopTimeRow, TextId, format_gtfs_time},
    netex::{
        PublicationLimits,
        record::{NO_TIME, ServiceJourney},
    },
};

/// A journey that becomes a trip: its index, and that of its service.
pub(super) struct ExportableJourney {
    journey: u32,
    service: u32,
    line: TextId,
    /// The destination shown at the start.
    headsign: TextId,
}

impl GtfsWriter<'_, '_> {
    /// Selects the journeys that GTFS can express, and reports the reason for the others.
    ///
    /// # Errors
    /// Returns an error if their days exceed the memory limit.
    pub(super) fn select_exportable_journeys(
        &mut self,
        services: &mut JourneyServices<'_>,
    ) -> Result<Vec<ExportableJourney>, Error> {
        let publication = self.publication;
        let (mut chosen, mut calls, mut ids) = (Vec::new(), Vec::new(), HashSet::new());
        for (number, journey) in (0..).zip(&publication.journeys) {
            self.tables.check_cancelled()?;
            let id = self.resolve_text(journey.id);
            if journey.is_cancelled {
                self.losses.record_dropped_object(
                    "ServiceJourney",
                    "is planned as cancelled",
                    Some(id),
                );
            } else if let Err(fault) =
                calls::build_journey_calls(publication, &self.index, journey, &mut calls)
            {
                self.report_journey_without_calls(journey, fault);
            } else if let Some(line) = self.line_for_journey(journey) {
                if !ids.insert(journey.id) {
                    let detail = "appears twice; the first is used";
                    self.report_record_problem(
                        journey.file,
                        "duplicate_in_timetable",
                        detail,
                        journey.id,
                    );
                } else if let Some(service) = services.service_for_journey(journey)? {
                    let headsign = self.initial_trip_headsign(journey, &calls);
                    chosen.push(ExportableJourney {
                        journey: number,
                        service,
                        line: line.id,
                        headsign,
                    });
                } else {
                    self.report_no_service_days(journey, services);
                }
            } else {
                let why =
                    "names no line that is in the files, and neither do its pattern and route";
                self.report_record_problem(journey.file, "journey_without_line", why, journey.id);
                self.losses.record_dropped_object("ServiceJourney", why, Some(id));
            }
        }
        Ok(chosen)
    }

    fn report_journey_without_calls(
        &mut self,
        journey: &ServiceJourney,
        fault: MissingCallsReason,
    ) {
        let id = journey.id;
        let (code, why) = match fault {
            MissingCallsReason::UnknownPattern => {
                self.report_dangling_reference(
                    journey.file,
                    "JourneyPatternRef",
                    id,
                    journey.pattern,
                );
                ("", "its pattern is in no file")
            }
            MissingCallsReason::UnknownPoint => (
                "unmatched_passing_time",
                "has a passing time for a point that is not in its pattern",
            ),
            // The unreadable times are already reported.
            MissingCallsReason::UnreadTimes => ("", "has invalid times"),
            MissingCallsReason::NoTimes => {
                ("journey_without_times", "has no times, or none at its first or last call")
            }
            MissingCallsReason::Windows => ("journey_of_windows", "time windows are not converted"),
            MissingCallsReason::DayBefore => (
                "journey_of_the_day_before",
                "begins on the previous day, which GTFS cannot express",
            ),
            MissingCallsReason::TooLong => ("too_many_calls", "has more calls than the limit"),
        };
        if !code.is_empty() {
            self.report_record_problem(journey.file, code, why, id);
        }
        let id = self.resolve_text(id);
        self.losses.record_dropped_object("ServiceJourney", why, Some(id));
    }

    /// Reports why a journey runs on no day.
    fn report_no_service_days(&mut self, journey: &ServiceJourney, services: &JourneyServices<'_>) {
        let mut why = "has no service days in the files";
        let day_types = self.publication.references_in(&journey.day_types);
        match day_types.iter().find(|&&id| !services.is_day_type_defined(id)) {
            Some(&day_type) => {
                self.report_dangling_reference(journey.file, "DayTypeRef", journey.id, day_type)
            }
            // The unreadable day is already reported.
            None if services.has_unreadable_days(journey) => {
                why = "has no valid service days";
            }
            None => {
                self.report_record_problem(journey.file, "journey_without_days", why, journey.id)
            }
        }
        let id = self.resolve_text(journey.id);
        self.losses.record_dropped_object("ServiceJourney", why, Some(id));
    }

    pub(super) fn write_trips(
        &mut self,
        trips: &[ExportableJourney],
        services: &JourneyServices<'_>,
    ) -> Result<(), Error> {
        let [route, service, id] = ["route_id", "service_id", "trip_id"];
        let [headsign, short_name, direction] =
            ["trip_headsign", "trip_short_name", "direction_id"];
        self.tables
            .begin_table("trips.txt", &[route, service, id, headsign, short_name, direction])?;
        let publication = self.publication;
        for trip in trips {
            let journey = &publication.journeys[trip.journey as usize];
            let direction =
                self.journey_direction(journey).map_or("", |it| if it == 0 { "0" } else { "1" });
            let number = find_record_by_id(
                &publication.train_numbers,
                &self.index.train_numbers,
                journey.train_number,
            );
            let number = number.map_or(TextId::EMPTY, |number| number.name);
            self.tables.write_row(&[
                self.resolve_text(trip.line),
                &services.rows[trip.service as usize].id,
                self.resolve_text(journey.id),
                self.resolve_text(trip.headsign),
                self.resolve_text(first_non_empty(&[journey.public_code, number])),
                direction,
            ])?;
        }
        Ok(())
    }

    /// Returns the destination shown at the start.
    fn initial_trip_headsign(&self, journey: &ServiceJourney, calls: &[ScheduledCall]) -> TextId {
        let publication = self.publication;
        let pattern =
            find_record_by_id(&publication.patterns, &self.index.patterns, journey.pattern);
        let of_pattern = pattern.map_or(TextId::EMPTY, |pattern| pattern.display);
        let at_start = calls.first().map_or(TextId::EMPTY, |call| call.display);
        self.destination_display_text(first_non_empty(&[at_start, journey.display, of_pattern]))
    }

    fn destination_display_text(&self, id: TextId) -> TextId {
        let display = find_record_by_id(&self.publication.displays, &self.index.displays, id);
        display.map_or(TextId::EMPTY, |display| display.name)
    }

    fn journey_direction(&self, journey: &ServiceJourney) -> Option<u8> {
        let publication = self.publication;
        let pattern =
            find_record_by_id(&publication.patterns, &self.index.patterns, journey.pattern);
        let route =
            |id: TextId| find_record_by_id(&publication.routes, &self.index.routes, id)?.direction;
        let of_pattern =
            || pattern.and_then(|pattern| pattern.direction.or_else(|| route(pattern.route)));
        journey.direction.or_else(of_pattern).or_else(|| route(journey.route))
    }

    pub(super) fn write_stop_times(&mut self, trips: &[ExportableJourney]) -> Result<(), Error> {
        self.tables.begin_table("stop_times.txt", &StopTimeRow::COLUMNS)?;
        let publication = self.publication;
        let (mut calls, mut n) = (Vec::new(), 0);
        for trip in trips {
            let journey = &publication.journeys[trip.journey as usize];
            if calls::build_journey_calls(publication, &self.index, journey, &mut calls).is_err() {
                calls.clear();
            }
            n += calls.len() as u64;
            if n > PublicationLimits::CALLS_IN_ALL {
                let detail = format!(
                    "the journeys have more than {} calls",
                    PublicationLimits::CALLS_IN_ALL
                );
                return Err(Error::new(ErrorKind::TooLarge, detail));
            }
            let mut shown = trip.headsign;
            for (sequence, call) in (1..).zip(&calls) {
                if call.display != TextId::EMPTY {
                    shown = self.destination_display_text(call.display);
                }
                let headsign = if shown == trip.headsign { TextId::EMPTY } else { shown };
                self.write_stop_time(journey, call, sequence, headsign)?;
            }
        }
        Ok(())
    }

    fn write_stop_time(
        &mut self,
        journey: &ServiceJourney,
        call: &ScheduledCall,
        sequence: u32,
        headsign: TextId,
    ) -> Result<(), Error> {
        let stop = self.stop_of.get(&call.stop_point).copied().unwrap_or(call.stop_point);
        let time = |time: i32| Some(time).filter(|&time| time != NO_TIME);
        let boarding = |may: bool| match (may, call.use_of.on_request) {
            (false, _) => BoardingType::None,
            (true, true) => BoardingType::AskDriver,
            (true, false) => BoardingType::Regular,
        };
        self.tables.write_stop_time(&StopTimeRow {
            trip_id: self.resolve_text(journey.id),
            arrival: time(call.arrival),
            departure: time(call.departure),
            stop_id: self.resolve_text(stop),
            sequence,
            headsign: self.resolve_text(headsign),
            pickup: boarding(call.use_of.may_board),
            drop_off: boarding(call.use_of.may_alight),
        })
    }

    pub(super) fn write_frequencies(&mut self, trips: &[ExportableJourney]) -> Result<(), Error> {
        let journeys = trips.iter().map(|trip| &self.publication.journeys[trip.journey as usize]);
        let repeated: Vec<&ServiceJourney> =
            journeys.filter(|journey| !journey.headways.is_empty()).collect();
        if repeated.is_empty() {
            return Ok(());
        }
        let columns = ["trip_id", "start_time", "end_time", "headway_secs"];
        self.tables.begin_table("frequencies.txt", &columns)?;
        for journey in repeated {
            for &(first, last, every) in &journey.headways {
                // In GTFS the end is exclusive.
                let (start, end) = (format_gtfs_time(first), format_gtfs_time(last + 1));
                self.tables.write_row(&[
                    self.resolve_text(journey.id),
                    &start,
                    &end,
                    &every.to_string(),
                ])?;
            }
        }
        Ok(())
    }
}
