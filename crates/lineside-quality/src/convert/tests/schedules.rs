//! Conversions of schedules of the European and the French profile, and the additional inputs.

use std::io::Cursor;

use lineside_testkit::{TestSchedule, zip_files};
use zip::ZipArchive;

use super::*;

const EPIP: &str =
    include_str!("../../../../../libs/lineside-formats/tests/netex/profiles/epip.xml");
const FRANCE: [(&str, &str); 3] = [
    (
        "arrets.xml",
        include_str!("../../../../../libs/lineside-formats/tests/netex/profiles/france_arrets.xml"),
    ),
    (
        "calendriers.xml",
        include_str!(
            "../../../../../libs/lineside-formats/tests/netex/profiles/france_calendriers.xml"
        ),
    ),
    (
        "offre.xml",
        include_str!("../../../../../libs/lineside-formats/tests/netex/profiles/france_offre.xml"),
    ),
];

/// Returns the lines of a table in a zip, without the first.
fn rows(zip: &[u8], table: &str) -> Vec<String> {
    let mut files = ZipArchive::new(Cursor::new(zip)).unwrap();
    let mut text = String::new();
    files.by_name(table).unwrap().read_to_string(&mut text).unwrap();
    text.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn the_european_netex_profile_is_converted_to_gtfs() {
    let (zip, converted) = one(body(EPIP), ConversionTargetFormat::Gtfs);
    assert_eq!(
        (converted.conversion_report.dropped_object_count(), converted.problems.total_count()),
        (0, 0)
    );
    assert_eq!(rows(&zip, "stops.txt").len(), 3);
    let times = rows(&zip, "stop_times.txt");
    assert!(times[0].contains("23:50:00") && times[1].contains("24:10:00"), "{times:?}");
    assert!(rows(&zip, "agency.txt")[0].contains("Europe/Rome"));
    let (map, _) = one(body(EPIP), ConversionTargetFormat::Geojson);
    let map: Value = serde_json::from_slice(&map).unwrap();
    let features = map["features"].as_array().unwrap();
    let points = features.iter().filter(|it| it["geometry"]["type"] == "Point");
    assert_eq!(points.count(), 3);
}

#[test]
fn the_french_netex_profile_is_converted_to_gtfs() {
    let given = zip_files(FRANCE);
    let (zip, converted) =
        one(ConversionInput::open_file_input(file(&given)).unwrap(), ConversionTargetFormat::Gtfs);
    assert_eq!(
        (converted.from, converted.conversion_report.dropped_object_count()),
        (Format::Netex, 0)
    );
    assert_eq!(converted.problems.total_count(), 0, "{:?}", converted.problems.retained_problems());
    let counts: Vec<_> = converted.counts.iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, [1, 1, 2, 1, 2], "lines, journeys, quays, stop places and points");
    let route = &rows(&zip, "routes.txt")[0];
    assert!(route.contains("XX:Line:1:LOC") && route.contains("00AA44"), "{route}");
    let trip = &rows(&zip, "trips.txt")[0];
    assert!(trip.contains("XX:ServiceJourney:7:LOC") && trip.contains("Port de pêche"), "{trip}");
    let times = rows(&zip, "stop_times.txt");
    assert!(times[0].contains("07:30:00") && times[0].contains("07:31:00"), "{times:?}");
}

