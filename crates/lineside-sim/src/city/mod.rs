//! The city as a whole: its options, and its parts for the modules that write feeds.

pub(crate) mod gtfs;
pub(crate) mod realtime;

use lineside_sync::UnixMillis;
use serde_json::Value;

use crate::geography::{Geography, plan};
use crate::limits;
use crate::network::TransitNetwork;
use crate::noise;
use crate::time::CityTime;
use crate::timetable::{HeadwayTripTemplate, Timetable, Trip};

pub use self::realtime::RealtimeFeeds;

use self::realtime::RealtimeModel;

/// The fleet size for which the routes of the plan are enough.
const VEHICLES: usize = 300;
/// A larger fleet gets one more bus route for each such number of vehicles.
const VEHICLES_PER_BUS_ROUTE: usize = 12;
/// The number of attempts to meet a number of stop times, and the accepted relative error.
const FIT_ATTEMPTS_MAX: usize = 6;
const FIT_TOLERANCE: f64 = 0.02;

/// The options from which a city is generated, besides its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CityOptions {
    /// The instant that is 07:30 on a working day in the city.
    pub start: UnixMillis,
    /// The approximate number of vehicles in service in the morning rush hour, within [`limits::VEHICLES`]. More
    /// vehicles mean more bus routes and shorter headways.
    pub vehicles: usize,
    /// The approximate number of rows in `stop_times.txt`, within [`limits::STOP_TIMES`]. If set, it determines the
    /// number of vehicles.
    pub stop_times: Option<usize>,
}

