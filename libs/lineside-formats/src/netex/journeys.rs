//! Journeys with their times, and on which days dated ones run.

use std::ops::Range;

use super::{
    reader::Reader,
    record::{DatedJourney, Journey, NO_TIME, PassingTime},
    values::DAY_SECONDS,
};
use crate::{Error, gtfs::Text};

/// The furthest that a time may be from its journey's first day, in days: the reach of GTFS's times.
const DAY_OFFSET_MAX: i32 = 40;

impl PassingTime {
    fn new() -> PassingTime {
        PassingTime {
            point: Text::EMPTY,
            stop_point: Text::EMPTY,
            arrival: NO_TIME,
            departure: NO_TIME,
            has_unread_time: false,
            has_offset: false,
            is_window: false,
            use_of: None,
        }
    }
}

impl Journey {
    fn new(id: Text, file: u32) -> Journey {
        Journey {
            id,
            pattern: Text::EMPTY,
            line: Text::EMPTY,
            route: Text::EMPTY,
            operator: Text::EMPTY,
            mode: Text::EMPTY,
            public_code: Text::EMPTY,
            train_number: Text::EMPTY,
            display: Text::EMPTY,
            direction: None,
            day_types: 0..0,
            conditions: 0..0,
            times: 0..0,
            demand_type: Text::EMPTY,
            departure: NO_TIME,
            has_unread_start: false,
            headways: Vec::new(),
            is_cancelled: false,
            file,
        }
    }
}

impl Reader<'_, '_> {
    pub(super) fn service_journey(&mut self) -> Result<(), Error> {
        self.count_bytes(size_of::<Journey>())?;
        let mut journey = Journey::new(self.id(), self.file);
        let mut offset = 0;
        while let Some(name) = self.xml.next_child()? {
            match name {
                "DepartureTime" => {
                    journey.departure = self.time_or(&mut journey.has_unread_start)?;
                }
                "DepartureDayOffset" => offset = self.day_offset()?,
                "passingTimes" => journey.times = self.passing_times("TimetabledPassingTime")?,
                "calls" => journey.times = self.passing_times("Call")?,
                "dayTypes" => journey.day_types = self.references("DayTypeRef")?,
                "validityConditions" => journey.conditions = self.conditions()?,
                "frequencyGroups" => self.frequency_groups(&mut journey)?,
                "trainNumbers" => {
                    let numbers = self.references("TrainNumberRef")?;
                    let first = self.out.list(&numbers).first().copied();
                    journey.train_number = first.unwrap_or_default();
                }
                "ServiceAlteration" => journey.is_cancelled = is_cancelled(&self.text()?),
                name => self.journey_field(name, &mut journey)?,
            }
        }
        if journey.departure != NO_TIME {
            journey.departure += offset * DAY_SECONDS;
        }
        self.out.journeys.push(journey);
        Ok(())
    }

    /// Reads a field of a journey that names something else.
    fn journey_field(&mut self, name: &str, journey: &mut Journey) -> Result<(), Error> {
        match name {
            "JourneyPatternRef" | "ServiceJourneyPatternRef" | "ServicePatternRef" => {
                journey.pattern = self.reference()?;
            }
            "JourneyPatternView" => {
                while let Some(name) = self.xml.next_child()? {
                    match name {
                        "DirectionType" => journey.direction = self.direction()?,
                        "LineRef" | "RouteRef" => self.journey_field(name, journey)?,
                        name if name.ends_with("PatternRef") => {
                            journey.pattern = self.reference()?
                        }
                        _ => self.xml.skip()?,
                    }
                }
            }
            "LineRef" | "FlexibleLineRef" => journey.line = self.reference()?,
            "RouteRef" => journey.route = self.reference()?,
            "OperatorRef" => journey.operator = self.reference()?,
            "TimeDemandTypeRef" => journey.demand_type = self.reference()?,
            "DestinationDisplayRef" => journey.display = self.reference()?,
            "DirectionType" => journey.direction = self.direction()?,
            "TransportMode" => journey.mode = self.text_kept()?,
            "PublicCode" => journey.public_code = self.text_kept()?,
            _ => self.xml.skip()?,
        }
        Ok(())
    }

    /// Conditions that a journey names or holds itself.
    fn conditions(&mut self) -> Result<Range<u32>, Error> {
        let mut found = Vec::new();
        while let Some(name) = self.xml.next_child()? {
            match name {
                "AvailabilityCondition" | "ValidBetween" => {
                    found.push(self.within(Reader::condition)?);
                }
                "AvailabilityConditionRef" | "ValidityConditionRef" => {
                    found.push(self.reference()?);
                }
                _ => self.xml.skip()?,
            }
        }
        self.keep_references(&found)
    }

