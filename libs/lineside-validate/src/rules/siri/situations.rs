//! Checks of situations: their texts, what they affect, and their periods.

use lineside_formats::siri::{
    Affects, PtSituationElement, SiriTime, SituationExchangeDelivery, SituationProgress, TimePeriod,
};

use super::{
    delivery_check::{SiriDeliveryCheck, format_millis_as_utc},
    kinds,
};

pub(super) fn check_situations(
    check: &mut SiriDeliveryCheck<'_>,
    delivery: &SituationExchangeDelivery,
) {
    for situation in check.records_within_time_limit(&delivery.situations) {
        check_situation(check, situation);
    }
}

fn check_situation(check: &mut SiriDeliveryCheck<'_>, situation: &PtSituationElement) {
    let id = situation.situation_number.as_deref();
    let unread = &situation.unread;
    check.report_element_unless_present(
        situation.creation_time.is_some(),
        unread,
        id,
        "CreationTime",
    );
    check.report_element_unless_present(
        !situation.validity_periods.is_empty(),
        unread,
        id,
        "ValidityPeriod",
    );
    check.report_element_unless_present(situation.source.is_some(), unread, id, "Source");
    check.report_if_after_delivery(situation.creation_time, id, "CreationTime");
    if let Some(number) = id {
        let of = |text: &Option<_>| text.as_deref().map(str::to_owned).unwrap_or_default();
        let (whose, version) = (of(&situation.participant_ref), of(&situation.version));
        let is_identifiable = !unread.has_unreadable_element("ParticipantRef")
            && !unread.has_unreadable_element("Version");
        if is_identifiable && !check.is_first_occurrence(format!("{number}\n{whose}\n{version}")) {
            check.report_record_notice(&kinds::DUPLICATE_SITUATION, id, |_| {});
        }
    }
    let mut n_unread = unread.unreadable_element_count("ValidityPeriod/StartTime");
    for period in &situation.validity_periods {
        match (period.start_time, n_unread) {
            (Some(_), _) => {}
            (None, 0) => check.report_missing_element(id, "ValidityPeriod/StartTime"),
            (None, _) => n_unread -= 1,
        }
        check_situation_period_order(check, period, id, "ValidityPeriod");
    }
    for period in &situation.publication_windows {
        check_situation_period_order(check, period, id, "PublicationWindow");
    }
    // If the progress is unreadable, riders are shown the situation as an open one.
    let is_closed = matches!(situation.progress, Some(SituationProgress::Closed));
    if is_closed {
        let mut periods = situation.validity_periods.iter();
        let has_unread = unread.has_unreadable_element("ValidityPeriod/EndTime");
        if !has_unread && periods.any(|period| period.end_time.is_none()) {
            check.report_record_notice(&kinds::NEVER_ENDS, id, |_| {});
        }
        // A closed situation needs no more.
        return;
    }
    if !has_passenger_text(situation) {
        check.report_record_notice(&kinds::NO_TEXT, id, |_| {});
    }
    if !affects_any_object(situation) {
        check.report_record_notice(&kinds::NOTHING_AFFECTED, id, |_| {});
    }
}

fn check_situation_period_order(
    check: &mut SiriDeliveryCheck<'_>,
    period: &TimePeriod,
    id: Option<&str>,
    element: &str,
) {
    if let (Some(start), Some(end)) =
        (period.start_time.map(SiriTime::as_millis), period.end_time.map(SiriTime::as_millis))
        && end < start
    {
        check.report_record_notice(&kinds::PERIOD, id, |sample| {
            sample
                .set_field("element", element)
                .set_field("time", format_millis_as_utc(end))
                .set_field("before", format_millis_as_utc(start));
        });
    }
}

fn has_passenger_text(situation: &PtSituationElement) -> bool {
    let has_action_text = situation.publishing_actions.iter().any(|action| {
        let mut actions = action.passenger_information_actions.iter();
        actions.any(|information| !information.textual_contents.is_empty())
    });
    let has_unread =
        ["Summary", "Description"].iter().any(|name| situation.unread.has_unreadable_element(name));
    !situation.summaries.is_empty()
        || !situation.descriptions.is_empty()
        || has_action_text
        || has_unread
}

fn affects_any_object(situation: &PtSituationElement) -> bool {
    let consequences = situation.consequences.iter().filter_map(|it| it.affects.as_deref());
    let scopes = situation.publishing_actions.iter();
    let scopes = scopes.filter_map(|action| action.publish_at_scope.as_ref()?.affects.as_deref());
    let mut all = situation.affects.as_deref().into_iter().chain(consequences).chain(scopes);
    all.any(names_any_affected_object)
}

fn names_any_affected_object(affects: &Affects) -> bool {
    let Affects {
        operators,
        networks,
        stop_points,
        stop_places,
        places,
        vehicle_journeys,
        vehicles,
    } = affects;
    operators.is_some()
        || !networks.is_empty()
        || !stop_points.is_empty()
        || !stop_places.is_empty()
        || !places.is_empty()
        || !vehicle_journeys.is_empty()
        || !vehicles.is_empty()
}
