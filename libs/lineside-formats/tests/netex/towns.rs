//! A small town in NeTEx and its timetable, from one file or several.

use std::collections::HashSet;
use std::io::{Cursor, Read as _};

use lineside_formats::{
    Format, Problems,
    gtfs::{self, ZipFiles, ZipTableWriter},
    netex::{self, PublicationLimits, PublicationSource, looks_like_netex, write_gtfs},
    sniff_format, sniff_schedule_format,
};

use super::{
    CALENDAR, NETWORK, STOPS, calls, days, journey, plain_times, publication, read, read_sound,
    sentences, timetable_frame, town, zip_of,
};

/// Checks the town's timetable, for any division into files.
fn check_town(loaded: &netex::LoadedPublication) {
    let timetable = &loaded.timetable;
    assert_eq!(calls(timetable, "T:SJ:1"), ["T:Quay:1 08:00 08:00", "T:SSP:harbor 08:10 08:10"]);
    assert_eq!(days(timetable, "T:SJ:1"), ["2024-05-06", "2024-05-07"]);
    let trip = timetable.trip(timetable.find_trip("T:SJ:1").unwrap());
    assert_eq!((trip.headsign, trip.direction), (Some("Harbor"), Some(1)));
    let route = timetable.route(trip.route);
    assert_eq!(
        (route.id, route.short_name, route.long_name),
        ("T:Line:1", "12", "Center – Harbor")
    );
    assert_eq!(
        (route.kind, route.color, route.text_color),
        (0, Some([0xAA, 0, 0x44]), Some([255; 3]))
    );
    let agency = timetable.agency(route.agency.unwrap());
    assert_eq!((agency.name, agency.url), ("Town Lines", Some("https://www.town.example")));
    assert_eq!(timetable.timezone_name(), "Europe/Oslo");
    let use_of: Vec<_> =
        timetable.trip_stop_times(trip.idx).map(|it| (it.pickup, it.drop_off)).collect();
    assert_eq!(use_of, [(0, 1), (1, 0)]);
}

#[test]
fn a_publication_is_read_as_a_timetable() {
    let loaded = read_sound(town(&journey("T:SJ:1", &plain_times())));
    check_town(&loaded);
    let timetable = &loaded.timetable;
    let station = timetable.stop(timetable.find_stop("T:StopPlace:1").unwrap());
    assert_eq!((station.name, station.location_type), ("Center", 1));
    let quay = timetable.stop(timetable.find_stop("T:Quay:1").unwrap());
    assert_eq!((quay.name, quay.platform_code, quay.wheelchair), ("Center", Some("1"), 1));
    assert_eq!((quay.lat, quay.lon), (Some(59.9101), Some(10.7501)));
    assert_eq!(quay.parent, Some(station.idx));
    let other = timetable.stop(timetable.find_stop("T:Quay:2").unwrap());
    assert_eq!(
        (other.lat, other.lon),
        (station.lat, station.lon),
        "a quay without a position has the position of its station"
    );
    let harbor = timetable.stop(timetable.find_stop("T:SSP:harbor").unwrap());
    assert_eq!((harbor.name, harbor.parent), ("Harbor", None));
    assert!(loaded.losses.is_empty(), "{:?}", loaded.losses);
    let counts = loaded.counts;
    assert_eq!((counts.lines, counts.service_journeys, counts.journey_patterns), (1, 1, 1));
    assert_eq!((counts.stop_places, counts.quays, counts.scheduled_stop_points), (1, 2, 2));
}

