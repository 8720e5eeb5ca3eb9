//! Decoding an estimated timetable.

use std::hint::black_box;
use std::path::Path;

use anyhow::{Context as _, ensure};
use jiff::tz::TimeZone;
use lineside_formats::siri::{
    MessageLimits, SiriMessage, decode_siri_message, encode_json, encode_xml,
};

use super::{events, made};
use crate::report::{Report, Row};
use crate::rounds::{Effort, Samples, timed};

/// Journeys in about two megabytes.
const JOURNEYS: usize = 230;
const JOURNEYS_QUICK: usize = 20;
/// Messages of a round: a single one takes only some milliseconds.
const MESSAGES: usize = 20;

pub(super) fn run(effort: Effort, report: &mut Report) -> anyhow::Result<()> {
    let text = made::estimated_timetable(effort.size(JOURNEYS_QUICK, JOURNEYS));
    compare("made SIRI ET", &text, effort, report)?;
    // A railway's real estimated timetable, if a folder with it is next to the repository.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/siri");
    match std::fs::read_to_string(folder.join("et-banenor-raw.xml")) {
        Ok(text) if !effort.is_quick => compare("a railway's SIRI ET", &text, effort, report),
        _ => Ok(()),
    }
}

fn compare(name: &str, text: &str, effort: Effort, report: &mut Report) -> anyhow::Result<()> {
    let limits = MessageLimits::default();
    let read = || decode_siri_message(text.as_bytes(), &TimeZone::UTC, &limits);
    let (message, _) = read()?;
    let n = journeys(&message);
    let expected = events::count(text, "EstimatedVehicleJourney")?;
    ensure!(n == expected, "{n} journeys were read of {expected}");
    let mut samples = Samples::default();
    for _ in 0..effort.rounds {
        for _ in 0..effort.size(1, MESSAGES) {
            let (bare, counted) = timed(|| events::count(text, "EstimatedVehicleJourney"));
            counted?;
            let (ours, records) = timed(read);
            black_box(records.context("what was read before")?);
            let (xml, written) = timed(|| encode_xml(&message));
            black_box(written);
            let (json, written) = timed(|| encode_json(&message));
            black_box(written);
            for (name, time) in [("bare", bare), ("ours", ours), ("xml", xml), ("json", json)] {
                samples.add(name, time.as_secs_f64() * 1e3);
            }
        }
    }
    let what = format!("{name}, {:.2} MB, {n} journeys", text.len() as f64 / 1e6);
    let bare = samples.median("bare");
    let row = Row::new(format!("{what}: to records"), samples.median("ours"), "ms");
    report.add(row.beside("bare pass", bare).at_most_times(2.0, "bare pass"));
    for (how, sample) in [("XML", "xml"), ("JSON", "json")] {
        let row = Row::new(format!("the same: written as {how}"), samples.median(sample), "ms");
        report.add(row.beside("bare pass", bare));
    }
    Ok(())
}

fn journeys(message: &SiriMessage) -> u64 {
    let frames = message
        .service_deliveries()
        .flat_map(|delivery| &delivery.estimated_timetables)
        .flat_map(|delivery| &delivery.frames);
    frames.map(|frame| frame.estimated_vehicle_journeys.len() as u64).sum()
}
