//! The tables of shapes, trips, stop times and frequencies.

use std::io::{self, Seek, Write};

use super::FaultyScheduleOptions;
use super::table::GtfsArchive;
use crate::city::City;
use crate::geography::plane::{MeasuredLine, simplify_line};
use crate::network::TransportMode;
use crate::noise;
use crate::time::format_clock_time;
use crate::timetable::services::Service;
use crate::timetable::{NONE, TEMPLATE_PROFILE};

/// The tolerance for simplifying shapes, in metres.
const TOLERANCE: f64 = 1.2;

impl City {
    pub(super) fn write_shapes<W: Write + Seek>(
        &self,
        archive: &mut GtfsArchive<W>,
    ) -> io::Result<()> {
        let mut table = archive.begin_table(
            "shapes.txt",
            "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence,shape_dist_traveled",
        )?;
        for pattern in &self.network().patterns {
            let line = MeasuredLine::new(simplify_line(pattern.line.points(), TOLERANCE));
            // Distances are those along the original line, which stop times refer to.
            let scale = pattern.line.total_length() / line.total_length().max(1.0);
            for (i, (point, along)) in line.points().iter().zip(line.distances_along()).enumerate()
            {
                let (lat, lon) = self.format_lat_lon(*point);
                table
                    .write_text_cell(&pattern.shape_id)
                    .write_unquoted_cell(lat)
                    .write_unquoted_cell(lon)
                    .write_unquoted_cell(i + 1)
                    .write_unquoted_cell(format_args!("{:.1}", along * scale))
                    .end_row()?;
            }
        }
        table.flush_table()
    }

    pub(super) fn write_trips<W: Write + Seek>(
        &self,
        archive: &mut GtfsArchive<W>,
        variant: FaultyScheduleOptions,
    ) -> io::Result<()> {
        let mut table = archive.begin_table(
            "trips.txt",
            "route_id,service_id,trip_id,trip_headsign,direction_id,block_id,shape_id,wheelchair_accessible,bikes_allowed",
        )?;
        let network = self.network();
        let mut row = |id: &str, pattern: u32, service: Service, block: &str, accessible: bool| {
            let pattern = &network.patterns[pattern as usize];
            let route = &network.routes[pattern.route as usize];
            let bikes = matches!(
                route.mode,
                TransportMode::Rail | TransportMode::Metro | TransportMode::Ferry
            );
            table
                .write_text_cell(&variant.id_in_schedule_variant(&route.id))
                .write_text_cell(service.service_id())
                .write_text_cell(&variant.id_in_schedule_variant(id))
                .write_text_cell(&pattern.headsign)
                .write_unquoted_cell(pattern.direction)
                .write_text_cell(block)
                .write_text_cell(&pattern.shape_id)
                .write_text_cell(if accessible { "1" } else { "2" })
                .write_text_cell(if bikes { "1" } else { "2" })
                .end_row()
        };
        for trip in self.timetable().trips.iter().filter(|t| t.template == NONE) {
            let route = &network.routes[network.patterns[trip.pattern as usize].route as usize];
            let block = format!("{}.{}.b{}", route.id, trip.service.service_id(), trip.block + 1);
            let accessible = route.mode != TransportMode::Tram
                || noise::pseudo_random_share(u64::from(trip.block)) > 0.2;
            row(&self.scheduled_trip_id(trip), trip.pattern, trip.service, &block, accessible)?;
        }
        for template in &self.timetable().templates {
            row(&self.template_trip_id(template), template.pattern, template.service, "", true)?;
        }
        table.flush_table()
    }

    pub(super) fn write_frequencies<W: Write + Seek>(
        &self,
        archive: &mut GtfsArchive<W>,
        variant: FaultyScheduleOptions,
    ) -> io::Result<()> {
        let mut table = archive.begin_table(
            "frequencies.txt",
            "trip_id,start_time,end_time,headway_secs,exact_times",
        )?;
        for template in &self.timetable().templates {
            let id = self.template_trip_id(template);
            for (start, end, headway) in &template.periods {
                table
                    .write_text_cell(&variant.id_in_schedule_variant(&id))
                    .write_text_cell(&format_clock_time(self.city_time().to_feed_time(*start)))
                    .write_text_cell(&format_clock_time(self.city_time().to_feed_time(*end)))
                    .write_unquoted_cell(headway)
                    .write_unquoted_cell(u8::from(template.exact))
                    .end_row()?;
            }
        }
        table.flush_table()
    }

    pub(super) fn write_stop_times<W: Write + Seek>(
        &self,
        archive: &mut GtfsArchive<W>,
        variant: FaultyScheduleOptions,
    ) -> io::Result<()> {
        let mut table = archive.begin_table(
            "stop_times.txt",
            "trip_id,arrival_time,departure_time,stop_id,stop_sequence,pickup_type,drop_off_type,shape_dist_traveled,\
             timepoint",
        )?;
        let network = self.network();
        let mut rows = |id: &str, pattern: u32, profile: u8, start: i32| {
            let id = variant.id_in_schedule_variant(id);
            let calls = &network.patterns[pattern as usize].calls;
            let last = calls.len() - 1;
            let times = self.timetable().stop_time_offsets(pattern, profile);
            for (i, (call, (arrival, departure))) in calls.iter().zip(times).enumerate() {
                let start = self.city_time().to_feed_time(start);
                table
                    .write_text_cell(&id)
                    .write_unquoted_cell(format_clock_time(start + arrival))
                    .write_unquoted_cell(format_clock_time(start + departure))
                    .write_text_cell(
                        &variant.id_in_schedule_variant(&network.stops[call.stop as usize].id),
                    )
                    .write_unquoted_cell(i + 1)
                    .write_text_cell(if i == last { "1" } else { "0" })
                    .write_text_cell(if i == 0 { "1" } else { "0" })
                    // Avoids a distance of -0.0.
                    .write_unquoted_cell(format_args!("{:.1}", call.along.max(0.0) + 0.0))
                    .write_text_cell("1")
                    .end_row()?;
            }
            Ok::<(), io::Error>(())
        };
        for trip in self.timetable().trips.iter().filter(|t| t.template == NONE) {
            rows(&self.scheduled_trip_id(trip), trip.pattern, trip.profile, trip.start)?;
        }
        for template in &self.timetable().templates {
            let start = template.periods.first().map_or(0, |period| period.0);
            rows(&self.template_trip_id(template), template.pattern, TEMPLATE_PROFILE, start)?;
        }
        table.flush_table()
    }
}
