//! Checks GTFS schedules.

use bytes::Bytes;
use lineside_formats::Format;
use lineside_formats::gtfs::DatasetLimits;
use lineside_validate::gtfs::{CancellableFileSource, GtfsFile, ScheduleFileSource, ZipFileSource};
use lineside_validate::report::{self, FeedSummary, ValidationRunFacts};
use lineside_validate::rules::gtfs::{self, IncompleteFile};
use lineside_validate::{Notices, ValidationContext};

use super::progress::ProgressSource;
use super::{
    CheckPlan, CheckProgress, CheckReport, STOPPED, check_schedule_memory, finding_places,
    findings_from, raw_rows, unsupported_input,
};

pub(super) fn check_gtfs(
    body: &Bytes,
    plan: CheckPlan,
    progress: &CheckProgress,
    elapsed: &dyn Fn() -> f64,
) -> Result<CheckReport, String> {
    check_schedule_memory(body, &plan)?;
    let source =
        ZipFileSource::new(body, &DatasetLimits::default()).map_err(|error| error.to_string())?;
    let listed = source.list_files();
    if !source.has_gtfs_files_in_subfolder()
        && !listed.iter().any(|(name, _)| GtfsFile::from_name(name).is_some())
    {
        let names = listed.iter().map(|(name, _)| name.as_str());
        unsupported_input::describe_nested_zips(names).map_or(Ok(()), Err)?;
    }
    progress.expect_bytes(listed.iter().map(|(_, size)| size).sum());
    let files = source.clone();
    let source = ProgressSource::new(source, progress);
    let context =
        ValidationContext { today: plan.today, country: plan.country, threads: plan.threads };
    let mut notices = Notices::new(plan.samples);
    let inspection = gtfs::validate_schedule_cancellable(
        &source,
        &context,
        progress.cancel_token(),
        &mut notices,
    );
    let (feed, errors) = inspection.map_err(|error| error.to_string())?.ok_or(STOPPED)?;
    let mut checked = CheckReport::new(Format::Gtfs, plan, findings_from(&notices));
    if checked.plan.has_places {
        checked.outline = finding_places::stop_outline(&feed);
        finding_places::fill_places(&feed, &mut checked.findings);
        let files = CancellableFileSource::new(&files, progress.cancel_token());
        checked.rows = raw_rows::read_raw_rows(&files, &checked.findings);
    }
    checked.seconds = elapsed();
    let run = ValidationRunFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        at: checked.plan.at.clone(),
        input: checked.plan.input.clone(),
        threads: context.threads,
        output: checked.plan.output.clone(),
        country: context.country,
        today: context.today,
        seconds: checked.seconds,
    };
    let counts = report::EntityCounts::count_feed_entities(&feed);
    checked.counts = vec![
        ("agencies", counts.agencies),
        ("routes", counts.routes),
        ("trips", counts.trips),
        ("blocks", counts.blocks),
        ("stops", counts.stops),
        ("shapes", counts.shapes),
    ];
    checked.summary = Some(FeedSummary::new(&feed, &run));
    checked.unread = IncompleteFile::incomplete_files_of_feed(&feed);
    checked.errors = errors;
    Ok(checked)
}
