//! Mapping of situations to alerts.

use lineside_formats::{
    ConversionReport,
    gtfs_rt::proto::{Alert, EntitySelector, FeedEntity, TimeRange, TripDescriptor, alert::Cause},
    siri::{
        AffectedLine, AffectedNetwork, AffectedStopPoint, AffectedVehicleJourney, Affects,
        InfoLink, LanguageText, PtSituationElement, Severity, SituationProgress, TextualContent,
        TimePeriod,
    },
};
use smol_str::{SmolStr, format_smolstr};

use super::{
    IdKind, SiriEntity, SiriIdMapping,
    journeys::{date_of_framed_ref, parse_direction},
    terms,
    terms::SituationReasonList,
    to_time_range, to_translated_string,
};

/// Maximum number of selectors of an alert; further affected items are dropped.
const SELECTORS_MAX: usize = 1_000;

pub(super) fn map_situation(
    situation: &PtSituationElement,
    ids: &SiriIdMapping,
    losses: &mut ConversionReport,
) -> SiriEntity {
    let language = situation.language.as_deref();
    let contents = || textual_contents(situation);
    let informed = contents().flat_map(|it| &it.summary_texts);
    let header = situation.summaries.iter().chain(informed);
    let described = contents().flat_map(|it| {
        let parts = [
            &it.reason_texts,
            &it.description_texts,
            &it.consequence_texts,
            &it.recommendation_texts,
            &it.duration_texts,
            &it.remarks,
        ];
        parts.into_iter().flatten()
    });
    let own = [&situation.descriptions, &situation.details, &situation.advices];
    let description = own.into_iter().flatten().chain(described);
    let links = situation.info_links.iter().chain(contents().flat_map(|it| &it.info_links));
    let periods = alert_active_periods(situation);
    let until = match periods.iter().map(|period| period.end).collect::<Option<Vec<_>>>() {
        Some(ends) => ends.into_iter().max().and_then(|end| i64::try_from(end).ok()),
        None => None,
    };
    let alert = Alert {
        active_period: periods,
        informed_entity: list_entity_selectors(situation, ids, losses),
        cause: Some(situation_cause(situation) as i32),
        effect: Some(situation_effect(situation) as i32),
        url: first_link_url(links),
        header_text: to_translated_string(header, language),
        description_text: to_translated_string(description, language),
        severity_level: situation_severity(situation).map(|it| terms::map_severity(it) as i32),
        cause_detail: to_translated_string(&situation.reason_names, language),
        ..Alert::default()
    };
    let entity = FeedEntity {
        id: situation_entity_id(situation).into(),
        alert: Some(alert),
        ..FeedEntity::default()
    };
    SiriEntity::from_entity(entity, until)
}

/// Returns the id of a situation, whose number is unique per participant only.
fn situation_entity_id(situation: &PtSituationElement) -> SmolStr {
    let number = situation.situation_number.as_deref().unwrap_or_default();
    match situation.participant_ref.as_deref().filter(|name| !name.is_empty()) {
        Some(participant) => format_smolstr!("situation:{participant}:{number}"),
        None => format_smolstr!("situation:{number}"),
    }
}

/// Returns the active periods. A closed situation has ended, whatever end it states.
fn alert_active_periods(situation: &PtSituationElement) -> Vec<TimeRange> {
    let to_range = |period: &TimePeriod| to_time_range(period.start_time, period.end_time);
    let mut periods: Vec<TimeRange> = situation.validity_periods.iter().map(to_range).collect();
    if situation.progress == Some(SituationProgress::Closed) {
        let closed =
            to_time_range(None, situation.versioned_at_time.or(situation.creation_time)).end;
        let first = periods.iter().filter_map(|period| period.start).min();
        let last = periods.iter().filter_map(|period| period.end).min();
        let end = closed.or(last).or(first).unwrap_or(0);
        periods = vec![TimeRange { start: first.filter(|start| *start <= end), end: Some(end) }];
    }
    periods
}

fn situation_severity(situation: &PtSituationElement) -> Option<Severity> {
    let consequence_severity = || situation.consequences.iter().find_map(|it| it.severity);
    situation.severity.or_else(consequence_severity)
}

fn situation_cause(situation: &PtSituationElement) -> Cause {
    let reasons = [
        (situation.alert_cause.as_deref(), SituationReasonList::Any),
        (situation.miscellaneous_reason.as_deref(), SituationReasonList::Any),
        (situation.personnel_reason.as_deref(), SituationReasonList::Any),
        (situation.equipment_reason.as_deref(), SituationReasonList::Equipment),
        (situation.environment_reason.as_deref(), SituationReasonList::Environment),
        (situation.public_event_reason.as_deref(), SituationReasonList::PublicEvent),
    ];
    let mut causes = reasons
        .into_iter()
        .filter_map(|(reason, reason_list)| Some(terms::map_reason_to_cause(reason?, reason_list)));
    causes.find(|cause| *cause != Cause::UnknownCause).unwrap_or(Cause::UnknownCause)
}