#[test]
fn a_station_may_reference_quays_defined_elsewhere() {
    let stops = "<SiteFrame id='S'><stopPlaces>
          <StopPlace id='big'><Name>All of it</Name><quays><QuayRef ref='T:Quay:1'/></quays></StopPlace>
          <StopPlace id='T:StopPlace:1'><Name>Center</Name><ParentSiteRef ref='big'/>
            <quays><QuayRef ref='T:Quay:1'/><QuayRef ref='nowhere'/></quays></StopPlace>
        </stopPlaces><quays><Quay id='T:Quay:1'><PublicCode>1</PublicCode></Quay></quays></SiteFrame>";
    let rest = STOPS.split_once("</SiteFrame>").unwrap().1;
    let journeys = timetable_frame(&journey("T:SJ:1", &plain_times()));
    let loaded = read(publication(&format!("{stops}{rest}{NETWORK}{CALENDAR}{journeys}")));
    let timetable = &loaded.timetable;
    let station = timetable.stop(timetable.find_stop("T:StopPlace:1").unwrap());
    assert_eq!((station.name, station.location_type), ("Center", 1));
    let quay = timetable.stop(timetable.find_stop("T:Quay:1").unwrap());
    assert_eq!((quay.name, quay.parent), ("Center", Some(station.idx)));
    assert_eq!(timetable.find_stop("big"), None, "nested stations are not converted");
}

#[test]
fn references_resolve_regardless_of_the_order_of_files() {
    let journeys = timetable_frame(&journey("T:SJ:1", &plain_times()));
    let parts = [STOPS, NETWORK, CALENDAR, &journeys].map(publication);
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
        let names = ["a.xml", "lines/b.XML", "lines/c.xml", "d.xml"];
        let files: Vec<(&str, &str)> =
            names.into_iter().zip(order.map(|part| parts[part].as_str())).collect();
        check_town(&read_sound(zip_of(&files)));
    }
}

#[test]
fn general_frames_in_composite_frames_are_read() {
    let members = format!(
        "{STOPS}{NETWORK}{CALENDAR}{}",
        timetable_frame(&journey("T:SJ:1", &plain_times()))
    )
    .replace("<SiteFrame", "<GeneralFrame")
    .replace("</SiteFrame>", "</GeneralFrame>")
    .replace("<stopPlaces>", "<members>")
    .replace("</stopPlaces>", "</members>");
    let frames = format!("<CompositeFrame id='X'><frames>{members}</frames></CompositeFrame>");
    check_town(&read_sound(publication(&frames)));
}

#[test]
fn utf_16_is_recognized_and_read() {
    let text = town(&journey("T:SJ:1", &plain_times()));
    let text = text.replace(
        "<?xml version='1.0' encoding='UTF-8'?>",
        "<?xml version='1.0' encoding='utf-16'?>",
    );
    let marked: Vec<u16> = "\u{FEFF}".encode_utf16().chain(text.encode_utf16()).collect();
    let little: Vec<u8> = marked.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big: Vec<u8> = marked.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    for body in [little, big] {
        assert_eq!(sniff_format(&body), Some(Format::Netex));
        assert_eq!(sniff_schedule_format(Cursor::new(&body)).unwrap(), Some(Format::Netex));
        check_town(&read_sound(body));
    }
}

#[test]
fn elements_with_a_namespace_prefix_are_read() {
    let text = town(&journey("T:SJ:1", &plain_times()))
        .replace("xmlns='http://www.netex", "xmlns:n='http://www.netex")
        .replace("</", "</n:")
        .replace('<', "<n:")
        .replace("<n:/n:", "</n:")
        .replace("<n:?xml", "<?xml");
    check_town(&read_sound(text));
}

