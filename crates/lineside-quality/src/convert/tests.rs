//! Conversions of small inputs, and counts on real data if its folder exists next to the repository.

use std::{fs, io::Write as _, path::Path};

use jiff::tz::TimeZone;
use lineside_formats::{
    gtfs_rt::{self, proto},
    siri,
};

mod fields;
mod schedules;
mod systems;

use super::*;

const ET: &str = "<Siri xmlns=\"http://www.siri.org.uk/siri\" version=\"2.0\"><ServiceDelivery>\
    <ResponseTimestamp>2026-11-21T12:00:00Z</ResponseTimestamp><EstimatedTimetableDelivery>\
    <EstimatedJourneyVersionFrame><EstimatedVehicleJourney><LineRef>L</LineRef>\
    <DatedVehicleJourneyRef>J</DatedVehicleJourneyRef><OperatorRef>O</OperatorRef>\
    <EstimatedCalls><EstimatedCall><StopPointRef>S</StopPointRef>\
    <AimedDepartureTime>2026-11-21T12:05:00Z</AimedDepartureTime>\
    <ExpectedDepartureTime>2026-11-21T12:07:00Z</ExpectedDepartureTime></EstimatedCall>\
    <EstimatedCall><StopPointRef>T</StopPointRef>\
    <AimedArrivalTime>2026-11-21T12:09:00Z</AimedArrivalTime>\
    <ExpectedArrivalTime>2026-11-21T12:10:00Z</ExpectedArrivalTime></EstimatedCall>\
    </EstimatedCalls></EstimatedVehicleJourney></EstimatedJourneyVersionFrame>\
    </EstimatedTimetableDelivery></ServiceDelivery></Siri>";

/// Returns the input for a file with this text.
fn body(text: &str) -> ConversionInput {
    ConversionInput::open_file_input(file(text.as_bytes())).unwrap_or_else(|why| panic!("{why:?}"))
}

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn converted(
    input: ConversionInput,
    to: ConversionTargetFormat,
    schedule: Option<File>,
) -> Result<(Bytes, ConversionOutput), ConversionError> {
    let mut out = tempfile::tempfile().unwrap();
    let converted = convert_input(input, to, ConversionOptions { schedule, ids: None }, &out)?;
    let mut bytes = Vec::new();
    out.rewind().unwrap();
    out.read_to_end(&mut bytes).unwrap();
    Ok((bytes.into(), converted))
}

fn one(input: ConversionInput, to: ConversionTargetFormat) -> (Bytes, ConversionOutput) {
    converted(input, to, None).unwrap_or_else(|why| panic!("{why:?}"))
}

/// Returns the input for a system in German.
fn system_input(files: Vec<NamedFileBody>) -> ConversionInput {
    let language = Some("de".to_owned());
    ConversionInput::System {
        files,
        language,
        others: Vec::new(),
        missing_files: ConversionReport::new(),
    }
}

const NETEX: &str = "<PublicationDelivery xmlns=\"http://www.netex.org.uk/netex\"><dataObjects>\
    <GeneralFrame><members><Notice id=\"N\"/><Line id=\"L\"><Name>Ring</Name>\
    <TransportMode>bus</TransportMode></Line><Quay id=\"Q\"><Name>Pier</Name><Centroid><Location>\
    <Longitude>10.7</Longitude><Latitude>59.9</Latitude></Location></Centroid></Quay></members>\
    </GeneralFrame></dataObjects></PublicationDelivery>";

#[test]
fn netex_is_converted_to_gtfs_and_losses_are_reported() {
    let (zip, converted) = one(body(NETEX), ConversionTargetFormat::Gtfs);
    assert_eq!(sniff_format(&zip), Some(Format::Gtfs));
    assert_eq!((converted.from, converted.counts[0]), (Format::Netex, ("Line", 1)));
    let losses: Vec<_> = converted.conversion_report.iter().map(|it| (it.kind, it.count)).collect();
    assert_eq!(losses, [("Notice", 1)]);
    let (map, _) = one(body(NETEX), ConversionTargetFormat::Geojson);
    let map: Value = serde_json::from_slice(&map).unwrap();
    assert_eq!(map["features"][0]["geometry"]["coordinates"], json!([10.7, 59.9]));
}

