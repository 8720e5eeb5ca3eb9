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
    use lineside_testkit::TestSchedule;

    const STOPS: &str = "\
stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station
s,Central,59.9,10.7,1,
p1,Central,59.9,10.7,0,s
p2,Central,59.9,10.7,0,s
n,North,59.95,10.7,0,
e,East,59.9,10.8,0,
";

    #[test]
    fn a_station_lists_the_last_stops_of_its_trips_but_not_itself() {
        let timetable = TestSchedule::new("Europe/Oslo")
            .table("stops.txt", STOPS)
            .trip("north", "e 08:00, p1 08:10, n 08:20")
            .trip("north-short", "p1 08:10, n 08:20")
            .trip("east", "p2 08:00, e 08:10")
            .trip("back", "n 08:00, p2 08:10")
            .timetable();
        let towards = |id| list_last_stops(&timetable, timetable.find_stop(id).expect("a stop"));
        assert_eq!(towards("s"), ["North", "East"], "two patterns go north, one goes east");
        assert_eq!(towards("p2"), ["East"], "a trip that ends here has no later stop");
        assert_eq!(towards("n"), ["Central"]);
    }
}
