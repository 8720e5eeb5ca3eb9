//! The rules over NeTEx publications of any profile, with one page for each kind of notice.
//!
//! One pass goes over all elements of all files. Ids and what names them are kept as hashes, so that a national
//! publication takes some tens of bytes for each; journeys are looked at when they end, and forgotten.

mod kinds;
mod links;
mod look;
mod tables;
mod times;

use std::panic::{AssertUnwindSafe, catch_unwind};

use lineside_formats::{
    Error,
    gtfs::Files,
    netex::{Limits, walk},
};

use self::look::Look;
use super::{SystemError, limits_met, words_of};
use crate::{
    Context,
    notice::{Kind, Notices},
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
    let looked = catch_unwind(AssertUnwindSafe(|| {
        let mut look = Look::new(notices);
        walk(files, limits, &mut look)?;
        end(look, context);
        Ok::<(), Error>(())
    }));
    match looked {
        Ok(walked) => walked.map(|()| limits_met(notices)),
        Err(panic) => Ok(vec![SystemError { rule: "netex", message: words_of(&*panic) }]),
    }
}

/// Says what is known when all files are read.
fn end(look: Look<'_>, context: &Context) {
    let Look { out, files, links, patterns, last_day, is_open_ended, .. } = look;
    patterns.end(&files, out);
    links.end(&files, out);
    if let Some(last) = last_day.filter(|last| !is_open_ended && *last < context.today) {
        out.add(&kinds::EXPIRED, |sample| _ = sample.put("to", last.to_string()));
    }
}
