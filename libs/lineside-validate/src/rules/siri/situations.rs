//! Situations: whether anybody learns what it is about, whom it concerns, and when.

use lineside_formats::siri::{
    Affects, Period, Progress, PtSituationElement, SituationExchangeDelivery, Time,
};

use super::{
    kinds,
    look::{Look, text},
};

pub(super) fn look(look: &mut Look<'_>, delivery: &SituationExchangeDelivery) {
    for situation in look.some_of(&delivery.situations) {
        one(look, situation);
    }
}

fn one(look: &mut Look<'_>, situation: &PtSituationElement) {
    let id = situation.situation_number.as_deref();
    let unread = &situation.unread;
    look.ask(situation.creation_time.is_some(), unread, id, "CreationTime");
    look.ask(!situation.validity_periods.is_empty(), unread, id, "ValidityPeriod");
    look.ask(situation.source.is_some(), unread, id, "Source");
    look.not_in_future(situation.creation_time, id, "CreationTime");
    if let Some(number) = id {
        let of = |text: &Option<_>| text.as_deref().map(str::to_owned).unwrap_or_default();
        let (whose, version) = (of(&situation.participant_ref), of(&situation.version));
        let is_told_apart = !unread.has("ParticipantRef") && !unread.has("Version");
        if is_told_apart && !look.is_first(format!("{number}\n{whose}\n{version}")) {
            look.say(&kinds::DUPLICATE_SITUATION, id, |_| {});
        }
    }
    let mut n_unread = unread.count("ValidityPeriod/StartTime");
    for period in &situation.validity_periods {
        match (period.start_time, n_unread) {
            (Some(_), _) => {}
            (None, 0) => look.missing(id, "ValidityPeriod/StartTime"),
            (None, _) => n_unread -= 1,
        }
        order(look, period, id, "ValidityPeriod");
    }
    for period in &situation.publication_windows {
        order(look, period, id, "PublicationWindow");
    }
    // Where it cannot be read whether it is over, riders are shown it as one that is not.
    let is_over = matches!(situation.progress, Some(Progress::Closed));
    if is_over {
        let mut periods = situation.validity_periods.iter();
        let has_unread = unread.has("ValidityPeriod/EndTime");
        if !has_unread && periods.any(|period| period.end_time.is_none()) {
            look.say(&kinds::NEVER_ENDS, id, |_| {});
        }
        // What is over need say no more.
        return;
    }
    if !has_text(situation) {
        look.say(&kinds::NO_TEXT, id, |_| {});
    }
    if !affects(situation) {
        look.say(&kinds::NOTHING_AFFECTED, id, |_| {});
    }
}

fn order(look: &mut Look<'_>, period: &Period, id: Option<&str>, element: &str) {
    if let (Some(start), Some(end)) =
        (period.start_time.map(Time::as_millis), period.end_time.map(Time::as_millis))
        && end < start
    {
        look.say(&kinds::PERIOD, id, |sample| {
            sample.put("element", element).put("time", text(end)).put("before", text(start));
        });
    }
}

fn has_text(situation: &PtSituationElement) -> bool {
    let is_told = situation.publishing_actions.iter().any(|action| {
        let mut told = action.passenger_information_actions.iter();
        told.any(|information| !information.textual_contents.is_empty())
    });
    let has_unread = ["Summary", "Description"].iter().any(|name| situation.unread.has(name));
    !situation.summaries.is_empty() || !situation.descriptions.is_empty() || is_told || has_unread
}

fn affects(situation: &PtSituationElement) -> bool {
    let consequences = situation.consequences.iter().filter_map(|it| it.affects.as_deref());
    let scopes = situation.publishing_actions.iter();
    let scopes = scopes.filter_map(|action| action.publish_at_scope.as_ref()?.affects.as_deref());
    let mut all = situation.affects.as_deref().into_iter().chain(consequences).chain(scopes);
    all.any(names_something)
}

fn names_something(affects: &Affects) -> bool {
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
