//! The rules, in one table for each format, and the code that runs them on one or more threads. Each rule runs by
//! itself, so that a failing rule does not affect the others.

/// Defines the kinds of notices of one format and their list, `KINDS`, from name, code, severity and fields. The page
/// of a kind is in the folder `pages` next to the calling file.
macro_rules! kinds {
    ($($name:ident $code:literal $severity:ident $fields:expr;)*) => {
        $(pub(super) static $name: $crate::notice::NoticeKind = $crate::notice::NoticeKind {
            code: $code,
            severity: $crate::notice::Severity::$severity,
            fields: &$fields,
            page: include_str!(concat!("pages/", $code, ".md")),
        };)*

        /// All kinds.
        pub(super) static KINDS: &[&$crate::notice::NoticeKind] = &[$(&$name),*];
    };
}

pub mod gbfs;
pub mod gtfs;
pub mod gtfs_rt;
pub mod netex;
mod time_limit;
pub mod siri;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{
    ValidationContext,
    cancel::CancelPanicPayload,
    jobs::run_jobs_in_parallel,
    notice::{NoticeKind, Notices},
};

/// The name of a notice's field, and its meaning.
type NoticeFieldDescription = (&'static str, &'static str);

/// A rule: the notices that it may report, and its check.
#[derive(Debug)]
pub struct ValidationRule<S: ?Sized + 'static, F: 'static> {
    /// The kinds that it reports: mostly one, or several if one pass finds them all.
    pub kinds: &'static [&'static NoticeKind],
    /// The files that the rule relies on. It is skipped if one of them could not be read completely.
    pub files: &'static [F],
    /// Checks the subject and reports notices.
    pub check: fn(&S, &ValidationContext, &mut Notices),
}

/// A fault of the validator itself: a rule that panicked, or a limit that was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidatorFault {
    /// The code of the rule's first kind.
    pub rule: &'static str,
    /// The panic message, or the limit that was reached.
    pub message: String,
}

/// The outcome of a run besides its notices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidationOutcome {
    /// The validator's own faults: rules that panicked.
    pub errors: Vec<ValidatorFault>,
    /// True if the time ran out, so that some rules did not run on all of the data.
    pub is_cut_short: bool,
}

/// Runs rules over a subject. Returns the faults of rules that panicked; cancelled rules end silently.
pub fn run_validation_rules<S: ?Sized + Sync, F: Sync>(
    rules: &[&'static ValidationRule<S, F>],
    subject: &S,
    context: &ValidationContext,
    notices: &mut Notices,
) -> Vec<ValidatorFault> {
    let check = |rule: &&'static ValidationRule<S, F>, out: &mut Notices| {
        let result = catch_unwind(AssertUnwindSafe(|| (rule.check)(subject, context, out)));
        // A cancelled rule is not a fault.
        let fault = result.err().filter(|panic| !panic.is::<CancelPanicPayload>());
        fault.map(|panic| ValidatorFault {
            rule: rule.kinds.first().map_or("", |kind| kind.code),
            message: panic_message(&*panic),
        })
    };
    let broken = run_jobs_in_parallel(rules, context, notices, check).into_iter().flatten();
    broken.chain(errors_for_lower_bounds(notices)).collect()
}

/// Returns an error for each kind whose total is only a lower bound.
fn errors_for_lower_bounds(notices: &Notices) -> Vec<ValidatorFault> {
    let message = "the count is a lower bound, because the rule reached its limit of steps";
    let codes = notices.codes_with_lower_bound();
    codes.map(|rule| ValidatorFault { rule, message: message.to_owned() }).collect()
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
