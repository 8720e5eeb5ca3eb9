//! The rules over NeTEx publications of any profile, with one page for each kind of notice.
//!
//! One pass goes over all elements of all files. Ids and what names them are kept as hashes, so that a national
//! publication takes some tens of bytes for each; journeys are looked at when they end, and forgotten.

mod kinds;
mod links;
mod look;
mod memory;
mod tables;
mod times;

use std::panic::{AssertUnwindSafe, catch_unwind};

use lineside_formats::{
    Error,
    gtfs::Files,
    netex::{Limits, walk},
};

pub use self::memory::{MEMORY_PER_BYTE_MAX, memory_of};

use self::look::Look;
use super::{SystemError, limits_met, words_of};
use crate::{
    Context,
    notice::{Kind, Notices},
    stop::{Brake, Stop},
};

/// All kinds of notices that a publication may get.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    kinds::KINDS.iter().copied()
}

/// Looks at a publication. A look that breaks off is told apart from what the publication gets wrong.
///
/// # Errors
///
/// If a file cannot be read, is cut off, is not well-formed, or passes a limit.
pub fn validate(
    files: &mut dyn Files,
    limits: &Limits,
    context: &Context,
    notices: &mut Notices,
) -> Result<Vec<SystemError>, Error> {
    let looked = validate_until(files, Extent::Whole, limits, context, &Stop::default(), notices);
    looked.map(Option::unwrap_or_default)
}

/// How much of a publication there is to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
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
    files: &mut dyn Files,
    extent: Extent,
    limits: &Limits,
    context: &Context,
    stop: &Stop,
    notices: &mut Notices,
) -> Result<Option<Vec<SystemError>>, Error> {
    let looked = catch_unwind(AssertUnwindSafe(|| {
        let mut look = Look::new(notices, Brake::new(stop));
        walk(files, limits, &mut look)?;
        end(look, extent, context);
        Ok::<(), Error>(())
    }));
    match looked {
        _ if stop.is_stopped() => Ok(None),
        Ok(walked) => walked.map(|()| Some(limits_met(notices))),
        Err(panic) => Ok(Some(vec![SystemError { rule: "netex", message: words_of(&*panic) }])),
    }
}

/// Says what is known when all files are read.
fn end(look: Look<'_>, extent: Extent, context: &Context) {
    let Look { out, files, links, patterns, last_day, is_open_ended, .. } = look;
    patterns.end(&files, out);
    if extent == Extent::Whole {
        links.end(&files, out);
    }
    if let Some(last) = last_day.filter(|last| !is_open_ended && *last < context.today) {
        out.add(&kinds::EXPIRED, |sample| _ = sample.put("to", last.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use jiff::civil::date;
    use lineside_formats::netex::Source;

    use super::*;

    /// Files at whose opening the look is stopped.
    struct Closing<'a, F>(F, &'a Stop);

    impl<F: Files> Files for Closing<'_, F> {
        fn names(&mut self) -> Vec<String> {
            self.0.names()
        }

        fn open<'a>(&'a mut self, name: &str) -> Result<Option<Box<dyn Read + 'a>>, Error> {
            self.1.stop();
            self.0.open(name)
        }
    }

    #[test]
    fn a_look_that_is_stopped_ends_and_says_nothing() {
        let lines = r#"<Line id="L"/>"#.repeat(3_000);
        let text = format!("<PublicationDelivery version=\"1.0\">{lines}</PublicationDelivery>");
        let (limits, stop) = (Limits::default(), Stop::default());
        let context = Context { today: date(2026, 1, 1), country: None, threads: 1 };
        let files = || Source::new(text.as_bytes(), &limits.files).unwrap();
        let mut notices = Notices::new(1);
        let looked =
            validate_until(&mut files(), Extent::Whole, &limits, &context, &stop, &mut notices);
        assert_eq!(looked.unwrap(), Some(Vec::new()));
        assert!(notices.iter().count() > 0, "there is something to say");
        let (mut closing, mut notices) = (Closing(files(), &stop), Notices::new(1));
        let looked =
            validate_until(&mut closing, Extent::Whole, &limits, &context, &stop, &mut notices);
        assert_eq!(looked.unwrap(), None);
        assert_eq!(notices.iter().count(), 0, "it ended before the first element");
    }
}
