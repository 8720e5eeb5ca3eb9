//! A JSON reader that reports duplicate names in an object as errors, where other readers silently
//! take one of them.

use std::{cell::RefCell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum JsonValue {
    /// `null`, `true` or `false`, which are not used here.
    Other,
    Number(f64),
    Text(String),
    List(Vec<JsonValue>),
    Object(Vec<(String, JsonValue)>),
}

/// The reason why bytes are not usable JSON.
#[derive(Debug)]
pub(super) enum JsonParseFault {
    /// A name occurs twice in an object.
    Twice(String),
    /// The bytes are not valid JSON.
    Malformed(String),
}

impl JsonValue {
    /// Parses bytes as one value. The parser limits the depth; the caller limits the size.
    pub(super) fn parse_json(bytes: &[u8]) -> Result<JsonValue, JsonParseFault> {
        let twice = RefCell::new(None);
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let read = DuplicateDetectingSeed(&twice).deserialize(&mut reader).and_then(|json| {
            reader.end()?;
            Ok(json)
        });
        read.map_err(|error| match twice.into_inner() {
            Some(name) => JsonParseFault::Twice(name),
            None => JsonParseFault::Malformed(error.to_string()),
        })
    }

    pub(super) fn member_by_name(&self, name: &str) -> Option<&JsonValue> {
        self.as_object()?.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    pub(super) fn as_object(&self) -> Option<&[(String, JsonValue)]> {
        match self {
            JsonValue::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(super) fn as_list(&self) -> Option<&[JsonValue]> {
        match self {
            JsonValue::List(values) => Some(values),
            _ => None,
        }
    }

    pub(super) fn as_number(&self) -> Option<f64> {
        match self {
            JsonValue::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns a text, or a number as text: both are common for ids.
    pub(super) fn text_or_number_as_text(&self) -> Option<String> {
        match self {
            JsonValue::Text(text) => Some(text.clone()),
            JsonValue::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

/// A deserializer of values that records a duplicate name.
#[derive(Clone, Copy)]
struct DuplicateDetectingSeed<'a>(&'a RefCell<Option<String>>);

impl<'de> DeserializeSeed<'de> for DuplicateDetectingSeed<'_> {
    type Value = JsonValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<JsonValue, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DuplicateDetectingSeed<'_> {
    type Value = JsonValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<JsonValue, E> {
        Ok(JsonValue::Other)
    }

    fn visit_unit<E: Error>(self) -> Result<JsonValue, E> {
        Ok(JsonValue::Other)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<JsonValue, E> {
        Ok(JsonValue::Number(number as f64))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<JsonValue, E> {
        Ok(JsonValue::Number(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<JsonValue, E> {
        Ok(JsonValue::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<JsonValue, E> {
        Ok(JsonValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<JsonValue, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element_seed(self)? {
            list.push(value);
        }
        // Most lists are the two numbers of a point, and a growing list has room for four.
        list.shrink_to_fit();
        Ok(JsonValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<JsonValue, A::Error> {
        let mut object: Vec<(String, JsonValue)> = Vec::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.len() < FEW && object.iter().any(|(other, _)| *other == name) {
                return Err(self.duplicate_error(name));
            }
            object.push((name, members.next_value_seed(self)?));
        }
        if object.len() > FEW
            && let Some(name) = find_duplicate_name(&object)
        {
            return Err(self.duplicate_error(name));
        }
        object.shrink_to_fit();
        Ok(JsonValue::Object(object))
    }
}

/// The number of members up to which names are compared pairwise.
const FEW: usize = 32;

/// Returns a duplicate name in an object of any size. O(n log n).
fn find_duplicate_name(object: &[(String, JsonValue)]) -> Option<String> {
    let mut names: Vec<&str> = object.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(twice[0].to_owned())
}

impl DuplicateDetectingSeed<'_> {
    fn duplicate_error<E: Error>(self, name: String) -> E {
        *self.0.borrow_mut() = Some(name);
        E::custom("a name appears twice in an object")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_names_are_distinguished_from_malformed_json() {
        let twice = JsonValue::parse_json(br#"{"a": [{"b": 1, "c": 2, "b": 3}]}"#);
        assert!(matches!(twice, Err(JsonParseFault::Twice(name)) if name == "b"));
        let many = (0..200_000).map(|n| format!("\"n{n}\":1,")).collect::<String>();
        let twice = JsonValue::parse_json(format!("{{{many}\"n77\":1}}").as_bytes());
        assert!(matches!(twice, Err(JsonParseFault::Twice(name)) if name == "n77"));
        assert!(JsonValue::parse_json(format!("{{{many}\"n\":1}}").as_bytes()).is_ok());
        for text in ["{", "", "[1,]", "{} x"] {
            assert!(
                matches!(JsonValue::parse_json(text.as_bytes()), Err(JsonParseFault::Malformed(_))),
                "{text}"
            );
        }
        let deep = "[".repeat(10_000);
        assert!(matches!(
            JsonValue::parse_json(deep.as_bytes()),
            Err(JsonParseFault::Malformed(_))
        ));
        let json = JsonValue::parse_json(br#"{"a": [1, "x", null, true]}"#).unwrap();
        let list = json.member_by_name("a").and_then(JsonValue::as_list).unwrap();
        assert_eq!(
            list,
            [
                JsonValue::Number(1.0),
                JsonValue::Text("x".into()),
                JsonValue::Other,
                JsonValue::Other
            ]
        );
    }
}
