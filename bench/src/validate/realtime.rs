//! Validating a real-time message with all rules, compared with decoding it. A similar message with its vehicles in
//! another order came before.

use std::{fs, hint::black_box, path::Path};

use jiff::civil::date;
use lineside_formats::{
    gtfs::DatasetLimits,
    gtfs_rt::proto::{
        FeedEntity, FeedHeader, FeedMessage, Position, TripDescriptor, TripUpdate,
        VehicleDescriptor, VehiclePosition,
        trip_update::{StopTimeEvent, StopTimeUpdate},
    },
};
use lineside_validate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, ZipFileSource, load_schedule},
    rules::gtfs_rt::{
        MessageHistory, MessageWithContext, OtherScheduleVersion, ScheduleIndex,
        validate_realtime_message,
    },
};
use prost::Message as _;

use crate::{
    report::{Report, Row},
    rounds::{Effort, median, timed},
};

/// Trips of the message, each with its stops and a vehicle.
const TRIPS: usize = 5_000;
/// The time of the message: 2025-12-31T18:46:40Z.
const MADE: u64 = 1_767_206_800;
/// Polls of one round.
const POLLS: usize = 10;
/// Earlier messages that the validator remembers.
const POLLS_BEFORE: usize = 16;
/// The allowed ratio of the rules' time to the decoding.
const AIM: f64 = 2.0;

/// Measures with the schedule in `zip`.
pub(super) fn run(zip: &Path, effort: Effort, report: &mut Report) -> anyhow::Result<()> {
    let context = ValidationContext { today: date(2026, 1, 1), country: None, threads: 1 };
    let (bytes, limits) = (fs::read(zip)?, DatasetLimits::default());
    let source = ZipFileSource::new(&bytes, &limits)?;
    let feed = load_schedule(&source, &context, &mut Notices::new(0))?;
    let timetable = ScheduleIndex::read_and_index_schedule(&source, &context)?;
    let header = FeedHeader {
        gtfs_realtime_version: "2.0".to_owned(),
        incrementality: Some(0),
        timestamp: Some(MADE),
        feed_version: None,
    };
    let n_trips = effort.size(TRIPS / 20, TRIPS);
    let message = FeedMessage { header, entity: entities(&feed, n_trips) };
    let body = message.encode_to_vec();
    let mut before = message.clone();
    before.entity.reverse();
    let trips = timetable.trip_ids();
    let versions = [OtherScheduleVersion { name: "another", trips: &trips }];
    let mut history = MessageHistory::default();
    (0..POLLS_BEFORE).for_each(|_| history.add_message_times(&before, MADE as i64 - 30));
    let (mut decoding, mut judging) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds * POLLS {
        let (elapsed, decoded) = timed(|| FeedMessage::decode(body.as_slice()));
        let decoded = decoded?;
        decoding.push(elapsed.as_secs_f64() * 1e3);
        let (elapsed, notices) = timed(|| {
            let mut notices = Notices::new(Notices::SAMPLES_MAX);
            let subject = MessageWithContext::new(&decoded, &timetable, MADE as i64)
                .with_previous_message(Some(&before));
            let subject = subject
                .with_other_schedule_versions(&versions)
                .with_message_history(Some(&history));
            validate_realtime_message(&subject, &context, &mut notices);
            notices
        });
        judging.push(elapsed.as_secs_f64() * 1e3);
        black_box(notices);
    }
    let what = format!("{n_trips} trips and their vehicles: all rules");
    report.add(
        Row::new(what, median(judging), "ms")
            .beside("plain prost decode", median(decoding))
            .at_most_times(AIM, "plain prost decode"),
    );
    Ok(())
}

/// Returns a trip update and a vehicle for each of the first trips with stops.
fn entities(feed: &GtfsFeed, n_trips: usize) -> Vec<FeedEntity> {
    let (trips, times) = (feed.table(GtfsFile::Trips), feed.table(GtfsFile::StopTimes));
    let (ids, trip_ids) = (trips.text_column("trip_id"), times.text_column("trip_id"));
    let (stop_ids, sequences) =
        (times.text_column("stop_id"), times.number_column("stop_sequence"));
    let (shapes, shape_ids) =
        (trips.text_column("shape_id"), feed.table(GtfsFile::Shapes).text_column("shape_id"));
    let (lat, lon) = (
        feed.table(GtfsFile::Shapes).float_column("shape_pt_lat"),
        feed.table(GtfsFile::Shapes).float_column("shape_pt_lon"),
    );
    let (groups, points) = (
        feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id"),
        feed.rows_grouped_by_field(GtfsFile::Shapes, "shape_id"),
    );
    let stop = |(at, &row): (usize, &u32)| StopTimeUpdate {
        stop_sequence: sequences.get(row).map(|sequence| sequence as u32),
        stop_id: stop_ids.get(row).map(str::to_owned),
        arrival: Some(arrival(at)),
        schedule_relationship: Some(0),
        ..StopTimeUpdate::default()
    };
    let mut entities = Vec::new();
    for (id, row) in trips.row_numbers().filter_map(|row| Some((ids.get(row)?, row))) {
        let Some(code) = trip_ids.find_text_code(id) else { continue };
        let trip = TripDescriptor {
            trip_id: Some(id.to_owned()),
            route_id: trips.text_column("route_id").get(row).map(str::to_owned),
            schedule_relationship: Some(0),
            ..TripDescriptor::default()
        };
        let vehicle =
            Some(VehicleDescriptor { id: Some(format!("V{row}")), ..VehicleDescriptor::default() });
        let shape = shapes.get(row).and_then(|shape| shape_ids.find_text_code(shape));
        let point = shape.and_then(|code| points.rows_with_text_code(code).last().copied());
        let position = point.and_then(|row| {
            let (latitude, longitude) = (lat.get(row)? as f32, lon.get(row)? as f32);
            Some(Position { latitude, longitude, speed: Some(9.0), ..Position::default() })
        });
        entities.push(FeedEntity {
            id: format!("u{row}"),
            trip_update: Some(TripUpdate {
                trip: trip.clone(),
                vehicle: vehicle.clone(),
                timestamp: Some(MADE),
                stop_time_update: groups
                    .rows_with_text_code(code)
                    .iter()
                    .enumerate()
                    .map(stop)
                    .collect(),
                ..TripUpdate::default()
            }),
            ..FeedEntity::default()
        });
        let timestamp = Some(MADE);
        let trip = Some(trip);
        let vehicle =
            VehiclePosition { trip, vehicle, position, timestamp, ..VehiclePosition::default() };
        let vehicle = Some(vehicle);
        entities.push(FeedEntity { id: format!("v{row}"), vehicle, ..FeedEntity::default() });
        if entities.len() >= 2 * n_trips {
            break;
        }
    }
    entities
}

/// Returns the arrival at a trip's stop number `at`, a minute after the previous stop.
fn arrival(at: usize) -> StopTimeEvent {
    StopTimeEvent { time: Some(MADE as i64 + at as i64 * 60), ..StopTimeEvent::default() }
}
