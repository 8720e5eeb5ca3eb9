//! Generated messages of any size, with the shape of real ones.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use zip::{ZipWriter, write::SimpleFileOptions};

/// Stops of a line.
const CALLS: usize = 20;
/// Journeys of a line, which has a separate file.
const JOURNEYS: usize = 200;
/// The irrelevant elements per journey in a stuffed publication.
const STUFFING: usize = 8;

/// Returns an estimated timetable with this number of journeys, in SIRI's XML, with delayed calls.
pub(super) fn estimated_timetable(journeys: usize) -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Siri xmlns=\"http://www.siri.org.uk/siri\" version=\"2.0\">\
         <ServiceDelivery><ResponseTimestamp>2026-11-18T07:30:00+01:00</ResponseTimestamp>\
         <ProducerRef>TST</ProducerRef><EstimatedTimetableDelivery version=\"2.0\">\
         <ResponseTimestamp>2026-11-18T07:30:00+01:00</ResponseTimestamp>\
         <EstimatedJourneyVersionFrame><RecordedAtTime>2026-11-18T07:30:00+01:00</RecordedAtTime>",
    );
    for journey in 0..journeys {
        let line = journey / 40;
        _ = write!(
            text,
            "<EstimatedVehicleJourney><RecordedAtTime>2026-11-18T07:29:4{}+01:00</RecordedAtTime>\
             <LineRef>TST:Line:{line}</LineRef><DirectionRef>0</DirectionRef><FramedVehicleJourneyRef>\
             <DataFrameRef>2026-11-18</DataFrameRef><DatedVehicleJourneyRef>TST:ServiceJourney:{journey}</DatedVehicleJourneyRef>\
             </FramedVehicleJourneyRef><OperatorRef>TST:Operator:1</OperatorRef><DataSource>TST</DataSource>\
             <EstimatedCalls>",
            journey % 10
        );
        for call in 0..CALLS {
            let (hour, minute) =
                (7 + (journey % 60 + 2 * call) / 60, (journey % 60 + 2 * call) % 60);
            _ = write!(
                text,
                "<EstimatedCall><StopPointRef>TST:Quay:{}</StopPointRef><Order>{}</Order>\
                 <StopPointName>Stop {call} of line {line}</StopPointName>\
                 <AimedArrivalTime>2026-11-18T{hour:02}:{minute:02}:00+01:00</AimedArrivalTime>\
                 <ExpectedArrivalTime>2026-11-18T{hour:02}:{minute:02}:40+01:00</ExpectedArrivalTime>\
                 <ArrivalStatus>delayed</ArrivalStatus>\
                 <AimedDepartureTime>2026-11-18T{hour:02}:{minute:02}:00+01:00</AimedDepartureTime>\
                 <ExpectedDepartureTime>2026-11-18T{hour:02}:{minute:02}:50+01:00</ExpectedDepartureTime>\
                 <DepartureStatus>delayed</DepartureStatus></EstimatedCall>",
                line * CALLS + call,
                call + 1
            );
        }
        text.push_str("</EstimatedCalls><IsCompleteStopSequence>true</IsCompleteStopSequence></EstimatedVehicleJourney>");
    }
    text.push_str(
        "</EstimatedJourneyVersionFrame></EstimatedTimetableDelivery></ServiceDelivery></Siri>",
    );
    text
}

/// Returns a NeTEx publication with this number of lines, a file for each and one for shared elements, in a zip. A
/// stuffed one has the same timetable and further elements for every journey that no timetable needs.
pub(super) fn publication(lines: usize, is_stuffed: bool) -> anyhow::Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("shared.xml", SimpleFileOptions::default())?;
    zip.write_all(in_envelope(&shared(lines)).as_bytes())?;
    for line in 0..lines {
        zip.start_file(format!("line-{line}.xml"), SimpleFileOptions::default())?;
        zip.write_all(in_envelope(&line_frames(line, is_stuffed)).as_bytes())?;
    }
    Ok(zip.finish()?.into_inner())
}

fn in_envelope(frames: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<PublicationDelivery xmlns=\"http://www.netex.org.uk/netex\" \
         xmlns:gml=\"http://www.opengis.net/gml/3.2\" version=\"1.15\">\
         <PublicationTimestamp>2026-11-01T00:00:00</PublicationTimestamp><ParticipantRef>TST</ParticipantRef>\
         <dataObjects>{frames}</dataObjects></PublicationDelivery>\n"
    )
}

