//! Tests of situations, including closed ones.

use super::*;

#[test]
fn a_situation_has_all_periods_languages_and_scopes() {
    let mut world = world();
    world.apply("city-alerts", vec![working_trip()]);
    let situation = situation(&world);
    assert_eq!(situation.situation_number.as_deref(), Some("works"));
    assert_eq!(situation.participant_ref.as_deref(), Some("city-alerts"));
    assert_eq!(after(situation.creation_time), Some(-3600));
    let periods: Vec<_> = situation
        .validity_periods
        .iter()
        .map(|period| (after(period.start_time), after(period.end_time)))
        .collect();
    assert_eq!(periods, [(Some(-3600), Some(3600)), (Some(86_400), None)]);
    assert_eq!(situation.severity, Some(Severity::Severe));
    assert_eq!(situation.equipment_reason.as_deref(), Some("constructionWork"));
    assert_eq!(situation.report_type.as_deref(), Some("general"));
    let texts: Vec<_> =
        situation.summaries.iter().map(|it| (it.lang.as_deref(), it.value.as_str())).collect();
    assert_eq!(texts, [(None, "Track \"works\""), (Some("de"), "Bauarbeiten")]);
    assert_eq!(situation.info_links[0].uri.as_deref(), Some("https://a.example/works"));
    assert_eq!(situation.consequences[0].conditions, ["diverted"]);
    let affects = situation.affects.unwrap();
    assert_eq!(affects.stop_places[0].place_names[0].value, "Central");
    assert_eq!(affects.stop_points[0].stop_point_ref.as_deref(), Some("C1"));
    assert_eq!(affects.operators.unwrap().affected_operators[0].operator_ref.as_deref(), Some("a"));
    assert_eq!(affects.vehicle_journeys[0].vehicle_journey_refs, ["T18"]);
    let [ferries, lines] = &affects.networks[..] else { panic!("expected two networks") };
    assert_eq!((ferries.vehicle_mode.as_deref(), ferries.all_lines.0), (Some("ferry"), true));
    let [line] = &lines.affected_lines[..] else { panic!("expected one line") };
    assert_eq!(line.published_line_names[0].value, "12");
    assert_eq!(line.directions[0].direction_ref.as_deref(), Some("1"));
    assert_eq!(line.routes[0].stop_points[0].stop_point_ref.as_deref(), Some("B"));
}

#[test]
fn clients_are_informed_of_closed_alerts_for_some_time() {
    let mut world = world();
    let select = |world: &World, after: u64, filter: &RecordFilter| {
        let state = world.network.state();
        let service = SiriOutput::SituationExchange;
        let selection = select_new_records(&state, service, filter, EIGHT, after, usize::MAX);
        let mut elements = EncodedSiriElements::default();
        for record in &selection.records {
            elements.encode_record(&state, record);
        }
        let situations = elements.situations.iter().map(|it| {
            (it.situation_number.clone().unwrap(), it.progress == Some(SituationProgress::Closed))
        });
        (situations.collect::<Vec<_>>(), selection.up_to)
    };
    let all = RecordFilter::default();
    let one = |id: &str| alert(id, Some("R1"), Some("B"), id);
    world.apply("city-alerts", vec![one("a"), one("b")]);
    let (first, at) = select(&world, 0, &all);
    assert_eq!(first, [("a".into(), false), ("b".into(), false)]);
    world.clock.advance_time(minutes(1));
    world.apply("city-alerts", vec![one("b")]);
    let (latest, then) = select(&world, at, &all);
    assert_eq!((latest, then > at), (vec![("a".into(), true)], true));
    assert!(select(&world, then, &all).0.is_empty());
    assert_eq!(
        select(&world, 0, &all).0,
        [("b".into(), false)],
        "a client without situations gets no closed ones"
    );
    let stop = |id: &str| RecordFilter {
        stops: vec![ResolvedRef { feed: None, id: id.into() }],
        ..RecordFilter::default()
    };
    assert_eq!(select(&world, at, &stop("B")).0.len(), 1);
    assert!(select(&world, at, &stop("D")).0.is_empty());
    // The situation ends at its removal.
    let state = world.network.state();
    let service = SiriOutput::SituationExchange;
    let mut elements = EncodedSiriElements::default();
    elements
        .encode_record(&state, select_new_records(&state, service, &all, EIGHT, at, 1).records[0]);
    let periods = &elements.situations[0].validity_periods;
    assert_eq!(after(periods[0].end_time), Some(60));
    // An alert that returns is open again, and one removed long ago is forgotten.
    world.apply("city-alerts", vec![one("a"), one("b")]);
    assert_eq!(select(&world, then, &all).0, [("a".into(), false)]);
    world.apply("city-alerts", vec![one("a")]);
    assert_eq!(select(&world, at, &all).0, [("a".into(), false), ("b".into(), true)]);
    world.clock.advance_time(minutes(11));
    world.apply("city-alerts", vec![]);
    assert_eq!(select(&world, at, &all).0, [("a".into(), true)]);
}

#[test]
fn an_alert_without_periods_is_valid_from_now() {
    let mut world = world();
    world.apply("city-alerts", vec![alert("a", None, None, "Hello")]);
    let situation = situation(&world);
    assert_eq!(after(situation.creation_time), Some(0));
    assert_eq!(after(situation.validity_periods[0].start_time), Some(0));
    assert_eq!((situation.severity, situation.affects), (None, None));
}
