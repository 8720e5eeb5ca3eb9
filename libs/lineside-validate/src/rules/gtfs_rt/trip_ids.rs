//! The ids of a schedule's trips, which can be retained without the rest of the schedule.

use std::io::Read;

use lineside_formats::Error;

use super::schedule_index::{intern_ids_of_column, random_hash_seed};
use crate::{
    ValidationContext,
    cancel::{CancelToken, catch_cancel_unwind},
    gtfs::{DistinctTexts, GtfsFile, ScheduleFileSource, load_for_realtime_cancellable},
};

/// The ids of a schedule's trips, to check whether a message matches the schedule.
#[derive(Debug)]
pub struct ScheduleTripIds(pub(super) DistinctTexts);

impl Default for ScheduleTripIds {
    /// Returns an empty set.
    fn default() -> ScheduleTripIds {
        ScheduleTripIds(DistinctTexts::new(random_hash_seed()))
    }
}

impl ScheduleTripIds {
    /// Reads only the trip ids of a schedule, without opening other files. O(n) in the rows of `trips.txt`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened or inflated.
    pub fn read_trip_ids(
        source: &dyn ScheduleFileSource,
        context: &ValidationContext,
    ) -> Result<ScheduleTripIds, Error> {
        let read =
            ScheduleTripIds::read_trip_ids_cancellable(source, context, &CancelToken::default())?;
        Ok(read.unwrap_or_default())
    }

    /// Reads the trip ids of a schedule until cancelled. Returns `None` soon after it was cancelled.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened or inflated.
    pub fn read_trip_ids_cancellable(
        source: &dyn ScheduleFileSource,
        context: &ValidationContext,
        cancel: &CancelToken,
    ) -> Result<Option<ScheduleTripIds>, Error> {
        let mut feed =
            match load_for_realtime_cancellable(&TripsOnlySource(source), context, cancel) {
                _ if cancel.is_cancelled() => return Ok(None),
                read => read?,
            };
        feed.enable_cancellation(cancel);
        let ids = catch_cancel_unwind(|| intern_ids_of_column(&feed, GtfsFile::Trips, "trip_id"));
        Ok(ids.map(|mut ids| {
            ids.shrink_to_fit();
            ScheduleTripIds(ids)
        }))
    }

    /// Adds an id, if it is new.
    pub fn add_trip_id(&mut self, id: &str) {
        self.0.intern_text(id);
    }

    /// Returns true if a trip of the schedule has this id.
    pub fn has_trip_id(&self, id: &str) -> bool {
        self.0.find_text_code(id).is_some()
    }

    /// Returns the number of ids.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no ids.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A source that shows only `trips.txt` of a schedule.
struct TripsOnlySource<'a>(&'a dyn ScheduleFileSource);

impl ScheduleFileSource for TripsOnlySource<'_> {
    fn list_files(&self) -> Vec<(String, u64)> {
        let mut files = self.0.list_files();
        files.retain(|(name, _)| GtfsFile::from_name(name) == Some(GtfsFile::Trips));
        files
    }

    fn has_gtfs_files_in_subfolder(&self) -> bool {
        false
    }

    fn read_file_with(
        &self,
        name: &str,
        read: &mut dyn FnMut(Option<&mut dyn Read>),
    ) -> Result<(), Error> {
        self.0.read_file_with(name, read)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::Date;

    use super::*;
    use crate::{gtfs::InMemoryFiles, rules::gtfs_rt::ScheduleIndex};

    #[test]
    fn trip_ids_read_alone_equal_those_of_the_schedule() {
        let trips = "trip_id,route_id,service_id\nT1,R,W\nT2,R,W\nT1,R,W\n,R,W\n";
        let source = InMemoryFiles::default().with_file("trips.txt", trips);
        let context = ValidationContext { today: Date::ZERO, country: None, threads: 1 };
        let ids = ScheduleTripIds::read_trip_ids(&source, &context).unwrap();
        assert_eq!((ids.len(), ids.is_empty()), (2, false));
        assert!(
            ids.has_trip_id("T1")
                && ids.has_trip_id("T2")
                && !ids.has_trip_id("T3")
                && !ids.has_trip_id("")
        );
        assert_eq!(
            ScheduleIndex::read_and_index_schedule(&source, &context).unwrap().trip_ids().len(),
            2
        );
        let nothing = InMemoryFiles::default().with_file("stops.txt", "stop_id\nS\n");
        assert!(ScheduleTripIds::read_trip_ids(&nothing, &context).unwrap().is_empty());
    }

    #[test]
    fn duplicate_ids_are_added_once() {
        let mut ids = ScheduleTripIds::default();
        assert!(ids.is_empty());
        ["T1", "T2", "T1"].into_iter().for_each(|id| ids.add_trip_id(id));
        assert_eq!((ids.len(), ids.has_trip_id("T2")), (2, true));
    }

    #[test]
    fn reading_a_schedule_or_its_trip_ids_stops_when_cancelled() {
        let mut trips = "trip_id,route_id,service_id\n".to_owned();
        let mut times = "trip_id,stop_id,stop_sequence\n".to_owned();
        for trip in 0..5_000 {
            trips += &format!("T{trip},R,W\n");
            times += &format!("T{trip},S,1\n");
        }
        let source = InMemoryFiles::default()
            .with_file("trips.txt", trips)
            .with_file("stop_times.txt", times);
        let context = ValidationContext { today: Date::ZERO, country: None, threads: 1 };
        let prepared = |cancel: &CancelToken| {
            ScheduleIndex::read_and_index_until_cancelled(&source, &context, cancel)
                .unwrap()
                .map(|it| it.trip_ids().len())
        };
        let read_ids = |cancel: &CancelToken| {
            ScheduleTripIds::read_trip_ids_cancellable(&source, &context, cancel)
                .unwrap()
                .map(|it| it.len())
        };
        for read in [&prepared as &dyn Fn(&CancelToken) -> Option<usize>, &read_ids] {
            let whole = CancelToken::default();
            assert_eq!(read(&whole), Some(5_000));
            let n_checks = whole.check_count();
            assert!(n_checks > 5, "the token is checked between rows: {n_checks}");
            for at in [1, n_checks / 2, n_checks - 1] {
                let cancel = CancelToken::cancelled_after_checks(at);
                assert_eq!(read(&cancel), None, "cancelled at check {at} of {n_checks}");
                assert!(cancel.check_count() <= at + 3, "{} of {at}", cancel.check_count());
            }
        }
    }
}
