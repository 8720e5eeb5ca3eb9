//! Maps of the places of findings: dots in an SVG without scripts or external resources, for pages and files.

use std::fmt::Write as _;

use maud::{Markup, html};
use serde_json::{Map, Value};

use super::contents::plural_or_singular;
use super::finding_places::{self, FindingPlace, LatLon};

/// The side of a map and its margin, in SVG units.
const MAP_SIDE: f64 = 400.0;
const MARGIN: f64 = 12.0;
/// The minimum extent of a map, in degrees of latitude: about two hundred meters.
const EXTENT_MIN: f64 = 0.002;
/// Meters in a degree of latitude.
const METERS_IN_DEGREE: f64 = 111_195.0;
/// The minimum margin around the stops of a feed, in degrees.
const STOP_MARGIN: f32 = 0.1;

/// The projection from degrees to SVG units.
struct MapProjection {
    north: f64,
    west: f64,
    /// The ratio of a degree of longitude to one of latitude.
    longitude_scale: f64,
    scale: f64,
    width: f64,
    height: f64,
    /// True if the known places shrink to dots, because all findings are far away.
    is_wide: bool,
}

/// Renders the map of a finding and the names of its places; nothing if it has no places. The `outline` of known places
/// is drawn underneath.
pub fn render_place_map(
    places: &[FindingPlace],
    samples: &[Map<String, Value>],
    outline: &[LatLon],
) -> Markup {
    let places = finding_places::places_of_finding(places, samples);
    html! {
        @if !places.is_empty() {
            figure.report-map {
                @match MapProjection::fit_to_places(&places, outline) {
                    Some(frame) => (draw_map(&frame, &places, outline)),
                    None => figcaption.soft.small { (render_first_place_names(&places)) },
                }
            }
        }
    }
}

fn draw_map(frame: &MapProjection, places: &[FindingPlace], outline: &[LatLon]) -> Markup {
    let shown = places.iter().map(|place| (place, frame.project_to_svg(place.at)));
    let shown: Vec<_> = shown.filter(|(_, (x, y))| frame.contains_xy(*x, *y)).collect();
    let (width, height) = (frame.width.round(), frame.height.round());
    let ScaleBar { length, label } = frame.compute_scale_bar();
    let [left, right, base] = [MARGIN, MARGIN + length, height - MARGIN];
    let beyond = (places.len() - shown.len()) as u64;
    html! {
        svg viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(format!("Where: {}", format_place_count(shown.len() as u64))) {
            path.stops.wide[frame.is_wide] d=(draw_stop_dots_path(frame, outline)) {}
            path.bar d=(format!("M{left} {}V{base}H{right:.1}v-4", base - 4.0)) {}
            text x=(left) y=(base - 7.0) { (label) }
            @for (place, (x, y)) in shown {
                circle cx=(round_coordinate(x)) cy=(round_coordinate(y)) r="5" { title { (place.label) } }
            }
        }
        figcaption.soft.small {
            (render_first_place_names(places))
            @if beyond > 0 { ". " (format_place_count(beyond)) (if beyond == 1 { " is" } else { " are" }) " outside this map." }
        }
    }
}

fn format_place_count(n: u64) -> String {
    format!("{n} {}", plural_or_singular("places", n))
}

/// Renders the names and coordinates of the first places.
fn render_first_place_names(places: &[FindingPlace]) -> Markup {
    const NAMES_SHOWN_MAX: usize = 3;
    html! {
        @for (at, place) in places.iter().take(NAMES_SHOWN_MAX).enumerate() {
            @if at > 0 { "; " }
            @let [lat, lon] = place.at;
            (place.label) " at "
            a.numeric href=(format!("https://www.openstreetmap.org/?mlat={lat}&mlon={lon}#map=16/{lat}/{lon}")) rel="noreferrer" { (lat) ", " (lon) }
        }
        @if places.len() > NAMES_SHOWN_MAX { "; and others" }
    }
}

/// The scale bar of a map.
struct ScaleBar {
    /// Length in SVG units.
    length: f64,
    label: String,
}

