//! A SIRI query, from the parameters of an address or from an element of a request.

use std::collections::BTreeSet;
use std::time::Duration;

use lineside_formats::siri::{
    DurationSeconds, EstimatedTimetableRequest, LinesRequest, SiriTime, SituationExchangeRequest,
    StopMonitoringRequest, StopPointsRequest, VehicleMonitoringRequest,
};
use lineside_http::limits::{SIRI_PREVIEW_MAX, SIRI_REF_BYTES_MAX, SIRI_REFS_MAX, SIRI_VISITS_MAX};
use lineside_http::parameters::QueryParameters;
use lineside_model::NetworkState;
use lineside_model::siri_output::{
    RecordFilter, RefKind, ResolveRefError, ResolvedRef, SiriOutput, is_ref_known, resolve_ref,
};

use super::fault::SiriFault;
use super::snapshot::SiriSnapshot;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum QuerySubject {
    /// Journeys, vehicles or situations.
    Records(SiriOutput),
    /// Visits at a stop.
    Visits,
    /// The list of lines.
    Lines,
    /// The list of stops.
    StopPoints,
}

/// A parsed query with unresolved references.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SiriQuery {
    pub(super) datasets: Vec<String>,
    pub(super) excluded: Vec<String>,
    pub(super) lines: Vec<String>,
    pub(super) direction: Option<String>,
    pub(super) operators: Vec<String>,
    pub(super) vehicles: Vec<String>,
    pub(super) stops: Vec<String>,
    pub(super) monitoring_ref: Option<String>,
    pub(super) destination: Option<String>,
    pub(super) preview: Option<DurationSeconds>,
    pub(super) start: Option<SiriTime>,
    pub(super) visits_max: Option<u32>,
    pub(super) visits_per_line_min: Option<u32>,
    /// The requestor's `MessageIdentifier`.
    pub(super) message_ref: Option<String>,
}

impl SiriQuery {
    /// Parses the parameters of an address; their names are case-insensitive.
    pub(super) fn from_parameters(parameters: &QueryParameters) -> Result<Self, SiriFault> {
        let texts = |name| parse_text_values(parameters, name);
        let text = |name| texts(name).map(|texts| texts.into_iter().next());
        let number = |name: &str| {
            let text = parameters.find_value_ignoring_case(name);
            let number = text.map(|text| text.parse::<u32>().map_err(|_| text)).transpose();
            number.map_err(|text| {
                SiriFault::invalid_value(format!("{name}: {text:?} is not a whole number"))
            })
        };
        Ok(Self {
            datasets: texts("DatasetId")?,
            excluded: split_comma_separated("ExcludedDatasetIds", &texts("ExcludedDatasetIds")?)?,
            lines: texts("LineRef")?,
            direction: text("DirectionRef")?,
            operators: texts("OperatorRef")?,
            vehicles: texts("VehicleRef")?,
            stops: texts("StopPointRef")?,
            monitoring_ref: text("MonitoringRef")?,
            destination: text("DestinationRef")?,
            preview: parse_preview_interval(parameters)?,
            start: parse_start_time(parameters)?,
            visits_max: number("MaximumStopVisits")?
                .or(number("MaximumVehicles")?)
                .or(number("MaxSize")?),
            visits_per_line_min: number("MinimumStopVisitsPerLine")?,
            message_ref: text("MessageIdentifier")?,
        })
    }

    /// Resolves the references to a filter of records.
    pub(super) fn resolve_references(
        &self,
        snapshot: &SiriSnapshot,
    ) -> Result<RecordFilter, SiriFault> {
        let refs = |kind, texts: &[String]| -> Result<Vec<ResolvedRef>, SiriFault> {
            texts.iter().map(|text| self.resolve_reference(snapshot, kind, text)).collect()
        };
        for dataset in self.datasets.iter().chain(&self.excluded) {
            let is_known = snapshot.networks.iter().any(|seen| seen.state.has_feed(dataset));
            if !is_known {
                return Err(SiriFault::bad_reference(format!("feed {dataset:?} does not exist")));
            }
        }
        Ok(RecordFilter {
            datasets: self.datasets.iter().map(Into::into).collect(),
            excluded: self.excluded.iter().map(Into::into).collect(),
            lines: refs(RefKind::Line, &self.lines)?,
            direction: self.direction.as_deref().map(Into::into),
            operators: refs(RefKind::Operator, &self.operators)?,
            vehicles: refs(RefKind::Vehicle, &self.vehicles)?,
            stops: refs(RefKind::Stop, &self.stops)?,
            preview: self.preview.map(clamp_preview),
        })
    }

