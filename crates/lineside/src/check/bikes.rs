//! A GBFS system, or one of its files.

use bytes::Bytes;
use lineside_formats::Format;
use lineside_validate::Notices;
use lineside_validate::rules::gbfs::{System, name_of, validate_while};

use super::{Checked, NO_FORMAT, Plan, Progress, STOPPED};

pub(super) fn check(body: &Bytes, mut plan: Plan, progress: &Progress) -> Result<Checked, String> {
    let mut files = std::mem::take(&mut plan.files);
    if files.read.is_empty() {
        let name = name_of(body).ok_or(NO_FORMAT)?;
        files.read.push((name.to_owned(), body.clone()));
    }
    let system = System {
        files: files.read.iter().map(|(name, body)| (name.as_str(), &body[..])).collect(),
        unread: files.unread.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect(),
        before: files.before.iter().map(|(name, body)| (name.as_str(), &body[..])).collect(),
        is_whole: files.is_whole,
        now: plan.now,
    };
    let mut notices = Notices::new(plan.samples);
    let goes_on = || !progress.stopper().is_stopped();
    let verdict = validate_while(&system, &mut notices, &goes_on);
    if verdict.is_cut_short {
        return Err(STOPPED.to_owned());
    }
    let mut checked = Checked::new(Format::Gbfs, plan, super::findings(&notices));
    checked.counts = vec![("files", files.read.len() as u64)];
    checked.errors = verdict.errors;
    Ok(checked)
}
