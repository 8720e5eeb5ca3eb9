//! What cannot be read is one fault, and one finding: no rule takes it for missing, and no other word is said of it.
//!
//! Each case puts a value that is none into a message or a publication that has no fault, and there is one code more, once.

use jiff::tz::TimeZone;
use lineside_formats::{
    Problems,
    siri::{Limits, decode},
};
use lineside_validate::{Notices, rules::siri};

/// The codes of what is found, with the element where the decoder names one; one for each time that it is found.
fn told(notices: &Notices, problems: &[&Problems]) -> Vec<String> {
    let mut told = Vec::new();
    for found in notices.iter() {
        told.extend((0..found.total).map(|_| found.kind.code.to_owned()));
    }
    for problems in problems {
        assert_eq!(problems.kept().len() as u64, problems.total(), "few enough to be kept");
        let field = |field: &str| field.rsplit('/').next().unwrap_or_default().to_owned();
        told.extend(problems.kept().iter().map(|it| match &it.field {
            Some(name) => format!("{} {}", it.code, field(name)),
            None => it.code.to_owned(),
        }));
    }
    told
}

/// Puts `bad` in the place of the first `good`.
fn broken(text: &str, good: &str, bad: &str) -> String {
    assert!(text.contains(good), "{good} is in the message");
    text.replacen(good, bad, 1)
}

const JOURNEYS: &str = "<EstimatedTimetableDelivery><ResponseTimestamp>2026-01-01T08:00:00Z</ResponseTimestamp>\
    <EstimatedJourneyVersionFrame><EstimatedVehicleJourney><RecordedAtTime>2026-01-01T07:59:00Z</RecordedAtTime>\
    <LineRef>L1</LineRef><DirectionRef>out</DirectionRef><FramedVehicleJourneyRef><DataFrameRef>2026-01-01</DataFrameRef>\
    <DatedVehicleJourneyRef>J1</DatedVehicleJourneyRef></FramedVehicleJourneyRef><Monitored>true</Monitored>\
    <Occupancy>full</Occupancy><Delay>PT1M</Delay><EstimatedCalls>\
    <EstimatedCall><StopPointRef>S1</StopPointRef><Order>1</Order>\
    <AimedDepartureTime>2026-01-01T08:01:00Z</AimedDepartureTime></EstimatedCall>\
    <EstimatedCall><StopPointRef>S2</StopPointRef><Order>2</Order><Cancellation>true</Cancellation></EstimatedCall>\
    <EstimatedCall><StopPointRef>S3</StopPointRef><Order>3</Order><ExtraCall>true</ExtraCall>\
    <ExpectedArrivalTime>2026-01-01T08:10:00Z</ExpectedArrivalTime><ArrivalStatus>onTime</ArrivalStatus></EstimatedCall>\
    </EstimatedCalls></EstimatedVehicleJourney>\
    <EstimatedVehicleJourney><LineRef>L1</LineRef><EstimatedVehicleJourneyCode>X1</EstimatedVehicleJourneyCode>\
    <Cancellation>yes</Cancellation></EstimatedVehicleJourney></EstimatedJourneyVersionFrame></EstimatedTimetableDelivery>";

const VEHICLES: &str = "<VehicleMonitoringDelivery><ResponseTimestamp>2026-01-01T08:00:00Z</ResponseTimestamp>\
    <VehicleActivity><RecordedAtTime>2026-01-01T07:59:00Z</RecordedAtTime>\
    <ValidUntilTime>2026-01-01T08:05:00Z</ValidUntilTime><MonitoredVehicleJourney><LineRef>L1</LineRef>\
    <VehicleLocation><Longitude>10.7</Longitude><Latitude>59.9</Latitude></VehicleLocation><Bearing>90</Bearing>\
    <VehicleRef>V1</VehicleRef></MonitoredVehicleJourney></VehicleActivity>\
    <VehicleActivity><RecordedAtTime>2026-01-01T07:58:00Z</RecordedAtTime>\
    <ValidUntilTime>2026-01-01T08:05:00Z</ValidUntilTime><MonitoredVehicleJourney><LineRef>L1</LineRef>\
    <Monitored>false</Monitored><VehicleRef>V2</VehicleRef></MonitoredVehicleJourney></VehicleActivity>\
    </VehicleMonitoringDelivery>";

