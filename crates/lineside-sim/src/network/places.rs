//! Places with stops: each has a name, one or more stops, and is a station if its platforms need to be distinguished.

use std::collections::HashMap;

use crate::geography::Geography;
use crate::geography::graph::StreetEdge;
use crate::geography::plane::PlanePoint;
use crate::names::NamePool;
use crate::noise;

/// A crossing this close to a place belongs to it, in metres.
const SAME_PLACE_DISTANCE: f64 = 150.0;
/// A landmark names stops this close, in metres.
const LANDMARK_REACH: f64 = 330.0;
/// The number of stops from which a place has a parent station, to distinguish its platforms.
const STATION_STOPS_MIN: usize = 3;

#[derive(Debug)]
pub(crate) struct StopPlace {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) point: PlanePoint,
    /// True if the place has a parent station in the feed.
    pub(crate) is_station: bool,
    pub(crate) stops: Vec<u32>,
    pub(crate) wheelchair: bool,
}

#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) id: String,
    /// The code for passengers; unique.
    pub(crate) code: String,
    pub(crate) place: u32,
    pub(crate) point: PlanePoint,
    pub(crate) platform: Option<String>,
    /// The compass direction of departures, for a stop without a platform.
    pub(crate) heading: &'static str,
    pub(crate) wheelchair: bool,
}

/// The identity of a stop: calls with equal keys share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StopIdentity {
    /// A kerb: the crossing, and the edge on which buses leave it.
    Kerb {
        node: u32,
        edge: u32,
    },
    /// The kerb at the end of a line, by the edge on which buses arrive.
    LineEnd {
        node: u32,
        edge: u32,
    },
    /// A platform by its number.
    Platform {
        place: u32,
        sign: String,
    },
    Pier {
        place: u32,
    },
}

#[derive(Debug)]
pub(crate) struct PlaceRegistry<'a> {
    geography: &'a Geography,
    names: NamePool,
    key: u64,
    places: Vec<StopPlace>,
    by_node: HashMap<u32, u32>,
    stops: Vec<Stop>,
    by_key: HashMap<StopIdentity, u32>,
}

impl<'a> PlaceRegistry<'a> {
    pub(crate) fn new(key: u64, geography: &'a Geography) -> Self {
        let names = NamePool::new(noise::hash_two_numbers(key, 1));
        Self {
            geography,
            names,
            key,
            places: Vec::new(),
            by_node: HashMap::new(),
            stops: Vec::new(),
            by_key: HashMap::new(),
        }
    }

    pub(crate) fn place_by_number(&self, place: u32) -> &StopPlace {
        &self.places[place as usize]
    }

    /// Returns the place with this name; adds it if missing.
    pub(crate) fn find_or_add_named_place(&mut self, name: &str, point: PlanePoint) -> u32 {
        if let Some(place) = self.places.iter().position(|place| place.name == name) {
            return place as u32;
        }
        self.names.reserve_stop_name(name);
        self.add_place(name.to_owned(), point)
    }

    /// Returns the nearest place within `reach` of a point, if any.
    pub(crate) fn find_place_near(&self, point: PlanePoint, reach: f64) -> Option<u32> {
        let near = |i: &usize| self.places[*i].point.distance_to(point);
        (0..self.places.len())
            .filter(|i| near(i) < reach)
            .min_by(|a, b| near(a).total_cmp(&near(b)))
            .map(|i| i as u32)
    }

    /// Returns the place of a crossing, if it has one.
    pub(crate) fn find_place_at_node(&self, node: u32) -> Option<u32> {
        self.by_node.get(&node).copied()
    }

    /// Makes a crossing part of a place.
    pub(crate) fn attach_crossing_to_place(&mut self, node: u32, place: u32) {
        self.by_node.entry(node).or_insert(place);
    }

    /// Returns the place of a crossing; adds it if missing. The name prefers another street to `along`, which all stops
    /// of the line would share.
    pub(crate) fn find_or_add_place_at_crossing(&mut self, node: u32, along: u32) -> u32 {
        if let Some(place) = self.find_place_at_node(node) {
            return place;
        }
        let point = self.geography.graph.nodes[node as usize];
        let place = self.find_place_near(point, SAME_PLACE_DISTANCE).unwrap_or_else(|| {
            let name = self.choose_place_name(node, point, along);
            self.add_place(name, point)
        });
        self.by_node.insert(node, place);
        place
    }

    fn add_place(&mut self, name: String, point: PlanePoint) -> u32 {
        let place = self.places.len() as u32;
        let wheelchair =
            noise::pseudo_random_share(noise::hash_two_numbers(self.key, u64::from(place))) > 0.12;
        self.places.push(StopPlace {
            id: String::new(),
            name,
            point,
            is_station: false,
            stops: Vec::new(),
            wheelchair,
        });
        place
    }

