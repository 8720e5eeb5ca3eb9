//! A question, however it was put: as parameters of an address, or as an element of a request.

use std::collections::BTreeSet;
use std::time::Duration;

use lineside_formats::siri::{
    EstimatedTimetableRequest, LinesRequest, Seconds, SituationExchangeRequest,
    StopMonitoringRequest, StopPointsRequest, Time, VehicleMonitoringRequest,
};
use lineside_ingest::NetworkState;
use lineside_ingest::siri::{Ref, RefFault, RefKind, Service, Wanted, is_known, resolve};

use super::fault::Fault;
use super::scene::Scene;
use crate::http::limits::{SIRI_PREVIEW_MAX, SIRI_REF_BYTES_MAX, SIRI_REFS_MAX, SIRI_VISITS_MAX};
use crate::http::parameters::Parameters;

/// What is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    /// Journeys, vehicles or situations.
    Records(Service),
    /// Visits of a stop.
    Visits,
    /// Which lines there are.
    Lines,
    /// Which stops there are.
    StopPoints,
}

/// A question as it was put; references still mean nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Asked {
    pub(super) datasets: Vec<String>,
    pub(super) excluded: Vec<String>,
    pub(super) lines: Vec<String>,
    pub(super) direction: Option<String>,
    pub(super) operators: Vec<String>,
    pub(super) vehicles: Vec<String>,
    pub(super) stops: Vec<String>,
    pub(super) monitoring_ref: Option<String>,
    pub(super) destination: Option<String>,
    pub(super) preview: Option<Seconds>,
    pub(super) start: Option<Time>,
    pub(super) most: Option<u32>,
    pub(super) least_per_line: Option<u32>,
    /// What the one who asks calls the question.
    pub(super) message_ref: Option<String>,
}

impl Asked {
    /// Reads the parameters of an address; capitals of their names do not matter.
    pub(super) fn of_parameters(parameters: &Parameters) -> Result<Self, Fault> {
        let texts = |name| texts(parameters, name);
        let text = |name| texts(name).map(|texts| texts.into_iter().next());
        let number = |name: &str| {
            let text = parameters.one_of_any_case(name);
            let number = text.map(|text| text.parse::<u32>().map_err(|_| text)).transpose();
            number.map_err(|text| Fault::bad(format!("{name}: {text:?} is no whole number")))
        };
        Ok(Self {
            datasets: texts("DatasetId")?,
            excluded: listed("ExcludedDatasetIds", &texts("ExcludedDatasetIds")?)?,
            lines: texts("LineRef")?,
            direction: text("DirectionRef")?,
            operators: texts("OperatorRef")?,
            vehicles: texts("VehicleRef")?,
            stops: texts("StopPointRef")?,
            monitoring_ref: text("MonitoringRef")?,
            destination: text("DestinationRef")?,
            preview: preview(parameters)?,
            start: start(parameters)?,
            most: number("MaximumStopVisits")?
                .or(number("MaximumVehicles")?)
                .or(number("MaxSize")?),
            least_per_line: number("MinimumStopVisitsPerLine")?,
            message_ref: text("MessageIdentifier")?,
        })
    }

    /// What the references mean.
    pub(super) fn wanted(&self, scene: &Scene) -> Result<Wanted, Fault> {
        let refs = |kind, texts: &[String]| -> Result<Vec<Ref>, Fault> {
            texts.iter().map(|text| self.reference(scene, kind, text)).collect()
        };
        for dataset in self.datasets.iter().chain(&self.excluded) {
            let is_known = scene.networks.iter().any(|seen| seen.state.has_feed(dataset));
            if !is_known {
                return Err(Fault::reference(format!("there is no feed {dataset:?}")));
            }
        }
        Ok(Wanted {
            datasets: self.datasets.iter().map(Into::into).collect(),
            excluded: self.excluded.iter().map(Into::into).collect(),
            lines: refs(RefKind::Line, &self.lines)?,
            direction: self.direction.as_deref().map(Into::into),
            operators: refs(RefKind::Operator, &self.operators)?,
            vehicles: refs(RefKind::Vehicle, &self.vehicles)?,
            stops: refs(RefKind::Stop, &self.stops)?,
            preview: self.preview.map(ahead),
        })
    }

    /// Reads what the address of a posted request narrows it to.
    pub(super) fn from_address(parameters: &Parameters) -> Result<Self, Fault> {
        let Self { datasets, excluded, .. } = Self::of_parameters(parameters)?;
        Ok(Self { datasets, excluded, ..Self::default() })
    }

    /// Names a request for vehicles that has no name by its moment: readers of the British profile need
    /// `RequestMessageRef`.
    pub(super) fn name_vehicle_request(&mut self, scene: &Scene, subject: Subject) {
        if subject == Subject::Records(Service::VehicleMonitoring) && self.message_ref.is_none() {
            self.message_ref = Some(scene.at.0.to_string());
        }
    }

