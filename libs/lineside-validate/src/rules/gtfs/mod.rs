//! Rules over GTFS schedules, in families: one file for each rule, and one page for each kind of notice.

mod basics;
mod fares;
mod flex;
mod lines;
mod places;
mod row_files;
mod service;
mod shapes;
mod incomplete_files;

pub use self::{
    incomplete_files::{IncompleteFile, MissingFilePart},
    row_files::file_of_notice_line_numbers,
};
use super::{ValidationRule, ValidatorFault};
use crate::{
    CancelToken, Notices, ValidationContext,
    gtfs::{self, GtfsFeed, GtfsFile, ScheduleFileSource},
    notice::NoticeKind,
};

/// A rule over a schedule.
pub type GtfsRule = ValidationRule<GtfsFeed, GtfsFile>;

/// Returns all rules. The slowest come first, so that all threads end at about the same time. The first ones join the
/// rows of each trip; the last ones need no join, so they do not wait for one.
pub fn gtfs_rules() -> impl Iterator<Item = &'static GtfsRule> {
    let families = [
        shapes::LONG_RULES,
        basics::LONG_RULES,
        service::LONG_RULES,
        shapes::RULES,
        service::RULES,
        basics::RULES,
        places::RULES,
        lines::RULES,
        fares::RULES,
        flex::RULES,
    ];
    families.into_iter().flatten().copied()
}

/// Returns all kinds of notices about a schedule.
pub fn schedule_notice_kinds() -> impl Iterator<Item = &'static NoticeKind> {
    gtfs::simple::KINDS
        .iter()
        .chain(gtfs::zones::KINDS)
        .copied()
        .chain(gtfs_rules().flat_map(|rule| rule.kinds.iter().copied()))
}

/// Reads a schedule and runs all rules over it.
///
/// # Errors
///
/// Returns an error if a file cannot be opened or inflated.
pub fn validate_schedule(
    source: &dyn ScheduleFileSource,
    context: &ValidationContext,
    notices: &mut Notices,
) -> Result<(GtfsFeed, Vec<ValidatorFault>), lineside_formats::Error> {
    let mut feed = gtfs::load_schedule(source, context, notices)?;
    let errors = run_gtfs_rules(&mut feed, context, None, notices);
    Ok((feed, errors))
}

/// Reads a schedule and runs all rules over it until cancelled. Returns `None` soon after it was cancelled; the notices
/// are then incomplete and should be discarded.
///
/// # Errors
///
/// Returns an error if a file cannot be opened or inflated.
pub fn validate_schedule_cancellable(
    source: &dyn ScheduleFileSource,
    context: &ValidationContext,
    cancel: &CancelToken,
    notices: &mut Notices,
) -> Result<Option<(GtfsFeed, Vec<ValidatorFault>)>, lineside_formats::Error> {
    let mut feed = match gtfs::load_schedule_cancellable(source, context, cancel, notices) {
        // A cancelled read looks like a truncated file.
        _ if cancel.is_cancelled() => return Ok(None),
        read => read?,
    };
    let errors = run_gtfs_rules(&mut feed, context, Some(cancel), notices);
    Ok((!cancel.is_cancelled()).then_some((feed, errors)))
}

