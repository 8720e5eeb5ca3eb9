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
    Context, Notices,
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
    let feed = gtfs::load(source, context, notices)?;
    let usable = |rule: &&GtfsRule| rule.files.iter().all(|&file| feed.is_usable(file));
    let rules: Vec<&'static GtfsRule> = rules().filter(usable).collect();
    let errors = super::run(&rules, &feed, context, notices);
    Ok((feed, errors))
}
