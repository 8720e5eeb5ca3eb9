//! The ways in which NeTEx specifies the days of a journey.

use lineside_formats::{
    Error, ErrorKind, Problems,
    gtfs::TableWriter,
    netex::{PublicationLimits, PublicationSource, decode_publication, write_gtfs},
};

use super::{
    NETWORK, STOPS, days, plain_times, publication, read, read_sound, sentences, timetable_frame,
    zip_of,
};

/// Checks that a journey with `inside` runs on the `expected` days of this calendar.
fn check(calendar: &str, inside: &str, expected: &[&str]) {
    let journey = format!(
        "<ServiceJourney id='J'>{inside}<JourneyPatternRef ref='T:JP:1'/>{}</ServiceJourney>",
        plain_times()
    );
    let frames = format!(
        "{STOPS}{NETWORK}<ServiceCalendarFrame id='C'>{calendar}</ServiceCalendarFrame>{}",
        timetable_frame(&journey)
    );
    let loaded = read_sound(publication(&frames));
    assert_eq!(days(&loaded.timetable, "J"), expected, "{calendar}");
}

const DAY_TYPE_D: &str = "<dayTypes><DayTypeRef ref='D'/></dayTypes>";

fn day_type(weekdays: &str) -> String {
    format!(
        "<DayType id='D'><properties><PropertyOfDay><DaysOfWeek>{weekdays}</DaysOfWeek></PropertyOfDay></properties></DayType>"
    )
}

fn assignment(what: &str) -> String {
    format!("<DayTypeAssignment>{what}<DayTypeRef ref='D'/></DayTypeAssignment>")
}

#[test]
fn a_day_type_is_assigned_to_single_dates() {
    let dates = assignment("<Date>2024-05-03</Date>") + &assignment("<Date>2024-05-01</Date>");
    check(&format!("<DayType id='D'/>{dates}"), DAY_TYPE_D, &["2024-05-01", "2024-05-03"]);
}

#[test]
fn an_assigned_date_counts_regardless_of_the_weekdays() {
    let calendar = day_type("Sunday") + &assignment("<Date>2024-05-01</Date>");
    check(&calendar, DAY_TYPE_D, &["2024-05-01"]);
}

#[test]
fn a_period_applies_on_its_weekdays_except_excluded_dates() {
    let calendar = format!(
        "{}<OperatingPeriod id='P'><FromDate>2024-05-01</FromDate><ToDate>2024-05-12</ToDate></OperatingPeriod>{}{}",
        day_type("Monday Wednesday"),
        assignment("<OperatingPeriodRef ref='P'/>"),
        assignment("<Date>2024-05-06</Date><isAvailable>false</isAvailable>")
    );
    check(&calendar, DAY_TYPE_D, &["2024-05-01", "2024-05-08"]);
}

#[test]
fn periods_between_operating_days_and_single_operating_days_are_read() {
    let days = "<OperatingDay id='1'><CalendarDate>2024-05-01</CalendarDate></OperatingDay>\
                <OperatingDay id='2'><CalendarDate>2024-05-02</CalendarDate></OperatingDay>\
                <OperatingDay id='9'><CalendarDate>2024-05-09</CalendarDate></OperatingDay>";
    let calendar = format!(
        "<DayType id='D'/>{days}<OperatingPeriod id='P'><FromOperatingDayRef ref='1'/><ToOperatingDayRef ref='2'/>\
         </OperatingPeriod>{}{}",
        assignment("<OperatingPeriodRef ref='P'/>"),
        assignment("<OperatingDayRef ref='9'/>")
    );
    check(&calendar, DAY_TYPE_D, &["2024-05-01", "2024-05-02", "2024-05-09"]);
}

#[test]
fn a_uic_period_has_a_digit_per_day() {
    let calendar = format!(
        "<DayType id='D'/><UicOperatingPeriod id='P'><FromDate>2024-05-01T00:00:00+00:00</FromDate>\
         <ValidDayBits>10011</ValidDayBits></UicOperatingPeriod>{}",
        assignment("<OperatingPeriodRef ref='P'/>")
    );
    check(&calendar, DAY_TYPE_D, &["2024-05-01", "2024-05-04", "2024-05-05"]);
}

