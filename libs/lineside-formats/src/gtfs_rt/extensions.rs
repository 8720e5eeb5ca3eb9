//! Finds the fields of an entity that the schema does not define: producers' own fields, of which only the numbers are
//! known.

use super::wire::{ProtobufFields, ProtobufValue};

/// A message of the schema, with all its fields.
struct SchemaMessage {
    name: &'static str,
    fields: &'static [SchemaField],
}

struct SchemaField {
    number: u32,
    name: &'static str,
    /// Index in the table of the field's message type, if it is a message.
    message: Option<usize>,
}

include!(concat!(env!("OUT_DIR"), "/known.rs"));

/// Calls `take` for each field of an encoded entity that the schema does not define, with its number and the path of
/// its message, such as `trip_update.trip`; the path of the entity itself is empty. Malformed parts are skipped.
pub(super) fn for_each_unknown_field(entity: &[u8], mut take: impl FnMut(u32, &str)) {
    if let Some(message) = MESSAGES.iter().find(|message| message.name == "FeedEntity") {
        walk_unknown_fields(message, entity, &mut String::new(), &mut take);
    }
}

/// Visits a message and its nested messages. The schema bounds the depth, because no message nests itself.
fn walk_unknown_fields(
    message: &SchemaMessage,
    bytes: &[u8],
    path: &mut String,
    take: &mut impl FnMut(u32, &str),
) {
    for found in ProtobufFields::new(bytes).map_while(Result::ok) {
        let Some(field) = message.fields.iter().find(|field| field.number == found.number) else {
            take(found.number, path);
            continue;
        };
        let inner = field.message.and_then(|inner| MESSAGES.get(inner));
        if let (Some(inner), ProtobufValue::Bytes(bytes)) = (inner, found.value) {
            let length = path.len();
            if length > 0 {
                path.push('.');
            }
            path.push_str(field.name);
            walk_unknown_fields(inner, bytes, path, take);
            path.truncate(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entity: &[u8], expected: &[(u32, &str)]) {
        let mut found = Vec::new();
        for_each_unknown_field(entity, |number, path| found.push((number, path.to_owned())));
        let expected: Vec<_> =
            expected.iter().map(|&(number, path)| (number, path.to_owned())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn unknown_fields_are_reported_with_their_path() {
        // Field 1001 with the value 7.
        check(b"\x0A\x01a\xC8\x3E\x07", &[(1001, "")]);
        // The trip of a trip update has the field, and so does the second of its two calls.
        check(
            b"\x0A\x01a\x1A\x0F\x0A\x06\x0A\x01t\xC8\x3E\x07\x12\x00\x12\x03\xC8\x3E\x07",
            &[(1001, "trip_update.trip"), (1001, "trip_update.stop_time_update")],
        );
        check(b"\x0A\x01a\x1A\x04\x0A\x02\x0A\x00", &[]);
        check(b"\xC8\x3E", &[]);
    }
}
