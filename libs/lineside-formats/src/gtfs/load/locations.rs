//! Counts the zones of demand-responsive services in `locations.geojson` while it streams.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{LimitedFileSet, TimetableLoader};
use crate::{Error, ErrorKind, gtfs::fields::LOCATIONS};

impl TimetableLoader {
    pub(super) fn count_geojson_locations(
        &mut self,
        source: &mut LimitedFileSet<'_>,
    ) -> Result<(), Error> {
        let Some(reader) = source.open_size_limited_file(LOCATIONS)? else { return Ok(()) };
        let collection: FeatureCollectionCount =
            serde_json::from_reader(std::io::BufReader::new(reader))
                .map_err(|error| error_from_json(error).with_file(LOCATIONS))?;
        match collection.n_features {
            Some(n_features) => {
                self.store_table_row_count(LOCATIONS, n_features);
                Ok(())
            }
            None => Err(Error::new(ErrorKind::Decode, "is not a GeoJSON FeatureCollection")
                .with_file(LOCATIONS)),
        }
    }
}

fn error_from_json(error: serde_json::Error) -> Error {
    if error.is_io() {
        Error::from_io(error.into())
    } else {
        Error::new(ErrorKind::Decode, format!("is not valid JSON: {error}"))
    }
}

/// A FeatureCollection of which only the number of features is read.
struct FeatureCollectionCount {
    n_features: Option<u64>,
}

/// A list of which only the length is read.
struct JsonListLength(u64);

impl<'de> Deserialize<'de> for FeatureCollectionCount {
    fn deserialize<D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<FeatureCollectionCount, D::Error> {
        struct FeatureCollectionVisitor;

        impl<'de> Visitor<'de> for FeatureCollectionVisitor {
            type Value = FeatureCollectionCount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a FeatureCollection")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<FeatureCollectionCount, A::Error> {
                let mut n_features = None;
                while let Some(key) = map.next_key::<String>()? {
                    if key == "features" {
                        n_features = Some(map.next_value::<JsonListLength>()?.0);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(FeatureCollectionCount { n_features })
            }
        }

        deserializer.deserialize_map(FeatureCollectionVisitor)
    }
}

impl<'de> Deserialize<'de> for JsonListLength {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonListLength, D::Error> {
        struct ListLengthVisitor;

        impl<'de> Visitor<'de> for ListLengthVisitor {
            type Value = JsonListLength;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of features")
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut items: A,
            ) -> Result<JsonListLength, A::Error> {
                let mut length = 0;
                while items.next_element::<IgnoredAny>()?.is_some() {
                    length += 1;
                }
                Ok(JsonListLength(length))
            }
        }

        deserializer.deserialize_seq(ListLengthVisitor)
    }
}
