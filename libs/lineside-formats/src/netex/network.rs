//! Reads organisations, networks, lines, routes, patterns with their points, and running times.

use std::ops::Range;

use super::{
    reader::PublicationReader,
    record::{
        IdAndName, JourneyPattern, Line, LineNetwork, LineRoute, NO_TIME, Organisation,
        PatternPoint, StopBoardingRules, TimeDemandType, TimingLink,
    },
};
use crate::{Error, gtfs::TextId};

impl PublicationReader<'_, '_> {
    pub(super) fn read_organisation(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<Organisation>())?;
        let mut organisation =
            Organisation { id: self.intern_element_id(), ..Organisation::default() };
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "Name" => organisation.name = self.read_interned_text()?,
                "ShortName" => organisation.short_name = self.read_interned_text()?,
                "ContactDetails" | "CustomerServiceContactDetails" => {
                    while let Some(name) = self.xml.open_next_child()? {
                        match name {
                            "Url" => self.read_text_if_unset(&mut organisation.url)?,
                            "Phone" => self.read_text_if_unset(&mut organisation.phone)?,
                            "Email" => self.read_text_if_unset(&mut organisation.email)?,
                            _ => self.xml.skip_element()?,
                        }
                    }
                }
                _ => self.xml.skip_element()?,
            }
        }
        self.out.organisations.push(organisation);
        Ok(())
    }

    /// Reads a `Network` or `GroupOfLines`, which may contain others, and lines.
    pub(super) fn read_network(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<LineNetwork>())?;
        let mut network = LineNetwork { id: self.intern_element_id(), ..LineNetwork::default() };
        let mut lines = Vec::new();
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "AuthorityRef" => network.authority = self.read_reference()?,
                "OperatorRef" | "TransportOrganisationRef"
                    if network.authority == TextId::EMPTY =>
                {
                    network.authority = self.read_reference()?;
                }
                "members" => {
                    while let Some(name) = self.xml.open_next_child()? {
                        match name {
                            "LineRef" | "FlexibleLineRef" => lines.push(self.read_reference()?),
                            _ => self.xml.skip_element()?,
                        }
                    }
                }
                _ => self.read_child_members()?,
            }
        }
        network.lines = self.store_references(&lines)?;
        self.out.networks.push(network);
        Ok(())
    }

    pub(super) fn read_line(&mut self, element: &str) -> Result<(), Error> {
        self.count_record_bytes(size_of::<Line>())?;
        let mut line = Line { id: self.intern_element_id(), file: self.file, ..Line::default() };
        if element == "FlexibleLine" {
            let why = "booking arrangements are not converted";
            self.out.untranslated.record_dropped_object(
                "FlexibleLine",
                why,
                Some(self.out.texts.get(line.id)),
            );
        }
        while let Some(name) = self.xml.open_next_child()? {
            let place = match name {
                "Name" => &mut line.name,
                "ShortName" => &mut line.short_name,
                "PublicCode" => &mut line.public_code,
                "Description" => &mut line.description,
                "Url" => &mut line.url,
                "TransportMode" => &mut line.mode,
                "TransportSubmode" => &mut line.submode,
                "OperatorRef" => {
                    line.operator = self.read_reference()?;
                    continue;
                }
                "AuthorityRef" => {
                    line.authority = self.read_reference()?;
                    continue;
                }
                "RepresentedByGroupRef" => {
                    line.group = self.read_reference()?;
                    continue;
                }
                "Presentation" => {
                    self.read_line_presentation(&mut line)?;
                    continue;
                }
                "routes" => {
                    self.read_line_routes(line.id)?;
                    continue;
                }
                _ => {
                    self.xml.skip_element()?;
                    continue;
                }
            };
            *place = self.read_interned_text()?;
        }
        self.out.lines.push(line);
        Ok(())
    }

    /// Reads the routes that a line refers to or contains.
    fn read_line_routes(&mut self, line: TextId) -> Result<(), Error> {
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "RouteRef" => {
                    self.count_record_bytes(size_of::<(TextId, TextId)>())?;
                    let route = self.read_reference()?;
                    self.out.line_of_route.push((route, line));
                }
                "Route" => self.read_route()?,
                _ => self.xml.skip_element()?,
            }
        }
        Ok(())
    }

    fn read_line_presentation(&mut self, line: &mut Line) -> Result<(), Error> {
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "Colour" => line.colour = self.read_interned_text()?,
                "TextColour" => line.text_colour = self.read_interned_text()?,
                _ => self.xml.skip_element()?,
            }
        }
        Ok(())
    }

    pub(super) fn read_route(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<LineRoute>())?;
        let mut route = LineRoute { id: self.intern_element_id(), ..LineRoute::default() };
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "LineRef" | "FlexibleLineRef" => route.line = self.read_reference()?,
                "DirectionType" => route.direction = self.read_direction_type()?,
                _ => self.xml.skip_element()?,
            }
        }
        self.out.routes.push(route);
        Ok(())
    }

    pub(super) fn read_direction_type(&mut self) -> Result<Option<u8>, Error> {
        Ok(match &*self.read_text()? {
            "outbound" | "clockwise" => Some(0),
            "inbound" | "anticlockwise" => Some(1),
            _ => None,
        })
    }

    pub(super) fn read_destination_display(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<IdAndName>())?;
        let id = self.intern_element_id();
        let (mut front, mut name_of) = (TextId::EMPTY, TextId::EMPTY);
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "FrontText" => front = self.read_interned_text()?,
                "Name" => name_of = self.read_interned_text()?,
                "vias" => {
                    let why = "GTFS has only one destination text per trip";
                    self.out.untranslated.record_dropped_object(
                        "Via",
                        why,
                        Some(self.out.texts.get(id)),
                    );
                    self.xml.skip_element()?;
                }
                _ => self.xml.skip_element()?,
            }
        }
        let name = if front == TextId::EMPTY { name_of } else { front };
        self.out.displays.push(IdAndName { id, name });
        Ok(())
    }

    pub(super) fn read_train_number(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<IdAndName>())?;
        let (id, mut name_of) = (self.intern_element_id(), TextId::EMPTY);
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "ForAdvertisement" => name_of = self.read_interned_text()?,
                "ForProduction" => self.read_text_if_unset(&mut name_of)?,
                _ => self.xml.skip_element()?,
            }
        }
        self.out.train_numbers.push(IdAndName { id, name: name_of });
        Ok(())
    }

    pub(super) fn read_journey_pattern(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<JourneyPattern>())?;
        let mut pattern = JourneyPattern {
            id: self.intern_element_id(),
            file: self.file,
            ..JourneyPattern::default()
        };
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "RouteRef" => pattern.route = self.read_reference()?,
                "LineRef" | "FlexibleLineRef" => pattern.line = self.read_reference()?,
                "RouteView" => {
                    while let Some(name) = self.xml.open_next_child()? {
                        match name {
                            "LineRef" | "FlexibleLineRef" => {
                                pattern.line = self.read_reference()?
                            }
                            _ => self.xml.skip_element()?,
                        }
                    }
                }
                "DestinationDisplayRef" => pattern.display = self.read_reference()?,
                "DirectionType" => pattern.direction = self.read_direction_type()?,
                "pointsInSequence" => pattern.points = self.read_points_in_sequence()?,
                _ => self.xml.skip_element()?,
            }
        }
        self.out.patterns.push(pattern);
        Ok(())
    }

    fn read_points_in_sequence(&mut self) -> Result<Range<u32>, Error> {
        let start = self.out.pattern_points.len();
        while let Some(name) = self.xml.open_next_child()? {
            let number = (self.out.pattern_points.len() - start) as u32;
            match name {
                "StopPointInJourneyPattern" => self.read_pattern_point(number, false)?,
                "TimingPointInJourneyPattern" => self.read_pattern_point(number, true)?,
                _ => self.xml.skip_element()?,
            }
        }
        let points = &mut self.out.pattern_points;
        if !points[start..].is_sorted_by_key(|point| point.order) {
            points[start..].sort_by_key(|point| point.order);
        }
        Ok(start as u32..points.len() as u32)
    }

    /// Reads the point of a pattern with index `number`; with `passes` it is a timing point without a stop.
    fn read_pattern_point(&mut self, number: u32, passes: bool) -> Result<(), Error> {
        self.count_record_bytes(size_of::<PatternPoint>())?;
        let order = self.xml.attribute("order").and_then(|order| order.parse().ok());
        let mut point = PatternPoint {
            id: self.intern_element_id(),
            order: order.unwrap_or(number),
            stop_point: TextId::EMPTY,
            display: TextId::EMPTY,
            link: TextId::EMPTY,
            use_of: StopBoardingRules { passes, ..StopBoardingRules::default() },
        };
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "ScheduledStopPointRef" | "TimingPointRef" => {
                    point.stop_point = self.read_reference()?
                }
                "DestinationDisplayRef" => point.display = self.read_reference()?,
                "OnwardTimingLinkRef" => point.link = self.read_reference()?,
                name => self.read_stop_boarding_rule(name, &mut point.use_of)?,
            }
        }
        self.out.pattern_points.push(point);
        Ok(())
    }

    /// Reads a field about boarding, alighting or stopping at a call.
    pub(super) fn read_stop_boarding_rule(
        &mut self,
        name: &str,
        use_of: &mut StopBoardingRules,
    ) -> Result<(), Error> {
        match name {
            "ForBoarding" => use_of.may_board = self.read_boolean()?.unwrap_or(true),
            "ForAlighting" => use_of.may_alight = self.read_boolean()?.unwrap_or(true),
            "RequestStop" => use_of.on_request = self.read_boolean()?.unwrap_or(false),
            "StopUse" => match &*self.read_text()? {
                "passthrough" => use_of.passes = true,
                "noBoardingOrAlighting" => (use_of.may_board, use_of.may_alight) = (false, false),
                _ => {}
            },
            _ => self.xml.skip_element()?,
        }
        Ok(())
    }

    pub(super) fn read_timing_link(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<TimingLink>())?;
        let mut link = TimingLink { id: self.intern_element_id(), ..TimingLink::default() };
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "FromPointRef" => link.from = self.read_reference()?,
                "ToPointRef" => link.to = self.read_reference()?,
                _ => self.xml.skip_element()?,
            }
        }
        self.out.timing_links.push(link);
        Ok(())
    }

    pub(super) fn read_time_demand_type(&mut self) -> Result<(), Error> {
        self.count_record_bytes(size_of::<TimeDemandType>())?;
        let mut demand_type =
            TimeDemandType { id: self.intern_element_id(), ..TimeDemandType::default() };
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "runTimes" => demand_type.runs = self.read_run_or_wait_times()?,
                "waitTimes" => demand_type.waits = self.read_run_or_wait_times()?,
                _ => self.xml.skip_element()?,
            }
        }
        self.out.demand_types.push(demand_type);
        Ok(())
    }

    /// Reads run times of links, or wait times at points.
    fn read_run_or_wait_times(&mut self) -> Result<Range<u32>, Error> {
        let start = self.out.durations.len() as u32;
        while self.xml.open_next_child()?.is_some() {
            let (mut of, mut seconds, n_unread) =
                (TextId::EMPTY, None, self.unreadable_value_count());
            while let Some(name) = self.xml.open_next_child()? {
                match name {
                    "TimingLinkRef" | "ScheduledStopPointRef" | "TimingPointRef" => {
                        of = self.read_reference()?;
                    }
                    "RunTime" | "WaitTime" => seconds = self.read_duration_seconds()?,
                    _ => self.xml.skip_element()?,
                }
            }
            let unread = Some(NO_TIME).filter(|_| self.unreadable_value_count() > n_unread);
            if let Some(seconds) = seconds.or(unread) {
                self.count_record_bytes(size_of::<(TextId, i32)>())?;
                self.out.durations.push((of, seconds));
            }
        }
        Ok(start..self.out.durations.len() as u32)
    }
}
