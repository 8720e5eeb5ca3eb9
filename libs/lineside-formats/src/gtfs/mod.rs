//! GTFS schedules.