fn situation_effect(
    situation: &PtSituationElement,
) -> lineside_formats::gtfs_rt::proto::alert::Effect {
    let conditions = situation.consequences.iter().flat_map(|it| &it.conditions);
    let at_stops = situation.affects.iter().flat_map(|affects| affects.stop_points.iter());
    let at_stops = at_stops.flat_map(|stop| &stop.stop_conditions);
    terms::map_conditions_to_effect(conditions.chain(at_stops).map(SmolStr::as_str))
}

pub(super) fn textual_contents(
    situation: &PtSituationElement,
) -> impl Iterator<Item = &TextualContent> {
    let actions = situation.publishing_actions.iter();
    let actions = actions.flat_map(|action| &action.passenger_information_actions);
    actions.flat_map(|action| &action.textual_contents)
}

fn first_link_url<'a>(
    links: impl Iterator<Item = &'a InfoLink>,
) -> Option<lineside_formats::gtfs_rt::proto::TranslatedString> {
    let mut links = links;
    let uri = links.find_map(|link| link.uri.as_ref())?;
    to_translated_string([&LanguageText { lang: None, value: uri.clone() }], None)
}

/// Lists the selectors of affected items, each once, in the order of the message.
fn list_entity_selectors(
    situation: &PtSituationElement,
    ids: &SiriIdMapping,
    losses: &mut ConversionReport,
) -> Vec<EntitySelector> {
    let consequences = situation.consequences.iter().filter_map(|it| it.affects.as_deref());
    let scopes = situation.publishing_actions.iter();
    let scopes = scopes.filter_map(|it| it.publish_at_scope.as_ref()?.affects.as_deref());
    let all = situation.affects.as_deref().into_iter().chain(consequences).chain(scopes);
    let mut selectors = SelectorBuilder { ids, selectors: Vec::new(), n_dropped: 0 };
    for affects in all {
        selectors.add_affected_items(affects);
    }
    losses.record_dropped_objects(
        "Affects",
        "an alert has at most 1,000 informed entities",
        selectors.n_dropped,
    );
    selectors.selectors
}

struct SelectorBuilder<'a> {
    ids: &'a SiriIdMapping,
    selectors: Vec<EntitySelector>,
    /// The number of selectors beyond the limit; a repeated one counts twice.
    n_dropped: u64,
}

