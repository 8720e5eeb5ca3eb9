//! The runners of the models: every interleaving within bounds (loom), or many random ones (shuttle).

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Tries `model` under many interleavings; panics with the first that breaks an assertion.
///
/// loom's bounds come from its `LOOM_…` variables; shuttle tries `LINESIDE_MODEL_RUNS` interleavings, 2,000 by
/// default.
pub(crate) fn explore(model: impl Fn() + Send + Sync + 'static) {
    #[cfg(loom)]
    loom::model(model);
    #[cfg(all(shuttle, not(loom)))]
    {
        let runs = std::env::var("LINESIDE_MODEL_RUNS").ok().and_then(|runs| runs.parse().ok());
        shuttle::check_random(model, runs.unwrap_or(2_000));
    }
}

/// Asserts that the model detects an injected fault.
pub(crate) fn finds_a_fault(model: impl Fn() + Send + Sync + 'static) {
    let explored = catch_unwind(AssertUnwindSafe(|| explore(model)));
    assert!(explored.is_err(), "the model did not detect the injected fault");
}