#[test]
fn the_written_zip_contains_the_timetable() {
    let body = town(&journey("T:SJ:1", &plain_times()));
    let limits = PublicationLimits::default();
    let mut files = PublicationSource::new(body.as_bytes(), &limits.files).unwrap();
    let (publication, _) = netex::decode_publication(&mut files, &limits).unwrap();
    let write = || {
        let mut zip = ZipTableWriter::new(Cursor::new(Vec::new()));
        write_gtfs(&publication, &mut zip, &mut Problems::new()).unwrap();
        zip.finish_archive().unwrap().into_inner()
    };
    let bytes = write();
    assert_eq!(bytes, write(), "the same publication gives the same bytes");
    assert_eq!(sniff_format(&bytes), Some(Format::Gtfs));
    let limits = gtfs::DatasetLimits::default();
    let mut zip = ZipFiles::new(Cursor::new(bytes.as_slice()), &limits).unwrap();
    let (timetable, problems) = gtfs::load_timetable(&mut zip, &limits).unwrap();
    assert_eq!(sentences(&problems), [""; 0]);
    assert_eq!(calls(&timetable, "T:SJ:1"), ["T:Quay:1 08:00 08:00", "T:SSP:harbor 08:10 08:10"]);
    let theirs = gtfs_structures::Gtfs::from_reader(Cursor::new(bytes)).unwrap();
    assert_eq!(theirs.trips["T:SJ:1"].stop_times.len(), 2);
}

/// Loads the GTFS zip of a publication, as other software would.
fn load_zip(body: &str) -> (gtfs::Timetable, Problems) {
    let limits = gtfs::DatasetLimits::default();
    let mut files = ZipFiles::new(Cursor::new(write_zip(body)), &limits).unwrap();
    gtfs::load_timetable(&mut files, &limits).unwrap()
}

fn write_zip(body: &str) -> Vec<u8> {
    let limits = PublicationLimits::default();
    let mut files = PublicationSource::new(body.as_bytes(), &limits.files).unwrap();
    let (publication, _) = netex::decode_publication(&mut files, &limits).unwrap();
    let mut zip = ZipTableWriter::new(Cursor::new(Vec::new()));
    write_gtfs(&publication, &mut zip, &mut Problems::new()).unwrap();
    zip.finish_archive().unwrap().into_inner()
}

fn agency_url(timetable: &gtfs::Timetable) -> Option<&str> {
    timetable.agencies().next().unwrap().url
}

#[test]
fn an_authority_without_a_url_uses_that_of_the_operator_or_line() {
    let body = town(&journey("T:SJ:1", &plain_times()))
        .replace(
            "<Operator id",
            "<Authority id='T:Authority:1'><Name>Town</Name></Authority><Operator id",
        )
        .replace("<OperatorRef", "<AuthorityRef ref='T:Authority:1'/><OperatorRef");
    let loaded = read_sound(&body);
    assert_eq!(agency_url(&loaded.timetable), Some("https://www.town.example"));
    let of_line = body
        .replace("<Url>www.town.example</Url>", "")
        .replace("<TransportMode>tram", "<Url>https://line.example/12</Url><TransportMode>tram");
    assert_eq!(agency_url(&read_sound(&of_line).timetable), Some("https://line.example/12"));
}

#[test]
fn the_zip_has_placeholders_for_missing_required_values() {
    let body = town(&journey("T:SJ:1", &plain_times()))
        .replace("<Url>www.town.example</Url>", "")
        .replace("<Location><Longitude>10.74</Longitude><Latitude>59.90</Latitude></Location>", "");
    // The served timetable has no placeholders.
    let loaded = read(&body);
    let codes: Vec<_> =
        loaded.problems.problem_counts().map(|(_, code, count)| (code, count)).collect();
    assert_eq!(codes, [("missing_url", 1), ("stop_without_location", 1)]);
    assert_eq!(agency_url(&loaded.timetable), None);
    let find = |timetable: &gtfs::Timetable| {
        let stop = timetable.stops().find(|stop| stop.id == "T:SSP:harbor").unwrap();
        stop.lat.zip(stop.lon)
    };
    assert_eq!(find(&loaded.timetable), None);
    let (zipped, problems) = load_zip(&body);
    assert_eq!(sentences(&problems), [""; 0]);
    assert_eq!(agency_url(&zipped), Some("https://example.org/agency-url-unknown"));
    assert_eq!(find(&zipped), Some((59.9101, 10.7501)), "the quay that the tram comes from");
}