/// Returns the reason why a conversion is refused.
fn no_way(
    given: ConversionInput,
    to: ConversionTargetFormat,
    context: ConversionOptions,
) -> String {
    let out = tempfile::tempfile().unwrap();
    match convert_input(given, to, context, &out) {
        Err(ConversionError::Unsupported(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_schedule_or_id_mapping_without_effect_is_refused() {
    let schedule = || ConversionOptions { schedule: Some(file(b"PK")), ids: None };
    let reason = no_way(body(EPIP), ConversionTargetFormat::Gtfs, schedule());
    assert_eq!(reason, "a schedule is only for real-time input, but the input is netex");
    let bikes = system_input(vec![("gbfs".to_owned(), Bytes::from_static(b"{}"))]);
    assert!(
        no_way(bikes, ConversionTargetFormat::Gbfs3, schedule()).ends_with("the input is gbfs")
    );
    let ids = || ConversionOptions { schedule: None, ids: Some(SiriIdMapping::Netex) };
    assert!(
        no_way(body(EPIP), ConversionTargetFormat::Gtfs, ids()).ends_with("the input is netex")
    );
    assert_eq!(
        no_way(body(ET), ConversionTargetFormat::SiriJson, ids()),
        "SIRI output keeps the ids of SIRI input"
    );
}

#[test]
fn an_invalid_schedule_is_reported_as_the_schedule_not_the_input() {
    let cut = zip_files([("stops.txt", "")]);
    for (schedule, expected) in [
        (ET.as_bytes(), "the file is neither"),
        (&cut, "routes.txt: is missing"),
        (&b"<PublicationDelivery>"[..], "publication.xml"),
    ] {
        match converted(body(ET), ConversionTargetFormat::GtfsRt, Some(file(schedule))) {
            Err(ConversionError::Schedule(reason)) => {
                assert!(reason.contains(expected), "{reason}")
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
}

#[test]
fn losses_in_geojson_are_named_in_the_terms_of_the_input_format() {
    let list_dropped = |converted: &ConversionOutput| -> Vec<_> {
        converted.conversion_report.iter().map(|it| (it.kind.to_owned(), it.count)).collect()
    };
    let (zip, _) = one(body(EPIP), ConversionTargetFormat::Gtfs);
    let (_, gtfs_output) =
        one(ConversionInput::open_file_input(file(&zip)).unwrap(), ConversionTargetFormat::Geojson);
    let rows = |table: &str| rows(&zip, table).len() as u64;
    let lost = list_dropped(&gtfs_output);
    for table in ["agency.txt", "trips.txt", "stop_times.txt"] {
        assert!(lost.contains(&(format!("{table} row"), rows(table))), "{lost:?}");
    }
    let (_, netex_output) = one(body(EPIP), ConversionTargetFormat::Geojson);
    let lost = list_dropped(&netex_output);
    assert!(lost.contains(&("ServiceJourney".to_owned(), rows("trips.txt"))), "{lost:?}");
    assert!(lost.iter().all(|(kind, _)| !kind.contains(".txt")), "{lost:?}");
    let nowhere = EPIP.replace("<Longitude>", "<Nowhere>").replace("</Longitude>", "</Nowhere>");
    let (_, unplaced) = one(body(&nowhere), ConversionTargetFormat::Geojson);
    assert!(list_dropped(&unplaced).contains(&("stop".to_owned(), rows("stops.txt"))));
    assert_eq!(unplaced.counts[0], ("stops", 0));
}

#[test]
fn siri_ids_are_mapped_to_those_of_the_schedule() {
    let netex = ET.replace(">J<", ">X:ServiceJourney:J<").replace(">S<", ">X:Quay:S:LOC<");
    let prefix = SiriIdMapping::Prefix("no:".into());
    for (text, ids, trip, stop) in [
        (&netex, SiriIdMapping::Netex, "J", "S"),
        (&netex, SiriIdMapping::Same, "X:ServiceJourney:J", "X:Quay:S:LOC"),
        (&ET.to_owned(), prefix, "no:J", "no:S"),
    ] {
        let mut out = tempfile::tempfile().unwrap();
        let context = ConversionOptions { schedule: None, ids: Some(ids) };
        convert_input(body(text), ConversionTargetFormat::GtfsRt, context, &out)
            .unwrap_or_else(|why| panic!("{why:?}"));
        let mut bytes = Vec::new();
        out.rewind().unwrap();
        out.read_to_end(&mut bytes).unwrap();
        let (message, _) =
            gtfs_rt::decode_feed_message(bytes.into(), &gtfs_rt::FeedMessageLimits::default())
                .unwrap();
        let update = message.entity[0].trip_update.as_ref().unwrap();
        assert_eq!(update.trip.trip_id.as_deref(), Some(trip));
        assert_eq!(update.stop_time_update[0].stop_id.as_deref(), Some(stop));
    }
}

/// Returns a schedule of journey J on 21 November 2026, with these calls.
fn schedule(calls: &str) -> Vec<u8> {
    TestSchedule::new("UTC")
        .stop("R", "R", 1.0, 1.0)
        .stop("S", "S", 1.0, 2.0)
        .stop("T", "T", 1.0, 3.0)
        .stop("X", "X", 1.0, 4.0)
        .route("L", "1", 3)
        .service("W", "0000010", ["20261121", "20261121"])
        .trip("J", calls)
        .zip()
}

#[test]
fn the_json_of_a_journey_after_midnight_has_no_private_field() {
    let night = ET
        .replace("2026-11-21T12:0", "2026-11-22T00:0")
        .replace("2026-11-21T12:10", "2026-11-22T00:10")
        .replace(
            "<DatedVehicleJourneyRef>J</DatedVehicleJourneyRef>",
            "<FramedVehicleJourneyRef><DataFrameRef>2026-11-22</DataFrameRef>\
             <DatedVehicleJourneyRef>J</DatedVehicleJourneyRef></FramedVehicleJourneyRef>",
        );
    let zip = schedule("S 24:05, T 24:09");
    let convert = |target| {
        converted(body(&night), target, Some(file(&zip))).unwrap_or_else(|why| panic!("{why:?}"))
    };
    let (message, _) = gtfs_rt::decode_feed_message(
        convert(ConversionTargetFormat::GtfsRt).0,
        &gtfs_rt::FeedMessageLimits::default(),
    )
    .unwrap();
    let trip = &message.entity[0].trip_update.as_ref().unwrap().trip;
    assert_eq!(trip.named_start_date.as_deref(), Some("20261122"), "protobuf output has it");
    let (text, converted) = convert(ConversionTargetFormat::GtfsRtJson);
    assert!(converted.conversion_report.iter().any(|loss| loss.kind == "named_start_date"));
    let json: Value = serde_json::from_slice(&text).unwrap();
    let trip = &json["entity"][0]["trip_update"]["trip"];
    assert_eq!((&trip["start_date"], trip.get("named_start_date")), (&json!("20261121"), None));
}

#[test]
fn a_journey_with_an_extra_call_keeps_its_other_planned_calls() {
    let extra = ET.replace(
        "<EstimatedCall><StopPointRef>T</StopPointRef>",
        "<EstimatedCall><StopPointRef>X</StopPointRef><ExtraCall>true</ExtraCall>",
    );
    let (_, alone) = one(body(&extra), ConversionTargetFormat::GtfsRt);
    let lost: Vec<_> = alone.conversion_report.iter().map(|loss| (loss.kind, loss.count)).collect();
    assert_eq!(lost, [("ExtraCall", 1), ("OperatorRef", 1)], "they need a schedule");
    let framed = extra.replace(
        "<DatedVehicleJourneyRef>J</DatedVehicleJourneyRef>",
        "<FramedVehicleJourneyRef><DataFrameRef>2026-11-21</DataFrameRef>\
         <DatedVehicleJourneyRef>J</DatedVehicleJourneyRef></FramedVehicleJourneyRef>",
    );
    let zip = schedule("R 12:00, S 12:05, T 12:20");
    let (pb, known) = converted(body(&framed), ConversionTargetFormat::GtfsRt, Some(file(&zip)))
        .unwrap_or_else(|why| panic!("{why:?}"));
    let (message, _) =
        gtfs_rt::decode_feed_message(pb, &gtfs_rt::FeedMessageLimits::default()).unwrap();
    let update = message.entity[0].trip_update.as_ref().unwrap();
    let stops: Vec<_> =
        update.stop_time_update.iter().filter_map(|call| call.stop_id.as_deref()).collect();
    assert_eq!(stops, ["R", "S", "X", "T"]);
    assert!(known.conversion_report.iter().all(|loss| loss.kind != "ExtraCall"));
}
