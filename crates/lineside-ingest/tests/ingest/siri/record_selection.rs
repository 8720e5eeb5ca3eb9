//! Tests of the selection of records for an answer, and of resolving references.

use super::*;

#[test]
fn a_client_receives_only_changes_in_limited_parts() {
    let mut world = world();
    let service = SiriOutput::EstimatedTimetable;
    let updates = |delay| (18..24).map(|n| update(&format!("T{n}"), 20, delay)).collect::<Vec<_>>();
    world.apply("city-trips", updates(60));
    let select = |world: &World, after: u64, records_max: usize| {
        let state = world.network.state();
        let selection = select_new_records(
            &state,
            service,
            &RecordFilter::default(),
            EIGHT,
            after,
            records_max,
        );
        let ids: Vec<String> = selection.records.iter().map(|it| it.id.to_string()).collect();
        (ids, selection.up_to, selection.has_more)
    };
    let (mut all, mut at, mut has_more) = select(&world, 0, 4);
    assert!(has_more);
    while has_more {
        let (more, up_to, still) = select(&world, at, 4);
        assert!(up_to > at);
        (at, has_more) = (up_to, still);
        all.extend(more);
    }
    all.sort();
    assert_eq!(all.len(), 6);
    all.dedup();
    assert_eq!(all.len(), 6);
    assert_eq!(select(&world, at, 4), (vec![], at, false));
    // Identical updates are no news; another delay of one is.
    world.apply("city-trips", updates(60));
    assert_eq!(select(&world, at, 4), (vec![], at, false));
    let mut some = updates(60);
    some[2] = update("T20", 20, 90);
    world.apply("city-trips", some);
    let (changed, up_to, has_more) = select(&world, at, 4);
    assert_eq!((changed, has_more), (vec!["T20:20260304:".to_owned()], false));
    assert!(up_to > at);
}

#[test]
fn filtered_records_are_not_selected() {
    let mut world = world();
    world.apply("city-trips", vec![update("T18", 20, 60), update("T19", 20, 60)]);
    world.apply("city-alerts", vec![working_trip(), alert("other", Some("R2"), None, "Other")]);
    let count = |service, filter: &RecordFilter| {
        let state = world.network.state();
        select_new_records(&state, service, filter, EIGHT, 0, usize::MAX).records.len()
    };
    let it = |id: &str| vec![ResolvedRef { feed: Some("city".into()), id: id.into() }];
    let journeys = SiriOutput::EstimatedTimetable;
    assert_eq!(count(journeys, &line("R1")), 1);
    assert_eq!(count(journeys, &RecordFilter { operators: it("a"), ..RecordFilter::default() }), 2);
    assert_eq!(count(journeys, &RecordFilter { operators: it("b"), ..RecordFilter::default() }), 0);
    assert_eq!(count(journeys, &RecordFilter { vehicles: it("1"), ..RecordFilter::default() }), 0);
    assert_eq!(
        count(journeys, &RecordFilter { direction: Some("1".into()), ..RecordFilter::default() }),
        0
    );
    let soon =
        |minutes_| RecordFilter { preview: Some(minutes(minutes_)), ..RecordFilter::default() };
    assert_eq!((count(journeys, &soon(5)), count(journeys, &soon(10))), (1, 2));
    let filter_for = |datasets: &[&str], excluded: &[&str]| RecordFilter {
        datasets: datasets.iter().map(|id| (*id).into()).collect(),
        excluded: excluded.iter().map(|id| (*id).into()).collect(),
        ..RecordFilter::default()
    };
    assert_eq!(count(journeys, &filter_for(&["city"], &[])), 2);
    assert_eq!(count(journeys, &filter_for(&["city-trips"], &[])), 2);
    assert_eq!(count(journeys, &filter_for(&["city-alerts"], &[])), 0);
    assert_eq!(count(journeys, &filter_for(&[], &["city-trips"])), 0);
    assert_eq!(count(journeys, &filter_for(&[], &["city"])), 0);
    let alerts = SiriOutput::SituationExchange;
    assert_eq!(count(alerts, &line("R2")), 1);
    assert_eq!(count(alerts, &RecordFilter { stops: it("C1"), ..RecordFilter::default() }), 1);
    assert_eq!(count(alerts, &RecordFilter { stops: it("A"), ..RecordFilter::default() }), 0);
}

#[test]
fn a_reference_is_unique_or_names_its_feed() {
    let (one, other) = (world(), World::new());
    let states = [one.network.state(), other.network.state()];
    let resolve =
        |n: usize, kind, text: &str| resolve_ref(states[..n].iter().map(|it| &**it), kind, text);
    let city = |id: &str| Ok(ResolvedRef { feed: Some("city".into()), id: id.into() });
    assert_eq!(resolve(1, RefKind::Line, "R1"), city("R1"));
    assert_eq!(resolve(1, RefKind::Line, "city:R1"), city("R1"));
    assert_eq!(resolve(1, RefKind::Stop, "nowhere"), Err(ResolveRefError::Unknown));
    assert_eq!(resolve(1, RefKind::Stop, "city:nowhere"), Err(ResolveRefError::Unknown));
    assert_eq!(resolve(1, RefKind::Operator, "a"), city("a"));
    assert_eq!(resolve(1, RefKind::Stop, "town:C"), Err(ResolveRefError::Unknown));
    // A network without a timetable may learn of the line later.
    let later = ResolvedRef { feed: None, id: "R9".into() };
    assert_eq!(resolve(2, RefKind::Line, "R9"), Ok(later.clone()));
    let is_known =
        |kind, it: &ResolvedRef| is_ref_known(states.iter().map(|state| &**state), kind, it);
    assert!(!is_known(RefKind::Line, &later) && is_known(RefKind::Line, &city("R1").unwrap()));
    let unknown_ref = ResolvedRef { feed: Some("town".into()), id: "R1".into() };
    assert!(!is_known(RefKind::Line, &unknown_ref), "the line belongs to another network");
    let mut twin = World::new();
    twin.writer.apply_dataset(dataset(1), twin.now());
    let states = [one.network.state(), twin.network.state()];
    let both = resolve_ref(states.iter().map(|it| &**it), RefKind::Line, "R1");
    assert_eq!(both, Err(ResolveRefError::Ambiguous(vec!["city".into(), "city".into()])));
}

#[test]
fn lines_and_stops_can_be_discovered() {
    let world = world();
    let state = world.network.state();
    let all = RecordFilter::default();
    let found: Vec<_> = list_annotated_lines(&state, &all).collect();
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].line_names[0].value, "12");
    assert_eq!(found[0].destinations[0].destination_ref.as_deref(), Some("A"));
    let stops: Vec<_> = list_annotated_stop_points(&state, &all).collect();
    let station = stops.iter().find(|it| it.stop_point_ref.as_deref() == Some("C")).unwrap();
    assert_eq!(station.lines, ["R1", "R2", "RF"]);
    let platform = stops.iter().find(|it| it.stop_point_ref.as_deref() == Some("C1")).unwrap();
    assert_eq!(platform.stop_area_ref.as_deref(), Some("C"));
    let ferry = line("RF");
    let mut names: Vec<_> =
        list_annotated_stop_points(&state, &ferry).filter_map(|it| it.stop_point_ref).collect();
    names.sort();
    assert_eq!(names, ["A", "C", "C1"]);
}