/// Removes all elements with this name.
fn without_elements(text: &str, name: &str) -> String {
    let (start, end) = (format!("<{name}>"), format!("</{name}>"));
    let mut pieces = text.split(&start);
    let mut rest = pieces.next().unwrap().to_owned();
    rest.extend(pieces.map(|piece| piece.split_once(&end).unwrap().1));
    rest
}

/// Returns the locations of the stops in a town's GTFS zip, ordered by id.
fn zipped_points(body: &str) -> Vec<(String, Option<(f64, f64)>)> {
    let (zipped, _) = load_zip(body);
    let points = zipped.stops().map(|stop| (stop.id.to_owned(), stop.lat.zip(stop.lon)));
    let mut points: Vec<_> = points.collect();
    points.sort_by(|a, b| a.0.cmp(&b.0));
    points
}

#[test]
fn without_any_location_the_zip_places_stops_in_the_time_zones_city() {
    let town = town(&journey("T:SJ:1", &plain_times()));
    let body = without_elements(&town, "Location");
    let problems = read(&body).problems;
    assert!(
        problems.problem_counts().any(|(_, code, n)| (code, n) == ("stop_without_location", 4))
    );
    let all_near = |body: &str, expected: (f64, f64)| {
        let points = zipped_points(body);
        let is_near = |(lat, lon): (f64, f64)| {
            (lat - expected.0).abs() < 0.001 && (lon - expected.1).abs() < 0.001
        };
        assert!(
            points.len() == 4 && points.iter().all(|it| it.1.is_some_and(is_near)),
            "{points:?}"
        );
        // OpenTripPlanner refuses a schedule whose stops are all at one point.
        let different: HashSet<_> = points.iter().map(|it| format!("{:?}", it.1)).collect();
        assert_eq!(different.len(), 4);
    };
    all_near(&body, (59.9109, 10.7528));
    // The point is not 0, 0, which validators consider a mistake.
    all_near(&body.replace(":NO-NeTEx-networktimetable", ""), (51.4779, -0.0015));
}

#[test]
fn stops_without_a_location_are_placed_near_located_stops() {
    let journeys = journey("T:SJ:1", &plain_times());
    let lone =
        "</stopPlaces><quays><Quay id='T:Quay:9' version='1'><Name>Pier</Name></Quay></quays>";
    let harbor = "<Location><Longitude>10.74</Longitude><Latitude>59.90</Latitude></Location>";
    let place = |id: &str| format!("<ScheduledStopPoint id='T:SSP:{id}' version='1'>");
    let body = without_elements(&town(&journeys), "Location")
        .replace(&place("harbor"), &format!("{}{harbor}", place("harbor")))
        .replace("</stopPlaces>", lone);
    let points = zipped_points(&body);
    assert_eq!(points.len(), 5);
    // The quay of the other end is near the harbor, its station where the quay is, and the rest around the only located
    // stop.
    let is_near =
        |(lat, lon): (f64, f64)| (lat - 59.9).abs() < 0.001 && (lon - 10.74).abs() < 0.001;
    assert!(points.iter().all(|it| it.1.is_some_and(is_near)), "{points:?}");
    assert!(points.iter().filter(|it| it.1 == Some((59.9, 10.74))).count() >= 3, "{points:?}");
}

#[test]
fn an_invalid_url_or_mail_address_is_not_in_the_zip() {
    let body = town(&journey("T:SJ:1", &plain_times())).replace(
        "<Url>www.town.example</Url>",
        "<Email>info@town.zz</Email><Url>https://www.town.zz</Url>",
    );
    let loaded = read(&body);
    let codes: Vec<_> =
        loaded.problems.problem_counts().map(|(_, code, count)| (code, count)).collect();
    assert_eq!(codes, [("invalid_email", 1), ("invalid_url", 1)]);
    assert_eq!(agency_url(&loaded.timetable), Some("https://www.town.zz"));
    let (zipped, _) = load_zip(&body);
    assert_eq!(agency_url(&zipped), Some("https://example.org/agency-url-unknown"));
    let mut zip = zip::ZipArchive::new(Cursor::new(write_zip(&body))).unwrap();
    let mut agencies = String::new();
    zip.by_name("agency.txt").unwrap().read_to_string(&mut agencies).unwrap();
    assert!(!agencies.contains(".zz"), "{agencies}");
}

