//! Alerts as situations.

use lineside_formats::{
    gtfs_rt::proto::{Alert, EntitySelector, TranslatedString},
    siri::{
        AffectedDirection, AffectedLine, AffectedNetwork, AffectedOperator, AffectedRoute,
        AffectedStopPlace, AffectedStopPoint, AffectedVehicleJourney, Affects, Consequence, Flag,
        FramedVehicleJourneyRef, InfoLink, Period, Progress, PtSituationElement, SituationSource,
        Text, Time,
    },
};
use smol_str::{SmolStr, format_smolstr};

use super::{Look, data_frame, moment, terms, texts};
use crate::{
    normalize::{given, seconds},
    record::Record,
};

/// The situation of an alert. One that its feed no longer has is closed, and ends when it was gone where it has no end.
pub(super) fn of_alert(look: Look<'_>, record: &Record, alert: &Alert) -> PtSituationElement {
    let begins = alert.active_period.iter().filter_map(|period| seconds(period.start)).min();
    // An alert does not say when it was made: when it began, or when the message was made if that was before.
    let gone_at = look.gone_at(record);
    let message_time = gone_at.map_or(i64::MAX, Time::as_seconds).min(look.message_time);
    let created = begins.unwrap_or(message_time).min(message_time);
    let mut periods: Vec<Period> = alert
        .active_period
        .iter()
        .map(|period| Period {
            start_time: moment(seconds(period.start).unwrap_or(created)),
            end_time: seconds(period.end).and_then(moment),
        })
        .collect();
    if periods.is_empty() {
        periods.push(Period { start_time: moment(created), end_time: None });
    }
    for period in &mut periods {
        let gone = gone_at.filter(|gone| period.start_time.is_none_or(|start| start <= *gone));
        period.end_time = period.end_time.or(gone);
    }
    let mut situation = PtSituationElement {
        creation_time: moment(created),
        participant_ref: Some(SmolStr::new(record.feed.as_str())),
        situation_number: Some(record.id.clone()),
        source: Some(SituationSource {
            source_type: Some(SmolStr::new_static("feed")),
            ..SituationSource::default()
        }),
        progress: Some(match gone_at {
            Some(_) => Progress::Closed,
            None => Progress::Published,
        }),
        validity_periods: periods,
        severity: alert.severity_level.map(|_| terms::severity(alert.severity_level())),
        report_type: Some(SmolStr::new_static(match terms::is_incident(alert.cause()) {
            true => "incident",
            false => "general",
        })),
        reason_names: translations(&alert.cause_detail),
        summaries: translations(&alert.header_text),
        descriptions: translations(&alert.description_text),
        details: translations(&alert.effect_detail),
        info_links: links(&alert.url),
        affects: affects(look, alert).map(Box::new),
        consequences: consequence(alert).into_iter().collect(),
        ..PtSituationElement::default()
    };
    if alert.cause.is_some() {
        terms::put_cause(&mut situation, alert.cause());
    }
    situation
}

/// A text in all its languages.
fn translations(text: &Option<TranslatedString>) -> Vec<Text> {
    let all = text.iter().flat_map(|text| &text.translation);
    let given = all.filter(|translation| !translation.text.is_empty());
    given
        .map(|translation| Text {
            lang: given_language(&translation.language),
            value: SmolStr::new(&translation.text),
        })
        .collect()
}

fn given_language(language: &Option<String>) -> Option<SmolStr> {
    given(language).map(SmolStr::new)
}

/// Pages in several languages are several links, each called by its language.
fn links(url: &Option<TranslatedString>) -> Vec<InfoLink> {
    let pages = translations(url).into_iter();
    pages
        .map(|page| InfoLink {
            uri: Some(page.value),
            labels: page.lang.map(|lang| Text { lang: None, value: lang }).into_iter().collect(),
        })
        .collect()
}

fn consequence(alert: &Alert) -> Option<Consequence> {
    alert.effect?;
    Some(Consequence {
        conditions: vec![terms::condition(alert.effect())?],
        // The schema has none without.
        severity: Some(terms::severity(alert.severity_level())),
        ..Consequence::default()
    })
}

