//! `locations.geojson`: the zones of demand-responsive services, counted as they stream by.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{Loader, Source};
use crate::{Error, ErrorKind, gtfs::fields::LOCATIONS};

impl Loader {
    pub(super) fn load_locations(&mut self, source: &mut Source<'_>) -> Result<(), Error> {
        let Some(reader) = source.open_bytes(LOCATIONS)? else { return Ok(()) };
        let collection: Collection = serde_json::from_reader(std::io::BufReader::new(reader))
            .map_err(|error| refusal(error).in_file(LOCATIONS))?;
        match collection.n_features {
            Some(n_features) => {
                self.count(LOCATIONS, n_features);
                Ok(())
            }
            None => {
                Err(Error::new(ErrorKind::Decode, "is no GeoJSON FeatureCollection")
                    .in_file(LOCATIONS))
            }
        }
    }
}

fn refusal(error: serde_json::Error) -> Error {
    if error.is_io() {
        Error::io(error.into())
    } else {
        Error::new(ErrorKind::Decode, format!("is no JSON: {error}"))
    }
}

/// A FeatureCollection, of which only the number of features is kept.
struct Collection {
    n_features: Option<u64>,
}

/// A list, of which only the length is kept.
struct Length(u64);

impl<'de> Deserialize<'de> for Collection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Collection, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Collection;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a FeatureCollection")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Collection, A::Error> {
                let mut n_features = None;
                while let Some(key) = map.next_key::<String>()? {
                    if key == "features" {
                        n_features = Some(map.next_value::<Length>()?.0);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Collection { n_features })
            }
        }

        deserializer.deserialize_map(Members)
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Length, D::Error> {
        struct Items;

        impl<'de> Visitor<'de> for Items {
            type Value = Length;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of features")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Length, A::Error> {
                let mut length = 0;
                while items.next_element::<IgnoredAny>()?.is_some() {
                    length += 1;
                }
                Ok(Length(length))
            }
        }

        deserializer.deserialize_seq(Items)
    }
}
