//! Reads the schedule that a real-time message is validated against.

use lineside_formats::gtfs::DatasetLimits;
use lineside_validate::gtfs::ZipFileSource;
use lineside_validate::rules::gtfs_rt::ScheduleIndex;
use lineside_validate::{CancelToken, ValidationContext};

use super::{CheckPlan, LatLon, STOPPED, sample_points_evenly};

/// Replaces the outline with the schedule's stops, if it has any.
pub(super) fn add_stop_outline(timetable: &ScheduleIndex, outline: &mut Vec<LatLon>) {
    let stops = timetable.stop_coordinates();
    if !stops.is_empty() {
        let points = stops.iter().map(|[lat, lon]| (Some((*lat).into()), Some((*lon).into())));
        *outline = sample_points_evenly(points);
    }
}

/// Reads the schedule of the plan; returns an empty one if there is none. The schedule itself is not validated.
pub(super) fn read_timetable(
    plan: &CheckPlan,
    context: &ValidationContext,
    stop: &CancelToken,
) -> Result<ScheduleIndex, String> {
    let Some(zip) = &plan.schedule else { return Ok(ScheduleIndex::new_empty_index()) };
    super::check_schedule_memory(zip, plan).map_err(schedule_error)?;
    let source = ZipFileSource::open_with_any_folder(zip, &DatasetLimits::default())
        .map_err(schedule_error)?;
    let read = ScheduleIndex::read_and_index_until_cancelled(&source, context, stop)
        .map_err(schedule_error)?;
    read.ok_or_else(|| STOPPED.to_owned())
}

/// Marks an error as one of the schedule, not of the message.
pub(super) fn schedule_error(error: impl std::fmt::Display) -> String {
    format!("the schedule: {error}")
}