    /// Bytes that it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        let Self { datasets, excluded, lines, operators, vehicles, stops, .. } = self;
        let Self { direction, monitoring_ref, destination, message_ref, .. } = self;
        let many = [datasets, excluded, lines, operators, vehicles, stops].into_iter().flatten();
        let single = [direction, monitoring_ref, destination, message_ref].into_iter().flatten();
        let texts = many.chain(single).map(|text| text.capacity() + size_of::<String>());
        size_of::<Self>() + texts.sum::<usize>()
    }

    /// The stop that is monitored.
    pub(super) fn stop(&self, scene: &Scene) -> Result<Ref, Fault> {
        let Some(text) = &self.monitoring_ref else {
            return Err(Fault::bad("MonitoringRef is missing: it says which stop"));
        };
        self.reference(scene, RefKind::Stop, text)
    }

    /// A line or the stop that nobody has so far, and that a network without a schedule may come to have; none where all of them
    /// are known.
    pub(super) fn doubt(&self, scene: &Scene) -> Option<Fault> {
        let lines = self.lines.iter().map(|text| (RefKind::Line, text));
        let stop = self.monitoring_ref.iter().map(|text| (RefKind::Stop, text));
        let (kind, text) = lines.chain(stop).find(|(kind, text)| {
            let meant = self.reference(scene, *kind, text);
            meant.is_ok_and(|meant| !is_known(scene.states(), *kind, &meant))
        })?;
        let name = name_of(kind);
        let text = format!(
            "there is no {name} {text:?} so far; one may come with a feed of which no schedule is \
             known yet"
        );
        Some(Fault::reference(text))
    }

    /// What a reference means: first in the networks that are asked for, which settles an id that others have too.
    fn reference(&self, scene: &Scene, kind: RefKind, text: &str) -> Result<Ref, Fault> {
        let is_asked = |state: &&NetworkState| {
            self.datasets.is_empty() || self.datasets.iter().any(|feed| state.has_feed(feed))
        };
        match resolve(scene.states().filter(is_asked), kind, text) {
            Err(RefFault::Unknown) => reference(scene, kind, text),
            found => found.map_err(|fault| reference_fault(fault, kind, text)),
        }
    }

    /// How far ahead visits are looked for.
    pub(super) fn preview(&self) -> Duration {
        self.preview.map_or(lineside_ingest::limits::BOARD_HORIZON, ahead)
    }

    /// How many visits at most.
    pub(super) fn visits_max(&self) -> usize {
        let usual = lineside_ingest::limits::BOARD_DEPARTURES;
        self.most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usual).min(SIRI_VISITS_MAX)
    }
}

fn ahead(preview: Seconds) -> Duration {
    Duration::from_secs(u64::try_from(preview.0).unwrap_or(0)).min(SIRI_PREVIEW_MAX)
}

/// All values of a parameter that are not empty, none of them longer than ids are.
fn texts(parameters: &Parameters, name: &str) -> Result<Vec<String>, Fault> {
    let values = parameters.all_of_any_case(name).filter(|value| !value.trim().is_empty());
    checked(name, values.map(|value| value.trim().to_owned()).collect())
}

fn checked(name: &str, texts: Vec<String>) -> Result<Vec<String>, Fault> {
    if texts.len() > SIRI_REFS_MAX {
        return Err(Fault::too_much(format!("{name}: more than {SIRI_REFS_MAX} of them")));
    }
    if texts.iter().any(|text| text.len() > SIRI_REF_BYTES_MAX) {
        let most = SIRI_REF_BYTES_MAX;
        return Err(Fault::bad(format!("{name}: is longer than {most} bytes")));
    }
    Ok(texts)
}

/// Several in one, separated by commas; each of them once, in order.
fn listed(name: &str, texts: &[String]) -> Result<Vec<String>, Fault> {
    let all = texts.iter().flat_map(|text| text.split(','));
    let all: BTreeSet<&str> = all.map(str::trim).filter(|text| !text.is_empty()).collect();
    checked(name, all.into_iter().map(str::to_owned).collect())
}

fn preview(parameters: &Parameters) -> Result<Option<Seconds>, Fault> {
    let Some(text) = parameters.one_of_any_case("PreviewInterval") else { return Ok(None) };
    let span = Seconds::parse(text).filter(|span| span.0 >= 0);
    let fault = || Fault::bad(format!("PreviewInterval: {text:?} is no span such as PT30M"));
    span.map(Some).ok_or_else(fault)
}

fn start(parameters: &Parameters) -> Result<Option<Time>, Fault> {
    let Some(text) = parameters.one_of_any_case("StartTime") else { return Ok(None) };
    // A plus that was not encoded arrives as a space.
    let time = Time::parse_exact(&text.replace(' ', "+"));
    let fault = || {
        Fault::bad(format!("StartTime: {text:?} is no moment such as 2026-11-21T20:25:00+01:00"))
    };
    time.map(Some).ok_or_else(fault)
}

fn reference(scene: &Scene, kind: RefKind, text: &str) -> Result<Ref, Fault> {
    resolve(scene.states(), kind, text).map_err(|fault| reference_fault(fault, kind, text))
}

fn name_of(kind: RefKind) -> &'static str {
    match kind {
        RefKind::Line => "line",
        RefKind::Stop => "stop",
        RefKind::Operator => "operator",
        RefKind::Vehicle => "vehicle",
    }
}

