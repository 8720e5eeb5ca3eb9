//! Durations of the stages of polls, over all feeds.

use std::time::Duration;

use lineside_sync::histogram::{Histogram, HistogramSnapshot};
use lineside_sync::stage;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollStage {
    /// From the request until the complete reply or the failure.
    Fetch,
    /// Decoding of new bytes.
    Decode,
    /// From the decoded content to the network's new state, visible to readers.
    Apply,
    /// From the new state to publications in every room with subscribers, with their sessions signalled.
    Publish,
}

impl PollStage {
    /// All stages, in order.
    pub const ALL: [PollStage; 4] =
        [PollStage::Fetch, PollStage::Decode, PollStage::Apply, PollStage::Publish];

    pub const fn name(self) -> &'static str {
        match self {
            PollStage::Fetch => "fetch",
            PollStage::Decode => "decode",
            PollStage::Apply => "apply",
            PollStage::Publish => "publish",
        }
    }

    /// Returns the label of a thread that executes the stage.
    pub(crate) const fn thread_stage(self) -> stage::WorkStage {
        match self {
            PollStage::Fetch => stage::WorkStage::Fetch,
            PollStage::Decode => stage::WorkStage::Decode,
            PollStage::Apply => stage::WorkStage::Apply,
            PollStage::Publish => stage::WorkStage::Publish,
        }
    }
}

/// The durations of all stages, in nanoseconds of the injected clock; clones share them.
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
    fn profile_and_histograms_use_the_same_stage_names() {
        for stage in PollStage::ALL {
            assert_eq!(stage.thread_stage().stage_name(), stage.name());
        }
    }
}