#[test]
fn unassigned_weekdays_apply_for_the_validity_of_the_calendar() {
    let calendar = format!(
        "<ServiceCalendar id='S'><FromDate>2024-05-01</FromDate><ToDate>2024-05-10</ToDate></ServiceCalendar>{}",
        day_type("Weekend")
    );
    check(&calendar, DAY_TYPE_D, &["2024-05-04", "2024-05-05"]);
}

#[test]
fn unassigned_weekdays_apply_for_the_validity_of_the_frames() {
    let may = "<FromDate>2024-05-01T00:00:00</FromDate><ToDate>2024-05-10T00:00:00</ToDate>";
    let long = "<ValidBetween><FromDate>2015-01-01T00:00:00</FromDate>\
                <ToDate>2035-12-31T00:00:00</ToDate></ValidBetween>";
    let conditions = format!(
        "<validityConditions>{long}{}</validityConditions>",
        long.replace("ValidBetween", "AvailabilityCondition")
    );
    let of_frame = [
        format!("<ValidBetween>{may}</ValidBetween>"),
        format!("<validityConditions><ValidBetween>{may}</ValidBetween></validityConditions>"),
        format!(
            "<validityConditions><AvailabilityCondition id='F'>{may}</AvailabilityCondition></validityConditions>"
        ),
    ];
    let unrelated = [
        format!("<ServiceFrame id='S'><Network id='N'>{conditions}</Network></ServiceFrame>"),
        format!("<ServiceFrame id='S'><Network id='N'>{long}</Network></ServiceFrame>"),
        format!(
            "<ServiceFrame id='S'><groupsOfLines><GroupOfLines id='G'>{conditions}</GroupOfLines></groupsOfLines></ServiceFrame>"
        ),
        format!(
            "<SiteFrame id='P'><parkings><Parking id='P'>{conditions}</Parking></parkings></SiteFrame>"
        ),
        format!(
            "<SiteFrame id='P'><parkings><Parking id='P'>{long}</Parking></parkings></SiteFrame>"
        ),
        format!("<ResourceFrame id='R'><TypeOfFrame id='T'>{long}</TypeOfFrame></ResourceFrame>"),
        format!(
            "<GeneralFrame id='G'><members><Block id='B'>{conditions}</Block></members></GeneralFrame>"
        ),
    ];
    let day_type = day_type("Weekend");
    for own in &of_frame {
        for unrelated in &unrelated {
            let journey = format!(
                "<ServiceJourney id='J'>{DAY_TYPE_D}<JourneyPatternRef ref='T:JP:1'/>{}</ServiceJourney>",
                plain_times()
            );
            let frames = format!(
                "{STOPS}{NETWORK}{unrelated}<ServiceCalendarFrame id='C'>{own}{day_type}</ServiceCalendarFrame>{}",
                timetable_frame(&journey)
            );
            let loaded = read(publication(&frames));
            let days = days(&loaded.timetable, "J");
            assert_eq!(days, ["2024-05-04", "2024-05-05"], "{own} {unrelated}");
        }
    }
}

const PERIOD: &str = "<OperatingPeriod id='P'><FromDate>2024-05-01</FromDate><ToDate>2024-05-12</ToDate></OperatingPeriod>";

fn of_properties(properties: &str) -> String {
    format!(
        "<DayType id='D'><properties><PropertyOfDay>{properties}</PropertyOfDay></properties></DayType>"
    )
}

#[test]
fn a_day_type_by_holidays_has_only_its_assigned_dates() {
    let holidays = "<HolidayTypes>NationalHoliday</HolidayTypes>";
    let dated =
        assignment("<OperatingPeriodRef ref='P'/>") + &assignment("<Date>2024-05-09</Date>");
    for properties in [holidays, "<DaysOfWeek>none</DaysOfWeek>"] {
        let calendar = format!("{}{PERIOD}{dated}", of_properties(properties));
        check(&calendar, DAY_TYPE_D, &["2024-05-09"]);
    }
    let any = "<DaysOfWeek>Sunday</DaysOfWeek><HolidayTypes>AnyDay</HolidayTypes>";
    let calendar = format!("{}{PERIOD}{dated}", of_properties(any));
    check(&calendar, DAY_TYPE_D, &["2024-05-05", "2024-05-09", "2024-05-12"]);
    let journey = format!(
        "<ServiceJourney id='J'>{DAY_TYPE_D}<JourneyPatternRef ref='T:JP:1'/>{}</ServiceJourney>",
        plain_times()
    );
    let calendar = format!("{}{PERIOD}{dated}", of_properties(holidays));
    let frames = format!(
        "{STOPS}{NETWORK}<ServiceCalendarFrame id='C'>{calendar}</ServiceCalendarFrame>{}",
        timetable_frame(&journey)
    );
    let loaded = read(publication(&frames));
    let lost: Vec<_> = loaded.losses.iter().map(|it| (it.kind, it.examples.join(" "))).collect();
    assert_eq!(lost, [("HolidayTypes", "D".to_owned())]);
}