    /// Parses the datasets to which a posted request's address limits it.
    pub(super) fn from_url_datasets(parameters: &QueryParameters) -> Result<Self, SiriFault> {
        let Self { datasets, excluded, .. } = Self::from_parameters(parameters)?;
        Ok(Self { datasets, excluded, ..Self::default() })
    }

    /// Sets the `MessageIdentifier` of a vehicle request without one to the snapshot's time: readers of the British
    /// profile need `RequestMessageRef`.
    pub(super) fn set_vehicle_message_identifier(
        &mut self,
        snapshot: &SiriSnapshot,
        subject: QuerySubject,
    ) {
        if subject == QuerySubject::Records(SiriOutput::VehicleMonitoring)
            && self.message_ref.is_none()
        {
            self.message_ref = Some(snapshot.at.0.to_string());
        }
    }

    /// Returns the size in memory, in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        let Self { datasets, excluded, lines, operators, vehicles, stops, .. } = self;
        let Self { direction, monitoring_ref, destination, message_ref, .. } = self;
        let many = [datasets, excluded, lines, operators, vehicles, stops].into_iter().flatten();
        let single = [direction, monitoring_ref, destination, message_ref].into_iter().flatten();
        let texts = many.chain(single).map(|text| text.capacity() + size_of::<String>());
        size_of::<Self>() + texts.sum::<usize>()
    }

    pub(super) fn resolve_monitored_stop(
        &self,
        snapshot: &SiriSnapshot,
    ) -> Result<ResolvedRef, SiriFault> {
        let Some(text) = &self.monitoring_ref else {
            return Err(SiriFault::invalid_value("MonitoringRef, the id of a stop, is missing"));
        };
        self.resolve_reference(snapshot, RefKind::Stop, text)
    }

    /// Returns a fault for a line or monitored stop that is unknown so far, but may come with a schedule that is not
    /// loaded yet; `None` if all references are known.
    pub(super) fn find_unresolved_reference_fault(
        &self,
        snapshot: &SiriSnapshot,
    ) -> Option<SiriFault> {
        let lines = self.lines.iter().map(|text| (RefKind::Line, text));
        let stop = self.monitoring_ref.iter().map(|text| (RefKind::Stop, text));
        let (kind, text) = lines.chain(stop).find(|(kind, text)| {
            let meant = self.resolve_reference(snapshot, *kind, text);
            meant.is_ok_and(|meant| !is_ref_known(snapshot.network_states(), *kind, &meant))
        })?;
        let name = reference_kind_name(kind);
        let text = format!(
            "{name} {text:?} does not exist yet; a schedule that is not loaded yet may have it"
        );
        Some(SiriFault::bad_reference(text))
    }

    /// Resolves a reference, first in the requested networks, which disambiguates an id that other networks have too.
    fn resolve_reference(
        &self,
        snapshot: &SiriSnapshot,
        kind: RefKind,
        text: &str,
    ) -> Result<ResolvedRef, SiriFault> {
        let is_requested = |state: &&NetworkState| {
            self.datasets.is_empty() || self.datasets.iter().any(|feed| state.has_feed(feed))
        };
        match resolve_ref(snapshot.network_states().filter(is_requested), kind, text) {
            Err(ResolveRefError::Unknown) => find_reference(snapshot, kind, text),
            found => found.map_err(|fault| reference_fault(fault, kind, text)),
        }
    }

    /// Returns the time span ahead in which visits are listed.
    pub(super) fn preview_interval(&self) -> Duration {
        self.preview.map_or(lineside_ingest::limits::BOARD_HORIZON, clamp_preview)
    }

    /// Returns the largest number of visits.
    pub(super) fn visits_max(&self) -> usize {
        let default_visits = lineside_ingest::limits::BOARD_DEPARTURES;
        self.visits_max
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(default_visits)
            .min(SIRI_VISITS_MAX)
    }
}

fn clamp_preview(preview: DurationSeconds) -> Duration {
    Duration::from_secs(u64::try_from(preview.0).unwrap_or(0)).min(SIRI_PREVIEW_MAX)
}

/// Returns all non-empty values of a parameter, if none exceeds the length of an id.
fn parse_text_values(parameters: &QueryParameters, name: &str) -> Result<Vec<String>, SiriFault> {
    let values = parameters.values_ignoring_case(name).filter(|value| !value.trim().is_empty());
    check_text_limits(name, values.map(|value| value.trim().to_owned()).collect())
}

