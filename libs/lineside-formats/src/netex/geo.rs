//! Converts a `Location` to degrees. Coordinates are in WGS84, in France also in Lambert 93 (EPSG:2154).

use super::{reader::PublicationReader, record::LatLonDegrees};
use crate::Error;

impl PublicationReader<'_, '_> {
    /// Reads a `Location`, or a `Centroid` with one.
    pub(super) fn read_location(&mut self) -> Result<Option<LatLonDegrees>, Error> {
        let (mut longitude, mut latitude, mut position) = (None, None, None);
        let mut unknown_system = None;
        while let Some(name) = self.xml.open_next_child()? {
            match name {
                "Longitude" => longitude = self.read_decimal()?,
                "Latitude" => latitude = self.read_decimal()?,
                "pos" => match self.read_gml_position()? {
                    Ok(found) => position = Some(found),
                    Err(system) => unknown_system = Some(system),
                },
                "Location" => {
                    if let Some(inner) = self.read_location()? {
                        position = Some(inner);
                    }
                }
                _ => self.xml.skip_element()?,
            }
        }
        let found = latitude.zip(longitude).or(position);
        if let (None, Some(system)) = (found, unknown_system) {
            let why = "the coordinate reference system is not supported";
            self.out.untranslated.record_dropped_object("Location", why, Some(&system));
        }
        Ok(found
            .filter(|&(latitude, longitude)| latitude.abs() <= 90.0 && longitude.abs() <= 180.0))
    }

    /// Reads a `gml:pos`: returns a point, or the name of an unknown reference system as the inner error.
    fn read_gml_position(&mut self) -> Result<Result<LatLonDegrees, String>, Error> {
        let system = self.xml.attribute("srsName").unwrap_or_default().into_owned();
        let text = self.read_text()?;
        let mut numbers = text.split_ascii_whitespace().map(str::parse::<f64>);
        let (Some(Ok(first)), Some(Ok(second))) = (numbers.next(), numbers.next()) else {
            return Ok(Err(system));
        };
        Ok(match system.rsplit(':').next().unwrap_or_default() {
            "2154" => Ok(lambert_93_to_degrees(first, second)),
            // The axes of EPSG:4326 are latitude and longitude, in this order.
            "4326" => Ok((first, second)),
            _ => Err(system),
        })
    }
}

/// Converts a point in Lambert 93 to degrees. This is France's conformal conic projection on the ellipsoid GRS80; the
/// mapping agency (IGN) publishes its constants: the exponent, the radius of the projection, and the pole's
/// coordinates.
fn lambert_93_to_degrees(x: f64, y: f64) -> LatLonDegrees {
    const EXPONENT: f64 = 0.725_607_765_053_267;
    const RADIUS: f64 = 11_754_255.426_1;
    const POLE: (f64, f64) = (700_000.0, 12_655_612.049_9);
    const ECCENTRICITY: f64 = 0.081_819_191_042_816;
    const MERIDIAN_DEGREES: f64 = 3.0;
    /// Each round gains two digits; eight reach the precision of f64.
    const ROUNDS: usize = 8;

    let (east, south) = (x - POLE.0, POLE.1 - y);
    let longitude = MERIDIAN_DEGREES + (east / south).atan().to_degrees() / EXPONENT;
    let isometric = -(east.hypot(south) / RADIUS).ln() / EXPONENT;
    let latitude_at =
        |factor: f64| 2.0 * (factor * isometric.exp()).atan() - std::f64::consts::FRAC_PI_2;
    let latitude = (0..ROUNDS).fold(latitude_at(1.0), |latitude, _| {
        let sine = ECCENTRICITY * latitude.sin();
        latitude_at(((1.0 + sine) / (1.0 - sine)).powf(ECCENTRICITY / 2.0))
    });
    (latitude.to_degrees(), longitude)
}

#[cfg(test)]
mod tests {
    use super::lambert_93_to_degrees;

    #[test]
    fn lambert_93_is_converted_to_degrees() {
        // The Eiffel Tower, and the meridian of the pole at the parallel of origin.
        for ((x, y), (latitude, longitude)) in [
            ((648_228.5, 6_862_427.0), (48.859_796_0, 2.294_361_1)),
            ((700_000.0, 6_600_000.0), (46.5, 3.0)),
        ] {
            let found = lambert_93_to_degrees(x, y);
            assert!(
                (found.0 - latitude).abs() < 1e-6 && (found.1 - longitude).abs() < 1e-6,
                "{found:?}"
            );
        }
    }
}