#[test]
fn an_excluded_date_does_not_affect_the_other_weekdays() {
    let calendar = format!(
        "<ServiceCalendar id='S'><FromDate>2024-05-01</FromDate><ToDate>2024-05-14</ToDate></ServiceCalendar>{}{}",
        day_type("Wednesday Sunday"),
        assignment("<Date>2024-05-08</Date><isAvailable>false</isAvailable>")
    );
    check(&calendar, DAY_TYPE_D, &["2024-05-01", "2024-05-05", "2024-05-12"]);
}

#[test]
fn a_condition_defines_days_or_narrows_those_of_day_types() {
    let condition = |inside: &str| {
        format!(
            "<AvailabilityCondition id='A'><FromDate>2024-05-01T00:00:00</FromDate>\
             <ToDate>2024-05-04T23:59:59</ToDate>{inside}</AvailabilityCondition>"
        )
    };
    let named = "<validityConditions><AvailabilityConditionRef ref='A'/></validityConditions>";
    check(&condition("<ValidDayBits>0101</ValidDayBits>"), named, &["2024-05-02", "2024-05-04"]);
    check(&condition(""), named, &["2024-05-01", "2024-05-02", "2024-05-03", "2024-05-04"]);
    let inline = format!(
        "<validityConditions>{}</validityConditions>",
        condition("<ValidDayBits>1</ValidDayBits>")
    );
    check("", &inline, &["2024-05-01"]);
    let dates = assignment("<Date>2024-05-03</Date>") + &assignment("<Date>2024-05-09</Date>");
    check(
        &format!("<DayType id='D'/>{dates}{}", condition("")),
        &format!("{named}{DAY_TYPE_D}"),
        &["2024-05-03"],
    );
    let by_type = condition("<dayTypes><DayTypeRef ref='D'/></dayTypes>");
    check(&format!("{}{by_type}", day_type("Friday")), named, &["2024-05-03"]);
    let not = condition("<IsAvailable>false</IsAvailable>");
    check(
        &format!("<DayType id='D'/>{dates}{not}"),
        &format!("{named}{DAY_TYPE_D}"),
        &["2024-05-09"],
    );
}

#[test]
fn a_condition_adds_no_day_to_a_day_type_with_assignments() {
    let condition = "<AvailabilityCondition id='A'><FromDate>2024-05-01</FromDate><ToDate>2024-05-31</ToDate>\
                     <dayTypes><DayTypeRef ref='D'/></dayTypes></AvailabilityCondition>";
    let named = "<validityConditions><AvailabilityConditionRef ref='A'/></validityConditions>";
    // Two of five Fridays are deliberately missing.
    let fridays = ["2024-05-03", "2024-05-17", "2024-05-31"];
    let dates: String =
        fridays.iter().map(|day| assignment(&format!("<Date>{day}</Date>"))).collect();
    check(&format!("{}{dates}{condition}", day_type("Friday")), named, &fridays);
    // A period and a holiday.
    let period = "<OperatingPeriod id='P'><FromDate>2024-04-29</FromDate><ToDate>2024-05-03</ToDate></OperatingPeriod>";
    let calendar = format!(
        "{}{period}{}{}{condition}",
        day_type("Weekdays"),
        assignment("<OperatingPeriodRef ref='P'/>"),
        assignment("<Date>2024-05-01</Date><isAvailable>false</isAvailable>")
    );
    check(&calendar, named, &["2024-05-02", "2024-05-03"]);
}

