//! Upper bounds of a record's JSON size, computed without encoding it.
//!
//! Publications are split by these bounds, so the splits do not depend on subscribers, and nothing is encoded to find
//! them. Fixed parts are counted with every optional number at its longest.

use lineside_formats::gtfs_rt::proto;

use super::{Departure, RecordBody, TimetableJoin};
use crate::feed_id::FeedId;

/// The envelope of a record: `{"op":"upsert","feed":"","kind":"trip_update","id":,"record":}` and a comma.
const ENVELOPE: usize = 80;
/// Numbers, names of fields and enumeration values, quotes and braces of one message without its texts and lists.
const VEHICLE: usize = 480;
const TRIP: usize = 285;
const DESCRIPTOR: usize = 130;
const CARRIAGE: usize = 200;
const TRIP_UPDATE: usize = 260;
const STOP_TIME_UPDATE: usize = 20;
const STOP_SEQUENCE: usize = 30;
const STOP_RELATIONSHIP: usize = 42;
const STOP_OCCUPANCY: usize = 62;
const STOP_TIME_EVENT: usize = 18;
const DELAY: usize = 22;
const TIME: usize = 30;
const UNCERTAINTY: usize = 28;
const SCHEDULED_TIME: usize = 40;
const STOP_TIME_PROPERTIES: usize = 170;
const ALERT: usize = 480;
const PERIOD: usize = 70;
const SELECTOR: usize = 140;
const TRANSLATION: usize = 40;
const JOIN: usize = 280;
const DEPARTURE: usize = 545;
const DATASET: usize = 300;
const FEED: usize = 225;

pub(super) fn upsert_json_bytes_max(
    feed: &FeedId,
    id: &str,
    body: &RecordBody,
    join: &TimetableJoin,
) -> usize {
    let body = match body {
        RecordBody::Vehicle(vehicle) => vehicle_position_bytes_max(vehicle),
        RecordBody::TripUpdate(update) => trip_update_bytes_max(update),
        RecordBody::Alert(alert) => alert_bytes_max(alert),
        RecordBody::Departure(departure) => departure_bytes_max(departure),
        RecordBody::Dataset(dataset) => {
            DATASET + dataset.feed_version.as_deref().map_or(0, json_text_bytes_max)
        }
        RecordBody::Feed(feed) => FEED + json_text_bytes_max(&feed.reason),
        RecordBody::Station(station) => station.json_bytes_max() + json_text_bytes_max(id),
        RecordBody::RentalVehicle(vehicle) => vehicle.json.len(),
    };
    ENVELOPE + feed.as_str().len() + json_text_bytes_max(id) + body + timetable_join_bytes_max(join)
}

/// Returns the length of a text with JSON escapes: control characters take six bytes, quotes and backslashes two.
fn json_text_bytes_max(text: &str) -> usize {
    let escaped = text.bytes().map(|byte| match byte {
        0..=0x1F => 5,
        b'"' | b'\\' => 1,
        _ => 0,
    });
    text.len() + escaped.sum::<usize>()
}

fn optional_text_bytes_max(value: &Option<String>) -> usize {
    value.as_deref().map_or(0, json_text_bytes_max)
}

fn timetable_join_bytes_max(join: &TimetableJoin) -> usize {
    let texts = [
        &join.route_id,
        &join.route_short_name,
        &join.headsign,
        &join.next_stop_id,
        &join.next_stop_name,
    ];
    JOIN + texts.into_iter().flatten().map(|it| json_text_bytes_max(it)).sum::<usize>()
}

fn vehicle_position_bytes_max(vehicle: &proto::VehiclePosition) -> usize {
    let carriages = vehicle.multi_carriage_details.iter();
    VEHICLE
        + vehicle.trip.as_ref().map_or(0, trip_descriptor_bytes_max)
        + vehicle.vehicle.as_ref().map_or(0, vehicle_descriptor_bytes_max)
        + optional_text_bytes_max(&vehicle.stop_id)
        + carriages
            .map(|it| {
                CARRIAGE + optional_text_bytes_max(&it.id) + optional_text_bytes_max(&it.label)
            })
            .sum::<usize>()
}

