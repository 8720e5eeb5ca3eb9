//! Decodes real messages, if their folder is next to the repository (`../shared/data/siri`), and compares the number of
//! elements with those found by simpler means.
#![cfg(feature = "siri")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says why")]

mod support;

use std::{collections::BTreeMap, fs};

use jiff::tz::TimeZone;
use lineside_formats::siri::{
    MessageLimits, SiriCall, SiriMessage, VehicleJourney, decode_siri_message,
};
use serde_json::Value as Json;

/// The counted elements.
const COUNTED: [&str; 17] = [
    "EstimatedVehicleJourney",
    "RecordedCall",
    "EstimatedCall",
    "VehicleActivity",
    "VehicleActivityCancellation",
    "MonitoredStopVisit",
    "MonitoredStopVisitCancellation",
    "MonitoredVehicleJourney",
    "MonitoredCall",
    "PreviousCall",
    "OnwardCall",
    "PtSituationElement",
    "ValidityPeriod",
    "AffectedStopPlace",
    "Consequence",
    "AimedDepartureTime",
    "ExpectedArrivalTime",
];

type Counts = BTreeMap<&'static str, usize>;

/// Removes the parts of a text between two marks.
fn without(text: &str, begin: &str, end: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(begin) {
        plain.push_str(before);
        rest = inside.split_once(end).map_or("", |(_, after)| after);
    }
    plain + rest
}

/// Counts start tags as plain text, ignoring comments. Road situations are not decoded.
fn count_xml(text: &str) -> Counts {
    let plain = without(text, "<!--", "-->");
    let plain = without(&plain, "<RoadSituationElement>", "</RoadSituationElement>");
    let mut counts = Counts::new();
    for tag in plain.split('<').skip(1) {
        let end = tag.find(|it: char| it == '>' || it == '/' || it.is_whitespace());
        let name = &tag[..end.unwrap_or(tag.len())];
        let name = name.split_once(':').map_or(name, |(_, local)| local);
        if let Some(counted) = COUNTED.iter().find(|it| **it == name) {
            *counts.entry(counted).or_default() += 1;
        }
    }
    counts
}

/// Counts keys in a JSON tree.
fn count_json(json: &Json, counts: &mut Counts) {
    match json {
        Json::Object(members) => {
            for (key, value) in members {
                if let Some(counted) = COUNTED.iter().find(|it| **it == key.as_str()) {
                    *counts.entry(counted).or_default() += value.as_array().map_or(1, Vec::len);
                }
                count_json(value, counts);
            }
        }
        Json::Array(items) => items.iter().for_each(|item| count_json(item, counts)),
        _ => {}
    }
}

fn count_records(message: &SiriMessage) -> Counts {
    let mut counts = Counts::new();
    let mut add = |name: &'static str, n: usize| {
        *counts.entry(name).or_default() += n;
    };
    for delivery in message.service_deliveries() {
        for journey in delivery.estimated_timetables.iter().flat_map(|it| it.estimated_journeys()) {
            add("EstimatedVehicleJourney", 1);
            count_calls(journey, &mut add);
        }
        for vehicles in &delivery.vehicle_monitorings {
            add("VehicleActivity", vehicles.vehicle_activities.len());
            add("VehicleActivityCancellation", vehicles.cancellations.len());
            for activity in &vehicles.vehicle_activities {
                count_monitored(activity.monitored_vehicle_journey.as_deref(), &mut add);
            }
        }
        for visits in &delivery.stop_monitorings {
            add("MonitoredStopVisit", visits.monitored_stop_visits.len());
            add("MonitoredStopVisitCancellation", visits.cancellations.len());
            for visit in &visits.monitored_stop_visits {
                count_monitored(visit.monitored_vehicle_journey.as_deref(), &mut add);
            }
        }
        for situation in delivery.situation_exchanges.iter().flat_map(|it| &it.situations) {
            add("PtSituationElement", 1);
            add("ValidityPeriod", situation.validity_periods.len());
            let places = situation.affects.as_ref().map_or(0, |it| it.stop_places.len());
            let of_consequences =
                situation.consequences.iter().filter_map(|it| it.affects.as_ref());
            let more: usize = of_consequences.map(|it| it.stop_places.len()).sum();
            add("AffectedStopPlace", places + more);
            add("Consequence", situation.consequences.len());
        }
    }
    counts.retain(|_, n| *n > 0);
    counts
}

