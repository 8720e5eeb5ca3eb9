//! Notices to passengers as SIRI situations.

use lineside_formats::gtfs_rt::proto;
use lineside_formats::siri::{
    AffectedLine, AffectedNetwork, AffectedOperator, AffectedOperators, AffectedStopPlace,
    AffectedStopPoint, AffectedVehicleJourney, Affects, Consequence, FramedVehicleJourneyRef,
    InfoLink, LanguageText, PresenceFlag, PtSituationElement, Severity, SituationProgress,
    SituationSource, TimePeriod,
};
use lineside_sync::UnixMillis;
use proto::alert::{Cause, Effect, SeverityLevel};

use super::alerts::{AlertNotice, notice_page_url};
use super::journeys::{SOURCE, siri_time};
use super::to_unix_seconds;
use crate::city::City;

/// The seconds before its start at which a planned situation is created; it is published some days
/// before.
const PLANNED_AHEAD: i64 = 28 * 86_400;

/// Returns the seconds between the creation and the start of a situation.
fn publication_lead_seconds(notice: &AlertNotice) -> i64 {
    match notice.cause {
        Cause::Holiday | Cause::Construction => PLANNED_AHEAD,
        _ => 0,
    }
}

impl City {
    /// Returns the situations at an instant, in a fixed order.
    pub fn siri_situations(&self, now: UnixMillis) -> Vec<PtSituationElement> {
        let notices = self.active_alert_notices(to_unix_seconds(now));
        notices.iter().map(|notice| self.build_situation(notice)).collect()
    }

    fn build_situation(&self, notice: &AlertNotice) -> PtSituationElement {
        let (start, end) = notice.period;
        let mut situation = PtSituationElement {
            creation_time: siri_time(start - publication_lead_seconds(notice)),
            participant_ref: Some(SOURCE.into()),
            situation_number: Some(notice.id.clone().into()),
            source: Some(SituationSource {
                source_type: Some("directReport".into()),
                ..SituationSource::default()
            }),
            progress: Some(SituationProgress::Published),
            validity_periods: vec![TimePeriod {
                start_time: siri_time(start),
                end_time: siri_time(end),
            }],
            severity: Some(siri_severity(notice.severity)),
            summaries: siri_texts(&notice.header),
            descriptions: siri_texts(&notice.description),
            info_links: vec![InfoLink {
                uri: Some(notice_page_url(notice).into()),
                labels: Vec::new(),
            }],
            affects: Some(Box::new(self.siri_affects_of_notice(notice))),
            consequences: siri_consequences(notice.effect),
            ..PtSituationElement::default()
        };
        set_siri_reason(&mut situation, notice.cause);
        situation
    }

    /// Returns the affected operators, lines, stops, stations, and journeys.
    fn siri_affects_of_notice(&self, notice: &AlertNotice) -> Affects {
        let mut affects = Affects::default();
        let mut operators = Vec::new();
        for concern in &notice.informed_entities {
            match concern {
                proto::EntitySelector { trip: Some(trip), .. } => {
                    affects.vehicle_journeys.push(affected_journey(trip));
                }
                proto::EntitySelector { stop_id: Some(id), .. } if self.is_station_id(id) => {
                    affects.stop_places.push(AffectedStopPlace {
                        stop_place_ref: Some(id.clone().into()),
                        ..AffectedStopPlace::default()
                    });
                }
                proto::EntitySelector { stop_id: Some(id), .. } => {
                    affects.stop_points.push(AffectedStopPoint {
                        stop_point_ref: Some(id.clone().into()),
                        ..AffectedStopPoint::default()
                    });
                }
                proto::EntitySelector { route_id: Some(id), agency_id, .. } => {
                    affects.networks.push(AffectedNetwork {
                        affected_operators: agency_id
                            .as_deref()
                            .map(affected_operator)
                            .into_iter()
                            .collect(),
                        affected_lines: vec![AffectedLine {
                            line_ref: Some(id.clone().into()),
                            ..AffectedLine::default()
                        }],
                        ..AffectedNetwork::default()
                    });
                }
                proto::EntitySelector { agency_id: Some(id), .. } => {
                    operators.push(affected_operator(id))
                }
                _ => {}
            }
        }
        affects.operators = (!operators.is_empty())
            .then(|| AffectedOperators { affected_operators: operators, ..Default::default() });
        affects
    }

    fn is_station_id(&self, id: &str) -> bool {
        self.network().places.iter().any(|place| place.is_station && place.id == id)
    }
}

fn affected_operator(id: &str) -> AffectedOperator {
    AffectedOperator { operator_ref: Some(id.into()), ..AffectedOperator::default() }
}

fn affected_journey(trip: &proto::TripDescriptor) -> AffectedVehicleJourney {
    let date = trip.start_date.as_deref().filter(|date| date.len() == 8 && date.is_ascii());
    let date = date.map(|date| format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]));
    AffectedVehicleJourney {
        framed_vehicle_journey_ref: Some(FramedVehicleJourneyRef {
            data_frame_ref: date.map(Into::into),
            dated_vehicle_journey_ref: trip.trip_id.clone().map(Into::into),
        }),
        line_ref: trip.route_id.clone().map(Into::into),
        ..AffectedVehicleJourney::default()
    }
}

fn siri_texts(text: &proto::TranslatedString) -> Vec<LanguageText> {
    let in_language = |it: &proto::translated_string::Translation| LanguageText {
        lang: it.language.clone().map(Into::into),
        value: it.text.clone().into(),
    };
    text.translation.iter().map(in_language).collect()
}

fn siri_severity(level: SeverityLevel) -> Severity {
    match level {
        SeverityLevel::Info => Severity::Slight,
        SeverityLevel::Warning => Severity::Normal,
        SeverityLevel::Severe => Severity::Severe,
        SeverityLevel::UnknownSeverity => Severity::Unknown,
    }
}

/// Sets a cause in the SIRI 2.0 element for its kind.
fn set_siri_reason(situation: &mut PtSituationElement, cause: Cause) {
    let (place, term) = match cause {
        Cause::Accident => (&mut situation.miscellaneous_reason, "accident"),
        Cause::PoliceActivity => (&mut situation.miscellaneous_reason, "policeActivity"),
        Cause::Holiday => (&mut situation.miscellaneous_reason, "holiday"),
        Cause::MedicalEmergency => {
            (&mut situation.miscellaneous_reason, "emergencyMedicalServices")
        }
        Cause::TechnicalProblem => (&mut situation.equipment_reason, "technicalProblem"),
        Cause::Maintenance => (&mut situation.equipment_reason, "maintenanceWork"),
        Cause::Construction => (&mut situation.equipment_reason, "constructionWork"),
        Cause::Weather => (&mut situation.environment_reason, "roughSea"),
        _ => {
            situation.undefined_reason = PresenceFlag(true);
            return;
        }
    };
    *place = Some(term.into());
}

/// Returns the consequences for services; empty if SIRI has no matching condition.
fn siri_consequences(effect: Effect) -> Vec<Consequence> {
    let condition = match effect {
        Effect::SignificantDelays => "delayed",
        Effect::ReducedService => "disrupted",
        Effect::NoService => "noService",
        Effect::AdditionalService => "additionalService",
        Effect::ModifiedService => "altered",
        _ => return Vec::new(),
    };
    vec![Consequence { conditions: vec![condition.into()], ..Consequence::default() }]
}
