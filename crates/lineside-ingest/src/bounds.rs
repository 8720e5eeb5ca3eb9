//! The box around places, as maps open at it.

/// West, south, east and north in degrees. Across the date line east is above 180.
pub type Bounds = [f64; 4];

/// The box around most of these latitudes and longitudes: a few far ones, which every large feed has, do not make it a
/// continent.
pub fn bounds_of_places(places: Vec<(f64, f64)>) -> Option<Bounds> {
    let (lats, lons): (Vec<f64>, Vec<f64>) = places.into_iter().unzip();
    let across = lons.iter().map(|&lon| if lon < 0.0 { lon + 360.0 } else { lon }).collect();
    let (south, north) = middle_range(lats)?;
    let (direct, across) = (middle_range(lons)?, middle_range(across)?);
    let is_direct = direct.1 - direct.0 <= across.1 - across.0;
    let (west, east) = if is_direct { direct } else { across };
    Some([west, south, east, north])
}

/// The least and the greatest of numbers without the half percent at each end.
fn middle_range(mut numbers: Vec<f64>) -> Option<(f64, f64)> {
    numbers.sort_by(f64::total_cmp);
    let skip = numbers.len() / 200;
    let last = numbers.len().checked_sub(skip + 1)?;
    Some((*numbers.get(skip)?, *numbers.get(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_far_places_do_not_widen_the_box() {
        let mut places: Vec<(f64, f64)> =
            (0..1000).map(|at| (48.0 + f64::from(at) / 1e4, 2.0)).collect();
        places.push((0.1, -170.0));
        let [west, south, ..] = bounds_of_places(places).expect("there are places");
        assert!(west >= 2.0 && south >= 48.0);
        assert_eq!(bounds_of_places(Vec::new()), None);
        assert_eq!(bounds_of_places(vec![(1.0, 2.0)]), Some([2.0, 1.0, 2.0, 1.0]));
    }

    #[test]
    fn a_box_across_the_date_line_does_not_span_the_world() {
        let fiji = bounds_of_places(vec![(-18.0, 178.0), (-17.0, -179.5)]);
        assert_eq!(fiji, Some([178.0, -18.0, 180.5, -17.0]));
        let bay = bounds_of_places(vec![(37.0, -122.5), (38.0, -121.5)]);
        assert_eq!(bay, Some([-122.5, 37.0, -121.5, 38.0]));
        let meridian = bounds_of_places(vec![(51.0, -0.5), (52.0, 0.5)]);
        assert_eq!(meridian, Some([-0.5, 51.0, 0.5, 52.0]));
    }
}