#[test]
fn siri_is_converted_to_gtfs_realtime_and_losses_are_reported() {
    let (pb, converted) = one(body(ET), ConversionTargetFormat::GtfsRt);
    let (message, _) =
        gtfs_rt::decode_feed_message(pb, &gtfs_rt::FeedMessageLimits::default()).unwrap();
    let update = message.entity[0].trip_update.as_ref().unwrap();
    assert_eq!(update.trip.trip_id.as_deref(), Some("J"));
    assert_eq!(update.stop_time_update[0].departure.as_ref().unwrap().delay, Some(120));
    assert_eq!(converted.counts[0], ("trip_updates", 1));
    let losses: Vec<_> = converted.conversion_report.iter().map(|it| (it.kind, it.count)).collect();
    assert_eq!(losses, [("OperatorRef", 1)]);
    let report = converted.report_json(ConversionTargetFormat::GtfsRt);
    assert_eq!((&report["from"], &report["to"]), (&json!("siri"), &json!("gtfs-rt")));
    assert_eq!(report["losses"]["total"], 1);
}

#[test]
fn a_conversion_to_gtfs_realtime_and_back_preserves_the_journey() {
    let (pb, _) = one(body(ET), ConversionTargetFormat::GtfsRt);
    let (xml, converted) = one(ConversionInput::Body(pb.clone()), ConversionTargetFormat::SiriXml);
    assert_eq!(
        (converted.from, converted.conversion_report.dropped_object_count()),
        (Format::GtfsRt, 0)
    );
    let (message, problems) =
        siri::decode_siri_message(&xml, &TimeZone::UTC, &siri::MessageLimits::default()).unwrap();
    assert_eq!(problems.total_count(), 0);
    let journey = message.service_deliveries().next().unwrap().estimated_timetables[0]
        .estimated_journeys()
        .next();
    assert_eq!(journey.unwrap().journey_ref().unwrap(), "J");
    let (second, _) = one(ConversionInput::Body(xml), ConversionTargetFormat::GtfsRt);
    let events = |bytes: Bytes| {
        let (message, _) =
            gtfs_rt::decode_feed_message(bytes, &gtfs_rt::FeedMessageLimits::default()).unwrap();
        let update = message.entity[0].trip_update.clone().unwrap();
        (update.trip.trip_id, update.stop_time_update)
    };
    let (trip, calls) = events(second);
    let (known, known_calls) = events(pb);
    assert_eq!(trip, known);
    let list_calls = |calls: &[proto::trip_update::StopTimeUpdate]| -> Vec<_> {
        calls.iter().map(|it| (it.stop_id.clone(), it.arrival, it.departure)).collect()
    };
    assert_eq!(list_calls(&calls), list_calls(&known_calls));
}

#[test]
fn entities_merged_into_one_element_are_counted_once() {
    let (pb, _) = one(body(ET), ConversionTargetFormat::GtfsRt);
    let (mut message, _) =
        gtfs_rt::decode_feed_message(pb, &gtfs_rt::FeedMessageLimits::default()).unwrap();
    for id in ["again", "gone"] {
        let mut entity = message.entity[0].clone();
        entity.id = id.to_owned();
        entity.is_deleted = Some(id == "gone");
        message.entity.push(entity);
    }
    let raw = message.entity.iter().zip(1..);
    let raw = raw
        .map(|(entity, number)| gtfs_rt::EncodedEntity::from_decoded_entity(entity, number).bytes);
    let pb = gtfs_rt::encode_feed_message(&message.header, raw);
    let (xml, converted) = one(ConversionInput::Body(pb), ConversionTargetFormat::SiriXml);
    let read =
        siri::decode_siri_message(&xml, &TimeZone::UTC, &siri::MessageLimits::default()).unwrap().0;
    let written = read.service_deliveries().flat_map(|it| &it.estimated_timetables);
    assert_eq!(written.flat_map(|it| it.estimated_journeys()).count(), 1);
    assert_eq!(converted.counts[0], ("EstimatedVehicleJourney", 1));
    let losses: Vec<_> = converted.conversion_report.iter().map(|it| (it.kind, it.count)).collect();
    assert_eq!(losses, [("is_deleted", 1), ("trip_update", 1)]);
}

