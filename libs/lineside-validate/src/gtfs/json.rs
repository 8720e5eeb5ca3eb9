//! JSON as it stands in a file, with the names of each object once: a name that comes again is an
//! error that says so, where readers would silently take one of the two.

use std::{cell::RefCell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    /// `null`, or `true` or `false`, which mean nothing here.
    Other,
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Why bytes are no JSON that can be used.
#[derive(Debug)]
pub(super) enum Fault {
    /// A name stands in an object twice.
    Twice(String),
    /// They are no JSON at all.
    Malformed(String),
}

impl Json {
    /// Reads bytes as one value. Depth is bounded by the reader, size by whoever has the bytes.
    pub(super) fn read(bytes: &[u8]) -> Result<Json, Fault> {
        let twice = RefCell::new(None);
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let read = Seed(&twice).deserialize(&mut reader).and_then(|json| {
            reader.end()?;
            Ok(json)
        });
        read.map_err(|error| match twice.into_inner() {
            Some(name) => Fault::Twice(name),
            None => Fault::Malformed(error.to_string()),
        })
    }

    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        self.object()?.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    pub(super) fn object(&self) -> Option<&[(String, Json)]> {
        match self {
            Json::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Json]> {
        match self {
            Json::List(values) => Some(values),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Json::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// A text, or a number as one: ids are written both ways.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Json::Text(text) => Some(text.clone()),
            Json::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

/// Reads a value, and notes a name that came twice.
#[derive(Clone, Copy)]
struct Seed<'a>(&'a RefCell<Option<String>>);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Number(number as f64))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Number(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Json, E> {
        Ok(Json::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element_seed(self)? {
            list.push(value);
        }
        // Most lists are the two numbers of a point, and a list that grows has room for four.
        list.shrink_to_fit();
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object: Vec<(String, Json)> = Vec::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.len() < FEW && object.iter().any(|(other, _)| *other == name) {
                return Err(self.twice(name));
            }
            object.push((name, members.next_value_seed(self)?));
        }
        if object.len() > FEW
            && let Some(name) = find_twice(&object)
        {
            return Err(self.twice(name));
        }
        object.shrink_to_fit();
        Ok(Json::Object(object))
    }
}

/// Members of an object whose names are compared each with each other.
const FEW: usize = 32;

/// A name that stands there twice, among however many. O(n log n).
fn find_twice(object: &[(String, Json)]) -> Option<String> {
    let mut names: Vec<&str> = object.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(twice[0].to_owned())
}

impl Seed<'_> {
    fn twice<E: Error>(self, name: String) -> E {
        *self.0.borrow_mut() = Some(name);
        E::custom("a name stands in an object twice")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_come_twice_are_told_from_what_is_no_json() {
        let twice = Json::read(br#"{"a": [{"b": 1, "c": 2, "b": 3}]}"#);
        assert!(matches!(twice, Err(Fault::Twice(name)) if name == "b"));
        let many = (0..200_000).map(|n| format!("\"n{n}\":1,")).collect::<String>();
        let twice = Json::read(format!("{{{many}\"n77\":1}}").as_bytes());
        assert!(matches!(twice, Err(Fault::Twice(name)) if name == "n77"));
        assert!(Json::read(format!("{{{many}\"n\":1}}").as_bytes()).is_ok());
        for text in ["{", "", "[1,]", "{} x"] {
            assert!(matches!(Json::read(text.as_bytes()), Err(Fault::Malformed(_))), "{text}");
        }
        let deep = "[".repeat(10_000);
        assert!(matches!(Json::read(deep.as_bytes()), Err(Fault::Malformed(_))));
        let json = Json::read(br#"{"a": [1, "x", null, true]}"#).unwrap();
        let list = json.get("a").and_then(Json::list).unwrap();
        assert_eq!(list, [Json::Number(1.0), Json::Text("x".into()), Json::Other, Json::Other]);
    }
}
