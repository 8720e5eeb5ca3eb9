//! The tables `stops.txt` and `transfers.txt`.

use std::io::{self, Seek, Write};

use super::table::GtfsArchive;
use super::{SITE, ScheduleVariant};
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
        variant: ScheduleVariant,
    ) -> io::Result<()> {
        let mut table = archive.begin_table(
            "stops.txt",
            "stop_id,stop_code,stop_name,stop_desc,stop_lat,stop_lon,zone_id,stop_url,location_type,parent_station,\
             wheelchair_boarding,platform_code",
        )?;
        let boarding = |possible: bool| if possible { "1" } else { "2" };
        for place in self.network().places.iter().filter(|place| !place.stops.is_empty()) {
            let middle = self.place_middle(place);
            let zone = fare_zone(middle);
            if place.is_station {
                let (lat, lon) = self.format_lat_lon(middle);
                table
                    .write_text(&variant.variant_id(&place.id))
                    .write_text("")
                    .write_text(&place.name)
                    .write_text("")
                    .write_number(lat)
                    .write_number(lon)
                    .write_text(zone)
                    .write_text(&format!("{SITE}/stations/{}", place.id))
                    .write_text("1")
                    .write_text("")
                    .write_text(boarding(place.wheelchair))
                    .write_text("")
                    .end_row()?;
            }
            for stop in place.stops.iter().map(|stop| &self.network().stops[*stop as usize]) {
                let (lat, lon) = self.format_lat_lon(stop.point);
                let parent =
                    if place.is_station { variant.variant_id(&place.id) } else { "".into() };
                table
                    .write_text(&variant.variant_id(&stop.id))
                    .write_text(&stop.code)
                    .write_text(&place.name)
                    .write_text(if place.is_station { "" } else { stop.heading })
                    .write_number(lat)
                    .write_number(lon)
                    .write_text(zone)
                    .write_text("")
                    .write_text("0")
                    .write_text(&parent)
                    .write_text(boarding(stop.wheelchair))
                    .write_text(stop.platform.as_deref().unwrap_or_default())
                    .end_row()?;
            }
        }
        table.close_table()
    }

    /// Returns the middle of a place's stops.
    fn place_middle(&self, place: &StopPlace) -> crate::geography::plane::Point {
        let points = place.stops.iter().map(|stop| self.network().stops[*stop as usize].point);
        let sum = points.fold(crate::geography::plane::point_from_xy(0.0, 0.0), |sum, p| sum + p);
        sum * (1.0 / place.stops.len().max(1) as f64)
    }

    /// Formats degrees with six decimals: a tenth of a metre.
    pub(super) fn format_lat_lon(&self, p: crate::geography::plane::Point) -> (String, String) {
        let (lat, lon) = self.geography().projection.to_lat_lon(p);
        (format!("{lat:.6}"), format!("{lon:.6}"))
    }

    /// Writes transfers at stations of the trains and between places near each other.
    pub(super) fn write_transfers<W: Write + Seek>(
        &self,
        archive: &mut GtfsArchive<W>,
        variant: ScheduleVariant,
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
                let station = variant.variant_id(&place.id).into_owned();
                table
                    .write_text(&station)
                    .write_text(&station)
                    .write_text("2")
                    .write_number(seconds)
                    .end_row()?;
            }
        }
        let piers = self.place_ids_of_mode(TransportMode::Ferry);
        for from in &places {
            for to in &places {
                let metres = self.place_middle(from).distance_to(self.place_middle(to));
                let useful = from.is_station || to.is_station;
                if metres < WALK_MAX && useful && from.id != to.id {
                    // Buses at the piers wait for the ferry.
                    let waits = piers.contains(&from.id);
                    let seconds = (metres / WALK_SPEED + 60.0).ceil();
                    table
                        .write_text(&variant.variant_id(&id(from)))
                        .write_text(&variant.variant_id(&id(to)))
                        .write_text(if waits { "1" } else { "2" })
                        .write_text(&if waits { String::new() } else { format!("{seconds}") })
                        .end_row()?;
                }
            }
        }
        table.close_table()
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
fn fare_zone(p: crate::geography::plane::Point) -> &'static str {
    match p.length() {
        d if d < 3_800.0 => "A",
        d if d < 8_500.0 => "B",
        _ => "C",
    }
}
