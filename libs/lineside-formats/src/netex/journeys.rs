//! Reads journeys with their times, and the days of dated journeys.

use std::ops::Range;

use super::{
    reader::PublicationReader,
    record::{DatedServiceJourney, NO_TIME, PassingTime, ServiceJourney},
    values::DAY_SECONDS,
};
use crate::{Error, gtfs::TextId};

/// Maximum day offset of a time within a journey: the range of GTFS times.
const DAY_OFFSET_MAX: i32 = 40;

impl PassingTime {
    fn new() -> PassingTime {
        PassingTime {
            point: TextId::EMPTY,
            stop_point: TextId::EMPTY,
            arrival: NO_TIME,
            departure: NO_TIME,
            has_unread_time: false,
            has_offset: false,
            is_window: false,
            use_of: None,
        }
    }
}

impl ServiceJourney {
    fn new(id: TextId, file: u32) -> ServiceJourney {
        ServiceJourney {
            id,
            pattern: TextId::EMPTY,
            line: TextId::EMPTY,
            route: TextId::EMPTY,
            operator: TextId::EMPTY,
            mode: TextId::EMPTY,
            public_code: TextId::EMPTY,
            train_number: TextId::EMPTY,
            display: TextId::EMPTY,
            direction: None,
            day_types: 0..0,
            conditions: 0..0,
            times: 0..0,
            demand_type: TextId::EMPTY,
            departure: NO_TIME,
            has_unread_start: false,
            headways: Vec::new(),
            is_cancelled: false,
            file,
        }
    }
}