impl CityOptions {
    /// Returns the default options of a city with 300 vehicles whose day starts at this instant.
    #[must_use]
    pub fn with_start(start: UnixMillis) -> Self {
        Self { start, vehicles: VEHICLES, stop_times: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CitySize {
    /// The rows of `routes.txt`.
    pub routes: usize,
    /// The rows of `stops.txt` at which vehicles stop, without stations.
    pub stops: usize,
    /// The rows of `trips.txt`.
    pub trips: usize,
    /// The rows of `stop_times.txt`.
    pub stop_times: usize,
    /// All vehicles of all services.
    pub vehicles: usize,
}

/// A simulated city with its public transport. It is immutable; all events in it are a function of the time.
#[derive(Debug)]
pub struct City {
    parts: CityParts,
    time: CityTime,
    model: RealtimeModel,
    version: String,
}

/// The parts that are built once from the seed.
#[derive(Debug)]
pub(crate) struct CityParts {
    pub(crate) geography: Geography,
    pub(crate) network: TransitNetwork,
    pub(crate) timetable: Timetable,
}

impl City {
    /// Generates the city of a seed. The same seed and options give the same city, to the byte.
    ///
    /// Takes about a second on one core, and about 40 bytes per trip.
    #[must_use]
    pub fn generate_city(seed: u64, options: CityOptions) -> Self {
        let geography = Geography::build_geography(seed);
        let (network, timetable) = match options.stop_times {
            Some(target) => generate_for_stop_times(seed, &geography, target),
            None => generate_for_vehicles(seed, &geography, options.vehicles),
        };
        let parts = CityParts { geography, network, timetable };
        let time = CityTime::with_start(options.start);
        let version = format!(
            "{}-{:08x}",
            time.calendar_date(0),
            noise::random_key_for_purpose(seed, "version") >> 32
        );
        let model = RealtimeModel::new(seed, &parts);
        Self { parts, time, model, version }
    }

    /// Returns the city's name.
    #[must_use]
    pub fn city_name(&self) -> &'static str {
        plan::CITY
    }

    /// Returns the IANA name of the city's time zone, chosen so that the start is about 07:30 local time.
    #[must_use]
    pub fn time_zone(&self) -> &'static str {
        self.time.time_zone()
    }

    /// Returns the `feed_version` of the schedule and of its real-time feeds.
    #[must_use]
    pub fn feed_version(&self) -> &str {
        &self.version
    }

    #[must_use]
    pub fn start_instant(&self) -> UnixMillis {
        self.time.start_instant()
    }

    /// Returns the longitude and latitude of the centre of the old town, in degrees.
    #[must_use]
    pub fn old_town_centre(&self) -> (f64, f64) {
        let (lat, lon) = plan::ORIGIN;
        (lon, lat)
    }

    #[must_use]
    pub fn city_size(&self) -> CitySize {
        let timetable = &self.parts.timetable;
        let plain = timetable.trips.iter().filter(|t| t.template == crate::timetable::NONE).count();
        CitySize {
            routes: self.parts.network.routes.len(),
            stops: self.parts.network.stops.len(),
            trips: plain + timetable.templates.len(),
            stop_times: timetable.count_stop_times(&self.parts.network),
            vehicles: timetable.fleet_size() as usize,
        }
    }

    /// Returns land, water, parks, streets, railways and district names as a GeoJSON FeatureCollection, to be drawn
    /// below everything else in this order.
    ///
    /// Each feature has `kind` and `class`, some a `name`: `land` (island, islet, mole), `ground` (meadow, urban, port,
    /// beach, apron, runway), `park` (park, wood, square), `water` (river, stream, canal, lake, basin), `street`
    /// (motorway, main, avenue, collector, lane, street), `rail` (rail), `district` (core, inner, suburb, town;
    /// points). Everything that is not land is sea.
    #[must_use]
    pub fn base_map_geojson(&self) -> Value {
        let rails: Vec<_> = self.parts.network.rail_lines().collect();
        self.parts.geography.build_base_map(&rails)
    }

    pub(crate) fn seed(&self) -> u64 {
        self.model.seed
    }

    pub(crate) fn geography(&self) -> &Geography {
        &self.parts.geography
    }

    pub(crate) fn network(&self) -> &TransitNetwork {
        &self.parts.network
    }

    pub(crate) fn timetable(&self) -> &Timetable {
        &self.parts.timetable
    }

    pub(crate) fn city_time(&self) -> &CityTime {
        &self.time
    }

    pub(crate) fn realtime_model(&self) -> &RealtimeModel {
        &self.model
    }

    /// Returns the `trip_id` of a scheduled trip.
    pub(crate) fn scheduled_trip_id(&self, trip: &Trip) -> String {
        let pattern = &self.parts.network.patterns[trip.pattern as usize];
        let route = &self.parts.network.routes[pattern.route as usize];
        format!("{}.{}.{}", route.id, trip.service.service_id(), trip.number)
    }

    /// Returns the `trip_id` of a trip that is repeated by headway.
    pub(crate) fn template_trip_id(&self, template: &HeadwayTripTemplate) -> String {
        let pattern = &self.parts.network.patterns[template.pattern as usize];
        let route = &self.parts.network.routes[pattern.route as usize];
        format!("{}.{}.f{}", route.id, template.service.service_id(), pattern.direction)
    }
}

fn generate_for_vehicles(
    seed: u64,
    geography: &Geography,
    vehicles: usize,
) -> (TransitNetwork, Timetable) {
    let vehicles = vehicles.clamp(*limits::VEHICLES.start(), *limits::VEHICLES.end());
    let more =
        (vehicles.saturating_sub(VEHICLES) / VEHICLES_PER_BUS_ROUTE).min(limits::MORE_BUSES_MAX);
    let network = TransitNetwork::build_network(seed, geography, more);
    let timetable = Timetable::build_timetable(seed, &network, geography, vehicles);
    (network, timetable)
}

/// Stop times grow about linearly with the fleet, so a few attempts come close.
fn generate_for_stop_times(
    seed: u64,
    geography: &Geography,
    target: usize,
) -> (TransitNetwork, Timetable) {
    let target = target.clamp(*limits::STOP_TIMES.start(), *limits::STOP_TIMES.end());
    let mut vehicles = VEHICLES;
    let mut tries = 0;
    loop {
        let (network, timetable) = generate_for_vehicles(seed, geography, vehicles);
        let ratio = target as f64 / timetable.count_stop_times(&network).max(1) as f64;
        tries += 1;
        let next = (vehicles as f64 * ratio).round() as usize;
        if (ratio - 1.0).abs() < FIT_TOLERANCE || next == vehicles || tries == FIT_ATTEMPTS_MAX {
            return (network, timetable);
        }
        vehicles = next;
    }
}
