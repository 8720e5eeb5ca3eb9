//! Finds required fields that an entity lacks.
//!
//! prost fills them with defaults, so a vehicle without a latitude would be at 0. Other readers refuse the whole
//! message because of one such entity, so it must not be published.

use serde_json::Value as Json;

use super::{
    proto,
    wire::{ProtobufFault, ProtobufFields, ProtobufValue},
};

/// A message of the schema: its required fields, and the fields that lead to required ones.
struct SchemaMessage {
    name: &'static str,
    fields: &'static [SchemaField],
}

struct SchemaField {
    number: u32,
    name: &'static str,
    required: bool,
    /// Index in the table of the field's message type, if that leads to required fields.
    message: Option<usize>,
}

include!(concat!(env!("OUT_DIR"), "/required.rs"));

/// Returns the path of the first required field that the encoded entity lacks, such as `vehicle.position.latitude`.
pub(super) fn missing_field_in_entity(entity: &[u8]) -> Result<Option<String>, ProtobufFault> {
    match find_schema_message("FeedEntity") {
        Some(message) => missing_field_in_message(message, entity),
        None => Ok(None),
    }
}

/// Returns the path of the first required field that the encoded header lacks.
pub(super) fn missing_field_in_header(header: &[u8]) -> Result<Option<String>, ProtobufFault> {
    match find_schema_message("FeedHeader") {
        Some(message) => missing_field_in_message(message, header),
        None => Ok(None),
    }
}

/// Returns the path of the first required field that an entity in JSON lacks.
pub(super) fn missing_field_in_json(entity: &Json) -> Option<String> {
    find_schema_message("FeedEntity").and_then(|message| missing_field_in_object(message, entity))
}

/// Returns the path of a required number that is NaN or infinite, which JSON cannot express.
pub(super) fn find_non_finite_number(entity: &proto::FeedEntity) -> Option<&'static str> {
    let position = entity.vehicle.as_ref()?.position.as_ref()?;
    match (position.latitude.is_finite(), position.longitude.is_finite()) {
        (false, _) => Some("vehicle.position.latitude"),
        (_, false) => Some("vehicle.position.longitude"),
        (true, true) => None,
    }
}

fn find_schema_message(name: &str) -> Option<&'static SchemaMessage> {
    MESSAGES.iter().find(|message| message.name == name)
}

/// Checks a message and its nested messages. The schema bounds the depth, because no message nests itself.
fn missing_field_in_message(
    message: &SchemaMessage,
    bytes: &[u8],
) -> Result<Option<String>, ProtobufFault> {
    // One bit per row of the table; no message has more than 64.
    let mut seen = 0_u64;
    for field in ProtobufFields::new(bytes) {
        let found = field?;
        let Some(row) = message.fields.iter().position(|it| it.number == found.number) else {
            continue;
        };
        seen |= 1 << row;
        let field = &message.fields[row];
        if let (Some(inner), ProtobufValue::Bytes(bytes)) = (field.message, found.value)
            && let Some(path) = missing_field_in_message(&MESSAGES[inner], bytes)?
        {
            return Ok(Some(format!("{}.{path}", field.name)));
        }
    }
    let absent = |&(row, field): &(usize, &SchemaField)| field.required && seen & (1 << row) == 0;
    Ok(message.fields.iter().enumerate().find(absent).map(|(_, field)| field.name.to_owned()))
}

fn missing_field_in_object(message: &SchemaMessage, json: &Json) -> Option<String> {
    message.fields.iter().find_map(|field| {
        let value = json.get(field.name).or_else(|| json.get(to_camel_case(field.name)));
        let inner = field.message.map(|inner| &MESSAGES[inner]);
        let path = match (value.filter(|value| !value.is_null()), inner) {
            (None, _) => return field.required.then(|| field.name.to_owned()),
            (Some(_), None) => None,
            (Some(Json::Array(values)), Some(inner)) => {
                values.iter().find_map(|value| missing_field_in_object(inner, value))
            }
            (Some(value), Some(inner)) => missing_field_in_object(inner, value),
        };
        path.map(|path| format!("{}.{path}", field.name))
    })
}

fn to_camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut upper = false;
    for letter in name.chars() {
        match letter {
            '_' => upper = true,
            _ if upper => {
                camel.extend(letter.to_uppercase());
                upper = false;
            }
            _ => camel.push(letter),
        }
    }
    camel
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[test]
    fn every_message_has_at_most_64_fields() {
        assert!(MESSAGES.iter().all(|message| message.fields.len() <= 64));
    }

    #[test]
    fn a_missing_required_field_is_named_by_its_path() {
        let bytes = |entity: &[u8]| missing_field_in_entity(entity).unwrap();
        assert_eq!(bytes(b"").as_deref(), Some("id"));
        assert_eq!(bytes(b"\x0A\x01a").as_deref(), None);
        assert_eq!(bytes(b"\x0A\x01a\x1A\x00").as_deref(), Some("trip_update.trip"));
        let position = b"\x0A\x01a\x22\x07\x12\x05\x0D....";
        assert_eq!(bytes(position).as_deref(), Some("vehicle.position.longitude"));

        let json = |text: &str| missing_field_in_json(&serde_json::from_str(text).unwrap());
        assert_eq!(json(r#"{}"#).as_deref(), Some("id"));
        assert_eq!(json(r#"{"id": "a"}"#).as_deref(), None);
        assert_eq!(json(r#"{"id": "a", "tripUpdate": {}}"#).as_deref(), Some("trip_update.trip"));
        assert_eq!(
            json(r#"{"id": "a", "vehicle": {"position": {"latitude": 1, "longitude": null}}}"#)
                .as_deref(),
            Some("vehicle.position.longitude")
        );
        assert_eq!(
            json(r#"{"id": "a", "alert": {"image": {"localized_image": [{"url": "u"}]}}}"#)
                .as_deref(),
            Some("alert.image.localized_image.media_type")
        );
    }

    #[test]
    fn messages_encoded_by_prost_have_all_required_fields() {
        let entity = proto::FeedEntity {
            trip_update: Some(proto::TripUpdate::default()),
            vehicle: Some(proto::VehiclePosition {
                position: Some(proto::Position::default()),
                ..Default::default()
            }),
            ..Default::default()
        };
        assert_eq!(missing_field_in_entity(&entity.encode_to_vec()), Ok(None));
        assert_eq!(missing_field_in_json(&serde_json::to_value(&entity).unwrap()), None);
    }
}