fn trip_descriptor_bytes_max(trip: &proto::TripDescriptor) -> usize {
    let modified = trip.modified_trip.as_ref().map_or(0, |it| {
        let texts = [&it.modifications_id, &it.affected_trip_id, &it.start_time, &it.start_date];
        TRIP + texts.into_iter().map(optional_text_bytes_max).sum::<usize>()
    });
    let texts =
        [&trip.trip_id, &trip.start_time, &trip.start_date, &trip.route_id, &trip.named_start_date];
    TRIP + modified + texts.into_iter().map(optional_text_bytes_max).sum::<usize>()
}

fn vehicle_descriptor_bytes_max(vehicle: &proto::VehicleDescriptor) -> usize {
    DESCRIPTOR
        + optional_text_bytes_max(&vehicle.id)
        + optional_text_bytes_max(&vehicle.label)
        + optional_text_bytes_max(&vehicle.license_plate)
}

fn trip_update_bytes_max(update: &proto::TripUpdate) -> usize {
    let properties = update.trip_properties.as_ref().map_or(0, |it| {
        let texts = [
            &it.trip_id,
            &it.start_date,
            &it.start_time,
            &it.shape_id,
            &it.trip_headsign,
            &it.trip_short_name,
        ];
        TRIP + texts.into_iter().map(optional_text_bytes_max).sum::<usize>()
    });
    TRIP_UPDATE
        + trip_descriptor_bytes_max(&update.trip)
        + update.vehicle.as_ref().map_or(0, vehicle_descriptor_bytes_max)
        + properties
        + update.stop_time_update.iter().map(stop_time_update_bytes_max).sum::<usize>()
}

fn stop_time_update_bytes_max(update: &proto::trip_update::StopTimeUpdate) -> usize {
    let properties = update.stop_time_properties.as_ref().map_or(0, |it| {
        let texts = [&it.assigned_stop_id, &it.stop_headsign, &it.platform];
        STOP_TIME_PROPERTIES + texts.into_iter().map(optional_text_bytes_max).sum::<usize>()
    });
    let events = [&update.arrival, &update.departure].into_iter().flatten();
    STOP_TIME_UPDATE
        + bytes_if_present(update.stop_sequence.is_some(), STOP_SEQUENCE)
        + bytes_if_present(update.schedule_relationship.is_some(), STOP_RELATIONSHIP)
        + bytes_if_present(update.departure_occupancy_status.is_some(), STOP_OCCUPANCY)
        + optional_text_bytes_max(&update.stop_id)
        + events.map(stop_time_event_bytes_max).sum::<usize>()
        + properties
}

/// Counts only fields that are present: a trip of hundreds of calls must not be rejected for absent ones.
fn stop_time_event_bytes_max(event: &proto::trip_update::StopTimeEvent) -> usize {
    STOP_TIME_EVENT
        + bytes_if_present(event.delay.is_some(), DELAY)
        + bytes_if_present(event.time.is_some(), TIME)
        + bytes_if_present(event.uncertainty.is_some(), UNCERTAINTY)
        + bytes_if_present(event.scheduled_time.is_some(), SCHEDULED_TIME)
}

fn bytes_if_present(is: bool, bytes: usize) -> usize {
    if is { bytes } else { 0 }
}

fn alert_bytes_max(alert: &proto::Alert) -> usize {
    let texts = [
        &alert.url,
        &alert.header_text,
        &alert.description_text,
        &alert.tts_header_text,
        &alert.tts_description_text,
        &alert.image_alternative_text,
        &alert.cause_detail,
        &alert.effect_detail,
    ];
    let translations = texts.into_iter().flatten().flat_map(|it| &it.translation);
    let images = alert.image.iter().flat_map(|image| &image.localized_image);
    ALERT
        + alert.active_period.len() * PERIOD
        + alert.informed_entity.iter().map(entity_selector_bytes_max).sum::<usize>()
        + translations
            .map(|it| {
                TRANSLATION + json_text_bytes_max(&it.text) + optional_text_bytes_max(&it.language)
            })
            .sum::<usize>()
        + images
            .map(|it| {
                2 * TRANSLATION
                    + json_text_bytes_max(&it.url)
                    + json_text_bytes_max(&it.media_type)
                    + optional_text_bytes_max(&it.language)
            })
            .sum::<usize>()
}

fn entity_selector_bytes_max(selector: &proto::EntitySelector) -> usize {
    SELECTOR
        + optional_text_bytes_max(&selector.agency_id)
        + optional_text_bytes_max(&selector.route_id)
        + optional_text_bytes_max(&selector.stop_id)
        + selector.trip.as_ref().map_or(0, trip_descriptor_bytes_max)
}

