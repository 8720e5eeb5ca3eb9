//! The protocol's messages, one structure for both formats: fields have the numbers of the protobuf definition and the
//! names of the JSON form. Unused fields are left out; a reader skips them.
//!
//! Where the protobuf form has bytes, the JSON form has JSON: such bytes are JSON text here too.

mod reply;
mod request;

pub use self::reply::*;
pub use self::request::*;

use serde::{Deserialize, Serialize};

/// JSON text as bytes, embedded and extracted unchanged.
mod raw {
    use bytes::Bytes;
    use serde::de::Deserialize as _;
    use serde::ser::{Error as _, Serialize as _};
    use serde::{Deserializer, Serializer};
    use serde_json::value::RawValue;

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        let raw = Option::<&RawValue>::deserialize(from)?;
        Ok(raw.map_or_else(Bytes::new, |raw| Bytes::copy_from_slice(raw.get().as_bytes())))
    }

    pub(super) fn serialize<S: Serializer>(data: &Bytes, into: S) -> Result<S::Ok, S::Error> {
        serde_json::from_slice::<&RawValue>(data).map_err(S::Error::custom)?.serialize(into)
    }
}

/// A map by channel, as in the JSON form.
mod server_subs {
    use std::collections::BTreeMap;

    use serde::Deserializer;
    use serde::de::Deserialize as _;

    use super::{ServerSub, SubscribeResult};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<ServerSub>, D::Error> {
        let subs = BTreeMap::<String, SubscribeResult>::deserialize(from)?;
        Ok(subs.into_iter().map(|(channel, result)| ServerSub { channel, result }).collect())
    }
}

/// A message without fields, or with fields that are ignored.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
pub struct EmptyMessage {}
