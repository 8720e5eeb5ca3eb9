//! Comparison of areas with the results of the geo crate, and areas that would take all memory or time.

use std::cell::Cell;

use fastrand::Rng;
use geo::{
    Area as _, LineString, MultiPolygon, Polygon, Relate as _, Validation as _,
    coordinate_position::CoordPos::{Inside, OnBoundary, Outside},
    dimensions::Dimensions,
};

use super::{relation::AreaOverlapRelation, *};

const ALWAYS: &dyn Fn() -> bool = &|| true;
const MANY_STEPS: u64 = 1_000_000_000;

type Rings = Vec<LineString<f64>>;

fn area(polygons: &[Rings]) -> PolygonArea {
    PolygonArea::new(polygons.iter().map(Vec::as_slice))
}

fn theirs(polygons: &[Rings]) -> MultiPolygon<f64> {
    let polygon = |rings: &Rings| Polygon::new(rings[0].clone(), rings[1..].to_vec());
    MultiPolygon::new(polygons.iter().map(polygon).collect())
}

fn ring(corners: impl IntoIterator<Item = (f64, f64)>) -> LineString<f64> {
    let mut ring: LineString<f64> = corners.into_iter().collect();
    ring.close();
    ring
}

/// A mapping from a corner of the lattice to the map.
type Place = fn(f64, f64) -> (f64, f64);

/// On the lattice, corners often meet corners and edges; after a rotation, they miss each other by rounding errors.
const PROJECTIONS: [Place; 3] = [
    |x, y| (x, y),
    |x, y| (10.0 + 0.1 * x, 59.0 + 0.1 * y),
    |x, y| (0.8 * x - 0.6 * y, 0.6 * x + 0.8 * y),
];

/// A ring that may cross itself.
fn any_ring(random: &mut Rng, place: Place) -> LineString<f64> {
    let (left, low, size) = (random.u8(0..5), random.u8(0..5), random.u8(2..7));
    let n = random.usize(3..7);
    let corners = (0..n).map(|_| (left + random.u8(0..size), low + random.u8(0..size)));
    ring(corners.map(|(x, y)| place(f64::from(x), f64::from(y))))
}

/// An area of mostly one polygon, mostly without holes; often with a fault.
fn any_area(random: &mut Rng, place: Place) -> Vec<Rings> {
    let n = random.usize(1..4).saturating_sub(1).max(1);
    let rings = |random: &mut Rng| {
        let n = random.usize(1..5).saturating_sub(2).max(1);
        (0..n).map(|_| any_ring(random, place)).collect()
    };
    (0..n).map(|_| rings(random)).collect()
}

/// Returns true if each ring encloses an area: the geo crate accepts rings of three collinear corners.
fn has_insides(polygons: &[Rings]) -> bool {
    let has_inside =
        |ring: &LineString<f64>| Polygon::new(ring.clone(), vec![]).unsigned_area() > 1e-9;
    polygons.iter().flatten().all(has_inside)
}

fn sound_area(random: &mut Rng, place: Place) -> Vec<Rings> {
    loop {
        let polygons = any_area(random, place);
        if has_insides(&polygons) && theirs(&polygons).check_validation().is_ok() {
            return polygons;
        }
    }
}

#[test]
fn area_relations_equal_those_of_the_geo_crate() {
    let mut random = Rng::with_seed(8);
    let mut seen = std::collections::BTreeMap::new();
    for round in 0..12_000 {
        let place = PROJECTIONS[round % PROJECTIONS.len()];
        let (one, mut other) = (sound_area(&mut random, place), sound_area(&mut random, place));
        if round % 20 == 0 {
            other = one.clone();
        }
        let found = determine_area_relation(
            &area(&one),
            &area(&other),
            &mut EdgeWalkBudget::new(MANY_STEPS, ALWAYS),
        )
        .unwrap();
        let matrix = theirs(&one).relate(&theirs(&other));
        let expected = AreaOverlapRelation {
            has_both: matrix.get(Inside, Inside) != Dimensions::Empty,
            has_first_only: matrix.get(Inside, Outside) != Dimensions::Empty,
            has_second_only: matrix.get(Outside, Inside) != Dimensions::Empty,
            // Not determined if edges cross.
            shares_line: found.shares_line
                && matrix.get(OnBoundary, OnBoundary) == Dimensions::OneDimensional,
        };
        assert_eq!(found, expected, "{one:?}\n{other:?}");
        assert_eq!(found.is_partial_overlap(), matrix.is_overlaps(), "{one:?}\n{other:?}");
        *seen.entry(format!("{found:?}")).or_insert(0) += 1;
    }
    // Disjoint, touching along a line, within, equal, overlapping with a line in common, and so on.
    assert!(seen.len() >= 8, "{seen:#?}");
}