impl MapProjection {
    /// Fits the findings that are near the outline, or all of them if none is. Returns `None` if there are fewer than
    /// two points.
    fn fit_to_places(places: &[FindingPlace], outline: &[LatLon]) -> Option<MapProjection> {
        let at: Vec<LatLon> = places.iter().map(|place| place.at).collect();
        if at.is_empty() || at.len() + outline.len() < 2 {
            return None;
        }
        let area = AreaOfMostStops::from_stops(if outline.is_empty() { &at } else { outline });
        let is_near = at.iter().any(|at| area.contains_point(*at));
        let all = at.iter().chain(outline).copied();
        let [[south, west], [north, east]] =
            south_west_and_north_east(all.filter(|at| !is_near || area.contains_point(*at)));
        let squeeze = ((south + north) / 2.0).to_radians().cos().max(0.05);
        let (tall, wide) = (north - south, (east - west) * squeeze);
        let scale = (MAP_SIDE - 2.0 * MARGIN) / tall.max(wide).max(EXTENT_MIN);
        let height = (tall * scale + 2.0 * MARGIN).max(MAP_SIDE / 3.0);
        // Content that is narrower than the picture is centered.
        let spare =
            |side: f64, length: f64| ((side - 2.0 * MARGIN) / scale - length).max(0.0) / 2.0;
        let (west, north) = (west - spare(MAP_SIDE, wide) / squeeze, north + spare(height, tall));
        let is_wide = !is_near;
        Some(MapProjection {
            north,
            west,
            longitude_scale: squeeze,
            scale,
            width: MAP_SIDE,
            height,
            is_wide,
        })
    }

    /// Returns the longest round distance that takes at most a quarter of the width.
    fn compute_scale_bar(&self) -> ScaleBar {
        let meters_max = self.width / 4.0 / self.scale * METERS_IN_DEGREE;
        let ten = 10_f64.powf(meters_max.log10().floor());
        let digit = [5.0, 2.0, 1.0].into_iter().find(|digit| digit * ten <= meters_max);
        let meters = digit.unwrap_or(1.0) * ten;
        let label = match meters {
            1_000.0.. => format!("{} km", meters / 1_000.0),
            _ => format!("{meters} m"),
        };
        ScaleBar { length: meters / METERS_IN_DEGREE * self.scale, label }
    }

    fn contains_xy(&self, x: f64, y: f64) -> bool {
        (0.0..=self.width).contains(&x) && (0.0..=self.height).contains(&y)
    }

    fn project_to_svg(&self, [lat, lon]: LatLon) -> (f64, f64) {
        let x = (f64::from(lon) - self.west) * self.longitude_scale * self.scale + MARGIN;
        let y = (self.north - f64::from(lat)) * self.scale + MARGIN;
        (x, y)
    }
}

/// Returns the south-western and the north-eastern corner of some points.
fn south_west_and_north_east(points: impl Iterator<Item = LatLon>) -> [[f64; 2]; 2] {
    let mut ends = [[f64::MAX; 2], [f64::MIN; 2]];
    for point in points {
        for (axis, degrees) in point.into_iter().map(f64::from).enumerate() {
            ends[0][axis] = ends[0][axis].min(degrees);
            ends[1][axis] = ends[1][axis].max(degrees);
        }
    }
    ends
}

/// The area of most stops of a feed, with a margin. It excludes outliers: a single stop at 0, 0 would shrink all others
/// to a dot.
struct AreaOfMostStops {
    ends: [[f32; 2]; 2],
}

impl AreaOfMostStops {
    fn from_stops(stops: &[LatLon]) -> AreaOfMostStops {
        let axis_range = |axis: usize| {
            let mut values: Vec<f32> = stops.iter().map(|stop| stop[axis]).collect();
            values.sort_unstable_by(f32::total_cmp);
            let at = |tenths: usize| values.get(values.len() * tenths / 10).copied();
            let (low, high) = (at(1)?, at(9)?);
            let margin = high - low + STOP_MARGIN;
            Some([low - margin, high + margin])
        };
        let [[south, north], [west, east]] =
            [0, 1].map(|axis| axis_range(axis).unwrap_or([0.0, 0.0]));
        AreaOfMostStops { ends: [[south, west], [north, east]] }
    }

    fn contains_point(&self, at: LatLon) -> bool {
        (0..2).all(|axis| (self.ends[0][axis]..=self.ends[1][axis]).contains(&at[axis]))
    }
}

