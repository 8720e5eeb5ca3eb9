//! `semaphore`: permits acquired at once or not at all, with many permits and with few.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use std::time::Duration;

use lineside_sync::semaphore::Semaphore;

use super::{Bench, Series, crowd};
use crate::report::Row;

const CALLERS: [usize; 3] = [1, 2, 64];
const LIMITS: [usize; 2] = [10, 1_000];
/// The attempts between two checks of the stop flag.
const BATCH: u64 = 64;

const TOKIO: &str = "tokio try_acquire";
const TOKIO_OWNED: &str = "tokio try_acquire_owned";
const CAS: &str = "AtomicUsize, compare and exchange";

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    for limit in LIMITS {
        let mut by_callers = Vec::new();
        for callers in CALLERS {
            let figures = measure(bench, callers, limit)?;
            add_rows(bench, callers, limit, &figures);
            by_callers.push((callers as f64, figures));
        }
        let series = ["ours", TOKIO, CAS, "ours, owned", TOKIO_OWNED].map(|name| {
            let points = by_callers.iter().map(|(callers, figures)| (*callers, figures[name]));
            Series::new(name, points.collect())
        });
        let name = if limit == 10 { "semaphore-10" } else { "semaphore-1000" };
        bench.plot(name, "callers", "million permits a second", series.into())?;
    }
    exceeding(bench);
    Ok(())
}

fn measure(
    bench: &Bench,
    callers: usize,
    limit: usize,
) -> anyhow::Result<BTreeMap<&'static str, f64>> {
    let time = Duration::from_millis(bench.effort.size(20, 200) as u64);
    let ours = Arc::new(Semaphore::new(limit as u32));
    let tokios = Arc::new(tokio::sync::Semaphore::new(limit));
    let (owned, tokios_owned) = (Arc::clone(&ours), Arc::clone(&tokios));
    let held = AtomicUsize::new(0);
    bench.medians(vec![
        ("ours", Box::new(move || Ok(rate(callers, time, || ours.try_acquire())))),
        (TOKIO, Box::new(move || Ok(rate(callers, time, || tokios.try_acquire().ok())))),
        (CAS, Box::new(move || Ok(rate(callers, time, || by_hand(&held, limit))))),
        ("ours, owned", Box::new(move || Ok(rate(callers, time, || owned.try_acquire_owned())))),
        (
            TOKIO_OWNED,
            Box::new(move || {
                Ok(rate(callers, time, || Arc::clone(&tokios_owned).try_acquire_owned().ok()))
            }),
        ),
    ])
}

fn add_rows(
    bench: &mut Bench,
    callers: usize,
    limit: usize,
    figures: &BTreeMap<&'static str, f64>,
) {
    let what = format!(
        "semaphore, {callers} caller{}, {limit} permits",
        if callers == 1 { "" } else { "s" }
    );
    let mut row = Row::new(&what, figures["ours"], "M permits/s")
        .beside(TOKIO, figures[TOKIO])
        .beside(CAS, figures[CAS]);
    if callers == 64 {
        let (recorded, factor) = if limit == 10 { (1.1, 5.0) } else { (1.74, 0.8) };
        row = row
            .beside("OTP ets counter", bench.erlang(&format!("semaphore_ets_64_{limit}")))
            .recorded("OTP ets counter", recorded)
            .at_least_times(factor, TOKIO);
    }
    bench.report.add(row);
    let row = Row::new(format!("{what}, owned"), figures["ours, owned"], "M permits/s");
    bench.report.add(row.beside(TOKIO_OWNED, figures[TOKIO_OWNED]));
}

/// The permit of a ten-line semaphore.
struct ByHand<'a>(&'a AtomicUsize);

impl Drop for ByHand<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Release);
    }
}

fn by_hand(held: &AtomicUsize, limit: usize) -> Option<ByHand<'_>> {
    let below = |held| (held < limit).then_some(held + 1);
    held.fetch_update(Acquire, Relaxed, below).ok().map(|_| ByHand(held))
}

/// Returns million permits a second that callers acquire and release; a caller without a permit retries at once.
fn rate<P>(callers: usize, time: Duration, ask: impl Fn() -> Option<P> + Sync) -> f64 {
    let ask_on = |seat: crowd::Seat<'_>| {
        let mut given = 0;
        while seat.goes_on(given) {
            given = (0..BATCH).map(|_| u64::from(black_box(ask()).is_some())).sum();
        }
    };
    crowd::rate(callers, time, time, ask_on, || ()).0 / 1e6
}

/// Counts how often more callers than the limit held permits at once.
fn exceeding(bench: &mut Bench) {
    const LIMIT: u32 = 10;
    let time = Duration::from_millis(bench.effort.size(50, 1_000) as u64);
    let semaphore = Semaphore::new(LIMIT);
    let (inside, exceeded) = (AtomicUsize::new(0), AtomicU64::new(0));
    let given = rate(64, time, || {
        let permit = semaphore.try_acquire()?;
        if inside.fetch_add(1, AcqRel) >= LIMIT as usize {
            exceeded.fetch_add(1, Relaxed);
        }
        inside.fetch_sub(1, AcqRel);
        Some(permit)
    });
    let what = format!(
        "semaphore, 64 callers, {LIMIT} permits: times that the limit was exceeded ({:.0} M permits)",
        given * time.as_secs_f64()
    );
    bench.report.add(Row::new(what, exceeded.into_inner() as f64, "times").at_most(0.0));
}
