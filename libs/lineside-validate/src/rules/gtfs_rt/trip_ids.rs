//! The ids of a schedule's trips, which may be kept when the rest of it has gone.

use std::io::Read;

use lineside_formats::Error;

use super::timetable::{dict_of, seed};
use crate::{
    Context,
    gtfs::{Dict, File, Source, load_for_messages},
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
        let feed = load_for_messages(&Trips(source), context)?;
        let mut ids = dict_of(&feed, File::Trips, "trip_id");
        ids.shrink();
        Ok(TripIds(ids))
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
}
