//! Checks of feeds: schedules and real-time messages.

use std::io::Cursor;

use bytes::Bytes;
use jiff::tz::TimeZone;
use lineside_formats::{Error, Problems, gtfs, gtfs_rt, netex, siri};

/// Checks a zip archive as a schedule.
pub fn gtfs(bytes: &[u8]) {
    let limits = small_gtfs();
    if let Ok(mut files) = gtfs::ZipFiles::new(Cursor::new(bytes), &limits) {
        read_all(&mut files, &limits);
    }
}

/// Checks a schedule as text: `# stops.txt`, then its lines.
pub fn gtfs_text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    read_all(&mut gtfs::TextFiles::from_sections(&text), &small_gtfs());
}

/// Checks that every query of a loaded timetable works: no index in it is out of range.
fn read_all(files: &mut dyn gtfs::FileSet, limits: &gtfs::DatasetLimits) {
    let Ok((timetable, problems)) = gtfs::load_timetable(files, limits) else { return };
    assert!(
        problems.total_count() >= problems.retained_problems().len() as u64,
        "more problems are kept than there were"
    );
    for trip in timetable.trips() {
        let mut sequence = None;
        for call in timetable.trip_stop_times(trip.idx) {
            assert!(sequence < Some(call.stop_sequence), "the calls of a trip rise");
            sequence = Some(call.stop_sequence);
            assert!(!timetable.stop(call.stop).id.is_empty(), "a call is at a stop");
        }
        let _ = timetable.route(trip.route).display_name();
        if let Some(shape) = trip.shape {
            assert!(
                timetable
                    .shape_points(shape)
                    .all(|(lat, lon)| lat.abs() <= 90.0 && lon.abs() <= 180.0)
            );
        }
    }
    if let Some((first, _)) = timetable.service_date_range() {
        ask(&timetable, timetable.service_time_to_unix(first, 7 * 3_600));
    }
    for stop in timetable.stops() {
        assert_eq!(timetable.find_stop(stop.id), Some(stop.idx), "a stop is found by its id");
        assert!(
            timetable
                .child_stops(stop.idx)
                .iter()
                .all(|child| timetable.stop(*child).parent == Some(stop.idx))
        );
    }
}

/// Runs the queries of a board and of a map, in the two hours from `from` on.
fn ask(timetable: &gtfs::Timetable, from: i64) {
    let until = from + 2 * 3_600;
    for stop in timetable.stops() {
        let board = timetable.departures_from_stop(stop.idx, from, until, 40);
        assert!(board.len() <= 40 && board.is_sorted_by_key(|it| it.departure));
        assert!(board.iter().all(|it| (from..=until).contains(&it.departure)));
    }
    for instance in timetable.active_trips_at(from) {
        let is_active = timetable
            .is_service_active(timetable.trip(instance.trip).service, instance.service_date);
        assert!(is_active, "only trips of active services are under way");
    }
}

/// Checks a GTFS-Realtime message.
pub fn gtfs_rt(bytes: &[u8]) {
    let (body, limits) = (Bytes::copy_from_slice(bytes), small_gtfs_rt());
    let Ok((shallow, problems)) = gtfs_rt::split_feed_message(body.clone(), &limits) else {
        return;
    };
    let again = gtfs_rt::encode_feed_message(
        &shallow.header,
        shallow.entities.iter().map(|entity| &entity.bytes),
    );
    let (second, _) = gtfs_rt::split_feed_message(again, &gtfs_rt::FeedMessageLimits::default())
        .expect("what was taken apart can be put together and taken apart again");
    let hashes = |message: &gtfs_rt::SplitFeedMessage| {
        message.entities.iter().map(|entity| entity.hash).collect::<Vec<_>>()
    };
    assert_eq!(hashes(&shallow), hashes(&second), "entities survive as they were");

    let opened = shallow.entities.iter().filter(|entity| entity.decode_entity().is_ok()).count();
    let (message, all_problems) = gtfs_rt::decode_feed_message(body, &limits)
        .expect("a message that can be taken apart can be decoded");
    assert_eq!(message.entity.len(), opened, "both ways read the same entities");
    assert!(all_problems.total_count() >= problems.total_count(), "a closer look finds no less");

    let mut json = Vec::new();
    gtfs_rt::write_feed_json(&mut json, &message.header, &message.entity)
        .expect("memory can be written to");
    let (twin, _) = gtfs_rt::decode_json(&json, &gtfs_rt::FeedMessageLimits::default())
        .expect("our own JSON is read");
    assert_eq!(twin.entity.len(), message.entity.len(), "the JSON twin has every entity");
}

