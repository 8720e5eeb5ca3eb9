//! The tables `stops.txt` and `transfers.txt`.

use std::io::{self, Seek, Write};

use super::table::GtfsArchive;
use super::{FaultyScheduleOptions, SITE};
use crate::city::City;
use crate::network::{StopPlace, TransportMode};

/// The longest walk between stops for a transfer, in metres.
const WALK_MAX: f64 = 330.0;
/// Walking speed in metres per second, including crossings.
const WALK_SPEED: f64 = 1.1;

impl City {
    pub(super) fn write_stops<W: Write + Seek>(
        &self,
        archive: &mut GtfsArchive<W>,
        variant: FaultyScheduleOptions,
    ) -> io::Result<()> {
        let mut table = archive.begin_table(
            "stops.txt",
            "stop_id,stop_code,stop_name,stop_desc,stop_lat,stop_lon,zone_id,stop_url,location_type,parent_station,\
             wheelchair_boarding,platform_code",
        )?;
        let boarding = |possible: bool| if possible { "1" } else { "2" };
        for place in self.network().places.iter().filter(|place| !place.stops.is_empty()) {
            let middle = self.center_of_stop_place(place);
            let zone = fare_zone_of_point(middle);
            if place.is_station {
                let (lat, lon) = self.format_lat_lon(middle);
                table
                    .write_text_cell(&variant.id_in_schedule_variant(&place.id))
                    .write_text_cell("")
                    .write_text_cell(&place.name)
                    .write_text_cell("")
                    .write_unquoted_cell(lat)
                    .write_unquoted_cell(lon)
                    .write_text_cell(zone)
                    .write_text_cell(&format!("{SITE}/stations/{}", place.id))
                    .write_text_cell("1")
                    .write_text_cell("")
                    .write_text_cell(boarding(place.wheelchair))
                    .write_text_cell("")
                    .end_row()?;
            }
            for stop in place.stops.iter().map(|stop| &self.network().stops[*stop as usize]) {
                let (lat, lon) = self.format_lat_lon(stop.point);
                let parent = if place.is_station {
                    variant.id_in_schedule_variant(&place.id)
                } else {
                    "".into()
                };
                table
                    .write_text_cell(&variant.id_in_schedule_variant(&stop.id))
                    .write_text_cell(&stop.code)
                    .write_text_cell(&place.name)
                    .write_text_cell(if place.is_station { "" } else { stop.heading })
                    .write_unquoted_cell(lat)
                    .write_unquoted_cell(lon)
                    .write_text_cell(zone)
                    .write_text_cell("")
                    .write_text_cell("0")
                    .write_text_cell(&parent)
                    .write_text_cell(boarding(stop.wheelchair))
                    .write_text_cell(stop.platform.as_deref().unwrap_or_default())
                    .end_row()?;
            }
        }
        table.flush_table()
    }

    /// Returns the middle of a place's stops.
    fn center_of_stop_place(&self, place: &StopPlace) -> crate::geography::plane::PlanePoint {
        let points = place.stops.iter().map(|stop| self.network().stops[*stop as usize].point);
        let sum = points.fold(crate::geography::plane::point_from_xy(0.0, 0.0), |sum, p| sum + p);
        sum * (1.0 / place.stops.len().max(1) as f64)
    }

    /// Formats degrees with six decimals: a tenth of a metre.
    pub(super) fn format_lat_lon(
        &self,
        p: crate::geography::plane::PlanePoint,
    ) -> (String, String) {
        let (lat, lon) = self.geography().projection.to_lat_lon(p);
        (format!("{lat:.6}"), format!("{lon:.6}"))
    }

    /// Writes transfers at stations of the trains and between places near each other.
    pub(super) fn write_transfers<W: Write + Seek>(
        &self,
        archive: &mut GtfsArchive<W>,
        variant: FaultyScheduleOptions,
    ) -> io::Result<()> {
        let mut table = archive.begin_table(
            "transfers.txt",
            "from_stop_id,to_stop_id,transfer_type,min_transfer_time",
        )?;
        let network = self.network();
        let places: Vec<&StopPlace> =
            network.places.iter().filter(|place| !place.stops.is_empty()).collect();
        let id = |place: &StopPlace| {
            if place.is_station {
                place.id.clone()
            } else {
                network.stops[place.stops[0] as usize].id.clone()
            }
        };
        for place in &places {
            if place.is_station {
                let seconds = 90 + 12 * place.stops.len().min(15);
                let station = variant.id_in_schedule_variant(&place.id).into_owned();
                table
                    .write_text_cell(&station)
                    .write_text_cell(&station)
                    .write_text_cell("2")
                    .write_unquoted_cell(seconds)
                    .end_row()?;
            }
        }
        let piers = self.place_ids_of_mode(TransportMode::Ferry);
        for from in &places {
            for to in &places {
                let metres =
                    self.center_of_stop_place(from).distance_to(self.center_of_stop_place(to));
                let useful = from.is_station || to.is_station;
                if metres < WALK_MAX && useful && from.id != to.id {
                    // Buses at the piers wait for the ferry.
                    let waits = piers.contains(&from.id);
                    let seconds = (metres / WALK_SPEED + 60.0).ceil();
                    table
                        .write_text_cell(&variant.id_in_schedule_variant(&id(from)))
                        .write_text_cell(&variant.id_in_schedule_variant(&id(to)))
                        .write_text_cell(if waits { "1" } else { "2" })
                        .write_text_cell(&if waits { String::new() } else { format!("{seconds}") })
                        .end_row()?;
                }
            }
        }
        table.flush_table()
    }

    fn place_ids_of_mode(&self, mode: TransportMode) -> Vec<String> {
        let network = self.network();
        let routes = network.routes.iter().filter(|route| route.mode == mode);
        let calls = routes.flat_map(|route| &network.patterns[route.patterns[0] as usize].calls);
        calls
            .map(|call| network.places[network.stops[call.stop as usize].place as usize].id.clone())
            .collect()
    }
}

/// Returns the fare zone of a point; zones are rings around the old town.
fn fare_zone_of_point(p: crate::geography::plane::PlanePoint) -> &'static str {
    match p.vector_length() {
        d if d < 3_800.0 => "A",
        d if d < 8_500.0 => "B",
        _ => "C",
    }
}
