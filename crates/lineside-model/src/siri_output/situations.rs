//! Encoding of alerts as situations.

use lineside_formats::{
    gtfs_rt::proto::{Alert, EntitySelector, TranslatedString},
    siri::{
        AffectedDirection, AffectedLine, AffectedNetwork, AffectedOperator, AffectedRoute,
        AffectedStopPlace, AffectedStopPoint, AffectedVehicleJourney, Affects, Consequence,
        FramedVehicleJourneyRef, InfoLink, LanguageText, PresenceFlag, PtSituationElement,
        SiriTime, SituationProgress, SituationSource, TimePeriod,
    },
};
use smol_str::{SmolStr, format_smolstr};

use super::{RecordContext, data_frame_ref, terms, to_siri_time, untagged_text};
use crate::{
    record::Record,
    trip_identity::{nonempty_text, nonzero_seconds},
};

/// Encodes an alert as a situation. A removed alert is closed, and ends at its removal if it has no end.
pub(super) fn situation_of_alert(
    context: RecordContext<'_>,
    record: &Record,
    alert: &Alert,
) -> PtSituationElement {
    let begins =
        alert.active_period.iter().filter_map(|period| nonzero_seconds(period.start)).min();
    // An alert has no creation time: use its start, or the message's timestamp if that is earlier.
    let gone_at = context.closed_at(record);
    let message_time = gone_at.map_or(i64::MAX, SiriTime::as_seconds).min(context.message_time);
    let created = begins.unwrap_or(message_time).min(message_time);
    let mut periods: Vec<TimePeriod> = alert
        .active_period
        .iter()
        .map(|period| TimePeriod {
            start_time: to_siri_time(nonzero_seconds(period.start).unwrap_or(created)),
            end_time: nonzero_seconds(period.end).and_then(to_siri_time),
        })
        .collect();
    if periods.is_empty() {
        periods.push(TimePeriod { start_time: to_siri_time(created), end_time: None });
    }
    for period in &mut periods {
        let removed =
            gone_at.filter(|removed| period.start_time.is_none_or(|start| start <= *removed));
        period.end_time = period.end_time.or(removed);
    }
    let mut situation = PtSituationElement {
        creation_time: to_siri_time(created),
        participant_ref: Some(SmolStr::new(record.feed.as_str())),
        situation_number: Some(record.id.clone()),
        source: Some(SituationSource {
            source_type: Some(SmolStr::new_static("feed")),
            ..SituationSource::default()
        }),
        progress: Some(match gone_at {
            Some(_) => SituationProgress::Closed,
            None => SituationProgress::Published,
        }),
        validity_periods: periods,
        severity: alert.severity_level.map(|_| terms::map_severity(alert.severity_level())),
        report_type: Some(SmolStr::new_static(match terms::is_incident_cause(alert.cause()) {
            true => "incident",
            false => "general",
        })),
        reason_names: list_translations(&alert.cause_detail),
        summaries: list_translations(&alert.header_text),
        descriptions: list_translations(&alert.description_text),
        details: list_translations(&alert.effect_detail),
        info_links: info_links(&alert.url),
        affects: alert_affects(context, alert).map(Box::new),
        consequences: alert_consequence(alert).into_iter().collect(),
        ..PtSituationElement::default()
    };
    if alert.cause.is_some() {
        terms::put_cause(&mut situation, alert.cause());
    }
    situation
}

fn list_translations(text: &Option<TranslatedString>) -> Vec<LanguageText> {
    let all = text.iter().flat_map(|text| &text.translation);
    let given = all.filter(|translation| !translation.text.is_empty());
    given
        .map(|translation| LanguageText {
            lang: language_code(&translation.language),
            value: SmolStr::new(&translation.text),
        })
        .collect()
}

fn language_code(language: &Option<String>) -> Option<SmolStr> {
    nonempty_text(language).map(SmolStr::new)
}

/// Returns a link per language, labelled with the language.
fn info_links(url: &Option<TranslatedString>) -> Vec<InfoLink> {
    let pages = list_translations(url).into_iter();
    pages
        .map(|page| InfoLink {
            uri: Some(page.value),
            labels: page
                .lang
                .map(|lang| LanguageText { lang: None, value: lang })
                .into_iter()
                .collect(),
        })
        .collect()
}

fn alert_consequence(alert: &Alert) -> Option<Consequence> {
    alert.effect?;
    Some(Consequence {
        conditions: vec![terms::map_condition(alert.effect())?],
        // The schema requires a severity.
        severity: Some(terms::map_severity(alert.severity_level())),
        ..Consequence::default()
    })
}

