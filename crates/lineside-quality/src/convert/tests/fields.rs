//! Each field of GTFS-Realtime changes the converted SIRI or the losses; each element of SIRI changes the converted
//! SIRI.

use lineside_formats::gtfs_rt::proto::{
    Alert, EntitySelector, FeedEntity, FeedHeader, FeedMessage, Position, Shape, Stop,
    TranslatedImage, TranslatedString, TripDescriptor, TripModifications, TripUpdate,
    VehicleDescriptor, VehiclePosition,
    translated_string::Translation,
    trip_descriptor::ModifiedTripSelector,
    trip_update::{
        StopTimeEvent, StopTimeUpdate, TripProperties, stop_time_update::StopTimeProperties,
    },
    vehicle_position::CarriageDetails,
};

use super::*;

fn text(text: &str) -> Option<TranslatedString> {
    let translation = vec![Translation { text: text.to_owned(), language: None }];
    Some(TranslatedString { translation })
}

fn trip(id: &str) -> TripDescriptor {
    TripDescriptor { trip_id: Some(id.to_owned()), ..TripDescriptor::default() }
}

/// Returns a message with a trip, a vehicle and an alert.
fn message() -> FeedMessage {
    let call = |stop: &str, at: i64| {
        let event = Some(StopTimeEvent { time: Some(at), ..StopTimeEvent::default() });
        StopTimeUpdate {
            stop_id: Some(stop.to_owned()),
            arrival: event,
            departure: event,
            ..StopTimeUpdate::default()
        }
    };
    let update = TripUpdate {
        trip: trip("T"),
        stop_time_update: vec![
            call("A", 1_795_262_500),
            call("B", 1_795_262_600),
            call("C", 1_795_262_700),
        ],
        ..TripUpdate::default()
    };
    let vehicle = VehiclePosition {
        trip: Some(trip("V")),
        position: Some(Position { latitude: 1.0, longitude: 2.0, ..Position::default() }),
        stop_id: Some("B".to_owned()),
        ..VehiclePosition::default()
    };
    let entity = |id: &str| FeedEntity { id: id.to_owned(), ..FeedEntity::default() };
    FeedMessage {
        header: FeedHeader {
            gtfs_realtime_version: "2.0".to_owned(),
            timestamp: Some(1_795_262_400),
            ..FeedHeader::default()
        },
        entity: vec![
            FeedEntity { trip_update: Some(update), ..entity("1") },
            FeedEntity { vehicle: Some(vehicle), ..entity("2") },
            FeedEntity { alert: Some(Alert::default()), ..entity("3") },
        ],
    }
}

fn bytes(message: &FeedMessage) -> ConversionInput {
    let raw = message.entity.iter().zip(1..);
    let raw = raw
        .map(|(entity, number)| gtfs_rt::EncodedEntity::from_decoded_entity(entity, number).bytes);
    ConversionInput::Body(gtfs_rt::encode_feed_message(&message.header, raw))
}

fn some_text() -> Option<String> {
    Some("x".to_owned())
}

