//! Counts the zones of demand-responsive services in `locations.geojson` while it streams.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{LimitedFileSet, TimetableLoader};
use crate::{Error, ErrorKind, gtfs::fields::LOCATIONS};

impl TimetableLoader {
    pub(super) fn load_locations(&mut self, source: &mut LimitedFileSet<'_>) -> Result<(), Error> {
        let Some(reader) = source.open_file_bytes(LOCATIONS)? else { return Ok(()) };
        let collection: FeatureCollection =
            serde_json::from_reader(std::io::BufReader::new(reader))
                .map_err(|error| error_from_json(error).with_file(LOCATIONS))?;
        match collection.n_features {
            Some(n_features) => {
                self.count_table_rows(LOCATIONS, n_features);
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
struct FeatureCollection {
    n_features: Option<u64>,
}

/// A list of which only the length is read.
struct ListLength(u64);

impl<'de> Deserialize<'de> for FeatureCollection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FeatureCollection, D::Error> {
        struct CollectionVisitor;

        impl<'de> Visitor<'de> for CollectionVisitor {
            type Value = FeatureCollection;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a FeatureCollection")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<FeatureCollection, A::Error> {
                let mut n_features = None;
                while let Some(key) = map.next_key::<String>()? {
                    if key == "features" {
                        n_features = Some(map.next_value::<ListLength>()?.0);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(FeatureCollection { n_features })
            }
        }

        deserializer.deserialize_map(CollectionVisitor)
    }
}

impl<'de> Deserialize<'de> for ListLength {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ListLength, D::Error> {
        struct ListLengthVisitor;

        impl<'de> Visitor<'de> for ListLengthVisitor {
            type Value = ListLength;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of features")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ListLength, A::Error> {
                let mut length = 0;
                while items.next_element::<IgnoredAny>()?.is_some() {
                    length += 1;
                }
                Ok(ListLength(length))
            }
        }

        deserializer.deserialize_seq(ListLengthVisitor)
    }
}
