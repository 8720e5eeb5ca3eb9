//! Geofencing: areas as GeoJSON with rules, and rules for everywhere else.

use serde_json::{Map, Value};

use super::{
    reading::Reading,
    record::{Leaf, Record, Row},
    records::ZoneProperties,
    values::{Count, Id, MultiPolygon},
    writing::{Version, Writing},
};

/// Areas with rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GeofencingZones {
    /// The areas.
    pub zones: Vec<Zone>,
    /// What holds outside of them; version 2 cannot say it.
    pub global_rules: Vec<Rule>,
}

/// An area with rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Zone {
    /// Its name, when it is in force, and its rules.
    pub properties: ZoneProperties,
    /// Where it is.
    pub geometry: Option<MultiPolygon>,
}

/// What one may do in an area. Version 2 has one `ride_allowed` for beginning and ending a ride.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// `vehicle_type_ids`; all, if there are none.
    pub vehicle_type_ids: Vec<Id>,
    /// `ride_start_allowed`.
    pub ride_start_allowed: Option<bool>,
    /// `ride_end_allowed`.
    pub ride_end_allowed: Option<bool>,
    /// `ride_through_allowed`.
    pub ride_through_allowed: Option<bool>,
    /// `maximum_speed_kph`.
    pub maximum_speed_kph: Option<Count>,
    /// `station_parking`.
    pub station_parking: Option<bool>,
}

const TYPES: Row = Row::new("vehicle_type_ids").was("vehicle_type_id");
const START: Row = Row::new("ride_start_allowed").also(&["ride_allowed"]);
const END: Row = Row::new("ride_end_allowed").also(&["ride_allowed"]);
const THROUGH: Row = Row::new("ride_through_allowed");
const SPEED: Row = Row::new("maximum_speed_kph");
const PARKING: Row = Row::new("station_parking");
/// Beginning and ending as one.
const RIDE: Row = Row::new("ride_allowed");

impl Record for Rule {
    const ROWS: &'static [Row] = &[TYPES, START, END, THROUGH, SPEED, PARKING];

    fn read_fields(&mut self, object: &Map<String, Value>, reading: &mut Reading<'_>) {
        self.vehicle_type_ids = reading.field(object, &TYPES);
        self.ride_start_allowed = reading.field(object, &START);
        self.ride_end_allowed = reading.field(object, &END);
        self.ride_through_allowed = reading.field(object, &THROUGH);
        self.maximum_speed_kph = reading.field(object, &SPEED);
        self.station_parking = reading.field(object, &PARKING);
    }

    fn write_fields(&self, writing: &mut Writing) {
        writing.field(&TYPES, &self.vehicle_type_ids);
        match writing.version {
            Version::Three => {
                writing.field(&START, &self.ride_start_allowed);
                writing.field(&END, &self.ride_end_allowed);
            }
            Version::Two => {
                // Whoever may not do both is better told that neither is allowed.
                let is_same = self.ride_start_allowed == self.ride_end_allowed;
                let said = if is_same { self.ride_start_allowed } else { Some(false) };
                writing.field(&RIDE, &said);
                if !is_same {
                    writing.lose_field(START.key);
                }
            }
        }
        writing.field(&THROUGH, &self.ride_through_allowed);
        writing.field(&SPEED, &self.maximum_speed_kph);
        writing.field(&PARKING, &self.station_parking);
    }
}

impl Leaf for Rule {
    fn read(json: &Value, reading: &mut Reading<'_>) -> Option<Rule> {
        reading.record(json)
    }

    fn write(&self, writing: &mut Writing) {
        writing.record(self);
    }
}

impl Leaf for Zone {
    fn read(json: &Value, reading: &mut Reading<'_>) -> Option<Zone> {
        let Value::Object(feature) = json else {
            reading.bad("a GeoJSON Feature is expected", json);
            return None;
        };
        let properties: Option<ZoneProperties> = reading.field(feature, &PROPERTIES);
        let geometry = reading.field(feature, &GEOMETRY);
        Some(Zone { properties: properties.unwrap_or_default(), geometry })
    }

    fn write(&self, writing: &mut Writing) {
        writing.object(|writing| {
            writing.key("type");
            writing.json("Feature");
            writing.key("geometry");
            match &self.geometry {
                Some(geometry) => geometry.write(writing),
                None => writing.json(&()),
            }
            writing.key("properties");
            writing.record(&self.properties);
        });
    }
}

const PROPERTIES: Row = Row::new("properties");
const GEOMETRY: Row = Row::new("geometry");