#[test]
fn an_organisation_without_a_url_is_reported_once() {
    let body = town(&journey("T:SJ:1", &plain_times()));
    let unnamed = body.replace("<OperatorRef ref='T:Operator:1'/>", "");
    let mute = body.replace("<Url>www.town.example</Url>", "");
    for (body, expected) in [
        (mute, "T:Operator:1"),
        (unnamed.replace("<Operator id", "<Operator id='T:Operator:2'/><Operator id"), "T:Line:1"),
    ] {
        let problems = read(body).problems;
        let [problem] = problems.retained_problems() else { panic!("{problems:?}") };
        assert_eq!((problem.code, problem.id.as_deref()), ("missing_url", Some(expected)));
        assert_eq!(problems.total_count(), 1);
    }
}

#[test]
fn an_unnamed_stop_takes_the_name_of_its_parts_or_its_label() {
    const PLACE: &str = "<Name lang='en'>Center</Name>";
    const POINT: &str = "<Name>Center</Name>";
    let named = town(&journey("T:SJ:1", &plain_times()));
    let mute = named.replace(PLACE, "");
    let labelled = mute.replace(POINT, "").replace(
        "<PublicCode>2</PublicCode>",
        "<PublicCode>2</PublicCode><Label>Cathedral</Label>",
    );
    let check = |body: &str, expected: [&str; 4], unnamed: &[&str]| {
        let loaded = read(body);
        let names = ["T:StopPlace:1", "T:Quay:1", "T:Quay:2", "T:SSP:harbor"].map(|id| {
            let stop = loaded.timetable.find_stop(id).unwrap();
            loaded.timetable.stop(stop).name.to_owned()
        });
        assert_eq!(names, expected, "{body}");
        let expected_problems = unnamed.iter().map(|id| {
            format!(
                "publication.xml: has no name, and neither have its parts; its id is used instead ({id})"
            )
        });
        assert_eq!(sentences(&loaded.problems), expected_problems.collect::<Vec<_>>(), "{body}");
    };
    check(&named, ["Center", "Center", "Center", "Harbor"], &[]);
    // The stop point of quay 1 names the quay, and thereby its station and the other quay.
    let by_point = mute.replace(POINT, "<Name>Central</Name>");
    check(&by_point, ["Central", "Central", "Central", "Harbor"], &[]);
    let own = by_point
        .replace("<PublicCode>1</PublicCode>", "<Name>Central A</Name><PublicCode>1</PublicCode>");
    check(&own, ["Central A", "Central A", "Central A", "Harbor"], &[]);
    // A stop point at the whole place names the place, too.
    let at_place =
        by_point.replace("<QuayRef ref='T:Quay:1'/>", "<StopPlaceRef ref='T:StopPlace:1'/>");
    let at_place = at_place.replace("<ScheduledStopPoint id='T:SSP:center' version='1'>", "<ScheduledStopPoint id='T:SSP:center' version='1'><Location><Longitude>10.75</Longitude><Latitude>59.91</Latitude></Location>");
    check(&at_place, ["Central", "Central", "Central", "Harbor"], &[]);
    check(&labelled, ["Cathedral", "Cathedral", "Cathedral", "Harbor"], &[]);
    // A label is ignored if the quay has a name.
    let signed = named.replace("<PublicCode>2</PublicCode>", "<Label>2</Label>");
    check(&signed, ["Center", "Center", "Center", "Harbor"], &[]);
    let ids = ["T:StopPlace:1", "T:Quay:1", "T:Quay:2"];
    let without = labelled.replace("<Label>Cathedral</Label>", "");
    check(&without, [ids[0], ids[1], ids[2], "Harbor"], &ids);
    let none = named.replace("<Name>Harbor</Name>", "");
    check(&none, ["Center", "Center", "Center", "T:SSP:harbor"], &["T:SSP:harbor"]);
}

