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
/// The least room around the stops of a feed, in degrees.
const ROOM: f32 = 0.1;

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

/// The map of a finding, and its places by name; nothing where it is about no place.
pub(super) fn of(report: &Report, finding: &Finding) -> Markup {
    html! {
        @if !finding.places.is_empty() {
            figure.report-map {
                @if let Some(frame) = Frame::around(&finding.places, &report.outline) {
                    (drawn(&frame, &finding.places, &report.outline))
                }
                figcaption.soft.small { (names(&finding.places)) }
            }
        }
    }
}

fn drawn(frame: &Frame, places: &[Place], stops: &[Point]) -> Markup {
    let shown = places.iter().map(|place| (place, frame.place(place.at)));
    let shown: Vec<_> = shown.filter(|(_, (x, y))| frame.has(*x, *y)).collect();
    let count = words::count(u64::try_from(shown.len()).unwrap_or_default(), "place", "places");
    let (width, height) = (frame.width.round(), frame.height.round());
    html! {
        svg viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(format!("Where: {count} among the stops of the feed")) {
            path.stops d=(dots(frame, stops)) {}
            @for (place, (x, y)) in shown {
                circle cx=(rounded(x)) cy=(rounded(y)) r="5" { title { (place.label) } }
            }
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
    /// Around those of the places that lie where the feed does; none if no place does.
    fn around(places: &[Place], stops: &[Point]) -> Option<Frame> {
        let area = Area::of(stops);
        let mut inside = places.iter().map(|place| place.at).filter(|at| area.has(*at)).peekable();
        inside.peek()?;
        let mut ends = [[f64::MAX; 2], [f64::MIN; 2]];
        for [lat, lon] in inside.chain(stops.iter().copied().filter(|at| area.has(*at))) {
            let (lat, lon) = (f64::from(lat), f64::from(lon));
            ends[0] = [ends[0][0].min(lat), ends[0][1].min(lon)];
            ends[1] = [ends[1][0].max(lat), ends[1][1].max(lon)];
        }
        let [[south, west], [north, east]] = ends;
        let squeeze = ((south + north) / 2.0).to_radians().cos().max(0.05);
        let (tall, wide) = (north - south, (east - west) * squeeze);
        let scale = (SIDE - 2.0 * MARGIN) / tall.max(wide).max(EXTENT_MIN);
        let height = (tall * scale + 2.0 * MARGIN).max(SIDE / 3.0);
        // What is narrower than the picture stands in its middle.
        let spare =
            |side: f64, length: f64| ((side - 2.0 * MARGIN) / scale - length).max(0.0) / 2.0;
        let (west, north) = (west - spare(SIDE, wide) / squeeze, north + spare(height, tall));
        Some(Frame { north, west, squeeze, scale, width: SIDE, height })
    }

    fn has(&self, x: f64, y: f64) -> bool {
        (0.0..=self.width).contains(&x) && (0.0..=self.height).contains(&y)
    }

    fn place(&self, [lat, lon]: Point) -> (f64, f64) {
        let x = (f64::from(lon) - self.west) * self.squeeze * self.scale + MARGIN;
        let y = (self.north - f64::from(lat)) * self.scale + MARGIN;
        (x, y)
    }
}

/// Where most stops of a feed are, with room around them: a stop at 0, 0 would else make a dot of all others.
struct Area {
    ends: [[f32; 2]; 2],
}

impl Area {
    fn of(stops: &[Point]) -> Area {
        let of_axis = |axis: usize| {
            let mut values: Vec<f32> = stops.iter().map(|stop| stop[axis]).collect();
            values.sort_unstable_by(f32::total_cmp);
            let at = |tenths: usize| values.get(values.len() * tenths / 10).copied();
            let (low, high) = (at(1)?, at(9)?);
            let room = high - low + ROOM;
            Some([low - room, high + room])
        };
        let [[south, north], [west, east]] = [0, 1].map(|axis| of_axis(axis).unwrap_or([0.0, 0.0]));
        Area { ends: [[south, west], [north, east]] }
    }

    fn has(&self, at: Point) -> bool {
        (0..2).all(|axis| (self.ends[0][axis]..=self.ends[1][axis]).contains(&at[axis]))
    }
}

/// All stops as one path of points, which is a third of as many circles.
fn dots(frame: &Frame, stops: &[Point]) -> String {
    let mut path = String::new();
    for stop in stops {
        let (x, y) = frame.place(*stop);
        if frame.has(x, y) {
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

    const STOPS: [Point; 5] =
        [[59.90, 10.50], [59.91, 10.55], [59.92, 10.60], [59.93, 10.65], [0.0, 0.0]];

    #[test]
    fn everything_near_lies_within_the_picture_and_north_is_up() {
        let stops: Vec<Point> =
            STOPS[..4].iter().cycle().take(40).chain(&STOPS[4..]).copied().collect();
        let places = [place(59.91, 10.75), place(59.95, 10.60), place(0.0, 0.0)];
        let frame = Frame::around(&places, &stops).unwrap();
        for at in places[..2].iter().map(|place| place.at).chain(STOPS[..4].iter().copied()) {
            let (x, y) = frame.place(at);
            assert!(frame.has(x, y), "{x} {y}");
        }
        assert!(frame.place(places[0].at).1 > frame.place(places[1].at).1);
        assert!(frame.place(places[0].at).0 > frame.place(places[1].at).0);
        assert!(frame.height <= SIDE + 0.1);
        assert_eq!(dots(&frame, &stops).matches('M').count(), 40, "what is far away is left out");
        let drawn = drawn(&frame, &places, &stops).into_string();
        assert_eq!(drawn.matches("<circle").count(), 2, "{drawn}");
    }

    #[test]
    fn what_lies_elsewhere_or_nowhere_has_no_picture() {
        assert!(Frame::around(&[], &STOPS).is_none());
        let stops: Vec<Point> = STOPS[..4].iter().cycle().take(40).copied().collect();
        assert!(Frame::around(&[place(-90.0, 180.0)], &stops).is_none());
        let frame = Frame::around(&[place(59.9, 10.5)], &STOPS[..1]).unwrap();
        let (x, y) = frame.place([59.9, 10.5]);
        assert!(frame.has(x, y) && frame.height > 0.0);
    }
}
