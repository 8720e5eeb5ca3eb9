//! Journeys: all forms of their times, and faults of a single journey.

use proptest::prelude::*;

use super::{
    CALENDAR, NETWORK, STOPS, calls, journey, plain_times, publication, read, read_sound,
    sentences, times, timetable_frame, town, trip,
};

fn check_calls(inside: &str, expected: [&str; 2]) {
    let loaded = read_sound(town(&journey("J", inside)));
    assert_eq!(calls(&loaded.timetable, "J"), expected);
}

#[test]
fn times_after_midnight_belong_to_the_day_of_the_first_departure() {
    let with_offsets = times(
        "<DepartureTime>23:50:00</DepartureTime>",
        "<ArrivalTime>00:10:00</ArrivalTime><ArrivalDayOffset>1</ArrivalDayOffset>",
    );
    check_calls(&with_offsets, ["T:Quay:1 23:50 23:50", "T:SSP:harbor 24:10 24:10"]);
    let without =
        times("<DepartureTime>23:50:00</DepartureTime>", "<ArrivalTime>00:10:00</ArrivalTime>");
    check_calls(&without, ["T:Quay:1 23:50 23:50", "T:SSP:harbor 24:10 24:10"]);
    let later = times(
        "<DepartureTime>00:20:00</DepartureTime><DepartureDayOffset>1</DepartureDayOffset>",
        "<ArrivalTime>00:30:00.000+02:00</ArrivalTime><ArrivalDayOffset>1</ArrivalDayOffset>",
    );
    check_calls(&later, ["T:Quay:1 24:20 24:20", "T:SSP:harbor 24:30 24:30"]);
}

#[test]
fn a_stop_across_midnight_needs_only_one_day_offset() {
    let stop = |inside: &str| times("<DepartureTime>23:50:00</DepartureTime>", inside);
    for inside in [
        "<ArrivalTime>23:58:00</ArrivalTime><DepartureTime>00:02:00</DepartureTime><DepartureDayOffset>1</DepartureDayOffset>",
        "<ArrivalTime>23:58:00</ArrivalTime><ArrivalDayOffset>0</ArrivalDayOffset><DepartureTime>00:02:00</DepartureTime>",
    ] {
        check_calls(&stop(inside), ["T:Quay:1 23:50 23:50", "T:SSP:harbor 23:58 24:02"]);
    }
}

#[test]
fn times_without_a_point_belong_to_the_calls() {
    let passed = "<TimingPointInJourneyPattern id='T:TP:1' order='2'><TimingPointRef ref='T:Timing:1'/></TimingPointInJourneyPattern>";
    let time = |of: &str, clock: &str| {
        format!("<TimetabledPassingTime><{of}>{clock}</{of}></TimetabledPassingTime>")
    };
    let (leaves, arrives) = (time("DepartureTime", "08:00:00"), time("ArrivalTime", "08:10:00"));
    for between in [String::new(), time("DepartureTime", "08:05:00")] {
        let body = town(&journey(
            "J",
            &format!("<passingTimes>{leaves}{between}{arrives}</passingTimes>"),
        ));
        let last = "<StopPointInJourneyPattern id='T:SPJP:2' order='";
        let body = body.replace(&format!("{last}2'>"), &format!("{passed}{last}3'>"));
        let timetable = read_sound(body).timetable;
        let expected = ["T:Quay:1 08:00 08:00", "T:SSP:harbor 08:10 08:10"];
        assert_eq!(calls(&timetable, "J"), expected, "{between}");
    }
}