    /// Chooses a name from the district, a landmark, a park, or the crossing streets.
    fn choose_place_name(&mut self, node: u32, point: PlanePoint, along: u32) -> String {
        let landmarks = super::plan::LANDMARKS
            .iter()
            .filter(|(_, place)| place.distance_to(point) < LANDMARK_REACH)
            .map(|(name, _)| *name);
        let parks = self.geography.terrain.parks.iter().filter(|park| {
            park.name.is_some()
                && park.rings[0].iter().step_by(3).any(|p| p.distance_to(point) < 130.0)
        });
        let grand: Vec<&str> = landmarks.chain(parks.filter_map(|park| park.name)).collect();
        if let Some(name) = grand.into_iter().find(|name| self.names.reserve_stop_name(name)) {
            return name.to_owned();
        }
        let streets = self.street_names_at(node);
        let across =
            streets.iter().find(|(street, _)| *street != along).map(|(_, name)| name.clone());
        let here =
            streets.iter().find(|(street, _)| *street == along).map(|(_, name)| name.clone());
        let simple = across.clone().or_else(|| here.clone()).unwrap_or_else(|| "Halt".to_owned());
        let both = match (&across, &here) {
            (Some(across), Some(here)) if across != here => format!("{across} / {here}"),
            _ => simple.clone(),
        };
        let district = self.nearest_district_name(point);
        let choices = [
            simple.clone(),
            both.clone(),
            format!("{district}, {simple}"),
            format!("{district}, {both}"),
        ];
        match choices.into_iter().find(|name| self.names.reserve_stop_name(name)) {
            Some(name) => name,
            None => self.reserve_numbered_name(&format!("{district}, {simple}")),
        }
    }

    fn reserve_numbered_name(&mut self, name: &str) -> String {
        let numbered = (2..1_000).map(|n| format!("{name} {n}"));
        let mut numbered = numbered.filter(|name| self.names.reserve_stop_name(name));
        numbered.next().unwrap_or_else(|| name.to_owned())
    }

    fn street_names_at(&self, node: u32) -> Vec<(u32, String)> {
        let graph = &self.geography.graph;
        let mut streets: Vec<&StreetEdge> =
            graph.edges_at(node).iter().map(|e| &graph.edges[*e as usize]).collect();
        streets.sort_by_key(|edge| edge.class);
        streets
            .into_iter()
            .map(|edge| (edge.street, self.geography.street_names[edge.street as usize].clone()))
            .collect()
    }

    fn nearest_district_name(&self, point: PlanePoint) -> &'static str {
        let districts = self.geography.districts.iter();
        let nearest = districts
            .min_by(|a, b| a.position.distance_to(point).total_cmp(&b.position.distance_to(point)));
        nearest.map_or("", |district| district.name)
    }

    /// Returns the stop for a key; adds it at `point` for departures towards `direction` if missing.
    pub(crate) fn find_or_add_stop(
        &mut self,
        key: StopIdentity,
        place: u32,
        point: PlanePoint,
        direction: PlanePoint,
    ) -> u32 {
        if let Some(stop) = self.by_key.get(&key) {
            return *stop;
        }
        let platform = match &key {
            StopIdentity::Platform { sign, .. } => Some(sign.clone()),
            _ => None,
        };
        let stop = self.stops.len() as u32;
        let at_place = &mut self.places[place as usize];
        at_place.stops.push(stop);
        at_place.is_station |= platform.is_some();
        let kerb_fits =
            noise::pseudo_random_share(noise::hash_two_numbers(self.key, 0x4B00 + u64::from(stop)))
                > 0.08;
        let wheelchair = at_place.wheelchair && kerb_fits;
        let (id, code) = (String::new(), String::new());
        self.stops.push(Stop {
            id,
            code,
            place,
            point,
            platform,
            heading: compass_direction_word(direction),
            wheelchair,
        });
        self.by_key.insert(key, stop);
        stop
    }

    /// Assigns ids, stop codes, and letters for the kerbs of stations.
    pub(crate) fn assign_ids_and_finish(mut self) -> (Vec<StopPlace>, Vec<Stop>) {
        let mut number = 0;
        for place in &mut self.places {
            if place.stops.is_empty() {
                continue;
            }
            number += 1;
            place.id = format!("L{number:04}");
            place.is_station |= place.stops.len() >= STATION_STOPS_MIN;
            let mut letters = 'A'..='Z';
            for (i, stop) in place.stops.iter().enumerate() {
                let stop = &mut self.stops[*stop as usize];
                stop.id = format!("{}-{}", place.id, i + 1);
                stop.code = format!("{}", 10_000 + number * 20 + i);
                if place.is_station && stop.platform.is_none() {
                    stop.platform = letters.next().map(String::from);
                }
            }
        }
        (self.places, self.stops)
    }
}

fn compass_direction_word(direction: PlanePoint) -> &'static str {
    const WORDS: [&str; 8] = [
        "Northbound",
        "North-eastbound",
        "Eastbound",
        "South-eastbound",
        "Southbound",
        "South-westbound",
        "Westbound",
        "North-westbound",
    ];
    WORDS[((direction.compass_bearing() / 45.0).round() as usize) % 8]
}
