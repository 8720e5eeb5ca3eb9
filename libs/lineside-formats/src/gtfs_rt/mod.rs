//! GTFS-Realtime.