#[test]
fn times_may_be_unordered_and_include_timing_points() {
    let pattern = "<TimingPointInJourneyPattern id='T:TP:1' order='2'><TimingPointRef ref='T:Timing:1'/></TimingPointInJourneyPattern>";
    let body = town(&journey(
        "J",
        "<passingTimes>\
         <TimetabledPassingTime id='b'><StopPointInJourneyPatternRef ref='T:SPJP:2'/><ArrivalTime>08:10:00</ArrivalTime></TimetabledPassingTime>\
         <TimetabledPassingTime id='t'><TimingPointInJourneyPatternRef ref='T:TP:1'/><DepartureTime>08:05:00</DepartureTime></TimetabledPassingTime>\
         <TimetabledPassingTime id='a'><StopPointInJourneyPatternRef ref='T:SPJP:1'/><DepartureTime>08:00:00</DepartureTime></TimetabledPassingTime>\
         </passingTimes>",
    ))
    .replace("<StopPointInJourneyPattern id='T:SPJP:2' order='2'>", &format!("{pattern}<StopPointInJourneyPattern id='T:SPJP:2' order='3'>"));
    let timetable = read_sound(body).timetable;
    assert_eq!(calls(&timetable, "J"), ["T:Quay:1 08:00 08:00", "T:SSP:harbor 08:10 08:10"]);
    assert_eq!(timetable.find_stop("T:Timing:1"), None);
}

#[test]
fn times_without_points_follow_the_order_of_the_pattern() {
    let unnamed = plain_times()
        .replace("<StopPointInJourneyPatternRef ref='T:SPJP:1'/>", "")
        .replace("<StopPointInJourneyPatternRef ref='T:SPJP:2'/>", "");
    check_calls(&unnamed, ["T:Quay:1 08:00 08:00", "T:SSP:harbor 08:10 08:10"]);
}

#[test]
fn calls_may_name_their_stop_points_directly() {
    let call = |point: &str, arrival: &str, departure: &str| {
        format!(
            "<Call><ScheduledStopPointRef ref='{point}'/><Arrival><Time>{arrival}</Time></Arrival>\
             <Departure><Time>{departure}</Time></Departure></Call>"
        )
    };
    let both = call("T:SSP:harbor", "07:00:00", "07:01:00")
        + &call("T:SSP:center", "07:09:00", "07:10:00");
    check_calls(
        &format!("<calls>{both}</calls>"),
        ["T:SSP:harbor 07:00 07:01", "T:Quay:1 07:09 07:10"],
    );
}

/// Returns the town with a time demand type of one link; the pattern refers to the link or not.
fn timed_town(is_named: bool, journeys: &str) -> String {
    let link = "<TimingLink id='L'><FromPointRef ref='T:SSP:center'/><ToPointRef ref='T:SSP:harbor'/></TimingLink>\
                <TimeDemandType id='TD'><runTimes><JourneyRunTime><TimingLinkRef ref='L'/><RunTime>P0Y0M0DT0H9M30.000S</RunTime>\
                </JourneyRunTime></runTimes></TimeDemandType>";
    let network = match is_named {
        true => NETWORK.replace("<ForAlighting>", "<OnwardTimingLinkRef ref='L'/><ForAlighting>"),
        false => NETWORK.to_owned(),
    };
    publication(&format!(
        "{STOPS}{network}<ServiceFrame>{link}</ServiceFrame>{CALENDAR}{}",
        timetable_frame(journeys)
    ))
}

#[test]
fn times_are_computed_from_a_departure_and_link_run_times() {
    let inside = "<DepartureTime>14:39:00</DepartureTime><TimeDemandTypeRef ref='TD'/>";
    for is_named in [true, false] {
        let loaded = read_sound(timed_town(is_named, &journey("J", inside)));
        assert_eq!(
            calls(&loaded.timetable, "J"),
            ["T:Quay:1 14:39 14:39", "T:SSP:harbor 14:48 14:48"]
        );
    }
}

#[test]
fn template_journeys_run_at_their_headway() {
    let inside = "<DepartureTime>05:25:00</DepartureTime><TimeDemandTypeRef ref='TD'/><frequencyGroups>\
                  <HeadwayJourneyGroup><FirstDepartureTime>05:25:00</FirstDepartureTime>\
                  <LastDepartureTime>06:25:00</LastDepartureTime><ScheduledHeadwayInterval>PT30M</ScheduledHeadwayInterval>\
                  </HeadwayJourneyGroup></frequencyGroups>";
    let template = journey("J", inside).replace("ServiceJourney", "TemplateServiceJourney");
    let loaded = read_sound(timed_town(true, &template));
    let timetable = &loaded.timetable;
    let day = timetable.service_time_to_unix(jiff::civil::date(2024, 5, 6), 0);
    let stop = timetable.find_stop("T:Quay:1").unwrap();
    let minutes: Vec<i64> = timetable
        .departures_from_stop(stop, day, day + 86_400, 10)
        .iter()
        .map(|it| (it.departure - day) / 60)
        .collect();
    assert_eq!(minutes, [325, 355, 385]);
}

