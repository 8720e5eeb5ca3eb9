//! Who runs what: organisations, networks, lines, routes, patterns with their points, and how long links take.

use std::ops::Range;

use super::{
    reader::Reader,
    record::{
        DemandType, Line, NO_TIME, Named, Network, Organisation, Pattern, PatternPoint, Route,
        StopUse, TimingLink,
    },
};
use crate::{Error, gtfs::Text};

impl Reader<'_, '_> {
    pub(super) fn organisation(&mut self) -> Result<(), Error> {
        self.count_bytes(size_of::<Organisation>())?;
        let mut organisation = Organisation { id: self.id(), ..Organisation::default() };
        while let Some(name) = self.xml.next_child()? {
            match name {
                "Name" => organisation.name = self.text_kept()?,
                "ShortName" => organisation.short_name = self.text_kept()?,
                "ContactDetails" | "CustomerServiceContactDetails" => {
                    while let Some(name) = self.xml.next_child()? {
                        match name {
                            "Url" => self.text_if_first(&mut organisation.url)?,
                            "Phone" => self.text_if_first(&mut organisation.phone)?,
                            "Email" => self.text_if_first(&mut organisation.email)?,
                            _ => self.xml.skip()?,
                        }
                    }
                }
                _ => self.xml.skip()?,
            }
        }
        self.out.organisations.push(organisation);
        Ok(())
    }

    /// Reads a `Network` or `GroupOfLines`, which may hold others, and lines.
    pub(super) fn network(&mut self) -> Result<(), Error> {
        self.count_bytes(size_of::<Network>())?;
        let mut network = Network { id: self.id(), ..Network::default() };
        let mut lines = Vec::new();
        while let Some(name) = self.xml.next_child()? {
            match name {
                "AuthorityRef" => network.authority = self.reference()?,
                "OperatorRef" | "TransportOrganisationRef" if network.authority == Text::EMPTY => {
                    network.authority = self.reference()?;
                }
                "members" => {
                    while let Some(name) = self.xml.next_child()? {
                        match name {
                            "LineRef" | "FlexibleLineRef" => lines.push(self.reference()?),
                            _ => self.xml.skip()?,
                        }
                    }
                }
                _ => self.walk()?,
            }
        }
        network.lines = self.keep_references(&lines)?;
        self.out.networks.push(network);
        Ok(())
    }

    pub(super) fn line(&mut self, element: &str) -> Result<(), Error> {
        self.count_bytes(size_of::<Line>())?;
        let mut line = Line { id: self.id(), file: self.file, ..Line::default() };
        if element == "FlexibleLine" {
            let why = "that it must be ordered is not translated";
            self.out.untranslated.push("FlexibleLine", why, Some(self.out.texts.get(line.id)));
        }
        while let Some(name) = self.xml.next_child()? {
            let place = match name {
                "Name" => &mut line.name,
                "ShortName" => &mut line.short_name,
                "PublicCode" => &mut line.public_code,
                "Description" => &mut line.description,
                "Url" => &mut line.url,
                "TransportMode" => &mut line.mode,
                "TransportSubmode" => &mut line.submode,
                "OperatorRef" => {
                    line.operator = self.reference()?;
                    continue;
                }
                "AuthorityRef" => {
                    line.authority = self.reference()?;
                    continue;
                }
                "RepresentedByGroupRef" => {
                    line.group = self.reference()?;
                    continue;
                }
                "Presentation" => {
                    self.presentation(&mut line)?;
                    continue;
                }
                "routes" => {
                    self.routes_of_line(line.id)?;
                    continue;
                }
                _ => {
                    self.xml.skip()?;
                    continue;
                }
            };
            *place = self.text_kept()?;
        }
        self.out.lines.push(line);
        Ok(())
    }

    /// Reads the routes that a line lists, or holds.
    fn routes_of_line(&mut self, line: Text) -> Result<(), Error> {
        while let Some(name) = self.xml.next_child()? {
            match name {
                "RouteRef" => {
                    self.count_bytes(size_of::<(Text, Text)>())?;
                    let route = self.reference()?;
                    self.out.line_of_route.push((route, line));
                }
                "Route" => self.route()?,
                _ => self.xml.skip()?,
            }
        }
        Ok(())
    }