#[test]
fn only_a_condition_with_no_valid_days_removes_all_days() {
    let dates = assignment("<Date>2024-05-03</Date>") + &assignment("<Date>2024-05-09</Date>");
    let calendar = |condition: &str| format!("<DayType id='D'/>{dates}{condition}");
    let inside = |condition: &str| {
        format!("<validityConditions>{condition}</validityConditions>{DAY_TYPE_D}")
    };
    let all = ["2024-05-03", "2024-05-09"];
    check(&calendar(""), &inside("<AvailabilityCondition id='A'/>"), &all);
    check(&calendar(""), &inside("<AvailabilityConditionRef ref='nowhere'/>"), &all);
    let never = "<AvailabilityCondition id='A'><FromDate>2024-05-01</FromDate><ToDate>2024-05-31</ToDate>\
                 <ValidDayBits>0000</ValidDayBits></AvailabilityCondition>";
    let journey = format!(
        "<ServiceJourney id='J'>{}<JourneyPatternRef ref='T:JP:1'/>{}</ServiceJourney>",
        inside(never),
        plain_times()
    );
    let frames = format!(
        "{STOPS}{NETWORK}<ServiceCalendarFrame id='C'>{}</ServiceCalendarFrame>{}",
        calendar(""),
        timetable_frame(&journey)
    );
    let loaded = read(publication(&frames));
    assert_eq!(loaded.timetable.find_trip("J"), None);
    assert!(sentences(&loaded.problems)[0].contains("no service days"));
}

#[test]
fn a_condition_without_an_end_is_open() {
    let dates = assignment("<Date>2024-05-03</Date>") + &assignment("<Date>2024-05-09</Date>");
    let dates = format!("<DayType id='D'/>{dates}");
    let frame = "<ServiceCalendar id='S'><FromDate>2024-05-04</FromDate><ToDate>2024-05-06</ToDate></ServiceCalendar>";
    let valid = |ends: &str| {
        format!("<validityConditions><ValidBetween>{ends}</ValidBetween></validityConditions>")
    };
    let from = |day: &str| valid(&format!("<FromDate>2024-05-{day}T00:00:00</FromDate>"));
    let to = |day: &str| valid(&format!("<ToDate>2024-05-{day}T00:00:00</ToDate>"));
    for calendar in [dates.clone(), format!("{frame}{dates}")] {
        check(&calendar, &(from("08") + DAY_TYPE_D), &["2024-05-09"]);
        check(&calendar, &(from("03") + DAY_TYPE_D), &["2024-05-03", "2024-05-09"]);
        check(&calendar, &(to("08") + DAY_TYPE_D), &["2024-05-03"]);
    }
    // A condition without day types determines the days, within the validity of the frames.
    check(frame, &from("05"), &["2024-05-05", "2024-05-06"]);
    check(frame, &to("05"), &["2024-05-04", "2024-05-05"]);
    // Without a validity of the frames the missing end is unknown.
    for (ends, runs) in [(from("05"), [false, true]), (to("05"), [true, false])] {
        let journey = format!(
            "<ServiceJourney id='J'>{ends}<JourneyPatternRef ref='T:JP:1'/>{}</ServiceJourney>",
            plain_times()
        );
        let frames = format!("{STOPS}{NETWORK}{}", timetable_frame(&journey));
        let timetable = read_sound(publication(&frames)).timetable;
        let service = timetable.trip(timetable.find_trip("J").unwrap()).service;
        for (day, runs) in ["2014-01-01", "2034-01-01"].into_iter().zip(runs) {
            assert_eq!(
                timetable.is_service_active(service, day.parse().unwrap()),
                runs,
                "{ends} {day}"
            );
        }
    }
}

#[test]
fn a_calendar_may_span_many_decades() {
    let calendar = format!(
        "<ServiceCalendar id='S'><FromDate>2010-01-01</FromDate><ToDate>2099-12-31</ToDate></ServiceCalendar>{}",
        day_type("Weekend")
    );
    let journey = format!(
        "<ServiceJourney id='J'>{DAY_TYPE_D}<JourneyPatternRef ref='T:JP:1'/>{}</ServiceJourney>",
        plain_times()
    );
    let frames = format!(
        "{STOPS}{NETWORK}<ServiceCalendarFrame id='C'>{calendar}</ServiceCalendarFrame>{}",
        timetable_frame(&journey)
    );
    let timetable = read_sound(publication(&frames)).timetable;
    let service = timetable.trip(timetable.find_trip("J").unwrap()).service;
    for (day, runs) in [("2010-01-02", true), ("2050-05-07", true), ("2050-05-09", false)] {
        assert_eq!(timetable.is_service_active(service, day.parse().unwrap()), runs, "{day}");
    }
}

