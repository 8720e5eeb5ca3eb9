//! Publications that are faulty as a whole, and their errors.

use std::cell::Cell;

use lineside_formats::{
    Error, ErrorKind, gtfs,
    netex::{self, LoadedPublication, PublicationLimits, PublicationSource, load_timetable},
};
use proptest::prelude::*;

use super::{
    NETWORK, STOPS, calls, journey, plain_times, publication, read, sentences, timetable_frame,
    town, try_read, zip_of,
};

fn check_refused(body: impl AsRef<[u8]>, kind: ErrorKind, words: &str) {
    check(try_read(body.as_ref()), kind, words);
}

fn check(result: Result<LoadedPublication, Error>, kind: ErrorKind, words: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

fn read_within(body: &[u8], limits: &PublicationLimits) -> Result<LoadedPublication, Error> {
    load_timetable(&mut PublicationSource::new(body, &limits.files)?, limits)
}

fn good() -> String {
    town(&journey("J", &plain_times()))
}

#[test]
fn a_body_that_is_not_a_publication_is_refused_with_the_reason() {
    check_refused("", ErrorKind::Empty, "is empty");
    check_refused(" \r\n", ErrorKind::Empty, "is empty");
    check_refused("<!DOCTYPE html><html></html>", ErrorKind::Html, "a web page");
    check_refused("<Siri/>", ErrorKind::Decode, "no PublicationDelivery");
    check_refused("Service unavailable", ErrorKind::Decode, "no PublicationDelivery");
    check_refused(zip_of(&[]), ErrorKind::MissingFile, "no files");
    check_refused(zip_of(&[("a.txt", "x")]), ErrorKind::MissingFile, "no XML file, only a.txt");
    check_refused(zip_of(&[("a.xml", "<Siri/>")]), ErrorKind::Decode, "no PublicationDelivery");
}

#[test]
fn an_unrelated_file_beside_publications_is_reported() {
    let loaded = read(zip_of(&[("a.xml", &good()), ("manifest.xml", "<rss/>")]));
    assert_eq!(loaded.timetable.trips().len(), 1);
    assert_eq!(
        sentences(&loaded.problems),
        ["manifest.xml: has the root <rss> instead of PublicationDelivery and is ignored"]
    );
}

#[test]
fn custom_entities_are_refused_before_expansion() {
    let laughs = format!(
        "<!DOCTYPE lolz [<!ENTITY a '{}'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>\
         <!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;'>]><PublicationDelivery>&c;</PublicationDelivery>",
        "ha".repeat(1_000)
    );
    check_refused(laughs, ErrorKind::Decode, "document type declaration");
    let external = "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><PublicationDelivery>&e;</PublicationDelivery>";
    check_refused(external, ErrorKind::Decode, "document type declaration");
    check_refused(good().replace("Town Lines", "&e;"), ErrorKind::Decode, "entity &e;");
    let named = zip_of(&[("bad.xml", external)]);
    check_refused(named, ErrorKind::Decode, "bad.xml: ");
}

#[test]
fn nesting_is_bounded() {
    for name in ["frames", "StopPlace", "ServiceJourney", "Location", "Notice"] {
        let deep = format!("<{name}>").repeat(10_000) + &format!("</{name}>").repeat(10_000);
        check_refused(publication(&deep), ErrorKind::TooLarge, "more than 100 levels");
    }
}

#[test]
fn a_long_text_is_left_out_with_a_problem() {
    let limits = PublicationLimits { text_bytes: 1_000, ..PublicationLimits::default() };
    let body = good().replace("Town Lines", &"x".repeat(1_001));
    let loaded = read_within(body.as_bytes(), &limits).unwrap();
    let sentence = &sentences(&loaded.problems)[0];
    assert!(sentence.starts_with("publication.xml, Name: is longer than the limit"), "{sentence}");
    assert_eq!(loaded.timetable.agencies().next().unwrap().name, "T:Operator:1");
    assert_eq!(loaded.timetable.trips().len(), 1);
}

#[test]
fn the_sizes_of_a_file_and_of_all_files_are_bounded() {
    let body = zip_of(&[("a.xml", &good()), ("b.xml", &publication(""))]);
    let bytes = good().len() as u64;
    let small = |entry_bytes, total_bytes| PublicationLimits {
        files: gtfs::DatasetLimits {
            entry_bytes,
            total_bytes,
            ..PublicationLimits::default().files
        },
        ..PublicationLimits::default()
    };
    check(read_within(&body, &small(bytes - 1, 1 << 30)), ErrorKind::TooLarge, "a.xml: ");
    check(read_within(&body, &small(1 << 30, bytes + 10)), ErrorKind::TooLarge, "b.xml: ");
    check(
        read_within(good().as_bytes(), &small(100, 1 << 30)),
        ErrorKind::TooLarge,
        "larger than the limit",
    );
    assert!(read_within(&body, &small(bytes, 1 << 30)).is_ok());
}

#[test]
fn a_zip_bomb_is_refused_while_inflating() {
    let bomb = publication(&" ".repeat(40 << 20));
    check_refused(zip_of(&[("a.xml", &bomb)]), ErrorKind::Bomb, "far exceeds its compressed size");
}

#[test]
fn many_small_records_are_refused_above_the_memory_limit() {
    let limits = PublicationLimits { record_bytes: 100_000, ..PublicationLimits::default() };
    for element in ["ServiceJourney", "Quay", "OperatingDay", "PassengerStopAssignment"] {
        let few = format!("<{element}/>").repeat(100);
        assert!(read_within(publication(&few).as_bytes(), &limits).is_ok());
        let many = format!("<{element}/>").repeat(20_000);
        check(
            read_within(publication(&many).as_bytes(), &limits),
            ErrorKind::TooLarge,
            "bytes of memory",
        );
    }
}

#[test]
fn a_foreign_namespace_is_reported_and_a_missing_one_is_accepted() {
    let other = good().replace("http://www.netex.org.uk/netex", "urn:mine");
    let loaded = read(other);
    assert_eq!(loaded.timetable.trips().len(), 1);
    assert_eq!(
        sentences(&loaded.problems),
        ["publication.xml: is not in the NeTEx namespace: \"urn:mine\""]
    );
    let without = good().replace("xmlns='http://www.netex.org.uk/netex'", "");
    assert_eq!(sentences(&read(without).problems), [""; 0]);
}

#[test]
fn other_encodings_are_read_and_invalid_ones_are_refused() {
    let text = good().replace("Harbor", "Fähre");
    let wide: Vec<u8> =
        [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let latin: Vec<u8> = text
        .replace("encoding='UTF-8'", "encoding='ISO-8859-1'")
        .replace('–', "-")
        .chars()
        .map(|it| it as u8)
        .collect();
    for body in [wide, latin] {
        let loaded = read(&body);
        let timetable = &loaded.timetable;
        assert_eq!(timetable.stop(timetable.find_stop("T:SSP:harbor").unwrap()).name, "Fähre");
    }
    let wrong: Vec<u8> = text.chars().map(|it| it as u8).collect();
    check_refused(wrong, ErrorKind::Encoding, "declared encoding UTF-8");
    check_refused(text.replace("UTF-8", "KLINGON"), ErrorKind::Encoding, "KLINGON");
}

#[test]
fn a_truncated_file_is_refused() {
    let text = good();
    let root = text.find("<PublicationDelivery").unwrap();
    for at in (root + 1..text.len()).step_by(37).filter(|&at| text.is_char_boundary(at)) {
        check_refused(&text[..at], ErrorKind::Truncated, "truncated");
    }
    let body = zip_of(&[("a.xml", &text)]);
    let error = try_read(&body[..body.len() / 2]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
    check_refused(
        zip_of(&[("a.xml", &text), ("b.xml", &text[..900])]),
        ErrorKind::Truncated,
        "b.xml: ",
    );
}

#[test]
fn readable_files_are_read_beside_unreadable_ones() {
    let text = good();
    let limits = PublicationLimits::default();
    let read = |files: &[(&str, &str)], should_continue: &dyn Fn() -> bool| {
        let body = zip_of(files);
        let mut files = PublicationSource::new(&body, &limits.files).unwrap();
        netex::decode_readable_files(&mut files, &limits, should_continue)
    };
    let whole = read(&[("a.xml", &text)], &|| true).unwrap();
    assert!(whole.refused.is_empty());
    let n = whole.publication.record_counts().service_journeys;
    let torn = [("a.xml", &text[..900]), ("b.xml", text.as_str()), ("c.xml", "<html>")];
    let part = read(&torn, &|| true).unwrap();
    assert_eq!(part.publication.record_counts().service_journeys, n);
    let names: Vec<_> = part.refused.iter().map(|error| error.file_name()).collect();
    assert_eq!(names, [Some("a.xml"), Some("c.xml")]);
    let none = read(&[("a.xml", &text[..900])], &|| true).unwrap_err();
    assert_eq!((none.kind(), none.file_name()), (ErrorKind::Truncated, Some("a.xml")));
}

#[test]
fn reading_a_long_file_stops_when_cancelled() {
    // Skipped elements count as well.
    for element in ["<Line id=\"L\"/>", "<RoutePoint><x/></RoutePoint>"] {
        let text = publication(&element.repeat(50_000));
        let limits = PublicationLimits::default();
        let n_checks = Cell::new(0);
        let should_continue = || {
            n_checks.set(n_checks.get() + 1);
            n_checks.get() < 3
        };
        let mut files = PublicationSource::new(text.as_bytes(), &limits.files).unwrap();
        let error =
            netex::decode_readable_files(&mut files, &limits, &should_continue).unwrap_err();
        assert_eq!((error.kind(), n_checks.get()), (ErrorKind::Io, 3), "{element}: {error}");
    }
}

#[test]
fn lone_ampersands_are_accepted_with_a_problem() {
    let loaded = read(good().replace("Town Lines", "Town & Country"));
    assert_eq!(loaded.timetable.agencies().next().unwrap().name, "Town & Country");
    assert_eq!(
        sentences(&loaded.problems),
        ["publication.xml: an ampersand is not escaped as &amp;"]
    );
    assert_eq!(calls(&loaded.timetable, "J").len(), 2);
}

proptest! {
    #[test]
    fn reading_a_file_with_any_text_replaced_does_not_panic(at in 0..10_000_usize, length in 0..80_usize, text in "\\PC{0,20}") {
        let body = good();
        let at = (0..=at % body.len()).rev().find(|&at| body.is_char_boundary(at)).unwrap();
        let end = (at..=(at + length).min(body.len())).rev().find(|&end| body.is_char_boundary(end)).unwrap();
        let mut bad = body;
        bad.replace_range(at..end, &text);
        if let Ok(loaded) = try_read(bad.as_bytes()) {
            prop_assert!(loaded.timetable.trips().len() <= 1);
        }
    }
}

/// Returns journeys that run on these days of this calendar.
fn running(calendar: &str, journeys: usize, days: impl Fn(usize) -> String) -> String {
    let journeys: String = (0..journeys)
        .map(|n| {
            let (days, times) = (days(n), plain_times());
            format!("<ServiceJourney id='J{n}'>{days}<JourneyPatternRef ref='T:JP:1'/>{times}</ServiceJourney>")
        })
        .collect();
    publication(&format!(
        "{STOPS}{NETWORK}<ServiceCalendarFrame id='C'>{calendar}</ServiceCalendarFrame>{}",
        timetable_frame(&journeys)
    ))
}

/// Returns a period of two centuries from day `n` on, whose days take 9 KB.
fn long_period(kind: &str, id: &str, n: usize) -> String {
    let first = jiff::civil::date(2000, 1, 1).saturating_add(jiff::Span::new().days(n as i64));
    format!("<{kind} id='{id}'><FromDate>{first}</FromDate><ToDate>2199-12-31</ToDate></{kind}>")
}

const PERIOD_BYTES: usize = 9_000;

#[test]
fn repeatedly_referenced_days_are_stored_once() {
    const TIMES: usize = 4_000;
    let assigned =
        "<DayTypeAssignment><OperatingPeriodRef ref='P'/><DayTypeRef ref='D'/></DayTypeAssignment>";
    let calendar = format!(
        "<DayType id='D'/>{}{}{}",
        long_period("OperatingPeriod", "P", 0),
        assigned.repeat(TIMES / 10),
        long_period("AvailabilityCondition", "A", 0)
    );
    let named = |n| {
        let repeated = if n == 0 { TIMES } else { 1 };
        format!(
            "<dayTypes>{}</dayTypes><validityConditions>{}</validityConditions>",
            "<DayTypeRef ref='D'/>".repeat(repeated),
            "<AvailabilityConditionRef ref='A'/>".repeat(repeated)
        )
    };
    let body = running(&calendar, TIMES, named);
    // The limit suffices for the records, and for a small part of the days if they were stored once per reference.
    let limits = PublicationLimits { record_bytes: TIMES * 1_000, ..PublicationLimits::default() };
    assert!(TIMES * PERIOD_BYTES > 5 * limits.record_bytes);
    let loaded = read_within(body.as_bytes(), &limits).unwrap();
    assert_eq!(loaded.timetable.trips().len(), TIMES);
    let (first, last) = loaded.timetable.service_date_range().unwrap();
    assert_eq!((first.to_string(), last.to_string()), ("2000-01-01".into(), "2199-12-31".into()));
}

#[test]
fn many_day_sets_are_refused_before_they_are_allocated() {
    const SETS: usize = 100;
    let conditions: String =
        (0..SETS).map(|n| long_period("AvailabilityCondition", &format!("A{n}"), n)).collect();
    let named = |n| {
        format!("<validityConditions><AvailabilityConditionRef ref='A{n}'/></validityConditions>")
    };
    let body = running(&conditions, SETS, named);
    let limits =
        PublicationLimits { record_bytes: SETS * PERIOD_BYTES, ..PublicationLimits::default() };
    let says = "the service days of the journeys need more than";
    check(read_within(body.as_bytes(), &limits), ErrorKind::TooLarge, says);
    assert_eq!(read(&body).timetable.trips().len(), SETS);
}

#[test]
fn a_journey_with_more_calls_than_the_limit_is_left_out() {
    let call = "<Call><ScheduledStopPointRef ref='T:SSP:center'/><Departure><Time>08:00:00</Time></Departure></Call>";
    let calls = format!("<calls>{}</calls>", call.repeat(PublicationLimits::CALLS + 1));
    let loaded = read(town(&(journey("long", &calls) + &journey("J", &plain_times()))));
    assert_eq!(loaded.timetable.trips().len(), 1);
    assert!(sentences(&loaded.problems)[0].contains("more calls than the limit"));
}
