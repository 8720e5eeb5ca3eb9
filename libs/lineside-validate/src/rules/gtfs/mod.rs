//! The rules over GTFS schedules, in families: one file for each rule, one page for each kind of
//! notice.

mod basics;
mod fares;
mod flex;
mod lines;
mod places;
mod service;
mod shapes;

use super::{Rule, SystemError};
use crate::{
    Context, Notices, Stop,
    gtfs::{self, Feed, File, Source},
    notice::Kind,
};

/// A rule over a schedule.
pub type GtfsRule = Rule<Feed, File>;

/// All rules. The families that take longest stand first, so that threads end together.
pub fn rules() -> impl Iterator<Item = &'static GtfsRule> {
    let families = [
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

/// All kinds of notices that a schedule may get.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    gtfs::simple::KINDS
        .iter()
        .chain(gtfs::zones::KINDS)
        .copied()
        .chain(rules().flat_map(|rule| rule.kinds.iter().copied()))
}

/// Reads a schedule and runs all rules over it.
///
/// # Errors
///
/// If a file cannot be opened or inflated.
pub fn validate(
    source: &dyn Source,
    context: &Context,
    notices: &mut Notices,
) -> Result<(Feed, Vec<SystemError>), lineside_formats::Error> {
    let mut feed = gtfs::load(source, context, notices)?;
    let errors = judge(&mut feed, context, None, notices);
    Ok((feed, errors))
}

/// The same until it is stopped: it ends within a moment then, and gives nothing. What was found so far is not all, and
/// tells nothing.
///
/// # Errors
///
/// If a file cannot be opened or inflated.
pub fn validate_until(
    source: &dyn Source,
    context: &Context,
    stop: &Stop,
    notices: &mut Notices,
) -> Result<Option<(Feed, Vec<SystemError>)>, lineside_formats::Error> {
    let mut feed = match gtfs::load_until(source, context, stop, notices) {
        // What was stopped there looks like a file that breaks off.
        _ if stop.is_stopped() => return Ok(None),
        read => read?,
    };
    let errors = judge(&mut feed, context, Some(stop), notices);
    Ok((!stop.is_stopped()).then_some((feed, errors)))
}

fn judge(
    feed: &mut Feed,
    context: &Context,
    stop: Option<&Stop>,
    notices: &mut Notices,
) -> Vec<SystemError> {
    if let Some(stop) = stop {
        feed.hold(stop);
    }
    let usable = |rule: &&GtfsRule| rule.files.iter().all(|&file| feed.is_usable(file));
    let rules: Vec<&'static GtfsRule> = rules().filter(usable).collect();
    let errors = super::run(&rules, &*feed, context, notices);
    feed.let_go();
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
    use crate::gtfs::TextSource;

    const CONTEXT: Context = Context { today: date(2026, 6, 15), country: None, threads: 2 };
    /// Rows that rules without an end have gone through.
    static SEEN: AtomicU64 = AtomicU64::new(0);

    static BY_ROWS: GtfsRule = GtfsRule {
        kinds: &[],
        files: &[],
        check: |feed, _, _| loop {
            for _ in feed.table(File::StopTimes).rows() {
                SEEN.fetch_add(1, Ordering::Relaxed);
            }
        },
    };
    static BY_GROUPS: GtfsRule = GtfsRule {
        kinds: &[],
        files: &[],
        check: |feed, _, _| loop {
            for (_, rows) in feed.groups(File::StopTimes, "trip_id").iter() {
                SEEN.fetch_add(rows.len() as u64, Ordering::Relaxed);
            }
        },
    };

    fn source() -> TextSource {
        let mut text = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n".to_owned();
        for row in 0..20_000 {
            text += &format!("T{},08:00:00,08:00:00,S1,{}\n", row / 40, row % 40);
        }
        TextSource::default().with("stop_times.txt", text)
    }

    #[test]
    fn rules_that_never_end_are_stopped_and_are_no_fault() {
        let (stop, source) = (Stop::default(), source());
        let mut feed = gtfs::load(&source, &CONTEXT, &mut Notices::new(0)).unwrap();
        feed.hold(&stop);
        let errors = thread::scope(|scope| {
            let run = || {
                let rules = [&BY_ROWS, &BY_GROUPS, &BY_ROWS];
                crate::rules::run(&rules, &feed, &CONTEXT, &mut Notices::new(0))
            };
            let running = scope.spawn(run);
            while SEEN.load(Ordering::Relaxed) < 1_000_000 {
                thread::yield_now();
            }
            stop.stop();
            running.join().unwrap()
        });
        assert_eq!(errors, []);
        // Who asks afterwards is no rule, and is not stopped.
        feed.let_go();
        assert_eq!(feed.table(File::StopTimes).rows().map(u64::from).max(), Some(19_999));
        assert_eq!(feed.groups(File::StopTimes, "trip_id").rows(0).len(), 40);
    }

    /// Stops the look when a file is opened.
    struct Closing<'a>(TextSource, &'a Stop);

    impl Source for Closing<'_> {
        fn list(&self) -> Vec<(String, u64)> {
            self.0.list()
        }

        fn has_nested(&self) -> bool {
            false
        }

        fn read(
            &self,
            name: &str,
            read: &mut dyn FnMut(Option<&mut dyn Read>),
        ) -> Result<(), lineside_formats::Error> {
            self.1.stop();
            self.0.read(name, read)
        }
    }

    #[test]
    fn a_look_that_was_stopped_gives_nothing() {
        for threads in [1, 2] {
            let (stop, context) = (Stop::default(), Context { threads, ..CONTEXT });
            let mut notices = Notices::new(1);
            let looked = validate_until(&source(), &context, &stop, &mut notices).unwrap();
            assert!(looked.is_some() && notices.get("missing_required_file").is_some());
            let source = Closing(source(), &stop);
            let looked = validate_until(&source, &context, &stop, &mut Notices::new(1));
            assert!(looked.unwrap().is_none());
        }
    }
}