#[test]
fn dated_journeys_run_on_their_operating_days() {
    let dated = |id: &str, day: &str, more: &str| {
        format!(
            "<DatedServiceJourney id='{id}'><ServiceJourneyRef ref='J'/><OperatingDayRef ref='{day}'/>{more}</DatedServiceJourney>"
        )
    };
    let days = "<OperatingDay id='1'><CalendarDate>2024-05-01</CalendarDate></OperatingDay>\
                <OperatingDay id='2'><CalendarDate>2024-05-02</CalendarDate></OperatingDay>";
    let cancelled = "<ServiceAlteration>cancellation</ServiceAlteration>";
    let calendar = format!("{days}{}{}", dated("a", "1", ""), dated("b", "2", cancelled));
    check(&calendar, "", &["2024-05-01"]);
    let calendar = format!("{days}{}{}", dated("a", "1", ""), dated("b", "2", ""));
    check(&calendar, "", &["2024-05-01", "2024-05-02"]);
}

#[test]
fn the_validity_of_one_file_does_not_affect_others() {
    let file = |id: &str, from: &str, to: &str| {
        let calendar = format!(
            "<ServiceCalendarFrame id='C{id}'><ServiceCalendar id='S{id}'><FromDate>{from}</FromDate><ToDate>{to}</ToDate>\
             </ServiceCalendar>{}</ServiceCalendarFrame>",
            day_type("Wednesday").replace("'D'", &format!("'D{id}'"))
        );
        let journey = format!(
            "<ServiceJourney id='J{id}'><dayTypes><DayTypeRef ref='D{id}'/></dayTypes><JourneyPatternRef ref='T:JP:1'/>{}\
             </ServiceJourney>",
            plain_times()
        );
        calendar + &timetable_frame(&journey)
    };
    let shared = publication(&format!("{STOPS}{NETWORK}"));
    let (a, b) = (file("a", "2024-05-01", "2024-05-14"), file("b", "2024-05-15", "2024-05-28"));
    let zip = zip_of(&[
        ("shared.xml", &shared),
        ("a.xml", &publication(&a)),
        ("b.xml", &publication(&b)),
    ]);
    let timetable = read_sound(zip).timetable;
    assert_eq!(days(&timetable, "Ja"), ["2024-05-01", "2024-05-08"]);
    assert_eq!(days(&timetable, "Jb"), ["2024-05-15", "2024-05-22"]);
}

/// A writer of tables that reports cancellation at the third check.
#[derive(Default)]
struct Unwanted {
    begun: Vec<&'static str>,
    n_checks: usize,
}

impl TableWriter for Unwanted {
    fn begin_table(&mut self, table: &'static str, _: &[&str]) -> Result<(), Error> {
        self.begun.push(table);
        Ok(())
    }

    fn write_row(&mut self, _: &[&str]) -> Result<(), Error> {
        Ok(())
    }

    fn check_cancelled(&mut self) -> Result<(), Error> {
        self.n_checks += 1;
        if self.n_checks < 3 {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::Decode, "cancelled by the test"))
        }
    }
}

#[test]
fn converting_journeys_without_days_stops_when_cancelled() {
    let journey = |n: u32| {
        format!(
            "<ServiceJourney id='J{n}'><JourneyPatternRef ref='T:JP:1'/>{}</ServiceJourney>",
            plain_times()
        )
    };
    let journeys: String = (0..9).map(journey).collect();
    let text = publication(&format!("{STOPS}{NETWORK}{}", timetable_frame(&journeys)));
    let limits = PublicationLimits::default();
    let mut files = PublicationSource::new(text.as_bytes(), &limits.files).unwrap();
    let (publication, mut problems) = decode_publication(&mut files, &limits).unwrap();
    let mut tables = Unwanted::default();
    let ended = write_gtfs(&publication, &mut tables, &mut problems);
    assert!(ended.unwrap_err().to_string().contains("cancelled by the test"));
    assert_eq!(tables.n_checks, 3, "the check runs once per journey");
    assert!(!tables.begun.contains(&"trips.txt"), "{:?}", tables.begun);
    // Two journeys are reported before the cancellation.
    let count_journeys_without_days = |problems: &Problems| {
        problems.retained_problems().iter().filter(|it| it.code == "journey_without_days").count()
    };
    assert_eq!(count_journeys_without_days(&problems), 2);
}
