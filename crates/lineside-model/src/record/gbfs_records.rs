//! The stations and rental vehicles of a GBFS system. Both are stored as the JSON that clients receive, with the field
//! names of GBFS 3; a station is joined from two files, which arrive separately.

use bytes::Bytes;

/// Latitude and longitude in degrees.
pub type Coordinates = (f64, f64);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Station {
    /// A JSON object with the station information, including the id.
    pub information: Option<Bytes>,
    /// A JSON object with the station status, without the id.
    pub status: Option<Bytes>,
    pub coordinates: Option<Coordinates>,
    pub available: u32,
}

impl Station {
    /// Returns the number of vehicles that can currently be rented here.
    pub fn vehicles_available_count(&self) -> u32 {
        self.available
    }

    /// Returns true if the station has a status.
    pub fn has_status(&self) -> bool {
        self.status.is_some()
    }

    /// Returns an upper bound of its JSON in bytes, without the id.
    pub(super) fn json_bytes_max(&self) -> usize {
        let half = |half: &Option<Bytes>| half.as_ref().map_or(0, Bytes::len);
        EXTRA_BYTES + half(&self.information) + half(&self.status)
    }

    /// Writes information and status as one object.
    pub(super) fn append_station_json(&self, out: &mut Vec<u8>, id: &str) {
        match &self.information {
            Some(information) => out.extend_from_slice(information),
            None => {
                out.extend_from_slice(b"{\"station_id\":");
                super::encode::append_json(out, id);
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

/// A vehicle. Its id changes after each rental, so that its past cannot be followed.
#[derive(Clone, Debug, PartialEq)]
pub struct RentalVehicle {
    /// A JSON object.
    pub json: Bytes,
    pub coordinates: Option<Coordinates>,
    pub is_available: bool,
}

impl RentalVehicle {
    /// Returns true if the vehicle can currently be rented and is at no station, which would count it too.
    pub fn is_available_outside_station(&self) -> bool {
        self.is_available
    }
}

/// `{"station_id":}` and a comma.
const EXTRA_BYTES: usize = 20;