/// Draws all stops as a single path, which takes a third of the bytes of circles.
fn draw_stop_dots_path(frame: &MapProjection, stops: &[LatLon]) -> String {
    let mut path = String::new();
    for stop in stops {
        let (x, y) = frame.project_to_svg(*stop);
        if frame.contains_xy(x, y) {
            // Writing into a String cannot fail.
            _ = write!(path, "M{x:.0} {y:.0}h0");
        }
    }
    path
}

fn round_coordinate(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(lat: f32, lon: f32) -> FindingPlace {
        FindingPlace { at: [lat, lon], label: "stop a".to_owned() }
    }

    const STOPS: [LatLon; 5] =
        [[59.90, 10.50], [59.91, 10.55], [59.92, 10.60], [59.93, 10.65], [0.0, 0.0]];

    #[test]
    fn nearby_places_and_stops_are_within_the_map_and_north_is_up() {
        let stops: Vec<LatLon> =
            STOPS[..4].iter().cycle().take(40).chain(&STOPS[4..]).copied().collect();
        let places = [place(59.91, 10.75), place(59.95, 10.60), place(0.0, 0.0)];
        let frame = MapProjection::fit_to_places(&places, &stops).unwrap();
        for at in places[..2].iter().map(|place| place.at).chain(STOPS[..4].iter().copied()) {
            let (x, y) = frame.project_to_svg(at);
            assert!(frame.contains_xy(x, y), "{x} {y}");
        }
        assert!(frame.project_to_svg(places[0].at).1 > frame.project_to_svg(places[1].at).1);
        assert!(frame.project_to_svg(places[0].at).0 > frame.project_to_svg(places[1].at).0);
        assert!(frame.height <= MAP_SIDE + 0.1);
        assert_eq!(
            draw_stop_dots_path(&frame, &stops).matches('M').count(),
            40,
            "distant stops are left out"
        );
        let drawn = draw_map(&frame, &places, &stops).into_string();
        assert_eq!(drawn.matches("<circle").count(), 2, "{drawn}");
    }

    #[test]
    fn a_distant_place_extends_the_map_and_a_lone_place_has_none() {
        assert!(MapProjection::fit_to_places(&[], &STOPS).is_none());
        assert!(MapProjection::fit_to_places(&[place(59.9, 10.5)], &[]).is_none());
        let stops: Vec<LatLon> = STOPS[..4].iter().cycle().take(40).copied().collect();
        let places = [place(0.0, 0.0)];
        let frame = MapProjection::fit_to_places(&places, &stops).unwrap();
        for at in [places[0].at, stops[0]] {
            let (x, y) = frame.project_to_svg(at);
            assert!(frame.contains_xy(x, y), "{x} {y}");
        }
        let frame = MapProjection::fit_to_places(&[place(59.9, 10.5)], &STOPS[..1]).unwrap();
        let (x, y) = frame.project_to_svg([59.9, 10.5]);
        assert!(frame.contains_xy(x, y) && frame.height > 0.0);
    }

    #[test]
    fn without_stops_the_map_is_fitted_to_the_places() {
        let places: Vec<FindingPlace> =
            (0..10).map(|at| place(59.9 + 0.001 * at as f32, 10.5)).collect();
        let shown = render_place_map(&places, &[], &[]).into_string();
        assert_eq!(shown.matches("<circle").count(), 10, "{shown}");
        let mut all = places;
        all.push(place(0.0, 0.0));
        let shown = render_place_map(&all, &[], &[]).into_string();
        assert!(shown.contains("1 place is outside this map."), "{shown}");
    }

    #[test]
    fn the_scale_bar_has_a_round_length() {
        let label = |north: f32| {
            let frame =
                MapProjection::fit_to_places(&[place(59.9, 10.5), place(59.9 + north, 10.5)], &[]);
            let ScaleBar { length, label } = frame.unwrap().compute_scale_bar();
            assert!(length > MAP_SIDE / 12.0 && length <= MAP_SIDE / 4.0, "{length}");
            label
        };
        assert_eq!(
            [label(0.0), label(0.01), label(0.1), label(20.0)],
            ["50 m", "200 m", "2 km", "500 km"]
        );
    }
}