fn check_text_limits(name: &str, texts: Vec<String>) -> Result<Vec<String>, SiriFault> {
    if texts.len() > SIRI_REFS_MAX {
        return Err(SiriFault::too_many_records(format!(
            "{name}: more than {SIRI_REFS_MAX} values"
        )));
    }
    if texts.iter().any(|text| text.len() > SIRI_REF_BYTES_MAX) {
        let bytes_max = SIRI_REF_BYTES_MAX;
        return Err(SiriFault::invalid_value(format!("{name}: longer than {bytes_max} bytes")));
    }
    Ok(texts)
}

/// Splits comma-separated values; the result is sorted and without duplicates.
fn split_comma_separated(name: &str, texts: &[String]) -> Result<Vec<String>, SiriFault> {
    let all = texts.iter().flat_map(|text| text.split(','));
    let all: BTreeSet<&str> = all.map(str::trim).filter(|text| !text.is_empty()).collect();
    check_text_limits(name, all.into_iter().map(str::to_owned).collect())
}

fn parse_preview_interval(
    parameters: &QueryParameters,
) -> Result<Option<DurationSeconds>, SiriFault> {
    let Some(text) = parameters.find_value_ignoring_case("PreviewInterval") else {
        return Ok(None);
    };
    let span = DurationSeconds::parse(text).filter(|span| span.0 >= 0);
    let fault = || {
        SiriFault::invalid_value(format!(
            "PreviewInterval: {text:?} is not a duration such as PT30M"
        ))
    };
    span.map(Some).ok_or_else(fault)
}

fn parse_start_time(parameters: &QueryParameters) -> Result<Option<SiriTime>, SiriFault> {
    let Some(text) = parameters.find_value_ignoring_case("StartTime") else { return Ok(None) };
    // An unencoded plus arrives as a space.
    let time = SiriTime::parse_with_offset(&text.replace(' ', "+"));
    let fault = || {
        SiriFault::invalid_value(format!(
            "StartTime: {text:?} is not a time such as 2026-11-21T20:25:00+01:00"
        ))
    };
    time.map(Some).ok_or_else(fault)
}

fn find_reference(
    snapshot: &SiriSnapshot,
    kind: RefKind,
    text: &str,
) -> Result<ResolvedRef, SiriFault> {
    resolve_ref(snapshot.network_states(), kind, text)
        .map_err(|fault| reference_fault(fault, kind, text))
}

fn reference_kind_name(kind: RefKind) -> &'static str {
    match kind {
        RefKind::Line => "line",
        RefKind::Stop => "stop",
        RefKind::Operator => "operator",
        RefKind::Vehicle => "vehicle",
    }
}

fn reference_fault(fault: ResolveRefError, kind: RefKind, text: &str) -> SiriFault {
    let name = reference_kind_name(kind);
    match fault {
        ResolveRefError::Unknown => {
            SiriFault::bad_reference(format!("{name} {text:?} does not exist"))
        }
        ResolveRefError::Ambiguous(feeds) => {
            let choices: Vec<String> = feeds.iter().map(|feed| format!("{feed}:{text}")).collect();
            let choices = choices.join(" or ");
            SiriFault::bad_reference(format!("several feeds have a {name} {text:?}: use {choices}"))
        }
    }
}

/// Collects references and other texts of a request, with the same limits as parameters.
fn collect_checked_texts<T: AsRef<str>>(
    name: &str,
    texts: impl IntoIterator<Item = T>,
) -> Result<Vec<String>, SiriFault> {
    check_text_limits(name, texts.into_iter().map(|text| text.as_ref().to_owned()).collect())
}

fn collect_optional_text<T: AsRef<str>>(
    name: &str,
    text: Option<T>,
) -> Result<Option<String>, SiriFault> {
    collect_checked_texts(name, text).map(|texts| texts.into_iter().next())
}

/// A request element that can be converted to a query.
pub(super) trait QueryElement {
    fn to_query(&self) -> Result<SiriQuery, SiriFault>;
}