#[test]
fn area_faults_agree_with_the_geo_crate() {
    let mut random = Rng::with_seed(9);
    let (mut sound, mut faults) = (0, std::collections::BTreeMap::new());
    for round in 0..60_000 {
        let polygons = any_area(&mut random, PROJECTIONS[round % PROJECTIONS.len()]);
        if !has_insides(&polygons) {
            continue;
        }
        let found =
            find_area_fault(&polygons, &mut EdgeWalkBudget::new(MANY_STEPS, ALWAYS)).unwrap();
        let expected = theirs(&polygons).check_validation();
        assert_eq!(found.is_none(), expected.is_ok(), "{polygons:?}: {found:?}, {expected:?}");
        match found {
            Some(fault) => *faults.entry(fault).or_insert(0) += 1,
            None => sound += 1,
        }
    }
    assert!(sound > 1_000 && faults.len() > 8, "{sound} {faults:#?}");
}

#[test]
fn infinite_corners_and_empty_areas_do_not_panic() {
    let square = |x: f64| ring([(x, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)]);
    let steps = || EdgeWalkBudget::new(MANY_STEPS, ALWAYS);
    for x in [f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
        let odd = vec![vec![square(x)]];
        let fault = "the outer ring has a corner with invalid coordinates";
        let expected = find_area_fault(&odd, &mut steps()).unwrap();
        assert_eq!(expected.as_deref() == Some(fault), x.is_infinite(), "{expected:?}");
        let (odd, sound) = (area(&odd), area(&[vec![square(0.0)]]));
        assert!(determine_area_relation(&odd, &sound, &mut steps()).is_ok());
    }
    let nothing = area(&[]);
    assert_eq!(find_area_fault(&[], &mut steps()), Ok(None));
    assert_eq!(
        determine_area_relation(&nothing, &nothing, &mut steps()),
        Ok(AreaOverlapRelation::default())
    );
    assert!(!nothing.bounding_box().intersects_box(&nothing.bounding_box()));
    let square = area(&[vec![square(0.0)]]);
    let found = determine_area_relation(&square, &nothing, &mut steps()).unwrap();
    assert_eq!(
        found,
        AreaOverlapRelation { has_first_only: true, ..AreaOverlapRelation::default() }
    );
}

/// A comb: `n` teeth to the right of a spine.
fn comb(n: i32, place: impl Fn(i32, i32) -> (i32, i32)) -> LineString<f64> {
    let length = 8 * n;
    let tooth = |at: i32| [(0, 4 * at), (length, 4 * at), (length, 4 * at + 1), (0, 4 * at + 1)];
    let corners = (0..n).flat_map(tooth).chain([(-8, 4 * n), (-8, 0)]);
    ring(corners.map(|(x, y)| place(x, y)).map(|(x, y)| (f64::from(x), f64::from(y))))
}

