//! `trips.txt`, `stop_times.txt` and `frequencies.txt`: the journeys.

use std::collections::HashSet;

use super::{
    Writer,
    calls::{self, Call, Fault},
    find, first_given,
    services::Services,
};
use crate::{
    Error, ErrorKind,
    gtfs::{Boarding, StopTimeRow, Text, clock},
    netex::{
        Limits,
        record::{Journey, NO_TIME},
    },
};

/// A journey that becomes a trip: its number, and that of its service.
pub(super) struct Chosen {
    journey: u32,
    service: u32,
    line: Text,
    /// What the vehicle shows as its destination at the start.
    headsign: Text,
}

impl Writer<'_, '_> {
    /// Chooses the journeys that GTFS can say, and tells why of the others.
    ///
    /// # Errors
    /// If their days take too much memory.
    pub(super) fn choose_trips(
        &mut self,
        services: &mut Services<'_>,
    ) -> Result<Vec<Chosen>, Error> {
        let publication = self.publication;
        let (mut chosen, mut calls, mut ids) = (Vec::new(), Vec::new(), HashSet::new());
        for (number, journey) in (0..).zip(&publication.journeys) {
            self.tables.go_on()?;
            let id = self.text(journey.id);
            if journey.is_cancelled {
                self.losses.push("ServiceJourney", "is planned not to run", Some(id));
            } else if let Err(fault) = calls::read(publication, &self.index, journey, &mut calls) {
                self.complain_of_calls(journey, fault);
            } else if let Some(line) = self.line_of(journey) {
                if !ids.insert(journey.id) {
                    let detail = "stands there twice; the first counts";
                    self.complain(journey.file, "duplicate_in_timetable", detail, journey.id);
                } else if let Some(service) = services.of(journey)? {
                    let headsign = self.headsign(journey, &calls);
                    chosen.push(Chosen { journey: number, service, line: line.id, headsign });
                } else {
                    self.complain_of_days(journey, services);
                }
            } else {
                let why = "names no line that is in the files, nor do its pattern and route";
                self.complain(journey.file, "journey_without_line", why, journey.id);
                self.losses.push("ServiceJourney", why, Some(id));
            }
        }
        Ok(chosen)
    }

    fn complain_of_calls(&mut self, journey: &Journey, fault: Fault) {
        let id = journey.id;
        let (code, why) = match fault {
            Fault::UnknownPattern => {
                self.leads_nowhere(journey.file, "JourneyPatternRef", id, journey.pattern);
                ("", "no file has its pattern")
            }
            Fault::UnknownPoint => {
                ("unmatched_passing_time", "has a time at a point that its pattern does not have")
            }
            // That is told already.
            Fault::UnreadTimes => ("", "has times that cannot be read"),
            Fault::NoTimes => {
                ("journey_without_times", "has no times, or none at its first or last call")
            }
            Fault::Windows => {
                ("journey_of_windows", "its times are windows, which is not translated")
            }
            Fault::DayBefore => {
                ("journey_of_the_day_before", "begins on the day before, which GTFS cannot say")
            }
            Fault::TooLong => ("too_many_calls", "has more calls than are taken"),
        };
        if !code.is_empty() {
            self.complain(journey.file, code, why, id);
        }
        let id = self.text(id);
        self.losses.push("ServiceJourney", why, Some(id));
    }

    /// Tells why a journey runs on no day.
    fn complain_of_days(&mut self, journey: &Journey, services: &Services<'_>) {
        let mut why = "runs on no day that is in the files";
        let day_types = self.publication.list(&journey.day_types);
        match day_types.iter().find(|&&id| !services.knows(id)) {
            Some(&day_type) => self.leads_nowhere(journey.file, "DayTypeRef", journey.id, day_type),
            // That is told already.
            None if services.has_unread_day(journey) => {
                why = "runs on no day that can be read";
            }
            None => self.complain(journey.file, "journey_without_days", why, journey.id),
        }
        let id = self.text(journey.id);
        self.losses.push("ServiceJourney", why, Some(id));
    }