/// Whom and what an alert names.
fn affects(look: Look<'_>, alert: &Alert) -> Option<Affects> {
    let mut affects = Affects::default();
    let mut lines = AffectedNetwork::default();
    for entity in &alert.informed_entity {
        let trip = entity.trip.as_ref().filter(|trip| given(&trip.trip_id).is_some());
        if let Some(trip) = trip {
            let journey = journey(look, entity, given(&trip.trip_id), given(&trip.start_date));
            affects.vehicle_journeys.push(journey);
        } else if let Some(route) = route_of(entity) {
            put_line(look, &mut lines.affected_lines, route, entity);
        } else if let Some(stop) = given(&entity.stop_id) {
            put_stop(look, &mut affects, stop);
        } else if let Some(route_type) = entity.route_type {
            // A mode that SIRI has no word for cannot be told: the whole network would be too much.
            let mode = u16::try_from(route_type).ok().and_then(terms::vehicle_mode);
            let operator = given(&entity.agency_id).map(operator);
            affects.networks.extend(mode.map(|mode| AffectedNetwork {
                affected_operators: operator.into_iter().collect(),
                vehicle_mode: Some(mode),
                all_lines: Flag(true),
                ..AffectedNetwork::default()
            }));
        } else if let Some(agency) = given(&entity.agency_id) {
            let operators = affects.operators.get_or_insert_default();
            operators.affected_operators.push(operator(agency));
        }
    }
    if !lines.affected_lines.is_empty() {
        affects.networks.push(lines);
    }
    (affects != Affects::default()).then_some(affects)
}

fn route_of(entity: &EntitySelector) -> Option<&str> {
    given(&entity.route_id).or_else(|| given(&entity.trip.as_ref()?.route_id))
}

fn operator(agency: &str) -> AffectedOperator {
    AffectedOperator { operator_ref: Some(SmolStr::new(agency)), ..AffectedOperator::default() }
}

fn stop_point(look: Look<'_>, id: &str) -> AffectedStopPoint {
    AffectedStopPoint {
        stop_point_ref: Some(SmolStr::new(id)),
        stop_point_names: look.stop_name(id),
        ..AffectedStopPoint::default()
    }
}

/// The route of one stop of a line or journey.
fn at_stop(look: Look<'_>, stop: &Option<String>) -> Vec<AffectedRoute> {
    let stop = given(stop).map(|stop| AffectedRoute {
        stop_points: vec![stop_point(look, stop)],
        ..AffectedRoute::default()
    });
    stop.into_iter().collect()
}

/// GTFS `location_type` of a station.
const STATION: u8 = 1;

fn put_stop(look: Look<'_>, affects: &mut Affects, id: &str) {
    let is_station = look.timetable.is_some_and(|timetable| {
        let stop = timetable.find_stop(id).map(|stop| timetable.stop(stop));
        stop.is_some_and(|stop| stop.location_type == STATION)
    });
    if is_station {
        affects.stop_places.push(AffectedStopPlace {
            stop_place_ref: Some(SmolStr::new(id)),
            place_names: look.stop_name(id),
            ..AffectedStopPlace::default()
        });
    } else {
        affects.stop_points.push(stop_point(look, id));
    }
}

/// A line stands once, with all its directions and stops that are named.
fn put_line(look: Look<'_>, lines: &mut Vec<AffectedLine>, route: &str, entity: &EntitySelector) {
    let known = lines.iter().position(|line| line.line_ref.as_deref() == Some(route));
    let at = known.unwrap_or_else(|| {
        let name = look.timetable.and_then(|timetable| {
            let route = timetable.find_route(route)?;
            Some(timetable.route(route).name())
        });
        lines.push(AffectedLine {
            affected_operators: given(&entity.agency_id).map(operator).into_iter().collect(),
            line_ref: Some(SmolStr::new(route)),
            published_line_names: texts(name),
            ..AffectedLine::default()
        });
        lines.len() - 1
    });
    let line = &mut lines[at];
    let of_trip = entity.trip.as_ref().and_then(|trip| trip.direction_id);
    if let Some(direction) = entity.direction_id.or(of_trip) {
        line.directions.push(AffectedDirection {
            direction_ref: Some(format_smolstr!("{direction}")),
            ..AffectedDirection::default()
        });
    }
    line.routes.extend(at_stop(look, &entity.stop_id));
}

fn journey(
    look: Look<'_>,
    entity: &EntitySelector,
    trip: Option<&str>,
    date: Option<&str>,
) -> AffectedVehicleJourney {
    let (framed, plain) = match date.and_then(data_frame) {
        Some(date) => (
            Some(FramedVehicleJourneyRef {
                data_frame_ref: Some(date),
                dated_vehicle_journey_ref: trip.map(SmolStr::new),
            }),
            None,
        ),
        // Without a date it is the trip of every day.
        None => (None, trip.map(SmolStr::new)),
    };
    AffectedVehicleJourney {
        framed_vehicle_journey_ref: framed,
        vehicle_journey_refs: plain.into_iter().collect(),
        line_ref: route_of(entity).map(SmolStr::new),
        routes: at_stop(look, &entity.stop_id),
        ..AffectedVehicleJourney::default()
    }
}
