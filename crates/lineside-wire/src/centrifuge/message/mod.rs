//! The protocol's objects, one structure for both formats: fields have the protobuf definition's numbers and the JSON
//! form's names. Fields that nothing here uses are left out; a reader passes them over.
//!
//! Where the protobuf form holds bytes, the JSON form holds JSON: such bytes are JSON text here, too.

mod reply;
mod request;

pub use self::reply::*;
pub use self::request::*;

use serde::{Deserialize, Serialize};

/// JSON text as bytes: spliced in and cut out as it is.
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

/// A map from channels, as JSON has it.
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

/// Nothing, or nothing that is looked at.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
pub struct EmptyMessage {}
