//! Tests of situations.

use lineside_formats::gtfs_rt::proto::alert::SeverityLevel;

use super::*;

#[test]
fn situations_of_several_participants_may_share_a_number() {
    let situation = |participant: &str| {
        format!(
            "<PtSituationElement><ParticipantRef>{participant}</ParticipantRef>\
             <SituationNumber>1</SituationNumber></PtSituationElement>"
        )
    };
    let deliveries = format!(
        "<SituationExchangeDelivery><Situations>{}{}</Situations></SituationExchangeDelivery>",
        situation("ATB"),
        situation("KOL")
    );
    let mut out = normalized(&deliveries, &SiriIdMapping::Same);
    out.remove_earlier_duplicates();
    let ids: Vec<&str> = out.entities.iter().map(|it| it.entity.id.as_str()).collect();
    assert_eq!((ids, out.problems.total_count()), (vec!["situation:ATB:1", "situation:KOL:1"], 0));
}

fn situation(inside: &str) -> SiriEntity {
    let deliveries = format!(
        "<SituationExchangeDelivery><Situations><PtSituationElement>\
         <CreationTime>2026-11-21T08:00:00Z</CreationTime><ParticipantRef>P</ParticipantRef>\
         <SituationNumber>1</SituationNumber>{inside}</PtSituationElement></Situations>\
         </SituationExchangeDelivery>"
    );
    normalized(&deliveries, &SiriIdMapping::Same).entities.remove(0)
}

#[test]
fn a_situation_keeps_its_time_severity_languages_and_scope() {
    let it = situation(
        "<ValidityPeriod><StartTime>2026-11-21T09:00:00Z</StartTime>\
         <EndTime>2026-11-21T18:00:00Z</EndTime></ValidityPeriod>\
         <EquipmentReason>lockedDoors</EquipmentReason><Severity>verySevere</Severity>\
         <Language>NO</Language><Summary>Signalfeil</Summary>\
         <Summary xml:lang=\"en\">Signal failure</Summary><Description>Lang</Description>\
         <Advice>Buss</Advice><InfoLinks><InfoLink><Uri>https://a.example</Uri></InfoLink></InfoLinks>\
         <Affects><Networks><AffectedNetwork><AffectedLine><LineRef>L</LineRef></AffectedLine>\
         <AffectedLine><LineRef>M</LineRef><StopPoints><AffectedStopPoint><StopPointRef>S\
         </StopPointRef></AffectedStopPoint></StopPoints></AffectedLine></AffectedNetwork>\
         </Networks><VehicleJourneys><AffectedVehicleJourney><FramedVehicleJourneyRef>\
         <DataFrameRef>2026-11-21</DataFrameRef><DatedVehicleJourneyRef>J</DatedVehicleJourneyRef>\
         </FramedVehicleJourneyRef></AffectedVehicleJourney></VehicleJourneys></Affects>\
         <Consequences><Consequence><Condition>delayed</Condition></Consequence></Consequences>",
    );
    assert_eq!((it.entity.id.as_str(), it.until), ("situation:P:1", Some(1_795_284_000)));
    let alert = it.entity.alert.unwrap();
    assert_eq!(alert.severity_level, Some(SeverityLevel::Severe as i32));
    let texts = |text: &Option<TranslatedString>| {
        let translations = text.iter().flat_map(|it| it.translation.clone());
        translations.map(|it| (it.language.unwrap_or_default(), it.text)).collect::<Vec<_>>()
    };
    let pair = |language: &str, text: &str| (language.to_owned(), text.to_owned());
    assert_eq!(texts(&alert.header_text), [pair("no", "Signalfeil"), pair("en", "Signal failure")]);
    assert_eq!(texts(&alert.description_text), [pair("no", "Lang\nBuss")]);
    assert_eq!(texts(&alert.url), [pair("", "https://a.example")]);
    let about: Vec<_> = alert
        .informed_entity
        .iter()
        .map(|it| {
            let trip = it.trip.as_ref().and_then(|trip| trip.trip_id.as_deref());
            (it.route_id.as_deref(), it.stop_id.as_deref(), trip)
        })
        .collect();
    assert_eq!(
        about,
        [(Some("L"), None, None), (Some("M"), Some("S"), None), (None, None, Some("J"))]
    );
}

/// Returns the agencies and route types selected by a situation that affects networks.
fn networks(inside: &str) -> Vec<(Option<String>, Option<i32>)> {
    let affects = format!("<Affects><Networks>{inside}</Networks></Affects>");
    let selectors = situation(&affects).entity.alert.unwrap().informed_entity;
    selectors.into_iter().map(|it| (it.agency_id, it.route_type)).collect()
}

