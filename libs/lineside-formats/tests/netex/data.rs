//! Decodes real publications, if their folder is next to the repository (`../shared/data/netex`), and compares the
//! number of records with the number of start tags.

use std::{collections::BTreeMap, fs, io::Read};

use lineside_formats::{
    gtfs::FileSet,
    netex::{PublicationLimits, PublicationSource},
};

use super::{read, support::real_files};

/// Returns the XML files of a publication, without comments.
fn texts(body: &[u8]) -> Vec<String> {
    let mut files = PublicationSource::new(body, &PublicationLimits::default().files).unwrap();
    let names = files.file_names();
    let mut texts = Vec::new();
    for name in names {
        let mut bytes = Vec::new();
        files.open_file(&name).unwrap().unwrap().read_to_end(&mut bytes).unwrap();
        let text = match bytes.as_slice() {
            [0xFF, 0xFE, wide @ ..] => {
                let units = wide.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
                String::from_utf16(&units.collect::<Vec<_>>()).unwrap()
            }
            plain => String::from_utf8_lossy(plain).into_owned(),
        };
        let mut pieces = text.split("<!--");
        let mut plain = pieces.next().unwrap().to_owned();
        plain.extend(pieces.map(|piece| piece.split_once("-->").unwrap().1));
        texts.push(plain);
    }
    texts
}

/// Counts the start tags with these names.
fn count(texts: &[String], names: &[&str]) -> usize {
    let of = |text: &String, name: &str| {
        let tags = text.split('<').filter_map(|tag| tag.strip_prefix(name));
        tags.filter(|rest| rest.starts_with([' ', '>', '/', '\t', '\r', '\n'])).count()
    };
    texts.iter().map(|text| names.iter().map(|name| of(text, name)).sum::<usize>()).sum()
}

#[test]
fn real_publications_are_read_completely() {
    for path in real_files("netex", None) {
        let body = fs::read(&path).unwrap();
        let (loaded, texts) = (read(&body), texts(&body));
        let counts = loaded.counts;
        let expected = [
            (counts.lines, &["Line", "FlexibleLine"][..]),
            (counts.service_journeys, &["ServiceJourney", "TemplateServiceJourney"]),
            (counts.dated_service_journeys, &["DatedServiceJourney"]),
            (
                counts.journey_patterns,
                &["JourneyPattern", "ServiceJourneyPattern", "ServicePattern"],
            ),
            (counts.scheduled_stop_points, &["ScheduledStopPoint"]),
            (counts.stop_places, &["StopPlace"]),
            (counts.quays, &["Quay"]),
            (counts.passenger_stop_assignments, &["PassengerStopAssignment"]),
            (counts.day_types, &["DayType"]),
        ];
        for (found, names) in expected {
            assert_eq!(found, count(&texts, names), "{}: {names:?}", path.display());
        }
        let lost = loaded.losses.iter().filter(|loss| loss.kind == "ServiceJourney");
        let lost: u64 = lost.map(|loss| loss.count).sum();
        let trips = loaded.timetable.trips().len() as u64;
        assert_eq!(
            trips + lost,
            counts.service_journeys as u64,
            "{}: every journey is converted or counted as dropped",
            path.display()
        );
    }
}

/// The problems of all publications together: code and count.
const PROBLEMS: &[(&str, u64)] = &[
    ("duplicate_in_timetable", 3),
    ("invalid_duration", 1),
    ("invalid_email", 1),
    ("invalid_timezone", 14),
    ("invalid_url", 1),
    ("journey_of_windows", 10),
    ("journey_without_days", 105),
    ("journey_without_line", 61),
    ("journey_without_times", 7),
    ("missing_name", 17),
    ("missing_timezone", 15),
    ("missing_url", 31),
    ("stop_without_location", 357),
    ("unknown_transport_mode", 10),
    ("unresolved_for_timetable", 1_863),
];

#[test]
fn real_publications_have_only_the_expected_problems() {
    let mut wrong: BTreeMap<&str, u64> = BTreeMap::new();
    let paths = real_files("netex", None);
    for path in &paths {
        for (_, code, count) in read(fs::read(path).unwrap()).problems.problem_counts() {
            *wrong.entry(code).or_default() += count;
        }
    }
    let wrong: Vec<_> = wrong.into_iter().collect();
    assert!(paths.is_empty() || wrong == PROBLEMS, "{wrong:#?}");
}