#[test]
fn siri_is_converted_to_siri_without_loss() {
    let (json, converted) = one(body(ET), ConversionTargetFormat::SiriJson);
    assert!(converted.conversion_report.is_empty());
    assert_eq!(converted.counts[0], ("EstimatedVehicleJourney", 1));
    let (second, _) = one(ConversionInput::Body(json), ConversionTargetFormat::SiriXml);
    let read = |text: &[u8]| {
        siri::decode_siri_message(text, &TimeZone::UTC, &siri::MessageLimits::default()).unwrap()
    };
    assert_eq!(read(&second).0, read(ET.as_bytes()).0);
}

#[test]
fn an_extension_is_lost_in_json() {
    let entity = proto::FeedEntity {
        id: "a".to_owned(),
        vehicle: Some(proto::VehiclePosition::default()),
        ..proto::FeedEntity::default()
    };
    let mut raw = gtfs_rt::EncodedEntity::from_decoded_entity(&entity, 1).bytes.to_vec();
    // Field 1001, a number.
    raw.extend_from_slice(&[0xC8, 0x3E, 0x07]);
    let header = proto::FeedHeader {
        gtfs_realtime_version: "2.0".to_owned(),
        ..proto::FeedHeader::default()
    };
    let pb = gtfs_rt::encode_feed_message(&header, [Bytes::from(raw)]);
    let (same, converted) = one(ConversionInput::Body(pb.clone()), ConversionTargetFormat::GtfsRt);
    assert_eq!(
        (same, converted.conversion_report.dropped_object_count()),
        (pb.clone(), 0),
        "protobuf output has the extension"
    );
    let (json, converted) = one(ConversionInput::Body(pb), ConversionTargetFormat::GtfsRtJson);
    assert!(serde_json::from_slice::<Value>(&json).unwrap()["entity"][0]["vehicle"].is_object());
    let list_dropped = |converted: &ConversionOutput| -> Vec<_> {
        converted.conversion_report.iter().map(|it| (it.kind.to_owned(), it.count)).collect()
    };
    assert_eq!(list_dropped(&converted), [("extension 1001 of entity".to_owned(), 1)]);
}

#[test]
fn entities_that_geojson_cannot_show_are_counted_once() {
    let vehicle = |id: &str, position: Option<proto::Position>| proto::FeedEntity {
        id: id.to_owned(),
        vehicle: Some(proto::VehiclePosition {
            vehicle: Some(proto::VehicleDescriptor {
                id: Some("v".to_owned()),
                ..proto::VehicleDescriptor::default()
            }),
            position,
            ..proto::VehiclePosition::default()
        }),
        trip_update: Some(proto::TripUpdate {
            trip: proto::TripDescriptor {
                trip_id: Some(id.to_owned()),
                ..proto::TripDescriptor::default()
            },
            ..proto::TripUpdate::default()
        }),
        ..proto::FeedEntity::default()
    };
    let deleted = proto::FeedEntity { is_deleted: Some(true), ..vehicle("gone", None) };
    let entities = [vehicle("a", None), vehicle("b", None), deleted];
    let header = proto::FeedHeader {
        gtfs_realtime_version: "2.0".to_owned(),
        ..proto::FeedHeader::default()
    };
    let raw = entities.iter().zip(1..);
    let raw = raw
        .map(|(entity, number)| gtfs_rt::EncodedEntity::from_decoded_entity(entity, number).bytes);
    let pb = gtfs_rt::encode_feed_message(&header, raw);
    let (_, converted) = one(ConversionInput::Body(pb), ConversionTargetFormat::Geojson);
    let lost = |kind: &str| -> u64 {
        converted.conversion_report.iter().filter(|it| it.kind == kind).map(|it| it.count).sum()
    };
    assert_eq!(converted.counts[0], ("vehicles", 0));
    assert_eq!([lost("vehicle"), lost("trip_update"), lost("is_deleted")], [2, 2, 1]);
}

