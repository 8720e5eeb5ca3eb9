//! Last stops of the trips that leave a stop, which distinguish two stops of the same name.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lineside_formats::gtfs::{StopIdx, Timetable};

/// Largest number of last stops listed for a stop.
const LAST_STOPS_MAX: usize = 4;

/// Returns the names of the last stops of the patterns that leave a stop or station, those of the most patterns first;
/// at most four.
pub fn list_last_stops(timetable: &Timetable, stop: StopIdx) -> Vec<String> {
    let own = timetable.stop_and_descendants(stop);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for &pattern in own.iter().flat_map(|&stop| timetable.patterns_at_stop(stop)) {
        let last = timetable.pattern_stops(pattern).last();
        if let Some(last) = last.filter(|last| !own.contains(last)) {
            *counts.entry(timetable.stop(last).name).or_default() += 1;
        }
    }
    let mut names: Vec<(&str, usize)> = counts.into_iter().collect();
    names.sort_by_key(|&(_, count)| Reverse(count));
    names.into_iter().take(LAST_STOPS_MAX).map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lineside_testkit::load_test_timetable;

    const TABLES: &str = "\
# stops.txt
stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station
s,Central,59.9,10.7,1,
p1,Central,59.9,10.7,0,s
p2,Central,59.9,10.7,0,s
n,North,59.95,10.7,0,
e,East,59.9,10.8,0,
# trips.txt
route_id,service_id,trip_id
r,d,north
r,d,north-short
r,d,east
r,d,back
# stop_times.txt
trip_id,arrival_time,departure_time,stop_id,stop_sequence
north,08:00:00,08:00:00,e,1
north,08:10:00,08:10:00,p1,2
north,08:20:00,08:20:00,n,3
north-short,08:10:00,08:10:00,p1,1
north-short,08:20:00,08:20:00,n,2
east,08:00:00,08:00:00,p2,1
east,08:10:00,08:10:00,e,2
back,08:00:00,08:00:00,n,1
back,08:10:00,08:10:00,p2,2
";

    #[test]
    fn a_station_lists_the_last_stops_of_its_trips_but_not_itself() {
        let timetable = load_test_timetable(TABLES);
        let towards = |id| list_last_stops(&timetable, timetable.find_stop(id).expect("a stop"));
        assert_eq!(towards("s"), ["North", "East"], "two patterns go north, one goes east");
        assert_eq!(towards("p2"), ["East"], "a trip that ends here has no later stop");
        assert_eq!(towards("n"), ["Central"]);
    }
}