fn shared(lines: usize) -> String {
    let mut text = String::from(
        "<ResourceFrame id=\"R\" version=\"1\"><organisations><Operator id=\"TST:Operator:1\" version=\"1\">\
         <Name>Made Lines</Name></Operator></organisations></ResourceFrame>\
         <SiteFrame id=\"S\" version=\"1\"><stopPlaces>",
    );
    for stop in 0..lines * CALLS {
        let (latitude, longitude) =
            (59.0 + (stop / 100) as f64 * 0.01, 10.0 + (stop % 100) as f64 * 0.01);
        _ = write!(
            text,
            "<StopPlace id=\"TST:StopPlace:{stop}\" version=\"1\"><Name>Stop {stop}</Name><Centroid><Location>\
             <Longitude>{longitude:.4}</Longitude><Latitude>{latitude:.4}</Latitude></Location></Centroid>\
             <quays><Quay id=\"TST:Quay:{stop}\" version=\"1\"><PublicCode>1</PublicCode></Quay></quays></StopPlace>"
        );
    }
    text.push_str(
        "</stopPlaces></SiteFrame><ServiceFrame id=\"P\" version=\"1\"><scheduledStopPoints>",
    );
    for stop in 0..lines * CALLS {
        _ = write!(
            text,
            "<ScheduledStopPoint id=\"TST:ScheduledStopPoint:{stop}\" version=\"1\"><Name>Stop {stop}</Name></ScheduledStopPoint>"
        );
    }
    text.push_str("</scheduledStopPoints><stopAssignments>");
    for stop in 0..lines * CALLS {
        _ = write!(
            text,
            "<PassengerStopAssignment id=\"TST:PassengerStopAssignment:{stop}\" order=\"1\" version=\"1\">\
             <ScheduledStopPointRef ref=\"TST:ScheduledStopPoint:{stop}\"/><QuayRef ref=\"TST:Quay:{stop}\"/>\
             </PassengerStopAssignment>"
        );
    }
    text.push_str(
        "</stopAssignments></ServiceFrame><ServiceCalendarFrame id=\"C\" version=\"1\"><dayTypes>\
         <DayType id=\"TST:DayType:1\" version=\"1\"/></dayTypes><dayTypeAssignments>\
         <DayTypeAssignment id=\"TST:DayTypeAssignment:1\" order=\"1\"><Date>2026-11-18</Date>\
         <DayTypeRef ref=\"TST:DayType:1\"/></DayTypeAssignment></dayTypeAssignments></ServiceCalendarFrame>",
    );
    text
}

fn line_frames(line: usize, is_stuffed: bool) -> String {
    let mut text = format!(
        "<ServiceFrame id=\"SF{line}\" version=\"1\"><lines><Line id=\"TST:Line:{line}\" version=\"1\">\
         <Name>Line {line}</Name><TransportMode>bus</TransportMode><PublicCode>{line}</PublicCode>\
         <OperatorRef ref=\"TST:Operator:1\"/></Line></lines><routes><Route id=\"TST:Route:{line}\" version=\"1\">\
         <LineRef ref=\"TST:Line:{line}\"/><DirectionType>outbound</DirectionType></Route></routes><journeyPatterns>\
         <JourneyPattern id=\"TST:JourneyPattern:{line}\" version=\"1\"><RouteRef ref=\"TST:Route:{line}\"/><pointsInSequence>"
    );
    for call in 0..CALLS {
        _ = write!(
            text,
            "<StopPointInJourneyPattern id=\"TST:StopPointInJourneyPattern:{line}-{call}\" order=\"{}\" version=\"1\">\
             <ScheduledStopPointRef ref=\"TST:ScheduledStopPoint:{}\"/></StopPointInJourneyPattern>",
            call + 1,
            line * CALLS + call
        );
    }
    text.push_str("</pointsInSequence></JourneyPattern></journeyPatterns></ServiceFrame>");
    _ = write!(text, "<TimetableFrame id=\"TF{line}\" version=\"1\"><vehicleJourneys>");
    for journey in 0..JOURNEYS {
        _ = write!(
            text,
            "<ServiceJourney id=\"TST:ServiceJourney:{line}-{journey}\" version=\"1\"><Name>To the end</Name>"
        );
        if is_stuffed {
            text.push_str("<keyList>");
            for key in 0..STUFFING * CALLS {
                _ = write!(
                    text,
                    "<KeyValue typeOfKey=\"note\"><Key>note-{key}</Key><Value>what the planners wrote of {journey}</Value></KeyValue>"
                );
            }
            text.push_str("</keyList>");
        }
        _ = write!(
            text,
            "<dayTypes><DayTypeRef ref=\"TST:DayType:1\"/></dayTypes>\
             <JourneyPatternRef ref=\"TST:JourneyPattern:{line}\"/><passingTimes>"
        );
        for call in 0..CALLS {
            let minutes = 300 + journey * 5 + 2 * call;
            let (hour, minute) = (minutes / 60 % 24, minutes % 60);
            let day =
                if minutes >= 24 * 60 { "<DepartureDayOffset>1</DepartureDayOffset>" } else { "" };
            let arrival_day =
                if minutes >= 24 * 60 { "<ArrivalDayOffset>1</ArrivalDayOffset>" } else { "" };
            _ = write!(
                text,
                "<TimetabledPassingTime id=\"TST:TimetabledPassingTime:{line}-{journey}-{call}\" version=\"1\">\
                 <StopPointInJourneyPatternRef ref=\"TST:StopPointInJourneyPattern:{line}-{call}\"/>\
                 <ArrivalTime>{hour:02}:{minute:02}:00</ArrivalTime>{arrival_day}\
                 <DepartureTime>{hour:02}:{minute:02}:20</DepartureTime>{day}</TimetabledPassingTime>"
            );
        }
        text.push_str("</passingTimes></ServiceJourney>");
    }
    text.push_str("</vehicleJourneys></TimetableFrame>");
    text
}
