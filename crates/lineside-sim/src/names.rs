//! Names for streets and stops: enough that a whole city has few duplicates.

use std::collections::HashSet;

use crate::street_class::StreetClass;

const STEMS: [&str; 188] = [
    "Alder",
    "Anchor",
    "Apple",
    "Ash",
    "Baker",
    "Barley",
    "Beacon",
    "Beech",
    "Bell",
    "Birch",
    "Bishop",
    "Blackthorn",
    "Bower",
    "Bramble",
    "Brewer",
    "Broom",
    "Bull",
    "Canon",
    "Candle",
    "Capstan",
    "Carter",
    "Cedar",
    "Chandler",
    "Chapel",
    "Cherry",
    "Chestnut",
    "Cloth",
    "Cobble",
    "Compass",
    "Cooper",
    "Copper",
    "Coral",
    "Corn",
    "Crane",
    "Cross",
    "Curlew",
    "Dean",
    "Dial",
    "Dove",
    "Dragon",
    "Draper",
    "Dyer",
    "Eagle",
    "Elder",
    "Elm",
    "Falcon",
    "Feather",
    "Fennel",
    "Fern",
    "Ferryman",
    "Finch",
    "Fisher",
    "Flax",
    "Fletcher",
    "Forge",
    "Fountain",
    "Fox",
    "Friar",
    "Fuller",
    "Garden",
    "Garnet",
    "Gilder",
    "Glover",
    "Granary",
    "Grove",
    "Gull",
    "Hawthorn",
    "Hazel",
    "Heather",
    "Heron",
    "Holly",
    "Honey",
    "Hop",
    "Horn",
    "Iron",
    "Ivy",
    "Jasmine",
    "Jetty",
    "Juniper",
    "Keel",
    "Kestrel",
    "Lace",
    "Lantern",
    "Larch",
    "Laurel",
    "Lavender",
    "Lilac",
    "Lime",
    "Linden",
    "Linen",
    "Lion",
    "Loom",
    "Mallow",
    "Manor",
    "Maple",
    "Mason",
    "Meadow",
    "Mercer",
    "Mill",
    "Minster",
    "Mint",
    "Monk",
    "Mulberry",
    "Myrtle",
    "Oak",
    "Olive",
    "Orchard",
    "Osier",
    "Otter",
    "Owl",
    "Paper",
    "Partridge",
    "Pear",
    "Pepper",
    "Pilgrim",
    "Pilot",
    "Pine",
    "Plum",
    "Poplar",
    "Potter",
    "Primrose",
    "Prior",
    "Quarry",
    "Quince",
    "Raven",
    "Reed",
    "Robin",
    "Rope",
    "Rose",
    "Rowan",
    "Rush",
    "Saddler",
    "Saffron",
    "Sage",
    "Sail",
    "Salt",
    "Sandpiper",
    "Ship",
    "Silk",
    "Silver",
    "Skinner",
    "Smith",
    "Spice",
    "Spinner",
    "Spring",
    "Starling",
    "Stone",
    "Swan",
    "Sycamore",
    "Tailor",
    "Tallow",
    "Tanner",
    "Tern",
    "Thistle",
    "Thorn",
    "Tide",
    "Timber",
    "Tower",
    "Trinity",
    "Vine",
    "Violet",
    "Wagon",
    "Walnut",
    "Warden",
    "Weaver",
    "Well",
    "Wheat",
    "Wheel",
    "Wick",
    "Willow",
    "Windmill",
    "Wool",
    "Wren",
    "Yarrow",
    "Yew",
    "Admiral",
    "Bittern",
    "Bridle",
    "Clover",
    "Cutler",
    "Harper",
    "Hunter",
    "Merchant",
    "Osprey",
    "Plover",
    "Ridge",
    "Sluice",
    "Tinder",
];

/// The names of the main roads, in the plan's order.
const MAIN_ROADS: [&str; 16] = [
    "Kingsway",
    "Ravenby Road",
    "Easterby Road",
    "Ullerby Road",
    "Lakeside Road",
    "Bishop's Way",
    "Minster Street",
    "Norwick Road",
    "Lindwell Road",
    "Market Road",
    "Harbour Road",
    "Minster Bridge Road",
    "Queen's Drive",
    "Skelby Road",
    "Westerness Road",
    "Airport Road",
];

/// The names of streets along the water.
const QUAYS: [&str; 12] = [
    "Minster Quay",
    "Herring Quay",
    "Tar Quay",
    "Lindside",
    "Fishwives' Quay",
    "North Strand",
    "South Strand",
    "Customs Quay",
    "Salt Quay",
    "West Parade",
    "Lamplighters' Quay",
    "Sealers' Quay",
];

const AVENUES: [&str; 6] = ["Road", "Avenue", "Drive", "Way", "Parade", "Road"];
const COLLECTORS: [&str; 8] = ["Street", "Lane", "Street", "Row", "Gate", "Hill", "Street", "Walk"];
const LANES: [&str; 4] = ["Lane", "Moor", "Lane", "Bank"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreetNamingKind {
    /// A main road with its index in the plan.
    Main(usize),
    Quay,
    Other(StreetClass),
}

/// A generator of names that are distinct as long as possible.
#[derive(Debug)]
pub(crate) struct NamePool {
    rng: fastrand::Rng,
    taken: HashSet<String>,
    quays: usize,
}

impl NamePool {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: fastrand::Rng::with_seed(seed), taken: HashSet::new(), quays: 0 }
    }

    pub(crate) fn next_street_name(&mut self, kind: StreetNamingKind) -> String {
        let endings: &[&str] = match kind {
            StreetNamingKind::Main(i) => return MAIN_ROADS[i % MAIN_ROADS.len()].to_owned(),
            StreetNamingKind::Quay => {
                self.quays += 1;
                match QUAYS.get(self.quays - 1) {
                    Some(name) => return (*name).to_owned(),
                    None => &["Quay"],
                }
            }
            StreetNamingKind::Other(
                StreetClass::Main | StreetClass::Avenue | StreetClass::Motorway,
            ) => &AVENUES,
            StreetNamingKind::Other(StreetClass::Collector | StreetClass::Street) => &COLLECTORS,
            StreetNamingKind::Other(StreetClass::Lane) => &LANES,
        };
        self.next_unique_name(endings)
    }

    fn next_unique_name(&mut self, endings: &[&str]) -> String {
        let mut name = String::new();
        for attempt in 0..40 {
            let stem = STEMS[self.rng.usize(..STEMS.len())];
            let ending = endings[self.rng.usize(..endings.len())];
            // Two-part names follow once the simple ones run out.
            name = if attempt < 12 {
                format!("{stem} {ending}")
            } else {
                format!(
                    "{stem} {} {ending}",
                    ["Hill", "Croft", "Mead", "Garth"][self.rng.usize(..4)]
                )
            };
            if self.taken.insert(name.clone()) {
                break;
            }
        }
        name
    }

    /// Reserves a name for a stop. Returns false if it is taken.
    pub(crate) fn reserve_stop_name(&mut self, name: &str) -> bool {
        self.taken.insert(format!("stop: {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_streets_have_almost_only_unique_names() {
        let mut names = NamePool::new(1);
        let kinds = [StreetClass::Avenue, StreetClass::Collector, StreetClass::Lane];
        let all: HashSet<String> = (0..1_000)
            .map(|i| names.next_street_name(StreetNamingKind::Other(kinds[i % 3])))
            .collect();
        assert!(all.len() > 990, "{} names", all.len());
    }
}