impl QueryElement for EstimatedTimetableRequest {
    fn to_query(&self) -> Result<SiriQuery, SiriFault> {
        let direction = match &self.lines[..] {
            [line] => collect_optional_text("DirectionRef", line.direction_ref.as_ref())?,
            _ => None,
        };
        Ok(SiriQuery {
            preview: self.preview_interval,
            operators: collect_checked_texts("OperatorRef", &self.operator_refs)?,
            lines: collect_checked_texts(
                "LineRef",
                self.lines.iter().filter_map(|line| line.line_ref.as_ref()),
            )?,
            direction,
            message_ref: collect_optional_text(
                "MessageIdentifier",
                self.message_identifier.as_ref(),
            )?,
            ..SiriQuery::default()
        })
    }
}

impl QueryElement for VehicleMonitoringRequest {
    fn to_query(&self) -> Result<SiriQuery, SiriFault> {
        let vehicle = self.vehicle_ref.as_ref().or(self.vehicle_monitoring_ref.as_ref());
        Ok(SiriQuery {
            vehicles: collect_checked_texts("VehicleRef", vehicle)?,
            lines: collect_checked_texts("LineRef", &self.line_ref)?,
            direction: collect_optional_text("DirectionRef", self.direction_ref.as_ref())?,
            visits_max: self.maximum_vehicles,
            message_ref: collect_optional_text(
                "MessageIdentifier",
                self.message_identifier.as_ref(),
            )?,
            ..SiriQuery::default()
        })
    }
}

impl QueryElement for StopMonitoringRequest {
    fn to_query(&self) -> Result<SiriQuery, SiriFault> {
        Ok(SiriQuery {
            monitoring_ref: collect_optional_text("MonitoringRef", self.monitoring_ref.as_ref())?,
            preview: self.preview_interval,
            start: self.start_time,
            operators: collect_checked_texts("OperatorRef", &self.operator_ref)?,
            lines: collect_checked_texts("LineRef", &self.line_ref)?,
            direction: collect_optional_text("DirectionRef", self.direction_ref.as_ref())?,
            destination: collect_optional_text("DestinationRef", self.destination_ref.as_ref())?,
            visits_max: self.maximum_stop_visits,
            visits_per_line_min: self.minimum_stop_visits_per_line,
            message_ref: collect_optional_text(
                "MessageIdentifier",
                self.message_identifier.as_ref(),
            )?,
            ..SiriQuery::default()
        })
    }
}

impl QueryElement for SituationExchangeRequest {
    fn to_query(&self) -> Result<SiriQuery, SiriFault> {
        Ok(SiriQuery {
            operators: collect_checked_texts("OperatorRef", &self.operator_refs)?,
            lines: collect_checked_texts("LineRef", &self.line_refs)?,
            stops: collect_checked_texts("StopPointRef", &self.stop_point_refs)?,
            message_ref: collect_optional_text(
                "MessageIdentifier",
                self.message_identifier.as_ref(),
            )?,
            ..SiriQuery::default()
        })
    }
}

impl QueryElement for LinesRequest {
    fn to_query(&self) -> Result<SiriQuery, SiriFault> {
        Ok(SiriQuery {
            operators: collect_checked_texts("OperatorRef", &self.operator_ref)?,
            message_ref: collect_optional_text(
                "MessageIdentifier",
                self.message_identifier.as_ref(),
            )?,
            ..SiriQuery::default()
        })
    }
}

impl QueryElement for StopPointsRequest {
    fn to_query(&self) -> Result<SiriQuery, SiriFault> {
        Ok(SiriQuery {
            operators: collect_checked_texts("OperatorRef", &self.operator_ref)?,
            lines: collect_checked_texts("LineRef", &self.line_ref)?,
            message_ref: collect_optional_text(
                "MessageIdentifier",
                self.message_identifier.as_ref(),
            )?,
            ..SiriQuery::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_list_are_deduplicated_and_limited() {
        let listed = |text: &str| split_comma_separated("x", &[text.to_owned()]);
        assert_eq!(listed("b, a,,a,b ").unwrap(), ["a", "b"]);
        assert_eq!(listed(&"city,".repeat(3_000)).unwrap(), ["city"]);
        let many = |n: usize| (0..n).map(|n| format!("{n},")).collect::<String>();
        assert!(listed(&many(SIRI_REFS_MAX)).is_ok());
        assert!(listed(&many(SIRI_REFS_MAX + 1)).is_err());
    }

    #[test]
    fn the_size_of_a_query_includes_all_its_texts() {
        let text = || "x".repeat(100);
        let empty = SiriQuery::default().size_bytes();
        let some = SiriQuery {
            excluded: vec![text(), text()],
            message_ref: Some(text()),
            ..SiriQuery::default()
        };
        assert!(some.size_bytes() >= empty + 300);
    }
}