impl SelectorBuilder<'_> {
    fn add_distinct_selector(&mut self, selector: EntitySelector) {
        // Repetitions are searched only for the first selectors beyond the limit.
        if self.n_dropped < SELECTORS_MAX as u64 && self.selectors.contains(&selector) {
            return;
        }
        match self.selectors.len() < SELECTORS_MAX {
            true => self.selectors.push(selector),
            false => self.n_dropped += 1,
        }
    }

    fn map_to_schedule_id(&self, kind: IdKind, id: &str) -> Option<String> {
        Some(self.ids.map_to_schedule_id(kind, id).into())
    }

    fn add_affected_items(&mut self, affects: &Affects) {
        let operators = affects.operators.iter().flat_map(|it| &it.affected_operators);
        for operator in operators.filter_map(|it| it.operator_ref.as_deref()) {
            let agency_id = self.map_to_schedule_id(IdKind::Operator, operator);
            self.add_distinct_selector(EntitySelector { agency_id, ..EntitySelector::default() });
        }
        if affects.operators.as_ref().is_some_and(|it| it.all_operators.0) {
            self.add_route_type_selectors(&terms::ROUTE_TYPES, None);
        }
        for network in &affects.networks {
            self.add_affected_network(network);
        }
        for stop in &affects.stop_points {
            self.add_affected_stop(stop, &EntitySelector::default());
        }
        for stop_ref in affects.stop_places.iter().filter_map(|it| it.stop_place_ref.as_deref()) {
            let stop_id = self.map_to_schedule_id(IdKind::Stop, stop_ref);
            self.add_distinct_selector(EntitySelector { stop_id, ..EntitySelector::default() });
        }
        for journey in &affects.vehicle_journeys {
            self.add_affected_journey(journey);
        }
    }

    fn add_affected_network(&mut self, network: &AffectedNetwork) {
        for line in &network.affected_lines {
            self.add_affected_line(line);
        }
        if network.affected_lines.is_empty() {
            self.add_all_lines_of_network(network);
        }
    }

    /// Adds all lines of a network, of its operators, or of one vehicle mode. Only the producer knows which network a
    /// name means; here it is taken as the feed's own.
    fn add_all_lines_of_network(&mut self, network: &AffectedNetwork) {
        let operators = network.affected_operators.iter();
        let operators = operators.filter_map(|it| it.operator_ref.as_deref());
        let operators: Vec<Option<String>> =
            operators.map(|it| self.map_to_schedule_id(IdKind::Operator, it)).collect();
        let named = network.network_ref.is_some() || network.vehicle_mode.is_some();
        let is_whole = network.all_lines.0 || named;
        let mode = network.vehicle_mode.as_deref().filter(|mode| *mode != "all");
        let types: &[i32] = match mode {
            Some(mode) => terms::route_types_of_mode(mode),
            // An agency by itself covers all its lines.
            None if !operators.is_empty() => &[],
            None if is_whole => &terms::ROUTE_TYPES,
            None => &[],
        };
        for agency_id in &operators {
            if types.is_empty() {
                let agency_id = agency_id.clone();
                self.add_distinct_selector(EntitySelector {
                    agency_id,
                    ..EntitySelector::default()
                });
            }
            self.add_route_type_selectors(types, agency_id.as_ref());
        }
        if operators.is_empty() {
            self.add_route_type_selectors(types, None);
        }
    }

    fn add_route_type_selectors(&mut self, types: &[i32], agency_id: Option<&String>) {
        for route_type in types {
            let (agency_id, route_type) = (agency_id.cloned(), Some(*route_type));
            self.add_distinct_selector(EntitySelector {
                agency_id,
                route_type,
                ..EntitySelector::default()
            });
        }
    }

    fn add_affected_line(&mut self, line: &AffectedLine) {
        let Some(line_ref) = line.line_ref.as_deref() else { return };
        let route_id = self.map_to_schedule_id(IdKind::Line, line_ref);
        let route_stops = line.routes.iter().flat_map(|route| &route.stop_points);
        let stops: Vec<&AffectedStopPoint> = line.stop_points.iter().chain(route_stops).collect();
        for direction_id in affected_directions(line) {
            let selector = EntitySelector {
                route_id: route_id.clone(),
                direction_id,
                ..EntitySelector::default()
            };
            if stops.is_empty() {
                self.add_distinct_selector(selector);
                continue;
            }
            for stop in &stops {
                self.add_affected_stop(stop, &selector);
            }
        }
    }

    /// Adds a stop, restricted by the selector `of`.
    fn add_affected_stop(&mut self, stop: &AffectedStopPoint, base_selector: &EntitySelector) {
        let name = stop.stop_point_ref.as_deref().or(stop.stop_place_ref.as_deref());
        let Some(name) = name else { return };
        let stop_id = self.map_to_schedule_id(IdKind::Stop, name);
        self.add_distinct_selector(EntitySelector { stop_id, ..base_selector.clone() });
    }

    fn add_affected_journey(&mut self, journey: &AffectedVehicleJourney) {
        let framed = journey.framed_vehicle_journey_ref.as_ref();
        let named = framed.and_then(|it| it.dated_vehicle_journey_ref.as_ref());
        let refs = journey.vehicle_journey_refs.iter().chain(&journey.dated_vehicle_journey_refs);
        let start_date = framed.and_then(date_of_framed_ref);
        let route_id =
            journey.line_ref.as_deref().and_then(|it| self.map_to_schedule_id(IdKind::Line, it));
        let mut is_named = false;
        for journey_ref in named.into_iter().chain(refs) {
            is_named = true;
            let trip = TripDescriptor {
                trip_id: self.map_to_schedule_id(IdKind::Journey, journey_ref),
                start_date: start_date.clone(),
                route_id: route_id.clone(),
                ..TripDescriptor::default()
            };
            self.add_distinct_selector(EntitySelector {
                trip: Some(trip),
                ..EntitySelector::default()
            });
        }
        if !is_named && route_id.is_some() {
            self.add_distinct_selector(EntitySelector { route_id, ..EntitySelector::default() });
        }
    }
}

/// Returns the affected direction of a line; `None` for both, or if a direction has a name unknown to GTFS.
pub(super) fn affected_directions(line: &AffectedLine) -> Vec<Option<u32>> {
    let named = line.directions.iter().map(|it| parse_direction(it.direction_ref.as_deref()?));
    let mut directions: Vec<Option<u32>> = named.collect();
    directions.sort_unstable();
    directions.dedup();
    match directions[..] {
        [Some(_)] => directions,
        _ => vec![None],
    }
}
