//! The JSON form of protobuf values: enumerations by name, 64-bit numbers as numbers, absent values omitted.
//!
//! Reading accepts more than writing produces, because the JSON of real producers comes from many libraries:
//! enumerations by name or number, numbers as strings (protobuf's own JSON mapping does so for 64 bits), null for
//! absent; unknown fields are ignored. An unknown enumeration name counts as absent, as in proto2.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serializer,
    de::{self, Visitor},
};

use super::proto::{
    alert, feed_header, stop, trip_descriptor, trip_update::stop_time_update, vehicle_descriptor,
    vehicle_position,
};

/// An enumeration of the schema, by name and by number.
pub(super) trait SchemaEnum: Sized + TryFrom<i32> + Into<i32> {
    fn variant_name(&self) -> &'static str;
    fn from_variant_name(name: &str) -> Option<Self>;
}

macro_rules! named {
    ($($kind:path),+ $(,)?) => {
        $(impl SchemaEnum for $kind {
            fn variant_name(&self) -> &'static str {
                self.as_str_name()
            }

            fn from_variant_name(name: &str) -> Option<Self> {
                Self::from_str_name(name)
            }
        })+
    };
}

named!(
    feed_header::Incrementality,
    stop_time_update::ScheduleRelationship,
    stop_time_update::stop_time_properties::DropOffPickupType,
    vehicle_position::VehicleStopStatus,
    vehicle_position::CongestionLevel,
    vehicle_position::OccupancyStatus,
    alert::Cause,
    alert::Effect,
    alert::SeverityLevel,
    trip_descriptor::ScheduleRelationship,
    vehicle_descriptor::WheelchairAccessible,
    stop::WheelchairBoarding,
);

/// Writes the name, or the number if the schema does not define it.
pub(super) fn write_name<E: SchemaEnum, S: Serializer>(
    value: &Option<i32>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        None => serializer.serialize_none(),
        Some(number) => match E::try_from(*number) {
            Ok(known) => serializer.serialize_str(known.variant_name()),
            Err(_) => serializer.serialize_i32(*number),
        },
    }
}

/// Reads a name or a number; null and unknown names are absent.
pub(super) fn read_name<'de, E: SchemaEnum, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<i32>, D::Error> {
    deserializer.deserialize_any(NameVisitor::<E>(PhantomData))
}

struct NameVisitor<E>(PhantomData<E>);

impl<E: SchemaEnum> Visitor<'_> for NameVisitor<E> {
    type Value = Option<i32>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name or number of an enumeration value")
    }

    fn visit_str<Error: de::Error>(self, text: &str) -> Result<Self::Value, Error> {
        Ok(E::from_variant_name(text).map(Into::into).or_else(|| text.parse().ok()))
    }

    fn visit_u64<Error: de::Error>(self, number: u64) -> Result<Self::Value, Error> {
        i32::try_from(number).map(Some).map_err(|_| de::Error::custom("number out of range"))
    }

    fn visit_i64<Error: de::Error>(self, number: i64) -> Result<Self::Value, Error> {
        i32::try_from(number).map(Some).map_err(|_| de::Error::custom("number out of range"))
    }

    fn visit_unit<Error: de::Error>(self) -> Result<Self::Value, Error> {
        Ok(None)
    }
}

/// Reads a value; null is the default.
pub(super) fn read_or_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a number that the schema requires; null is 0.
pub(super) fn read_plain_number<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: SchemaNumber,
    D: Deserializer<'de>,
{
    Ok(read_option_number(deserializer)?.unwrap_or_default())
}

/// Reads a number or a numeric string; null is absent.
pub(super) fn read_option_number<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: SchemaNumber,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(NumberVisitor::<T>(PhantomData))
}

/// A number type of the schema.
pub(super) trait SchemaNumber: Sized + Default {
    fn from_integer(integer: i128) -> Option<Self>;
    fn from_float(float: f64) -> Option<Self>;
    fn from_text(text: &str) -> Option<Self>;
}

macro_rules! integers {
    ($($kind:ty),+) => {
        $(impl SchemaNumber for $kind {
            fn from_integer(integer: i128) -> Option<Self> {
                Self::try_from(integer).ok()
            }

            // Some libraries write a timestamp as 1.7e9. The cast saturates, so a value out of range differs after the
            // round trip and is refused.
            fn from_float(float: f64) -> Option<Self> {
                let integer = float as i128;
                if integer as f64 == float { Self::try_from(integer).ok() } else { None }
            }

            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        })+
    };
}

macro_rules! floats {
    ($($kind:ty),+) => {
        $(impl SchemaNumber for $kind {
            fn from_integer(integer: i128) -> Option<Self> {
                Some(integer as $kind)
            }

            fn from_float(float: f64) -> Option<Self> {
                Some(float as $kind)
            }

            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        })+
    };
}

integers!(i32, u32, i64, u64);
floats!(f32, f64);

struct NumberVisitor<T>(PhantomData<T>);

impl<T: SchemaNumber> Visitor<'_> for NumberVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        require_in_range(T::from_integer(number.into()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        require_in_range(T::from_integer(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        require_in_range(T::from_float(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        require_in_range(T::from_text(text))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

fn require_in_range<T, E: de::Error>(number: Option<T>) -> Result<Option<T>, E> {
    match number {
        Some(number) => Ok(Some(number)),
        None => Err(E::custom("not a number of the field's type and range")),
    }
}