const VISITS: &str = "<StopMonitoringDelivery><ResponseTimestamp>2026-01-01T08:00:00Z</ResponseTimestamp>\
    <MonitoredStopVisit><RecordedAtTime>2026-01-01T07:59:00Z</RecordedAtTime><ItemIdentifier>I1</ItemIdentifier>\
    <MonitoringRef>S1</MonitoringRef><MonitoredVehicleJourney><LineRef>L1</LineRef><MonitoredCall>\
    <StopPointRef>S1</StopPointRef><VisitNumber>1</VisitNumber>\
    <AimedDepartureTime>2026-01-01T08:10:00Z</AimedDepartureTime></MonitoredCall></MonitoredVehicleJourney>\
    </MonitoredStopVisit></StopMonitoringDelivery>";

const SITUATIONS: &str = "<SituationExchangeDelivery><ResponseTimestamp>2026-01-01T08:00:00Z</ResponseTimestamp>\
    <Situations><PtSituationElement><CreationTime>2026-01-01T06:00:00Z</CreationTime><ParticipantRef>P1</ParticipantRef>\
    <SituationNumber>1</SituationNumber><Source><SourceType>directReport</SourceType></Source><Progress>closed</Progress>\
    <ValidityPeriod><StartTime>2026-01-01T06:00:00Z</StartTime><EndTime>2026-01-01T07:00:00Z</EndTime></ValidityPeriod>\
    <Severity>normal</Severity><Priority>3</Priority></PtSituationElement></Situations></SituationExchangeDelivery>";

/// What is said of a delivery of SIRI.
fn of_siri(delivery: &str) -> Vec<String> {
    let body = format!(
        "<Siri xmlns=\"http://www.siri.org.uk/siri\"><ServiceDelivery>{delivery}</ServiceDelivery></Siri>"
    );
    let (message, problems) =
        decode(body.as_bytes(), &TimeZone::UTC, &Limits::default()).expect("a message");
    let mut notices = Notices::new(10);
    assert!(siri::validate(&message, &mut notices).is_empty());
    told(&notices, &[&problems])
}