fn run_gtfs_rules(
    feed: &mut GtfsFeed,
    context: &ValidationContext,
    cancel: Option<&CancelToken>,
    notices: &mut Notices,
) -> Vec<ValidatorFault> {
    if let Some(stop) = cancel {
        feed.enable_cancellation(stop);
    }
    let usable = |rule: &&GtfsRule| rule.files.iter().all(|&file| feed.can_rules_use_file(file));
    let rules: Vec<&'static GtfsRule> = gtfs_rules().filter(usable).collect();
    let errors = super::run_validation_rules(&rules, &*feed, context, notices);
    feed.disable_cancellation();
    errors
}

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        sync::atomic::{AtomicU64, Ordering},
        thread,
    };

    use jiff::civil::date;

    use super::*;
    use crate::gtfs::InMemoryFiles;

    const CONTEXT: ValidationContext =
        ValidationContext { today: date(2026, 6, 15), country: None, threads: 2 };
    /// The number of rows that the endless rules have visited.
    static SEEN: AtomicU64 = AtomicU64::new(0);

    static BY_ROWS: GtfsRule = GtfsRule {
        kinds: &[],
        files: &[],
        check: |feed, _, _| loop {
            for _ in feed.table(GtfsFile::StopTimes).row_numbers() {
                SEEN.fetch_add(1, Ordering::Relaxed);
            }
        },
    };
    static BY_GROUPS: GtfsRule = GtfsRule {
        kinds: &[],
        files: &[],
        check: |feed, _, _| loop {
            for (_, rows) in feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id").iter() {
                SEEN.fetch_add(rows.len() as u64, Ordering::Relaxed);
            }
        },
    };

    fn source() -> InMemoryFiles {
        let mut text = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n".to_owned();
        for row in 0..20_000 {
            text += &format!("T{},08:00:00,08:00:00,S1,{}\n", row / 40, row % 40);
        }
        InMemoryFiles::default().with_file("stop_times.txt", text)
    }

    #[test]
    fn endless_rules_are_cancelled_without_an_error() {
        let (cancel, source) = (CancelToken::default(), source());
        let mut feed = gtfs::load_schedule(&source, &CONTEXT, &mut Notices::new(0)).unwrap();
        feed.enable_cancellation(&cancel);
        let errors = thread::scope(|scope| {
            let run = || {
                let rules = [&BY_ROWS, &BY_GROUPS, &BY_ROWS];
                crate::rules::run_validation_rules(&rules, &feed, &CONTEXT, &mut Notices::new(0))
            };
            let running = scope.spawn(run);
            while SEEN.load(Ordering::Relaxed) < 1_000_000 {
                thread::yield_now();
            }
            cancel.cancel();
            running.join().unwrap()
        });
        assert_eq!(errors, []);
        // Later readers are not rules, and are not cancelled.
        feed.disable_cancellation();
        assert_eq!(
            feed.table(GtfsFile::StopTimes).row_numbers().map(u64::from).max(),
            Some(19_999)
        );
        assert_eq!(
            feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id").rows_with_text_code(0).len(),
            40
        );
    }

    /// Returns schedules with one zone, two zones and one trip, each of which takes long to check.
    fn long() -> [(&'static str, InMemoryFiles); 3] {
        const N: i32 = 800;
        let comb = |id: &str, place: &dyn Fn(i32, i32) -> (i32, i32)| {
            let tooth = |y: i32| [(0, y), (8 * N, y), (8 * N, y + 1), (0, y + 1)];
            let corners = (0..N).flat_map(|at| tooth(4 * at));
            let corners = corners.chain([(-8, 4 * N), (-8, 0), (0, 0)]);
            let corners: Vec<(i32, i32)> = corners.map(|(x, y)| place(x, y)).collect();
            format!(
                r#"{{"type":"Feature","id":"{id}","properties":{{}},"geometry":
                {{"type":"Polygon","coordinates":[{corners:?}]}}}}"#
            )
            .replace('(', "[")
            .replace(')', "]")
        };
        let collection = |features: &[String]| {
            let features = features.join(",");
            format!(r#"{{"type":"FeatureCollection","features":[{features}]}}"#)
        };
        let slanted = comb("Z1", &|x, y| (x - y, x + y));
        let between = comb("Z2", &|x, y| (8 * N + 3 - x - y, 8 * N + 7 - x + y));
        let rides = "trip_id,stop_sequence,location_id,start_pickup_drop_off_window,\
                     end_pickup_drop_off_window\n\
                     T1,1,Z1,08:00:00,09:00:00\nT1,2,Z2,08:00:00,09:00:00\n";
        let base = InMemoryFiles::default()
            .with_file(
                "agency.txt",
                "agency_name,agency_url,agency_timezone\nA,https://a.example,UTC\n",
            )
            .with_file("routes.txt", "route_id,route_short_name,route_type\nR1,1,3\n")
            .with_file("trips.txt", "route_id,service_id,trip_id,shape_id\nR1,W1,T1,H1\n");
        let (mut stops, mut times) = ("stop_id,stop_lat,stop_lon\n".to_owned(), String::new());
        for at in 0..3_000 {
            stops += &format!("S{at},{},10.5\n", 59.0 + 0.001 * f64::from(at));
            times += &format!("T1,S{at},{at}\n");
        }
        let shape = "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence\n\
                     H1,59.0,10.0,1\nH1,60.0,10.0,2\nH1,62.0,10.0,3\n";
        let trip = base.clone().with_file("stops.txt", stops).with_file("shapes.txt", shape);
        let zones = base.clone().with_file("stop_times.txt", rides);
        [
            (
                "zone",
                base.with_file("locations.geojson", collection(std::slice::from_ref(&slanted))),
            ),
            ("zones", zones.with_file("locations.geojson", collection(&[slanted, between]))),
            (
                "trip",
                trip.with_file("stop_times.txt", format!("trip_id,stop_id,stop_sequence\n{times}")),
            ),
        ]
    }

    #[test]
    fn a_validation_is_cancelled_within_a_zone_or_a_trip() {
        let context = ValidationContext { threads: 1, ..CONTEXT };
        let mut check_counts = Vec::new();
        for (name, source) in long() {
            let cancel = CancelToken::default();
            let result =
                validate_schedule_cancellable(&source, &context, &cancel, &mut Notices::new(1));
            let (_, errors) = result.unwrap().unwrap();
            assert_eq!(errors, [], "{name}");
            let n_checks = cancel.check_count();
            check_counts.push(n_checks);
            for stopped_at in [n_checks / 4, n_checks * 3 / 4] {
                let cancel = CancelToken::cancelled_after_checks(stopped_at);
                let result =
                    validate_schedule_cancellable(&source, &context, &cancel, &mut Notices::new(1));
                assert!(result.unwrap().is_none(), "{name}");
                // Each rule checks the token once more and ends.
                let more = cancel.check_count() - stopped_at;
                assert!(
                    more < 300,
                    "{name}: checked the token {more} times after it was cancelled"
                );
            }
        }
        // The second schedule checks each of two zones, and their overlap.
        let [zone, zones, trip] = check_counts[..] else { panic!("{check_counts:?}") };
        assert!(zone > 1_000 && zones > 3 * zone && trip > 3_000, "{check_counts:?}");
    }

    /// A source that cancels the run when a file is opened.
    struct Closing<'a>(InMemoryFiles, &'a CancelToken);

    impl ScheduleFileSource for Closing<'_> {
        fn list_files(&self) -> Vec<(String, u64)> {
            self.0.list_files()
        }

        fn has_gtfs_files_in_subfolder(&self) -> bool {
            false
        }

        fn read_file_with(
            &self,
            name: &str,
            read: &mut dyn FnMut(Option<&mut dyn Read>),
        ) -> Result<(), lineside_formats::Error> {
            self.1.cancel();
            self.0.read_file_with(name, read)
        }
    }

    #[test]
    fn a_cancelled_validation_returns_nothing() {
        for threads in [1, 2] {
            let (stop, context) =
                (CancelToken::default(), ValidationContext { threads, ..CONTEXT });
            let mut notices = Notices::new(1);
            let result =
                validate_schedule_cancellable(&source(), &context, &stop, &mut notices).unwrap();
            assert!(result.is_some() && notices.get("missing_required_file").is_some());
            let source = Closing(source(), &stop);
            let result =
                validate_schedule_cancellable(&source, &context, &stop, &mut Notices::new(1));
            assert!(result.unwrap().is_none());
        }
    }
}
