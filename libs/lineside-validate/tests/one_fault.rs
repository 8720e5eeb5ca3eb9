//! An unreadable value is one fault and one finding: no rule treats it as missing, and nothing else is reported about
//! it.
//!
//! Each case puts an invalid value into a message or a publication without faults, and expects one more code, once.

use jiff::{civil::date, tz::TimeZone};
use lineside_formats::{
    Error, Problems,
    gtfs::{TableWriter, TextFiles},
    netex as publications,
    siri::{MessageLimits, decode_siri_message},
};
use lineside_validate::{
    Notices, ValidationContext,
    rules::{netex, siri},
};

/// Returns the code of each finding, with the element that the decoder names.
fn told(notices: &Notices, problems: &[&Problems]) -> Vec<String> {
    let mut findings = Vec::new();
    for found in notices.iter() {
        findings.extend((0..found.total).map(|_| found.kind.code.to_owned()));
    }
    for problems in problems {
        assert_eq!(
            problems.retained_problems().len() as u64,
            problems.total_count(),
            "every problem is retained"
        );
        let field = |field: &str| field.rsplit('/').next().unwrap_or_default().to_owned();
        findings.extend(problems.retained_problems().iter().map(|it| match &it.field {
            Some(name) => format!("{} {}", it.code, field(name)),
            None => it.code.to_owned(),
        }));
    }
    findings
}

/// Replaces the first `good` by `bad`.
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

/// Returns the findings about a SIRI delivery.
fn of_siri(delivery: &str) -> Vec<String> {
    let body = format!(
        "<Siri xmlns=\"http://www.siri.org.uk/siri\"><ServiceDelivery>{delivery}</ServiceDelivery></Siri>"
    );
    let (message, problems) =
        decode_siri_message(body.as_bytes(), &TimeZone::UTC, &MessageLimits::default())
            .expect("a message");
    let mut notices = Notices::new(10);
    assert!(siri::validate_siri_message(&message, &mut notices).is_empty());
    told(&notices, &[&problems])
}

