//! The load of the node over the last week, one value per minute. The history is in memory, so it begins with the
//! server.

use std::collections::VecDeque;

use lineside_sync::UnixMillis;

use super::node_overview::{GAUGES, NodeSample};

const MINUTE_MS: i64 = 60_000;
/// Number of retained minutes: a week.
const MINUTES_MAX: usize = 7 * 24 * 60;

/// The mean and maximum of each gauge over a period; `None` without values.
pub(crate) type GaugeSummaries = [Option<MeanAndMax>; GAUGES];

/// The mean and maximum of one gauge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanAndMax {
    pub mean: f64,
    pub max: f64,
}

/// One entry per minute, oldest first; the last one is in progress. At most 2.5 MB.
#[derive(Debug, Default)]
pub struct LoadHistory {
    minutes: VecDeque<LoadMinute>,
}

#[derive(Debug)]
struct LoadMinute {
    /// Minutes since 1970.
    number: i64,
    sums: [GaugeSum; GAUGES],
}

/// The sum of a gauge's values.
#[derive(Debug, Clone, Copy, Default)]
struct GaugeSum {
    total: f64,
    max: f64,
    count: u32,
}

impl GaugeSum {
    fn add_value(&mut self, value: f64) {
        self.max = if self.count == 0 { value } else { self.max.max(value) };
        self.total += value;
        self.count += 1;
    }

    fn merge(&mut self, other: &Self) {
        if other.count > 0 {
            self.max = if self.count == 0 { other.max } else { self.max.max(other.max) };
            self.total += other.total;
            self.count += other.count;
        }
    }

    fn mean_and_max(&self) -> Option<MeanAndMax> {
        let mean = self.total / f64::from(self.count.max(1));
        (self.count > 0).then_some(MeanAndMax { mean, max: self.max })
    }
}

impl LoadHistory {
    /// Adds a sample of the node. If the clock steps back, the sample is added to the latest minute.
    pub(super) fn add_sample(&mut self, at: UnixMillis, sample: &NodeSample) {
        let number = at.0.div_euclid(MINUTE_MS);
        if self.minutes.back().is_none_or(|last| last.number < number) {
            self.minutes.push_back(LoadMinute { number, sums: [GaugeSum::default(); GAUGES] });
        }
        while self.minutes.len() > MINUTES_MAX
            || self.minutes.front().is_some_and(|it| number - it.number >= MINUTES_MAX as i64)
        {
            self.minutes.pop_front();
        }
        let Some(last) = self.minutes.back_mut() else { return };
        for (sum, value) in last.sums.iter_mut().zip(sample.gauge_values()) {
            if let Some(value) = value {
                sum.add_value(value);
            }
        }
    }

    /// Returns the history since `from` in steps of `minutes`, oldest first. Steps without a value are left out.
    pub fn summaries_in_steps(
        &self,
        from: UnixMillis,
        minutes: i64,
    ) -> Vec<(UnixMillis, GaugeSummaries)> {
        let first = from.0.div_euclid(MINUTE_MS);
        let mut steps: Vec<(i64, [GaugeSum; GAUGES])> = Vec::new();
        for minute in self.minutes.iter().filter(|it| it.number >= first) {
            let step = minute.number.div_euclid(minutes.max(1));
            match steps.last_mut().filter(|(last, _)| *last == step) {
                Some((_, sums)) => {
                    sums.iter_mut().zip(&minute.sums).for_each(|(sum, more)| sum.merge(more));
                }
                None => steps.push((step, minute.sums)),
            }
        }
        let at = |step: i64| UnixMillis(step * minutes.max(1) * MINUTE_MS);
        steps.iter().map(|(step, sums)| (at(*step), sums.map(|sum| sum.mean_and_max()))).collect()
    }

    /// Returns the time of the oldest retained value.
    pub fn oldest_time(&self) -> Option<UnixMillis> {
        self.minutes.front().map(|minute| UnixMillis(minute.number * MINUTE_MS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(history: &mut LoadHistory, minute: i64, connections: u64) {
        let at = UnixMillis(minute * MINUTE_MS + 1);
        history.add_sample(at, &NodeSample { at, connections, ..NodeSample::default() });
    }

    #[test]
    fn steps_have_the_mean_and_maximum_of_their_minutes() {
        let mut history = LoadHistory::default();
        for (minute, connections) in [(10, 1), (10, 3), (11, 5), (13, 7)] {
            add(&mut history, minute, connections);
        }
        let values = |steps: Vec<(UnixMillis, GaugeSummaries)>| -> Vec<(i64, f64, f64)> {
            let one = |(at, spread): &(UnixMillis, GaugeSummaries)| {
                let value = spread[0].unwrap();
                (at.0 / MINUTE_MS, value.mean, value.max)
            };
            steps.iter().map(one).collect()
        };
        let by_minute = values(history.summaries_in_steps(UnixMillis(0), 1));
        assert_eq!(by_minute, [(10, 2.0, 3.0), (11, 5.0, 5.0), (13, 7.0, 7.0)]);
        assert_eq!(values(history.summaries_in_steps(UnixMillis(0), 10)), [(10, 4.0, 7.0)]);
        assert_eq!(values(history.summaries_in_steps(UnixMillis(11 * MINUTE_MS), 1)).len(), 2);
        assert_eq!(
            history.summaries_in_steps(UnixMillis(0), 1)[0].1[3],
            None,
            "without requests there is no latency"
        );
    }

    #[test]
    fn the_history_is_limited_to_a_week() {
        let mut history = LoadHistory::default();
        for minute in 0..MINUTES_MAX as i64 + 100 {
            add(&mut history, minute, 1);
        }
        assert_eq!(history.minutes.len(), MINUTES_MAX);
        assert_eq!(history.oldest_time(), Some(UnixMillis(100 * MINUTE_MS)));
        add(&mut history, 50, 9);
        assert_eq!(history.minutes.len(), MINUTES_MAX, "a clock that is set back adds no minute");
    }
}
