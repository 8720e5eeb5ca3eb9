//! Where a finding is: a map of dots that needs no scripts and nothing from elsewhere.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::super::words;
use crate::check::{Place, Point};
use crate::reports::{Finding, Report};

/// The side of a map, in its own units, and its margin.
const SIDE: f64 = 400.0;
const MARGIN: f64 = 12.0;
/// The least extent of a map, in degrees of latitude: some two hundred metres.
const EXTENT_MIN: f64 = 0.002;

/// How degrees become places in the picture.
struct Frame {
    north: f64,
    west: f64,
    /// How much narrower a degree of longitude is there.
    squeeze: f64,
    scale: f64,
    width: f64,
    height: f64,
}

/// The map of a finding; nothing where it is about no place.
pub(super) fn of(report: &Report, finding: &Finding) -> Markup {
    let Some(frame) = Frame::around(&finding.places, &report.outline) else {
        return html! {};
    };
    let (width, height) = (frame.width.round(), frame.height.round());
    let label = format!(
        "Where: {} among the stops of the feed",
        words::count(u64::try_from(finding.places.len()).unwrap_or_default(), "place", "places")
    );
    html! {
        figure.report-map {
            svg viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(label) {
                path.stops d=(dots(&frame, &report.outline)) {}
                @for place in &finding.places {
                    @let (x, y) = frame.place(place.at);
                    circle cx=(rounded(x)) cy=(rounded(y)) r="5" { title { (place.label) } }
                }
            }
            figcaption.soft.small { (names(&finding.places)) }
        }
    }
}

/// The first of them by name, with where they are.
fn names(places: &[Place]) -> Markup {
    const SHOWN: usize = 3;
    html! {
        @for (at, place) in places.iter().take(SHOWN).enumerate() {
            @if at > 0 { "; " }
            @let [lat, lon] = place.at;
            (place.label) " at "
            a.numeric href=(format!("https://www.openstreetmap.org/?mlat={lat}&mlon={lon}#map=16/{lat}/{lon}")) rel="noreferrer" { (lat) ", " (lon) }
        }
        @if places.len() > SHOWN { "; and others" }
    }
}

impl Frame {
    /// Around these places, with as many of the stops as lie near them.
    fn around(places: &[Place], stops: &[Point]) -> Option<Frame> {
        let first = places.first()?.at.map(f64::from);
        let mut ends = [first, first];
        let of_places = places.iter().map(|place| place.at.map(f64::from));
        for [lat, lon] in of_places.clone().chain(near(stops, of_places)) {
            ends[0] = [ends[0][0].min(lat), ends[0][1].min(lon)];
            ends[1] = [ends[1][0].max(lat), ends[1][1].max(lon)];
        }
        let [south, west] = ends[0];
        let [north, east] = ends[1];
        let squeeze = ((south + north) / 2.0).to_radians().cos().max(0.05);
        let (tall, wide) = (north - south, (east - west) * squeeze);
        let extent = tall.max(wide).max(EXTENT_MIN);
        let scale = (SIDE - 2.0 * MARGIN) / extent;
        let side = |length: f64| (length * scale + 2.0 * MARGIN).max(SIDE / 4.0);
        let (width, height) = (side(wide), side(tall));
        // What is narrower than the picture stands in its middle.
        let spare =
            |side: f64, length: f64| (side - 2.0 * MARGIN - length * scale).max(0.0) / 2.0 / scale;
        let (west, north) = (west - spare(width, wide) / squeeze, north + spare(height, tall));
        Some(Frame { north, west, squeeze, scale, width, height })
    }

    fn place(&self, [lat, lon]: Point) -> (f64, f64) {
        let x = (f64::from(lon) - self.west) * self.squeeze * self.scale + MARGIN;
        let y = (self.north - f64::from(lat)) * self.scale + MARGIN;
        (x, y)
    }
}

/// The stops, unless some place is so far from them that a map of both would show neither.
fn near(
    stops: &[Point],
    places: impl Iterator<Item = [f64; 2]> + Clone,
) -> impl Iterator<Item = [f64; 2]> {
    const DEGREES: f64 = 2.0;
    let is_near = move |[lat, lon]: &[f64; 2]| {
        places
            .clone()
            .any(|place| (place[0] - lat).abs() < DEGREES && (place[1] - lon).abs() < DEGREES)
    };
    stops.iter().map(|stop| stop.map(f64::from)).filter(is_near).collect::<Vec<_>>().into_iter()
}

/// All stops as one path of points, which is a third of as many circles.
fn dots(frame: &Frame, stops: &[Point]) -> String {
    let mut path = String::new();
    for stop in stops {
        let (x, y) = frame.place(*stop);
        if (0.0..=frame.width).contains(&x) && (0.0..=frame.height).contains(&y) {
            // Writing into a String cannot fail.
            _ = write!(path, "M{x:.0} {y:.0}h0");
        }
    }
    path
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(lat: f32, lon: f32) -> Place {
        Place { at: [lat, lon], label: "stop a".to_owned() }
    }

    #[test]
    fn everything_lies_within_the_picture_and_north_is_up() {
        let places = [place(59.91, 10.75), place(59.95, 10.60)];
        let stops = [[59.90, 10.50], [0.0, 0.0]];
        let frame = Frame::around(&places, &stops).unwrap();
        for at in places.iter().map(|place| place.at).chain([stops[0]]) {
            let (x, y) = frame.place(at);
            assert!(
                (0.0..=frame.width).contains(&x) && (0.0..=frame.height).contains(&y),
                "{x} {y}"
            );
        }
        assert!(frame.place(places[0].at).1 > frame.place(places[1].at).1);
        assert!(frame.place(places[0].at).0 > frame.place(places[1].at).0);
        assert_eq!(dots(&frame, &stops).matches('M').count(), 1, "a stop elsewhere is left out");
        assert!(frame.width <= SIDE + 0.1 && frame.height <= SIDE + 0.1);
    }

    #[test]
    fn one_place_is_a_map_and_none_is_none() {
        assert!(Frame::around(&[], &[[1.0, 1.0]]).is_none());
        let frame = Frame::around(&[place(-90.0, 180.0)], &[]).unwrap();
        let (x, y) = frame.place([-90.0, 180.0]);
        assert!(x.is_finite() && y.is_finite() && frame.width > 0.0);
    }
}