    fn presentation(&mut self, line: &mut Line) -> Result<(), Error> {
        while let Some(name) = self.xml.next_child()? {
            match name {
                "Colour" => line.colour = self.text_kept()?,
                "TextColour" => line.text_colour = self.text_kept()?,
                _ => self.xml.skip()?,
            }
        }
        Ok(())
    }

    pub(super) fn route(&mut self) -> Result<(), Error> {
        self.count_bytes(size_of::<Route>())?;
        let mut route = Route { id: self.id(), ..Route::default() };
        while let Some(name) = self.xml.next_child()? {
            match name {
                "LineRef" | "FlexibleLineRef" => route.line = self.reference()?,
                "DirectionType" => route.direction = self.direction()?,
                _ => self.xml.skip()?,
            }
        }
        self.out.routes.push(route);
        Ok(())
    }

    pub(super) fn direction(&mut self) -> Result<Option<u8>, Error> {
        Ok(match &*self.text()? {
            "outbound" | "clockwise" => Some(0),
            "inbound" | "anticlockwise" => Some(1),
            _ => None,
        })
    }

    pub(super) fn destination_display(&mut self) -> Result<(), Error> {
        self.count_bytes(size_of::<Named>())?;
        let id = self.id();
        let (mut front, mut name_of) = (Text::EMPTY, Text::EMPTY);
        while let Some(name) = self.xml.next_child()? {
            match name {
                "FrontText" => front = self.text_kept()?,
                "Name" => name_of = self.text_kept()?,
                "vias" => {
                    let why = "GTFS has one text for where a trip goes";
                    self.out.untranslated.push("Via", why, Some(self.out.texts.get(id)));
                    self.xml.skip()?;
                }
                _ => self.xml.skip()?,
            }
        }
        let name = if front == Text::EMPTY { name_of } else { front };
        self.out.displays.push(Named { id, name });
        Ok(())
    }

    pub(super) fn train_number(&mut self) -> Result<(), Error> {
        self.count_bytes(size_of::<Named>())?;
        let (id, mut name_of) = (self.id(), Text::EMPTY);
        while let Some(name) = self.xml.next_child()? {
            match name {
                "ForAdvertisement" => name_of = self.text_kept()?,
                "ForProduction" => self.text_if_first(&mut name_of)?,
                _ => self.xml.skip()?,
            }
        }
        self.out.train_numbers.push(Named { id, name: name_of });
        Ok(())
    }

    pub(super) fn pattern(&mut self) -> Result<(), Error> {
        self.count_bytes(size_of::<Pattern>())?;
        let mut pattern = Pattern { id: self.id(), file: self.file, ..Pattern::default() };
        while let Some(name) = self.xml.next_child()? {
            match name {
                "RouteRef" => pattern.route = self.reference()?,
                "LineRef" | "FlexibleLineRef" => pattern.line = self.reference()?,
                "RouteView" => {
                    while let Some(name) = self.xml.next_child()? {
                        match name {
                            "LineRef" | "FlexibleLineRef" => pattern.line = self.reference()?,
                            _ => self.xml.skip()?,
                        }
                    }
                }
                "DestinationDisplayRef" => pattern.display = self.reference()?,
                "DirectionType" => pattern.direction = self.direction()?,
                "pointsInSequence" => pattern.points = self.points_in_sequence()?,
                _ => self.xml.skip()?,
            }
        }
        self.out.patterns.push(pattern);
        Ok(())
    }

    fn points_in_sequence(&mut self) -> Result<Range<u32>, Error> {
        let start = self.out.pattern_points.len();
        while let Some(name) = self.xml.next_child()? {
            let number = (self.out.pattern_points.len() - start) as u32;
            match name {
                "StopPointInJourneyPattern" => self.pattern_point(number, false)?,
                "TimingPointInJourneyPattern" => self.pattern_point(number, true)?,
                _ => self.xml.skip()?,
            }
        }
        let points = &mut self.out.pattern_points;
        if !points[start..].is_sorted_by_key(|point| point.order) {
            points[start..].sort_by_key(|point| point.order);
        }
        Ok(start as u32..points.len() as u32)
    }