fn reference_fault(fault: RefFault, kind: RefKind, text: &str) -> Fault {
    let name = name_of(kind);
    match fault {
        RefFault::Unknown => Fault::reference(format!("there is no {name} {text:?}")),
        RefFault::Ambiguous(feeds) => {
            let ways: Vec<String> = feeds.iter().map(|feed| format!("{feed}:{text}")).collect();
            let ways = ways.join(" or ");
            Fault::reference(format!("several feeds have a {name} {text:?}: say {ways}"))
        }
    }
}

/// References and other texts of a request, bounded as parameters are.
fn given<T: AsRef<str>>(
    name: &str,
    texts: impl IntoIterator<Item = T>,
) -> Result<Vec<String>, Fault> {
    checked(name, texts.into_iter().map(|text| text.as_ref().to_owned()).collect())
}

fn one<T: AsRef<str>>(name: &str, text: Option<T>) -> Result<Option<String>, Fault> {
    given(name, text).map(|texts| texts.into_iter().next())
}

/// What an element of a request asks.
pub(super) trait Question {
    fn asked(&self) -> Result<Asked, Fault>;
}

impl Question for EstimatedTimetableRequest {
    fn asked(&self) -> Result<Asked, Fault> {
        let direction = match &self.lines[..] {
            [line] => one("DirectionRef", line.direction_ref.as_ref())?,
            _ => None,
        };
        Ok(Asked {
            preview: self.preview_interval,
            operators: given("OperatorRef", &self.operator_refs)?,
            lines: given("LineRef", self.lines.iter().filter_map(|line| line.line_ref.as_ref()))?,
            direction,
            message_ref: one("MessageIdentifier", self.message_identifier.as_ref())?,
            ..Asked::default()
        })
    }
}

impl Question for VehicleMonitoringRequest {
    fn asked(&self) -> Result<Asked, Fault> {
        let vehicle = self.vehicle_ref.as_ref().or(self.vehicle_monitoring_ref.as_ref());
        Ok(Asked {
            vehicles: given("VehicleRef", vehicle)?,
            lines: given("LineRef", &self.line_ref)?,
            direction: one("DirectionRef", self.direction_ref.as_ref())?,
            most: self.maximum_vehicles,
            message_ref: one("MessageIdentifier", self.message_identifier.as_ref())?,
            ..Asked::default()
        })
    }
}

impl Question for StopMonitoringRequest {
    fn asked(&self) -> Result<Asked, Fault> {
        Ok(Asked {
            monitoring_ref: one("MonitoringRef", self.monitoring_ref.as_ref())?,
            preview: self.preview_interval,
            start: self.start_time,
            operators: given("OperatorRef", &self.operator_ref)?,
            lines: given("LineRef", &self.line_ref)?,
            direction: one("DirectionRef", self.direction_ref.as_ref())?,
            destination: one("DestinationRef", self.destination_ref.as_ref())?,
            most: self.maximum_stop_visits,
            least_per_line: self.minimum_stop_visits_per_line,
            message_ref: one("MessageIdentifier", self.message_identifier.as_ref())?,
            ..Asked::default()
        })
    }
}

impl Question for SituationExchangeRequest {
    fn asked(&self) -> Result<Asked, Fault> {
        Ok(Asked {
            operators: given("OperatorRef", &self.operator_refs)?,
            lines: given("LineRef", &self.line_refs)?,
            stops: given("StopPointRef", &self.stop_point_refs)?,
            message_ref: one("MessageIdentifier", self.message_identifier.as_ref())?,
            ..Asked::default()
        })
    }
}

impl Question for LinesRequest {
    fn asked(&self) -> Result<Asked, Fault> {
        Ok(Asked {
            operators: given("OperatorRef", &self.operator_ref)?,
            message_ref: one("MessageIdentifier", self.message_identifier.as_ref())?,
            ..Asked::default()
        })
    }
}

impl Question for StopPointsRequest {
    fn asked(&self) -> Result<Asked, Fault> {
        Ok(Asked {
            operators: given("OperatorRef", &self.operator_ref)?,
            lines: given("LineRef", &self.line_ref)?,
            message_ref: one("MessageIdentifier", self.message_identifier.as_ref())?,
            ..Asked::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_list_count_once_and_there_are_so_many() {
        let listed = |text: &str| listed("x", &[text.to_owned()]);
        assert_eq!(listed("b, a,,a,b ").unwrap(), ["a", "b"]);
        assert_eq!(listed(&"city,".repeat(3_000)).unwrap(), ["city"]);
        let many = |n: usize| (0..n).map(|n| format!("{n},")).collect::<String>();
        assert!(listed(&many(SIRI_REFS_MAX)).is_ok());
        assert!(listed(&many(SIRI_REFS_MAX + 1)).is_err());
    }

    #[test]
    fn all_texts_of_a_question_are_weighed() {
        let text = || "x".repeat(100);
        let empty = Asked::default().bytes();
        let some =
            Asked { excluded: vec![text(), text()], message_ref: Some(text()), ..Asked::default() };
        assert!(some.bytes() >= empty + 300);
    }
}
