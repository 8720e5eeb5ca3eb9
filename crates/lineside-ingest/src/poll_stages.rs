//! How long the stages of a poll take, over all feeds.

use std::time::Duration;

use lineside_sync::histogram::{Histogram, HistogramSnapshot};
use lineside_sync::stage;

/// What a poll goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollStage {
    /// From asking the source until its answer is there, whole, or has failed.
    Fetch,
    /// From new bytes to what they say.
    Decode,
    /// From what they say to the network's new state, which readers then see.
    Apply,
    /// From the new state to changes in every room that somebody listens to, and their sessions signaled.
    Publish,
}

impl PollStage {
    /// All, in the order of a poll.
    pub const ALL: [PollStage; 4] =
        [PollStage::Fetch, PollStage::Decode, PollStage::Apply, PollStage::Publish];

    /// One word for it.
    pub const fn name(self) -> &'static str {
        match self {
            PollStage::Fetch => "fetch",
            PollStage::Decode => "decode",
            PollStage::Apply => "apply",
            PollStage::Publish => "publish",
        }
    }

    /// As a thread says it that is at it.
    pub(crate) const fn thread_stage(self) -> stage::WorkStage {
        match self {
            PollStage::Fetch => stage::WorkStage::Fetch,
            PollStage::Decode => stage::WorkStage::Decode,
            PollStage::Apply => stage::WorkStage::Apply,
            PollStage::Publish => stage::WorkStage::Publish,
        }
    }
}

/// The durations of all stages, in nanoseconds of the clock that was handed in; clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct StageTimes([Histogram; PollStage::ALL.len()]);

impl StageTimes {
    pub(crate) fn record_duration(&self, stage: PollStage, took: Duration) {
        self.0[stage as usize].record_duration(took);
    }

    pub(crate) fn histogram_snapshot(&self, stage: PollStage) -> HistogramSnapshot {
        self.0[stage as usize].snapshot()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_and_the_histograms_name_stages_alike() {
        for stage in PollStage::ALL {
            assert_eq!(stage.thread_stage().stage_name(), stage.name());
        }
    }
}