#[test]
fn a_quay_without_a_station_does_not_take_the_name_of_another() {
    let quay = |id: u8, name: &str| {
        format!(
            "<Quay id='T:Quay:{id}' version='1'>{name}<Centroid><Location><Longitude>10.7</Longitude>\
             <Latitude>59.9</Latitude></Location></Centroid></Quay>"
        )
    };
    let lone =
        format!("</stopPlaces><quays>{}{}</quays>", quay(8, "<Name>Pier</Name>"), quay(9, ""));
    let loaded = read(town("").replace("</stopPlaces>", &lone));
    let name = |id| loaded.timetable.stop(loaded.timetable.find_stop(id).unwrap()).name;
    assert_eq!([name("T:Quay:8"), name("T:Quay:9")], ["Pier", "T:Quay:9"]);
    assert_eq!(loaded.problems.total_count(), 1, "{:?}", sentences(&loaded.problems));
}

#[test]
fn netex_is_recognized_from_the_content() {
    let text = town("");
    for body in
        [text.clone().into_bytes(), zip_of(&[("line.xml", &text)]), zip_of(&[("a/B.XML", &text)])]
    {
        assert!(looks_like_netex(Cursor::new(&body)).unwrap());
        assert_eq!(sniff_format(&body), Some(Format::Netex));
        assert_eq!(sniff_schedule_format(Cursor::new(&body)).unwrap(), Some(Format::Netex));
    }
    for body in [
        zip_of(&[("a.xml", "<Siri/>")]),
        zip_of(&[("stops.txt", "stop_id")]),
        b"<Siri/>".to_vec(),
        Vec::new(),
    ] {
        assert!(!looks_like_netex(Cursor::new(&body)).unwrap());
        assert_ne!(sniff_format(&body), Some(Format::Netex));
        assert_ne!(sniff_schedule_format(Cursor::new(&body)).unwrap(), Some(Format::Netex));
    }
}

#[test]
fn a_quay_defined_in_an_external_register_keeps_its_id() {
    let body = town(&journey("T:SJ:1", &plain_times()))
        .replace("<Quay id='T:Quay:1'", "<Quay id='T:Quay:9'");
    let loaded = read(body);
    assert_eq!(calls(&loaded.timetable, "T:SJ:1")[0], "T:Quay:1 08:00 08:00");
    let codes: Vec<_> =
        loaded.problems.problem_counts().map(|(file, code, _)| (file, code)).collect();
    let file = "publication.xml";
    assert_eq!(codes, [(file, "stop_without_location"), (file, "unresolved_for_timetable")]);
    let lost: Vec<_> = loaded.losses.iter().map(|loss| (loss.kind, loss.count)).collect();
    assert_eq!(lost, [("ScheduledStopPoint", 1)]);
}

#[test]
fn elements_without_a_gtfs_equivalent_are_counted() {
    let more = "<notices><Notice id='N:1'><Text>Ask the driver</Text></Notice></notices>";
    let frames = format!(
        "{STOPS}{NETWORK}{CALENDAR}{}<ServiceFrame>{more}</ServiceFrame>",
        timetable_frame(&format!(
            "{}{}",
            journey("T:SJ:1", &plain_times()),
            journey(
                "T:SJ:2",
                &format!("{}<ServiceAlteration>cancellation</ServiceAlteration>", plain_times())
            )
        ))
    );
    let loaded = read_sound(publication(&frames));
    let lost: Vec<_> =
        loaded.losses.iter().map(|loss| (loss.kind, loss.count, &*loss.examples[0])).collect();
    assert_eq!(lost, [("Notice", 1, "N:1"), ("ServiceJourney", 1, "T:SJ:2")]);
    assert_eq!(loaded.timetable.trips().len(), 1);
}
