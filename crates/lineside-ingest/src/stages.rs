//! How long the stages of a poll take, over all feeds.

use std::time::Duration;

use lineside_sync::histogram::{Histogram, Snapshot};
use lineside_sync::stage;

/// What a poll goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// From asking the source until its answer is there, whole, or has failed.
    Fetch,
    /// From new bytes to what they say.
    Decode,
    /// From what they say to the network's new state, which readers then see.
    Apply,
    /// From the new state to changes in every room that somebody listens to, and their sessions signaled.
    Publish,
}

impl Stage {
    /// All, in the order of a poll.
    pub const ALL: [Stage; 4] = [Stage::Fetch, Stage::Decode, Stage::Apply, Stage::Publish];

    /// One word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Fetch => "fetch",
            Stage::Decode => "decode",
            Stage::Apply => "apply",
            Stage::Publish => "publish",
        }
    }

    /// As a thread says it that is at it.
    pub(crate) const fn work(self) -> stage::Stage {
        match self {
            Stage::Fetch => stage::Stage::Fetch,
            Stage::Decode => stage::Stage::Decode,
            Stage::Apply => stage::Stage::Apply,
            Stage::Publish => stage::Stage::Publish,
        }
    }
}

/// The durations of all stages, in nanoseconds of the clock that was handed in; clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct StageTimes([Histogram; Stage::ALL.len()]);

impl StageTimes {
    pub(crate) fn record(&self, stage: Stage, took: Duration) {
        self.0[stage as usize].record_duration(took);
    }

    pub(crate) fn snapshot(&self, stage: Stage) -> Snapshot {
        self.0[stage as usize].snapshot()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_and_the_histograms_name_stages_alike() {
        for stage in Stage::ALL {
            assert_eq!(stage.work().name(), stage.name());
        }
    }
}