#[test]
fn all_lines_of_a_network_map_to_operators_modes_or_all() {
    let network = |inside: &str| networks(&format!("<AffectedNetwork>{inside}</AffectedNetwork>"));
    let operator = "<AffectedOperator><OperatorRef>A</OperatorRef></AffectedOperator>";
    let (rail, all) = ("<VehicleMode>rail</VehicleMode>", "<AllLines/>");
    let route_types = |agency: Option<&str>, kinds: &[i32]| -> Vec<(Option<String>, Option<i32>)> {
        kinds.iter().map(|kind| (agency.map(str::to_owned), Some(*kind))).collect()
    };
    let every = route_types(None, &terms::ROUTE_TYPES);
    assert_eq!(network(&format!("{rail}{all}")), route_types(None, &[2, 12]));
    assert_eq!(network(rail), route_types(None, &[2, 12]));
    assert_eq!(network(all), every);
    assert_eq!(network("<NetworkRef>N</NetworkRef>"), every);
    assert_eq!(network("<VehicleMode>all</VehicleMode>"), every);
    assert_eq!(network(&format!("{operator}{rail}{all}")), route_types(Some("A"), &[2, 12]));
    assert_eq!(network(&format!("{operator}{all}")), [(Some("A".to_owned()), None)]);
    assert_eq!(network(&format!("<VehicleMode>rocket</VehicleMode>{all}")), []);
    assert_eq!(network(""), []);
    let operators = "<Affects><Operators><AllOperators/></Operators></Affects>";
    let selectors = situation(operators).entity.alert.unwrap().informed_entity;
    assert_eq!(selectors.len(), every.len());
}

#[test]
fn a_line_may_be_affected_in_one_direction() {
    let line = |directions: &str, inside: &str| {
        let affects = format!(
            "<Affects><Networks><AffectedNetwork><AffectedLine><LineRef>L</LineRef>{directions}\
             {inside}</AffectedLine></AffectedNetwork></Networks></Affects>"
        );
        let selectors = situation(&affects).entity.alert.unwrap().informed_entity;
        let named = selectors.into_iter().map(|it| {
            assert_eq!(it.route_id.as_deref(), Some("L"));
            (it.direction_id, it.stop_id)
        });
        named.collect::<Vec<_>>()
    };
    let direction =
        |name: &str| format!("<Direction><DirectionRef>{name}</DirectionRef></Direction>");
    assert_eq!(line(&direction("1"), ""), [(Some(1), None)]);
    assert_eq!(line(&direction("inbound"), ""), [(None, None)]);
    assert_eq!(line(&[direction("0"), direction("1")].concat(), ""), [(None, None)]);
    let stop = "<StopPoints><AffectedStopPoint><StopPointRef>S</StopPointRef></AffectedStopPoint>\
                </StopPoints>";
    assert_eq!(line(&direction("0"), stop), [(Some(0), Some("S".to_owned()))]);
}

#[test]
fn a_closed_situation_has_ended() {
    let it = situation(
        "<VersionedAtTime>2026-11-21T10:00:00Z</VersionedAtTime><Progress>closed</Progress>\
         <ValidityPeriod><StartTime>2026-11-21T09:00:00Z</StartTime></ValidityPeriod>",
    );
    let closed = 1_795_255_200;
    let alert = it.entity.alert.unwrap();
    assert_eq!(alert.active_period[0].end, Some(closed));
    assert_eq!(it.until, Some(closed.cast_signed()));
}

#[test]
fn many_texts_are_joined_quickly_and_each_once() {
    let texts: String = (0..200_000).map(|n| format!("<Detail>{n}</Detail>")).collect();
    let alert = situation(&format!("{texts}{texts}")).entity.alert.unwrap();
    let text = &alert.description_text.unwrap().translation[0].text;
    assert_eq!(text.split('\n').count(), 200_000);
    let languages: String =
        (0..50_000).map(|n| format!("<Summary xml:lang=\"l{n}\">a</Summary>")).collect();
    let alert = situation(&languages).entity.alert.unwrap();
    assert_eq!(alert.header_text.unwrap().translation.len(), 50_000);
}

#[test]
fn informed_entities_beyond_the_limit_are_counted() {
    let stop =
        |n| format!("<AffectedStopPoint><StopPointRef>{n}</StopPointRef></AffectedStopPoint>");
    let stops: String = (0..1_005).map(stop).collect();
    let message = message(&format!(
        "<SituationExchangeDelivery><Situations><PtSituationElement><SituationNumber>1\
         </SituationNumber><Affects><StopPoints>{stops}{stops}</StopPoints></Affects>\
         </PtSituationElement></Situations></SituationExchangeDelivery>"
    ));
    let (out, _, losses) = siri_to_gtfs_rt(&message, &SiriIdMapping::Same, None, &TimeZone::UTC);
    assert_eq!(out.entity[0].alert.as_ref().unwrap().informed_entity.len(), 1_000);
    let lost: Vec<_> = losses.iter().map(|loss| (loss.kind, loss.count)).collect();
    assert_eq!(lost, [("Affects", 10)], "each entity beyond the limit is counted");
}
