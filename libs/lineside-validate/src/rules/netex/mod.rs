//! Rules over NeTEx publications of any profile, with one page for each kind of notice.
//!
//! One pass visits all elements of all files. Ids and references are stored as hashes, so that a national publication
//! takes some tens of bytes for each. A journey is checked at its end and then dropped.

mod kinds;
mod references;
mod publication_check;
mod memory;
mod tables;
mod passing_times;

use std::panic::{AssertUnwindSafe, catch_unwind};

use lineside_formats::{
    Error,
    gtfs::FileSet,
    netex::{PublicationLimits, visit_publication_elements},
};

pub use self::memory::{MEMORY_PER_BYTE_MAX, estimate_max_memory};

use self::publication_check::PublicationCheck;
use super::{ValidatorFault, errors_for_lower_bounds, panic_message};
use crate::{
    ValidationContext,
    cancel::{CancelToken, CancelUnwindCheck},
    notice::{NoticeKind, Notices},
};

/// Returns all kinds of notices about a publication.
pub fn publication_notice_kinds() -> impl Iterator<Item = &'static NoticeKind> {
    kinds::KINDS.iter().copied()
}

/// Validates a publication. Returns the validator's own faults, such as a check that panics, apart from the notices.
///
/// # Errors
///
/// Returns an error if a file cannot be read, is truncated, is not well-formed, or exceeds a limit.
pub fn validate_publication(
    files: &mut dyn FileSet,
    limits: &PublicationLimits,
    context: &ValidationContext,
    notices: &mut Notices,
) -> Result<Vec<ValidatorFault>, Error> {
    let result = validate_publication_cancellable(
        files,
        WholeOrPartialPublication::Whole,
        limits,
        context,
        &CancelToken::default(),
        notices,
    );
    result.map(Option::unwrap_or_default)
}

/// The extent of the publication that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WholeOrPartialPublication {
    /// All files.
    Whole,
    /// Unreadable files are left out. Unresolved references are not reported, as they may refer to these files.
    Part,
}

/// Validates a publication until cancelled. Returns `None` within a thousand elements after it was cancelled.
///
/// # Errors
///
/// Returns an error if a file cannot be read, is truncated, is not well-formed, or exceeds a limit.
pub fn validate_publication_cancellable(
    files: &mut dyn FileSet,
    extent: WholeOrPartialPublication,
    limits: &PublicationLimits,
    context: &ValidationContext,
    cancel: &CancelToken,
    notices: &mut Notices,
) -> Result<Option<Vec<ValidatorFault>>, Error> {
    let result = catch_unwind(AssertUnwindSafe(|| {
        let mut check = PublicationCheck::new(notices, CancelUnwindCheck::new(cancel));
        visit_publication_elements(files, limits, &mut check)?;
        report_cross_file_findings(check, extent, context);
        Ok::<(), Error>(())
    }));
    match result {
        _ if cancel.is_cancelled() => Ok(None),
        Ok(walked) => walked.map(|()| Some(errors_for_lower_bounds(notices))),
        Err(panic) => {
            Ok(Some(vec![ValidatorFault { rule: "netex", message: panic_message(&*panic) }]))
        }
    }
}

/// Reports the findings that need all files.
fn report_cross_file_findings(
    check: PublicationCheck<'_>,
    extent: WholeOrPartialPublication,
    context: &ValidationContext,
) {
    let PublicationCheck { out, files, links, patterns, last_day, is_open_ended, .. } = check;
    patterns.report_pattern_mismatches(&files, out);
    if extent == WholeOrPartialPublication::Whole {
        links.report_unresolved_references(&files, out);
    }
    if let Some(last) = last_day.filter(|last| !is_open_ended && *last < context.today) {
        out.count_notice_with_sample(&kinds::EXPIRED, |sample| {
            _ = sample.set_field("to", last.to_string())
        });
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use jiff::civil::date;
    use lineside_formats::netex::PublicationSource;

    use super::*;

    /// Files that cancel the run when one of them is opened.
    struct Closing<'a, F>(F, &'a CancelToken);

    impl<F: FileSet> FileSet for Closing<'_, F> {
        fn file_names(&mut self) -> Vec<String> {
            self.0.file_names()
        }

        fn open_file<'a>(&'a mut self, name: &str) -> Result<Option<Box<dyn Read + 'a>>, Error> {
            self.1.cancel();
            self.0.open_file(name)
        }
    }

    #[test]
    fn a_cancelled_validation_reports_nothing() {
        let lines = r#"<Line id="L"/>"#.repeat(3_000);
        let text = format!("<PublicationDelivery version=\"1.0\">{lines}</PublicationDelivery>");
        let (limits, cancel) = (PublicationLimits::default(), CancelToken::default());
        let context = ValidationContext { today: date(2026, 1, 1), country: None, threads: 1 };
        let files = || PublicationSource::new(text.as_bytes(), &limits.files).unwrap();
        let mut notices = Notices::new(1);
        let result = validate_publication_cancellable(
            &mut files(),
            WholeOrPartialPublication::Whole,
            &limits,
            &context,
            &cancel,
            &mut notices,
        );
        assert_eq!(result.unwrap(), Some(Vec::new()));
        assert!(notices.iter().count() > 0, "the files have findings");
        let (mut closing, mut notices) = (Closing(files(), &cancel), Notices::new(1));
        let result = validate_publication_cancellable(
            &mut closing,
            WholeOrPartialPublication::Whole,
            &limits,
            &context,
            &cancel,
            &mut notices,
        );
        assert_eq!(result.unwrap(), None);
        assert_eq!(notices.iter().count(), 0, "the run ended before the first element");
    }
}
