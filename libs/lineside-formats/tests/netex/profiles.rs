//! Small schedules in the European and French profiles, and their complete content.

use lineside_formats::{Format, gtfs::Timetable, netex::LoadedPublication, sniff_format};

use super::{calls, days, read_sound, zip_of};

const EPIP: &str = include_str!("profiles/epip.xml");
const FRANCE: [(&str, &str); 3] = [
    ("arrets.xml", include_str!("profiles/france_arrets.xml")),
    ("calendriers.xml", include_str!("profiles/france_calendriers.xml")),
    ("offre_1.xml", include_str!("profiles/france_offre.xml")),
];

/// Returns the stops in order: id, name, type, location, parent, platform.
fn stops(timetable: &Timetable) -> Vec<String> {
    let of = |number: Option<f64>| number.map(|it| it.to_string()).unwrap_or_default();
    let stops = timetable.stops().map(|stop| {
        let parent = stop.parent.map(|parent| timetable.stop(parent).id).unwrap_or_default();
        let platform = stop.platform_code.unwrap_or_default();
        let place = format!("{} {}", of(stop.lat), of(stop.lon));
        format!("{}|{}|{}|{place}|{parent}|{platform}", stop.id, stop.name, stop.location_type)
    });
    let mut stops: Vec<String> = stops.collect();
    stops.sort();
    stops
}

/// Returns the only line: its operator, numbers and names, type and colour.
fn line(loaded: &LoadedPublication) -> (String, String, u16, Option<[u8; 3]>) {
    let timetable = &loaded.timetable;
    assert_eq!(timetable.routes().len(), 1);
    let route = timetable.routes().next().unwrap();
    let agency = timetable.agency(route.agency.unwrap());
    (
        format!("{} {}", agency.name, agency.url.unwrap_or_default()),
        format!("{} {} {}", route.id, route.short_name, route.long_name),
        route.kind,
        route.color,
    )
}

#[test]
fn a_publication_in_the_european_profile_is_read() {
    assert_eq!(sniff_format(EPIP.as_bytes()), Some(Format::Netex));
    let loaded = read_sound(EPIP);
    let timetable = &loaded.timetable;
    assert_eq!(timetable.timezone_name(), "Europe/Rome");
    assert_eq!(
        stops(timetable),
        [
            "XX:Quay:1A|Piazza A|0|46.1001 11.1001|XX:StopPlace:1|",
            "XX:StopPlace:1|Piazza|1|46.1 11.1||",
            "XX:StopPlace:2|Lago|0|46.2 11.2||",
        ]
    );
    assert_eq!(
        line(&loaded),
        (
            "Autolinee della Valle https://valle.example".to_owned(),
            "XX:Line:B1 B1 Piazza – Lago".to_owned(),
            3,
            None
        )
    );
    let trip = timetable.trip(timetable.find_trip("XX:ServiceJourney:1").unwrap());
    assert_eq!(trip.direction, Some(0));
    assert_eq!(
        calls(timetable, "XX:ServiceJourney:1"),
        ["XX:Quay:1A 23:50 23:50", "XX:StopPlace:2 24:10 24:10"],
        "after midnight the service date stays the same"
    );
    assert_eq!(
        days(timetable, "XX:ServiceJourney:1"),
        ["2026-11-02", "2026-11-03", "2026-11-04", "2026-11-05", "2026-11-06", "2026-11-08"]
    );
    assert_eq!(loaded.losses.dropped_object_count(), 0, "{:?}", loaded.losses);
    let counts = loaded.counts;
    assert_eq!((counts.lines, counts.service_journeys, counts.stop_places), (1, 1, 2));
}

#[test]
fn a_publication_in_the_french_profile_is_read() {
    let zip = zip_of(&FRANCE);
    assert_eq!(sniff_format(&zip), Some(Format::Netex));
    let loaded = read_sound(zip);
    let timetable = &loaded.timetable;
    assert_eq!(
        stops(timetable),
        [
            "FR:29019:Quay:11:LOC|Gare|0|48.3901 -4.4801|FR:29019:StopPlace:1:LOC|2",
            "FR:29019:Quay:12:LOC|Port|0|48.38 -4.49||",
            "FR:29019:StopPlace:1:LOC|Gare|1|48.39 -4.48||",
        ]
    );
    assert_eq!(
        line(&loaded),
        (
            "Régie du Port https://port.example".to_owned(),
            "XX:Line:1:LOC 1 Gare ↔ Port".to_owned(),
            3,
            Some([0, 0xAA, 0x44])
        )
    );
    let trip = timetable.trip(timetable.find_trip("XX:ServiceJourney:7:LOC").unwrap());
    assert_eq!((trip.headsign, trip.direction), (Some("Port de pêche"), Some(1)));
    assert_eq!(
        calls(timetable, "XX:ServiceJourney:7:LOC"),
        ["FR:29019:Quay:11:LOC 07:30 07:31", "FR:29019:Quay:12:LOC 07:45 07:45"],
        "times without a reference are assigned by their order"
    );
    assert_eq!(
        days(timetable, "XX:ServiceJourney:7:LOC"),
        ["2026-11-02", "2026-11-03", "2026-11-09"],
        "a removed day is not a service day"
    );
    assert_eq!(loaded.losses.dropped_object_count(), 0, "{:?}", loaded.losses);
}
