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

    pub const fn stage_name(self) -> &'static str {
        match self {
            PollStage::Fetch => "fetch",
            PollStage::Decode => "decode",
            PollStage::Apply => "apply",
            PollStage::Publish => "publish",
        }
    }

    /// Returns the label of a thread that executes the stage.
    pub(crate) const fn to_work_stage(self) -> stage::ThreadWorkStage {
        match self {
            PollStage::Fetch => stage::ThreadWorkStage::Fetch,
            PollStage::Decode => stage::ThreadWorkStage::Decode,
            PollStage::Apply => stage::ThreadWorkStage::Apply,
            PollStage::Publish => stage::ThreadWorkStage::Publish,
        }
    }
}

/// The durations of all stages, in nanoseconds of the injected clock; clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct PollStageDurations([Histogram; PollStage::ALL.len()]);

impl PollStageDurations {
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
            assert_eq!(stage.to_work_stage().stage_name(), stage.stage_name());
        }
    }
}