fn departure_bytes_max(departure: &Departure) -> usize {
    let texts = [
        departure.feed.as_str(),
        departure.source.as_str(),
        &departure.trip_id,
        &departure.route_id,
        &departure.route_short_name,
        departure.headsign.as_deref().unwrap_or_default(),
        departure.platform.as_deref().unwrap_or_default(),
        departure.scheduled_platform.as_deref().unwrap_or_default(),
        &departure.stop_id,
    ];
    DEPARTURE + texts.into_iter().map(json_text_bytes_max).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::{FeedStatusRecord, Record};

    /// Generates texts with everything that JSON escapes.
    fn any_text() -> impl Strategy<Value = Option<String>> {
        proptest::option::of(
            proptest::string::string_regex("[\\x00-\\x7F\\u{80}-\\u{10FF}]{0,12}").unwrap(),
        )
    }

    fn any_trip() -> impl Strategy<Value = proto::TripDescriptor> {
        (any_text(), any_text(), any_text(), any_text(), any::<Option<i32>>(), any::<Option<u32>>())
            .prop_map(
                |(
                    trip_id,
                    start_time,
                    start_date,
                    route_id,
                    schedule_relationship,
                    direction_id,
                )| {
                    let modified_trip =
                        direction_id.map(|_| proto::trip_descriptor::ModifiedTripSelector {
                            modifications_id: trip_id.clone(),
                            affected_trip_id: route_id.clone(),
                            start_time: start_time.clone(),
                            start_date: start_date.clone(),
                        });
                    let mut trip = proto::TripDescriptor {
                        named_start_date: start_date.clone(),
                        trip_id,
                        start_time,
                        start_date,
                        route_id,
                        direction_id,
                        modified_trip,
                        schedule_relationship,
                    };
                    // The longest name, as often as a number without a name.
                    if schedule_relationship.is_some_and(|number| number % 2 == 0) {
                        trip.set_schedule_relationship(
                            proto::trip_descriptor::ScheduleRelationship::Unscheduled,
                        );
                    }
                    trip
                },
            )
    }

    fn any_event() -> impl Strategy<Value = Option<proto::trip_update::StopTimeEvent>> {
        let event = (
            any::<Option<i32>>(),
            any::<Option<i64>>(),
            any::<Option<i32>>(),
            any::<Option<i64>>(),
        );
        proptest::option::of(event.prop_map(|(delay, time, uncertainty, scheduled_time)| {
            proto::trip_update::StopTimeEvent { delay, time, uncertainty, scheduled_time }
        }))
    }

    fn any_update() -> impl Strategy<Value = RecordBody> {
        let call = (any::<Option<u32>>(), any_event(), any_event(), any_text(), any::<bool>());
        let call = call.prop_map(|(stop_sequence, arrival, departure, stop_id, more)| {
            let properties = proto::trip_update::stop_time_update::StopTimeProperties {
                assigned_stop_id: stop_id.clone(),
                stop_headsign: stop_id.clone(),
                pickup_type: Some(3),
                drop_off_type: Some(3),
                platform: stop_id.clone(),
            };
            proto::trip_update::StopTimeUpdate {
                stop_sequence,
                arrival,
                departure,
                stop_id,
                schedule_relationship: more.then_some(3),
                departure_occupancy_status: more.then_some(4),
                stop_time_properties: more.then_some(properties),
            }
        });
        (any_trip(), proptest::collection::vec(call, 0..5), any::<Option<u64>>(), any_text())
            .prop_map(|(trip, stop_time_update, timestamp, text)| {
                let properties = proto::trip_update::TripProperties {
                    trip_id: text.clone(),
                    start_date: text.clone(),
                    start_time: text.clone(),
                    shape_id: text.clone(),
                    trip_headsign: text.clone(),
                    trip_short_name: text.clone(),
                };
                let vehicle = proto::VehicleDescriptor {
                    id: text.clone(),
                    label: text.clone(),
                    license_plate: text,
                    wheelchair_accessible: Some(3),
                };
                RecordBody::TripUpdate(Box::new(proto::TripUpdate {
                    trip,
                    stop_time_update,
                    timestamp,
                    delay: Some(i32::MIN),
                    vehicle: timestamp.map(|_| vehicle),
                    trip_properties: timestamp.map(|_| properties),
                }))
            })
    }

    fn any_vehicle() -> impl Strategy<Value = RecordBody> {
        (proptest::option::of(any_trip()), any::<(f32, f32, f32, f64)>(), any_text(), any::<bool>())
            .prop_map(|(trip, (latitude, longitude, speed, odometer), text, more)| {
                let carriage = proto::vehicle_position::CarriageDetails {
                    id: text.clone(),
                    label: text.clone(),
                    occupancy_status: Some(4),
                    occupancy_percentage: Some(i32::MIN),
                    carriage_sequence: Some(u32::MAX),
                };
                RecordBody::Vehicle(proto::VehiclePosition {
                    trip,
                    position: Some(proto::Position {
                        latitude,
                        longitude,
                        bearing: Some(speed),
                        odometer: Some(odometer),
                        speed: Some(speed),
                    }),
                    current_stop_sequence: Some(u32::MAX),
                    current_status: Some(2),
                    timestamp: Some(u64::MAX),
                    congestion_level: Some(0),
                    stop_id: text.clone(),
                    vehicle: Some(proto::VehicleDescriptor { id: text, ..Default::default() }),
                    occupancy_status: Some(4),
                    occupancy_percentage: Some(u32::MAX),
                    multi_carriage_details: if more { vec![carriage; 3] } else { Vec::new() },
                })
            })
    }

    fn any_alert() -> impl Strategy<Value = RecordBody> {
        (proptest::option::of(any_trip()), any_text(), any::<Option<u64>>(), 0..4_usize).prop_map(
            |(trip, text, time, n)| {
                let translation = proto::translated_string::Translation {
                    text: text.clone().unwrap_or_default(),
                    language: text.clone(),
                };
                let texts = Some(proto::TranslatedString { translation: vec![translation; n] });
                let image = proto::translated_image::LocalizedImage {
                    url: text.clone().unwrap_or_default(),
                    media_type: text.clone().unwrap_or_default(),
                    language: text.clone(),
                };
                let selector = proto::EntitySelector {
                    agency_id: text.clone(),
                    route_id: text.clone(),
                    route_type: Some(i32::MIN),
                    trip,
                    stop_id: text,
                    direction_id: Some(u32::MAX),
                };
                RecordBody::Alert(Box::new(proto::Alert {
                    active_period: vec![proto::TimeRange { start: time, end: time }; n],
                    informed_entity: vec![selector; n],
                    cause: Some(7),
                    effect: Some(11),
                    url: texts.clone(),
                    header_text: texts.clone(),
                    description_text: texts.clone(),
                    tts_header_text: texts.clone(),
                    tts_description_text: texts.clone(),
                    severity_level: Some(1),
                    image: Some(proto::TranslatedImage { localized_image: vec![image; n] }),
                    image_alternative_text: texts.clone(),
                    cause_detail: texts.clone(),
                    effect_detail: texts,
                }))
            },
        )
    }

    fn check(body: RecordBody) {
        let feed = FeedId::new(&"f".repeat(64)).unwrap();
        let text = || Some("a \"stop\"\n".into());
        let join = TimetableJoin {
            route_id: text(),
            route_short_name: text(),
            route_color: Some([255; 3]),
            route_text_color: Some([255; 3]),
            route_type: Some(u16::MAX),
            headsign: text(),
            direction_id: Some(u8::MAX),
            delay: Some(i32::MIN),
            next_stop_id: text(),
            next_stop_name: text(),
        };
        let record = Record::new(feed, "an \"id\"".into(), bytes::Bytes::new(), body, join);
        let (bytes, max) = (record.upsert_json().len() + 1, record.upsert_json_bytes_max());
        assert!(bytes <= max, "{bytes} bytes, more than the maximum of {max}");
    }

    proptest! {
        #[test]
        fn no_record_exceeds_its_maximum_size(
            update in any_update(), vehicle in any_vehicle(), alert in any_alert(),
        ) {
            check(update);
            check(vehicle);
            check(alert);
        }
    }

    #[test]
    fn a_feed_record_does_not_exceed_its_maximum_size() {
        let status = crate::FeedStatus { reason: "\"\n".repeat(100), ..Default::default() };
        check(RecordBody::Feed(Box::new(FeedStatusRecord::from_status(&status))));
    }
}