    /// Reads a point of a pattern, the `number`th from 0, which may only be one to time.
    fn pattern_point(&mut self, number: u32, passes: bool) -> Result<(), Error> {
        self.count_bytes(size_of::<PatternPoint>())?;
        let order = self.xml.attribute("order").and_then(|order| order.parse().ok());
        let mut point = PatternPoint {
            id: self.id(),
            order: order.unwrap_or(number),
            stop_point: Text::EMPTY,
            display: Text::EMPTY,
            link: Text::EMPTY,
            use_of: StopUse { passes, ..StopUse::default() },
        };
        while let Some(name) = self.xml.next_child()? {
            match name {
                "ScheduledStopPointRef" | "TimingPointRef" => {
                    point.stop_point = self.reference()?
                }
                "DestinationDisplayRef" => point.display = self.reference()?,
                "OnwardTimingLinkRef" => point.link = self.reference()?,
                name => self.stop_use(name, &mut point.use_of)?,
            }
        }
        self.out.pattern_points.push(point);
        Ok(())
    }

    /// Reads one of the fields that say what riders may do at a call.
    pub(super) fn stop_use(&mut self, name: &str, use_of: &mut StopUse) -> Result<(), Error> {
        match name {
            "ForBoarding" => use_of.may_board = self.flag()?.unwrap_or(true),
            "ForAlighting" => use_of.may_alight = self.flag()?.unwrap_or(true),
            "RequestStop" => use_of.on_request = self.flag()?.unwrap_or(false),
            "StopUse" => match &*self.text()? {
                "passthrough" => use_of.passes = true,
                "noBoardingOrAlighting" => (use_of.may_board, use_of.may_alight) = (false, false),
                _ => {}
            },
            _ => self.xml.skip()?,
        }
        Ok(())
    }

    pub(super) fn timing_link(&mut self) -> Result<(), Error> {
        self.count_bytes(size_of::<TimingLink>())?;
        let mut link = TimingLink { id: self.id(), ..TimingLink::default() };
        while let Some(name) = self.xml.next_child()? {
            match name {
                "FromPointRef" => link.from = self.reference()?,
                "ToPointRef" => link.to = self.reference()?,
                _ => self.xml.skip()?,
            }
        }
        self.out.timing_links.push(link);
        Ok(())
    }

    pub(super) fn demand_type(&mut self) -> Result<(), Error> {
        self.count_bytes(size_of::<DemandType>())?;
        let mut demand_type = DemandType { id: self.id(), ..DemandType::default() };
        while let Some(name) = self.xml.next_child()? {
            match name {
                "runTimes" => demand_type.runs = self.durations()?,
                "waitTimes" => demand_type.waits = self.durations()?,
                _ => self.xml.skip()?,
            }
        }
        self.out.demand_types.push(demand_type);
        Ok(())
    }

    /// Reads how long links take, or how long one waits at points.
    fn durations(&mut self) -> Result<Range<u32>, Error> {
        let start = self.out.durations.len() as u32;
        while self.xml.next_child()?.is_some() {
            let (mut of, mut seconds, n_unread) = (Text::EMPTY, None, self.n_unread());
            while let Some(name) = self.xml.next_child()? {
                match name {
                    "TimingLinkRef" | "ScheduledStopPointRef" | "TimingPointRef" => {
                        of = self.reference()?;
                    }
                    "RunTime" | "WaitTime" => seconds = self.duration()?,
                    _ => self.xml.skip()?,
                }
            }
            let unread = Some(NO_TIME).filter(|_| self.n_unread() > n_unread);
            if let Some(seconds) = seconds.or(unread) {
                self.count_bytes(size_of::<(Text, i32)>())?;
                self.out.durations.push((of, seconds));
            }
        }
        Ok(start..self.out.durations.len() as u32)
    }
}
