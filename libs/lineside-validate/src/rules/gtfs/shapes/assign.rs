//! Assignment of each stop of a trip to one of several positions on a shape, in the order of the stops and with the
//! smallest distances.

use super::shape_line::PositionOnShape;

/// The best assignment of the stops so far that ends in one match.
#[derive(Clone, Copy, Debug)]
struct PartialStopAssignment {
    /// The sum of the distances between stops and shape, in meters.
    score: f64,
    /// The position of the last stop along the shape, in meters.
    along: f64,
    /// The index of the last stop's match.
    pick: usize,
    /// The index of the preceding assignment, of the stops before.
    predecessor: usize,
}

/// Two stops whose matches are in the wrong order.
#[derive(Clone, Copy, Debug)]
pub(super) struct StopOrderConflict {
    /// The position of the second stop in the trip.
    pub(super) stop: usize,
    /// The match of the first stop.
    pub(super) predecessor: PositionOnShape,
    /// The closest match of the second stop.
    pub(super) at: PositionOnShape,
}

/// An assigner of matches, reused for its buffers.
#[derive(Debug, Default)]
pub(super) struct StopMatchAssigner {
    /// The partial assignments, grouped by their number of stops.
    partials: Vec<PartialStopAssignment>,
    /// The start of each group in `partials`.
    starts: Vec<usize>,
    /// The last group ordered by `along`, and the best of each prefix of that order.
    order: Vec<usize>,
    best: Vec<usize>,
}

impl StopMatchAssigner {
    /// Assigns a match to each stop so that none is before that of an earlier stop.
    /// [`StopMatchAssigner::assigned_matches_from_last_stop`] returns the result. O(matches log matches).
    pub(super) fn assign_matches_in_order<'m>(
        &mut self,
        n_stops: usize,
        matches: impl Fn(usize) -> &'m [PositionOnShape],
    ) -> Result<(), StopOrderConflict> {
        self.partials.clear();
        self.starts.clear();
        self.starts.push(0);
        self.partials.push(PartialStopAssignment {
            score: 0.0,
            along: 0.0,
            pick: 0,
            predecessor: 0,
        });
        for stop in 0..n_stops {
            let start = self.starts[stop];
            let end = self.partials.len();
            self.rank_partial_assignments(start);
            self.starts.push(end);
            for (pick, found) in matches(stop).iter().enumerate() {
                let along = |&at: &usize| self.partials[at].along <= found.along;
                let n_behind = self.order.partition_point(along);
                if let Some(last) = n_behind.checked_sub(1) {
                    let predecessor = self.best[last];
                    let score = self.partials[predecessor].score + found.to_shape;
                    self.partials.push(PartialStopAssignment {
                        score,
                        along: found.along,
                        pick,
                        predecessor,
                    });
                }
            }
            if self.partials.len() == end {
                return Err(self.describe_order_conflict(stop, start, &matches));
            }
        }
        Ok(())
    }

    /// Sorts the assignments from `start` by position along the shape, and determines the best of each prefix: the
    /// first one with the lowest score.
    fn rank_partial_assignments(&mut self, start: usize) {
        let partials = &self.partials;
        self.order.clear();
        self.order.extend(start..partials.len());
        if !partials[start..].is_sorted_by(|one, other| one.along <= other.along) {
            self.order
                .sort_by(|&one, &other| partials[one].along.total_cmp(&partials[other].along));
        }
        self.best.clear();
        let mut best = None;
        for &at in &self.order {
            let is_better = |best: usize| (partials[at].score, at) < (partials[best].score, best);
            if best.is_none_or(is_better) {
                best = Some(at);
            }
            self.best.extend(best);
        }
    }

    fn describe_order_conflict<'m>(
        &self,
        stop: usize,
        start: usize,
        matches: &impl Fn(usize) -> &'m [PositionOnShape],
    ) -> StopOrderConflict {
        let at = match_closest_to_stop(matches(stop)).unwrap_or(PositionOnShape::NONE);
        let predecessor = self.best.last().and_then(|&best| {
            debug_assert!(best >= start, "the choice is for an earlier stop");
            matches(stop.checked_sub(1)?).get(self.partials[best].pick).copied()
        });
        StopOrderConflict { stop, predecessor: predecessor.unwrap_or(at), at }
    }

    /// Returns the assignment: each stop with the index of its match, the last stop first.
    pub(super) fn assigned_matches_from_last_stop(&self) -> impl Iterator<Item = (usize, usize)> {
        let last = self.starts.last().copied().unwrap_or_default();
        let score = |&at: &usize| self.partials[at].score;
        let best = (last..self.partials.len())
            .min_by(|one, other| score(one).total_cmp(&score(other)))
            .unwrap_or_default();
        let stops = (0..self.starts.len().saturating_sub(1)).rev();
        stops.scan(best, |at, stop| {
            let partial = self.partials[*at];
            *at = partial.predecessor;
            Some((stop, partial.pick))
        })
    }
}

/// Returns the first of the matches closest to the stop.
pub(super) fn match_closest_to_stop(matches: &[PositionOnShape]) -> Option<PositionOnShape> {
    matches.iter().copied().min_by(|one, other| one.to_shape.total_cmp(&other.to_shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the matches of a stop from meters along the shape and meters from the stop.
    fn stop(matches: &[(f64, f64)]) -> Vec<PositionOnShape> {
        let found = |&(along, to_shape): &(f64, f64)| PositionOnShape {
            along,
            to_shape,
            ..PositionOnShape::NONE
        };
        matches.iter().map(found).collect()
    }

    fn picks(stops: &[Vec<PositionOnShape>]) -> Result<Vec<usize>, usize> {
        let mut assigner = StopMatchAssigner::default();
        let found = assigner.assign_matches_in_order(stops.len(), |at| stops[at].as_slice());
        found.map_err(|misfit| misfit.stop)?;
        let mut picks: Vec<usize> =
            assigner.assigned_matches_from_last_stop().map(|(_, pick)| pick).collect();
        picks.reverse();
        Ok(picks)
    }

    #[test]
    fn the_closest_matches_in_order_are_chosen() {
        let there_and_back = [
            stop(&[(0.0, 5.0), (900.0, 1.0)]),
            stop(&[(300.0, 9.0), (600.0, 2.0)]),
            stop(&[(300.0, 1.0), (600.0, 9.0)]),
        ];
        assert_eq!(picks(&there_and_back), Ok(vec![0, 0, 0]));
        assert_eq!(picks(&[stop(&[(500.0, 3.0)]), stop(&[(500.0, 3.0)])]), Ok(vec![0, 0]));
    }

    #[test]
    fn stops_in_reverse_order_are_refused() {
        let stops = [stop(&[(0.0, 1.0)]), stop(&[(500.0, 1.0)]), stop(&[(400.0, 1.0)])];
        assert_eq!(picks(&stops), Err(2));
    }

    #[test]
    fn the_order_of_matches_does_not_matter() {
        let stops = [stop(&[(700.0, 1.0), (100.0, 4.0), (50.0, 3.0)]), stop(&[(600.0, 2.0)])];
        assert_eq!(picks(&stops), Ok(vec![2, 0]));
    }
}