/// Encodes the items that an alert affects.
fn alert_affects(context: RecordContext<'_>, alert: &Alert) -> Option<Affects> {
    let mut affects = Affects::default();
    let mut lines = AffectedNetwork::default();
    for entity in &alert.informed_entity {
        let trip = entity.trip.as_ref().filter(|trip| nonempty_text(&trip.trip_id).is_some());
        if let Some(trip) = trip {
            let journey = affected_journey(
                context,
                entity,
                nonempty_text(&trip.trip_id),
                nonempty_text(&trip.start_date),
            );
            affects.vehicle_journeys.push(journey);
        } else if let Some(route) = selector_route_id(entity) {
            put_affected_line(context, &mut lines.affected_lines, route, entity);
        } else if let Some(stop) = nonempty_text(&entity.stop_id) {
            put_affected_stop(context, &mut affects, stop);
        } else if let Some(route_type) = entity.route_type {
            // A mode without a SIRI term is dropped: the whole network would be too much.
            let mode = u16::try_from(route_type).ok().and_then(terms::map_vehicle_mode);
            let operator = nonempty_text(&entity.agency_id).map(affected_operator);
            affects.networks.extend(mode.map(|mode| AffectedNetwork {
                affected_operators: operator.into_iter().collect(),
                vehicle_mode: Some(mode),
                all_lines: PresenceFlag(true),
                ..AffectedNetwork::default()
            }));
        } else if let Some(agency) = nonempty_text(&entity.agency_id) {
            let operators = affects.operators.get_or_insert_default();
            operators.affected_operators.push(affected_operator(agency));
        }
    }
    if !lines.affected_lines.is_empty() {
        affects.networks.push(lines);
    }
    (affects != Affects::default()).then_some(affects)
}

fn selector_route_id(entity: &EntitySelector) -> Option<&str> {
    nonempty_text(&entity.route_id).or_else(|| nonempty_text(&entity.trip.as_ref()?.route_id))
}

fn affected_operator(agency: &str) -> AffectedOperator {
    AffectedOperator { operator_ref: Some(SmolStr::new(agency)), ..AffectedOperator::default() }
}

fn affected_stop_point(context: RecordContext<'_>, id: &str) -> AffectedStopPoint {
    AffectedStopPoint {
        stop_point_ref: Some(SmolStr::new(id)),
        stop_point_names: context.stop_name(id),
        ..AffectedStopPoint::default()
    }
}

/// Returns the route restricted to one stop of a line or journey.
fn affected_route_at_stop(context: RecordContext<'_>, stop: &Option<String>) -> Vec<AffectedRoute> {
    let stop = nonempty_text(stop).map(|stop| AffectedRoute {
        stop_points: vec![affected_stop_point(context, stop)],
        ..AffectedRoute::default()
    });
    stop.into_iter().collect()
}

/// GTFS `location_type` of a station.
const STATION: u8 = 1;

fn put_affected_stop(context: RecordContext<'_>, affects: &mut Affects, id: &str) {
    let is_station = context.timetable.is_some_and(|timetable| {
        let stop = timetable.find_stop(id).map(|stop| timetable.stop(stop));
        stop.is_some_and(|stop| stop.location_type == STATION)
    });
    if is_station {
        affects.stop_places.push(AffectedStopPlace {
            stop_place_ref: Some(SmolStr::new(id)),
            place_names: context.stop_name(id),
            ..AffectedStopPlace::default()
        });
    } else {
        affects.stop_points.push(affected_stop_point(context, id));
    }
}

/// Adds a line once, with all its named directions and stops.
fn put_affected_line(
    context: RecordContext<'_>,
    lines: &mut Vec<AffectedLine>,
    route: &str,
    entity: &EntitySelector,
) {
    let known = lines.iter().position(|line| line.line_ref.as_deref() == Some(route));
    let at = known.unwrap_or_else(|| {
        let name = context.timetable.and_then(|timetable| {
            let route = timetable.find_route(route)?;
            Some(timetable.route(route).display_name())
        });
        lines.push(AffectedLine {
            affected_operators: nonempty_text(&entity.agency_id)
                .map(affected_operator)
                .into_iter()
                .collect(),
            line_ref: Some(SmolStr::new(route)),
            published_line_names: untagged_text(name),
            ..AffectedLine::default()
        });
        lines.len() - 1
    });
    let line = &mut lines[at];
    let trip_direction = entity.trip.as_ref().and_then(|trip| trip.direction_id);
    if let Some(direction) = entity.direction_id.or(trip_direction) {
        line.directions.push(AffectedDirection {
            direction_ref: Some(format_smolstr!("{direction}")),
            ..AffectedDirection::default()
        });
    }
    line.routes.extend(affected_route_at_stop(context, &entity.stop_id));
}

fn affected_journey(
    context: RecordContext<'_>,
    entity: &EntitySelector,
    trip: Option<&str>,
    date: Option<&str>,
) -> AffectedVehicleJourney {
    let (framed, plain) = match date.and_then(data_frame_ref) {
        Some(date) => (
            Some(FramedVehicleJourneyRef {
                data_frame_ref: Some(date),
                dated_vehicle_journey_ref: trip.map(SmolStr::new),
            }),
            None,
        ),
        // Without a date the trip of every day is meant.
        None => (None, trip.map(SmolStr::new)),
    };
    AffectedVehicleJourney {
        framed_vehicle_journey_ref: framed,
        vehicle_journey_refs: plain.into_iter().collect(),
        line_ref: selector_route_id(entity).map(SmolStr::new),
        routes: affected_route_at_stop(context, &entity.stop_id),
        ..AffectedVehicleJourney::default()
    }
}
