//! Shapes, trips, their times and their frequencies.

use std::io::{self, Seek, Write};

use super::Variant;
use super::table::Archive;
use crate::city::City;
use crate::geography::plane::{Line, simplify};
use crate::network::Mode;
use crate::noise;
use crate::time::clock;
use crate::timetable::services::Service;
use crate::timetable::{NONE, TEMPLATE_PROFILE};

/// Points nearer than this to a simpler line are left out of shapes, metres.
const TOLERANCE: f64 = 1.2;

impl City {
    pub(super) fn write_shapes<W: Write + Seek>(&self, archive: &mut Archive<W>) -> io::Result<()> {
        let mut table = archive.table(
            "shapes.txt",
            "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence,shape_dist_traveled",
        )?;
        for pattern in &self.network().patterns {
            let line = Line::new(simplify(pattern.line.points(), TOLERANCE));
            // Distances are those along the whole line, which stop times refer to.
            let scale = pattern.line.length() / line.length().max(1.0);
            for (i, (point, along)) in line.points().iter().zip(line.along()).enumerate() {
                let (lat, lon) = self.lat_lon(*point);
                table
                    .text(&pattern.shape_id)
                    .number(lat)
                    .number(lon)
                    .number(i + 1)
                    .number(format_args!("{:.1}", along * scale))
                    .end()?;
            }
        }
        table.close()
    }

    pub(super) fn write_trips<W: Write + Seek>(
        &self,
        archive: &mut Archive<W>,
        variant: Variant,
    ) -> io::Result<()> {
        let mut table = archive.table(
            "trips.txt",
            "route_id,service_id,trip_id,trip_headsign,direction_id,block_id,shape_id,wheelchair_accessible,bikes_allowed",
        )?;
        let network = self.network();
        let mut row = |id: &str, pattern: u32, service: Service, block: &str, accessible: bool| {
            let pattern = &network.patterns[pattern as usize];
            let route = &network.routes[pattern.route as usize];
            let bikes = matches!(route.mode, Mode::Rail | Mode::Metro | Mode::Ferry);
            table
                .text(&variant.id(&route.id))
                .text(service.id())
                .text(&variant.id(id))
                .text(&pattern.headsign)
                .number(pattern.direction)
                .text(block)
                .text(&pattern.shape_id)
                .text(if accessible { "1" } else { "2" })
                .text(if bikes { "1" } else { "2" })
                .end()
        };
        for trip in self.timetable().trips.iter().filter(|t| t.template == NONE) {
            let route = &network.routes[network.patterns[trip.pattern as usize].route as usize];
            let block = format!("{}.{}.b{}", route.id, trip.service.id(), trip.block + 1);
            let accessible = route.mode != Mode::Tram || noise::share(u64::from(trip.block)) > 0.2;
            row(&self.scheduled_trip_id(trip), trip.pattern, trip.service, &block, accessible)?;
        }
        for template in &self.timetable().templates {
            row(&self.template_id(template), template.pattern, template.service, "", true)?;
        }
        table.close()
    }

    pub(super) fn write_frequencies<W: Write + Seek>(
        &self,
        archive: &mut Archive<W>,
        variant: Variant,
    ) -> io::Result<()> {
        let mut table = archive
            .table("frequencies.txt", "trip_id,start_time,end_time,headway_secs,exact_times")?;
        for template in &self.timetable().templates {
            let id = self.template_id(template);
            for (start, end, headway) in &template.periods {
                table
                    .text(&variant.id(&id))
                    .text(&clock(self.time().feed_seconds(*start)))
                    .text(&clock(self.time().feed_seconds(*end)))
                    .number(headway)
                    .number(u8::from(template.exact))
                    .end()?;
            }
        }
        table.close()
    }

    pub(super) fn write_stop_times<W: Write + Seek>(
        &self,
        archive: &mut Archive<W>,
        variant: Variant,
    ) -> io::Result<()> {
        let mut table = archive.table(
            "stop_times.txt",
            "trip_id,arrival_time,departure_time,stop_id,stop_sequence,pickup_type,drop_off_type,shape_dist_traveled,\
             timepoint",
        )?;
        let network = self.network();
        let mut rows = |id: &str, pattern: u32, profile: u8, start: i32| {
            let id = variant.id(id);
            let calls = &network.patterns[pattern as usize].calls;
            let last = calls.len() - 1;
            let times = self.timetable().times(pattern, profile);
            for (i, (call, (arrival, departure))) in calls.iter().zip(times).enumerate() {
                let start = self.time().feed_seconds(start);
                table
                    .text(&id)
                    .number(clock(start + arrival))
                    .number(clock(start + departure))
                    .text(&variant.id(&network.stops[call.stop as usize].id))
                    .number(i + 1)
                    .text(if i == last { "1" } else { "0" })
                    .text(if i == 0 { "1" } else { "0" })
                    // No distance is less than nothing, not even by a sign before a zero.
                    .number(format_args!("{:.1}", call.along.max(0.0) + 0.0))
                    .text("1")
                    .end()?;
            }
            Ok::<(), io::Error>(())
        };
        for trip in self.timetable().trips.iter().filter(|t| t.template == NONE) {
            rows(&self.scheduled_trip_id(trip), trip.pattern, trip.profile, trip.start)?;
        }
        for template in &self.timetable().templates {
            let start = template.periods.first().map_or(0, |period| period.0);
            rows(&self.template_id(template), template.pattern, TEMPLATE_PROFILE, start)?;
        }
        table.close()
    }
}
