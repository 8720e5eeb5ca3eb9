//! stops.txt and transfers.txt.

use std::io::{self, Seek, Write};

use super::table::Archive;
use super::{SITE, Variant};
use crate::city::City;
use crate::network::{Mode, Place};

/// People walk this far to change, metres.
const WALK_MAX: f64 = 330.0;
/// Metres per second on foot, with crossings.
const WALK_SPEED: f64 = 1.1;

impl City {
    pub(super) fn write_stops<W: Write + Seek>(
        &self,
        archive: &mut Archive<W>,
        variant: Variant,
    ) -> io::Result<()> {
        let mut table = archive.table(
            "stops.txt",
            "stop_id,stop_code,stop_name,stop_desc,stop_lat,stop_lon,zone_id,stop_url,location_type,parent_station,\
             wheelchair_boarding,platform_code",
        )?;
        let boarding = |possible: bool| if possible { "1" } else { "2" };
        for place in self.network().places.iter().filter(|place| !place.stops.is_empty()) {
            let middle = self.middle(place);
            let zone = zone_of(middle);
            if place.is_station {
                let (lat, lon) = self.lat_lon(middle);
                table
                    .text(&variant.id(&place.id))
                    .text("")
                    .text(&place.name)
                    .text("")
                    .number(lat)
                    .number(lon)
                    .text(zone)
                    .text(&format!("{SITE}/stations/{}", place.id))
                    .text("1")
                    .text("")
                    .text(boarding(place.wheelchair))
                    .text("")
                    .end()?;
            }
            for stop in place.stops.iter().map(|stop| &self.network().stops[*stop as usize]) {
                let (lat, lon) = self.lat_lon(stop.point);
                let parent = if place.is_station { variant.id(&place.id) } else { "".into() };
                table
                    .text(&variant.id(&stop.id))
                    .text(&stop.code)
                    .text(&place.name)
                    .text(if place.is_station { "" } else { stop.heading })
                    .number(lat)
                    .number(lon)
                    .text(zone)
                    .text("")
                    .text("0")
                    .text(&parent)
                    .text(boarding(stop.wheelchair))
                    .text(stop.platform.as_deref().unwrap_or_default())
                    .end()?;
            }
        }
        table.close()
    }

    /// The middle of a place's stops.
    fn middle(&self, place: &Place) -> crate::geography::plane::Point {
        let points = place.stops.iter().map(|stop| self.network().stops[*stop as usize].point);
        let sum = points.fold(crate::geography::plane::at(0.0, 0.0), |sum, p| sum + p);
        sum * (1.0 / place.stops.len().max(1) as f64)
    }

    /// Degrees with six decimals: a tenth of a metre.
    pub(super) fn lat_lon(&self, p: crate::geography::plane::Point) -> (String, String) {
        let (lat, lon) = self.geography().projection.lat_lon(p);
        (format!("{lat:.6}"), format!("{lon:.6}"))
    }

    /// Changing at the stations of trains and between places near each other.
    pub(super) fn write_transfers<W: Write + Seek>(
        &self,
        archive: &mut Archive<W>,
        variant: Variant,
    ) -> io::Result<()> {
        let mut table = archive
            .table("transfers.txt", "from_stop_id,to_stop_id,transfer_type,min_transfer_time")?;
        let network = self.network();
        let places: Vec<&Place> =
            network.places.iter().filter(|place| !place.stops.is_empty()).collect();
        let id = |place: &Place| {
            if place.is_station {
                place.id.clone()
            } else {
                network.stops[place.stops[0] as usize].id.clone()
            }
        };
        for place in &places {
            if place.is_station {
                let seconds = 90 + 12 * place.stops.len().min(15);
                let station = variant.id(&place.id).into_owned();
                table.text(&station).text(&station).text("2").number(seconds).end()?;
            }
        }
        let piers = self.places_of(Mode::Ferry);
        for from in &places {
            for to in &places {
                let metres = self.middle(from).distance(self.middle(to));
                let useful = from.is_station || to.is_station;
                if metres < WALK_MAX && useful && from.id != to.id {
                    // Buses at the piers wait for the ferry.
                    let waits = piers.contains(&from.id);
                    let seconds = (metres / WALK_SPEED + 60.0).ceil();
                    table
                        .text(&variant.id(&id(from)))
                        .text(&variant.id(&id(to)))
                        .text(if waits { "1" } else { "2" })
                        .text(&if waits { String::new() } else { format!("{seconds}") })
                        .end()?;
                }
            }
        }
        table.close()
    }

    fn places_of(&self, mode: Mode) -> Vec<String> {
        let network = self.network();
        let routes = network.routes.iter().filter(|route| route.mode == mode);
        let calls = routes.flat_map(|route| &network.patterns[route.patterns[0] as usize].calls);
        calls
            .map(|call| network.places[network.stops[call.stop as usize].place as usize].id.clone())
            .collect()
    }
}

/// Fare zones are rings round the old town.
fn zone_of(p: crate::geography::plane::Point) -> &'static str {
    match p.length() {
        d if d < 3_800.0 => "A",
        d if d < 8_500.0 => "B",
        _ => "C",
    }
}
