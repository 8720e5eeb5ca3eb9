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

use super::{RecordEncodingContext, data_frame_ref, terms, text_without_language, to_siri_time};
use crate::{
    record::Record,
    trip_identity::{text_if_nonempty, timestamp_if_nonzero},
};

/// Encodes an alert as a situation. A removed alert is closed, and ends at its removal if it has no end.
pub(super) fn encode_alert_situation(
    context: RecordEncodingContext<'_>,
    record: &Record,
    alert: &Alert,
) -> PtSituationElement {
    let begins =
        alert.active_period.iter().filter_map(|period| timestamp_if_nonzero(period.start)).min();
    // An alert has no creation time: use its start, or the message's timestamp if that is earlier.
    let gone_at = context.alert_closed_at(record);
    let message_time = gone_at.map_or(i64::MAX, SiriTime::as_seconds).min(context.message_time);
    let created = begins.unwrap_or(message_time).min(message_time);
    let mut periods: Vec<TimePeriod> = alert
        .active_period
        .iter()
        .map(|period| TimePeriod {
            start_time: to_siri_time(timestamp_if_nonzero(period.start).unwrap_or(created)),
            end_time: timestamp_if_nonzero(period.end).and_then(to_siri_time),
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
        report_type: Some(SmolStr::new_static(match terms::is_unforeseen_cause(alert.cause()) {
            true => "incident",
            false => "general",
        })),
        reason_names: to_language_texts(&alert.cause_detail),
        summaries: to_language_texts(&alert.header_text),
        descriptions: to_language_texts(&alert.description_text),
        details: to_language_texts(&alert.effect_detail),
        info_links: url_info_links(&alert.url),
        affects: encode_alert_affects(context, alert).map(Box::new),
        consequences: encode_alert_consequence(alert).into_iter().collect(),
        ..PtSituationElement::default()
    };
    if alert.cause.is_some() {
        terms::set_situation_reason(&mut situation, alert.cause());
    }
    situation
}

fn to_language_texts(text: &Option<TranslatedString>) -> Vec<LanguageText> {
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
    text_if_nonempty(language).map(SmolStr::new)
}

/// Returns a link per language, labelled with the language.
fn url_info_links(url: &Option<TranslatedString>) -> Vec<InfoLink> {
    let pages = to_language_texts(url).into_iter();
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

fn encode_alert_consequence(alert: &Alert) -> Option<Consequence> {
    alert.effect?;
    Some(Consequence {
        conditions: vec![terms::map_effect_to_condition(alert.effect())?],
        // The schema requires a severity.
        severity: Some(terms::map_severity(alert.severity_level())),
        ..Consequence::default()
    })
}

/// Encodes the items that an alert affects.
fn encode_alert_affects(context: RecordEncodingContext<'_>, alert: &Alert) -> Option<Affects> {
    let mut affects = Affects::default();
    let mut lines = AffectedNetwork::default();
    for entity in &alert.informed_entity {
        let trip = entity.trip.as_ref().filter(|trip| text_if_nonempty(&trip.trip_id).is_some());
        if let Some(trip) = trip {
            let journey = build_affected_journey(
                context,
                entity,
                text_if_nonempty(&trip.trip_id),
                text_if_nonempty(&trip.start_date),
            );
            affects.vehicle_journeys.push(journey);
        } else if let Some(route) = selector_route_id(entity) {
            add_affected_line(context, &mut lines.affected_lines, route, entity);
        } else if let Some(stop) = text_if_nonempty(&entity.stop_id) {
            add_affected_stop(context, &mut affects, stop);
        } else if let Some(route_type) = entity.route_type {
            // A mode without a SIRI term is dropped: the whole network would be too much.
            let mode = u16::try_from(route_type).ok().and_then(terms::map_vehicle_mode);
            let operator = text_if_nonempty(&entity.agency_id).map(build_affected_operator);
            affects.networks.extend(mode.map(|mode| AffectedNetwork {
                affected_operators: operator.into_iter().collect(),
                vehicle_mode: Some(mode),
                all_lines: PresenceFlag(true),
                ..AffectedNetwork::default()
            }));
        } else if let Some(agency) = text_if_nonempty(&entity.agency_id) {
            let operators = affects.operators.get_or_insert_default();
            operators.affected_operators.push(build_affected_operator(agency));
        }
    }
    if !lines.affected_lines.is_empty() {
        affects.networks.push(lines);
    }
    (affects != Affects::default()).then_some(affects)
}

fn selector_route_id(entity: &EntitySelector) -> Option<&str> {
    text_if_nonempty(&entity.route_id).or_else(|| text_if_nonempty(&entity.trip.as_ref()?.route_id))
}

fn build_affected_operator(agency: &str) -> AffectedOperator {
    AffectedOperator { operator_ref: Some(SmolStr::new(agency)), ..AffectedOperator::default() }
}

fn build_affected_stop_point(context: RecordEncodingContext<'_>, id: &str) -> AffectedStopPoint {
    AffectedStopPoint {
        stop_point_ref: Some(SmolStr::new(id)),
        stop_point_names: context.stop_name_text(id),
        ..AffectedStopPoint::default()
    }
}

/// Returns the route restricted to one stop of a line or journey.
fn affected_route_with_stop(
    context: RecordEncodingContext<'_>,
    stop: &Option<String>,
) -> Vec<AffectedRoute> {
    let stop = text_if_nonempty(stop).map(|stop| AffectedRoute {
        stop_points: vec![build_affected_stop_point(context, stop)],
        ..AffectedRoute::default()
    });
    stop.into_iter().collect()
}

/// GTFS `location_type` of a station.
const STATION: u8 = 1;

fn add_affected_stop(context: RecordEncodingContext<'_>, affects: &mut Affects, id: &str) {
    let is_station = context.timetable.is_some_and(|timetable| {
        let stop = timetable.find_stop(id).map(|stop| timetable.stop(stop));
        stop.is_some_and(|stop| stop.location_type == STATION)
    });
    if is_station {
        affects.stop_places.push(AffectedStopPlace {
            stop_place_ref: Some(SmolStr::new(id)),
            place_names: context.stop_name_text(id),
            ..AffectedStopPlace::default()
        });
    } else {
        affects.stop_points.push(build_affected_stop_point(context, id));
    }
}

/// Adds a line once, with all its named directions and stops.
fn add_affected_line(
    context: RecordEncodingContext<'_>,
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
            affected_operators: text_if_nonempty(&entity.agency_id)
                .map(build_affected_operator)
                .into_iter()
                .collect(),
            line_ref: Some(SmolStr::new(route)),
            published_line_names: text_without_language(name),
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
    line.routes.extend(affected_route_with_stop(context, &entity.stop_id));
}

fn build_affected_journey(
    context: RecordEncodingContext<'_>,
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
        routes: affected_route_with_stop(context, &entity.stop_id),
        ..AffectedVehicleJourney::default()
    }
}