#[test]
fn a_value_of_siri_that_cannot_be_read_is_told_once() {
    let yes = "<Cancellation>true</Cancellation></EstimatedVehicleJourney>";
    let journeys =
        broken(JOURNEYS, "<Cancellation>yes</Cancellation></EstimatedVehicleJourney>", yes);
    for good in [&*journeys, VEHICLES, VISITS, SITUATIONS] {
        assert_eq!(of_siri(good), [""; 0], "{good}");
    }
    let long = "x".repeat(Limits::default().text_bytes + 1);
    // Times.
    for (delivery, elements) in [
        (
            &*journeys,
            &["ResponseTimestamp", "RecordedAtTime", "AimedDepartureTime", "ExpectedArrivalTime"][..],
        ),
        (VEHICLES, &["ResponseTimestamp", "RecordedAtTime", "ValidUntilTime"]),
        (VISITS, &["ResponseTimestamp", "RecordedAtTime", "AimedDepartureTime"]),
        (SITUATIONS, &["ResponseTimestamp", "CreationTime", "StartTime", "EndTime"]),
    ] {
        for element in elements {
            let bad = broken(delivery, &format!("<{element}>2026"), &format!("<{element}>24.12."));
            assert_eq!(of_siri(&bad), [format!("invalid_timestamp {element}")]);
        }
    }
    // Numbers, truths, terms, spans, places, and names that are longer than names can be.
    for (delivery, good, bad, code) in [
        (&*journeys, "<Order>2<", "<Order>two<", "invalid_integer Order"),
        (&journeys, "<Cancellation>true<", "<Cancellation>ja<", "invalid_boolean Cancellation"),
        (
            &journeys,
            yes,
            "<Cancellation>ja</Cancellation></EstimatedVehicleJourney>",
            "invalid_boolean Cancellation",
        ),
        (&journeys, "<ExtraCall>true<", "<ExtraCall>ja<", "invalid_boolean ExtraCall"),
        (&journeys, "<Monitored>true<", "<Monitored>ja<", "invalid_boolean Monitored"),
        (&journeys, ">full<", ">crowded<", "unexpected_enum_value Occupancy"),
        (&journeys, ">onTime<", ">fine<", "unexpected_enum_value ArrivalStatus"),
        (&journeys, ">PT1M<", ">1 min<", "invalid_duration Delay"),
        (&journeys, ">L1<", &format!(">{long}<"), "text_too_long LineRef"),
        (&journeys, ">J1<", &format!(">{long}<"), "text_too_long DatedVehicleJourneyRef"),
        (&journeys, ">2026-01-01<", &format!(">{long}<"), "text_too_long DataFrameRef"),
        (&journeys, ">X1<", &format!(">{long}<"), "text_too_long EstimatedVehicleJourneyCode"),
        (&journeys, ">S2<", &format!(">{long}<"), "text_too_long StopPointRef"),
        (VEHICLES, ">10.7<", ">10,7<", "invalid_float Longitude"),
        (VEHICLES, ">59.9<", ">north<", "invalid_float Latitude"),
        (VEHICLES, ">90<", ">east<", "invalid_float Bearing"),
        (VEHICLES, ">false<", ">nei<", "invalid_boolean Monitored"),
        (VEHICLES, ">V1<", &format!(">{long}<"), "text_too_long VehicleRef"),
        (VISITS, "<VisitNumber>1<", "<VisitNumber>I<", "invalid_integer VisitNumber"),
        (SITUATIONS, ">closed<", ">over<", "unexpected_enum_value Progress"),
        (SITUATIONS, ">normal<", ">awful<", "unexpected_enum_value Severity"),
        (SITUATIONS, ">3<", ">low<", "invalid_integer Priority"),
        (
            SITUATIONS,
            "<SituationNumber>1<",
            &format!("<SituationNumber>{long}<"),
            "text_too_long SituationNumber",
        ),
    ] {
        assert_eq!(of_siri(&broken(delivery, good, bad)), [code], "{good}");
    }
}

#[test]
fn what_is_not_there_is_missing_all_the_same() {
    let call = "<AimedDepartureTime>2026-01-01T08:01:00Z</AimedDepartureTime>";
    for (delivery, good, bad, codes) in [
        (
            SITUATIONS,
            "<CreationTime>2026-01-01T06:00:00Z</CreationTime>",
            "<CreationTime/>",
            &["missing_element"][..],
        ),
        (VISITS, "<RecordedAtTime>2026-01-01T07:59:00Z</RecordedAtTime>", "", &["missing_element"]),
        // Of two periods one is not there, and one cannot be read.
        (
            SITUATIONS,
            "</ValidityPeriod>",
            "</ValidityPeriod><ValidityPeriod><EndTime>2026-01-01T07:00:00Z</EndTime></ValidityPeriod>\
             <ValidityPeriod><StartTime>soon</StartTime><EndTime>2026-01-01T07:00:00Z</EndTime></ValidityPeriod>",
            &["missing_element", "invalid_timestamp StartTime"],
        ),
    ] {
        assert_eq!(of_siri(&broken(delivery, good, bad)), codes, "{good}");
    }
    let journeys = broken(JOURNEYS, ">yes<", ">true<");
    assert_eq!(of_siri(&broken(&journeys, call, "")), ["call_without_times"]);
    let expected = "<ExpectedDepartureTime>soon</ExpectedDepartureTime>";
    let told = of_siri(&broken(&journeys, call, expected));
    assert_eq!(told, ["call_without_aimed_time", "invalid_timestamp ExpectedDepartureTime"]);
}
