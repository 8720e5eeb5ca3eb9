//! `semaphore`: ours beside its peers.

use super::Bench;

pub(super) fn run(_: &mut Bench) -> anyhow::Result<()> {
    Ok(())
}