/// Returns the steps that the work takes.
fn steps_for(work: impl FnOnce(&mut EdgeWalkBudget<'_>)) -> u64 {
    let mut steps = EdgeWalkBudget::new(MANY_STEPS, ALWAYS);
    work(&mut steps);
    MANY_STEPS - steps.steps_left()
}

#[test]
fn the_search_stops_at_the_first_crossing() {
    let across = area(&[vec![comb(2_500, |x, y| (x, y))]]);
    let upright = area(&[vec![comb(2_500, |x, y| (y, x))]]);
    let n = steps_for(|steps| {
        assert!(determine_area_relation(&across, &upright, steps).unwrap().is_partial_overlap());
    });
    assert!(n < 10_000, "{n} steps");
    // The same is true of the rings of one polygon, and of the polygons of one area.
    let rings = vec![comb(2_500, |x, y| (x, y)), comb(2_500, |x, y| (y, x))];
    let polygons: Vec<Rings> = rings.iter().map(|ring| vec![ring.clone()]).collect();
    for (polygons, fault) in [
        (vec![rings], "hole 1 is not within the outer ring"),
        (polygons, "polygons 1 and 2 overlap"),
    ] {
        let n = steps_for(|steps| {
            assert_eq!(find_area_fault(&polygons, steps), Ok(Some(fault.to_owned())));
        });
        assert!(n < 5_000_000, "{n} steps");
    }
}

#[test]
fn the_number_of_steps_grows_almost_linearly_with_the_corners() {
    let round = |n: i32| {
        let corner = move |at: i32| {
            let (angle, wave) = (f64::from(at) / f64::from(n), 1.0 + 0.1 * f64::from(at % 7));
            let (y, x) = (angle * std::f64::consts::TAU).sin_cos();
            (x * (9.0 + 1e-4 * wave), y * (9.0 + 1e-4 * wave))
        };
        vec![vec![ring((0..n).map(corner))]]
    };
    let steps = |n: i32| steps_for(|steps| assert_eq!(find_area_fault(&round(n), steps), Ok(None)));
    let (few, many) = (steps(2_000), steps(64_000));
    assert!(many < 64 * few && many < 200 * 64_000, "{few} {many} steps");
    // A thousand islands in random order, next to a thousand others.
    let mut random = Rng::with_seed(1);
    let mut islands: Vec<(i32, i32)> = (0..2_000).map(|at| (at % 50 * 10, at / 50 * 10)).collect();
    random.shuffle(&mut islands);
    let island = |&(x, y): &(i32, i32)| {
        let corners = [(0, 0), (5, 0), (7, 4), (5, 8), (0, 8)];
        vec![ring(corners.map(|(dx, dy)| (f64::from(x + dx), f64::from(y + dy))))]
    };
    let islands: Vec<Rings> = islands.iter().map(island).collect();
    let (one, other) = (area(&islands[..1_000]), area(&islands[1_000..]));
    let n = steps_for(|steps| {
        assert_eq!(find_area_fault(&islands, steps), Ok(None));
        assert!(!determine_area_relation(&one, &other, steps).unwrap().has_both);
    });
    assert!(n < 3_000_000, "{n} steps");
}

#[test]
fn a_comparison_beyond_the_step_budget_has_no_result() {
    // All their boxes meet, and no edge crosses another.
    let slanted = comb(500, |x, y| (x - y, x + y));
    let between = comb(500, |x, y| (4_005 - x - y - 2, 4_005 - x + y + 2));
    let (one, other) = (area(&[vec![slanted.clone()]]), area(&[vec![between]]));
    let mut steps = EdgeWalkBudget::new(MANY_STEPS, ALWAYS);
    assert!(!determine_area_relation(&one, &other, &mut steps).unwrap().has_both);
    let n = MANY_STEPS - steps.steps_left();
    assert!(n > 5_000_000, "{n} steps");
    assert_eq!(
        determine_area_relation(&one, &other, &mut EdgeWalkBudget::new(n / 2, ALWAYS)),
        Err(EdgeWalkAborted)
    );
    assert_eq!(
        find_area_fault(&[vec![slanted.clone()]], &mut EdgeWalkBudget::new(100_000, ALWAYS)),
        Err(EdgeWalkAborted)
    );
    // A cancelled check does not call the function again, and returns no result either.
    let n_checks = Cell::new(0);
    let should_continue = || {
        n_checks.set(n_checks.get() + 1);
        n_checks.get() < 50
    };
    let mut steps = EdgeWalkBudget::new(MANY_STEPS, &should_continue);
    assert_eq!(determine_area_relation(&one, &other, &mut steps), Err(EdgeWalkAborted));
    assert_eq!(find_area_fault(&[vec![slanted]], &mut steps), Err(EdgeWalkAborted));
    assert_eq!(n_checks.get(), 50);
}