    fn passing_times(&mut self, element: &str) -> Result<Range<u32>, Error> {
        let start = self.out.passing_times.len() as u32;
        while let Some(name) = self.xml.next_child()? {
            if name == element { self.passing_time()? } else { self.xml.skip()? }
        }
        Ok(start..self.out.passing_times.len() as u32)
    }

    /// Reads a `TimetabledPassingTime` or a `Call`.
    fn passing_time(&mut self) -> Result<(), Error> {
        self.count_bytes(size_of::<PassingTime>())?;
        let mut time = PassingTime::new();
        let (mut arrival_days, mut departure_days) = (None, None);
        while let Some(name) = self.xml.next_child()? {
            match name {
                "DepartureTime" => time.departure = self.time_or(&mut time.has_unread_time)?,
                "ArrivalTime" => time.arrival = self.time_or(&mut time.has_unread_time)?,
                name if name.ends_with("PointInJourneyPatternRef") => {
                    time.point = self.reference()?;
                }
                "DepartureDayOffset" => departure_days = Some(self.day_offset()?),
                "ArrivalDayOffset" => arrival_days = Some(self.day_offset()?),
                "EarliestDepartureTime" | "LatestArrivalTime" => {
                    time.is_window = true;
                    self.xml.skip()?;
                }
                "ScheduledStopPointRef" => time.stop_point = self.reference()?,
                "Arrival" => (time.arrival, arrival_days) = self.half_of_call(&mut time)?,
                "Departure" => (time.departure, departure_days) = self.half_of_call(&mut time)?,
                _ => self.xml.skip()?,
            }
        }
        time.has_offset = arrival_days.is_some() || departure_days.is_some();
        // Where only one of the two says its day, the other is on the same, or the stop is over midnight.
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

    /// Reads the arrival or the departure of a call: its time, and its day where that is said.
    fn half_of_call(&mut self, call: &mut PassingTime) -> Result<(i32, Option<i32>), Error> {
        let (mut time, mut days) = (NO_TIME, None);
        while let Some(name) = self.xml.next_child()? {
            match name {
                "Time" => time = self.time_or(&mut call.has_unread_time)?,
                "DayOffset" => days = Some(self.day_offset()?),
                "ForBoarding" | "ForAlighting" => {
                    self.stop_use(name, call.use_of.get_or_insert_default())?;
                }
                _ => self.xml.skip()?,
            }
        }
        Ok((time, days))
    }

    fn day_offset(&mut self) -> Result<i32, Error> {
        Ok(self.integer()?.unwrap_or(0).clamp(-1, DAY_OFFSET_MAX))
    }

    fn frequency_groups(&mut self, journey: &mut Journey) -> Result<(), Error> {
        let n_unread = self.n_unread();
        while self.xml.next_child()?.is_some() {
            let (mut first, mut last, mut every) = (NO_TIME, NO_TIME, None);
            while let Some(name) = self.xml.next_child()? {
                match name {
                    "FirstDepartureTime" => first = self.time()?,
                    "LastDepartureTime" => last = self.time()?,
                    "ScheduledHeadwayInterval" => every = self.duration()?,
                    _ => self.xml.skip()?,
                }
            }
            if let Some(every) =
                every.filter(|&every| every > 0 && first != NO_TIME && last != NO_TIME)
            {
                self.count_bytes(size_of::<(i32, i32, i32)>())?;
                // A group that ends at an earlier time of day ends on the next day.
                let last = if last < first { last + DAY_SECONDS } else { last };
                journey.headways.push((first, last, every));
            }
        }
        journey.has_unread_start |= self.n_unread() > n_unread;
        Ok(())
    }

    pub(super) fn dated_journey(&mut self) -> Result<(), Error> {
        self.count_bytes(size_of::<DatedJourney>())?;
        let mut dated = DatedJourney { id: self.id(), file: self.file, ..DatedJourney::default() };
        while let Some(name) = self.xml.next_child()? {
            match name {
                "ServiceJourneyRef" => dated.journey = self.reference()?,
                "OperatingDayRef" => dated.day = self.reference()?,
                "ServiceAlteration" => dated.is_cancelled = is_cancelled(&self.text()?),
                _ => self.xml.skip()?,
            }
        }
        self.out.dated_journeys.push(dated);
        Ok(())
    }
}

/// Whether an alteration means that the journey does not run.
fn is_cancelled(alteration: &str) -> bool {
    matches!(alteration, "cancellation" | "replaced")
}