/// Checks a GTFS-Realtime message as JSON.
pub fn gtfs_rt_json(bytes: &[u8]) {
    let Ok((message, _)) = gtfs_rt::decode_json(bytes, &small_gtfs_rt()) else { return };
    let mut json = Vec::new();
    gtfs_rt::write_feed_json(&mut json, &message.header, &message.entity)
        .expect("memory can be written to");
    let (again, _) = gtfs_rt::decode_json(&json, &gtfs_rt::FeedMessageLimits::default())
        .expect("our own JSON is read");
    assert_eq!(again.entity.len(), message.entity.len(), "what was read once is read again");
}

/// Checks a NeTEx publication: a file, or a zip of files. The converted GTFS is loaded and queried.
///
/// # Panics
///
/// Panics if a journey is neither a trip nor counted as dropped.
pub fn netex(bytes: &[u8]) {
    let limits = small_netex();
    let Ok(mut files) = netex::PublicationSource::new(bytes, &limits.files) else { return };
    let Ok((publication, mut problems)) = netex::decode_publication(&mut files, &limits) else {
        return;
    };
    let limits = gtfs::DatasetLimits::default();
    let mut tables = (gtfs::InMemoryTables::new(), gtfs::TimetableBuilder::new(limits.clone()));
    let losses = netex::write_gtfs(&publication, &mut tables, &mut problems)
        .expect("memory can be written to");
    let lost = losses.iter().filter(|loss| loss.kind == "ServiceJourney");
    let lost: u64 = lost.map(|loss| loss.count).sum();
    assert!(lost <= publication.record_counts().service_journeys as u64, "a journey is lost once");
    let (mut tables, loaded) = tables;
    let (timetable, _) = loaded.build_timetable().expect("the tables are those of a schedule");
    let (of_text, _) =
        gtfs::load_timetable(&mut tables, &limits).expect("the tables are those of a schedule");
    assert_eq!(timetable.row_counts(), of_text.row_counts(), "the same rows come to the same");
    read_all(&mut tables, &limits);
}

/// Checks a SIRI message in XML.
pub fn siri_xml(bytes: &[u8]) {
    siri_message(siri::decode_xml_message(bytes, &TimeZone::UTC, &small_siri()));
}

/// Checks a SIRI message in JSON.
pub fn siri_json(bytes: &[u8]) {
    siri_message(siri::decode_json_message(bytes, &TimeZone::UTC, &small_siri()));
}

/// Checks that a message that was read can be written and read again, and is unchanged after that. The first writing
/// may lose data that XML cannot express.
fn siri_message(decoded: Result<(siri::SiriMessage, Problems), Error>) {
    let Ok((message, problems)) = decoded else { return };
    assert!(
        problems.total_count() >= problems.retained_problems().len() as u64,
        "more problems are kept than there were"
    );
    let in_envelope =
        |message: &siri::SiriMessage| siri::encode_soap(message, siri::SoapMessageKind::Answer);
    let writers = [siri::encode_xml, siri::encode_json, in_envelope];
    for write in writers {
        let once = siri_again(&write(&message));
        let n_records = |message: &siri::SiriMessage| -> usize {
            let timetables = message.service_deliveries().flat_map(|it| &it.estimated_timetables);
            timetables.map(|timetable| timetable.estimated_journeys().count()).sum()
        };
        let is_fault = |message: &siri::SiriMessage| {
            message.payloads.iter().any(|it| matches!(it, siri::MessagePayload::Fault(_)))
        };
        if !is_fault(&message) {
            assert_eq!(n_records(&once), n_records(&message), "every journey is written");
        }
        let twice = siri_again(&write(&once));
        assert_eq!(once, twice, "what was written and read stays as it is");
    }
}

fn siri_again(text: &str) -> siri::SiriMessage {
    let decoded =
        siri::decode_siri_message(text.as_bytes(), &TimeZone::UTC, &siri::MessageLimits::default());
    decoded.expect("our own message is read").0
}

fn small_gtfs() -> gtfs::DatasetLimits {
    gtfs::DatasetLimits {
        total_bytes: 8 << 20,
        entry_bytes: 4 << 20,
        ..gtfs::DatasetLimits::default()
    }
}

fn small_gtfs_rt() -> gtfs_rt::FeedMessageLimits {
    gtfs_rt::FeedMessageLimits {
        body_bytes: 1 << 20,
        record_bytes: 16 << 20,
        ..gtfs_rt::FeedMessageLimits::default()
    }
}

fn small_netex() -> netex::PublicationLimits {
    netex::PublicationLimits {
        files: small_gtfs(),
        record_bytes: 16 << 20,
        ..netex::PublicationLimits::default()
    }
}

fn small_siri() -> siri::MessageLimits {
    siri::MessageLimits {
        body_bytes: 1 << 20,
        record_bytes: 16 << 20,
        ..siri::MessageLimits::default()
    }
}
