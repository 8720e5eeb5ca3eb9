//! Checks GTFS schedules.

use bytes::Bytes;
use lineside_formats::Format;
use lineside_formats::gtfs::DatasetLimits;
use lineside_validate::gtfs::{CancellableFileSource, GtfsFile, ScheduleFileSource, ZipFileSource};
use lineside_validate::report::{self, FeedSummary, ValidationRunFacts};
use lineside_validate::rules::gtfs::{self, IncompleteFile};
use lineside_validate::{Notices, ValidationContext};

use super::progress::ProgressFileSource;
use super::{
    CheckPlan, CheckReadProgress, CheckReport, STOPPED, check_schedule_memory, finding_places,
    raw_rows, to_check_findings, unsupported_input,
};

pub(super) fn check_gtfs(
    body: &Bytes,
    plan: CheckPlan,
    progress: &CheckReadProgress,
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
        unsupported_input::describe_zip_of_zips(names).map_or(Ok(()), Err)?;
    }
    progress.set_total_bytes(listed.iter().map(|(_, size)| size).sum());
    let files = source.clone();
    let source = ProgressFileSource::new(source, progress);
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
    let mut checked = CheckReport::new(Format::Gtfs, plan, to_check_findings(&notices));
    if checked.plan.has_places {
        checked.outline = finding_places::sample_stop_coordinates(&feed);
        finding_places::look_up_places_of_findings(&feed, &mut checked.findings);
        let files = CancellableFileSource::new(&files, progress.cancel_token());
        checked.rows = raw_rows::read_rows_of_findings(&files, &checked.findings);
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
