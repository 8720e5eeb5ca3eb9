//! Bounding boxes of stops and vehicles, and the box at which a map opens.

/// West, south, east and north in degrees. Across the date line east is above 180.
pub type GeoBounds = [f64; 4];

/// The farthest half percent belongs to an axis if it extends the rest by at most this share of its span: it is the end
/// of a line then, and not a wrong position.
const NEAR_SHARE: f64 = 0.25;
/// The margin around the framed range on each side, as a share of the range.
const MARGIN: f64 = 0.1;

/// The geographic extent of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapExtent {
    /// The bounding box without the farthest half percent on a side where it is far from the rest: a few wrong
    /// positions, which every large feed has, must not inflate it.
    pub bounds: GeoBounds,
    /// The box at which a map opens: the area where most positions are, without the few far ones.
    pub frame: GeoBounds,
}

impl MapExtent {
    /// Computes the extent of pairs of latitude and longitude; `None` if there are none.
    pub fn from_coordinates(positions: Vec<(f64, f64)>) -> Option<MapExtent> {
        let (lats, lons): (Vec<f64>, Vec<f64>) = positions.into_iter().unzip();
        let across = lons.iter().map(|&lon| if lon < 0.0 { lon + 360.0 } else { lon }).collect();
        let latitude = CoordinateDistribution::from_numbers(lats)?;
        let (direct, across) = (
            CoordinateDistribution::from_numbers(lons)?,
            CoordinateDistribution::from_numbers(across)?,
        );
        // Away from the date line both spans are equal except for rounding.
        let is_direct = direct.axis_length() < across.axis_length() + 1.0;
        let longitude = if is_direct { direct } else { across };
        let (west, east) = longitude.all;
        let (south, north) = latitude.all;
        let (frame_west, frame_east) = longitude.central_range_or_all();
        let (frame_south, frame_north) = latitude.central_range_or_all();
        Some(MapExtent {
            bounds: [west, south, east, north],
            frame: [frame_west, frame_south, frame_east, frame_north],
        })
    }

    /// Returns the extent that contains both.
    #[must_use]
    pub fn union(self, other: MapExtent) -> MapExtent {
        let around = |a: GeoBounds, b: GeoBounds| {
            [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]
        };
        MapExtent {
            bounds: around(self.bounds, other.bounds),
            frame: around(self.frame, other.frame),
        }
    }
}

/// The distribution of coordinates along an axis.
#[derive(Clone, Copy, Debug)]
struct CoordinateDistribution {
    /// The least and the greatest number, without the half percent at an end where it is far from the rest.
    all: (f64, f64),
    /// The least and the greatest number, without the twentieth at each end.
    central_range: (f64, f64),
}

impl CoordinateDistribution {
    fn from_numbers(mut numbers: Vec<f64>) -> Option<CoordinateDistribution> {
        numbers.sort_by(f64::total_cmp);
        let range = |skip: usize| {
            let last = numbers.len().checked_sub(skip + 1)?;
            Some((*numbers.get(skip)?, *numbers.get(last)?))
        };
        let (low, high) = range(numbers.len() / 200)?;
        let near = (high - low) * NEAR_SHARE;
        let mut near_numbers = numbers.iter().filter(|&&it| low - it <= near && it - high <= near);
        let first = near_numbers.next()?;
        Some(CoordinateDistribution {
            all: (*first, *near_numbers.next_back().unwrap_or(first)),
            central_range: range(numbers.len() / 20)?,
        })
    }

    fn axis_length(&self) -> f64 {
        self.all.1 - self.all.0
    }

    /// Returns the whole range, unless nine tenths of the numbers lie in less than half of it: then these and a margin.
    fn central_range_or_all(&self) -> (f64, f64) {
        let (low, high) = self.central_range;
        let span = high - low;
        if span * 2.0 >= self.axis_length() {
            return self.all;
        }
        let margin = span * MARGIN;
        ((low - margin).max(self.all.0), (high + margin).min(self.all.1))
    }
}

/// A box on the map, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundingBox {
    /// Western edge; greater than `max_lon` if the box crosses the date line.
    pub min_lon: f64,
    /// Southern edge.
    pub min_lat: f64,
    /// Eastern edge.
    pub max_lon: f64,
    /// Northern edge.
    pub max_lat: f64,
}

