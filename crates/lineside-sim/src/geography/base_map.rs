//! The base map as GeoJSON.

use serde_json::{Value, json};

use super::Geography;
use super::plane::{MeasuredLine, PlanePoint, simplify_line};
use super::terrain::TerrainArea;

/// The tolerance for simplifying lines, in metres.
const TOLERANCE: f64 = 2.5;

impl Geography {
    /// Returns a FeatureCollection whose features are in drawing order.
    pub(crate) fn build_base_map(&self, rails: &[&MeasuredLine]) -> Value {
        let mut features = Vec::new();
        for (kind, areas) in [
            ("land", &self.terrain.land),
            ("ground", &self.terrain.grounds),
            ("park", &self.terrain.parks),
            ("water", &self.terrain.water),
        ] {
            features.extend(areas.iter().map(|area| self.area_feature(kind, area)));
        }
        for (street, name) in self.streets.iter().zip(&self.street_names).rev() {
            let name = Some(name.as_str()).filter(|name| !name.is_empty());
            features.push(geojson_feature(
                "street",
                street.class.as_str(),
                name,
                json!({
                    "type": "LineString",
                    "coordinates": self.line_to_lon_lat_json(&simplify_line(&street.points, TOLERANCE)),
                }),
            ));
        }
        for rail in rails {
            let coordinates = self.line_to_lon_lat_json(&simplify_line(rail.points(), TOLERANCE));
            features.push(geojson_feature(
                "rail",
                "rail",
                None,
                json!({"type": "LineString", "coordinates": coordinates}),
            ));
        }
        for district in &self.districts {
            features.push(geojson_feature(
                "district",
                district.character.as_str(),
                Some(district.name),
                json!({
                    "type": "Point",
                    "coordinates": self.point_to_lon_lat_json(district.position),
                }),
            ));
        }
        json!({"type": "FeatureCollection", "features": features})
    }

    fn area_feature(&self, kind: &str, area: &TerrainArea) -> Value {
        let rings: Vec<Value> = area
            .rings
            .iter()
            .map(|ring| {
                let mut closed = ring.clone();
                closed.push(ring[0]);
                self.line_to_lon_lat_json(&simplify_line(&closed, TOLERANCE))
            })
            .collect();
        geojson_feature(
            kind,
            area.class,
            area.name,
            json!({"type": "Polygon", "coordinates": rings}),
        )
    }

    fn line_to_lon_lat_json(&self, points: &[PlanePoint]) -> Value {
        Value::Array(points.iter().map(|p| self.point_to_lon_lat_json(*p)).collect())
    }

    fn point_to_lon_lat_json(&self, p: PlanePoint) -> Value {
        let (lat, lon) = self.projection.to_lat_lon(p);
        json!([(lon * 1e6).round() / 1e6, (lat * 1e6).round() / 1e6])
    }
}

fn geojson_feature(kind: &str, class: &str, name: Option<&str>, geometry: Value) -> Value {
    let mut properties = json!({"kind": kind, "class": class});
    if let Some(name) = name {
        properties["name"] = name.into();
    }
    json!({"type": "Feature", "properties": properties, "geometry": geometry})
}