    pub(super) fn write_trips(
        &mut self,
        trips: &[Chosen],
        services: &Services<'_>,
    ) -> Result<(), Error> {
        let [route, service, id] = ["route_id", "service_id", "trip_id"];
        let [headsign, short_name, direction] =
            ["trip_headsign", "trip_short_name", "direction_id"];
        self.tables.begin("trips.txt", &[route, service, id, headsign, short_name, direction])?;
        let publication = self.publication;
        for trip in trips {
            let journey = &publication.journeys[trip.journey as usize];
            let direction =
                self.direction_of(journey).map_or("", |it| if it == 0 { "0" } else { "1" });
            let number =
                find(&publication.train_numbers, &self.index.train_numbers, journey.train_number);
            let number = number.map_or(Text::EMPTY, |number| number.name);
            self.tables.row(&[
                self.text(trip.line),
                &services.rows[trip.service as usize].id,
                self.text(journey.id),
                self.text(trip.headsign),
                self.text(first_given(&[journey.public_code, number])),
                direction,
            ])?;
        }
        Ok(())
    }

    /// What the vehicle shows as its destination at the start.
    fn headsign(&self, journey: &Journey, calls: &[Call]) -> Text {
        let publication = self.publication;
        let pattern = find(&publication.patterns, &self.index.patterns, journey.pattern);
        let of_pattern = pattern.map_or(Text::EMPTY, |pattern| pattern.display);
        let at_start = calls.first().map_or(Text::EMPTY, |call| call.display);
        self.display(first_given(&[at_start, journey.display, of_pattern]))
    }

    fn display(&self, id: Text) -> Text {
        let display = find(&self.publication.displays, &self.index.displays, id);
        display.map_or(Text::EMPTY, |display| display.name)
    }

    fn direction_of(&self, journey: &Journey) -> Option<u8> {
        let publication = self.publication;
        let pattern = find(&publication.patterns, &self.index.patterns, journey.pattern);
        let route = |id: Text| find(&publication.routes, &self.index.routes, id)?.direction;
        let of_pattern =
            || pattern.and_then(|pattern| pattern.direction.or_else(|| route(pattern.route)));
        journey.direction.or_else(of_pattern).or_else(|| route(journey.route))
    }

    pub(super) fn write_stop_times(&mut self, trips: &[Chosen]) -> Result<(), Error> {
        self.tables.begin("stop_times.txt", &StopTimeRow::COLUMNS)?;
        let publication = self.publication;
        let (mut calls, mut n) = (Vec::new(), 0);
        for trip in trips {
            let journey = &publication.journeys[trip.journey as usize];
            if calls::read(publication, &self.index, journey, &mut calls).is_err() {
                calls.clear();
            }
            n += calls.len() as u64;
            if n > Limits::CALLS_IN_ALL {
                let detail = format!("its journeys have more than {} calls", Limits::CALLS_IN_ALL);
                return Err(Error::new(ErrorKind::TooLarge, detail));
            }
            let mut shown = trip.headsign;
            for (sequence, call) in (1..).zip(&calls) {
                if call.display != Text::EMPTY {
                    shown = self.display(call.display);
                }
                let headsign = if shown == trip.headsign { Text::EMPTY } else { shown };
                self.write_stop_time(journey, call, sequence, headsign)?;
            }
        }
        Ok(())
    }

    fn write_stop_time(
        &mut self,
        journey: &Journey,
        call: &Call,
        sequence: u32,
        headsign: Text,
    ) -> Result<(), Error> {
        let stop = self.stop_of.get(&call.stop_point).copied().unwrap_or(call.stop_point);
        let time = |time: i32| Some(time).filter(|&time| time != NO_TIME);
        let boarding = |may: bool| match (may, call.use_of.on_request) {
            (false, _) => Boarding::None,
            (true, true) => Boarding::AskDriver,
            (true, false) => Boarding::Regular,
        };
        self.tables.stop_time(&StopTimeRow {
            trip_id: self.text(journey.id),
            arrival: time(call.arrival),
            departure: time(call.departure),
            stop_id: self.text(stop),
            sequence,
            headsign: self.text(headsign),
            pickup: boarding(call.use_of.may_board),
            drop_off: boarding(call.use_of.may_alight),
        })
    }

    pub(super) fn write_frequencies(&mut self, trips: &[Chosen]) -> Result<(), Error> {
        let journeys = trips.iter().map(|trip| &self.publication.journeys[trip.journey as usize]);
        let repeated: Vec<&Journey> =
            journeys.filter(|journey| !journey.headways.is_empty()).collect();
        if repeated.is_empty() {
            return Ok(());
        }
        let columns = ["trip_id", "start_time", "end_time", "headway_secs"];
        self.tables.begin("frequencies.txt", &columns)?;
        for journey in repeated {
            for &(first, last, every) in &journey.headways {
                // In GTFS the end is no departure any more.
                let (start, end) = (clock(first), clock(last + 1));
                self.tables.row(&[self.text(journey.id), &start, &end, &every.to_string()])?;
            }
        }
        Ok(())
    }
}