#[test]
fn an_unreadable_siri_value_is_reported_once() {
    let yes = "<Cancellation>true</Cancellation></EstimatedVehicleJourney>";
    let journeys =
        broken(JOURNEYS, "<Cancellation>yes</Cancellation></EstimatedVehicleJourney>", yes);
    for good in [&*journeys, VEHICLES, VISITS, SITUATIONS] {
        assert_eq!(of_siri(good), [""; 0], "{good}");
    }
    // A closed situation needs no text; this one has everything.
    let shown = broken(
        SITUATIONS,
        "</PtSituationElement>",
        "<Summary>No trains</Summary><Affects><StopPoints><AffectedStopPoint><StopPointRef>S1</StopPointRef>\
         </AffectedStopPoint></StopPoints></Affects></PtSituationElement>",
    );
    assert_eq!(of_siri(&shown), [""; 0]);
    let long = "x".repeat(MessageLimits::default().text_bytes + 1);
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
    // Numbers, booleans, enums, durations, positions, and names that are too long.
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
        (&*shown, ">closed<", ">over<", "unexpected_enum_value Progress"),
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
fn missing_siri_elements_are_reported_beside_unreadable_ones() {
    let call = "<AimedDepartureTime>2026-01-01T08:01:00Z</AimedDepartureTime>";
    for (delivery, good, bad, codes) in [
        (
            SITUATIONS,
            "<CreationTime>2026-01-01T06:00:00Z</CreationTime>",
            "<CreationTime/>",
            &["missing_element"][..],
        ),
        (VISITS, "<RecordedAtTime>2026-01-01T07:59:00Z</RecordedAtTime>", "", &["missing_element"]),
        // One of two periods has no start, and the other an unreadable one.
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
    // Riders are shown a situation whose progress is unreadable, and it is empty.
    let findings = of_siri(&broken(SITUATIONS, ">closed<", ">over<"));
    let nothing = ["situation_affects_nothing", "situation_without_text"];
    assert_eq!(findings, [nothing[0], nothing[1], "unexpected_enum_value Progress"]);
    let journeys = broken(JOURNEYS, ">yes<", ">true<");
    assert_eq!(of_siri(&broken(&journeys, call, "")), ["call_without_times"]);
    let expected = "<ExpectedDepartureTime>soon</ExpectedDepartureTime>";
    let findings = of_siri(&broken(&journeys, call, expected));
    assert_eq!(findings, ["call_without_aimed_time", "invalid_timestamp ExpectedDepartureTime"]);
}

const PUBLICATION: &str = "<CompositeFrame id=\"C\" version=\"1\">\
    <validityConditions><ValidBetween id=\"V\" version=\"1\"><FromDate>2026-01-01</FromDate><ToDate>2026-12-31</ToDate>\
    </ValidBetween></validityConditions>\
    <FrameDefaults><DefaultLocale><TimeZone>Europe/Oslo</TimeZone></DefaultLocale></FrameDefaults><frames>\
    <ResourceFrame id=\"R\" version=\"1\"><organisations><Operator id=\"O1\" version=\"1\"><Name>Town Lines</Name>\
    <ContactDetails><Url>https://town.example</Url></ContactDetails></Operator></organisations></ResourceFrame>\
    <SiteFrame id=\"SF\" version=\"1\"><stopPlaces><StopPlace id=\"SP1\" version=\"1\"><Name>Pier</Name>\
    <Centroid><Location><Longitude>10.7</Longitude><Latitude>59.9</Latitude></Location></Centroid></StopPlace>\
    <StopPlace id=\"SP2\" version=\"1\"><Name>Hill</Name>\
    <Centroid><Location><Longitude>10.8</Longitude><Latitude>59.8</Latitude></Location></Centroid></StopPlace>\
    </stopPlaces></SiteFrame>\
    <ServiceFrame id=\"S\" version=\"1\"><lines><Line id=\"L1\" version=\"1\"><Name>One</Name><TransportMode>bus</TransportMode>\
    <OperatorRef ref=\"O1\"/></Line></lines>\
    <scheduledStopPoints><ScheduledStopPoint id=\"P1\" version=\"1\"/><ScheduledStopPoint id=\"P2\" version=\"1\"/>\
    </scheduledStopPoints><stopAssignments>\
    <PassengerStopAssignment id=\"A1\" version=\"1\" order=\"1\"><ScheduledStopPointRef ref=\"P1\"/><StopPlaceRef ref=\"SP1\"/>\
    </PassengerStopAssignment><PassengerStopAssignment id=\"A2\" version=\"1\" order=\"2\"><ScheduledStopPointRef ref=\"P2\"/>\
    <StopPlaceRef ref=\"SP2\"/></PassengerStopAssignment></stopAssignments>\
    <routes><Route id=\"RT\" version=\"1\"><LineRef ref=\"L1\"/></Route></routes>\
    <journeyPatterns><JourneyPattern id=\"JP1\" version=\"1\"><RouteRef ref=\"RT\"/><pointsInSequence>\
    <StopPointInJourneyPattern id=\"Q1\" version=\"1\" order=\"1\"><ScheduledStopPointRef ref=\"P1\"/>\
    <ForAlighting>false</ForAlighting></StopPointInJourneyPattern>\
    <StopPointInJourneyPattern id=\"Q2\" version=\"1\" order=\"2\"><ScheduledStopPointRef ref=\"P2\"/>\
    </StopPointInJourneyPattern></pointsInSequence></JourneyPattern></journeyPatterns></ServiceFrame>\
    <ServiceCalendarFrame id=\"SCF\" version=\"1\"><dayTypes><DayType id=\"D1\" version=\"1\"/><DayType id=\"D2\" version=\"1\"/>\
    <DayType id=\"D3\" version=\"1\"/></dayTypes><operatingDays><OperatingDay id=\"OD\" version=\"1\">\
    <CalendarDate>2026-06-16</CalendarDate></OperatingDay></operatingDays>\
    <operatingPeriods><OperatingPeriod id=\"OP\" version=\"1\">\
    <FromDate>2026-06-01</FromDate><ToDate>2026-06-30</ToDate></OperatingPeriod></operatingPeriods><dayTypeAssignments>\
    <DayTypeAssignment id=\"DA1\" version=\"1\" order=\"1\"><Date>2026-06-15</Date><DayTypeRef ref=\"D1\"/>\
    <isAvailable>true</isAvailable></DayTypeAssignment>\
    <DayTypeAssignment id=\"DA2\" version=\"1\" order=\"2\"><OperatingDayRef ref=\"OD\"/><DayTypeRef ref=\"D2\"/></DayTypeAssignment>\
    <DayTypeAssignment id=\"DA3\" version=\"1\" order=\"3\"><OperatingPeriodRef ref=\"OP\"/><DayTypeRef ref=\"D3\"/></DayTypeAssignment>\
    </dayTypeAssignments></ServiceCalendarFrame>\
    <TimetableFrame id=\"T\" version=\"1\"><vehicleJourneys>\
    <ServiceJourney id=\"J1\" version=\"1\"><dayTypes><DayTypeRef ref=\"D1\"/></dayTypes><JourneyPatternRef ref=\"JP1\"/>\
    <passingTimes><TimetabledPassingTime><StopPointInJourneyPatternRef ref=\"Q1\"/><DepartureTime>23:50:00</DepartureTime>\
    </TimetabledPassingTime><TimetabledPassingTime><StopPointInJourneyPatternRef ref=\"Q2\"/><ArrivalTime>00:10:00</ArrivalTime>\
    <ArrivalDayOffset>1</ArrivalDayOffset></TimetabledPassingTime></passingTimes></ServiceJourney>\
    <ServiceJourney id=\"J2\" version=\"1\"><dayTypes><DayTypeRef ref=\"D2\"/></dayTypes><JourneyPatternRef ref=\"JP1\"/>\
    <calls><Call><ScheduledStopPointRef ref=\"P1\"/><Departure><Time>09:00:00</Time></Departure></Call>\
    <Call><ScheduledStopPointRef ref=\"P2\"/><Arrival><Time>09:10:00</Time></Arrival></Call></calls></ServiceJourney>\
    <ServiceJourney id=\"J3\" version=\"1\"><validityConditions><AvailabilityCondition id=\"AC\" version=\"1\">\
    <FromDate>2026-06-02</FromDate><ToDate>2026-06-29</ToDate><IsAvailable>true</IsAvailable></AvailabilityCondition>\
    </validityConditions><dayTypes><DayTypeRef ref=\"D3\"/></dayTypes><JourneyPatternRef ref=\"JP1\"/>\
    <DepartureTime>12:00:00</DepartureTime><TimeDemandTypeRef ref=\"TD\"/></ServiceJourney>\
    </vehicleJourneys><timeDemandTypes><TimeDemandType id=\"TD\" version=\"1\"><runTimes><JourneyRunTime>\
    <TimingLinkRef ref=\"TL\"/><RunTime>PT5M</RunTime></JourneyRunTime></runTimes></TimeDemandType></timeDemandTypes>\
    <timingLinks><TimingLink id=\"TL\" version=\"1\"><FromPointRef ref=\"P1\"/><ToPointRef ref=\"P2\"/></TimingLink></timingLinks>\
    </TimetableFrame></frames></CompositeFrame>";

/// A writer that discards all tables.
struct Nowhere;

impl TableWriter for Nowhere {
    fn begin_table(&mut self, _: &'static str, _: &[&str]) -> Result<(), Error> {
        Ok(())
    }

    fn write_row(&mut self, _: &[&str]) -> Result<(), Error> {
        Ok(())
    }
}

/// Returns the findings about a publication: from the rules, the decoder, and the conversion to a timetable.
fn of_netex(content: &str) -> Result<Vec<String>, Error> {
    let body = format!(
        "<PublicationDelivery xmlns=\"http://www.netex.org.uk/netex\" version=\"1.1\"><dataObjects>{content}\
         </dataObjects></PublicationDelivery>"
    );
    let mut files = TextFiles::new().with_file("a.xml", body);
    let limits = publications::PublicationLimits::default();
    let (publication, mut problems) = publications::decode_publication(&mut files, &limits)?;
    publications::write_gtfs(&publication, &mut Nowhere, &mut problems)?;
    let mut notices = Notices::new(10);
    let context = ValidationContext { today: date(2026, 6, 15), country: None, threads: 1 };
    let errors = netex::validate_publication(&mut files, &limits, &context, &mut notices)?;
    assert!(errors.is_empty(), "{errors:?}");
    Ok(told(&notices, &[&problems]))
}

#[test]
fn an_unreadable_netex_value_is_reported_once() {
    assert_eq!(of_netex(PUBLICATION).unwrap(), [""; 0]);
    let long = "x".repeat(publications::PublicationLimits::default().text_bytes + 1);
    for (good, bad, code) in [
        ("23:50:00", "25:99:00", "invalid_time DepartureTime"),
        ("00:10:00", "midnight", "invalid_time ArrivalTime"),
        ("23:50:00", "26:00:00", "invalid_time DepartureTime"),
        ("09:00:00", "9 o'clock", "invalid_time Time"),
        ("09:10:00", "9:10:00", "invalid_time Time"),
        ("12:00:00", "noon", "invalid_time DepartureTime"),
        ("PT5M", "five minutes", "invalid_duration RunTime"),
        ("2026-06-15", "15.6.2026", "invalid_date Date"),
        ("2026-06-16", "2026-06-31", "invalid_date CalendarDate"),
        ("2026-06-01", "June", "invalid_date FromDate"),
        ("2026-06-30", "2026-06-31", "invalid_date ToDate"),
        ("2026-06-02", "soon", "invalid_date FromDate"),
        ("2026-01-01", "now", "invalid_date FromDate"),
        ("2026-12-31", "ever", "invalid_date ToDate"),
        ("<ArrivalDayOffset>1<", "<ArrivalDayOffset>next<", "invalid_integer ArrivalDayOffset"),
        ("<isAvailable>true<", "<isAvailable>yes<", "invalid_boolean isAvailable"),
        ("<IsAvailable>true<", "<IsAvailable>yes<", "invalid_boolean IsAvailable"),
        ("<ForAlighting>false<", "<ForAlighting>no<", "invalid_boolean ForAlighting"),
        ("10.7", "10,7", "invalid_float Longitude"),
        ("59.8", "inf", "invalid_float Latitude"),
        (">bus<", ">omnibus<", "unknown_transport_mode"),
        ("23:50:00", &long, "text_too_long DepartureTime"),
        ("2026-06-15", &long, "text_too_long Date"),
        ("Europe/Oslo", &long, "text_too_long TimeZone"),
        ("Europe/Oslo", "Europe/Nowhere", "invalid_timezone TimeZone"),
    ] {
        assert_eq!(of_netex(&broken(PUBLICATION, good, bad)).unwrap(), [code], "{good} {bad}");
    }
}

#[test]
fn missing_netex_elements_are_reported_beside_unreadable_ones() {
    let long = "x".repeat(publications::PublicationLimits::default().text_bytes + 1);
    for (good, bad, codes) in [
        (
            "<DepartureTime>23:50:00</DepartureTime>",
            "<DepartureTime/>",
            &["passing_time_without_time", "journey_without_times"][..],
        ),
        ("<Date>2026-06-15</Date>", "", &["missing_element", "journey_without_days"]),
        ("<RunTime>PT5M</RunTime>", "", &["journey_without_times"]),
        // A name that is dropped is missing.
        (">Pier<", &format!(">{long}<"), &["text_too_long Name", "missing_name"]),
    ] {
        assert_eq!(of_netex(&broken(PUBLICATION, good, bad)).unwrap(), codes, "{good}");
    }
}

#[test]
fn unreadable_netex_values_hide_no_unrelated_finding() {
    let days = "<dayTypes><DayTypeRef ref=\"D1\"/></dayTypes>";
    let first = "<DepartureTime>23:50:00</DepartureTime>";
    for (faults, codes) in [
        // No journey in this publication depends on the frame's validity.
        (
            &[("2026-01-01", "now"), (days, "")][..],
            &["journey_without_days", "invalid_date FromDate"][..],
        ),
        // The day type does, so its days are unknown.
        (
            &[
                ("2026-01-01", "now"),
                (
                    "<DayType id=\"D1\" version=\"1\"/>",
                    "<DayType id=\"D1\" version=\"1\"/><DayType id=\"D4\" version=\"1\"><properties><PropertyOfDay>\
                     <DaysOfWeek>Monday</DaysOfWeek></PropertyOfDay></properties></DayType>",
                ),
                (days, "<dayTypes><DayTypeRef ref=\"D4\"/></dayTypes>"),
            ],
            &["invalid_date FromDate"],
        ),
        (
            &[(first, "<DepartureTime/>"), ("00:10:00", "midnight")],
            &["passing_time_without_time", "journey_without_times", "invalid_time ArrivalTime"],
        ),
        (
            &[(first, "<DepartureTime/>"), ("DayOffset>1<", "DayOffset>next<")],
            &[
                "passing_time_without_time",
                "journey_without_times",
                "invalid_integer ArrivalDayOffset",
            ],
        ),
        // Two links: one has no run time, and the other an unreadable one.
        (
            &[("PT5M", "soon"), ("<TimingLinkRef ref=\"TL\"/>", "")],
            &["invalid_duration RunTime", "journey_without_times"],
        ),
        (
            &[("PT5M", ""), ("12:00:00", "noon")],
            &["journey_without_times", "invalid_time DepartureTime"],
        ),
        // A condition that only removes days does not explain that there are none.
        (
            &[
                (days, ""),
                (
                    "<passingTimes>",
                    "<validityConditions><AvailabilityCondition id=\"AX\" version=\"1\"><FromDate>soon</FromDate>\
                  <ToDate>2026-06-01</ToDate><IsAvailable>false</IsAvailable></AvailabilityCondition></validityConditions><passingTimes>",
                ),
            ],
            &["journey_without_days", "invalid_date FromDate"],
        ),
        (
            &[("2026-06-15", "June"), ("<isAvailable>true", "<isAvailable>false")],
            &["journey_without_days", "invalid_date Date"],
        ),
        // A condition only restricts the days.
        (
            &[
                ("<Date>2026-06-15</Date>", ""),
                (
                    "<passingTimes>",
                    "<validityConditions><AvailabilityCondition id=\"AX\" version=\"1\"><FromDate>soon</FromDate>\
                  <ToDate>2026-06-01</ToDate></AvailabilityCondition></validityConditions><passingTimes>",
                ),
            ],
            &["missing_element", "journey_without_days", "invalid_date FromDate"],
        ),
        // A condition with operating days does not use day types.
        (
            &[
                (days, ""),
                ("<Date>2026-06-15</Date>", "<Date>June</Date>"),
                (
                    "<passingTimes>",
                    "<validityConditions><AvailabilityCondition id=\"AX\" version=\"1\"><dayTypes><DayTypeRef ref=\"D1\"/></dayTypes>\
                  <operatingDays><OperatingDayRef ref=\"NONE\"/></operatingDays></AvailabilityCondition></validityConditions><passingTimes>",
                ),
            ],
            &["journey_without_days", "invalid_date Date"],
        ),
        // Day bits define their own end.
        (
            &[
                ("2026-01-01", "now"),
                (days, ""),
                (
                    "<passingTimes>",
                    "<validityConditions><AvailabilityCondition id=\"AX\" version=\"1\"><FromDate>2026-06-01</FromDate>\
                  <ValidDayBits>0000</ValidDayBits></AvailabilityCondition></validityConditions><passingTimes>",
                ),
            ],
            &["journey_without_days", "invalid_date FromDate"],
        ),
        (&[(">Pier<", "><"), ("10.7", "10,7")], &["missing_name", "invalid_float Longitude"]),
    ] {
        let broken = faults
            .iter()
            .fold(PUBLICATION.to_owned(), |text, (good, bad)| broken(&text, good, bad));
        let mut findings = of_netex(&broken).unwrap();
        findings.sort_unstable();
        let mut codes = codes.to_vec();
        codes.sort_unstable();
        assert_eq!(findings, codes, "{faults:?}");
    }
}