impl BoundingBox {
    /// Parses `min_lon,min_lat,max_lon,max_lat`.
    pub fn parse(text: &str) -> Option<BoundingBox> {
        let mut numbers = text.split(',').map(|number| number.trim().parse::<f64>().ok());
        let mut next = || numbers.next()?.filter(|number| number.is_finite());
        let bbox =
            BoundingBox { min_lon: next()?, min_lat: next()?, max_lon: next()?, max_lat: next()? };
        let on_earth = [bbox.min_lat, bbox.max_lat].iter().all(|lat| lat.abs() <= 90.0)
            && [bbox.min_lon, bbox.max_lon].iter().all(|lon| lon.abs() <= 180.0);
        (numbers.next().is_none() && on_earth && bbox.min_lat <= bbox.max_lat).then_some(bbox)
    }

    /// Returns true if a point is inside the box or on an edge.
    pub fn contains(&self, lat: f64, lon: f64) -> bool {
        let between = if self.min_lon <= self.max_lon {
            (self.min_lon..=self.max_lon).contains(&lon)
        } else {
            lon >= self.min_lon || lon <= self.max_lon
        };
        between && (self.min_lat..=self.max_lat).contains(&lat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds_of(positions: Vec<(f64, f64)>) -> Option<GeoBounds> {
        MapExtent::from_coordinates(positions).map(|extent| extent.bounds)
    }

    #[test]
    fn a_few_far_places_do_not_widen_the_box() {
        let mut positions: Vec<(f64, f64)> =
            (0..1000).map(|at| (48.0 + f64::from(at) / 1e4, 2.0)).collect();
        positions.push((0.1, -170.0));
        let [west, south, ..] = bounds_of(positions.clone()).expect("the extent of places");
        assert!(west >= 2.0 && south >= 48.0);
        positions.extend([(48.12, 2.0), (47.98, 2.0)]);
        let [_, south, _, north] = bounds_of(positions).expect("the extent of places");
        assert_eq!((south, north), (47.98, 48.12), "the ends of a line");
        assert_eq!(bounds_of(Vec::new()), None);
        assert_eq!(bounds_of(vec![(1.0, 2.0)]), Some([2.0, 1.0, 2.0, 1.0]));
    }

    #[test]
    fn a_map_opens_at_the_city_and_not_at_its_farthest_stop() {
        // A hundred stops in a city, and three along a coach line.
        let mut positions: Vec<(f64, f64)> =
            (0..100).map(|at| (40.0 + f64::from(at) / 1e3, -122.0)).collect();
        positions.extend([(39.5, -122.1), (39.0, -122.2), (38.5, -121.5)]);
        let extent = MapExtent::from_coordinates(positions).expect("the extent of places");
        assert_eq!(extent.bounds, [-122.2, 38.5, -121.5, 40.099]);
        let [west, south, east, north] = extent.frame;
        assert!(south > 39.9 && north <= 40.11, "{:?}", extent.frame);
        assert!((west, east) == (-122.0, -122.0), "{:?}", extent.frame);
        // Stops all over a country stay in view.
        let country: Vec<(f64, f64)> = (0..100).map(|at| (f64::from(at) / 10.0, 5.0)).collect();
        let extent = MapExtent::from_coordinates(country).expect("the extent of places");
        assert_eq!(extent.frame, extent.bounds);
    }

    #[test]
    fn a_box_across_the_date_line_does_not_span_the_world() {
        let fiji = bounds_of(vec![(-18.0, 178.0), (-17.0, -179.5)]);
        assert_eq!(fiji, Some([178.0, -18.0, 180.5, -17.0]));
        let bay = bounds_of(vec![(37.0, -122.5), (38.0, -121.5)]);
        assert_eq!(bay, Some([-122.5, 37.0, -121.5, 38.0]));
        let meridian = bounds_of(vec![(51.0, -0.5), (52.0, 0.5)]);
        assert_eq!(meridian, Some([-0.5, 51.0, 0.5, 52.0]));
    }
}
