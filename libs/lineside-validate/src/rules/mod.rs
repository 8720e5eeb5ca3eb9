//! The rules, a table for each format, and how they are run: one after the other or on several
//! threads, each by itself, so that one that fails takes nothing with it.

/// Makes the kinds of notices of one format and the list of them, `KINDS`: each by its name, its code, how bad it is and its fields.
/// Its page lies in the folder `pages` beside where they are made.
macro_rules! kinds {
    ($($name:ident $code:literal $severity:ident $fields:expr;)*) => {
        $(pub(super) static $name: $crate::notice::NoticeKind = $crate::notice::NoticeKind {
            code: $code,
            severity: $crate::notice::Severity::$severity,
            fields: &$fields,
            page: include_str!(concat!("pages/", $code, ".md")),
        };)*

        /// All of them.
        pub(super) static KINDS: &[&$crate::notice::NoticeKind] = &[$(&$name),*];
    };
}

pub mod gbfs;
pub mod gtfs;
pub mod gtfs_rt;
pub mod netex;
mod time_limit;
pub mod siri;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    ValidationContext,
    cancel::CancelUnwind,
    notice::{NoticeKind, Notices},
};

/// The name of a field of a notice, and what it says.
type Field = (&'static str, &'static str);

/// A rule: what it may say, and how it looks.
#[derive(Debug)]
pub struct Rule<S: ?Sized + 'static, F: 'static> {
    /// What it says: mostly one kind of notice, several where one look finds them all.
    pub kinds: &'static [&'static NoticeKind],
    /// The files without which it is passed over, as nothing can be relied on.
    pub files: &'static [F],
    /// Looks at the subject and says what is wrong.
    pub check: fn(&S, &ValidationContext, &mut Notices),
}

/// Our own fault: a rule that did not end as it should, or met a limit of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemError {
    /// The code of the rule's first kind.
    pub rule: &'static str,
    /// What it said when it broke off, or which limit it met.
    pub message: String,
}

/// How far rules came with a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidationOutcome {
    /// Our own faults: rules that broke off.
    pub errors: Vec<SystemError>,
    /// The time ran out: some rules have not looked, or not at all of the message.
    pub is_cut_short: bool,
}

/// Runs rules over a subject. Those that break off are told apart from what the data gets wrong; those that are
/// stopped end without a word.
pub fn run_rules<S: ?Sized + Sync, F: Sync>(
    rules: &[&'static Rule<S, F>],
    subject: &S,
    context: &ValidationContext,
    notices: &mut Notices,
) -> Vec<SystemError> {
    let check = |rule: &&'static Rule<S, F>, out: &mut Notices| {
        let looked = catch_unwind(AssertUnwindSafe(|| (rule.check)(subject, context, out)));
        // Who was stopped did nothing wrong.
        let fault = looked.err().filter(|panic| !panic.is::<CancelUnwind>());
        fault.map(|panic| SystemError {
            rule: rule.kinds.first().map_or("", |kind| kind.code),
            message: panic_message(&*panic),
        })
    };
    let broken = run_jobs(rules, context, notices, check).into_iter().flatten();
    broken.chain(limit_errors(notices)).collect()
}

/// Where a limit of ours let a rule leave off: what is counted is less than there may be.
fn limit_errors(notices: &Notices) -> Vec<SystemError> {
    let message = "there may be more than is counted: looking further would take too much";
    let codes = notices.incomplete_codes();
    codes.map(|rule| SystemError { rule, message: message.to_owned() }).collect()
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Does jobs in their order, on as many threads as the context allows. The results come in the
/// order of the jobs, and so do the notices, whoever was first.
pub(crate) fn run_jobs<J: Sync, T: Send>(
    jobs: &[J],
    context: &ValidationContext,
    notices: &mut Notices,
    work: impl Fn(&J, &mut Notices) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let empty = notices.new_empty_like();
    let done: Mutex<Vec<Option<(T, Notices)>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let go = || {
        while let Some((at, job)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(at).map(|job| (at, job))
        } {
            let mut out = empty.clone();
            let result = work(job, &mut out);
            done.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some((result, out));
        }
    };
    thread::scope(|scope| {
        for _ in 1..context.threads.min(jobs.len()) {
            scope.spawn(go);
        }
        go();
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut results = Vec::with_capacity(jobs.len());
    for (result, out) in done.into_iter().flatten() {
        notices.merge_notices(out);
        results.push(result);
    }
    results
}