#[test]
fn a_gbfs_system_is_converted_to_another_version() {
    let file = |name: &str, data: Value| {
        let text =
            json!({ "last_updated": 1_795_262_400, "ttl": 60, "version": "2.2", "data": data });
        (name.to_owned(), Bytes::from(text.to_string()))
    };
    let files = vec![
        file("gbfs", json!({ "de": { "feeds": [] } })),
        file("system_information", json!({ "system_id": "a", "timezone": "Europe/Berlin" })),
        file(
            "system_hours",
            json!({ "rental_hours": [{ "user_types": ["nonmember"], "days": ["mon"],
                "start_time": "06:00:00", "end_time": "22:00:00" }] }),
        ),
        file("gbfs_versions", json!({ "versions": [] })),
        file(
            "station_information",
            json!({ "stations": [{ "station_id": "1", "name": "A", "lat": 48.5, "lon": 2.5 }] }),
        ),
    ];
    let system = system_input(files);
    let (nothing, converted) = one(system, ConversionTargetFormat::Gbfs3);
    assert!(nothing.is_empty());
    let names: Vec<&str> = converted.files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["gbfs.json", "system_information.json", "station_information.json"]);
    let read = |at: usize| serde_json::from_slice::<Value>(&converted.files[at].1).unwrap();
    assert_eq!(read(0)["data"]["feeds"][1]["url"], "station_information.json");
    let system = &read(1)["data"];
    assert_eq!(
        (&system["languages"], &system["opening_hours"]),
        (&json!(["de"]), &json!("Mo 06:00-22:00"))
    );
    assert_eq!(read(2)["version"], "3.0");
    assert_eq!(read(2)["data"]["stations"][0]["name"], json!([{ "text": "A", "language": "de" }]));
    let lost: Vec<_> =
        converted.conversion_report.iter().map(|loss| loss.examples.join(" ")).collect();
    assert_eq!(lost, ["gbfs_versions"], "the system information has the hours");
}

#[test]
fn an_unsupported_conversion_is_refused_with_the_supported_ones() {
    for (input, to, expected_message) in [
        (
            ET,
            ConversionTargetFormat::Gbfs3,
            "siri cannot be converted to gbfs3, only to gtfs-rt, gtfs-rt-json, siri-xml",
        ),
        (
            "hello",
            ConversionTargetFormat::GtfsRt,
            "the input is not GTFS, GTFS-Realtime, NeTEx, SIRI or GBFS",
        ),
    ] {
        let Err(ConversionError::Unsupported(reason)) = converted(body(input), to, None) else {
            panic!("{input}")
        };
        assert!(reason.starts_with(expected_message), "{reason}");
    }
    let cut = &ET[..ET.len() - 20];
    let Err(ConversionError::Unreadable(reason)) =
        converted(body(cut), ConversionTargetFormat::GtfsRt, None)
    else {
        panic!("the file is truncated")
    };
    assert!(reason.contains("truncated"), "{reason}");
}

#[test]
fn real_files_are_converted_entity_by_entity() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let file = data.join("siri/et-banenor-raw.xml");
    let Ok(xml) = fs::read(&file) else {
        println!("skipped: {} does not exist", file.display());
        return;
    };
    let journeys = String::from_utf8_lossy(&xml).matches("<EstimatedVehicleJourney>").count();
    let (pb, converted) = one(ConversionInput::Body(xml.into()), ConversionTargetFormat::GtfsRt);
    assert_eq!(converted.counts[0].1, journeys as u64);
    let (back, converted) = one(ConversionInput::Body(pb), ConversionTargetFormat::SiriXml);
    assert_eq!(converted.counts[0].1, journeys as u64);
    let (message, _) =
        siri::decode_siri_message(&back, &TimeZone::UTC, &siri::MessageLimits::default()).unwrap();
    let written = message.service_deliveries().flat_map(|it| &it.estimated_timetables);
    assert_eq!(written.flat_map(|it| it.estimated_journeys()).count(), journeys);
}