#[test]
fn a_changed_destination_is_shown_from_the_call_where_it_changes() {
    let network = NETWORK
        .replace("<ForBoarding>false</ForBoarding>", "<DestinationDisplayRef ref='T:DD:2'/>");
    let frames =
        format!("{STOPS}{network}{CALENDAR}{}", timetable_frame(&journey("J", &plain_times())));
    let loaded = read_sound(publication(&frames));
    let timetable = &loaded.timetable;
    assert_eq!(timetable.trip(trip(timetable, "J")).headsign, Some("Harbor"));
    let shown: Vec<_> =
        timetable.trip_stop_times(trip(timetable, "J")).map(|call| call.headsign).collect();
    assert_eq!(shown, [None, Some("Pier")]);
}

#[test]
fn a_bad_journey_is_dropped_alone() {
    let good = journey("good", &plain_times());
    for (bad, sentence) in [
        (
            journey("bad", &plain_times()).replace("T:JP:1", "T:JP:9"),
            "publication.xml, JourneyPatternRef: refers to an object that is in no file (bad): \"T:JP:9\"",
        ),
        (
            journey("bad", &plain_times()).replace("T:DayType:1", "T:DayType:9"),
            "publication.xml, DayTypeRef: refers to an object that is in no file (bad): \"T:DayType:9\"",
        ),
        (
            journey("bad", &plain_times()).replace("T:SPJP:2", "T:SPJP:9"),
            "publication.xml: has a passing time for a point that is not in its pattern (bad)",
        ),
        (
            journey("bad", ""),
            "publication.xml: has no times, or none at its first or last call (bad)",
        ),
        (
            journey(
                "bad",
                &times(
                    "<DepartureTime>8 o'clock</DepartureTime>",
                    "<ArrivalTime>08:10:00</ArrivalTime>",
                ),
            ),
            "publication.xml, DepartureTime: is not a time of day and is ignored (bad): \"8 o'clock\"",
        ),
        (
            journey("good", &plain_times()),
            "publication.xml: appears twice; the first is used (good)",
        ),
    ] {
        let loaded = read(town(&format!("{good}{bad}")));
        let ids: Vec<_> = loaded.timetable.trips().map(|trip| trip.id).collect();
        assert_eq!(ids, ["good"], "{sentence}");
        assert_eq!(sentences(&loaded.problems)[0], sentence);
    }
}

#[test]
fn problems_of_many_journeys_are_counted_and_a_few_are_retained() {
    let many: String = (0..500)
        .map(|n| journey(&format!("J{n}"), &plain_times()).replace("T:JP:1", "T:JP:9"))
        .collect();
    let loaded = read(town(&many));
    assert_eq!(loaded.problems.total_count(), 500);
    assert_eq!(
        loaded.problems.retained_problems().len(),
        lineside_formats::Problems::RETAINED_PER_CODE_MAX
    );
    assert_eq!(loaded.losses.dropped_object_count(), 500);
}

fn clock(time: i32) -> String {
    format!("{:02}:{:02}:{:02}", time / 3_600 % 24, time / 60 % 60, time % 60)
}

proptest! {
    #[test]
    fn any_departure_and_arrival_time_is_preserved(departure in 0..86_400_i32, ride in 0..36_000_i32) {
        let arrival = departure + ride;
        let inside = times(
            &format!("<DepartureTime>{}</DepartureTime>", clock(departure)),
            &format!("<ArrivalTime>{}</ArrivalTime><ArrivalDayOffset>{}</ArrivalDayOffset>", clock(arrival), arrival / 86_400),
        );
        let loaded = read_sound(town(&journey("J", &inside)));
        let timetable = &loaded.timetable;
        let found: Vec<_> = timetable.trip_stop_times(trip(timetable, "J")).map(|call| (call.arrival, call.departure)).collect();
        prop_assert_eq!(found, [(Some(departure), Some(departure)), (Some(arrival), Some(arrival))]);
    }
}
