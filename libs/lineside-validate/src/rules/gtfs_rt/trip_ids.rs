//! The ids of a schedule's trips, which may be kept when the rest of it has gone.

use std::io::Read;

use lineside_formats::Error;

use super::timetable::{dict_of, seed};
use crate::{
    Context,
    gtfs::{Dict, File, Source, load_for_messages_until},
    stop::{Stop, until_stopped},
};

/// The ids of a schedule's trips: what tells whether a message is about it.
#[derive(Debug)]
pub struct TripIds(pub(super) Dict);

impl Default for TripIds {
    /// None.
    fn default() -> TripIds {
        TripIds(Dict::new(seed()))
    }
}

impl TripIds {
    /// Reads those of a schedule of which nothing else is asked: its other files are not opened. O(n) in the rows of `trips.txt`.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened or inflated.
    pub fn read(source: &dyn Source, context: &Context) -> Result<TripIds, Error> {
        let read = TripIds::read_until(source, context, &Stop::default())?;
        Ok(read.unwrap_or_default())
    }

    /// The same until it is stopped: it ends within a moment then, and gives nothing.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened or inflated.
    pub fn read_until(
        source: &dyn Source,
        context: &Context,
        stop: &Stop,
    ) -> Result<Option<TripIds>, Error> {
        let mut feed = match load_for_messages_until(&Trips(source), context, stop) {
            _ if stop.is_stopped() => return Ok(None),
            read => read?,
        };
        feed.hold(stop);
        let ids = until_stopped(|| dict_of(&feed, File::Trips, "trip_id"));
        Ok(ids.map(|mut ids| {
            ids.shrink();
            TripIds(ids)
        }))
    }

    /// Adds one, if it is not there.
    pub fn add(&mut self, id: &str) {
        self.0.add(id);
    }

    /// Whether a trip of the schedule has this id.
    pub fn has(&self, id: &str) -> bool {
        self.0.find(id).is_some()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A schedule of which only the trips are there.
struct Trips<'a>(&'a dyn Source);

impl Source for Trips<'_> {
    fn list(&self) -> Vec<(String, u64)> {
        let mut files = self.0.list();
        files.retain(|(name, _)| File::of_name(name) == Some(File::Trips));
        files
    }

    fn has_nested(&self) -> bool {
        false
    }

    fn read(&self, name: &str, read: &mut dyn FnMut(Option<&mut dyn Read>)) -> Result<(), Error> {
        self.0.read(name, read)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::Date;

    use super::*;
    use crate::{gtfs::TextSource, rules::gtfs_rt::Timetable};

    #[test]
    fn the_trips_alone_are_read_and_are_those_of_the_whole() {
        let trips = "trip_id,route_id,service_id\nT1,R,W\nT2,R,W\nT1,R,W\n,R,W\n";
        let source = TextSource::default().with("trips.txt", trips);
        let context = Context { today: Date::ZERO, country: None, threads: 1 };
        let ids = TripIds::read(&source, &context).unwrap();
        assert_eq!((ids.len(), ids.is_empty()), (2, false));
        assert!(ids.has("T1") && ids.has("T2") && !ids.has("T3") && !ids.has(""));
        assert_eq!(Timetable::read(&source, &context).unwrap().trip_ids().len(), 2);
        let nothing = TextSource::default().with("stops.txt", "stop_id\nS\n");
        assert!(TripIds::read(&nothing, &context).unwrap().is_empty());
    }

    #[test]
    fn ids_are_added_once() {
        let mut ids = TripIds::default();
        assert!(ids.is_empty());
        ["T1", "T2", "T1"].into_iter().for_each(|id| ids.add(id));
        assert_eq!((ids.len(), ids.has("T2")), (2, true));
    }

    #[test]
    fn a_schedule_that_is_prepared_or_asked_for_its_trips_is_let_go_of_when_stopped() {
        let mut trips = "trip_id,route_id,service_id\n".to_owned();
        let mut times = "trip_id,stop_id,stop_sequence\n".to_owned();
        for trip in 0..5_000 {
            trips += &format!("T{trip},R,W\n");
            times += &format!("T{trip},S,1\n");
        }
        let source = TextSource::default().with("trips.txt", trips).with("stop_times.txt", times);
        let context = Context { today: Date::ZERO, country: None, threads: 1 };
        let prepared = |stop: &Stop| {
            Timetable::read_until(&source, &context, stop).unwrap().map(|it| it.trip_ids().len())
        };
        let asked =
            |stop: &Stop| TripIds::read_until(&source, &context, stop).unwrap().map(|it| it.len());
        for read in [&prepared as &dyn Fn(&Stop) -> Option<usize>, &asked] {
            let whole = Stop::default();
            assert_eq!(read(&whole), Some(5_000));
            let asks = whole.asked();
            assert!(asks > 5, "it is asked as rows go by: {asks}");
            for at in [1, asks / 2, asks - 1] {
                let stop = Stop::after(at);
                assert_eq!(read(&stop), None, "stopped at {at} of {asks}");
                assert!(stop.asked() <= at + 3, "{} of {at}", stop.asked());
            }
        }
    }
}
