//! Geofencing: zones as GeoJSON with rules, and global rules.

use serde_json::{Map, Value};

use super::{
    record::reader::RecordReader,
    record::writer::{RecordWriter, WritableGbfsVersion},
    record::{FieldValue, GbfsFieldNames, GbfsRecord, record},
    values::{Count, GbfsTime, Id, LocalizedTexts, MultiPolygon},
};

/// Zones and their rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GeofencingZones {
    /// The zones.
    pub zones: Vec<GeofencingZone>,
    /// The rules outside of all zones; version 2 cannot express them.
    pub global_rules: Vec<GeofencingRule>,
}

record! {
    /// The properties of a geofencing zone.
    ZoneProperties {
        name: LocalizedTexts = "name",
        start: Option<GbfsTime> = "start",
        end: Option<GbfsTime> = "end",
        rules: Vec<GeofencingRule> = "rules",
    }
}

/// A zone with its rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GeofencingZone {
    /// The name, validity and rules.
    pub properties: ZoneProperties,
    /// The area.
    pub geometry: Option<MultiPolygon>,
}

/// The rules for vehicles in a zone. Version 2 has one `ride_allowed` for starting and ending a ride.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GeofencingRule {
    /// `vehicle_type_ids`; empty means all.
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

const TYPES: GbfsFieldNames =
    GbfsFieldNames::new("vehicle_type_ids").named_in_v2("vehicle_type_id");
const START: GbfsFieldNames =
    GbfsFieldNames::new("ride_start_allowed").with_aliases(&["ride_allowed"]);
const END: GbfsFieldNames = GbfsFieldNames::new("ride_end_allowed").with_aliases(&["ride_allowed"]);
const THROUGH: GbfsFieldNames = GbfsFieldNames::new("ride_through_allowed");
const SPEED: GbfsFieldNames = GbfsFieldNames::new("maximum_speed_kph");
const PARKING: GbfsFieldNames = GbfsFieldNames::new("station_parking");
/// The key of version 2, for starting and ending a ride.
const RIDE: GbfsFieldNames = GbfsFieldNames::new("ride_allowed");

impl GbfsRecord for GeofencingRule {
    const ROWS: &'static [GbfsFieldNames] = &[TYPES, START, END, THROUGH, SPEED, PARKING];

    fn read_fields(&mut self, object: &Map<String, Value>, reading: &mut RecordReader<'_>) {
        self.vehicle_type_ids = reading.read_field(object, &TYPES);
        self.ride_start_allowed = reading.read_field(object, &START);
        self.ride_end_allowed = reading.read_field(object, &END);
        self.ride_through_allowed = reading.read_field(object, &THROUGH);
        self.maximum_speed_kph = reading.read_field(object, &SPEED);
        self.station_parking = reading.read_field(object, &PARKING);
    }

    fn write_fields(&self, writing: &mut RecordWriter) {
        writing.write_field(&TYPES, &self.vehicle_type_ids);
        match writing.version {
            WritableGbfsVersion::Three => {
                writing.write_field(&START, &self.ride_start_allowed);
                writing.write_field(&END, &self.ride_end_allowed);
            }
            WritableGbfsVersion::Two => {
                // Version 2 states that neither is allowed if only one is.
                let is_same = self.ride_start_allowed == self.ride_end_allowed;
                let is_ride_allowed = if is_same { self.ride_start_allowed } else { Some(false) };
                writing.write_field(&RIDE, &is_ride_allowed);
                if !is_same {
                    writing.count_dropped_field(START.key);
                }
            }
        }
        writing.write_field(&THROUGH, &self.ride_through_allowed);
        writing.write_field(&SPEED, &self.maximum_speed_kph);
        writing.write_field(&PARKING, &self.station_parking);
    }
}

impl FieldValue for GeofencingRule {
    fn read_value(json: &Value, reading: &mut RecordReader<'_>) -> Option<GeofencingRule> {
        reading.read_record(json)
    }

    fn write_value(&self, writing: &mut RecordWriter) {
        writing.write_record(self);
    }
}

impl FieldValue for GeofencingZone {
    fn read_value(json: &Value, reading: &mut RecordReader<'_>) -> Option<GeofencingZone> {
        let Value::Object(feature) = json else {
            reading.report_dropped_value("expected a GeoJSON Feature", json);
            return None;
        };
        let properties: Option<ZoneProperties> = reading.read_field(feature, &PROPERTIES);
        let geometry = reading.read_field(feature, &GEOMETRY);
        Some(GeofencingZone { properties: properties.unwrap_or_default(), geometry })
    }

    fn write_value(&self, writing: &mut RecordWriter) {
        writing.write_object(|writing| {
            writing.write_key("type");
            writing.write_json_value("Feature");
            writing.write_key("geometry");
            match &self.geometry {
                Some(geometry) => geometry.write_value(writing),
                None => writing.write_json_value(&()),
            }
            writing.write_key("properties");
            writing.write_record(&self.properties);
        });
    }
}

const PROPERTIES: GbfsFieldNames = GbfsFieldNames::new("properties");
const GEOMETRY: GbfsFieldNames = GbfsFieldNames::new("geometry");
