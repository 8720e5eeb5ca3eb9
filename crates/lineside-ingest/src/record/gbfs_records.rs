//! What stands at a GBFS system's places: its stations, and its vehicles that can be rented. Both are kept as the JSON
//! that clients read, with the words of GBFS 3; a station is joined of two files, which come one by one.

use bytes::Bytes;

/// Latitude and longitude in degrees.
pub(crate) type Place = (f64, f64);

/// A station.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Station {
    /// An object: how it is, with its id.
    pub(crate) information: Option<Bytes>,
    /// An object: how it is now, without its id.
    pub(crate) status: Option<Bytes>,
    pub(crate) place: Option<Place>,
    pub(crate) available: u32,
}

impl Station {
    /// How many vehicles can be rented here now.
    pub fn vehicles_available(&self) -> u32 {
        self.available
    }

    /// Whether it was said how it is now.
    pub fn has_status(&self) -> bool {
        self.status.is_some()
    }

    /// An upper bound of the bytes of its JSON, but for its id.
    pub(super) fn bytes_max(&self) -> usize {
        let half = |half: &Option<Bytes>| half.as_ref().map_or(0, Bytes::len);
        AROUND + half(&self.information) + half(&self.status)
    }

    /// Both halves as one object.
    pub(super) fn write_json(&self, out: &mut Vec<u8>, id: &str) {
        match &self.information {
            Some(information) => out.extend_from_slice(information),
            None => {
                out.extend_from_slice(b"{\"station_id\":");
                super::encode::write_json(out, id);
                out.push(b'}');
            }
        }
        let Some(fields) = self.status.as_deref().and_then(|status| status.strip_prefix(b"{"))
        else {
            return;
        };
        if out.pop_if(|last| *last == b'}').is_some() {
            if fields != b"}" {
                out.push(b',');
            }
            out.extend_from_slice(fields);
        }
    }
}

/// A vehicle. Its id is another one after each rental, so nothing is told of where it was before.
#[derive(Clone, Debug, PartialEq)]
pub struct RentalVehicle {
    /// An object.
    pub(crate) json: Bytes,
    pub(crate) place: Option<Place>,
    pub(crate) is_available: bool,
}

impl RentalVehicle {
    /// Whether it can be rented now, and stands at no station, which would count it too.
    pub fn is_available(&self) -> bool {
        self.is_available
    }
}

/// `{"station_id":}` and a comma.
const AROUND: usize = 20;