impl PublicationReader<'_, '_> {
    pub(super) fn read_service_journey(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<ServiceJourney>())?;
        let mut journey = ServiceJourney::new(self.intern_element_id(), self.file);
        let mut offset = 0;
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "DepartureTime" => {
                    journey.departure =
                        self.read_time_flagging_unreadable(&mut journey.has_unread_start)?;
                }
                "DepartureDayOffset" => offset = self.read_day_offset()?,
                "passingTimes" => {
                    journey.times = self.read_passing_times("TimetabledPassingTime")?
                }
                "calls" => journey.times = self.read_passing_times("Call")?,
                "dayTypes" => journey.day_types = self.read_references("DayTypeRef")?,
                "validityConditions" => journey.conditions = self.read_journey_conditions()?,
                "frequencyGroups" => self.read_frequency_groups(&mut journey)?,
                "trainNumbers" => {
                    let numbers = self.read_references("TrainNumberRef")?;
                    let first = self.out.references_in(&numbers).first().copied();
                    journey.train_number = first.unwrap_or_default();
                }
                "ServiceAlteration" => {
                    journey.is_cancelled = is_cancelling_alteration(&self.read_text()?)
                }
                name => self.read_journey_reference_field(name, &mut journey)?,
            }
        }
        if journey.departure != NO_TIME {
            journey.departure += offset * DAY_SECONDS;
        }
        self.out.journeys.push(journey);
        Ok(())
    }

    /// Reads a field of a journey that refers to another object.
    fn read_journey_reference_field(
        &mut self,
        name: &str,
        journey: &mut ServiceJourney,
    ) -> Result<(), Error> {
        match name {
            "JourneyPatternRef" | "ServiceJourneyPatternRef" | "ServicePatternRef" => {
                journey.pattern = self.read_reference()?;
            }
            "JourneyPatternView" => {
                while let Some(name) = self.xml.open_next_child()? {
                    match name {
                        "DirectionType" => journey.direction = self.read_direction_type()?,
                        "LineRef" | "RouteRef" => {
                            self.read_journey_reference_field(name, journey)?
                        }
                        name if name.ends_with("PatternRef") => {
                            journey.pattern = self.read_reference()?
                        }
                        _ => self.xml.skip_element()?,
                    }
                }
            }
            "LineRef" | "FlexibleLineRef" => journey.line = self.read_reference()?,
            "RouteRef" => journey.route = self.read_reference()?,
            "OperatorRef" => journey.operator = self.read_reference()?,
            "TimeDemandTypeRef" => journey.demand_type = self.read_reference()?,
            "DestinationDisplayRef" => journey.display = self.read_reference()?,
            "DirectionType" => journey.direction = self.read_direction_type()?,
            "TransportMode" => journey.mode = self.read_interned_text()?,
            "PublicCode" => journey.public_code = self.read_interned_text()?,
            _ => self.xml.skip_element()?,
        }
        Ok(())
    }

    /// Reads the conditions that a journey refers to or contains.
    fn read_journey_conditions(&mut self) -> Result<Range<u32>, Error> {
        let mut found = Vec::new();
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "AvailabilityCondition" | "ValidBetween" => {
                    found.push(
                        self.read_nested_object(PublicationReader::read_availability_condition)?,
                    );
                }
                "AvailabilityConditionRef" | "ValidityConditionRef" => {
                    found.push(self.read_reference()?);
                }
                _ => self.xml.skip_element()?,
            }
        }
        self.store_references(&found)
    }

    fn read_passing_times(&mut self, element: &str) -> Result<Range<u32>, Error> {
        let start = self.out.passing_times.len() as u32;
        while let Some(name) = self.xml.open_next_child()? {
            if name == element { self.read_passing_time()? } else { self.xml.skip_element()? }
        }
        Ok(start..self.out.passing_times.len() as u32)
    }

    /// Reads a `TimetabledPassingTime` or a `Call`.
    fn read_passing_time(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<PassingTime>())?;
        let mut time = PassingTime::new();
        let (mut arrival_days, mut departure_days) = (None, None);
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "DepartureTime" => {
                    time.departure =
                        self.read_time_flagging_unreadable(&mut time.has_unread_time)?
                }
                "ArrivalTime" => {
                    time.arrival = self.read_time_flagging_unreadable(&mut time.has_unread_time)?
                }
                name if name.ends_with("PointInJourneyPatternRef") => {
                    time.point = self.read_reference()?;
                }
                "DepartureDayOffset" => departure_days = Some(self.read_day_offset()?),
                "ArrivalDayOffset" => arrival_days = Some(self.read_day_offset()?),
                "EarliestDepartureTime" | "LatestArrivalTime" => {
                    time.is_window = true;
                    self.xml.skip_element()?;
                }
                "ScheduledStopPointRef" => time.stop_point = self.read_reference()?,
                "Arrival" => {
                    (time.arrival, arrival_days) = self.read_arrival_or_departure(&mut time)?
                }
                "Departure" => {
                    (time.departure, departure_days) = self.read_arrival_or_departure(&mut time)?
                }
                _ => self.xml.skip_element()?,
            }
        }
        time.has_offset = arrival_days.is_some() || departure_days.is_some();
        // A time without a day is on the same day as the other, or the stop lasts over midnight.
        let is_over_midnight = time.arrival > time.departure && time.departure != NO_TIME;
        let over = i32::from(is_over_midnight);
        let (arrival_days, departure_days) = (
            arrival_days.or(departure_days.map(|days| days - over)),
            departure_days.or(arrival_days.map(|days| days + over)),
        );
        for (time, days) in
            [(&mut time.arrival, arrival_days), (&mut time.departure, departure_days)]
        {
            if *time != NO_TIME {
                *time += days.unwrap_or(0) * DAY_SECONDS;
            }
        }
        self.out.passing_times.push(time);
        Ok(())
    }

    /// Reads the arrival or the departure of a call: its time, and its day offset if there is one.
    fn read_arrival_or_departure(
        &mut self,
        call: &mut PassingTime,
    ) -> Result<(i32, Option<i32>), Error> {
        let (mut time, mut days) = (NO_TIME, None);
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "Time" => time = self.read_time_flagging_unreadable(&mut call.has_unread_time)?,
                "DayOffset" => days = Some(self.read_day_offset()?),
                "ForBoarding" | "ForAlighting" => {
                    self.read_stop_boarding_rule(name, call.use_of.get_or_insert_default())?;
                }
                _ => self.xml.skip_element()?,
            }
        }
        Ok((time, days))
    }

    fn read_day_offset(&mut self) -> Result<i32, Error> {
        Ok(self.read_integer()?.unwrap_or(0).clamp(-1, DAY_OFFSET_MAX))
    }

    fn read_frequency_groups(&mut self, journey: &mut ServiceJourney) -> Result<(), Error> {
        let n_unread = self.unreadable_value_count();
        while self.xml.open_next_child()?.is_some() {
            let (mut first, mut last, mut every) = (NO_TIME, NO_TIME, None);
            while let Some(name) = self.xml.open_next_child()? {
                match name {
                    "FirstDepartureTime" => first = self.read_time()?,
                    "LastDepartureTime" => last = self.read_time()?,
                    "ScheduledHeadwayInterval" => every = self.read_duration_seconds()?,
                    _ => self.xml.skip_element()?,
                }
            }
            if let Some(every) =
                every.filter(|&every| every > 0 && first != NO_TIME && last != NO_TIME)
            {
                self.count_record_bytes(size_of::<(i32, i32, i32)>())?;
                // A group that ends at an earlier time of day ends on the next day.
                let last = if last < first { last + DAY_SECONDS } else { last };
                journey.headways.push((first, last, every));
            }
        }
        journey.has_unread_start |= self.unreadable_value_count() > n_unread;
        Ok(())
    }

    pub(super) fn read_dated_journey(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<DatedServiceJourney>())?;
        let mut dated = DatedServiceJourney {
            id: self.intern_element_id(),
            file: self.file,
            ..DatedServiceJourney::default()
        };
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "ServiceJourneyRef" => dated.journey = self.read_reference()?,
                "OperatingDayRef" => dated.day = self.read_reference()?,
                "ServiceAlteration" => {
                    dated.is_cancelled = is_cancelling_alteration(&self.read_text()?)
                }
                _ => self.xml.skip_element()?,
            }
        }
        self.out.dated_journeys.push(dated);
        Ok(())
    }
}

/// Returns true if an alteration means that the journey does not run.
fn is_cancelling_alteration(alteration: &str) -> bool {
    matches!(alteration, "cancellation" | "replaced")
}