type Change<T> = (&'static str, fn(&mut T));

/// Applies each change to a part of a message.
fn puts<T>(
    changes: &'static [Change<T>],
    part: fn(&mut FeedMessage) -> &mut T,
) -> impl Iterator<Item = (&'static str, FeedMessage)> {
    changes.iter().map(move |(name, change)| {
        let mut message = message();
        change(part(&mut message));
        (*name, message)
    })
}

static MESSAGE_CHANGES: [Change<FeedMessage>; 6] = [
    ("incrementality", |it| it.header.incrementality = Some(1)),
    ("timestamp", |it| it.header.timestamp = Some(1_795_262_401)),
    ("feed_version", |it| it.header.feed_version = some_text()),
    ("shape", |it| it.entity[0].shape = Some(Shape::default())),
    ("stop", |it| it.entity[0].stop = Some(Stop::default())),
    ("trip_modifications", |it| {
        it.entity[0].trip_modifications = Some(TripModifications::default());
    }),
];

static TRIP_UPDATE_CHANGES: [Change<TripUpdate>; 10] = [
    ("timestamp", |it| it.timestamp = Some(1_795_262_300)),
    ("delay", |it| it.delay = Some(60)),
    ("trip_properties.trip_id", |it| properties(it).trip_id = some_text()),
    ("trip_properties.start_date", |it| {
        properties(it).start_date = Some("20261121".to_owned());
    }),
    ("trip_properties.start_time", |it| properties(it).start_time = some_text()),
    ("trip_properties.shape_id", |it| properties(it).shape_id = some_text()),
    ("trip_properties.trip_headsign", |it| properties(it).trip_headsign = some_text()),
    ("trip_properties.trip_short_name", |it| properties(it).trip_short_name = some_text()),
    ("stop_time_update", |it| it.stop_time_update.truncate(2)),
    ("stop_time_update without a stop", |it| {
        it.stop_time_update
            .insert(1, StopTimeUpdate { stop_sequence: Some(7), ..Default::default() });
    }),
];

fn properties(update: &mut TripUpdate) -> &mut TripProperties {
    update.trip_properties.get_or_insert_default()
}

static TRIP_CHANGES: [Change<TripDescriptor>; 9] = [
    ("trip_id", |it| it.trip_id = some_text()),
    ("start_time", |it| it.start_time = Some("12:00:00".to_owned())),
    ("start_date", |it| it.start_date = Some("20261121".to_owned())),
    ("invalid start_date", |it| it.start_date = some_text()),
    ("schedule_relationship", |it| it.schedule_relationship = Some(3)),
    ("unscheduled", |it| it.schedule_relationship = Some(2)),
    ("route_id", |it| it.route_id = some_text()),
    ("modified_trip", |it| it.modified_trip = Some(ModifiedTripSelector::default())),
    ("named_start_date", |it| it.named_start_date = Some("20261122".to_owned())),
];

static VEHICLE_DESCRIPTOR_CHANGES: [Change<VehicleDescriptor>; 4] = [
    ("id", |it| it.id = some_text()),
    ("label", |it| it.label = some_text()),
    ("license_plate", |it| it.license_plate = some_text()),
    ("wheelchair_accessible", |it| it.wheelchair_accessible = Some(2)),
];

static CALL_CHANGES: [Change<StopTimeUpdate>; 15] = [
    ("stop_sequence", |it| it.stop_sequence = Some(7)),
    ("stop_id", |it| it.stop_id = some_text()),
    ("skipped", |it| it.schedule_relationship = Some(1)),
    ("no data", |it| it.schedule_relationship = Some(2)),
    ("unscheduled", |it| it.schedule_relationship = Some(3)),
    ("departure_occupancy_status", |it| it.departure_occupancy_status = Some(5)),
    ("no occupancy", |it| it.departure_occupancy_status = Some(7)),
    ("arrival.delay", |it| event(&mut it.arrival).delay = Some(60)),
    ("arrival.time", |it| event(&mut it.arrival).time = Some(1_795_262_590)),
    ("arrival.uncertainty", |it| event(&mut it.arrival).uncertainty = Some(30)),
    ("departure.uncertainty", |it| event(&mut it.departure).uncertainty = Some(600)),
    ("departure.scheduled_time", |it| {
        event(&mut it.departure).scheduled_time = Some(1_795_262_580);
    }),
    ("departure.delay alone", |it| {
        it.departure = Some(StopTimeEvent { delay: Some(60), ..StopTimeEvent::default() });
    }),
    ("arrival", |it| it.arrival = None),
    ("departure", |it| it.departure = None),
];

fn event(event: &mut Option<StopTimeEvent>) -> &mut StopTimeEvent {
    event.get_or_insert_default()
}

static STOP_PROPERTIES_CHANGES: [Change<StopTimeProperties>; 6] = [
    ("assigned_stop_id", |it| it.assigned_stop_id = some_text()),
    ("stop_headsign", |it| it.stop_headsign = some_text()),
    ("pickup_type", |it| it.pickup_type = Some(1)),
    ("pickup by telephone", |it| it.pickup_type = Some(2)),
    ("drop_off_type", |it| it.drop_off_type = Some(3)),
    ("platform", |it| it.platform = some_text()),
];

static VEHICLE_CHANGES: [Change<VehiclePosition>; 14] = [
    ("latitude", |it| position_mut(it).latitude = 3.0),
    ("longitude", |it| position_mut(it).longitude = 3.0),
    ("bearing", |it| position_mut(it).bearing = Some(90.0)),
    ("odometer", |it| position_mut(it).odometer = Some(9.0)),
    ("speed", |it| position_mut(it).speed = Some(9.0)),
    ("speed below zero", |it| position_mut(it).speed = Some(-1.0)),
    ("current_stop_sequence", |it| it.current_stop_sequence = Some(7)),
    ("current_status", |it| it.current_status = Some(1)),
    ("timestamp", |it| it.timestamp = Some(1_795_262_300)),
    ("congestion_level", |it| it.congestion_level = Some(4)),
    ("stop_id", |it| it.stop_id = some_text()),
    ("occupancy_status", |it| it.occupancy_status = Some(5)),
    ("occupancy_percentage", |it| it.occupancy_percentage = Some(50)),
    ("multi_carriage_details", |it| {
        it.multi_carriage_details = vec![CarriageDetails::default()];
    }),
];

fn position_mut(vehicle: &mut VehiclePosition) -> &mut Position {
    vehicle.position.get_or_insert_default()
}

static ALERT_CHANGES: [Change<Alert>; 15] = [
    ("active_period", |it| {
        it.active_period = vec![proto::TimeRange { start: Some(1), end: Some(2) }];
    }),
    ("cause", |it| it.cause = Some(3)),
    ("effect", |it| it.effect = Some(1)),
    ("accessibility", |it| it.effect = Some(11)),
    ("url", |it| it.url = text("https://a.example")),
    ("header_text", |it| it.header_text = text("x")),
    ("description_text", |it| it.description_text = text("x")),
    ("tts_header_text", |it| it.tts_header_text = text("x")),
    ("tts_description_text", |it| it.tts_description_text = text("x")),
    ("severity_level", |it| it.severity_level = Some(4)),
    ("image", |it| it.image = Some(TranslatedImage::default())),
    ("image_alternative_text", |it| it.image_alternative_text = text("x")),
    ("cause_detail", |it| it.cause_detail = text("x")),
    ("effect_detail", |it| it.effect_detail = text("x")),
    ("informed_entity", |it| {
        let route_type = Some(1_300);
        it.informed_entity = vec![EntitySelector { route_type, ..EntitySelector::default() }];
    }),
];

/// Each change is applied to one of these selectors: a trip, a route, a stop, an agency.
static SELECTOR_CHANGES: [Change<EntitySelector>; 7] = [
    ("agency_id", |it| it.agency_id = Some("a".to_owned())),
    ("route_id", |it| it.route_id = Some("r".to_owned())),
    ("route_type", |it| it.route_type = Some(3)),
    ("trip", |it| it.trip = Some(trip("u"))),
    ("trip without a name", |it| it.trip = Some(TripDescriptor::default())),
    ("stop_id", |it| it.stop_id = Some("s".to_owned())),
    ("direction_id", |it| it.direction_id = Some(1)),
];

fn changed() -> Vec<(String, FeedMessage)> {
    fn update(it: &mut FeedMessage) -> &mut TripUpdate {
        it.entity[0].trip_update.get_or_insert_default()
    }
    fn vehicle(it: &mut FeedMessage) -> &mut VehiclePosition {
        it.entity[1].vehicle.get_or_insert_default()
    }
    fn alert(it: &mut FeedMessage) -> &mut Alert {
        it.entity[2].alert.get_or_insert_default()
    }
    let all = puts(&MESSAGE_CHANGES, |it| it)
        .chain(puts(&TRIP_UPDATE_CHANGES, update))
        .chain(puts(&TRIP_CHANGES, |it| &mut update(it).trip))
        .chain(puts(&TRIP_CHANGES, |it| vehicle(it).trip.get_or_insert_default()))
        .chain(puts(&VEHICLE_DESCRIPTOR_CHANGES, |it| update(it).vehicle.get_or_insert_default()))
        .chain(puts(&VEHICLE_DESCRIPTOR_CHANGES, |it| vehicle(it).vehicle.get_or_insert_default()))
        .chain(puts(&CALL_CHANGES, |it| &mut update(it).stop_time_update[1]))
        .chain(puts(&STOP_PROPERTIES_CHANGES, |it| {
            update(it).stop_time_update[1].stop_time_properties.get_or_insert_default()
        }))
        .chain(puts(&VEHICLE_CHANGES, vehicle))
        .chain(puts(&ALERT_CHANGES, alert));
    all.map(|(name, message)| (name.to_owned(), message)).collect()
}

#[test]
fn every_added_field_changes_the_siri_or_the_losses() {
    let (xml, before) = one(bytes(&message()), ConversionTargetFormat::SiriXml);
    let mut silent = Vec::new();
    for (name, message) in changed() {
        let (changed, converted) = one(bytes(&message), ConversionTargetFormat::SiriXml);
        if changed == xml && converted.conversion_report == before.conversion_report {
            silent.push(name);
        }
    }
    assert!(silent.is_empty(), "neither converted nor reported as dropped: {silent:#?}");
}

#[test]
fn every_added_alert_selector_changes_the_siri_or_the_losses() {
    let with = |selector: EntitySelector| {
        let mut message = message();
        message.entity[2].alert.get_or_insert_default().informed_entity = vec![selector];
        let (xml, converted) = one(bytes(&message), ConversionTargetFormat::SiriXml);
        (xml, converted.conversion_report)
    };
    for (_, set) in &SELECTOR_CHANGES {
        let mut selector = EntitySelector::default();
        set(&mut selector);
        let before = with(selector.clone());
        for (base_selector, add) in &SELECTOR_CHANGES {
            let mut more = selector.clone();
            add(&mut more);
            assert!(
                more == selector || with(more.clone()) != before,
                "{base_selector} of {more:?}"
            );
        }
    }
}

#[test]
fn all_siri_that_is_read_is_written() {
    let sample = siri::sample_delivery_xml();
    let (xml, converted) = one(body(&sample), ConversionTargetFormat::SiriXml);
    assert_eq!(
        converted.conversion_report.dropped_object_count(),
        0,
        "{:?}",
        converted.conversion_report
    );
    let read = |text: &[u8]| {
        siri::decode_siri_message(text, &TimeZone::UTC, &siri::MessageLimits::default()).unwrap()
    };
    assert_eq!(read(&xml).0.payloads, read(sample.as_bytes()).0.payloads);
}

#[test]
fn unread_siri_elements_are_counted_by_name() {
    let more = "<Extensions><a/></Extensions><Odd:Thing xmlns:Odd=\"urn:x\">7</Odd:Thing>";
    let with =
        ET.replace("</EstimatedVehicleJourney>", &format!("{more}</EstimatedVehicleJourney>"));
    let with = with.replace("<LineRef>L</LineRef>", "<LineRef>K</LineRef><LineRef>L</LineRef>");
    for to in [
        ConversionTargetFormat::SiriXml,
        ConversionTargetFormat::GtfsRt,
        ConversionTargetFormat::Geojson,
    ] {
        let (_, converted) = one(body(&with), to);
        let lost =
            |kind| converted.conversion_report.iter().find(|it| it.kind == kind).map(|it| it.count);
        assert_eq!(lost("Extensions"), Some(1), "{to}");
        assert_eq!(lost("Thing"), Some(1), "{to}");
        assert_eq!(lost("LineRef"), Some(1), "{to}");
    }
}
