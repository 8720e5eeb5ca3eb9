//! Waiting for expected events. The deadline only ends a failing test.

use std::fmt::{Debug, Display};
use std::time::Duration;

use lineside_sync::{Clock as _, RealClock};

/// Longer than anything takes on a busy machine, including tasks that run once a minute.
pub const WAIT_MAX: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until a condition holds.
///
/// # Panics
/// Panics after [`WAIT_MAX`].
pub async fn wait_until(what: impl Display, mut is_met: impl AsyncFnMut() -> bool) {
    wait_for(what, async || is_met().await.then_some(()).ok_or("it does not hold")).await;
}

/// Waits until there is a value, and returns it.
///
/// # Panics
/// Panics after [`WAIT_MAX`].
pub async fn wait_for_some<T>(
    what: impl Display,
    mut attempt: impl AsyncFnMut() -> Option<T>,
) -> T {
    wait_for(what, async || attempt().await.ok_or("there is none")).await
}

/// Waits until an attempt succeeds, and returns its value.
///
/// # Panics
/// Panics after [`WAIT_MAX`], with the error of the last attempt.
pub async fn wait_for<T, E: Debug>(
    what: impl Display,
    mut attempt: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    let clock = RealClock::new();
    loop {
        match attempt().await {
            Ok(found) => return found,
            Err(last) => {
                assert!(
                    clock.monotonic() < WAIT_MAX,
                    "timed out waiting until {what}; the last attempt: {last:?}"
                );
            }
        }
        clock.sleep(PAUSE).await;
    }
}
