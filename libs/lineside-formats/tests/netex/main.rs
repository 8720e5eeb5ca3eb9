//! Tests of NeTEx: decoding, problems, refusals, and the conversion to GTFS.
#![cfg(feature = "netex")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says why")]

mod bad_input;
mod calendars;
mod data;
mod journeys;
mod pairs;
mod profiles;
#[path = "../support/mod.rs"]
mod support;
mod towns;

use std::io::{Cursor, Write};

use jiff::civil::Date;
use lineside_formats::{
    Error, Problems,
    gtfs::{self, InMemoryTables, Timetable, TripIdx},
    netex::{
        LoadedPublication, PublicationLimits, PublicationSource, decode_publication,
        drop_already_reported_problems, load_timetable, write_gtfs,
    },
};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// Returns frames in the envelope of a publication.
fn publication(frames: &str) -> String {
    format!(
        "<?xml version='1.0' encoding='UTF-8'?>\
         <PublicationDelivery xmlns='http://www.netex.org.uk/netex' xmlns:gml='http://www.opengis.net/gml/3.2' \
         version='1.15:NO-NeTEx-networktimetable:1.5'>\
         <PublicationTimestamp>2024-01-01T00:00:00</PublicationTimestamp><ParticipantRef>TST</ParticipantRef>\
         <dataObjects>{frames}</dataObjects></PublicationDelivery>"
    )
}

/// The stops of a small town: a station with two quays, and a stop that is only a point.
const STOPS: &str = "
    <SiteFrame id='S' version='1'><stopPlaces>
      <StopPlace id='T:StopPlace:1' version='1'>
        <Name lang='en'>Center</Name>
        <Centroid><Location><Longitude>10.75</Longitude><Latitude>59.91</Latitude></Location></Centroid>
        <quays>
          <Quay id='T:Quay:1' version='1'>
            <Centroid><Location><Longitude>10.7501</Longitude><Latitude>59.9101</Latitude></Location></Centroid>
            <PublicCode>1</PublicCode>
            <AccessibilityAssessment><limitations><AccessibilityLimitation>
              <WheelchairAccess>true</WheelchairAccess>
            </AccessibilityLimitation></limitations></AccessibilityAssessment>
          </Quay>
          <Quay id='T:Quay:2' version='1'><PublicCode>2</PublicCode></Quay>
        </quays>
      </StopPlace>
    </stopPlaces></SiteFrame>
    <ServiceFrame id='SP' version='1'>
      <scheduledStopPoints>
        <ScheduledStopPoint id='T:SSP:center' version='1'><Name>Center</Name></ScheduledStopPoint>
        <ScheduledStopPoint id='T:SSP:harbor' version='1'><Name>Harbor</Name>
          <Location><Longitude>10.74</Longitude><Latitude>59.90</Latitude></Location></ScheduledStopPoint>
      </scheduledStopPoints>
      <stopAssignments>
        <PassengerStopAssignment id='T:PSA:1' order='1' version='1'>
          <ScheduledStopPointRef ref='T:SSP:center'/><QuayRef ref='T:Quay:1'/>
        </PassengerStopAssignment>
      </stopAssignments>
    </ServiceFrame>";

/// One operator, and one line with a route and a pattern of two points.
const NETWORK: &str = "
    <ResourceFrame id='R' version='1'><organisations>
      <Operator id='T:Operator:1' version='1'><Name>Town Lines</Name>
        <ContactDetails><Url>www.town.example</Url></ContactDetails></Operator>
    </organisations></ResourceFrame>
    <ServiceFrame id='SF' version='1'>
      <lines><Line id='T:Line:1' version='1'><Name>Center – Harbor</Name><TransportMode>tram</TransportMode>
        <PublicCode>12</PublicCode><OperatorRef ref='T:Operator:1'/>
        <Presentation><Colour>AA0044</Colour><TextColour>ffffff</TextColour></Presentation></Line></lines>
      <routes><Route id='T:Route:1' version='1'><LineRef ref='T:Line:1'/><DirectionType>inbound</DirectionType></Route></routes>
      <destinationDisplays><DestinationDisplay id='T:DD:1' version='1'><FrontText>Harbor</FrontText></DestinationDisplay>
        <DestinationDisplay id='T:DD:2' version='1'><Name><Text lang='en'>Pier</Text></Name></DestinationDisplay></destinationDisplays>
      <journeyPatterns><JourneyPattern id='T:JP:1' version='1'><RouteRef ref='T:Route:1'/><pointsInSequence>
        <StopPointInJourneyPattern id='T:SPJP:1' order='1'><ScheduledStopPointRef ref='T:SSP:center'/>
          <ForAlighting>false</ForAlighting><DestinationDisplayRef ref='T:DD:1'/></StopPointInJourneyPattern>
        <StopPointInJourneyPattern id='T:SPJP:2' order='2'><ScheduledStopPointRef ref='T:SSP:harbor'/>
          <ForBoarding>false</ForBoarding></StopPointInJourneyPattern>
      </pointsInSequence></JourneyPattern></journeyPatterns>
    </ServiceFrame>";