fn count_monitored(journey: Option<&VehicleJourney>, add: &mut impl FnMut(&'static str, usize)) {
    if let Some(journey) = journey {
        add("MonitoredVehicleJourney", 1);
        count_calls(journey, add);
    }
}

fn count_calls(journey: &VehicleJourney, add: &mut impl FnMut(&'static str, usize)) {
    let lists: [(&'static str, &[SiriCall]); 4] = [
        ("RecordedCall", &journey.recorded_calls),
        ("EstimatedCall", &journey.estimated_calls),
        ("PreviousCall", &journey.previous_calls),
        ("OnwardCall", &journey.onward_calls),
    ];
    add("MonitoredCall", usize::from(journey.monitored_call.is_some()));
    for (name, calls) in lists {
        add(name, calls.len());
    }
    let calls = lists.iter().flat_map(|(_, calls)| *calls).chain(journey.monitored_call.as_deref());
    for call in calls {
        add("AimedDepartureTime", usize::from(call.aimed_departure_time.is_some()));
        add("ExpectedArrivalTime", usize::from(call.expected_arrival_time.is_some()));
    }
}

/// Files that contain such elements outside of decoded records: requests, timetables and connections with their own
/// calls, and situations without a message.
const APART: [&str; 9] = [
    "productiontimetable-request",
    "exm_PT_",
    "exm_ST_",
    "exm_CM_",
    "exm_CT_",
    "exm_GM_",
    "situationExchange_ATOC",
    "situationExchange_Pt",
    "situationExchange_road",
];

/// The problems of all messages together: record, code and count.
const PROBLEMS: [(&str, &str, u64); 6] = [
    ("EstimatedVehicleJourney", "timestamp_without_zone", 202),
    ("PtSituationElement", "invalid_timestamp", 7),
    ("PtSituationElement", "timestamp_without_zone", 38),
    ("ServiceDelivery", "delivery_not_read", 9),
    ("ServiceDelivery", "timestamp_without_zone", 74),
    ("VehicleActivity", "timestamp_without_zone", 11),
];

#[test]
fn real_messages_decode_without_loss() {
    let zone = TimeZone::get("Europe/Oslo").unwrap();
    let (mut all, mut refused, mut unequal) = (Counts::new(), Vec::new(), Vec::new());
    let mut wrong: BTreeMap<(String, &str), u64> = BTreeMap::new();
    let paths = support::real_files("siri", None);
    for path in &paths {
        let body = fs::read(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (message, problems) = match decode_siri_message(&body, &zone, &MessageLimits::default())
        {
            Ok(decoded) => decoded,
            Err(error) => {
                println!("{}: {error}", path.display());
                refused.push(name);
                continue;
            }
        };
        println!(
            "{name}: {} payloads, {} problems",
            message.payloads.len(),
            problems.total_count()
        );
        for problem in problems.retained_problems() {
            println!("  {problem}");
        }
        for (of, code, count) in problems.problem_counts() {
            *wrong.entry((of.to_owned(), code)).or_default() += count;
        }
        let counts = count_records(&message);
        let text = String::from_utf8(body).unwrap();
        let expected = match serde_json::from_str::<Json>(&text) {
            Ok(json) => {
                let mut counts = Counts::new();
                count_json(&json, &mut counts);
                counts
            }
            Err(_) => count_xml(&text),
        };
        if counts != expected && !APART.iter().any(|part| name.contains(part)) {
            println!("  found {counts:?}\n  where there are {expected:?}");
            unequal.push(name);
        }
        for (name, n) in counts {
            *all.entry(name).or_default() += n;
        }
    }
    println!("{} files: {all:?}", paths.len());
    assert!(unequal.is_empty(), "{unequal:?}");
    // These files are not SIRI: a fragment of XML, the answer of a gateway, a configuration.
    let no_siri = ["invalid-xml.xml", "stopmonitoring-lite-delivery-error.json", "data.xml"];
    refused.retain(|name| !no_siri.contains(&name.as_str()));
    assert!(refused.is_empty(), "{refused:?}");
    let wrong: Vec<_> = wrong.iter().map(|((of, code), n)| (of.as_str(), *code, *n)).collect();
    assert!(paths.is_empty() || wrong == PROBLEMS, "{wrong:#?}");
}
