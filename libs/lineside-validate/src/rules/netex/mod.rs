//! The rules over NeTEx publications of any profile, with one page for each kind of notice.
//!
//! One pass goes over all elements of all files. Ids and what names them are kept as hashes, so that a national
//! publication takes some tens of bytes for each; journeys are looked at when they end, and forgotten.

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
    netex::{PublicationLimits, visit_elements},
};

pub use self::memory::{MEMORY_PER_BYTE_MAX, estimate_memory};

use self::publication_check::PublicationCheck;
use super::{SystemError, limit_errors, panic_message};
use crate::{
    ValidationContext,
    cancel::{CancelCheck, CancelToken},
    notice::{NoticeKind, Notices},
};

/// All kinds of notices that a publication may get.
pub fn notice_kinds() -> impl Iterator<Item = &'static NoticeKind> {
    kinds::KINDS.iter().copied()
}

/// Looks at a publication. A look that breaks off is told apart from what the publication gets wrong.
///
/// # Errors
///
/// If a file cannot be read, is cut off, is not well-formed, or passes a limit.
pub fn validate_publication(
    files: &mut dyn FileSet,
    limits: &PublicationLimits,
    context: &ValidationContext,
    notices: &mut Notices,
) -> Result<Vec<SystemError>, Error> {
    let looked = validate_until(
        files,
        PublicationExtent::Whole,
        limits,
        context,
        &CancelToken::default(),
        notices,
    );
    looked.map(Option::unwrap_or_default)
}

/// How much of a publication there is to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicationExtent {
    /// All of it.
    Whole,
    /// Files are left out that cannot be read: what seems to lead nowhere may lead into them, and is not told.
    Part,
}

/// The same until it is stopped, at one of the next thousand elements: then there is nothing to tell.
///
/// # Errors
///
/// If a file cannot be read, is cut off, is not well-formed, or passes a limit.
pub fn validate_until(
    files: &mut dyn FileSet,
    extent: PublicationExtent,
    limits: &PublicationLimits,
    context: &ValidationContext,
    stop: &CancelToken,
    notices: &mut Notices,
) -> Result<Option<Vec<SystemError>>, Error> {
    let looked = catch_unwind(AssertUnwindSafe(|| {
        let mut look = PublicationCheck::new(notices, CancelCheck::new(stop));
        visit_elements(files, limits, &mut look)?;
        finish_check(look, extent, context);
        Ok::<(), Error>(())
    }));
    match looked {
        _ if stop.is_cancelled() => Ok(None),
        Ok(walked) => walked.map(|()| Some(limit_errors(notices))),
        Err(panic) => {
            Ok(Some(vec![SystemError { rule: "netex", message: panic_message(&*panic) }]))
        }
    }
}

/// Says what is known when all files are read.
fn finish_check(
    look: PublicationCheck<'_>,
    extent: PublicationExtent,
    context: &ValidationContext,
) {
    let PublicationCheck { out, files, links, patterns, last_day, is_open_ended, .. } = look;
    patterns.report_mismatches(&files, out);
    if extent == PublicationExtent::Whole {
        links.report_unresolved(&files, out);
    }
    if let Some(last) = last_day.filter(|last| !is_open_ended && *last < context.today) {
        out.add_notice(&kinds::EXPIRED, |sample| _ = sample.set_field("to", last.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use jiff::civil::date;
    use lineside_formats::netex::PublicationSource;

    use super::*;

    /// Files at whose opening the look is stopped.
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
    fn a_look_that_is_stopped_ends_and_says_nothing() {
        let lines = r#"<Line id="L"/>"#.repeat(3_000);
        let text = format!("<PublicationDelivery version=\"1.0\">{lines}</PublicationDelivery>");
        let (limits, stop) = (PublicationLimits::default(), CancelToken::default());
        let context = ValidationContext { today: date(2026, 1, 1), country: None, threads: 1 };
        let files = || PublicationSource::new(text.as_bytes(), &limits.files).unwrap();
        let mut notices = Notices::new(1);
        let looked = validate_until(
            &mut files(),
            PublicationExtent::Whole,
            &limits,
            &context,
            &stop,
            &mut notices,
        );
        assert_eq!(looked.unwrap(), Some(Vec::new()));
        assert!(notices.iter().count() > 0, "there is something to say");
        let (mut closing, mut notices) = (Closing(files(), &stop), Notices::new(1));
        let looked = validate_until(
            &mut closing,
            PublicationExtent::Whole,
            &limits,
            &context,
            &stop,
            &mut notices,
        );
        assert_eq!(looked.unwrap(), None);
        assert_eq!(notices.iter().count(), 0, "it ended before the first element");
    }
}