/// One day type, of two days.
const CALENDAR: &str = "
    <ServiceCalendarFrame id='C' version='1'>
      <dayTypes><DayType id='T:DayType:1' version='1'/></dayTypes>
      <dayTypeAssignments>
        <DayTypeAssignment id='1' order='1'><Date>2024-05-06</Date><DayTypeRef ref='T:DayType:1'/></DayTypeAssignment>
        <DayTypeAssignment id='2' order='2'><Date>2024-05-07</Date><DayTypeRef ref='T:DayType:1'/></DayTypeAssignment>
      </dayTypeAssignments>
    </ServiceCalendarFrame>";

fn timetable_frame(journeys: &str) -> String {
    format!(
        "<TimetableFrame id='TF' version='1'><vehicleJourneys>{journeys}</vehicleJourneys></TimetableFrame>"
    )
}

/// Returns a journey on the town's pattern with that id and content.
fn journey(id: &str, inside: &str) -> String {
    format!(
        "<ServiceJourney id='{id}' version='1'><dayTypes><DayTypeRef ref='T:DayType:1'/></dayTypes>\
         <JourneyPatternRef ref='T:JP:1'/>{inside}</ServiceJourney>"
    )
}

/// Returns the passing times of a departure and an arrival at the town's two points.
fn times(departure: &str, arrival: &str) -> String {
    format!(
        "<passingTimes>\
         <TimetabledPassingTime id='a'><StopPointInJourneyPatternRef ref='T:SPJP:1'/>{departure}</TimetabledPassingTime>\
         <TimetabledPassingTime id='b'><StopPointInJourneyPatternRef ref='T:SPJP:2'/>{arrival}</TimetabledPassingTime>\
         </passingTimes>"
    )
}

fn plain_times() -> String {
    times("<DepartureTime>08:00:00</DepartureTime>", "<ArrivalTime>08:10:00</ArrivalTime>")
}

/// Returns the town with these journeys.
fn town(journeys: &str) -> String {
    publication(&format!("{STOPS}{NETWORK}{CALENDAR}{}", timetable_frame(journeys)))
}

fn zip_of(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, text) in files {
        writer.start_file(*name, options).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn try_read(body: &[u8]) -> Result<LoadedPublication, Error> {
    let limits = PublicationLimits::default();
    let loaded = load_timetable(&mut PublicationSource::new(body, &limits.files)?, &limits)?;
    check_tables(body, &limits, &loaded);
    Ok(loaded)
}

/// Checks that the tables written from a publication load to the same timetable as the publication itself.
fn check_tables(body: &[u8], limits: &PublicationLimits, loaded: &LoadedPublication) {
    let mut files = PublicationSource::new(body, &limits.files).unwrap();
    let (publication, mut problems) = decode_publication(&mut files, limits).unwrap();
    let mut tables = InMemoryTables::new();
    write_gtfs(&publication, &mut tables, &mut problems).unwrap();
    let (timetable, more) =
        gtfs::load_timetable(&mut tables, &gtfs::DatasetLimits::default()).unwrap();
    problems.merge(drop_already_reported_problems(more, &timetable));
    assert_eq!(sentences(&problems), sentences(&loaded.problems));
    assert_eq!(describe(&timetable), describe(&loaded.timetable));
}

/// Describes a timetable, row by row.
fn describe(timetable: &Timetable) -> String {
    let mut lines = vec![format!("{:?}", timetable.row_counts())];
    lines.extend(timetable.stops().map(|stop| format!("{stop:?}")));
    lines.extend(timetable.routes().map(|route| format!("{route:?}")));
    for trip in timetable.trips() {
        lines.push(format!("{trip:?} {}", timetable.service_id(trip.service)));
        lines.extend(timetable.trip_stop_times(trip.idx).map(|call| format!("{call:?}")));
    }
    lines.join("\n")
}

fn read(body: impl AsRef<[u8]>) -> LoadedPublication {
    try_read(body.as_ref()).unwrap()
}

/// Loads a publication and checks that it has no problems.
fn read_sound(body: impl AsRef<[u8]>) -> LoadedPublication {
    let loaded = read(body);
    assert_eq!(sentences(&loaded.problems), [""; 0]);
    loaded
}

fn sentences(problems: &Problems) -> Vec<String> {
    problems.retained_problems().iter().map(ToString::to_string).collect()
}

fn trip(timetable: &Timetable, id: &str) -> TripIdx {
    timetable.find_trip(id).unwrap_or_else(|| panic!("there is no trip {id}"))
}

/// Returns the stops of a trip with arrival and departure, as `HH:MM`.
fn calls(timetable: &Timetable, id: &str) -> Vec<String> {
    let clock = |time: Option<i32>| {
        time.map_or("-".to_owned(), |time| format!("{:02}:{:02}", time / 3_600, time / 60 % 60))
    };
    let calls = timetable.trip_stop_times(trip(timetable, id));
    calls
        .map(|call| {
            let stop = timetable.stop(call.stop).id;
            format!("{stop} {} {}", clock(call.arrival), clock(call.departure))
        })
        .collect()
}

/// Returns the days on which a trip runs.
fn days(timetable: &Timetable, id: &str) -> Vec<String> {
    let service = timetable.trip(trip(timetable, id)).service;
    let (first, last) = timetable.service_date_range().unwrap();
    let dates = first.series(jiff::ToSpan::day(1)).take_while(|&date| date <= last);
    dates
        .filter(|&date| timetable.is_service_active(service, date))
        .map(|date: Date| date.to_string())
        .collect()
}
